"""Reading a document and its arrays, from a file that nobody vouches for.

The order is: what kind of file it is; the length of the header; the header, which must account for every byte of the
file; the document; the check of the caller; the arrays, which together are as large as the file says and is; and the
checksum of all bytes.
"""

from __future__ import annotations

import hashlib
import math
import os
import stat
from collections.abc import Callable
from io import BufferedReader, BytesIO
from os import PathLike
from typing import Any

import numpy as np

from .._memory import free_bytes
from .._paths import local_path
from ..errors import damaged_file, file_exceeds_memory, foreign_file, newer_file
from .foreign import appearance
from .format import BEGIN, DIGITS, LONGEST_HEADER, NO_CHECKSUM, VERSION, parse_version
from .headers import Layout, layout_of, split_header

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


def from_bytes(data: bytes, check: Check | None = None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of what `to_bytes` made, checked as those of a file."""
    return _read_from("a message", BytesIO(data), check)


def _read_from(path: Any, file: Any, check: Check | None) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays of an open file."""
    text, document, layout = _header(path, file)
    if check is not None:
        check(document, layout)
    needed = sum(dtype.itemsize * math.prod(shape) for shape, dtype in layout.values())
    free = free_bytes()
    if needed > free > 0:
        raise file_exceeds_memory(path, needed, free)
    checksum = hashlib.sha256(len(text).to_bytes(8, "little"))
    place = len(BEGIN)
    checksum.update(text[:place] + NO_CHECKSUM)
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
        raise foreign_file(path, appearance(start))
    length = int.from_bytes(start[:8], "little")
    try:
        if length > min(size - 8, LONGEST_HEADER):
            raise ValueError(f"its header has {length} bytes, which is more than the file or more than is allowed")
        file.seek(8)
        text = _exactly(file, length)
        document, entries = split_header(text, size)
        newer = parse_version(document["version"])[0] > VERSION[0]
        layout = {} if newer else layout_of(entries, size - 8 - length)
    except MemoryError as error:
        raise MemoryError(f"{path} cannot be read: {error}.") from error
    except ValueError as error:
        raise damaged_file(path, error) from error
    if newer:
        raise newer_file(path, document["version"], document["lowdim"])
    return text, document, layout


def _exactly(file: Any, length: int) -> bytes:
    """The next bytes of a file, of which there must be so many."""
    found = file.read(length)
    if len(found) < length:
        raise ValueError("it ends too early")
    return found


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
