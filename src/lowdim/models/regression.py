"""Regressions on components: predictions, coefficients, importance of columns, errors, jackknife."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import RegressorTags
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import (
    Array,
    Beside,
    all_finite,
    astype,
    cumulative_sum,
    dense,
    in_range,
    is_array,
    namespace,
    to_numpy,
    wide_dtype,
)
from .._core.schema import Flag, Instance, Numbers, Real, Whole
from .._core.types import VectorLike
from ..features import affine
from ..linalg import column_lengths
from ..reading.map import RowMap
from ..reading.rows import Rows
from ..reading.summarizing import check_weights
from ..selection.bootstrapping import Jackknife, jackknife
from ..selection.folds import FoldsLike
from ..solvers.pairs.views import PairFit, Views
from ..solvers.problem import Tail
from ..sources.opening import TableLike, entries_of_target, rows_are_ordered
from ..summaries.moments import Moments
from .base import first_components
from .output import ASK_ABOUT_WEIGHTS, Maps, results
from .pairs import PAIR_ATTRIBUTES, Dtypes, PairModel, cast

#: The attributes that `set_prediction` and predictions need, for files.
PREDICTION_ATTRIBUTES = {
    "_y_on_x": Numbers("q", "k"),
    "intercept_": Numbers("q"),
    "_finite_coefficients": Flag(),
}


#: The attributes of a regression that are bootstrapped, and the meaning of their axes.
REGRESSION_AXES = {"coef": ("targets", "features"), "explained_variance": ("components",)}


class LatentRegression(PairModel):
    """Base class of regressions of y on orthogonal scores of X.

    With scores t_k = X r_k and q_k = y^T t_k / t_k^T t_k, the prediction from K scores is sum_{j<=K} t_j q_j^T, so the
    coefficients for all numbers of components are cumulative sums of r_j q_j^T.
    """

    x_weights_: np.ndarray
    y_weights_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    y_explained_variance_ratio_: np.ndarray
    tail_: Tail
    noise_variance_: float
    rank_: int
    rank_cut_: float
    intercept_: np.ndarray
    _y_on_x: np.ndarray
    fitted_attributes = {
        "x_weights_": Numbers("p", "k"),
        "y_weights_": Numbers("q", "k"),
        "explained_variance_": Numbers("k", sign="nonnegative"),
        "explained_variance_ratio_": Numbers("k", sign="nonnegative", most=1.0),
        "y_explained_variance_ratio_": Numbers("k", sign="nonnegative", most=1.0),
        "tail_": Instance("solvers.Tail"),
        "noise_variance_": Real("nonnegative"),
        "rank_": Whole(most="k"),
        "rank_cut_": Real("nonnegative"),
        **PAIR_ATTRIBUTES,
        **PREDICTION_ATTRIBUTES,
    }
    __metadata_request__fit = ASK_ABOUT_WEIGHTS
    __metadata_request__fit_transform = ASK_ABOUT_WEIGHTS
    __metadata_request__partial_fit = ASK_ABOUT_WEIGHTS

    @property
    def coef_(self) -> np.ndarray:
        """Regression coefficients in the units of the columns, (n_targets, n_features)."""
        check_is_fitted(self)
        return in_widest_range("coef_", lambda R, Q: Q @ R.T, *self.coefficient_factors())

    def predict(self, X: TableLike, n_components: int | None = None) -> np.ndarray:
        """Predictions of y for the rows of `X`, from the first `n_components` components (default: all);
        a vector if y was one in the fit."""
        check_is_fitted(self)
        return results(self._prediction_maps(X, n_components))

    def predict_to(
        self,
        X: TableLike,
        path: str | PathLike[str],
        *,
        n_components: int | None = None,
        keep: Sequence[str] = (),
        overwrite: bool = False,
    ) -> str:
        """Write what `predict` returns for `X` to a file, with the names of the columns of y (or y1, y2, ...).

        For `path`, `keep` and `overwrite` see `transform_to`.
        """
        maps = partial(self._prediction_maps, n_components=n_components)
        return self._write(maps, X, path, "predict_to", keep, overwrite, self._wanted())

    def _prediction_maps(self, X: Any, n_components: int | None = None) -> Maps:
        """The maps that `predict` applies to its arguments."""
        model = first_components(self, n_components, least=0)
        return [prediction_map(model, X)]

    def score(self, X: TableLike, y: TableLike, sample_weight: VectorLike | None = None) -> float:
        """The share of the variance of y that is predicted, R^2, averaged over the columns of y."""
        if not rows_are_ordered(X):
            return r2_in_one_pass(self, X, y, sample_weight)
        X, y, sample_weight = self._by_name(X, y, fitted=True, hold=True, sample_weight=sample_weight)
        truth = entries_of_target(y, self._known_names(1))
        weights = to_numpy(sample_weight) if is_array(sample_weight) else sample_weight
        return float(r2_score(truth, to_numpy(self.predict(X)), sample_weight=weights))

    @property
    def coef_path_(self) -> np.ndarray:
        """Coefficients with 1, 2, ..., `n_components_` components, (`n_components_`, n_targets, n_features)."""
        check_is_fitted(self)

        def path(R: Array, Q: Array) -> Array:
            steps = Q.T[:, :, None] * R.T[:, None, :]
            return cumulative_sum(steps) if self.n_components_ else steps

        return in_widest_range("coef_path_", path, *self.coefficient_factors())

    @property
    def vip_(self) -> np.ndarray:
        """Variable importance in projection, sqrt(p sum_k s_k w_jk^2 / sum_k s_k), where s_k is the sum of squares of y
        that component k explains. The average of their squares is one."""
        check_is_fitted(self)
        xp = namespace(self.x_weights_)
        explained = self.y_explained_variance_ratio_
        total = float(xp.sum(explained))
        if total <= 0.0:
            return xp.zeros_like(self.x_mean_)
        return xp.sqrt(self.n_features_in_ * (self.x_weights_**2 @ astype(explained / total, self.x_weights_.dtype)))

    def jackknife(
        self, X: TableLike, y: TableLike, *, cv: FoldsLike = 10, sample_weight: VectorLike | None = None
    ) -> Jackknife:
        """Jackknife standard errors of the coefficients: the model is fitted without each part of the rows in turn.

        Parameters
        ----------
        X, y : the rows of the fit
            It must be possible to read them several times.
        cv : int, splitter or iterable, default=10
            Parts that together contain every row exactly once: a number of parts, a scikit-learn splitter such as
            `KFold` or `LeaveOneOut`, or pairs of row numbers (kept, left out).
        sample_weight : array of shape (n_samples,), default=None
            The weights of the fit.
        """
        check_is_fitted(self)
        return jackknife(self, X, y, cv, sample_weight)

    def scores(self, X: TableLike) -> np.ndarray:
        """Scores of the rows of `X`, always as an array, regardless of `set_output`."""
        check_is_fitted(self)
        return self._map(X, self._scoring(), "scores")

    def reconstruction_error(
        self, X: TableLike, *, scaled: bool = False, n_components: int | None = None
    ) -> np.ndarray:
        """Squared distance of each row to its reconstruction from the scores, |x - P t|^2 for centred x.

        With `scaled`, the columns are divided by `x_scale_`. With `n_components`, only the first components are used.
        """
        model = first_components(self, n_components, least=0)
        A, P = model.x_rotations_, model.x_loadings_

        def error(block: Array) -> Array:
            Z = (dense(block) - astype(self.x_mean_, block.dtype)) / astype(self.x_scale_, block.dtype)
            rest = Z - (Z @ astype(A, Z.dtype)) @ astype(P.T, Z.dtype)
            if not scaled:
                rest = rest * astype(self.x_scale_, Z.dtype)
            return namespace(rest).sum(rest * rest, axis=1)

        return self._map(X, error, "reconstruction_error")

    def _unpack(self, views: Views, fit: PairFit, dtypes: Dtypes) -> None:
        self._unpack_pair(views, fit, dtypes)
        x_dtype, y_dtype = dtypes
        x, y = views.tables
        like = self.x_mean_
        total_x = x.total() * x.unit**2
        total_y = y.total() * y.unit**2
        lengths = fit.x_lengths
        in_x = (lengths * column_lengths(fit.x_loadings)) ** 2
        in_y = (lengths * column_lengths(fit.y_on_x)) ** 2
        self.explained_variance_ = cast(lengths**2 / views.divisor, like, x_dtype)
        self.explained_variance_ratio_ = cast(in_x / (total_x or 1.0), like, x_dtype)
        self.y_explained_variance_ratio_ = cast(in_y / (total_y or 1.0), like, y_dtype)
        k, p = self.n_components_, self.n_features_in_
        # For T2 and Q and their limits in lowdim.inspect.
        self.tail_ = fit.tail
        self.noise_variance_ = fit.tail.total / views.divisor / (p - k) if k < p else 0.0
        self.rank_ = k
        self.rank_cut_ = views.cut**2 * total_x / views.divisor
        set_prediction(self, y_dtype)

    def coefficient_factors(self) -> tuple[Array, Array]:
        """The factors R and Q of the coefficients Q R^T, in the units of the columns."""
        return self.x_rotations_ / self.x_scale_[:, None], self._y_on_x * self.y_scale_[:, None]

    def _x_deviation(self) -> float:
        return math.sqrt(float(self.explained_variance_[0])) if self.n_components_ else 1.0

    def _importance(self) -> list[tuple[str, Any]]:
        x, y = (to_numpy(r) for r in (self.explained_variance_ratio_, self.y_explained_variance_ratio_))
        return [
            ("proportion of X", x),
            ("cumulative of X", np.cumsum(x)),
            ("proportion of y", y),
            ("cumulative of y", np.cumsum(y)),
        ]

    def __sklearn_tags__(self) -> Any:
        return regression_tags(super().__sklearn_tags__())


# Predictions of y from scores of X, y_mean + (x - x_mean) R Q^T, for regressions and CCA.
#
# The n_targets x n_features coefficients Q R^T are computed only on request, since for two wide tables they would be
# larger than the tables.


def r2_in_one_pass(model: Any, X: TableLike, y: TableLike, sample_weight: VectorLike | None) -> float:
    """R^2, averaged over the columns of y, from the moments of y and of its residuals: one pass over rows that need no
    order."""
    check_is_fitted(model)
    X, y, sample_weight = model._by_name(X, y, fitted=True, sample_weight=sample_weight)
    pair = model._open_tables(X, y, reset=False)
    predict, q = model._prediction_maps(pair.members[0])[0].function, pair.members[1].shape[1]
    rows = Rows(pair, None if sample_weight is None else check_weights(sample_weight, pair))
    found = rows.mapped(_Residuals(predict, q)).summarize(Moments(2 * q, wide=True))
    squares = to_numpy(namespace(found.scatter).linalg.diagonal(found.scatter))
    total, rest = squares[:q], squares[q:] + found.weight * to_numpy(found.mean)[q:] ** 2
    # A constant column is predicted perfectly or not at all, as scikit-learn has it.
    share = np.where(total > 0, 1.0 - rest / np.where(total > 0, total, 1.0), np.where(rest > 0, 0.0, 1.0))
    return float(np.mean(share))


class _Residuals:
    """The responses, the last q columns of a block, and beside them their residuals."""

    def __init__(self, predict: Callable[[Array], Array], q: int) -> None:
        self._predict, self._q, self.width = predict, q, 2 * q

    def __call__(self, block: Any) -> Array:
        X, y = block.pieces if isinstance(block, Beside) else (block[:, : -self._q], block[:, -self._q :])
        known = to_numpy(dense(y))
        return np.concatenate([known, known - to_numpy(self._predict(X)).reshape(known.shape)], axis=1)


def set_prediction(model: Any, dtype: Any) -> None:
    """Set the intercept, which is the prediction at zero, in the `dtype` of y, and whether the coefficients of few
    targets are finite: they may overflow even if the predictions do not."""
    R, Q = model.coefficient_factors()
    wide = wide_dtype(Q)
    mean, y_mean = (astype(m, wide) for m in (model.x_mean_, model.y_mean_))
    model.intercept_ = cast(y_mean - astype(Q, wide) @ (astype(R, wide).T @ mean), model.x_mean_, dtype)
    R, Q = in_common_dtype(R, Q)
    with np.errstate(over="ignore", invalid="ignore"):
        model._finite_coefficients = Q.shape[0] > Q.shape[1] or all_finite(R @ Q.T)


def in_common_dtype(R: Array, Q: Array) -> tuple[Array, Array]:
    """R, in the dtype of X, and Q, in that of y, in the wider of the two."""
    dtype = namespace(Q).result_type(R.dtype, Q.dtype)
    return astype(R, dtype), astype(Q, dtype)


def in_widest_range(name: str, product: Callable[[Array, Array], Array], R: Array, Q: Array) -> Array:
    """`product(R, Q)` in the dtype of R, or in float64 if that is float32 and too small; an error if it overflows in
    float64 too. `name` is that of the attribute."""
    of_x = R.dtype
    R, Q = in_common_dtype(R, Q)
    with np.errstate(over="ignore", invalid="ignore"):
        for dtype in (Q.dtype, wide_dtype(Q)):
            values = product(astype(R, dtype), astype(Q, dtype))
            if all_finite(values):
                return in_range(values, of_x)
    raise ValueError(
        f"{name} has entries outside the range of floating-point numbers: the columns of y are too large, or those of "
        "X too small. predict(X) works all the same; for coefficients, rescale one of the tables (multiply it by a "
        "constant) and fit again."
    )


def prediction_map(model: Any, X: TableLike) -> RowMap:
    """The map from the rows of `X` to predictions.

    Predictions are a vector if y was one in the fit, and have the dtype that y had. Products with float32 rows are
    computed in float32, unless y is in float64 and they leave the range of float32.
    """
    R, Q = in_common_dtype(*model.coefficient_factors())
    few = Q.shape[0] <= Q.shape[1] and model._finite_coefficients
    A = R @ Q.T if few else R
    first = affine(A, astype(model.x_mean_, R.dtype), _deviation(model, Q) if few else model._x_deviation())
    y_mean, one = model.y_mean_, model._one_dimensional
    narrow = namespace(A).float32
    fits = all(in_range(factor, narrow).dtype == narrow for factor in (A, Q))

    def product(block: Array) -> Array:
        return first(block) if few else first(block) @ astype(Q.T, block.dtype)

    def predict(block: Array) -> Array:
        wide = namespace(y_mean).result_type(block.dtype, y_mean.dtype)
        answer = product(block if fits else astype(block, wide))
        if block.dtype != wide and not all_finite(answer):
            answer = product(astype(block, wide))
        answer = astype(astype(answer, wide) + astype(y_mean, wide), y_mean.dtype)
        return answer[:, 0] if one else answer

    return model._row_map(X, predict, "predict", partial(model._column_names, 1))


def _deviation(model: Any, Q: Array) -> float:
    """The largest standard deviation of what one component contributes to the prediction of a target. The variates of
    CCA, which has no `explained_variance_`, have unit variance."""
    xp = namespace(Q)
    variances = getattr(model, "explained_variance_", None)
    parts = Q if variances is None else Q * astype(xp.sqrt(variances[: Q.shape[1]]), Q.dtype)
    return float(xp.max(xp.abs(parts))) if Q.shape[1] else 0.0


def regression_tags(tags: Any) -> Any:
    """scikit-learn's tags, with those of a regression added."""
    tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
    tags.target_tags.multi_output = True
    # A model with few components need not predict well.
    tags.regressor_tags.poor_score = True
    return tags
