"""Trees of named arrays as `.npz` files, and back: plain arrays, no pickle.

A tree is a dict of numbers, strings, arrays, sparse arrays, lists and further dicts. In the file, each entry is named
by its path in the tree, for example `parts.0.2.mean`. Values that are None are not stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from .._xp import is_sparse, to_numpy

_CSR = ("data", "indices", "indptr", "shape")


def write_tree(path: str | PathLike[str], tree: dict[str, Any]) -> None:
    """Write a tree to the file `path`."""
    arrays: dict[str, Any] = dict(_entries("", tree))
    with open(path, "wb") as file:
        np.savez(file, **arrays)


def read_tree(path: str | PathLike[str]) -> dict[str, Any]:
    """The tree that `write_tree` wrote: numbers and strings as Python objects, all else as NumPy or CSR arrays."""
    tree: dict[str, Any] = {}
    with np.load(path, allow_pickle=False) as stored:
        for name, value in stored.items():
            *branches, leaf = name.split(".")
            node = tree
            for branch in branches:
                node = node.setdefault(branch, {})
            node[leaf] = value.item() if value.ndim == 0 else value
    return {name: _with_lists(value) for name, value in tree.items()}


def _entries(name: str, value: Any) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays below `value`, each with its path."""
    if value is None:
        return
    if is_sparse(value):
        csr = sparse.csr_array(value)
        value = {part: getattr(csr, part) for part in _CSR}
    if isinstance(value, list):
        value = {str(i): item for i, item in enumerate(value)}
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _entries(f"{name}.{key}" if name else key, item)
    else:
        yield name, to_numpy(value)


def _with_lists(value: Any) -> Any:
    """A node of a tree, with dicts of numbered entries turned into lists and dicts of CSR parts into CSR arrays."""
    if not isinstance(value, dict):
        return value
    node = {key: _with_lists(item) for key, item in value.items()}
    if set(node) == set(_CSR):
        return sparse.csr_array((node["data"], node["indices"], node["indptr"]), shape=tuple(node["shape"]))
    if all(key.isdigit() for key in node):
        return [node[str(i)] for i in range(len(node))]
    return node
