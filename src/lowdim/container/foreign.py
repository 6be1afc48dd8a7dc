"""What a file looks like that lowdim did not write."""

from __future__ import annotations

import re

#: How files of other kinds begin.
_BEGINNINGS = {
    b"PK\x03\x04": "a zip archive, for example an .npz file",
    b"\x93NUMPY": "an .npy file of one array; numpy.load reads it",
    b"\x1f\x8b": "a file that gzip compressed",
    b"x\x9c": "a file that zlib compressed, for example by joblib",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
}
_PICKLE = re.compile(rb"\x80[\x02-\x0f]|ccopy_reg\n|\(dp[0-9]|\(lp[0-9]")


def appearance(start: bytes) -> str:
    """What a file looks like that begins with these bytes."""
    if not start:
        return "an empty file"
    if start[8:9] == b"{" and start[5:8] == bytes(3):
        return "a safetensors file of another program, or its first bytes are damaged"
    if _PICKLE.match(start):
        return "a pickle; lowdim opens none, because a pickle can run any program when it is opened"
    for beginning, what in _BEGINNINGS.items():
        if start.startswith(beginning):
            return what
    if not re.search(rb"[\x00-\x08\x0e-\x1f\x7f]", start):
        return "a text"
    return "a file of another kind, or its first bytes are damaged"
