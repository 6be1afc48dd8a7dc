"""Rows rebuilt from the first components: how much is lost, and some rows to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..models.pca import PCA
from ..table import Table
from .blocks import LONGEST, Block, Chart, Prose, Section, Widget, brief, count, number, share
from .charts import axes, axis, color, guide, scatter
from .map import largest
from .passes import centred_rows, compact, floats

if TYPE_CHECKING:
    from .analysis import Analysis

#: Rows that are rebuilt best and worst, typical rows of groups, and rows of a table without groups.
_BEST, _WORST, _GROUPS, _OTHERS = 4, 4, 10, 10
#: The largest number of entries of the components.
_ENTRIES = 300_000
#: Why a row was chosen, in words.
_WHY = {"typical": "typical", "other": "", "best": "best rebuilt", "worst": "worst rebuilt"}


class Rebuilding:
    """What is needed to rebuild rows by PCA: x = mean + scale sum_k z_k w_k.

    For pictures the columns are all columns of the table, otherwise those that are analysed.
    """

    def __init__(self, a: Analysis) -> None:
        model, first, used, rows = a.full, a.first, a.used, a.second.rows
        #: The positions of the columns in the table; `where` are those of the columns that are analysed among these.
        self.columns, where = used, np.arange(a.p)
        if a.image_shape is not None:
            self.columns, where = np.arange(len(first.mean)), used
        most = max(1, min(int(model.n_components_), _ENTRIES // len(self.columns)))
        W = floats(model.components_)[:most]
        #: Columns that are not analysed do not vary.
        self.mean = np.nan_to_num(first.low[self.columns])
        self.mean[where] = floats(model.mean_)
        self.scale = None
        if model.scale_ is not None:
            self.scale = np.ones(len(self.columns))
            self.scale[where] = floats(model.scale_)
        #: Shape (K, p).
        self.components = np.zeros((most, len(self.columns)))
        self.components[:, where] = W
        #: The numbers of the rows to look at with the reason of each, their scores and their entries.
        self.chosen = _chosen_rows(a)
        entries = rows.entries[np.searchsorted(rows.numbers, list(self.chosen))]
        self.scores = centred_rows(model, entries) @ W.T
        self.rows = np.tile(self.mean, (len(self.chosen), 1))
        self.rows[:, where] = entries
        #: The share of the variance that 0, 1, ..., K components do not keep.
        shares = floats(model.explained_variance_ratio_)[:most]
        self.lost = np.clip(1.0 - np.concatenate([[0.0], np.cumsum(shares)]), 0.0, None)
        total = float(floats(model.explained_variance_)[0] / shares[0]) if shares[0] > 0 else 0.0
        #: The root mean square of the difference of an entry; None if columns are scaled.
        self.off_by = None if self.scale is not None else np.sqrt(total * self.lost / len(self.columns))
        #: The range of all entries.
        self.low, self.high = float(np.nanmin(first.low[self.columns])), float(np.nanmax(first.high[self.columns]))


def _chosen_rows(a: Analysis) -> dict[int, str]:
    """About twenty rows, with the keys of `_WHY`: those nearest to the means of the groups of the first grouping, or
    some from all over the table; then those of which the model keeps the smallest and the largest share."""
    rows, spread = a.second.rows, a.second.spread
    found: dict[int, str] = {}
    if a.groupings:
        k, groups = rows.scores.shape[1], a.second.groups[0]
        deviations = np.sqrt(np.diagonal(np.eye(k) if spread.covariance is None else spread.covariance))
        units = np.where(deviations > 0, deviations, 1.0)
        sizes = np.array([group.rows for group in groups])
        for level in np.sort(np.argsort(-sizes, kind="stable")[:_GROUPS]):
            members = np.flatnonzero(a.groupings[0].codes[rows.numbers] == level)
            if len(members) and groups[level].mean is not None:
                away = (((rows.scores[members] - groups[level].mean) / units) ** 2).sum(axis=1)
                found[int(rows.numbers[members[np.argmin(away)]])] = "typical"
    else:
        drawn = rows.numbers[a.second.chosen]
        for i in np.unique(np.linspace(0, len(drawn) - 1, min(_OTHERS, len(drawn))).astype(int)):
            found[int(drawn[i])] = "other"
    for kind, values, size in (("worst", -rows.kept, _WORST), ("best", rows.kept, _BEST)):
        for i in largest(values, size, rows.numbers):
            found.setdefault(int(rows.numbers[i]), kind)
    return found


def section(a: Analysis) -> Section | None:
    """The section; None if there is only one column."""
    if a.p < 2:
        return None
    pictures = a.image_shape is not None
    thing = "picture" if pictures else "row"
    text = _in_words(a)
    lead = (
        f"A {thing} can be rebuilt from the mean and its scores on the first K components. The more components are "
        f"used, the closer the rebuilt {thing} is to the original. The curve shows what is lost on average; below it, "
        f"choose a {thing} and a number of components."
    )
    if not isinstance(a.model, PCA):
        lead = f"This section is about PCA of the same columns, and not about the {type(a.model).__name__}. {lead}"
    blocks: list[Block] = [Prose(text), _errors(a), _widget(a)]
    return Section("rebuilding", "Rebuilding", lead, blocks, text if pictures else "")


def _in_words(a: Analysis) -> str:
    found = a.rebuilding
    most = len(found.components)
    k = min(a.k, most)
    text = f"With {count(k, 'component')}, {share(1 - found.lost[k])} of the variance is kept"
    if found.off_by is not None and a.image_shape is not None:
        off, low, high = number(float(found.off_by[k]), 2), number(found.low), number(found.high)
        text += f"; a typical pixel is off by {off} on a scale from {low} to {high}"
    for kept in (0.9, 0.95):
        enough = found.lost <= 1 - kept
        if not enough.any():
            return f"{text}. {count(most, 'component')} keep {share(1 - found.lost[-1])}."
        if np.argmax(enough) > k:
            return f"{text}. To keep {kept:.0%} takes {count(int(np.argmax(enough)), 'component')}."
    return f"{text}."


def _errors(a: Analysis) -> Chart:
    """What is lost against the number of components."""
    found = a.rebuilding
    counts = np.arange(len(found.lost))
    columns: dict[str, Any] = {"share lost": found.lost}
    mode, look = "lines+markers" if len(counts) <= 60 else "lines", {"color": color(0), "width": 2}
    trace = scatter(mode, x=counts, y=found.lost, line=look, marker={"size": 5})
    hover = "%{x} components: %{y:.1%} lost"
    if found.off_by is not None:
        columns["root mean square difference of an entry"] = found.off_by
        trace["customdata"] = found.off_by
        hover += ", an entry is off by %{customdata:.3g}"
    k = min(a.k, len(counts) - 1)
    x = axis("number of components K", **({"dtick": 1} if len(counts) <= 16 else {}))
    y = axis("share of the variance that is lost", tickformat=".0%", rangemode="tozero")
    title = "What is lost with K components"
    return Chart(
        key="rebuilding-error",
        title=title,
        alt=f"A curve that falls from 100% at no component to {share(found.lost[-1])} at {len(counts) - 1} components.",
        data=[trace | {"hovertemplate": f"{hover}<extra></extra>"}],
        layout=axes(x, y, shapes=[guide("x", k, dash="dot", color="#888888")], showlegend=False),
        table=Table(columns, counts.tolist(), title=title, row_name="K"),
        height=340,
        caption=f"The dotted line is at {count(k, 'component')}, the number of the model.",
    )


def _widget(a: Analysis) -> Widget:
    found, shape = a.rebuilding, a.image_shape
    what = "pictures" if shape is not None else "rows"
    names, kept = [], []
    for (row, kind), entries, scores in zip(found.chosen.items(), found.rows, found.scores, strict=True):
        notes = [note for note in (a.group_of(row), _WHY[kind]) if note]
        name = brief(a.row_name(row), LONGEST)
        names.append(f"{name} ({', '.join(notes)})" if notes else name)
        # The share of the squared distance of the row from the mean that all components keep.
        away = entries - found.mean if found.scale is None else (entries - found.mean) / found.scale
        whole = float(away @ away)
        kept.append(1 - (max(0.0, 1.0 - float(scores @ scores) / whole) if whole > 0 else 0.0))
    values = {
        "shape": None if shape is None else list(shape),
        "columns": [brief(a.opened.names[j], LONGEST) for j in found.columns],
        "labels": names,
        "mean": found.mean,
        "scale": found.scale,
        "components": found.components.ravel().astype(np.float32),
        "scores": compact(found.scores).ravel(),
        "rows": compact(found.rows).ravel(),
        "low": found.low,
        "high": found.high,
    }
    kinds, most = found.chosen.values(), len(found.components)
    title = f"The share of the squared distance from the mean that is kept of each of these {what}"
    return Widget(
        key="rebuilding",
        kind="rebuilding",
        title=f"Some {what}, rebuilt",
        alt=f"{len(kinds)} {what} beside what up to {most} components rebuild of them.",
        values=values,
        table=Table({f"kept by {most} components": kept}, names, title=title, row_name="row"),
        caption="Typical rows are those nearest to the means of their groups." if "typical" in kinds else "",
    )
