"""Names of the columns that a graph takes and returns, for its metadata."""

from __future__ import annotations

from typing import Any

from ..models import GCCA
from ..models._base import Model
from ..models._further_tables import known_targets
from .expression import Expression


def names_before(model: Any, method: str, table: int, expression: Expression) -> list[str]:
    """The names of the columns that a method takes."""
    if method == "inverse_transform":
        return _components(model)
    return _columns(model, table, expression.width)


def names_after(model: Any, method: str, table: int, width: int) -> list[str]:
    """The names of the `width` columns that a method returns."""
    if method == "transform":
        return _components(model)
    if method == "predict":
        return _columns(model, 1, width)
    # The rows of FeatureMapPCA are features.
    return _columns(model, table, width) if table else list(model._row_names())


def _components(model: Any) -> list[str]:
    return [str(name) for name in model.get_feature_names_out()]


def _columns(model: Any, table: int, width: int) -> list[str]:
    """The names of the columns of a table."""
    if isinstance(model, GCCA):
        return list(model._names_of(table))
    if table == 0:
        return list(Model._row_names(model))
    known = known_targets(model)
    return [f"y{j}" for j in range(width)] if known is None else known
