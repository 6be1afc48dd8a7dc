"""PLSRegression with the arguments of scikit-learn's."""

from __future__ import annotations

from sklearn import cross_decomposition

from .. import models
from .._xp import Array, astype, namespace
from ..features import affine
from ..solvers.tables import Tables
from ._pairs import SklearnPls


class PLSRegression(SklearnPls, models.PLSRegression):  # type: ignore[misc] # `predict` of SklearnPls
    """Partial least squares regression, as `sklearn.cross_decomposition.PLSRegression`.

    Parameters
    ----------
    n_components : int
        Number of components, at most min(n_samples, n_features). If X can explain nothing more of y after some of them,
        the others are zero, with a warning, as in scikit-learn.
    scale : bool
        Whether to divide columns by their standard deviation first.
    max_iter, tol
        Without effect: singular vectors are computed directly, not by an iteration.
    copy : bool
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
    def x_scores_(self) -> Array:
        """Scores of the rows of X in the fit."""
        return self._x_scores

    @property
    def y_scores_(self) -> Array:
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
