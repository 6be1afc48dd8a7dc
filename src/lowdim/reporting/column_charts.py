"""Values of columns as charts: bars or dots, one above the other with their names, or a curve over columns in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from .charts import axis, color, plain


def line(names: list[str], values: np.ndarray) -> dict[str, Any]:
    """A curve over columns, which are numbered, since names of columns may be anything."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": np.arange(len(values), dtype=np.int32),
        "y": values,
        "text": [plain(name) for name in names],
        "line": {"color": color(0), "width": 2},
        "hovertemplate": "%{text}: %{y:.4~g}<extra></extra>",
        "showlegend": False,
    }


def bars(names: list[str], values: np.ndarray) -> dict[str, Any]:
    """A bar for each column, one above the other."""
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": np.arange(len(values), dtype=np.int32),
        "text": [plain(name) for name in names],
        "textposition": "none",
        "marker": {"color": color(0)},
        "hovertemplate": "%{text}: %{x:.4~g}<extra></extra>",
        "showlegend": False,
    }


def dots(names: list[str], values: np.ndarray) -> dict[str, Any]:
    """A dot for each column, one above the other."""
    return {
        "type": "scatter",
        "mode": "markers",
        "x": values,
        "y": np.arange(len(values), dtype=np.int32),
        "text": [plain(name) for name in names],
        "marker": {"color": color(0), "size": 8},
        "hovertemplate": "%{text}: %{x:.4~g}<extra></extra>",
        "showlegend": False,
    }


def value_axes(title: str, curve: bool, names: list[str]) -> dict[str, Any]:
    """Axes for values over columns; the axis of the columns has their names at its marks."""
    places = np.arange(len(names)) if not curve else np.unique(np.linspace(0, len(names) - 1, 9).round().astype(int))
    marks = {"tickmode": "array", "tickvals": places.tolist(), "ticktext": [plain(names[i], 24) for i in places]}
    of_values, of_columns = axis(title), axis("", automargin=True, **marks)
    return {"xaxis": of_columns, "yaxis": of_values} if curve else {"xaxis": of_values, "yaxis": of_columns}


def limit_line(value: float, curve: bool) -> dict[str, Any]:
    """A dashed line at a value."""
    along, across = ("y", "x") if curve else ("x", "y")
    ends = {f"{along}0": value, f"{along}1": value, f"{across}0": 0, f"{across}1": 1}
    return {"type": "line", f"{across}ref": "paper", "line": {"dash": "dash", "width": 1, "color": "#8a8a8a"}, **ends}


def height(n: int, curve: bool) -> int:
    """The height of a chart of n columns."""
    return 380 if curve else max(240, 120 + 22 * n)
