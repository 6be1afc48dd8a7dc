"""The header of a file: the document in it, and the layout of the arrays, which must account for all bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .format import ADDED, DTYPES, NAME, parse_version
from .json_text import parse

#: The shape and the dtype of each array.
Layout = dict[str, tuple[tuple[int, ...], np.dtype]]

_MOST_DIMENSIONS = 32
#: The values of the header may take this many times the size of the file, or this many bytes if that is more.
_EXPANSION, _LITTLE = 4, 16 << 20


def split_header(text: bytes, size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document of the header of a file of `size` bytes, and its entries that describe arrays."""
    allowed = max(_LITTLE, _EXPANSION * size)
    entries = parse(text, allowed)
    metadata = entries.pop("__metadata__")
    stored = metadata.get("document")
    if not isinstance(stored, str):
        raise ValueError("its header has no document")
    document = parse(stored.encode(), allowed)
    if not isinstance(document, dict) or document.get("format") != NAME:
        raise ValueError("its document does not say that lowdim wrote it")
    if not all(isinstance(document.get(name), str) for name in ADDED):
        raise ValueError("its document does not say which version wrote it")
    parse_version(document["version"])
    return document, entries


def layout_of(entries: dict[str, Any], n_bytes: int) -> Layout:
    """The shapes and dtypes that the entries of a header declare. Their arrays must lie one after the other, and fill
    the `n_bytes` bytes behind the header."""
    layout: Layout = {}
    end = 0
    for name, entry in entries.items():
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise ValueError(f"{name[:80]!r} is not described by dtype, shape and data_offsets")
        shape, offsets, dtype = entry["shape"], entry["data_offsets"], entry["dtype"]
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise ValueError(
                f"{name[:80]!r} has the dtype {str(dtype)[:80]!r}, and must have one of {', '.join(DTYPES)}"
            )
        if not is_shape(shape) or not is_shape(offsets) or len(offsets) != 2:
            raise ValueError(f"the shape and the place of {name[:80]!r} must be lists of a few whole numbers")
        size = math.prod(shape) * DTYPES[dtype].itemsize
        if offsets != [end, end + size]:
            raise ValueError(
                f"{name[:80]!r} has the shape {shape}, so it must take {size} bytes from byte {end} on, and its place "
                f"is {offsets}"
            )
        end += size
        layout[name] = tuple(shape), DTYPES[dtype]
    if end != n_bytes:
        raise ValueError(f"its arrays take {end} bytes, but {n_bytes} bytes follow the header")
    return layout


def is_shape(values: Any) -> bool:
    """Whether these are a few numbers that are not negative and have 63 bits at most, as those of a shape."""
    few = isinstance(values, list) and len(values) <= _MOST_DIMENSIONS
    return few and all(type(value) is int and 0 <= value < 2**63 for value in values)
