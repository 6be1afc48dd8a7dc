"""PLSRegression, PLSCanonical, PLSSVD and CCA with the arguments of scikit-learn's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn import cross_decomposition

from .. import models
from .._core.arrays import Array, asarray_like, astype, namespace, to_numpy
from .._core.schema import Kind, ListOf, Numbers, Sometimes, Whole, declared
from ..features import affine
from ..linalg import signs, with_zeros
from ..models.output import WITHOUT_WEIGHTS
from ..solvers.pairs.reductions import Tables, TablesSolution
from ..solvers.problem import Plan
from ..sources.opening import TableLike
from .pca import SklearnParameters

# What the classes for two tables share: scikit-learn's limits, scores of the fit, and components that are zero.


class SklearnPair(SklearnParameters):
    """Mixin of classes for two tables.

    There are always `n_components` components. If the tables have nothing in common after some of them, there is a
    warning, and the others are zero.
    """

    solver = "auto"
    fitted_attributes: ClassVar[dict[str, Kind | None]] = {
        "_x_scores": Sometimes(Numbers("*", "k", rows=True)),
        "_y_scores": Sometimes(Numbers("*", "k", rows=True)),
    }
    # As in scikit-learn, where these classes know no weights: they are used only on request.
    __metadata_request__fit = WITHOUT_WEIGHTS
    __metadata_request__fit_transform = WITHOUT_WEIGHTS
    __metadata_request__partial_fit = WITHOUT_WEIGHTS

    def _k(self: Any, n: int | None, groups: Sequence[int]) -> int:
        upper = self._most(groups) if n is None else min(n, self._most(groups))
        if self.n_components > upper:
            raise ValueError(
                f"`n_components` upper bound is {upper}. Got {self.n_components} instead. Reduce `n_components`."
            )
        return int(self.n_components)

    def _describe_limit(self: Any) -> str:
        return f"y residual is constant at iteration {self.n_components_}, and the other components are zero"

    def _finish(self: Any, solution: TablesSolution, the_plan: Plan, dtypes: tuple[Any, ...]) -> None:
        super()._finish(solution, the_plan, dtypes)  # type: ignore[misc] # of the model that follows
        for name in ("_x_scores", "_y_scores"):
            self.__dict__.pop(name, None)
        self._convert()
        missing = int(self.n_components) - self.n_components_
        if missing > 0:
            self.n_components_ += missing
            for name, kind in declared(type(self)).items():
                if isinstance(kind, Numbers) and kind.shape[-1] == "k":
                    setattr(self, name, with_zeros(getattr(self, name), missing))

    def _convert(self) -> None:
        """Change attributes that scikit-learn defines otherwise than the model."""

    def _fit_rows(self: Any, rows: Tables) -> None:
        super()._fit_rows(rows)  # type: ignore[misc] # of the model that follows
        if rows.joint.traits.rereadable:
            self._x_scores = rows.each[0].map(self._scoring())
            self._y_scores = self._scores_of_y(rows)

    def _scores_of_y(self: Any, rows: Tables) -> Array:
        """The scores of the rows of y in the fit."""
        return rows.each[1].map(self._scoring(1))


class SklearnPls(SklearnPair):
    """Mixin of the classes with predictions."""

    fitted_attributes = {"n_iter_": ListOf(Whole(), length="k")}

    def transform(
        self: Any, X: TableLike, y: TableLike | None = None, copy: bool = True, *, n_components: int | None = None
    ) -> Any:
        """Scores of the rows of `X`; if `y` is given, a pair with the scores of both tables. `copy` has no effect."""
        return super().transform(X, y, n_components=n_components)  # type: ignore[misc] # of the model that follows

    def predict(self: Any, X: TableLike, copy: bool = True) -> np.ndarray:
        """Predictions of y for the rows of `X`. `copy` has no effect: rows are never overwritten."""
        return super().predict(X)  # type: ignore[misc] # of the model that follows

    def _convert(self: Any) -> None:
        # scikit-learn predicts (x - mean) coef_^T + intercept_.
        self.intercept_ = self.y_mean_
        # There is no iteration: one step finds each component.
        self.n_iter_ = [1] * int(self.n_components)


class PLSCanonical(SklearnPls, models.PLSCanonical):  # type: ignore[misc] # `predict` of SklearnPls
    """Canonical partial least squares, as `sklearn.cross_decomposition.PLSCanonical`.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs, at most min(n_samples, n_features, n_targets). If the tables have nothing in common after some
        of them, the others are zero, with a warning.
    scale : bool, default=True
        Whether to divide columns by their standard deviation first.
    algorithm : {"nipals", "svd"}, default="nipals"
        Without effect: both compute the same singular vectors.
    max_iter : int, default=500
        Without effect: singular vectors are computed directly, not by an iteration.
    tol : float, default=1e-06
        Without effect, as `max_iter`.
    copy : bool, default=True
        Without effect: rows are never overwritten.

    Attributes
    ----------
    x_weights_, y_weights_, x_loadings_, y_loadings_, x_rotations_, y_rotations_, n_iter_
        As in scikit-learn. `n_iter_` is 1 for each component.
    coef_ : array of shape (n_targets, n_features_in_)
        The least squares regression of y on the scores of X. scikit-learn puts the scores of X in the place of those of
        y instead, which have another length, and does not minimise any error.
    intercept_ : array of shape (n_targets,)
        The mean of y: the prediction is (x - mean of X) coef_^T + intercept_, as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim.sklearn import PLSCanonical
    >>> X, y = load_linnerud(return_X_y=True)
    >>> PLSCanonical(algorithm="svd").fit(X, y).x_weights_.round(4)
    array([[ 0.6133, -0.2562],
           [ 0.747 , -0.1193],
           [ 0.2567,  0.9592]])
    """

    _parameter_constraints = cross_decomposition.PLSCanonical._parameter_constraints

    def __init__(
        self,
        n_components: int = 2,
        *,
        scale: bool = True,
        algorithm: Literal["nipals", "svd"] = "nipals",
        max_iter: int = 500,
        tol: float = 1e-06,
        copy: bool = True,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.algorithm = algorithm
        self.max_iter = max_iter
        self.tol = tol
        self.copy = copy


class PLSSVD(SklearnPair, models.PLSSVD):
    """Partial least squares by one singular value decomposition, as `sklearn.cross_decomposition.PLSSVD`.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs, at most min(n_samples, n_features, n_targets).
    scale : bool, default=True
        Whether to divide columns by their standard deviation first.
    copy : bool, default=True
        Without effect: rows are never overwritten.

    Attributes
    ----------
    x_weights_, y_weights_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim.sklearn import PLSSVD
    >>> X, y = load_linnerud(return_X_y=True)
    >>> PLSSVD(copy=False).fit(X, y).y_weights_.shape
    (3, 2)
    """

    _parameter_constraints = cross_decomposition.PLSSVD._parameter_constraints

    def __init__(self, n_components: int = 2, *, scale: bool = True, copy: bool = True) -> None:
        self.n_components = n_components
        self.scale = scale
        self.copy = copy


class CCA(SklearnPls, models.CCA):  # type: ignore[misc] # `predict` of SklearnPls
    """Canonical correlation analysis, as `sklearn.cross_decomposition.CCA`.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs, at most min(n_samples, n_features, n_targets). If the ranks of the tables allow fewer, the
        others are zero, with a warning.
    scale : bool, default=True
        Whether to divide columns by their standard deviation first.
    max_iter : int, default=500
        Without effect: the pairs are computed directly, not by an iteration.
    tol : float, default=1e-06
        Without effect, as `max_iter`.
    copy : bool, default=True
        Without effect: rows are never overwritten.

    Attributes
    ----------
    x_weights_, y_weights_, x_loadings_, y_loadings_, x_rotations_, y_rotations_, n_iter_
        As in scikit-learn, so that variates do not have unit variance. `n_iter_` is 1 for each component.
    coef_, intercept_
        As in PLSCanonical.

    Notes
    -----
    scikit-learn finds each pair after the pairs before it were removed from the tables, with weights w_k of length one
    that are orthogonal to each other; the variate is X_k w_k. The canonical weights a_k of unit variance have the same
    directions: with the QR decomposition [a_1 ... a_K] = W R, the weights are the columns of W, and the variates are
    X a_k / R_kk.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim.sklearn import CCA
    >>> X, y = load_linnerud(return_X_y=True)
    >>> CCA(n_components=1, max_iter=1000).fit(X, y).x_weights_.round(3)
    array([[ 0.264],
           [ 0.798],
           [-0.542]])
    """

    regularization = 0.0
    fitted_attributes = {"x_weights_": Numbers("p", "k"), "y_weights_": Numbers("q", "k")}
    _parameter_constraints = cross_decomposition.CCA._parameter_constraints

    def __init__(
        self, n_components: int = 2, *, scale: bool = True, max_iter: int = 500, tol: float = 1e-06, copy: bool = True
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.copy = copy

    def _convert(self) -> None:
        super()._convert()
        (W, x_lengths), (V, y_lengths) = _weights(self.x_rotations_), _weights(self.y_rotations_)
        # The entry of largest magnitude of each w_k is positive.
        sign = to_numpy(signs(W.T))
        for table, weights, lengths in (("x", W, x_lengths * sign), ("y", V, y_lengths * sign)):
            A = getattr(self, f"{table}_rotations_")
            factor = asarray_like(lengths, A, dtype=A.dtype)
            setattr(self, f"{table}_weights_", asarray_like(weights * sign, A, dtype=A.dtype))
            setattr(self, f"{table}_rotations_", A / factor)
            setattr(self, f"{table}_loadings_", getattr(self, f"{table}_loadings_") * factor)
        # The regression of y on the variates of X, which were divided by the lengths.
        self._y_on_x = self._y_on_x * asarray_like(x_lengths * sign, self._y_on_x, dtype=self._y_on_x.dtype)


def _weights(A: Array) -> tuple[np.ndarray, np.ndarray]:
    """W and diag(R) of the QR decomposition A = W R with a positive diagonal of R."""
    W, R = np.linalg.qr(to_numpy(A))
    lengths = np.diagonal(R)
    return W * np.sign(lengths), np.abs(lengths)


# PLSRegression with the arguments of scikit-learn's.


class PLSRegression(SklearnPls, models.PLSRegression):  # type: ignore[misc] # `predict` of SklearnPls
    """Partial least squares regression, as `sklearn.cross_decomposition.PLSRegression`.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most min(n_samples, n_features). If X can explain nothing more of y after some of them,
        the others are zero, with a warning, as in scikit-learn.
    scale : bool, default=True
        Whether to divide columns by their standard deviation first.
    max_iter : int, default=500
        Without effect: singular vectors are computed directly, not by an iteration.
    tol : float, default=1e-06
        Without effect, as `max_iter`.
    copy : bool, default=True
        Without effect: rows are never overwritten.

    Attributes
    ----------
    x_weights_, y_weights_, x_loadings_, y_loadings_, x_rotations_, y_rotations_, coef_, n_iter_
        As in scikit-learn. `n_iter_` is 1 for each component.
    intercept_ : array of shape (n_targets,)
        The mean of y: the prediction is (x - mean of X) coef_^T + intercept_, as in scikit-learn.
    x_scores_, y_scores_ : arrays of shape (n_samples, n_components)
        The scores of the rows of the fit, if they could be read twice. As in scikit-learn, the k-th score of y is
        y_k c_k / |c_k|^2, where y_k is what the first k - 1 components have not explained, and c_k is column k of
        `y_weights_`.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim.sklearn import PLSRegression
    >>> X, y = load_linnerud(return_X_y=True)
    >>> PLSRegression(n_components=2, max_iter=100).fit(X, y).x_scores_.shape
    (20, 2)
    """

    algorithm = "kernel"
    _parameter_constraints = cross_decomposition.PLSRegression._parameter_constraints

    def __init__(
        self, n_components: int = 2, *, scale: bool = True, max_iter: int = 500, tol: float = 1e-06, copy: bool = True
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.copy = copy

    @property
    def x_scores_(self) -> np.ndarray:
        """Scores of the rows of X in the fit."""
        return self._x_scores

    @property
    def y_scores_(self) -> np.ndarray:
        """Scores of the rows of y in the fit."""
        return self._y_scores

    def _scores_of_y(self, rows: Tables) -> Array:
        """(y_k c_k) / |c_k|^2 with y_k = y - sum_{j<k} t_j q_j^T."""
        T, C, Q = self._x_scores, self.y_weights_, self.y_loadings_
        xp = namespace(T)
        lengths = xp.sum(C * C, axis=0)
        scaled = C / xp.where(lengths > 0.0, lengths, xp.ones_like(lengths))
        # y c_k for all k, minus what t_j, j < k, explains of it.
        projected = rows.each[1].map(affine(scaled / self.y_scale_[:, None], self.y_mean_, 1.0))
        return projected - astype(T, projected.dtype) @ astype(xp.triu(Q.T @ scaled, k=1), projected.dtype)
