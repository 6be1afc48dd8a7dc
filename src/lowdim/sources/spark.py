"""Data frames of Spark: partitions are read by tasks on the executors that hold them, and only summaries travel.

Only the DataFrame API is used, so that Spark Connect works as well as a classic session.
"""

from __future__ import annotations

import builtins
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .. import errors
from .._core import __version__
from .._core.arrays import Array, to_numpy
from .base import FAN_IN, Argument, Engine, Merge, Source, Task, Tick, Traits, made
from .scan import ColumnKind, Contents
from .spark_column import CarriedColumn, base_of
from .spark_jobs import Form, collected, form_of, in_plain_words, is_list, is_number, kind_of_type, n_cores, quoted

# What is sent to the executors of Spark, and what they send back.


#: The columns of what tasks send: the number of the partition, and a result or the kind and the message of an error.
RESULT = "part int, payload binary, kind string, message string"


# ---- How a source is made on the executor


#: The numbers, in recipes, of the rows of the partition and of the weights that go along with them.
_ROWS, _ALONG = 0, 1


def recipe_of(source: Source) -> tuple[Any, Any]:
    """How a source is made of the rows of a partition and their weights, and the source of the data frame that these
    belong to."""
    found: dict[int, Any] = {}

    def place(value: Any) -> Any:
        if isinstance(value, SparkSource):
            found[id(value)] = value
            return Argument(_ROWS)
        return Argument(_ALONG) if isinstance(value, CarriedColumn) else value

    recipe = source.elsewhere(place)
    if len(found) > 1:
        raise errors.no_order("two tables")
    return recipe, next(iter(found.values()))


class Arriving:
    """Weights of the rows of a partition, which are known as far as its batches have been read."""

    def __init__(self, dtype: Any) -> None:
        self._held, self._n = np.empty(1 << 10, dtype=dtype), 0

    @property
    def shape(self) -> tuple[int]:
        return (self._n,)

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self._held[: self._n][rows]

    def append(self, values: np.ndarray) -> None:
        """Add the weights of the next rows."""
        n = self._n + len(values)
        if n > len(self._held):
            self._held = np.concatenate([self._held, np.empty(n, dtype=self._held.dtype)])
        self._held[self._n : n] = values
        self._n = n


#: At most this many partitions are named one by one.
_NAMED = 3


class Places:
    """Names the rows of a task in messages, by their partition and their number in it.

    Parameters
    ----------
    number : int
        The partition whose rows the task reads; if it reads several, `append` says which.
    """

    def __init__(self, number: int) -> None:
        #: The partitions that have been read, the first row of each, and those of the last rows that were appended.
        self._numbers, self._starts, self._last = [number], [0], [number]
        self._n = 0

    def append(self, numbers: np.ndarray) -> None:
        """Note the partitions of the next rows."""
        starts = np.concatenate([[0], 1 + np.flatnonzero(np.diff(numbers))])
        self._last = [int(numbers[i]) for i in starts]
        if self._n == 0:
            self._numbers, self._starts = [], []
        for i, number in zip(starts, self._last, strict=True):
            if not self._numbers or number != self._numbers[-1]:
                self._numbers.append(number)
                self._starts.append(self._n + int(i))
        self._n += len(numbers)

    def row_label(self, i: int, column: int = 0) -> str:
        """The row in messages."""
        k = bisect_right(self._starts, i) - 1
        return f"row {i - self._starts[k]} of partition {self._numbers[k]}"

    def sentence(self) -> str:
        """Where the last rows that were read belong. If there are several partitions, the next may have been read."""
        if self._n == 0:
            return f" This is in partition {self._numbers[0]}."
        if len(self._last) <= _NAMED:
            return f" This is in or near partition {' or '.join(map(str, self._last))}."
        return f" This is in or near one of the partitions {min(self._last)} to {max(self._last)}."


@dataclass(frozen=True)
class Summing:
    """Gives the result of a task for one or more partitions, or the error that it raised: Spark would run a task that
    fails several times, and lose the kind of the error."""

    layout: Form
    recipe: Any
    task: Task
    codec: Any
    #: Whether a column of weights follows those of the rows.
    weighted: bool
    #: Whether the task reads several partitions; then the last column holds the number of the partition.
    joined: bool
    version: str = __version__

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        with_rows = (batch for batch in batches if batch.num_rows)
        first = next(with_rows, None)
        if first is None:
            return
        places = Places(part)
        try:
            if self.version != __version__:
                raise errors.other_version(self.version, __version__, "an executor of Spark")
            along = Arriving(self.layout.dtype) if self.weighted else None
            rows = self.layout.open(self._rows_only(chain([first], with_rows), along, places))
            rows.origin = places
            found = self.task(made(self.recipe, [rows, along]), 0, along)
            yield message(part, payload=self.codec.encode(found))
        except Exception as error:
            yield message(part, error=error, note="" if " of partition " in str(error) else places.sentence())

    def _rows_only(self, batches: Iterator[Any], along: Arriving | None, places: Places) -> Iterator[Any]:
        """Batches with only the columns of the rows: what else they hold is noted."""
        for batch in batches:
            columns = batch.columns
            if self.joined:
                places.append(columns.pop().to_numpy())
            if along is not None:
                along.append(columns.pop().to_numpy(zero_copy_only=False))
            yield batch.select(list(range(len(columns))))


# ---- What comes back


def merging(merge: Merge, codec: Any) -> Callable[[Any], Any]:
    """The function that merges what several partitions sent, in their order."""

    # Spark counts the arguments of a function, and takes `self` for one of them.
    def join(table: Any) -> Any:
        import pyarrow as pa

        rows = sorted(table.to_pylist(), key=lambda row: row["part"])
        part = rows[0]["part"] // FAN_IN
        failed = next((row for row in rows if row["kind"] is not None), None)
        if failed is not None:
            row = {name: failed[name] for name in ("payload", "kind", "message")}
            return pa.Table.from_pylist([{**row, "part": part}], schema=_schema())
        merged = codec.encode(merge([codec.decode(row["payload"]) for row in rows]))
        return pa.Table.from_batches([message(part, payload=merged)])

    return join


def _schema() -> Any:
    import pyarrow as pa

    return pa.schema([("part", pa.int32()), ("payload", pa.binary()), ("kind", pa.string()), ("message", pa.string())])


def message(part: int, payload: bytes | None = None, error: Exception | None = None, note: str = "") -> Any:
    """One row for Spark: a result, or an error with the sentence that says where the first missing value is."""
    import pyarrow as pa

    if isinstance(error, MemoryError):
        # NumPy has a class of its own for it.
        error = errors.executor_memory(str(error))
    kind = None if error is None else type(error).__name__
    text = None if error is None else f"{error}{note}"
    if isinstance(error, errors.MissingValues):
        payload = error.where.encode()
    row = {"part": part, "payload": payload, "kind": kind, "message": text}
    return pa.RecordBatch.from_pylist([row], schema=_schema())


def result_of(row: Any, codec: Any) -> Any:
    """The result that a row holds; the error that it holds is raised."""
    if row["kind"] is None:
        return codec.decode(bytes(row["payload"]))
    kind, text = row["kind"], row["message"]
    cls = getattr(errors, kind, getattr(builtins, kind, None))
    if not (isinstance(cls, type) and issubclass(cls, Exception)):
        raise RuntimeError(f"a task of Spark failed with {kind}: {text}")
    error = cls(text)
    if isinstance(error, errors.MissingValues) and row["payload"] is not None:
        error.where = bytes(row["payload"]).decode()
    raise error


# The engine of data frames of Spark: what its executors do with the rows.


#: The column of the results before they are columns of their own, that of weights, and that of partitions.
_RESULTS, _WEIGHTS, _PARTITION = "lowdim results", "lowdim weights", "lowdim partition"


class SparkEngine(Engine):
    """A session of Spark, classic or by Spark Connect."""

    name = "Spark"
    keeping = "df.cache()"
    ordered = False

    def merged(
        self, source: Source, task: Task, merge: Merge, *, along: Any, least: int, codec: Any, on_start: Any, tick: Tick
    ) -> Any:
        from pyspark.sql import functions

        recipe, base = recipe_of(source)
        others = []
        if along is not None:
            if not isinstance(along, CarriedColumn):
                raise errors.no_order("entries of an array")
            others.append(along.column.cast("float" if base.layout.narrow else "double").alias(_WEIGHTS))
        n = n_tasks = base.n_tasks
        if on_start is not None:
            on_start(n)
        joined = n_tasks < base.counts.n_partitions
        if joined:
            others.append(functions.spark_partition_id().alias(_PARTITION))
        rows = base.selected(base.sent, *others)
        if joined:
            rows = rows.coalesce(n_tasks)
        frame = rows.mapInArrow(Summing(base.sent, recipe, task, codec, along is not None, joined), RESULT)
        join = merging(merge, codec)
        while n > 1:
            bucket = functions.floor(functions.col("part") / FAN_IN).cast("int").alias("bucket")
            frame = frame.select("*", bucket).groupBy("bucket").applyInArrow(join, RESULT)
            n = -(-n // FAN_IN)
        with in_plain_words(base):
            found = sorted(collected(frame, n_tasks, tick), key=lambda row: row["part"])
        # A plan that is not the same each time may have more partitions than were counted.
        results = [result_of(row, codec) for row in found]
        return results[0] if len(results) == 1 else merge(results)

    def mapped(self, source: Source, task: Task, like: Array, names: Any, *, replaces: bool = False) -> Any:
        """The data frame with the results as further columns."""
        from pyspark.sql import functions

        recipe, base = recipe_of(source)
        columns = ["result"] if names is None else list(names())
        if len(columns) != (1 if like.ndim == 1 else like.shape[1]):
            # The caller would make an array of several results for each row.
            raise errors.no_array_of_rows()
        kept = base.frame.columns
        there = [name for name in columns if name in kept]
        if there and not (replaces and set(there) <= set(base.layout.columns)):
            raise ValueError(
                f"the data frame already has columns with the names of the results, {errors.list_names(there)}; drop "
                "or rename them first."
            )
        kind = "float" if like.dtype == np.float32 else "double"
        fields = [f"r{i}" for i in range(len(columns))]
        add = functions.arrow_udf(
            _mapping(base.layout, recipe, task, fields), "struct<" + ",".join(f"{name}:{kind}" for name in fields) + ">"
        )
        given = functions.struct(*base.layout.selection())
        # All columns that are there are kept as they are, whatever their types and names.
        found = base.frame.select("*", add(given).alias(_RESULTS))
        results = functions.col(quoted(_RESULTS))
        added = {name: results[field].alias(name) for name, field in zip(columns, fields, strict=True)}
        if there:
            in_place = [added.pop(name) if name in added else functions.col(quoted(name)) for name in kept]
            return found.select(*in_place, *added.values())
        return found.select("*", *added.values()).drop(_RESULTS)

    def hashed(self, source: Source, k: int, seed: int) -> CarriedColumn:
        # The number is the same for equal rows, however they are divided among partitions.
        from pyspark.sql import functions

        base = base_of(source)
        key = functions.xxhash64(functions.lit(seed), *(functions.col(quoted(name)) for name in base.layout.columns))
        return CarriedColumn(base.frame, functions.pmod(key, functions.lit(k)), f"a hash of the rows modulo {k}")

    def in_turn(self, source: Source, task: Task) -> Iterator[Callable[[], Any]]:
        raise TypeError(
            "results for a data frame of Spark are columns of a data frame, which Spark writes: "
            "model.transform(df).write.parquet(path)."
        )


SPARK = SparkEngine()


def _mapping(form: Form, recipe: Any, task: Task, names: list[str]) -> Callable[..., Any]:
    """The function of Arrow arrays that gives the results of a task as structs, one for each row."""
    import pyarrow as pa

    def add(arrays: Any) -> Any:
        return map(partial(_results, form, recipe, task, names), arrays)

    # Spark looks at the annotations, which must not be text.
    add.__annotations__ = {"arrays": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return add


def _results(form: Form, recipe: Any, task: Task, names: list[str], rows: Any) -> Any:
    """The results for a batch of rows."""
    import pyarrow as pa

    if len(rows) == 0:
        return pa.StructArray.from_arrays([pa.array([], pa.float64()) for _ in names], names)
    batch = pa.RecordBatch.from_struct_array(rows)
    found = to_numpy(task(made(recipe, [form.open(iter([batch])), None]), 0, None)).reshape(len(rows), len(names))
    return pa.StructArray.from_arrays([pa.array(np.ascontiguousarray(column)) for column in found.T], names)


# The rows of a data frame of Spark.


#: Partitions that Spark keeps in memory are read by fewer tasks if they are smaller than this, but by at least one for
#: each core.
_TASK_BYTES = 256 << 20


class SparkContents(Contents):
    """The columns of a data frame of Spark. By default, all columns of numbers are the rows."""

    label = "the data frame"
    ordered = False

    def __init__(self, frame: Any) -> None:
        self._frame, self.names = frame, list(frame.columns)
        kinds = [(field.name, field.dataType) for field in frame.schema.fields]
        numbers = [name for name, kind in kinds if is_number(kind)]
        #: Columns of arrays and vectors count as numbers if there are no others.
        self.numeric = numbers or [name for name, kind in kinds if is_list(kind)]

    def source(self, columns: Sequence[str]) -> SparkSource:
        return SparkSource(self._frame, columns)

    def keeping(self, columns: Sequence[str], names: Sequence[str]) -> SparkSource:
        return SparkSource(self._frame, columns, names)

    def kind_of(self, name: str) -> ColumnKind:
        return kind_of_type(self._frame.schema[name].dataType)

    def column(self, name: str) -> Any:
        return CarriedColumn(self._frame, name, f"column {name!r}")

    def dtype(self, columns: Sequence[str]) -> Any:
        return form_of(self._frame.select(*map(quoted, columns))).dtype


class SparkSource(Source):
    """Rows of a data frame of Spark; each partition, or several small ones that are cached, is read by a task.

    Parameters
    ----------
    frame : data frame of Spark
    columns : sequence of str, optional
        The columns that are the rows; all columns of numbers by default.
    keep : sequence of str
        Columns of any type that are carried along: `blocks_keeping` gives them.

    Notes
    -----
    The rows and the partitions are counted, by one job, when their number is first asked for. Rows have no order: they
    are read as partitions give them. As usual in Spark, each pass computes the data frame again; `df.cache()` keeps it
    in the memory of the executors.
    """

    def __init__(self, frame: Any, columns: Sequence[str] | None = None, keep: Sequence[str] = ()) -> None:
        #: All columns, which `transform` keeps.
        self.frame = frame
        #: Which of them are the rows, and how they are stored.
        self.layout = form_of(frame if columns is None else frame.select(*map(quoted, columns)), keep)
        self._carried: tuple[CarriedColumn, ...] = ()
        self._describe()

    def _describe(self) -> None:
        """Set the attributes that follow from the layout."""
        self._sample = sample = self.layout.sample()
        self.names, self.kind, self.dtype = self.layout.names, "spark", sample.dtype
        stored = self.layout.stored
        how: Any = {"engine": SPARK, "by_feature": False, "in_memory": False, "itemsize": sample.traits.itemsize}
        self.traits = Traits(**how, sparse=stored is not None, stored=stored or 1.0)

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return _Shape(self)

    @cached_property
    def counts(self) -> _Counts:
        """The numbers of rows and partitions, from one job."""
        from pyspark.sql import functions

        # Vectors are looked at only where they need not be computed for that.
        kind = self.layout.type_of_vectors() if self._is_kept else None
        kind = functions.lit(0) if kind is None else kind
        parts = self.frame.select(functions.spark_partition_id().alias("part"), kind.alias("kind"))
        counted = parts.agg(functions.count("*"), functions.max("part"), functions.min("kind"))
        with in_plain_words(self):
            n, last, least = counted.collect()[0]
        p = self.layout.total_width
        if n == 0:
            raise errors.empty(n, p, (n, p))
        return _Counts(n, 1 + last, least == 1)

    @cached_property
    def _is_kept(self) -> bool:
        """Whether the data frame is in the memory of the executors, or will be there once it has been read."""
        return bool(self.frame.storageLevel.useMemory)

    @property
    def sent(self) -> Form:
        """The form in which rows are sent to be summed up."""
        return self.layout.all_dense() if self.counts.all_dense else self.layout

    @cached_property
    def n_tasks(self) -> int:
        """The number of tasks of a pass.

        It is that of the partitions, or less if these are small and in the memory of the executors: Spark needs up to
        0.1 s to begin a task in Python, in which a core sums up 50 MB of rows. Where rows are computed when they are
        read, all partitions are left to Spark, since that may take any time.
        """
        n, parts, _ = self.counts
        at_least = math.ceil(n * self.layout.total_width * self.traits.itemsize * self.traits.stored / _TASK_BYTES)
        if parts <= at_least or not self._is_kept:
            return parts
        return min(parts, max(at_least, n_cores(self.frame.sparkSession)))

    def blocks(self, rows: int) -> Iterator[Array]:
        return (block for block, _ in self.blocks_keeping(rows, ()))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        # All rows are brought to this process.
        with in_plain_words(self):
            batches = self.selected(self.layout).toArrow().to_batches()
        return self.layout.open(iter(batches)).blocks_keeping(rows, names)

    def elsewhere(self, place: Callable[[Any], Any]) -> Any:
        return place(self)

    @property
    def first_block(self) -> Source:
        """A source of two made-up rows."""
        return self._sample

    def empty(self, *shape: int) -> Array:
        return self._sample.empty(*shape)

    def selected(self, form: Form, *others: Any) -> Any:
        """The rows in a form, those that go along, and further columns of the data frame."""
        return self.frame.select(*form.selection([each.column for each in self._carried]), *others)

    def with_column(self, column: CarriedColumn) -> SparkSource:
        """The same rows with one more column of numbers, the last one."""
        other = copy(self)
        other._carried = (*self._carried, column)
        name = f"lowdim label {len(self._carried)}"
        other.layout = replace(self.layout, carried=(*self.layout.carried, name))
        other._describe()
        return other


class _Counts(NamedTuple):
    """What is counted before rows are read."""

    n: int
    #: One more than the largest number of a partition that has rows.
    n_partitions: int
    #: Whether all rows are known to be dense vectors.
    all_dense: bool


class _Shape(Sequence[Any]):
    """(n, p) of a source, in which n is counted when it is asked for: no job runs for a map of the rows."""

    def __init__(self, source: SparkSource) -> None:
        self._source = source

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, int) and i % 2:
            return self._source.layout.total_width
        return (self._source.counts.n, self._source.layout.total_width)[i]

    def __len__(self) -> int:
        return 2

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
