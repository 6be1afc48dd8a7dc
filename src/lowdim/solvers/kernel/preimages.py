"""Pre-images: rows whose features are close to a point of the feature space.

There is rarely a row whose features are exactly this point. Either the distance is minimised, or a map from scores to
rows is learned from rows with known scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...kernels import Gaussian, median_distance
from ...linalg import eigh_descending
from ..problem import check_whole

#: Approximate number of kernels that are computed at a time.
_KERNELS = 1 << 22
#: The ridges (as shares of the mean eigenvalue) and the widths (as multiples of the median distance) that are tried.
_RIDGES = 10.0 ** np.arange(-8.0, 3.0)
_WIDTHS = (0.5, 1.0, 2.0, 4.0)


@dataclass(frozen=True)
class FixedPoint:
    """Minimise |phi(x) - sum_i g_i phi(x_i)|^2 over x, for the Gaussian kernel [1]_.

    Parameters
    ----------
    tol : float, default=1e-05
        Iterate until a step is shorter than `tol` times the width of the kernel.
    max_iter : int, default=200
        Maximal number of steps; a point that has not converged by then, or that has moved away from the rows, is
        replaced by its start.

    Notes
    -----
    The gradient is zero if x = sum_i g_i k(x, x_i) x_i / sum_i g_i k(x, x_i). This equation is iterated, starting from
    the row that `Ridge` predicts. Each step takes n kernels per point.

    References
    ----------
    .. [1] Mika, Scholkopf, Smola, Muller, Scholz, Ratsch (1999), Kernel PCA and de-noising in feature spaces, eq. 10.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import KernelPCA
    >>> from lowdim.solvers import FixedPoint
    >>> X = load_iris().data
    >>> model = KernelPCA(10, kernel="rbf", gamma=0.125, preimage=FixedPoint(max_iter=500)).fit(X)
    >>> back = model.inverse_transform(model.transform(X[:5]))
    >>> bool(np.abs(back - X[:5]).max() < 0.2)
    True
    """

    name = "fixed-point"
    tol: float = 1e-5
    max_iter: int = 200

    def __post_init__(self) -> None:
        if not 0.0 < self.tol < math.inf:
            raise ValueError(f"FixedPoint(tol={self.tol!r}): a positive number is needed.")
        check_whole(self, "max_iter")

    def solve(self, weights: np.ndarray, rows: np.ndarray, kernel: Gaussian, start: np.ndarray) -> np.ndarray:
        """The pre-image for each row g of `weights`, starting from the corresponding row of `start`."""
        against = kernel.against(rows)
        rate = kernel.gamma or 1.0
        step = max(1, _KERNELS // len(rows))
        out = start.copy()
        for i in range(0, len(start), step):
            part = slice(i, i + step)
            out[part] = self._iterate(weights[part], rows, against, start[part], self.tol / math.sqrt(2.0 * rate))
        return out

    def _iterate(
        self,
        weights: np.ndarray,
        rows: np.ndarray,
        against: Callable[[np.ndarray], np.ndarray],
        start: np.ndarray,
        tol: float,
    ) -> np.ndarray:
        """The pre-images for some of the points."""
        x, active = start.copy(), np.arange(len(start))
        out = start.copy()
        before = np.full(len(start), -np.inf)
        for _ in range(self.max_iter):
            g = weights[active] * against(x[active])
            sums = g.sum(axis=1)
            # phi(x) . sum_i g_i phi(x_i) has to increase; if it decreases or is near zero, the iteration has failed.
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
class LearnedMap:
    """The map z -> mean + sum_i k(z, z_i) a_i from scores to rows."""

    mean: np.ndarray
    scores: np.ndarray
    gamma: float
    coefficients: np.ndarray

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return self.mean + Gaussian(self.gamma).against(self.scores)(Z) @ self.coefficients


@dataclass(frozen=True)
class Ridge:
    """Predict rows from scores by kernel ridge regression with a Gaussian kernel of the scores [1]_.

    Parameters
    ----------
    alpha : float, default=None
        The ridge, added to the diagonal of the kernel matrix. By default it minimises the leave-one-out error, together
        with the width of the kernel, for which several multiples of the median distance of scores are tried.
    rows : int, default=1000
        Maximal number of rows to learn from.

    Notes
    -----
    x = mean + sum_i k(z, z_i) a_i with (K + alpha I) a = X - mean. For m rows, this takes m^3 multiplications.

    References
    ----------
    .. [1] Bakir, Weston, Scholkopf (2004), Learning to find pre-images.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import KernelPCA
    >>> from lowdim.solvers import Ridge
    >>> X = load_iris().data
    >>> model = KernelPCA(3, kernel="poly", degree=2, preimage=Ridge(rows=100)).fit(X)
    >>> back = model.inverse_transform(model.transform(X[:5]))
    >>> bool(np.abs(back - X[:5]).max() < 0.3)
    True
    """

    name = "ridge"
    alpha: float | None = None
    rows: int = 1000

    def __post_init__(self) -> None:
        if self.alpha is not None and not 0.0 < self.alpha < math.inf:
            raise ValueError(f"Ridge(alpha={self.alpha!r}): a positive number is needed.")
        check_whole(self, "rows")

    def learn(self, scores: np.ndarray, rows: np.ndarray) -> LearnedMap:
        """The map from scores to rows, learned from pairs of them."""
        mean = rows.mean(axis=0)
        median = median_distance(scores, None, 0)
        ridges = _RIDGES if self.alpha is None else np.array([self.alpha])
        best, error = 0.5 / median**2, math.inf
        for factor in _WIDTHS:
            gamma = 0.5 / (factor * median) ** 2
            K = np.asarray(Gaussian(gamma)(scores), dtype=np.float64)
            values, vectors = eigh_descending(K)
            projected = vectors @ (rows - mean)
            for ridge in ridges:
                a = ridge if self.alpha is not None else ridge * values.mean()
                inverse = 1.0 / np.clip(values + a, 1e-300, None)
                # The leave-one-out error of row i is a_i / [(K + alpha I)^(-1)]_ii.
                residual = (vectors.T * inverse) @ projected / ((vectors.T**2) @ inverse)[:, None]
                size = float((residual**2).sum())
                if size < error:
                    best, error = gamma, size
                    coefficients = (vectors.T * inverse) @ projected
        return LearnedMap(mean, scores, best, coefficients)


#: Methods for pre-images by name.
PREIMAGES: dict[str, FixedPoint | Ridge] = {"fixed-point": FixedPoint(), "ridge": Ridge()}
#: The names of these, for type checkers.
PreimageName = Literal["auto", "fixed-point", "ridge"]
