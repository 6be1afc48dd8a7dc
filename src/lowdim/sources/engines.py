"""What a scheduler offers, so that rows which its workers hold are summed up and mapped where they lie.

An engine is one object, and the trait `engine` of a source names the one that holds its rows. `dask/`, `spark/` and
`in_process.py` each have one; the rest of lowdim knows only this protocol.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol

from .._version import __version__
from ..errors import other_version

if TYPE_CHECKING:
    from .._xp import Array
    from .base import Source
    from .carried import CarriedColumn

#: The number of results that one task of a tree merges.
FAN_IN = 8


class Codec(Protocol):
    """Results of tasks as bytes, for an engine that does not send objects."""

    def encode(self, result: Any) -> bytes: ...

    def decode(self, data: bytes) -> Any: ...


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
        self,
        source: Source,
        task: Callable[..., Any],
        merge: Callable[[list[Any]], Any],
        *,
        along: Array | CarriedColumn | None = None,
        least: int = 1,
        codec: Codec | None = None,
        told: Callable[[int], None] | None = None,
        tick: Callable[[], None] | None = None,
    ) -> Any:
        """The results of `task` for all partitions, merged by a tree of tasks, in the order of the partitions: each
        `merge` takes up to `FAN_IN` results, and only the last one is sent to this process.

        Adjacent partitions with fewer than `least` rows may be one part. `told` is called with the number of parts
        before they are read, and `tick` when one of them has been summed up.
        """

    @abstractmethod
    def mapped(
        self,
        source: Source,
        task: Callable[..., Array],
        like: Array,
        names: Callable[[], Sequence[str]] | None,
        *,
        replaces: bool = False,
    ) -> Any:
        """A lazy collection of the results of `task`, one for each row; `like` are results for made-up rows, and
        `names` returns the names of their columns. With `replaces`, they are the rows with other entries: where results
        are columns beside the rows, they take the place of the columns of the same names."""

    def hashed(self, source: Source, k: int, seed: int) -> CarriedColumn:
        """For rows without an order: a number from 0 to k - 1 for each row, from a hash of its entries, which does not
        depend on the partitions."""
        raise NotImplementedError(f"rows of {self.name} have an order.")

    @abstractmethod
    def in_turn(self, source: Source, task: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
        """For each part, in order, a function that computes the result of `task` and returns it to this process."""


@dataclass(frozen=True)
class SameVersion:
    """A function that a worker calls only if it has the lowdim of the process that sent the function."""

    function: Callable[..., Any]
    #: The worker in messages.
    where: str
    version: str = __version__

    def __call__(self, *arguments: Any) -> Any:
        if self.version != __version__:
            raise other_version(self.version, __version__, self.where)
        return self.function(*arguments)


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


def with_rows(parts: Sequence[Source], along: Array | None) -> Iterator[tuple[Source, int, Array | None]]:
    """The arguments of a task for each part, in order."""
    edges = pairwise(accumulate((int(part.shape[0] or 0) for part in parts), initial=0))
    for part, (i, j) in zip(parts, edges, strict=True):
        yield part, i, None if along is None else along[i:j]


def in_a_tree(level: list[Any], merge: Callable[[list[Any]], Any]) -> Any:
    """One result of many: `merge` takes `FAN_IN` neighbours, until one is left."""
    while len(level) > 1:
        level = [merge(level[i : i + FAN_IN]) for i in range(0, len(level), FAN_IN)]
    return level[0]
