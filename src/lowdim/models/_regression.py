"""The base class of regressions on components: coefficients, importance of columns, errors, jackknife."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._xp import Array, astype, cumulative_sum, dense, namespace, to_numpy
from ..attributes import Instance, Numbers, Real, Whole
from ..linalg import column_lengths
from ..selection.jackknife import Jackknife, jackknife
from ..solvers.results import PairFit
from ..solvers.tables import Views
from ._first_components import first_components
from ._pair import PairModel
from ._prediction import PREDICTION_ATTRIBUTES, Predicting, in_widest_range, regression_tags, set_prediction
from ._routing import ASK_ABOUT_WEIGHTS
from ._tables import Dtypes, cast

#: The attributes of a regression that are bootstrapped, and the meaning of their axes.
REGRESSION_AXES = {"coef": ("targets", "features"), "explained_variance": ("components",)}


# scikit-learn has no types, so its bases are Any.
class LatentRegression(Predicting, PairModel):
    """Base class of regressions of y on orthogonal scores of X.

    With scores t_k = X r_k and q_k = y^T t_k / t_k^T t_k, the prediction from K scores is sum_{j<=K} t_j q_j^T, so the
    coefficients for all numbers of components are cumulative sums of r_j q_j^T.
    """

    explained_variance_: Any
    y_explained_variance_ratio_: Any
    intercept_: Any
    x_weights_: Any
    _y_on_x: Any
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
        **PREDICTION_ATTRIBUTES,
    }
    __metadata_request__fit = ASK_ABOUT_WEIGHTS
    __metadata_request__fit_transform = ASK_ABOUT_WEIGHTS
    __metadata_request__partial_fit = ASK_ABOUT_WEIGHTS

    @property
    def coef_path_(self) -> Array:
        """Coefficients with 1, 2, ..., `n_components_` components, (`n_components_`, n_targets, n_features)."""
        check_is_fitted(self)

        def path(R: Array, Q: Array) -> Array:
            steps = Q.T[:, :, None] * R.T[:, None, :]
            return cumulative_sum(steps) if self.n_components_ else steps

        return in_widest_range("coef_path_", path, *self.coefficient_factors())

    @property
    def vip_(self) -> Array:
        """Variable importance in projection, sqrt(p sum_k s_k w_jk^2 / sum_k s_k), where s_k is the sum of squares of y
        that component k explains. The average of their squares is one."""
        check_is_fitted(self)
        xp = namespace(self.x_weights_)
        explained = self.y_explained_variance_ratio_
        total = float(xp.sum(explained))
        if total <= 0.0:
            return xp.zeros_like(self.x_mean_)
        return xp.sqrt(self.n_features_in_ * (self.x_weights_**2 @ astype(explained / total, self.x_weights_.dtype)))

    def jackknife(self, X: Any, y: Any, *, cv: Any = 10, sample_weight: Any = None) -> Jackknife:
        """Jackknife standard errors of the coefficients: the model is fitted without each part of the rows in turn.

        Parameters
        ----------
        X, y : the rows of the fit
            It must be possible to read them several times.
        cv : int, splitter or iterable
            Parts that together contain every row exactly once: a number of parts, a scikit-learn splitter such as
            `KFold` or `LeaveOneOut`, or pairs of row numbers (kept, left out).
        sample_weight : array of shape (n_samples,), optional
            The weights of the fit.
        """
        check_is_fitted(self)
        return jackknife(self, X, y, cv, sample_weight)

    def scores(self, X: Any) -> Array:
        """Scores of the rows of `X`, always as an array, regardless of `set_output`."""
        check_is_fitted(self)
        return self._map(X, self._scoring(), "scores")

    def reconstruction_error(self, X: Any, *, scaled: bool = False, n_components: int | None = None) -> Array:
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
