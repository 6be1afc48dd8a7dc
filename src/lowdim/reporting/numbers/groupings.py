"""Labels of rows: categories that form groups, and numbers that can only colour the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...inspect.categories import categories

#: Of more categories than this, the most frequent ones are kept and the others become one.
MOST_LEVELS = 30


@dataclass(frozen=True)
class Grouping:
    """The groups of the rows by one column of labels."""

    name: str
    #: What the groups are called.
    levels: list[str]
    #: The group of each row; -1 if its label is missing.
    codes: np.ndarray


def groupings(labels: Mapping[str, np.ndarray]) -> list[Grouping]:
    """The columns of labels that form groups: all but those that `measures` returns."""
    found = {name: categories(values) for name, values in labels.items()}
    return [
        _limited(Grouping(name, [str(level) for level in levels], codes))
        for name, (levels, codes) in found.items()
        if len(levels) > 0 and not _are_measured(levels)
    ]


def measures(labels: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of labels that are numbers with too many different values for groups, as float64; NaN if missing."""
    found = {}
    for name, values in labels.items():
        levels, codes = categories(values)
        if _are_measured(levels):
            found[name] = np.append(np.asarray(levels, dtype=np.float64), np.nan)[codes]
    return found


def _are_measured(levels: list) -> bool:
    numbers = all(isinstance(level, int | float | np.number) and not isinstance(level, bool) for level in levels)
    return len(levels) > MOST_LEVELS and numbers


def _limited(grouping: Grouping) -> Grouping:
    """At most `MOST_LEVELS` groups, the last of which holds all the less frequent ones."""
    if len(grouping.levels) <= MOST_LEVELS:
        return grouping
    counts = np.bincount(grouping.codes[grouping.codes >= 0], minlength=len(grouping.levels))
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1])
    others = len(counts) - len(kept)
    place = np.full(len(counts) + 1, len(kept))
    place[kept], place[-1] = np.arange(len(kept)), -1
    return Grouping(grouping.name, [*(grouping.levels[i] for i in kept), f"{others} others"], place[grouping.codes])
