"""Scores, T2 and Q of rows, and the rows of a table of which they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from ...inspect.limits import has_scores
from ...inspect.names import names_expected
from ...sources import ArraySource
from .arrays import floats

#: Of each component, this many rows are kept at both ends; of the rows that fit worst, and of those that are rebuilt
#: best and worst, this many.
_ENDS, _FARTHEST, _REBUILT = 10, 200, 10
#: The largest number of supplementary rows that are shown.
MOST_FURTHER = 2000


@dataclass(frozen=True)
class SomeRows:
    """Some rows of a table, with what was computed of each. Rows are counted from 0."""

    numbers: np.ndarray
    #: The entries of the columns that are analysed, shape (m, p).
    entries: np.ndarray
    #: Scores on the components of the map, shape (m, K).
    scores: np.ndarray
    t2: np.ndarray
    q: np.ndarray
    #: The larger one of T2 and Q in units of their limits: a row does not fit if it is above 1.
    misfit: np.ndarray
    #: The share of the squared distance of the row from the mean that the model keeps; 1 for a row at the mean.
    kept: np.ndarray

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, where: np.ndarray) -> Self:
        """The rows at these positions."""
        return type(self)(*(getattr(self, field.name)[where] for field in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of all parts, one below the other."""
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    def ordered(self) -> Self:
        """The rows in the order of the table, each of them once."""
        return self.take(np.unique(self.numbers, return_index=True)[1])

    def extremes(self) -> np.ndarray:
        """The positions of the rows at both ends of each component, of those that fit worst, and of those that are
        rebuilt best and worst. Of equal rows the first ones are taken, so that blocks can be read in any order."""
        wanted = [(sign * column, _ENDS) for column in self.scores.T for sign in (1.0, -1.0)]
        wanted += [(self.misfit, _FARTHEST), (self.kept, _REBUILT), (-self.kept, _REBUILT)]
        return np.unique(np.concatenate([largest(values, size, self.numbers) for values, size in wanted]))


def largest(values: np.ndarray, size: int, numbers: np.ndarray) -> np.ndarray:
    """The positions of the `size` largest values, largest first; of equal ones, those of the smallest numbers."""
    found = np.arange(len(values))
    if len(values) > size:
        found = np.flatnonzero(values >= np.partition(values, len(values) - size)[len(values) - size])
    return np.asarray(found[np.lexsort((numbers[found], -values[found]))][:size])


@dataclass(frozen=True)
class Scoring:
    """How rows are scored: on the components of the map, and by T2 and Q of a subspace."""

    #: The model whose components are the axes of the map, and the number of these.
    mapped: Any
    n_components: int
    #: PCA with the number of components of the report's model.
    subspace: Any
    t2_limit: float
    q_limit: float

    def __call__(self, X: np.ndarray, numbers: np.ndarray) -> SomeRows:
        rows = ArraySource(X)
        rows.names = names_expected(self.mapped)
        Z = self._scores(self.mapped, rows)
        own = Z if self.mapped is self.subspace else self._scores(self.subspace, rows)
        # Components without variance are no part of T2.
        rank = int(self.subspace.rank_)
        variances = floats(self.subspace.explained_variance_)[:rank]
        t2 = (own[:, :rank] ** 2 / variances).sum(axis=1)
        q = floats(self.subspace.reconstruction_error(rows, scaled=True))
        inside = (own**2).sum(axis=1)
        whole = inside + q
        return SomeRows(
            numbers=numbers,
            entries=X,
            scores=Z[:, : self.n_components],
            t2=t2,
            q=q,
            misfit=np.maximum(t2 / self.t2_limit, q / self.q_limit),
            kept=np.where(whole > 0, inside / np.where(whole > 0, whole, 1.0), 1.0),
        )

    def _scores(self, model: Any, rows: ArraySource) -> np.ndarray:
        scores = model.scores(rows) if has_scores(model) else model.transform(rows)
        # With scikit-learn's set_output, results of `transform` are data frames.
        return floats(scores.to_numpy() if hasattr(scores, "to_numpy") else scores)
