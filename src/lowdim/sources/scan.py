"""`scan`: files, or an object that speaks Arrow, as a table whose rows are read when a model needs them."""

from __future__ import annotations

import glob
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import unquote

import narwhals as nw
import numpy as np

from .. import errors
from .._core import container
from .._core.threads import in_words
from .._core.types import CanCollect, HasArrow, HasBatches
from .base import Source, when_called
from .beside import ColumnsSource
from .derived import entries_of
from .frame import is_arrow_object, is_spark, open_table
from .on_device import OnDevice

# Which columns of a table are read, and in which order.


#: The word for all columns that are numbers.
NUMERIC = "numeric"
#: What a column may hold: "category" is text, truth values or a categorical.
ColumnKind = Literal["number", "category", "date", "other"]


@dataclass(frozen=True)
class ColumnChoice:
    """A choice of columns, made before the columns are known.

    Parameters
    ----------
    columns : None, "numeric" or tuple of str
        None: all columns. "numeric": those that are numbers. Otherwise names, or patterns with `*`, `?` and `[...]`;
        the columns come in the order in which they are listed here, those of a pattern in that of the table.
    exclude : tuple of str
        Names or patterns of columns that are left out.
    """

    columns: str | tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: Any, exclude: Any) -> ColumnChoice:
        """The choice that the arguments of `scan` stand for."""
        if columns is not None and not (isinstance(columns, str) and columns == NUMERIC):
            columns = _listed(columns, "columns")
        nothing = exclude is None or (isinstance(exclude, list | tuple) and not exclude)
        return cls(columns, () if nothing else _listed(exclude, "exclude"))

    def without(self, names: Sequence[str]) -> ColumnChoice:
        """The same choice without further columns."""
        return replace(self, exclude=(*self.exclude, *names))

    def among(self, contents: Contents) -> list[str]:
        """The chosen columns of a table; an error if one is not there, not a number or not unique."""
        chosen = self.named_among(contents)
        if self.columns == NUMERIC:
            # Columns must not be left out only because a few of their entries are not numbers.
            known = {*contents.numeric, *contents.index, *_matching(self.exclude, contents)}
            why = contents.nearly_numbers([name for name in dict.fromkeys(contents.names) if name not in known])
            if why:
                raise errors.nearly_numbers(contents.label, why)
        if not chosen:
            raise errors.no_columns_left(contents.label, contents.names, contents.numeric)
        check_columns(chosen, contents)
        return chosen

    def named_among(self, contents: Contents) -> list[str]:
        """The chosen columns of a table, whatever they hold; an error if one is not there."""
        if self.columns is None or isinstance(self.columns, str):
            all_columns = contents.names if self.columns is None else contents.numeric
            chosen = [name for name in all_columns if name not in contents.index]
        else:
            chosen = _matching(self.columns, contents)
        left_out = set(_matching(self.exclude, contents))
        return [name for name in chosen if name not in left_out]

    def __str__(self) -> str:
        if self.columns is None:
            text = "all columns"
        elif isinstance(self.columns, str):
            text = "the numeric columns"
        else:
            text = f"columns {errors.list_names(self.columns)}"
        return f"{text} without {errors.list_names(self.exclude)}" if self.exclude else text


def check_columns(chosen: Sequence[str], contents: Contents) -> None:
    """Raise an error unless all chosen columns are numbers, and each name belongs to one column."""
    numeric = set(contents.numeric)
    others = [name for name in dict.fromkeys(chosen) if name not in numeric]
    if others:
        raise errors.not_numbers(contents.label, others, contents.numeric, why=contents.why_not_numbers(others))
    names = list(contents.names)
    if len(set(names)) < len(names):
        twice = [name for name in dict.fromkeys(chosen) if names.count(name) > 1]
        if twice:
            raise errors.duplicate_columns(contents.label, twice)


def require_columns(names: Sequence[str], contents: Contents) -> None:
    """Raise an error unless a table has all these columns, whatever they hold."""
    known = set(contents.names)
    for name in names:
        if name not in known:
            raise errors.unknown_column(contents.label, name, list(contents.names))


def _matching(wanted: Sequence[str], contents: Contents) -> list[str]:
    """The columns that names and patterns stand for, each once."""
    chosen: dict[str, None] = {}
    known = set(contents.names)
    for name in wanted:
        like = (each for each in contents.names if fnmatchcase(each, name) and each not in contents.index)
        matches = [name] if name in known else list(like)
        if not matches:
            raise errors.unknown_column(contents.label, name, contents.names)
        chosen.update(dict.fromkeys(matches))
    return list(chosen)


def _listed(given: Any, argument: str) -> tuple[str, ...]:
    """Names as a tuple."""
    names = (given,) if isinstance(given, str) else tuple(given) if hasattr(given, "__iter__") else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"{argument}={given!r} must be the name of a column, a pattern such as 'temp_*', or a list of these"
            f"{', or numeric' if argument == 'columns' else ''}."
        )
    return tuple(dict.fromkeys(names))


# A table whose columns have names, before any of its rows is read.


class Contents(ABC):
    """The columns of a table by their names, some of which may be no part of the rows; `source` opens some of them."""

    #: The class of choices among the columns: by name, or by number where they have no names.
    choice: ClassVar[Any] = ColumnChoice
    #: Whether the columns have names, and whether the rows have an order.
    has_names: ClassVar[bool] = True
    ordered: ClassVar[bool] = True
    #: The names of all columns, in the order in which they are stored; their numbers if they have no names.
    names: Sequence[Any]
    #: Those that are numbers.
    numeric: Sequence[Any]
    #: Those that are the index of a data frame. They are read only if they are named.
    index: Sequence[Any] = ()
    #: What messages call the table: a path, or the type of an object.
    label: str = "X"
    #: The number of rows if it is known without reading them.
    n: int | None = None
    #: The scan with the columns that the user has chosen; None if no choice was made.
    scan: Scan | None = None
    #: How the entries were read, if not as they usually are: a sentence.
    how_read: str = ""
    #: Text that stands for a missing entry, beside empty text.
    blanks: frozenset[str] = frozenset()

    @property
    def chosen(self) -> list[str] | None:
        """The columns that the user has chosen, whatever they hold; None if no choice was made."""
        return None if self.scan is None or self.scan.choice == ColumnChoice() else self.scan.choice.named_among(self)

    @abstractmethod
    def source(self, columns: Sequence[Any]) -> Source:
        """The rows of these columns, in this order. All of them must be numbers."""

    def keeping(self, columns: Sequence[str], names: Sequence[str]) -> Source:
        """The rows of these columns, of which there may be none, with the columns `names`, of any type, carried along:
        `blocks_keeping` of the source gives them."""
        return self.source(columns)

    def kind_of(self, name: str) -> ColumnKind:
        """What a column holds."""
        return "number" if name in self.numeric else "category"

    def column(self, name: Any) -> np.ndarray:
        """All entries of one column, which may be text. One pass over this column."""
        return entries_of(self.source([name]))[:, 0]

    def dtype(self, columns: Sequence[Any]) -> Any:
        """The dtype of the rows of these columns."""
        return self.source(columns).dtype

    def why_not_numbers(self, columns: Sequence[Any]) -> str:
        """Why these columns are not numbers, if there is more to say than that."""
        return ""

    def nearly_numbers(self, columns: Sequence[Any]) -> str:
        """Which of these columns would be numbers but for a few entries, and where those are; empty if none."""
        return ""

    def rows(self, columns: Sequence[str]) -> Any:
        """These columns, in this order, as something that can be opened."""
        check_columns(columns, self)
        return self.source(columns)

    def rest(self, used: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
        """The names of the columns that are the rows if `used` are not; a fitted model expects those in `wanted`."""
        if self.scan is not None:
            return (self.scan if wanted is None else with_columns(self.scan, wanted)).without(used).chosen
        if wanted is not None and set(wanted) <= set(self.names):
            return list(wanted)
        return [name for name in self.names if name not in used]

    def pair(self, x: Sequence[str], y: Sequence[str] | str) -> tuple[Any, Any]:
        """Two tables of columns, which are read in one pass when they are read side by side. A single name is a
        vector."""
        targets = [y] if isinstance(y, str) else list(y)
        text = self.text_among(targets)
        if text:
            raise ValueError(
                f"y: {errors.list_names(text, 20)} of {self.label} cannot be a response, since it is not a number. "
                f"{errors.ENCODE_CLASSES} These columns are numbers: "
                f"{errors.list_names(list(self.numeric), 20) or 'none'}."
            )
        first, second = self.two_tables(x, targets)
        if isinstance(y, str):
            second = second if isinstance(second, Source) else open_table(second)
            second.vector = True
        return first, second

    def text_among(self, names: Sequence[str]) -> list[str]:
        """Those of these columns that cannot be responses."""
        numeric = set(self.numeric)
        return [name for name in names if name not in numeric]

    def two_tables(self, x: Sequence[str], y: Sequence[str]) -> tuple[Any, Any]:
        """Two tables of columns: both of one source, which is read once."""
        dtypes = [self.dtype(names) for names in (x, y)]
        parent = self.rows([*x, *y])
        columns = range(parent.shape[1])
        return ColumnsSource(parent, columns[: len(x)], dtypes[0]), ColumnsSource(parent, columns[len(x) :], dtypes[1])


# Files that were found for a table, and by what a change of them is noticed.


@dataclass(frozen=True)
class Stamp:
    """A file, and by what a change of it is noticed."""

    path: str
    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, path: str) -> Stamp:
        """The stamp of a file that exists."""
        found = os.stat(path)
        return cls(path, found.st_size, found.st_mtime_ns, found.st_ino)


def check_unchanged(files: Sequence[Stamp]) -> None:
    """Raise an error if one of the files is another one by now, or no longer there."""
    for file in files:
        try:
            now = Stamp.of(file.path)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{file.path} was there when it was scanned, and is gone now. Restore it, or call lowdim.scan again to "
                "read the files that are left."
            ) from None
        if now.size != file.size:
            raise errors.changed_file(file.path, f"it had {file.size} bytes and now has {now.size}")
        if now != file:
            raise errors.changed_file(file.path, "it was written again in between, as its time stamp or its inode says")


@dataclass(frozen=True)
class Found:
    """Files of one kind, in the order in which they are read."""

    #: What the user gave, as text.
    where: str
    #: One of the keys of `FILE_KINDS`.
    kind: str
    files: tuple[Stamp, ...]
    #: The name of an array in a store ("file.h5::name"), or None.
    inside: str | None = None
    #: For each file, the keys and values in the names of its directories ("year=2024"), below what the user gave.
    partitions: tuple[tuple[tuple[str, str], ...], ...] = ()
    #: The character before decimals in CSV files, "." or ","; None to find out.
    decimal: str | None = None

    @property
    def paths(self) -> list[str]:
        return [file.path for file in self.files]

    @property
    def n_bytes(self) -> int:
        """The size of all files."""
        return sum(file.size for file in self.files)

    def short_names(self) -> list[str]:
        """The names of the files below the directory that they have in common."""
        if len(self.files) == 1:
            return [os.path.basename(self.paths[0])]
        common = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in self.paths])
        return [os.path.relpath(path, common) for path in self.paths]


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


#: The kinds by their names, which messages and `repr` of a scan show. What reads them is imported when it is needed.
FILE_KINDS: dict[str, FileKind] = {
    "parquet": FileKind((".parquet", ".pq"), when_called("arrow_files", "ParquetFiles")),
    "arrow": FileKind((".arrow", ".feather", ".ipc"), when_called("arrow_files", "IpcFiles")),
    "csv": FileKind((".csv", ".csv.gz", ".tsv", ".tsv.gz"), when_called("csv", "CsvFiles")),
    "spreadsheet": FileKind(
        (".xlsx", ".xlsm", ".ods"), when_called("spreadsheet", "SpreadsheetFiles"), named_arrays=True
    ),
    "old spreadsheet": FileKind((".xls",), when_called("spreadsheet", "refused_xls")),
    "npy": FileKind((".npy",), when_called("stores", "npy_files")),
    "zarr": FileKind((".zarr", ".zarr.zip"), when_called("stores", "zarr_files"), directory=True, named_arrays=True),
    "hdf5": FileKind((".h5", ".hdf5"), when_called("stores", "hdf5_files"), named_arrays=True),
}


def kind_of(name: str) -> str | None:
    """The kind of a file by its name; None if its suffix is unknown."""
    lower = name.lower().rstrip(os.sep)
    return next((name for name, kind in FILE_KINDS.items() if lower.endswith(kind.suffixes)), None)


def suffixes() -> list[str]:
    """How names of files that can be read end."""
    return [suffix for kind in FILE_KINDS.values() for suffix in kind.suffixes]


# Which files a path, a pattern, a list or a directory stands for.


def find_files(where: Any) -> Found:
    """The files that `where` stands for: a path, a pattern such as "part-*.parquet", a directory, or a list of these.

    Directories are searched with all that are below them, in the order of the names. Names that begin with a dot or an
    underscore are left out there, since writers use them for their own notes. All files must be of one kind.
    """
    places = list(where) if isinstance(where, list | tuple) else [where]
    if not places:
        raise errors.no_such_file("an empty list")
    paths: list[str] = []
    partitions: list[tuple[tuple[str, str], ...]] = []
    inside = None
    for place in places:
        if not isinstance(place, str | os.PathLike):
            raise TypeError(
                f"files are given by a path, a pattern such as 'part-*.parquet', a directory, or a list of these; got "
                f"{type(place).__name__}."
            )
        path, name = _split(os.path.expanduser(place))
        inside = inside if name is None else name
        _refuse_inside(path)
        found = list(_expanded(path))
        paths += found
        partitions += [_keys_of(file, _given_directory(path)) for file in found]
    text = os.fspath(places[0]) + (f" and {len(places) - 1} more" if len(places) > 1 else "")
    kinds: dict[str, str] = {}
    for path in paths:
        kinds.setdefault(_kind_of_file(path), path)
    if len(kinds) > 1:
        listed = ", ".join(f"{path} ({kind})" for kind, path in kinds.items())
        raise ValueError(
            f"{text} holds files of several kinds, for example {listed}. All files of a table must be of one kind: "
            "choose some with a pattern such as 'directory/*.parquet'."
        )
    return Found(text, next(iter(kinds)), tuple(map(Stamp.of, paths)), inside, tuple(partitions))


def is_path(X: Any) -> bool:
    """Whether `X` is the path of a file or a directory, or a pattern."""
    return isinstance(X, str | Path)


def names_file(text: str) -> bool:
    """Whether a text can be taken for the path of a file: by its suffix, or because there is such a file."""
    return kind_of(_split(text)[0]) is not None or os.path.exists(text)


def _split(path: str) -> tuple[str, str | None]:
    """A path, and the name of an array in the file if one is given behind "::"."""
    before, separator, name = path.partition("::")
    return (path, None) if not separator or os.path.exists(path) else (before, name)


def _refuse_inside(path: str) -> None:
    """Raise an error for the path of an array in a store that is written as if the store were a directory."""
    for parent in Path(path).parents if kind_of(path) is None else ():
        kind = kind_of(parent.name)
        if kind is not None and FILE_KINDS[kind].named_arrays and parent.exists():
            name = Path(path).relative_to(parent).as_posix()
            raise ValueError(
                f"{path} is inside of a store: name an array in it behind two colons, as in '{parent}::{name}'."
            )


def _expanded(path: str) -> Iterator[str]:
    """The files that a path, a pattern or a directory stands for."""
    if os.path.lexists(path):
        yield from _files_in(path)
        return
    if "://" in path:
        raise ValueError(
            f"{path} is an address, and only files of this machine are read by their paths. Open it with another "
            "library and pass what that returns: pyarrow.dataset.dataset(...) or polars.scan_parquet(...)."
        )
    if not glob.has_magic(path):
        try:
            os.lstat(path)
        except PermissionError:
            # One of the directories is closed.
            raise errors.not_permitted(path) from None
        except (OSError, ValueError):
            pass
        raise errors.no_such_file(path)
    # Notes are left out unless the pattern itself names them.
    found = sorted(match for match in glob.glob(path, recursive=True) if _notes(match) <= _notes(path))
    # With "**" the files in directories match by themselves.
    found = [match for match in found if "**" not in path or not os.path.isdir(match) or _is_store(match)]
    if not found:
        raise FileNotFoundError(
            f"no file matches {path}. Check the pattern: * stands for any characters within one directory, ** for any "
            "directories."
        )
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
        raise FileNotFoundError(
            f"the directory {path} holds no files, apart from names that begin with a dot or an underscore, which are "
            f"left out. Files with these suffixes can be read: {', '.join(suffixes())}."
        )
    yield from found


def _walk(directory: str, seen: set[str]) -> Iterator[str]:
    """All files below a directory; stores that are directories count as files."""
    real = os.path.realpath(directory)
    if real in seen:
        return
    seen.add(real)
    if not os.access(directory, os.R_OK | os.X_OK):
        raise errors.not_permitted(directory)
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
        raise errors.not_permitted(path)
    kind = kind_of(path)
    if kind is None:
        raise ValueError(
            f"{path} is no table: lowdim wrote it, and it holds a model, a summary, a result or a checkpoint. "
            "lowdim.load(path) reads it; models are fitted to a summary by fit_summary(lowdim.load(path))."
            if container.looks_written(path)
            else f"{path} has none of the suffixes that tell how a file is read: {', '.join(suffixes())}. Rename it, "
            "or choose files with a pattern such as 'directory/*.parquet'."
        )
    return kind


#: What is neither a file nor a directory, and is never read: that might not end.
_SPECIAL = {
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFIFO: "a named pipe",
}


def refuse_special(path: str) -> None:
    """Raise an error if there is nothing at a path, or a device, a socket or a pipe."""
    try:
        what = _SPECIAL.get(stat.S_IFMT(os.stat(path).st_mode))
    except FileNotFoundError:
        raise errors.no_such_file(path) from None
    if what is not None:
        raise ValueError(f"{path} is {what}, and only ordinary files can be read. Write its contents to a file first.")


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

    def named(self) -> Contents:
        """The columns of the table by their names, with this choice among them."""
        table = copy(self.contents)
        table.scan = self
        return table

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


def scan(
    where: str | PathLike[str] | Sequence[str | PathLike[str]] | HasArrow | HasBatches | CanCollect,
    columns: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] | None = None,
    *,
    decimal: Literal[".", ","] | None = None,
) -> Scan:
    """Files, or an object that speaks Arrow, as a table, of which only the columns asked for are read, when a model
    needs them.

    Parameters
    ----------
    where : str, path, or list of these; or an object that speaks Arrow
        A file, a pattern such as "part-*.parquet" (`**` for any directories), or a directory with all files below it.
        All files must be of one kind, which their names tell: Parquet, Arrow (Feather), CSV (also compressed by gzip),
        spreadsheets (.xlsx, .ods), NPY, Zarr or HDF5. A sheet other than the first, or an array in a store that holds
        several, is named behind two colons: "table.xlsx::Sheet2", "store.zarr::group/array".
        Or a lazy frame of polars, a relation of DuckDB, a dataset, a table or a reader of pyarrow, or whatever else
        speaks Arrow. A lazy frame, a relation and a dataset are asked for the chosen columns only.
    columns : str or list of str, default=None
        Names, patterns ("temp_*"), or "numeric" for all columns that are numbers. The default is all columns; it is an
        error if one of them is not a number. The columns of arrays (NPY, Zarr, HDF5) have no names: pass their numbers,
        an integer, a list of integers, a range or a slice.
    exclude : str or list of str, default=None
        Names or patterns (of arrays, numbers) of columns that are left out.
    decimal : {".", ","}, default=None
        The character before decimals in CSV files. By default it is a point; in files whose fields are separated by
        semicolons or tabs it is a comma if the entries leave no doubt, and a `NumberFormatWarning` says so. It also
        decides whether the comma of 1,234 separates thousands.

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
    if decimal not in (None, ".", ","):
        raise errors.choice("decimal", decimal, (".", ","), "Or None to find out.")
    found: Found | Contents
    if not is_path(where) and is_spark(where):
        found = contents = when_called("spark", "SparkContents")(where)
        columns = "numeric" if columns is None else columns
    elif not is_path(where) and is_arrow_object(where):
        # What polars exports as a stream has a type of text that not all versions of pyarrow can write.
        table: Any = where
        of_polars = nw.dependencies.is_polars_dataframe(table)
        found = contents = when_called("arrow", "arrow_object")(table.to_arrow() if of_polars else table)
    else:
        found = replace(find_files(where), decimal=decimal)
        contents = FILE_KINDS[found.kind].contents(found)
    if decimal is not None and not (isinstance(found, Found) and found.kind == "csv"):
        raise ValueError(f"decimal={decimal!r} is for CSV files, and {contents.label} holds numbers; leave it out.")
    choice = contents.choice.of(columns, exclude)
    # Wrong names are noticed here. What the columns hold is checked later: a model may want only some of them.
    choice.named_among(contents)
    return Scan(found, contents, choice)


def with_columns(X: Any, wanted: Sequence[str]) -> Any:
    """A scan with just the columns that are wanted, if their own choice of columns, if any, has all of them; anything
    else as it is."""
    if isinstance(X, OnDevice):
        return replace(X, rows=with_columns(X.rows, wanted))
    if is_path(X) or is_spark(X):
        X = scan(X)
    if not isinstance(X, Scan) or not X.contents.has_names:
        return X
    has_all = set(wanted) <= set(X.choice.named_among(X.contents))
    return X.select(list(wanted)) if has_all or X.choice == ColumnChoice() else X
