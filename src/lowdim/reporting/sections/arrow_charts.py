"""Columns as arrows: biplot and correlation circle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Chart
from ..charts import COLORS, axis, color, plain, symbol
from ..words import count
from .loading_charts import component_title

#: Arrows of the biplot and of the correlation circle.
_ARROWS, _CIRCLE_ARROWS = 12, 25
#: Points of the biplot.
_POINTS = 1500
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
                    "marker": {"color": color(max(level, 0)), "symbol": symbol(max(level, 0)), "size": 5, "opacity": 0.5},
                }
            )
    arrows = found.loadings[:, :2]
    lengths = np.sqrt((arrows**2).sum(axis=1))
    longest = np.argsort(-lengths, kind="stable")[:_ARROWS]
    reach = 0.9 * float(np.sqrt((Z**2).sum(axis=1)).max(initial=1.0)) / (float(lengths.max(initial=0.0)) or 1.0)
    data += _arrows(a, arrows * reach, longest)
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
            + (f" {count(left_out, 'column')} with shorter arrows are left out." if left_out else "")
        ),
    )


def circle(a: Analysis) -> Chart:
    """Correlations of the columns with the first two components, as arrows within the unit circle."""
    found = a.meaning
    arrows = found.correlations[:, :2]
    longest = np.argsort(-(arrows**2).sum(axis=1), kind="stable")[:_CIRCLE_ARROWS]
    left_out = a.p - len(longest)
    return Chart(
        key="correlation-circle",
        title="Correlation circle",
        alt=f"Correlations of {count(len(longest), 'column')} with {found.names[0]} and {found.names[1]} as arrows.",
        data=_arrows(a, arrows, longest),
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
            + (f" Of {a.p:,} columns, the {len(longest)} with the longest arrows are shown." if left_out else "")
        ),
    )


def _arrows(a: Analysis, ends: np.ndarray, chosen: np.ndarray) -> list[dict[str, Any]]:
    """Lines from the middle to the ends, with the names of the columns beside these."""
    lines_x = np.column_stack([np.zeros(len(chosen)), ends[chosen, 0], np.full(len(chosen), np.nan)]).ravel()
    lines_y = np.column_stack([np.zeros(len(chosen)), ends[chosen, 1], np.full(len(chosen), np.nan)]).ravel()
    angles = np.degrees(np.arctan2(ends[chosen, 1], ends[chosen, 0]))
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "x": lines_x,
            "y": lines_y,
            "line": {"color": _ARROW, "width": 1.6},
            "hoverinfo": "skip",
            "showlegend": False,
        },
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": ends[chosen, 0],
            "y": ends[chosen, 1],
            "text": [plain(a.names[j], 22) for j in chosen],
            "textposition": [_beside(angle) for angle in angles],
            "textfont": {"size": 11},
            "cliponaxis": False,
            # The marker is turned to point away from the middle, upwards without a turn.
            "marker": {"color": _ARROW, "symbol": "triangle-up", "size": 9, "angle": 90.0 - angles},
            "customdata": [plain(a.names[j], 80) for j in chosen],
            "hovertemplate": "%{customdata}: %{x:.2f}, %{y:.2f}<extra></extra>",
            "showlegend": False,
        },
    ]


def _beside(angle: float) -> str:
    """Where the name of an arrow goes that points in this direction."""
    if abs(angle) <= 45:
        return "middle right"
    if abs(angle) >= 135:
        return "middle left"
    return "top center" if angle > 0 else "bottom center"


def _arrow_table(a: Analysis, arrows: np.ndarray, chosen: np.ndarray, title: str) -> Table:
    labels = [a.names[j] for j in chosen]
    return Table.from_matrix(arrows[chosen], a.meaning.names[:2], labels, title=title, row_name="column")
