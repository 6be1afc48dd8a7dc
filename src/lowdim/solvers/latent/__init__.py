"""Latent Gaussian models x = mean + W^T u + e of rows: the problem behind PPCA and factor analysis.

`solve(rows, request, asked)` is the entry point. Complete rows are fitted by the closed form, by Newton's
method or by EM; rows with missing entries are fitted by EM. `saturated` is the Gaussian with any covariance, by which
such a model of rows with missing entries is judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..._core.arrays import to_numpy
from ...errors import UndeterminedCovariance, constant_with_missing, never_observed
from ...linalg import most_components
from ...summaries.latent import LatentGaussian
from .. import spectra
from ..problem import RowsLike, Status
from .base import LatentProblem, LatentRequest, LatentSolver, Misfit, residuals_of_correlation
from .em import EM, observed_of
from .newton import Newton, NewtonCG

#: Solvers by shorthand. The closed form is requested by the name of a solver of spectra.
LATENT_SOLVERS: dict[str, type[LatentSolver]] = {cls.name: cls for cls in (Newton, EM, NewtonCG)}
#: The names of these, for type checkers.
LatentSolverName = Literal["auto", "newton", "em", "newton-cg"]

PROBLEM = LatentProblem(LATENT_SOLVERS)
plan, solve, solve_summary = PROBLEM.plan, PROBLEM.solve, PROBLEM.solve_summary
empty_summary = PROBLEM.empty_summary

#: The likelihood has one maximum in practice, and a chi-square is a difference of two of them.
_EM = EM(tol=1e-6, n_init=0)
#: Lower bound on the noise variance, as for PPCA.
_FLOOR = 1e-10


@dataclass(frozen=True)
class Saturated:
    """The Gaussian of maximum likelihood for rows with missing entries, and the likelihood of independent columns."""

    #: Total weight of the rows with at least one observed entry, and the number of all rows.
    weight: float
    n_rows: int
    mean: np.ndarray
    covariance: np.ndarray
    #: Log-likelihoods of the observed entries: of this model, and of the model of independent columns.
    loglike: float
    independent: float
    #: The share of the entries that are observed.
    observed: float
    passes: int

    def misfit(self, model: LatentGaussian, loglike: float) -> Misfit:
        """How far another model of the same rows, with its log-likelihood, is from this one."""
        sd = np.sqrt(np.diagonal(self.covariance))
        unit = to_numpy(model.scale) / sd
        W, psi = to_numpy(model.loadings) * unit, to_numpy(model.noise) * unit**2
        residuals = residuals_of_correlation(self.covariance / sd / sd[:, None], W, psi)
        per = 2.0 / self.weight
        return Misfit(
            self.weight, per * (self.loglike - loglike), per * (self.loglike - self.independent), residuals, False
        )


def saturated(rows: RowsLike, *, unstored: bool = False, seed: int = 0) -> Saturated:
    """The mean and covariance of maximum likelihood, by EM: one pass if the rows can be grouped by pattern of missing
    entries (`patterns_of`), otherwise about ten to twenty, n p^3 operations for each.

    Probabilistic PCA with p - 1 components of p columns can have any covariance: its noise variance is the smallest
    eigenvalue. So the EM algorithm for PPCA finds the saturated model too.

    If at most p rows are complete, the density is infinite on a plane through them. There may still be a local maximum
    elsewhere, which is what is wanted; if EM finds none, there is an error.
    """
    p = rows.shape[1]
    request = LatentRequest(p - 1, tied=True, floor=_FLOOR, unstored=unstored, seed=seed)
    observed, passes = observed_of(rows, unstored, 1)
    count, squares = to_numpy(observed.count), to_numpy(observed.squares)
    if p < 2:
        raise UndeterminedCovariance("X has one column, and covariances need at least 2. Give more columns.")
    if not np.all(count > 0.0):
        raise never_observed([int(j) for j in np.flatnonzero(count == 0.0)], rows.names)
    if not np.all(squares > 0.0):
        raise constant_with_missing([int(j) for j in np.flatnonzero(squares <= 0.0)], rows.names)
    if most_components(observed.n_rows, observed.weight, p) < p - 1:
        raise UndeterminedCovariance(
            f"{observed.n_rows} rows do not determine the covariance of {p} columns: more rows than columns are needed."
        )
    assert observed.surplus is not None
    variances = squares / count
    independent = -0.5 * float(count @ (math.log(2 * math.pi) + np.log(variances) + 1.0))
    fit, _ = _EM.fit_missing(rows, request, spectra)
    if fit.status is Status.UNDETERMINED:
        raise UndeterminedCovariance(
            f"the observed entries do not determine the covariance of {p} columns: at most {p} rows have no missing "
            "entry, so that the likelihood grows without bound towards a plane through all of these, and EM found no "
            "maximum elsewhere. Drop the columns with most missing entries, or compare numbers of components by bic, "
            "which does without such a covariance."
        )
    if fit.status is not Status.CONVERGED:
        raise UndeterminedCovariance(
            f"the covariance of {p} columns with missing entries was not found in {len(fit.loglike) - 1} steps of EM: "
            f"residual {fit.residual:.1e}, tolerance {_EM.tol:g}. Drop the columns with most missing entries, or "
            "columns that depend on others."
        )
    W, scale = to_numpy(fit.loadings) * to_numpy(fit.scale), to_numpy(fit.scale)
    return Saturated(
        weight=float(count.sum()) - observed.surplus,
        n_rows=observed.n_rows,
        mean=to_numpy(fit.mean),
        covariance=W.T @ W + np.diag(to_numpy(fit.noise) * scale**2),
        loglike=fit.loglike[-1],
        independent=independent,
        observed=float(count.sum()) / (observed.weight * p),
        passes=passes + fit.passes,
    )
