"""Which rows do not fit: T2 against Q, and the columns responsible.

With x the centred and scaled row, W the components, l their variances and z = W x,

    T2 = sum_k z_k^2 / l_k = sum_j x_j (W^T diag(l)^(-1) z)_j,   Q = sum_j (x - W^T z)_j^2,

and the contribution of column j is its term of the sum [1]_. A column contributes to T2 by its entry in this row:
nothing if the entry is at the mean, and a negative amount if it makes the row less extreme.

References
----------
.. [1] Westerhuis, Gurden, Smilde (2000), Generalized contribution plots in multivariate statistical process monitoring,
   Chemometrics and Intelligent Laboratory Systems 51.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from ..table import Table
from .blocks import Section, Widget, be, brief, count, listed, number, prose, sentence, share
from .loadings import lone_rows
from .map import ALPHA, largest
from .passes import centred_rows, compact, floats

if TYPE_CHECKING:
    from .analysis import Analysis

#: The columns responsible are listed for this many rows, and for each row this many columns.
_EXPLAINED, _COLUMNS = 200, 12
#: The rows that are described in words, of each of T2 and Q, and the columns of each.
_NAMED_ROWS, _NAMED = 2, 3
#: A group is over-represented if its share of the rows beyond a limit is so many times its share of all rows, and if
#: this happens by chance with less than this probability, for all groups together.
_OFTEN, _CHANCE = 1.3, 0.01


class Contributions(NamedTuple):
    """What each column contributes to T2 and Q of each row, shape (m, p), and where entries are above the mean, or
    above what the components predict."""

    t2: np.ndarray
    q: np.ndarray
    above_mean: np.ndarray
    above_predicted: np.ndarray


def contributions(model: Any, X: np.ndarray) -> Contributions:
    """The contributions of the columns to T2 and Q of the rows of `X`, for a fitted PCA."""
    W, variances, centred = floats(model.components_), floats(model.explained_variance_), centred_rows(model, X)
    Z = centred @ W.T
    # Components without variance are no part of T2.
    rank = int(model.rank_)
    residuals = centred - Z @ W
    t2 = centred * ((Z[:, :rank] / variances[:rank]) @ W[:rank])
    return Contributions(t2, residuals**2, centred > 0, residuals > 0)


def section(a: Analysis) -> Section | None:
    """The section; None if there are too few rows for limits."""
    if not np.isfinite(a.scoring.t2_limit):
        return None
    rows, k = a.second.rows, int(a.subspace.n_components_)
    order = largest(rows.misfit, min(_EXPLAINED, len(rows)), rows.numbers)
    found = contributions(a.subspace, rows.entries[order])
    extreme, odd = list(_farthest(a, of_t2=True)), list(_farthest(a, of_t2=False))
    blocks = prose(_counts(a), extreme, odd, _over_represented(a))
    whose = "the model" if a.subspace is a.model else "a PCA"
    within = "the only component" if k == 1 else f"the {k:,} components"
    lead = (
        f"T2 tells how far a row is from the mean within {within} of {whose}, and Q how much of the row is outside "
        f"{'it' if k == 1 else 'them'}. A row with a large T2 is extreme in a usual way; a row with a large Q is "
        "unlike the others. Choose a point to see the columns responsible."
    )
    if a.subspace is not a.model:
        lead = (
            f"This section is about a PCA with as many components, and not about the {type(a.model).__name__}. {lead}"
        )
    # At the top of the page are rows that chance does not explain, unless what depends on them is said there already.
    told, summary = set(lone_rows(a)) if a.n_mapped > 1 else set(), []
    for said, values, rare in ((extreme, rows.t2, a.scoring.t2_rare), (odd, rows.q, a.scoring.q_rare)):
        (first,) = largest(values, 1, rows.numbers)
        if said and values[first] > rare and a.subspace is a.model and rows.numbers[first] not in told:
            summary.append(said[0])
            told.add(int(rows.numbers[first]))
    title = "Which rows do not fit"
    return Section("misfits", title, lead, [*blocks, _widget(a, order, found)], " ".join(summary))


def _counts(a: Analysis) -> Iterator[str]:
    """How many rows are beyond each limit, how many are to be expected, and whether chance explains the difference."""
    n, beyond = a.second.n, {"T2": a.second.t2_beyond, "Q": a.second.q_beyond}
    complete = int(a.subspace.n_components_) >= a.rank
    if complete:
        # The components leave nothing for Q.
        del beyond["Q"]
    expected = ALPHA * n
    by_chance = number(expected, 2) if expected < 10 else f"{expected:,.0f}"
    counted = [
        f"{count(found, 'row')}{f' ({share(found / n)})' if found else ''} beyond the limit of {name}"
        for name, found in beyond.items()
    ]
    yield (
        f"There {be(beyond['T2'])} {listed(counted)}. Of Gaussian rows, about {by_chance} "
        f"({ALPHA:.0%}) would be beyond {'it' if complete else 'each of them'} by chance."
    )
    if complete:
        yield "The components describe the rows completely, so that Q is zero."
    # Three standard deviations of the count of Gaussian rows.
    chance = 3 * np.sqrt((1 - ALPHA) * expected)
    more = [name for name, found in beyond.items() if found > expected + chance]
    fewer = [name for name, found in beyond.items() if found < expected - chance]
    if more:
        yield (
            f"There are clearly more than that beyond the limit of {listed(more)}: rows are farther out than those of "
            "a Gaussian, or they form groups."
        )
    if fewer:
        yield (
            f"There are clearly fewer beyond the limit of {listed(fewer)}: rows are less far out than those of a "
            "Gaussian, as they are if they form groups or if entries are bounded."
        )


def _farthest(a: Analysis, of_t2: bool) -> Iterator[str]:
    """The rows beyond the limit of T2, which are extreme, or beyond that of Q, which fit badly, and why."""
    rows, those = a.second.rows, "component" if int(a.subspace.n_components_) == 1 else "components"
    name, values, limit, rare = "Q", rows.q, a.scoring.q_limit, a.scoring.q_rare
    what = f"fits worst: it is farthest from the {those}"
    if of_t2:
        name, values, limit, rare = "T2", rows.t2, a.scoring.t2_limit, a.scoring.t2_rare
        what = f"is the most extreme row within the {those}"
    order = largest(values, _NAMED_ROWS, rows.numbers)
    order = order[values[order] > limit]
    if len(order) == 0 or (not of_t2 and int(a.subspace.n_components_) >= a.rank):
        return
    found = contributions(a.subspace, rows.entries[order])
    for place, i in enumerate(order):
        ratio = values[i] / limit
        times = f"{number(ratio, 2)} times the limit" if ratio >= 1.1 else "just above the limit"
        columns = "" if a.image_shape is not None else _responsible(a, found, place, of_t2)
        text = f"{a.called(rows.numbers[i])} {what if place == 0 else 'follows'}"
        yield f"{sentence(text)} ({name} is {times}){columns}."
    if values[order[0]] <= rare:
        yield f"Chance may explain this: the farthest of {a.second.n:,} Gaussian rows may be as far out."


def _responsible(a: Analysis, found: Contributions, place: int, of_t2: bool) -> str:
    """The columns with the largest contributions to T2 or Q of a row, and whether its entries are large or small."""
    parts, above = (found.t2, found.above_mean) if of_t2 else (found.q, found.above_predicted)
    order = np.argsort(-parts[place], kind="stable")[:_NAMED]
    large = order[parts[place, order] >= 0.1 * parts[place].sum()]
    high, low = ("high", "low") if of_t2 else ("higher than expected", "lower than expected")
    named = [f"{brief(a.names[j])} ({high if above[place, j] else low})" for j in (large if len(large) else order)]
    return f", mostly by {listed(named)}" if len(large) else f", by many columns, first of all {listed(named)}"


def _over_represented(a: Analysis) -> Iterator[str]:
    """The groups of which more rows do not fit than chance explains."""
    for group, found, spreads in zip(a.groupings, a.second.beyond_in_groups, a.second.groups, strict=True):
        sizes = np.array([spread.rows for spread in spreads])
        total, n = int(found.sum()), int(sizes.sum())
        if total == 0 or n == 0:
            continue
        # The probability of at least as many rows of a group, if each row were of it by its share (binomial).
        chance = [special.bdtrc(x - 1, total, size / n) if x > 0 else 1.0 for x, size in zip(found, sizes, strict=True)]
        for i in np.argsort(chance, kind="stable")[:2]:
            often = found[i] * n >= _OFTEN * total * sizes[i]
            if often and chance[i] < _CHANCE / len(chance):
                name = f"{brief(group.levels[i])} ({brief(group.name)})"
                yield (
                    f"{name} is over-represented: it has {share(found[i] / total)} of the rows beyond a limit, and "
                    f"{share(sizes[i] / n)} of all rows."
                )


def _widget(a: Analysis, order: np.ndarray, found: Contributions) -> Widget:
    rows, t2_limit, q_limit = a.second.rows, float(a.scoring.t2_limit), float(a.scoring.q_limit)
    values = {
        "t2": compact(rows.t2),
        "q": compact(rows.q),
        "t2_limit": t2_limit,
        "q_limit": q_limit,
        "labels": a.labels_of(rows.numbers),
        "numbers": (rows.numbers + 1).astype(np.int32),
        "explained": [
            {"point": int(i), "t2": _bars(a, found.t2[place]), "q": _bars(a, found.q[place])}
            for place, i in enumerate(order)
        ],
    }
    caption = (
        f"Lines are the limits that {ALPHA:.0%} of Gaussian rows exceed. A column with a negative contribution makes "
        "the row less extreme."
    )
    if a.second.is_sample:
        caption += f" Of {a.second.n:,} rows, {len(rows):,} are shown, among them the {len(order)} that fit worst."
    some = rows.take(order)
    columns = {"T2": some.t2, "Q": some.q, "T2 beyond": some.t2 > t2_limit, "Q beyond": some.q > q_limit}
    names, title = [a.row_name(i) for i in some.numbers], f"The {len(some)} rows that fit worst"
    if len(some) == a.second.n:
        title = f"All {len(some)} rows, beginning with the one that fits worst"
    notes = [f"limit of T2: {number(t2_limit, 4)}, limit of Q: {number(q_limit, 4)}"]
    return Widget(
        key="misfits",
        kind="misfits",
        title="T2 and Q of the rows",
        alt=f"A scatter plot of T2 and Q of {count(len(rows), 'row')}, with a limit for each.",
        values=values,
        table=Table(columns, names, title=title, notes=notes, row_name="row"),
        height=480,
        caption=caption,
    )


def _bars(a: Analysis, parts: np.ndarray) -> list[list[Any]]:
    """The columns of the largest contributions, and the sum of the others, with as many digits as are shown."""
    order = np.argsort(-np.abs(parts), kind="stable")
    shown, others = order[:_COLUMNS], order[_COLUMNS:]
    bars = [(brief(a.names[j]), parts[j]) for j in shown]
    if len(others):
        bars.append((count(len(others), "other column"), parts[others].sum()))
    return [[name, float(f"{value:.7g}")] for name, value in bars]
