"""What the columns have to do with each component: loadings with bootstrap intervals, correlations, and how well the
direction of each component is determined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import clone

from ...inspect import loadings
from ...inspect.components import has_loadings
from ...inspect.limits import has_scores
from ...selection import bootstrap
from ...selection.bootstrapping import Bootstrap, bootstrap_pieces
from ...selection.pieces import summed_pieces
from ...sources import Source
from ...summaries import Moments
from .arrays import floats
from .seen import Seen

#: The number of bootstrap samples; fewer if the smaller one of rows and columns is above the second number, but not
#: fewer than the third.
_DRAWS, _SMALL, _FEWEST = 200, 200, 25
#: Above this many rows and columns there is no bootstrap: its samples would take far longer than all other fits.
MOST_BOTH = 1000


@dataclass(frozen=True)
class Meaning:
    """The columns (first axis) and the first components (second axis)."""

    names: list[str]
    #: The share of the variance of each component; None if the model does not know it.
    shares: np.ndarray | None
    #: Loadings, and the bootstrap interval that holds 95% of the replicates; None without a bootstrap.
    loadings: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    #: Whether loadings are correlations of columns with components. If not, they are in the units of the columns: by
    #: how much a column is larger where the component is larger by one standard deviation.
    are_correlations: bool
    correlations: np.ndarray
    #: The median angle, in degrees, between a component and that of a bootstrap sample.
    turns: np.ndarray | None
    #: The component, among those after the first ones as well, with which the bootstrap samples mix each one most.
    mixes_with: np.ndarray | None
    n_boot: int
    #: The probability of so different variances of each component and the next one if they were equal; see
    #: `equal_variances`. Empty for models other than PCA.
    equal_to_next: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """The share of each column in each component: squared loadings that add up to one."""
        squares = self.loadings**2
        total = squares.sum(axis=0)
        return squares / np.where(total > 0, total, 1.0)

    @property
    def uncertain(self) -> np.ndarray:
        """Whether the interval of a loading holds zero: then even its sign is uncertain."""
        if self.low is None or self.high is None:
            return np.zeros(self.loadings.shape, dtype=bool)
        return (self.low <= 0) & (self.high >= 0)


def meaning_of_principal(
    model: Any, count: int, deviations: np.ndarray, standardized: bool, draws: Bootstrap | None
) -> Meaning:
    """The meaning of the first components of PCA. A loading is w_jk sqrt(lambda_k): the correlation of column j with
    component k if columns are standardized, and otherwise this correlation times the deviation of the column."""
    values = floats(model.loadings_)[:, :count]
    low = high = turns = mixes = None
    if draws is not None:
        low, high = draws.interval("loadings")[:, :, :count]
        turns, mixes = _turns(draws, count)
    units = np.ones(len(values)) if standardized else np.where(deviations > 0, deviations, 1.0)
    return Meaning(
        names=list(model.component_names_[:count]),
        shares=floats(model.explained_variance_ratio_)[:count],
        loadings=values,
        low=low,
        high=high,
        are_correlations=standardized,
        correlations=np.clip(values / units[:, None], -1.0, 1.0),
        turns=turns,
        mixes_with=mixes,
        n_boot=0 if draws is None else len(draws.replicates["loadings"]),
        equal_to_next=equal_variances(floats(model.explained_variance_)[: count + 1], float(model.total_weight_)),
    )


def meaning_of_other(model: Any, count: int, seen: Seen) -> Meaning:
    """The meaning of the first components of any other model: its loadings, or else the correlations of the columns
    with the scores of the rows that were chosen for the map."""
    rows = seen.rows.take(np.flatnonzero(seen.chosen))
    correlations = _unit(rows.entries).T @ _unit(rows.scores[:, :count])
    with_loadings = has_loadings(model) and len(model._widths()) == 1
    shares = getattr(model, "explained_variance_ratio_", None) if has_scores(model) else None
    return Meaning(
        names=list(model.component_names_[:count]),
        shares=None if shares is None else floats(shares)[:count],
        loadings=loadings(model).values[:, :count] if with_loadings else correlations,
        low=None,
        high=None,
        are_correlations=not with_loadings,
        correlations=correlations,
        turns=None,
        mixes_with=None,
        n_boot=0,
        equal_to_next=np.zeros(0),
    )


def equal_variances(values: np.ndarray, n: float) -> np.ndarray:
    """The p-values of the hypotheses that neighbouring variances l and m of components are equal.

    The likelihood ratio statistic n ln((l + m)^2 / (4 l m)) is about chi-square with 2 degrees of freedom for Gaussian
    rows [1]_. Where variances are equal, the bootstrap is overconfident: it takes the variances of the sample, which
    always differ, for the true ones.

    References
    ----------
    .. [1] Anderson (1963), Asymptotic theory for principal component analysis, sec. 3.
    """
    large, small = values[:-1], values[1:]
    known = small > 0
    # By logarithms, since products and quotients of variances may be beyond the range of numbers.
    away = np.log(large[known]) - np.log(small[known])
    statistic = np.full(len(small), np.inf)
    statistic[known] = n * np.maximum(away + 2 * np.log1p(np.exp(-away)) - np.log(4), 0.0)
    return np.asarray(special.chdtrc(2, statistic))


def bootstrapped(
    model: Any, count: int, rows: Source, pieces: list[Moments] | None, weights: Any, seed: int
) -> Bootstrap | None:
    """The bootstrap of PCA with `count` components, a few more than are told of, since these might mix with others.
    None for too few rows, and for many rows and columns.

    Pieces of the rows of which the moments are known need no further pass.
    """
    n, p = rows.shape
    smaller = min(p, n or p)
    if smaller > MOST_BOTH:
        return None
    n_boot = int(np.clip(_DRAWS * (_SMALL / smaller) ** 1.5, _FEWEST, _DRAWS))
    fixed = clone(model).set_params(n_components=count)
    if pieces is not None:
        drawn = summed_pieces("block", pieces, pieces[0].fresh())
        return bootstrap_pieces(fixed, drawn, n_boot, np.random.RandomState(seed))
    if n is None or n < 10:
        return None
    return bootstrap(fixed, rows, n_boot=n_boot, sample_weight=weights, random_state=seed)


def _turns(draws: Bootstrap, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The median angle between each component and that of a bootstrap sample, and the other component of which the
    latter has most on average.

    Loadings are orthogonal vectors. With u_k those of all rows and v_k those of a sample, both of unit length, the
    angle is arccos |u_k v_k|, and the share of component l in the direction v_k is (u_l v_k)^2.
    """
    whole, samples = draws.estimates["loadings"], draws.replicates["loadings"]
    products = np.einsum("jl,bjk->blk", _of_unit_length(whole), _of_unit_length(samples))
    cosines = np.abs(np.einsum("bkk->bk", products))
    shares = (products**2).mean(axis=0)
    np.fill_diagonal(shares, -1.0)
    angles = np.degrees(np.arccos(np.clip(np.nanmedian(cosines, axis=0), 0.0, 1.0)))
    return angles[:count], np.argmax(np.nan_to_num(shares, nan=-1.0), axis=0)[:count]


def _of_unit_length(columns: np.ndarray) -> np.ndarray:
    lengths = np.sqrt((columns**2).sum(axis=-2, keepdims=True))
    return columns / np.where(lengths > 0, lengths, 1.0)


def _unit(A: np.ndarray) -> np.ndarray:
    """Columns that are centred and of unit length."""
    return _of_unit_length(A - A.mean(axis=0))
