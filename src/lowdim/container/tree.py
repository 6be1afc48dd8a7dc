"""Trees of values and arrays as a document of JSON values and named arrays, and back.

A tree is made of dicts with text as keys, lists, tuples, None, booleans, whole numbers, floats, text, NumPy's scalars,
arrays of numbers of any namespace, NumPy arrays of text, and sparse arrays. In the document, what JSON lacks is an
object with a key that begins with "$":

| value | in the document |
| --- | --- |
| array | `{"$array": name}`; `{"$array": name, "transposed": true}` if the array lies in memory column by column |
| sparse array | `{"$csr": [data, indices, indptr], "shape": [rows, columns]}`, where the three are arrays |
| array of text | `{"$text": [entries], "shape": [...], "dtype": "O" or "U" with a length}` |
| scalar of NumPy | `{"$scalar": name}` of an array without dimensions |
| float that is not finite | `{"$float": "nan"}`, `"inf"` or `"-inf"` |
| tuple | `{"$tuple": [entries]}` |
| dict with a key that begins with "$" | `{"$dict": [[key, value], ...]}` |

Arrays are named by their place in the tree, for example `state.parts.0.mean`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .._xp import is_array, is_sparse, to_numpy
from .headers import Layout, is_shape

_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
#: The most memory that an array of text may take beyond that of its entries, since all its entries have one length.
_MOST_TEXT = 64 << 20


def flatten(tree: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """A tree as a document and its arrays. Arrays of devices are copied to the host, others are not copied."""
    arrays: dict[str, np.ndarray] = {}
    return _flat(tree, "", arrays), arrays


def rebuild(document: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The tree that `flatten` turned into this document and these arrays. A ValueError is raised if the document is not
    one of `flatten`, or does not use each array exactly once."""
    return _Rebuilding(arrays, _csr).whole(document)


def declared(document: Any, layout: Layout) -> Any:
    """The tree of `rebuild` before the arrays are read: arrays of ones that have the declared shapes and dtypes and
    take no memory, and sparse arrays without entries."""
    ones = {name: np.broadcast_to(np.ones((), dtype), shape) for name, (shape, dtype) in layout.items()}
    return _Rebuilding(ones, lambda data, indices, indptr, shape: sparse.csr_array(shape, dtype=data.dtype)).whole(
        document
    )


def _flat(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    """A value as it stands in the document; the arrays in it are added to `arrays`."""
    # Types are compared exactly: an object of a class derived from these would come back as one of another class.
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is list:
        return [_flat(item, f"{place}.{i}", arrays) for i, item in enumerate(value)]
    if kind is tuple:
        return {"$tuple": _flat(list(value), place, arrays)}
    if kind is dict:
        return _flat_dict(value, place, arrays)
    if isinstance(value, np.number | np.bool):
        return {"$scalar": _named(np.asarray(value), place, arrays)}
    if is_sparse(value):
        csr = sparse.csr_array(value)
        parts = {name: getattr(csr, name) for name in ("data", "indices", "indptr")}
        flat = [_flat(part, f"{place}.{name}", arrays) for name, part in parts.items()]
        return {"$csr": flat, "shape": [int(n) for n in csr.shape]}
    if is_array(value):
        return _flat_array(to_numpy(value), place, arrays)
    raise TypeError(f"{place[1:] or 'the value'} is a {type(value).__name__}, which cannot be stored.")


def _flat_dict(value: dict[Any, Any], place: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    if not all(isinstance(key, str) for key in value):
        raise TypeError(f"{place[1:] or 'the value'} is a dict with keys that are not text, which cannot be stored.")
    flat = {key: _flat(item, f"{place}.{key}", arrays) for key, item in value.items()}
    return {"$dict": [list(pair) for pair in flat.items()]} if any(key.startswith("$") for key in flat) else flat


def _flat_array(value: np.ndarray, place: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    if value.dtype.kind in "OU":
        entries = value.ravel().tolist()
        if not all(isinstance(entry, str) for entry in entries):
            raise TypeError(
                f"{place[1:] or 'the value'} is an array of objects that are not text, which cannot be stored."
            )
        dtype = "O" if value.dtype.kind == "O" else f"U{value.dtype.itemsize // 4}"
        return {"$text": [str(entry) for entry in entries], "shape": list(value.shape), "dtype": dtype}
    if value.flags.f_contiguous and not value.flags.c_contiguous:
        return {"$array": _named(value.T, place, arrays), "transposed": True}
    return {"$array": _named(value, place, arrays)}


def _named(array: np.ndarray, place: str, arrays: dict[str, np.ndarray]) -> str:
    """The name of an array, after it was added to `arrays`. Different places can look the same if keys have dots."""
    name = base = place[1:] or "array"
    number = 1
    while name in arrays:
        number += 1
        name = f"{base}~{number}"
    arrays[name] = array
    return name


class _Rebuilding:
    """The way from a document and its arrays to the tree."""

    def __init__(self, arrays: dict[str, np.ndarray], csr: Callable[..., Any]) -> None:
        self._arrays = dict(arrays)
        self._csr = csr

    def whole(self, document: Any) -> Any:
        """The tree of the whole document, which must use all arrays."""
        tree = self._value(document)
        if self._arrays:
            raise ValueError(f"its document does not mention the array {next(iter(self._arrays))[:80]!r}")
        return tree

    def _value(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._value(item) for item in node]
        if not isinstance(node, dict):
            return node
        special = [key for key in node if key.startswith("$")]
        if not special:
            return {key: self._value(item) for key, item in node.items()}
        form, further = _FORMS.get(special[0], (None, frozenset()))
        if form is None or len(special) > 1 or not node.keys() - {special[0]} <= further:
            raise ValueError(f"its document has an object with the keys {', '.join(map(repr, node))[:80]}")
        return form(self, node[special[0]], node)

    def _array(self, name: Any, node: dict[str, Any]) -> np.ndarray:
        if not isinstance(name, str) or name not in self._arrays:
            raise ValueError(f"its document mentions the array {str(name)[:80]!r}, which the file lacks, or twice")
        array = self._arrays.pop(name)
        if node.get("transposed", True) is not True:
            raise ValueError("an array can only be transposed or not")
        return array.T if "transposed" in node else array

    def _scalar(self, name: Any, node: dict[str, Any]) -> Any:
        array = self._array(name, {})
        if array.ndim:
            raise ValueError(f"{name[:80]!r} has {array.ndim} dimensions, and must be a number")
        return array[()]

    def _float(self, name: Any, node: dict[str, Any]) -> float:
        if not isinstance(name, str) or name not in _NOT_FINITE:
            raise ValueError(f"a float is {str(name)[:80]!r}, and must be one of {', '.join(_NOT_FINITE)}")
        return _NOT_FINITE[name]

    def _tuple(self, items: Any, node: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self._value(_list(items)))

    def _dict(self, pairs: Any, node: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for pair in _list(pairs):
            if len(_list(pair)) != 2 or not isinstance(pair[0], str) or pair[0] in found:
                raise ValueError("a dict must be a list of pairs of different keys and their values")
            found[pair[0]] = self._value(pair[1])
        return found

    def _sparse(self, parts: Any, node: dict[str, Any]) -> Any:
        shape = _shape(node)
        found = [self._value(part) for part in _list(parts)]
        if len(found) != 3 or len(shape) != 2 or not all(isinstance(part, np.ndarray) for part in found):
            raise ValueError("a sparse array must have two lengths, and data, indices and indptr")
        data, indices, indptr = found
        # Before an array of this shape is made: its memory is that of indptr.
        if indptr.shape != (shape[0] + 1,) or data.ndim != 1 or data.shape != indices.shape:
            raise ValueError(f"the parts of a sparse array have other lengths than its shape {shape} asks for")
        if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
            raise ValueError("the indices of a sparse array must be whole numbers")
        return self._csr(data, indices, indptr, tuple(shape))

    def _text(self, entries: Any, node: dict[str, Any]) -> np.ndarray:
        shape, dtype = _shape(node), node.get("dtype")
        if not all(isinstance(entry, str) for entry in _list(entries)) or math.prod(shape) != len(entries):
            raise ValueError(f"an array of text must have the {math.prod(shape)} entries that its shape asks for")
        if not isinstance(dtype, str) or not re.fullmatch(r"O|U[0-9]{1,9}", dtype):
            raise ValueError(f"an array of text has the dtype {str(dtype)[:80]!r}")
        longest = max(map(len, entries), default=0)
        if dtype != "O":
            if int(dtype[1:]) < longest:
                raise ValueError(f"an array of text has the dtype {dtype} and an entry of {longest} characters")
            if 4 * int(dtype[1:]) * len(entries) > _MOST_TEXT + 4 * sum(map(len, entries)):
                raise ValueError("an array of text takes much more memory than its entries")
        text = np.empty(len(entries), dtype=dtype)
        text[:] = entries
        return text.reshape(shape)


#: How each special object is read, and which further keys it may have.
_FORMS: dict[str, tuple[Callable[..., Any], frozenset[str]]] = {
    "$array": (_Rebuilding._array, frozenset({"transposed"})),
    "$scalar": (_Rebuilding._scalar, frozenset()),
    "$float": (_Rebuilding._float, frozenset()),
    "$tuple": (_Rebuilding._tuple, frozenset()),
    "$dict": (_Rebuilding._dict, frozenset()),
    "$csr": (_Rebuilding._sparse, frozenset({"shape"})),
    "$text": (_Rebuilding._text, frozenset({"shape", "dtype"})),
}


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{str(value)[:80]!r} must be a list")
    return value


def _shape(node: dict[str, Any]) -> list[int]:
    """The shape that an object of the document declares."""
    shape = _list(node.get("shape"))
    if not is_shape(shape):
        raise ValueError("a shape must be a list of a few whole numbers")
    return shape


def _csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: Any) -> Any:
    """A sparse array of checked parts."""
    csr = sparse.csr_array((data, indices, indptr), shape=shape)
    csr.check_format(full_check=True)
    # SciPy has taken the smallest dtype for the indices; they keep theirs.
    csr.indices, csr.indptr = indices, indptr
    return csr
