"""Everything that is read through Arrow: columns and batches as blocks of numbers, and objects that speak Arrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from .. import errors
from .._core.arrays import empty_columns
from .array import EXACT, InexactInteger, may_be_inexact, require_exact
from .base import BlockMemory, Source, Traits, fits_easily, read_ahead
from .derived import StoredSource
from .frame import is_table
from .scan import ColumnKind, Contents, require_columns

# Columns of Arrow as floating-point numbers: which types are numbers, and how each is converted.
#
# | type | number |
# | --- | --- |
# | floats | as they are; float16 becomes float32 |
# | integers | float64; one that float64 cannot hold exactly is an error |
# | decimals | the nearest float64 |
# | booleans | 0 and 1 |
# | nulls | NaN, which is a missing value |
# | dictionaries | as their values are |
# | anything else | not a number |


#: Powers of ten up to this exponent are exact in float64.
_EXACT_POWER = 22


def is_number(kind: Any) -> bool:
    """Whether a type of Arrow is one of numbers."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_number(kind.value_type)
    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def kind_of_column(kind: Any) -> ColumnKind:
    """What a column of a type of Arrow holds."""
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_boolean, types.is_dictionary)
    if any(test(kind) for test in tests):
        return "category"
    if is_number(kind):
        return "number"
    return "date" if types.is_temporal(kind) else "other"


def numeric_columns(schema: Any) -> list[str]:
    """The names of the columns that are numbers."""
    numbers = {kind for kind in set(schema.types) if is_number(kind)}
    return [field.name for field in schema if field.type in numbers]


def index_columns(schema: Any) -> list[str]:
    """The columns that are the index of a data frame of pandas, as a note in the schema says."""
    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    # An index that is a range of numbers is described and not stored.
    return [name for name in noted if isinstance(name, str) and name in schema.names]


def block_dtype(kinds: Iterable[Any]) -> type[np.floating[Any]]:
    """The dtype of a block of columns of these types: float32 if float32 holds all their values exactly."""
    return np.float32 if all(str(kind) in ("float", "halffloat") for kind in kinds) else np.float64


def fill(out: np.ndarray, column: Any) -> None:
    """Write a column, an array of Arrow, into `out`, a vector of the same length; nulls become NaN."""
    from pyarrow import types

    kind = column.type
    if types.is_floating(kind) or types.is_integer(kind):
        _fill_plain(out, column, np.dtype(kind.to_pandas_dtype()))
    elif types.is_null(kind):
        out[:] = np.nan
    elif types.is_boolean(kind):
        fill(out, column.cast("uint8"))
    elif types.is_dictionary(kind):
        fill(out, column.dictionary_decode())
    elif types.is_decimal(kind):
        _fill_decimals(out, column)
    else:
        raise TypeError(f"columns of type {kind} are not numbers.")


def _fill_plain(out: np.ndarray, column: Any, dtype: np.dtype[Any]) -> None:
    """Write numbers that lie in memory one after another, without a copy in between."""
    n = len(column)
    if column.null_count == n:
        out[:] = np.nan
        return
    values = np.frombuffer(column.buffers()[1], dtype=dtype, count=n, offset=column.offset * dtype.itemsize)
    out[:] = values
    if column.null_count:
        # What lies in memory where an entry is null is arbitrary.
        out[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
    if may_be_inexact(dtype):
        require_exact(out, values)


def _fill_decimals(out: np.ndarray, column: Any) -> None:
    """The float64 nearest to each decimal.

    A decimal is a whole number divided by a power of ten. If both are exact in float64, so that only the division
    rounds, the quotient is the nearest number. Others are written as text and read again, which is slower.
    """
    kind = column.type
    if kind.bit_width == 128 and 0 <= kind.scale <= _EXACT_POWER and column.null_count < len(column):
        halves = np.frombuffer(column.buffers()[1], dtype="<i8", count=2 * len(column), offset=16 * column.offset)
        low, high = halves[::2], halves[1::2]
        known = ~column.is_null().to_numpy(zero_copy_only=False)
        if np.all(((low >> 63) == high) & (np.abs(low) <= int(EXACT)) | ~known):
            np.divide(low, 10.0**kind.scale, out=out)
            out[~known] = np.nan
            return
    fill(out, column.cast("string").cast("float64"))


# What all sources of batches of Arrow have in common: batches of any number of rows become blocks of exactly as many
# rows as were asked for.


#: Small blocks are cut from a buffer of at least this size: a call for each column and batch then costs little.
_BUFFER_BYTES = 8 << 20


class ArrowSource(StoredSource):
    """Rows of columns of Arrow, which come in batches; a subclass says from where (`batches`).

    Parameters
    ----------
    names : sequence of str
        The columns, in the order of the blocks.
    kinds : iterable of Arrow types
        All types that occur in these columns.
    n : int, optional
        The number of rows, if it is known.
    rereadable : bool

    Notes
    -----
    The numbers of a column lie one after the other in a block, as they do in Arrow, so that a column is copied as a
    whole. Another thread reads and copies the next blocks while the last ones are in use, unless these are the rows of
    a part that one of several threads reads.
    """

    kind = "table"

    def __init__(self, names: Sequence[str], kinds: Iterable[Any], n: int | None, *, rereadable: bool = True) -> None:
        self.names = list(names)
        self.shape = (n, p) = (n, len(self.names))
        self.dtype = block_dtype(kinds)
        itemsize = int(np.dtype(self.dtype).itemsize)
        # Blocks are handed to threads in turn, as those of a stream are, unless a subclass can be cut (`part_bytes`).
        self.traits = Traits(
            rereadable=rereadable,
            by_feature=rereadable and n is not None and fits_easily(n, p, itemsize),
            whole=n is not None,
            column_blocks=True,
            in_memory=False,
            n_bytes=0,
            itemsize=itemsize,
        )
        #: The number of rows at the beginning of the table that are left out.
        self._start = 0
        #: Whether these are the rows of a part that one of several threads reads.
        self._is_part = False
        #: What the blocks lie in; parts of this source share it.
        self._memory = BlockMemory()
        #: The number of rows that a complete pass gave; None before the end of the first, if it is not known before.
        self._n_read = n

    @abstractmethod
    def batches(self, names: Sequence[str], carried: Sequence[str] = ()) -> Iterator[Any]:
        """Batches of these columns, in this order, of all rows. Those that are carried along are as they are stored."""

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        return (block for block, _ in self.blocks_keeping(rows, ()))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[np.ndarray, Any]]:
        (n, p), done = self.shape, 0
        at_once = max(1, _BUFFER_BYTES // max(1, rows * p * self.traits.itemsize))
        # If the number of rows is known, no more memory than that is taken.
        buffers = self._buffers(rows * at_once if n is None else min(rows * at_once, max(n, 1)), names)
        for buffer, table in buffers if self._is_part else read_ahead(buffers):
            filled = len(buffer)
            for i in range(0, filled, rows):
                j = min(i + rows, filled)
                yield buffer[i:j], None if table is None else table.slice(i, j - i)
            done += filled
        if self._n_read not in (None, done):
            raise errors.other_length(done, self._n_read)
        self._n_read = done

    def _buffers(self, capacity: int, names: Sequence[str]) -> Generator[tuple[np.ndarray, Any], None, None]:
        """Full buffers (the last may be shorter), and a table of the columns `names` of their rows, or None."""
        from pyarrow import Table

        p, done, filled = self.shape[1], 0, 0
        buffer = empty_columns(capacity, p, self.dtype, self._memory.empty)
        kept: list[Any] = []
        # A column may be one of the rows and be kept as well.
        for batch in self.batches(list(dict.fromkeys([*self._names, *names])), names):
            start, piece = 0, batch
            while start < batch.num_rows:
                count = min(capacity - filled, batch.num_rows - start)
                piece = batch.slice(start, count)
                for j in range(p):
                    try:
                        fill(buffer[filled : filled + count, j], piece.column(j))
                    except InexactInteger as found:
                        row = self.row_label(self._start + done + filled + found.index)
                        raise errors.inexact_integer(found.value, row, errors.column_label(j, self._names)) from None
                if names:
                    kept.append(piece.select(list(names)))
                start, filled = start + count, filled + count
                if filled == capacity:
                    yield buffer, Table.from_batches(kept) if names else None
                    done, filled, kept = done + filled, 0, []
                    buffer = empty_columns(capacity, p, self.dtype, self._memory.empty)
            del batch, piece
        if filled:
            yield buffer[:filled], Table.from_batches(kept) if names else None

    def column(self, name: str) -> np.ndarray:
        """All entries of one column of the table, of any type, whether it is one of the rows or not. One pass."""
        import pyarrow as pa

        return pa.chunked_array([batch.column(0) for batch in self.batches([name])]).to_numpy()

    @property
    def _names(self) -> list[str]:
        return list(self.names or [])


# pyarrow, which is imported only when it is needed.


def pyarrow(purpose: str) -> Any:
    """The module pyarrow; an error that says what to install, and for what, if it is missing."""
    try:
        import pyarrow
    except ImportError as error:
        raise errors.missing_extra(purpose, "pyarrow", "files") from error
    return pyarrow


# Objects that speak Arrow: record batches and their readers, datasets, lazy frames of polars, relations of DuckDB, and
# everything that exports a stream or an array by Arrow's C interface.
#
# Data frames in memory (pandas, polars, pyarrow.Table) are read as tables and not here.


#: Batches that others make for us have this many rows.
_ROWS = 1 << 16


class ArrowObject(Contents):
    """The columns of an object that speaks Arrow. A subclass says how batches are obtained from one kind of object."""

    #: Whether the rows can be read more than once.
    again = True

    def __init__(self, X: Any, schema: Any) -> None:
        self._X, self.schema, self.names = X, schema, schema.names
        self.label = type(X).__name__
        # Of a data frame of pandas; of other objects, what was an index is a column as all others.
        self.index = index_columns(schema) if is_table(X) else []
        self.numeric = numeric_columns(schema)

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Batches that have these columns, and maybe others."""

    def source(self, columns: Sequence[str]) -> ArrowObjectSource:
        return ArrowObjectSource(self, columns)

    def kind_of(self, name: str) -> ColumnKind:
        return kind_of_column(self.schema.field(name).type)

    def column(self, name: str) -> np.ndarray:
        if not self.again:
            raise errors.needs_second_reading(f"for the column {name!r}, which is read before the rows")
        return self.source([]).column(name)

    def dtype(self, columns: Sequence[str]) -> Any:
        return block_dtype([self.schema.field(name).type for name in columns])

    def open(self, keep: Sequence[str] = (), without: Sequence[str] = ()) -> ArrowObjectSource:
        """The rows of all columns but some; those in `keep` must be there."""
        require_columns(keep, self)
        return self.source(self.choice().without(without).among(self))


class Stream(ArrowObject):
    """A stream that can be read once, such as a RecordBatchReader. The first batch is read at once and kept."""

    again = False

    def __init__(self, X: Any) -> None:
        import pyarrow as pa

        reader = X if isinstance(X, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(X)
        super().__init__(X, reader.schema)
        self._rest: Iterator[Any] | None = iter(reader)
        self.first = next((batch for batch in self._rest if batch.num_rows), None)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        if self._rest is None:
            raise errors.exhausted_stream("on the second reading")
        rest, self._rest = self._rest, None
        if self.first is not None:
            yield self.first
        yield from rest


class Held(ArrowObject):
    """A table in memory that can be exported again and again; its number of rows is known."""

    def __init__(self, X: Any) -> None:
        import pyarrow as pa

        if hasattr(X, "__arrow_c_stream__"):
            self._table = pa.RecordBatchReader.from_stream(X).read_all()
        else:
            # An object that exports a single array, which must be one of structs: a table.
            array = pa.array(X)
            if not pa.types.is_struct(array.type):
                raise errors.bad_ndim(1, (len(array),))
            self._table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(array)])
        super().__init__(X, self._table.schema)
        self.n_rows = self._table.num_rows

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        yield from self._table.select(list(names)).to_batches()


class Dataset(ArrowObject):
    """A dataset of pyarrow, which reads only the columns that are needed."""

    def __init__(self, X: Any) -> None:
        super().__init__(X, X.schema)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        # Its own default holds several files in memory.
        scanner = self._X.scanner(columns=list(names), batch_size=_ROWS, batch_readahead=2, fragment_readahead=1)
        yield from scanner.to_batches()


class LazyFrame(ArrowObject):
    """A lazy frame of polars, whose query runs again in each pass; versions without `collect_batches` collect it."""

    def __init__(self, X: Any) -> None:
        super().__init__(X, X.clear().collect().to_arrow().schema)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        query = self._X.select(list(names))
        frames = query.collect_batches(maintain_order=True) if hasattr(query, "collect_batches") else [query.collect()]
        for frame in frames:
            yield from frame.to_arrow().to_batches()


class Relation(ArrowObject):
    """A relation of DuckDB, whose query runs again in each pass."""

    def __init__(self, X: Any) -> None:
        with _reader(X.limit(0)) as reader:
            super().__init__(X, reader.schema)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        # A connection has one open result at a time, so it is closed even if the caller stops early.
        with _reader(self._X.project(quoted)) as reader:
            yield from reader


def _reader(relation: Any) -> Any:
    """The rows of a relation; the name of the method has changed between versions of DuckDB."""
    read = "to_arrow_reader" if hasattr(type(relation), "to_arrow_reader") else "fetch_arrow_reader"
    return getattr(relation, read)(_ROWS)


def _class_for(X: Any) -> type[Any]:
    """The class that reads an object that speaks Arrow."""
    if nw.dependencies.is_polars_lazyframe(X):
        return LazyFrame
    if type(X).__name__ == "DuckDBPyRelation":
        return Relation
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "scanner"):
        return Dataset
    held = not hasattr(X, "__arrow_c_stream__") or hasattr(X, "num_rows") or hasattr(X, "__len__")
    return Held if held else Stream


def arrow_object(X: Any) -> ArrowObject:
    """The columns of an object that speaks Arrow."""
    pyarrow(f"reading rows from {type(X).__name__}")
    return _class_for(X)(X)


def is_arrow_stream(X: Any) -> bool:
    """Whether an object that speaks Arrow can be read once."""
    return _class_for(X) is Stream


class ArrowObjectSource(ArrowSource):
    """Rows of an object that speaks Arrow. What can be read once is a stream; everything else is read again."""

    def __init__(self, read: ArrowObject, columns: Sequence[str]) -> None:
        n = read.n_rows if isinstance(read, Held) else None
        super().__init__(columns, [read.schema.field(name).type for name in columns], n, rereadable=read.again)
        self._read = read
        if isinstance(read, Stream) and read.first is None:
            raise errors.exhausted_stream("while a minimum of 1 is required")
        if n == 0:
            raise errors.empty(0, len(columns), (0, len(columns)))

    @property
    def first_block(self) -> Source:
        if not isinstance(self._read, Stream):
            return self
        return self._inherit(ArrowObjectSource(Held(self._read.first), self._names))

    def batches(self, names: Sequence[str], carried: Sequence[str] = ()) -> Iterator[Any]:
        n = 0
        for batch in self._read.batches(names):
            n += batch.num_rows
            yield batch.select(list(names))
        if n == 0:
            raise errors.empty(0, len(self._names), (0, len(self._names)))
