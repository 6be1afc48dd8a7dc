"""Joining small blocks of a stream before they are opened, since opening costs more than summing up a few rows."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from .._xp import concat_rows, device, is_array, is_sparse
from .table import is_table


def form_of(block: Any) -> Any:
    """What blocks must have in common to be joined: type, dtype and columns. None if they cannot be joined."""
    if type(block) is np.ndarray:
        return (block.dtype, block.shape[1:]) if block.dtype.kind in "fiub" and block.ndim in (1, 2) else None
    if is_sparse(block):
        return (type(block), block.dtype, block.shape[1:]) if block.format == "csr" and block.ndim == 2 else None
    if isinstance(block, np.ndarray):
        # Masked arrays and other classes that derive from arrays are opened one by one.
        return None
    if is_array(block):
        return type(block), block.dtype, device(block), tuple(block.shape[1:])
    if is_table(block) and not isinstance(block, nw.DataFrame):
        return type(block), tuple(nw.from_native(block, eager_only=True).schema.items())
    return None


def joined(blocks: list[Any]) -> Any:
    """Blocks of the same form as one block."""
    if len(blocks) > 1 and is_table(blocks[0]):
        return nw.concat([nw.from_native(block, eager_only=True) for block in blocks]).to_native()
    return concat_rows(blocks)
