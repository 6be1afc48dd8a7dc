"""From a curve to a number of components: ties go to the smaller number, so that rounding decides nothing."""

from __future__ import annotations

import numpy as np

#: Eigenvalues this close to a threshold lie on it; entries of a curve this close are the same.
_ON, _SAME = 1e-10, 1e-12


def leading_above(values: np.ndarray, thresholds: np.ndarray) -> int:
    """How many of the leading `values` lie above their threshold, up to the first that does not."""
    below = values <= thresholds * (1.0 + _ON)
    return int(below.argmax()) if below.any() else len(values)


def first_best(curve: np.ndarray) -> int:
    """The first place where `curve` is as large as it gets, to rounding."""
    best = float(curve.max())
    return int((curve >= best - _SAME * max(1.0, abs(best))).argmax())
