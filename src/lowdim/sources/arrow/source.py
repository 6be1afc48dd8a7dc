"""What all sources of batches of Arrow have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import column_label, inexact_integer, other_length
from ..base import Traits
from ..block_memory import BlockMemory
from ..gathered import StoredSource, fits_easily
from .blocks import blocks_of
from .columns import block_dtype


class ArrowSource(StoredSource):
    """Rows of columns of Arrow, which come in batches; a subclass says from where (`batches`).

    Parameters
    ----------
    names : sequence of str
        The columns, in the order of the blocks.
    kinds : iterable of Arrow types
        All types that occur in these columns.
    n : int, optional
        The number of rows, if it is known.
    rereadable : bool
    """

    kind = "table"

    def __init__(self, names: Sequence[str], kinds: Iterable[Any], n: int | None, *, rereadable: bool = True) -> None:
        self.names = list(names)
        self.shape = (n, p) = (n, len(self.names))
        self.dtype = block_dtype(kinds)
        itemsize = int(np.dtype(self.dtype).itemsize)
        # Blocks are handed to threads in turn, as those of a stream are, unless a subclass can be cut (`part_bytes`).
        self.traits = Traits(
            rereadable=rereadable,
            by_feature=rereadable and n is not None and fits_easily(n, p, itemsize),
            whole=n is not None,
            column_blocks=True,
            in_memory=False,
            n_bytes=0,
            itemsize=itemsize,
        )
        #: The number of rows at the beginning of the table that are left out.
        self._start = 0
        #: Whether these are the rows of a part that one of several threads reads.
        self._is_part = False
        #: What the blocks lie in; parts of this source share it.
        self._memory = BlockMemory()
        #: The number of rows that a complete pass gave; None before the end of the first, if it is not known before.
        self._n_read = n

    @abstractmethod
    def batches(self, names: Sequence[str], carried: Sequence[str] = ()) -> Iterator[Any]:
        """Batches of these columns, in this order, of all rows. Those that are carried along are as they are stored."""

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        return (block for block, _ in self.blocks_keeping(rows, ()))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[np.ndarray, Any]]:
        # A column may be one of the rows and be kept as well.
        needed = list(dict.fromkeys([*self._names, *names]))
        n = 0
        for block, table in blocks_of(
            self.batches(needed, names),
            self.shape[1],
            self.dtype,
            rows,
            self._inexact,
            n=self.shape[0],
            keep=names,
            ahead=not self._is_part,
            memory=self._memory,
        ):
            n += block.shape[0]
            yield block, table
        if self._n_read not in (None, n):
            raise other_length(n, self._n_read)
        self._n_read = n

    def column(self, name: str) -> np.ndarray:
        """All entries of one column of the table, of any type, whether it is one of the rows or not. One pass."""
        import pyarrow as pa

        return pa.chunked_array([batch.column(0) for batch in self.batches([name])]).to_numpy()

    @property
    def _names(self) -> list[str]:
        return list(self.names or [])

    def _inexact(self, row: int, column: int, value: int) -> ValueError:
        return inexact_integer(value, self.row_label(self._start + row), column_label(column, self._names))
