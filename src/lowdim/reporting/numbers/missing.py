"""Where entries are missing: by column, in which patterns, and whether the other columns tell where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, rankdata

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
    #: The p-value of Mann and Whitney's test, corrected by Holm's method.
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
    """All pairs of a column with holes and another column, by the test of Mann and Whitney.

    The rows in which the other column is observed form two groups: where the first one is missing, and where it is not.
    The mean ranks of these groups are compared, in units of the standard deviation that their difference has if the
    groups are drawn at random; ties are taken into account. p-values are corrected by Holm's method, which holds
    whatever the tests have to do with each other. Two products of a q x n with an n x p matrix, for q columns with
    holes.
    """
    holes = np.isnan(X)
    missing = holes.sum(axis=0)
    able = np.flatnonzero((missing >= _FEWEST) & (len(X) - missing >= _FEWEST))
    able = np.sort(able[np.argsort(-missing[able], kind="stable")[:_MOST_TESTED]])
    if len(able) == 0:
        return 0, []
    known = (~holes).astype(np.float64)
    counts = known.sum(axis=0)
    ranks = np.where(holes, 0.0, rankdata(X, axis=0, nan_policy="omit") - (counts + 1) / 2)
    variance = (ranks**2).sum(axis=0) / np.maximum(counts - 1, 1)
    without = holes[:, able].T.astype(np.float64)
    n1 = without @ known
    n2 = counts - n1
    # Centred ranks add up to zero, so the sum of the other group is the same with the other sign.
    sums = without @ ranks
    tested = (n1 >= _FEWEST) & (n2 >= _FEWEST) & (variance > 0)
    tested[np.arange(len(able)), able] = False
    i, j = np.nonzero(tested)
    if len(i) == 0:
        return 0, []
    sums, n1, n2, variance = sums[i, j], n1[i, j], n2[i, j], variance[j]
    away = np.abs(sums / n1 + sums / n2) / np.sqrt(variance * (1 / n1 + 1 / n2))
    p_values = _holm(2.0 * norm.sf(away))
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
