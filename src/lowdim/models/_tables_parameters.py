"""Parameters of models of several tables: one value for all of them, or one for each."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import n_components_out_of_range


def check_count(k: Any, upper: int, n: int | None, groups: Sequence[int]) -> int:
    """`n_components` for tables of these widths as a number of at most `upper`; None stands for `upper`."""
    if k is None:
        return upper
    if isinstance(k, numbers.Integral) and not isinstance(k, bool | np.bool_) and 1 <= int(k) <= upper:
        return int(k)
    raise n_components_out_of_range(k, upper, n, tuple(groups), fractions=False)


def check_scale(scale: Any, n_tables: int) -> list[bool]:
    """`scale` as one flag for each table."""
    flags = list(scale) if isinstance(scale, list | tuple) else [scale] * n_tables
    if len(flags) != n_tables or not all(isinstance(flag, bool | np.bool_) for flag in flags):
        raise ValueError(
            f"scale={scale!r} must be True or False, or one of them for each of {n_tables} tables: (True, False), say."
        )
    return [bool(flag) for flag in flags]


def check_regularization(c: Any, n_tables: int) -> list[float]:
    """`regularization` as one number for each table."""
    values = list(c) if isinstance(c, list | tuple | np.ndarray) else [c] * n_tables
    real = all(isinstance(v, numbers.Real) and not isinstance(v, bool | np.bool_) for v in values)
    if len(values) != n_tables or not real or not all(0.0 <= float(v) <= 1.0 for v in values):
        raise ValueError(
            f"regularization={c!r} must be a number from 0 (none) to 1 (full), or one for each of {n_tables} tables."
        )
    return [float(v) for v in values]
