"""Canonical correlation analysis of two tables mapped by kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._xp import is_sparse
from ..errors import (
    RankWarning,
    ResolutionWarning,
    inconsistent_lengths,
    kernel_not_finite,
    too_few_rows,
    warn_user,
)
from ..kernels import Kernel, as_kernel
from ..linalg import FLOAT64_EPS, divisor, eigh_descending, signs
from ..reading import Rows, check_weights
from ..solvers.kernel.from_matrix import require_symmetric
from ..solvers.results import CanonicalFit, Status
from ..solvers.tables.canonical import canonical
from ..solvers.tables.views import Lifted, View, Views
from ..sources import Source, open_source, open_target
from ..summaries import Gram
from ._base import all_or_nothing
from ._canonical import pair_correlations, warn_if_forced
from ._display import Printed
from ._tables import check_count, check_regularization, check_target_names

#: A larger negative share of a spectrum is worth a word.
_NEGATIVE = 1e-6


# scikit-learn has no types, so its bases are Any.
class KernelCCA(Printed, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pairs of functions of X and of y, from the spaces of two kernels, with the largest regularized correlations.

    Parameters
    ----------
    n_components : int or None
        How many pairs; None takes all there are.
    kernel : str, Kernel or callable, or a pair of them
        A name ("linear", "gaussian" or "rbf", "polynomial" or "poly", "laplacian", "matern", ...), an object from
        `lowdim.kernels` with its options, a function of two rows, or "precomputed": then X and y are kernel matrices.
    gamma, degree, coef0 : float, or pairs of floats
        Parameters of kernels that are given by name. Without `gamma` the width of a kernel is found by the median rule.
        Rows are taken in their own units: put `sklearn.preprocessing.StandardScaler` in front where columns differ in
        them.
    regularization : float or pair of floats
        From 0 (none) to 1 (full). Without it, kernels of full rank find correlations of 1 in anything.

    Attributes
    ----------
    correlations_ : array of shape (n_components_,)
        Correlations of the pairs of variates over the rows of the fit, in the order of `singular_values_`.
    singular_values_ : array of shape (n_components_,)
        What was maximised, descending.
    x_dual_coef_, y_dual_coef_ : arrays of shape (n_samples, n_components_)
        Coefficients of the centred kernels with the rows of the fit.
    x_kernel_, y_kernel_ : Kernel or None
        Kernels with their parameters as they were found; None where the matrix was given.
    x_fit_, y_fit_ : the rows of the fit, for `transform`
    rank_ : tuple of int
    n_components_, n_samples_, n_features_in_, feature_names_in_

    Notes
    -----
    CCA of the features phi(x), psi(y) that the kernels k(x, x') = phi(x)^T phi(x') stand for. Directions are
    sum_i a_i (phi(x_i) - mean), so the centred kernel matrices hold all that is needed, and the solve is that of CCA
    with D = (1 - c) S + c I [1]_, [2]_; with the linear kernel it is regularized CCA. n^2 numbers for each table and
    eigenproblems of size n.

    References
    ----------
    .. [1] Bach, Jordan (2002), Kernel independent component analysis, section 3.
    .. [2] Hardoon, Szedmak, Shawe-Taylor (2004), Canonical correlation analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import CCA, KernelCCA
    >>> angle = np.linspace(0, 6.0, 60)[:, None]
    >>> X, y = np.hstack([np.cos(angle), np.sin(angle)]), np.cos(2 * angle)
    >>> round(float(CCA(1).fit(X, y).correlations_[0]), 2)
    0.06
    >>> round(float(KernelCCA(1, kernel="poly", degree=2).fit(X, y).correlations_[0]), 2)
    1.0
    """

    component_name = "pair"
    #: The solve is that of `solver="gram"`.
    solver_ = "gram"

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        degree: Any = None,
        coef0: Any = None,
        regularization: float | Sequence[float] = 0.1,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.regularization = regularization

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows of two tables (or to two kernel matrices).

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples, n_targets) or (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            Frequency weights: weight 2 equals repeating the row.
        """
        if y is None:
            raise ValueError("KernelCCA requires y to be passed, but the target y is None: it relates two tables.")
        c = check_regularization(self.regularization, 2)
        kernels = self._kernels()
        with all_or_nothing(self):
            self._fit(X, y, sample_weight, c, kernels)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, c: list[float], kernels: list[Kernel | None]) -> None:
        x, other = self._open(X, reset=True), open_target(y)
        if other.shape[0] != x.shape[0]:
            raise inconsistent_lengths(["X", "y"], [x.shape[0], other.shape[0]])
        weights = None if sample_weight is None else np.asarray(check_weights(sample_weight, x), dtype=np.float64)
        X, counted = _whole(x, weights)
        Y, weights = _whole(other, weights)[0], counted
        n = X.shape[0]
        total = float(n) if weights is None else float(weights.sum())
        if divisor(total, 1) <= 0:
            raise too_few_rows(n, total, 1, fixed=True)
        self.x_kernel_, self.y_kernel_ = (
            None if kernel is None else kernel.fitted(A, weights) for kernel, A in zip(kernels, (X, Y), strict=True)
        )
        self._shifts = [self._shift(A, weights, i) for i, A in enumerate((X, Y))]
        centres = [_Centre.of(self._gram(A, A, i), weights) for i, A in enumerate((X, Y))]
        tables = [centre.view() for centre in centres]
        views = Views(tuple(tables), ("X", "y"), total, n, 1, n, FLOAT64_EPS, True, "gram", 0)
        fit = canonical(views, check_count(self.n_components, n, n, (X.shape[1], Y.shape[1])), c)
        k = fit.rotations[0].shape[1]
        self.n_components_, self.rank_, self.n_samples_ = k, fit.ranks, n
        self.correlations_ = fit.correlations[:k, 0, 1]
        self.singular_values_ = fit.values[:k]
        coefs = [view.lift(R[:, :k]).vectors for view, R in zip(tables, fit.rotations, strict=True)]
        # The largest variate of a row is positive: that does not depend on whether rows are repeated or weighted.
        root = 1.0 if weights is None else np.sqrt(weights)[:, None]
        sign = signs((fit.variates[0][:, :k] / root).T)
        self.x_dual_coef_, self.y_dual_coef_ = (coef * sign for coef in coefs)
        self.x_fit_, self.y_fit_ = X, Y
        self._centres = centres
        self.__dict__.pop("target_names_in_", None)
        if other.names is not None:
            self.target_names_in_ = np.asarray(other.names, dtype=object)
        self._warn(views, fit, c)

    def _warn(self, views: Views, fit: CanonicalFit, c: list[float]) -> None:
        """Say what was left out, and what rows are too few for."""
        warn_if_forced(views, fit, c)
        for name, centre in zip(views.names, self._centres, strict=True):
            if centre.negative > _NEGATIVE:
                warn_user(
                    f"the kernel of {name} is not positive semidefinite: {centre.negative:.1%} of its spectrum is "
                    "negative and was left out.",
                    RankWarning,
                )
        ranks = f"the ranks of the kernel matrices are {fit.ranks[0]} and {fit.ranks[1]}"
        if self.n_components is not None and self.n_components_ < self.n_components:
            only = f"only {self.n_components_} of n_components={self.n_components} could be taken"
            warn_user(f"{only}: {ranks}.", RankWarning)
        elif fit.status is Status.UNRESOLVED and 0.0 in c:
            warn_user(
                f"the smallest directions of the kernel matrices cannot be told from rounding ({ranks}), and what "
                "depends on them is lost. Use regularization.",
                ResolutionWarning,
            )

    def transform(self, X: Any, y: Any = None) -> Any:
        """Variates of the rows of `X`; with `y` a pair, of both tables."""
        check_is_fitted(self)
        X, _ = _whole(self._open(X, reset=False))
        x = self._variates(X, self.x_fit_, self.x_dual_coef_, 0).astype(X.dtype, copy=False)
        if y is None:
            return x
        other = open_target(y)
        check_target_names(self, other)
        Y, _ = _whole(other)
        if Y.shape[1] != self.y_fit_.shape[1]:
            raise ValueError(f"y has {Y.shape[1]} columns, the model was fitted on {self.y_fit_.shape[1]}.")
        if Y.shape[0] != X.shape[0]:
            raise inconsistent_lengths(["X", "y"], [X.shape[0], Y.shape[0]])
        return x, self._variates(Y, self.y_fit_, self.y_dual_coef_, 1).astype(Y.dtype, copy=False)

    def score(self, X: Any, y: Any) -> float:
        """Average correlation of the pairs of variates on these rows.

        For choosing kernels, their parameters and `regularization` by rows that were not in the fit.
        """
        return float(np.mean(list(pair_correlations(self.transform(X, y)))))

    def _open(self, X: Any, *, reset: bool) -> Source:
        """The source of X, its columns remembered or compared with those of the fit."""
        source = open_source(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        return source

    def _variates(self, new: Any, fitted: Any, coef: np.ndarray, i: int) -> np.ndarray:
        return self._centres[i].of_new(self._gram(new, fitted, i)) @ coef

    def _gram(self, A: Any, B: Any, i: int) -> np.ndarray:
        """Kernel of the rows of A with those of B, for table i."""
        kernel = (self.x_kernel_, self.y_kernel_)[i]
        if kernel is None:
            return _precomputed(A, "Xy"[i], fitted=A is B)
        same = A is B
        if self._shifts[i] is not None:
            A, B = A - self._shifts[i], B - self._shifts[i]
        K = kernel(A) if same else kernel(A, B)
        if not np.all(np.isfinite(K)):
            raise kernel_not_finite(kernel)
        return K.astype(np.float64, copy=False)

    def _shift(self, A: Any, weights: np.ndarray | None, i: int) -> np.ndarray | None:
        """What rows are measured from, where the kernel does not mind: columns far from zero would lose digits."""
        kernel = (self.x_kernel_, self.y_kernel_)[i]
        if kernel is None or is_sparse(A) or not kernel.shift_free:
            return None
        return np.average(A, axis=0, weights=weights)

    def _kernels(self) -> list[Kernel | None]:
        """One kernel for each table; None for a matrix that is given."""
        for name in ("kernel", "gamma", "degree", "coef0"):
            value = getattr(self, name)
            if isinstance(value, list | tuple) and len(value) != 2:
                raise ValueError(f"{name}={value!r} must be one for both tables, or a pair of them.")
        kernels: list[Kernel | None] = []
        for i in (0, 1):
            given = _of_table(self.kernel, i)
            named = isinstance(given, str)
            options = {n: _of_table(getattr(self, n), i) for n in ("gamma", "degree", "coef0")} if named else {}
            kernels.append(None if named and given == "precomputed" else as_kernel(given, **options))
        return kernels

    def _importance(self) -> list[tuple[str, Any]]:
        return [("correlation", self.correlations_), ("singular value", self.singular_values_)]

    def _columns_in_words(self) -> str:
        return f"{self.x_fit_.shape[1]} and {self.y_fit_.shape[1]} columns"

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        first = _of_table(self.kernel, 0)
        tags.input_tags.pairwise = isinstance(first, str) and first == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True)
class _Centre:
    """A kernel matrix about the mean of the features of its rows."""

    weights: np.ndarray | None
    share: np.ndarray
    means: np.ndarray
    #: Eigenpairs of the centred matrix, in units of `unit`, and the share of their sizes that is negative.
    values: np.ndarray
    vectors: np.ndarray
    unit: float
    negative: float

    @classmethod
    def of(cls, K: np.ndarray, weights: np.ndarray | None) -> _Centre:
        n = len(K)
        share = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
        gram = Gram(n, sample_weight=weights)
        gram.product = 0.5 * (K + K.T)
        G = gram.centred()
        unit = float(np.abs(G).max()) or 1.0
        values, vectors = eigh_descending(G / unit)
        sizes = float(np.abs(values).sum()) or 1.0
        return cls(weights, share, K @ share, values, vectors, unit, float(-values[values < 0].sum()) / sizes)

    def view(self) -> View:
        """Coordinates U diag(s) of the centred kernel matrix U diag(s^2) U^T."""
        values, Ut, unit = self.values, self.vectors, self.unit
        s = np.sqrt(np.clip(values, 0.0, None))
        rank = int(np.count_nonzero(values > len(values) * FLOAT64_EPS * values[0])) if values[0] > 0 else 0
        U, s, unit = Ut[:rank].T, s[:rank], math.sqrt(unit)
        root = np.ones(len(values)) if self.weights is None else np.sqrt(self.weights)
        M = root[:, None] * U / (s * unit) if rank else np.zeros((len(values), 0))
        none = np.zeros(0)
        return View(U * s, unit, lambda v: Lifted(M @ v, none, none, none), (U, s, np.eye(rank)))

    def of_new(self, K: np.ndarray) -> np.ndarray:
        """Kernels of new rows with those of the fit, both about the mean of the features of the fit."""
        return K - (K @ self.share)[:, None] - self.means[None, :] + self.means @ self.share


def _of_table(value: Any, i: int) -> Any:
    """One value for both tables, or one each."""
    return value[i] if isinstance(value, list | tuple) else value


def _whole(source: Source, weights: np.ndarray | None = None) -> tuple[Any, np.ndarray | None]:
    """All rows of a source that count, and their weights."""
    if not source.traits.host:
        raise TypeError(f"KernelCCA needs all rows of {source.table} at once: pass a NumPy array, a table or a matrix.")
    return Rows(source, weights).whole("KernelCCA")


def _precomputed(K: Any, table: str, *, fitted: bool) -> np.ndarray:
    """A kernel matrix that was given; that of the fit must be symmetric."""
    K = np.asarray(K.toarray() if is_sparse(K) else K, dtype=np.float64)
    if not fitted:
        return K
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"kernel='precomputed' needs square matrices, {table} has shape {K.shape}.")
    require_symmetric(K, table)
    return K
