"""Arrays of any library as NumPy arrays of float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._xp import to_numpy


def floats(array: Any) -> np.ndarray:
    """An array of any library as a NumPy array of float64."""
    return np.asarray(to_numpy(array), dtype=np.float64)
