"""Values as JSON that may stand in a script element: arrays as base64, and no character that ends the element."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..blocks import Chart

#: The kinds of arrays that JavaScript has.
_TYPED = frozenset({"f4", "f8", "i1", "i2", "i4", "u1", "u2", "u4"})
#: JSON allows these to be written as escapes within text, and uses them nowhere else.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&"}


def values_json(values: Any) -> str:
    """Values as JSON: arrays of numbers become {"dtype", "bdata", "shape"}, and numbers that are not finite null."""
    return _dumped(_encoded(values, typed=True))


def chart_json(chart: Chart) -> str:
    """The figure of a chart as JSON. Arrays of its layout are short, and Plotly wants them as lists."""
    return _dumped({"data": _encoded(chart.data, typed=True), "layout": _encoded(chart.layout, typed=False)})


def _dumped(values: Any) -> str:
    # Only ASCII is written, so U+2028 and lone surrogates are escapes, too.
    return json.dumps(values, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def _encoded(value: Any, *, typed: bool) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return _array(value) if typed and value.dtype.kind in "fiub" else _encoded(value.tolist(), typed=typed)
    if isinstance(value, Mapping):
        return {str(name): _encoded(entry, typed=typed) for name, entry in value.items()}
    if isinstance(value, list | tuple | range):
        return [_encoded(entry, typed=typed) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _array(array: np.ndarray) -> dict[str, Any]:
    stored = _storable(array)
    return {
        "dtype": stored.dtype.str[1:],
        "bdata": base64.b64encode(np.ascontiguousarray(stored).tobytes()).decode("ascii"),
        "shape": list(array.shape),
    }


def _storable(array: np.ndarray) -> np.ndarray:
    """The array in little-endian order, and in a kind that JavaScript has, the smallest that loses nothing it shows."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        return array.astype("u1")
    if f"{kind}{size}" in _TYPED:
        return array.astype(array.dtype.newbyteorder("<"), copy=False)
    if kind == "f":
        return array.astype("<f4" if size < 4 else "<f8")
    fits = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
    return array.astype("<i4" if fits else "<f8")
