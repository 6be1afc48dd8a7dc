"""Columns as arrows: biplot and correlation circle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Chart
from ..charts import COLORS, axis, color, plain, symbol
from ..words import count
from .naming import component_title

#: Arrows of the biplot and of the correlation circle.
_ARROWS, _CIRCLE_ARROWS = 12, 25
#: Points of the biplot.
_POINTS = 1500
#: Arrows whose ends are nearer to each other than this fraction of the longest arrow are drawn once.
_NEAR = 0.08
#: Of a plot of common size, the pixels across it, and the pixels of a letter.
_PIXELS, _WIDE, _HIGH = 420.0, 6.3, 13.0
#: The colour of arrows.
_ARROW = COLORS[7]


def biplot(a: Analysis) -> Chart:
    """Rows as points and columns as arrows, on the first two components.

    Points are scores in deviations. Arrows are loadings, all multiplied by one factor, so that the angle of two arrows
    tells the correlation of the columns as far as two components represent it.
    """
    found, seen = a.meaning, a.seen
    drawn = np.flatnonzero(seen.chosen)
    drawn = drawn[:: -(-len(drawn) // _POINTS)]
    deviations = np.sqrt(np.diagonal(seen.spread.covariance)[:2]) if seen.spread.covariance is not None else np.ones(2)
    Z = seen.rows.scores[drawn, :2] / np.where(deviations > 0, deviations, 1.0)
    labels = [plain(a.row_name(i)) for i in seen.rows.numbers[drawn]]
    data: list[dict[str, Any]] = []
    groups = a.groupings[:1]
    codes = groups[0].codes[seen.rows.numbers[drawn]] if groups else np.zeros(len(drawn), dtype=int)
    for level in range(-1, len(groups[0].levels) if groups else 1):
        members = np.flatnonzero(codes == level)
        if len(members):
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": plain(groups[0].levels[level]) if groups and level >= 0 else "rows",
                    "x": Z[members, 0].astype(np.float32),
                    "y": Z[members, 1].astype(np.float32),
                    "text": [labels[i] for i in members],
                    "hovertemplate": "%{text}<extra></extra>",
                    "marker": {
                        "color": color(max(level, 0)),
                        "symbol": symbol(max(level, 0)),
                        "size": 5,
                        "opacity": 0.4,
                    },
                }
            )
    arrows = found.loadings[:, :2]
    longest = _chosen(arrows, _ARROWS)
    reach = 0.9 * float(np.sqrt((Z**2).sum(axis=1)).max(initial=1.0))
    lengths = np.sqrt((arrows**2).sum(axis=1))
    arrows_drawn = arrows * (reach / (float(lengths.max(initial=0.0)) or 1.0))
    data += _arrows(a, arrows_drawn, longest, 1.3 * reach)
    left_out = a.p - len(longest)
    return Chart(
        key="biplot",
        title=f"Biplot of {found.names[0]} and {found.names[1]}",
        alt=f"{count(len(drawn), 'row')} as points and {count(len(longest), 'column')} as arrows.",
        data=data,
        layout={
            "xaxis": axis(f"{component_title(a, 0)}, in standard deviations"),
            "yaxis": axis(f"{component_title(a, 1)}, in standard deviations", scaleanchor="x"),
            "showlegend": bool(groups),
        },
        table=_arrow_table(a, arrows, longest, "Loadings"),
        height=560,
        caption=(
            "A row has large entries in the columns whose arrows point towards it. Columns whose arrows point in the "
            "same direction rise together, as far as these two components show."
            + (
                f" {count(left_out, 'column')} are left out: those with shorter arrows, or nearly the same."
                if left_out
                else ""
            )
        ),
    )


def circle(a: Analysis) -> Chart:
    """Correlations of the columns with the first two components, as arrows within the unit circle."""
    found = a.meaning
    arrows = found.correlations[:, :2]
    longest = _chosen(arrows, _CIRCLE_ARROWS)
    left_out = a.p - len(longest)
    return Chart(
        key="correlation-circle",
        title="Correlation circle",
        alt=f"Correlations of {count(len(longest), 'column')} with {found.names[0]} and {found.names[1]} as arrows.",
        data=_arrows(a, arrows, longest, 1.25),
        layout={
            "xaxis": axis(f"correlation with {found.names[0]}", range=[-1.25, 1.25], zeroline=True),
            "yaxis": axis(f"correlation with {found.names[1]}", range=[-1.25, 1.25], zeroline=True, scaleanchor="x"),
            "shapes": [
                {"type": "circle", "x0": -1, "x1": 1, "y0": -1, "y1": 1, "line": {"color": "#888888", "width": 1}}
            ],
            "showlegend": False,
        },
        table=_arrow_table(a, arrows, longest, "Correlations"),
        height=520,
        caption=(
            "An arrow that reaches the circle belongs to a column that these two components describe completely; a "
            "short one to a column that they hardly describe."
            + (
                f" {count(left_out, 'column')} are left out: those with shorter arrows, or nearly the same."
                if left_out
                else ""
            )
        ),
    )


def _chosen(arrows: np.ndarray, most: int) -> np.ndarray:
    """The columns with the longest arrows, without those that end where the arrow of another one does."""
    lengths = np.sqrt((arrows**2).sum(axis=1))
    near = _NEAR * float(lengths.max(initial=0.0))
    chosen: list[int] = []
    for j in np.argsort(-lengths, kind="stable"):
        if len(chosen) < most and all(np.hypot(*(arrows[j] - arrows[i])) > near for i in chosen):
            chosen.append(int(j))
    return np.array(chosen, dtype=int)


def _arrows(a: Analysis, ends: np.ndarray, chosen: np.ndarray, reach: float) -> list[dict[str, Any]]:
    """Lines from the middle to the ends, with the names of the columns beside these where there is room for them."""
    ends = ends[chosen]
    angles = np.degrees(np.arctan2(ends[:, 1], ends[:, 0]))
    names = [plain(a.names[j], 22) for j in chosen]
    places = _places(ends, names, reach)
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": _broken(ends[:, 0]),
            "y": _broken(ends[:, 1]),
            "line": {"color": _ARROW, "width": 1.6},
            "hoverinfo": "skip",
            "showlegend": False,
        },
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": ends[:, 0],
            "y": ends[:, 1],
            "text": [name if place else "" for name, place in zip(names, places, strict=True)],
            "textposition": [place or "middle right" for place in places],
            "textfont": {"size": 11},
            "cliponaxis": False,
            # The marker is turned to point away from the middle; without a turn it points upwards.
            "marker": {"color": _ARROW, "symbol": "triangle-up", "size": 9, "angle": 90.0 - angles},
            "customdata": [plain(a.names[j], 80) for j in chosen],
            "hovertemplate": "%{customdata}: %{x:.2f}, %{y:.2f}<extra></extra>",
            "showlegend": False,
        },
    ]


def _broken(ends: np.ndarray) -> np.ndarray:
    """Coordinates of lines from zero to each end, with a gap after each."""
    return np.column_stack([np.zeros(len(ends)), ends, np.full(len(ends), np.nan)]).ravel()


def _places(ends: np.ndarray, names: list[str], reach: float) -> list[str]:
    """Where each name goes so that none is over another; empty for a name without room, which the pointer shows.

    Sizes are estimated for a plot of common size, `reach` on each side of the middle.
    """
    unit = _PIXELS / (2 * reach)
    taken: list[tuple[float, float, float, float]] = []
    places = []
    for (x, y), name in zip(ends * unit, names, strict=True):
        width, height = _WIDE * len(name), _HIGH
        aside = ["middle right", "top right", "bottom right"]
        if x < 0:
            aside = [place.replace("right", "left") for place in aside]
        upright = ["top center" if y > 0 else "bottom center"]
        for place in aside + upright if abs(x) >= abs(y) else upright + aside:
            left = {"right": x + 6, "left": x - 6 - width, "center": x - width / 2}[place.split()[1]]
            low = {"middle": y - height / 2, "top": y + 4, "bottom": y - 4 - height}[place.split()[0]]
            box = (left, low, left + width, low + height)
            if all(box[2] < b[0] or b[2] < box[0] or box[3] < b[1] or b[3] < box[1] for b in taken):
                taken.append(box)
                places.append(place)
                break
        else:
            places.append("")
    return places


def _arrow_table(a: Analysis, arrows: np.ndarray, chosen: np.ndarray, title: str) -> Table:
    labels = [a.names[j] for j in chosen]
    return Table.from_matrix(arrows[chosen], a.meaning.names[:2], labels, title=title, row_name="column")
