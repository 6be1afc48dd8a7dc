"""Records as trees of dictionaries, which the container stores, and back.

A record is the dictionary {"class": name, "of": {...}}. Arrays that occur several times, such as the rows that kernel
PCA keeps and uses in several places, are stored once, in a list of their own, and {"shared": i} stands for them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from .._xp import is_sparse
from ..attributes import Record
from .classes import RECORD, SHARED


def to_tree(value: Any) -> tuple[Any, list[Any]]:
    """The tree of a plain value, and the arrays that occur in it several times."""
    counts: Counter[int] = Counter()
    _count(value, counts)
    shared: dict[int, tuple[int, Any]] = {}

    def tree(item: Any) -> Any:
        if isinstance(item, Record):
            return {"class": item.kind, "of": tree(item.fields)}
        if isinstance(item, dict):
            return {name: tree(part) for name, part in item.items()}
        if isinstance(item, list | tuple):
            return type(item)(tree(part) for part in item)
        if counts[id(item)] > 1:
            return {"shared": shared.setdefault(id(item), (len(shared), item))[0]}
        return item

    whole = tree(value)
    return whole, [array for _, array in shared.values()]


def from_tree(tree: Any, shared: list[Any]) -> Any:
    """The plain value of a tree; a ValueError if it refers to arrays that are not there."""
    if isinstance(tree, list | tuple):
        return type(tree)(from_tree(part, shared) for part in tree)
    if not isinstance(tree, dict):
        return tree
    if tree.keys() == SHARED:
        i = tree["shared"]
        if type(i) is not int or not 0 <= i < len(shared):
            raise ValueError(f"it refers to the shared array {str(i)[:40]}, which it does not hold")
        return shared[i]
    if tree.keys() == RECORD:
        if not isinstance(tree["class"], str) or not isinstance(tree["of"], dict):
            raise ValueError("an object in it has no class")
        return Record(tree["class"], {name: from_tree(part, shared) for name, part in tree["of"].items()})
    return {name: from_tree(part, shared) for name, part in tree.items()}


def _count(value: Any, counts: Counter[int]) -> None:
    """Count how often each array occurs in a plain value."""
    if isinstance(value, Record):
        value = value.fields
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            _count(item, counts)
    elif hasattr(value, "shape") and (is_sparse(value) or value.ndim > 0):
        counts[id(value)] += 1
