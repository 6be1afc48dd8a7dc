"""With holes: what was filled in, how sure that is, and how well hidden entries are found again."""

from __future__ import annotations

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Chart, Listing, Menu, Prose, Section
from ..charts import axis, color, labels
from ..numbers.holes import NORMAL_95, Hidden, Holes
from ..words import brief, count, listed, share

#: The largest numbers of columns in the menu, and of entries in a chart and in the table.
_COLUMNS, _DRAWN, _LISTED = 20, 200, 30
#: Filling in is of use if it removes at least this share of the squared error of the column means.
_USEFUL = 0.1
#: From this ratio of standard deviations on, an entry is as uncertain as if its row were unknown.
_AS_WIDE = 0.98
#: Intervals of 95% that hold fewer of the hidden entries are too narrow.
_TOO_FEW = 0.9


def section(a: Analysis) -> Section | None:
    """What was filled in; None if no entry is missing."""
    found = a.holes
    if found is None:
        return None
    blocks: list[Block] = [Prose(_how(a, found)), Prose(_widths(a, found))]
    impossible = _impossible(a, found)
    blocks += [Prose(impossible)] if impossible else []
    if found.hidden is not None:
        blocks += [Prose(_check(found.hidden)), _hidden_chart(a, found.hidden)]
    else:
        blocks.append(Prose("There are too few observed entries to hide some and see how well they are found again."))
    counts = np.bincount(found.entries.columns, minlength=a.p)
    order = np.argsort(-counts, kind="stable")
    shown = [int(j) for j in order if counts[j] > 0][:_COLUMNS]
    names = labels([a.names[j] for j in shown])
    if shown:
        charts = {name: _entries_chart(a, found, j) for name, j in zip(names, shown, strict=True)}
        compared = {name: _distribution(a, found, j) for name, j in zip(names, shown, strict=True)}
        blocks += [
            Menu("imputed", "Column", charts),
            Menu("imputed-distribution", "Column", compared),
            Listing(_widest(a, found), shown=8),
        ]
    blocks.append(
        Prose(
            "What the rest of the report does: maps, loadings, distances and rules are of the table with its holes "
            "filled in. Filled-in entries lie closer to the model than measured ones would, and intervals from the "
            "bootstrap do not include the uncertainty of filling in."
        )
    )
    return Section(
        key="holes",
        title="With holes",
        lead=(
            "What the missing entries probably are, given the observed entries of their rows. Each comes with an "
            "interval that holds it with a probability of 95%, if the model is right."
        ),
        blocks=blocks,
        summary=_summary(found),
    )


def _summary(found: Holes) -> str:
    if found.hidden is None:
        return ""
    gain = _gain(found.hidden)
    if gain < _USEFUL:
        return "Missing entries were filled in, but the other columns say little about them."
    return (
        f"Missing entries were filled in; hidden ones were found with {share(gain)} less squared error than by means."
    )


def _gain(hidden: Hidden) -> float:
    """The share of the squared error of the column means that filling in removes."""
    return 1.0 - (hidden.error / hidden.error_of_means) ** 2


def _how(a: Analysis, found: Holes) -> str:
    total = int(a.first.missing[a.used].sum())
    k = int(found.model.n_components_)
    units = ", of columns divided by their standard deviations" if found.model.standardize else ""
    rows = "" if found.all_rows else f", fitted to a sample of {count(found.fitted_to, 'row')}"
    chosen = ""
    if found.tried:
        chosen = (
            f" Numbers from {min(found.tried):,} to {max(found.tried):,} were tried, and the one was taken with which "
            "entries that had been hidden were found again best."
        )
    return (
        f"{count(total, 'missing entry', 'missing entries')} {'was' if total == 1 else 'were'} filled in by "
        f"probabilistic PCA with {count(k, 'component')}{units}{rows}, with a prior that shrinks what the rows do not "
        f"support (variational Bayes).{chosen} The filled-in value is the expectation given the observed entries of "
        "the row."
    )


def _widths(a: Analysis, found: Holes) -> str:
    """How wide the intervals are, compared with the columns."""
    if not len(found.entries):
        return "None of the rows of the sample has a missing entry."
    spread = a.first.deviation[a.used][found.entries.columns]
    relative = found.entries.deviations / spread
    typical = float(np.median(relative))
    so = f"account for about {share(1.0 - typical**2)} of its variance" if typical < _AS_WIDE else "say little about it"
    said = (
        f"The standard deviation of a filled-in entry is typically {typical:.2f} times that of its column, so the "
        f"other columns {so}."
    )
    columns = np.unique(found.entries.columns)
    if len(columns) > 1:
        medians = np.array([np.median(relative[found.entries.columns == j]) for j in columns])
        best, worst = columns[np.argmin(medians)], columns[np.argmax(medians)]
        if medians.max() > 1.1 * medians.min():
            said += (
                f" It is smallest for {brief(a.names[best])} ({medians.min():.2f}) and largest for "
                f"{brief(a.names[worst])} ({medians.max():.2f})."
            )
    return said


def _impossible(a: Analysis, found: Holes) -> str:
    """Columns that are never negative, with filled-in entries below zero."""
    below = np.bincount(found.entries.columns[found.entries.values < 0], minlength=a.p)
    columns = np.flatnonzero((below > 0) & (a.first.low[a.used] >= 0))
    if len(columns) == 0:
        return ""
    total, one = int(below[columns].sum()), len(columns) == 1
    return (
        f"{count(total, 'filled-in entry', 'filled-in entries')} of {listed([brief(a.names[j]) for j in columns])} "
        f"{'is' if total == 1 else 'are'} below zero, where no observed entry is: the model is Gaussian and knows no "
        f"such limit. If {'this column has' if one else 'these columns have'} to be positive, fill in "
        f"{'its logarithm' if one else 'their logarithms'} instead."
    )


def _check(hidden: Hidden) -> str:
    """How well hidden entries were found again."""
    gain, n = _gain(hidden), len(hidden.truth)
    said = (
        f"As a check, {count(n, 'observed entry', 'observed entries')} were hidden at random, and filled in by a model "
        f"that had not seen them. The error was {hidden.error:.2f} standard deviations of a column (root mean square), "
        f"against {hidden.error_of_means:.2f} if the mean of the column is filled in. "
    )
    if gain < 0:
        said += "So filling in is no better than means here. "
    elif gain < _USEFUL:
        said += f"That is hardly better ({share(gain)} less squared error). "
    else:
        said += f"That is {share(gain)} less squared error. "
    said += f"{share(hidden.within)} of the hidden entries lie in their interval of 95%"
    if hidden.within < _TOO_FEW:
        said += (
            ", so the intervals are too narrow: rows are few or not Gaussian, and the uncertainty of the model itself "
            "is not in them"
        )
    few = " With so few entries, this is a rough measure." if n < 100 else ""
    return f"{said}.{few} Entries that are missing for a reason may be harder to find than those hidden at random."


def _hidden_chart(a: Analysis, hidden: Hidden) -> Chart:
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


def _entries_chart(a: Analysis, found: Holes, j: int) -> Chart:
    """The filled-in entries of a column with their intervals, in order, and the range of the observed ones."""
    of_column = np.flatnonzero(found.entries.columns == j)
    order = of_column[np.argsort(found.entries.values[of_column], kind="stable")]
    if len(order) > _DRAWN:
        order = order[np.linspace(0, len(order) - 1, _DRAWN).round().astype(int)]
    values, half = found.entries.values[order], NORMAL_95 * found.entries.deviations[order]
    rows = _row_names(a, found, order)
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


def _distribution(a: Analysis, found: Holes, j: int) -> Chart:
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


def _widest(a: Analysis, found: Holes) -> Table:
    """The entries about which least is known, in units of their columns."""
    spread = a.first.deviation[a.used][found.entries.columns]
    relative = found.entries.deviations / spread
    order = np.argsort(-relative, kind="stable")[:_LISTED]
    entries = found.entries
    half = NORMAL_95 * entries.deviations[order]
    return Table(
        {
            "column": [a.names[j] for j in entries.columns[order]],
            "filled in": entries.values[order],
            "from": entries.values[order] - half,
            "to": entries.values[order] + half,
            "std. deviation, of the column's": relative[order],
        },
        _row_names(a, found, order),
        title="The widest intervals",
        row_name="row",
    )


def _row_names(a: Analysis, found: Holes, which: np.ndarray) -> list[str]:
    """The names of the rows of some entries; rows of a sample have none."""
    if not a.opened.held:
        return [f"row {i} of the sample" for i in found.entries.rows[which]]
    return [a.row_name(int(i)) for i in found.entries.rows[which]]
