"""PCA with the arguments of scikit-learn's."""

from __future__ import annotations

import numbers
from typing import Any

from sklearn import decomposition

from .. import models
from .._xp import Array, namespace
from ..linalg import divisor
from ..solvers import Krylov, Solver, Spectrum
from ..solvers.results import count_to_reach
from ._parameters import SklearnParameters

#: Solvers for which the number of components must be given as a whole number.
_TRUNCATED = ("arpack", "randomized")
#: The tolerance of "arpack" if it is given as 0.
_TOL = 1e-10


class PrincipalComponents(SklearnParameters, models.PCA):
    """What PCA and IncrementalPCA share: whitened scores have as many columns as there are components."""

    standardize = False
    center = True
    solver = "auto"
    svd_solver: Any = None
    ddof = 1
    _fixed_ddof = True
    random_state: Any = None

    def _count_to_reach(self, spectrum: Spectrum, proportion: float) -> int:
        # scikit-learn asks for more than the proportion; equal up to rounding is not more.
        return count_to_reach(spectrum, proportion + 2e-12)

    def _with_variance(self, spectrum: Spectrum, k: int) -> int:
        return k

    def _whitening(self) -> Array:
        """1 / sqrt(lambda_k), and 0 for components without variance, whose whitened scores are then 0."""
        variances = self.explained_variance_
        xp = namespace(variances)
        positive = variances > getattr(self, "rank_cut_", 0.0)
        scales = 1.0 / xp.sqrt(xp.where(positive, variances, xp.ones_like(variances)))
        return xp.where(positive, scales, xp.zeros_like(scales))


class PCA(PrincipalComponents):
    """Principal component analysis, as `sklearn.decomposition.PCA`.

    Parameters
    ----------
    n_components : int, float, "mle" or None
        As in scikit-learn. It may be 0.
    copy : bool
        Without effect: rows are never overwritten.
    whiten : bool
        As in scikit-learn, but whitened scores of components without variance are 0, and not rounding errors divided by
        rounding errors.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}
        Which solver runs: "full" is the QR factor of the rows, "covariance_eigh" their covariance, and "arpack" and
        "randomized" are block Krylov iterations. All take all kinds of rows, sparse ones too.
    tol : float
        For "arpack": iterate until the residual of each eigenpair is at most `tol` times its eigenvalue; 0 stands for
        1e-10.
    n_oversamples : int
        For "randomized": the number of vectors that are multiplied at a time, in addition to `n_components`.
    iterated_power, power_iteration_normalizer
        Without effect: the iteration takes as many steps as it needs to converge, and its vectors are always kept
        orthogonal.
    random_state : int, RandomState or None
        Seed of the starting vectors of the iterations.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_, mean_, n_components_, n_samples_
        As in scikit-learn.
    noise_variance_ : float
        As in scikit-learn if there are more rows than columns. Otherwise scikit-learn divides the discarded variance by
        the number of discarded components; here it is divided by all n_features_in_ - n_components_ directions, as in
        the model of probabilistic PCA.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.sklearn import PCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> PCA(n_components=2, copy=False, tol=1e-3).fit(X).singular_values_.round(4)
    array([6.3006, 0.5498])
    """

    _parameter_constraints = decomposition.PCA._parameter_constraints

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: Any = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state

    def _solver(self) -> str | Solver:
        if self.svd_solver == "arpack" and self.n_components is not None:
            return Krylov(tol=float(self.tol) or _TOL)
        if self.svd_solver == "randomized" and isinstance(self.n_components, numbers.Integral):
            return Krylov(block=max(1, int(self.n_components)) + int(self.n_oversamples))
        return super()._solver()

    def _k(self, n: int | None, p: int) -> int | None:
        check_n_components(self.n_components, self.svd_solver, n, p)
        # No component is the first one left out.
        return 1 if self._keeps_none() else super()._k(n, p)

    def _keeps_none(self) -> bool:
        return isinstance(self.n_components, numbers.Integral) and int(self.n_components) == 0

    def _unpack(self, spectrum: Spectrum, dtype: Any) -> None:
        super()._unpack(spectrum, dtype)
        if not self._keeps_none():
            return
        self.n_components_ = self.rank_ = 0
        self.components_ = self.components_[:0, :]
        for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
            setattr(self, name, getattr(self, name)[:0])
        self.tail_ = spectrum.tail.plus(spectrum.values)
        self.noise_variance_ = self.tail_.total / divisor(spectrum.weight, self.ddof) / self.n_features_in_


def check_n_components(k: Any, svd_solver: str, n: int | None, p: int) -> None:
    """Refuse a number of components that scikit-learn refuses for this solver and rows of this shape."""
    if k is None:
        return
    truncated = svd_solver in _TRUNCATED
    if isinstance(k, str):
        if truncated:
            raise ValueError(f"n_components={k!r} cannot be a string with svd_solver={svd_solver!r}; use 'full'.")
        if n is not None and n < p:
            raise ValueError(f"n_components={k!r} is only supported if n_samples >= n_features; got {n} and {p}.")
        return
    if not isinstance(k, numbers.Integral) and not truncated:
        return
    upper, least = p if n is None else min(n, p), 1 if truncated else 0
    solver = "full" if svd_solver == "auto" else svd_solver
    limit = f"min(n_samples, n_features)={upper} with svd_solver={solver!r}"
    if not least <= k <= upper:
        raise ValueError(f"n_components={k!r} must be between {least} and {limit}.")
    if svd_solver == "arpack" and k == upper:
        raise ValueError(f"n_components={k!r} must be strictly less than {limit}; use 'full'.")
