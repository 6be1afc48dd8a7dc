"""Weights of rows: checked as a whole, and cut as the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._xp import Array, asarray_like, to_numpy
from ..errors import bad_weights, no_order, weights_without_column
from ..sources import CarriedColumn, Source, in_order


def check_weights(weights: Any, source: Source) -> Array:
    """Check frequency weights and return them as an array with the namespace, device and dtype of the rows, or as they
    are if they are a column that goes along with the rows."""
    if isinstance(weights, str):
        raise weights_without_column(weights)
    if isinstance(weights, CarriedColumn):
        return weights.checked(source)
    if not in_order(source):
        raise no_order("weights in an array")
    w = to_numpy(weights)
    if w.dtype.kind == "c":
        raise bad_weights("must hold real numbers", f"dtype {w.dtype}")
    if w.dtype.kind in "Mm":
        # NumPy would convert them to the number of days or seconds.
        raise bad_weights("must hold numbers, not dates or durations", f"dtype {w.dtype}")
    if w.dtype.kind not in "fiub":
        try:
            w = w.astype(np.float64)
        except (OverflowError, TypeError, ValueError):
            text = next((f", such as {str(entry)[:40]!r}" for entry in w.flat if isinstance(entry, str)), "")
            raise bad_weights("must hold numbers in the range of float64", f"dtype {w.dtype}{text}") from None
    n = source.shape[0]
    if w.ndim != 1 or (n is not None and len(w) != n):
        rows = "" if n is None else f" for {n} rows"
        raise bad_weights("must have one entry per row", f"shape {w.shape}{rows}")
    if not np.all(np.isfinite(w)):
        raise bad_weights("must be finite", f"{w[~np.isfinite(w)][0]} in row {int(np.argmax(~np.isfinite(w)))}")
    if np.any(w < 0):
        raise bad_weights("must not be negative", f"{w.min():g} in row {int(np.argmin(w))}")
    if not np.any(w > 0):
        raise bad_weights("must not be all zero", f"{len(w)} zeros")
    with np.errstate(over="ignore", under="ignore"):
        narrow = w.astype(np.float32 if source.traits.itemsize < 8 else np.float64)
        total = narrow.sum()
    if not np.all(np.isfinite(narrow)) or np.any((narrow == 0) & (w > 0)):
        raise bad_weights("must fit the float32 of the rows", f"values from {w[w > 0].min():g} to {w.max():g}")
    if not np.isfinite(total):
        raise bad_weights(f"must have a sum that fits into {narrow.dtype}", f"values up to {w.max():g}")
    return asarray_like(w, source.empty(0), dtype=source.dtype)


def weights_for(source: Source, weights: Any) -> Any:
    """Weights that have been checked, with the namespace, device and dtype of the rows of `source`."""
    if isinstance(weights, CarriedColumn):
        return weights
    return asarray_like(weights, source.empty(0), dtype=source.dtype)


def weights_of(block: Array, start: int, weights: Array | None) -> Array | None:
    """The weights of a block whose first row is row `start`."""
    if weights is None:
        return None
    stop = start + block.shape[0]
    if stop > weights.shape[0]:
        raise bad_weights("must have one entry per row", f"{weights.shape[0]} weights for {stop} rows or more")
    return weights[start:stop]


def check_all_weights(weights: Array | None, n: int) -> None:
    """Raise an error unless there are `n` weights; for a stream, the number of rows `n` is known only at its end."""
    if weights is not None and n != weights.shape[0]:
        raise bad_weights("must have one entry per row", f"{weights.shape[0]} weights for {n} rows")
