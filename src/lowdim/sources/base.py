"""The protocol of a source, where rows come from, and what all sources share."""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._core.arrays import Array, Beside, astype, digest, is_sparse, namespace, to_numpy
from .._core.devices import Destination
from .._core.threads import available, free_bytes
from ..errors import MissingValues, cannot_keep, column_label, too_large

if TYPE_CHECKING:
    from .spark_column import CarriedColumn


def when_called(module: str, name: str) -> Callable[..., Any]:
    """A function or class of a module of this folder, which is imported when it is first called: `import lowdim` does
    not load what only files, Dask and Spark need."""
    return lambda *arguments, **named: getattr(import_module(f".{module}", __package__), name)(*arguments, **named)


# What a scheduler offers, so that rows which its workers hold are summed up and mapped where they lie.
#
# An engine is one object, and the trait `engine` of a source names the one that holds its rows. `dask.py` and
# `spark.py` each have one; the rest of lowdim knows only this protocol.


#: The number of results that one task of a tree merges.
FAN_IN = 8


#: What an engine runs for each part, and for results that are merged.
Task = Callable[..., Any]
Merge = Callable[[list[Any]], Any]
#: Is called when a part has been summed up, or is None.
Tick = Callable[[], None] | None


class Engine(ABC):
    """A scheduler, whose workers hold the rows of a source in partitions.

    A task is a function `task(part, start, along)`: `part` is a source of the rows of one or more partitions, opened on
    the worker that holds them, `start` the number of its first row, and `along` what belongs to these rows of an array
    with one entry for each row, or of a column that goes along with rows without an order; or None. A task may run
    twice, so it must not change what it is given.
    """

    #: The name in messages and plans.
    name: str
    #: The call with which a user keeps the rows in the memory of the workers; empty if they always are.
    keeping: str
    #: Whether rows have an order, so that arrays with one entry for each row, and other tables, can go along with them.
    ordered: bool = True

    @abstractmethod
    def merged(
        self, source: Source, task: Task, merge: Merge, *, along: Any, least: int, codec: Any, on_start: Any, tick: Tick
    ) -> Any:
        """The results of `task` for all partitions, merged by a tree of tasks, in the order of the partitions: each
        `merge` takes up to `FAN_IN` results, and only the last one is sent to this process.

        `along` is what belongs to all rows. Adjacent partitions with fewer than `least` rows may be one part. An engine
        that does not send objects sends results as the bytes of `codec.encode(result)`, of which `codec.decode(data)`
        makes results again. `on_start`, if not None, is called with the number of parts before they are read, and
        `tick` when one of them has been summed up.
        """

    @abstractmethod
    def mapped(self, source: Source, task: Task, like: Array, names: Any, *, replaces: bool = False) -> Any:
        """A lazy collection of the results of `task`, one for each row; `like` are results for made-up rows, and
        `names`, if it is not None, returns the names of their columns. With `replaces`, they are the rows with other
        entries: where results are columns beside the rows, they take the place of the columns of the same names."""

    def hashed(self, source: Source, k: int, seed: int) -> CarriedColumn:
        """For rows without an order: a number from 0 to k - 1 for each row, from a hash of its entries, which does not
        depend on the partitions."""
        raise NotImplementedError(f"rows of {self.name} have an order.")

    @abstractmethod
    def in_turn(self, source: Source, task: Task) -> Iterator[Callable[[], Any]]:
        """For each part, in order, a function that computes the result of `task` and returns it to this process."""


def adjacent(lengths: Sequence[int], least: int) -> list[list[int]]:
    """The numbers of the partitions of each part, if adjacent partitions with fewer than `least` rows are one part;
    empty partitions are left out."""
    groups: list[list[int]] = []
    room = 0
    for i, length in enumerate(lengths):
        if length == 0:
            continue
        if room <= 0 or length >= least:
            groups.append([])
            room = least
        groups[-1].append(i)
        room -= length
    return groups


def edges(parts: Sequence[Source]) -> Iterator[tuple[int, int]]:
    """The first row of each part, and the first row after it."""
    return pairwise(accumulate((int(part.shape[0] or 0) for part in parts), initial=0))


def with_rows(parts: Sequence[Source], along: Array | None) -> Iterator[tuple[Source, int, Array | None]]:
    """The arguments of a task for each part, in order."""
    for part, (i, j) in zip(parts, edges(parts), strict=True):
        yield part, i, None if along is None else along[i:j]


def in_a_tree(level: list[Any], merge: Merge) -> Any:
    """One result of many: `merge` takes `FAN_IN` neighbours, until one is left."""
    while len(level) > 1:
        level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return level[0]


# The protocol of a source: where rows come from. A source does not know what its rows are used for.


#: For `identity`, rows of this size are compared, at this many places.
_COMPARED_BYTES, _COMPARED_PLACES = 1 << 16, 8


@dataclass(frozen=True)
class Traits:
    """What a plan needs to know about a source in addition to its shape."""

    #: The rows can be read more than once.
    rereadable: bool = True
    #: Blocks are sparse (CSR).
    sparse: bool = False
    #: The fraction of entries that are stored.
    stored: float = 1.0
    #: The table can be read by columns (needed for the Gram matrix of n < p rows).
    by_feature: bool = True
    #: `blocks(n)` gives all n rows as one block. False for streams, whose rows come in blocks of any size.
    whole: bool = True
    #: In blocks, the numbers of each column lie one after another in memory.
    column_blocks: bool = False
    #: Blocks are computed when they are read. This costs about as much as summing them, so it is worth several threads.
    costly: bool = False
    #: The scheduler whose workers hold the rows, and should also do the work on them; None if they are read here.
    engine: Engine | None = None
    #: Blocks are NumPy or SciPy arrays in main memory, so that several threads may read them.
    host: bool = True
    #: All rows are in memory or mapped to it. False if they are computed, remote, or read from files or streams.
    in_memory: bool = True
    #: The inner products of all rows are known (`Source.products`).
    known_products: bool = False
    #: Size of all rows in bytes, 0 if unknown.
    n_bytes: int = 0
    #: Size of all rows in bytes if they are not in memory, but each of several threads can read a part of them; or 0.
    part_bytes: int = 0
    #: Bytes that each thread which reads the rows takes for it, in addition to what it computes; 0 if they are few.
    reading_bytes: int = 0
    #: Size of one number in bytes.
    itemsize: int = 8
    #: Blocks are parts of an array that is there anyway, so that large ones need no more memory than small ones.
    views: bool = False
    #: The device to which rows in main memory or in files are copied (`on_device`); None if they stay where they are.
    to_device: Destination | None = None

    @property
    def remote(self) -> bool:
        """Whether an engine holds the rows."""
        return self.engine is not None

    @property
    def n_readers(self) -> int:
        """The number of threads that may read parts of the rows at the same time: as many as BLAS uses, but fewer if
        what they take for reading would be more than half of the free memory."""
        n_threads, free = available(), free_bytes() if self.reading_bytes else 0
        return max(1, min(n_threads, free // (2 * self.reading_bytes))) if free else n_threads


class Source(ABC):
    """Rows of p numbers, read in blocks of a chosen size; their dtype is also that of the results."""

    #: (n, p); n is None if it is unknown.
    shape: tuple[int | None, int]
    #: float32 or float64, of the namespace of the rows.
    dtype: Any
    #: Column names for messages, or None.
    names: Sequence[str] | None = None
    #: The name of the table in messages.
    table: str = "X"
    #: Whether the data were a vector, which is read as one column.
    vector: bool = False
    #: Whether this is the transpose of a table: its rows are the features of the table, and `names` are their names.
    transposed: bool = False
    #: If this is a copy in memory of another source, or a piece of one, that source, which names the rows in messages.
    #: Or another object that does, by its method `row_label`.
    origin: Any = None
    #: A description of how the rows are stored; it must be the same for all blocks of a stream.
    kind: str
    #: Whether scikit-learn can count and name the columns of the object that was opened.
    known_to_sklearn: bool = False
    traits: Traits
    #: The paths of the files that the rows are read from.
    files: Sequence[str] = ()
    #: The inner products of all rows if they are known, otherwise None.
    products: Any = None
    #: Whether this joins several tables, its `members`, which lie side by side.
    joins_tables: bool = False

    @property
    def members(self) -> list[Source]:
        """The sources of the tables that lie side by side; only this source unless it joins several tables."""
        return [self]

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths of the members."""
        return tuple(member.shape[1] for member in self.members)

    @property
    def can_be_cut(self) -> bool:
        """Whether `between` is available."""
        return type(self).between is not Source.between

    @abstractmethod
    def blocks(self, rows: int) -> Iterator[Array]:
        """The rows from the first to the last, about `rows` at a time, as float arrays or CSR blocks."""

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        """The blocks that `blocks` gives, each with the columns `names` of the same rows, which may be of any type and
        are not among the columns of the source; they are a pyarrow table, or None if there are no `names`.

        Only a source that was opened by `open_keeping` has such columns.
        """
        if names:
            raise cannot_keep(self.table, names)
        return ((block, None) for block in self.blocks(rows))

    def parts(self, k: int, least: int = 1) -> list[Source]:
        """The rows cut into at most `k` sources, in order, that can be read at the same time. The default is one,
        unless rows in memory can be cut anywhere.

        A source whose rows are remote is cut into its partitions, whatever `k` is; adjacent partitions with fewer than
        `least` rows are then one part.
        """
        n = self.shape[0]
        if n is None or not self.traits.in_memory or not self.can_be_cut:
            return [self]
        return [self.between(i, j) for i, j in cut(n, k)]

    def between(self, i: int, j: int) -> Source:
        """A source of the rows from i up to, but not including, j."""
        raise TypeError(f"{self.table} cannot be cut between two rows; pass an array, a table or a Dask collection.")

    @property
    def can_skip(self) -> bool:
        """Whether `after` is available."""
        return type(self).after is not Source.after or (self.shape[0] is not None and self.can_be_cut)

    def after(self, i: int) -> Source:
        """A source of the rows from i on, if the rows before them need not be read. When i is a multiple of `rows`, its
        blocks are those of this source from row i on."""
        return self.between(i, int(self.shape[0] or 0))

    def identity(self) -> dict[str, Any]:
        """What distinguishes this table from others, as JSON values: its form, and a digest of rows at a few places of
        it. No stream is consumed."""
        n, p = self.shape
        rows = max(1, _COMPARED_BYTES // (p * self.traits.itemsize))
        if n is None or not self.can_be_cut:
            some = [next(self.first_block.blocks(rows))[:rows, :]]
        else:
            places = ((start, min(stop, start + rows)) for start, stop in cut(n, _COMPARED_PLACES))
            some = [next(self.between(start, stop).blocks(rows)) for start, stop in places]
        return self.form() | {"rows": digest(some)}

    def form(self) -> dict[str, Any]:
        """The part of `identity` that is known without a look at the rows."""
        names = None if self.names is None else list(self.names)
        return {"kind": self.kind, "shape": list(self.shape), "bits": 8 * self.traits.itemsize, "names": names}

    def require_two_axes(self) -> None:  # noqa: B027 (most sources have nothing to refuse)
        """Raise an error if this is an array with one axis in a file: that is a column of responses, and no rows."""

    def elsewhere(self, place: Callable[[Any], Any]) -> Any:
        """How a task makes this source on another machine (see `made`). `place(value)` is what stands there for a part
        of it: a `Argument`, or the value itself."""
        return self

    @property
    def first_block(self) -> Source:
        """A source of the first rows, or of made-up rows with the same columns, that is free: it consumes no stream."""
        return self

    def features(self) -> Source:
        """The transpose: a source whose rows are the columns of this one."""
        raise TypeError(f"{type(self).__name__} cannot be read feature by feature.")

    def narrowed(self) -> Source | None:
        """This source in float32, if that costs little memory and no value is out of range; otherwise None."""
        return None

    def empty(self, *shape: int) -> Array:
        """An uninitialised array with the namespace, device and dtype of the rows."""
        return np.empty(shape, dtype=self.dtype)

    def row(self, i: int) -> int:
        """The row number in the table, for messages, of row `i` (in a transposed source: of entry `i` of a row)."""
        return i

    def row_label(self, i: int, column: int = 0) -> str:
        """Row `i` of the table in messages; for files with the name of the file. Where tables lie side by side, it is
        named as the table of this column names it."""
        return f"row {i}" if self.origin is None else self.origin.row_label(i, column)

    def place(self, column: int) -> tuple[str, int, Sequence[str] | None]:
        """Where a column lies, for messages: the table, the column in it, and the names of all its columns."""
        return self.table, column, self.names

    def _inherit(self, other: Source, *, transposed: bool = False) -> Source:
        """`other`, a piece or the transpose of this source, with the names of this one."""
        other.names, other.table, other.origin = self.names, self.table, self.origin
        other.transposed = self.transposed or transposed
        return other


class DerivedSource(Source):
    """Rows that are made of those of another source, the parent; a subclass says what differs.

    Parameters
    ----------
    parent : Source
    arguments
        The further arguments of the subclass: a piece of the parent is changed with the same ones.
    traits
        The traits that are not those of the parent.
    """

    def __init__(self, parent: Source, *arguments: Any, **traits: Any) -> None:
        self.parent, self._arguments = parent, arguments
        self.shape, self.dtype, self.kind = parent.shape, parent.dtype, parent.kind
        self.names, self.table, self.vector = parent.names, parent.table, parent.vector
        self.transposed, self.files = parent.transposed, parent.files
        self.traits = replace(parent.traits, **traits)

    def of_other(self, parent: Source) -> Source:
        """What this source is, of another parent, such as a piece of this one."""
        other = type(self)(parent, *self._arguments)
        other.names, other.table, other.vector = self.names, self.table, self.vector
        return other

    def parts(self, k: int, least: int = 1) -> list[Source]:
        return [self.of_other(part) for part in self.parent.parts(k, least)]

    def elsewhere(self, place: Callable[[Any], Any]) -> Any:
        arguments = [self.parent.elsewhere(place), *map(place, self._arguments)]
        return Call(_made_again, [type(self), self.table, arguments])

    def empty(self, *shape: int) -> Array:
        return self.parent.empty(*shape)

    def row(self, i: int) -> int:
        return self.parent.row(i)

    def row_label(self, i: int, column: int = 0) -> str:
        return self.parent.row_label(i, column)


class ViewSource(DerivedSource):
    """A derived source each of whose rows is made of the same row of the parent, so that it can be cut as the parent
    can."""

    def blocks(self, rows: int) -> Iterator[Array]:
        return (block for block, _ in self.blocks_keeping(rows, ()))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        return self.parent.blocks_keeping(rows, names)

    @property
    def can_be_cut(self) -> bool:
        return self.parent.can_be_cut

    def between(self, i: int, j: int) -> Source:
        return self.of_other(self.parent.between(i, j))

    @property
    def can_skip(self) -> bool:
        return self.parent.can_skip

    def after(self, i: int) -> Source:
        return self.of_other(self.parent.after(i))

    def identity(self) -> dict[str, Any]:
        return self.parent.identity()

    @property
    def first_block(self) -> Source:
        first = self.parent.first_block
        return self if first is self.parent else self.of_other(first)

    def features(self) -> Source:
        return self.of_other(self.parent.features())


#: A table fits easily into memory if it takes at most this share of what is free.
_EASILY = 0.25


def fits_easily(n: int, p: int, itemsize: int) -> bool:
    """Whether a table of n rows and p columns takes only a small part of the free memory."""
    return n * p * itemsize <= _EASILY * free_bytes()


def _made_again(kind: type[DerivedSource], table: str, arguments: list[Any]) -> Source:
    """A task: a derived source of a partition."""
    source = kind(*arguments)
    source.table = table
    return source


def cut(n: int, k: int) -> list[tuple[int, int]]:
    """Cut [0, n) into at most `k` ranges of nearly equal length."""
    k = max(1, min(k, n))
    edges = [n * i // k for i in range(k + 1)]
    return list(pairwise(edges))


# How a source is made again on the machine of a task: calls that are made there, with places for what is found there.
#
# `Source.elsewhere(place)` writes such a recipe, with places for what the task is given separately, such as its
# partition, and an engine sends it. The task makes the source (`made`).


@dataclass(frozen=True)
class Call:
    """A call that a task makes before it begins."""

    function: Callable[..., Any]
    arguments: list[Any]


@dataclass(frozen=True)
class Argument:
    """Stands for one of the values that the task is given: its number among them."""

    number: int


def made(recipe: Any, values: Sequence[Any]) -> Any:
    """What a recipe makes of these values. One that is used several times is the same object each time.

    >>> made(Call(max, [Call(abs, [Argument(0)]), 2]), [-3])
    3
    """
    if isinstance(recipe, Argument):
        return values[recipe.number]
    if isinstance(recipe, Call):
        return recipe.function(*made(recipe.arguments, values))
    return [made(item, values) for item in recipe] if isinstance(recipe, list) else recipe


# Find the entry because of which the sums over a block are not finite, and make an error that names it.


#: The number of entries on a device that are looked at together.
_LOOKED_AT = 1 << 24


def bad_entry_error(
    source: Source,
    block: Array,
    row_numbers: Sequence[int] | np.ndarray,
    weights: Array | None = None,
    *,
    takes_nan: bool = False,
) -> ValueError | None:
    """The error that names the first NaN or infinity in a block, or None if all entries are finite.

    Parameters
    ----------
    source : Source
        Where the block comes from.
    block : dense array, CSR array or Beside
    row_numbers : sequence of int
        The number of each row of the block in the source.
    weights : array, optional
        Rows of weight zero are ignored.
    takes_nan : bool
        Accept NaN: only infinity is an error.
    """

    def is_bad(entries: Array) -> Array:
        xp = namespace(entries)
        return xp.isinf(entries) if takes_nan else ~xp.isfinite(entries)

    return _error_at_largest(source, block, row_numbers, weights, is_bad, _not_finite)


def _not_finite(row: str, column: int, value: float, names: Sequence[str] | None, table: str = "X") -> ValueError:
    """The error for NaN or infinity in the rows; `row` is the row in words. scikit-learn's checks look for the words
    'NaN' and 'infinity'."""
    where = f"{column_label(column, names)}, first in {row}"
    if table.startswith("the "):
        # These numbers were computed from the rows, so filling them in would not help.
        what = "NaN" if value != value else "infinity"
        return ValueError(f"{table} contain {what}: {where}. Check how they were computed for that row.")
    if value != value:
        rows = "X" if table == "X" else "A"
        of = "" if table == "X" else " for A = all tables side by side"
        found = f"Input {table} contains NaN: {where}."
        error = MissingValues(
            f"{found} Complete rows of finite numbers are needed: drop those rows, or fill them in, for example with "
            f"PPCA(k, scale=True).fit({rows}).impute({rows}){of}; PPCA and FactorAnalysis themselves take NaN as "
            "missing."
        )
        error.where = found
        return error
    return ValueError(
        f"Input {table} contains infinity: {where}. Finite numbers are needed: drop those rows, or replace the entries."
    )


def unusable_block_error(
    source: Source,
    block: Array,
    row_numbers: Sequence[int] | np.ndarray,
    weights: Array | None = None,
    *,
    takes_nan: bool = False,
    powers: str = "squares",
) -> ValueError:
    """The error for a block whose sums are not finite: it names the first bad entry, or else the largest entry, whose
    `powers` are too large."""
    error: Any = bad_entry_error(source, block, row_numbers, weights, takes_nan=takes_nan)
    if error is None:
        error = _error_at_largest(source, block, row_numbers, weights, _sizes, partial(too_large, powers=powers))
    return error


def _sizes(entries: Array) -> Array:
    """The magnitudes of entries; missing ones count as zero."""
    xp = namespace(entries)
    return xp.where(xp.isnan(entries), xp.zeros_like(entries), xp.abs(entries))


def _error_at_largest(
    source: Source, block: Any, row_numbers: Any, weights: Any, measure: Callable[[Array], Array], build: Any
) -> ValueError | None:
    """The error that `build` makes for the first entry with the largest measure, given its row, column and table in the
    source; None if the measures are truth values, none of which is true."""
    if namespace(block) is not np:
        one = _row_of_largest(block, weights, measure)
        block, row_numbers = block[one, :], row_numbers[one]
        weights = None if weights is None else weights[one]
    values, place = _entries(block, weights)
    measures = measure(values)
    index = int(np.argmax(measures))
    if measures.dtype == bool and not measures[index]:
        return None
    i, j = place(index)
    number = int(row_numbers[i])
    row, column = (source.row(j), number) if source.transposed else (number, j)
    label = source.row_label(row, column)
    table, column, names = source.place(column)
    return build(label, column, float(values[index]), names, table)


def _row_of_largest(block: Any, weights: Any, measure: Callable[[Array], Array]) -> slice:
    """The first row with the largest measure, of a block on a device: no more is copied to the host."""
    xp = namespace(block)
    n, p = block.shape
    step = max(1, _LOOKED_AT // p)
    most, row = -1.0, 0
    for i in range(0, n, step):
        part = slice(i, min(i + step, n))
        rows = block[part, :]
        rows = rows.joined() if isinstance(rows, Beside) else rows
        found = xp.max(astype(measure(rows), rows.dtype), axis=1)
        if weights is not None:
            found = xp.where(weights[part] > 0, found, xp.zeros_like(found))
        first = int(xp.argmax(found))
        if float(found[first]) > most:
            most, row = float(found[first]), i + first
    return slice(row, row + 1)


def _entries(block: Any, weights: Array | None) -> tuple[np.ndarray, Callable[[int], tuple[int, int]]]:
    """The entries of a block, row by row, with zeros in rows of weight zero; and a function that returns the row and
    the column of the entry with a given index. For a sparse block, only the stored entries."""
    counted = None if weights is None else to_numpy(weights) > 0
    if is_sparse(block) and block.nnz:
        rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        values = block.data if counted is None else np.where(counted[rows], block.data, 0.0)
        return values, lambda index: (int(rows[index]), int(block.indices[index]))
    if is_sparse(block):
        return np.zeros(1), lambda index: (0, 0)
    data = to_numpy(block.joined() if isinstance(block, Beside) else block)
    data = data if counted is None else np.where(counted[:, None], data, 0.0)
    n_columns = data.shape[1]
    return data.ravel(), lambda index: divmod(index, n_columns)


# The next item of an iterator is made by a thread while the last one is in use.


T = TypeVar("T")

_END = object()


def read_ahead(items: Generator[T, None, None]) -> Generator[T, None, None]:
    """The items of a generator, in order; a thread makes the next one while the caller works with the last one.

    At most two items exist at a time: the one in use, and the one that is being made. An error of the generator is
    raised where its item would have been. When the caller stops early, the item that is being made is finished, and the
    generator is closed, so that it can close its files.
    """
    thread = ThreadPoolExecutor(1)
    future: Future[Any] = thread.submit(next, items, _END)
    try:
        while (item := future.result()) is not _END:
            future = thread.submit(next, items, _END)
            yield item
    finally:
        # If a caller forgot this iterator, this runs when garbage is collected, in any thread and maybe after the pool
        # of the thread is gone: a task that is submitted here might never run.
        if not future.cancel():
            wait([future])
        items.close()
        thread.shutdown(wait=False)


# Memory for blocks that are copied or decoded, which later blocks use again.


class BlockMemory:
    """Memory for one array after another, each in a place that is no longer in use, if there is one.

    The system fills new memory with zeros, which takes as long as copying a block into it. So memory is used again as
    soon as nobody holds an array that lies in it: neither the one that was handed out nor a part of it. Whoever keeps a
    block keeps its numbers. Several threads may share one object; copies and pickles start empty. It holds about as
    much as is in use at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Each piece of memory with the array that was handed out last; views of that array keep it alive.
        self._pieces: list[tuple[_Piece, weakref.ref[np.ndarray]]] = []

    def empty(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """An uninitialised array, as that of `numpy.empty`."""
        size = prod(shape) * np.dtype(dtype).itemsize
        with self._lock:
            piece = self._free_piece(size)
            handed_out = piece.view(np.ndarray)
            self._pieces.append((piece, weakref.ref(handed_out)))
        return handed_out[:size].view(dtype).reshape(shape)

    def _free_piece(self, size: int) -> _Piece:
        """A piece of at least `size` bytes that nobody uses. If there is none, the others that nobody uses are given
        back, so that arrays of changing sizes do not add up."""
        for number, (piece, handed_out) in enumerate(self._pieces):
            if piece.size >= size and handed_out() is None:
                del self._pieces[number]
                return piece
        self._pieces = [(piece, handed_out) for piece, handed_out in self._pieces if handed_out() is not None]
        return _Piece(size, np.uint8)

    def __reduce__(self) -> Any:
        return BlockMemory, ()


class _Piece(np.ndarray):
    """An array with memory of its own. The `base` of a view is usually the array that owns the memory, however many
    views are between the two. But NumPy does not go on to an array of another type, so the base of all views of the
    plain array that was handed out is that array."""
