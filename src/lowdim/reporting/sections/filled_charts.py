"""Charts of entries that were filled in."""

from __future__ import annotations

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Chart
from ..charts import axis, color, labels
from ..numbers.holes import NORMAL_95, Hidden, Holes
from ..words import brief, count

#: The largest number of entries in a chart with intervals.
_DRAWN = 200


def hidden_chart(a: Analysis, hidden: Hidden) -> Chart:
    means = hidden.column_means
    truth, guess = (hidden.truth - means) / hidden.spread, (hidden.entries.values - means) / hidden.spread
    step = -(-len(truth) // 2000)
    truth, guess, columns = truth[::step], guess[::step], hidden.entries.columns[::step]
    ends = np.array([min(truth.min(), guess.min()), max(truth.max(), guess.max())])
    names = labels(a.names)
    return Chart(
        key="hidden",
        title="Hidden entries: filled in against true",
        alt=f"{count(len(truth), 'hidden entry', 'hidden entries')}, what was filled in against the true value.",
        data=[
            {
                "type": "scatter",
                "mode": "markers",
                "x": truth,
                "y": guess,
                "text": [names[j] for j in columns],
                "name": "hidden entries",
                "marker": {"color": color(0), "size": 5, "opacity": 0.6},
                "hovertemplate": "%{text}<br>true %{x:.2f}, filled in %{y:.2f}<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "lines",
                "x": ends,
                "y": ends,
                "name": "equal",
                "line": {"color": color(1), "width": 1.5, "dash": "dash"},
                "hoverinfo": "skip",
            },
        ],
        layout={
            "xaxis": axis("true value, in standard deviations from the column mean"),
            "yaxis": axis("filled in"),
            "legend": {"orientation": "h", "y": 1.08},
        },
        table=Table(
            {"column": [a.names[j] for j in columns], "true": truth, "filled in": guess},
            title="Hidden entries, in standard deviations from the column mean",
        ),
        height=400,
        caption=(
            "The nearer to the line, the better. A flat cloud means that the other columns say little, and means are "
            "filled in."
        ),
    )


def entries_chart(a: Analysis, found: Holes, j: int) -> Chart:
    """The filled-in entries of a column with their intervals, in order, and the range of the observed ones."""
    of_column = np.flatnonzero(found.entries.columns == j)
    order = of_column[np.argsort(found.entries.values[of_column], kind="stable")]
    if len(order) > _DRAWN:
        order = order[np.linspace(0, len(order) - 1, _DRAWN).round().astype(int)]
    values, half = found.entries.values[order], NORMAL_95 * found.entries.deviations[order]
    rows = row_names(a, found, order)
    places = np.arange(1, len(order) + 1)
    sample = a.first.sample[:, a.used[j]]
    low, middle, high = np.nanquantile(sample, [0.05, 0.5, 0.95])
    lines = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": np.array([0.5, len(order) + 0.5]),
            "y": np.array([level, level]),
            "name": name,
            "line": {"color": color(1), "width": 1.5, "dash": dash},
            "hovertemplate": f"{name}: %{{y:.4g}}<extra></extra>",
        }
        for level, name, dash in ((high, "observed, 95%", "dot"), (middle, "median", "dash"), (low, "5%", "dot"))
    ]
    some = f" {_DRAWN} of {len(of_column):,} entries are shown." if len(of_column) > _DRAWN else ""
    name = brief(a.names[j])
    return Chart(
        key=f"imputed-{j}",
        title=f"Filled-in entries of {name}",
        alt=f"{count(len(order), 'filled-in entry', 'filled-in entries')} of {name} with intervals of 95%, in order.",
        data=[
            {
                "type": "scatter",
                "mode": "markers",
                "x": places,
                "y": values,
                "text": labels(rows),
                "error_y": {
                    "type": "data",
                    "array": half,
                    "visible": True,
                    "color": color(0),
                    "thickness": 1,
                    "width": 2,
                },
                "name": "filled in, with 95%",
                "marker": {"color": color(0), "size": 6},
                "hovertemplate": "%{text}: %{y:.4g} (%{error_y.array:.3g} up and down)<extra></extra>",
            },
            *lines,
        ],
        layout={
            "xaxis": axis("entries, from the smallest to the largest", showticklabels=False),
            "yaxis": axis(labels([name])[0]),
            "legend": {"orientation": "h", "y": 1.1},
        },
        table=Table(
            {"filled in": values, "from": values - half, "to": values + half},
            rows,
            title=f"Filled-in entries of {name}",
            row_name="row",
        ),
        height=380,
        caption=f"Dots are filled in, bars are intervals of 95%, and the lines belong to the observed entries.{some}",
    )


def distribution(a: Analysis, found: Holes, j: int) -> Chart:
    """Observed and filled-in entries of a column."""
    sample = a.first.sample[:, a.used[j]]
    observed = sample[~np.isnan(sample)]
    filled = found.entries.values[found.entries.columns == j]
    edges = np.histogram_bin_edges(np.concatenate([observed, filled]), 24)
    width = float(edges[1] - edges[0])
    middle = (edges[:-1] + edges[1:]) / 2
    data, table = [], {"from": edges[:-1], "to": edges[1:]}
    for i, (name, entries) in enumerate((("observed", observed), ("filled in", filled))):
        percent = 100.0 * np.histogram(entries, edges)[0] / max(1, len(entries))
        table[f"{name}, percent"] = percent
        data.append(
            {
                "type": "bar",
                "x": middle,
                "y": percent,
                "width": 0.92 * width,
                "name": f"{name} ({len(entries):,})",
                "opacity": 0.65,
                "marker": {"color": color(i), "pattern": {"shape": "" if i == 0 else "/"}},
                "hovertemplate": "%{x:.4g}: %{y:.1f}%<extra></extra>",
            }
        )
    name = brief(a.names[j])
    return Chart(
        key=f"imputed-distribution-{j}",
        title=f"Observed and filled-in entries of {name}",
        alt=f"Histograms of {len(observed):,} observed and {len(filled):,} filled-in entries of {name}.",
        data=data,
        layout={
            "barmode": "overlay",
            "xaxis": axis(labels([name])[0]),
            "yaxis": axis("percent of the entries"),
            "legend": {"orientation": "h", "y": 1.1},
        },
        table=Table(table, title=f"Observed and filled-in entries of {name}"),
        height=340,
        caption=(
            "Expectations vary less than measurements: a narrower histogram is no error. One that lies elsewhere means "
            "that entries are missing where this column is unusual."
        ),
    )


def row_names(a: Analysis, found: Holes, which: np.ndarray) -> list[str]:
    """The names of the rows of some entries; rows of a sample have none."""
    if not a.opened.held:
        return [f"row {i} of the sample" for i in found.entries.rows[which]]
    return [a.row_name(int(i)) for i in found.entries.rows[which]]
