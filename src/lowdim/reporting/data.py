"""The data: rows, columns and their kinds, scales and correlations, what was left out and why."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from scipy.stats import norm

from .._core.arrays import to_numpy
from ..errors import ImputedRangeWarning, without_warnings
from ..inspect.diagnostics import checked_image_shape
from ..summaries.base import union
from ..table import Table
from .blocks import Block, Chart, Listing, Prose, Section, be, brief, count, listed, number, prose, share
from .charts import COLORS, axes, axis, color, heatmap, labels, names_axis, scatter
from .columns import is_fitted
from .missing import missing_blocks
from .passes import ColumnSummary

if TYPE_CHECKING:
    from .analysis import Analysis


# What the columns hold: their kinds, their skewness, and which of them only identify the rows; and equal rows.


#: The kinds of columns.
EMPTY, CONSTANT, BINARY, FEW, WHOLE, DECIMAL = "empty", "constant", "0/1", "few", "whole", "decimal"
#: What they are called in the table of the columns, and what such columns hold. A model that is already fitted may have
#: columns that are constant or empty in this table.
_KINDS = {
    DECIMAL: ("decimal", "decimal numbers"),
    WHOLE: ("whole numbers", "whole numbers"),
    FEW: ("few whole numbers", "a few different whole numbers"),
    BINARY: ("0 or 1", "0 and 1 only"),
    CONSTANT: ("constant", "one number only"),
    EMPTY: ("empty", "nothing"),
}
#: A column of whole numbers with at most this many different entries holds grades or codes.
_FEW_VALUES = 10
#: Skewness and different entries are those of about this many numbers, but at least of so many rows.
_LOOKED_AT, _FEWEST_ROWS = 500_000, 1000
#: A column is strongly skewed if its third standardized moment is above this, and not only for a few entries that are
#: far out: that of the usual entries, which are so large a part of all, is above the last number.
_SKEWED, _USUAL, _STILL_SKEWED = 2.0, 0.99, 0.5
#: With fewer rows, different whole numbers that grow from row to row may well be a measurement.
_FEWEST_IDENTIFIED = 20
#: A column that is named like an identifier may be one if this share of its entries occurs once.
_DIFFERENT = 0.9
#: Words that name columns of identifiers.
_IDENTIFIER = re.compile(
    "ids?|pid|ident|identifier|index|idx|nr|no|num|number|rows?|rowid|rownames?|rownumber|unnamed|key|uuid|guid|person|"
    "subject|participant|patient|respondent|case|sample|observation|record|serial"
)


class Columns:
    """Facts of all columns that are numbers, whether they are analysed or not, from the first pass and its sample.

    Columns that identify rows are known by their names, too.
    """

    def __init__(self, first: ColumnSummary, names: Sequence[str]) -> None:
        self._first = first
        some = thinned(first.sample)
        self.kinds = [_kind(first, some[:, j], j) for j in range(len(names))]
        #: Columns of grades or 0/1, whose whole numbers are codes.
        self.codes = np.array([kind in (BINARY, FEW) for kind in self.kinds], dtype=bool)
        #: The third standardized moment; NaN for columns that do not vary.
        self.skewness = _skewness(some)
        with np.errstate(invalid="ignore", divide="ignore"):
            positive = np.where(first.low == 0, np.log1p(some), np.nan)
            after = _skewness(np.where(first.low > 0, np.log(some), positive))
        measured = np.array([kind in (WHOLE, DECIMAL) for kind in self.kinds], dtype=bool)
        with np.errstate(invalid="ignore"):
            far_less = (self.skewness > _SKEWED) & (np.abs(after) < self.skewness / 2)
        for j in np.flatnonzero(far_less):
            usual = some[some[:, j] <= np.nanquantile(some[:, j], _USUAL), j]
            far_less[j] = _skewness(usual[:, None])[0] > _STILL_SKEWED
        #: Columns of different whole numbers that grow from row to row.
        self.grow, recounts = np.array([_counts_rows(first, j) for j in range(len(names))], dtype=bool).T
        named = np.array([names_rows(name) for name in names], dtype=bool)
        from_the_first = first.numbering & ((first.low == 0) | (first.low == 1))
        #: Columns that certainly only identify the rows.
        self.identifiers = from_the_first | ((first.numbering | self.grow | recounts) & named)
        #: Columns of different whole numbers that may identify the rows, since they grow or by their names, and those
        #: that grow by one from row to row.
        self.suspects = (self.grow | (named & _mostly_different(first))) & ~self.identifiers & ~first.numbering
        self.sequences = first.numbering & ~self.identifiers
        #: Positive columns that are strongly skewed, and far less so after a logarithm (of 1 + x if x may be zero).
        self.for_logarithm = measured & (first.low >= 0) & far_less & ~self.suspects

    def why_not_analysed(self, j: int) -> str:
        """Why a column of numbers is not analysed."""
        first = self._first
        low, high = first.low[j], first.high[j]
        if first.observed[j] == 0:
            return "all its entries are missing"
        if low == high:
            return f"all its entries are {low:g}"
        if not first.deviation[j] > 0:
            return (
                "it does not vary among the rows that have a weight, or so little that its variance is below all "
                "numbers"
            )
        if not self.identifiers[j]:
            return "the model does not use it"
        if first.numbering[j]:
            return f"it just counts the rows, from {low:.0f} to {high:.0f}"
        if self.grow[j]:
            return (
                "by its name and its entries, whole numbers that grow from row to row, it identifies the rows, and "
                "would name them as labels"
            )
        return f"by its name and its entries, it counts the rows of each group, from {low:.0f} to {high:.0f}"


def thinned(rows: np.ndarray) -> np.ndarray:
    """Rows at equal distances, as many as are enough for quantiles and skewness."""
    return rows[:: max(1, min(rows.size // _LOOKED_AT, len(rows) // _FEWEST_ROWS))]


def _kind(first: ColumnSummary, entries: np.ndarray, j: int) -> str:
    if first.observed[j] == 0:
        return EMPTY
    low, high = first.low[j], first.high[j]
    if low == high:
        return CONSTANT
    # All floats beyond 2^53 are whole.
    if not first.whole[j] or max(abs(low), abs(high)) >= 2.0**53:
        return DECIMAL
    if low == 0 and high == 1:
        return BINARY
    if len(np.unique(entries[~np.isnan(entries)])) <= _FEW_VALUES:
        return FEW
    return WHOLE


def _skewness(X: np.ndarray) -> np.ndarray:
    """The third standardized moment of the observed entries of each column."""
    known = ~np.isnan(X)
    count = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / count, 0.0)
    # In units of the largest, cubes neither overflow nor underflow.
    centred /= np.maximum(np.abs(centred).max(axis=0, initial=0.0), np.finfo(float).tiny)
    square = (centred**2).sum(axis=0) / count
    cube = (centred**3).sum(axis=0) / count
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(cube / square**1.5)


def _counts_rows(first: ColumnSummary, j: int) -> tuple[bool, bool]:
    """Whether a column holds whole numbers without gaps that grow from each row of the sample to the next; and whether
    it counts rows from 0 or 1, again and again: within groups that follow each other."""
    enough, steps = max(first.n, _FEWEST_IDENTIFIED), np.diff(first.sample[:, j])
    grows = first.whole[j] and first.observed[j] >= enough and bool(np.all(steps > 0))
    able = len(first.sample) >= enough and first.low[j] in (0, 1) and first.high[j] > _FEW_VALUES
    return grows, able and bool(np.all((steps == 1) | (first.sample[1:, j] == first.low[j])))


def _mostly_different(first: ColumnSummary) -> np.ndarray:
    """Whether nearly all entries of each column in the sample are different whole numbers."""
    enough = (first.observed >= _FEWEST_IDENTIFIED) & first.whole
    entries = [column[~np.isnan(column)] for column in first.sample.T]
    different = [len(np.unique(column)) >= _DIFFERENT * max(len(column), 1) for column in entries]
    return np.asarray(enough & np.array(different, dtype=bool))


def names_rows(name: str) -> bool:
    """Whether a name says that a column identifies the rows: "id", "person", "patient_nr", "rowNumber"."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", str(name))
    return any(_IDENTIFIER.fullmatch(part.lower()) for part in parts)


def equal_rows(X: np.ndarray) -> int:
    """The number of rows that are equal to an earlier one; missing entries are equal to each other.

    Rows are compared by a hash of their bits: sums of products with random odd numbers, modulo 2^64.
    """
    factors = np.random.default_rng(0).integers(0, 2**63, X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = np.empty(len(X), dtype=np.uint64)
    step = max(1, (1 << 21) // max(1, X.shape[1]))
    for i in range(0, len(X), step):
        block = X[i : i + step] + 0.0
        block[np.isnan(block)] = np.nan
        bits = block.view(np.uint64)
        hashes[i : i + step] = ((bits ^ (bits >> np.uint64(32))) * factors).sum(axis=1, dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    repeated = np.flatnonzero(np.diff(hashes[order]) == 0)
    earlier, later = X[order[repeated]], X[order[repeated + 1]]
    return int(np.count_nonzero(np.all((earlier == later) | (np.isnan(earlier) & np.isnan(later)), axis=1)))


# The section.


#: The largest number of columns whose distributions are drawn.
_DRAWN = 40
#: Reasons of up to this many columns are given in a sentence, those of more in a table; and so are correlations.
_IN_SENTENCES = 3
#: The largest number of sentences on rows and columns that repeat others.
_GROUPS = 4


def section(a: Analysis) -> Section:
    """What the table holds."""
    dependent = list(_dependent(a))
    misled = (
        "Columns that depend on others make the last eigenvalues very small, which misleads rules that judge the last "
        "components."
    )
    blocks = [*prose(_size(a), [*dependent, misled] if dependent else ""), *left_out_blocks(a)]
    blocks += prose(a.opened.how_read, identifiers_told(a), _equal_rows(a), _scales(a))
    blocks += [Listing(numbers_table(a), shown=10), distributions(a), *prose(skewed_told(a))]
    blocks += [*missing_blocks(a), *_correlation_blocks(a)]
    missing = int(a.first.missing[a.used].sum())
    entries = "no entry is missing" if missing == 0 else f"{share(missing / (a.n * a.p))} of the entries are missing"
    lead = (
        "What the table holds, before anything is modelled: its rows and columns, what was left out and why, how "
        "the columns are scaled, what is missing, and which columns go together."
    )
    if a.left_out:
        entries += " in them" if missing == 0 else ""
    summary = f"The report is about {count(a.n, 'row')} and {count(a.p, 'column')} of numbers; {entries}."
    further = filter(None, [roles_told(a), a.opened.how_read, suspects_in_short(a)])
    summary = " ".join([summary, *left_out_in_short(a), *further, *dependent, *islice(skewed_told(a), 1)])
    return Section("data", "The data", lead, blocks, summary)


def left_out_in_short(a: Analysis) -> Iterator[str]:
    """The columns that are not analysed, for the top of the page: the most frequent reasons, and how many others."""
    same: defaultdict[str, list[str]] = defaultdict(list)
    for name, why in a.left_out.items():
        same[why].append(brief(name))
    order = sorted(same.items(), key=lambda item: -len(item[1]))
    if not order:
        return
    named = "; ".join(
        f"{listed(names)} ({why if len(names) == 1 else _of_several(why)})" for why, names in order[:_IN_SENTENCES]
    )
    rest = [name for _, names in order[_IN_SENTENCES:] for name in names]
    of_all = f"{len(a.left_out):,} of {count(a.opened.n_columns, 'column')}"
    more = f"; and {listed(rest)}" if rest else ""
    yield f"{of_all} {be(len(a.left_out))} not analysed: {named}{more}."


def roles_told(a: Analysis) -> str:
    """What the columns are for that are named for another purpose than the analysis."""
    said = []
    for what, one, several in (
        ("y", "is to be predicted", "are to be predicted"),
        ("Y", "is the second table", "are the second table"),
        ("supplementary_columns", "is supplementary", "are supplementary"),
        ("hue", "tells groups of rows apart", "tell groups of rows apart"),
        ("labels", "names the rows", "name the rows"),
        ("sample_weight", "holds the weights of the rows", "hold the weights of the rows"),
    ):
        names = [brief(name) for name in a.opened.roles.get(what, ())]
        said += [f"{listed(names)} {one if len(names) == 1 else several}"] if names else []
    return f"{listed(said, 6)}." if said else ""


def _size(a: Analysis) -> Iterator[str]:
    """Rows, columns and kinds."""
    kinds = Counter(a.columns.kinds[j] for j in a.used)
    parts = [f"{n:,} {'holds' if n == 1 else 'hold'} {_KINDS[kind][1]}" for kind, n in kinds.most_common()]
    sentence = f"Of these, {listed(parts)}"
    if len(kinds) == 1:
        sentence = f"{'It' if a.p == 1 else 'All of them'} {parts[0].partition(' ')[2]}"
    which = f"{'which' if a.p == 1 else 'all of which'} {be(a.p)}"
    if a.p < a.opened.n_columns:
        which = f"of which {a.p:,} {be(a.p)}"
    yield f"The table has {count(a.n, 'row')} and {count(a.opened.n_columns, 'column')}, {which} analysed."
    yield f"{sentence}."
    groups = [
        f"{brief(grouping.name)} ({count(len(grouping.levels), 'group')})"
        for grouping in a.groupings
        if grouping.name not in a.left_out
    ]
    if groups:
        yield f"The rows are labelled by {listed(groups)}."
    if a.opened.weights is not None:
        yield "Rows are counted by their weights."


def left_out_blocks(a: Analysis) -> list[Block]:
    """What is not analysed, and why."""
    reasons = {
        name: why + (", but they tell groups of rows apart" if name in a.opened.groups else "")
        for name, why in a.left_out.items()
    }
    if not reasons:
        return []
    same: defaultdict[str, list[str]] = defaultdict(list)
    for name, why in reasons.items():
        same[why].append(brief(name))
    if len(reasons) > _IN_SENTENCES:
        title = "Columns that are not analysed"
        table = Table({"why": list(reasons.values())}, list(reasons), title=title, row_name="column")
        why = max(same, key=lambda why: len(same[why]))
        most = f" For {len(same[why]):,} of them, {_of_several(why)}." if len(same[why]) > _IN_SENTENCES else ""
        return [Prose(f"{count(len(reasons), 'column')} are not analysed.{most}"), Listing(table, shown=6)]
    return prose(
        f"{names[0]} is not analysed: {why}."
        if len(names) == 1
        else f"{listed(names)} are not analysed: {_of_several(why)}."
        for why, names in same.items()
    )


def identifiers_told(a: Analysis) -> Iterator[str]:
    """Columns that may identify the rows, or count them, and are analysed all the same."""
    suspects, sequences = (
        a.brief_names(np.flatnonzero(which[a.used])) for which in (a.columns.suspects, a.columns.sequences)
    )
    if suspects:
        one = len(suspects) == 1
        growing = bool(a.columns.grow[a.used][a.columns.suspects[a.used]].all())
        what = (
            "different whole numbers that grow from row to row" if growing else "whole numbers that nearly all differ"
        )
        yield (
            f"{listed(suspects)} {'holds' if one else 'hold'} {what}, and may just identify the rows. "
            f"{'It is' if one else 'They are'} analysed like the other columns; if {'it says' if one else 'they say'} "
            f"nothing about the rows, name {'it' if one else 'one of them'} as labels."
        )
    if sequences:
        one = len(sequences) == 1
        yield (
            f"{listed(sequences)} {'grows' if one else 'grow'} by one from row to row, so what goes with "
            f"{'it' if one else 'them'} has to do with the order of the rows."
        )


def suspects_in_short(a: Analysis) -> str:
    """Columns that may identify the rows, and what to do with them, for the top of the page."""
    suspects = a.brief_names(np.flatnonzero(a.columns.suspects[a.used]))
    if not suspects:
        return ""
    if_so = "if it does, leave it out" if len(suspects) == 1 else "if they do, leave them out"
    return f"{listed(suspects)} may just identify the rows: {if_so}."


def _of_several(why: str) -> str:
    """Why a column is not analysed, as it is said of several columns."""
    of_entries = why.startswith(("its ", "all its ", "not all of its "))
    return why.replace("its ", "their ", 1) if of_entries else f"for each of them, {why}"


def _equal_rows(a: Analysis) -> str:
    """How many rows repeat others."""
    equal = equal_rows(a.first.sample[:, a.used]) if a.opened.held else 0
    if not equal:
        return ""
    return f"{count(equal, 'row')} ({share(equal / a.n)}) {be(equal)} equal to an earlier row in all columns."


def _dependent(a: Analysis) -> Iterator[str]:
    """Columns that are, or nearly are, functions of others, and how to leave them out."""
    found = a.correlations
    said, superfluous = [], []
    for group in found.copies:
        names, times = listed(a.brief_names(group)), "twice" if len(group) == 2 else f"{len(group)} times"
        said.append(f"{names} are equal in all rows, so what they have in common counts {times}.")
        superfluous += group[1:]
    for group in found.rescaled:
        names = listed(a.brief_names(group))
        said.append(f"{names} are the same up to shift and scale: their correlation is 1 or -1.")
        superfluous += group[1:]
    for each in found.dependencies:
        said.append(_dependency(a, each))
        superfluous.append(each.column)
    yield from said[:_GROUPS]
    rest = len(said) - _GROUPS
    if rest > 0:
        yield f"{count(rest, 'further group')} of columns {'repeats' if rest == 1 else 'repeat'} others."
    if superfluous and not is_fitted(a.request.model):
        excluded = [a.names[j] for j in superfluous]
        # Names of many columns are for the reader to choose.
        options = " ".join(f"--exclude {shlex.quote(name)}" for name in excluded)
        how = f": exclude={excluded!r} ({options})" if len(excluded) <= _IN_SENTENCES else ""
        yield f"{listed(a.brief_names(superfluous))} can be left out{how}."


def _dependency(a: Analysis, found: Dependency) -> str:
    """ "Sleep is nearly the sum of NonD and Dream (R2 = 0.9998)." """
    name, others = brief(a.names[found.column]), listed(a.brief_names(found.others), 12)
    exact = found.unexplained < _EXACT
    # As many digits as tell it from 1.
    R2 = "" if exact else f" (R2 = {1 - found.unexplained:.{math.ceil(-math.log10(found.unexplained))}f})"
    nearly, all_columns = "" if exact else "nearly ", listed(a.brief_names(sorted([found.column, *found.others])), 12)
    if found.kind == "constant":
        return f"{all_columns} {nearly}add up to {number(found.constant, 4)} in all rows{R2}."
    what = {"sum": "the sum of", "mean": "the mean of"}.get(found.kind, "a linear function of")
    return f"{name} is {nearly}{what} {others}{R2}."


def _scales(a: Analysis) -> str:
    """Deviations, and whether columns were divided by them."""
    varying = np.flatnonzero(a.deviation > 0)
    deviations, names = a.deviation[varying], a.brief_names(varying)
    if len(varying) == 1:
        return f"The standard deviation of {names[0]} is {number(deviations[0])}."
    low, high = int(np.argmin(deviations)), int(np.argmax(deviations))
    ratio = deviations[high] / deviations[low]
    said = (
        f"Standard deviations range from {number(deviations[low])} ({names[low]}) to {number(deviations[high])} "
        f"({names[high]})"
    )
    said += f", a factor of {number(ratio)}." if ratio >= 1.5 else "."
    divided = "each column is divided by its standard deviation" if a.scale else "the columns are not rescaled"
    if a.request.model is not None:
        return f"{said} As the given model has it, {divided}."
    if a.request.scale is not None:
        return f"{said} As was asked for, {divided}."
    if a.layout is not None:
        what = "points of a curve" if a.is_curve else "pixels of a picture"
        return f"{said} The columns look like {what}, which have the same units, so {divided}."
    if a.scale:
        return (
            f"{said} The columns may well have different units, so {divided}: all columns then count the same, and "
            "components are those of the correlations. If the units are the same, ask for scale=False "
            "(--no-scale)."
        )
    return (
        f"{said} That is no sign of different units, so {divided}, and columns that vary more count more. If the "
        "units do differ, ask for scale=True (--scale)."
    )


def numbers_table(a: Analysis) -> Table:
    first, columns = a.first, a.columns
    facts: dict[str, Any] = {
        "kind": [_KINDS[columns.kinds[j]][0] for j in a.used],
        "mean": first.mean[a.used],
        "std. deviation": first.deviation[a.used],
        "lowest": first.low[a.used],
        "highest": first.high[a.used],
        "skewness": columns.skewness[a.used],
    }
    if a.has_missing:
        facts["missing"] = first.missing[a.used]
    notes = [] if a.opened.held else ["Skewness is that of a sample of the rows."]
    title = "The columns that are analysed" if a.measured == a.names else "The columns of numbers"
    return Table(facts, a.measured, title=title, notes=notes, row_name="column")


def distributions(a: Analysis) -> Chart:
    """Quartiles and ends of each column, in standard deviations from its mean."""
    skewness = np.nan_to_num(np.abs(a.columns.skewness[a.used]))
    shown = np.sort(np.argsort(-skewness, kind="stable")[:_DRAWN])
    at = a.used[shown]
    levels = ("1%", "25%", "50%", "75%", "99%")
    quantiles = np.nanquantile(thinned(a.first.sample)[:, at], [0.01, 0.25, 0.5, 0.75, 0.99], axis=0)
    mean, deviation = a.first.mean[at], a.units[shown]
    relative = (quantiles - mean) / deviation
    ends = np.concatenate([a.first.low[at] - mean, a.first.high[at] - mean]) / np.concatenate([deviation, deviation])
    names = labels([a.names[j] for j in shown])
    boxes: dict[str, Any] = {"type": "box", "x": names, "marker": {"color": color(0)}, "line": {"width": 1.5}}
    boxes |= zip(("lowerfence", "q1", "median", "q3", "upperfence"), relative, strict=True)
    boxes["name"] = ", ".join(levels)
    diamonds: Any = {"name": "lowest and highest", "symbol": "diamond", "size": 6}
    of_columns = names_axis(len(names), tickfont={"size": 12 if len(names) <= 12 else 9}, dtick=1)
    columns = dict(zip(levels, relative * deviation + mean, strict=True))
    some = f" The {_DRAWN} most skewed columns are shown." if a.p > _DRAWN else ""
    sampled = "" if a.opened.held else " Quantiles are those of a sample of the rows."
    return Chart(
        key="distributions",
        title="How the entries of each column are distributed",
        alt=f"Box plots of {count(len(names), 'column')}, in standard deviations from the mean of each column.",
        data=[boxes, scatter("markers", "%{x}: %{y:.2f}", 1, x=names + names, y=ends, **diamonds)],
        layout=axes(of_columns, "standard deviations from the mean", legend=1.08),
        table=a.column_table(columns, shown, "Quantiles of the columns"),
        height=380,
        caption=(
            "A box holds the middle half of the entries and its line the median; the whiskers reach from 1% to 99%. A "
            f"box far from the middle of its whiskers belongs to a skewed column.{some}{sampled}"
        ),
    )


def skewed_told(a: Analysis) -> Iterator[str]:
    """Columns whose logarithm would be easier to describe by means and deviations: what to do, and why."""
    if a.layout is not None:
        return
    found = sorted((j for j in a.used if a.columns.for_logarithm[j]), key=lambda j: -a.columns.skewness[j])
    if not found:
        return
    names, one = [brief(a.opened.names[j]) for j in found], len(found) == 1
    with_zeros = sum(a.first.low[j] == 0 for j in found)
    zeros = " (of 1 + x, for the zeros)" if with_zeros else ""
    if 0 < with_zeros < len(found):
        zeros = " (of 1 + x in columns with zeros)"
    yield (
        f"{listed(names)} {'is' if one else 'are'} never negative and strongly skewed: take "
        f"{'its logarithm' if one else 'logarithms'}{zeros} and make the report again."
    )
    yield (
        f"A few large entries make up much of the variance (the skewness is {'' if one else 'at most '}"
        f"{number(float(a.columns.skewness[found[0]]))}), and logarithms are far less skewed."
    )


# Correlations of the columns, the order in which a picture of them is readable, and columns that repeat others.


#: All correlations of up to this many columns are computed, and those of up to so many are shown.
_COMPUTED, _SHOWN = 2000, 150
#: Correlations beyond this are 1, but for rounding.
_ONE = 1.0 - 1e-10
#: A column is nearly a linear function of others if they leave at most this share of its variance, and exactly if they
#: leave less than the second number; slopes are those of a sum if they are 1 within the third.
_NEARLY, _EXACT, _SLOPE = 1e-3, 1e-9, 0.02
#: Added to the diagonal of correlations, so that they have an inverse.
_RIDGE = 1e-12
#: Such columns are looked for if there are at most so many columns, and at least so many more rows than columns.
_EXPLAINED, _FREE = 300, 8
#: The number of strongest pairs that are listed.
_STRONGEST = 12
#: Names are written beside the picture, and numbers into it, up to this many columns.
_NAMED, _NUMBERED = 60, 12


class Correlations:
    """Correlations of the columns that are analysed; columns are given by their positions among these."""

    def __init__(self, a: Analysis) -> None:
        #: The columns whose correlations were computed: all, or some of many at equal distances.
        among = np.arange(a.p) if a.p <= _COMPUTED else np.linspace(0, a.p - 1, _COMPUTED).round().astype(int)
        self.among = among
        if a.pieces is not None:
            scatter = to_numpy(union(a.pieces).scatter)[np.ix_(among, among)]
        elif a.values is not None:
            scatter = _scatter(a.values[:, among], a.opened.weights)
        else:
            sample = a.first.sample[:, a.used]
            with without_warnings(ImputedRangeWarning):
                complete = sample if a.filled is None else a.filled.model.impute(sample)
            scatter = _scatter(complete)[np.ix_(among, among)]
        mean, deviation = a.first.mean[a.used[among]], np.sqrt(np.diagonal(scatter))
        # A column that does not vary is correlated with none.
        deviation = np.where(deviation > 0, deviation, 1.0)
        R = np.clip(scatter / deviation[:, None] / deviation, -1.0, 1.0)
        np.fill_diagonal(R, 1.0)
        i, j = np.triu_indices(len(R), 1)
        r = R[i, j]
        size = np.abs(r)
        #: The number of pairs, and how many of them have a correlation beyond 0.5.
        self.pairs, self.beyond_half = len(r), int(np.count_nonzero(size > 0.5))
        #: A correlation that pure chance exceeds in only 5% of tables with as many independent columns and rows, by
        #: Fisher's transformation and Bonferroni's bound; 1 if there are too few rows.
        enough = self.pairs > 0 and a.n > 3
        self.chance = float(np.tanh(norm.isf(0.025 / self.pairs) / np.sqrt(a.n - 3))) if enough else 1.0
        #: Groups of columns that are equal, or that are equal up to shift and scale (including the sign).
        self.copies: list[list[int]] = []
        self.rescaled: list[list[int]] = []
        _, labels = connected_components(np.abs(R) >= _ONE, directed=False)
        for group in (np.flatnonzero(labels == label) for label in np.flatnonzero(np.bincount(labels) > 1)):
            unit = np.abs(mean[group]).max() + deviation[group].max()
            same = np.ptp(deviation[group]) <= 1e-9 * deviation[group].max() and np.ptp(mean[group]) <= 1e-9 * unit
            are_copies = same and R[group[0], group].min() > 0
            (self.copies if are_copies else self.rescaled).append([int(among[g]) for g in group])
        #: Columns that are nearly linear functions of others, of tables without curves or pictures.
        self.dependencies: list[Dependency] = []
        if a.layout is None and a.p <= _EXPLAINED:
            repeated = {j for group in self.copies + self.rescaled for j in group[1:]}
            some = [j for j in range(a.p) if j not in repeated]
            if a.has_missing:
                # Filled-in entries follow the model, and not such relations.
                rows = a.first.sample[:, a.used]
                rows = rows[~np.isnan(rows).any(axis=1)]
                if len(rows) >= _FREE:
                    self.dependencies = dependencies(_scatter(rows), rows.mean(axis=0), len(rows), some)
            else:
                n = a.n if a.opened.weights is None else int(np.count_nonzero(a.opened.weights))
                self.dependencies = dependencies(scatter, mean, n, some)
        #: The pairs with the largest correlations, and these, apart from those that repeat each other.
        different = np.flatnonzero(size < _ONE)
        # Rounding must not decide on the order of pairs with the same correlation.
        top = different[np.argsort(-size[different].round(12), kind="stable")[:_STRONGEST]]
        self.strongest = [((int(among[i[t]]), int(among[j[t]])), float(r[t])) for t in top]
        #: The columns that are shown, and their correlations: all, or those with the largest sum of squared
        #: correlations, by average linkage on 1 - |r|, turned so that neighbours are as alike as possible.
        order = np.arange(len(R))
        if len(R) > _SHOWN:
            order = np.sort(np.argsort(-(R**2).sum(axis=0), kind="stable")[:_SHOWN])
        if len(order) >= 3:
            distances = squareform(np.clip(1.0 - np.abs(R[np.ix_(order, order)]), 0.0, None), checks=False)
            order = order[leaves_list(linkage(distances, "average", optimal_ordering=True))]
        self.shown, self.matrix = among[order], R[np.ix_(order, order)]


class Dependency(NamedTuple):
    """A column that is nearly a linear function of others."""

    column: int
    others: list[int]
    #: 1 - R2 of the column given these others.
    unexplained: float
    #: "sum" or "mean" of the others, "constant" if it adds up to a constant with them, otherwise "linear"; and the
    #: constant.
    kind: str
    constant: float


def dependencies(scatter: np.ndarray, mean: np.ndarray, n: int, columns: Sequence[int]) -> list[Dependency]:
    """Columns that are nearly linear functions of others, each with a small set of these, from scatter and mean.

    With R the correlations, 1 - R2 of column j given all others is 1 / (R^-1)_jj. Of the column where this is smallest,
    others are taken one by one, each time the one that explains most of what is left, until they explain it as well as
    all; then those are dropped without which the rest still does. This column is set aside, and the next one is looked
    for. With few rows more than columns R2 is large by chance, so 1 - R2 is compared with degrees of freedom n - p, and
    with still fewer rows there are none.
    """
    found: list[Dependency] = []
    deviation = np.sqrt(np.diagonal(scatter))
    left = [j for j in columns if deviation[j] > 0]
    deviation = np.where(deviation > 0, deviation, 1.0)
    R = scatter / deviation[:, None] / deviation + _RIDGE * np.eye(len(scatter))

    def unexplained(j: int, others: list[int]) -> float:
        if not others:
            return 1.0
        return max(float(R[j, j] - R[j, others] @ np.linalg.solve(R[np.ix_(others, others)], R[others, j])), _RIDGE)

    while len(left) > 1 and n - len(left) >= _FREE:
        each = 1.0 / np.diagonal(np.linalg.inv(R[np.ix_(left, left)]))
        j = left[int(np.argmin(each))]
        if each.min() * (n - 1) / (n - len(left)) > _NEARLY:
            break
        left.remove(j)
        enough = max(4 * float(each.min()), _EXACT)
        A, others = R[np.ix_([j, *left], [j, *left])], list[int]()
        while A[0, 0] > enough and len(others) < len(left):
            gain = A[0, 1:] ** 2 / np.maximum(np.diagonal(A)[1:], _RIDGE)
            gain[[left.index(i) for i in others]] = -1.0
            best = int(np.argmax(gain)) + 1
            A = A - np.outer(A[:, best], A[best]) / A[best, best]
            others.append(left[best - 1])
        while True:
            without = {i: unexplained(j, [other for other in others if other != i]) for i in others}
            least = min(without, key=without.__getitem__)
            if without[least] > enough:
                break
            others.remove(least)
        others.sort()
        slopes = np.linalg.solve(R[np.ix_(others, others)], R[others, j]) * deviation[j] / deviation[others]
        kind, shift = "linear", float(mean[j] - slopes @ mean[others])
        if np.allclose(slopes, -1.0, atol=_SLOPE):
            kind = "constant"
        elif abs(shift) <= _SLOPE * (abs(mean[j]) + deviation[j] / np.sqrt(n)) and len(others) > 1:
            kind = "sum" if np.allclose(slopes, 1.0, atol=_SLOPE) else kind
            kind = "mean" if np.allclose(slopes * len(others), 1.0, atol=_SLOPE) else kind
        total = float(mean[j] + mean[others].sum())
        # Rounding is not told.
        constant = total if abs(total) > _SLOPE * deviation[[j, *others]].max() else 0.0
        found.append(Dependency(j, others, unexplained(j, others), kind, constant))
    return sorted(found)


def _scatter(X: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The scatter of complete rows about their mean."""
    each = np.ones(len(X)) if weights is None else weights
    centred = (X - each @ X / each.sum()) * np.sqrt(each)[:, None]
    return np.asarray(centred.T @ centred)


def _correlation_blocks(a: Analysis) -> list[Block]:
    """The part of the section that shows which columns go together."""
    if a.p < 2:
        return []
    pairs = a.correlations.strongest
    blocks = [*prose(_correlated(a)), _picture(a)]
    if len(pairs) > 1:
        columns: dict[str, Any] = {
            name: [a.names[pair[i]] for pair, _ in pairs] for i, name in enumerate(("first", "second"))
        }
        columns["correlation"] = [r for _, r in pairs]
        places, title = list(range(1, len(pairs) + 1)), "The strongest correlations"
        blocks.append(Listing(Table(columns, places, title=title, row_name="place"), shown=5))
    return blocks


def _correlation(r: float) -> str:
    """A correlation in words: "0.96", or "above 0.999"."""
    if abs(r) > 0.9995:
        return "above 0.999" if r > 0 else "below -0.999"
    return f"{r:.3f}" if abs(r) > 0.995 else f"{r:.2f}"


def _correlated(a: Analysis) -> Iterator[str]:
    """The strongest correlations, and whether chance explains them."""
    found = a.correlations
    if not found.strongest:
        yield "All columns have a correlation of 1 or -1 with each other."
        return
    named = [(" and ".join(a.brief_names(pair)), r) for pair, r in found.strongest[:_IN_SENTENCES]]
    strongest = [f"{names} ({_correlation(r)})" for names, r in named if abs(r) > found.chance]
    names, r = named[0]
    if strongest:
        verb = (
            "The strongest correlation is that of" if len(strongest) == 1 else "The strongest correlations are those of"
        )
        yield f"{verb} {listed(strongest)}."
        if found.beyond_half == found.pairs > 1:
            yield f"All {found.pairs:,} pairs have a correlation beyond 0.5 in size."
        else:
            part = f" ({share(found.beyond_half / found.pairs)})" if found.beyond_half else ""
            some = count(found.beyond_half, "pair") if found.beyond_half else "None"
            yield (
                f"{some} of {found.pairs:,}{' pairs' if not found.beyond_half else ''}{part} "
                f"{'has' if found.beyond_half < 2 else 'have'} a correlation beyond 0.5 in size."
            )
        if abs(r) < 0.3:
            yield "All are weak, so a few components can hold only a small part of the variance."
    else:
        yield f"The strongest correlation, that of {names}, is {_correlation(r)}, no more than chance could give."
    if found.chance > 0.3 or not strongest:
        yield (
            f"With {count(a.n, 'row')} and {count(found.pairs, 'pair')}, correlations up to {number(found.chance, 2)} "
            "in size can be due to chance alone."
        )
    if a.has_missing:
        yield "Correlations are those of the table with its missing entries filled in."


def _picture(a: Analysis) -> Chart:
    found = a.correlations
    names = [a.names[j] for j in found.shown]
    shown = labels(names)
    many = len(names) > _NAMED
    # Nearly transparent at zero, on light and on dark pages.
    colors = [[0.0, COLORS[0]], [0.5, "rgba(128,128,128,0.06)"], [1.0, COLORS[1]]]
    ends: Any = {"x": shown, "y": shown, "zmin": -1, "zmax": 1, "xgap": 0 if many else 1, "ygap": 0 if many else 1}
    trace = heatmap("%{y}<br>%{x}<br>r = %{z:.2f}", found.matrix, colors, **ends)
    trace["colorbar"] = {"title": {"text": "r"}, "thickness": 12}
    if len(names) <= _NUMBERED:
        trace["texttemplate"] = "%{z:.2f}"
    hidden: dict[str, Any] = {"showticklabels": not many, "showgrid": False}
    if not many:
        hidden |= {"dtick": 1} | ({"tickfont": {"size": 9}} if len(names) > _NUMBERED else {})
    some = ""
    if len(found.among) < a.p:
        some = f" of {len(found.among):,} columns at equal distances"
    if len(found.shown) < len(found.among):
        some = f" The {len(found.shown):,} columns are those with the largest squared correlations{some}."
    elif some:
        some = f" The columns are a choice{some}."
    # Names of the columns of a table must differ.
    unique = names if len(set(names)) == len(names) else [f"{i + 1}: {name}" for i, name in enumerate(names)]
    y = axis(**hidden, type="category", automargin=True, autorange="reversed")
    return Chart(
        key="correlations",
        title="Correlations of the columns",
        alt=f"A heatmap of the correlations of {count(len(names), 'column')}, in clustered order.",
        data=[trace],
        layout=axes(names_axis(len(names), **hidden), y),
        table=Table(dict(zip(unique, found.matrix.T, strict=True)), names),
        height=min(760, max(320, 26 * len(names) + 160)),
        caption=(
            "Columns with similar correlations lie side by side (average linkage of 1 - |r|). A block of one colour "
            f"along the diagonal is a group of columns that go together.{some}"
        ),
    )


# Whether the columns are the pixels of a picture or the points of a curve, from correlations of neighbouring columns.
#
# Neighbouring pixels are much more alike than pixels far from each other, in both directions of the picture: columns j
# and j + 1 within a line, and columns j and j + width. This tells the width. The last pixel of a line and the first of
# the next one are not neighbours, and neither are pixels half a line apart.
#
# Neighbouring points of a curve, such as a spectrum, are nearly the same.


#: The number of rows that tell whether the columns are pixels.
_LOOK = 1000
#: Fewer rows than this tell nothing of the columns; and the smallest height and width of a picture, and the largest
#: ratio of the two.
_ROWS, _SIDE, _RATIO = 20, 4, 4
#: How much more alike neighbours have to be than columns that are not.
_MORE = 0.2
#: The smallest number of points of a curve, and the median correlation of neighbouring ones.
_POINTS, _SMOOTH = 20, 0.95
#: The standard deviations of neighbouring points of a curve differ by less than this factor.
_JUMP = 5.0
#: The number of pairs of columns that are drawn at random.
_PAIRS = 3000

#: The correlations of pairs of columns, given by their positions; NaN for columns that do not vary.
Pairwise = Callable[[np.ndarray, np.ndarray], np.ndarray]


def found_layout(a: Analysis) -> tuple[int, ...] | None:
    """(height, width) or (height, width, 3) of the picture in each row, as asked for or as the rows show; () if the
    columns are the points of a curve, and None if they are in no order."""
    asked, p = a.request.image_shape, len(a.opened.names)
    if asked is not None and asked is not False:
        return checked_image_shape(asked, p)
    if a.n < _ROWS or p < min(_SIDE**2, _POINTS):
        return None
    # Some rows are enough, from all over the table.
    sample = a.first.sample
    correlations = correlations_of_rows(sample[:: -(-len(sample) // _LOOK), a.used], a.used, p)
    random = np.random.default_rng(0)
    first, second = random.integers(0, p, (2, _PAIRS))
    apart = _mean(correlations(first[first != second], second[first != second]))
    found = [(score, shape) for shape in _shapes(p) if (score := _alike(correlations, shape, apart)) is not None]
    if found:
        # Pictures with colours look like wider ones without them, too.
        return None if asked is False else max(found, key=lambda each: (len(each[1]), each[0]))[1]
    steps = correlations(np.arange(p - 1), np.arange(1, p))
    steps = steps[np.isfinite(steps)]
    smooth = len(steps) >= _POINTS and np.median(steps) > _SMOOTH and np.mean(steps) > apart + _MORE
    deviations = np.nan_to_num(a.first.deviation)
    jumps = np.abs(np.diff(np.log(deviations[deviations > 0])))
    # A column of other units beside the curve is not a point of it.
    return () if smooth and jumps.max(initial=0.0) < np.log(_JUMP) else None


def correlations_of_rows(X: np.ndarray, used: np.ndarray, p: int) -> Pairwise:
    """The correlations of columns from rows of the columns `used`, in which entries may be missing."""
    known = ~np.isnan(X)
    counts = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, X - np.where(known, X, 0.0).sum(axis=0) / counts, 0.0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    units = centred / np.where(lengths > 0, lengths, 1.0)
    place = np.full(p, -1)
    place[used[lengths > 0]] = np.flatnonzero(lengths > 0)

    def correlations(i: np.ndarray, j: np.ndarray) -> np.ndarray:
        a, b = place[i], place[j]
        known = (a >= 0) & (b >= 0)
        out = np.full(len(i), np.nan)
        out[known] = np.einsum("nj,nj->j", units[:, a[known]], units[:, b[known]])
        return out

    return correlations


def _shapes(p: int) -> Iterator[tuple[int, ...]]:
    """The shapes that a picture of p numbers can have."""
    for colours in (1, 3):
        pixels, left = divmod(p, colours)
        for width in range(_SIDE, pixels // _SIDE + 1) if left == 0 else ():
            height, rest = divmod(pixels, width)
            if rest == 0 and max(height, width) <= _RATIO * min(height, width):
                yield (height, width) if colours == 1 else (height, width, 3)


def _alike(correlations: Pairwise, shape: tuple[int, ...], apart: float) -> float | None:
    """How alike neighbours in a picture of this shape are; None if the rows do not look like such pictures."""
    p = prod(shape)
    step = shape[2] if len(shape) == 3 else 1
    line = shape[1] * step
    column = np.arange(p) // step % shape[1]
    last = column == shape[1] - 1

    def lag(distance: int, some: np.ndarray | None = None) -> float:
        at = np.arange(p - distance)
        at = at if some is None else at[some[: p - distance]]
        return _mean(correlations(at, at + distance))

    across, down = lag(step, ~last), lag(line)
    if not min(across, down) > apart + _MORE:
        return None
    # Down is a direction only if the pixels beside those one line below are less alike, and so are those half a line
    # away; and the picture ends at its right side.
    if not (down > max(lag(line - step), lag(line + step)) and down > lag(line // 2) + _MORE):
        return None
    over_the_edge = lag(step, last)
    if over_the_edge > across - _MORE / 2:
        return None
    if step == 3 and not _are_colours(correlations(np.arange(p - 1), np.arange(1, p))):
        return None
    return across + down


def _are_colours(steps: np.ndarray) -> bool:
    """Whether the three numbers of a pixel are more alike than the last one and the first one of the next pixel."""
    last = np.arange(len(steps)) % 3 == 2
    within, beyond = steps[~last & np.isfinite(steps)], steps[last & np.isfinite(steps)]
    if min(len(within), len(beyond)) < _SIDE:
        return False
    error = np.sqrt(within.var() / len(within) + beyond.var() / len(beyond))
    return bool(within.mean() - beyond.mean() > max(0.01, 4 * error))


def _mean(values: np.ndarray) -> float:
    """The mean of the correlations that are known; NaN if there are hardly any."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) >= _SIDE else np.nan
