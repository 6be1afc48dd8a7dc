"""Partial least squares: PLS regression, canonical PLS, and PLS by one singular value decomposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from .._core.arrays import to_numpy
from .._core.schema import Numbers
from ..errors import choice
from ..selection.fold_methods import HeldOutScorer
from ..selection.scorers import ErrorScorer
from ..solvers.pairs.pls import pls_canonical, pls_regression, pls_svd
from ..solvers.pairs.reductions import ComponentsFunction, Reduction, ReductionName
from ..solvers.pairs.views import PairFit, Views, krylov_views
from .output import NEVER_OVERWRITTEN, NO_ITERATION
from .pairs import PAIR_ATTRIBUTES, Dtypes, PairModel, cast
from .regression import REGRESSION_AXES, LatentRegression


class PLSRegression(LatentRegression):
    """Partial least squares regression: regression of y on the scores of X that have the largest covariance with y.

    Parameters
    ----------
    n_components : int, "cv" or None, default=2
        Number of components; None takes all of them, which is ordinary least squares. "cv" takes the number with the
        smallest error on held-out rows, in five folds of shuffled rows; `choice_` holds the curve.
    scale : bool or pair of bools, default=True
        Whether to divide columns by their standard deviation first, for both tables or for X and for y.
    algorithm : "kernel" or "simpls", default="kernel"
        What is deflated between components: the rows of X (as in NIPALS, kernel PLS and scikit-learn), or the
        covariance of X and y. For one response both give the same result.
    solver : str, default="auto"
        "auto", "covariance", "triangle" or "gram".

    Attributes
    ----------
    coef_ : array of shape (n_targets, n_features_in_)
    intercept_ : array of shape (n_targets,)
        The prediction is x coef_^T + intercept_. (scikit-learn's `intercept_` is the mean of y, here `y_mean_`.)
    coef_path_ : array of shape (n_components_, n_targets, n_features_in_)
        `coef_` with the first 1, 2, ... components.
    x_weights_ : array of shape (n_features_in_, n_components_)
        Unit vectors w_k; the entry of largest magnitude is positive.
    x_rotations_ : array of shape (n_features_in_, n_components_)
        r_k, with scores t_k = X r_k.
    x_loadings_, y_loadings_ : arrays of shape (n_features_in_, n_components_), (n_targets, n_components_)
        Regressions of X and of y on each score.
    y_weights_, y_rotations_ : arrays of shape (n_targets, n_components_)
        As scikit-learn's.
    vip_ : array of shape (n_features_in_,)
        Variable importance in projection.
    explained_variance_, explained_variance_ratio_, y_explained_variance_ratio_ : arrays of shape (n_components_,)
        Variance of the scores, and the proportions of the variance of X and of y that components explain.
    x_mean_, x_scale_, y_mean_, y_scale_, n_components_, n_samples_, n_features_in_, feature_names_in_
    solver_, plan_, status_, n_passes_
        The solver that ran, its plan, its final status, and the number of passes over the rows.

    Notes
    -----
    w_k is the leading left singular vector of X_k^T y, t_k = X_k w_k, and X_{k+1} = X_k - t_k p_k^T with
    p_k = X_k^T t_k / t_k^T t_k. Everything follows from X^T X and X^T y [1]_, so that one pass over the rows and
    (p + q)^2 numbers are enough; with fewer rows than columns, two passes and n^2 numbers are needed. If X can explain
    nothing more of y, there are no further components; `n_components_` is then smaller than requested, with a warning.

    References
    ----------
    .. [1] Dayal, MacGregor (1997), Improved PLS algorithms.
    .. [2] Wold, Sjostrom, Eriksson (2001), PLS-regression: a basic tool of chemometrics.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import PLSRegression
    >>> X, y = load_linnerud(return_X_y=True)
    >>> pls = PLSRegression(2).fit(X, y)
    >>> print(pls)
    PLSRegression of 20 rows, 3 and 3 columns (covariance)
           proportion of X  cumulative of X  proportion of y  cumulative of y
    comp1           0.7354           0.7354           0.2069           0.2069
    comp2           0.1582           0.8936           0.0785           0.2854
    >>> pls.predict(X[:2], n_components=1).round(1)
    array([[181.6,  35.9,  55.7],
           [189.3,  37.2,  54.8]])
    """

    component_name = "comp"

    bootstrap_axes = REGRESSION_AXES
    _not_taken = {"copy": NEVER_OVERWRITTEN, "max_iter": NO_ITERATION, "tol": NO_ITERATION}

    def __init__(
        self,
        n_components: int | Literal["cv"] | None = 2,
        *,
        scale: bool | Sequence[bool] = True,
        algorithm: Literal["kernel", "simpls"] = "kernel",
        solver: ReductionName | Reduction = "auto",
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.algorithm = algorithm
        self.solver = solver

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.algorithm not in ("kernel", "simpls"):
            raise choice("algorithm", self.algorithm, ["kernel", "simpls"])

    def held_out_scorer(self) -> HeldOutScorer:
        """The scorer of held-out rows for `cross_validate`: the mean squared error of their responses."""
        self._check_parameters()
        return ErrorScorer(self, self._most, self._scaled_tables(2))

    def _most(self, widths: Sequence[int]) -> int:
        return widths[0]

    def _components(self, n_tables: int) -> ComponentsFunction:
        return partial(pls_regression, simpls=self.algorithm == "simpls")

    def _narrowing(self) -> Callable[[Views, int], Views]:
        return krylov_views

    def _describe_limit(self) -> str:
        return "up to rounding, nothing of y that X could explain is left after them"


class PLSCanonical(LatentRegression):
    """Canonical partial least squares: pairs of scores of X and y with the largest covariance.

    Within each table, every score is orthogonal to the scores before it.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of pairs; None takes all of them.
    scale : bool or pair of bools, default=True
        Whether to divide columns by their standard deviation first, for both tables or for X and for y.
    solver : str, default="auto"
        "auto", "covariance", "triangle" or "gram".

    Attributes
    ----------
    x_weights_, y_weights_ : arrays of shape (n_features_in_, n_components_), (n_targets, n_components_)
        Unit vectors w_k, c_k; the entry of largest magnitude of w_k is positive.
    x_rotations_, y_rotations_ : arrays of the same shapes
        Scores are t_k = X r_k and u_k = y s_k.
    x_loadings_, y_loadings_ : arrays of the same shapes
        Regressions of each table on its own scores.
    covariances_ : array of shape (n_components_,)
        The covariances of t_k and u_k, which are maximised.
    coef_, intercept_, coef_path_, vip_
        The regression of y on the scores of X. (scikit-learn's `coef_` uses the scores of X in place of those of y.)
    explained_variance_, explained_variance_ratio_, y_explained_variance_ratio_, x_mean_, x_scale_, y_mean_, y_scale_
        As in PLSRegression.
    n_components_, n_samples_, n_features_in_, feature_names_in_, solver_, plan_, status_, n_passes_
        As in PLSRegression.

    Notes
    -----
    w_k, c_k are the leading singular vectors of X_k^T y_k; X_k and y_k are then each deflated by their own score [1]_.
    One pass over the rows and (p + q)^2 numbers are needed.

    References
    ----------
    .. [1] Wegelin (2000), A survey of partial least squares methods, with emphasis on the two-block case.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import PLSCanonical
    >>> X, y = load_linnerud(return_X_y=True)
    >>> PLSCanonical(2).fit(X, y).covariances_.round(4)
    array([1.128 , 0.1024])
    """

    component_name = "comp"
    covariances_: np.ndarray
    fitted_attributes = {"covariances_": Numbers("k", sign="nonnegative")}
    _not_taken = {
        "copy": NEVER_OVERWRITTEN,
        "algorithm": "both of scikit-learn's algorithms give the result found here; leave it out",
        "max_iter": NO_ITERATION,
        "tol": NO_ITERATION,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        scale: bool | Sequence[bool] = True,
        solver: ReductionName | Reduction = "auto",
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.solver = solver

    def _components(self, n_tables: int) -> ComponentsFunction:
        return pls_canonical

    def _unpack(self, views: Views, fit: PairFit, dtypes: Dtypes) -> None:
        super()._unpack(views, fit, dtypes)
        self.covariances_ = cast(fit.values / views.divisor, self.x_mean_, dtypes[0])


class PLSSVD(PairModel):
    """Partial least squares by SVD: orthonormal w_k of X and c_k of y with the largest covariances w_k^T S_xy c_k.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of pairs; None takes all of them.
    scale : bool or pair of bools, default=True
        Whether to divide columns by their standard deviation first, for both tables or for X and for y.
    solver : str, default="auto"
        "auto", "covariance", "triangle" or "gram".

    Attributes
    ----------
    x_weights_, y_weights_ : arrays of shape (n_features_in_, n_components_), (n_targets, n_components_)
        w_k and c_k; the entry of largest magnitude of w_k is positive.
    covariances_ : array of shape (n_components_,)
        Singular values of S_xy, descending.
    x_rotations_, x_loadings_, y_rotations_, y_loadings_
        Equal to the weights, since these are orthonormal.
    x_mean_, x_scale_, y_mean_, y_scale_, n_components_, n_samples_, n_features_in_, feature_names_in_
    solver_, plan_, status_, n_passes_

    Notes
    -----
    This is one singular value decomposition of S_xy = X^T y / (n - 1), for which one pass over the rows is enough. The
    result is that of CCA with full regularization, up to the scale of the scores.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import PLSSVD
    >>> X, y = load_linnerud(return_X_y=True)
    >>> PLSSVD().fit(X, y).covariances_.round(4)
    array([1.128 , 0.0752, 0.0333])
    """

    component_name = "comp"
    x_weights_: np.ndarray
    y_weights_: np.ndarray
    covariances_: np.ndarray
    fitted_attributes = {
        "x_weights_": Numbers("p", "k"),
        "y_weights_": Numbers("q", "k"),
        "covariances_": Numbers("k", sign="nonnegative", order="descending"),
        "_y_on_x": Numbers("q", "k"),
        **PAIR_ATTRIBUTES,
    }
    _not_taken = {"copy": NEVER_OVERWRITTEN}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        scale: bool | Sequence[bool] = True,
        solver: ReductionName | Reduction = "auto",
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.solver = solver

    def _components(self, n_tables: int) -> ComponentsFunction:
        return pls_svd

    def _unpack(self, views: Views, fit: PairFit, dtypes: Dtypes) -> None:
        self._unpack_pair(views, fit, dtypes)
        self.covariances_ = cast(fit.values / views.divisor, self.x_mean_, dtypes[0])

    def _importance(self) -> list[tuple[str, Any]]:
        covariances = to_numpy(self.covariances_).astype(float)
        # In units of the largest, whose square may overflow.
        squares = (covariances / (covariances.max(initial=0.0) or 1.0)) ** 2
        return [("covariance", covariances), ("share of squares", squares / (squares.sum() or 1.0))]
