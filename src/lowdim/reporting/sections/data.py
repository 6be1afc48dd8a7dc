"""The data: rows, columns and their kinds, scales, missing entries, correlations, and what was left out and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Chart, Listing, Prose, Section
from ..charts import axis, color, labels
from ..numbers.columns import BINARY, CONSTANT, COUNTS, DECIMAL, EMPTY, FEW, WHOLE, equal_rows, thinned
from ..words import brief, count, listed, number, share
from .correlations import correlation_blocks
from .missing_entries import missing_blocks

#: What the kinds of columns are called, for one and for several columns.
_KINDS = {
    DECIMAL: ("holds decimal numbers", "hold decimal numbers"),
    WHOLE: ("holds whole numbers", "hold whole numbers"),
    COUNTS: ("holds counts (whole numbers from 0 on)", "hold counts (whole numbers from 0 on)"),
    FEW: ("holds a few different whole numbers", "hold a few different whole numbers"),
    BINARY: ("holds 0 and 1 only", "hold 0 and 1 only"),
    # A model that is already fitted may have columns that are constant or empty in this table.
    CONSTANT: ("holds one number only", "hold one number only"),
    EMPTY: ("holds nothing", "hold nothing"),
}
_SHORT = {
    DECIMAL: "decimal",
    WHOLE: "whole numbers",
    COUNTS: "counts",
    FEW: "few whole numbers",
    BINARY: "0 or 1",
    CONSTANT: "constant",
    EMPTY: "empty",
}
#: The largest number of columns whose distributions are drawn.
_DRAWN = 40
#: Reasons of up to this many columns are told in a sentence, those of more in a table.
_TOLD = 3
#: The largest number of sentences on rows and columns that repeat others.
_GROUPS = 4


def section(a: Analysis) -> Section:
    """What the table holds."""
    blocks: list[Block] = [Prose(_size(a))]
    blocks += _left_out(a)
    blocks += [Prose(" ".join(said)) for said in (_identifiers(a), _repeated(a)) if said]
    blocks += [Prose(_scales(a)), Listing(_table(a), shown=10), _distributions(a)]
    skewed = _skewed(a)
    blocks += [Prose(skewed)] if skewed else []
    blocks += missing_blocks(a)
    blocks += correlation_blocks(a)
    return Section(
        key="data",
        title="The data",
        lead=(
            "What the table holds, before anything is modelled: its rows and columns, what was left out and why, how "
            "the columns are scaled, what is missing, and which columns go together."
        ),
        blocks=blocks,
        summary=_summary(a),
    )


def _summary(a: Analysis) -> str:
    missing = int(a.first.missing[a.used].sum())
    holes = "no entry is missing" if missing == 0 else f"{share(missing / (a.n * a.p))} of the entries are missing"
    return f"The report is about {count(a.n, 'row')} and {count(a.p, 'column')} of numbers; {holes}."


def _size(a: Analysis) -> str:
    """Rows, columns and kinds."""
    kinds = Counter(a.columns.kinds[j] for j in a.used)
    if len(kinds) == 1:
        ((kind, n),) = kinds.items()
        told = f"{'It' if n == 1 else 'All of them'} {_KINDS[kind][n > 1]}"
    else:
        parts = [f"{n:,} {_KINDS[kind][n > 1]}" for kind, n in kinds.most_common()]
        told = f"Of these, {listed(parts)}"
    verb = "is" if a.p == 1 else "are"
    which = f"of which {a.p:,} {verb}" if a.p < a.opened.n_columns else "which is" if a.p == 1 else "all of which are"
    said = [
        f"The table has {count(a.n, 'row')} and {count(a.opened.n_columns, 'column')}, {which} analysed.",
        f"{told}.",
    ]
    groups = [
        f"{brief(grouping.name)} ({count(len(grouping.levels), 'group')})"
        for grouping in a.groupings
        if grouping.name not in {column.name for column in a.left_out}
    ]
    if groups:
        said.append(f"The rows are labelled by {listed(groups)}.")
    if a.opened.weights is not None:
        said.append("Rows are counted by their weights.")
    return " ".join(said)


def _left_out(a: Analysis) -> list[Block]:
    """What is not analysed, and why."""
    groups = set(a.opened.groups)
    reasons = [
        (brief(column.name), column.why + (", but they tell groups of rows apart" if column.name in groups else ""))
        for column in a.left_out
    ]
    if not reasons:
        return []
    same: defaultdict[str, list[str]] = defaultdict(list)
    for name, why in reasons:
        same[why].append(name)
    if len(reasons) > _TOLD:
        table = Table(
            {"why": [why for _, why in reasons]},
            [column.name for column in a.left_out],
            title="Columns that are not analysed",
            row_name="column",
        )
        why = max(same, key=lambda why: len(same[why]))
        most = f" For {len(same[why]):,} of them, {why}." if len(same[why]) > _TOLD else ""
        return [Prose(f"{count(len(reasons), 'column')} are not analysed.{most}"), Listing(table, shown=6)]
    said = [
        f"{names[0]} is not analysed: {why}."
        if len(names) == 1
        else f"{listed(names)} are not analysed: for each of them, {why}."
        for why, names in same.items()
    ]
    return [Prose(" ".join(said))]


def _identifiers(a: Analysis) -> list[str]:
    """Columns that may identify the rows, or count them, and are analysed all the same."""
    used = set(a.used.tolist())
    suspects = [brief(a.opened.names[j]) for j in np.flatnonzero(a.columns.suspects) if j in used]
    sequences = [brief(a.opened.names[j]) for j in np.flatnonzero(a.columns.sequences) if j in used]
    said = []
    if suspects:
        one = len(suspects) == 1
        said.append(
            f"{listed(suspects)} {'holds' if one else 'hold'} different whole numbers that grow from row to row, and "
            f"may just identify the rows. {'It is' if one else 'They are'} analysed like the other columns; if "
            f"{'it says' if one else 'they say'} nothing about the rows, name {'it' if one else 'one of them'} as ids."
        )
    if sequences:
        one = len(sequences) == 1
        said.append(
            f"{listed(sequences)} {'grows' if one else 'grow'} by one from row to row, so what goes with "
            f"{'it' if one else 'them'} has to do with the order of the rows."
        )
    return said


def _repeated(a: Analysis) -> list[str]:
    """Equal rows, and columns that say the same as others."""
    said = []
    if a.opened.held:
        equal = equal_rows(a.first.sample[:, a.used])
        if equal:
            verb = "is" if equal == 1 else "are"
            said.append(f"{count(equal, 'row')} ({share(equal / a.n)}) {verb} equal to an earlier row in all columns.")
    for group in a.correlations.copies:
        names = [brief(a.names[j]) for j in group]
        said.append(f"{listed(names)} are equal in all rows, so what they have in common counts {_times(len(names))}.")
    for group in a.correlations.rescaled:
        names = [brief(a.names[j]) for j in group]
        said.append(f"{listed(names)} are the same up to shift and scale: their correlation is 1 or -1.")
    if len(said) > _GROUPS:
        rest = len(said) - _GROUPS
        said = [
            *said[:_GROUPS],
            f"{count(rest, 'further group')} of columns {'repeats' if rest == 1 else 'repeat'} others.",
        ]
    return said


def _times(n: int) -> str:
    return "twice" if n == 2 else f"{n} times"


def _scales(a: Analysis) -> str:
    """Deviations, and whether columns were divided by them."""
    varying = np.flatnonzero(a.first.deviation[a.used] > 0)
    deviations, names = a.first.deviation[a.used[varying]], [brief(a.names[j]) for j in varying]
    if len(varying) == 1:
        return f"The standard deviation of {names[0]} is {number(deviations[0])}."
    low, high = int(np.argmin(deviations)), int(np.argmax(deviations))
    ratio = deviations[high] / deviations[low]
    said = (
        f"Standard deviations range from {number(deviations[low])} ({names[low]}) to {number(deviations[high])} "
        f"({names[high]})"
    )
    said += f", a factor of {number(ratio)}." if ratio >= 1.5 else "."
    divided = "each column is divided by its standard deviation" if a.standardize else "the columns are not rescaled"
    if a.request.model is not None:
        return f"{said} As the given model has it, {divided}."
    if a.request.standardize is not None:
        return f"{said} As was asked for, {divided}."
    if a.layout is not None:
        what = "points of a curve" if a.layout.is_curve else "pixels of a picture"
        return f"{said} The columns look like {what}, which have the same units, so {divided}."
    if a.standardize:
        return (
            f"{said} The columns may well have different units, so {divided}: all columns then count the same, and "
            "components are those of the correlations. If the units are the same, ask for standardize=False "
            "(--no-standardize)."
        )
    return (
        f"{said} That is no sign of different units, so {divided}, and columns that vary more count more. If the "
        "units do differ, ask for standardize=True (--standardize)."
    )


def _table(a: Analysis) -> Table:
    first, columns = a.first, a.columns
    facts: dict[str, Any] = {
        "kind": [_SHORT[columns.kinds[j]] for j in a.used],
        "mean": first.mean[a.used],
        "std. deviation": first.deviation[a.used],
        "lowest": first.low[a.used],
        "highest": first.high[a.used],
        "skewness": columns.skewness[a.used],
    }
    if a.has_holes:
        facts["missing"] = first.missing[a.used]
    notes = [] if a.opened.held else ["Skewness is that of a sample of the rows."]
    return Table(facts, a.names, title="The columns that are analysed", notes=notes, row_name="column")


def _distributions(a: Analysis) -> Chart:
    """Quartiles and ends of each column, in standard deviations from its mean."""
    skewness = np.nan_to_num(np.abs(a.columns.skewness[a.used]))
    shown = np.sort(np.argsort(-skewness, kind="stable")[:_DRAWN])
    at = a.used[shown]
    sample = thinned(a.first.sample)[:, at]
    quantiles = np.nanquantile(sample, [0.01, 0.25, 0.5, 0.75, 0.99], axis=0)
    mean, deviation = a.first.mean[at], a.units[shown]
    low, q1, middle, q3, high = (quantiles - mean) / deviation
    ends = np.concatenate([a.first.low[at] - mean, a.first.high[at] - mean]) / np.concatenate([deviation, deviation])
    names = labels([a.names[j] for j in shown])
    data: list[dict[str, Any]] = [
        {
            "type": "box",
            "x": names,
            "q1": q1,
            "median": middle,
            "q3": q3,
            "lowerfence": low,
            "upperfence": high,
            "name": "1%, 25%, 50%, 75%, 99%",
            "marker": {"color": color(0)},
            "line": {"width": 1.5},
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": names + names,
            "y": ends,
            "name": "lowest and highest",
            "marker": {"color": color(1), "symbol": "diamond", "size": 6},
            "hovertemplate": "%{x}: %{y:.2f}<extra></extra>",
        },
    ]
    table = Table(
        {
            name: values * deviation + mean
            for name, values in zip(("1%", "25%", "50%", "75%", "99%"), (low, q1, middle, q3, high), strict=True)
        },
        [a.names[j] for j in shown],
        title="Quantiles of the columns",
        row_name="column",
    )
    some = f" The {_DRAWN} most skewed columns are shown." if a.p > _DRAWN else ""
    sampled = "" if a.opened.held else " Quantiles are those of a sample of the rows."
    return Chart(
        key="distributions",
        title="How the entries of each column are distributed",
        alt=f"Box plots of {count(len(names), 'column')}, in standard deviations from the mean of each column.",
        data=data,
        layout={
            "xaxis": axis(
                type="category",
                tickangle=-45 if len(names) > 3 else 0,
                tickfont={"size": 12 if len(names) <= 12 else 9},
                dtick=1,
                automargin=True,
            ),
            "yaxis": axis("standard deviations from the mean"),
            "legend": {"orientation": "h", "y": 1.08},
        },
        table=table,
        height=380,
        caption=(
            "A box holds the middle half of the entries and its line the median; the whiskers reach from 1% to 99%. A "
            f"box far from the middle of its whiskers belongs to a skewed column.{some}{sampled}"
        ),
    )


def _skewed(a: Analysis) -> str:
    """Columns whose logarithm would be easier to describe by means and deviations."""
    if a.layout is not None:
        return ""
    found = [j for j in a.used if a.columns.for_logarithm[j]]
    if not found:
        return ""
    found.sort(key=lambda j: -a.columns.skewness[j])
    names, one = [brief(a.opened.names[j]) for j in found], len(found) == 1
    zeros = any(a.first.low[j] == 0 for j in found)
    whose = ("its logarithm" if one else "their logarithms") + (" (that of 1 + x, for the zeros)" if zeros else "")
    return (
        f"{listed(names)} {'is' if one else 'are'} never negative and strongly skewed (skewness "
        f"{number(float(a.columns.skewness[found[0]]))}{'' if one else ' at most'}): a few large entries make up much "
        f"of the variance. Components of {whose} may say more."
    )
