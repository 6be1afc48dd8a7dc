"""FastICA with the arguments of scikit-learn's."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from sklearn import decomposition

from .. import models
from .._xp import Array, device, namespace
from ..attributes import Numbers, Sometimes
from ..densities import Density
from ..errors import ConvergenceWarning, LowdimWarning, warn_user
from ..linalg import divisor
from ..reading import Rows
from ..solvers import FixedPointICA, Plan, Spectrum, Status, Tail, spectra
from ..solvers.base import counted_rows, repeated_rows, total_weight
from ..solvers.ica import IcaFit, IcaRequest, Whitener
from ._parameters import SklearnParameters
from .contrasts import as_contrast
from .deflation import Deflation


class _NoDensity:
    """In place of methods that need the density of the sources."""

    def __get__(self, model: Any, owner: type) -> Any:
        raise AttributeError("FastICA maximises a contrast, which is not the density of a model; use lowdim.ICA.")


class FastICA(SklearnParameters, models.ICA):
    """Independent component analysis by fixed-point iteration, as `sklearn.decomposition.FastICA`.

    Parameters
    ----------
    n_components : int or None
        Number of sources. Components without variance are dropped, with a warning. It is ignored if `whiten` is False,
        with a warning.
    algorithm : {"parallel", "deflation"}
        Whether the sources are found together, or one after another.
    whiten : {"unit-variance", "arbitrary-variance"} or False
        As in scikit-learn: the sources have the variance 1, or 1 / n_samples; or the rows are taken to be white and
        centred already.
    fun : {"logcosh", "exp", "cube"} or callable
        The contrast; a callable is used as in scikit-learn, but without weights of rows.
    fun_args : dict or None
        As in scikit-learn: {"alpha": 1.0} for "logcosh", or arguments of the callable.
    max_iter : int
        Largest number of steps; there is a warning if it is reached.
    tol : float
        The iteration stops when no entry of the gradient is larger. This is stricter than scikit-learn's rule, which
        stops when the cosine of the angle of a step is within `tol` of 1.
    w_init : array of shape (n_components, n_components) or None
        As in scikit-learn. The nearest rotation is taken.
    whiten_solver : {"svd", "eigh"}
        Without effect: the whitening is computed to full accuracy in any case.
    random_state : int, RandomState or None
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
        algorithm: str = "parallel",
        whiten: str | bool = "unit-variance",
        fun: Any = "logcosh",
        fun_args: dict[str, Any] | None = None,
        max_iter: int = 200,
        tol: float = 1e-4,
        w_init: Any = None,
        whiten_solver: str = "svd",
        random_state: Any = None,
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

    def transform(self, X: Any, copy: bool = True, *, n_components: int | None = None) -> Array:
        """Sources of the rows of `X`. `copy` has no effect: rows are never overwritten."""
        return super().transform(X, n_components=n_components)

    def inverse_transform(self, X: Any, copy: bool = True) -> Array:
        """Rows from their sources `X`. `copy` has no effect."""
        return super().inverse_transform(X)

    def _check_parameters(self) -> None:
        self._validate_params()
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
    X: Any,
    n_components: int | None = None,
    *,
    algorithm: str = "parallel",
    whiten: str | bool = "unit-variance",
    fun: Any = "logcosh",
    fun_args: dict[str, Any] | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    w_init: Any = None,
    whiten_solver: str = "svd",
    random_state: Any = None,
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
