"""Components that are zero, where scikit-learn has as many as were requested and there are fewer."""

from __future__ import annotations

from .._xp import Array, device, namespace


def padded(values: Array, n: int) -> Array:
    """`values` with n zeros added to their last axis."""
    xp = namespace(values)
    zeros = xp.zeros((*values.shape[:-1], n), dtype=values.dtype, device=device(values))
    return xp.concat([values, zeros], axis=-1)
