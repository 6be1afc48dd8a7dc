"""The schedulers of Dask: threads of this process, or the workers of a `distributed.Client`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any
from uuid import uuid4
from weakref import WeakSet

from ... import errors
from ..._version import __version__
from ..._xp import Array
from ..base import Source
from ..engines import Codec, Engine, SameVersion, in_a_tree, with_rows
from ..recipes import Place, later, made, with_places


class DaskEngine(Engine):
    """The scheduler that Dask uses: threads of this process, or the workers of a `distributed.Client`."""

    name = "Dask"
    keeping = "X.persist()"

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
        parts = source.parts(1, least)
        if told is not None:
            told(len(parts))
        client = _client()
        if client is None:
            level = _tasks(parts, task, along)
            return _with_threads(in_a_tree(level, _merging(merge)), level, tick)
        level = _tasks(parts, _checked(task if tick is None else _Telling(task, _topic(client))), along)
        return _with_workers(client, in_a_tree(level, _merging(_checked(merge))), parts, level, tick)

    def mapped(
        self,
        source: Source,
        task: Callable[..., Array],
        like: Array,
        names: Callable[[], Sequence[str]] | None,
        *,
        replaces: bool = False,
    ) -> Any:
        """A Dask array; its rows have the shape and type of those of `like`."""
        import dask.array as da

        _client()
        parts = source.parts(1)
        rest = tuple(like.shape[1:])
        pieces = zip(_tasks(parts, _checked(task)), parts, strict=True)
        arrays = (da.from_delayed(piece, (part.shape[0], *rest), meta=like[:0]) for piece, part in pieces)
        return da.concatenate(list(arrays), axis=0)

    def in_turn(self, source: Source, task: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
        return (lazy.compute for lazy in _tasks(source.parts(1), _checked(task)))


DASK = DaskEngine()


def _tasks(parts: Sequence[Source], task: Callable[..., Any], along: Array | None = None) -> list[Any]:
    """`task(part, start, along)` for each part, not computed yet. The names of the tasks are for those who watch the
    scheduler, and differ each time: the rows may have changed."""
    from dask import delayed

    run, once = delayed(_Opening(task), pure=False), uuid4().hex
    return [
        run(*_recipe_of(part), start, piece, dask_key_name=f"lowdim-rows-{once}-{start}")
        for part, start, piece in with_rows(parts, along)
    ]


def _recipe_of(part: Source) -> tuple[Any, list[Any]]:
    """How a part is made of its partitions, and these in a list, in which Dask finds what it has to compute."""
    partitions: list[Any] = []

    def place(value: Any) -> Place | None:
        if not hasattr(value, "__dask_graph__"):
            return None
        partitions.append(value)
        return Place(len(partitions) - 1)

    return with_places(part.elsewhere(later), place), partitions


@dataclass(frozen=True)
class _Opening:
    """A task that first makes its part, of partitions that Dask has computed: tasks of their own for that would be work
    for the scheduler."""

    task: Callable[..., Any]

    def __call__(self, recipe: Any, partitions: list[Any], start: int, along: Array | None) -> Any:
        return self.task(made(recipe, partitions), start, along)


def _merging(merge: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """`merge` as a task, not computed yet."""
    from dask import delayed

    join = delayed(merge, pure=False)
    return lambda results: join(results, dask_key_name=f"lowdim-merge-{uuid4().hex}")


def _checked(function: Callable[..., Any]) -> SameVersion:
    return SameVersion(function, "a worker of Dask")


# ---- In this process


def _with_threads(lazy: Any, level: Sequence[Any], tick: Callable[[], None] | None) -> Any:
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

#: Where the ends of tasks are told, by the keys of the tasks. Keys differ each time, so all passes share this.
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

    task: Callable[..., Any]
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


def _with_workers(
    client: Any, lazy: Any, parts: Sequence[Source], level: Sequence[Any], tick: Callable[[], None] | None
) -> Any:
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
                tick()  # type: ignore[misc] # only those who want ticks are told
            result = future.result()
        except KilledWorker as error:
            _require_lowdim(client)
            raise errors.workers_died(str(error.task), _rows_of(error.task, lazy, parts, level)) from error
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
