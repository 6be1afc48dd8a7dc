"""Numbers of columns, as sorted bars or as a curve over the columns."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ._axes import color, columns_note, foreground, hatched, zero_lines
from ._text import column_ticks, tick_labels, tick_size

#: At most this many bars are drawn, those of the largest size.
MOST_BARS = 30
#: With more columns than this, as for spectra, numbers are drawn as a curve over the columns in their order.
CURVE_FROM = 40


def sorted_bars(
    ax: Any,
    names: Sequence[Any],
    values: np.ndarray,
    interval: np.ndarray | None = None,
    why: str = "those of the largest size",
) -> list[str]:
    """Horizontal bars, the largest magnitude on top, with intervals (low, high) as whiskers.

    Bars whose interval contains zero are drawn lighter and hatched. Returns the remarks for `note`.
    """
    order = np.argsort(-np.abs(values), kind="stable")[:MOST_BARS]
    positions = np.arange(len(order))
    bars = ax.barh(positions, values[order], color=color(0), height=0.7)
    if interval is not None:
        low, high = interval[:, order]
        for bar, a, b in zip(bars, low, high, strict=True):
            if a <= 0.0 <= b:
                bar.set(alpha=0.35, **hatched(foreground()))
        _whiskers(ax, positions, values[order], low, high)
    zero_lines(ax, horizontal=False)
    tick_labels(ax.yaxis, positions, [names[i] for i in order], fontsize=tick_size(len(order)))
    ax.set_ylim(len(order) - 0.4, -0.6)
    return columns_note(len(order), len(values), why)


def _whiskers(ax: Any, positions: np.ndarray, values: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    # An estimate may be outside its interval; then the whisker starts at the estimate.
    sides = np.vstack([np.maximum(values - low, 0.0), np.maximum(high - values, 0.0)])
    ax.errorbar(values, positions, xerr=sides, fmt="none", ecolor=foreground(), elinewidth=1.0, capsize=2.5)


def curve_over_columns(ax: Any, names: Sequence[Any], values: np.ndarray, interval: np.ndarray | None = None) -> None:
    """A curve over the columns in their order, which are numbers if all names are numbers, with a band."""
    where, numeric = positions_of(names)
    ax.plot(where, values, color=color(0))
    if interval is not None:
        ax.fill_between(where, interval[0], interval[1], color=color(0), alpha=0.25, linewidth=0)
    zero_lines(ax, vertical=False)
    ax.set_xlabel("column")
    if not numeric:
        few = np.unique(np.linspace(0, len(names) - 1, 6).round().astype(int))
        column_ticks(ax.xaxis, [names[i] for i in few], few)


def positions_of(names: Sequence[Any]) -> tuple[np.ndarray, bool]:
    """The names of columns as numbers, such as wavelengths, and True; or their positions from 0, and False."""
    with suppress(ValueError):
        where = np.array([float(name) for name in names])
        # "nan" and "inf" may be names, and are no places on an axis.
        if np.all(np.isfinite(where)):
            return where, True
    return np.arange(len(names), dtype=float), False
