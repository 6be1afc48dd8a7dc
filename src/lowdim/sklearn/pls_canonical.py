"""PLSCanonical, PLSSVD and CCA with the arguments of scikit-learn's."""

from __future__ import annotations

import numpy as np
from sklearn import cross_decomposition

from .. import models
from .._xp import Array, asarray_like, to_numpy
from ..attributes import Numbers
from ..linalg import signs
from ._pairs import SklearnPair, SklearnPls


class PLSCanonical(SklearnPls, models.PLSCanonical):  # type: ignore[misc] # `predict` of SklearnPls
    """Canonical partial least squares, as `sklearn.cross_decomposition.PLSCanonical`.

    Parameters
    ----------
    n_components : int
        Number of pairs, at most min(n_samples, n_features, n_targets). If the tables have nothing in common after some
        of them, the others are zero, with a warning.
    scale : bool
        Whether to divide columns by their standard deviation first.
    algorithm : {"nipals", "svd"}
        Without effect: both compute the same singular vectors.
    max_iter, tol
        Without effect: singular vectors are computed directly, not by an iteration.
    copy : bool
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

    _by_component = (*SklearnPls._by_component, "covariances_")
    _parameter_constraints = cross_decomposition.PLSCanonical._parameter_constraints

    def __init__(
        self,
        n_components: int = 2,
        *,
        scale: bool = True,
        algorithm: str = "nipals",
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
    n_components : int
        Number of pairs, at most min(n_samples, n_features, n_targets).
    scale : bool
        Whether to divide columns by their standard deviation first.
    copy : bool
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

    _by_component = (*SklearnPair._by_component, "covariances_")
    _parameter_constraints = cross_decomposition.PLSSVD._parameter_constraints

    def __init__(self, n_components: int = 2, *, scale: bool = True, copy: bool = True) -> None:
        self.n_components = n_components
        self.scale = scale
        self.copy = copy


class CCA(SklearnPls, models.CCA):  # type: ignore[misc] # `predict` of SklearnPls
    """Canonical correlation analysis, as `sklearn.cross_decomposition.CCA`.

    Parameters
    ----------
    n_components : int
        Number of pairs, at most min(n_samples, n_features, n_targets). If the ranks of the tables allow fewer, the
        others are zero, with a warning.
    scale : bool
        Whether to divide columns by their standard deviation first.
    max_iter, tol
        Without effect: the pairs are computed directly, not by an iteration.
    copy : bool
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
    _by_component = (*SklearnPls._by_component, "correlations_", "singular_values_")
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
