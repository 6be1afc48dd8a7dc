"""From a curve to a number of components. Ties go to the smaller number, so that rounding errors decide nothing."""

from __future__ import annotations

import numpy as np

#: Relative differences up to which an eigenvalue equals its threshold, and two entries of a curve are equal.
_ON, _SAME = 1e-10, 1e-12


def leading_above(values: np.ndarray, thresholds: np.ndarray) -> int:
    """The number of leading `values` above their thresholds, up to the first one that is not."""
    below = values <= thresholds * (1.0 + _ON)
    return int(below.argmax()) if below.any() else len(values)


def first_best(curve: np.ndarray) -> int:
    """The index of the maximum of `curve`, up to rounding; the first one on a tie."""
    best = float(curve.max())
    return int((curve >= best - _SAME * max(1.0, abs(best))).argmax())
