"""Rows in partitions that are in the memory of this process, and are read by tasks in its threads.

This is the smallest engine. It sends nothing, so it shows what an engine does and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from lowdim._core import threads
from lowdim._core.arrays import Array, concat_rows
from lowdim.errors import empty
from lowdim.sources.base import Call, Engine, Merge, Source, Task, Tick, adjacent, in_a_tree, made, with_rows
from lowdim.sources.stream import StreamSource


class PartitionedSource(Source):
    """Rows of several sources, one below the other; each of them is a partition, which a task reads.

    Parameters
    ----------
    partitions : sequence of sources
        Sources in memory with the same columns; partitions without rows are left out.
    """

    def __init__(self, partitions: Sequence[Source]) -> None:
        self._partitions = [each for each in partitions if each.shape[0]]
        if not self._partitions:
            raise empty(0, partitions[0].shape[1], (0, partitions[0].shape[1]))
        self._edges = list(accumulate((int(each.shape[0] or 0) for each in self._partitions), initial=0))
        first = self._partitions[0]
        self.shape = (self._edges[-1], first.shape[1])
        self.kind, self.dtype, self.names = first.kind, first.dtype, first.names
        self.traits = replace(first.traits, by_feature=False, in_memory=False, n_bytes=0, engine=IN_PROCESS)

    def blocks(self, rows: int) -> Iterator[Array]:
        blocks = self._joined().blocks(rows)
        return blocks if rows < int(self.shape[0] or 0) else iter([concat_rows(list(blocks))])

    def parts(self, k: int, least: int = 1) -> list[Source]:
        """One source for each partition, whatever `k` is, or for several with fewer than `least` rows."""
        groups = adjacent([j - i for i, j in pairwise(self._edges)], least)
        return [self._piece([self._partitions[i] for i in group]) for group in groups]

    def between(self, i: int, j: int) -> Source:
        each = zip(self._partitions, pairwise(self._edges), strict=True)
        return self._piece([part.between(max(i - s, 0), min(j, e) - s) for part, (s, e) in each if i < e and s < j])

    def elsewhere(self, place: Callable[[Any], Any]) -> Any:
        return Call(self._joined, [])

    @property
    def first_block(self) -> Source:
        return self._partitions[0].between(0, 1)

    def empty(self, *shape: int) -> Array:
        return self._partitions[0].empty(*shape)

    def _piece(self, partitions: Sequence[Source]) -> Source:
        return self._inherit(PartitionedSource(partitions))

    def _joined(self) -> Source:
        """The rows as a source that no engine holds."""
        one = len(self._partitions) == 1
        return self._inherit(self._partitions[0] if one else StreamSource(self._partitions, lambda source: source))


@dataclass(frozen=True)
class LazyRows:
    """Results for rows, which are computed when they are asked for: by `compute`, or by `np.asarray`."""

    tasks: Sequence[Callable[..., Array]]
    shape: tuple[int, ...]
    dtype: Any

    def compute(self) -> Array:
        """The results for all rows, in one array."""
        return concat_rows(list(_in_threads(self.tasks)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.compute(), dtype=dtype)


class InProcessEngine(Engine):
    """Threads of this process."""

    name = "threads"
    keeping = ""

    def merged(
        self, source: Source, task: Task, merge: Merge, *, along: Any, least: int, codec: Any, on_start: Any, tick: Tick
    ) -> Any:
        parts = source.parts(1, least)
        if on_start is not None:
            on_start(len(parts))
        results = []
        for result in _in_threads(_tasks(parts, task, along)):
            results.append(result)
            if tick is not None:
                tick()
        return in_a_tree(results, merge)

    def mapped(self, source: Source, task: Task, like: Array, names: Any, *, replaces: bool = False) -> LazyRows:
        """Results that are computed when they are asked for."""
        return LazyRows(_tasks(source.parts(1), task), (int(source.shape[0] or 0), *like.shape[1:]), like.dtype)

    def in_turn(self, source: Source, task: Task) -> Iterator[Callable[[], Any]]:
        return iter(_tasks(source.parts(1), task))


IN_PROCESS = InProcessEngine()


def _tasks(parts: Sequence[Source], task: Task, along: Array | None = None) -> list[Callable[..., Any]]:
    return [partial(_run, task, *each) for each in with_rows(parts, along)]


def _run(task: Task, part: Source, start: int, along: Array | None, tick: Any = None) -> Any:
    """The result of a task; calls that another engine would make on the machine of the task are made now."""
    return task(made(part.elsewhere(lambda value: value), []), start, along)


def _in_threads(tasks: Sequence[Callable[..., Any]]) -> Iterator[Any]:
    return threads.run_in_parallel(tasks, n_threads=threads.available())
