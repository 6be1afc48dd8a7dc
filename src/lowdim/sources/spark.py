"""Data frames of Spark: partitions are read by tasks on the executors that hold them, and only summaries travel.

Only the DataFrame API is used, so that Spark Connect works as well as a classic session. Spark is imported only when
such a data frame is opened.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from .. import errors
from .._version import __version__
from .._xp import Array, to_numpy
from ..errors import empty
from .array import ArraySource
from .arrow import ArrowObject
from .base import Source, Traits
from .column_choice import ColumnChoice
from .contents import Contents
from .engines import FAN_IN, Codec, Engine
from .sparse import SparseSource
from .stream import StreamSource

#: The columns of what tasks send: the number of the partition, and a result or the kind and the message of an error.
_RESULT = "part int, payload binary, kind string, message string"


def is_spark(X: Any) -> bool:
    """True for data frames of Spark, of classic sessions and of Spark Connect."""
    return type(X).__module__.startswith("pyspark.sql.") and hasattr(X, "mapInArrow")


# ---- Which columns are the rows


@dataclass(frozen=True)
class Form:
    """How the numbers of a row are stored: in several columns of numbers, or in one column of arrays or vectors."""

    kind: str
    columns: tuple[str, ...]
    #: The number of columns of the rows, and whether all are in single precision.
    width: int
    narrow: bool = False

    @property
    def names(self) -> list[str] | None:
        """The names of the columns of the rows."""
        return list(self.columns) if self.kind == "numbers" else None

    def open(self, batches: Iterator[Any]) -> Source:
        """The rows of batches of Arrow, which hold these columns."""
        if self.kind == "numbers":
            import pyarrow as pa

            first = next(batches)
            reader = pa.RecordBatchReader.from_batches(first.schema, _chained(first, batches))
            return ArrowObject(reader).open()
        unpack = _lists if self.kind == "array" else _vectors
        return StreamSource((unpack(batch.column(0), self) for batch in batches), _open_matrix)

    def sample(self) -> Source:
        """Two made-up rows."""
        dtype = np.float32 if self.narrow else np.float64
        rows = np.arange(2.0 * self.width).reshape(2, self.width).astype(dtype)
        source: Source = ArraySource(rows)
        source.names = self.names
        return source


def form_of(frame: Any) -> Form:
    """The form of the rows of a data frame: all columns of numbers or, if it has none, its one column of arrays or
    vectors. The length of arrays and vectors is that of the first row, which is read."""
    from pyspark.sql import types

    fields = frame.schema.fields
    numbers = [field for field in fields if isinstance(field.dataType, types.NumericType | types.BooleanType)]
    in_one = [field for field in fields if _is_list(field.dataType)]
    lists = [field for field in in_one if isinstance(field.dataType, types.ArrayType)]
    vectors = [
        field for field in fields if _is_list(field.dataType) and not isinstance(field.dataType, types.ArrayType)
    ]
    if numbers:
        narrow = all(isinstance(field.dataType, types.FloatType) for field in numbers)
        return Form("numbers", tuple(field.name for field in numbers), len(numbers), narrow)
    if len(lists) + len(vectors) != 1:
        raise errors.no_spark_columns([f"{field.name} ({field.dataType.simpleString()})" for field in fields])
    (name,) = (field.name for field in lists + vectors)
    first = frame.select(name).first()
    if first is None or first[0] is None:
        raise empty(0, 0, (0, 0))
    narrow = bool(lists) and isinstance(lists[0].dataType.elementType, types.FloatType)
    return Form("array" if lists else "vector", (name,), len(first[0]), narrow)


def _is_list(kind: Any) -> bool:
    """True for the types of arrays of numbers and of vectors."""
    from pyspark.sql import types

    return type(kind).__name__ == "VectorUDT" or (
        isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.NumericType)
    )


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _open_matrix(block: Any) -> Source:
    return SparseSource(block) if sparse.issparse(block) else ArraySource(block)


def _lists(column: Any, form: Form) -> np.ndarray:
    """Rows that are lists of numbers; a list that is missing, or has another length, is an error."""
    lengths = column.value_lengths()
    if column.null_count or set(lengths.unique().to_pylist()) != {form.width}:
        raise errors.ragged_column(form.columns[0], form.width)
    values = column.flatten().to_numpy(zero_copy_only=False)
    return values.astype(np.float32 if form.narrow else np.float64, copy=False).reshape(-1, form.width)


def _vectors(column: Any, form: Form) -> Any:
    """Rows that are vectors of Spark ML: CSR if one of them is sparse."""
    if column.null_count:
        raise errors.ragged_column(form.columns[0], form.width)
    kinds = column.field("type").to_numpy(zero_copy_only=False)
    values = column.field("values")
    lengths = values.value_lengths().to_numpy(zero_copy_only=False)
    data = values.flatten().to_numpy(zero_copy_only=False)
    if kinds.all():
        if set(lengths.tolist()) != {form.width}:
            raise errors.ragged_column(form.columns[0], form.width)
        return data.reshape(-1, form.width)
    sizes = column.field("size").to_pylist()
    stored = column.field("indices").to_pylist()
    for kind, size, length in zip(kinds, sizes, lengths, strict=True):
        if (int(length) if kind else size) != form.width:
            raise errors.ragged_column(form.columns[0], form.width)
    every = np.arange(form.width)
    indices = [every if kind else np.asarray(at) for kind, at in zip(kinds, stored, strict=True)]
    edges = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((data, np.concatenate(indices), edges), shape=(len(kinds), form.width))


# ---- The source


class SparkContents(Contents):
    """The columns of a data frame of Spark. By default, all columns of numbers are the rows."""

    choice = ColumnChoice
    label = "the data frame"

    def __init__(self, frame: Any) -> None:
        from pyspark.sql import types

        self._frame, self.names = frame, list(frame.columns)
        kinds = {field.name: field.dataType for field in frame.schema.fields}
        numbers = [name for name in self.names if isinstance(kinds[name], types.NumericType | types.BooleanType)]
        #: Columns of arrays and vectors count as numbers if there are no others.
        self.numeric = numbers or [name for name in self.names if _is_list(kinds[name])]

    def source(self, columns: Sequence[str]) -> SparkSource:
        return SparkSource(self._frame, columns)

    def column(self, name: str) -> np.ndarray:
        raise errors.no_order(f"the entries of column {name!r}")

    def dtype(self, columns: Sequence[str]) -> Any:
        return form_of(self._frame.select(*map(_quoted, columns))).sample().dtype


class SparkSource(Source):
    """Rows of a data frame of Spark; each partition is read by a task.

    Notes
    -----
    Opening counts the rows and the partitions, in one job. Rows have no order: they are read as partitions give them.
    As usual in Spark, each pass computes the data frame again; `df.cache()` keeps it in the memory of the executors.
    """

    def __init__(self, frame: Any, columns: Sequence[str] | None = None) -> None:
        from pyspark.sql import functions

        #: All columns, which `transform` keeps; and those that are the rows.
        self.frame = frame
        self.layout = form_of(frame if columns is None else frame.select(*map(_quoted, columns)))
        counts = frame.select(functions.spark_partition_id().alias("part")).groupBy("part").count().collect()
        n = sum(row["count"] for row in counts)
        if n == 0:
            raise empty(n, self.layout.width, (n, self.layout.width))
        #: One more than the largest number of a partition.
        self.n_partitions = 1 + max(row["part"] for row in counts)
        self._sample = sample = self.layout.sample()
        self.shape, self.names = (n, self.layout.width), self.layout.names
        self.kind, self.dtype = "spark", sample.dtype
        self.traits = Traits(engine=SPARK, by_feature=False, in_memory=False, itemsize=sample.traits.itemsize)

    def blocks(self, rows: int) -> Iterator[Array]:
        return self._here().blocks(rows)

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        return _Partition(self)

    @property
    def first_block(self) -> Source:
        """A source of two made-up rows."""
        return self._sample

    def empty(self, *shape: int) -> Array:
        return self._sample.empty(*shape)

    @property
    def rows(self) -> Any:
        """The data frame with only the columns that are the rows."""
        return self.frame.select(*map(_quoted, self.layout.columns))

    def _here(self) -> Source:
        """The rows in the memory of this process."""
        return self.layout.open(iter(self.rows.toArrow().to_batches()))


def _quoted(name: str) -> str:
    """The name of a column for Spark, in which dots and blanks have no meaning."""
    return "`" + name.replace("`", "``") + "`"


# ---- What is sent to the executors


@dataclass(frozen=True)
class _Call:
    """A call that is made on the executor."""

    function: Callable[..., Any]
    arguments: list[Any]
    named: dict[str, Any]


class _Rows:
    """Stands for the rows of the partition."""


@dataclass(frozen=True)
class _Partition:
    """Stands for the rows of a partition of a source, until it is known that there is one source only."""

    source: SparkSource


def _lazy(function: Callable[..., Any]) -> Callable[..., _Call]:
    return lambda *arguments, **named: _Call(function, list(arguments), named)


def _recipe(source: Source) -> tuple[Any, SparkSource]:
    """How a source is made of the rows of a partition, and the source that these belong to."""
    found: list[SparkSource] = []

    def sent(value: Any) -> Any:
        if isinstance(value, _Partition):
            found.append(value.source)
            return _Rows()
        if isinstance(value, _Call):
            return _Call(value.function, sent(value.arguments), {k: sent(v) for k, v in value.named.items()})
        return [sent(item) for item in value] if isinstance(value, list) else value

    recipe = sent(source.elsewhere(_lazy))
    return recipe, found[0]


def _made(recipe: Any, rows: Source) -> Any:
    """The source of a recipe, made of these rows."""
    if isinstance(recipe, _Rows):
        return rows
    if isinstance(recipe, _Call):
        arguments = [_made(item, rows) for item in recipe.arguments]
        return recipe.function(*arguments, **{k: _made(v, rows) for k, v in recipe.named.items()})
    return [_made(item, rows) for item in recipe] if isinstance(recipe, list) else recipe


@dataclass(frozen=True)
class _Summing:
    """Gives the result of a task for one partition, or the error that it raised: Spark would run a task that fails
    several times, and lose the kind of the error."""

    layout: Form
    recipe: Any
    task: Callable[..., Any]
    codec: Codec
    version: str = __version__

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        with_rows = (batch for batch in batches if batch.num_rows)
        first = next(with_rows, None)
        if first is None:
            return
        try:
            if self.version != __version__:
                raise errors.other_version(self.version, __version__, "an executor of Spark")
            source = _made(self.recipe, self.layout.open(_chained(first, with_rows)))
            yield _message(part, payload=self.codec.encode(self.task(source, 0, None)))
        except Exception as error:
            yield _message(part, error=error, note=f" The row is counted within partition {part}.")


def _merging(merge: Callable[[list[Any]], Any], codec: Codec) -> Callable[[Any], Any]:
    """The function that merges what several partitions sent, in their order."""

    # Spark counts the arguments of a function, and takes `self` for one of them.
    def join(table: Any) -> Any:
        import pyarrow as pa

        rows = sorted(table.to_pylist(), key=lambda row: row["part"])
        part = rows[0]["part"] // FAN_IN
        failed = next((row for row in rows if row["kind"] is not None), None)
        if failed is not None:
            return pa.Table.from_pylist([{**failed, "part": part}], schema=_schema())
        merged = codec.encode(merge([codec.decode(row["payload"]) for row in rows]))
        return pa.Table.from_batches([_message(part, payload=merged)])

    return join


def _schema() -> Any:
    import pyarrow as pa

    return pa.schema([("part", pa.int32()), ("payload", pa.binary()), ("kind", pa.string()), ("message", pa.string())])


def _message(part: int, payload: bytes | None = None, error: Exception | None = None, note: str = "") -> Any:
    """One row for Spark: a result, or an error with the sentence that says where the first missing value is."""
    import pyarrow as pa

    kind = None if error is None else type(error).__name__
    text = None if error is None else f"{error}{note}"
    if isinstance(error, errors.MissingValues):
        payload = error.where.encode()
    row = {"part": part, "payload": payload, "kind": kind, "message": text}
    return pa.RecordBatch.from_pylist([row], schema=_schema())


def _error(kind: str, message: str, payload: bytes | None) -> Exception:
    """The error that a task raised."""
    cls = getattr(errors, kind, getattr(builtins, kind, None))
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        return RuntimeError(f"a task of Spark failed with {kind}: {message}")
    error = cls(message)
    if isinstance(error, errors.MissingValues) and payload is not None:
        error.where = bytes(payload).decode()
    return error


class SparkEngine(Engine):
    """A session of Spark, classic or by Spark Connect."""

    name = "Spark"
    keeping = "df.cache()"
    ordered = False

    def merged(
        self,
        source: Source,
        task: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        *,
        along: Array | None = None,
        least: int = 1,
        codec: Codec | None = None,
        told: Callable[[int], None] | None = None,
        tick: Callable[[], None] | None = None,
    ) -> Any:
        from pyspark.sql import functions

        assert codec is not None, "results travel as bytes"
        recipe, base = _recipe(source)
        if told is not None:
            told(base.n_partitions)
        frame = base.rows.mapInArrow(_Summing(base.layout, recipe, task, codec), _RESULT)
        join, n = _merging(merge, codec), base.n_partitions
        while n > 1:
            bucket = functions.floor(functions.col("part") / FAN_IN).cast("int").alias("bucket")
            frame = frame.select("*", bucket).groupBy("bucket").applyInArrow(join, _RESULT)
            n = -(-n // FAN_IN)
        rows = sorted(frame.collect(), key=lambda row: row["part"])
        failed = next((row for row in rows if row["kind"] is not None), None)
        if failed is not None:
            raise _error(failed["kind"], failed["message"], failed["payload"])
        if tick is not None:
            for _ in range(base.n_partitions):
                tick()
        # A plan that is not the same each time may have more partitions than were counted.
        results = [codec.decode(bytes(row["payload"])) for row in rows]
        return results[0] if len(results) == 1 else merge(results)

    def mapped(
        self, source: Source, task: Callable[..., Array], like: Array, names: Callable[[], Sequence[str]] | None
    ) -> Any:
        """The data frame with the results as further columns."""
        from pyspark.sql import functions

        recipe, base = _recipe(source)
        columns = ["result"] if names is None else list(names())
        if taken := [name for name in columns if name in base.frame.columns]:
            raise errors.column_exists(taken)
        kind = "float" if like.dtype == np.float32 else "double"
        add = functions.arrow_udf(
            _mapping(base.layout, recipe, task, columns),
            "struct<" + ",".join(f"{_quoted(name)}:{kind}" for name in columns) + ">",
        )
        given = functions.struct(*map(_quoted, base.layout.columns))
        with_results = base.frame.select("*", add(given).alias(_RESULTS))
        added = [functions.col(_RESULTS)[name].alias(name) for name in columns]
        return with_results.select(*[with_results[_quoted(name)] for name in base.frame.columns], *added)

    def in_turn(self, source: Source, task: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
        raise errors.write_with_spark()


#: The column of the results before they are columns of their own.
_RESULTS = "lowdim results"

SPARK = SparkEngine()


def _mapping(form: Form, recipe: Any, task: Callable[..., Array], names: list[str]) -> Callable[..., Any]:
    """The function of Arrow arrays that gives the results of a task as structs, one for each row."""
    import pyarrow as pa

    def add(arrays: Any) -> Any:
        return map(partial(_results, form, recipe, task, names), arrays)

    # Spark looks at the annotations, which must not be text.
    add.__annotations__ = {"arrays": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return add


def _results(form: Form, recipe: Any, task: Callable[..., Array], names: list[str], rows: Any) -> Any:
    """The results for a batch of rows."""
    import pyarrow as pa

    if len(rows) == 0:
        return pa.StructArray.from_arrays([pa.array([], pa.float64()) for _ in names], names)
    batch = pa.RecordBatch.from_struct_array(rows)
    found = to_numpy(task(_made(recipe, form.open(iter([batch]))), 0, None)).reshape(len(rows), len(names))
    return pa.StructArray.from_arrays([pa.array(np.ascontiguousarray(column)) for column in found.T], names)
