"""The leading eigenvalues of the scatter matrix of noise, for tables that are too large to draw all their entries.

The scatter matrix of n Gaussian rows about their mean has, apart from zeros, the eigenvalues of G = Y Y^T with
Y = Z diag(t)^(1/2), where Z has f = n - 1 rows of independent standard normal entries, and t_j is the variance of
column j. Golub and Kahan's iteration finds the leading ones from Y v_j = a_j u_j + b_j u_{j+1} and
Y^T u_j = b_{j-1} v_{j-1} + a_j v_j [1]_. Since Z is Gaussian, it need not be known: what the iteration asks of it is
drawn when it is asked [2]_. Let w_j = diag(t)^(1/2) v_j, let r_j be the distance of w_j from the span of the earlier
ones, and q_j the unit vector of that direction.

- The part of Z w_j orthogonal to u_1, ..., u_j has the length b_j = r_j c_j, where c_j has a chi distribution with
  f - j degrees of freedom; its direction is u_{j+1} by definition.
- The row u_{j+1}^T Z is c_j q_j plus a standard normal vector orthogonal to w_1, ..., w_j.
- Columns of equal variance may be rotated among one another. In a group of g of them, all rows so far lie in as many
  coordinates as there are rows, and the next one adds a coordinate, which has a chi distribution with g - j degrees of
  freedom.

So the iteration is exact, and its cost depends on the number of different variances rather than on n and p.

References
----------
.. [1] Golub, Kahan (1965), Calculating the singular values and pseudo-inverse of a matrix.
.. [2] Dumitriu, Edelman (2002), Matrix models for beta ensembles: the case of equal variances.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from .._threads import check_stop

#: Up to so many different variances are simulated as they are.
_GROUPS = 4
#: The relative accuracy of the quadrature that replaces many variances by a few.
_ACCURACY = 1e-3
#: A variance t is small if t m is at most this number, for the m of the upper edge of the eigenvalues, and if its share
#: of the sum of the (t_j m / (1 - t_j m))^2, which is f, is at most the second number.
_SMALL = 0.8, 0.0125
#: The numbers of columns that may be simulated with their own variances.
_SINGLE = (0, *(2**i for i in range(12)))
#: Eigenvalues are computed with at most this relative error; usually it is far smaller, since it is the square of the
#: residual divided by the distance to the next eigenvalue.
_TOL = 1e-3
#: If more than this share of the eigenvalues is wanted, all are computed.
_FEW = 0.125
#: Draws that are iterated together.
_AT_A_TIME = 20


@dataclass(frozen=True)
class NoiseSpectrum:
    """Noise of `free` rows in groups of `counts` columns (not always whole numbers), each of one of `variances`."""

    free: float
    variances: np.ndarray
    counts: np.ndarray

    @classmethod
    def of_columns(cls, variances: np.ndarray, free: float) -> NoiseSpectrum:
        """The noise of columns with these variances.

        If there are many different ones, the small ones are replaced by the r nodes t_b of a Gauss quadrature, in
        numbers g_b with sum_b g_b t_b^s = sum_j t_j^s for s = 1, ..., 2 r. The upper edge of the eigenvalues is the
        minimum over m of f / m + sum_j t_j / (1 - t_j m) [1]_. These functions of t have a pole at 1 / m, so that the
        error of the quadrature decreases as x^(-2r), where x = y + sqrt(y^2 - 1) and y = 2 / (m max t) - 1.

        References
        ----------
        .. [1] Silverstein, Choi (1995), Analysis of the limiting spectral distribution of large dimensional random
           matrices.
        """
        t, counts = np.unique(variances, return_counts=True)
        if len(t) <= _GROUPS:
            return cls(free, t, counts.astype(float))
        t = np.sort(variances)[::-1]
        single, size = _count_single(t, free)
        y = 2.0 / size - 1.0
        r = math.ceil(-0.5 * math.log(_ACCURACY) / math.log(y + math.sqrt(y * y - 1.0)))
        nodes, numbers = _quadrature(t[single:], r)
        return cls(free, np.concatenate([t[:single], nodes]), np.concatenate([np.ones(single), numbers]))

    @classmethod
    def of_standardized(cls, p: int, free: float) -> NoiseSpectrum:
        """The noise of p standardized columns, unit vectors u_j of random direction.

        Gaussian columns of one variance take their place, whose lengths vary. The matrix sum_j u_j u_j^T has the
        expected trace and sum of squares of that of p (f + 1) / (f - 1) such columns, and the matrix of the u_i^T u_j
        that of f (p + 1) / (p - 1) rows; the smaller of f and p is left as it is.
        """
        if free < p:
            count = p * (free + 1.0) / (free - 1.0)
            return cls(free, np.array([p / (count * free)]), np.array([count]))
        rows = free * (p + 1.0) / (p - 1.0)
        return cls(rows, np.array([1.0 / rows]), np.array([float(p)]))

    def leading(self, n_draws: int, k: int, seed: int) -> np.ndarray:
        """The k largest eigenvalues (or all that can be positive, if they are fewer) of independent draws of G."""
        if k > _FEW * self.rank:
            return np.stack([self._all(np.random.default_rng([seed, i])) for i in range(n_draws)])[:, :k]
        sizes = [min(_AT_A_TIME, n_draws - i) for i in range(0, n_draws, _AT_A_TIME)]
        return np.concatenate(
            [_Iteration(self, np.random.default_rng([seed, i]), n).run(k) for i, n in enumerate(sizes)]
        )

    def _all(self, rng: np.random.Generator) -> np.ndarray:
        """All eigenvalues of one draw of G, the sum of t L L^T over the groups, by Bartlett's decomposition: L is lower
        triangular, with chi distributions of g - i degrees of freedom on the diagonal and normal entries below it."""
        check_stop()
        f = int(np.floor(self.free + 0.5))
        single = self.counts == 1.0
        Y = rng.standard_normal((f, int(single.sum()))) * np.sqrt(self.variances[single])
        G = Y @ Y.T
        for t, g in zip(self.variances[~single], self.counts[~single], strict=True):
            i = np.arange(min(f, int(np.ceil(g))))
            L = np.tril(rng.standard_normal((f, len(i))), -1)
            L[i, i] = np.sqrt(rng.chisquare(g - i))
            G += t * (L @ L.T)
        return np.clip(np.linalg.eigvalsh(G)[::-1], 0.0, None)[: self.rank]

    @property
    def rank(self) -> int:
        """The number of eigenvalues that can be positive."""
        return int(np.floor(min(self.free, float(self.counts.sum())) + 1e-9))


class _Iteration:
    """The iteration for several draws at once. Vectors are rows, of which the first index is that of the draw."""

    def __init__(self, noise: NoiseSpectrum, rng: np.random.Generator, n_draws: int) -> None:
        self._noise, self._rng, self._n = noise, rng, n_draws
        # Vectors are in float32, since their products are limited by the speed of memory.
        self._roots = np.zeros(0, dtype=np.float32)
        self._V, self._Q = (np.zeros((n_draws, 0, 0), dtype=np.float32) for _ in range(2))
        self._a, self._b = (np.zeros((n_draws, noise.rank)) for _ in range(2))

    def run(self, k: int) -> np.ndarray:
        """Iterate until the residuals of the k largest eigenvalues, which bound their errors, are small."""
        rank = self._noise.rank
        k, look = min(k, rank), min(rank, 4 * k + 32)
        row = np.zeros((self._n, 0), dtype=np.float32)
        for j in range(rank):
            check_stop()
            row = self._step(j, row)
            if j + 1 == look:
                values, residuals = self._ritz(j + 1)
                if look == rank or np.all(residuals[:, -k:] <= _TOL * values[:, -k:]):
                    return np.clip(values[:, ::-1][:, :k], 0.0, None)
                look = min(rank, look + max(16, look // 4))
        return np.zeros((self._n, 0))

    def _step(self, j: int, known: np.ndarray) -> np.ndarray:
        """Compute v_j and q_j, given the row u_j^T Z in the coordinates so far, and draw the next row."""
        noise, rng = self._noise, self._rng
        new = noise.counts > j
        self._roots = np.concatenate([self._roots, np.sqrt(noise.variances[new]).astype(np.float32)])
        self._make_room(j + 1)
        V, Q = self._V[:, :, : len(self._roots)], self._Q[:, :, : len(self._roots)]
        added = np.sqrt(rng.chisquare(noise.counts[new] - j, (self._n, int(new.sum()))))
        v = np.concatenate([known, added.astype(np.float32)], axis=1) * self._roots
        self._a[:, j], V[:, j] = _normalized((v[:, None] - _projections(v[:, None], V[:, :j]))[:, 0])
        both = np.empty((self._n, 2, len(self._roots)), dtype=np.float32)
        both[:, 0] = V[:, j] * self._roots
        both[:, 1] = rng.standard_normal(v.shape, dtype=np.float32)
        both -= _projections(both, Q[:, :j])
        distance, q = _normalized(both[:, 0])
        Q[:, j] = q
        c = np.sqrt(rng.chisquare(max(noise.free - j - 1, 1e-300), self._n))
        self._b[:, j] = distance * c
        return both[:, 1] + (c - np.einsum("dn,dn->d", both[:, 1], q)).astype(np.float32)[:, None] * q

    def _ritz(self, m: int) -> tuple[np.ndarray, np.ndarray]:
        """Ascending eigenvalues of U^T G U = B B^T after m steps, B lower bidiagonal, and their residuals."""
        a, b = self._a[:, :m], self._b[:, :m]
        T = np.zeros((self._n, m, m))
        i = np.arange(m)
        T[:, i, i] = a**2
        T[:, i[1:], i[1:]] += b[:, :-1] ** 2
        T[:, i[1:], i[:-1]] = a[:, :-1] * b[:, :-1]
        values, vectors = np.linalg.eigh(T)
        return values, np.abs(vectors[:, -1]) * (a[:, -1] * b[:, -1])[:, None]

    def _make_room(self, m: int) -> None:
        """Memory for m vectors with all coordinates so far."""
        if m <= self._V.shape[1] and len(self._roots) <= self._V.shape[2]:
            return
        width = len(self._roots) + sum(int(np.count_nonzero(self._noise.counts > j)) for j in range(m, 2 * m + 16))
        for name in ("_V", "_Q"):
            old = getattr(self, name)
            larger = np.zeros((self._n, 2 * m + 16, width), dtype=np.float32)
            larger[:, : old.shape[1], : old.shape[2]] = old
            setattr(self, name, larger)


def _projections(X: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """The projections of the vectors of each draw, the rows of X, on the span of its orthonormal vectors."""
    return np.matmul(np.matmul(X, basis.transpose(0, 2, 1)), basis)


def _normalized(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lengths, and vectors of unit length (zero if the length is)."""
    lengths = np.linalg.norm(x, axis=1)
    return lengths, x / np.where(lengths > 0.0, lengths, 1.0)[:, None]


def _edge(t: np.ndarray, free: float) -> float:
    """The m that minimises f / m + sum_j t_j / (1 - t_j m) between 0 and 1 / max t."""
    top = float(t.max())

    def slope(share: float) -> float:
        return float(np.sum((t / top * share / (1.0 - t / top * share)) ** 2)) - free

    return float(optimize.brentq(slope, 0.0, 1.0 - 1e-9)) / top


def _count_single(t: np.ndarray, free: float) -> tuple[int, float]:
    """How many of the descending variances are not small, and t m for the largest of the others. Without the large ones
    the edge is another one."""
    able = [h for h in _SINGLE if h < len(t)]
    most = min(_SMALL[0], 1.0 / (1.0 + 1.0 / math.sqrt(_SMALL[1] * free)))
    for h in able:
        size = float(t[h]) * _edge(t[h:], free)
        if size <= most:
            break
    return h, size


def _quadrature(t: np.ndarray, r: int) -> tuple[np.ndarray, np.ndarray]:
    """At most r nodes t_b and numbers g_b with sum_b g_b t_b^s = sum_j t_j^s for s = 1, ..., 2 r, by Lanczos' iteration
    with diag(t) from the vector of the sqrt(t_j)."""
    top = float(t.max())
    t = t / top
    total = float(t.sum())
    basis = np.sqrt(t / total)[None, :]
    J = np.zeros((r, r))
    for i in range(r):
        w = t * basis[i]
        J[i, : i + 1] = J[: i + 1, i] = basis @ w
        for _ in range(2):
            w = w - basis.T @ (basis @ w)
        length = float(np.linalg.norm(w))
        if length < 1e-12:
            J = J[: i + 1, : i + 1]
            break
        basis = np.vstack([basis, w / length])
    nodes, vectors = np.linalg.eigh(J)
    return nodes * top, total * vectors[0] ** 2 / nodes
