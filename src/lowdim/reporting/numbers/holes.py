"""Missing entries filled in by probabilistic PCA, and a check of how well that works: observed entries are hidden."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ConvergenceWarning
from ...models import PPCA
from ...solvers import EM
from ...sources import MappedSource, Source

#: The number of components is chosen from at most so many rows, and the model is fitted to at most so many: every step
#: of the fit reads them all.
_CHOSEN_FROM, _FITTED_TO = 2_000, 20_000
#: The numbers of components that are tried, until two in a row were no better than the best so far.
_TRIED = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)
#: The share of the observed entries that are hidden, at most so many. If there are few of them, others are hidden in
#: further rounds, until there are about as many as the third number.
_HIDDEN, _MOST_HIDDEN, _ENOUGH, _ROUNDS = 0.05, 5_000, 400, 5
#: Fits that are compared, without further starts, and to an accuracy that is enough to compare them.
_QUICK = EM(tol=1e-4, max_iter=200, n_init=0)
#: In columns with fewer observed entries, none is hidden.
_FEWEST_OBSERVED = 10
#: Half the width of an interval of 95%, in standard deviations.
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class Entries:
    """Entries of the table that were filled in, each with its standard deviation."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    deviations: np.ndarray

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Hidden:
    """Observed entries that were hidden and filled in like missing ones."""

    entries: Entries
    truth: np.ndarray
    #: The mean of the entries of the same column that were not hidden.
    column_means: np.ndarray
    #: The standard deviations of the columns of the entries.
    spread: np.ndarray

    @property
    def error(self) -> float:
        """The root mean squared error of what was filled in, in standard deviations of the columns."""
        return _root_mean_square((self.entries.values - self.truth) / self.spread)

    @property
    def error_of_means(self) -> float:
        """The same for the mean of the column."""
        return _root_mean_square((self.column_means - self.truth) / self.spread)

    @property
    def within(self) -> float:
        """The share of the hidden entries that lie in their interval of 95%."""
        away = np.abs(self.entries.values - self.truth)
        return float(np.mean(away <= NORMAL_95 * self.entries.deviations))

    @property
    def log_density(self) -> float:
        """The average logarithm of the density that the model gave to the hidden entries, up to a constant."""
        away = (self.entries.values - self.truth) / self.entries.deviations
        return float(np.mean(-0.5 * away**2 - np.log(self.entries.deviations / self.spread)))


@dataclass(frozen=True)
class Holes:
    """How missing entries were filled in."""

    model: Any
    #: The numbers of components that were tried.
    tried: list[int]
    #: The number of rows that the model was fitted to, and whether these are all.
    fitted_to: int
    all_rows: bool
    #: The entries that were filled in; if the rows are not in memory, those of the sample.
    entries: Entries
    hidden: Hidden | None
    #: All rows, filled in, if they are in memory.
    completed: np.ndarray | None

    def filled(self, rows: Source) -> Source:
        """Rows in which missing entries are filled in when they are read."""
        return MappedSource(rows, self.model.impute)


def fill_holes(
    X: np.ndarray,
    weights: np.ndarray | None,
    deviation: np.ndarray,
    *,
    standardize: bool,
    held: bool,
    n_rows: int,
    seed: int,
) -> Holes:
    """Fit PPCA to rows with holes, and fill them in.

    Parameters
    ----------
    X : array of shape (m, p)
        All rows, or a sample of them if they are not `held` in memory.
    weights : array of shape (m,), or None
    deviation : array of shape (p,)
        The standard deviations of the columns.
    standardize : bool
        As in PPCA.
    n_rows : int
        The number of all rows.
    """
    random = np.random.default_rng([seed, 2])
    some = _some(len(X), _FITTED_TO, random)
    rows, counts = X[some], None if weights is None else weights[some]
    how = _How(deviation, standardize, seed)
    few = _some(len(some), _CHOSEN_FROM, random)
    k, tried = _best_number(rows[few], None if counts is None else counts[few], how)
    model = how.fit(rows, counts, k)
    filled, spread = (np.asarray(part) for part in model.impute(X, return_std=True))
    i, j = np.nonzero(np.isnan(X))
    return Holes(
        model=model,
        tried=tried,
        fitted_to=len(some),
        all_rows=len(some) == n_rows,
        entries=Entries(i, j, filled[i, j], spread[i, j]),
        hidden=how.hide(rows, counts, k, "auto", 1),
        completed=filled if held else None,
    )


def _some(n: int, most: int, random: np.random.Generator) -> np.ndarray:
    """All of n rows, or a random choice of them in order."""
    return np.arange(n) if n <= most else np.sort(random.choice(n, most, replace=False))


def _best_number(X: np.ndarray, weights: np.ndarray | None, how: _How) -> tuple[int, list[int]]:
    """The number of components for which hidden entries have the largest density, and the numbers that were tried."""
    most = max(1, min(X.shape[1] - 1, len(X) - 1))
    found: dict[int, float] = {}
    for k in (k for k in _TRIED if k <= most):
        hidden = how.hide(X, weights, k, _QUICK, 0)
        if hidden is None:
            return 1, []
        found[k] = hidden.log_density
        if list(found).index(max(found, key=lambda tried: found[tried])) < len(found) - 2:
            break
    return max(found, key=lambda tried: found[tried]), list(found)


@dataclass(frozen=True)
class _How:
    """How models are fitted and checked."""

    deviation: np.ndarray
    standardize: bool
    seed: int

    def fit(self, X: np.ndarray, weights: np.ndarray | None, k: int, solver: Any = "auto") -> PPCA:
        """The model with k components."""
        # With the prior, components that the rows do not support shrink: without structure, means are filled in.
        model = PPCA(k, prior="vb", standardize=self.standardize, solver=solver, random_state=self.seed)
        with warnings.catch_warnings():
            # A fit that stopped early fills in a little worse, and the hidden entries tell how well it does.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(X, sample_weight=weights)

    def hide(self, X: np.ndarray, weights: np.ndarray | None, k: int, solver: Any, which: int) -> Hidden | None:
        """Hide observed entries at random, fit the model without them, and fill them in; None if there are too few.

        Different entries are hidden for each `which`.
        """
        known = ~np.isnan(X)
        known &= known.sum(axis=0) >= _FEWEST_OBSERVED
        # A row keeps an entry: those of an empty row would be the means of the columns.
        known[known.sum(axis=1) < 2] = False
        able = np.flatnonzero(known)
        size = min(int(_HIDDEN * len(able)), _MOST_HIDDEN)
        if size < 1:
            return None
        found: list[tuple[np.ndarray, ...]] = []
        for i in range(min(_ROUNDS, -(-_ENOUGH // size))):
            random = np.random.default_rng([self.seed, 3, which, i])
            rows, columns = np.divmod(random.choice(able, size, replace=False), X.shape[1])
            left = X.copy()
            left[rows, columns] = np.nan
            if not _is_usable(left, X):
                continue
            model = self.fit(left, weights, k, solver)
            guess, spread = (np.asarray(part) for part in model.impute_at(left, rows, columns, return_std=True))
            means = np.nanmean(left, axis=0)
            found.append((rows, columns, guess, spread, X[rows, columns], means[columns], self.deviation[columns]))
        if not found:
            return None
        rows, columns, guess, spread, truth, means, units = (np.concatenate(part) for part in zip(*found, strict=True))
        return Hidden(Entries(rows, columns, guess, spread), truth, means, units)


def _is_usable(left: np.ndarray, X: np.ndarray) -> bool:
    """Whether, without the hidden entries, all columns still vary and no further row is empty."""
    low, high = np.nanmin(left, axis=0, initial=np.inf), np.nanmax(left, axis=0, initial=-np.inf)
    empty = (np.count_nonzero(np.isnan(rows).all(axis=1)) for rows in (left, X))
    return bool(np.all(low < high)) and len(set(empty)) == 1


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
