"""The likelihood of an unmixing matrix, the whitening before it, and the base class of solvers that maximise it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._core.arrays import asarray_like, eps, in_range, numpy_dtype, to_numpy
from ..._core.threads import free_bytes
from ...densities import Density
from ...errors import read_once
from ...features import affine
from ...linalg import FLOAT32_EPS, divisor, signs
from ...summaries.moments import Moments
from ...summaries.sample import Sample
from ...summaries.scores import ScoreMoments
from ..problem import AnySolver, Cost, Job, RowsLike, Spectrum, Status, check_whole

#: The whitening is corrected if rounding may change the covariance of whitened rows by more than this, in units of the
#: tolerance.
_WHITE = 1e-2


@dataclass(frozen=True, eq=False)
class Whitener:
    """z = K (x - mean), with E[z z^T] = I over the rows x (divisor n); all arrays are NumPy's."""

    #: Mean, (p,), and K, (k, p), in float64.
    mean: np.ndarray
    matrix: np.ndarray
    #: The inverse of K on the space spanned by the components, (k, p): rows are approximately mean + z lift.
    lift: np.ndarray
    #: Divisors of the columns before their components were computed, (p,), or None.
    scale: np.ndarray | None
    #: Number of rows.
    n_rows: int

    def log_volume(self, K: np.ndarray) -> float:
        """The logarithm of the factor by which `K` changes volumes in the space spanned by the components.

        `K` is the whitening matrix in the dtype of the rows.
        """
        k, p = K.shape
        if self.scale is None or k < p:
            return -float(np.log(np.linalg.svd(self.lift, compute_uv=False)).sum())
        # The units of the columns, which may differ by orders of magnitude, are divided out first.
        units = self.scale.astype(float)
        return float(np.log(np.linalg.svd(K * units, compute_uv=False)).sum() - np.log(units).sum())


def make_whitener(rows: RowsLike, spectrum: Spectrum, tol: float) -> Whitener:
    """The whitening of `rows`, from the components in `spectrum`, which all have positive variance.

    K = diag(lambda)^{-1/2} V S^{-1}, with V the components as rows and S the diagonal matrix of scales. This takes no
    pass over the rows. If the smallest eigenvalue is so small that rounding may change the covariance of z by more than
    a fraction of `tol`, K is multiplied by C^{-1/2}, with C the covariance of z, which takes one pass.
    """
    dtype, n = numpy_dtype(rows.dtype), divisor(spectrum.weight, 0)
    mean = to_numpy(spectrum.mean).astype(np.float64)
    scale = None if spectrum.scale is None else to_numpy(spectrum.scale).astype(dtype)
    V, variances = to_numpy(spectrum.vectors).astype(dtype), in_range(spectrum.values / n, dtype)
    deviations = np.sqrt(variances)[:, None]
    K = V / deviations if scale is None else V / scale / deviations
    lift = V * deviations if scale is None else V * deviations * scale
    K, lift = K.astype(np.float64), lift.astype(np.float64)
    if spectrum.rank_cut / n > _WHITE * tol * float(variances[-1]):
        # Small variances have few correct digits, so K is corrected by the covariance of the rows that it whitens.
        white = rows.mapped(whitening_map(K, mean, rows))
        C = to_numpy(white.summarize(Moments(len(K), wide=True)).covariance(ddof=0))
        K, lift = symmetric_power(C, -0.5) @ K, symmetric_power(C, 0.5) @ lift
    return Whitener(mean, K, lift, scale, spectrum.n_rows)


def whitening_map(K: np.ndarray, mean: np.ndarray, rows: RowsLike) -> Any:
    """The function block -> (block - mean) K^T for blocks of these rows, on their device."""
    like = rows.empty(0)
    return affine(asarray_like(K.T, like), asarray_like(mean, like), 1.0)


def symmetric_power(C: np.ndarray, power: float) -> np.ndarray:
    """The power C^power of a covariance matrix C close to the identity."""
    values, V = np.linalg.eigh(C)
    return (V * values**power) @ V.T


# The likelihood of an unmixing matrix, which solvers of independent component analysis maximise.


#: float32 is accurate enough while the gradient is larger than this.
NARROW_ABOVE = 1e-5
#: Maximal distance from one of the eigenvalues of the covariance of the whitened rows in a sample.
_SAMPLE_UNLIKE = 0.5
#: A source changes its density at most this many times. After that the loss is one smooth function.
_CHANGES = 5


@dataclass(frozen=True)
class Point:
    """The loss -ln |det W| + sum_i E[-ln p_i(y_i)] at W, with y = W z, and the moments that give its derivatives.

    Sources that are `flipped` have a density whose negative logarithm is c u^2 / 2 + ln p. Its moments follow from
    those of p and from E[y y^T] = W W^T, so rows are not read again when a source changes its density.
    """

    W: np.ndarray
    #: E[psi(y) y^T], and E[psi'(y_i)].
    products: np.ndarray
    slopes: np.ndarray
    #: E[-ln p(y_i)] and E[y_i^4]; None without `measured`.
    energy: np.ndarray | None
    fourth: np.ndarray | None
    #: E[psi'(y_i) y_j^2]; None without `curved`.
    curvature: np.ndarray | None
    #: Whether the moments were computed in float32, and their rounding error.
    narrow: bool
    epsilon: float

    @property
    def variances(self) -> np.ndarray:
        """E[y_i^2]."""
        return np.einsum("ij,ij->i", self.W, self.W)

    @property
    def kurtosis(self) -> np.ndarray:
        """E[y_i^4] / E[y_i^2]^2 - 3."""
        assert self.fourth is not None, "computed only with measured=True"
        return self.fourth / self.variances**2 - 3.0

    @property
    def stability(self) -> np.ndarray:
        """E[psi'(y_i)] E[y_i^2] - E[psi(y_i) y_i].

        It is zero for a Gaussian source, positive if the density can separate the source from others, and negative if
        the flipped density can.
        """
        return self.slopes * self.variances - np.diagonal(self.products)

    @property
    def loss(self) -> float:
        """Minus the log-likelihood per whitened row."""
        assert self.energy is not None, "computed only with measured=True"
        return float(self.energy.sum()) - float(np.linalg.slogdet(self.W)[1])

    def with_flips(self, flipped: np.ndarray, density: Density) -> Point:
        """The same point with the flipped density for the sources that are `flipped`."""
        other = density.flipped
        if other is None or not flipped.any():
            return self
        c = float(density.bound or 0.0)
        second, variances, h, energy = self.W @ self.W.T, self.variances, self.curvature, self.energy
        return replace(
            self,
            products=np.where(flipped[:, None], c * second - self.products, self.products),
            slopes=np.where(flipped, c - self.slopes, self.slopes),
            energy=None if energy is None else np.where(flipped, 0.5 * c * variances - energy + other.constant, energy),
            curvature=None if h is None else np.where(flipped[:, None], c * variances[None, :] - h, h),
        )

    def gradient(self, ortho: bool) -> np.ndarray:
        """The relative gradient E[psi(y) y^T] - I, or, if `ortho`, its skew part, the gradient over rotations."""
        if ortho:
            return 0.5 * (self.products - self.products.T)
        return self.products - np.eye(len(self.W))


class Objective:
    """The map W -> Point, which takes one pass over the rows; if `may_narrow`, float32 may be used."""

    def __init__(
        self, rows: RowsLike, mean: np.ndarray, whitening: np.ndarray, density: Density, *, may_narrow: bool = False
    ) -> None:
        self._rows, self._mean, self._whitening = rows, mean, whitening
        self.density, self.may_narrow = density, may_narrow
        #: Number of passes over the rows so far, and their total weight, known after the first pass.
        self.passes, self.weight = 0, 0.0
        self._last: Point | None = None
        self._narrow_rows: RowsLike | None = None

    @property
    def n_rows(self) -> float:
        """The number of rows; infinity if it is unknown."""
        n = self._rows.shape[0]
        return math.inf if n is None else n

    def on_sample(self, size: int, seed: int = 0) -> Objective | None:
        """The objective for a sample of `size` rows, in one pass; None if the sample does not represent all rows."""
        k = self._whitening.shape[0]
        self.passes += 1
        sample = self._rows.summarize(Sample(self._rows.shape[1], size, seed=seed))
        weights = None if np.all(sample.weights == 1.0) else sample.weights
        white = affine(self._whitening.T, self._mean, 1.0)(sample.rows.astype(np.float64))
        # Solvers need rows whose own covariance is the identity. If the covariance of the sample is far from it, a few
        # rows have most of the variance of a source, and a sample does not represent all rows.
        moments = self._rows.of(white, weights).summarize(Moments(k))
        C = moments.covariance(ddof=0)
        if np.abs(np.linalg.eigvalsh(C) - 1.0).max() > _SAMPLE_UNLIKE:
            return None
        white = (white - moments.mean) @ symmetric_power(C, -0.5)
        few = self._rows.of(white.astype(np.float32), weights)
        return Objective(few, np.zeros(k), np.eye(k), self.density, may_narrow=True)

    def keep_narrow_rows(self) -> None:
        """Keep the whitened rows in float32 from now on, for points that are computed in float32."""
        white = to_numpy(self._rows.map(whitening_map(self._whitening, self._mean, self._rows)))
        self._narrow_rows = self._rows.of(white.astype(np.float32), self._rows.weights, self._rows.progress)

    def at(self, W: np.ndarray, *, curved: bool, narrow: bool, measured: bool = True) -> Point:
        """The moments at W, in float32 if `narrow`.

        The last point is returned if it is at the same W: that happens when one solver continues from another.
        """
        last, narrow = self._last, narrow and self.may_narrow
        epsilon = FLOAT32_EPS if narrow else eps(self._whitening)
        if (
            last is not None
            and (last.W is W and last.narrow <= narrow)
            and (last.curvature is not None or not curved)
            and (last.energy is not None or not measured)
        ):
            return last
        self.passes += 1
        rows, A, origin = self._rows, self._whitening.T @ W.T, self._mean
        if narrow and self._narrow_rows is not None:
            rows, A, origin = self._narrow_rows, W.T, np.zeros(len(W))
        sums = rows.summarize(ScoreMoments(A, origin, self.density, curved=curved, measured=measured, narrow=narrow))
        self.weight = sums.weight
        totals = (sums.products, sums.slopes, sums.energy, sums.fourth, sums.curvature)
        means: list[Any] = [None if total is None else total / sums.weight for total in totals]
        products, slopes, energy, fourth, curvature = means
        self._last = Point(W, products, slopes, energy, fourth, curvature, narrow, epsilon)
        return self._last


@dataclass(frozen=True)
class Unmixing:
    """An unmixing matrix y = W z of whitened rows z."""

    #: W, (k, k), as a NumPy array.
    W: np.ndarray
    #: Which sources have the flipped density, (k,).
    flipped: np.ndarray
    #: Minus the log-likelihood per whitened row, before each step and at the end.
    loss: list[float]
    #: Largest absolute entry of the relative gradient (of its skew part, if W is orthogonal).
    gradient_norm: float
    #: E[psi'(y_i)] E[y_i^2] - E[psi(y_i) y_i] for the density that is not flipped, zero for Gaussian sources, (k,).
    stability: np.ndarray
    kurtosis: np.ndarray
    status: Status
    n_iter: int


class Flips:
    """Which sources have the flipped density: those that the original density cannot separate from others."""

    def __init__(self, flipped: np.ndarray, density: Density, extended: bool) -> None:
        self.flipped = flipped.copy()
        self._density = density
        self._may_change = extended and density.flipped is not None
        self._left = np.full(len(flipped), _CHANGES if self._may_change else 0)

    def update(self, point: Point) -> bool:
        """Choose the density of each source again; returns whether any of them changed."""
        # If the score function is not monotone, its slope depends on the scale of the source, which may still be far
        # from right. The kurtosis does not depend on it.
        light = (point.stability if self._density.convex else point.kurtosis) < 0.0
        changes = (light != self.flipped) & (self._left > 0)
        self.flipped = self.flipped ^ changes
        self._left = self._left - changes
        return bool(changes.any())

    def keep(self, sources: np.ndarray) -> None:
        """Let these sources keep the density that they have now."""
        self._left[sources] = 0

    def release(self, sources: np.ndarray) -> None:
        """Let these sources change their density once more, after `keep`."""
        self._left[sources] = int(self._may_change)

    def apply(self, point: Point) -> Point:
        """The point with the current densities of the sources."""
        return point.with_flips(self.flipped, self._density)


def nearest_orthogonal(M: np.ndarray) -> np.ndarray:
    """The orthogonal matrix nearest to M, (M M^T)^{-1/2} M."""
    U, _, Vt = np.linalg.svd(M)
    return np.asarray(U @ Vt)


# The agreement of results from several starts, and the detection of Gaussian sources.


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


# Sources that look Gaussian while an iteration runs: rotations among them cannot be found, and are left out.


#: Sources are compared with Gaussian ones for the first time after this many steps, and then every so many. Sources
#: that can be found at all are distinguishable from Gaussian ones long before.
_FIRST, _EVERY = 50, 10


class GaussianBlock:
    """Two or more sources that could not be distinguished from Gaussian ones twice in succession.

    A rotation among Gaussian sources does not change the likelihood, so that an iteration follows the sampling error
    there and needs hundreds of steps. Only the space that such sources span can be found, so rotations of them are left
    out from then on. While the other sources are found, this space may turn, and its sources need not look Gaussian any
    more: that is looked at in the end (`release`).

    Parameters
    ----------
    density : Density
        The density of the sources.
    """

    def __init__(self, density: Density) -> None:
        self._density = density
        self._before: np.ndarray | None = None
        self._was_released = False
        #: Indices of the sources; empty as long as there are none.
        self.members = np.empty(0, dtype=int)

    def __bool__(self) -> bool:
        return len(self.members) > 0

    def find(self, point: Point, n: float, steps: int) -> bool:
        """Look for the sources at `point`, after so many steps on `n` rows; returns whether they were found now."""
        if self or self._was_released or steps < _FIRST or steps % _EVERY or len(point.W) < 2:
            return False
        now = self._gaussian(point, n)
        both = now if self._before is None else np.intersect1d(now, self._before)
        found = self._before is not None and len(both) > 1
        self._before = now
        if found:
            self.members = both
        return found

    def release(self, point: Point, n: float) -> np.ndarray:
        """Let the members go, for good, unless all of them look Gaussian at `point`, where an iteration would end;
        returns those that were let go."""
        if not self or np.isin(self.members, self._gaussian(point, n)).all():
            return np.empty(0, dtype=int)
        released, self.members, self._was_released = self.members, np.empty(0, dtype=int), True
        return released

    def _gaussian(self, point: Point, n: float) -> np.ndarray:
        """The sources that look Gaussian at `point`."""
        return gaussian_sources(deviations_from_gaussian(point.W, point.stability, self._density, n))

    def without_rotations(self, G: np.ndarray, scales: np.ndarray | float = 1.0) -> np.ndarray:
        """The relative gradient G without its part along rotations of the members.

        With D the diagonal matrix of the standard deviations of the sources, `scales`, a rotation of sources y is the
        relative step D S D^{-1} with skew S, and the part left out is the skew part of D G D^{-1}. For a step, the
        scales are the reciprocals, and the part left out is the rotation that it contains.
        """
        if not self:
            return G
        inside = np.ix_(self.members, self.members)
        d = np.broadcast_to(scales, len(G))[self.members]
        ratios = d[:, None] / d
        symmetric = ratios * G[inside]
        symmetric = 0.5 * (symmetric + symmetric.T)
        G = G.copy()
        G[inside] = symmetric / ratios
        return G

    def holds(self, i: int, j: int) -> bool:
        """Whether two sources are both members."""
        return bool(np.isin((i, j), self.members).all())


# The request to a solver of independent component analysis, and the job that a plan is made for.


#: Number of starts, unless the user says how many, and the largest n k^2 for which there are so many. Below that, a fit
#: from one start takes at most a few tenths of a second.
_STARTS, _SEVERAL_STARTS_UP_TO = 5, 4_000_000
#: The sample has at least this many rows, and at least this many per pair of sources. It is drawn only if there are
#: this many times as many rows in all.
_SAMPLE_ROWS = 5000
_SAMPLE_PER_PAIR = 6
_SAMPLE_SHARE = 8
#: Whitened rows are kept if this multiple of their size is free: on a device always, and elsewhere if there are more
#: than so many columns per source.
_FREE, _WIDE = 4, 4
#: A copy of the whitened rows in float32 is kept for steps that need no more digits, if it has at least so many numbers
#: (otherwise float32 is not worthwhile: its rounding could make the results of several starts look alike), and takes at
#: most so many bytes, so that it stays in the cache.
_MANY = 100_000
_NARROW_BYTES = 8 << 20


@dataclass(frozen=True, eq=False)
class IcaRequest:
    """The model of the sources, and the starts of the iteration."""

    #: The density of every source.
    density: Density
    #: Number of sources; None for as many as the rows allow.
    k: int | None = None
    #: Whether sources may have the flipped density.
    extended: bool = True
    #: Number of random starts (None: several if they are cheap), their seed, and a start given by the user that
    #: replaces them.
    n_init: int | None = None
    seed: int = 0
    start: Any = None
    #: The whitening of the rows; None before they are read, when only a plan can be made.
    whitener: Whitener | None = None


@dataclass(frozen=True)
class IcaJob(Job):
    """The job of finding the sources of n rows of p columns."""

    n_init: int | None = None
    #: Whether the iteration starts at random; otherwise a start near the solution was given.
    search: bool = True
    #: Free bytes on the device of the rows; None if they are in main memory.
    free_there: int | None = None

    @property
    def sources(self) -> int:
        """The number of sources, or an upper bound if it is unknown."""
        return min(self.rows, self.p) if self.k is None else self.k

    @property
    def n_starts(self) -> int:
        """The number of starts: as many as were asked for, or several if a pass from each costs little. A single source
        is found from any start."""
        if self.n_init is not None or not self.search:
            return self.n_init or 1
        return 1 if self.sources == 1 or self.large else _STARTS

    @property
    def large(self) -> bool:
        """Whether there is one start only because a pass from each would cost much."""
        free = self.n_init is None and self.search
        return free and self.sources > max(1.0, math.sqrt(_SEVERAL_STARTS_UP_TO / self.rows))

    @property
    def sample_rows(self) -> int:
        """The number of rows that are enough to find the sources approximately."""
        return max(_SAMPLE_ROWS, _SAMPLE_PER_PAIR * self.sources**2)

    @property
    def draws_sample(self) -> bool:
        """Whether most steps use a sample of the rows.

        On a device they do not: passes are fast there, and the sample would have to be copied to the host.
        """
        return self.search and self.traits.host and self.rows >= _SAMPLE_SHARE * self.sample_rows

    @property
    def white_bytes(self) -> int:
        """Bytes of all whitened rows."""
        return self.rows * self.sources * self.traits.itemsize

    @property
    def keeps_white_rows(self) -> bool:
        """Whether the whitened rows are kept in memory.

        They are if the rows are in memory, a pass over them costs more than one over the whitened rows, and there is
        enough free memory. On a device a pass over the rows costs more, because it would centre them anew.
        """
        costly = self.traits.sparse or self.p > _WIDE * self.sources or not self.traits.host
        free = free_bytes() if self.free_there is None else self.free_there
        return costly and self.traits.n_bytes > 0 and _FREE * self.white_bytes <= free

    @property
    def may_narrow(self) -> bool:
        """Whether float32 is worthwhile for steps that need no more digits."""
        return self.rows * self.sources >= _MANY

    @property
    def narrow_bytes(self) -> int:
        """Bytes of the copy of the whitened rows in float32, 0 if none is kept.

        A copy is of no use if the rows are given in float32, unless computing the whitened rows takes longer.
        """
        n_bytes = 4 * self.rows * self.sources
        here = self.traits.host and self.traits.n_bytes > 0 and not self.traits.remote
        useful = self.may_narrow and self.search and self.traits.itemsize > 4
        return n_bytes if here and useful and n_bytes <= _NARROW_BYTES else 0


# Base class of the solvers of independent component analysis: options, cost, and advice if they do not converge.


#: Minimal number of passes of a search (including the one that draws a sample), of a search for a single source, and
#: from a given start.
_PASSES, _PASSES_OF_ONE, _PASSES_FROM_START = 5, 2, 1
#: Rows in a block of `ScoreMoments`, and the number of arrays of sources that it holds at once.
_BLOCK_ROWS, _BLOCK_ARRAYS = 2048, 6
#: An iteration that makes no progress is stuck if the gradient is larger than this; otherwise it is limited by
#: rounding.
_STALLED = 1e-6


@dataclass(frozen=True)
class IcaSolver(AnySolver):
    """A solver that finds an unmixing matrix from an `Objective` and a start.

    Examples
    --------
    >>> from lowdim.solvers import ICA_SOLVERS, IcaSolver
    >>> {name: issubclass(solver, IcaSolver) for name, solver in ICA_SOLVERS.items()}
    {'quasi-newton': True, 'fixed-point': True}
    """

    one_pass = False
    on_host = "the whitening and matrices of K x K"
    #: Advice: what to do instead of raising `max_iter` if it was too small, and what to do if no step makes progress.
    _instead: ClassVar[str] = ""
    _stuck: ClassVar[str]
    #: Whether sources are found only if their tails are on the same side of the Gaussian as those of their density.
    needs_matching_tails: ClassVar[bool] = True

    tol: float = 1e-6
    max_iter: int = 1000
    ortho: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.tol, bool) or not isinstance(self.tol, Real) or not 0.0 < self.tol < math.inf:
            raise ValueError(f"{type(self).__name__}(tol={self.tol!r}): a positive number is needed.")
        check_whole(self, "max_iter", 0)
        if not isinstance(self.ortho, bool | np.bool_):
            raise ValueError(f"{type(self).__name__}(ortho={self.ortho!r}): True or False is needed.")

    def job_of(self, sources: Sequence[Any], k: int | None) -> IcaJob:
        n, p = sources[0].shape
        return IcaJob(n, p, k, sources[0].traits)

    @classmethod
    def options(cls) -> list[str]:
        """The names of the options."""
        return [option.name for option in fields(cls) if option.init]

    @abstractmethod
    def run(
        self, objective: Objective, W: np.ndarray, flipped: np.ndarray, extended: bool, *, spent: int = 0
    ) -> Unmixing:
        """Iterate from W.

        Sources that are `flipped` have the flipped density; if `extended`, the iteration may change which these are.
        The number of earlier steps, `spent`, counts towards `max_iter`.
        """

    def refusal(self, job: IcaJob) -> Exception | None:
        return None if job.traits.rereadable else read_once(self.name, "keep the rows in memory")

    def cost(self, job: IcaJob) -> Cost:
        """A pass takes p k + k^2 multiplications per row (p k + 2 k^2 if W is not restricted to rotations).

        The memory holds 2 k (k + 1) sums, a few arrays of the sources of a block, and, if they are used, the sample and
        the whitened rows, also in float32.
        """
        n, p, k = job.rows, job.p, job.sources
        least = (_PASSES if k > 1 else _PASSES_OF_ONE) if job.search else _PASSES_FROM_START
        passes = job.n_starts * min(least, 1 + self.max_iter)
        n_bytes = 16 * k * (k + 1) + 8 * _BLOCK_ARRAYS * min(n, _BLOCK_ROWS) * k
        if job.draws_sample:
            # The rows of the sample, and the whitened rows of the sample in float64 and float32.
            n_bytes += job.sample_rows * (job.traits.itemsize * p + 12 * k)
        n_bytes += job.narrow_bytes
        width = p
        if job.keeps_white_rows:
            n_bytes += job.white_bytes
            width = k
        work = float(passes) * n * (width * k + (1 if self.ortho else 2) * k * k)
        return Cost(work, passes, n_bytes, "each step is a pass over the rows")

    def advice(self, answer: Unmixing) -> str:
        """Advice for an iteration that stopped before it reached `tol`."""
        if answer.n_iter >= self.max_iter:
            return f"Raise max_iter or tol{self._instead}."
        return self._stuck if answer.gradient_norm > _STALLED else "Raise tol: rounding allows no higher accuracy."


def status_of_end(converged: bool, block: GaussianBlock) -> Status:
    """The status of an iteration, which may have left out rotations among the sources of a block."""
    if not converged:
        return Status.NOT_CONVERGED
    return Status.UNDETERMINED if block else Status.CONVERGED


#: Ends whose losses differ by no more than this, in nats a row, are at the same optimum: a gradient of `tol` changes
#: the loss by about its square.
SAME_OPTIMUM = 1e-7


@dataclass(frozen=True)
class IcaFit:
    """The result of highest likelihood from all starts."""

    best: Unmixing
    #: How well each source was found again from the other starts, (k,); None if there was a single start.
    stability: np.ndarray | None
    #: By how much the loss of each start that converged is above the best, in nats a row.
    behind: np.ndarray
    #: Passes over the rows, for all starts together.
    passes: int
    #: The contribution a_i of each source to a row, as rows, (k, p).
    mixing: np.ndarray
    #: Standard deviation of the contribution of each source, ||a_i|| sd(u_i), descending, (k,).
    sizes: np.ndarray


def sort_sources(
    best: Unmixing, stability: np.ndarray | None, behind: np.ndarray, passes: int, lift: np.ndarray
) -> IcaFit:
    """The result with its sources in order of their variance in the rows, which are mean + z `lift`.

    A = W^{-1} lift; the entry of largest magnitude in each of its rows is made positive. Sources are compared by their
    standard deviations, since variances may overflow.
    """
    W = best.W
    mixing = np.linalg.solve(W, np.eye(len(W))).T @ lift
    sizes = np.linalg.norm(mixing, axis=1) * np.sqrt(np.einsum("ij,ij->i", W, W))
    order = np.argsort(-sizes, kind="stable")
    sign = signs(mixing[order])[:, None]
    ordered = replace(
        best,
        W=sign * W[order],
        flipped=best.flipped[order],
        stability=best.stability[order],
        kurtosis=best.kurtosis[order],
    )
    return IcaFit(
        best=ordered,
        stability=None if stability is None else stability[order],
        behind=behind,
        passes=passes,
        mixing=sign * mixing[order],
        sizes=sizes[order],
    )
