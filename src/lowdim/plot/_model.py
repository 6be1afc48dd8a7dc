"""What plots need to know of a fitted model: names of its components and columns, and scores of rows."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import inspect
from .._xp import Array, concat_rows, dense, to_numpy
from ..errors import not_one_for_each_row, unknown_component
from ..inspect.names import names_expected
from ..sources import Source, by_name, open_source, row_labels


def numbers_of(values: Any) -> np.ndarray:
    """Numbers of any array library or data frame as a NumPy array of floats."""
    native = values.to_numpy() if hasattr(values, "to_numpy") else to_numpy(values)
    return np.asarray(native, dtype=float)


def chosen_components(model: Any, components: Any, default: int) -> list[int]:
    """Positions of components, from 0, that are given by numbers from 1 or by names; None for the first ones."""
    check_is_fitted(model)
    names = model.component_names_
    if components is None:
        return list(range(min(default, len(names))))
    given = [components] if isinstance(components, str | numbers.Integral) else list(components)
    return [_position(component, names) for component in given]


def chosen_component(model: Any, component: Any) -> int:
    """The position of one component, from 0, that is given by its number from 1 or by its name."""
    check_is_fitted(model)
    return _position(component, model.component_names_)


def _position(component: Any, names: Sequence[str]) -> int:
    position = position_among(names, component)
    if position is None:
        raise unknown_component(component, names)
    return position


def position_among(names: Sequence[str], given: Any) -> int | None:
    """The position, from 0, of what is given by its name or by its number from 1; None if there is no such thing."""
    if isinstance(given, str) and given in names:
        return names.index(given)
    whole = isinstance(given, numbers.Integral) and not isinstance(given, bool | np.bool_)
    return int(given) - 1 if whole and 1 <= int(given) <= len(names) else None


def axis_label(model: Any, k: int) -> str:
    """The name of component k, with its share of the variance if that is known."""
    name = model.component_names_[k]
    shares = getattr(model, "explained_variance_ratio_", None)
    return name if shares is None else f"{name} ({float(shares[k]):.1%})"


@dataclass(frozen=True)
class RowsShown:
    """Rows, and what is shown of them beside their numbers."""

    #: What the model reads: the rows, the second table and the weights, if there are any.
    X: Any
    y: Any
    sample_weight: Any
    _groups: np.ndarray | None
    _labels: np.ndarray | None
    _counted: bool

    def groups(self, n: int) -> np.ndarray | None:
        """The group of each of n rows, or None."""
        return None if self._groups is None else _of_length("groups", self._groups, n)

    def labels(self, n: int) -> np.ndarray | None:
        """The label of each of n rows, or None."""
        if self._labels is None:
            return np.arange(n) if self._counted else None
        return _of_length("labels", self._labels, n)


def rows_shown(
    model: Any, X: Any, groups: Any = None, labels: Any = None, *, y: Any = None, sample_weight: Any = None
) -> RowsShown:
    """The rows with their groups and labels, the second table and weights, all of which may be names of columns of `X`.

    They are looked up together, since what is left of `X` does not hold the columns that were named.

    `labels` is None for the labels of the table's own index, if it has one that does not just count the rows; True for
    these labels or row numbers; False for none; or a sequence, or the name of a column.
    """
    check_is_fitted(model)
    index = row_labels(X)
    X, y, groups, labels, sample_weight = by_name(
        X, y, wanted=names_expected(model), groups=groups, labels=labels, sample_weight=sample_weight
    )
    counted = labels is True and index is None
    if labels is None or isinstance(labels, bool):
        labels = None if labels is False else index
    return RowsShown(X, y, sample_weight, _vector("groups", groups), _vector("labels", labels), counted)


def read_rows(model: Any, X: Any, most: int | None = None) -> Array:
    """The rows as one array of their own library, all of them or the first `most`; one pass over what is needed."""
    source = open_source(X, names_expected(model))
    blocks: list[Array] = []
    for block in source.blocks(1 << 16 if most is None else most):
        blocks.append(dense(block))
        if most is not None and sum(block.shape[0] for block in blocks) >= most:
            break
    return concat_rows(blocks)[:most, :]


def named_rows(model: Any, rows: Array) -> Source:
    """Rows that were computed, with the names of columns that the model expects."""
    source = open_source(rows)
    source.names = names_expected(model)
    return source


def _vector(name: str, values: Any) -> np.ndarray | None:
    """A sequence of anything as a vector of objects or numbers; None stays None."""
    if values is None:
        return None
    array = values.to_numpy() if hasattr(values, "to_numpy") else values
    if not isinstance(array, np.ndarray):
        listed = list(array)
        array = np.empty(len(listed), dtype=object)
        array[:] = listed
    if array.ndim != 1:
        raise ValueError(f"{name} must be a vector with one entry for each row, got an array of shape {array.shape}.")
    return array


def _of_length(name: str, values: np.ndarray, n: int) -> np.ndarray:
    if len(values) != n:
        raise not_one_for_each_row(name, len(values), n)
    return values


def scores_of(model: Any, X: Any) -> np.ndarray:
    """The scores of the rows as NumPy floats; of several tables, those of the first."""
    return inspect.scores(model, X).values[:, : int(model.n_components_)]


def number_of_tables(model: Any) -> int:
    """The number of tables that a model was fitted to."""
    return len(model._widths())
