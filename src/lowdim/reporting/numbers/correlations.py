"""Correlations of the columns, the order in which a picture of them is readable, and columns that repeat others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from scipy.stats import norm

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
