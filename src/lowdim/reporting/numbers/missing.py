"""Where entries are missing: by column, in which patterns, and whether the other columns tell where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, t

#: Tests compare groups of at least this many rows.
_FEWEST = 5
#: The largest number of columns with holes that are tested, and of rows.
_MOST_TESTED, _MOST_ROWS = 200, 20_000
#: The level of the tests together.
LEVEL = 0.05


@dataclass(frozen=True)
class Difference:
    """Another column differs between the rows in which a column is missing and those in which it is observed."""

    column: int
    other: int
    #: The p-value of Welch's test of the ranks, multiplied by Holm's factor.
    p_value: float
    #: The medians of the other column where the entry is missing, and where it is observed.
    median_missing: float
    median_observed: float


@dataclass(frozen=True)
class Missing:
    """Missing entries of the columns that are analysed."""

    #: The number of missing entries of each column.
    by_column: np.ndarray
    #: The numbers of rows that were looked at for patterns and tests, and of those that are complete, and empty.
    rows: int
    complete: int
    empty: int
    #: Patterns by how often they occur: which columns are missing, shape (m, p), and the number of rows.
    patterns: np.ndarray
    counts: np.ndarray
    #: The number of tests, and the differences that remain significant when this number is taken into account.
    tests: int
    differences: list[Difference]


def missing_in(X: np.ndarray, by_column: np.ndarray) -> Missing:
    """Patterns and tests of the rows `X`, and the number of missing entries of each column of all rows."""
    holes = np.isnan(X)
    patterns, counts = _patterns(holes)
    empty = int(np.count_nonzero(holes.all(axis=1)))
    tests, differences = _differences(X[:: -(-len(X) // _MOST_ROWS)])
    return Missing(
        by_column=by_column,
        rows=len(X),
        complete=int(np.count_nonzero(~holes.any(axis=1))),
        empty=empty,
        patterns=patterns,
        counts=counts,
        tests=tests,
        differences=differences,
    )


def _patterns(holes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    packed = np.packbits(holes, axis=1)
    keys = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")[:, 0]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    order = np.lexsort([first, -counts])
    return holes[first[order]], counts[order]


def _differences(X: np.ndarray) -> tuple[int, list[Difference]]:
    """All pairs of a column with holes and another column, by Welch's test of ranks.

    Ranks make the test fit for skewed columns and outliers. Where a column is missing, the other one is compared where
    it is observed. p-values are corrected by Holm's method, which holds whatever the tests have to do with each other.
    """
    holes = np.isnan(X)
    missing = holes.sum(axis=0)
    able = np.flatnonzero((missing >= _FEWEST) & (len(X) - missing >= _FEWEST))
    able = np.sort(able[np.argsort(-missing[able], kind="stable")[:_MOST_TESTED]])
    if len(able) == 0:
        return 0, []
    ranks = rankdata(X, axis=0, nan_policy="omit")
    known = ~holes
    centre = np.where(known, ranks, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    Z = np.where(known, ranks - centre, 0.0)
    groups = []
    for chosen in (holes[:, able], known[:, able]):
        counts = chosen.T.astype(float) @ known
        mean = chosen.T @ Z / np.maximum(counts, 1)
        squares = chosen.T @ Z**2 - counts * mean**2
        groups.append((counts, mean, np.maximum(squares, 0.0) / np.maximum(counts - 1, 1) / np.maximum(counts, 1)))
    (n1, m1, v1), (n2, m2, v2) = groups
    tested = (n1 >= _FEWEST) & (n2 >= _FEWEST) & (v1 + v2 > 0)
    tested[np.arange(len(able)), able] = False
    i, j = np.nonzero(tested)
    if len(i) == 0:
        return 0, []
    n1, m1, v1, n2, m2, v2 = (part[i, j] for part in (n1, m1, v1, n2, m2, v2))
    free = (v1 + v2) ** 2 / (v1**2 / (n1 - 1) + v2**2 / (n2 - 1))
    p_values = _holm(2.0 * t.sf(np.abs(m1 - m2) / np.sqrt(v1 + v2), free))
    found = []
    for at in np.argsort(p_values, kind="stable"):
        if p_values[at] > LEVEL:
            break
        column, other = int(able[i[at]]), int(j[at])
        where, entries = holes[:, column], X[:, other]
        medians = [float(np.nanmedian(entries[some])) for some in (where, ~where)]
        found.append(Difference(column, other, float(p_values[at]), *medians))
    return len(p_values), found


def _holm(p_values: np.ndarray) -> np.ndarray:
    """p-values by Holm's method: the smallest of m times m, the next one times m - 1, and so on, in ascending order."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    raised = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    out = np.empty_like(raised)
    out[order] = raised
    return out
