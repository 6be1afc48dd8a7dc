"""What two tables have in common: canonical correlations, of the fit and of rows that were left out, with a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from ...models import CCA
from ...selection import PermutationTest, cross_validate, permutation_test
from .pairs import Pair

#: The number of folds, and the largest number of pairs that is shown.
FOLDS, MOST_PAIRS = 5, 5
#: With fewer rows than this for each column of both tables, correlations need regularization.
ROWS_PER_COLUMN = 10
#: The regularizations that are tried then.
TRIED = (0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9)
#: Numbers of shuffles, of which the first that takes at most so many multiplications is used.
_SHUFFLES, _MOST_WORK = (199, 99, 39), 2e10
#: The test takes at most so many rows.
_MOST_ROWS = 5_000


@dataclass(frozen=True)
class Canonical:
    """Pairs of variates of two tables."""

    pair: Pair
    model: Any
    #: The amount of regularization, and whether it was chosen by rows left out; otherwise none was needed.
    regularization: float
    searched: bool
    #: Correlations of the fit and of rows that were left out, one for each pair that is shown.
    correlations: np.ndarray
    held_out: np.ndarray
    #: A test of the pairs that are shown; None if there are too many columns for it.
    test: PermutationTest | None
    #: How many rows were shuffled in the test.
    n_tested: int
    #: The variates of all rows, of shape (rows, pairs).
    x_variates: np.ndarray
    y_variates: np.ndarray

    @property
    def significant(self) -> int:
        """The number of pairs that are more than chance, among those shown; 0 if that was not tested."""
        return 0 if self.test is None else self.test.n_components


def canonical(pair: Pair, seed: int) -> Canonical:
    """CCA of the two tables, regularized if there are few rows; a test by shuffles, and five folds."""
    X, Y, weights = pair.X, pair.Y, pair.weights
    n, (p, q) = len(X), (X.shape[1], Y.shape[1])
    most = min(p, q, MOST_PAIRS)
    folds = list(KFold(min(FOLDS, n), shuffle=True, random_state=seed).split(X))
    searched = n < ROWS_PER_COLUMN * (p + q)
    # Without regularization, correlations of one are found as soon as the columns are as many as the rows.
    tried = [c for c in (0.0, *TRIED) if c > 0 or n * (FOLDS - 1) // FOLDS > p + q + 1] if searched else [0.0]
    found = cross_validate(
        CCA(),
        X,
        Y,
        cv=folds,
        n_components=range(1, most + 1),
        parameters={"regularization": tried},
        sample_weight=weights,
    )
    # The sum of all pairs that are shown decides: its value does not depend on how many of them are good for chance.
    s = int(np.nanargmax(found.mean[:, -1]))
    regularization = float(tried[s])
    model = CCA(most, regularization=regularization).fit(X, Y, sample_weight=weights)
    k = int(model.n_components_)
    sums = np.concatenate([[0.0], found.mean[s][:k]])
    shown = np.arange(n) if n <= _MOST_ROWS else np.sort(np.random.default_rng(seed).choice(n, _MOST_ROWS, False))
    ranks = sorted((min(len(shown), p), min(len(shown), q)))
    work = k * ranks[0] ** 2 * ranks[1]
    shuffles = next((number for number in _SHUFFLES if number * work <= _MOST_WORK), None)
    test = None
    if shuffles is not None:
        test = permutation_test(
            CCA(regularization=regularization),
            X[shown],
            Y[shown],
            n_permutations=shuffles,
            n_components=k,
            random_state=seed,
        )
    x_variates, y_variates = model.transform(X, Y)
    return Canonical(
        pair=pair,
        model=model,
        regularization=regularization,
        searched=searched,
        correlations=np.asarray(model.correlations_)[:k],
        held_out=np.diff(sums),
        test=test,
        n_tested=len(shown),
        x_variates=np.asarray(x_variates),
        y_variates=np.asarray(y_variates),
    )
