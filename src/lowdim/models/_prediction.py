"""Predictions of y from scores of X, y_mean + (x - x_mean) R Q^T, for regressions and CCA.

The n_targets x n_features coefficients Q R^T are computed only on request, since for two wide tables they would be
larger than the tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._xp import Array, all_finite, astype
from ..features import affine
from ._tables import cast


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


def has_finite_coefficients(R: Array, Q: Array) -> bool:
    """Whether the coefficients of few targets are finite. They may overflow even if the predictions do not."""
    if Q.shape[0] > Q.shape[1]:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return all_finite(R @ Q.T)


def intercept(model: Any, R: Array, Q: Array, dtype: Any) -> Array:
    """The prediction at zero."""
    mean, y_mean = (astype(m, R.dtype) for m in (model.x_mean_, model.y_mean_))
    return cast(y_mean - Q @ (R.T @ mean), model.x_mean_, dtype)


def regression_tags(tags: Any) -> Any:
    """scikit-learn's tags, with those of a regression added."""
    tags.target_tags.multi_output = True
    # A model with few components need not predict well.
    tags.regressor_tags.poor_score = True
    return tags
