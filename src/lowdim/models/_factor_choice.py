"""What the rules for the number of factors need: eigenvalues of the correlation matrix, and likelihoods of fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._xp import to_numpy
from ..selection.choices import Choice
from ..selection.eigenvalues import Eigenvalues
from ..selection.penalties import penalised_curve
from ..selection.rules import Rule
from ..solvers import Request, latent, spectra
from ..summaries import Moments, Triangle
from ._rule_choice import eigenvalues_for

#: What BIC and AIC assume for factors, which is less than for principal components.
LIKELIHOOD = (
    "Assumes Gaussian rows, and many more of them than columns, as for the chi-square test. Each column may have its "
    "own noise variance; noise that columns share is taken for a factor."
)


def choose_by_likelihood(
    name: str, summary: Moments | Triangle, most: int, fit: Callable[..., Any]
) -> tuple[Choice, list[Any]]:
    """The choice of BIC or AIC among 0, 1, ..., `most` factors, and the fits of 1, 2, ... factors that it needed.

    The curve is price * (number of parameters) - 2 ln L, with the price 2 (AIC) or ln n (BIC). `fit(summary, k, start)`
    fits k factors and starts at the uniquenesses of the fit before. No likelihood exceeds that of the sample
    covariance, so the curve ends where further factors cost more than they could gain. If that is so for one factor
    already, there are no fits.
    """
    p, fits = summary.n_features, list[Any]()

    def loglike_of(k: int) -> float:
        if k == 0:
            return latent.independent_loglike(summary)
        fits.append(fit(summary, k, to_numpy(fits[-1][0].noise) if fits else None))
        return float(fits[-1][0].loglike[-1])

    found = latent.saturated_loglike(summary)
    # If the covariance is singular, there is no bound, and all numbers are tried; there are few rows then.
    bound = math.inf if found is None else found
    curve = penalised_curve(name, summary.weight, loglike_of, partial(n_parameters, p), most, bound)
    return Choice(name, int(np.argmin(curve)), curve, LIKELIHOOD), fits


def correlation_eigenvalues(summary: Moments | Triangle, rule: Rule) -> Eigenvalues:
    """The eigenvalues of the correlation matrix, which is not formed if there are fewer rows than columns."""
    p = summary.n_features
    if not isinstance(summary, Triangle) or summary.root.shape[0] >= p:
        return Eigenvalues.from_summary(summary, standardize=True)
    spectrum, _ = spectra.solve_summary(summary, Request(k=None, standardize=True))
    return eigenvalues_for(rule, spectrum, p, 1)


def n_parameters(p: int, k: int) -> int:
    """The number of free parameters of k factors of p columns: loadings up to a rotation, uniquenesses, means."""
    return p * k - k * (k - 1) // 2 + 2 * p
