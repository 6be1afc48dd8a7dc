"""One file for a document of JSON values and for named arrays: safetensors, checked before anything is allocated."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Callable, Mapping
from io import BufferedReader, BytesIO
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import damaged_file, file_exceeds_memory, foreign_file
from . import __version__
from .arrays import is_array, is_sparse, to_numpy
from .paths import local_path, moved_when_whole, require_free
from .threads import free_bytes

#: The header of every file begins like this. The 64 digits of its checksum follow.
BEGIN = b'{"__metadata__":{"sha256":"'
#: The length of the checksum, and what stands in its place while it is computed.
DIGITS = 64
NO_CHECKSUM = b"0" * DIGITS
#: The name of the format, and its version: files of a larger first number cannot be read, files of a larger second
#: number may hold entries that this version does not know.
NAME = "lowdim"
VERSION = (1, 0)
#: The entries of a document that `write` adds: the name and the version of the format, and the version of lowdim.
ADDED = ("format", "version", "lowdim")
#: The longest header, the limit that other readers of safetensors have too.
LONGEST_HEADER = 100_000_000

#: The dtypes by their names in the header: floats, and integers with and without a sign, by the number of their bits.
_SIZES = {"F": (8, 4, 2), "I": (8, 4, 2, 1), "U": (8, 4, 2, 1)}
DTYPES = {f"{kind}{8 * n}": np.dtype(f"<{kind.lower()}{n}") for kind, sizes in _SIZES.items() for n in sizes}
DTYPES["BOOL"] = np.dtype("?")
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def parse_version(text: Any) -> tuple[int, int]:
    """The two numbers of a version such as "1.0"."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,6}\.[0-9]{1,6}", text):
        raise ValueError("it does not say of which version its format is")
    major, minor = text.split(".")
    return int(major), int(minor)


def is_newer(document: dict[str, Any]) -> bool:
    """Whether the file of a document was written in a newer version of the format, which may hold more."""
    return parse_version(document["version"]) > VERSION


#: How files of other kinds begin, and what is said of them; the first pattern that fits decides.
_APPEARANCES = {
    rb"\Z": "an empty file",
    rb".{5}\x00{3}\{": "a safetensors file of another program, or its first bytes are damaged",
    rb"\x80[\x02-\x0f]|ccopy_reg\n|\(dp[0-9]|\(lp[0-9]": (
        "a pickle; lowdim opens none, because a pickle can run any program when it is opened"
    ),
    rb"PK\x03\x04": "a zip archive, for example an .npz file",
    rb"\x93NUMPY": "an .npy file of one array; numpy.load reads it",
    rb"\x1f\x8b": "a file that gzip compressed",
    rb"x\x9c": "a file that zlib compressed, for example by joblib",
    rb"PAR1": "a Parquet file",
    rb"ARROW1": "an Arrow file",
    rb"\x89HDF\r\n\x1a\n": "an HDF5 file",
    rb"[^\x00-\x08\x0e-\x1f\x7f]*\Z": "a text",
    rb"": "a file of another kind, or its first bytes are damaged",
}


# JSON from files that nobody vouches for: depth and memory are bounded before anything is parsed.


#: Values are nested at most this deeply.
_DEEPEST = 64
#: About how many bytes Python takes for what each of these characters stands for.
_COSTS = {"{": 256, "[": 96, ",": 64, ":": 100}


def parse(text: bytes, allowed: int) -> Any:
    """The value of a JSON text. A ValueError is raised if it is not JSON, if a key occurs twice in an object, if a
    number is not finite or if values are nested too deeply; a MemoryError if its values would take more than `allowed`
    bytes."""
    # The characters that are not inside of strings: an odd number of quotes precedes what is inside. 256 is even, so 8
    # bits are enough to count them.
    structure = np.frombuffer(text.replace(b"\\\\", b"").replace(b'\\"', b""), dtype=np.uint8)
    structure = structure[np.cumsum(structure == ord('"'), dtype=np.uint8) % 2 == 0]
    counts = {character: int(np.count_nonzero(structure == ord(character))) for character in _COSTS}
    needed = 2 * len(text) + sum(cost * counts[character] for character, cost in _COSTS.items())
    if needed > allowed:
        raise MemoryError(f"the values of its header would take about {needed} bytes, and {allowed} are allowed")
    if counts["["] + counts["{"] > _DEEPEST:
        brackets = structure[np.isin(structure, np.frombuffer(b"[]{}", dtype=np.uint8))]
        opening = (brackets == ord("[")) | (brackets == ord("{"))
        if np.cumsum(2 * opening.astype(np.int8) - 1, dtype=np.int32).max() > _DEEPEST:
            raise ValueError(f"values are nested more than {_DEEPEST} deep")
    del structure
    return json.loads(
        text.decode(), object_pairs_hook=_without_duplicates, parse_constant=_no_constant, parse_float=_finite
    )


def dump(value: Any) -> str:
    """The JSON text of a value, in ASCII. Python writes as many digits of a float as are needed to read it back."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The dict of these pairs; a key that occurs twice is an error."""
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise ValueError(f"the key {twice[:80]!r} occurs twice")
    return found


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:80]} is out of range")
    return number


# The header of a file: the document in it, and the layout of the arrays, which must account for all bytes.


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


# Reading a document and its arrays, from a file that nobody vouches for.
#
# The order is: what kind of file it is; the length of the header; the header, which must account for every byte of the
# file; the document; the check of the caller; the arrays, which together are as large as the file says and is; and the
# checksum of all bytes.


Check = Callable[[dict[str, Any], Layout], None]

#: Bytes that are read, and added to the checksum, at a time.
_CHUNK = 1 << 20


def read(path: str | PathLike[str], check: Check | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of the file `path`.

    `check(document, layout)` is called before an array is read, with the shape and the dtype of each of them. Errors
    that it raises are passed on. A file that is damaged, of another kind or of a newer major version is refused with a
    ValueError; a MemoryError is raised if its arrays do not fit into memory. The memory taken is that of the arrays,
    which are as large as the file, and a small multiple of the header.
    """
    with _opened(path) as file:
        return _read_from(path, file, check)


def from_bytes(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of what `to_bytes` made, checked as those of a file."""
    return _read_from("a message", BytesIO(data), None)


def _read_from(path: Any, file: Any, check: Check | None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of an open file."""
    text, document, layout = _header(path, file)
    if check is not None:
        check(document, layout)
    needed = sum(dtype.itemsize * math.prod(shape) for shape, dtype in layout.values())
    free = free_bytes()
    if needed > free > 0:
        raise file_exceeds_memory(path, needed, free)
    place = len(BEGIN)
    checksum = hashlib.sha256(len(text).to_bytes(8, "little") + text[:place] + NO_CHECKSUM)
    checksum.update(text[place + DIGITS :])
    try:
        arrays = {name: _array(file, *layout[name], checksum) for name in layout}
        if checksum.hexdigest().encode() != text[place : place + DIGITS]:
            raise ValueError("its checksum does not fit its content")
        for name, array in arrays.items():
            if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
                raise ValueError(f"{name} has entries that are neither true nor false")
    except MemoryError as error:
        # There may be a limit for this process.
        raise file_exceeds_memory(path, needed, None) from error
    except ValueError as error:
        raise damaged_file(path, error) from error

    return document, arrays


def header(path: str | PathLike[str]) -> dict[str, Any]:
    """The document of the file `path`. No array is read, and so the checksum is not compared."""
    with _opened(path) as file:
        return _header(path, file)[1]


def looks_written(path: str | PathLike[str]) -> bool:
    """Whether a regular file begins as those do that `write` makes."""
    with _opened(path) as file:
        return file.read(8 + len(BEGIN))[8:] == BEGIN


def _opened(path: str | PathLike[str]) -> BufferedReader:
    """The file, opened for reading. What is not a regular file is refused: opening a pipe would wait for its writer."""
    path = local_path(path)
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise foreign_file(path, "a directory" if stat.S_ISDIR(mode) else "a device, a socket or a pipe")
    return open(path, "rb")


def _header(path: Any, file: Any) -> tuple[bytes, dict[str, Any], Layout]:
    """The bytes of the header, the document in it, and the layout of the arrays."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(512)
    if not start[8:].startswith(BEGIN):
        raise foreign_file(
            path, next(what for how, what in _APPEARANCES.items() if re.match(how, start, flags=re.DOTALL))
        )
    length = int.from_bytes(start[:8], "little")
    try:
        if length > min(size - 8, LONGEST_HEADER):
            raise ValueError(f"its header has {length} bytes, which is more than the file or more than is allowed")
        file.seek(8)
        text = file.read(length)
        if len(text) < length:
            raise ValueError("it ends too early")
        document, entries = split_header(text, size)
        newer = parse_version(document["version"])[0] > VERSION[0]
        layout = {} if newer else layout_of(entries, size - 8 - length)
    except MemoryError as error:
        raise MemoryError(f"{path} cannot be read: {error}.") from error
    except ValueError as error:
        raise damaged_file(path, error) from error
    if newer:
        raise ValueError(
            f"{path} was written by lowdim {document['lowdim'][:40]}, in version {document['version']} of the format, "
            "which this version of lowdim cannot read. Install the version of lowdim that wrote it, or a newer one."
        )
    return text, document, layout


def _array(file: Any, shape: tuple[int, ...], dtype: np.dtype, checksum: Any) -> np.ndarray:
    """The next array of a file; its bytes are added to the checksum."""
    array = np.empty(shape, dtype)
    left = array.reshape(-1).view(np.uint8).data
    while left:
        n_bytes = file.readinto(left[:_CHUNK])
        if not n_bytes:
            raise ValueError("it ends too early")
        checksum.update(left[:n_bytes])
        left = left[n_bytes:]
    return array


# Writing a document and its arrays.


def write(path: str | PathLike[str], document: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a document of JSON values and named arrays to the file `path`.

    The name and version of the format and the version of lowdim are added to the document. The file appears under its
    name when it is whole; one of that name is replaced then. The arrays are written as they are, in one pass; memory is
    needed for those that are not contiguous. What could not be read again is not written, and a ValueError is raised.
    """
    header, ordered = _prepared(path, document, arrays)
    path = local_path(path)
    require_free(path, overwrite=True)
    try:
        with moved_when_whole(path) as unfinished, open(unfinished, "wb") as file:
            _write_to(file, header, ordered)
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, f"cannot save {str(path)!r}: {error.strerror}") from error


def to_bytes(document: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of the file that `write` would make, to be sent to another process."""
    file = BytesIO()
    _write_to(file, *_prepared("a message", document, arrays))
    return file.getvalue()


def _prepared(
    path: Any, document: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[bytes, dict[str, np.ndarray]]:
    """The header, with zeros in the place of the checksum, and the arrays in the order in which they are written.

    Blanks at the end of the header let the arrays begin at a multiple of 8 bytes; those with the largest numbers come
    first, so that each is aligned.
    """
    if reserved := [name for name in ADDED if name in document]:
        raise ValueError(f"the document must not have the entries {reserved}, which are added to it.")
    if "__metadata__" in arrays:
        raise ValueError("no array can have the name __metadata__.")
    added = {"format": NAME, "version": f"{VERSION[0]}.{VERSION[1]}", "lowdim": __version__}
    metadata = {"sha256": NO_CHECKSUM.decode(), "document": dump({**added, **document})}
    entries: dict[str, Any] = {"__metadata__": metadata}
    ordered: dict[str, np.ndarray] = {}
    end = 0
    for name in sorted(arrays, key=lambda name: -arrays[name].itemsize):
        little = arrays[name].dtype.newbyteorder("<")
        if little not in DTYPE_NAMES:
            raise TypeError(f"{name} has dtype {arrays[name].dtype}, which cannot be stored; {', '.join(DTYPES)} can.")
        # In the order of C. `ascontiguousarray` would give an array without dimensions one.
        array = ordered[name] = np.asarray(arrays[name], dtype=little, order="C")
        begin, end = end, end + array.nbytes
        entries[name] = {"dtype": DTYPE_NAMES[little], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = dump(entries).encode()
    header = text + b" " * (-len(text) % 8)
    if len(header) > LONGEST_HEADER:
        raise ValueError(
            f"the header of the file would have {len(header)} bytes, and {LONGEST_HEADER} are allowed: there are too "
            "many names, or too many values that are not arrays."
        )
    try:
        split_header(header, 8 + len(header) + end)
    except (MemoryError, ValueError) as error:
        raise ValueError(f"{path} was not written, because it could not be loaded again: {error}.") from error
    return header, ordered


def _write_to(file: Any, header: bytes, ordered: dict[str, np.ndarray]) -> None:
    """Write the header and the arrays, and then the checksum into its place."""
    checksum = hashlib.sha256()
    for part in (len(header).to_bytes(8, "little"), header, *map(_bytes, ordered.values())):
        checksum.update(part)
        file.write(part)
    file.seek(8 + len(BEGIN))
    file.write(checksum.hexdigest().encode())


def _bytes(array: np.ndarray) -> Any:
    """The bytes of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


# Trees of values and arrays as a document of JSON values and named arrays, and back.
#
# A tree is made of dicts with text as keys, lists, tuples, None, booleans, whole numbers, floats, text, NumPy's
# scalars,
# arrays of numbers of any namespace, NumPy arrays of text, and sparse arrays. In the document, what JSON lacks is an
# object with a key that begins with "$":
#
# | value | in the document |
# | --- | --- |
# | array | `{"$array": name}`; `{"$array": name, "transposed": true}` if the array lies in memory column by column |
# | sparse array | `{"$csr": [data, indices, indptr], "shape": [rows, columns]}`, where the three are arrays |
# | array of text | `{"$text": [entries], "shape": [...], "dtype": "O" or "U" with a length}` |
# | scalar of NumPy | `{"$scalar": name}` of an array without dimensions |
# | float that is not finite | `{"$float": "nan"}`, `"inf"` or `"-inf"` |
# | tuple | `{"$tuple": [entries]}` |
# | dict with a key that begins with "$" | `{"$dict": [[key, value], ...]}` |
#
# Arrays are named by their place in the tree, for example `state.parts.0.mean`.


_NOT_FINITE = ("nan", "inf", "-inf")
#: The objects that stand for what JSON lacks, and which further keys each may have.
_FORMS: dict[str, set[str]] = {
    "$array": {"transposed"},
    "$csr": {"shape"},
    "$text": {"shape", "dtype"},
    "$scalar": set(),
    "$float": set(),
    "$tuple": set(),
    "$dict": set(),
}
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
    rebuilding = _Rebuilding(ones, lambda data, indices, indptr, shape: sparse.csr_array(shape, dtype=data.dtype))
    return rebuilding.whole(document)


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
    whole = place[1:] or "the value"
    if kind is dict:
        if not all(isinstance(key, str) for key in value):
            raise TypeError(f"{whole} is a dict with keys that are not text, which cannot be stored.")
        flat = {key: _flat(item, f"{place}.{key}", arrays) for key, item in value.items()}
        return {"$dict": [list(pair) for pair in flat.items()]} if any(key.startswith("$") for key in flat) else flat
    if isinstance(value, np.number | np.bool):
        return {"$scalar": _named(np.asarray(value), place, arrays)}
    if is_sparse(value):
        csr = sparse.csr_array(value)
        parts = [_flat(getattr(csr, name), f"{place}.{name}", arrays) for name in ("data", "indices", "indptr")]
        return {"$csr": parts, "shape": [int(n) for n in csr.shape]}
    if not is_array(value):
        raise TypeError(f"{whole} is a {type(value).__name__}, which cannot be stored.")
    value = to_numpy(value)
    if value.dtype.kind in "OU":
        entries = value.ravel().tolist()
        if not all(isinstance(entry, str) for entry in entries):
            raise TypeError(f"{whole} is an array of objects that are not text, which cannot be stored.")
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
        form, content = special[0], node[special[0]]
        if form not in _FORMS or len(special) > 1 or not node.keys() - {form} <= _FORMS[form]:
            raise ValueError(f"its document has an object with the keys {', '.join(map(repr, node))[:80]}")
        if form == "$array":
            array = self._array(content)
            if node.get("transposed", True) is not True:
                raise ValueError("an array can only be transposed or not")
            return array.T if "transposed" in node else array
        if form == "$scalar":
            array = self._array(content)
            if array.ndim:
                raise ValueError(f"{content[:80]!r} has {array.ndim} dimensions, and must be a number")
            return array[()]
        if form == "$float":
            if not isinstance(content, str) or content not in _NOT_FINITE:
                raise ValueError(f"a float is {str(content)[:80]!r}, and must be one of {', '.join(_NOT_FINITE)}")
            return float(content)
        if form == "$tuple":
            return tuple(self._value(_list(content)))
        if form == "$dict":
            found: dict[str, Any] = {}
            for pair in _list(content):
                if len(_list(pair)) != 2 or not isinstance(pair[0], str) or pair[0] in found:
                    raise ValueError("a dict must be a list of pairs of different keys and their values")
                found[pair[0]] = self._value(pair[1])
            return found
        return self._sparse(content, node) if form == "$csr" else _text(content, node)

    def _array(self, name: Any) -> np.ndarray:
        if not isinstance(name, str) or name not in self._arrays:
            raise ValueError(f"its document mentions the array {str(name)[:80]!r}, which the file lacks, or twice")
        return self._arrays.pop(name)

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


def _text(entries: Any, node: dict[str, Any]) -> np.ndarray:
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
