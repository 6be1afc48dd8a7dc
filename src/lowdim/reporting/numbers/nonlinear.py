"""What kernel PCA and ICA show beyond PCA: three maps of the same rows, and measures of what each of them keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from sklearn.model_selection import KFold

from ...models import ICA, PCA, KernelPCA
from ...selection import choose_width

#: How many rows are compared at most, and how many there must be.
MOST_ROWS, FEWEST_ROWS = 1_500, 30
#: How many nearest neighbours are compared, and how many sources of ICA there are at most.
NEIGHBOURS, MOST_SOURCES = 10, 8
#: The number of folds in which the sources of ICA are judged.
FOLDS = 5
#: The means of ln cosh u and of the derivative of tanh u, for a standard Gaussian u.
LN_COSH, SLOPE = 0.37456720749, 0.60570551


@dataclass(frozen=True)
class Flat:
    """A map of the rows in two dimensions."""

    name: str
    #: The positions of the rows, of shape (rows, 2), and what the axes are called.
    scores: np.ndarray
    axes: tuple[str, str]
    #: For each row, the share of its nearest neighbours in all columns that are also among the nearest on the map.
    kept: np.ndarray
    #: For each row with a label, whether most of its nearest neighbours on the map have that label, and whether the
    #: nearest mean of a group is that of its own group; None without labels.
    by_neighbours: np.ndarray | None
    by_means: np.ndarray | None


@dataclass(frozen=True)
class Sources:
    """How far from Gaussian the sources of ICA are, and the principal components of the same rows."""

    #: The excess kurtosis of each source and of each principal component, those of largest magnitude first.
    kurtosis: np.ndarray
    of_components: np.ndarray
    #: How far from Gaussian the sources of rows left out are, and the components: means of `from_gaussian`.
    held_out: float
    baseline: float
    #: The difference of the two in its standard errors.
    certainty: float


@dataclass(frozen=True)
class Beyond:
    """Three maps of the same rows."""

    #: The numbers of the rows.
    numbers: np.ndarray
    pca: Flat
    kernel: Flat
    #: None if ICA found no sources.
    ica: Flat | None
    sources: Sources | None
    #: The kernel of kernel PCA, as text.
    width: str
    #: Shares of right labels by the nearest neighbours in all columns, and by always taking the most frequent label.
    right_in_all: float | None
    right_by_chance: float | None


def beyond(X: np.ndarray, numbers: np.ndarray, codes: np.ndarray | None, k: int, seed: int) -> Beyond | None:
    """The maps of rows that are complete and in the units in which they are compared; None if there are too few.

    `codes` are the labels of the rows, -1 for none, and k the number of components of the report. With n rows and p
    columns, this takes a few n x n matrices, and the times of the three fits, of the search for a width, and of five
    fits of ICA.
    """
    n, p = X.shape
    if n < FEWEST_ROWS or len(np.unique(X, axis=0)) < FEWEST_ROWS:
        return None
    # In units of the largest distance from the mean, no square is lost; neither are digits of rows far from zero.
    X = X - X.mean(axis=0)
    unit = float(np.abs(X).max())
    X = X / unit
    near = nearest(X)
    maps = _Judge(near, codes)
    pca = maps("PCA", PCA(2).fit_transform(X) * unit, ("PC1", "PC2"))
    choice = choose_width(X, 2, random_state=seed)
    kernel = maps("kernel PCA", KernelPCA(2, kernel=choice.kernel).fit_transform(X), ("kernel PC1", "kernel PC2"))
    m = min(max(k, 2), MOST_SOURCES, p, max(2, n // 20))
    independent, ica = _sources(X, m, seed), None
    if independent is not None:
        S, sources = independent
        order = np.argsort(-np.abs(_kurtosis(S)), kind="stable")[:2]
        ica = maps("ICA", S[:, order], (f"IC{order[0] + 1}", f"IC{order[1] + 1}"))
    return Beyond(
        numbers=numbers,
        pca=pca,
        kernel=kernel,
        ica=ica,
        sources=None if independent is None else sources,
        width=str(choice.kernel.widened(unit)),
        right_in_all=None if codes is None else float(right_by_neighbours(near, codes).mean()),
        right_by_chance=None if codes is None else _most_frequent(codes),
    )


class _Judge:
    """Makes maps with what they keep of the neighbours in all columns and of the labels."""

    def __init__(self, near: np.ndarray, codes: np.ndarray | None) -> None:
        self._near, self._codes = near, codes

    def __call__(self, name: str, scores: np.ndarray, axes: tuple[str, str]) -> Flat:
        found = nearest(scores)
        kept = np.array([len(np.intersect1d(a, b)) for a, b in zip(self._near, found, strict=True)]) / found.shape[1]
        if self._codes is None:
            return Flat(name, np.asarray(scores), axes, kept, None, None)
        by_neighbours, by_means = right_by_neighbours(found, self._codes), right_by_means(scores, self._codes)
        return Flat(name, np.asarray(scores), axes, kept, by_neighbours, by_means)


def nearest(Z: np.ndarray) -> np.ndarray:
    """The numbers of the nearest other rows of each row, of shape (rows, NEIGHBOURS)."""
    count = min(NEIGHBOURS, len(Z) - 1)
    if Z.shape[1] <= 3:
        _, found = cKDTree(Z).query(Z, count + 1)
    else:
        squares = (Z**2).sum(axis=1)
        found = np.argsort(squares[:, None] + squares - 2.0 * (Z @ Z.T), axis=1, kind="stable")[:, : count + 1]
    # Of several equal rows, the row itself need not be the first.
    own = np.arange(len(Z))[:, None]
    rest = np.argsort(found == own, axis=1, kind="stable")[:, :count]
    return np.asarray(np.take_along_axis(found, rest, axis=1))


def right_by_neighbours(near: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each row with a label, whether it is the most frequent label of its neighbours; 1 / t if t labels tie."""
    levels = int(codes.max()) + 1
    votes = np.stack([(codes[near] == level).sum(axis=1) for level in range(levels)], axis=1)
    top = votes == votes.max(axis=1, keepdims=True)
    labelled = np.flatnonzero(codes >= 0)
    return np.asarray(top[labelled, codes[labelled]] / top[labelled].sum(axis=1))


def right_by_means(Z: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each row with a label, whether the nearest mean of a group is that of its own group, of which the row itself
    is no part. Distances are in the covariance within the groups, so that the units of the axes do not matter.

    This is right for all rows if straight lines separate the groups well.
    """
    labelled = np.flatnonzero(codes >= 0)
    Z, codes = Z[labelled], codes[labelled]
    member = codes[:, None] == np.arange(codes.max() + 1)
    sizes = member.sum(axis=0)
    means = member.T.astype(float) @ Z / np.maximum(sizes, 1)[:, None]
    within = Z - means[codes]
    metric = np.linalg.pinv(within.T @ within / len(Z))
    away = Z[:, None, :] - means
    # Without the row itself, the mean of its group is farther away by n / (n - 1).
    with np.errstate(divide="ignore", invalid="ignore"):
        away = np.where(member[:, :, None], away * (sizes / (sizes - 1.0))[:, None], away)
    distances = np.einsum("ngi,ij,ngj->ng", away, metric, away)
    distances = np.where((sizes == 0) | np.isnan(distances), np.inf, distances)
    return (np.argmin(distances, axis=1) == codes).astype(float)


def _most_frequent(codes: np.ndarray) -> float:
    counts = np.bincount(codes[codes >= 0])
    return float(counts.max() / counts.sum())


def _sources(X: np.ndarray, m: int, seed: int) -> tuple[np.ndarray, Sources] | None:
    """The sources of ICA with m components, judged by rows left out; None if there are fewer than two."""
    ica = _ica(X, m, seed)
    if ica is None or ica.n_components_ < 2:
        return None
    m = int(ica.n_components_)
    S, components = np.asarray(ica.transform(X)), np.asarray(PCA(m).fit_transform(X))
    left_out = np.empty_like(S)
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(X):
        part = _ica(X[train], m, seed)
        if part is None or part.n_components_ < m:
            return None
        inside, outside = np.asarray(part.transform(X[train])), np.asarray(part.transform(X[test]))
        outside = (outside - inside.mean(axis=0)) / inside.std(axis=0)
        # Sources have no order: each is compared with the source of all rows that it is most like.
        alike = np.abs(_standardized(S[train]).T @ _standardized(inside))
        left_out[test] = outside[:, linear_sum_assignment(-alike)[1]]
    usual = from_gaussian(_standardized(components))
    # Components were not chosen by this measure, so their own rows may decide on its sign; those of sources may not.
    sides = np.sign(usual.mean(axis=0)), np.sign(from_gaussian(_standardized(S)).mean(axis=0))
    per_row = [(usual * sides[0]).mean(axis=1), (from_gaussian(left_out) * sides[1]).mean(axis=1)]
    gain = per_row[1] - per_row[0]
    spread = float(gain.std(ddof=1)) / math.sqrt(len(gain))
    return S, Sources(
        kurtosis=_by_size(_kurtosis(S)),
        of_components=_by_size(_kurtosis(components)),
        held_out=float(per_row[1].mean()),
        baseline=float(per_row[0].mean()),
        certainty=float(gain.mean()) / spread if spread > 0 else 0.0,
    )


def _ica(X: np.ndarray, m: int, seed: int) -> Any:
    """ICA with m sources; None if the rows have too little variance for them."""
    try:
        return ICA(m, random_state=seed).fit(X)
    except ValueError:
        return None


def _standardized(Z: np.ndarray) -> np.ndarray:
    deviation = Z.std(axis=0)
    return (Z - Z.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)


def from_gaussian(Z: np.ndarray) -> np.ndarray:
    """g(z) = ln cosh z - E ln cosh u - E (tanh u)' (z^2 - 1) / 2 for a standard Gaussian u.

    Its mean over rows is zero for a Gaussian, negative for heavy tails and positive for light ones. The last term makes
    it insensitive to the deviation of z, which is known from other rows only, and takes away most of its variance.
    """
    size = np.abs(Z)
    ln_cosh = size + np.log1p(np.exp(-2.0 * size)) - math.log(2.0)
    return np.asarray(ln_cosh - LN_COSH - SLOPE * (Z**2 - 1.0) / 2.0)


def _kurtosis(Z: np.ndarray) -> np.ndarray:
    """The excess kurtosis of each column."""
    centred = Z - Z.mean(axis=0)
    squares = (centred**2).mean(axis=0)
    return np.asarray((centred**4).mean(axis=0) / np.where(squares > 0, squares, 1.0) ** 2 - 3.0)


def _by_size(values: np.ndarray) -> np.ndarray:
    """Values in descending order of their magnitudes."""
    return values[np.argsort(-np.abs(values), kind="stable")]
