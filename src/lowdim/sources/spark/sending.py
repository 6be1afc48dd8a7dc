"""What is sent to the executors of Spark, and what they send back."""

from __future__ import annotations

import builtins
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ... import errors
from ..._version import __version__
from ..base import Source
from ..carried import CarriedColumn
from ..engines import FAN_IN, Codec
from ..recipes import Place, later, made, with_places
from .forms import Form

#: The columns of what tasks send: the number of the partition, and a result or the kind and the message of an error.
RESULT = "part int, payload binary, kind string, message string"


# ---- How a source is made on the executor


#: The numbers, in recipes, of the rows of the partition and of the weights that go along with them.
_ROWS, _ALONG = 0, 1


@dataclass(frozen=True)
class PartitionRows:
    """Stands for the rows of a partition of a source, until it is known that there is one source only."""

    source: Any


def recipe_of(source: Source) -> tuple[Any, Any]:
    """How a source is made of the rows of a partition and their weights, and the source of the data frame that these
    belong to."""
    found: dict[int, Any] = {}

    def place(value: Any) -> Place | None:
        if isinstance(value, PartitionRows):
            found[id(value.source)] = value.source
            return Place(_ROWS)
        return Place(_ALONG) if isinstance(value, CarriedColumn) else None

    recipe = with_places(source.elsewhere(later), place)
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
    task: Callable[..., Any]
    codec: Codec
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


def merging(merge: Callable[[list[Any]], Any], codec: Codec) -> Callable[[Any], Any]:
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


def result_of(row: Any, codec: Codec) -> Any:
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
