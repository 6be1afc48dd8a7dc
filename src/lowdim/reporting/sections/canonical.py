"""The part of a section about another table: canonical correlations, a test of them, variates and structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Chart, Listing, Menu, Prose
from ..charts import axis, color, points, symbol
from ..column_charts import bars, height, limit_line, value_axes
from ..numbers.canonical import MOST_PAIRS, Canonical
from ..words import count, listed, number

#: At most so many points are drawn, and so many columns of each table are shown.
_POINTS, _BARS = 2_000, 15
#: Columns that correlate less with a variate are not named.
_NAMED = 0.3
#: What held-out correlations from this number on are called.
_WORDS = ((0.8, "closely related"), (0.5, "related"), (0.2, "weakly related"))


def lead() -> str:
    """What this part shows and how to read it."""
    return (
        "What the table and the other table of the same rows have in common, by canonical correlation analysis (CCA). "
        "It finds a weighted sum of the columns of each table so that the two sums, called variates, correlate as much "
        "as possible; then a second pair, uncorrelated with the first, and so on. The correlations of the fit are "
        "larger than they would be in new rows; those of rows left out are the ones to believe."
    )


def verdict(c: Canonical) -> str:
    """Whether the tables have something in common, in a sentence."""
    fit, held = c.correlations[0], c.held_out[0]
    numbers = f"the first pair of variates correlates {_digits(held)} in rows left out ({_digits(fit)} in the fit)"
    if c.test is not None and c.significant == 0:
        return (
            f"The two tables have nothing in common that could be told from chance: {numbers}, and shuffled rows reach "
            f"as much (p = {number(c.test.p_values[0], 2)})."
        )
    how = next((words for least, words in _WORDS if held >= least), "hardly related in rows left out")
    text = f"The two tables are {how}: {numbers}."
    if c.test is None:
        return text
    if len(c.correlations) == 1:
        return f"{text} That is more than chance."
    if c.significant == 1:
        return f"{text} Only the first pair is more than chance."
    least = "At least the" if c.significant == MOST_PAIRS else "The"
    return f"{text} {least} first {c.significant} pairs are more than chance."


def _digits(correlation: float) -> str:
    """A correlation with two digits, or three close to one."""
    return f"{correlation:.2f}" if correlation < 0.995 else f"{correlation:.3f}"


def blocks(a: Analysis, c: Canonical) -> list[Block]:
    """Words, charts and tables."""
    k = len(c.correlations)
    meanings = [_meaning(a, c, j) for j in range(k if c.test is None else c.significant)]
    return [
        Prose(f"{verdict(c)} {_regularized(c)}".strip()),
        _correlations(c),
        Listing(_tests(c)),
        *(Prose(text) for text in meanings if text),
        _menu("variates", [_variates(a, c, j) for j in range(k)]),
        _menu("structure", [_structure(a, c, j) for j in range(k)]),
    ]


def _menu(key: str, charts: list[Chart]) -> Block:
    return charts[0] if len(charts) == 1 else Menu(key, "Pair", {f"pair {j + 1}": c for j, c in enumerate(charts)})


def _regularized(c: Canonical) -> str:
    n, p, q = len(c.pair.X), c.pair.X.shape[1], c.pair.Y.shape[1]
    many = f"{n:,} rows are few for {p:,} and {q:,} columns"
    if c.regularization > 0:
        return (
            f"{many}, so the weights are regularized by {number(c.regularization)} (0 is none, 1 is full), which gave "
            "the largest correlations in rows left out."
        )
    if c.searched:
        return f"{many}, but no regularization gave the largest correlations in rows left out, so none is used."
    return ""


def _correlations(c: Canonical) -> Chart:
    """Correlations of the fit and of rows left out, beside those of shuffled rows."""
    k = len(c.correlations)
    x = np.arange(1, k + 1, dtype=np.int32)
    traces: list[dict[str, Any]] = [
        _markers("of the fit", x, c.correlations, 0),
        _markers("of rows left out", x, c.held_out, 1),
    ]
    columns: dict[str, Any] = {"fit": c.correlations, "rows left out": c.held_out}
    if c.test is not None and c.test.are_correlations:
        chance = np.quantile(c.test.null_strength, 0.95, axis=0)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": "95% of shuffled rows are below",
                "x": x,
                "y": chance,
                "line": {"dash": "dot", "color": "#8a8a8a"},
                "marker": {"symbol": "line-ew-open", "size": 12, "color": "#8a8a8a"},
                "hovertemplate": "shuffled rows, pair %{x}: %{y:.3f}<extra></extra>",
            }
        )
        columns["95% of shuffles"] = chance
    return Chart(
        key="canonical-correlations",
        title="Canonical correlations",
        alt=f"Correlations of {count(k, 'pair')} of variates, of the fit and of rows left out.",
        data=traces,
        layout={
            "xaxis": axis("pair", dtick=1, range=[0.5, k + 0.5]),
            "yaxis": axis("correlation", range=[min(-0.05, float(c.held_out.min()) - 0.05), 1.05]),
            "legend": {"orientation": "h", "y": -0.25},
        },
        table=Table(columns, [f"pair {j}" for j in x], title="Canonical correlations", row_name="pair"),
        caption=(
            "Rows left out: the average over five folds of the correlation between variates whose weights come from "
            "the other rows. Where it is far below that of the fit, the fit has found chance."
        ),
    )


def _markers(name: str, x: np.ndarray, y: np.ndarray, i: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": x,
        "y": y,
        "marker": {"color": color(i), "symbol": symbol(i), "size": 11},
        "hovertemplate": f"{name}, pair %{{x}}: %{{y:.3f}}<extra></extra>",
    }


def _tests(c: Canonical) -> Table:
    """A row for each pair: its correlations and the test by shuffles."""
    columns: dict[str, Any] = {"fit": c.correlations, "rows left out": c.held_out}
    title, notes = "Pairs of variates", ["There are too many columns for a test by shuffled rows."]
    if c.test is not None:
        columns |= {"p": c.test.p_values, "more than chance": np.arange(len(c.correlations)) < c.significant}
        some = f" of {c.n_tested:,} rows" if c.n_tested < len(c.pair.X) else ""
        title = f"Pairs of variates; p-values from {len(c.test.null)} shuffles{some}"
        notes = ["The p-value of a pair is never smaller than that of the pair before it."]
    return Table(columns, [f"pair {j + 1}" for j in range(len(c.correlations))], title=title, notes=notes)


def _meaning(a: Analysis, c: Canonical, j: int) -> str:
    """Which columns of the two tables go together, in a sentence."""
    ours = _named(a.names, np.asarray(c.model.x_structure_)[:, j])
    theirs = _named(c.pair.y_names, np.asarray(c.model.y_structure_)[:, j])
    if not any(ours) or not any(theirs):
        return ""
    if not ours[0]:
        # A variate and its opposite say the same.
        ours, theirs = ours[::-1], theirs[::-1]
    return f"Pair {j + 1}: rows with {_much(*ours)} in the table have {_much(*theirs)} in the other table."


def _named(names: list[str], structure: np.ndarray) -> tuple[list[str], list[str]]:
    """The columns that correlate most with a variate, positively and negatively."""
    order = [i for i in np.argsort(-np.abs(structure), kind="stable") if abs(structure[i]) >= _NAMED][:4]
    return [names[i] for i in order if structure[i] > 0], [names[i] for i in order if structure[i] < 0]


def _much(high: list[str], low: list[str]) -> str:
    parts = [f"{word} {listed(names)}" for word, names in (("high", high), ("low", low)) if names]
    return " and ".join(parts)


def _variates(a: Analysis, c: Canonical, j: int) -> Chart:
    """The variates of the two tables against each other."""
    pair = c.pair
    some = np.arange(len(pair.X))
    if len(some) > _POINTS:
        some = np.sort(np.random.default_rng(a.request.random_state).choice(len(some), _POINTS, replace=False))
    x, y, rows = c.x_variates[some, j], c.y_variates[some, j], pair.numbers[some]
    hover = [a.row_name(int(i)) for i in rows]
    group = a.groupings[0] if a.groupings else None
    traces = points(x, y, hover) if group is None else points(x, y, hover, group.codes[rows], group.levels)
    sampled = f" {len(some):,} of the {len(pair.X):,} rows are drawn." if len(some) < len(pair.X) else ""
    coloured = f" Colours are by {group.name}." if group is not None else ""
    table = Table({"table": x, "other table": y}, hover, title=f"Variates of pair {j + 1}", row_name="row")
    return Chart(
        key=f"variates-{j}",
        title=f"Pair {j + 1}: the variates of the two tables",
        alt=f"A scatter plot of the variates of pair {j + 1}, whose correlation is {c.correlations[j]:.2f}.",
        data=traces,
        layout={"xaxis": axis("variate of the table"), "yaxis": axis("variate of the other table")},
        table=table.head(300),
        height=460,
        caption=(
            f"Their correlation is {_digits(c.correlations[j])} in the fit, which is shown here, and "
            f"{_digits(c.held_out[j])} in rows left out.{coloured}{sampled}"
        ),
    )


def _structure(a: Analysis, c: Canonical, j: int) -> Chart:
    """Correlations of the columns of both tables with the variates of their own table."""
    names, values, colours = [], [], []
    largest: dict[str, Any] = {"table": [], "column": [], "correlation": []}
    sides = ((1, "other table", c.pair.y_names, c.model.y_structure_), (0, "table", a.names, c.model.x_structure_))
    for i, what, columns, found in sides:
        structure = np.asarray(found)[:, j]
        order = np.argsort(-np.abs(structure), kind="stable")
        kept = order[:_BARS][np.argsort(structure[order[:_BARS]], kind="stable")]
        names += [columns[m] for m in kept]
        values += structure[kept].tolist()
        colours += [color(i)] * len(kept)
        largest["table"] += [what] * len(order)
        largest["column"] += [columns[m] for m in order]
        largest["correlation"] += structure[order].tolist()
    trace = bars(names, np.array(values))
    trace["marker"] = {"color": colours}
    layout = value_axes("correlation with the variate of its table", False, names)
    layout["xaxis"]["range"] = [-1.05, 1.05]
    most = max(len(c.pair.y_names), a.p)
    some = f" At most {_BARS} columns of each table are shown." if most > _BARS else ""
    return Chart(
        key=f"structure-{j}",
        title=f"Pair {j + 1}: what the variates consist of",
        alt=f"Correlations of the columns of both tables with the variates of pair {j + 1}.",
        data=[trace],
        layout=layout | {"shapes": [limit_line(0.0, False)]},
        table=Table(
            {"table": largest["table"], "correlation": largest["correlation"]},
            largest["column"],
            title=f"Structure of pair {j + 1}",
            row_name="column",
        ),
        height=height(len(names), False),
        caption=(
            "Structure correlations: of each column with the variate of its own table; the columns of the table are "
            f"above in the first colour, those of the other table below in the second.{some}"
        ),
    )
