"""Checks of a summary that was read from a file: what `update` and `merge` guarantee must hold for it as well."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from .._xp import is_sparse

if TYPE_CHECKING:
    from .base import Layout, Summary

#: Symmetric matrices may differ from their transpose, and have negative diagonal entries, by this fraction of their
#: largest entry.
_ROUNDING = 1e-8


def require_numbers(summary: Summary, stored: Collection[str]) -> None:
    """Raise a ValueError if a file does not hold all numbers of a summary. They are never None, so they were saved; a
    number that is missing would silently keep the value that it has in an empty summary."""
    numbers = [name for name, shape in summary._layout().items() if shape == () and name not in summary.added]
    missing = [name for name in numbers if name not in stored and getattr(summary, name) is not None]
    if missing:
        raise ValueError(f"{', '.join(missing)} is missing")


def check_loaded(summary: Summary) -> None:
    """Raise a ValueError if the values of a summary that was read from a file cannot be those of a summary of rows:
    wrong shapes, values that are missing, numbers that are not finite or have the wrong sign."""
    layout = summary._layout()
    for name, shape in layout.items():
        value = getattr(summary, name)
        if value is not None:
            _check_numbers(name, value, shape)
    for name in summary.state:
        if name not in layout and isinstance(getattr(summary, name), np.ndarray | int | float):
            raise ValueError(f"it holds {name}, which this summary does not have")
    for name in summary.nonnegative:
        value = getattr(summary, name)
        if value is not None and np.size(value) and np.min(value) < 0:
            raise ValueError(f"{name} has the negative entry {np.min(value):g}")
    for name in summary.symmetric:
        value = getattr(summary, name)
        if value is not None:
            _check_symmetric(name, value)
    _check_complete(summary, layout)


def _check_numbers(name: str, value: Any, shape: tuple[int | None, ...]) -> None:
    """Raise an error unless `value` holds finite real numbers and has the given shape; None is any length."""
    numbers = value.data if is_sparse(value) else np.asarray(value)
    if numbers.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {numbers.dtype}, and holds no real numbers")
    got = tuple(value.shape) if is_sparse(value) else numbers.shape
    if len(got) != len(shape) or any(s is not None and s != g for g, s in zip(got, shape, strict=True)):
        wanted = ", ".join("any" if s is None else str(s) for s in shape)
        raise ValueError(f"{name} has shape {got}, and must have shape ({wanted})")
    if not np.all(np.isfinite(numbers)):
        raise ValueError(f"{name} contains NaN or infinity")


def _check_symmetric(name: str, S: np.ndarray) -> None:
    """Raise an error unless a matrix is symmetric and its diagonal is not negative, up to rounding."""
    allowed = _ROUNDING * float(np.abs(S).max())
    asymmetry, smallest = float(np.abs(S - S.T).max()), float(np.diagonal(S).min())
    if asymmetry > allowed:
        raise ValueError(f"{name} is not symmetric: it differs from its transpose by up to {asymmetry:.3g}")
    if smallest < -allowed:
        raise ValueError(f"{name} has the negative diagonal entry {smallest:.3g}")


def _check_complete(summary: Summary, layout: Layout) -> None:
    """Raise an error unless all sums are there if the summary has seen rows, and none of them if it has not."""
    sums = [name for name, shape in layout.items() if shape and name not in (*summary.parameters, *summary.options)]
    there = {name: getattr(summary, name) is not None for name in sums}
    seen = any(there.values())
    if seen and not all(there.values()):
        missing = ", ".join(name for name, known in there.items() if not known)
        raise ValueError(f"{missing} is missing")
    for name in ("n_rows", "weight"):
        count = getattr(summary, name, 0 if not seen else 1)
        if (count > 0) != seen or count < 0:
            raise ValueError(f"{name} is {count}, but the summary holds {'' if seen else 'no '}sums of rows")
    if not isinstance(getattr(summary, "n_rows", 0), int):
        raise ValueError(f"n_rows is {summary.n_rows!r}, and must be a whole number")  # type: ignore[attr-defined]
