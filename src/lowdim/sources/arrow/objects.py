"""Objects that speak Arrow: record batches and their readers, datasets, lazy frames of polars, relations of DuckDB, and
everything that exports a stream or an array by Arrow's C interface.

Data frames in memory (pandas, polars, pyarrow.Table) are read as tables and not here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from ...errors import bad_ndim, empty, exhausted_stream, needs_second_reading
from ..base import Source
from ..column_choice import ColumnChoice, require_columns
from ..contents import Contents
from ..table import is_column, is_table
from .columns import block_dtype, index_columns, numeric_columns
from .library import pyarrow
from .source import ArrowSource

#: Batches that others make for us have this many rows.
_ROWS = 1 << 16


class Producer(ABC):
    """How batches are obtained from one kind of object."""

    #: Whether the rows can be read more than once.
    again = True
    #: The number of rows, if it is known beforehand.
    n: int | None = None

    def __init__(self, X: Any) -> None:
        self._X = X

    @property
    @abstractmethod
    def schema(self) -> Any:
        """Names and types of all columns. No row is read."""

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Batches that have these columns, and maybe others."""


class Stream(Producer):
    """A stream that can be read once, such as a RecordBatchReader. The first batch is read at once and kept."""

    again = False

    def __init__(self, X: Any) -> None:
        super().__init__(X)
        import pyarrow as pa

        self._reader = X if isinstance(X, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(X)
        self._rest: Iterator[Any] | None = iter(self._reader)
        self.first = next((batch for batch in self._rest if batch.num_rows), None)

    @property
    def schema(self) -> Any:
        return self._reader.schema

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        if self._rest is None:
            raise exhausted_stream("on the second reading")
        rest, self._rest = self._rest, None
        if self.first is not None:
            yield self.first
        yield from rest


class Held(Producer):
    """A table in memory that can be exported again and again; its number of rows is known."""

    def __init__(self, X: Any) -> None:
        import pyarrow as pa

        if hasattr(X, "__arrow_c_stream__"):
            super().__init__(pa.RecordBatchReader.from_stream(X).read_all())
        else:
            super().__init__(pa.Table.from_batches([_as_batch(X)]))
        self.n = self._X.num_rows

    @property
    def schema(self) -> Any:
        return self._X.schema

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        yield from self._X.select(list(names)).to_batches()


class Dataset(Producer):
    """A dataset of pyarrow, which reads only the columns that are needed."""

    @property
    def schema(self) -> Any:
        return self._X.schema

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        # Its own default holds several files in memory.
        scanner = self._X.scanner(columns=list(names), batch_size=_ROWS, batch_readahead=2, fragment_readahead=1)
        yield from scanner.to_batches()


class LazyFrame(Producer):
    """A lazy frame of polars, whose query runs again in each pass; versions without `collect_batches` collect it."""

    @property
    def schema(self) -> Any:
        return self._X.clear().collect().to_arrow().schema

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        query = self._X.select(list(names))
        frames = query.collect_batches(maintain_order=True) if hasattr(query, "collect_batches") else [query.collect()]
        for frame in frames:
            yield from frame.to_arrow().to_batches()


class Relation(Producer):
    """A relation of DuckDB, whose query runs again in each pass."""

    @property
    def schema(self) -> Any:
        with _reader(self._X.limit(0)) as reader:
            return reader.schema

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        # A connection has one open result at a time, so it is closed even if the caller stops early.
        with _reader(self._X.project(quoted)) as reader:
            yield from reader


def _reader(relation: Any) -> Any:
    """The rows of a relation; the name of the method has changed between versions of DuckDB."""
    read = "to_arrow_reader" if hasattr(type(relation), "to_arrow_reader") else "fetch_arrow_reader"
    return getattr(relation, read)(_ROWS)


def _as_batch(X: Any) -> Any:
    """An object that exports a single array, which must be one of structs: a table."""
    import pyarrow as pa

    array = pa.array(X)
    if not pa.types.is_struct(array.type):
        raise bad_ndim(1, (len(array),))
    return pa.RecordBatch.from_struct_array(array)


def is_arrow_object(X: Any) -> bool:
    """True for objects with columns that speak Arrow, apart from data frames in memory."""
    if isinstance(X, type) or is_column(X):
        return False
    if type(X).__module__.startswith("pyarrow"):
        # Arrays have a type and no schema.
        return hasattr(X, "schema") and (_exports(X) or hasattr(X, "scanner"))
    return _exports(X) or _is_lazy_frame(X) or _is_relation(X)


def _exports(X: Any) -> bool:
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")


def _is_lazy_frame(X: Any) -> bool:
    return bool(nw.dependencies.is_polars_lazyframe(X))


def _is_relation(X: Any) -> bool:
    return type(X).__name__ == "DuckDBPyRelation"


def _is_dataset(X: Any) -> bool:
    return type(X).__module__.startswith("pyarrow") and hasattr(X, "scanner")


def _is_held(X: Any) -> bool:
    return not hasattr(X, "__arrow_c_stream__") or hasattr(X, "num_rows") or hasattr(X, "__len__")


#: Pairs of a test and what reads every object that passes it. The first test that an object passes decides.
PRODUCERS = [(_is_lazy_frame, LazyFrame), (_is_relation, Relation), (_is_dataset, Dataset), (_is_held, Held)]


def is_arrow_stream(X: Any) -> bool:
    """Whether an object that speaks Arrow can be read once."""
    return _producer(X) is Stream


def _producer(X: Any) -> type[Producer]:
    """The class that reads an object that speaks Arrow."""
    return next((make for fits, make in PRODUCERS if fits(X)), Stream)


class ArrowObject(Contents):
    """The columns of an object that speaks Arrow."""

    choice = ColumnChoice

    def __init__(self, X: Any) -> None:
        pyarrow(f"reading rows from {type(X).__name__}")
        self.label = type(X).__name__
        self._producer = _producer(X)(X)
        self._schema = self._producer.schema
        self.names = self._schema.names
        # Of a data frame of pandas; of other objects, what was an index is a column as all others.
        self.index = index_columns(self._schema) if is_table(X) else []
        self.numeric = numeric_columns(self._schema)

    def source(self, columns: Sequence[str]) -> ArrowObjectSource:
        return ArrowObjectSource(self._producer, self._schema, columns)

    def column(self, name: str) -> np.ndarray:
        if not self._producer.again:
            raise needs_second_reading(f"for the column {name!r}, which is read before the rows")
        return self.source([]).column(name)

    def dtype(self, columns: Sequence[str]) -> Any:
        return block_dtype([self._schema.field(name).type for name in columns])

    def open(self, keep: Sequence[str] = (), without: Sequence[str] = ()) -> ArrowObjectSource:
        """The rows of all columns but some; those in `keep` must be there."""
        require_columns(keep, self)
        return self.source(self.choice().without(without).among(self))


class ArrowObjectSource(ArrowSource):
    """Rows of an object that speaks Arrow. What can be read once is a stream; everything else is read again."""

    def __init__(self, producer: Producer, schema: Any, columns: Sequence[str]) -> None:
        kinds = [schema.field(name).type for name in columns]
        super().__init__(columns, kinds, producer.n, rereadable=producer.again)
        self._producer, self._schema = producer, schema
        if isinstance(producer, Stream) and producer.first is None:
            raise exhausted_stream("while a minimum of 1 is required")
        if producer.n == 0:
            raise empty(0, len(columns), (0, len(columns)))

    @property
    def first_block(self) -> Source:
        if not isinstance(self._producer, Stream):
            return self
        return self._inherit(ArrowObjectSource(Held(self._producer.first), self._schema, self._names))

    def batches(self, names: Sequence[str], carried: Sequence[str] = ()) -> Iterator[Any]:
        n = 0
        for batch in self._producer.batches(names):
            n += batch.num_rows
            yield batch.select(list(names))
        if n == 0:
            raise empty(0, len(self._names), (0, len(self._names)))
