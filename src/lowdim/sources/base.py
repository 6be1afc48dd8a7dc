"""The protocol of a source: where rows come from. A source does not know what its rows are used for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .._xp import Array


@dataclass(frozen=True)
class Traits:
    """What a plan needs to know of a source beside its shape."""

    #: The rows can be read more than once.
    rereadable: bool = True
    #: Rows are stored sparse, this fraction of their entries.
    sparse: bool = False
    stored: float = 1.0
    #: Single features can be read (needed for the Gram matrix of n < p rows).
    by_feature: bool = True
    #: `blocks(n)` gives all n rows as one block. False for streams, whose rows come in blocks of any size.
    whole: bool = True
    #: A block is computed, which costs about as much as summing it up, so that threads should share that work too.
    costly: bool = False
    #: Rows are held by the workers of a scheduler, which should also do the work on them.
    remote: bool = False
    #: Blocks are NumPy or SciPy arrays in the memory of the processor, so that several threads may read them.
    host: bool = True
    #: Bytes of the rows, 0 where unknown.
    n_bytes: int = 0
    #: Bytes of one number.
    itemsize: int = 8


class Source(ABC):
    """Rows of p numbers, in blocks of a chosen size, in the dtype that results come in."""

    #: (n, p); n is None while it is unknown.
    shape: tuple[int | None, int]
    #: float32 or float64, of the namespace of the rows.
    dtype: Any
    #: Column names for messages, or None.
    names: Sequence[str] | None = None
    #: What the table is called in messages.
    table: str = "X"
    #: A single column that came without a second axis.
    vector: bool = False
    #: True where the rows are the features of a table and the names are theirs.
    transposed: bool = False
    #: How the rows are stored, in words: blocks of one stream must agree on it.
    kind: str
    #: Whether scikit-learn knows how to count and name the columns of what was opened.
    known_to_sklearn: bool = False
    traits: Traits

    @property
    def members(self) -> list[Source]:
        """The tables that lie side by side in this source: this one alone, unless they were put together."""
        return [self]

    @property
    def groups(self) -> tuple[int, ...]:
        """The widths of the members."""
        return tuple(member.shape[1] for member in self.members)

    @property
    def can_be_cut(self) -> bool:
        """Whether `between` gives any range of rows."""
        return type(self).between is not Source.between

    @abstractmethod
    def blocks(self, rows: int) -> Iterator[Array]:
        """The rows from the first to the last, about `rows` at a time, as float arrays or CSR blocks."""

    def parts(self, k: int) -> list[Source]:
        """The rows cut into at most `k` sources that can be read at the same time, in order; here into one."""
        return [self]

    def between(self, i: int, j: int) -> Source:
        """Rows i to j, without row j."""
        raise TypeError(f"{self.table} cannot be cut between two rows; pass an array, a table or a Dask collection.")

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        """This source for a task on another machine: `lazy(function)(arguments)` is what the task calls there."""
        return self

    @property
    def first_block(self) -> Source:
        """A source of the first rows, or of rows of their kind, at no cost: nothing is taken from a stream."""
        return self

    def features(self) -> Source:
        """The source whose rows are the features of this one."""
        raise TypeError(f"{type(self).__name__} cannot be read feature by feature.")

    def narrowed(self) -> Source | None:
        """This source in float32, if that costs little memory and no value is out of range; otherwise None."""
        return None

    def empty(self, *shape: int) -> Array:
        """An uninitialised array of the namespace and device of the rows, in their dtype."""
        return np.empty(shape, dtype=self.dtype)

    def row(self, i: int) -> int:
        """The number that row `i` (of a transposed source: entry `i` of a row) has in the table, for messages."""
        return i

    def place(self, column: int) -> tuple[str, int, Sequence[str] | None]:
        """Where a column lies, for messages: the table, the column in it, and the names of all its columns."""
        return self.table, column, self.names

    def _inherit(self, other: Source, *, transposed: bool = False) -> Source:
        """`other`, a piece or the transpose of this source, with the names of this one."""
        other.names, other.table = self.names, self.table
        other.transposed = self.transposed or transposed
        return other


def cut(n: int, k: int) -> list[tuple[int, int]]:
    """[0, n) in at most `k` ranges of nearly equal length."""
    k = max(1, min(k, n))
    edges = [n * i // k for i in range(k + 1)]
    return list(pairwise(edges))
