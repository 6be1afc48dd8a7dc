"""The data: rows, columns and their kinds, scales, groups, and what was left out and why."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inspect.diagnostics import categories, checked_image_shape
from ..table import Table
from .blocks import Block, Chart, Listing, Prose, Section, axis, brief, color, count, labels, listed, number, share
from .correlations import correlation_blocks
from .missing import missing_blocks
from .passes import FirstPass

if TYPE_CHECKING:
    from .analysis import Analysis


# What the columns hold: their kinds, their skewness, and which of them only identify the rows; and equal rows.


#: The kinds of columns.
EMPTY, CONSTANT, BINARY, FEW, COUNTS, WHOLE, DECIMAL = "empty", "constant", "0/1", "few", "counts", "whole", "decimal"
#: A column of whole numbers with at most this many different entries holds grades or codes.
_FEW_VALUES = 10
#: Skewness and different entries are those of about this many numbers, but at least of so many rows.
_LOOKED_AT, _FEWEST_ROWS = 500_000, 1000
#: A column is strongly skewed if its third standardized moment is above this.
_SKEWED = 2.0
#: With fewer rows, different whole numbers that grow from row to row may well be a measurement.
_FEWEST_IDENTIFIED = 20
#: Words that name columns of identifiers.
_IDENTIFIERS = set(
    [
        "id",
        "ids",
        "ident",
        "identifier",
        "index",
        "idx",
        "nr",
        "no",
        "num",
        "number",
        "row",
        "rows",
        "rowid",
        "rowname",
        "rownames",
        "rownumber",
        "unnamed",
        "key",
        "uuid",
        "guid",
        "person",
        "subject",
        "participant",
        "patient",
        "respondent",
        "case",
        "sample",
        "observation",
        "record",
        "serial",
    ]
)


@dataclass(frozen=True)
class Columns:
    """Facts of all columns that are numbers, whether they are analysed or not."""

    kinds: list[str]
    #: The third standardized moment; NaN for columns that do not vary.
    skewness: np.ndarray
    #: Positive columns that are strongly skewed, and far less so after a logarithm (of 1 + x if x may be zero).
    for_logarithm: np.ndarray
    #: Columns that certainly only identify the rows.
    identifiers: np.ndarray
    #: Columns of different whole numbers that may identify the rows, and those that grow by one from row to row.
    suspects: np.ndarray
    sequences: np.ndarray


def column_facts(first: FirstPass, names: Sequence[str]) -> Columns:
    """Facts of the columns, from the first pass and its sample; columns that identify rows are known by their names,
    too."""
    sample = first.sample
    some = thinned(sample)
    kinds = [_kind(first, some[:, j], j) for j in range(len(names))]
    skewness, after = _skewness(some), _skewness(_logarithms(some, first.low))
    # Grades and 0/1 are codes, of which a logarithm makes no sense.
    measured = np.array([kind in (COUNTS, WHOLE, DECIMAL) for kind in kinds], dtype=bool)
    with np.errstate(invalid="ignore"):
        for_logarithm = measured & (first.low >= 0) & (skewness > _SKEWED) & (np.abs(after) < skewness / 2)
    different = np.array([_grows(first, j) for j in range(len(names))], dtype=bool)
    recounts = np.array([_recounts(first, j) for j in range(len(names))], dtype=bool)
    named = np.array([_names_rows(name) for name in names], dtype=bool)
    from_the_first = first.numbering & ((first.low == 0) | (first.low == 1))
    identifiers = from_the_first | ((first.numbering | different | recounts) & named)
    return Columns(
        kinds=kinds,
        skewness=skewness,
        for_logarithm=for_logarithm,
        identifiers=identifiers,
        suspects=different & ~identifiers & ~first.numbering,
        sequences=first.numbering & ~identifiers,
    )


def why_not_analysed(first: FirstPass, columns: Columns, j: int) -> str:
    """Why a column of numbers is not analysed."""
    low, high = first.low[j], first.high[j]
    if first.observed[j] == 0:
        return "all its entries are missing"
    if low == high:
        return f"all its entries are {low:g}"
    if not first.deviation[j] > 0:
        return "it does not vary among the rows that have a weight, or so little that its variance is below all numbers"
    if not columns.identifiers[j]:
        return "the model does not use it"
    if first.numbering[j]:
        return f"it just counts the rows, from {low:.0f} to {high:.0f}"
    if _grows(first, j):
        return (
            "by its name and its entries, whole numbers that grow from row to row, it identifies the rows (as ids, it "
            "would name them)"
        )
    return f"by its name and its entries, it counts the rows of each group, from {low:.0f} to {high:.0f}"


def thinned(rows: np.ndarray) -> np.ndarray:
    """Rows at equal distances, as many as are enough for quantiles and skewness."""
    return rows[:: max(1, min(rows.size // _LOOKED_AT, len(rows) // _FEWEST_ROWS))]


def _kind(first: FirstPass, entries: np.ndarray, j: int) -> str:
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
    return COUNTS if low == 0 else WHOLE


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


def _logarithms(X: np.ndarray, low: np.ndarray) -> np.ndarray:
    """log(x), or log(1 + x) for columns with zeros; NaN for columns with negative entries."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(low > 0, np.log(X), np.where(low == 0, np.log1p(X), np.nan))


def _grows(first: FirstPass, j: int) -> bool:
    """Whether a column holds whole numbers without gaps that grow from each row of the sample to the next."""
    if not first.whole[j] or first.observed[j] < max(first.n, _FEWEST_IDENTIFIED):
        return False
    return bool(np.all(np.diff(first.sample[:, j]) > 0))


def _recounts(first: FirstPass, j: int) -> bool:
    """Whether a column counts rows from 0 or 1, again and again: within groups that follow each other."""
    counted = first.sample[:, j]
    if len(counted) < max(first.n, _FEWEST_IDENTIFIED) or first.low[j] not in (0, 1) or first.high[j] <= _FEW_VALUES:
        return False
    return bool(np.all((np.diff(counted) == 1) | (counted[1:] == first.low[j])))


def _names_rows(name: str) -> bool:
    """Whether a name says that a column identifies the rows: "id", "person", "patient_nr", "rowNumber"."""
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", str(name))
    return any(part.lower() in _IDENTIFIERS for part in parts)


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


# The data: rows, columns and their kinds, scales, missing entries, correlations, and what was left out and why.


#: What the kinds of columns are called, for one and for several columns.
_KINDS = {
    DECIMAL: ("holds decimal numbers", "hold decimal numbers"),
    WHOLE: ("holds whole numbers", "hold whole numbers"),
    COUNTS: ("holds counts (whole numbers from 0 on)", "hold counts (whole numbers from 0 on)"),
    FEW: ("holds a few different whole numbers", "hold a few different whole numbers"),
    BINARY: ("holds 0 and 1 only", "hold 0 and 1 only"),
    # A model that is already fitted may have columns that are constant or empty in this table.
    CONSTANT: ("holds one number only", "hold one number only"),
    EMPTY: ("holds nothing", "hold nothing"),
}
_SHORT = {
    DECIMAL: "decimal",
    WHOLE: "whole numbers",
    COUNTS: "counts",
    FEW: "few whole numbers",
    BINARY: "0 or 1",
    CONSTANT: "constant",
    EMPTY: "empty",
}
#: The largest number of columns whose distributions are drawn.
_DRAWN = 40
#: Reasons of up to this many columns are told in a sentence, those of more in a table.
_TOLD = 3
#: The largest number of sentences on rows and columns that repeat others.
_GROUPS = 4


def section(a: Analysis) -> Section:
    """What the table holds."""
    blocks: list[Block] = [Prose(_size(a))]
    blocks += _left_out(a)
    blocks += [Prose(" ".join(said)) for said in (_identifiers(a), _repeated(a)) if said]
    blocks += [Prose(_scales(a)), Listing(_table(a), shown=10), _distributions(a)]
    skewed = _skewed(a)
    blocks += [Prose(skewed)] if skewed else []
    blocks += missing_blocks(a)
    blocks += correlation_blocks(a)
    return Section(
        key="data",
        title="The data",
        lead=(
            "What the table holds, before anything is modelled: its rows and columns, what was left out and why, how "
            "the columns are scaled, what is missing, and which columns go together."
        ),
        blocks=blocks,
        summary=_summary(a),
    )


def _summary(a: Analysis) -> str:
    missing = int(a.first.missing[a.used].sum())
    holes = "no entry is missing" if missing == 0 else f"{share(missing / (a.n * a.p))} of the entries are missing"
    return f"The report is about {count(a.n, 'row')} and {count(a.p, 'column')} of numbers; {holes}."


def _size(a: Analysis) -> str:
    """Rows, columns and kinds."""
    kinds = Counter(a.columns.kinds[j] for j in a.used)
    if len(kinds) == 1:
        ((kind, n),) = kinds.items()
        told = f"{'It' if n == 1 else 'All of them'} {_KINDS[kind][n > 1]}"
    else:
        parts = [f"{n:,} {_KINDS[kind][n > 1]}" for kind, n in kinds.most_common()]
        told = f"Of these, {listed(parts)}"
    verb = "is" if a.p == 1 else "are"
    which = f"of which {a.p:,} {verb}" if a.p < a.opened.n_columns else "which is" if a.p == 1 else "all of which are"
    said = [
        f"The table has {count(a.n, 'row')} and {count(a.opened.n_columns, 'column')}, {which} analysed.",
        f"{told}.",
    ]
    groups = [
        f"{brief(grouping.name)} ({count(len(grouping.levels), 'group')})"
        for grouping in a.groupings
        if grouping.name not in {column.name for column in a.left_out}
    ]
    if groups:
        said.append(f"The rows are labelled by {listed(groups)}.")
    if a.opened.weights is not None:
        said.append("Rows are counted by their weights.")
    return " ".join(said)


def _left_out(a: Analysis) -> list[Block]:
    """What is not analysed, and why."""
    groups = set(a.opened.groups)
    reasons = [
        (brief(column.name), column.why + (", but they tell groups of rows apart" if column.name in groups else ""))
        for column in a.left_out
    ]
    if not reasons:
        return []
    same: defaultdict[str, list[str]] = defaultdict(list)
    for name, why in reasons:
        same[why].append(name)
    if len(reasons) > _TOLD:
        table = Table(
            {"why": [why for _, why in reasons]},
            [column.name for column in a.left_out],
            title="Columns that are not analysed",
            row_name="column",
        )
        why = max(same, key=lambda why: len(same[why]))
        most = f" For {len(same[why]):,} of them, {why}." if len(same[why]) > _TOLD else ""
        return [Prose(f"{count(len(reasons), 'column')} are not analysed.{most}"), Listing(table, shown=6)]
    said = [
        f"{names[0]} is not analysed: {why}."
        if len(names) == 1
        else f"{listed(names)} are not analysed: for each of them, {why}."
        for why, names in same.items()
    ]
    return [Prose(" ".join(said))]


def _identifiers(a: Analysis) -> list[str]:
    """Columns that may identify the rows, or count them, and are analysed all the same."""
    used = set(a.used.tolist())
    suspects = [brief(a.opened.names[j]) for j in np.flatnonzero(a.columns.suspects) if j in used]
    sequences = [brief(a.opened.names[j]) for j in np.flatnonzero(a.columns.sequences) if j in used]
    said = []
    if suspects:
        one = len(suspects) == 1
        said.append(
            f"{listed(suspects)} {'holds' if one else 'hold'} different whole numbers that grow from row to row, and "
            f"may just identify the rows. {'It is' if one else 'They are'} analysed like the other columns; if "
            f"{'it says' if one else 'they say'} nothing about the rows, name {'it' if one else 'one of them'} as ids."
        )
    if sequences:
        one = len(sequences) == 1
        said.append(
            f"{listed(sequences)} {'grows' if one else 'grow'} by one from row to row, so what goes with "
            f"{'it' if one else 'them'} has to do with the order of the rows."
        )
    return said


def _repeated(a: Analysis) -> list[str]:
    """Equal rows, and columns that say the same as others."""
    said = []
    if a.opened.held:
        equal = equal_rows(a.first.sample[:, a.used])
        if equal:
            verb = "is" if equal == 1 else "are"
            said.append(f"{count(equal, 'row')} ({share(equal / a.n)}) {verb} equal to an earlier row in all columns.")
    for group in a.correlations.copies:
        names = [brief(a.names[j]) for j in group]
        said.append(f"{listed(names)} are equal in all rows, so what they have in common counts {_times(len(names))}.")
    for group in a.correlations.rescaled:
        names = [brief(a.names[j]) for j in group]
        said.append(f"{listed(names)} are the same up to shift and scale: their correlation is 1 or -1.")
    if len(said) > _GROUPS:
        rest = len(said) - _GROUPS
        said = [
            *said[:_GROUPS],
            f"{count(rest, 'further group')} of columns {'repeats' if rest == 1 else 'repeat'} others.",
        ]
    return said


def _times(n: int) -> str:
    return "twice" if n == 2 else f"{n} times"


def _scales(a: Analysis) -> str:
    """Deviations, and whether columns were divided by them."""
    varying = np.flatnonzero(a.first.deviation[a.used] > 0)
    deviations, names = a.first.deviation[a.used[varying]], [brief(a.names[j]) for j in varying]
    if len(varying) == 1:
        return f"The standard deviation of {names[0]} is {number(deviations[0])}."
    low, high = int(np.argmin(deviations)), int(np.argmax(deviations))
    ratio = deviations[high] / deviations[low]
    said = (
        f"Standard deviations range from {number(deviations[low])} ({names[low]}) to {number(deviations[high])} "
        f"({names[high]})"
    )
    said += f", a factor of {number(ratio)}." if ratio >= 1.5 else "."
    divided = "each column is divided by its standard deviation" if a.standardize else "the columns are not rescaled"
    if a.request.model is not None:
        return f"{said} As the given model has it, {divided}."
    if a.request.standardize is not None:
        return f"{said} As was asked for, {divided}."
    if a.layout is not None:
        what = "points of a curve" if a.layout.is_curve else "pixels of a picture"
        return f"{said} The columns look like {what}, which have the same units, so {divided}."
    if a.standardize:
        return (
            f"{said} The columns may well have different units, so {divided}: all columns then count the same, and "
            "components are those of the correlations. If the units are the same, ask for standardize=False "
            "(--no-standardize)."
        )
    return (
        f"{said} That is no sign of different units, so {divided}, and columns that vary more count more. If the "
        "units do differ, ask for standardize=True (--standardize)."
    )


def _table(a: Analysis) -> Table:
    first, columns = a.first, a.columns
    facts: dict[str, Any] = {
        "kind": [_SHORT[columns.kinds[j]] for j in a.used],
        "mean": first.mean[a.used],
        "std. deviation": first.deviation[a.used],
        "lowest": first.low[a.used],
        "highest": first.high[a.used],
        "skewness": columns.skewness[a.used],
    }
    if a.has_holes:
        facts["missing"] = first.missing[a.used]
    notes = [] if a.opened.held else ["Skewness is that of a sample of the rows."]
    return Table(facts, a.names, title="The columns that are analysed", notes=notes, row_name="column")


def _distributions(a: Analysis) -> Chart:
    """Quartiles and ends of each column, in standard deviations from its mean."""
    skewness = np.nan_to_num(np.abs(a.columns.skewness[a.used]))
    shown = np.sort(np.argsort(-skewness, kind="stable")[:_DRAWN])
    at = a.used[shown]
    sample = thinned(a.first.sample)[:, at]
    quantiles = np.nanquantile(sample, [0.01, 0.25, 0.5, 0.75, 0.99], axis=0)
    mean, deviation = a.first.mean[at], a.units[shown]
    low, q1, middle, q3, high = (quantiles - mean) / deviation
    ends = np.concatenate([a.first.low[at] - mean, a.first.high[at] - mean]) / np.concatenate([deviation, deviation])
    names = labels([a.names[j] for j in shown])
    data: list[dict[str, Any]] = [
        {
            "type": "box",
            "x": names,
            "q1": q1,
            "median": middle,
            "q3": q3,
            "lowerfence": low,
            "upperfence": high,
            "name": "1%, 25%, 50%, 75%, 99%",
            "marker": {"color": color(0)},
            "line": {"width": 1.5},
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": names + names,
            "y": ends,
            "name": "lowest and highest",
            "marker": {"color": color(1), "symbol": "diamond", "size": 6},
            "hovertemplate": "%{x}: %{y:.2f}<extra></extra>",
        },
    ]
    table = Table(
        {
            name: values * deviation + mean
            for name, values in zip(("1%", "25%", "50%", "75%", "99%"), (low, q1, middle, q3, high), strict=True)
        },
        [a.names[j] for j in shown],
        title="Quantiles of the columns",
        row_name="column",
    )
    some = f" The {_DRAWN} most skewed columns are shown." if a.p > _DRAWN else ""
    sampled = "" if a.opened.held else " Quantiles are those of a sample of the rows."
    return Chart(
        key="distributions",
        title="How the entries of each column are distributed",
        alt=f"Box plots of {count(len(names), 'column')}, in standard deviations from the mean of each column.",
        data=data,
        layout={
            "xaxis": axis(
                type="category",
                tickangle=-45 if len(names) > 3 else 0,
                tickfont={"size": 12 if len(names) <= 12 else 9},
                dtick=1,
                automargin=True,
            ),
            "yaxis": axis("standard deviations from the mean"),
            "legend": {"orientation": "h", "y": 1.08},
        },
        table=table,
        height=380,
        caption=(
            "A box holds the middle half of the entries and its line the median; the whiskers reach from 1% to 99%. A "
            f"box far from the middle of its whiskers belongs to a skewed column.{some}{sampled}"
        ),
    )


def _skewed(a: Analysis) -> str:
    """Columns whose logarithm would be easier to describe by means and deviations."""
    if a.layout is not None:
        return ""
    found = [j for j in a.used if a.columns.for_logarithm[j]]
    if not found:
        return ""
    found.sort(key=lambda j: -a.columns.skewness[j])
    names, one = [brief(a.opened.names[j]) for j in found], len(found) == 1
    zeros = any(a.first.low[j] == 0 for j in found)
    whose = ("its logarithm" if one else "their logarithms") + (" (that of 1 + x, for the zeros)" if zeros else "")
    return (
        f"{listed(names)} {'is' if one else 'are'} never negative and strongly skewed (skewness "
        f"{number(float(a.columns.skewness[found[0]]))}{'' if one else ' at most'}): a few large entries make up much "
        f"of the variance. Components of {whose} may say more."
    )


# Whether the columns are the pixels of a picture or the points of a curve, from correlations of neighbouring columns.
#
# Neighbouring pixels are much more alike than pixels far from each other, in both directions of the picture: columns j
# and j + 1 within a line, and columns j and j + width. This tells the width. The last pixel of a line and the first of
# the next one are not neighbours, and neither are pixels half a line apart.
#
# Neighbouring points of a curve, such as a spectrum, are nearly the same.


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
Correlations = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class ColumnLayout:
    """What the columns are, side by side."""

    #: (height, width) or (height, width, 3) of the picture in each row; None for a curve.
    shape: tuple[int, ...] | None = None

    @property
    def is_curve(self) -> bool:
        """Whether the columns are points of a curve."""
        return self.shape is None


def layout_given(image_shape: Any, p: int) -> ColumnLayout:
    """The layout that the user has told; an error if the shape is not that of p columns."""
    return ColumnLayout(checked_image_shape(image_shape, p, colours=(3,)))


def found_layout(correlations: Correlations, deviations: np.ndarray, n: int) -> ColumnLayout | None:
    """The layout that n rows show of columns with these standard deviations; None if they are in no order."""
    p = len(deviations)
    if n < _ROWS or p < min(_SIDE**2, _POINTS):
        return None
    random = np.random.default_rng(0)
    first, second = random.integers(0, p, (2, _PAIRS))
    apart = _mean(correlations(first[first != second], second[first != second]))
    found = [(score, shape) for shape in _shapes(p) if (score := _alike(correlations, shape, apart)) is not None]
    if found:
        # Pictures with colours look like wider ones without them, too.
        return ColumnLayout(max(found, key=lambda each: (len(each[1]), each[0]))[1])
    steps = correlations(np.arange(p - 1), np.arange(1, p))
    steps = steps[np.isfinite(steps)]
    smooth = len(steps) >= _POINTS and np.median(steps) > _SMOOTH and np.mean(steps) > apart + _MORE
    scales = deviations[deviations > 0]
    jumps = np.abs(np.diff(np.log(scales)))
    # A column of other units beside the curve is not a point of it.
    return ColumnLayout() if smooth and jumps.max(initial=0.0) < np.log(_JUMP) else None


def correlations_of_rows(X: np.ndarray, used: np.ndarray, p: int) -> Correlations:
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


def _alike(correlations: Correlations, shape: tuple[int, ...], apart: float) -> float | None:
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


# Labels of rows: categories that form groups, and numbers that can only colour the rows.


#: Of more categories than this, the most frequent ones are kept and the others become one.
MOST_LEVELS = 30


@dataclass(frozen=True)
class Grouping:
    """The groups of the rows by one column of labels."""

    name: str
    #: What the groups are called.
    levels: list[str]
    #: The group of each row; -1 if its label is missing.
    codes: np.ndarray


def groupings(labels: Mapping[str, np.ndarray]) -> list[Grouping]:
    """The columns of labels that form groups: all but those that `measures` returns."""
    found = {name: categories(values) for name, values in labels.items()}
    return [
        _limited(Grouping(name, [str(level) for level in levels], codes))
        for name, (levels, codes) in found.items()
        if len(levels) > 0 and not _are_measured(levels)
    ]


def measures(labels: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of labels that are numbers with too many different values for groups, as float64; NaN if missing."""
    found = {}
    for name, values in labels.items():
        levels, codes = categories(values)
        if _are_measured(levels):
            found[name] = np.append(np.asarray(levels, dtype=np.float64), np.nan)[codes]
    return found


def _are_measured(levels: list) -> bool:
    numbers = all(isinstance(level, int | float | np.number) and not isinstance(level, bool) for level in levels)
    return len(levels) > MOST_LEVELS and numbers


def _limited(grouping: Grouping) -> Grouping:
    """At most `MOST_LEVELS` groups, the last of which holds all the less frequent ones."""
    if len(grouping.levels) <= MOST_LEVELS:
        return grouping
    counts = np.bincount(grouping.codes[grouping.codes >= 0], minlength=len(grouping.levels))
    kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1])
    others = len(counts) - len(kept)
    place = np.full(len(counts) + 1, len(kept))
    place[kept], place[-1] = np.arange(len(kept)), -1
    return Grouping(grouping.name, [*(grouping.levels[i] for i in kept), f"{others} others"], place[grouping.codes])
