"""The part of the section on the data that shows which columns go together."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Chart, Listing, Prose
from ..charts import axis, diverging, labels
from ..words import brief, count, listed, number, share

#: Names are written beside the picture, and numbers into it, up to this many columns.
_NAMED, _NUMBERED = 60, 12
#: The number of pairs that are told in sentences.
_TOLD = 3


def correlation_blocks(a: Analysis) -> list[Block]:
    """Sentences, a picture and a table of the strongest correlations."""
    if a.p < 2:
        return []
    found = a.correlations
    blocks: list[Block] = [Prose(" ".join(_sentences(a))), _picture(a)]
    if len(found.strongest) > 1:
        pairs = found.strongest
        table = Table(
            {
                "first": [a.names[pair.first] for pair in pairs],
                "second": [a.names[pair.second] for pair in pairs],
                "correlation": [pair.r for pair in pairs],
            },
            list(range(1, len(pairs) + 1)),
            title="The strongest correlations",
            row_name="place",
        )
        blocks.append(Listing(table, shown=5))
    return blocks


def correlation(r: float) -> str:
    """A correlation in words: "0.96", or "above 0.999"."""
    if abs(r) > 0.9995:
        return "above 0.999" if r > 0 else "below -0.999"
    return f"{r:.3f}" if abs(r) > 0.995 else f"{r:.2f}"


def _sentences(a: Analysis) -> list[str]:
    found = a.correlations
    strongest = found.strongest
    if not strongest:
        return ["All columns have a correlation of 1 or -1 with each other."]
    told = [
        f"{brief(a.names[pair.first])} and {brief(a.names[pair.second])} ({correlation(pair.r)})"
        for pair in strongest[:_TOLD]
        if abs(pair.r) > found.chance
    ]
    said = []
    if told:
        verb = "The strongest correlation is that of" if len(told) == 1 else "The strongest correlations are those of"
        said.append(f"{verb} {listed(told, last='and')}.")
        said.append(
            f"{count(found.beyond_half, 'pair')} of {found.pairs:,} ({share(found.beyond_half / found.pairs)}) "
            f"{'has' if found.beyond_half == 1 else 'have'} a correlation beyond 0.5 in size."
        )
        largest = abs(strongest[0].r)
        if largest < 0.3:
            said.append("All are weak, so a few components can hold only a small part of the variance.")
    else:
        pair = strongest[0]
        said.append(
            f"The strongest correlation, that of {brief(a.names[pair.first])} and {brief(a.names[pair.second])}, is "
            f"{correlation(pair.r)}, no more than chance could give."
        )
    if found.chance > 0.3 or not told:
        said.append(
            f"With {count(a.n, 'row')} and {count(found.pairs, 'pair')}, correlations up to {number(found.chance, 2)} "
            "in size can be due to chance alone."
        )
    if a.has_holes:
        said.append("They are those of the table with its missing entries filled in.")
    return said


def _picture(a: Analysis) -> Chart:
    found = a.correlations
    names = [a.names[j] for j in found.shown]
    shown = labels(names)
    many = len(names) > _NAMED
    trace = {
        "type": "heatmap",
        "x": shown,
        "y": shown,
        "z": found.matrix.astype(np.float32),
        "zmin": -1,
        "zmax": 1,
        "colorscale": diverging(),
        "colorbar": {"title": {"text": "r"}, "thickness": 12},
        "hovertemplate": "%{y}<br>%{x}<br>r = %{z:.2f}<extra></extra>",
        "xgap": 0 if many else 1,
        "ygap": 0 if many else 1,
    }
    if len(names) <= _NUMBERED:
        trace["texttemplate"] = "%{z:.2f}"
    hidden: dict[str, Any] = {"showticklabels": not many, "type": "category", "automargin": True, "showgrid": False}
    if not many:
        hidden |= {"dtick": 1} | ({"tickfont": {"size": 9}} if len(names) > _NUMBERED else {})
    some = ""
    if len(found.among) < a.p:
        some = f" of {len(found.among):,} columns at equal distances"
    if len(found.shown) < len(found.among):
        some = f" The {len(found.shown):,} columns are those with the largest squared correlations{some}."
    elif some:
        some = f" The columns are a choice{some}."
    return Chart(
        key="correlations",
        title="Correlations of the columns",
        alt=f"A heatmap of the correlations of {count(len(names), 'column')}, in clustered order.",
        data=[trace],
        layout={
            "xaxis": axis(**hidden, tickangle=-45 if len(names) > 6 else 0),
            "yaxis": axis(**hidden, autorange="reversed"),
        },
        table=Table({name: column for name, column in zip(_unique(names), found.matrix.T, strict=True)}, names),
        height=min(760, max(320, 26 * len(names) + 160)),
        caption=(
            "Columns with similar correlations lie side by side (average linkage of 1 - |r|). A block of one colour "
            f"along the diagonal is a group of columns that go together.{some}"
        ),
    )


def _unique(names: list[str]) -> list[str]:
    """Names of the columns of a table, which must differ."""
    return names if len(set(names)) == len(names) else [f"{i + 1}: {name}" for i, name in enumerate(names)]
