"""Two tables: what another table has in common with this one, by canonical correlations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import KFold

from ..models.cca import CCA
from ..selection.cross_validation import cross_validate
from ..selection.permutation import PermutationTest, permutation_test
from ..table import Table
from . import regression
from .blocks import (
    Block,
    Chart,
    Listing,
    Menu,
    Prose,
    Section,
    axis,
    bars,
    color,
    count,
    height,
    limit_line,
    listed,
    number,
    points,
    symbol,
    value_axes,
)
from .regression import FEWEST_ROWS, Pair

if TYPE_CHECKING:
    from .analysis import Analysis


# What two tables have in common: canonical correlations, of the fit and of rows that were left out, with a test.


#: The number of folds, and the largest number of pairs that is shown.
FOLDS, MOST_PAIRS = 5, 5
#: With fewer rows than this for each column of both tables, correlations need regularization.
ROWS_PER_COLUMN = 10
#: The regularizations that are tried then.
TRIED = (0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9)
#: Numbers of shuffles, of which the first that takes at most so many multiplications is used.
_SHUFFLES, _MOST_WORK = (199, 99, 39), 2e10
#: The test takes at most so many rows.
_MOST_ROWS = 5_000


@dataclass(frozen=True)
class Canonical:
    """Pairs of variates of two tables."""

    pair: Pair
    model: Any
    #: The amount of regularization, and whether it was chosen by rows left out; otherwise none was needed.
    regularization: float
    searched: bool
    #: Correlations of the fit and of rows that were left out, one for each pair that is shown.
    correlations: np.ndarray
    held_out: np.ndarray
    #: A test of the pairs that are shown; None if there are too many columns for it.
    test: PermutationTest | None
    #: How many rows were shuffled in the test.
    n_tested: int
    #: The variates of all rows, of shape (rows, pairs).
    x_variates: np.ndarray
    y_variates: np.ndarray

    @property
    def significant(self) -> int:
        """The number of pairs that are more than chance, among those shown; 0 if that was not tested."""
        return 0 if self.test is None else self.test.n_components


def canonical(pair: Pair, seed: int) -> Canonical:
    """CCA of the two tables, regularized if there are few rows; a test by shuffles, and five folds."""
    X, Y, weights = pair.X, pair.Y, pair.weights
    n, (p, q) = len(X), (X.shape[1], Y.shape[1])
    most = min(p, q, MOST_PAIRS)
    folds = list(KFold(min(FOLDS, n), shuffle=True, random_state=seed).split(X))
    searched = n < ROWS_PER_COLUMN * (p + q)
    # Without regularization, correlations of one are found as soon as the columns are as many as the rows.
    tried = [c for c in (0.0, *TRIED) if c > 0 or n * (FOLDS - 1) // FOLDS > p + q + 1] if searched else [0.0]
    found = cross_validate(
        CCA(),
        X,
        Y,
        cv=folds,
        n_components=range(1, most + 1),
        parameters={"regularization": tried},
        sample_weight=weights,
    )
    # The sum of all pairs that are shown decides: its value does not depend on how many of them are good for chance.
    s = int(np.nanargmax(found.mean[:, -1]))
    regularization = float(tried[s])
    model = CCA(most, regularization=regularization).fit(X, Y, sample_weight=weights)
    k = int(model.n_components_)
    sums = np.concatenate([[0.0], found.mean[s][:k]])
    shown = np.arange(n) if n <= _MOST_ROWS else np.sort(np.random.default_rng(seed).choice(n, _MOST_ROWS, False))
    ranks = sorted((min(len(shown), p), min(len(shown), q)))
    work = k * ranks[0] ** 2 * ranks[1]
    shuffles = next((number for number in _SHUFFLES if number * work <= _MOST_WORK), None)
    test = None
    if shuffles is not None:
        test = permutation_test(
            CCA(regularization=regularization),
            X[shown],
            Y[shown],
            n_permutations=shuffles,
            n_components=k,
            random_state=seed,
        )
    x_variates, y_variates = model.transform(X, Y)
    return Canonical(
        pair=pair,
        model=model,
        regularization=regularization,
        searched=searched,
        correlations=np.asarray(model.correlations_)[:k],
        held_out=np.diff(sums),
        test=test,
        n_tested=len(shown),
        x_variates=np.asarray(x_variates),
        y_variates=np.asarray(y_variates),
    )


# The part of a section about another table: canonical correlations, a test of them, variates and structure.


#: At most so many points are drawn, and so many columns of each table are shown.
_POINTS, _BARS = 2_000, 15
#: Columns that correlate less with a variate are not named.
_NAMED = 0.3
#: What held-out correlations from this number on are called.
_WORDS = ((0.8, "closely related"), (0.5, "related"), (0.2, "weakly related"))


def canonical_lead() -> str:
    """What this part shows and how to read it."""
    return (
        "What the table and the other table of the same rows have in common, by canonical correlation analysis (CCA). "
        "It finds a weighted sum of the columns of each table so that the two sums, called variates, correlate as much "
        "as possible; then a second pair, uncorrelated with the first, and so on. The correlations of the fit are "
        "larger than they would be in new rows; those of rows left out are the ones to believe."
    )


def canonical_verdict(c: Canonical) -> str:
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


def canonical_blocks(a: Analysis, c: Canonical) -> list[Block]:
    """Words, charts and tables."""
    k = len(c.correlations)
    meanings = [_meaning(a, c, j) for j in range(k if c.test is None else c.significant)]
    return [
        Prose(f"{canonical_verdict(c)} {_regularized(c)}".strip()),
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


# Two tables: how well responses can be predicted, and what another table has in common with this one.


def section(a: Analysis) -> Section | None:
    """The section; None if there is neither a response nor another table."""
    blocks: list[Block] = []
    leads, sentences = [], []
    if a.with_response is not None:
        leads.append(regression.lead(a.with_response))
        blocks += _about(a.with_response, a.n, "response")
        if a.regression is not None:
            blocks += regression.blocks(a, a.regression)
            sentences.append(regression.verdict(a.regression))
    if a.with_other is not None:
        leads.append(canonical_lead())
        blocks += _about(a.with_other, a.n, "other table")
        if a.canonical is not None:
            blocks += canonical_blocks(a, a.canonical)
            sentences.append(canonical_verdict(a.canonical))
    if not blocks and not leads:
        return None
    title = "Prediction" if a.with_other is None else "Two tables"
    return Section(key="two-tables", title=title, lead=" ".join(leads), blocks=blocks, summary=" ".join(sentences))


def _about(pair: Pair, n: int, what: str) -> list[Block]:
    """Which rows and columns were used, if not all of them, and why nothing else follows if that is so."""
    said = []
    if pair.n_drawn < n:
        said.append(f"This part is about a random sample of {pair.n_drawn:,} of the {n:,} rows.")
    if pair.n_missing:
        verb = "is" if pair.n_missing == 1 else "are"
        said.append(
            f"{count(pair.n_missing, 'row')} {verb} left out here, because entries of the {what} are missing; "
            f"{count(len(pair.X), 'row')} remain."
        )
    if pair.constant:
        columns = "column" if len(pair.constant) == 1 else "columns"
        said.append(f"The {columns} {listed(pair.constant)} of the {what} do not vary, and are left out.")
    if not pair.is_enough:
        why = "nothing in it varies" if not pair.y_names else f"fewer than {FEWEST_ROWS} complete rows are too few"
        said.append(f"No more is said about the {what}: {why}.")
    return [Prose(" ".join(said))] if said else []
