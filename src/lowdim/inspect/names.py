"""Which table of a model is meant, and the names of its columns."""

from __future__ import annotations

import numbers
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._xp import Array
from ..errors import choice


def column_names(model: Any, table: str | int = 0) -> list[str]:
    """The names of the columns that a model was fitted to; "x1", "x2", ... if they had none.

    Parameters
    ----------
    model : fitted model
    table : "X", "y" or int
        For models of several tables: which one. The columns of y are "y1", "y2", ... if they had no names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> inspect.column_names(PCA(1).fit(load_iris().data))
    ['x1', 'x2', 'x3', 'x4']
    >>> inspect.column_names(PCA(1).fit(load_iris(as_frame=True).data))[0]
    'sepal length (cm)'
    """
    check_is_fitted(model)
    names: list[str] = model._column_names(table_number(model, table))
    return names


def names_expected(model: Any) -> list[str] | None:
    """The names of the columns that a fitted model expects; None if it was fitted without names."""
    names: list[str] | None = model._wanted()
    return names


def table_number(model: Any, table: str | int) -> int:
    """The number of a table of a fitted model, from 0."""
    count = len(model._widths())
    letters = "Xy"[:count] if count <= 2 else ""
    if isinstance(table, str) and table in tuple(letters):
        return letters.index(table)
    if isinstance(table, numbers.Integral) and not isinstance(table, bool) and 0 <= table < count:
        return int(table)
    allowed: list[Any] = [*letters, *range(count)]
    raise choice("table", table, allowed)


def of_table(model: Any, attribute: str, i: int) -> Array:
    """An attribute of table i, such as "loadings_": x_loadings_ and y_loadings_ of a pair of tables, an entry of a list
    for more tables."""
    if has_attribute(model, f"x_{attribute}"):
        return getattr(model, f"{'xy'[i]}_{attribute}")
    value = getattr(model, attribute)
    return value[i] if isinstance(value, list) else value


def has_attribute(model: Any, *attributes: str) -> bool:
    """Whether a fitted model has one of these attributes. Properties are not computed to find out."""
    return any(hasattr(type(model), name) or name in vars(model) for name in attributes)
