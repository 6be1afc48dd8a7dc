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


def coefficients(model: Any) -> Array:
    """Q R^T, in the units of the columns, (n_targets, n_features); an error if it overflows."""
    check_is_fitted(model)
    return in_widest_range("coef_", lambda R, Q: Q @ R.T, *model.coefficient_factors())


def set_prediction(model: Any, dtype: Any) -> None:
    """Set the intercept, which is the prediction at zero, and whether the coefficients of few targets are finite: they
    may overflow even if the predictions do not."""
    R, Q = model.coefficient_factors()
    wide = wide_dtype(namespace(Q), device(Q))
    mean, y_mean = (astype(m, wide) for m in (model.x_mean_, model.y_mean_))
    model.intercept_ = cast(y_mean - astype(Q, wide) @ (astype(R, wide).T @ mean), model.x_mean_, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        model._finite_coefficients = Q.shape[0] > Q.shape[1] or all_finite(R @ Q.T)


def in_widest_range(name: str, product: Callable[[Array, Array], Array], R: Array, Q: Array) -> Array:
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
