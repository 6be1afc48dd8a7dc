"""Objects with their arrays somewhere else: summaries, functions of rows and fitted models on another device.

The arrays of an object are found by going through its attributes, the items of lists and dictionaries, and what
functions have taken from where they were defined. Only objects of lowdim's own classes are gone through. What holds no
array stays the same object, and nothing is changed in place.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from ._xp import Array, asarray_like, device, dtype_like, is_array, namespace, numpy_dtype, to_device, to_host, to_numpy

#: Arrays of at most so many numbers are moved together.
_SMALL = 1 << 18


def placed_like(value: Any, like: Array, kinds: str = "f") -> Any:
    """`value` with its arrays of floating-point numbers, or of these kinds of dtypes, on the device of `like`, and with
    the functions of its library in place of NumPy's. Other arrays, such as indices and names, are used by the host."""

    def move(array: Array) -> Array:
        return asarray_like(array, like) if isinstance(array, np.ndarray) and array.dtype.kind in kinds else array

    placing = _Placing(move, lambda dtype: dtype_like(dtype, like), namespace(like))
    if not isinstance(like, np.ndarray):
        some = [x for x in _small_arrays(value) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
        placing.know(some, to_device(some, like))
    return placing.of(value)


def placed_on_host(value: Any) -> Any:
    """`value` with NumPy arrays in place of all other arrays."""
    placing = _Placing(to_numpy, numpy_dtype, np)
    alike: dict[Any, list[Array]] = {}
    for x in _small_arrays(value):
        if not isinstance(x, np.ndarray):
            alike.setdefault((type(x), str(device(x)), str(x.dtype)), []).append(x)
    for arrays in alike.values():
        placing.know(arrays, to_host(arrays))
    return placing.of(value)


def _small_arrays(value: Any, depth: int = 2) -> list[Array]:
    """Small arrays among the items or attributes of an object, and of objects of lowdim's classes among these: they
    are moved together, since a device takes as long to begin a copy as to copy thousands of numbers."""
    found: dict[int, Array] = {}
    for item in (value if isinstance(value, dict) else getattr(value, "__dict__", {})).values():
        if is_array(item):
            if math.prod(item.shape) <= _SMALL:
                found[id(item)] = item
        elif depth > 1 and _is_own(item):
            found |= {id(x): x for x in _small_arrays(item, depth - 1)}
    return list(found.values())


def _is_own(value: Any) -> bool:
    """Whether `value` is an object of one of lowdim's classes, with attributes."""
    return type(value).__module__.partition(".")[0] == "lowdim" and hasattr(value, "__dict__")


class _Placing:
    """One object being moved; what occurs several times in it is moved once."""

    def __init__(self, move: Callable[[Array], Array], dtype: Callable[[Any], Any], xp: Any) -> None:
        self._move, self._dtype, self._xp = move, dtype, xp
        #: What became of each object, by its identity; the object is kept so that its identity is not used again.
        self._done: dict[int, tuple[Any, Any]] = {}

    def know(self, arrays: list[Array], moved: list[Array]) -> None:
        """Take note that these arrays have been moved."""
        self._done |= {id(x): (x, there) for x, there in zip(arrays, moved, strict=True)}

    def of(self, value: Any) -> Any:
        """`value`, with its arrays moved."""
        if value is None or isinstance(value, str | bytes | int | float):
            return value
        known = self._done.get(id(value))
        if known is None:
            # An object inside of itself is left as it is there.
            self._done[id(value)] = value, value
            known = self._done[id(value)] = value, self._moved(value)
        return known[1]

    def _moved(self, value: Any) -> Any:
        if value is np:
            return self._xp
        if is_float_dtype(value):
            return self._dtype(value)
        if is_array(value):
            return self._move(value)
        if isinstance(value, dict):
            items = {key: self.of(item) for key, item in value.items()}
            return value if _same(items.values(), value.values()) else items
        if isinstance(value, list | tuple):
            moved = [self.of(item) for item in value]
            if _same(moved, value):
                return value
            return type(value)(*moved) if hasattr(value, "_fields") else type(value)(moved)
        if isinstance(value, partial):
            return partial(self.of(value.func), *self.of(value.args), **self.of(value.keywords))
        if isinstance(value, MethodType):
            return MethodType(value.__func__, self.of(value.__self__))
        if isinstance(value, FunctionType):
            return self._function(value)
        if _is_own(value):
            return self._object(value)
        return value

    def _function(self, function: FunctionType) -> FunctionType:
        """A function with the values moved that it has taken from where it was defined."""
        cells = function.__closure__ or ()
        contents = [self.of(cell.cell_contents) for cell in cells]
        if _same(contents, [cell.cell_contents for cell in cells]):
            return function
        closure = tuple(map(CellType, contents))
        moved = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, closure)
        moved.__kwdefaults__, moved.__dict__ = function.__kwdefaults__, dict(function.__dict__)
        return moved

    def _object(self, value: Any) -> Any:
        attributes = {name: self.of(item) for name, item in vars(value).items()}
        if _same(attributes.values(), vars(value).values()):
            return value
        moved = copy.copy(value)
        moved.__dict__.update(attributes)
        return moved


def is_float_dtype(value: Any) -> bool:
    """Whether `value` is float32 or float64 of an array library, all of which print them so."""
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value).kind == "f"
    return "dtype" in type(value).__name__.lower() and str(value).rpartition(".")[2] in ("float32", "float64")


def _same(first: Any, second: Any) -> bool:
    """Whether both hold the same objects."""
    return all(a is b for a, b in zip(first, second, strict=True))
