"""Names of the columns that a graph takes and returns, for its metadata."""

from __future__ import annotations

from typing import Any


def names_before(model: Any, method: str, table: int) -> list[str]:
    """The names of the columns that a method takes."""
    return _components(model) if method == "inverse_transform" else list(model._column_names(table))


def names_after(model: Any, method: str, table: int) -> list[str]:
    """The names of the columns that a method returns."""
    if method == "transform":
        return _components(model)
    if method == "predict":
        return list(model._column_names(1))
    # The rows that FeatureMapPCA returns to are features.
    return list(model._column_names(table) if table else model._row_names())


def _components(model: Any) -> list[str]:
    return [str(name) for name in model.get_feature_names_out()]
