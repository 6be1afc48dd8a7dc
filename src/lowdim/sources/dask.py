"""Dask collections: their rows are in partitions, and each is read by a task on the machine that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple
from uuid import uuid4
from weakref import WeakSet

import narwhals as nw
import numpy as np
from scipy import sparse

from .. import errors
from .._core import __version__
from .._core.arrays import Array, concat_rows, is_sparse, namespace
from ..errors import bad_ndim, empty
from .base import Argument, Call, Engine, Merge, Source, Task, Tick, adjacent, in_a_tree, made, with_rows
from .frame import kind_of_column
from .scan import Contents
from .stream import StreamSource

# The schedulers of Dask: threads of this process, or the workers of a `distributed.Client`.


class DaskEngine(Engine):
    """The scheduler that Dask uses: threads of this process, or the workers of a `distributed.Client`."""

    name = "Dask"
    keeping = "X.persist()"

    def merged(
        self, source: Source, task: Task, merge: Merge, *, along: Any, least: int, codec: Any, on_start: Any, tick: Tick
    ) -> Any:
        parts = source.parts(1, least)
        if on_start is not None:
            on_start(len(parts))
        client = _client()
        try:
            if client is None:
                level = _tasks(parts, task, along)
                return _with_threads(in_a_tree(level, _merging(merge)), level, tick)
            level = _tasks(parts, _Checked(task if tick is None else _Telling(task, _topic(client))), along)
            return _with_workers(client, in_a_tree(level, _merging(_Checked(merge))), parts, level, tick)
        except (TypeError, ValueError) as error:
            # Which task fails first depends on timing: an earlier one may fail too.
            before = sum(start < getattr(error, "first_row", 0) for _, start, _ in with_rows(parts, None))
            raise _first_error(_tasks(parts[:before], _Checked(task), along, _error_of)) or error from None

    def mapped(self, source: Source, task: Task, like: Array, names: Any, *, replaces: bool = False) -> Any:
        """A Dask array; its rows have the shape and type of those of `like`."""
        import dask.array as da

        _client()
        parts = source.parts(1)
        rest = tuple(like.shape[1:])
        pieces = zip(_tasks(parts, _Checked(task)), parts, strict=True)
        arrays = (da.from_delayed(piece, (part.shape[0], *rest), meta=like[:0]) for piece, part in pieces)
        return da.concatenate(list(arrays), axis=0)

    def in_turn(self, source: Source, task: Task) -> Iterator[Callable[[], Any]]:
        return (lazy.compute for lazy in _tasks(source.parts(1), _Checked(task)))


DASK = DaskEngine()


def _tasks(
    parts: Sequence[Source], task: Task, along: Array | None = None, how: Callable[..., Any] | None = None
) -> list[Any]:
    """`task(part, start, along)` for each part, not computed yet, or what `how` makes of it. The names of the tasks are
    for those who watch the scheduler, and differ each time: the rows may have changed."""
    from dask import delayed

    run, once = delayed(partial(how or _open_and_run, task), pure=False), uuid4().hex
    return [
        run(*_recipe_of(part), start, piece, dask_key_name=f"lowdim-rows-{once}-{start}")
        for part, start, piece in with_rows(parts, along)
    ]


def _recipe_of(part: Source) -> tuple[Any, list[Any]]:
    """How a part is made of its partitions, and these in a list, in which Dask finds what it has to compute."""
    partitions: list[Any] = []

    def place(value: Any) -> Any:
        if not hasattr(value, "__dask_graph__"):
            return value
        partitions.append(value)
        return Argument(len(partitions) - 1)

    return part.elsewhere(place), partitions


def _open_and_run(task: Task, recipe: Any, partitions: list[Any], start: int, along: Array | None) -> Any:
    """Make a part, of partitions that Dask has computed, and run its task: further tasks for that would be work for the
    scheduler. Errors about rows know the first row of the part."""
    try:
        return task(made(recipe, partitions), start, along)
    except (TypeError, ValueError) as error:
        error.first_row = start  # type: ignore[union-attr]
        raise


def _error_of(*arguments: Any) -> Exception | None:
    """The error about rows that `_open_and_run` raises, or None if it raises none."""
    try:
        _open_and_run(*arguments)
    except (TypeError, ValueError) as error:
        return error
    return None


def _merging(merge: Merge) -> Merge:
    """`merge` as a task, not computed yet."""
    from dask import delayed

    join = delayed(merge, pure=False)
    return lambda results: join(results, dask_key_name=f"lowdim-merge-{uuid4().hex}")


@dataclass(frozen=True)
class _Checked:
    """A function that a worker calls only if it has the lowdim of the process that sent the function."""

    function: Callable[..., Any]
    version: str = __version__

    def __call__(self, *arguments: Any) -> Any:
        if self.version != __version__:
            raise errors.other_version(self.version, __version__, "a worker of Dask")
        return self.function(*arguments)


#: This many tasks run at a time when the first one that fails is looked for.
_LOOKED_AT = 32


def _first_error(level: Sequence[Any]) -> Exception | None:
    """The first of the errors that tasks of `_error_of` find, if there is one."""
    import dask

    for i in range(0, len(level), _LOOKED_AT):
        for error in dask.compute(*level[i : i + _LOOKED_AT]):
            if error is not None:
                return error
    return None


# ---- In this process


def _with_threads(lazy: Any, level: Sequence[Any], tick: Tick) -> Any:
    """The result of a scheduler of this machine, which says when each of the tasks of `level` has ended."""
    if tick is None:
        return lazy.compute()
    from dask.callbacks import Callback

    waiting = {each.key for each in level}

    def ended(key: Any, *_: Any) -> None:
        if key in waiting:
            waiting.remove(key)
            tick()

    with Callback(posttask=ended):
        result = lazy.compute()
    for _ in waiting:
        tick()
    return result


# ---- On the workers of a cluster

#: Where the ends of tasks are reported, by the keys of the tasks. Keys differ each time, so all passes share this.
_listening: dict[str, SimpleQueue[str | None]] = {}


def _client() -> Any:
    """The client of the cluster that Dask would use, after a check of its workers. None if Dask would use this machine,
    or if this is itself a task of a cluster, which has to give its thread away while it waits: `compute` does that."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "subscribe_topic"):
        return None
    from distributed import get_worker

    with suppress(ValueError):
        get_worker()
        return None
    if client not in _same_everywhere:
        _require_lowdim(client)
    return client


def _topic(client: Any) -> str:
    """The topic of the events that tell this client about ended tasks. It is one for all passes, because the scheduler
    keeps the last events of each topic."""
    return f"lowdim-{client.id}"


@dataclass(frozen=True)
class _Telling:
    """A task that tells a client when it has ended. Futures of the tasks would tell it too, but the workers would have
    to hold all their results until the last one is merged."""

    task: Task
    topic: str

    def __call__(self, *arguments: Any) -> Any:
        from distributed import get_worker

        result = self.task(*arguments)
        worker = get_worker()
        worker.log_event(self.topic, worker.get_current_task())
        return result


def _heard(event: tuple[float, str]) -> None:
    """A task has ended, perhaps for the second time."""
    queue = _listening.pop(event[1], None)
    if queue is not None:
        queue.put(event[1])


def _with_workers(client: Any, lazy: Any, parts: Sequence[Source], level: Sequence[Any], tick: Tick) -> Any:
    """The result that the workers compute. If the caller is interrupted, tasks that have not begun are cancelled."""
    from distributed import KilledWorker

    ended: SimpleQueue[str | None] = SimpleQueue()
    if tick is not None:
        _listening.update((each.key, ended) for each in level)
        client.subscribe_topic(_topic(client), _heard)
    silent = len(level)
    with ThreadPoolExecutor(1) as aside:
        # Another thread sends the tasks, so that Ctrl-C cannot leave a future behind that nobody can cancel.
        sending = aside.submit(copy_context().run, client.compute, lazy)
        try:
            future = sending.result()
            future.add_done_callback(lambda _: ended.put(None))
            while ended.get() is not None:
                silent -= 1
                tick()  # type: ignore[misc] # only called if there is one
            result = future.result()
        except KilledWorker as error:
            _require_lowdim(client)
            rows = _rows_of(error.task, lazy, parts, level)
            of = "" if rows is None else f", which rows {rows[0]} to {rows[1] - 1} need,"
            raise RuntimeError(
                f"all workers of Dask that were given the task {str(error.task)!r}{of} died. Most often a worker dies "
                "because its memory does not suffice: a partition must fit into it together with the summary of the "
                "model. Use smaller partitions (X.rechunk or X.repartition), fewer threads in each worker, or workers "
                "with more memory; their logs say why they died."
            ) from error
        finally:
            if sending.exception() is None:
                sending.result().cancel()
            for each in level:
                _listening.pop(each.key, None)
    if tick is not None:
        for _ in range(silent):
            tick()
    return result


def _rows_of(key: Any, lazy: Any, parts: Sequence[Source], level: Sequence[Any]) -> tuple[int, int] | None:
    """The first row, and the first row after the last, of the part that needs the result of a task; None if that are
    several parts, or if Dask knows the task by another name."""
    from dask.core import reverse_dict

    graph = lazy.__dask_graph__()
    if key not in graph:
        return None
    each_part = zip(with_rows(parts, None), level, strict=True)
    needed_by = reverse_dict(graph.get_all_dependencies())
    starts = {each.key: (i, i + int(part.shape[0] or 0)) for (part, i, _), each in each_part}
    todo, seen, found = [key], {key}, set()
    while todo:
        one = todo.pop()
        if one in starts:
            found.add(starts[one])
            continue
        more = needed_by[one] - seen
        seen |= more
        todo.extend(more)
    return found.pop() if len(found) == 1 else None


#: Clients all of whose workers have this lowdim.
_same_everywhere: WeakSet[Any] = WeakSet()


def _require_lowdim(client: Any) -> None:
    """Raise an error if a worker of the cluster has no lowdim, or another one. Such a worker may not even be able to
    read a task, and would die of it. Workers that join later check the version when they run a task."""
    # A function of lowdim could not be read by a worker without lowdim, so a builtin one has to do.
    found = client.run(eval, "__import__('lowdim').__version__", on_error="return")
    for worker, there in found.items():
        if isinstance(there, ModuleNotFoundError):
            raise errors.no_lowdim(f"Dask ({worker})")
        if isinstance(there, Exception):
            raise there
        if there != __version__:
            raise errors.other_version(__version__, there, f"the worker {worker} of Dask")
    _same_everywhere.add(client)


# The source of the rows of Dask arrays and data frames.


class DaskSource(Source):
    """Rows of a Dask array or data frame; each partition is read by a task.

    Parameters
    ----------
    X : Dask array or data frame
        An array whose columns are divided among several chunks is rechunked first.
    open_block : callable
        Opens one partition as a source, on the machine that holds it.

    Notes
    -----
    Opening a collection reads no rows, unless Dask does not know their number (data frames, filtered arrays). Then the
    lengths of the partitions are computed; for a data frame, from one of its columns. As usual in Dask, each pass
    computes the collection again; `X.persist()` keeps it in the memory of the workers.
    """

    def __init__(self, X: Any, open_block: Callable[[Any], Source]) -> None:
        self.open_block = open_block
        self._X = X = _whole_rows(X)
        framed = not hasattr(X, "chunks")
        self._sample = sample = open_block(X._meta_nonempty if framed else _one_row(X))
        lengths = _lengths(X, framed)
        if not framed and np.isnan(X.shape[0]):
            # With known lengths, the array can also be read by columns.
            self._X = X = X.copy()
            X._chunks = (tuple(lengths), X.chunks[1])
        n, p, edges = sum(lengths), sample.shape[1], pairwise(accumulate(lengths, initial=0))
        delayed = zip(np.ravel(X.to_delayed()), edges, strict=True)
        self._pieces = [_Piece(block, 0, j - i, j - i, i) for block, (i, j) in delayed]
        if n == 0:
            raise empty(n, p, (n, p))
        self.shape = (n, p)
        self.kind, self.dtype, self.names = sample.kind, sample.dtype, sample.names
        self.traits = replace(sample.traits, by_feature=not framed, in_memory=False, n_bytes=0, engine=DASK)

    def blocks(self, rows: int) -> Iterator[Array]:
        read = (block for part in self.parts(1) for block in part.blocks(rows))
        if rows < int(self.shape[0] or 0):
            yield from read
        else:
            yield concat_rows(list(read))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        if not names:
            return super().blocks_keeping(rows, names)
        return (pair for part in self.parts(1) for pair in part.blocks_keeping(rows, names))

    def parts(self, k: int, least: int = 1) -> list[Source]:
        """One source for each partition that has rows, whatever `k` is, or for several with fewer than `least` rows."""
        groups = adjacent([piece.length for piece in self._pieces], least)
        return [self._inherit(_PartSource(self, [self._pieces[i] for i in group])) for group in groups]

    def between(self, i: int, j: int) -> Source:
        cut = (p._replace(start=max(i - p.first, 0), stop=min(j - p.first, p.length)) for p in self._pieces)
        return self._inherit(_PartSource(self, [piece for piece in cut if piece.start < piece.stop]))

    def features(self) -> Source:
        if not self.traits.by_feature:
            return super().features()
        return self._inherit(DaskSource(self._X.T, self.open_block), transposed=True)

    @property
    def first_block(self) -> Source:
        """A source of one or two made-up rows, stored as the partitions are."""
        return self._sample

    def empty(self, *shape: int) -> Array:
        return self._sample.empty(*shape)


class _Piece(NamedTuple):
    """Rows `start` to `stop` of a partition."""

    block: Any
    start: int
    stop: int
    #: The number of rows of the partition, and the number of its first row in the table.
    length: int
    first: int


class _PartSource(Source):
    """Pieces of one or more partitions, read by a task."""

    def __init__(self, whole: DaskSource, pieces: list[_Piece]) -> None:
        self._whole, self._pieces = whole, pieces
        self.shape = (sum(piece.stop - piece.start for piece in pieces), whole.shape[1])
        self.dtype, self.kind, self.traits = whole.dtype, whole.kind, whole.traits

    def blocks(self, rows: int) -> Iterator[Array]:
        return _computed(self).blocks(rows)

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        return _computed(self).blocks_keeping(rows, names)

    def elsewhere(self, place: Callable[[Any], Any]) -> Any:
        blocks, where = [place(piece.block) for piece in self._pieces], [piece[1:] for piece in self._pieces]
        width, open_block = self.shape[1], self._whole.open_block
        return Call(_opened, [blocks, where, width, open_block, self.names, self.table, self.transposed])

    def empty(self, *shape: int) -> Array:
        return self._whole.empty(*shape)

    @property
    def first_block(self) -> Source:
        return self._whole.first_block


class DaskTable(Contents):
    """The columns of a data frame of Dask. A partition is computed once for all columns that are read side by side."""

    def __init__(self, frame: Any, open_rows: Callable[[Any], Source]) -> None:
        self._frame, self._open = frame, open_rows
        self._own = {str(name): name for name in frame.columns}
        self.names = list(self._own)

    @property
    def numeric(self) -> list[str]:  # type: ignore[override]
        kinds = nw.from_native(self._frame._meta).schema.values()
        return [name for name, kind in zip(self.names, kinds, strict=True) if kind.is_numeric()]

    def source(self, columns: Sequence[str]) -> Source:
        return self._open(self._frame[[self._own[name] for name in columns]])

    # What the columns hold is checked where they are opened.
    rows = source

    def keeping(self, columns: Sequence[str], names: Sequence[str]) -> Source:
        from .opening import open_keeping

        # A column may be one of the rows and be kept as well.
        both = list(dict.fromkeys([*columns, *names]))
        how = partial(open_keeping, names=list(names), wanted=list(columns))
        return DaskSource(self._frame[[self._own[name] for name in both]], how)

    def kind_of(self, name: str) -> Any:
        kinds = nw.from_native(self._frame._meta).schema.values()
        return kind_of_column(dict(zip(self.names, kinds, strict=True))[name])

    def text_among(self, names: Sequence[str]) -> list[str]:
        return []

    def dtype(self, columns: Sequence[str]) -> Any:
        return self._open(self._frame[[self._own[name] for name in columns]]._meta_nonempty).dtype

    def column(self, name: str) -> np.ndarray:
        return self._frame[self._own[name]].compute().to_numpy()


def _computed(part: Source) -> Source:
    """The part as a source whose rows are in the memory of this machine."""
    from dask import delayed

    return delayed(made)(*_recipe_of(part)).compute()


def _opened(
    blocks: list[Any],
    where: list[tuple[int, int, int, int]],
    width: int,
    open_block: Callable[[Any], Source],
    names: Any,
    table: str,
    transposed: bool,
) -> Source:
    """One source of pieces of several partitions; `where` are the other fields of each `_Piece`."""
    sources = []
    for block, (start, stop, length, first) in zip(blocks, where, strict=True):
        try:
            opened = open_block(block)
            if opened.shape != (length, width):
                raise ValueError(
                    f"a partition of the Dask collection has {opened.shape[0]} rows and {opened.shape[1]} columns, and "
                    f"{length} rows and {width} columns were declared for it. Declare the shape that the blocks have, "
                    "for example in dask.array.from_delayed or map_blocks(..., chunks=...)."
                )
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            what = "columns" if transposed else "rows"
            raise kind(f"in the partition of {what} {first} to {first + length - 1}: {error}") from error
        sources.append(opened.between(start, stop))
    source = sources[0] if len(sources) == 1 else StreamSource(sources, lambda source: source)
    source.names, source.table, source.transposed = names, table, transposed
    return source


def _whole_rows(X: Any) -> Any:
    """A Dask array rechunked so that each chunk has all columns; data frames are returned unchanged."""
    if not hasattr(X, "chunks"):
        if getattr(X, "ndim", 1) != 2:
            raise ValueError(
                "Expected 2D array, got 1D array instead: a Dask series has one column; pass X.to_frame()."
            )
        return X
    if X.ndim != 2:
        raise bad_ndim(X.ndim, X.shape)
    if np.isnan(X.shape[1]):
        raise ValueError("the number of columns of X is not known to Dask; call X.compute_chunk_sizes() first.")
    return X if len(X.chunks[1]) <= 1 else X.rechunk({1: -1})


def _one_row(X: Any) -> Any:
    """A row of zeros, stored as the chunks of X are."""
    p, meta = X.shape[1], X._meta
    if is_sparse(meta):
        return sparse.csr_array((1, p), dtype=X.dtype)
    if isinstance(meta, np.ndarray):
        return np.zeros((1, p), dtype=X.dtype)
    return namespace(meta).zeros((1, p), dtype=meta.dtype)


def _lengths(X: Any, framed: bool) -> list[int]:
    """The number of rows of each partition."""
    import dask

    if not framed and not np.isnan(X.shape[0]):
        return [int(n) for n in X.chunks[0]]
    column = X[[X.columns[0]]] if framed else X
    count = dask.delayed(lambda block: int(block.shape[0]), pure=False)
    return list(dask.compute(*[count(block) for block in np.ravel(column.to_delayed())]))
