"""Models whose methods are affine maps of rows: components, whitening, latent variables, PLS, CCA."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from .._xp import asarray_like, namespace
from ..errors import not_in_onnx
from ..features import AffineMap
from ..summaries.latent import LatentGaussian
from .expression import Expression, centred_product, float64, product_and_mean
from .graph import Value

#: The number of unit vectors whose scores are computed at a time.
_UNIT_VECTORS = 1000


def affine_scores(model: Any, table: int = 0) -> Expression:
    """The scores of a model whose map is (x - mean) A."""
    return _of_map(model, model._scoring())


def pair_scores(model: Any, table: int) -> Expression:
    """The scores of X or of y."""
    return _of_map(model, model._y_scoring() if table else model._scoring())


def several_scores(model: Any, table: int) -> Expression:
    """The variates of one of several tables."""
    return _of_map(model, model._scoring_of(table))


def _of_map(model: Any, scoring: Any) -> Expression:
    if not isinstance(scoring, AffineMap):
        raise not_in_onnx(
            f"transform of {type(model).__name__}",
            "lowdim has no converter for this class, and its map is not one that `features.affine` made",
            "Use lowdim.save to hand the model on.",
        )
    return centred_product(scoring.matrix, scoring.mean)


def affine_rows(model: Any, table: int = 0) -> Expression:
    """Rows from scores, mean + z B."""
    return product_and_mean(model._lift(), model._centre())


def pair_rows(model: Any, table: int) -> Expression:
    """Rows of X or of y from their scores."""
    if table == 0:
        return affine_rows(model)
    return product_and_mean((float64(model.y_loadings_) * float64(model.y_scale_)[:, None]).T, model.y_mean_)


def several_rows(model: Any, table: int) -> Expression:
    """Rows of one of several tables from its variates."""
    return product_and_mean(model._lift_of(table), model.means_[table])


def predictions(model: Any, table: int = 0) -> Expression:
    """y_mean + (x - x_mean) R Q^T. For fewer targets than components R Q^T is one matrix, unless it overflows."""
    R, Q = (float64(factor) for factor in model.coefficient_factors())
    mean, y_mean = float64(model.x_mean_), float64(model.y_mean_)
    factors = [R @ Q.T] if Q.shape[0] <= Q.shape[1] and model._finite_coefficients else [R, Q.T]

    def build(x: Value) -> Value:
        found = x.minus(mean)
        for factor in factors:
            found = found @ factor
        return found + y_mean

    return Expression(R.shape[0], build, vector=bool(model._one_dimensional))


# ---- Whitening by factors of a symmetric matrix


def whitened(model: Any, table: int = 0) -> Expression:
    """Whitened rows, W (x - mean). Where W is kept by its factors, it is multiplied by them."""
    if "_whitener" not in model.__dict__:
        return affine_scores(model)
    mean, scale = float64(model.mean_), _column_scale(model)
    return Expression(len(mean), lambda x: _times(model._whitener, _divided(x.minus(mean), scale)))


def coloured(model: Any, table: int = 0) -> Expression:
    """Rows from whitened rows."""
    if "_colourer" not in model.__dict__:
        return affine_rows(model)
    mean, scale = float64(model.mean_), _column_scale(model)

    def build(z: Value) -> Value:
        x = _times(model._colourer, z)
        return (x if scale is None else x * scale) + mean

    return Expression(len(mean), build)


def _column_scale(model: Any) -> np.ndarray | None:
    return None if model._column_scale is None else float64(model._column_scale)


def _divided(x: Value, scale: np.ndarray | None) -> Value:
    return x if scale is None else x / scale


def _times(factors: Any, x: Value) -> Value:
    """The products of rows with V^T diag(along) V + beyond (I - V^T V)."""
    V, along, beyond = float64(factors.vectors), float64(factors.along), float(factors.beyond)
    found = ((x @ V.T) * (along - beyond)) @ V
    return found if beyond == 0.0 else found + x * beyond


# ---- Latent variables


def latent_scores(model: Any, table: int = 0) -> Expression:
    """The posterior means of the latent variables given complete rows; rows with NaN have scores of NaN.

    Given complete rows they are an affine map of standardised rows. The model itself says which: its scores of the zero
    vector and of the unit vectors are computed with a mean of zero and a scale of one, where nothing is lost.
    """
    g = model._gaussian
    xp = namespace(g.mean)
    standard = copy.copy(model)
    standard._gaussian = LatentGaussian(xp.zeros_like(g.mean), xp.ones_like(g.scale), g.loadings, g.noise, g.spread)
    score, p = standard._scoring(), int(g.mean.shape[0])

    def scores(first: int, stop: int) -> np.ndarray:
        """Scores of the unit vectors with these numbers; number -1 is the zero vector."""
        rows = np.zeros((stop - first, p))
        at = np.arange(max(first, 0), stop)
        rows[at - first, at] = 1.0
        return float64(score(asarray_like(rows, g.mean, dtype=g.mean.dtype)))

    parts = [scores(first, min(first + _UNIT_VECTORS, p)) for first in range(-1, p, _UNIT_VECTORS)]
    all_scores = np.concatenate(parts)
    at_mean = all_scores[0]
    A = (all_scores[1:] - at_mean) / float64(g.scale)[:, None]
    mean = float64(g.mean)
    return Expression(p, lambda x: x.minus(mean) @ A + at_mean if np.any(at_mean) else x.minus(mean) @ A)
