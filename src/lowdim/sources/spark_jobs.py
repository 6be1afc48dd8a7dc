"""Jobs of Spark and their failures, and how the numbers of a row are stored in a data frame of Spark."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from .. import errors
from .._core import __version__
from .._core.arrays import dense, is_sparse
from .array import ArraySource, SparseSource
from .arrow import Stream
from .base import Source, Tick
from .frame import TableSource
from .scan import ColumnKind
from .stream import StreamSource

# Jobs of Spark: they end when the caller is interrupted, and tell how many of their tasks are finished.


#: Seconds between two looks at a job that runs.
_LOOK = 0.2
#: More than the cores of any cluster.
_MANY = 1 << 20


def collected(frame: Any, n_tasks: int, tick: Tick = None, seconds: float | None = None) -> list[Any]:
    """All rows of a small data frame. Its first stage has `n_tasks` tasks, and `tick` is called as they finish.

    The job runs in a thread of its own, under a tag. If this thread is interrupted meanwhile, or the job takes more
    than some seconds, all jobs of the tag are cancelled; the latter is a TimeoutError.
    """
    from pyspark import InheritableThread

    session, tag = frame.sparkSession, f"lowdim-{uuid.uuid4().hex}"
    found: Future[list[Any]] = Future()
    finished = (_RemoteTasks if is_remote(session) else _Tasks)(session, tag, n_tasks)

    def work() -> None:
        try:
            session.addTag(tag)
            finished.begin()
            found.set_result(frame.collect())
        except BaseException as error:
            found.set_exception(error)
        finally:
            session.removeTag(tag)

    thread = InheritableThread(target=work, session=session)
    thread.daemon = True
    thread.start()
    reported = 0
    try:
        while not wait([found], _LOOK if tick is not None else seconds).done:
            if tick is None:
                raise TimeoutError
            now = finished.count()
            for _ in range(reported, now):
                tick()
            reported = max(reported, now)
    except BaseException:
        session.interruptTag(tag)
        thread.join()
        raise
    finally:
        finished.close()
    thread.join()
    rows = found.result()
    if tick is not None:
        for _ in range(reported, n_tasks):
            tick()
    return rows


def n_cores(session: Any) -> int:
    """The number of tasks that a session runs at the same time, as far as it is known."""
    if is_remote(session):
        from pyspark.sql import functions

        # A client of Spark Connect does not know it, but a range has as many partitions as there are cores.
        parts = session.range(_MANY).select(functions.spark_partition_id().alias("part"))
        return 1 + int(parts.agg(functions.max("part")).first()[0])
    return int(session.sparkContext.defaultParallelism)


def is_remote(session: Any) -> bool:
    """Whether a session is one of Spark Connect."""
    return ".connect." in type(session).__module__


class _Tasks:
    """How many tasks of the stage with `n_tasks` of them are finished, as a session of this process reports it. Jobs
    are found by their group, since Python cannot ask for those of a tag."""

    _group: str | None = None

    def __init__(self, session: Any, tag: str, n_tasks: int) -> None:
        self._session, self._tag, self._n_tasks, self._finished = session, tag, n_tasks, 0

    def begin(self) -> None:
        """Called by the thread of the job before it begins."""
        context = self._session.sparkContext
        group = context.getLocalProperty("spark.jobGroup.id")
        if group is None:
            context.setJobGroup(self._tag, "a pass of lowdim over the rows")
        self._group, self._tracker = group or self._tag, context.statusTracker()
        self._earlier = set(self._tracker.getJobIdsForGroup(self._group))

    def count(self) -> int:
        """The number of finished tasks."""
        if self._group is not None:
            for job in set(self._tracker.getJobIdsForGroup(self._group)) - self._earlier:
                known = self._tracker.getJobInfo(job)
                for stage in () if known is None else known.stageIds:
                    info = self._tracker.getStageInfo(stage)
                    if info is not None:
                        self._report(info.numTasks, info.numCompletedTasks)
        return self._finished

    def close(self) -> None:
        """Called when the job has ended."""

    def _report(self, n_tasks: int, finished: int) -> None:
        if n_tasks == self._n_tasks:
            self._finished = max(self._finished, finished)


class _RemoteTasks(_Tasks):
    """The same for a session of Spark Connect, which reports while the client waits."""

    def begin(self) -> None:
        self._session.registerProgressHandler(self._hear)

    def close(self) -> None:
        self._session.removeProgressHandler(self._hear)

    def _hear(self, stages: Any = None, **others: Any) -> None:
        for stage in stages or ():
            self._report(stage.num_tasks, stage.num_completed_tasks)


# Names of columns as Spark reads them.


def quoted(name: str) -> str:
    """The name of a column for Spark, in which dots and blanks have no meaning."""
    return "`" + name.replace("`", "``") + "`"


# Jobs of Spark that fail: what happened, in plain words, and where the rows are that Spark could not compute.


#: The words of Spark when a task has failed too often because its executor did. An executor that is about to die
#: rejects the tasks that it is still given.
_DIED = (
    r"Task (\d+) in stage \S+ failed (\d+) times"
    r".*?(?:Python worker exited|ExecutorLost|OutOfMemoryError|RejectedExecution)"
)
#: Seconds for which the column and the partition are looked for that could not be computed.
_SEARCH = 60.0


@contextmanager
def in_plain_words(source: Any = None) -> Iterator[None]:
    """Context in which an error of a job says what happened and what to do.

    Parameters
    ----------
    source : SparkSource, optional
        Rows whose computation may be what fails. If it does, the error names the column and the partition.
    """
    try:
        yield
    except Exception as error:
        plain = _plain(error)
        if plain is not error:
            raise plain from None
        if not _failed_to_compute(error):
            raise
        column, partition = _culprit(source)
        of = "the data frame" if column is None else f"column {column!r}"
        where = "" if partition is None else f" in partition {partition}"
        raise ValueError(
            f"Spark could not compute {of}{where}, before lowdim was given the rows: {_first_words(error)}"
        ) from error


def _plain(error: BaseException) -> BaseException:
    """The error of a job, or one that says what to do."""
    text = str(error)
    died = re.search(_DIED, text, re.S)
    if died is not None:
        return errors.executors_died(*died.groups())
    if (short := re.search(r"\w*MemoryError: ([^\n]*)", text)) is not None:
        return errors.executor_memory(short.group(1))
    if "PYTHON_VERSION_MISMATCH" in text:
        return RuntimeError(
            "the workers of Spark run another version of Python than this process; use the same one on all machines, "
            "or set PYSPARK_PYTHON to a Python that has it."
        )
    if "No module named 'lowdim." in text or "on <module 'lowdim" in text:
        return RuntimeError(
            f"a worker of Spark has another version of lowdim than this process, which has {__version__}; install the "
            "same version on all machines, or set PYSPARK_PYTHON to a Python that has it."
        )
    missing = re.search(r"No module named '(lowdim|pyarrow|numpy|scipy|pandas)'", text)
    return error if missing is None else errors.no_lowdim("Spark", missing.group(1))


def _failed_to_compute(error: Exception) -> bool:
    """Whether a task of Spark failed while it computed rows, in Java or in a function of the user. Errors in the plan
    and lost connections are others, and so are those of lowdim."""
    from pyspark.errors import AnalysisException, PySparkException, PythonException

    if not isinstance(error, PySparkException) or isinstance(error, AnalysisException):
        return False
    if isinstance(error, PythonException):
        return "lowdim/sources" not in str(error)
    return error.getCondition() is not None


def _first_words(error: Exception) -> str:
    """What an error of Spark says, without the traces of Java. Of an error in Python, the last line says it."""
    text = str(error).partition("JVM stacktrace:")[0].partition("Driver stacktrace:")[0].strip()
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if "Traceback (most recent call last)" in text else lines[0].strip()


# ---- Where the rows are that could not be computed


def _culprit(source: Any) -> tuple[str | None, int | None]:
    """The column that Spark cannot compute and the first partition in which it cannot, as far as they are found.

    Spark does not tell them. They are found by bisection: jobs compute some of the columns, then the column in some of
    the partitions. That takes `log2(p) + log2(partitions)` further reads, of which those that fail end early, and it
    ends after a minute. A data frame that is cached is computed as a whole, so it is not cached meanwhile; Spark then
    computes anew what it had kept.
    """
    if source is None:
        return None, None
    from pyspark.sql import functions

    frame, end, number = source.frame, time.monotonic() + _SEARCH, functions.spark_partition_id()

    def largest(rows: Any, entry: Any) -> Any:
        return collected(rows.agg(functions.max(entry)), 1, seconds=end - time.monotonic())[0][0]

    def fails(columns: Sequence[str], first: int | None = None, last: int | None = None) -> bool:
        """Whether Spark fails to compute columns, in all partitions or in those from `first` to before `last`."""
        rows = frame if first is None else frame.where((number >= first) & (number < last))
        entries = functions.xxhash64(functions.lit(0), *(_entry(rows, name) for name in columns))
        try:
            with _without_log():
                largest(rows, entries)
        except Exception as error:
            if not _failed_to_compute(error):
                raise
            return True
        return False

    names, column, partition = list(source.layout.columns), None, None
    with _uncached(frame), suppress(TimeoutError):
        # What fails without the columns is not their computation.
        if fails([]) or not fails(names):
            return None, None
        while len(names) > 1:
            half = names[: len(names) // 2]
            names = half if fails(half) else names[len(half) :]
        column = names[0]
        first, last = 0, 1 + int(largest(frame.select(number.alias("part")), "part"))
        # Where Spark computes columns before it leaves out rows, partitions cannot be told apart.
        if fails(names, last, last):
            return column, None
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (first, middle) if fails(names, first, middle) else (middle, last)
        partition = first
    return column, partition


@contextmanager
def _uncached(frame: Any) -> Iterator[None]:
    """Context in which a data frame is not cached. Afterwards it is to be cached again if it was."""
    level = frame.storageLevel
    cached = level.useMemory or level.useDisk
    if cached:
        frame.unpersist()
    try:
        yield
    finally:
        if cached:
            frame.persist(level)


@contextmanager
def _without_log() -> Iterator[None]:
    """Context in which Spark does not write the errors of jobs to the standard error stream, which are expected."""
    log = logging.getLogger("SQLQueryContextLogger")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def _entry(frame: Any, name: str) -> Any:
    """A column in a form of which Spark can make a hash."""
    from pyspark.sql import functions

    column = functions.col(quoted(name))
    return functions.unwrap_udt(column) if type(frame.schema[name].dataType).__name__ == "VectorUDT" else column


# How the numbers of a row are stored in a data frame of Spark, and how batches of Arrow become rows.


#: Vectors of Spark ML are made rows of an array in pieces of at most this size.
_PIECE_BYTES = 8 << 20
#: What a vector of Spark ML consists of.
_VECTOR = ("type", "size", "indices", "values")
#: The form of vectors is known from this many rows.
_LOOKED_AT = 20


@dataclass(frozen=True)
class Form:
    """How the numbers of a row are stored: in several columns of numbers, or in one column of arrays or vectors.

    Columns that go along are further columns of numbers, and are the last columns of the rows.

    Notes
    -----
    Spark makes batches of Arrow of the rows before it sends them to Python, entry by entry. It takes about half of the
    time for one column of arrays that it takes for many columns of numbers, and the entries of a row then lie side by
    side, where the summaries want them. So columns of numbers are sent as one array, if none of them could lose digits.
    """

    #: "numbers", "array" or "vector".
    kind: str
    columns: tuple[str, ...]
    #: The number of columns of the rows, and whether all are in single precision.
    width: int
    narrow: bool = False
    #: Whether columns of numbers are sent as one array.
    as_array: bool = False
    #: Whether arrays are the values of vectors, because all vectors are dense.
    of_vectors: bool = False
    #: The fraction of entries of vectors that are stored, if rows are CSR; otherwise None.
    stored: float | None = None
    #: The names of the columns that go along.
    carried: tuple[str, ...] = ()
    #: Columns of any type that are no part of the rows, and go along as they are: `blocks_keeping` gives them.
    kept: tuple[str, ...] = ()

    @property
    def dtype(self) -> Any:
        """The dtype of the rows."""
        return np.float32 if self.narrow else np.float64

    @property
    def names(self) -> list[str] | None:
        """The names of the columns of the rows."""
        return [*self.columns, *self.carried] if self.kind == "numbers" else None

    def selection(self, along: Sequence[Any] = ()) -> list[Any]:
        """What is sent of a data frame, as expressions of Spark: the columns that are the rows, and those that go along
        with them. They are numbered, and have their names again where they are opened: Spark does not send names with
        dots or backticks as they are."""
        from pyspark.sql import functions

        kind = "float" if self.narrow else "double"
        if self.as_array:
            # A single expression, because it takes about a millisecond to make one.
            entries = ", ".join(f"cast({quoted(name)} as {kind})" for name in self.columns)
            columns = [functions.expr(f"array({entries})")]
        elif self.kind == "vector" or self.of_vectors:
            parts = functions.unwrap_udt(functions.col(quoted(self.columns[0])))
            columns = [parts[field] for field in (["values"] if self.of_vectors else _VECTOR)]
        else:
            columns = [functions.col(quoted(name)) for name in self.columns]
        added = [column.cast(kind) for column in along]
        kept = [functions.col(quoted(name)) for name in self.kept]
        return [column.alias(f"c{i}") for i, column in enumerate([*columns, *added, *kept])]

    @property
    def total_width(self) -> int:
        """The number of columns with those that go along."""
        return self.width + len(self.carried)

    def open(self, batches: Iterator[Any]) -> Source:
        """The rows of batches of Arrow, which hold these columns; there is at least one batch."""
        if self.kind == "numbers" and not self.as_array:
            import pyarrow as pa

            names = [*(self.names or []), *self.kept]
            named = (pa.RecordBatch.from_arrays(batch.columns, names) for batch in batches)
            first = next(named)
            stream = Stream(pa.RecordBatchReader.from_batches(first.schema, chain([first], named)))
            return stream.source(self.names or []) if self.kept else stream.open()
        pieces = (piece for batch in batches for piece in self._pieces(batch))
        return StreamSource(pieces, self._open_piece, fresh=True)

    def type_of_vectors(self) -> Any | None:
        """An expression of Spark that is 1 for rows which are dense vectors, and 0 for sparse ones. None if the rows
        are no vectors, or are known to be sparse."""
        from pyspark.sql import functions

        if self.kind != "vector" or self.stored is not None:
            return None
        return functions.unwrap_udt(functions.col(quoted(self.columns[0])))["type"]

    def all_dense(self) -> Form:
        """The form of rows all of which are dense vectors. They are sent as arrays: Spark takes twice as long to send
        the indices of vectors as well, even if none of them has any."""
        return replace(self, kind="array", of_vectors=True)

    def sample(self) -> Source:
        """Two made-up rows."""
        rows: Any = np.arange(2.0 * self.total_width).reshape(2, self.total_width).astype(self.dtype)
        if self.kept:
            import pyarrow as pa

            columns = {name: rows[:, j] for j, name in enumerate(self.names or [])}
            return TableSource(pa.table(columns | {name: pa.nulls(2) for name in self.kept}), self.kept)
        return self._open_piece(rows if self.stored is None else sparse.csr_array(rows))

    def _open_piece(self, rows: Any) -> Source:
        source: Source = SparseSource(rows) if is_sparse(rows) else ArraySource(rows)
        source.names = self.names
        return source

    def _pieces(self, batch: Any) -> Iterator[Any]:
        """The rows of a batch that has arrays, or the fields of vectors, and maybe columns that go along."""
        columns = batch.columns
        n = len(_VECTOR) if self.kind == "vector" else 1
        rows = _vectors(columns[:n], self) if self.kind == "vector" else _lists(columns[0], self)
        along = [column.to_numpy(zero_copy_only=False) for column in columns[n:]]
        added = np.column_stack(along).astype(self.dtype) if along else None
        if self.stored is not None:
            both: Any = [rows, None if added is None else sparse.csr_array(added)]
            yield rows if added is None else sparse.hstack(both, format="csr")
            return
        # Rows that are sparse among dense ones could take much memory as an array.
        step = max(64, _PIECE_BYTES // (8 * self.total_width)) if is_sparse(rows) else batch.num_rows
        for i in range(0, batch.num_rows, step):
            piece = dense(rows[i : i + step])
            yield piece if added is None else np.hstack([piece, added[i : i + step]])


def form_of(frame: Any, keep: Sequence[str] = ()) -> Form:
    """The form of the rows of a data frame: all columns of numbers or, if it has none, its one column of arrays or
    vectors. The length of arrays and vectors is that of the first row; a few rows are read to find it. Other columns
    `keep` of any type may go along; the rows are then columns of numbers, of which there may be none."""
    from pyspark.sql import types

    if keep:
        return Form("numbers", tuple(frame.columns), len(frame.columns), kept=tuple(keep))
    fields = frame.schema.fields
    numbers = [field for field in fields if is_number(field.dataType)]
    in_one = [field for field in fields if is_list(field.dataType)]
    if numbers:
        kinds = [field.dataType for field in numbers]
        narrow = all(isinstance(kind, types.FloatType) for kind in kinds)
        # Whole numbers of 64 bits and decimals are looked at where they are converted.
        as_array = not any(isinstance(kind, types.LongType | types.DecimalType) for kind in kinds)
        return Form("numbers", tuple(field.name for field in numbers), len(numbers), narrow, as_array)
    if len(in_one) != 1:
        columns = errors.list_names([f"{field.name} ({field.dataType.simpleString()})" for field in fields])
        raise ValueError(
            f"the data frame has the columns {columns}: rows are all columns of numbers or, if there are none, the one "
            "column of arrays of numbers or of vectors; lowdim.scan(df, columns=...) chooses columns."
        )
    name, kind = in_one[0].name, in_one[0].dataType
    with in_plain_words():
        found = [row[0] for row in frame.select(quoted(name)).limit(_LOOKED_AT).collect()]
    if not found:
        raise errors.empty(0, 0, (0, 0))
    if found[0] is None:
        raise errors.ragged_column(name, None)
    width = len(found[0])
    if isinstance(kind, types.ArrayType):
        return Form("array", (name,), width, isinstance(kind.elementType, types.FloatType))
    kept = [vector for vector in found if vector is not None]
    in_sparse = 2 * sum(hasattr(vector, "indices") for vector in kept) > len(kept)
    stored = max(float(np.mean([len(vector.values) for vector in kept])) / max(width, 1), 1e-9) if in_sparse else None
    return Form("vector", (name,), width, stored=stored)


def is_number(kind: Any) -> bool:
    """True for the types of numbers."""
    from pyspark.sql import types

    return isinstance(kind, types.NumericType | types.BooleanType)


def kind_of_type(kind: Any) -> ColumnKind:
    """What a column of this type holds."""
    from pyspark.sql import types

    if isinstance(kind, types.StringType | types.CharType | types.VarcharType | types.BooleanType):
        return "category"
    if isinstance(kind, types.DateType | types.TimestampType | types.TimestampNTZType):
        return "date"
    return "number" if isinstance(kind, types.NumericType) else "other"


def is_list(kind: Any) -> bool:
    """True for the types of arrays of numbers and of vectors."""
    from pyspark.sql import types

    return type(kind).__name__ == "VectorUDT" or (isinstance(kind, types.ArrayType) and is_number(kind.elementType))


def _lists(column: Any, form: Form) -> np.ndarray:
    """Rows that are lists of numbers; a list that is missing, or has another length, is an error. Numbers that are
    missing are NaN."""
    lengths = column.value_lengths()
    if column.null_count or set(lengths.unique().to_pylist()) != {form.width}:
        raise errors.ragged_column(form.columns[0], form.width)
    values = column.flatten().cast("float32" if form.narrow else "float64", safe=False)
    return values.to_numpy(zero_copy_only=False).reshape(-1, form.width)


def _vectors(fields: Sequence[Any], form: Form) -> Any:
    """Rows that are vectors of Spark ML, as an array if all of them are dense, otherwise CSR."""
    types, stored_sizes, stored_indices, values = fields
    if types.null_count:
        raise errors.ragged_column(form.columns[0], form.width)
    in_full = types.to_numpy(zero_copy_only=False).astype(bool)
    lengths = values.value_lengths().to_numpy(zero_copy_only=False)
    data = values.flatten().to_numpy(zero_copy_only=False)
    sizes = np.where(in_full, lengths, stored_sizes.fill_null(-1).to_numpy(zero_copy_only=False))
    if np.any(sizes != form.width):
        raise errors.ragged_column(form.columns[0], form.width)
    if in_full.all() and form.stored is None:
        return data.reshape(-1, form.width)
    edges = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty(len(data), dtype=np.int64)
    # Only sparse vectors have stored indices, and they are in the order of the rows.
    of_full = np.repeat(in_full, lengths)
    indices[~of_full] = stored_indices.flatten().to_numpy(zero_copy_only=False)
    indices[of_full] = np.tile(np.arange(form.width), int(in_full.sum()))
    return sparse.csr_array((data, indices, edges), shape=(len(in_full), form.width))
