"""The likelihood of an unmixing matrix, which solvers of independent component analysis maximise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..._xp import eps, to_numpy
from ...densities import Density
from ...features import affine
from ...linalg import FLOAT32_EPS
from ...summaries import Moments, Sample
from ...summaries.scores import ScoreMoments
from ..base import RowsLike
from .whitener import symmetric_power, whitening_map

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

    def has(self, curved: bool, measured: bool) -> bool:
        """Whether the requested moments are available."""
        return (self.curvature is not None or not curved) and (self.energy is not None or not measured)

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
        if last is not None and last.W is W and last.narrow <= narrow and last.has(curved, measured):
            return last
        self.passes += 1
        options = {"curved": curved, "measured": measured, "narrow": narrow}
        if narrow and self._narrow_rows is not None:
            zero = np.zeros(len(W))
            sums = self._narrow_rows.summarize(ScoreMoments(W.T, zero, self.density, **options))
        else:
            A = self._whitening.T @ W.T
            sums = self._rows.summarize(ScoreMoments(A, self._mean, self.density, **options))
        self.weight = sums.weight
        names = ("products", "slopes", "energy", "fourth", "curvature")
        products, slopes, energy, fourth, curvature = (
            None if part is None else part / sums.weight for part in (getattr(sums, name) for name in names)
        )
        assert products is not None and slopes is not None
        self._last = Point(W, products, slopes, energy, fourth, curvature, narrow, epsilon)
        return self._last


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
