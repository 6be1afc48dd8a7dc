"""Independent component analysis by maximum likelihood."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._memory import free_bytes
from .._threads import single_threaded_blas
from .._xp import Array, asarray_like, astype, dense, device, in_range, namespace, to_numpy, wide_dtype
from ..densities import Density, resolved
from ..errors import (
    ConvergenceWarning,
    DensityWarning,
    GaussianWarning,
    SmallSampleWarning,
    choice,
    read_once,
    warn_user,
)
from ..features import affine
from ..linalg import signs
from ..reading import Rows, check_weights, map_rows
from ..solvers import FixedPointICA, QuasiNewtonICA, Status, Unmixing
from ..solvers.ica.starts import (
    Unmixer,
    agreement,
    gaussian_sources,
    given_start,
    non_gaussianity,
    random_rotations,
    symmetric_power,
)
from ..sources import Source, open_source
from ..summaries import Moments
from ._base import Model
from .pca import PCA

SOLVERS = ("quasi-newton", "fixed-point")
#: Whitened rows are kept where there are so many columns for each component, and room for them in memory.
_WIDE = 4
#: Rows for each source below which what is found is mostly chance.
_FEW_ROWS = 5
#: An iteration that makes no headway is stuck above this gradient; below it, that is rounding.
_STALLED = 1e-6
#: Whitening is repeated where rounding leaves more than this of a covariance, in units of the tolerance.
_WHITE = 1e-2


class ICA(Model):
    """Independent latents u with a given density, of which rows are a linear mix: x = mean + A u.

    Parameters
    ----------
    n_components : int, float or None
        How many sources. With fewer than columns, rows are first projected on their leading principal components; a
        number in (0, 1) keeps as many of these as have that proportion of the variance, None all that have variance.
    density : str, Density or three functions
        p(u): "sech" (1 / (pi cosh u), of score tanh u), "infomax", "student", "generalized-gaussian", an object from
        `lowdim.densities` with its parameters, or a tuple of functions of an array: -ln p up to a constant, its
        derivative, and its second derivative.
    extended : bool
        Sources that the density could not tell from others (for "sech" those with lighter tails than a Gaussian) get
        the flipped one, for "sech" two Gaussians side by side. Densities without a flipped one stay as they are.
    ortho : bool, optional
        Sources are uncorrelated, with unit variance: W is a rotation of whitened rows. By default only with the
        fixed-point solver, which knows nothing else.
    solver : {"quasi-newton", "fixed-point"}
        Preconditioned L-BFGS on the relative gradient, or FastICA's iteration.
    tol : float
        Iterate until no entry of the relative gradient is larger (with `ortho`: of its skew part).
    max_iter : int
        Give up after so many steps.
    n_init : int
        Starts, every second one without the quick first steps. The answer of the highest likelihood is kept, and
        `stability_` tells how well they agree.
    w_init : array of shape (n_components, n_components), optional
        Where to start, among whitened rows, instead of at a random rotation.
    keep_sources : bool
        Keep the sources of the rows of the fit as `sources_`.
    random_state : int, RandomState or None
        Random starts; None is a fixed one.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features_in_)
        Unmixing: sources are (x - mean) components_^T.
    mixing_ : array of shape (n_features_in_, n_components_)
        A, with components_ A = I and rows mean + A u (up to noise): the pseudo-inverse of `components_`, unless columns
        depend on each other. In each column the entry of largest magnitude is positive.
    mean_ : array of shape (n_features_in_,)
    whitening_ : array of shape (n_components_, n_features_in_)
        K with E[z z^T] = I for z = K (x - mean), divisor n: principal components over their standard deviation, for as
        many components as columns those of standardised columns.
    unmixing_ : array of shape (n_components_, n_components_)
        W, with components_ = W whitening_.
    explained_variance_, explained_variance_ratio_ : arrays of shape (n_components_,)
        Variance that each source has in the rows, ||a_k||^2 var(u_k), descending; and over the total variance.
    kurtosis_ : array of shape (n_components_,)
        E[u^4] / E[u^2]^2 - 3 of each source: positive for heavy tails, 0 for a Gaussian.
    densities_ : list of Density
        Of each source.
    stability_ : array of shape (n_components_,) or None
        With several starts, how well each source was found again, from 0 to 1 (the index of ICASSO).
    loglike_ : list of numbers
        Log-likelihood of the rows before each step and at the end, without the steps that look for a start.
    gradient_norm_ : float
        Largest entry of the relative gradient E[psi(u) u^T] - I (with `ortho` of its skew part).
    noise_variance_ : float
        Average variance outside the leading principal components.
    sources_ : array of shape (n_samples_, n_components_)
        With `keep_sources`.
    n_components_, n_samples_, n_features_in_, feature_names_in_, n_iter_, n_passes_, solver_, status_

    Notes
    -----
    Minimises -ln |det W| + sum_i E[-ln p_i(u_i)], u = W z, over W for whitened rows z. Without `ortho`, u has the scale
    of the density, so that its log-density is what it says. Every step is one pass over the rows: one `ScoreMoments`,
    2 K (K + 1) numbers, and temporaries of one block. Many rows are first represented by a random sample of some
    thousand, on which most steps are taken; the answer is that of all rows. Where rows are more than four times as wide
    as K, or sparse, and lie in memory, whitened rows are kept during the fit.

    Of sources that are Gaussian only the space they span can be found, which is warned of, by name.

    References
    ----------
    .. [1] Ablin, Cardoso, Gramfort (2018), Faster independent component analysis by preconditioning with Hessian
       approximations.
    .. [2] Lee, Girolami, Sejnowski (1999), Independent component analysis using an extended infomax algorithm.
    .. [3] Hyvarinen (1999), Fast and robust fixed-point algorithms for independent component analysis.
    .. [4] Himberg, Hyvarinen, Esposito (2004), Validating the independent components of neuroimaging time series via
       clustering and visualization.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import ICA
    >>> random = np.random.default_rng(0)
    >>> sources = np.column_stack([random.laplace(size=5000), random.uniform(-1, 1, 5000)])
    >>> X = sources @ np.array([[3.0, 1.0], [1.0, 2.0]])
    >>> ica = ICA().fit(X)
    >>> (ica.mixing_ / np.abs(ica.mixing_).max(axis=0)).round(1)
    array([[1. , 0.5],
           [0.3, 1. ]])
    """

    component_name = "IC"

    def __init__(
        self,
        n_components: Any = None,
        *,
        density: Any = "sech",
        extended: bool = True,
        ortho: bool | None = None,
        solver: str = "quasi-newton",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int = 1,
        w_init: Any = None,
        keep_sources: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.density = density
        self.extended = extended
        self.ortho = ortho
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.w_init = w_init
        self.keep_sources = keep_sources
        self.random_state = random_state

    def score_samples(self, X: Any) -> Array:
        """Log-density of each row: sum_i ln p_i(u_i) + ln |det| of the unmixing, and, outside the principal components
        that were kept, that of a Gaussian with `noise_variance_` in every direction.

        Directions of no variance are left out, with a warning: the density is then that of the others.
        """
        check_is_fitted(self)
        _, noise = self._pca._support()
        p, k = self.n_features_in_, self.n_components_
        constant = self._log_volume - (0.5 * (p - k) * math.log(2.0 * math.pi * noise) if noise > 0.0 else 0.0)
        # Each density sees its own sources at once.
        groups = {id(d): (d, [i for i, e in enumerate(self.densities_) if e is d]) for d in self.densities_}
        xp = namespace(self.components_)

        def log_density(block: Array) -> Array:
            Z = dense(block) - astype(self.mean_, block.dtype)
            U = Z @ astype(self.components_, Z.dtype).T
            total = 0.0
            for density, members in groups.values():
                chosen = xp.take(U, asarray_like(np.asarray(members), U), axis=1)
                total = total - xp.sum(density.energy(chosen), axis=1)
            if noise > 0.0:
                rest = Z - U @ astype(self.mixing_, Z.dtype).T
                total = total - 0.5 * xp.sum(rest * rest, axis=1) / noise
            return total + constant

        return self._map(X, log_density, "score_samples")

    def score(self, X: Any, y: Any = None) -> float:
        """Average log-density of the rows of `X`."""
        scores = self.score_samples(X)
        return float(namespace(scores).mean(scores))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def _scoring(self) -> Any:
        return affine(self.components_.T, self.mean_, 1.0)

    def _lift(self) -> Array:
        return self.mixing_.T

    def _importance(self) -> list[tuple[str, Array]]:
        rows = [("proportion", self.explained_variance_ratio_), ("kurtosis", self.kurtosis_)]
        return rows if self.stability_ is None else [*rows, ("stability", self.stability_)]

    def _check_parameters(self) -> None:
        if self.solver not in SOLVERS:
            raise choice("solver", self.solver, SOLVERS)
        for name in ("extended", "keep_sources", "ortho"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_) and not (name == "ortho" and value is None):
                raise ValueError(f"{name}={value!r} must be True or False.")
        if self.solver == "fixed-point" and self.ortho is not None and not self.ortho:
            raise ValueError("solver='fixed-point' finds rotations only; use ortho=True, or solver='quasi-newton'.")
        if isinstance(self.tol, bool) or not isinstance(self.tol, numbers.Real) or not 0.0 < self.tol < math.inf:
            raise ValueError(f"tol={self.tol!r} must be a positive number.")
        for name in ("max_iter", "n_init"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")
        if self.w_init is not None and self.n_init > 1:
            raise ValueError(f"w_init is one start, but n_init={self.n_init} are asked for; give one of them.")
        resolved(self.density)

    def _fit_source(self, source: Source, sample_weight: Any, progress: Any = None) -> None:
        if not source.traits.rereadable:
            raise read_once(self.solver, "keep the rows in memory")
        if source.shape[0] == 1:
            raise ValueError(
                "n_samples=1: independent sources need at least 2 rows, and many to be found. Give more rows."
            )
        weights = None if sample_weight is None else check_weights(sample_weight, source)
        self._density = resolved(self.density)
        # Of all columns the units do not matter, and are taken out first: they may be far apart.
        everything = self.n_components is None or self.n_components == self.n_features_in_
        pca = self._pca = PCA(self.n_components, whiten=True, standardize=everything, ddof=0)
        pca._check_parameters()
        pca.n_features_in_ = self.n_features_in_
        pca._fit_rows(Rows(source, weights, progress))
        self.n_components_, self.n_samples_ = pca.n_components_, pca.n_samples_
        weight = float(pca._weight)
        rows, mean, whitening = self._white(source, Rows(source, weights, progress))
        k = self.n_components_
        solver = self._unmixing_solver()
        seed = self._seed()
        starts = random_rotations(k, self.n_init, seed)
        if self.w_init is not None:
            starts = [given_start(self.w_init, k, solver.ortho)]
        unmixer = Unmixer(
            rows,
            self.n_samples_,
            mean,
            whitening,
            self._density,
            bool(self.extended),
            solver,
            seed,
            self.w_init is None,
        )
        with single_threaded_blas():
            answers, passes = unmixer.run(starts)
            best = min(answers, key=lambda a: a.loss[-1])
        self.stability_ = None if len(answers) == 1 else agreement(best, answers)
        self.n_passes_ = pca.plan_.passes + passes
        self._unpack(best, source, weight)
        self.__dict__.pop("sources_", None)
        if self.keep_sources:
            self.sources_ = map_rows(source, self._scoring())

    def _unmixing_solver(self) -> QuasiNewtonICA | FixedPointICA:
        if self.solver == "fixed-point":
            return FixedPointICA(float(self.tol), int(self.max_iter))
        return QuasiNewtonICA(float(self.tol), int(self.max_iter), bool(self.ortho))

    def _white(self, source: Source, rows: Rows) -> tuple[Rows, Array, Array]:
        """Rows, their mean, and the matrix that whitens them; rows that are white already where keeping them saves
        much."""
        pca, k = self._pca, self.n_components_
        xp, dev = namespace(pca.mean_), device(pca.mean_)
        wide = wide_dtype(xp, dev)
        mean = asarray_like(pca._wide_mean, pca.mean_, dtype=wide)
        K, lift = (astype(part, wide) for part in (pca._projection().T, pca._lift()))
        if pca._rank_cut > _WHITE * self.tol * float(pca.explained_variance_[-1]):
            # Small variances come with few digits: look at what they were made to be.
            moments = rows.mapped(affine(K.T, mean, 1.0)).summarize(Moments(k, wide=True))
            C = to_numpy(moments.covariance(ddof=0))
            root = [asarray_like(symmetric_power(C, power), K, dtype=wide) for power in (-0.5, 0.5)]
            K, lift = root[0] @ K, root[1] @ lift
        self.whitening_, self._colouring = astype(K, source.dtype), lift
        n_bytes = self.n_samples_ * k * source.traits.itemsize
        worth_it = source.traits.sparse or source.shape[1] > _WIDE * k
        if not worth_it or not source.traits.n_bytes or 4 * n_bytes > free_bytes():
            return rows, mean, K
        Z = map_rows(source, affine(K.T, mean, 1.0))
        origin, same = xp.zeros((k,), dtype=wide, device=dev), xp.eye(k, dtype=wide, device=dev)
        return Rows(open_source(Z), rows.weights, rows.progress), origin, same

    def _unpack(self, best: Unmixing, source: Source, weight: float) -> None:
        """Order and sign the sources, and set the attributes; sizes, not squares, so that none leaves its range."""
        pca, like = self._pca, self._pca.mean_
        p, k = self.n_features_in_, self.n_components_
        K, lift = to_numpy(self.whitening_).astype(float), to_numpy(self._colouring)
        mixing = np.linalg.solve(best.W, np.eye(k)).T @ lift
        variances = np.einsum("ij,ij->i", best.W, best.W)
        sizes = np.linalg.norm(mixing, axis=1) * np.sqrt(variances)
        order = np.argsort(-sizes, kind="stable")
        sign = signs(mixing[order])
        W = sign[:, None] * best.W[order]

        def given(values: np.ndarray) -> Array:
            return in_range(asarray_like(values, like, dtype=like.dtype if values.ndim > 1 else None), source.dtype)

        self.mean_ = pca.mean_
        self.unmixing_ = given(W)
        self.components_ = given(W @ K)
        self.mixing_ = given((sign[:, None] * mixing[order]).T)
        self.explained_variance_ = given(sizes[order] ** 2)
        total = float(np.linalg.norm(lift) ** 2) + pca.noise_variance_ * (p - k)
        self.explained_variance_ratio_ = given(sizes[order] ** 2 / total)
        self.kurtosis_ = given(best.kurtosis[order])
        if self.stability_ is not None:
            self.stability_ = given(to_numpy(self.stability_)[order])
        other: Density = self._density.flipped or self._density
        self.densities_ = [other if flip else self._density for flip in best.flipped[order]]
        self.noise_variance_ = pca.noise_variance_
        volume = self._log_volume_of_whitening(K, lift)
        self._log_volume = volume + float(np.linalg.slogdet(W)[1])
        noise = pca._noise()
        outside = 0.5 * (p - k) * (math.log(2.0 * math.pi * noise) + 1.0) if noise > 0.0 else 0.0
        self.loglike_ = [weight * (volume - outside - loss) for loss in best.loss]
        self.n_iter_, self.gradient_norm_ = max(1, best.n_iter), best.gradient_norm
        self.solver_, self.status_ = self.solver, best.status
        del self._colouring
        self._warn(best, order, weight)

    def _log_volume_of_whitening(self, K: np.ndarray, lift: np.ndarray) -> float:
        """ln of how much whitening changes volumes in the space that rows span."""
        scale = self._pca.scale_
        if scale is None or self.n_components_ < self.n_features_in_:
            return -float(np.log(np.linalg.svd(lift, compute_uv=False)).sum())
        # Units that are far apart are taken out first.
        units = to_numpy(scale).astype(float)
        return float(np.log(np.linalg.svd(K * units, compute_uv=False)).sum() - np.log(units).sum())

    def _warn(self, best: Unmixing, order: np.ndarray, weight: float) -> None:
        """Say what went less well than hoped for."""
        k = self.n_components_
        if best.status is Status.NOT_CONVERGED:
            warn_user(
                f"solver={self.solver!r} stopped after {_counted(best.n_iter, 'step')} with a relative gradient of "
                f"{best.gradient_norm:.1e}, above tol={self.tol:g}. {self._advice(best)}",
                ConvergenceWarning,
            )
        if weight < _FEW_ROWS * k:
            rows = _counted(self.n_samples_, "row")
            rows += f" of total weight {weight:g}" if weight != self.n_samples_ else ""
            swapped = self.n_samples_ < self.n_features_in_
            warn_user(
                f"{rows} for {_counted(k, 'source')}: what is found is mostly chance. Keep fewer components, or give "
                f"more rows.{' Rows are samples and columns are signals: did you mean X.T?' if swapped else ''}",
                SmallSampleWarning,
            )
            return
        deviations = non_gaussianity(best, self._density, weight)
        gaussian = gaussian_sources(deviations)
        wrong = np.flatnonzero(deviations < 0.0)
        can_flip = self.extended and self._density.flipped is not None
        cure = "extended=True" if self._density.flipped is not None else "density='sech'"
        if len(gaussian) > 1:
            other = "" if can_flip or len(wrong) < 2 else f" Or tails are lighter than the density is for: try {cure}."
            warn_user(
                f"{len(gaussian)} of {k} sources look Gaussian ({_named(order, gaussian)}): only the space that they "
                "span together is known, not which directions in it are the sources. More rows may tell, or fewer "
                f"components.{other}",
                GaussianWarning,
            )
        elif len(wrong) > 1 and not can_flip and self.solver != "fixed-point":
            warn_user(
                f"{len(wrong)} of {k} sources have tails on the other side of the Gaussian than {self._density} is for "
                f"({_named(order, wrong)}), and may be mixes of the true ones. Use {cure}, or another density.",
                DensityWarning,
            )

    def _advice(self, best: Unmixing) -> str:
        """What to do about an iteration that did not come to its end."""
        if best.n_iter >= self.max_iter:
            other = ", or use solver='quasi-newton'" if self.solver == "fixed-point" else ""
            return f"Raise max_iter or tol{other}."
        if best.gradient_norm > _STALLED and self.solver == "fixed-point":
            return "It goes in circles: use solver='quasi-newton'."
        if best.gradient_norm > _STALLED:
            return "No step led further up: try ortho=True, another density, or another random_state."
        return "Raise tol: rounding allows no more."


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _named(order: np.ndarray, chosen: np.ndarray) -> str:
    """Sources as `get_feature_names_out` calls them, and as they are printed."""
    return ", ".join(f"ica{i} = IC{i + 1}" for i in np.flatnonzero(np.isin(order, chosen)))
