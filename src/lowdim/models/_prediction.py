"""Predictions of y from scores of X, y_mean + (x - x_mean) R Q^T, for regressions and CCA.

The n_targets x n_features coefficients Q R^T are computed only on request, since for two wide tables they would be
larger than the tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._xp import Array, all_finite, astype, device, namespace, wide_dtype
from ..errors import not_representable
from ..features import affine
from ._tables import cast


class LinearPrediction:
    """Mixin of models that predict y: coefficients and intercept, from the factors R and Q of the coefficients."""

    intercept_: Array
    #: Whether the coefficients of few targets are finite.
    _finite_coefficients: bool

    @property
    def coef_(self: Any) -> Array:
        """Regression coefficients in the units of the columns, (n_targets, n_features)."""
        check_is_fitted(self)
        return in_widest_range(lambda R, Q: Q @ R.T, *self.coefficient_factors(), "coef_")

    def _set_prediction(self: Any, dtype: Any) -> None:
        """Set the intercept, which is the prediction at zero."""
        R, Q = self.coefficient_factors()
        wide = wide_dtype(namespace(Q), device(Q))
        mean, y_mean = (astype(m, wide) for m in (self.x_mean_, self.y_mean_))
        self.intercept_ = cast(y_mean - astype(Q, wide) @ (astype(R, wide).T @ mean), self.x_mean_, dtype)
        # The coefficients may overflow even if the predictions do not.
        with np.errstate(over="ignore", invalid="ignore"):
            self._finite_coefficients = Q.shape[0] > Q.shape[1] or all_finite(R @ Q.T)


def in_widest_range(product: Callable[[Array, Array], Array], R: Array, Q: Array, name: str) -> Array:
    """`product(R, Q)`, in float64 if it overflows in float32; an error if it overflows there too. `name` is that of the
    attribute."""
    with np.errstate(over="ignore", invalid="ignore"):
        for dtype in (Q.dtype, wide_dtype(namespace(Q), device(Q))):
            values = product(astype(R, dtype), astype(Q, dtype))
            if all_finite(values):
                return values
    raise not_representable(name)


def predictions(model: Any, X: Any, R: Array, Q: Array) -> Array:
    """Predictions for the rows of `X`, with R and Q in the units of the columns; a vector if y was one in the fit."""
    few = Q.shape[0] <= Q.shape[1] and model._finite_coefficients
    first = affine(R @ Q.T if few else R, model.x_mean_, 0.0)
    y_mean, one = model.y_mean_, model._one_dimensional

    def predict(block: Array) -> Array:
        answer = first(block) if few else first(block) @ astype(Q.T, block.dtype)
        answer = answer + astype(y_mean, block.dtype)
        return answer[:, 0] if one else answer

    return model._map(X, predict, "predict")


def regression_tags(tags: Any) -> Any:
    """scikit-learn's tags, with those of a regression added."""
    tags.target_tags.multi_output = True
    # A model with few components need not predict well.
    tags.regressor_tags.poor_score = True
    return tags
