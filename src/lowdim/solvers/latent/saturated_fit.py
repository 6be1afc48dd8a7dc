"""The saturated model of rows with holes: the Gaussian, with any mean and covariance, of maximum likelihood.

Probabilistic PCA with p - 1 components of p columns can have any covariance: its noise variance is the smallest
eigenvalue. So the EM algorithm for PPCA finds the saturated model too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._xp import to_numpy
from ...errors import (
    constant_with_holes,
    covariance_not_converged,
    never_observed,
    one_column_with_holes,
    undetermined_covariance,
)
from ...summaries.latent import LatentGaussian
from ...summaries.observed import Observed
from ..base import RowsLike, SpectraLike
from ..results import Misfit, Status
from .em import EM
from .latent_solver import LatentRequest
from .reference_fits import residuals_of_correlation

#: The likelihood has one maximum in practice, and a chi-square is a difference of two of them.
_EM = EM(tol=1e-6, n_init=0)
#: Lower bound on the noise variance, as for PPCA.
_FLOOR = 1e-10


@dataclass(frozen=True)
class Saturated:
    """The Gaussian of maximum likelihood for rows with holes, and the likelihood of independent columns."""

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


def saturated(rows: RowsLike, spectra: SpectraLike, *, unstored: bool = False, seed: int = 0) -> Saturated:
    """The mean and covariance of maximum likelihood, by EM; about ten to twenty passes, n p^3 operations for each.

    If at most p rows are complete, the density is infinite on a plane through them. There may still be a local maximum
    elsewhere, which is what is wanted; if EM finds none, there is an error.
    """
    p = rows.shape[1]
    observed = rows.summarize(Observed(p, unstored=unstored, components=1))
    count, squares = to_numpy(observed.count), to_numpy(observed.squares)
    if p < 2:
        raise one_column_with_holes()
    if not np.all(count > 0.0):
        raise never_observed([int(j) for j in np.flatnonzero(count == 0.0)], rows.names)
    if not np.all(squares > 0.0):
        raise constant_with_holes([int(j) for j in np.flatnonzero(squares <= 0.0)], rows.names)
    assert observed.surplus is not None
    variances = squares / count
    independent = -0.5 * float(count @ (math.log(2 * math.pi) + np.log(variances) + 1.0))
    request = LatentRequest(p - 1, tied=True, floor=_FLOOR, unstored=unstored, seed=seed)
    fit, _ = _EM.fit_holes(rows, request, spectra)
    if fit.status is Status.UNDETERMINED:
        raise undetermined_covariance(p)
    if fit.status is not Status.CONVERGED:
        raise covariance_not_converged(p, len(fit.loglike) - 1, fit.residual, _EM.tol)
    W, scale = to_numpy(fit.loadings) * to_numpy(fit.scale), to_numpy(fit.scale)
    return Saturated(
        weight=float(count.sum()) - observed.surplus,
        n_rows=observed.n_rows,
        mean=to_numpy(fit.mean),
        covariance=W.T @ W + np.diag(to_numpy(fit.noise) * scale**2),
        loglike=fit.loglike[-1],
        independent=independent,
        observed=float(count.sum()) / (observed.weight * p),
        passes=1 + fit.passes,
    )
