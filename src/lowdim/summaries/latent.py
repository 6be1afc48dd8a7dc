"""Expected moments of latent variables and of missing entries given the observed ones: the E step of EM."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from .._core.arrays import (
    Array,
    all_finite,
    asarray_like,
    astype,
    dense,
    device,
    is_sparse,
    namespace,
    subtract_product,
    wide_dtype,
)
from ..errors import NonFiniteBlock
from .base import CACHE_BYTES, Changes, Summary, check_squares, merged_mean, row_weights, total_weight, two_sum
from .moments import Moments

# Symmetric k x k tables of which one half is stored, and inverses of many of them at once.


@lru_cache(maxsize=64)
def pairs(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Row indices i and column indices j <= i of a packed k x k table: (0,0), (1,0), (1,1), (2,0), ... A packed table
    thus begins with the packed table of the first k - 1 indices."""
    return np.tril_indices(k)


def _table(which: str, k: int, like: Array) -> Any:
    """Indices of a table, or the packed unit matrix, in the namespace and on the device of `like`. They are moved to a
    device once, because that takes as long as an operation that uses them. The "pairs" are two arrays."""
    key = which, k, namespace(like), str(device(like))
    if key not in _kept:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        i, j = pairs(k)
        rows, columns = np.divmod(np.arange(k * k), k)
        low, high = np.minimum(rows, columns), np.maximum(rows, columns)
        # The place of an entry of the packed table in the full one, and that of an entry of the full table in it.
        tables = {"halves": i * k + j, "places": high * (high + 1) // 2 + low, "identity": (i == j).astype(float)}
        if which == "pairs":
            _kept[key] = asarray_like(i, like), asarray_like(j, like)
        else:
            _kept[key] = asarray_like(tables[which], like)
    return _kept[key]


#: Tables by their name, size, namespace, and the name of the device; at most so many.
_kept: dict[tuple[str, int, Any, str], Any] = {}
_MOST_KEPT = 64


def multiplicity(k: int, like: Array) -> Array:
    """How often each pair of a packed k x k table occurs in the full one: 1 on the diagonal, else 2."""
    i, j = pairs(k)
    return asarray_like(np.where(i == j, 1.0, 2.0), like, dtype=like.dtype)


def unpack(packed: Array, k: int) -> Array:
    """(k(k+1)/2, b) -> (k, k, b)."""
    xp = namespace(packed)
    return xp.reshape(xp.take(packed, _table("places", k, packed), axis=0), (k, k, packed.shape[1]))


def pack(full: Array) -> Array:
    """(k, k, b) -> (k(k+1)/2, b)."""
    xp, k = namespace(full), full.shape[0]
    return xp.take(xp.reshape(full, (k * k, full.shape[2])), _table("halves", k, full), axis=0)


def pack_outer(v: Array) -> Array:
    """v v^T of each column, packed: (k, b) -> (k(k+1)/2, b)."""
    xp = namespace(v)
    i, j = _table("pairs", v.shape[0], v)
    return xp.take(v, i, axis=0) * xp.take(v, j, axis=0)


def with_one(u: Array) -> Array:
    """(u, 1)."""
    xp = namespace(u)
    return xp.concat([u, xp.ones_like(u[:1, :])])


def invert_positive(A: Array) -> tuple[Array, Array]:
    """Inverses and log-determinants of b positive definite matrices, (k, k, b), by k symmetric sweeps [1].

    `A` is overwritten. Each operation is applied to all matrices at once, which for small matrices is many times
    faster than inverting them one by one.

    References
    ----------
    [1] Goodnight (1979), A tutorial on the SWEEP operator.
    """
    xp, k = namespace(A), A.shape[0]
    options = {"dtype": A.dtype, "device": device(A)}
    pivots, minus_one = xp.empty((k, A.shape[2]), **options), xp.full((A.shape[2],), -1.0, **options)
    for j in range(k):
        column = xp.asarray(A[:, j, :], copy=True)
        pivots[j, :] = column[j, :]
        row = column / column[j, :]
        A = subtract_product(A, column[:, None, :], row[None, :, :])
        A[j, :, :] = row
        A[:, j, :] = row
        A[j, j, :] = minus_one / column[j, :]
    return -A, xp.sum(xp.log(pivots), axis=0)


# The observed entries of a block. Missing are entries that are NaN or, on request, that a sparse block does not store.
#
# Tables have m numbers for each row or column of the block, and the shapes (m, b) for b rows and (m, p) for p
# columns, so that products with the mask m_id of observed entries access memory contiguously.


#: Of a dense block, only the observed entries are processed if they are less than this share of all entries. Otherwise
#: products with the mask are faster, although most of the numbers that they multiply are zero.
_FEW = 0.04


def observed_entries(block: Array, unstored: bool) -> DenseEntries:
    """The entries of `block` that were observed, in float64."""
    if unstored and is_sparse(block):
        return StoredEntries(block)
    block = dense(block)
    if isinstance(block, np.ndarray):
        known = ~np.isnan(block)
        if np.count_nonzero(known) < _FEW * known.size:
            # As a sparse array, zeros among them included.
            places = np.flatnonzero(known)
            ends = np.append(0, np.cumsum(np.count_nonzero(known, axis=1)))
            entries = (block.ravel()[places], places % block.shape[1], ends)
            return StoredEntries(sparse.csr_array(entries, shape=block.shape))
    return DenseEntries(block)


class DenseEntries:
    """A dense block in which NaN marks missing entries."""

    def __init__(self, block: Array) -> None:
        xp = namespace(block)
        x = astype(block, wide_dtype(block))
        self._missing = xp.isnan(x)
        self._x = xp.where(self._missing, xp.zeros_like(x), x)
        if not all_finite(self._x):
            raise NonFiniteBlock
        self.mask = astype(~self._missing, x.dtype)
        self.z = self._x

    def weights_like(self) -> Array:
        """An array with one float64 for each row, of which only length, dtype and device matter."""
        return self.z[:, 0]

    def known(self) -> Array:
        """Which entries were observed, (b, p)."""
        return ~self._missing

    def values(self) -> Array:
        """The entries themselves, zero where not observed, (b, p)."""
        return self._x

    def centre(self, mean: Array, scale: Array) -> None:
        """z = (x - mean) / scale where observed, zero elsewhere."""
        self.z = (self._x - mean) / scale * self.mask

    def across(self, table: Array) -> Array:
        """sum_d table_d m_id for each row i: (m, p) -> (m, b)."""
        return self._times(self.mask, table)

    def across_values(self, table: Array) -> Array:
        """sum_d table_d z_id for each row i: (m, p) -> (m, b)."""
        return self._times(self.z, table)

    def down(self, table: Array) -> Array:
        """sum_i table_i m_id for each column d: (m, b) -> (m, p)."""
        return self._times(self.mask.T, table)

    def down_values(self, table: Array) -> Array:
        """sum_i table_i z_id for each column d: (m, b) -> (m, p)."""
        return self._times(self.z.T, table)

    def _times(self, M: Array, table: Array) -> Array:
        """table M^T."""
        return table @ M.T

    def squares(self, weights: Array) -> Array:
        """sum_i weight_i z_id^2 for each column d."""
        return weights @ (self.z * self.z)

    def misfit(self, loadings: Array, scores: Array, noise: Array) -> Array:
        """sum_d m_id (z_id - w_d^T u_i)^2 / noise_d for each row i."""
        rest = (self.z - scores.T @ loadings) * self.mask
        return (rest * rest) @ (1.0 / noise)


class StoredEntries(DenseEntries):
    """A sparse block whose unstored entries are missing, as are stored NaN."""

    def __init__(self, block: Any) -> None:
        x = block.data.astype(np.float64)
        if np.any(np.isinf(x)):
            raise NonFiniteBlock
        known = ~np.isnan(x)
        if not np.all(known):
            rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))[known]
            block = sparse.csr_array((x[known], (rows, block.indices[known])), shape=block.shape)
            x = block.data
        self._block = block
        self._x = x
        #: The column of each entry, as an index that NumPy need not convert, and the number of entries of each row.
        self._columns, self._lengths = block.indices.astype(np.intp), np.diff(block.indptr)
        self.mask = self._like(np.ones_like(x))
        self.z = self._like(x)

    def weights_like(self) -> Array:
        return np.empty(self._block.shape[0])

    def known(self) -> Array:
        return self.mask.toarray() > 0

    def values(self) -> Array:
        return self._like(self._x).toarray()

    def centre(self, mean: Array, scale: Array) -> None:
        z = self._x - self._of_entries(mean)
        z /= self._of_entries(scale)
        self.z = self._like(z)

    def _times(self, M: Array, table: Array) -> Array:
        return np.ascontiguousarray((M @ np.ascontiguousarray(table.T)).T)

    def squares(self, weights: Array) -> Array:
        return self._like(self.z.data**2).T @ weights

    def misfit(self, loadings: Array, scores: Array, noise: Array) -> Array:
        rest = self.z.data.copy()
        for w, u in zip(loadings, scores, strict=True):
            explained = self._of_entries(w)
            explained *= np.repeat(u, self._lengths)
            rest -= explained
        rest *= rest
        rest /= self._of_entries(noise)
        return self._like(rest) @ np.ones(self._block.shape[1])

    def _of_entries(self, by_column: np.ndarray) -> np.ndarray:
        """The number of its column for each entry."""
        # The columns of a sparse array are in range, so their check is left out.
        return by_column.take(self._columns, mode="clip")

    def _like(self, data: np.ndarray) -> Any:
        return sparse.csr_array((data, self._block.indices, self._block.indptr), shape=self._block.shape, copy=False)


# Expected moments of latent variables given the observed entries of rows: the E step of expectation maximisation.


#: The k x k tables of a block of rows take about this many bytes.
_TABLE_BYTES = 1 << 20
#: Number of arrays of the stored entries of a sparse block that are used at once.
_ENTRY_ARRAYS = 6
#: If the noise is below this, in units of the variance of a column, posterior means are refined iteratively.
_SMALL_NOISE = 1e-4


class LatentGaussian:
    """The model z = W^T u + e of standardised rows z = (x - mean) / scale, with u ~ N(0, I) and e ~ N(0, diag(noise)).

    Parameters
    ----------
    mean, scale : arrays of shape (p,)
    loadings : array of shape (k, p)
        W; column d is w_d.
    noise : array of shape (p,)
        Variances of e, in units of scale^2.
    spread : array of shape ((k+1)(k+2)/2, p), default=None
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
        i, j = _table("pairs", self.k, self.loadings)
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
        i, j = _table("pairs", self.k, self.loadings)
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
        identity = astype(_table("identity", self.k, packed), packed.dtype)[:, None]
        return invert_positive(unpack(packed + identity, self.k))


class LatentSummary(Summary):
    """A summary of rows with missing entries, given a `LatentGaussian`.

    Parameters
    ----------
    model : LatentGaussian
    unstored : bool
        Treat entries that sparse rows do not store as missing, not as zero.
    """

    parameters: ClassVar[tuple[str, ...]] = (*LatentGaussian.parameters, "unstored")
    state: ClassVar[dict[str, str]] = dict(mean="p", scale="p", loadings="kp", noise="p", spread="qp", unstored="")
    optional = ("spread",)
    nonnegative: ClassVar[tuple[str, ...]] = ("scale", "noise")
    takes_nan = True
    second: Any

    def __init__(self, model: LatentGaussian, *, unstored: bool = False) -> None:
        self.model = model
        self.unstored = bool(unstored)
        self.mean, self.scale, self.loadings = model.mean, model.scale, model.loadings
        self.noise, self.spread = model.noise, model.spread

    def _empty(self) -> Self:
        return type(self)(self.model, **{name: getattr(self, name) for name in self._choices()})

    def _weighted(self, log_density: Array, weights: Array | None) -> tuple[Array, float]:
        """The weights of the rows of a block, and the sum of their log-densities."""
        w = row_weights(log_density, weights)
        loglike = float(w @ log_density)
        if not math.isfinite(loglike):
            raise NonFiniteBlock
        return w, loglike

    @classmethod
    def _choices(cls) -> tuple[str, ...]:
        """The names of the parameters that are not those of the model."""
        return cls.parameters[len(LatentGaussian.parameters) :]

    def _sizes(self) -> dict[str, int]:
        k, p = self.loadings.shape
        return {"p": p, "k": k, "v": k + 1, "h": k * (k + 1) // 2, "q": (k + 1) * (k + 2) // 2}

    @classmethod
    def _made_from(cls, stored: dict[str, Any]) -> Self:
        model = LatentGaussian(**{name: stored.pop(name) for name in LatentGaussian.parameters})
        return cls(model, **{name: stored.pop(name) for name in cls._choices()})


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
    unstored : bool, default=False
        Treat entries that sparse rows do not store as missing, not as zero.
    informed : bool, default=False
        Whether to sum up `covariances`, which the information of the observed entries about the loadings needs.

    Notes
    -----
    One pass; (k+1)(k+4)/2 p numbers, and k(k+1)/2 p more if `informed`. About 3 n p k^2 + 2 n k^3 operations.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Latent, LatentGaussian
    >>> model = LatentGaussian(np.zeros(3), np.ones(3), np.array([[1.0, 1.0, 0.0]]), np.array([0.5, 0.5, 1.0]))
    >>> found = summarize(np.array([[1.0, np.nan, 0.0], [2.0, 2.0, 1.0]]), Latent(model))
    >>> found.second.shape, round(float(found.loglike), 3)
    ((3, 3), -7.342)
    """

    parameters = (*LatentSummary.parameters, "informed")
    _sums = ("second", "covariances", "cross", "squares", "scores", "loglike")
    state = LatentSummary.state | dict(
        informed="", second="qp", covariances="hp", cross="vp", squares="p", scores="q", loglike=""
    )
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
        entries = observed_entries(block, self.unstored)
        u, covariance, log_density = self.model.expect(entries)
        w, loglike = self._weighted(log_density, weights)
        xp = namespace(u)
        v = with_one(u)
        second = pack_outer(v)
        half = covariance.shape[0]
        second[:half, :] += covariance
        if weights is not None:
            second, covariance, v = second * w, covariance * w, v * w
        q = second.shape[0]
        tables = entries.down(xp.concat([second, covariance]) if self.informed else second)
        sums = {"second": tables[:q, :], "cross": entries.down_values(v), "squares": entries.squares(w)}
        sums |= {"scores": xp.sum(second, axis=1), "loglike": loglike}
        return self._plus(sums | {"covariances": tables[q:, :]} if self.informed else sums)

    def _unmade(self) -> tuple[str, ...]:
        return () if self.informed else ("covariances",)

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        by_tables = _TABLE_BYTES // (8 * self.model.k**2)
        row = 8 * n_columns * (_ENTRY_ARRAYS * stored if self.unstored else 1.0)
        by_entries = CACHE_BYTES / max(1.0, row)
        return max(32, min(by_tables, int(by_entries)))


# Expected moments of rows with missing entries, given their observed entries and a `LatentGaussian` model.


#: The k x p tables of a block of rows take about this many bytes.
_COMPLETED_BYTES = 4 << 20


class Completed(LatentSummary):
    """Sums over the rows, given a `LatentGaussian` model of z = (x - mean) / scale:

    - `weight`, `total` (p,) and `second` (p, p): sums of w, of w E[z] and of w E[z z^T] given the observed entries
    - `loglike`: the log-likelihood of the observed entries

    Parameters
    ----------
    model : LatentGaussian
        Without `spread`: its loadings are taken as exact.
    unstored : bool, default=False
        Treat entries that sparse rows do not store as missing, not as zero.

    Notes
    -----
    E[z z^T] is the outer product of the completed row with itself, plus, for each pair of missing entries d and e of
    row i, w_d^T M_i^{-1} w_e (and the noise if d = e). With M_i^{-1} = L L^T the latter is (L^T W)^T (L^T W) over the
    missing entries: one product of a tall matrix with itself for a block of rows. One pass, p^2 numbers, n p^2 k
    operations.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Completed, LatentGaussian
    >>> model = LatentGaussian(np.zeros(3), np.ones(3), np.array([[1.0, 1.0, 0.0]]), np.array([0.5, 0.5, 1.0]))
    >>> found = summarize(np.array([[1.0, np.nan, 0.0], [2.0, 2.0, 1.0]]), Completed(model))
    >>> found.weight, round(float(found.loglike), 3)
    (2.0, -7.342)
    """

    _sums = ("weight", "total", "second", "loglike")
    state = LatentSummary.state | dict(weight="", total="p", second="pp", loglike="")
    nonnegative = (*LatentSummary.nonnegative, "weight")
    symmetric = ("second",)

    def __init__(self, model: LatentGaussian, *, unstored: bool = False) -> None:
        super().__init__(model, unstored=unstored)
        self.weight = 0.0
        self.total: Any = None
        self.second: Any = None
        self.loglike = 0.0

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        entries = observed_entries(block, self.unstored)
        u, covariance, log_density = self.model.expect(entries)
        w, loglike = self._weighted(log_density, weights)
        xp, k = namespace(u), self.model.k
        known = entries.known()
        guess = u.T @ self.loadings
        z = xp.where(known, (entries.values() - self.mean) / self.scale, guess)
        root = xp.sqrt(w)[:, None]
        missing = astype(~known, z.dtype) * root
        L = xp.linalg.cholesky(xp.permute_dims(unpack(covariance, k), (2, 0, 1)))
        spread = xp.matrix_transpose(L) @ self.loadings * missing[:, None, :]
        spread = xp.reshape(spread, (-1, z.shape[1]))
        z = z * root
        second = z.T @ z + spread.T @ spread
        identity = xp.eye(z.shape[1], dtype=z.dtype, device=device(z))
        second = second + identity * (xp.sum(missing * missing, axis=0) * self.noise)
        return self._plus({"weight": float(xp.sum(w)), "total": root[:, 0] @ z, "second": second, "loglike": loglike})

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(16, _COMPLETED_BYTES // (8 * self.model.k * n_columns))


# Count, mean and sum of squares of the observed entries of each column of a table with missing entries.


class Observed(Summary):
    """Per column: `count` = sum w m, `mean` and `squares` = sum w m (x - mean)^2 over the observed entries (m = 1).

    If `components` is given, also `surplus` = sum_i w_i max(o_i - components, 0), where o_i is the number of observed
    entries of row i: the entries that remain when each row has been fitted exactly by so many components.

    Parameters
    ----------
    n_features : int
    unstored : bool, default=False
        Treat entries that sparse rows do not store as missing, not as zero.
    components : int, default=None
        Number of components.

    Notes
    -----
    One pass, 3 p numbers. Summaries are merged by Chan's formula, with a separate count for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Observed
    >>> found = summarize(np.array([[1.0, np.nan], [3.0, 4.0]]), Observed)
    >>> found.count, found.mean
    (array([2., 1.]), array([2., 4.]))
    """

    parameters = ("n_features", "unstored", "components")
    state = dict.fromkeys(("n_features", "unstored", "components", "n_rows", "weight", "surplus"), "") | dict.fromkeys(
        ("count", "mean", "rest", "squares"), "p"
    )
    _sums = ("n_rows", "weight", "surplus")
    optional = ("components",)
    nonnegative = ("components", "weight", "surplus", "count", "squares")
    takes_nan = True

    def __init__(self, n_features: int, *, unstored: bool = False, components: int | None = None) -> None:
        self.n_features = int(n_features)
        self.unstored = bool(unstored)
        self.components = None if components is None else int(components)
        self.n_rows = 0
        self.weight = 0.0
        self.surplus = None if components is None else 0.0
        self.count: Any = None
        self.mean: Any = None
        self.rest: Any = None
        self.squares: Any = None

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        entries = observed_entries(block, self.unstored)
        w = row_weights(entries.weights_like(), weights)
        xp = namespace(w)
        count = entries.down(w[None, :])[0, :]
        zeros = xp.zeros_like(count)
        base, step = (zeros if self.mean is None else self.mean), zeros
        some = xp.where(count > 0, count, xp.ones_like(count))
        # Twice: about the mean so far, then about the mean of the block, so that an offset costs no digits.
        for _ in range(2):
            base = base + step
            entries.centre(base, xp.ones_like(base))
            step = entries.down_values(w[None, :])[0, :] / some
        squares = entries.squares(w) - count * step * step
        check_squares(squares)
        squares = xp.clip(squares, 0.0, None)
        sums: Changes = {"n_rows": int(block.shape[0]), "weight": total_weight(block, weights)}
        if self.components is not None:
            lengths = entries.across(xp.ones_like(count)[None, :])[0, :]
            sums["surplus"] = float(w @ xp.clip(lengths - self.components, 0.0, None))
        return self._plus(sums) | self._with_entries(count, base, step, squares)

    def _merged(self, other: Self) -> Changes:
        if other.count is None:
            return {}
        return super()._merged(other) | self._with_entries(other.count, other.mean, other.rest, other.squares)

    def _unmade(self) -> tuple[str, ...]:
        return ("components", "surplus") if self.components is None else ()

    def _with_entries(self, count: Array, shift: Array, step: Array, squares: Array) -> Changes:
        """What changes with entries of mean `shift + step` and sums of squares `squares` about it."""
        if self.count is None:
            mean, rest = two_sum(shift, step)
            return {"count": count, "mean": mean, "rest": rest, "squares": squares}
        xp = namespace(count)
        both = self.count + count
        # If one side has no observed entry in a column, it is given the mean of the other side.
        first, last = self.count == 0, count == 0
        mean, rest = xp.where(first, shift, self.mean), xp.where(first, step, self.rest)
        shift, step = xp.where(last, mean, shift), xp.where(last, rest, step)
        some = xp.where(both > 0, both, xp.ones_like(both))
        mean, rest, d, share = merged_mean(self.count, mean, rest, count, shift, step, some)
        squares = self.squares + squares + d * d * self.count * share
        check_squares(squares)
        return {"count": both, "mean": mean, "rest": rest, "squares": squares}
