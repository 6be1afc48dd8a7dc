"""Checks of a block of rows and of its weights, before they are added to a summary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._xp import Array, astype, is_complex, is_sparse, namespace, working_dtype
from ..errors import bad_ndim, bad_weights, complex_data


def check_block(block: Any) -> Array:
    """`block` with real numbers in float32 or float64, in CSR format if it is sparse. Blocks that are so already, as
    the blocks of all sources are, are returned unchanged."""
    if not hasattr(block, "ndim") or not hasattr(block, "dtype"):
        raise TypeError(
            f"a block of rows must be a 2-D array or a sparse matrix, got {type(block).__name__}; "
            "lowdim.summarize(X, summary) reads data frames, lists and streams."
        )
    if block.ndim != 2:
        raise bad_ndim(block.ndim, tuple(block.shape))
    dtype = working_dtype(block)
    if block.dtype != dtype:
        if is_complex(block):
            raise complex_data(block.dtype)
        block = astype(block, dtype)
    return block.tocsr() if is_sparse(block) and block.format != "csr" else block


def counted_rows(block: Array, weights: Any) -> tuple[Array, Array]:
    """The rows of positive weight of a block, and their weights, which must be frequencies: one finite number for each
    row, none of them negative."""
    shape = tuple(getattr(weights, "shape", ()))
    if shape != (block.shape[0],):
        got = f"shape {shape}" if hasattr(weights, "shape") else type(weights).__name__
        raise bad_weights("must be an array with one entry per row", f"{got} for {block.shape[0]} rows")
    if isinstance(weights, np.ndarray) and weights.dtype.kind not in "fiub":
        raise bad_weights("must hold real numbers", f"dtype {weights.dtype}")
    xp = namespace(weights)
    # A quick test for the usual case: NaN is passed on by both minimum and maximum, and fails every comparison.
    if block.shape[0] == 0 or bool((xp.min(weights) > 0) & (xp.max(weights) < math.inf)):
        return block, weights
    allowed = (weights >= 0) & (weights < math.inf)
    if not bool(xp.all(allowed)):
        row = int(xp.argmin(astype(allowed, xp.int8)))
        value = float(weights[row])
        raise bad_weights("must not be negative" if value < 0 else "must be finite", f"{value} in row {row}")
    index = xp.nonzero(weights > 0)[0]
    if is_sparse(block):
        return block[index], weights[index]
    return xp.take(block, index, axis=0), xp.take(weights, index, axis=0)
