"""PCA and IncrementalPCA with the arguments of scikit-learn's."""

from __future__ import annotations

import numbers
from typing import Any, ClassVar, Literal, Self

from sklearn import decomposition
from sklearn.utils.validation import check_is_fitted

from .. import models
from .._core.arrays import Array, asarray_like, namespace
from .._core.schema import Numbers, Sometimes, Whole
from .._core.types import RandomState, VectorLike
from ..linalg import divisor, require_rows
from ..models.base import count_components
from ..reading.rows import Rows
from ..solvers import spectra
from ..solvers.problem import Spectrum, counted_rows, repeated_rows, total_weight
from ..solvers.spectra.covariance import Solver
from ..solvers.spectra.krylov import Krylov
from ..sources.opening import TableLike

# Parameters that scikit-learn's own rules check.


class SklearnParameters:
    """Mixin of classes with scikit-learn's parameters.

    `_parameter_constraints` are those of scikit-learn's class, so that invalid values raise scikit-learn's own error.
    The options of the model that scikit-learn's class does not have are attributes of the class.
    """

    _parameter_constraints: dict[str, Any]
    # All arguments of scikit-learn's class are taken.
    _not_taken: ClassVar[dict[str, str]] = {}
    _frames_everywhere = False

    @property
    def component_names_(self: Any) -> list[str]:
        """scikit-learn's names of components: pca0, pca1, ..."""
        check_is_fitted(self)
        return [f"{type(self).__name__.lower()}{k}" for k in range(self.n_components_)]

    def _check_parameters(self: Any) -> None:
        self._validate_params()
        super()._check_parameters()  # type: ignore[misc] # of the model that follows in the order of the bases


#: Solvers for which the number of components must be given as a whole number.
_TRUNCATED = ("arpack", "randomized")
#: The tolerance of "arpack" if it is given as 0.
_TOL = 1e-10


class PrincipalComponents(SklearnParameters, models.PCA):
    """What PCA and IncrementalPCA share: whitened scores have as many columns as there are components."""

    scale = False
    center = True
    solver = "auto"
    ddof = 1
    _fixed_ddof = True
    # scikit-learn asks for more than the proportion; equal up to rounding is not more.
    _beyond_share = 2e-12
    _drops_flat = False
    random_state: Any = None

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
    n_components : int, float, "mle" or None, default=None
        As in scikit-learn. It may be 0.
    copy : bool, default=True
        Without effect: rows are never overwritten.
    whiten : bool, default=False
        As in scikit-learn, but whitened scores of components without variance are 0, and not rounding errors divided by
        rounding errors.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        Which solver runs: "full" is the QR factor of the rows, "covariance_eigh" their covariance, and "arpack" and
        "randomized" are block Krylov iterations. All take all kinds of rows, sparse ones too.
    tol : float, default=0.0
        For "arpack": iterate until the residual of each eigenpair is at most `tol` times its eigenvalue; 0 stands for
        1e-10.
    iterated_power : int or "auto", default="auto"
        Without effect: the iteration takes as many steps as it needs to converge.
    n_oversamples : int, default=10
        For "randomized": the number of vectors that are multiplied at a time, in addition to `n_components`.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Without effect: the vectors of the iteration are always kept orthogonal.
    random_state : int, RandomState or None, default=None
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
        n_components: int | float | Literal["mle"] | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: Literal["auto", "full", "covariance_eigh", "arpack", "randomized"] = "auto",
        tol: float = 0.0,
        iterated_power: int | Literal["auto"] = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = "auto",
        random_state: RandomState = None,
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
        # "arpack" and "randomized" are for some of the components.
        return "auto" if self.svd_solver in _TRUNCATED else spectra.SKLEARN_SOLVERS[self.svd_solver]

    def _k(self, n: int | None, p: int) -> int | None:
        check_n_components(self.n_components, self.svd_solver, n, p)
        if self.n_components is None and self.svd_solver == "arpack":
            # ARPACK cannot compute the last one.
            return count_components((p if n is None else min(n, p)) - 1, n, p)
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


class IncrementalPCA(PrincipalComponents):
    """PCA of rows that arrive in blocks, as `sklearn.decomposition.IncrementalPCA`, but exact.

    scikit-learn keeps the leading components of the rows so far, and loses what the later blocks would have made of the
    others. Here the QR factor of all rows so far is kept (`summary_`), so that the result is that of PCA, whatever the
    blocks. It takes n_features_in_^2 numbers of memory.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components. None keeps as many as the first block has rows or columns, as in scikit-learn.
    whiten : bool, default=False
        As in scikit-learn, but whitened scores of components without variance are 0, and not rounding errors divided by
        rounding errors.
    copy : bool, default=True
        Without effect: rows are never overwritten.
    batch_size : int or None, default=None
        The number of rows of the first block of `fit`, which limits the number of components if `n_components` is None.
        It has no other effect: the result does not depend on the blocks.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_, mean_, noise_variance_, n_components_
        As in PCA.
    var_ : array of shape (n_features_in_,)
        Variances of the columns, with divisor n.
    n_samples_seen_ : int
        Number of rows so far. `partial_fit` goes on after `fit`, as in scikit-learn.
    batch_size_ : int
        `batch_size`, or 5 n_features_in_ if that is None.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.sklearn import PCA, IncrementalPCA
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> pca = IncrementalPCA(2).fit(X[:60]).partial_fit(X[60:])
    >>> pca.n_samples_seen_, np.allclose(pca.components_, PCA(2).fit(X).components_)
    (100, True)
    """

    solver = "triangle"
    fitted_attributes = {
        "batch_size_": Sometimes(Whole(1)),
        "n_samples_seen_": Whole(1),
        "var_": Numbers("p", sign="nonnegative"),
    }
    _parameter_constraints = decomposition.IncrementalPCA._parameter_constraints

    def __init__(
        self, n_components: int | None = None, *, whiten: bool = False, copy: bool = True, batch_size: int | None = None
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.copy = copy
        self.batch_size = batch_size

    def partial_fit(
        self,
        X: TableLike,
        y: TableLike | None = None,
        check_input: bool = True,
        sample_weight: VectorLike | None = None,
    ) -> Self:
        """Update the model with further rows. The result is exact: the same as a fit to all rows at once.

        `check_input` has no effect: rows are always checked, while they are read.
        """
        return super().partial_fit(X, y, sample_weight)

    def _fit_rows(self, rows: Rows) -> None:
        counted, n, p = counted_rows(rows), repeated_rows(rows), rows.shape[1]
        if counted is not None:
            require_rows(counted, total_weight(rows) or 0.0, self.ddof, self._fixed_ddof)
        self.__dict__.pop("n_components_", None)
        self.batch_size_ = 5 * p if self.batch_size is None else int(self.batch_size)
        if self.n_components is None:
            self.n_components_ = min(self.batch_size_, p if n is None else n, p)
        solver = spectra.streaming_solver(self._solver())
        self.summary_ = rows.summarize(self._empty_summary(solver, p))
        self._dtype = rows.dtype
        self._fit_summary(self.summary_, solver, rows.dtype, passes=1)

    def _keep_summary(self, rows: Rows) -> None:
        """The summary is kept already, whatever its size."""

    def _k(self, n: int | None, p: int) -> int:
        kept: int | None = self.__dict__.get("n_components_")
        rows = p if n is None else n
        k = self.n_components
        if k is None:
            return min(rows, p) if kept is None else kept
        if k > p:
            raise ValueError(
                f"n_components={k!r} invalid for n_features={p}, need more rows than columns for IncrementalPCA "
                f"processing: at most {p} components."
            )
        if kept is None and k > rows:
            raise ValueError(
                f"n_components={k!r} must be less or equal to the batch number of samples {rows} for the first "
                "partial_fit call: give a larger first block."
            )
        if kept is not None and k != kept:
            raise ValueError(f"n_components={k!r}, but the blocks so far had {kept}; call fit to start anew.")
        return int(k)

    def _least_rows(self, p: int) -> int:
        return 2

    def _fit_summary(self, summary: Any, solver: Solver, dtype: Any, passes: int = 0) -> None:
        super()._fit_summary(summary, solver, dtype, passes)
        self.n_samples_seen_ = summary.n_rows
        factor = summary.root
        squares = namespace(factor).sum(factor * factor, axis=0)
        self.var_ = asarray_like(squares / summary.weight, self.mean_, dtype=self.mean_.dtype)
