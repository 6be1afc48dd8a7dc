"""The tables that commands read: files and columns of them, or the standard input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._paths import local_path
from ..files import header
from ..models import GCCA
from ..sources import scan

STANDARD = "-"

#: How files of each kind begin; the standard input is CSV if none of these fits.
_BEGINNINGS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\x93NUMPY": ".npy",
    b"\x89HDF": ".h5",
    b"PK\x03\x04": ".zarr.zip",
    b"\x1f\x8b": ".csv.gz",
}


@contextmanager
def paths_of(data: Sequence[str]) -> Iterator[list[str]]:
    """Context with the paths of the data, in which the standard input is a temporary file.

    Models that read the rows several times, and files that are read from their end, need more than a pipe.
    """
    if STANDARD not in data:
        yield list(data)
        return
    if len(data) > 1:
        raise ValueError("- stands for the standard input, and cannot be read together with other files.")
    with tempfile.TemporaryDirectory(prefix="lowdim") as folder:
        yield [str(_spooled(Path(folder)))]


def _spooled(folder: Path) -> Path:
    """A file with all that comes from the standard input, named by what it is."""
    if sys.stdin is None:
        raise ValueError("the standard input is closed.")
    stream = sys.stdin.buffer
    beginning = stream.read(16)
    if not beginning:
        raise ValueError("the standard input is empty.")
    suffix = next((end for begin, end in _BEGINNINGS.items() if beginning.startswith(begin)), ".csv")
    path = folder / f"standard-input{suffix}"
    with path.open("wb") as file:
        file.write(beginning)
        shutil.copyfileobj(stream, file, 1 << 20)
    return path


def table(paths: Sequence[str], columns: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> Any:
    """The scan of files, with a choice of columns as options give it."""
    where: Any = list(paths) if len(paths) > 1 else paths[0]
    wanted: Any = list(columns) if columns else None
    if wanted == ["numeric"]:
        wanted = "numeric"
    if not exclude:
        return scan(where, wanted)
    # A column that is left out may be named more than once, as an identifier for example.
    return scan(where, wanted, list(dict.fromkeys(exclude)))


def tables(
    cls: type, paths: Sequence[str], columns: Sequence[str] | None = None, exclude: Sequence[str] | None = None
) -> Any:
    """What models of a class take as X: one table of all files or, for GCCA, a list with a table for each file."""
    if not issubclass(cls, GCCA) or len(paths) == 1:
        return table(paths, columns, exclude)
    return [table([path], columns, exclude) for path in paths]


def second_table(y: Sequence[str] | None, y_data: Sequence[str] | None) -> Any:
    """The second table: columns of the first by their names (a vector, if there is one name), files, or None."""
    if y and y_data:
        raise ValueError("--y names columns of the data, and --y-data is another table: give one of them.")
    if y_data:
        return table(y_data)
    return None if not y else y[0] if len(y) == 1 else list(y)


def saved_kind(path: str) -> str | None:
    """What a file that `lowdim.save` wrote holds ("model", "summary" or "result"); None for any other file."""
    if not Path(local_path(path)).is_file():
        return None
    try:
        return str(header(path)["holds"])
    except (OSError, ValueError, KeyError):
        return None
