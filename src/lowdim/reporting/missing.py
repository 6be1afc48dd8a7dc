"""Where entries are missing, in which patterns, and whether that looks random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm, rankdata

from ..table import Table
from .blocks import Block, Chart, Listing, Prose, axis, brief, color, count, labels, listed, number, share

if TYPE_CHECKING:
    from .analysis import Analysis


# Where entries are missing: by column, in which patterns, and whether the other columns tell where.


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


# The part of the section on the data that shows where entries are missing, and whether that looks random.


#: The largest numbers of columns and of patterns that are drawn.
_COLUMNS, _PATTERNS = 40, 12
#: The number of differences that are told in sentences.
_TOLD = 3


def missing_blocks(a: Analysis) -> list[Block]:
    """Sentences and pictures; nothing if no entry is missing."""
    missing = a.missing
    if missing is None:
        return []
    blocks: list[Block] = [Prose(_where(a, missing)), _by_column(a, missing)]
    repeated = [i for i in range(len(missing.counts)) if missing.counts[i] > 1][:_PATTERNS]
    # A pattern says something if rows have it in common.
    if any(missing.patterns[i].any() for i in repeated):
        blocks.append(_pattern_picture(a, missing, repeated))
    blocks.append(Prose(_whether_random(a, missing)))
    if len(missing.differences) > _TOLD:
        blocks.append(Listing(_table(a, missing), shown=6))
    return blocks


def _where(a: Analysis, missing: Missing) -> str:
    total = int(missing.by_column.sum())
    columns = np.flatnonzero(missing.by_column)
    order = columns[np.argsort(-missing.by_column[columns], kind="stable")]
    most = [f"{brief(a.names[j])} ({share(missing.by_column[j] / a.n)})" for j in order[:3]]
    rest = "" if len(order) <= 3 else f" and {count(len(order) - 3, 'other')}"
    joined = f"{', '.join(most)}{rest}" if rest else listed(most)
    said = [
        f"{count(total, 'entry', 'entries')} ({share(total / (a.n * a.p))}) {'is' if total == 1 else 'are'} missing, "
        f"in {count(len(columns), 'column')} of {a.p:,}: {joined}."
    ]
    complete = f"{share(missing.complete / missing.rows)}"
    if missing.complete == 0:
        said.append("No row is complete." if missing.rows == a.n else "No row of a sample is complete.")
    elif missing.rows == a.n:
        verb = "is" if missing.complete == 1 else "are"
        said.append(f"{count(missing.complete, 'row')} ({complete}) {verb} complete.")
    else:
        said.append(f"In a sample of {count(missing.rows, 'row')}, {complete} are complete.")
    if missing.empty:
        said.append(f"{count(missing.empty, 'row')} {'has' if missing.empty == 1 else 'have'} no entry at all.")
    together = [i for i in range(len(missing.counts)) if missing.patterns[i].sum() > 1]
    if together and missing.counts[together[0]] > 1:
        i = together[0]
        names = [brief(a.names[j]) for j in np.flatnonzero(missing.patterns[i])]
        said.append(f"In {count(int(missing.counts[i]), 'row')}, {listed(names)} are missing together.")
    elif missing.counts[missing.patterns.any(axis=1)].max() == 1 and missing.rows - missing.complete > 1:
        said.append("No two of the other rows miss the same entries.")
    return " ".join(said)


def _by_column(a: Analysis, missing: Missing) -> Chart:
    columns = np.flatnonzero(missing.by_column)
    order = columns[np.argsort(-missing.by_column[columns], kind="stable")]
    shown = order[:_COLUMNS]
    names = labels([a.names[j] for j in shown])
    percent = 100.0 * missing.by_column[shown] / a.n
    table = Table(
        {"missing": missing.by_column[order], "percent": 100.0 * missing.by_column[order] / a.n},
        [a.names[j] for j in order],
        title="Missing entries",
        row_name="column",
    )
    few = len(shown) <= 15
    trace = {
        "type": "bar",
        "orientation": "h" if few else "v",
        "x": percent if few else names,
        "y": names if few else percent,
        "marker": {"color": color(1)},
        "hovertemplate": f"%{{{'y' if few else 'x'}}}: %{{{'x' if few else 'y'}}}%<extra></extra>",
    }
    along = axis(type="category", automargin=True, showgrid=False, ticklabelstandoff=6, dtick=1)
    across = axis("missing entries, percent", rangemode="tozero")
    layout = {
        "xaxis": across if few else along | {"tickangle": -45, "tickfont": {"size": 9}},
        "yaxis": along | {"autorange": "reversed"} if few else across,
        "showlegend": False,
    }
    some = f"The {_COLUMNS} columns with the most missing entries." if len(order) > _COLUMNS else ""
    return Chart(
        key="missing-by-column",
        title="Missing entries by column",
        alt=f"Bars of the share of missing entries in {count(len(shown), 'column')}.",
        data=[trace],
        layout=layout,
        table=table,
        height=max(200, 24 * len(shown) + 110) if few else 360,
        caption=some,
    )


def _pattern_picture(a: Analysis, missing: Missing, which: list[int]) -> Chart:
    patterns, counts = missing.patterns[which], missing.counts[which]
    columns = np.flatnonzero(patterns.any(axis=0))[:_COLUMNS]
    names = labels([a.names[j] for j in columns])
    rows = labels([f"{count(int(n), 'row')}" for n in counts])
    z = patterns[:, columns].astype(np.float32)
    trace = {
        "type": "heatmap",
        "x": names,
        "y": rows,
        "z": z,
        "zmin": 0,
        "zmax": 1,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "colorscale": [[0, "rgba(128,128,128,0.18)"], [1, color(1)]],
        "hovertemplate": "%{x}, %{y}<extra></extra>",
    }
    table = Table(
        {
            "rows": counts,
            "missing": [
                listed([brief(a.names[j]) for j in np.flatnonzero(p)], 8) if p.any() else "none" for p in patterns
            ],
        },
        list(range(1, len(counts) + 1)),
        title="Which entries are missing together",
        row_name="pattern",
    )
    beside = len(missing.counts) - len(counts)
    further = f" There {'is' if beside == 1 else 'are'} {count(beside, 'further pattern')}." if beside else ""
    return Chart(
        key="missing-patterns",
        title="Which entries are missing together",
        alt=f"A picture of the {count(len(counts), 'most frequent pattern')} of missing entries.",
        data=[trace],
        layout={
            "xaxis": axis(type="category", tickangle=-45 if len(names) > 3 else 0, automargin=True, showgrid=False),
            "yaxis": axis(type="category", autorange="reversed", automargin=True, showgrid=False, ticklabelstandoff=6),
        },
        table=table,
        height=max(220, 26 * len(counts) + 130),
        caption=f"Each line is a pattern of rows, the most frequent first; coloured entries are missing.{further}",
    )


def _whether_random(a: Analysis, missing: Missing) -> str:
    """What the comparisons found, and what they cannot find."""
    if missing.tests == 0:
        return (
            "Too few entries are missing in each column to test whether the other columns tell where: at least 5 are "
            "needed."
        )
    how = (
        f"This is from {count(missing.tests, 'comparison')} of rows with and without an entry by Mann and Whitney's "
        "test, at a level of 5% for all together by Holm's method."
    )
    if not missing.differences:
        return (
            f"Do they look random? No column tells where entries of another one are missing, so nothing here "
            f"speaks against holes at random. {how} It is no proof: whether an entry is missing may depend on the "
            "entry itself, which no table can show."
        )
    told = [_difference(a, found) for found in missing.differences[:_TOLD]]
    rest = len(missing.differences) - len(told)
    more = f" There {'is' if rest == 1 else 'are'} {count(rest, 'further difference')}." if rest else ""
    return (
        f"Do they look random? Not entirely: {'; '.join(told)}.{more} {how} Filling in takes such differences into "
        "account as far as they are in the columns of the table; it cannot if an entry is missing because of its own "
        "value."
    )


def _difference(a: Analysis, found: Difference) -> str:
    other, column = brief(a.names[found.other]), brief(a.names[found.column])
    missing, observed = number(found.median_missing), number(found.median_observed)
    if missing == observed:
        return f"where {column} is missing, {other} is distributed differently"
    size = "smaller" if found.median_missing < found.median_observed else "larger"
    return f"where {column} is missing, {other} is {size} (median {missing} against {observed})"


def _table(a: Analysis, missing: Missing) -> Table:
    found = missing.differences
    return Table(
        {
            "missing column": [a.names[each.column] for each in found],
            "other column": [a.names[each.other] for each in found],
            "median where missing": [each.median_missing for each in found],
            "median elsewhere": [each.median_observed for each in found],
            "p-value (Holm)": [each.p_value for each in found],
        },
        list(range(1, len(found) + 1)),
        title="Columns that differ where another one is missing",
        row_name="place",
    )
