"""How well responses can be predicted from the rows: PLS and PCR, judged by rows that were left out of the fit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from ...models import PCR, PLSRegression
from ...selection import CrossValidation, bootstrap, cross_validate
from .pairs import Pair

#: The number of folds, and the largest number of components that is tried.
FOLDS, MOST_COMPONENTS = 10, 20
#: The number of bootstrap samples. With more columns than this, each of them takes longer, and fewer are drawn, but no
#: fewer than the last number.
_DRAWS, _MANY_COLUMNS, _FEWEST_DRAWS = 200, 200, 60


@dataclass(frozen=True)
class Regression:
    """PLS and PCR of responses that vary; errors and predictions are of rows that were left out."""

    pair: Pair
    #: The errors of both methods for each number of components, in the same folds. If there are several responses,
    #: these were divided by their standard deviations first.
    pls: CrossValidation
    pcr: CrossValidation
    #: Predictions of PLS for each row from the rows of the other folds, and the means of the responses in these.
    predicted: np.ndarray
    means: np.ndarray
    #: The fit to all rows, its coefficients times the standard deviations of the columns, and their 95% intervals, each
    #: of shape (responses, columns).
    model: Any
    effect: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_draws: int

    @property
    def k(self) -> int:
        """The number of components of PLS: the smallest within one standard error of the best."""
        return self.pls.one_standard_error

    @property
    def rmsep(self) -> np.ndarray:
        """The root mean squared error of prediction of each response, in its unit."""
        return np.sqrt(np.average((self.pair.Y - self.predicted) ** 2, axis=0, weights=self.pair.weights))

    @property
    def r2(self) -> np.ndarray:
        """1 - MSE / MSE of the means of the other folds, for each response; negative if predictions are worse."""
        errors = np.average((self.pair.Y - self.predicted) ** 2, axis=0, weights=self.pair.weights)
        return 1.0 - errors / np.average((self.pair.Y - self.means) ** 2, axis=0, weights=self.pair.weights)

    @property
    def better(self) -> np.ndarray:
        """For each response, by how many standard errors the squared errors are smaller than those of the means.

        Both errors are of the same row, so their differences are averaged.
        """
        # In units of each response, since squares of squares may be beyond the range of numbers.
        away = self.pair.Y - self.means
        unit = np.abs(away).max(axis=0)
        unit = np.where(unit > 0, unit, 1.0)
        gain = (away / unit) ** 2 - ((self.pair.Y - self.predicted) / unit) ** 2
        spread = gain.std(axis=0, ddof=1)
        return np.where(spread > 0, gain.mean(axis=0) / np.where(spread > 0, spread, 1.0) * math.sqrt(len(gain)), 0.0)


def regression(pair: Pair, standardize: bool, seed: int) -> Regression:
    """PLS and PCR in ten folds of shuffled rows, and PLS of all rows with bootstrap intervals of its coefficients.

    Everything is of the rows in memory: one cross-validation for each method, ten fits for the predictions, and one
    fit for each bootstrap sample.
    """
    X, Y, weights = pair.X, pair.Y, pair.weights
    n, p = X.shape
    # The mean squared error of several responses is an average of numbers without units.
    unit = Y.std(axis=0, ddof=1) if Y.shape[1] > 1 else np.ones(1)
    scaled = Y / unit
    folds = list(KFold(min(FOLDS, n), shuffle=True, random_state=seed).split(X))
    least = min(len(train) for train, _ in folds)
    counts = range(1, max(1, min(MOST_COMPONENTS, p, least - 1)) + 1)
    scale = (standardize, False)
    pls, pcr = (
        cross_validate(kind(scale=scale), X, scaled, cv=folds, n_components=counts, sample_weight=weights)
        for kind in (PLSRegression, PCR)
    )
    k = pls.one_standard_error
    predicted, means = np.empty_like(Y), np.empty_like(Y)
    for train, test in folds:
        of_train = None if weights is None else weights[train]
        fold = PLSRegression(k, scale=scale).fit(X[train], scaled[train], sample_weight=of_train)
        predicted[test] = fold.predict(X[test]).reshape(len(test), -1) * unit
        means[test] = np.average(Y[train], axis=0, weights=of_train)
    model = PLSRegression(k, scale=scale).fit(X, scaled, sample_weight=weights)
    draws = max(_FEWEST_DRAWS, int(_DRAWS * min(1.0, _MANY_COLUMNS / p)))
    found = bootstrap(
        PLSRegression(k, scale=scale),
        X,
        scaled,
        n_boot=draws,
        sample_weight=weights,
        random_state=seed,
    )
    size = X.std(axis=0, ddof=1) * unit[:, None]
    low, high = found.interval("coef")
    return Regression(
        pair=pair,
        pls=pls,
        pcr=pcr,
        predicted=predicted,
        means=means,
        model=model,
        effect=found.estimates["coef"] * size,
        low=low * size,
        high=high * size,
        n_draws=draws,
    )
