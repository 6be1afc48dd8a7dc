"""The maximisation half of an EM step, in which every column is regressed on the expected latent variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._xp import Array, asarray_like, namespace, to_numpy
from ...summaries.completed import Completed
from ...summaries.latent import Latent, LatentGaussian
from ...summaries.packed import pack, unpack
from .em_acceleration import Iterate
from .newton import Newton


@dataclass(frozen=True)
class MaximumLikelihood:
    """argmax over W, mean and noise of the expected log-likelihood.

    With A_d = sum_i m_id E[v v^T] and c_d = sum_i m_id z_id E[v], v = (u, 1): (w_d, step of mean_d) = A_d^{-1} c_d, and
    the noise is the remaining variance, (sum z^2 - c_d^T A_d^{-1} c_d) / sum_i m_id.

    Parameters
    ----------
    tied : bool
        One noise variance for all columns (PPCA), or one per column (factor analysis).
    floor : float
        Lower bound on the noise variances.
    """

    tied: bool
    floor: float

    def __call__(self, latent: Latent, at: Iterate) -> Iterate:
        model = at.model
        xp, k = namespace(model.noise), model.k
        A = _by_column(latent.second, k + 1)
        c = latent.cross.T
        theta = xp.linalg.solve(A, c[:, :, None])[:, :, 0]
        rest = xp.clip(latent.squares - xp.sum(c * theta, axis=1), 0.0, None)
        noise = noise_variances(rest, latent.second[-1, :], self.tied, self.floor)
        W, step = theta[:, :k].T, theta[:, k]
        # Parameter expansion: W and the mean absorb the mean and covariance that the latent variables have now.
        centre, root = (asarray_like(a, W, dtype=W.dtype) for a in latent_root(latent, k))
        step = step + centre @ W
        return Iterate(LatentGaussian(model.mean + step * model.scale, model.scale, root @ W, noise))


@dataclass(frozen=True)
class CompletedFactors:
    """argmax over W, mean and noise of the expected log-likelihood of the completed rows.

    This is a factor analysis of their moments, by `Newton` from the current uniquenesses. Only the holes are treated as
    unobserved, not the factors, so small uniquenesses do not slow down the iteration.
    """

    newton: Newton

    def __call__(self, completed: Completed, at: Iterate) -> Iterate:
        model = at.model
        total = to_numpy(completed.total) / completed.weight
        S = to_numpy(completed.second) / completed.weight - total * total[:, None]
        variance, floor = np.diagonal(S), self.newton.floor
        # Columns whose observed entries are constant are left out of the factor analysis.
        varies = np.flatnonzero(variance > 10 * floor)
        sd = np.sqrt(variance[varies])
        R = S[np.ix_(varies, varies)] / sd / sd[:, None]
        before = np.clip(to_numpy(model.noise)[varies] / sd**2, floor, 1.0)
        found = self.newton.descend(R, min(model.k, len(varies)), before)
        loadings, psi = np.zeros(model.loadings.shape), np.full(len(S), floor)
        loadings[: len(found.loadings), varies], psi[varies] = found.loadings * sd, np.maximum(found.psi * sd**2, floor)
        like, dtype = model.noise, model.noise.dtype
        W, noise = (asarray_like(a, like, dtype=dtype) for a in (loadings, psi))
        mean = model.mean + asarray_like(total, like, dtype=dtype) * model.scale
        return Iterate(LatentGaussian(mean, model.scale, _align(W, model.loadings), noise))


@dataclass(frozen=True)
class VariationalBayes:
    """The posterior of (w_d, mean_d) under w_dk ~ N(0, v_k), then the v_k and the noise that maximise the bound [1].

    References
    ----------
    [1] Ilin, Raiko (2010), Practical approaches to principal component analysis in the presence of missing values,
        section 3.
    """

    floor: float

    def __call__(self, latent: Latent, at: Iterate) -> Iterate:
        model = at.model
        assert at.relevance is not None
        xp, k = namespace(model.noise), model.k
        noise = model.noise[0]
        A = _by_column(latent.second, k + 1)
        c = latent.cross.T
        prior = asarray_like(np.diag(np.append(1.0 / at.relevance, 0.0)), A, dtype=A.dtype)
        spread = xp.linalg.inv(A / noise + prior[None, :, :])
        theta = (spread @ c[:, :, None])[:, :, 0] / noise
        second = spread + theta[:, :, None] * theta[:, None, :]
        rest = latent.squares - 2 * xp.sum(c * theta, axis=1) + xp.sum(xp.sum(A * second, axis=2), axis=1)
        noise = noise_variances(rest, latent.second[-1, :], True, self.floor)
        T, relevance = self._expansion(latent, to_numpy(xp.sum(second[:, :k, :k], axis=0)), k)
        T = asarray_like(T, theta, dtype=theta.dtype)
        theta, spread = theta @ T.T, T @ spread @ T.T
        mean = model.mean + theta[:, k] * model.scale
        packed = pack(xp.permute_dims(spread, (1, 2, 0)))
        relevance = np.maximum(relevance / theta.shape[0], self.floor)
        return Iterate(LatentGaussian(mean, model.scale, theta[:, :k].T, noise, packed), relevance)

    @staticmethod
    def _expansion(latent: Latent, second: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The change of coordinates of (w_d, mean_d) that increases the bound most [2], and the diagonal it leads to.

        The latent variables get mean zero and covariance I, and sum_d E[w_d w_d^T], here `second`, becomes diagonal.

        References
        ----------
        [2] Luttinen, Ilin (2010), Transformations in variational Bayesian factor analysis to speed up learning.
        """
        centre, root = latent_root(latent, k)
        values, vectors = np.linalg.eigh(root @ second @ root)
        values, vectors = values[::-1], vectors[:, ::-1]
        # Close to convergence the rotation is nearly I up to signs, which are chosen such that no axis is reversed.
        vectors = vectors * np.where(np.diagonal(vectors) < 0, -1.0, 1.0)
        T = np.eye(k + 1)
        T[:k, :k] = vectors.T @ root
        T[k, :k] = centre
        return T, values

    @staticmethod
    def prior_term(at: Iterate) -> float:
        """Minus the Kullback-Leibler divergence of the posterior of W from its prior; the prior of the mean is flat."""
        model = at.model
        assert at.relevance is not None
        if model.spread is None:
            return -np.inf
        k, p = model.loadings.shape
        spread = _host_by_column(model.spread, k + 1)
        second = np.sum(to_numpy(model.loadings) ** 2, axis=1) + np.sum(
            np.diagonal(spread, axis1=1, axis2=2)[:, :k], axis=0
        )
        log_determinants = float(np.sum(np.linalg.slogdet(spread)[1]))
        return 0.5 * (log_determinants + p * k - float(np.sum(p * np.log(at.relevance) + second / at.relevance)))


def _align(W: Array, before: Array) -> Array:
    """W rotated to be as close as possible to `before`, so that steps can be combined."""
    U, _, Vt = np.linalg.svd(to_numpy(before) @ to_numpy(W).T)
    return asarray_like(U @ Vt, W, dtype=W.dtype) @ W


def noise_variances(rest: Array, count: Array, tied: bool, floor: float) -> Array:
    """Noise variances from residual sums of squares and numbers of entries."""
    xp = namespace(rest)
    if tied:
        return xp.clip(xp.zeros_like(rest) + xp.sum(rest) / xp.sum(count), floor, None)
    return xp.clip(rest / count, floor, None)


def _by_column(packed: Array, k: int) -> Array:
    """Unpack symmetric matrices: (k(k+1)/2, p) -> (p, k, k)."""
    return namespace(packed).permute_dims(unpack(packed, k), (2, 0, 1))


def _host_by_column(packed: Array, k: int) -> np.ndarray:
    """The same as a NumPy array."""
    return np.ascontiguousarray(_by_column(to_numpy(packed), k))


def latent_root(latent: Latent, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the expected latent variables over the rows, and the symmetric root of their covariance."""
    scores = to_numpy(latent.scores) / float(latent.scores[-1])
    centre = scores[-1 - k : -1]
    second = unpack(scores[: k * (k + 1) // 2, None], k)[:, :, 0]
    values, vectors = np.linalg.eigh(second - centre[:, None] * centre)
    return centre, (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
