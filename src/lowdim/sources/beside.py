"""Tables side by side: several sources read as one, or columns of one source as several tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from .._core.arrays import Array, Beside, asarray_like, astype, device, is_sparse, namespace, to_numpy
from .._core.devices import in_main_memory, name_of_device
from ..errors import inconsistent_lengths, no_order
from .base import Call, Engine, Source, Traits, ViewSource, edges

# Blocks of several tables, cut so that those that lie side by side have the same rows.


T = TypeVar("T")


def aligned(
    readers: Sequence[Iterator[T]],
    length: Callable[[T], int],
    cut: Callable[[T, int, int], T],
    tables: Sequence[str],
) -> Iterator[list[T]]:
    """The blocks of all readers, cut at the same rows; an error that names the `tables` if they end at different rows.

    `length(block)` is the number of its rows, and `cut(block, i, j)` are its rows from i up to, but not including, j.
    Blocks without rows are left out. Each reader is at most one block ahead of the result.
    """
    held: list[T | None] = [None] * len(readers)
    n_rows = [0] * len(readers)
    while True:
        for i, reader in enumerate(readers):
            if held[i] is None:
                held[i] = block = next((block for block in reader if length(block)), None)
                n_rows[i] += 0 if block is None else length(block)
        blocks = [block for block in held if block is not None]
        if not blocks:
            return
        if len(blocks) < len(held):
            raise inconsistent_lengths(
                tables, [n if block is None else None for n, block in zip(n_rows, held, strict=True)]
            )
        lengths = [length(block) for block in blocks]
        n = min(lengths)
        yield [block if m == n else cut(block, 0, n) for block, m in zip(blocks, lengths, strict=True)]
        held = [None if m == n else cut(block, n, m) for block, m in zip(blocks, lengths, strict=True)]


# Some columns of another source, which is read once for all tables that are made of its columns.


class ColumnsSource(ViewSource):
    """Some columns of another source, the parent, as a table of their own.

    A `BesideSource` of several of them reads the parent once. Blocks have the dtype of the parent unless another one is
    given: columns of float32 stay float32 beside others of float64.

    Parameters
    ----------
    parent : Source
        Its blocks are dense.
    columns : sequence of int
        Numbers of columns of the parent. Neighbouring ones, in their order, are taken without a copy.
    dtype : optional
    """

    def __init__(self, parent: Source, columns: Sequence[int], dtype: Any = None) -> None:
        self._columns, p = list(columns), len(columns)
        first = self._columns[0]
        self._range = slice(first, first + p) if self._columns == list(range(first, first + p)) else None
        traits = parent.traits
        super().__init__(
            parent,
            by_feature=traits.by_feature and self._range is not None,
            views=False,
            n_bytes=traits.n_bytes * p // parent.shape[1],
            part_bytes=traits.part_bytes * p // parent.shape[1],
            reading_bytes=traits.reading_bytes * p // parent.shape[1],
            itemsize=traits.itemsize if dtype is None else int(np.dtype(dtype).itemsize),
        )
        self.shape = (parent.shape[0], p)
        self.names = None if parent.names is None else [parent.names[j] for j in self._columns]
        self.dtype = parent.dtype if dtype is None else dtype
        self._arguments = (self._columns, self.dtype)

    def of(self, block: Array) -> Array:
        """These columns of a block of the parent."""
        return astype(block[:, self._columns if self._range is None else self._range], self.dtype)

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Array, Any]]:
        return ((self.of(block), kept) for block, kept in self.parent.blocks_keeping(rows, names))

    def identity(self) -> dict[str, Any]:
        return {"columns": self._columns, "of": self.parent.identity()}

    def features(self) -> Source:
        if self._range is None:
            return Source.features(self)
        return self._inherit(self.parent.features().between(self._range.start, self._range.stop), transposed=True)

    def empty(self, *shape: int) -> Array:
        return astype(self.parent.empty(*shape), self.dtype)

    def row_label(self, i: int, column: int = 0) -> str:
        return self.parent.row_label(i, self._columns[column])


# Tables side by side are in main memory, or on one device.


def require_one_device(sources: Sequence[Source]) -> None:
    """Raise an error if tables that are read together are on different devices. Those in main memory are copied to the
    device of the first one, and no table is copied from a device to main memory."""
    if all(source.traits.host for source in sources):
        return
    likes = [source.empty(0) for source in sources]
    first = likes[0]
    for like in likes[1:]:
        elsewhere = namespace(like) is not namespace(first) or device(like) != device(first)
        if elsewhere and not in_main_memory(like):
            places = zip(sources, likes, strict=True)
            where = ", ".join(f"{source.table} is on {name_of_device(like)}" for source, like in places)
            raise ValueError(
                f"tables that are read together must be on one device: {where}. Move them to the same device, or pass "
                "those that are in main memory as NumPy arrays."
            )


# Tables side by side: several sources read as one.


class BesideSource(Source):
    """Several tables side by side: row i holds row i of the first source, then row i of the second, and so on.

    Parameters
    ----------
    sources : sequence of sources
        Sources with the same number of rows. They may be of different kinds, such as a sparse matrix, a table and a
        stream. Blocks are in float64 unless all sources are in float32.

    Notes
    -----
    Blocks are arrays of the library of the first source. Dense ones are returned as `Beside`, which copies nothing.
    If sparse and dense tables are combined, blocks are sparse if the widest table is.
    """

    joins_tables = True

    def __init__(self, sources: Sequence[Source]) -> None:
        self._members = sources = list(sources)
        require_one_device(sources)
        lengths = [s.shape[0] for s in sources]
        known = {n for n in lengths if n is not None}
        if len(known) > 1:
            raise inconsistent_lengths([s.table for s in sources], lengths)
        self.shape = (known.pop() if known else None, sum(s.shape[1] for s in sources))
        narrow = all(s.traits.itemsize == 4 for s in sources)
        xp = namespace(self.empty(0))
        self.dtype = xp.float32 if narrow else xp.float64
        self.kind = " beside ".join(s.kind for s in sources)
        widest = max(sources, key=lambda s: s.shape[1])
        traits = [s.traits for s in sources]
        host = traits[0].host
        stored = sum(s.traits.stored * s.shape[1] for s in sources) / self.shape[1]
        self._sparse = host and widest.traits.sparse
        part_bytes = sum(t.part_bytes for t in traits)
        self.traits = Traits(
            rereadable=all(t.rereadable for t in traits),
            sparse=self._sparse,
            stored=stored if self._sparse else 1.0,
            by_feature=False,
            whole=all(t.whole for t in traits),
            engine=self._engine(),
            host=host,
            in_memory=all(t.in_memory for t in traits),
            known_products=any(t.known_products for t in traits),
            n_bytes=sum(t.n_bytes for t in traits) if all(t.n_bytes for t in traits) else 0,
            part_bytes=part_bytes if part_bytes and all(s.can_be_cut for s in sources) else 0,
            reading_bytes=sum(t.reading_bytes for t in traits),
            itemsize=4 if narrow else 8,
            views=not host and all(t.views and (t.itemsize == 4) == narrow for t in traits),
            to_device=next((t.to_device for t in traits if t.to_device is not None), None) if host else None,
        )

    @property
    def members(self) -> list[Source]:
        return self._members

    def blocks(self, rows: int) -> Iterator[Array]:
        read = self._sources_to_read()
        readers, tables = [s.blocks(rows) for s in read], [s.table for s in read]
        cut: Any = zip(readers[0], strict=True)
        if len(readers) > 1:
            cut = aligned(readers, lambda block: int(block.shape[0]), lambda block, i, j: block[i:j, :], tables)
        for blocks in cut:
            at = dict(zip(map(id, read), blocks, strict=True))
            yield self._joined(
                [s.of(at[id(s.parent)]) if isinstance(s, ColumnsSource) else at[id(s)] for s in self.members]
            )

    def _sources_to_read(self) -> list[Source]:
        """The members; of those that are columns of one source, this source, once."""
        read = [s.parent if isinstance(s, ColumnsSource) else s for s in self.members]
        return list({id(s): s for s in read}.values())

    def _engine(self) -> Engine | None:
        """The engine whose workers read the rows. They can only if there is one table to read, or if all tables can be
        cut at the partition boundaries of a remote one; otherwise all tables are read on this machine."""
        engine = next((s.traits.engine for s in self.members if s.traits.engine is not None), None)
        if engine is None or len(self._sources_to_read()) == 1:
            return engine
        if not engine.ordered:
            raise no_order("two tables")
        return engine if all(s.can_be_cut for s in self.members) else None

    def changed(self, change: Callable[[Source], Source]) -> BesideSource:
        """The same tables of a piece of each source that is read."""
        changed = {id(s): change(s) for s in self._sources_to_read()}
        members = self.members
        return BesideSource(
            [s.of_other(changed[id(s.parent)]) if isinstance(s, ColumnsSource) else changed[id(s)] for s in members]
        )

    def parts(self, k: int, least: int = 1) -> list[Source]:
        if self.traits.remote or self.traits.part_bytes:
            # All tables are cut at the partition boundaries of the remote one, or where one of the files can be cut.
            leads = [s for s in self.members if s.traits.remote] or [s for s in self.members if s.traits.part_bytes]
            each = edges(leads[0].parts(k, least))
            return [self.changed(lambda source, i=i, j=j: source.between(i, j)) for i, j in each]  # type: ignore[misc]
        cut = [s.parts(k, least) for s in self.members]
        if len({len(parts) for parts in cut}) > 1:
            return [self]
        return [BesideSource(parts) for parts in zip(*cut, strict=True)] if len(cut[0]) > 1 else [self]

    @property
    def can_skip(self) -> bool:
        return all(s.can_skip for s in self.members)

    def after(self, i: int) -> Source:
        return self.changed(lambda source: source.after(i))

    def identity(self) -> dict[str, Any]:
        return {"tables": [s.identity() for s in self.members]}

    def elsewhere(self, place: Callable[[Any], Any]) -> Any:
        return Call(BesideSource, [[s.elsewhere(place) for s in self.members]])

    def empty(self, *shape: int) -> Array:
        return self._members[0].empty(*shape)

    def place(self, column: int) -> tuple[str, int, Sequence[str] | None]:
        member, column = self._member_of(column)
        return member.place(column)

    def row_label(self, i: int, column: int = 0) -> str:
        member, column = self._member_of(column)
        return member.row_label(i, column)

    def _member_of(self, column: int) -> tuple[Source, int]:
        """The table that holds a column, and the number of the column in it."""
        starts = list(accumulate(self.widths, initial=0))
        i = max(i for i, start in enumerate(starts[:-1]) if start <= column)
        return self.members[i], column - starts[i]

    def _joined(self, blocks: list[Any]) -> Array:
        """Blocks with the same number of rows, joined side by side."""
        if self._sparse:
            stored = [b if is_sparse(b) else sparse.csr_array(to_numpy(b)) for b in blocks]
            return sparse.hstack(stored, format="csr", dtype=self.dtype)
        blocks = [b.toarray() if is_sparse(b) else b for b in blocks]
        if self.traits.host:
            # Blocks that consist of codes become columns of zeros and ones only where these are needed.
            return Beside([b if isinstance(b, Beside) else np.asarray(to_numpy(b), dtype=self.dtype) for b in blocks])
        like = self.empty(0)
        return Beside([astype(asarray_like(b, like), self.dtype) for b in blocks])
