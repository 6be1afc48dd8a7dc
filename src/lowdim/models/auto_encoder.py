"""Auto-encoders: nonlinear PCA and probabilistic PCA, by neural networks."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Sequence
from itertools import chain
from os import PathLike
from typing import Any, Literal

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, in_range, to_numpy
from .._core.schema import Instance, ListOf, Numbers, Real, Whole
from .._core.types import HasParameters, RandomState
from ..errors import ConvergenceWarning, RankWarning, choice, one_row, warn_user
from ..reading.rows import Rows
from ..selection.parallel_analysis import check_count
from ..solvers import latent, neural
from ..solvers.latent.base import LatentFit, LatentRequest
from ..solvers.neural import NeuralSolverName
from ..solvers.neural.network import (
    ACTIVATIONS,
    Design,
    LinearSolution,
    Network,
    NeuralFit,
    NeuralJob,
    NeuralRequest,
    NeuralSolver,
    evaluate,
    start_network,
)
from ..solvers.neural.training import merged
from ..solvers.problem import Plan, Status, counted_rows, repeated_rows, with_passes
from ..sources.derived import mean_of_results
from ..sources.opening import TableLike
from ..summaries.latent import LatentGaussian
from .base import Model, check_flags
from .output import Maps, framed_results
from .plan import joined_plan
from .ppca import principal_axes

#: EM keeps the noise variance of the linear solution above this fraction of the average variance.
_FLOOR = 1e-10


class AutoEncoder(Model):
    """Auto-encoder: minimises the mean of |x - g(f(x))|^2 over an encoder f and a decoder g, both neural networks.

    Encoder and decoder are linear maps plus hidden layers. They begin at the solution of PCA, and training can only
    improve on it. With `variational`, the evidence bound of the model x = g(z) + e with z ~ N(0, I), e ~ N(0, sigma2 I)
    is maximised: probabilistic PCA with a nonlinear decoder. Rows may have missing values (NaN).

    Parameters
    ----------
    n_components : int, default=2
        Number of latent variables, usually less than that of columns; otherwise there is a warning.
    hidden : sequence of int, default=(256,)
        Widths of the hidden layers of the encoder; the decoder has the same in reverse. Without hidden layers, `()`,
        the optimum is the solution of PCA (or of probabilistic PCA), which is computed without training and without
        torch.
    activation : {"silu", "tanh", "relu"}, default="silu"
        The function of each hidden unit.
    variational : bool, default=False
        Whether latent variables have a distribution, q(z | x) = N(f(x), diag s(x)^2), and the noise is learnt.
    encoder, decoder : torch.nn.Module, default=None
        Modules that take the place of the hidden layers. The encoder maps standardised rows, of shape (n, n_features),
        to shape (n, n_components), or with `variational` to twice as many columns; the decoder maps (n, n_components)
        to (n, n_features). A copy is trained. What a module returns is multiplied by a factor for each column, at first
        zero, and added to the linear map.
    solver : {"auto", "linear", "adam"} or solver object, default="auto"
        "adam" trains, by default if there are hidden layers; `Adam(...)` from `lowdim.solvers` has options: rate,
        batch, epochs, held-out rows, window.
    random_state : int, RandomState or None, default=None
        Seed of the first weights and of the order of rows; None is a fixed seed. On a CPU, the same seed gives the same
        numbers. `sample` uses it too, unless it is None: then samples differ.

    Attributes
    ----------
    encoder_, decoder_ : torch.nn.Module
        From rows to scores, and from scores to rows, as torch modules.
    loss_ : list of n_iter_ + 1 numbers
        Mean loss of the held-out rows (or, if none are held out, of all rows) at the start and after each epoch: the
        squared error of a row or, with `variational`, minus its evidence bound.
    training_loss_ : list of n_iter_ numbers
        The same for the training rows, during each epoch.
    reconstruction_error_ : float
        Mean squared error of the rows of the fit; of a stream that can be read once, of the rows of its first window.
    linear_error_ : float
        The same (with `variational`, minus the evidence bound) for the linear solution at the start.
    noise_variance_ : float
        sigma2, with `variational`; otherwise the mean squared error of an entry.
    latent_mean_, latent_covariance_ : arrays of shapes (n_components_,) and (n_components_, n_components_)
        Mean and covariance of the scores of the same rows, divisor n.
    mean_ : array of shape (n_features_in_,)
    n_held_out_ : int
        The number of held-out rows that decided when to stop.
    n_components_, n_samples_, n_features_in_, feature_names_in_, n_iter_, n_passes_
    solver_, plan_, status_
        The solver that ran, the plan of the whole fit, and how it ended.

    Notes
    -----
    With v = (x - mean) / unit, f(v) = v A + a + act(... act(v W_1 + b_1) ...) W_m, and g has the same form. A is that
    of PCA at the start, and W_m is zero. Scores are in the units of PCA; with `variational`, they are posterior means,
    in units of the prior N(0, I). Without hidden layers every local minimum is global, and is found on the principal
    subspace [1]_; the evidence bound then reaches the likelihood of PPCA [2]_. The latent variables are those of the
    network, and not ordered by variance once it is trained.

    The start takes the passes and the memory of PCA, or of PPCA by EM if there are missing values. Training reads the
    rows once if they fit into a window (256 MiB), and otherwise once for each epoch; a stream that can be read only
    once starts at the PCA of its first window. One pass follows, for errors and scores. Memory is that of the window
    and about five times the parameters.

    A missing entry is encoded as its expectation given the others under the linear model, and does not count in the
    loss.

    References
    ----------
    .. [1] Baldi, Hornik (1989), Neural networks and principal component analysis: learning from examples without local
       minima.
    .. [2] Lucas, Tucker, Grosse, Norouzi (2019), Don't blame the ELBO! A linear VAE perspective on posterior collapse.
    .. [3] Kingma, Welling (2014), Auto-encoding variational Bayes.

    Examples
    --------
    Without hidden layers, it is PCA.

    >>> import numpy as np
    >>> from lowdim import PCA, AutoEncoder
    >>> X = np.array([[1.0, 2.0, 2.9], [3.0, 6.1, 8.8], [5.0, 9.7, 15.1], [2.0, 4.1, 6.0], [4.0, 7.9, 12.1]])
    >>> linear = AutoEncoder(1, hidden=()).fit(X)
    >>> bool(np.allclose(linear.transform(X), PCA(1).fit_transform(X)))
    True
    """

    component_name = "AE"
    _takes_nan = True
    _network: Network
    loss_: list[float]
    training_loss_: list[float]
    reconstruction_error_: float
    linear_error_: float
    noise_variance_: float
    latent_mean_: np.ndarray
    latent_covariance_: np.ndarray
    mean_: np.ndarray
    n_held_out_: int
    n_iter_: int
    n_passes_: int
    fitted_attributes = {
        "loss_": ListOf(Real()),
        "training_loss_": ListOf(Real()),
        "reconstruction_error_": Real("nonnegative"),
        "linear_error_": Real(),
        "noise_variance_": Real("nonnegative"),
        "latent_mean_": Numbers("k"),
        "latent_covariance_": Numbers("k", "k", symmetric=True),
        "mean_": Numbers("p"),
        "n_held_out_": Whole(),
        "n_iter_": Whole(),
        "n_passes_": Whole(),
        "_network": Instance("models.Network", shares="p"),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        hidden: Sequence[int] = (256,),
        activation: Literal["silu", "tanh", "relu"] = "silu",
        variational: bool = False,
        encoder: HasParameters | None = None,
        decoder: HasParameters | None = None,
        solver: NeuralSolverName | NeuralSolver = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.hidden = hidden
        self.activation = activation
        self.variational = variational
        self.encoder = encoder
        self.decoder = decoder
        self.solver = solver
        self.random_state = random_state

    # ---- The fit

    def _check_parameters(self) -> None:
        self._hidden()
        if not isinstance(self.activation, str) or self.activation not in ACTIVATIONS:
            raise choice("activation", self.activation, tuple(ACTIVATIONS))
        check_flags(self, "variational")
        for name in ("encoder", "decoder"):
            module = getattr(self, name)
            if module is not None and (isinstance(module, type) or not hasattr(module, "state_dict")):
                instead = f"; make one: {module.__name__}(...)" if isinstance(module, type) else ""
                raise TypeError(f"{name} must be a torch.nn.Module or None, got {module!r:.80}{instead}.")

    def _hidden(self) -> tuple[int, ...]:
        """The widths of the hidden layers."""
        try:
            widths: tuple[Any, ...] = tuple(self.hidden)
        except TypeError:
            widths = (None,)
        if not all(isinstance(h, numbers.Integral) and not isinstance(h, bool) and int(h) >= 1 for h in widths):
            raise ValueError(
                f"hidden={self.hidden!r} must be a sequence of whole numbers of at least 1, such as (64,)."
            )
        return tuple(int(h) for h in widths)

    def _design(self, p: int) -> Design:
        """The network that the parameters describe, for p columns."""
        k = self.n_components
        whole = isinstance(k, numbers.Integral) and not isinstance(k, bool | np.bool_)
        if not whole or int(k) < 1:
            raise ValueError(
                f"n_components={k!r} must be a whole number of at least 1; an auto-encoder is of use with fewer "
                f"components than columns (n_features={p}), so pass 1 to {max(1, p - 1)}."
            )
        both = self.encoder is not None and self.decoder is not None
        hidden = () if both else self._hidden()
        return Design(int(k), hidden, self.activation, bool(self.variational), self.encoder, self.decoder)

    def _plan_rows(self, rows: Rows) -> Plan:
        if repeated_rows(rows) == 1:
            raise one_row()
        design = self._design(rows.shape[1])
        the_plan = neural.plan(rows, NeuralRequest(design), self.solver)
        start = latent.plan(rows, self._linear_request(rows, design))
        return joined_plan(start, the_plan, "PCA")

    def _linear_request(self, rows: Rows, design: Design) -> LatentRequest:
        """The request for the linear solution, with as many components as rows and columns allow."""
        n = repeated_rows(rows)
        k = min(design.k, rows.shape[1] if n is None else min(n, rows.shape[1]))
        return LatentRequest(k, tied=True, floor=_FLOOR, by_column=False, seed=self._seed())

    def _fit_rows(self, rows: Rows) -> None:
        design, later = self._design(rows.shape[1]), None
        # This raises an error for a fit that is not possible, before rows are read.
        solver = self._plan_rows(rows).solver
        size = solver.window_rows(NeuralJob(*rows.shape, design.k, rows.traits, design))
        if size > 0 and not rows.traits.rereadable:
            rows, later = _first_window(rows, size)
        n = counted_rows(rows)
        if later is None and n is not None and 1 < n <= solver.few_rows:
            window = next(rows.windows(int(rows.shape[0] or 0)))
            rows = rows.of(*merged(window.X, window.weights), rows.progress)
        if design.k >= rows.shape[1]:
            warn_user(
                f"n_components={design.k} is not less than the number of columns, {rows.shape[1]}: the rows can be "
                "copied as they are, and nothing is learnt from them. Ask for fewer components.",
                RankWarning,
            )
        found, start_plan = latent.solve(rows, self._linear_request(rows, design))
        linear = _linear_solution(found, rows.empty(0))
        seed = self._seed()
        start = start_network(design, linear, seed, rows.empty(0), rows.dtype)
        fit, the_plan = neural.solve(rows, NeuralRequest(design, seed, start, later), self.solver)
        self.plan_, self.solver_ = joined_plan(start_plan, the_plan, "PCA"), the_plan.solver.name
        self._unpack(rows, fit, found, linear, start)
        self.n_samples_ = (found.n_rows if n is None else n) + fit.n_later
        self._warn(fit)

    def _unpack(self, rows: Rows, fit: NeuralFit, found: LatentFit, linear: LinearSolution, start: Network) -> None:
        """Set the fitted attributes, after a pass over the rows unless they follow from eigenpairs."""
        k, p, unit = start.k, int(start.mean.shape[0]), start.unit
        network, passes = fit.network, self.plan_.passes
        exact = fit.status is Status.EXACT
        if exact and found.axes is not None:
            mean, covariance = np.zeros(k), np.diag(_score_variances(linear, start))
            error = _linear_error(linear, start, p)
            linear_loss = -found.loglike[-1] / found.weight if start.log_noise is not None else error
        else:
            evaluated = evaluate(rows, network, start)
            if evaluated.loss > evaluated.other_loss:
                network, evaluated = start, evaluate(rows, start, start)
                passes += 1
            passes += 1
            mean, covariance = evaluated.mean * unit, evaluated.covariance * unit**2
            # Means of the same numbers in two columns may differ in the last digit.
            error = (evaluated.loss if start.log_noise is None else evaluated.error) * unit**2
            linear_loss = evaluated.loss if network is start else evaluated.other_loss
            linear_loss *= 1.0 if start.log_noise is not None else unit**2
        self._network, self.mean_ = network, network.mean
        self.n_components_ = k
        self.status_, self.n_passes_ = found.status if exact else fit.status, passes
        self.n_held_out_ = fit.n_held_out
        self.plan_ = with_passes(self.plan_, passes)
        self.loss_ = fit.loss or [float(linear_loss)]
        self.training_loss_, self.n_iter_ = fit.training_loss, len(fit.training_loss)
        self.reconstruction_error_, self.linear_error_ = float(error), float(linear_loss)
        self.noise_variance_ = error / p if network.log_noise is None else math.exp(network.log_noise) * unit**2
        like, dtype = self.mean_, self.mean_.dtype
        self.latent_mean_ = in_range(asarray_like(mean, like), dtype)
        self.latent_covariance_ = in_range(asarray_like(covariance, like), dtype)

    def _warn(self, fit: NeuralFit) -> None:
        if fit.status is Status.NOT_CONVERGED:
            warn_user(
                f"solver={self.solver_!r} stopped after {self.n_iter_} epochs, before it was sure that the loss of "
                f"held-out rows decreases no further: it was {self.loss_[0]:.4g} at the start, and at its best "
                f"{min(self.loss_):.4g}. Raise max_epochs: solver=Adam(max_epochs=...).",
                ConvergenceWarning,
            )
        if fit.status is Status.INTERRUPTED:
            warn_user(
                f"training was stopped by Ctrl-C after {self.n_iter_} epochs; the best state so far is kept.",
                ConvergenceWarning,
            )

    # ---- The fitted network

    @property
    def encoder_(self) -> Any:
        """The encoder as a torch module, from rows to scores."""
        return self._modules()[0]

    @property
    def decoder_(self) -> Any:
        """The decoder as a torch module, from scores to rows."""
        return self._modules()[1]

    def _modules(self) -> Any:
        check_is_fitted(self)
        try:
            return neural.as_modules(self._network)
        except ImportError as error:
            # `hasattr` is then False for this attribute.
            raise AttributeError(str(error)) from error

    def __dir__(self) -> list[str]:
        # scikit-learn looks at all of these when it shows a model, and should not import torch for that.
        unlisted = {"encoder_", "decoder_", *self._not_listed}
        return [name for name in object.__dir__(self) if name not in unlisted and hasattr(self, name)]

    def _scoring(self) -> Any:
        network, k = self._network, self.n_components_
        return network.scores if k == network.k else lambda block: network.scores(block)[:, :k]

    def _lift(self) -> Any:
        return self._network.centred_rows

    def inverse_transform(self, X: TableLike) -> np.ndarray:
        """Rows from scores, by the decoder.

        If `X` has fewer columns than there are components, they are the first scores, and the others are taken to be
        zero.
        """
        return super().inverse_transform(X)

    def reconstruction_error(self, X: TableLike) -> np.ndarray:
        """Squared distance of each row to its reconstruction, over the entries that are not missing."""
        check_is_fitted(self)
        return self._map(X, self._network.errors, "reconstruction_error")

    @available_if(lambda self: bool(self.variational))
    def score_samples(self, X: TableLike) -> np.ndarray:
        """The evidence bound of each row, a lower bound on its log-density; of its known entries, if some are missing.

        With hidden layers, the expectation over the latent variables is a mean over max(32, 4 K) points, which is exact
        for polynomials of degree three in them; so the bound has an error of its own.
        """
        check_is_fitted(self)
        return self._map(X, self._network.bounds, "score_samples")

    def score(self, X: TableLike, y: TableLike | None = None) -> float:
        """Minus the mean `reconstruction_error` of the rows of `X` or, with `variational`, the mean evidence bound."""
        check_is_fitted(self)
        X, _ = self._by_name(X, y, fitted=True)
        if self.variational:
            return mean_of_results(self.score_samples(X))
        return -mean_of_results(self.reconstruction_error(X))

    def impute(self, X: TableLike) -> np.ndarray:
        """`X` with its reconstruction in place of missing values (NaN)."""
        check_is_fitted(self)
        return framed_results(self, self._imputation_maps(X), X)

    def impute_to(
        self, X: TableLike, path: str | PathLike[str], *, keep: Sequence[str] = (), overwrite: bool = False
    ) -> str:
        """Write what `impute` returns for `X` to a file. For `path`, `keep` and `overwrite` see `transform_to`."""
        return self._write(self._imputation_maps, X, path, "impute_to", keep, overwrite, self._wanted())

    def _imputation_maps(self, X: Any) -> Maps:
        network = self._network

        def fill(block: Array) -> Array:
            return network.filled(block)

        fill.replaces_rows = True  # type: ignore[attr-defined] # see `map_rows`
        return [self._row_map(X, fill, "impute", self._row_names)]

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> np.ndarray:
        """Rows g(z) + e, with noise e of variance `noise_variance_`.

        With `variational`, z is drawn from its prior N(0, I), otherwise from a Gaussian with the mean and covariance of
        the scores of the fit.
        """
        check_is_fitted(self)
        check_count("n_samples", n_samples)
        random = check_random_state(self.random_state if random_state is None else random_state)
        z = random.standard_normal((n_samples, self._network.k))
        if not self.variational:
            values, vectors = np.linalg.eigh(to_numpy(self.latent_covariance_).astype(np.float64))
            z = to_numpy(self.latent_mean_) + (z * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
        e = random.standard_normal((n_samples, self.n_features_in_)) * math.sqrt(self.noise_variance_)
        like = self.mean_
        rows = self._network.centred_rows(asarray_like(z, like, dtype=like.dtype)) + like
        return rows + asarray_like(e, like, dtype=like.dtype)

    def _keep_first(self, k: int) -> None:
        # The network keeps all latent variables, of which the first k are returned.
        network = self._network
        super()._keep_first(k)
        self._network = network

    def _importance(self) -> list[tuple[str, Array]]:
        variances = np.diag(to_numpy(self.latent_covariance_))
        return [("std. deviation", np.sqrt(variances)), ("variance", variances)]

    def _check_fitted(self) -> None:
        self._network.check(self.n_components_, self.n_features_in_, bool(self.variational))


def _first_window(rows: Rows, size: int) -> tuple[Rows, Iterator[Any] | None]:
    """The first window of a stream, and the others; None if there are no others."""
    windows = rows.windows(size)
    first, second = next(windows), next(windows, None)
    later = None if second is None else chain([second], windows)
    return rows.of(first.X, first.weights, rows.progress), later


def _linear_solution(found: LatentFit, like: Array) -> LinearSolution:
    """The principal axes of a latent Gaussian model with isotropic noise, and its density on the device of `like`."""
    _, lengths, axes = principal_axes(found.loadings * found.scale, found.axes)
    deviation = math.sqrt(float(to_numpy(found.noise)[0])) * float(to_numpy(found.scale)[0])
    # Solvers may have left the device of the rows.
    parts = (asarray_like(part, like) for part in (found.mean, found.scale, found.loadings, found.noise))
    gaussian = LatentGaussian(*parts)
    return LinearSolution(np.asarray(axes, dtype=np.float64), lengths, deviation, gaussian)


def _score_variances(linear: LinearSolution, start: Network) -> np.ndarray:
    """Variances of the scores of the linear solution; zero for latent variables that the rows do not have."""
    variances = linear.lengths**2 + linear.deviation**2
    if start.log_noise is not None:
        variances = linear.lengths**2 / variances
    return np.concatenate([variances, np.zeros(start.k - len(variances))])


def _linear_error(linear: LinearSolution, start: Network, p: int) -> float:
    """Mean squared error of a row: that of PCA, and that of posterior means, which are shrunk scores: of the variance
    lambda along a component the share (sigma2 / lambda)^2 is left."""
    noise = linear.deviation**2
    error = noise * (p - len(linear.lengths))
    if start.log_noise is not None:
        error += float(np.sum(noise * (noise / (linear.lengths**2 + noise))))
    return error
