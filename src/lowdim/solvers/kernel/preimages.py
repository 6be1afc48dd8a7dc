"""Pre-images: rows whose features are near a point of the feature space.

There is seldom one whose features are the point itself. Either the distance is minimised, or the map from scores back
to rows is learned from rows whose scores are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...kernels import Gaussian
from ...kernels.arithmetic import median_distance
from ...linalg import eigh_descending

#: Points worked on at a time, for about this many kernels.
_KERNELS = 1 << 22
#: Ridges, as shares of the mean eigenvalue, and widths, as multiples of the median distance, that are tried.
_RIDGES = 10.0 ** np.arange(-8.0, 3.0)
_WIDTHS = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class FixedPoint:
    """Minimise |phi(x) - sum_i g_i phi(x_i)|^2 over x, for the Gaussian kernel [1]_.

    Parameters
    ----------
    tol : float
        Iterate until a step is below `tol` of the width of the kernel.
    max_iter : int
        Steps at most; a point that has not settled then, or that has left the rows, keeps its start.

    Notes
    -----
    Where the gradient vanishes x = sum_i g_i k(x, x_i) x_i / sum_i g_i k(x, x_i); this is iterated, from the row
    learned by `Ridge`. n kernels a step and point.

    References
    ----------
    .. [1] Mika, Scholkopf, Smola, Muller, Scholz, Ratsch (1999), Kernel PCA and de-noising in feature spaces, eq. 10.
    """

    name = "fixed-point"
    tol: float = 1e-5
    max_iter: int = 200

    def __post_init__(self) -> None:
        if not 0.0 < self.tol < math.inf:
            raise ValueError(f"FixedPoint(tol={self.tol!r}): a positive number is needed.")
        if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise ValueError(f"FixedPoint(max_iter={self.max_iter!r}): a whole number of at least 1 is needed.")

    def solve(self, weights: np.ndarray, rows: np.ndarray, kernel: Gaussian, start: np.ndarray) -> np.ndarray:
        """Points for each row g of `weights`, from each row of `start`."""
        against = kernel.against(rows)
        rate = kernel.rate or 1.0
        step = max(1, _KERNELS // len(rows))
        out = start.copy()
        for i in range(0, len(start), step):
            part = slice(i, i + step)
            out[part] = self._settled(weights[part], rows, against, start[part], self.tol / math.sqrt(2.0 * rate))
        return out

    def _settled(
        self,
        weights: np.ndarray,
        rows: np.ndarray,
        against: Callable[[np.ndarray], np.ndarray],
        start: np.ndarray,
        tol: float,
    ) -> np.ndarray:
        x, active = start.copy(), np.arange(len(start))
        out = start.copy()
        before = np.full(len(start), -np.inf)
        for _ in range(self.max_iter):
            g = weights[active] * against(x[active])
            sums = g.sum(axis=1)
            # phi(x) . sum_i g_i phi(x_i): a step that lowers it, or a sum near zero, has lost its way.
            good = (sums > 1e-12 * np.abs(g).sum(axis=1)) & (sums >= before[active] * (1.0 - 1e-6))
            before[active] = sums
            new = (g[good] @ rows) / sums[good][:, None]
            moved = np.linalg.norm(new - x[active[good]], axis=1) > tol
            x[active[good]] = new
            out[active[good][~moved]] = new[~moved]
            active = active[good][moved]
            if len(active) == 0:
                break
        return out


@dataclass(frozen=True)
class Learned:
    """z -> mean + sum_i k(z, z_i) a_i"""

    mean: np.ndarray
    scores: np.ndarray
    sigma: float
    coefficients: np.ndarray

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return self.mean + Gaussian(sigma=self.sigma).against(self.scores)(Z) @ self.coefficients


@dataclass(frozen=True)
class Ridge:
    """Learn rows from scores by kernel ridge regression with a Gaussian kernel of the scores [1]_.

    Parameters
    ----------
    alpha : float, optional
        The ridge, added to the diagonal of the kernel matrix. Default: that of least leave-one-out error, together with
        the width of the kernel, which is tried at several multiples of the median distance of scores.
    rows : int
        Rows to learn from, at most.

    Notes
    -----
    x = mean + sum_i k(z, z_i) a_i with (K + alpha I) a = X - mean. For m rows, m^3 multiplications.

    References
    ----------
    .. [1] Bakir, Weston, Scholkopf (2004), Learning to find pre-images.
    """

    name = "ridge"
    alpha: float | None = None
    rows: int = 1000

    def __post_init__(self) -> None:
        if self.alpha is not None and not 0.0 < self.alpha < math.inf:
            raise ValueError(f"Ridge(alpha={self.alpha!r}): a positive number is needed.")
        if isinstance(self.rows, bool) or not isinstance(self.rows, int | np.integer) or self.rows < 1:
            raise ValueError(f"Ridge(rows={self.rows!r}): a whole number of at least 1 is needed.")

    def learned(self, scores: np.ndarray, rows: np.ndarray) -> Learned:
        """Scores -> rows, from pairs of them."""
        mean = rows.mean(axis=0)
        median = median_distance(scores, None, 0)
        ridges = _RIDGES if self.alpha is None else np.array([self.alpha])
        best, error = median, math.inf
        for factor in _WIDTHS:
            K = np.asarray(Gaussian(sigma=factor * median)(scores), dtype=np.float64)
            values, vectors = eigh_descending(K)
            projected = vectors @ (rows - mean)
            for ridge in ridges:
                a = ridge if self.alpha is not None else ridge * values.mean()
                inverse = 1.0 / np.clip(values + a, 1e-300, None)
                # The error for a row left out is a_i / [(K + alpha I)^(-1)]_ii.
                residual = (vectors.T * inverse) @ projected / ((vectors.T**2) @ inverse)[:, None]
                size = float((residual**2).sum())
                if size < error:
                    best, error = factor * median, size
                    coefficients = (vectors.T * inverse) @ projected
        return Learned(mean, scores, best, coefficients)


#: Ways back by name.
PREIMAGES: dict[str, FixedPoint | Ridge] = {"fixed-point": FixedPoint(), "ridge": Ridge()}
