"""A feature map that was made for a kernel, from a sample of the rows or from none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import features
from ..._xp import Array, astype, is_sparse, to_numpy
from ...kernels import Kernel


@dataclass(frozen=True)
class MadeMap:
    """A feature map phi(x) = raw(x) R: scores are linear in raw(x), and moments of phi follow from those of raw."""

    #: Of arrays of the kind that it was made for.
    raw: Callable[[Array], Array]
    #: R, (m, r), or None for the identity.
    root: np.ndarray | None = None
    #: The landmarks, if raw(x) are kernels with them, and which rows of the sample they are; which others were
    #: candidates.
    landmarks: Any = None
    chosen: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    passed_over: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    #: Share of the spectrum of the landmarks that is negative and was left out.
    negative_mass: float = 0.0

    def on(self, like: Array) -> MadeMap:
        """The same map for arrays of the kind of `like`."""
        move = getattr(self.raw, "on", None)
        return self if move is None or isinstance(like, np.ndarray) else replace(self, raw=move(like))

    def of(self, rows: Any) -> np.ndarray:
        """phi of rows on the host."""
        values = to_numpy(self.raw(rows)).astype(np.float64)
        return values if self.root is None else values @ self.root


def kernel_columns(kernel: Kernel, rows: Array, origin: Array | None) -> Any:
    """x -> kernels of x with `rows`. Where a shift of all rows is harmless after centring, and the kernel does not see
    to it itself, they are measured from `origin`: far from zero products would lose their digits."""
    if origin is None or is_sparse(rows) or kernel.shift_invariant or not kernel.shift_free:
        return features.KernelColumns(kernel, rows)
    shift = astype(origin, rows.dtype)
    return features.Scaled(features.KernelColumns(kernel, rows - shift), shift=shift)
