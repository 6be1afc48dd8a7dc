"""`scan`: files, or an object that speaks Arrow, as a table whose rows are read when a model needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw

from .._memory import in_words
from .arrow import ArrowObject, is_arrow_object
from .base import Source
from .column_choice import ColumnChoice
from .contents import Contents
from .file_kinds import FILE_KINDS
from .found_files import find_files, is_path
from .sent_rows import OnDevice
from .spark import SparkContents, is_spark
from .stamps import Found


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
