"""KernelPCA with the arguments of scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any, Literal

import numpy as np
from scipy import linalg
from sklearn import decomposition
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from .. import models
from .._core.arrays import Array, asarray_like, dense, device, is_sparse, namespace, to_numpy
from .._core.schema import Numbers, Sometimes
from .._core.types import RandomState
from ..errors import NoVariance
from ..features import Same, affine
from ..kernels import Kernel, as_kernel, parameters_of
from ..linalg import with_zeros
from ..reading.map import RowMap
from ..reading.rows import Rows
from ..solvers.kernel.matrix import Components
from ..solvers.problem import Status, counted_rows, total_weight
from ..sources.opening import TableLike, open_source
from .pca import SklearnParameters

#: The solver for each of scikit-learn's names.
_SOLVERS = {"auto": "auto", "dense": "dense", "arpack": "krylov", "randomized": "krylov"}
#: A kernel with a larger negative fraction of its spectrum is not an inner product. The iteration only estimates it.
_NEGATIVE = 1e-5
_NEGATIVE_ESTIMATE = 1e-2
#: The centred kernel matrix is zero if it is at most this fraction of the kernel matrix.
_ROUNDING = 1e-12


class _once_learned:  # noqa: N801 (a decorator)
    """A method that is there once `fit_inverse_transform` has learned it.

    Before, scikit-learn's error is raised. It is an AttributeError too, so that `hasattr` tells whether the method is
    there.
    """

    def __init__(self, function: Callable[..., Array]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self._function
        check_is_fitted(model)
        if not hasattr(model, "dual_coef_"):
            raise NotFittedError("inverse_transform needs fit_inverse_transform=True when the model is fitted.")
        return MethodType(self._function, model)


class KernelPCA(SklearnParameters, models.KernelPCA):
    """Kernel PCA, as `sklearn.decomposition.KernelPCA`.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, of which there are at most as many as rows; None keeps all with positive variance.
    kernel : {"linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"} or callable, default="linear"
        As in scikit-learn. A precomputed matrix must be symmetric, at least after it was centred.
    gamma : float or None, default=None
        As in scikit-learn: 1 / n_features by default. Kernels ignore parameters that they do not have.
    degree : float, default=3
        As in scikit-learn.
    coef0 : float, default=1
        As in scikit-learn.
    kernel_params : dict or None, default=None
        Keyword arguments of a callable kernel.
    alpha : float, default=1.0
        The ridge of `inverse_transform`.
    fit_inverse_transform : bool, default=False
        As in scikit-learn: `inverse_transform` is a kernel ridge regression of the rows on their scores, with the
        kernel of the model and the ridge `alpha`. (`lowdim.KernelPCA` has other ways to find rows from scores.)
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        "dense" computes all eigenpairs of the kernel matrix; "arpack" and "randomized" are a block Lanczos iteration.
    tol : float, default=0
        Without effect: it limits the accuracy of scikit-learn's iterations, and those here run until they converge.
    max_iter : int or None, default=None
        Without effect, as `tol`.
    iterated_power : int or "auto", default="auto"
        Without effect, as `tol`.
    remove_zero_eig : bool, default=False
        As in scikit-learn: if it is False and `n_components` is given, components without variance are kept. Their
        eigenvalues, eigenvectors and scores are 0.
    random_state : int, RandomState or None, default=None
        Seed of the starting vectors of the iteration.
    copy_X : bool, default=True
        Without effect: the rows are always copied, since the model needs them after the fit.
    n_jobs : int or None, default=None
        Without effect: the threads of BLAS are used.

    Attributes
    ----------
    eigenvalues_, eigenvectors_, X_fit_, gamma_
        As in scikit-learn.
    dual_coef_, X_transformed_fit_
        As in scikit-learn, with `fit_inverse_transform`: the coefficients of the regression of rows on scores, and the
        scores.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.sklearn import KernelPCA
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> model = KernelPCA(2, kernel="rbf", fit_inverse_transform=True, alpha=0.1).fit(X)
    >>> model.inverse_transform(model.transform(X)).shape
    (50, 3)
    """

    fitted_attributes = {
        "dual_coef_": Sometimes(Numbers("*", "p", rows=True)),
        "X_transformed_fit_": Sometimes(Numbers("*", "k", rows=True)),
    }
    memory: Any = None
    preimage: Any = "auto"
    _parameter_constraints = decomposition.KernelPCA._parameter_constraints

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Literal["linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"] | Callable[..., Any] = "linear",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        alpha: float = 1.0,
        fit_inverse_transform: bool = False,
        eigen_solver: Literal["auto", "dense", "arpack", "randomized"] = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        iterated_power: int | Literal["auto"] = "auto",
        remove_zero_eig: bool = False,
        random_state: RandomState = None,
        copy_X: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.iterated_power = iterated_power
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.copy_X = copy_X

    @property
    def solver(self) -> str:  # type: ignore[override] # a parameter of the model
        """The solver for `eigen_solver`; the iteration is for some of the components."""
        return "auto" if self.n_components is None and self.eigen_solver != "dense" else _SOLVERS[self.eigen_solver]

    @property
    def gamma_(self) -> float:
        """`gamma`, or 1 / n_features_in_ if that is None."""
        return 1.0 / self.n_features_in_ if self.gamma is None else float(self.gamma)

    @_once_learned
    def inverse_transform(self, X: TableLike) -> np.ndarray:
        """Rows from their scores, by the regression that was learned with `fit_inverse_transform`."""
        return self._inverse_maps(X)[0].result()

    def _inverse_maps(self, X: Any) -> list[RowMap]:
        known, coefficients, kernel = self.X_transformed_fit_, self.dual_coef_, self._given_kernel()
        assert kernel is not None, "refused by _check_parameters"

        def back(Z: Array) -> Array:
            return kernel(dense(Z), asarray_like(known, Z)) @ coefficients

        return [RowMap(open_source(X), back, self._row_names)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.fit_inverse_transform and self.kernel == "precomputed":
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel: the rows are not known.")

    def _given_kernel(self) -> Kernel | None:
        if callable(self.kernel):
            return as_kernel(partial(self.kernel, **self.kernel_params) if self.kernel_params else self.kernel)
        if self.kernel == "precomputed":
            return None
        # Before rows are known, any value of gamma will do.
        values: dict[str, Any] = {"gamma": self.gamma_ if hasattr(self, "n_features_in_") else 1.0}
        values |= {"degree": self.degree, "coef0": self.coef0}
        return as_kernel(self.kernel, **{name: values[name] for name in values.keys() & parameters_of(self.kernel)})

    def _k(self, n: int | None, p: int) -> int | None:
        k = self.n_components
        return k if k is None or n is None else min(int(k), n)

    def _fit_rows(self, rows: Rows) -> None:
        for name in ("dual_coef_", "X_transformed_fit_"):
            self.__dict__.pop(name, None)
        centred, means = _centred_kernels(rows) if self.kernel == "precomputed" else (rows, None)
        try:
            super()._fit_rows(centred)
        except NoVariance:
            if not self._is_flat(rows):
                raise
            self._set_nothing(rows)
        if means is not None:
            self.offset_ = asarray_like(means, self.offset_, dtype=self.offset_.dtype)
        if not self.remove_zero_eig and self.n_components is not None:
            self._add_zeros(int(self._k(counted_rows(rows), rows.shape[1]) or 0) - self.n_components_)
        if self.eigenvectors_ is None:
            self._find_eigenvectors(rows)
        if self.fit_inverse_transform:
            self._learn_inverse(rows)

    def _is_flat(self, rows: Rows) -> bool:
        """Whether all rows have the same features: whether the centred kernel matrix is zero up to rounding."""
        X, _ = rows.whole("KernelPCA")
        kernel = self._given_kernel()
        K = to_numpy(dense(X if kernel is None else kernel(X)))
        return bool(np.abs(_centred(K)).max() <= _ROUNDING * np.abs(K).max())

    def _set_nothing(self, rows: Rows) -> None:
        """Set the attributes of a model without components, whose rows all have the same features."""
        X, _ = rows.whole("KernelPCA")
        n, p = X.shape
        xp, options = namespace(rows.empty(0)), {"dtype": rows.dtype, "device": device(rows.empty(0))}
        self.plan_ = self._plan_rows(rows)
        self.solver_ = self.plan_.solver.name
        nothing = Components(
            phi=Same(),
            projection=xp.zeros((p, 0), **options),
            offset=xp.zeros((p,), **options),
            values=xp.zeros((0,), **options),
            total=1.0,
            negative_mass=0.0,
            status=Status.EXACT,
            residual=0.0,
            passes=1,
            n_rows=n,
            weight=total_weight(rows) or float(n),
            basis=X.copy() if is_sparse(X) else xp.asarray(X, copy=True),
            eigenvectors=xp.zeros((n, 0), **options),
            kernel=self._given_kernel(),
        )
        self._unpack(nothing, rows.dtype)

    def _add_zeros(self, n: int) -> None:
        """Add n components without variance."""
        if n <= 0:
            return
        self.n_components_ += n
        for name in ("eigenvalues_", "explained_variance_", "explained_variance_ratio_"):
            setattr(self, name, with_zeros(getattr(self, name), n))
        for name in ("projection_", "eigenvectors_"):
            if getattr(self, name) is not None:
                setattr(self, name, with_zeros(getattr(self, name), n))

    def _find_eigenvectors(self, rows: Rows) -> None:
        """Eigenvectors from the scores, after a solver that does not compute them."""
        Z, values = self._scores_map(rows.source).result(), self.eigenvalues_
        xp = namespace(Z)
        self.eigenvectors_ = Z / xp.sqrt(xp.where(values > 0.0, values, xp.ones_like(values)))
        self.X_fit_ = rows.whole("KernelPCA")[0].copy() if self.X_fit_ is None else self.X_fit_

    def _learn_inverse(self, rows: Rows) -> None:
        """Regress the rows on their scores Z: dual_coef_ = (k(Z, Z) + alpha I)^{-1} X."""
        X, kernel = rows.whole("KernelPCA")[0], self._given_kernel()
        if is_sparse(X):
            raise NotImplementedError("Inverse transform not implemented for sparse matrices; pass X.toarray().")
        assert kernel is not None, "refused by _check_parameters"
        Z = self.eigenvectors_ * namespace(self.eigenvalues_).sqrt(self.eigenvalues_)
        K = to_numpy(kernel(Z)) + self.alpha * np.eye(Z.shape[0])
        coefficients = linalg.solve(K, to_numpy(X), assume_a="pos")
        self.dual_coef_, self.X_transformed_fit_ = asarray_like(coefficients, Z, dtype=Z.dtype), Z

    def _warn_if_fewer(self, found: Components) -> None:
        """Refuse a kernel that is not an inner product, if its negative eigenvalues are among those requested."""
        asked = found.n_rows if self.n_components is None else min(int(self.n_components), found.n_rows)
        limit = _NEGATIVE if self.solver_ == "dense" else _NEGATIVE_ESTIMATE
        if found.values.shape[0] < asked and found.negative_mass > limit:
            raise ValueError(
                f"There are significant negative eigenvalues, {found.negative_mass:.2g} of the spectrum: the kernel is "
                f"not positive semidefinite. Ask for at most {found.values.shape[0]} components, or change the kernel."
            )

    def _scoring(self) -> Any:
        return super()._scoring() if self.n_components_ else affine(self.projection_, self.offset_, 0.0)


def _centred_kernels(rows: Rows) -> tuple[Rows, np.ndarray | None]:
    """Rows that hold a symmetric kernel matrix, and the means of the columns of the given one, if that was centred.

    A matrix K that is not symmetric may be so after it was centred. The scores of the fit follow from the centred
    matrix, and those of new rows from their kernels minus the means of the columns of K.
    """
    n, p = rows.shape
    if n != p or rows.weights is not None or not rows.traits.whole:
        return rows, None
    K = to_numpy(dense(rows.whole("KernelPCA")[0])).astype(np.float64)
    size = _ROUNDING * np.abs(K).max(initial=0.0)
    if np.abs(K - K.T).max(initial=0.0) <= size:
        return rows, None
    centred = _centred(K)
    if np.abs(centred - centred.T).max() > size:
        return rows, None
    return rows.of(asarray_like(0.5 * (centred + centred.T), rows.empty(0), dtype=rows.dtype)), K.mean(axis=0)


def _centred(K: np.ndarray) -> np.ndarray:
    """J K J with J = I - 1 1^T / n."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
