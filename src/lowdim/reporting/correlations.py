"""Correlations of the columns: which go together, and which repeat others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from scipy.stats import norm

from ..table import Table
from .blocks import Block, Chart, Listing, Prose, axis, brief, count, diverging, labels, listed, number, share

if TYPE_CHECKING:
    from .analysis import Analysis


# Correlations of the columns, the order in which a picture of them is readable, and columns that repeat others.


#: All correlations of up to this many columns are computed, and those of up to so many are shown.
_COMPUTED, _SHOWN = 2000, 150
#: Correlations beyond this are 1, but for rounding.
_ONE = 1.0 - 1e-10
#: The number of strongest pairs that are listed.
_STRONGEST = 12


@dataclass(frozen=True)
class Pair:
    """Two columns, by their positions among those that are analysed, and their correlation."""

    first: int
    second: int
    r: float


@dataclass(frozen=True)
class Correlations:
    """Correlations of the columns that are analysed; columns are given by their positions among these."""

    #: The columns whose correlations were computed: all, or some of many at equal distances.
    among: np.ndarray
    #: The columns that are shown, in the order of a hierarchical clustering, and their correlations.
    shown: np.ndarray
    matrix: np.ndarray
    #: The pairs with the largest correlations, apart from those that repeat each other.
    strongest: list[Pair]
    #: The number of pairs, and how many of them have a correlation beyond 0.5.
    pairs: int
    beyond_half: int
    #: A correlation that pure chance exceeds in only 5% of tables with as many independent columns and rows.
    chance: float
    #: Groups of columns that are equal, or that are equal up to shift and scale (including the sign).
    copies: list[list[int]]
    rescaled: list[list[int]]


def columns_to_correlate(p: int) -> np.ndarray:
    """All columns, or some at equal distances if there are many."""
    return np.arange(p) if p <= _COMPUTED else np.linspace(0, p - 1, _COMPUTED).round().astype(int)


def covariances(X: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The scatter of complete rows about their mean."""
    each = np.ones(len(X)) if weights is None else weights
    centred = (X - each @ X / each.sum()) * np.sqrt(each)[:, None]
    return np.asarray(centred.T @ centred)


def correlations_of(scatter: np.ndarray, among: np.ndarray, mean: np.ndarray, n: int) -> Correlations:
    """Correlations from the scatter matrix of the columns `among`; `mean` are the means of the same columns."""
    deviation = np.sqrt(np.diagonal(scatter))
    # A column that does not vary is correlated with none.
    deviation = np.where(deviation > 0, deviation, 1.0)
    R = np.clip(scatter / deviation[:, None] / deviation, -1.0, 1.0)
    np.fill_diagonal(R, 1.0)
    i, j = np.triu_indices(len(R), 1)
    r = R[i, j]
    size = np.abs(r)
    pairs = len(r)
    groups = _joined(i[size >= _ONE], j[size >= _ONE])
    copies: list[list[int]] = []
    rescaled: list[list[int]] = []
    for group in groups:
        unit = np.abs(mean[group]).max() + deviation[group].max()
        same = np.ptp(deviation[group]) <= 1e-9 * deviation[group].max() and np.ptp(mean[group]) <= 1e-9 * unit
        signs = R[group[0], group]
        (copies if same and signs.min() > 0 else rescaled).append([int(among[g]) for g in group])
    different = np.flatnonzero(size < _ONE)
    # Rounding must not decide on the order of pairs with the same correlation.
    top = different[np.argsort(-size[different].round(12), kind="stable")[:_STRONGEST]]
    shown = _most_related(R)
    order = shown[_clustered(R[np.ix_(shown, shown)])]
    return Correlations(
        among=among,
        shown=among[order],
        matrix=R[np.ix_(order, order)],
        strongest=[Pair(int(among[i[t]]), int(among[j[t]]), float(r[t])) for t in top],
        pairs=pairs,
        beyond_half=int(np.count_nonzero(size > 0.5)),
        chance=_by_chance(pairs, n),
        copies=copies,
        rescaled=rescaled,
    )


def _most_related(R: np.ndarray) -> np.ndarray:
    """The columns that are shown: all, or those with the largest sum of squared correlations."""
    if len(R) <= _SHOWN:
        return np.arange(len(R))
    return np.sort(np.argsort(-(R**2).sum(axis=0), kind="stable")[:_SHOWN])


def _clustered(R: np.ndarray) -> np.ndarray:
    """The order of average linkage on 1 - |r|, turned so that neighbours are as alike as possible."""
    if len(R) < 3:
        return np.arange(len(R))
    distances = squareform(np.clip(1.0 - np.abs(R), 0.0, None), checks=False)
    return np.asarray(leaves_list(linkage(distances, "average", optimal_ordering=True)))


def _by_chance(pairs: int, n: int) -> float:
    """By Fisher's transformation and Bonferroni's bound; 1 if there are too few rows."""
    if pairs == 0 or n <= 3:
        return 1.0
    return float(np.tanh(norm.isf(0.025 / pairs) / np.sqrt(n - 3)))


def _joined(i: np.ndarray, j: np.ndarray) -> list[list[int]]:
    """Groups of columns that are linked by pairs."""
    group: dict[int, set[int]] = {}
    for a, b in zip(i.tolist(), j.tolist(), strict=True):
        both = group.get(a, {a}) | group.get(b, {b})
        for member in both:
            group[member] = both
    return sorted({min(members): sorted(members) for members in group.values()}.values())


# The part of the section on the data that shows which columns go together.


#: Names are written beside the picture, and numbers into it, up to this many columns.
_NAMED, _NUMBERED = 60, 12
#: The number of pairs that are told in sentences.
_TOLD = 3


def correlation_blocks(a: Analysis) -> list[Block]:
    """Sentences, a picture and a table of the strongest correlations."""
    if a.p < 2:
        return []
    found = a.correlations
    blocks: list[Block] = [Prose(" ".join(_sentences(a))), _picture(a)]
    if len(found.strongest) > 1:
        pairs = found.strongest
        table = Table(
            {
                "first": [a.names[pair.first] for pair in pairs],
                "second": [a.names[pair.second] for pair in pairs],
                "correlation": [pair.r for pair in pairs],
            },
            list(range(1, len(pairs) + 1)),
            title="The strongest correlations",
            row_name="place",
        )
        blocks.append(Listing(table, shown=5))
    return blocks


def correlation(r: float) -> str:
    """A correlation in words: "0.96", or "above 0.999"."""
    if abs(r) > 0.9995:
        return "above 0.999" if r > 0 else "below -0.999"
    return f"{r:.3f}" if abs(r) > 0.995 else f"{r:.2f}"


def _sentences(a: Analysis) -> list[str]:
    found = a.correlations
    strongest = found.strongest
    if not strongest:
        return ["All columns have a correlation of 1 or -1 with each other."]
    told = [
        f"{brief(a.names[pair.first])} and {brief(a.names[pair.second])} ({correlation(pair.r)})"
        for pair in strongest[:_TOLD]
        if abs(pair.r) > found.chance
    ]
    said = []
    if told:
        verb = "The strongest correlation is that of" if len(told) == 1 else "The strongest correlations are those of"
        said.append(f"{verb} {listed(told, last='and')}.")
        said.append(_beyond_half(found))
        largest = abs(strongest[0].r)
        if largest < 0.3:
            said.append("All are weak, so a few components can hold only a small part of the variance.")
    else:
        pair = strongest[0]
        said.append(
            f"The strongest correlation, that of {brief(a.names[pair.first])} and {brief(a.names[pair.second])}, is "
            f"{correlation(pair.r)}, no more than chance could give."
        )
    if found.chance > 0.3 or not told:
        said.append(
            f"With {count(a.n, 'row')} and {count(found.pairs, 'pair')}, correlations up to {number(found.chance, 2)} "
            "in size can be due to chance alone."
        )
    if a.has_holes:
        said.append("Correlations are those of the table with its missing entries filled in.")
    return said


def _beyond_half(found: Correlations) -> str:
    if found.beyond_half == found.pairs > 1:
        return f"All {found.pairs:,} pairs have a correlation beyond 0.5 in size."
    return (
        f"{count(found.beyond_half, 'pair')} of {found.pairs:,} ({share(found.beyond_half / found.pairs)}) "
        f"{'has' if found.beyond_half == 1 else 'have'} a correlation beyond 0.5 in size."
    )


def _picture(a: Analysis) -> Chart:
    found = a.correlations
    names = [a.names[j] for j in found.shown]
    shown = labels(names)
    many = len(names) > _NAMED
    trace = {
        "type": "heatmap",
        "x": shown,
        "y": shown,
        "z": found.matrix.astype(np.float32),
        "zmin": -1,
        "zmax": 1,
        "colorscale": diverging(),
        "colorbar": {"title": {"text": "r"}, "thickness": 12},
        "hovertemplate": "%{y}<br>%{x}<br>r = %{z:.2f}<extra></extra>",
        "xgap": 0 if many else 1,
        "ygap": 0 if many else 1,
    }
    if len(names) <= _NUMBERED:
        trace["texttemplate"] = "%{z:.2f}"
    hidden: dict[str, Any] = {"showticklabels": not many, "type": "category", "automargin": True, "showgrid": False}
    if not many:
        hidden |= {"dtick": 1} | ({"tickfont": {"size": 9}} if len(names) > _NUMBERED else {})
    some = ""
    if len(found.among) < a.p:
        some = f" of {len(found.among):,} columns at equal distances"
    if len(found.shown) < len(found.among):
        some = f" The {len(found.shown):,} columns are those with the largest squared correlations{some}."
    elif some:
        some = f" The columns are a choice{some}."
    return Chart(
        key="correlations",
        title="Correlations of the columns",
        alt=f"A heatmap of the correlations of {count(len(names), 'column')}, in clustered order.",
        data=[trace],
        layout={
            "xaxis": axis(**hidden, tickangle=-45 if len(names) > 3 else 0),
            "yaxis": axis(**hidden, autorange="reversed"),
        },
        table=Table({name: column for name, column in zip(_unique(names), found.matrix.T, strict=True)}, names),
        height=min(760, max(320, 26 * len(names) + 160)),
        caption=(
            "Columns with similar correlations lie side by side (average linkage of 1 - |r|). A block of one colour "
            f"along the diagonal is a group of columns that go together.{some}"
        ),
    )


def _unique(names: list[str]) -> list[str]:
    """Names of the columns of a table, which must differ."""
    return names if len(set(names)) == len(names) else [f"{i + 1}: {name}" for i, name in enumerate(names)]
