"""Loadings of the columns as bars, as curves and as pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Chart
from ..charts import COLORS, axis, color, plain
from ..numbers.components import MOST_BOTH
from ..words import count
from .naming import component_title

#: Of each sign, this many columns are shown as bars.
_BARS = 20
#: The colours of loadings from negative to positive; zero has the colour of the background, more or less.
_DIVERGING = [[0.0, COLORS[1]], [0.5, "rgba(128, 128, 128, 0.12)"], [1.0, COLORS[0]]]


def bars(a: Analysis, k: int, title: str) -> Chart:
    """The largest loadings on a component as bars, sorted, with their intervals."""
    found = a.meaning
    values = found.loadings[:, k]
    order = np.argsort(-values, kind="stable")
    left_out = 0
    if a.p > 2 * _BARS:
        positive, negative = order[values[order] > 0][:_BARS], order[values[order] <= 0][-_BARS:]
        left_out = a.p - len(positive) - len(negative)
        order = np.concatenate([positive, negative])
    places = np.arange(len(order))[::-1]
    uncertain = found.uncertain[order, k]
    trace: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "x": values[order],
        "y": places,
        "marker": {
            "color": [color(0) if value > 0 else color(1) for value in values[order]],
            "opacity": np.where(uncertain, 0.4, 1.0),
        },
        "text": [plain(a.names[j], 80) for j in order],
        "textposition": "none",
        "hovertemplate": "%{text}: %{x:.3g}<extra></extra>",
    }
    caption = (
        "The correlation of each column with the component."
        if found.are_correlations
        else "By how much each column is larger, in its own units, where the component is larger by one standard "
        "deviation."
    )
    if found.low is not None and found.high is not None:
        trace["error_x"] = {
            "type": "data",
            "symmetric": False,
            "array": np.maximum(found.high[order, k] - values[order], 0.0),
            "arrayminus": np.maximum(values[order] - found.low[order, k], 0.0),
            "thickness": 1.2,
            "width": 3,
            "color": "#888888",
        }
        caption += (
            f" Lines are intervals that hold 95% of {found.n_boot} bootstrap samples; pale bars are those whose "
            "interval holds zero."
        )
    elif min(a.n, a.p) > MOST_BOTH:
        caption += " There are no intervals, since bootstrap samples of so many rows and columns would take too long."
    if left_out:
        caption += f" {count(left_out, 'column')} with smaller loadings are not shown."
    name = found.names[k]
    return Chart(
        key=f"loadings-{k + 1}",
        title=title,
        alt=f"A bar chart of the loadings of {count(len(order), 'column')} on {name}, sorted.",
        data=[trace],
        layout={
            "xaxis": axis(f"{'correlation with' if found.are_correlations else 'loading on'} {name}", zeroline=True),
            "yaxis": {
                "tickvals": places,
                "ticktext": [plain(a.names[j], 28) for j in order],
                "range": [-0.6, len(order) - 0.4],
                "automargin": True,
                "showgrid": False,
            },
            "bargap": 0.25,
            "showlegend": False,
        },
        table=loading_table(a, k, order),
        height=int(np.clip(110 + 24 * len(order), 200, 1100)),
        caption=caption,
    )


def curve(a: Analysis, k: int, title: str) -> Chart:
    """The loadings on a component along the points of a curve, with their intervals."""
    found = a.meaning
    at, name = np.arange(a.p), found.names[k]
    data: list[dict[str, Any]] = []
    if found.low is not None and found.high is not None:
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": np.concatenate([at, at[::-1]]),
                "y": np.concatenate([found.low[:, k], found.high[::-1, k]]),
                "fill": "toself",
                "line": {"width": 0},
                "fillcolor": "rgba(59, 125, 216, 0.25)",
                "hoverinfo": "skip",
            }
        )
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "x": at,
            "y": found.loadings[:, k],
            "line": {"color": color(0), "width": 1.8},
            "text": [plain(column, 80) for column in a.names],
            "hovertemplate": "%{text}: %{y:.3g}<extra></extra>",
        }
    )
    ticks = np.unique(np.linspace(0, a.p - 1, 8).astype(int))
    return Chart(
        key=f"loadings-{k + 1}",
        title=title,
        alt=f"A curve of the loadings of {count(a.p, 'column')} on {name}, in the order of the columns.",
        data=data,
        layout={
            "xaxis": axis("column", tickvals=ticks, ticktext=[plain(a.names[j], 16) for j in ticks]),
            "yaxis": axis(f"loading on {name}", zeroline=True),
            "showlegend": False,
        },
        table=loading_table(a, k, at),
        caption="" if found.low is None else f"The band holds 95% of {found.n_boot} bootstrap samples.",
    )


def pictures(a: Analysis, n: int) -> Chart:
    """The first components as pictures."""
    shape, model = a.image_shape, a.mapped
    assert shape is not None
    height, width = shape[:2]
    W = np.zeros((n, len(a.opened.names)))
    W[:, a.used] = np.asarray(model.components_[:n], dtype=np.float64)
    # Of colours, the mean is shown.
    images = W.reshape(n, height, width, -1).mean(axis=3)
    across = min(4, n)
    down = -(-n // across)
    data: list[dict[str, Any]] = []
    titles: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": titles, "showlegend": False}
    for k, image in enumerate(images):
        i, j = divmod(k, across)
        end = "" if k == 0 else str(k + 1)
        data.append(
            {
                "type": "heatmap",
                "z": image[::-1].astype(np.float32),
                "xaxis": f"x{end}",
                "yaxis": f"y{end}",
                "colorscale": _DIVERGING,
                "zmid": 0.0,
                "showscale": False,
                "hovertemplate": "%{z:.3f}<extra></extra>",
            }
        )
        left, right = (j + 0.04) / across, (j + 0.96) / across
        bottom, top = 1 - (i + 0.97) / down, 1 - (i + 0.12) / down
        hidden = {"visible": False, "fixedrange": True}
        layout[f"xaxis{end}"] = {"domain": [left, right], "anchor": f"y{end}", **hidden, "constrain": "domain"}
        layout[f"yaxis{end}"] = {
            "domain": [bottom, top],
            "anchor": f"x{end}",
            "scaleanchor": f"x{end}",
            "constrain": "domain",
            **hidden,
        }
        titles.append(
            {
                "text": component_title(a, k),
                "x": (left + right) / 2,
                "y": top,
                "xref": "paper",
                "yref": "paper",
                "xanchor": "center",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 12},
            }
        )
    names = model.component_names_
    return Chart(
        key="component-pictures",
        title=f"The first {n} components as pictures",
        alt=f"The components {names[0]} to {names[n - 1]} as pictures of {height} by {width} pixels.",
        data=data,
        layout=layout,
        table=Table.from_matrix(
            W.T, names[:n], a.opened.names, title="Weights of the pixels in the components", row_name="pixel"
        ),
        height=60 + 210 * down,
        caption="Where a picture is blue, pixels are larger in rows at the high end of the component; where it is "
        "orange, they are smaller.",
    )


def loading_table(a: Analysis, k: int, order: np.ndarray) -> Table:
    """The loadings on a component with their intervals, as a table."""
    found = a.meaning
    columns: dict[str, Any] = {"loading": found.loadings[order, k]}
    if found.low is not None and found.high is not None:
        columns |= {"low": found.low[order, k], "high": found.high[order, k]}
    if not found.are_correlations:
        columns["correlation"] = found.correlations[order, k]
    return Table(columns, [a.names[j] for j in order], title=f"Loadings on {found.names[k]}", row_name="column")
