"""Canonical correlation analysis of two tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, namespace, to_numpy
from .._core.schema import ListOf, Numbers, Real, TupleOf, Whole
from ..selection.fold_methods import HeldOutScorer, PermutationOptions
from ..selection.scorers import CorrelationScorer
from ..solvers.pairs.cca import CanonicalTests, canonical_tests, column_structure, solve_canonical
from ..solvers.pairs.reductions import ComponentsFunction, Reduction, ReductionName
from ..solvers.pairs.views import CanonicalFit, Views
from .base import first_components
from .output import ASK_ABOUT_WEIGHTS, NEVER_OVERWRITTEN, NO_ITERATION, Maps
from .pairs import PAIR_ATTRIBUTES, Dtypes, PairModel, cast, check_regularization, check_scale
from .regression import PREDICTION_ATTRIBUTES, LatentRegression, prediction_map, regression_tags, set_prediction


class CCA(PairModel):
    """Canonical correlation analysis: pairs of variates X w_k and y v_k with the largest correlations.

    Parameters
    ----------
    n_components : int, "cv" or None, default=None
        Number of pairs; None takes min(n_features, n_targets), or as many as the ranks allow. "cv" takes the number
        with the largest sum of correlations on held-out rows, in five folds of shuffled rows; `choice_` holds its
        curve.
    regularization : float or pair of floats, default=0.0
        From 0 (none) to 1 (full), for both tables or for X and for y. It is needed with fewer rows than columns, for
        which correlations of 1 can otherwise always be found.
    scale : bool or pair of bools, default=True
        Whether to divide columns by their standard deviation first, for both tables or for X and for y. Without
        regularization this changes only the units of the rotations; with regularization, all columns are then
        regularized equally.
    solver : str, default="auto"
        "auto", "covariance", "triangle" or "gram".

    Attributes
    ----------
    correlations_ : array of shape (n_components_,)
        Correlations of the pairs of variates, in the order of `singular_values_`; without regularization they are
        descending.
    singular_values_ : array of shape (n_components_,)
        Singular values of D_x^{-1/2} S_xy D_y^{-1/2}, descending; without regularization they are the correlations.
    x_rotations_, y_rotations_ : arrays of shape (n_features_in_, n_components_), (n_targets, n_components_)
        Weights w_k, v_k of the (scaled) columns; the variates have unit variance, and the entry of largest magnitude of
        w_k is positive.
    x_loadings_, y_loadings_ : arrays of the same shapes
        Covariances of columns with the variates of their own table.
    x_structure_, y_structure_ : arrays of the same shapes
        Structure coefficients: correlations of columns with the variates of their own table.
    x_cross_structure_, y_cross_structure_ : arrays of the same shapes
        Correlations of columns with the variates of the other table.
    x_redundancy_, y_redundancy_ : arrays of shape (n_components_,)
        The proportion of the variance of the standardized columns that each variate of the other table explains.
    coef_, intercept_ : arrays of shape (n_targets, n_features_in_), (n_targets,)
        The regression of y on the variates of X.
    rank_ : tuple of int
        Numerical ranks of X and y.
    x_mean_, x_scale_, y_mean_, y_scale_, n_components_, n_samples_, n_features_in_, feature_names_in_
    solver_, plan_, status_, n_passes_
        The solver that ran, its plan, its final status, and the number of passes over the rows.

    Notes
    -----
    The weights maximise w^T S_xy v subject to w^T D_x w = v^T D_y v = 1, where D = (1 - c) S + c I for regularization
    c. The solution is a singular value decomposition of D_x^{-1/2} S_xy D_y^{-1/2} [1]_. With c = 0 this is Hotelling's
    CCA (R's cancor); with c = 1 it is PLSSVD, up to the scale of the variates; between them it is the canonical ridge
    [2]_. Directions without variance are left out. The solver needs one pass over the rows and (p + q)^2 numbers, or,
    with fewer rows than columns, two passes and n^2 numbers. If a covariance matrix has lost the digits of its small
    eigenvalues, the rows are read again for their QR factor.

    References
    ----------
    .. [1] Hotelling (1936), Relations between two sets of variates.
    .. [2] Vinod (1976), Canonical ridge and econometrics of joint production.
    .. [3] Stewart, Love (1968), A general canonical correlation index. For the redundancy.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA
    >>> X, y = load_linnerud(return_X_y=True)
    >>> cca = CCA().fit(X, y)
    >>> print(cca)
    CCA of 20 rows, 3 and 3 columns (covariance)
           correlation  redundancy of X  redundancy of y
    pair1       0.7956           0.2584           0.2854
    pair2       0.2006           0.0175           0.0099
    pair3       0.0726           0.0008           0.0016
    >>> print(cca.significance())
    Tests that this correlation and all later ones are zero
                 r   Wilks       F  dof 1   dof 2    p(F)     chi2  dof  p(chi2)
    from 1  0.7956  0.3504  2.0482      9  34.223  0.0635  16.255     9   0.0617
    from 2  0.2006  0.9547  0.1758      4  30.000  0.9491   0.718     4   0.9491
    from 3  0.0726  0.9947  0.0847      1  16.000  0.7748   0.0818    1   0.7748
    """

    component_name = "pair"
    correlations_: np.ndarray
    singular_values_: np.ndarray
    rank_: tuple[int, ...]
    x_structure_: np.ndarray
    y_structure_: np.ndarray
    x_cross_structure_: np.ndarray
    y_cross_structure_: np.ndarray
    x_redundancy_: np.ndarray
    y_redundancy_: np.ndarray
    intercept_: np.ndarray
    fitted_attributes = {
        "correlations_": Numbers("k", most=1.0),
        "singular_values_": Numbers("k", sign="nonnegative", order="descending"),
        "rank_": TupleOf(Whole()),
        "_all_correlations": Numbers("*", sign="nonnegative", order="descending", most=1.0),
        "_ridges": ListOf(Real("nonnegative", most=1.0)),
        **{f"{table}_structure_": Numbers(width, "k", most=1.0) for table, width in (("x", "p"), ("y", "q"))},
        **{f"{table}_cross_structure_": Numbers(width, "k", most=1.0) for table, width in (("x", "p"), ("y", "q"))},
        **{f"{table}_redundancy_": Numbers("k", sign="nonnegative", most=1.0) for table in "xy"},
        **PAIR_ATTRIBUTES,
        **PREDICTION_ATTRIBUTES,
    }
    bootstrap_axes = {
        "correlations": ("components",),
        "x_structure": ("features", "components"),
        "y_structure": ("targets", "components"),
    }
    __metadata_request__fit = ASK_ABOUT_WEIGHTS
    __metadata_request__fit_transform = ASK_ABOUT_WEIGHTS
    __metadata_request__partial_fit = ASK_ABOUT_WEIGHTS
    _not_taken = {"copy": NEVER_OVERWRITTEN, "max_iter": NO_ITERATION, "tol": NO_ITERATION}

    def __init__(
        self,
        n_components: int | Literal["cv"] | None = None,
        *,
        regularization: float | Sequence[float] = 0.0,
        scale: bool | Sequence[bool] = True,
        solver: ReductionName | Reduction = "auto",
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization
        self.scale = scale
        self.solver = solver

    # The regression of y on the variates of X.
    coef_: Any = LatentRegression.coef_
    predict: Any = LatentRegression.predict
    predict_to: Any = LatentRegression.predict_to
    score: Any = LatentRegression.score

    def _prediction_maps(self, X: Any, n_components: int | None = None) -> Maps:
        """The maps that `predict` applies to its arguments."""
        model = first_components(self, n_components, least=0)
        if model is not self and self._ridges[0]:
            raise ValueError(
                f"n_components={n_components}: with regularization the variates of X are correlated, so that the "
                f"regression on some of them is not a part of that on all. Fit CCA({n_components}, regularization=...)."
            )
        return [prediction_map(model, X)]

    def significance(self) -> CanonicalTests:
        """Tests of how many correlations are significant: row k tests that the k-th and all later ones are zero.

        The tests assume Gaussian rows. Wilks' lambda is the product of 1 - r_j^2 over j >= k; its significance is
        tested by Rao's F and by Bartlett's chi-square.
        """
        check_is_fitted(self)
        if any(self._ridges):
            raise ValueError("the tests are for correlations without regularization; fit CCA(regularization=0).")
        return canonical_tests(to_numpy(self._all_correlations), self.total_weight_, *self.rank_)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_regularization(self.regularization, 2)

    def held_out_scorer(self) -> HeldOutScorer:
        """The scorer of held-out rows for `cross_validate`: the sum of the correlations of their variates."""
        self._check_parameters()
        return CorrelationScorer(self, self._most, self._scaled_tables(2))

    def permutation_options(self) -> PermutationOptions:
        """The options of `permutation_test`, which shuffles the rows of y against those of X."""
        return PermutationOptions(tuple(self._scaled_tables(2)), tuple(check_regularization(self.regularization, 2)))

    def _components(self, n_tables: int) -> ComponentsFunction:
        return partial(solve_canonical, regularization=check_regularization(self.regularization, 2))

    def _unpack(self, views: Views, fit: CanonicalFit, dtypes: Dtypes) -> None:
        self._ridges = check_regularization(self.regularization, 2)
        k = fit.rotations[0].shape[1]
        self.n_components_ = k
        tables: list[Any] = []
        for i, (name, view, scaled) in enumerate(zip("xy", views.tables, check_scale(self.scale, 2), strict=True)):
            unit = view.unit / math.sqrt(views.divisor)
            # Covariances of the columns with the variates of both tables, and the regression of y on those of X.
            further = [fit.variates.with_columns(i, j) * unit for j in (i, 1 - i)]
            further += [fit.variates.regression(1, 0).T * unit] if i else []
            lifted = view.lift(np.hstack([fit.rotations[i], *further]))
            tables.append(column_structure(lifted, k, scaled=scaled, sign=tables[0].sign if i else None))
            like = self.x_mean_ if i else lifted.mean
            setattr(self, f"{name}_mean_", cast(lifted.mean, like, dtypes[i]))
            setattr(self, f"{name}_scale_", cast(tables[i].scale, like, dtypes[i]))
        like, (x_dtype, y_dtype) = self.x_mean_, dtypes
        self.correlations_ = cast(np.ascontiguousarray(fit.correlations[:, 0, 1]), like, x_dtype)
        self.singular_values_ = cast(fit.values[:k], like, x_dtype)
        self.rank_ = fit.ranks
        self._all_correlations = asarray_like(np.clip(fit.values, 0.0, 1.0), like)
        for name, columns, dtype in zip("xy", tables, dtypes, strict=True):
            own, other = columns.extra[:2]
            cross = other / columns.deviation[:, None]
            found = {
                "rotations_": columns.rotations,
                "loadings_": own / columns.scale[:, None],
                "structure_": own / columns.deviation[:, None],
                "cross_structure_": cross,
                "redundancy_": namespace(cross).mean(cross**2, axis=0),
            }
            for attribute, value in found.items():
                setattr(self, f"{name}_{attribute}", cast(value, like, dtype))
        self._y_on_x = cast(tables[1].extra[2], like, y_dtype)
        set_prediction(self, y_dtype)

    def coefficient_factors(self) -> tuple[Array, Array]:
        """The factors R and Q of the coefficients Q R^T, in the units of the columns."""
        return self.x_rotations_ / self.x_scale_[:, None], self._y_on_x

    def _importance(self) -> list[tuple[str, Any]]:
        return [
            ("correlation", self.correlations_),
            ("redundancy of X", self.x_redundancy_),
            ("redundancy of y", self.y_redundancy_),
        ]

    def _describe_limit(self) -> str:
        return f"the ranks of the tables are {self.rank_[0]} and {self.rank_[1]}"

    def __sklearn_tags__(self) -> Any:
        return regression_tags(super().__sklearn_tags__())
