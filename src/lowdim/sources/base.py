"""The protocol of a source: where rows come from. A source does not know what its rows are used for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from .._devices import Destination
from .._digest import digest
from .._xp import Array
from ..errors import cannot_keep
from .engines import Engine

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
    #: Size of one number in bytes.
    itemsize: int = 8
    #: Blocks are parts of an array that is there anyway, so that large ones need no more memory than small ones.
    views: bool = False
    #: The device to which rows in main memory or in files are sent (`on_device`); None if they stay where they are.
    sent: Destination | None = None

    @property
    def remote(self) -> bool:
        """Whether an engine holds the rows."""
        return self.engine is not None


class NamesRows(Protocol):
    """What names rows in messages."""

    def row_label(self, i: int, column: int = 0) -> str: ...


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
    #: Or another object that does.
    origin: NamesRows | None = None
    #: A description of how the rows are stored; it must be the same for all blocks of a stream.
    kind: str
    #: Whether scikit-learn can count and name the columns of the object that was opened.
    known_to_sklearn: bool = False
    traits: Traits
    #: The paths of the files that the rows are read from.
    files: Sequence[str] = ()
    #: The inner products of all rows if they are known, otherwise None.
    products: Any = None

    @property
    def members(self) -> list[Source]:
        """The sources of the tables that lie side by side; only this source unless it joins several tables."""
        return [self]

    @property
    def groups(self) -> tuple[int, ...]:
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
        """The rows cut into at most `k` sources, in order, that can be read at the same time. The default is one.

        A source whose rows are remote is cut into its partitions, whatever `k` is; adjacent partitions with fewer than
        `least` rows are then one part.
        """
        return [self]

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
        return self.form() | {"rows": digest(list(self._rows_here_and_there()))}

    def form(self) -> dict[str, Any]:
        """The part of `identity` that is known without a look at the rows."""
        names = None if self.names is None else list(self.names)
        return {"kind": self.kind, "shape": list(self.shape), "bits": 8 * self.traits.itemsize, "names": names}

    def _rows_here_and_there(self) -> Iterator[Array]:
        """A few rows at the beginning and, where rows can be read from anywhere, at further places."""
        n, p = self.shape
        rows = max(1, _COMPARED_BYTES // (p * self.traits.itemsize))
        if n is None or not self.can_be_cut:
            yield next(self.first_block.blocks(rows))[:rows, :]
            return
        for start, stop in cut(n, _COMPARED_PLACES):
            yield next(self.between(start, min(stop, start + rows)).blocks(rows))

    def require_two_axes(self) -> None:  # noqa: B027 (most sources have nothing to refuse)
        """Raise an error if this is an array with one axis in a file: that is a column of responses, and no rows."""

    def elsewhere(self, lazy: Callable[..., Any]) -> Any:
        """This source for a task on another machine, where calls made as `lazy(function)(arguments)` are evaluated."""
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


def cut(n: int, k: int) -> list[tuple[int, int]]:
    """Cut [0, n) into at most `k` ranges of nearly equal length."""
    k = max(1, min(k, n))
    edges = [n * i // k for i in range(k + 1)]
    return list(pairwise(edges))
