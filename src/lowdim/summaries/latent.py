"""Expected moments of latent variables given the observed entries of rows: the E step of expectation maximisation."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar, Self

from .._xp import Array, namespace
from ..errors import NonFiniteBlock
from .base import CACHE_BYTES, Changes, Layout, Summary, check_columns, row_weights
from .entries import observed_entries
from .moments import Moments
from .packed import identity, invert_positive, multiplicity, pack, pack_outer, pairs_like, unpack, with_one

#: The k x k tables of a block of rows take about this many bytes.
_TABLE_BYTES = 1 << 20
#: Number of arrays of the stored entries of a sparse block that are used at once.
_ENTRY_ARRAYS = 6
#: If the noise is below this, in units of the variance of a column, posterior means are refined iteratively.
_SMALL_NOISE = 1e-4
#: Names of the sums of `Latent`.
_SUMS = ("second", "covariances", "cross", "squares", "scores", "loglike")


class LatentGaussian:
    """The model z = W^T u + e of standardised rows z = (x - mean) / scale, with u ~ N(0, I) and e ~ N(0, diag(noise)).

    Parameters
    ----------
    mean, scale : arrays of shape (p,)
    loadings : array of shape (k, p)
        W; column d is w_d.
    noise : array of shape (p,)
        Variances of e, in units of scale^2.
    spread : array of shape ((k+1)(k+2)/2, p), optional
        Packed posterior covariance of (w_d, mean_d), if these are uncertain (variational Bayes).

    Notes
    -----
    Given the observed entries (m_id = 1) of row i, u_i has precision M_i = I + sum_d m_id E[w_d w_d^T] / noise_d
    and mean M_i^{-1} sum_d m_id (w_d z_id - cov(w_d, mean_d)) / noise_d. Both sums are products of the mask with tables
    that have one column for each column d. Of symmetric k x k tables only one half is stored ("packed", see `pairs`).

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.summaries import LatentGaussian
    >>> model = LatentGaussian(np.zeros(3), np.ones(3), np.array([[1.0, 1.0, 0.0]]), np.array([0.5, 0.5, 1.0]))
    >>> model.loadings.shape  # one component of three columns
    (1, 3)
    """

    #: Arguments of the constructor, in order.
    parameters = ("mean", "scale", "loadings", "noise", "spread")

    def __init__(self, mean: Array, scale: Array, loadings: Array, noise: Array, spread: Array | None = None) -> None:
        self.mean, self.scale, self.loadings, self.noise, self.spread = mean, scale, loadings, noise, spread
        self.k = int(loadings.shape[0])

    @cached_property
    def weighted(self) -> Array:
        """w_d / noise_d."""
        return self.loadings / self.noise

    @cached_property
    def squares(self) -> Array:
        """E[w_d w_d^T] / noise_d, packed: (k(k+1)/2, p)."""
        xp = namespace(self.loadings)
        i, j = pairs_like(self.k, self.loadings)
        table = xp.take(self.weighted, i, axis=0) * xp.take(self.loadings, j, axis=0)
        return table if self.spread is None else table + self.spread[: table.shape[0], :] / self.noise

    @cached_property
    def towards_mean(self) -> Array | None:
        """cov(w_d, mean_d) / noise_d, (k, p)."""
        half = self.k * (self.k + 1) // 2
        return None if self.spread is None else self.spread[half : half + self.k, :] / self.noise

    @cached_property
    def doubled_spread(self) -> Array | None:
        """spread / noise with pairs i != j twice: its product with a packed v v^T is v^T spread v / noise."""
        return (
            None if self.spread is None else self.spread * multiplicity(self.k + 1, self.spread)[:, None] / self.noise
        )

    @cached_property
    def constants(self) -> Array:
        """ln(2 pi noise_d scale_d^2), (1, p)."""
        xp = namespace(self.noise)
        return (math.log(2 * math.pi) + xp.log(self.noise) + 2 * xp.log(self.scale))[None, :]

    def expect(self, entries: Any) -> tuple[Array, Array, Array]:
        """Posterior means (k, b), packed posterior covariances (k(k+1)/2, b) and log-densities (b,) of the rows.

        With `spread`, log-densities are replaced by the rows' terms of the lower bound on the log-evidence.
        """
        xp = namespace(self.loadings)
        entries.centre(self.mean, self.scale)
        packed = entries.across(self.squares)
        inverse, log_determinant = self._invert(packed)
        b = entries.across_values(self.weighted)
        if self.towards_mean is not None:
            b = b - entries.across(self.towards_mean)
        u = xp.sum(inverse * b[None, :, :], axis=1)
        if float(xp.min(self.noise)) < _SMALL_NOISE:
            # M is then ill-conditioned: one step of iterative refinement.
            left = b - u - xp.sum(unpack(packed, self.k) * u[None, :, :], axis=1)
            u = u + xp.sum(inverse * left[None, :, :], axis=1)
        # The minimum over u of sum (z - w^T u)^2 / noise + u^T u: no cancellation, however small the noise is.
        distance = entries.misfit(self.loadings, u, self.noise) + xp.sum(u * u, axis=0)
        if self.doubled_spread is not None:
            distance = distance + xp.sum(pack_outer(with_one(u)) * entries.across(self.doubled_spread), axis=0)
        log_density = -0.5 * (entries.across(self.constants)[0, :] + log_determinant + distance)
        return u, pack(inverse), log_density

    def predictive_tables(self) -> Array:
        """Tables whose products with `predictive_terms` are the variances of unobserved entries, in the units of x."""
        xp = namespace(self.loadings)
        i, j = pairs_like(self.k, self.loadings)
        outer = xp.take(self.loadings, i, axis=0) * xp.take(self.loadings, j, axis=0)
        parts = [outer * multiplicity(self.k, outer)[:, None], self.noise[None, :]]
        if self.spread is not None:
            parts.append(self.spread * multiplicity(self.k + 1, self.spread)[:, None])
        return xp.concat(parts) * self.scale**2

    def predictive_terms(self, u: Array, covariance: Array) -> Array:
        """For each row, cov(u), 1 and, if loadings are uncertain, E[v v^T] with v = (u, 1): (m, b)."""
        xp = namespace(u)
        parts = [covariance, xp.ones_like(u[:1, :])]
        if self.spread is not None:
            second = pack_outer(with_one(u))
            second[: covariance.shape[0], :] += covariance
            parts.append(second)
        return xp.concat(parts)

    def expect_complete(self) -> tuple[Array, Array, float]:
        """(G, u0) of u = G z + u0, the posterior covariance and the log-determinant of M, for complete rows."""
        xp = namespace(self.loadings)
        inverse, log_determinant = self._invert(xp.sum(self.squares, axis=1)[:, None])
        T = inverse[:, :, 0]
        u0 = xp.sum(xp.zeros_like(T), axis=0) if self.towards_mean is None else -T @ xp.sum(self.towards_mean, axis=1)
        return xp.concat([T @ self.weighted, u0[:, None]], axis=1), T, float(log_determinant[0])

    def _invert(self, packed: Array) -> tuple[Array, Array]:
        """(I + sum)^{-1} as (k, k, b), and ln det(I + sum)."""
        return invert_positive(unpack(packed + identity(self.k, packed), self.k))


class LatentSummary(Summary):
    """A summary of rows with missing entries, given a `LatentGaussian`.

    Parameters
    ----------
    model : LatentGaussian
    unstored : bool
        Treat entries that sparse rows do not store as missing, not as zero.
    """

    parameters: ClassVar[tuple[str, ...]] = (*LatentGaussian.parameters, "unstored")
    optional = ("spread",)
    nonnegative: ClassVar[tuple[str, ...]] = ("scale", "noise")
    takes_nan = True

    def __init__(self, model: LatentGaussian, *, unstored: bool = False) -> None:
        self.model = model
        self.unstored = bool(unstored)
        self.mean, self.scale, self.loadings = model.mean, model.scale, model.loadings
        self.noise, self.spread = model.noise, model.spread

    def _empty(self) -> Self:
        return type(self)(self.model, unstored=self.unstored)

    def _layout(self) -> Layout:
        k, p = self.loadings.shape
        pairs_of_k = (k + 1) * (k + 2) // 2
        columns: Layout = dict.fromkeys(("mean", "scale", "noise"), (p,))
        return columns | {"loadings": (k, p), "spread": (pairs_of_k, p), "unstored": (), "loglike": ()}

    @classmethod
    def _made_from(cls, stored: dict[str, Any]) -> Self:
        model = LatentGaussian(**{name: stored.pop(name) for name in LatentGaussian.parameters})
        return cls(model, unstored=stored.pop("unstored"))


class Latent(LatentSummary):
    """The sums over rows x that an EM step needs, given a `LatentGaussian`; v = (u, 1) and z = (x - mean) / scale.

    - `second`, (q, p): sum_i w_i m_id E[v_i v_i^T], packed, q = (k+1)(k+2)/2
    - `covariances`, (k(k+1)/2, p): sum_i w_i m_id cov(u_i), packed, if `informed`
    - `cross`, (k+1, p): sum_i w_i m_id z_id E[v_i]
    - `squares`, (p,): sum_i w_i m_id z_id^2
    - `scores`, (q,): sum_i w_i E[v_i v_i^T], packed
    - `loglike`: the log-likelihood of the observed entries under the model

    Parameters
    ----------
    model : LatentGaussian
    unstored : bool
        Treat entries that sparse rows do not store as missing, not as zero.
    informed : bool
        Whether to sum up `covariances`, which the information of the observed entries about the loadings needs.

    Notes
    -----
    One pass; (k+1)(k+4)/2 p numbers, and k(k+1)/2 p more if `informed`. About 3 n p k^2 + 2 n k^3 operations.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import summarize
    >>> from lowdim.summaries import Latent, LatentGaussian
    >>> model = LatentGaussian(np.zeros(3), np.ones(3), np.array([[1.0, 1.0, 0.0]]), np.array([0.5, 0.5, 1.0]))
    >>> found = summarize(np.array([[1.0, np.nan, 0.0], [2.0, 2.0, 1.0]]), Latent(model))
    >>> found.second.shape, round(float(found.loglike), 3)
    ((3, 3), -7.342)
    """

    parameters = (*LatentSummary.parameters, "informed")
    state = (*parameters, *_SUMS)
    nonnegative = (*LatentSummary.nonnegative, "squares")

    def __init__(self, model: LatentGaussian, *, unstored: bool = False, informed: bool = False) -> None:
        super().__init__(model, unstored=unstored)
        self.informed = bool(informed)
        self.second: Any = None
        self.covariances: Any = None
        self.cross: Any = None
        self.squares: Any = None
        self.scores: Any = None
        self.loglike = 0.0

    @classmethod
    def from_moments(cls, moments: Moments, model: LatentGaussian) -> Self:
        """The summary of complete rows from their moments: u = G z + u0 with the same G for all rows, so that 2 p^2 k
        operations are enough for any number of rows."""
        self = cls(model, informed=True)
        xp, n = namespace(moments.mean), moments.weight
        offset = ((moments.mean - model.mean) + moments.rest) / model.scale
        C = moments.scatter / model.scale[:, None] / model.scale[None, :] + n * offset[:, None] * offset[None, :]
        affine, T, log_determinant = model.expect_complete()
        G, u0 = affine[:, :-1], affine[:, -1]
        total = n * offset
        zu = C @ G.T + total[:, None] * u0[None, :]
        shift = (G @ total)[:, None] * u0[None, :]
        uu = G @ (C @ G.T) + shift + shift.T + n * u0[:, None] * u0[None, :]
        last = xp.concat([G @ total + n * u0, xp.full_like(u0[:1], n)])
        means = xp.concat([xp.concat([uu, last[:-1][:, None]], axis=1), last[None, :]])
        covariances = xp.zeros_like(means)
        covariances[:-1, :-1] = n * T
        self.scores = pack((means + covariances)[:, :, None])[:, 0]
        self.second = self.scores[:, None] + xp.zeros_like(total)[None, :]
        self.covariances = n * pack(T[:, :, None]) + xp.zeros_like(total)[None, :]
        self.cross = xp.concat([zu.T, total[None, :]])
        self.squares = xp.linalg.diagonal(C)
        W = model.loadings
        misfit = xp.sum((self.squares - 2 * xp.sum(W * zu.T, axis=0) + xp.sum(W * (uu @ W), axis=0)) / model.noise)
        distance = misfit + xp.sum(xp.linalg.diagonal(uu))
        if model.doubled_spread is not None:
            distance = distance + xp.sum(pack(means[:, :, None])[:, 0] * xp.sum(model.doubled_spread, axis=1))
        self.loglike = -0.5 * (n * (float(xp.sum(model.constants)) + log_determinant) + float(distance))
        return self

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        check_columns(self.loadings.shape[1], block)
        entries = observed_entries(block, self.unstored)
        u, covariance, log_density = self.model.expect(entries)
        xp = namespace(u)
        w = row_weights(u[0, :], weights)
        v = with_one(u)
        second = pack_outer(v)
        half = covariance.shape[0]
        second[:half, :] += covariance
        if weights is not None:
            second, covariance, v = second * w, covariance * w, v * w
        loglike = float(w @ log_density)
        if not math.isfinite(loglike):
            raise NonFiniteBlock
        q = second.shape[0]
        tables = entries.down(xp.concat([second, covariance]) if self.informed else second)
        by_values, squares = entries.down_values(v), entries.squares(w)
        parts = (tables[:q, :], tables[q:, :], by_values, squares, xp.sum(second, axis=1), loglike)
        return self._plus({name: part for name, part in zip(_SUMS, parts, strict=True) if name in self._sums()})

    def _merged(self, other: Self) -> Changes:
        if other.second is None:
            return {}
        return self._plus({name: getattr(other, name) for name in self._sums()})

    def _empty(self) -> Self:
        return type(self)(self.model, unstored=self.unstored, informed=self.informed)

    @classmethod
    def _made_from(cls, stored: dict[str, Any]) -> Self:
        made = super()._made_from(stored)
        made.informed = bool(stored.pop("informed"))
        return made

    def _sums(self) -> tuple[str, ...]:
        """The names of the sums that are made."""
        return tuple(name for name in _SUMS if self.informed or name != "covariances")

    def _layout(self) -> Layout:
        k, p = self.loadings.shape
        q = (k + 1) * (k + 2) // 2
        tables: Layout = {"second": (q, p), "cross": (k + 1, p), "squares": (p,), "scores": (q,)}
        if self.informed:
            tables["covariances"] = (k * (k + 1) // 2, p)
        return super()._layout() | {"informed": ()} | tables

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        by_tables = _TABLE_BYTES // (8 * self.model.k**2)
        row = 8 * n_columns * (_ENTRY_ARRAYS * stored if self.unstored else 1.0)
        by_entries = CACHE_BYTES / max(1.0, row)
        return max(32, min(by_tables, int(by_entries)))
