"""The kinds of files that can be read: how their names end, and what reads them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .arrow import ArrowFiles, ArrowFormat, CsvFormat, ParquetFormat
from .contents import Contents
from .stamps import Found
from .stores import Hdf5Array, NpyArray, StoredArrays, ZarrArray


@dataclass(frozen=True)
class FileKind:
    """A kind of file."""

    #: How names of such files end.
    suffixes: tuple[str, ...]
    #: Makes what the files hold from those that were found. No row is read.
    contents: Callable[[Found], Contents]
    #: Whether a directory with such a name is one file of this kind.
    directory: bool = False
    #: Whether such a file may hold several arrays, each with a name.
    named_arrays: bool = False


#: The kinds by their names, which messages and `repr` of a scan show.
FILE_KINDS: dict[str, FileKind] = {
    "parquet": FileKind((".parquet", ".pq"), partial(ArrowFiles, ParquetFormat)),
    "arrow": FileKind((".arrow", ".feather", ".ipc"), partial(ArrowFiles, ArrowFormat)),
    "csv": FileKind((".csv", ".csv.gz", ".tsv", ".tsv.gz"), partial(ArrowFiles, CsvFormat)),
    "npy": FileKind((".npy",), partial(StoredArrays, NpyArray)),
    "zarr": FileKind((".zarr", ".zarr.zip"), partial(StoredArrays, ZarrArray), directory=True, named_arrays=True),
    "hdf5": FileKind((".h5", ".hdf5"), partial(StoredArrays, Hdf5Array), named_arrays=True),
}


def kind_of(name: str) -> str | None:
    """The kind of a file by its name; None if its suffix is unknown."""
    lower = name.lower().rstrip(os.sep)
    return next((name for name, kind in FILE_KINDS.items() if lower.endswith(kind.suffixes)), None)


def suffixes() -> list[str]:
    """How names of files that can be read end."""
    return [suffix for kind in FILE_KINDS.values() for suffix in kind.suffixes]
