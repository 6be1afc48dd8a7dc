"""Principal component regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from .._core.types import VectorLike
from ..errors import choice
from ..reading.map import map_rows
from ..solvers.pairs.pls import principal_regression
from ..solvers.pairs.reductions import ComponentsFunction, Reduction, ReductionName
from ..solvers.pairs.views import Views, principal_views
from ..sources.opening import TableLike
from .pls import PLSRegression
from .regression import REGRESSION_AXES, LatentRegression


class PCR(LatentRegression):
    """Principal component regression: least squares regression of y on principal components of X.

    Parameters
    ----------
    n_components : int, "cv" or None, default=2
        Number of components; None takes all with positive variance, which is ordinary least squares. "cv" takes the
        number with the smallest error on held-out rows, in five folds of shuffled rows; `choice_` holds the curve.
    select : "variance" or "relevance", default="variance"
        Which components: those with the largest variance, or those that explain most of y.
    scale : bool or pair of bools, default=False
        Whether to divide columns by their standard deviation first, for both tables or for X and for y.
    solver : str, default="auto"
        "auto", "covariance", "triangle" or "gram".

    Attributes
    ----------
    coef_ : array of shape (n_targets, n_features_in_)
    intercept_ : array of shape (n_targets,)
        The prediction is x coef_^T + intercept_.
    coef_path_ : array of shape (n_components_, n_targets, n_features_in_)
        `coef_` with the first 1, 2, ... components.
    x_weights_, x_rotations_, x_loadings_ : array of shape (n_features_in_, n_components_)
        The components w_k as columns; the entry of largest magnitude is positive.
    y_loadings_ : array of shape (n_targets, n_components_)
        a_k, the regression of y on each score.
    vip_ : array of shape (n_features_in_,)
        Importance of each column of X.
    explained_variance_, explained_variance_ratio_, y_explained_variance_ratio_ : arrays of shape (n_components_,)
        Variance of the scores, and the proportions of the variance of X and of y that components explain.
    x_mean_, x_scale_, y_mean_, y_scale_, n_components_, n_samples_, n_features_in_, feature_names_in_
    solver_, plan_, status_, n_passes_
        The solver that ran, its plan, its final status, and the number of passes over the rows.

    Notes
    -----
    The coefficients minimise |y - T a|^2 over a, where T = X V_K are the scores of K components:
    beta = V_K (T^T T)^{-1} T^T y. T^T T is diagonal, so the coefficients for all K are cumulative sums. The residual
    sum of squares of a centred response is |y|^2 - sum_k (t_k^T y)^2 / (t_k^T t_k). `covariance` needs one pass over
    the rows and p^2 numbers; with fewer rows than columns, two passes and n^2 numbers are needed.

    References
    ----------
    .. [1] Jolliffe (1982), A note on the use of principal components in regression. Why small components can matter.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PCR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> print(PCR(3).fit(X, y))
    PCR of 442 rows, 10 and 1 columns (covariance)
         proportion of X  cumulative of X  proportion of y  cumulative of y
    PC1           0.4024           0.4024           0.3084           0.3084
    PC2           0.1492           0.5517           0.0375           0.3460
    PC3           0.1206           0.6722           0.0261           0.3721
    >>> round(PCR(3, select="relevance").fit(X, y).score(X, y), 4)
    0.4742
    """

    bootstrap_axes = REGRESSION_AXES

    def __init__(
        self,
        n_components: int | Literal["cv"] | None = 2,
        *,
        select: Literal["variance", "relevance"] = "variance",
        scale: bool | Sequence[bool] = False,
        solver: ReductionName | Reduction = "auto",
    ) -> None:
        self.n_components = n_components
        self.select = select
        self.scale = scale
        self.solver = solver

    def fit_transform(  # type: ignore[override] # one table
        self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None
    ) -> np.ndarray:
        """Fit to `X` and `y`, then return the scores of `X`."""
        source: Any = self._fit(X, y, sample_weight, twice=True)
        return map_rows(source.members[0], self._scoring())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.select not in ("variance", "relevance"):
            raise choice("select", self.select, ["variance", "relevance"])

    # Held-out rows are scored, and components counted, as in PLS regression.
    held_out_scorer: Any = PLSRegression.held_out_scorer
    _most: Any = PLSRegression._most

    def _components(self, n_tables: int) -> ComponentsFunction:
        return partial(principal_regression, by_relevance=self.select == "relevance")

    def _narrowing(self) -> Callable[[Views, int], Views] | None:
        # By relevance, any direction may be the best.
        return principal_views if self.select == "variance" else None

    @property
    def components_(self) -> np.ndarray:
        """The principal components as rows, as in PCA."""
        return self.x_weights_.T

    def _describe_limit(self) -> str:
        return "the other directions of X have no variance"

    def _describe_dropped(self, views: Views) -> str:
        expected = min(self.n_features_in_, views.n_rows - 1)
        lost = expected - self.n_components_ if self.n_components is None else 0
        return f"{lost} of {expected} directions of X have no variance" if lost > 0 else ""
