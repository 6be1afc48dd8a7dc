"""Rebuilding: what is lost with fewer components, and rows to look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Chart, Prose, Section, Widget
from ..charts import axis, color
from ..numbers.arrays import compact
from ..numbers.rebuilding import ChosenRow, Rebuilding
from ..words import brief, count, number, share
from .naming import LONGEST, group_of

#: Why a row was chosen, in words.
_WHY = {"typical": "typical", "other": "", "best": "best rebuilt", "worst": "worst rebuilt"}


def section(a: Analysis) -> Section | None:
    """The section; None if there is only one column."""
    if a.p < 2:
        return None
    found = a.rebuilding
    pictures = a.image_shape is not None
    thing = "picture" if pictures else "row"
    text = _in_words(a, found)
    blocks: list[Block] = [Prose(text), _errors(a, found), _widget(a, found)]
    lead = (
        f"A {thing} can be rebuilt from the mean and its scores on the first K components. The more components are "
        f"used, the closer the rebuilt {thing} is to the original. The curve shows what is lost on average; below it, "
        f"choose a {thing} and a number of components."
    )
    return Section("rebuilding", "Rebuilding", lead, blocks, text if pictures else "")


def _in_words(a: Analysis, found: Rebuilding) -> str:
    most = len(found.components)
    k = min(a.k, most)
    text = f"With {count(k, 'component')}, {share(1 - found.lost[k])} of the variance is kept"
    if found.off_by is not None and a.image_shape is not None:
        off, low, high = number(float(found.off_by[k]), 2), number(found.low), number(found.high)
        text += f"; a typical pixel is off by {off} on a scale from {low} to {high}"
    sentences = [f"{text}."]
    for kept in (0.9, 0.95):
        needed = int(np.argmax(found.lost <= 1 - kept)) if np.any(found.lost <= 1 - kept) else None
        if needed is not None and needed > k:
            sentences.append(f"To keep {kept:.0%} takes {count(needed, 'component')}.")
            break
        if needed is None:
            sentences.append(f"{count(most, 'component')} keep {share(1 - found.lost[-1])}.")
            break
    return " ".join(sentences)


def _errors(a: Analysis, found: Rebuilding) -> Chart:
    """What is lost against the number of components."""
    counts = np.arange(len(found.lost))
    columns: dict[str, Any] = {"share lost": found.lost}
    hover = "%{x} components: %{y:.1%} lost"
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines+markers" if len(counts) <= 60 else "lines",
        "x": counts,
        "y": found.lost,
        "line": {"color": color(0), "width": 2},
        "marker": {"size": 5},
    }
    if found.off_by is not None:
        columns["root mean square difference of an entry"] = found.off_by
        trace["customdata"] = found.off_by
        hover += ", an entry is off by %{customdata:.3g}"
    k = min(a.k, len(counts) - 1)
    return Chart(
        key="rebuilding-error",
        title="What is lost with K components",
        alt=f"A curve that falls from 100% at no component to {share(found.lost[-1])} at {len(counts) - 1} components.",
        data=[trace | {"hovertemplate": f"{hover}<extra></extra>"}],
        layout={
            "xaxis": axis("number of components K", **({"dtick": 1} if len(counts) <= 16 else {})),
            "yaxis": axis("share of the variance that is lost", tickformat=".0%", rangemode="tozero"),
            "shapes": [
                {
                    "type": "line",
                    "x0": k,
                    "x1": k,
                    "y0": 0,
                    "y1": 1,
                    "yref": "paper",
                    "line": {"color": "#888888", "width": 1, "dash": "dot"},
                }
            ],
            "showlegend": False,
        },
        table=Table(columns, counts.tolist(), title="What is lost with K components", row_name="K"),
        height=340,
        caption=f"The dotted line is at {count(k, 'component')}, the number of the model.",
    )


def _widget(a: Analysis, found: Rebuilding) -> Widget:
    shape = a.image_shape
    names = [_called(a, row) for row in found.chosen]
    values = {
        "shape": None if shape is None else list(shape),
        "columns": [brief(a.opened.names[j], LONGEST) for j in found.columns],
        "ids": names,
        "mean": found.mean,
        "scale": None if found.scale is None else found.scale,
        "components": found.components.ravel().astype(np.float32),
        "scores": compact(found.scores).ravel(),
        "rows": compact(found.rows).ravel(),
        "low": found.low,
        "high": found.high,
    }
    what = "pictures" if shape is not None else "rows"
    kept = [1 - _lost(found, i) for i in range(len(found.chosen))]
    return Widget(
        key="rebuilding",
        kind="rebuilding",
        title=f"Some {what}, rebuilt",
        alt=f"{len(found.chosen)} {what} beside what up to {len(found.components)} components rebuild of them.",
        values=values,
        table=Table(
            {f"kept by {len(found.components)} components": kept},
            names,
            title=f"The share of the squared distance from the mean that is kept of each of these {what}",
            row_name="row",
        ),
        caption="Typical rows are those nearest to the means of their groups."
        if any(row.kind == "typical" for row in found.chosen)
        else "",
    )


def _lost(found: Rebuilding, i: int) -> float:
    """The share of the squared distance of a chosen row from the mean that all components lose."""
    away = found.rows[i] - found.mean
    if found.scale is not None:
        away = away / found.scale
    whole = float(away @ away)
    return max(0.0, 1.0 - float(found.scores[i] @ found.scores[i]) / whole) if whole > 0 else 0.0


def _called(a: Analysis, row: ChosenRow) -> str:
    """The name of a row, with the reason why it was chosen."""
    notes = [note for note in (group_of(a, row.number), _WHY[row.kind]) if note]
    name = brief(a.row_name(row.number), LONGEST)
    return f"{name} ({', '.join(notes)})" if notes else name
