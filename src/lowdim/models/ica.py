"""Independent component analysis by maximum likelihood."""

from __future__ import annotations

import math
import numbers
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, astype, dense, in_range, namespace, to_numpy
from .._core.schema import Instance, ListOf, Maybe, Numbers, Real, Sometimes, Whole
from .._core.types import RandomState
from ..densities import Density, DensityName, ThreeFunctions, as_density
from ..errors import (
    ConvergenceWarning,
    DensityWarning,
    GaussianWarning,
    LocalOptimaWarning,
    SmallSampleWarning,
    choice,
    warn_user,
)
from ..features import affine
from ..linalg import divisor
from ..reading.rows import Rows
from ..selection.parallel_analysis import check_count
from ..selection.rules import RuleName
from ..solvers import ica, spectra
from ..solvers.ica import ICA_SOLVERS, IcaSolverName
from ..solvers.ica.fixed_point import FixedPointICA
from ..solvers.ica.objective import (
    SAME_OPTIMUM,
    IcaFit,
    IcaRequest,
    IcaSolver,
    Whitener,
    gaussian_sources,
    make_whitener,
    non_gaussianity,
)
from ..solvers.problem import Plan, Spectrum, Status, repeated_rows
from ..sources.derived import mean_of_results
from ..sources.opening import TableLike
from .base import Model, check_flags, is_cv, unpack_to
from .n_components import check_cv_rows
from .output import FULL_ACCURACY
from .pca import PCA
from .plan import joined_plan
from .spectral import density_support, variance_outside

#: With fewer rows than this for each source, the result is mostly chance.
_FEW_ROWS = 5
#: Log-likelihoods of all rows that differ by less than this, in nats, differ by chance.
_CHANCE = 2.0
#: Parameters that apply to solvers given by name, and their defaults.
_SHORTHANDS = {"tol": 1e-6, "max_iter": 1000, "ortho": None}


class ICA(Model):
    """Independent component analysis by maximum likelihood: rows are mixtures x = mean + A u of independent sources u.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of sources. If it is smaller than the number of columns, rows are first projected on their leading
        principal components. A number in (0, 1) keeps the fewest components with that proportion of the variance; the
        name of a rule keeps the number that the rule chooses (see `choose_n_components`); None keeps all components
        with positive variance.
    density : str, Density or three functions, default="sech"
        The density p(u) of the sources: "sech" (1 / (pi cosh u), with score tanh u), "infomax", "student",
        "generalized-gaussian", an object from `lowdim.densities` with its parameters, or a tuple of three functions of
        an array: -ln p up to a constant, its derivative, and its second derivative.
    extended : bool, default=True
        Whether sources on the other side of the Gaussian (for "sech" those with lighter tails than a Gaussian), which
        the density could not separate, get the flipped density (for "sech" a mixture of two Gaussians). Densities
        without a flipped one are used for all sources.
    ortho : bool, default=None
        Whether the sources are constrained to be uncorrelated with unit variance, so that W is a rotation of the
        whitened rows. The default is True for the fixed-point solver, which always has this constraint, and False
        otherwise.
    solver : {"quasi-newton", "fixed-point"} or solver object, default="quasi-newton"
        Preconditioned L-BFGS on the relative gradient, or FastICA's iteration. A solver object, `QuasiNewtonICA` or
        `FixedPointICA` from `lowdim.solvers`, has its own `tol`, `max_iter` and `ortho`; the parameters of these names
        apply to solvers given by name.
    tol : float, default=1e-06
        The iteration stops when no entry of the relative gradient (with `ortho`, of its skew part) is larger.
    max_iter : int, default=1000
        Largest number of steps.
    n_init : int, default=None
        Number of starts; every second one does without the fast initial steps. The solution with the highest likelihood
        is kept, a `LocalOptimaWarning` says if half or more of the others are worse, and `stability_` tells how well
        they agree. The default is 5 if n_samples * n_components_^2 is at most 4 million and sources may have the
        flipped density, and otherwise 1; `plan_` says how many there were.
    w_init : array of shape (n_components, n_components), default=None
        Initial unmixing matrix of the whitened rows, instead of a random rotation.
    keep_sources : bool, default=False
        Whether to keep the sources of the rows of the fit as `sources_`.
    random_state : int, RandomState or None, default=None
        Seed of the random starts; None is a fixed seed.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features_in_)
        The unmixing matrix of the rows: sources are (x - mean) components_^T.
    mixing_ : array of shape (n_features_in_, n_components_)
        A, with components_ A = I, so that rows are mean + A u (up to noise). It is the pseudo-inverse of `components_`,
        unless columns are linearly dependent. In each column the entry of largest magnitude is positive.
    mean_ : array of shape (n_features_in_,)
    whitening_ : array of shape (n_components_, n_features_in_)
        K with E[z z^T] = I for z = K (x - mean), divisor n: principal components divided by their standard deviations.
        If there are as many components as columns, those of the standardized columns.
    unmixing_ : array of shape (n_components_, n_components_)
        W, with components_ = W whitening_.
    explained_variance_, explained_variance_ratio_ : arrays of shape (n_components_,)
        The variance of the rows due to each source, ||a_k||^2 var(u_k), descending; and its proportion of the total.
    kurtosis_ : array of shape (n_components_,)
        E[u^4] / E[u^2]^2 - 3 of each source: positive for heavy tails, 0 for a Gaussian.
    densities_ : list of Density
        The density of each source.
    stability_ : array of shape (n_components_,) or None
        With several starts, how consistently each source was found, from 0 to 1 (the index of ICASSO).
    loglike_ : list of numbers
        Log-likelihood of the rows before each step and at the end, without the steps that find a starting point.
    gradient_norm_ : float
        Largest entry of the relative gradient E[psi(u) u^T] - I (with `ortho`, of its skew part).
    noise_variance_ : float
        Average variance outside the leading principal components.
    sources_ : array of shape (n_samples_, n_components_)
        The sources of the rows of the fit, with `keep_sources`.
    n_components_, n_samples_, n_features_in_, feature_names_in_, n_iter_, n_passes_
    solver_, plan_, status_
        The solver that ran, the plan of the whole fit (with the solver and its options as `plan_.solver`), and the
        final status.

    Notes
    -----
    The fit minimises -ln |det W| + sum_i E[-ln p_i(u_i)], u = W z, over W for whitened rows z. Without `ortho`, the
    scale of the sources is fitted too, so that it matches the scale of their density. Every step is one pass over the
    rows, which computes a `ScoreMoments` of 2 K (K + 1) numbers with temporary arrays of the size of a block.
    If there are many rows, most steps are taken on a random sample of some thousand rows; the final steps use all rows.
    If rows in memory are sparse, or have more than four times as many columns as there are components, the whitened
    rows are kept during the fit.

    If several sources are Gaussian, only the space that they span can be found; a warning names them.

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
    n_passes_: int
    n_iter_: int
    gradient_norm_: float
    mean_: np.ndarray
    whitening_: np.ndarray
    unmixing_: np.ndarray
    components_: np.ndarray
    mixing_: np.ndarray
    noise_variance_: float
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    kurtosis_: np.ndarray
    stability_: np.ndarray | None
    densities_: list[Density]
    loglike_: list[float]
    sources_: np.ndarray
    fitted_attributes = {
        "n_passes_": Whole(),
        "n_iter_": Whole(),
        "gradient_norm_": Real("nonnegative"),
        "mean_": Numbers("p"),
        "whitening_": Numbers("k", "p"),
        "unmixing_": Numbers("k", "k"),
        "components_": Numbers("k", "p"),
        "mixing_": Numbers("p", "k"),
        "noise_variance_": Real("nonnegative"),
        "explained_variance_": Numbers("k", sign="nonnegative", order="descending"),
        "explained_variance_ratio_": Numbers("k", sign="nonnegative", order="descending"),
        "kurtosis_": Numbers("k"),
        "stability_": Maybe(Numbers("k")),
        "densities_": ListOf(Instance("densities.*"), length="k"),
        "loglike_": ListOf(Real()),
        "sources_": Sometimes(Numbers("*", "k", rows=True)),
        "_outside": Real("nonnegative"),
        "_log_volume": Real(),
    }
    _not_taken = {
        "algorithm": "all sources are found together; leave it out",
        "whiten": "rows are always whitened; leave it out, or write ortho=True for sources of variance one",
        "fun": "write density='sech' for 'logcosh', or density=... with a density from lowdim.densities",
        "fun_args": "pass a density with its parameters, from lowdim.densities",
        "whiten_solver": FULL_ACCURACY,
    }

    def __init__(
        self,
        n_components: int | float | RuleName | None = None,
        *,
        density: DensityName | Density | ThreeFunctions = "sech",
        extended: bool = True,
        ortho: bool | None = None,
        solver: IcaSolverName | IcaSolver = "quasi-newton",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_init: int | None = None,
        w_init: ArrayLike | None = None,
        keep_sources: bool = False,
        random_state: RandomState = None,
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

    def score_samples(self, X: TableLike) -> np.ndarray:
        """Log-density of each row: sum_i ln p_i(u_i) + ln |det| of the unmixing.

        Outside the principal components that were kept, the density is Gaussian with variance `noise_variance_`.
        Directions without variance are left out, with a warning; the density is then that of the others.
        """
        check_is_fitted(self)
        p, k = self.n_features_in_, self.n_components_
        _, noise = density_support(p, k, self._outside)
        constant = self._log_volume - (0.5 * (p - k) * math.log(2.0 * math.pi * noise) if noise > 0.0 else 0.0)
        # Each density is evaluated once, for all of its sources.
        each = self.densities_
        different = [density for i, density in enumerate(each) if density not in each[:i]]
        groups = [(density, [i for i, other in enumerate(each) if other == density]) for density in different]
        xp = namespace(self.components_)

        def log_density(block: Array) -> Array:
            Z = dense(block) - astype(self.mean_, block.dtype)
            U = Z @ astype(self.components_, Z.dtype).T
            total = 0.0
            for density, members in groups:
                those = xp.take(U, asarray_like(np.asarray(members), U), axis=1)
                total = total - xp.sum(density.energy(those), axis=1)
            if noise > 0.0:
                rest = Z - U @ astype(self.mixing_, Z.dtype).T
                total = total - 0.5 * xp.sum(rest * rest, axis=1) / noise
            return total + constant

        return self._map(X, log_density, "score_samples")

    def score(self, X: TableLike, y: TableLike | None = None) -> float:
        """Average log-density of the rows of `X`."""
        X, _ = self._by_name(X, y, fitted=True)
        return mean_of_results(self.score_samples(X))

    def _scoring(self) -> Any:
        return affine(self.components_.T, self.mean_, 1.0)

    def _lift(self) -> Array:
        return self.mixing_.T

    def _importance(self) -> list[tuple[str, Array]]:
        rows = [("proportion", self.explained_variance_ratio_), ("kurtosis", self.kurtosis_)]
        return rows if self.stability_ is None else [*rows, ("stability", self.stability_)]

    def _check_parameters(self) -> None:
        if isinstance(self.solver, str) and self.solver not in ICA_SOLVERS:
            raise choice("solver", self.solver, tuple(ICA_SOLVERS))
        check_flags(self, "extended", "keep_sources", *([] if self.ortho is None else ["ortho"]))
        if self.solver == FixedPointICA.name and self.ortho is not None and not self.ortho:
            raise ValueError("solver='fixed-point' finds rotations only; use ortho=True, or solver='quasi-newton'.")
        if isinstance(self.tol, bool) or not isinstance(self.tol, numbers.Real) or not 0.0 < self.tol < math.inf:
            raise ValueError(f"tol={self.tol!r} must be a positive number.")
        for name in ("max_iter", *([] if self.n_init is None else ["n_init"])):
            check_count(name, getattr(self, name))
        if self.w_init is not None and self.n_init is not None and self.n_init > 1:
            raise ValueError(f"w_init is a single start, but n_init={self.n_init}; pass only one of them.")
        for name, default in _SHORTHANDS.items():
            # A solver object has its own options, and would ignore these.
            if isinstance(self.solver, IcaSolver) and getattr(self, name) != default:
                option, kind = f"{name}={getattr(self, name)!r}", type(self.solver).__name__
                known = name in self.solver.options()
                where = f"pass solver={kind}({option})" if known else f"{kind} has no such option"
                raise ValueError(f"{option} goes with a solver by name, not with a solver object; {where}.")
        as_density(self.density)

    def _solver(self) -> Any:
        """The solver that the parameters select, with its options."""
        if not isinstance(self.solver, str):
            return self.solver
        cls = ICA_SOLVERS[self.solver]
        given: dict[str, Any] = {"tol": float(self.tol), "max_iter": int(self.max_iter), "ortho": bool(self.ortho)}
        return cls(**{name: value for name, value in given.items() if name in cls.options()})

    def _request(self) -> IcaRequest:
        """The request to the solver, as far as it is known before rows are read."""
        k = int(self.n_components) if isinstance(self.n_components, numbers.Integral) else None
        n_init = None if self.n_init is None else int(self.n_init)
        return IcaRequest(as_density(self.density), k, bool(self.extended), n_init, start=self.w_init)

    def _plan_rows(self, rows: Rows) -> Plan:
        if repeated_rows(rows) == 1:
            needed = "independent component analysis needs at least 2 rows, and many more for a reliable result"
            raise ValueError(f"n_samples=1: {needed}. Give more rows.")
        if is_cv(self.n_components):
            check_cv_rows(rows.shape[0])
        asked = self._most_sources(rows)
        if self.w_init is not None and isinstance(asked, numbers.Integral):
            ica.check_start(self._start(int(asked)), int(asked), self._solver().ortho)
        whitening = _whitening(rows, asked)._request_for(rows)
        the_plan = ica.plan(rows, self._request(), self._solver())
        return joined_plan(spectra.plan(rows, whitening), the_plan, "whitening")

    def _spectrum(self, rows: Rows) -> tuple[Spectrum, Plan]:
        """The components by which the rows are whitened, and how they were computed."""
        pca = _whitening(rows, self._most_sources(rows))
        if is_cv(pca.n_components):
            spectrum, the_plan = pca._cross_validate(rows)
        else:
            spectrum, the_plan = spectra.solve(rows, pca._request_for(rows))
        return pca._checked(spectrum, the_plan), the_plan

    def _most_sources(self, rows: Rows) -> Any:
        """The parameter `n_components` for these rows."""
        return self.n_components

    def _start(self, k: int) -> Any:
        """The start for k sources, or None for random ones."""
        return self.w_init

    def _fit_rows(self, rows: Rows) -> None:
        # This raises an error for a fit that is not possible, before rows are read.
        self._plan_rows(rows)
        spectrum, whitening_plan = self._spectrum(rows)
        solver = self._solver()
        whitener = make_whitener(rows, spectrum, solver.tol)
        start = self._start(int(spectrum.values.shape[0]))
        request = replace(self._request(), seed=self._seed(), whitener=whitener, start=start)
        fit, the_plan = ica.solve(rows, request, solver)
        self.plan_ = joined_plan(whitening_plan, the_plan, "whitening")
        unpack = partial(self._unpack, fit, spectrum, whitener, request.density)
        unpack_to(rows.empty(0), self, unpack, rows.dtype)
        self._warn(fit, spectrum.weight, request.density)
        self.__dict__.pop("sources_", None)
        if self.keep_sources:
            self.sources_ = rows.map(self._scoring())

    def _unpack(self, fit: IcaFit, spectrum: Spectrum, whitener: Whitener, density: Density, dtype: Any) -> None:
        """Set the fitted attributes, to NumPy arrays."""
        best, lift, n = fit.best, whitener.lift, divisor(spectrum.weight, 0)
        k, p = lift.shape
        self.n_components_, self.n_samples_ = k, spectrum.n_rows
        self.solver_, self.status_, self.n_passes_ = self.plan_.solver.name, best.status, self.plan_.passes
        self.n_iter_, self.gradient_norm_ = max(1, best.n_iter), best.gradient_norm
        self.mean_ = to_numpy(spectrum.mean).astype(dtype)

        def cast(values: np.ndarray) -> np.ndarray:
            return values.astype(dtype) if values.ndim > 1 else in_range(values, dtype)

        self.whitening_ = whitener.matrix.astype(dtype)
        K = self.whitening_.astype(float)
        self.unmixing_, self.components_, self.mixing_ = cast(best.W), cast(best.W @ K), cast(fit.mixing.T)
        self.noise_variance_ = spectrum.tail.total / n / (p - k) if k < p else 0.0
        total = float(np.linalg.norm(lift) ** 2) + self.noise_variance_ * (p - k)
        variances = fit.sizes**2
        self.explained_variance_, self.explained_variance_ratio_ = cast(variances), cast(variances / total)
        self.kurtosis_, self.stability_ = cast(best.kurtosis), None if fit.stability is None else cast(fit.stability)
        self.densities_ = [density.flipped or density if flip else density for flip in best.flipped]
        # All components have positive variance, since the others were dropped.
        self._outside = variance_outside(k, p, k, self.noise_variance_)
        volume = whitener.log_volume(K)
        self._log_volume = volume + float(np.linalg.slogdet(best.W)[1])
        rest = 0.5 * (p - k) * (math.log(2.0 * math.pi * self._outside) + 1.0) if self._outside > 0.0 else 0.0
        self.loglike_ = [spectrum.weight * (volume - rest - loss) for loss in best.loss]

    def _warn(self, fit: IcaFit, weight: float, density: Density) -> None:
        """Warn of an iteration that has not converged, of too few rows, and of unsuitable sources."""
        k, best, solver = self.n_components_, fit.best, self.plan_.solver
        if best.status is Status.NOT_CONVERGED:
            warn_user(
                f"solver={solver.name!r} stopped after {_count(best.n_iter, 'step')} with a relative gradient of "
                f"{best.gradient_norm:.1e}, above tol={solver.tol:g}. {solver.advice(best)}",
                ConvergenceWarning,
            )
        if weight < _FEW_ROWS * k:
            rows = _count(self.n_samples_, "row")
            rows += f" of total weight {weight:g}" if weight != self.n_samples_ else ""
            swapped = self.n_samples_ < self.n_features_in_
            warn_user(
                f"{rows} for {_count(k, 'source')}: the result is mostly chance. Keep fewer components, or give "
                f"more rows.{' Rows are samples and columns are signals: did you mean X.T?' if swapped else ''}",
                SmallSampleWarning,
            )
            return
        deviations = non_gaussianity(best, density, weight)
        gaussian = gaussian_sources(deviations)
        wrong = np.flatnonzero(deviations < 0.0)
        can_flip = self.extended and density.flipped is not None
        cure = "extended=True" if density.flipped is not None else "density='sech'"
        if len(gaussian) > 1:
            other = "" if can_flip or len(wrong) < 2 else f" Or their tails are too light for the density: try {cure}."
            warn_user(
                f"{len(gaussian)} of {k} sources look Gaussian ({self._names_of(gaussian)}): only the space that they "
                "span together is known, not which directions in it are the sources. Use more rows, or fewer "
                f"components.{other}",
                GaussianWarning,
            )
        elif len(wrong) > 1 and not can_flip and solver.needs_matching_tails:
            warn_user(
                f"{len(wrong)} of {k} sources have tails on the other side of the Gaussian than {density} "
                f"({self._names_of(wrong)}), and may be mixtures of the true ones. Use {cure}, or another density.",
                DensityWarning,
            )
        elif best.status is not Status.NOT_CONVERGED:
            self._warn_of_other_optima(fit.behind, max(SAME_OPTIMUM, _CHANCE / weight))

    def _warn_of_other_optima(self, behind: np.ndarray, least: float) -> None:
        """Warn if not most of the starts have ended at the best optimum: others are behind it by more than `least`."""
        worse = behind[behind > least]
        if 2 * len(worse) < len(behind):
            return
        by = " to ".join(dict.fromkeys(f"{extreme:.2g}" for extreme in (worse.min(), worse.max())))
        warn_user(
            f"only {len(behind) - len(worse)} of {len(behind)} starts ended at the best solution, which was kept; the "
            f"others are worse by {by} nats a row. A better one may have been missed: raise n_init, and look at "
            "stability_.",
            LocalOptimaWarning,
        )

    def _names_of(self, sources: np.ndarray) -> str:
        names = self.component_names_
        return ", ".join(names[i] for i in sources)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _whitening(rows: Rows, n_components: Any) -> PCA:
    """The PCA that whitens the rows, so that E[z z^T] = I, with divisor n.

    If all components are kept, the result does not depend on the units of the columns. They are then standardized
    first, since their scales may be very different.
    """
    all_kept = n_components is None or n_components == rows.shape[1]
    return PCA(n_components, whiten=True, scale=all_kept, ddof=0)
