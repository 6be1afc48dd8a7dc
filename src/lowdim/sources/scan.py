"""`scan`: files, or an object that speaks Arrow, as a table whose rows are read when a model needs them."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import narwhals as nw

from .._core import container
from .._core.paths import local_path
from .._core.threads import in_words
from ..errors import (
    empty_directory,
    inside_store,
    mixed_kinds,
    no_match,
    no_such_file,
    not_a_path,
    not_local,
    not_permitted,
    saved_object,
    unknown_suffix,
)
from .arrow import ArrowObject, is_arrow_object
from .arrow_files import ArrowFiles, ArrowFormat, ParquetFormat
from .base import Source
from .contents import ColumnChoice, Contents, Found, Stamp, refuse_special
from .csv import CsvFormat
from .on_device import OnDevice
from .spark import SparkContents, is_spark
from .stores import Hdf5Array, NpyArray, StoredArrays, ZarrArray

# The kinds of files that can be read: how their names end, and what reads them.


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


# Which files a path, a pattern, a list or a directory stands for.


#: What separates the path of a store from the name of an array in it.
_INSIDE = "::"


def find_files(where: Any) -> Found:
    """The files that `where` stands for: a path, a pattern such as "part-*.parquet", a directory, or a list of these.

    Directories are searched with all that are below them, in the order of the names. Names that begin with a dot or an
    underscore are left out there, since writers use them for their own notes. All files must be of one kind.
    """
    places = list(where) if isinstance(where, list | tuple) else [where]
    if not places:
        raise no_such_file("an empty list")
    paths: list[str] = []
    partitions: list[tuple[tuple[str, str], ...]] = []
    inside = None
    for place in places:
        if not isinstance(place, str | os.PathLike):
            raise not_a_path(place)
        path, name = _split(local_path(place))
        inside = inside if name is None else name
        _refuse_inside(path)
        found = list(_expanded(path))
        paths += found
        partitions += [_keys_of(file, _given_directory(path)) for file in found]
    kinds: dict[str, str] = {}
    for path in paths:
        kinds.setdefault(_kind_of_file(path), path)
    if len(kinds) > 1:
        raise mixed_kinds(_text(where), kinds)
    return Found(_text(where), next(iter(kinds)), tuple(map(Stamp.of, paths)), inside, tuple(partitions))


def is_path(X: Any) -> bool:
    """Whether `X` is the path of a file or a directory, or a pattern."""
    return isinstance(X, str | Path)


def names_file(text: str) -> bool:
    """Whether a text can be taken for the path of a file: by its suffix, or because there is such a file."""
    return kind_of(_split(text)[0]) is not None or os.path.exists(text)


def _split(path: str) -> tuple[str, str | None]:
    """A path, and the name of an array in the file if one is given behind "::"."""
    before, separator, name = path.partition(_INSIDE)
    return (path, None) if not separator or os.path.exists(path) else (before, name)


def _refuse_inside(path: str) -> None:
    """Raise an error for the path of an array in a store that is written as if the store were a directory."""
    for parent in Path(path).parents if kind_of(path) is None else ():
        kind = kind_of(parent.name)
        if kind is not None and FILE_KINDS[kind].named_arrays and parent.exists():
            raise inside_store(path, str(parent), Path(path).relative_to(parent).as_posix())


def _expanded(path: str) -> Iterator[str]:
    """The files that a path, a pattern or a directory stands for."""
    if os.path.lexists(path):
        yield from _files_in(path)
        return
    if "://" in path:
        raise not_local(path)
    if not glob.has_magic(path):
        raise _absent(path)
    # Notes are left out unless the pattern itself names them.
    found = sorted(match for match in glob.glob(path, recursive=True) if _notes(match) <= _notes(path))
    # With "**" the files in directories match by themselves.
    found = [match for match in found if "**" not in path or not os.path.isdir(match) or _is_store(match)]
    if not found:
        raise no_match(path)
    for match in found:
        yield from _files_in(match)


def _given_directory(path: str) -> str:
    """The directory that the user gave: the path itself, or what a pattern begins with; the names of directories below
    it were found."""
    if os.path.isdir(path):
        return path
    while glob.has_magic(path) and not os.path.lexists(path):
        path = os.path.dirname(path)
    return path if os.path.isdir(path) or not path else os.path.dirname(path)


def _keys_of(file: str, directory: str) -> tuple[tuple[str, str], ...]:
    """The keys and values in the names of the directories of a file below another directory, such as "year=2024"."""
    names = Path(os.path.relpath(file, directory or os.curdir)).parts[:-1]
    pairs = (name.partition("=") for name in names)
    return tuple((unquote(key), unquote(value)) for key, equals, value in pairs if key and equals)


def _absent(path: str) -> OSError:
    """The error for a path at which nothing is found: there is nothing, or one of the directories is closed."""
    try:
        os.lstat(path)
    except PermissionError:
        return not_permitted(path)
    except (OSError, ValueError):
        pass
    return no_such_file(path)


def _notes(path: str) -> int:
    """How many parts of a path are names that writers use for their own notes, such as "_SUCCESS" or ".crc"."""
    return sum(part.startswith((".", "_")) and part not in (".", "..") for part in Path(path).parts)


def _files_in(path: str) -> Iterator[str]:
    """The file itself, or all files in a directory and below it, in the order of their names."""
    if not os.path.isdir(path) or _is_store(path):
        yield path
        return
    found = sorted(_walk(path, set()))
    if not found:
        raise empty_directory(path, suffixes())
    yield from found


def _walk(directory: str, seen: set[str]) -> Iterator[str]:
    """All files below a directory; stores that are directories count as files."""
    real = os.path.realpath(directory)
    if real in seen:
        return
    seen.add(real)
    if not os.access(directory, os.R_OK | os.X_OK):
        raise not_permitted(directory)
    with os.scandir(directory) as listed:
        entries = list(listed)
    for entry in entries:
        if _notes(entry.name):
            continue
        if entry.is_dir() and not _is_store(entry.path):
            yield from _walk(entry.path, seen)
        else:
            yield entry.path


def _is_store(path: str) -> bool:
    """Whether a directory is a store, by its name."""
    kind = kind_of(path)
    return kind is not None and FILE_KINDS[kind].directory and os.path.isdir(path)


def _kind_of_file(path: str) -> str:
    """The kind of a file that can be read; an error for anything else."""
    refuse_special(path)
    if not os.access(path, os.R_OK):
        raise not_permitted(path)
    kind = kind_of(path)
    if kind is None:
        raise saved_object(path) if container.looks_written(path) else unknown_suffix(path, suffixes())
    return kind


def _text(where: Any) -> str:
    """How `where` is written in messages."""
    if isinstance(where, list | tuple):
        return f"{os.fspath(where[0])} and {len(where) - 1} more" if len(where) > 1 else os.fspath(where[0])
    return os.fspath(where)


@dataclass(frozen=True)
class Scan:
    """Files of one kind, or an object that speaks Arrow, and a choice of their columns, as `scan` returns them. No row
    has been read."""

    #: The files, or what the object holds.
    found: Found | Contents
    #: What the files hold, from the schema of the first one; or what the object holds.
    contents: Contents = field(compare=False)
    #: Names or patterns (`ColumnChoice`); for arrays, whose columns have no names, numbers (`NumberChoice`).
    choice: Any

    @property
    def columns(self) -> list[Any]:
        """The names of all columns of the table; of arrays, their numbers."""
        return list(self.contents.names)

    @property
    def numeric(self) -> list[Any]:
        """The names of the columns that are numbers."""
        return list(self.contents.numeric)

    @property
    def chosen(self) -> list[Any]:
        """The names (of arrays, the numbers) of the columns that are read, in their order."""
        return self.choice.among(self.contents)

    def select(self, columns: Any) -> Scan:
        """Another choice of columns of the same table."""
        return replace(self, choice=self.contents.choice.of(columns, None))

    def without(self, names: Sequence[Any]) -> Scan:
        """The same choice without some columns."""
        return replace(self, choice=self.choice.without(names))

    def open(self, *, vectors: bool = False) -> Source:
        """The source of the rows. With `vectors`, arrays with one axis are taken too, as one column."""
        source = self.contents.source(self.chosen)
        if not vectors:
            source.require_two_axes()
        return source

    def __repr__(self) -> str:
        chosen = f"{self.choice} of {len(self.columns)}"
        if isinstance(self.found, Contents):
            return f"scan({self.found.label}): {chosen}"
        n = len(self.found.files)
        size = f"{n} {self.found.kind} file{'s' if n > 1 else ''}, {in_words(self.found.n_bytes)}"
        return f"scan({self.found.where!r}): {size}; {chosen}"


def scan(where: Any, columns: Any = None, exclude: Any = None) -> Scan:
    """Files, or an object that speaks Arrow, as a table, of which only the columns asked for are read, when a model
    needs them.

    Parameters
    ----------
    where : str, path, or list of these; or an object that speaks Arrow
        A file, a pattern such as "part-*.parquet" (`**` for any directories), or a directory with all files below it.
        All files must be of one kind, which their names tell: Parquet, Arrow (Feather), CSV (also compressed by gzip),
        NPY, Zarr or HDF5. An array in a store that holds several is named behind two colons: "store.zarr::group/array".
        Or a lazy frame of polars, a relation of DuckDB, a dataset, a table or a reader of pyarrow, or whatever else
        speaks Arrow. A lazy frame, a relation and a dataset are asked for the chosen columns only.
    columns : str or list of str, optional
        Names, patterns ("temp_*"), or "numeric" for all columns that are numbers. The default is all columns; it is an
        error if one of them is not a number. The columns of arrays (NPY, Zarr, HDF5) have no names: pass their numbers,
        an integer, a list of integers, a range or a slice.
    exclude : str or list of str, optional
        Names or patterns (of arrays, numbers) of columns that are left out.

    Returns
    -------
    Scan
        Models, `summarize` and `open_source` take it as rows. Size and time stamp of each file are noted here: a file
        that has changed when its rows are read is an error.

    Notes
    -----
    Only names and types of the columns are read here. Each pass over the rows reads the files again, in blocks, ahead
    of the computation, and takes about a hundred megabytes of memory, or two chunks of an array if these are larger.

    Examples
    --------
    >>> import tempfile, pathlib, lowdim
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "rooms.csv").write_text("id,area,price\\na,20,100\\nb,30,160\\nc,50,240\\n")
    >>> rooms = lowdim.scan(folder / "*.csv", columns="numeric")
    >>> rooms.chosen
    ['area', 'price']
    >>> lowdim.PCA(1).fit(rooms).mean_
    array([ 33.33333333, 166.66666667])
    """
    if nw.dependencies.is_polars_dataframe(where):
        # What polars exports as a stream has a type of text that not all versions of pyarrow can write.
        where = where.to_arrow()
    if is_spark(where):
        found: Found | Contents = SparkContents(where)
        columns = "numeric" if columns is None else columns
    else:
        found = ArrowObject(where) if is_arrow_object(where) else find_files(where)
    contents = found if isinstance(found, Contents) else FILE_KINDS[found.kind].contents(found)
    choice = contents.choice.of(columns, exclude)
    # Wrong names are noticed here. What the columns hold is checked later: a model may want only some of them.
    choice.named_among(contents)
    return Scan(found, contents, choice)


def scanned(X: Any) -> Any:
    """The scan of a path or of a data frame of Spark; anything else as it is."""
    return scan(X) if is_path(X) or is_spark(X) else X


def with_columns(X: Any, wanted: Sequence[str]) -> Any:
    """A scan with just the columns that are wanted, if their own choice of columns, if any, has all of them; anything
    else as it is."""
    if isinstance(X, OnDevice):
        return replace(X, rows=with_columns(X.rows, wanted))
    X = scanned(X)
    if not isinstance(X, Scan) or not X.contents.has_names:
        return X
    has_all = set(wanted) <= set(X.choice.named_among(X.contents))
    return X.select(list(wanted)) if has_all or X.choice == ColumnChoice() else X
