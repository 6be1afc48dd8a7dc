"""Writing a document and its arrays."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from io import BytesIO
from os import PathLike
from typing import Any

import numpy as np

from .._paths import local_path
from .._version import __version__
from .._whole_files import moved_when_whole
from ..errors import directory_is_missing, not_loadable
from .format import ADDED, BEGIN, DTYPE_NAMES, LONGEST_HEADER, NAME, NO_CHECKSUM, VERSION
from .headers import split_header
from .json_text import dump


def write(path: str | PathLike[str], document: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write a document of JSON values and named arrays to the file `path`.

    The name and version of the format and the version of lowdim are added to the document. The file appears under its
    name when it is whole; one of that name is replaced then. The arrays are written as they are, in one pass; memory is
    needed for those that are not contiguous. What could not be read again is not written, and a ValueError is raised.
    """
    header, ordered = _prepared(path, document, arrays)
    path = local_path(path)
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise directory_is_missing(path, folder)
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
    """The header, without its checksum, and the arrays in the order in which they are written."""
    if reserved := [name for name in ADDED if name in document]:
        raise ValueError(f"the document must not have the entries {reserved}, which are added to it.")
    added = {"format": NAME, "version": f"{VERSION[0]}.{VERSION[1]}", "lowdim": __version__}
    ordered = {name: _plain(name, arrays[name]) for name in sorted(arrays, key=lambda name: -arrays[name].itemsize)}
    header = _header(dump({**added, **document}), ordered)
    try:
        split_header(header, 8 + len(header) + sum(array.nbytes for array in ordered.values()))
    except (MemoryError, ValueError) as error:
        raise not_loadable(path, error) from error
    return header, ordered


def _write_to(file: Any, header: bytes, ordered: dict[str, np.ndarray]) -> None:
    """Write the header and the arrays, and then the checksum into its place."""
    checksum = hashlib.sha256()
    for part in (len(header).to_bytes(8, "little"), header, *map(_bytes, ordered.values())):
        checksum.update(part)
        file.write(part)
    file.seek(8 + len(BEGIN))
    file.write(checksum.hexdigest().encode())


def _plain(name: str, array: np.ndarray) -> np.ndarray:
    """An array in the order of C and with little-endian numbers; an error if files do not hold its dtype."""
    little = array.dtype.newbyteorder("<")
    if little not in DTYPE_NAMES:
        raise TypeError(
            f"{name} has dtype {array.dtype}, which cannot be stored; {', '.join(DTYPE_NAMES.values())} can."
        )
    # `ascontiguousarray` would give an array without dimensions one.
    return np.asarray(array, dtype=little, order="C")


def _header(document: str, arrays: dict[str, np.ndarray]) -> bytes:
    """The header, with zeros in the place of the checksum. Blanks at its end let the arrays begin at a multiple of 8
    bytes; those with the largest numbers come first, so that each is aligned."""
    entries: dict[str, Any] = {}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        entries[name] = {"dtype": DTYPE_NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    if "__metadata__" in entries:
        raise ValueError("no array can have the name __metadata__.")
    text = dump({"__metadata__": {"sha256": NO_CHECKSUM.decode(), "document": document}, **entries}).encode()
    header = text + b" " * (-len(text) % 8)
    if not header.startswith(BEGIN + NO_CHECKSUM) or len(header) > LONGEST_HEADER:
        raise ValueError(
            f"the header of the file would have {len(header)} bytes, and {LONGEST_HEADER} are allowed: there are too "
            "many names, or too many values that are not arrays."
        )
    return header


def _bytes(array: np.ndarray) -> Any:
    """The bytes of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data
