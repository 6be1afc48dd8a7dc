"""With holes: what was filled in, how sure that is, and how well hidden entries are found again."""

from __future__ import annotations

import numpy as np

from ...tabular import Table
from ..analysis import Analysis
from ..blocks import Block, Listing, Menu, Prose, Section
from ..charts import labels
from ..numbers.columns import BINARY, FEW
from ..numbers.holes import NORMAL_95, Hidden, Holes
from ..words import brief, count, listed, share
from .filled_charts import distribution, entries_chart, hidden_chart, row_names

#: The largest numbers of columns in the menus, and of entries in the table.
_COLUMNS, _LISTED = 20, 30
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
        blocks += [Prose(_check(found.hidden)), hidden_chart(a, found.hidden)]
    else:
        blocks.append(Prose("There are too few observed entries to hide some and see how well they are found again."))
    counts = np.bincount(found.entries.columns, minlength=a.p)
    order = np.argsort(-counts, kind="stable")
    shown = [int(j) for j in order if counts[j] > 0][:_COLUMNS]
    names = labels([a.names[j] for j in shown])
    if shown:
        charts = {name: entries_chart(a, found, j) for name, j in zip(names, shown, strict=True)}
        compared = {name: distribution(a, found, j) for name, j in zip(names, shown, strict=True)}
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
            f" Of the numbers of components from {min(found.tried):,} to {max(found.tried):,}, it is the one that "
            "found hidden entries again best."
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
        f"The standard deviation of a filled-in entry is typically {typical:.2f} times that of its column: by the "
        f"model, the other columns {so}."
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
    if all(a.columns.kinds[a.used[j]] in (BINARY, FEW) for j in columns):
        what = (
            "Round to the whole numbers that the column holds" if one else "Round to the whole numbers of each column"
        )
    else:
        zeros = " (of 1 + x where there are zeros)" if np.any(a.first.low[a.used[columns]] == 0) else ""
        what = f"Fill in {'its logarithm' if one else 'their logarithms'}{zeros} instead"
    return (
        f"{count(total, 'filled-in entry', 'filled-in entries')} of {listed([brief(a.names[j]) for j in columns])} "
        f"{'is' if total == 1 else 'are'} below zero, where no observed entry is: the model is Gaussian and knows no "
        f"such limit. {what} if that matters."
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
        row_names(a, found, order),
        title="The widest intervals",
        row_name="row",
    )
