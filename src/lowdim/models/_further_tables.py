"""Tables beside the first one, such as y: how they are opened, and the names of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._xp import Array, asarray_like, dense, device, namespace
from ..errors import other_names
from ..sources import (
    ArraySource,
    BesideSource,
    Source,
    can_be_opened,
    open_source,
    open_target,
    require_one_device,
)
from ._columns import check_namespace


def open_pair(model: Any, X: Any, y: Any, *, reset: bool) -> BesideSource:
    """X and y as tables side by side; y is converted to the namespace of X."""
    if y is None:
        streams = " Pass two streams, one for each table; or call partial_fit(X, y) for each block."
        hint = streams if callable(X) or hasattr(X, "__next__") else ""
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None: it relates two tables.{hint}"
        )
    x = model._open(X, reset=reset)
    other = open_target(y, stream=not x.traits.whole, wanted=None if reset else known_targets(model))
    other = in_namespace_of(x, other)
    pair = BesideSource([x, other])
    if reset:
        model._one_dimensional = other.vector
        remember_target(model, other)
    else:
        check_target_names(model, other)
    return pair


def open_further(
    model: Any, X: Any, mean: Array, table: str, method: str, wanted: Sequence[str] | None = None
) -> Source:
    """The source of a further table of new rows, whose width must be that of the fit. Of files, the columns `wanted`
    are read."""
    source = open_target(X, table=table, wanted=wanted)
    if source.shape[1] != mean.shape[0]:
        raise ValueError(f"{table} has {source.shape[1]} columns, the model was fitted on {mean.shape[0]}.")
    if table == "y":
        check_target_names(model, source)
    source = in_namespace_of(open_source(model._centre()[None, :]), source)
    check_namespace(model, source, method)
    return source


def in_namespace_of(x: Source, other: Source) -> Source:
    """A further table, converted to the namespace and device of the first one. An array of another library follows the
    first table, as scikit-learn asks; one on another device of the same library, or on a device while the first table
    is in main memory, is an error."""
    like, mine = x.empty(0), other.empty(0)
    if namespace(like) is namespace(mine) and device(like) == device(mine):
        return other
    if x.traits.host or namespace(like) is namespace(mine):
        require_one_device([x, other])
    if not other.traits.whole:
        return other
    moved = ArraySource(asarray_like(dense(next(other.blocks(int(other.shape[0] or 0)))), like))
    moved.table, moved.vector, moved.names = other.table, other.vector, other.names
    return moved


def remember_target(model: Any, source: Source) -> None:
    """Record the names of the columns of y, if they have any."""
    model.__dict__.pop("target_names_in_", None)
    if source.names is not None:
        model.target_names_in_ = np.asarray(source.names, dtype=object)


def known_targets(model: Any) -> list[str] | None:
    """The names that the columns of y had in the fit, if they had any."""
    names = getattr(model, "target_names_in_", None)
    return None if names is None else [str(name) for name in names]


def check_target_names(model: Any, source: Source) -> None:
    """Refuse columns of y whose names are not those of the fit."""
    known = list(getattr(model, "target_names_in_", []))
    if known and source.names is not None and list(source.names) != known:
        raise other_names(None, source.names, known, "y")


def is_list_of_tables(X: Any) -> bool:
    """True for a list of arrays, sparse matrices, data frames or streams; a list of lists of numbers is one table."""
    return isinstance(X, list | tuple) and any(_is_table(A) for A in X)


def _is_table(A: Any) -> bool:
    if isinstance(A, list | tuple):
        return len(A) > 0 and (hasattr(A[0], "__len__") or hasattr(A[0], "shape"))
    return getattr(A, "ndim", 2) == 2 and can_be_opened(A)
