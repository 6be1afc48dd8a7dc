"""FastICA with the arguments of scikit-learn's."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn import decomposition

from .. import models
from .._core.arrays import Array, asarray_like, column_sums, device, namespace, to_numpy
from .._core.schema import Numbers, Sometimes
from .._core.types import RandomState
from ..densities import Density
from ..errors import ConvergenceWarning, LowdimWarning, warn_user
from ..linalg import divisor
from ..reading.rows import Rows
from ..solvers import spectra
from ..solvers.ica.fixed_point import FixedPointICA
from ..solvers.ica.objective import IcaFit, IcaRequest, Objective, Unmixing, Whitener
from ..solvers.problem import Plan, Spectrum, Status, Tail, counted_rows, repeated_rows, total_weight
from ..sources.opening import TableLike
from .pca import SklearnParameters

# The contrast functions of FastICA, in place of the densities of sources.
#
# FastICA maximises the distance of E[G(u)] from its value for a Gaussian source. A contrast has the methods of a
# density, with G' as the score and G'' as its slope. The fixed-point iteration needs only these two.


@dataclass(frozen=True)
class LogCosh(Density):
    """G(u) = ln cosh(alpha u) / alpha."""

    name = "logcosh"
    alpha: float = 1.0

    def energy(self, Y: Array) -> Array:
        xp = namespace(Y)
        size = xp.abs(self.alpha * Y)
        return (size + xp.log1p(xp.exp(-2.0 * size)) - math.log(2.0)) / self.alpha

    def score(self, Y: Array) -> Array:
        return namespace(Y).tanh(self.alpha * Y)

    def slope(self, Y: Array) -> Array:
        return self.alpha * (1.0 - namespace(Y).tanh(self.alpha * Y) ** 2)


@dataclass(frozen=True)
class Exp(Density):
    """G(u) = -exp(-u^2 / 2)."""

    name = "exp"

    def energy(self, Y: Array) -> Array:
        return -namespace(Y).exp(-0.5 * Y * Y)

    def score(self, Y: Array) -> Array:
        return Y * namespace(Y).exp(-0.5 * Y * Y)

    def slope(self, Y: Array) -> Array:
        return (1.0 - Y * Y) * namespace(Y).exp(-0.5 * Y * Y)


@dataclass(frozen=True)
class Cube(Density):
    """G(u) = u^4 / 4."""

    name = "cube"

    def energy(self, Y: Array) -> Array:
        return 0.25 * Y**4

    def score(self, Y: Array) -> Array:
        return Y**3

    def slope(self, Y: Array) -> Array:
        return 3.0 * Y * Y


@dataclass(frozen=True)
class Given(Density):
    """G' given by a function, which returns G'(u) and the averages of G''(u) over the last axis.

    The function sees the sources of a block of rows, one source after another. The average over all rows is that of the
    averages over blocks, so that each entry of a block can stand for it.
    """

    name = "given"
    function: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)

    def energy(self, Y: Array) -> Array:
        return namespace(Y).zeros_like(Y)

    def score(self, Y: Array) -> Array:
        return self._score_and_slope(Y)[0]

    def slope(self, Y: Array) -> Array:
        return self._score_and_slope(Y)[1]

    def terms(
        self, Y: Array, weights: Array | None, room: list[np.ndarray] | None, *, measured: bool = True
    ) -> tuple[Array, Array, Array]:
        return *self._score_and_slope(Y), column_sums(self.energy(Y), weights) if measured else None

    def _score_and_slope(self, Y: Array) -> tuple[Array, Array]:
        """Both from one call of the function for each source."""
        answers = [self._call(u) for u in to_numpy(Y).T]
        score = np.stack([values for values, _ in answers], axis=1)
        slope = np.stack([np.full(Y.shape[0], np.mean(average)) for _, average in answers], axis=1)
        return asarray_like(score, Y, dtype=Y.dtype), asarray_like(slope, Y, dtype=Y.dtype)

    def _call(self, u: np.ndarray) -> tuple[np.ndarray, Any]:
        answer = self.function(np.ascontiguousarray(u), **self.options)
        if not isinstance(answer, tuple) or len(answer) != 2 or np.shape(answer[0]) != u.shape:
            raise ValueError(
                "fun must return a pair: the derivative of the contrast at each value of its argument, and the average "
                "of the second derivative over the last axis, as in (x**3, (3 * x**2).mean(axis=-1))."
            )
        return answer


def as_contrast(fun: Any, fun_args: dict[str, Any] | None) -> Density:
    """The contrast that the parameters `fun` and `fun_args` of FastICA select."""
    options = dict(fun_args or {})
    if callable(fun):
        return Given(fun, options)
    if fun != "logcosh":
        return Exp() if fun == "exp" else Cube()
    alpha = float(options.get("alpha", 1.0))
    if not 1.0 <= alpha <= 2.0:
        raise ValueError(f"fun_args: alpha must be in [1,2], got {alpha:g}.")
    return LogCosh(alpha)


# FastICA's iteration for one source after another.


@dataclass(frozen=True)
class Deflation(FixedPointICA):
    """In each step w becomes E[psi(w z) z] - E[psi'(w z)] w, orthogonal to the sources before it, and of length one.

    Errors of the first sources are passed on to the later ones, so that the result is less accurate than that of the
    iteration for all sources together. It is kept because FastICA(algorithm="deflation") asks for it.
    """

    name = "deflation"

    def run(
        self, objective: Objective, W: np.ndarray, flipped: np.ndarray, extended: bool, *, spent: int = 0
    ) -> Unmixing:
        W, steps, worst = W.copy(), 0, 0.0
        for j in range(len(W)):
            W, taken, norm = self._find(objective, W, j)
            steps, worst = max(steps, taken), max(worst, norm)
        point = objective.at(W, curved=False, narrow=False)
        status = Status.CONVERGED if worst <= self.tol else Status.NOT_CONVERGED
        return Unmixing(W, flipped, [point.loss], worst, point.stability, point.kurtosis, status, steps)

    def _find(self, objective: Objective, W: np.ndarray, j: int) -> tuple[np.ndarray, int, float]:
        """The rotation W with source j found among those after it, the number of steps, and the last gradient."""
        for step in range(self.max_iter + 1):
            point = objective.at(W, curved=False, narrow=False)
            # E[psi(y_j) y] has no part along the later sources where source j is found.
            later = point.products[j, j + 1 :]
            norm = float(np.abs(later).max()) if later.size else 0.0
            if norm <= self.tol or step == self.max_iter:
                return W, step, norm
            direction = point.products[j].copy()
            direction[j] -= point.slopes[j]
            direction[:j] = 0.0
            W = _rotate_to(W, j, np.copysign(1.0, direction[j]) * direction)
        raise AssertionError("the loop returns")


def _rotate_to(W: np.ndarray, j: int, direction: np.ndarray) -> np.ndarray:
    """W with row j turned to `direction`, which is in the coordinates of its rows and zero before j."""
    later = direction[j:] / np.linalg.norm(direction)
    # A Householder reflection that maps the first unit vector to the direction; its other rows complete the basis.
    v = later.copy()
    v[0] += np.copysign(1.0, v[0])
    reflection = np.eye(len(v)) - 2.0 * np.outer(v, v) / (v @ v)
    reflection[0] = later
    turned = W.copy()
    turned[j:] = reflection @ W[j:]
    return turned


class _NoDensity:
    """In place of methods that need the density of the sources."""

    def __get__(self, model: Any, owner: type) -> Any:
        raise AttributeError("FastICA maximises a contrast, which is not the density of a model; use lowdim.ICA.")


class FastICA(SklearnParameters, models.ICA):
    """Independent component analysis by fixed-point iteration, as `sklearn.decomposition.FastICA`.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of sources. Components without variance are dropped, with a warning. It is ignored if `whiten` is False,
        with a warning.
    algorithm : {"parallel", "deflation"}, default="parallel"
        Whether the sources are found together, or one after another.
    whiten : {"unit-variance", "arbitrary-variance"} or False, default="unit-variance"
        As in scikit-learn: the sources have the variance 1, or 1 / n_samples; or the rows are taken to be white and
        centred already.
    fun : {"logcosh", "exp", "cube"} or callable, default="logcosh"
        The contrast; a callable is used as in scikit-learn, but without weights of rows.
    fun_args : dict or None, default=None
        As in scikit-learn: {"alpha": 1.0} for "logcosh", or arguments of the callable.
    max_iter : int, default=200
        Largest number of steps; there is a warning if it is reached.
    tol : float, default=0.0001
        The iteration stops when no entry of the gradient is larger. This is stricter than scikit-learn's rule, which
        stops when the cosine of the angle of a step is within `tol` of 1.
    w_init : array of shape (n_components, n_components) or None, default=None
        As in scikit-learn. The nearest rotation is taken.
    whiten_solver : {"svd", "eigh"}, default="svd"
        Without effect: the whitening is computed to full accuracy in any case.
    random_state : int, RandomState or None, default=None
        Seed of the start; None is a fixed seed.

    Attributes
    ----------
    components_, mixing_, n_iter_, mean_ and whitening_ (unless `whiten` is False)
        As in scikit-learn, with sources in order of their variance in the rows, and the entry of largest magnitude in
        each column of `mixing_` positive.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.sklearn import FastICA
    >>> random = np.random.default_rng(0)
    >>> X = random.laplace(size=(2000, 2)) @ np.array([[3.0, 1.0], [1.0, 2.0]])
    >>> FastICA(algorithm="parallel", whiten="unit-variance").fit_transform(X).std(axis=0).round(6)
    array([1., 1.])
    """

    fitted_attributes = {"whitening_": Sometimes(Numbers("k", "p")), "densities_": None, "loglike_": None}
    density: Any = "sech"
    extended = False
    ortho: Any = None
    solver: Any = "fixed-point"
    n_init = 1
    keep_sources = False
    score_samples: Any = _NoDensity()
    score: Any = _NoDensity()
    _parameter_constraints = decomposition.FastICA._parameter_constraints

    def __init__(
        self,
        n_components: int | None = None,
        *,
        algorithm: Literal["parallel", "deflation"] = "parallel",
        whiten: Literal["unit-variance", "arbitrary-variance", False] = "unit-variance",
        fun: Literal["logcosh", "exp", "cube"] | Callable[..., Any] = "logcosh",
        fun_args: dict[str, Any] | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        w_init: ArrayLike | None = None,
        whiten_solver: Literal["svd", "eigh"] = "svd",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.whiten = whiten
        self.fun = fun
        self.fun_args = fun_args
        self.max_iter = max_iter
        self.tol = tol
        self.w_init = w_init
        self.whiten_solver = whiten_solver
        self.random_state = random_state

    def transform(self, X: TableLike, copy: bool = True, *, n_components: int | None = None) -> np.ndarray:
        """Sources of the rows of `X`. `copy` has no effect: rows are never overwritten."""
        return super().transform(X, n_components=n_components)

    def inverse_transform(self, X: TableLike, copy: bool = True) -> np.ndarray:
        """Rows from their sources `X`. `copy` has no effect."""
        return super().inverse_transform(X)

    def _check_parameters(self) -> None:
        self._validate_params()  # type: ignore[attr-defined] # of scikit-learn, which has no types
        as_contrast(self.fun, self.fun_args)

    def _solver(self) -> FixedPointICA:
        cls = FixedPointICA if self.algorithm == "parallel" else Deflation
        # A tolerance of zero is never reached.
        return cls(tol=max(float(self.tol), sys.float_info.min), max_iter=int(self.max_iter))

    def _request(self) -> IcaRequest:
        return IcaRequest(as_contrast(self.fun, self.fun_args), None, False, 1, start=self.w_init)

    def _plan_rows(self, rows: Rows) -> Plan:
        if rows.weights is not None and callable(self.fun):
            raise ValueError("a callable fun averages over rows without weights; leave sample_weight out.")
        return super()._plan_rows(rows)

    def _most_sources(self, rows: Rows) -> Any:
        n, p = repeated_rows(rows), rows.shape[1]
        most = p if n is None else min(n, p)
        if not self.whiten:
            return None
        return None if self.n_components is None or self.n_components > most else self.n_components

    def _spectrum(self, rows: Rows) -> tuple[Spectrum, Plan]:
        n, p = repeated_rows(rows), rows.shape[1]
        most = p if n is None else min(n, p)
        if not self.whiten:
            if self.n_components is not None:
                warn_user("Ignoring n_components with whiten=False.", LowdimWarning)
            return _identity(rows), spectra.plan_shape((n, p))
        if self.n_components is not None and self.n_components > most:
            warn_user(f"n_components is too large: it will be set to {most}", LowdimWarning)
        return super()._spectrum(rows)

    def _start(self, k: int) -> np.ndarray:
        """The start, always given: a search from a random one would need the density of the sources."""
        if self.w_init is None:
            return np.linalg.qr(np.random.default_rng(self._seed()).standard_normal((k, k)))[0]
        start = np.asarray(self.w_init, dtype=float)
        if start.shape != (k, k):
            raise ValueError(f"w_init has invalid shape {start.shape}, should be {(k, k)}.")
        return start

    def _unpack(self, fit: IcaFit, spectrum: Spectrum, whitener: Whitener, density: Density, dtype: Any) -> None:
        super()._unpack(fit, spectrum, whitener, density, dtype)
        # These belong to the likelihood, of which there is none.
        for name in ("loglike_", "densities_"):
            del self.__dict__[name]
        if not self.whiten:
            del self.whitening_
            return
        # scikit-learn's whitening matrix K has K X^T X K^T = I.
        root = math.sqrt(divisor(spectrum.weight, 0))
        self.whitening_ = self.whitening_ / root
        if self.whiten == "unit-variance":
            self.unmixing_ = self.unmixing_ * root
        else:
            self.components_, self.mixing_ = self.components_ / root, self.mixing_ * root

    def _warn(self, fit: IcaFit, weight: float, density: Density) -> None:
        best, solver = fit.best, self.plan_.solver
        if best.status in (Status.NOT_CONVERGED, Status.UNDETERMINED):
            warn_user(
                "FastICA did not converge. Consider increasing tolerance or the maximum number of iterations. The "
                f"gradient is {best.gradient_norm:.1e} after {best.n_iter} steps, above tol={solver.tol:g}.",
                ConvergenceWarning,
            )


def fastica(
    X: TableLike,
    n_components: int | None = None,
    *,
    algorithm: Literal["parallel", "deflation"] = "parallel",
    whiten: Literal["unit-variance", "arbitrary-variance", False] = "unit-variance",
    fun: Literal["logcosh", "exp", "cube"] | Callable[..., Any] = "logcosh",
    fun_args: dict[str, Any] | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    w_init: ArrayLike | None = None,
    whiten_solver: Literal["svd", "eigh"] = "svd",
    random_state: RandomState = None,
    return_X_mean: bool = False,
    compute_sources: bool = True,
    return_n_iter: bool = False,
) -> tuple[Any, ...]:
    """`FastICA` as a function, as `sklearn.decomposition.fastica`.

    Returns
    -------
    K, W, S : arrays
        The whitening matrix (None if `whiten` is False), the unmixing matrix, and the sources W K (x - mean) as rows
        (None without `compute_sources`).
    mean, n_iter
        On request, the mean of the rows (None if `whiten` is False), and the number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.sklearn import fastica
    >>> sources = np.random.default_rng(0).laplace(size=(500, 2))
    >>> K, W, S = fastica(sources @ np.array([[2.0, 1.0], [1.0, 1.0]]), random_state=0)
    >>> np.abs(np.corrcoef(S.T, sources.T)[:2, 2:]).round(1)
    array([[1., 0.],
           [0., 1.]])
    """
    model = FastICA(
        n_components,
        algorithm=algorithm,
        whiten=whiten,
        fun=fun,
        fun_args=fun_args,
        max_iter=max_iter,
        tol=tol,
        w_init=w_init,
        whiten_solver=whiten_solver,
        random_state=random_state,
    ).fit(X)
    sources = model.transform(X) if compute_sources else None
    answer = [model.whitening_ if whiten else None, model.unmixing_, sources]
    if return_X_mean:
        answer.append(model.mean_ if whiten else None)
    return (*answer, model.n_iter_) if return_n_iter else tuple(answer)


def _identity(rows: Rows) -> Spectrum:
    """The components of rows that are taken to be white and centred already."""
    like, (n, p) = rows.empty(1), rows.shape
    if n is None:
        raise ValueError(
            "whiten=False needs to know the number of rows: pass them as an array, or let them be whitened."
        )
    xp, options = namespace(like), {"dtype": like.dtype, "device": device(like)}
    weight = total_weight(rows) or float(n)
    return Spectrum(
        values=weight * np.ones(p),
        vectors=xp.eye(p, **options),
        mean=xp.zeros((p,), **options),
        scale=None,
        tail=Tail(),
        weight=weight,
        n_rows=counted_rows(rows) or n,
        status=Status.EXACT,
        residual=0.0,
        epsilon=0.0,
        passes=0,
    )
