"""Trees of named arrays as `.npz` files, and back: plain arrays, no pickle.

A tree is a dict of numbers, strings, arrays, sparse arrays, lists and further dicts. In the file, each entry is named
by its path in the tree, for example `parts.0.2.mean`. Values that are None are not stored.

The first entry lists the names of all others. The archive has a checksum of each entry but none of its directory, where
one wrong bit in a length can hide all later entries; so a file that lacks a listed entry is refused. Files of early
versions have no list.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from os import PathLike
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo
from zlib import error as ZlibError  # noqa: N812 # it is a class

import numpy as np
from scipy import sparse

from .._xp import is_sparse, to_numpy
from ..errors import damaged_file, expands_too_much

#: The name of the entry that lists the names of all others.
_NAMES = "__names__"
_CSR = ("data", "indices", "indptr", "shape")
#: Without permission, arrays may take this many times the size of their file, or this many bytes if that is more.
_EXPANSION, _SMALL = 4, 64 << 20
#: Trees are at most this deep.
_DEEPEST = 32
#: The errors that damaged archives lead to when they are read; an OSError is a position before the start of the file.
_DAMAGE = (
    BadZipFile,
    ZlibError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


def write_tree(path: str | PathLike[str], tree: dict[str, Any]) -> None:
    """Write a tree to the file `path`."""
    arrays = dict(_entries("", tree))
    listed: dict[str, Any] = {_NAMES: np.asarray(list(arrays))} | arrays
    with open(path, "wb") as file:
        np.savez(file, **listed)


def read_tree(path: str | PathLike[str], max_bytes: int | None = None) -> dict[str, Any]:
    """The tree that `write_tree` wrote: numbers and strings as Python objects, all else as NumPy or CSR arrays.

    A file whose arrays would take more memory than `max_bytes` is refused before they are read. The default is
    `_EXPANSION` times the size of the file, and at least `_SMALL` bytes.
    """
    allowed = max(_SMALL, _EXPANSION * os.path.getsize(path)) if max_bytes is None else max_bytes
    tree: dict[str, Any] = {}
    with open(path, "rb") as opened:
        try:
            with ZipFile(opened) as file:
                needed = sum(_array_bytes(file, entry) for entry in file.infolist())
                if needed > allowed:
                    raise expands_too_much(path, needed, allowed)
            opened.seek(0)
            with np.load(opened, allow_pickle=False) as stored:
                for name in _names(stored):
                    *branches, leaf = name.split(".")
                    if len(branches) > _DEEPEST:
                        raise ValueError(f"{name[:80]} is nested too deeply")
                    node = tree
                    for branch in branches:
                        node = node.setdefault(branch, {})
                    value = stored[name]
                    node[leaf] = value.item() if value.ndim == 0 else value
            return {name: _with_lists(value) for name, value in tree.items()}
        except _DAMAGE as error:
            raise damaged_file(path, error) from error


def _names(stored: Any) -> list[str]:
    """The names of the entries of an archive; an error is raised if they are not those that its list names."""
    names = [name for name in stored.files if name != _NAMES]
    if _NAMES in stored.files:
        listed, found = set(stored[_NAMES].tolist()), set(names)
        if missing := sorted(listed - found):
            raise ValueError(f"{', '.join(missing)} is missing")
        if more := sorted(found - listed):
            raise ValueError(f"it holds {', '.join(more)}, which was not saved with it")
    return names


def _array_bytes(file: ZipFile, entry: ZipInfo) -> int:
    """The memory that one array of the file takes. The size that the array claims to have must be the size that the
    file declares for it, because memory is allocated for the former and bytes are read up to the latter."""
    with file.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        n_bytes = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or n_bytes != entry.file_size - stream.tell():
            raise ValueError(f"{entry.filename} does not hold the array of shape {shape} and dtype {dtype} it claims")
    return n_bytes


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
        csr = sparse.csr_array((node["data"], node["indices"], node["indptr"]), shape=tuple(node["shape"]))
        csr.check_format(full_check=True)
        return csr
    if all(key.isdigit() for key in node):
        return [node[str(i)] for i in range(len(node))]
    return node
