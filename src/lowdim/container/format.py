"""What a file looks like: how it begins, which numbers it holds, and its version."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

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

#: The names of the dtypes in the header.
DTYPES: dict[str, np.dtype] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
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
