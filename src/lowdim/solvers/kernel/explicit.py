"""Explicit feature maps of kernels that have finitely many features."""

from __future__ import annotations

import math
from collections.abc import Callable

from ... import features
from ..._xp import Array
from ...kernels import Cosine, Kernel, Linear, Polynomial


def explicit_map(kernel: Kernel | None, p: int) -> tuple[Callable[[Array], Array], int] | None:
    """The explicit feature map of a kernel on p columns, and its number of features; None if there is none."""
    if isinstance(kernel, Linear):
        return features.Same(), p
    if isinstance(kernel, Cosine):
        return features.UnitLength(), p
    if isinstance(kernel, Polynomial) and kernel.semidefinite:
        up_to = {"up_to": True, "coef0": kernel.coef0} if kernel.coef0 > 0.0 else {}
        phi = features.Polynomial(int(kernel.degree), **up_to)  # type: ignore[arg-type] # a flag and a number
        return features.Scaled(phi, math.sqrt(kernel.gamma or 1.0 / p)), phi.width(p)
    return None
