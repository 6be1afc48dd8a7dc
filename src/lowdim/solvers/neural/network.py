"""A fitted auto-encoder as functions of blocks of rows, for arrays of any library.

Inside, rows are v = (x - mean) / unit and latent variables u; scores are z = widths u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..._xp import Array, asarray_like, astype, dense, device, namespace, wide_dtype
from ...errors import not_variational
from ...summaries.entries import observed_entries
from ...summaries.latent import LatentGaussian

#: Logarithms of variances of the posterior are at most this; those of the prior are zero. Far from the rows of the fit,
#: where the encoder is nearly linear, they would grow without bounds.
MOST_LOG_VARIANCE = 2.0
#: Factors with which squares in float32 stay in the range of float32.
_FLOAT32_FACTORS = 1e-28, 1e28


@dataclass(frozen=True, eq=False)
class Network:
    """Encoder and decoder, and the units between which they map.

    Parameters
    ----------
    mean : array of shape (p,)
    unit : float
        The number by which centred rows are divided.
    widths : array of shape (k,)
        Scores divided by latent variables.
    encoder, decoder : paths, from v to u and back
        With `log_noise`, the encoder returns the mean of u and then the logarithm of its variance.
    gaussian : LatentGaussian
        The linear model, by whose expectations missing entries are filled in before they are encoded.
    log_noise : float, optional
        The logarithm of the variance of v given u, in a variational auto-encoder.
    """

    mean: Array
    unit: float
    widths: Array
    encoder: Any
    decoder: Any
    gaussian: LatentGaussian
    log_noise: float | None = None

    @property
    def k(self) -> int:
        """The number of latent variables."""
        return int(self.widths.shape[0])

    def check(self, k: int, p: int, variational: bool) -> None:
        """Raise a ValueError if the parts do not fit together, or not to k components of p columns."""
        self.encoder.check()
        self.decoder.check()
        ways = tuple(self.encoder.matrix.shape), tuple(self.decoder.matrix.shape)
        if ways != ((p, 2 * k if variational else k), (k, p)) or self.widths.shape[0] != k:
            raise ValueError("the network does not have the shape that the parameters say")
        if variational != (self.log_noise is not None) or self.gaussian.loadings.shape[1] != p:
            raise ValueError("the network is not of the kind that the parameters say")

    def standardized(self, block: Array) -> tuple[Array, Array | None]:
        """v for the rows of a block, with expectations for missing entries, and which entries are known; None if all
        are."""
        rows = dense(block)
        xp = namespace(rows)
        holes = xp.isnan(rows)
        known = None
        if bool(xp.any(holes)):
            known = ~holes
            rows = xp.where(holes, astype(self._expected(rows), rows.dtype), rows)
        return (rows - astype(self.mean, rows.dtype)) / self.unit, known

    def _expected(self, rows: Array) -> Array:
        """The expectations of all entries given those that are known."""
        g = self.gaussian
        u = g.expect(observed_entries(rows, False))[0]
        return g.mean + g.scale * (u.T @ g.loadings)

    def scores(self, block: Array) -> Array:
        """The scores of rows."""
        V, _ = self.standardized(block)
        return self.encoder(V)[:, : self.k] * astype(self.widths, V.dtype)

    def centred_rows(self, Z: Array) -> Array:
        """Rows minus their mean, from scores. If there are fewer columns than latent variables, the others are zero."""
        xp = namespace(Z)
        if Z.shape[1] < self.k:
            shape = (Z.shape[0], self.k - Z.shape[1])
            Z = xp.concat([Z, xp.zeros(shape, dtype=Z.dtype, device=device(Z))], axis=1)
        return self.decoder(Z / astype(self.widths, Z.dtype)) * self.unit

    def reconstructed(self, V: Array) -> Array:
        """v after encoding and decoding."""
        return self.decoder(self.encoder(V)[:, : self.k])

    def errors(self, block: Array) -> Array:
        """Squared distances of rows to their reconstructions, over the known entries; in float64 if squares of float32
        rows may be out of range."""
        found = self.errors_of_units(block)
        xp, factor = namespace(found), self.unit**2
        if not _FLOAT32_FACTORS[0] < factor < _FLOAT32_FACTORS[1]:
            found = astype(found, wide_dtype(xp, device(found)))
        return found * factor

    def errors_of_units(self, block: Array) -> Array:
        """The same in units of v."""
        V, known = self.standardized(block)
        return _squares(V - self.reconstructed(V), known)

    def filled(self, block: Array) -> Array:
        """The rows, with their reconstructions in place of missing entries."""
        V, known = self.standardized(block)
        if known is None:
            return dense(block)
        rows = self.reconstructed(V) * self.unit + astype(self.mean, V.dtype)
        return namespace(V).where(known, dense(block), rows)

    def bounds(self, block: Array) -> Array:
        """The evidence bound of each row, E ln p(x | u) - KL(q(u | x) || N(0, I)), over the known entries [1].

        The expectation is a mean over points of the right mean and covariance. It is exact for a linear decoder.
        """
        if self.log_noise is None:
            raise not_variational()
        V, known = self.standardized(block)
        xp, k = namespace(V), self.k
        found = self.encoder(V)
        mean, log_variance = found[:, :k], xp.clip(found[:, k:], None, MOST_LOG_VARIANCE)
        deviation = xp.exp(0.5 * log_variance)
        points = asarray_like(expectation_points(k), V, dtype=V.dtype)
        m = points.shape[0]
        squares = sum(_squares(V - self.decoder(mean + deviation * points[i, :]), known) for i in range(m)) / m
        count = V.shape[1] if known is None else xp.sum(astype(known, V.dtype), axis=1)
        constant = math.log(2.0 * math.pi) + self.log_noise + 2.0 * math.log(self.unit)
        divergence = 0.5 * xp.sum(xp.exp(log_variance) + mean * mean - 1.0 - log_variance, axis=1)
        return -0.5 * (squares * math.exp(-self.log_noise) + count * constant) - divergence


def _squares(residual: Array, known: Array | None) -> Array:
    """Sums of squares of the rows, over the known entries."""
    xp = namespace(residual)
    squares = residual * residual
    return xp.sum(squares if known is None else squares * astype(known, residual.dtype), axis=1)


@lru_cache(maxsize=16)
def expectation_points(k: int) -> np.ndarray:
    """Points z whose mean of a function stands for its expectation under N(0, I), (m, k) with m = max(32, 4 k).

    They are random numbers and their negatives, multiplied by the matrix that makes their second moments I. So the mean
    is exact for polynomials of degree at most three. For other functions it has the error of so many random numbers.
    """
    half = np.random.default_rng(k).standard_normal((max(16, 2 * k), k))
    root = np.linalg.cholesky(half.T @ half / len(half))
    half = np.linalg.solve(root, half.T).T
    return np.concatenate([half, -half])
