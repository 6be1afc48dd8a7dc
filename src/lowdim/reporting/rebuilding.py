"""Rows rebuilt from the first components: how much is lost, and some rows to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..table import Table
from .blocks import LONGEST, Block, Chart, Prose, Section, Widget, axis, brief, color, count, group_of, number, share
from .data import Grouping
from .map import Seen, largest
from .passes import FirstPass, compact, floats

if TYPE_CHECKING:
    from .analysis import Analysis


# Rows rebuilt from the first components: how much is lost, and some rows to look at.


#: Rows that are rebuilt best and worst, typical rows of groups, and rows of a table without groups.
_BEST, _WORST, _GROUPS, _OTHERS = 4, 4, 10, 10
#: The largest number of entries of the components.
_ENTRIES = 300_000


@dataclass(frozen=True)
class ChosenRow:
    """A row to look at, and why it was chosen."""

    number: int
    #: "typical", "other", "best" or "worst".
    kind: str


@dataclass(frozen=True)
class Rebuilding:
    """What is needed to rebuild rows: x = mean + scale sum_k z_k w_k.

    For pictures the columns are all columns of the table, otherwise those that are analysed.
    """

    #: The positions of the columns in the table.
    columns: np.ndarray
    mean: np.ndarray
    scale: np.ndarray | None
    #: Shape (K, p).
    components: np.ndarray
    #: The rows to look at, their scores and their entries.
    chosen: list[ChosenRow]
    scores: np.ndarray
    rows: np.ndarray
    #: The share of the variance that 0, 1, ..., K components do not keep.
    lost: np.ndarray
    #: The root mean square of the difference of an entry; None if columns are scaled.
    off_by: np.ndarray | None
    #: The range of all entries.
    low: float
    high: float


def rebuilding(
    model: Any, first: FirstPass, used: np.ndarray, whole: bool, seen: Seen, groups: Sequence[Grouping]
) -> Rebuilding:
    """Rows rebuilt by a fitted PCA of the columns `used`, together with all other columns if `whole`."""
    p = len(first.mean)
    columns = np.arange(p) if whole else used
    where = used if whole else np.arange(len(used))
    most = max(1, min(int(model.n_components_), _ENTRIES // len(columns)))
    W = floats(model.components_)[:most]
    mean = _spread_out(floats(model.mean_), where, np.nan_to_num(first.low[columns]))
    scale = None if model.scale_ is None else _spread_out(floats(model.scale_), where, np.ones(len(columns)))
    components = np.zeros((most, len(columns)))
    components[:, where] = W
    chosen = chosen_rows(seen, groups)
    places = np.searchsorted(seen.rows.numbers, [row.number for row in chosen])
    entries = seen.rows.entries[places]
    centred = entries - floats(model.mean_)
    if model.scale_ is not None:
        centred = centred / floats(model.scale_)
    rows = np.tile(mean, (len(chosen), 1))
    rows[:, where] = entries
    shares = floats(model.explained_variance_ratio_)[:most]
    lost = np.clip(1.0 - np.concatenate([[0.0], np.cumsum(shares)]), 0.0, None)
    total = float(floats(model.explained_variance_)[0] / shares[0]) if shares[0] > 0 else 0.0
    return Rebuilding(
        columns=columns,
        mean=mean,
        scale=scale,
        components=components,
        chosen=chosen,
        scores=centred @ W.T,
        rows=rows,
        lost=lost,
        off_by=None if scale is not None else np.sqrt(total * lost / len(columns)),
        low=float(np.nanmin(first.low[columns])),
        high=float(np.nanmax(first.high[columns])),
    )


def chosen_rows(seen: Seen, groups: Sequence[Grouping]) -> list[ChosenRow]:
    """About twenty rows: those nearest to the means of the groups of the first grouping, or some from all over the
    table; then those of which the model keeps the smallest and the largest share."""
    rows = seen.rows
    found: dict[int, ChosenRow] = {}
    if groups:
        deviations = np.sqrt(np.diagonal(_or_ones(seen.spread.covariance, rows.scores.shape[1])))
        units = np.where(deviations > 0, deviations, 1.0)
        sizes = np.array([spread.rows for spread in seen.groups[0]])
        for level in np.sort(np.argsort(-sizes, kind="stable")[:_GROUPS]):
            members = np.flatnonzero(groups[0].codes[rows.numbers] == level)
            if len(members) and (mean := seen.groups[0][level].mean) is not None:
                away = (((rows.scores[members] - mean) / units) ** 2).sum(axis=1)
                number = int(rows.numbers[members[np.argmin(away)]])
                found[number] = ChosenRow(number, "typical")
    else:
        drawn = rows.numbers[seen.chosen]
        for i in np.unique(np.linspace(0, len(drawn) - 1, min(_OTHERS, len(drawn))).astype(int)):
            found[int(drawn[i])] = ChosenRow(int(drawn[i]), "other")
    for kind, values, size in (("worst", -rows.kept, _WORST), ("best", rows.kept, _BEST)):
        for i in largest(values, size, rows.numbers):
            found.setdefault(int(rows.numbers[i]), ChosenRow(int(rows.numbers[i]), kind))
    return list(found.values())


def _spread_out(values: np.ndarray, where: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The values at their places, and those of the other columns elsewhere."""
    out = others.astype(np.float64)
    out[where] = values
    return out


def _or_ones(covariance: np.ndarray | None, k: int) -> np.ndarray:
    return np.eye(k) if covariance is None else covariance


# Rebuilding: what is lost with fewer components, and rows to look at.


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
