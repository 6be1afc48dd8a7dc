"""The feature map of a kernel that a solver constructs, from a sample of the rows or without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ... import features
from ..._xp import Array, astype, is_sparse, to_numpy
from ...kernels import Kernel


@dataclass(frozen=True)
class KernelFeatureMap:
    """A feature map phi(x) = raw(x) R: scores are linear in raw(x), and moments of phi follow from those of raw."""

    #: The map raw.
    raw: Callable[[Array], Array]
    #: R, (m, r), or None for the identity.
    root: np.ndarray | None = None
    #: The landmarks, if raw(x) are the kernels with them; their indices in the sample; and the indices of those
    #: candidates that did not become landmarks.
    landmarks: Any = None
    chosen: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    rejected: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    #: Share of negative eigenvalues in the spectrum of the landmarks; they are left out.
    negative_mass: float = 0.0

    def on(self, like: Array) -> KernelFeatureMap:
        """The same map for arrays of the library and device of `like`."""
        move = getattr(self.raw, "on", None)
        return self if move is None or isinstance(like, np.ndarray) else replace(self, raw=move(like))

    def features(self, rows: Any) -> np.ndarray:
        """phi of rows that are NumPy arrays or sparse matrices."""
        values = to_numpy(self.raw(rows)).astype(np.float64)
        return values if self.root is None else values @ self.root


def kernel_columns(kernel: Kernel, rows: Array, origin: Array | None) -> Any:
    """The map from x to its kernels with `rows`.

    `origin` is subtracted first if such a shift does not change centred kernels and the kernel does not shift rows by
    itself: products of numbers far from zero would lose digits.
    """
    if origin is None or is_sparse(rows) or kernel.shift_invariant or not kernel.shift_free:
        return features.KernelColumns(kernel, rows)
    shift = astype(origin, rows.dtype)
    return features.Scaled(features.KernelColumns(kernel, rows - shift), shift=shift)
