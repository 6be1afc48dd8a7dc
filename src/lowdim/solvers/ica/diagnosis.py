"""The agreement of results from several starts, and the detection of Gaussian sources."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...densities import Density
from ..results import Unmixing


def agreement(best: Unmixing, answers: list[Unmixing]) -> np.ndarray:
    """How well the sources of `best` are found again from other starts, from 0 to 1 (the quality index of ICASSO [1]).

    The sources of all results are matched to those of the best one. The index of a cluster is the average absolute
    correlation within it minus that with sources outside. The rows are white, so the correlations of sources are those
    of the rows of W.

    References
    ----------
    [1] Himberg, Hyvarinen, Esposito (2004), Validating the independent components of neuroimaging time series via
    clustering and visualization.
    """
    k = len(best.W)
    units = [a.W / np.linalg.norm(a.W, axis=1, keepdims=True) for a in (best, *answers)]
    clusters = []
    for U in units[1:]:
        _, order = linear_sum_assignment(-np.abs(units[0] @ U.T))
        clusters.append(U[order])
    similar = np.zeros((k, k))
    for one in clusters:
        for other in clusters:
            similar += np.abs(one @ other.T) / len(clusters) ** 2
    inside = np.diagonal(similar)
    if k == 1:
        return inside.copy()
    return inside - (similar.sum(axis=1) - inside) / (k - 1)


def non_gaussianity(answer: Unmixing, density: Density, n: float) -> np.ndarray:
    """The distance of each source from a Gaussian one, in standard errors.

    It is negative if the density of the source is for tails on the other side of the Gaussian.
    """
    deviations = deviations_from_gaussian(answer.W, answer.stability, density, n)
    return np.where(answer.flipped, -deviations, deviations)


def deviations_from_gaussian(W: np.ndarray, stability: np.ndarray, density: Density, n: float) -> np.ndarray:
    """The stability E[psi'(y_i)] E[y_i^2] - E[psi(y_i) y_i] of each source y = W z, in standard errors.

    For a Gaussian source of variance v, v E[psi'(y)] = E[psi(y) y] (Stein). The standard error of the difference over n
    rows follows from the variance of v psi'(y) + y^2 E[psi'] - psi(y) y.
    """
    nodes, weights = _gaussian_nodes()
    variances = np.einsum("ij,ij->i", W, W)
    y = nodes * np.sqrt(variances)[:, None]
    slope, score = density.slope(y), density.score(y)
    influence = variances[:, None] * slope + y * y * (slope @ weights)[:, None] - score * y
    return stability / np.sqrt((influence - (influence @ weights)[:, None]) ** 2 @ weights / n)


def loss_of_end(answer: Unmixing, density: Density, ortho: bool) -> float:
    """A loss by which ends of different starts are compared, although their sources may have different densities.

    If W is free, the sources have the scales of highest likelihood, and the loss is minus the log-likelihood. With
    `ortho` the sources have variance one, which suits a density and its flipped density differently, so likelihoods do
    not compare. Then the loss is the sum of E[-ln p_i(y_i)] - E[-ln p_i(v)] for a standard Gaussian v. For either
    density this is minus the contrast |E[-ln p(y_i)] - E[-ln p(v)]| that the iteration maximises [1].

    References
    ----------
    [1] Hyvarinen (1999), Fast and robust fixed-point algorithms for independent component analysis, eq. 7.
    """
    if not ortho:
        return answer.loss[-1]
    n_flipped = int(np.count_nonzero(answer.flipped))
    gaussian = (len(answer.W) - n_flipped) * gaussian_energy(density)
    if n_flipped and density.flipped is not None:
        gaussian += n_flipped * gaussian_energy(density.flipped)
    return answer.loss[-1] - gaussian


def gaussian_energy(density: Density) -> float:
    """E[-ln p(v)] for a standard Gaussian v."""
    nodes, weights = _gaussian_nodes()
    return float(weights @ density.energy(nodes))


@cache
def _gaussian_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Quadrature nodes and weights for expectations under a standard Gaussian."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    return nodes, weights / weights.sum()


def gaussian_sources(deviations: np.ndarray) -> np.ndarray:
    """Indices of sources that cannot be distinguished from Gaussian ones, by their `non_gaussianity`.

    ICA chooses the directions in a space of m Gaussian sources to be as non-Gaussian as possible, so they deviate the
    more the larger m is. The bound was found in simulations with 2 to 40 Gaussian sources.
    """
    few = np.arange(len(deviations))
    while True:
        fewer = np.flatnonzero(np.abs(deviations) < 1.0 + 1.5 * np.sqrt(len(few)))
        if len(fewer) == len(few):
            return few
        few = fewer
