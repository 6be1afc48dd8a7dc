"""The rows of a data frame of Spark."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from ... import errors
from ..._xp import Array
from ..base import Source, Traits
from ..column_choice import ColumnChoice
from ..contents import Contents
from .carried import SparkColumn
from .engine import SPARK
from .failures import in_plain_words
from .forms import Form, form_of, is_list, is_number
from .jobs import n_cores
from .names import quoted
from .sending import PartitionRows

#: Partitions that Spark keeps in memory are read by fewer tasks if they are smaller than this, but by at least one for
#: each core.
_TASK_BYTES = 256 << 20


class SparkContents(Contents):
    """The columns of a data frame of Spark. By default, all columns of numbers are the rows."""

    choice = ColumnChoice
    label = "the data frame"

    def __init__(self, frame: Any) -> None:
        self._frame, self.names = frame, list(frame.columns)
        kinds = [(field.name, field.dataType) for field in frame.schema.fields]
        numbers = [name for name, kind in kinds if is_number(kind)]
        #: Columns of arrays and vectors count as numbers if there are no others.
        self.numeric = numbers or [name for name, kind in kinds if is_list(kind)]

    def source(self, columns: Sequence[str]) -> SparkSource:
        return SparkSource(self._frame, columns)

    def column(self, name: str) -> Any:
        return SparkColumn(self._frame, name, f"column {name!r}")

    def dtype(self, columns: Sequence[str]) -> Any:
        return form_of(self._frame.select(*map(quoted, columns))).dtype


class SparkSource(Source):
    """Rows of a data frame of Spark; each partition, or several small ones that are cached, is read by a task.

    Parameters
    ----------
    frame : data frame of Spark
    columns : sequence of str, optional
        The columns that are the rows; all columns of numbers by default.

    Notes
    -----
    The rows and the partitions are counted, by one job, when their number is first asked for. Rows have no order: they
    are read as partitions give them. As usual in Spark, each pass computes the data frame again; `df.cache()` keeps it
    in the memory of the executors.
    """

    def __init__(self, frame: Any, columns: Sequence[str] | None = None) -> None:
        #: All columns, which `transform` keeps.
        self.frame = frame
        #: Which of them are the rows, and how they are stored.
        self.layout = form_of(frame if columns is None else frame.select(*map(quoted, columns)))
        self._carried: tuple[SparkColumn, ...] = ()
        self._describe()

    def _describe(self) -> None:
        """Set the attributes that follow from the layout."""
        self._sample = sample = self.layout.sample()
        self.names, self.kind, self.dtype = self.layout.names, "spark", sample.dtype
        self.traits = replace(
            Traits(engine=SPARK, by_feature=False, in_memory=False, itemsize=sample.traits.itemsize),
            sparse=self.layout.stored is not None,
            stored=self.layout.stored or 1.0,
        )

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return _Shape(self)

    @cached_property
    def _counts(self) -> _Counts:
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
    def n_partitions(self) -> int:
        """One more than the largest number of a partition that has rows."""
        return self._counts.n_partitions

    @property
    def sent(self) -> Form:
        """The form in which rows are sent to be summed up."""
        return self.layout.all_dense() if self._counts.all_dense else self.layout

    @cached_property
    def n_tasks(self) -> int:
        """The number of tasks of a pass.

        It is that of the partitions, or less if these are small and in the memory of the executors: Spark needs up to
        0.1 s to begin a task in Python, in which a core sums up 50 MB of rows. Where rows are computed when they are
        read, all partitions are left to Spark, since that may take any time.
        """
        n, parts, _ = self._counts
        at_least = math.ceil(n * self.layout.total_width * self.traits.itemsize * self.traits.stored / _TASK_BYTES)
        if parts <= at_least or not self._is_kept:
            return parts
        return min(parts, max(at_least, n_cores(self.frame.sparkSession)))

    def blocks(self, rows: int) -> Iterator[Array]:
        # All rows are brought to this process.
        with in_plain_words(self):
            batches = self.rows.toArrow().to_batches()
        return self.layout.open(iter(batches)).blocks(rows)

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        return PartitionRows(self)

    @property
    def first_block(self) -> Source:
        """A source of two made-up rows."""
        return self._sample

    def empty(self, *shape: int) -> Array:
        return self._sample.empty(*shape)

    @property
    def rows(self) -> Any:
        """The data frame with only the columns that are the rows, and those that go along as the last ones."""
        return self.selected(self.layout)

    def selected(self, form: Form, *others: Any) -> Any:
        """The rows in a form, those that go along, and further columns of the data frame."""
        return self.frame.select(*form.selection([each.column for each in self._carried]), *others)

    def with_column(self, column: SparkColumn) -> SparkSource:
        """The same rows with one more column of numbers, the last one."""
        other = SparkSource.__new__(SparkSource)
        other.__dict__.update(self.__dict__)
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
        return (self._source._counts.n, self._source.layout.total_width)[i]

    def __len__(self) -> int:
        return 2

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
