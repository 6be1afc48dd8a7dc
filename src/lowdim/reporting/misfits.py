"""Which rows do not fit: T2 against Q, and the columns responsible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from ..table import Table
from .blocks import LONGEST, Block, Prose, Section, Widget, brief, called, count, listed, number, share
from .map import SomeRows, largest
from .passes import compact, floats

if TYPE_CHECKING:
    from .analysis import Analysis


# The columns that are responsible for T2 and Q of a row.
#
# With x the centred and scaled row, W the components, l their variances and z = W x,
#
#     T2 = sum_k z_k^2 / l_k = sum_j x_j (W^T diag(l)^(-1) z)_j,   Q = sum_j (x - W^T z)_j^2,
#
# and the contribution of column j is its term of the sum [1]_. A column contributes to T2 by its entry in this row:
# nothing if the entry is at the mean, and a negative amount if it makes the row less extreme.
#
# References
# ----------
# .. [1] Westerhuis, Gurden, Smilde (2000), Generalized contribution plots in multivariate statistical process
# monitoring,
#    Chemometrics and Intelligent Laboratory Systems 51.


#: The share of usual rows beyond the limits of T2 and Q.
ALPHA = 0.05


class Contributions(NamedTuple):
    """What each column contributes to T2 and Q of each row, shape (m, p), and where entries are above the mean, or
    above what the components predict."""

    t2: np.ndarray
    q: np.ndarray
    above_mean: np.ndarray
    above_predicted: np.ndarray


def contributions(model: Any, X: np.ndarray) -> Contributions:
    """The contributions of the columns to T2 and Q of the rows of `X`, for a fitted PCA."""
    mean, W, variances = (floats(a) for a in (model.mean_, model.components_, model.explained_variance_))
    centred = X - mean
    if model.scale_ is not None:
        centred = centred / floats(model.scale_)
    Z = centred @ W.T
    # Components without variance are no part of T2.
    rank = int(model.rank_)
    residuals = centred - Z @ W
    t2 = centred * ((Z[:, :rank] / variances[:rank]) @ W[:rank])
    return Contributions(t2, residuals**2, centred > 0, residuals > 0)


# Which rows do not fit: T2 against Q, and the columns responsible.


#: The columns responsible are told of this many rows, and of each row this many columns.
_EXPLAINED, _COLUMNS = 200, 12
#: The rows that are told in words, and the columns of each.
_WORST, _NAMED = 3, 3
#: The row that fits worst stands at the top of the page if T2 or Q is so many times its limit.
_CLEAR = 2.0
#: The largest number of rows of the table.
_TABLE_ROWS = 300
#: A group is over-represented if its share of the rows beyond a limit is so many times its share of all rows, and if
#: this happens by chance with less than this probability, for all groups together.
_OFTEN, _CHANCE = 1.3, 0.01


def section(a: Analysis) -> Section | None:
    """The section; None if there are too few rows for limits."""
    if not np.isfinite(a.scoring.t2_limit):
        return None
    rows, k = a.seen.rows, int(a.subspace.n_components_)
    order = largest(rows.misfit, min(_EXPLAINED, len(rows)), rows.numbers)
    found = contributions(a.subspace, rows.entries[order])
    sentences = [*_counts(a), *_many(a)]
    blocks: list[Block] = [Prose(" ".join(sentences))]
    worst = _worst(a, order, found)
    blocks += [Prose(" ".join(texts)) for texts in (worst, _over_represented(a)) if texts]
    blocks.append(_widget(a, order, found))
    whose = "the model" if a.subspace is a.model else "a PCA"
    within = "the only component" if k == 1 else f"the {k:,} components"
    lead = (
        f"T2 tells how far a row is from the mean within {within} of {whose}, and Q how much of the row is outside "
        f"{'it' if k == 1 else 'them'}. A row with a large T2 is extreme in a usual way; a row with a large Q is "
        "unlike the others. Choose a point to see the columns responsible."
    )
    clear = worst and a.seen.rows.misfit[order[0]] > _CLEAR
    return Section("misfits", "Which rows do not fit", lead, blocks, worst[0] if clear else "")


def _counts(a: Analysis) -> list[str]:
    """How many rows are beyond each limit, and how many are to be expected."""
    seen = a.seen
    expected = ALPHA * seen.n
    by_chance = number(expected, 2) if expected < 10 else f"{expected:,.0f}"
    told = [
        f"{count(found, 'row')}{f' ({share(found / seen.n)})' if found else ''} beyond the limit of {name}"
        for found, name in _both(a)
    ]
    sentences = [
        f"There {'is' if seen.t2_beyond == 1 else 'are'} {listed(told)}. Of Gaussian rows, about {by_chance} "
        f"({ALPHA:.0%}) would be beyond {'it' if len(told) == 1 else 'each of them'} by chance."
    ]
    if len(told) == 1:
        sentences.append("The components describe the rows completely, so that Q is zero.")
    return sentences


def _both(a: Analysis) -> list[tuple[int, str]]:
    """The numbers of rows beyond the limits of T2 and Q; of Q only if the components leave something."""
    complete = int(a.subspace.n_components_) >= a.rank
    return [(a.seen.t2_beyond, "T2"), *([] if complete else [(a.seen.q_beyond, "Q")])]


def _many(a: Analysis) -> list[str]:
    """Whether there are more or fewer rows beyond the limits than chance explains."""
    expected = ALPHA * a.seen.n
    # Three standard deviations of the count of Gaussian rows.
    chance = 3 * np.sqrt((1 - ALPHA) * expected)
    more = [name for found, name in _both(a) if found > expected + chance]
    fewer = [name for found, name in _both(a) if found < expected - chance]
    sentences = []
    if more:
        sentences.append(
            f"There are clearly more than that beyond the limit of {listed(more)}: rows are farther out than those of "
            "a Gaussian, or they form groups."
        )
    if fewer:
        sentences.append(
            f"There are clearly fewer beyond the limit of {listed(fewer)}: rows are less far out than those of a "
            "Gaussian, as they are if they form groups or if entries are bounded."
        )
    return sentences


def _worst(a: Analysis, order: np.ndarray, found: Contributions) -> list[str]:
    """The rows that fit worst, with the columns responsible."""
    rows, those = a.seen.rows, "component" if int(a.subspace.n_components_) == 1 else "components"
    sentences = []
    for place, i in enumerate(order[:_WORST]):
        if rows.misfit[i] <= 1:
            break
        of_t2 = rows.t2[i] / a.scoring.t2_limit >= rows.q[i] / a.scoring.q_limit
        name, value, limit = ("T2", rows.t2[i], a.scoring.t2_limit) if of_t2 else ("Q", rows.q[i], a.scoring.q_limit)
        ratio = value / limit
        times = f"{number(ratio, 2)} times the limit" if ratio >= 1.1 else "just above the limit"
        columns = "" if a.image_shape is not None else _responsible(a, found, place, of_t2)
        where = f"farthest out within the {those}" if of_t2 else f"farthest from the {those}"
        name_of_row = called(a, rows.numbers[i])
        if a.opened.ids is None:
            name_of_row = f"R{name_of_row[1:]}"
        text = f"{name_of_row} fits worst: it is {where}" if place == 0 else f"{name_of_row} follows"
        sentences.append(f"{text} ({name} is {times}){columns}.")
    return sentences


def _responsible(a: Analysis, found: Contributions, place: int, of_t2: bool) -> str:
    """The columns with the largest contributions to T2 or Q of a row, and whether its entries are large or small."""
    parts, above = (found.t2, found.above_mean) if of_t2 else (found.q, found.above_predicted)
    order = np.argsort(-parts[place], kind="stable")[:_NAMED]
    large = order[parts[place, order] >= 0.1 * parts[place].sum()]
    high, low = ("high", "low") if of_t2 else ("higher than expected", "lower than expected")
    named = [f"{brief(a.names[j])} ({high if above[place, j] else low})" for j in (large if len(large) else order)]
    return f", mostly by {listed(named)}" if len(large) else f", by many columns, first of all {listed(named)}"


def _over_represented(a: Analysis) -> list[str]:
    """The groups of which more rows do not fit than chance explains."""
    sentences = []
    for group, found, spreads in zip(a.groupings, a.seen.beyond_in_groups, a.seen.groups, strict=True):
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
                sentences.append(
                    f"{name} is over-represented: it has {share(found[i] / total)} of the rows beyond a limit, and "
                    f"{share(sizes[i] / n)} of all rows."
                )
    return sentences


def _widget(a: Analysis, order: np.ndarray, found: Contributions) -> Widget:
    rows = a.seen.rows
    values = {
        "t2": compact(rows.t2),
        "q": compact(rows.q),
        "t2_limit": float(a.scoring.t2_limit),
        "q_limit": float(a.scoring.q_limit),
        "ids": None if a.opened.ids is None else [brief(a.opened.ids[i], LONGEST) for i in rows.numbers],
        "numbers": rows.numbers.astype(np.int32),
        "explained": [
            {"point": int(i), "t2": _bars(a, found.t2[place]), "q": _bars(a, found.q[place])}
            for place, i in enumerate(order)
        ],
    }
    caption = (
        f"Lines are the limits that {ALPHA:.0%} of Gaussian rows exceed. A column with a negative contribution makes "
        "the row less extreme."
    )
    if a.seen.is_sample:
        caption += f" Of {a.seen.n:,} rows, {len(rows):,} are shown, among them the {len(order)} that fit worst."
    return Widget(
        key="misfits",
        kind="misfits",
        title="T2 and Q of the rows",
        alt=f"A scatter plot of T2 and Q of {count(len(rows), 'row')}, with a limit for each.",
        values=values,
        table=_table(a, rows, order),
        height=480,
        caption=caption,
    )


def _bars(a: Analysis, parts: np.ndarray) -> list[list[Any]]:
    """The columns of the largest contributions, and the sum of the others."""
    order = np.argsort(-np.abs(parts), kind="stable")
    shown = order[:_COLUMNS]
    bars = [[brief(a.names[j]), _rounded(parts[j])] for j in shown]
    if len(order) > len(shown):
        rest = parts[order[len(shown) :]].sum()
        bars.append([f"{count(len(order) - len(shown), 'other column')}", _rounded(rest)])
    return bars


def _rounded(value: float) -> float:
    """With as many digits as are shown, since they are written as text."""
    return float(f"{value:.7g}")


def _table(a: Analysis, rows: SomeRows, order: np.ndarray) -> Table:
    """T2 and Q of the rows that fit worst."""
    some = rows.take(order[:_TABLE_ROWS])
    columns = {
        "T2": some.t2,
        "Q": some.q,
        "T2 beyond": some.t2 > a.scoring.t2_limit,
        "Q beyond": some.q > a.scoring.q_limit,
    }
    labels = [a.row_name(i) for i in some.numbers]
    limits = f"limit of T2: {number(a.scoring.t2_limit, 4)}, limit of Q: {number(a.scoring.q_limit, 4)}"
    return Table(columns, labels, title=f"The {len(some)} rows that fit worst", notes=[limits], row_name="row")
