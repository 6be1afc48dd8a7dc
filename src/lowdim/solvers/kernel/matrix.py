"""The centred kernel matrix of rows, and its products with vectors.

The matrix is computed in tiles of its lower triangle, which are kept or computed again for each product. While other
solvers need sums over rows, exact kernel PCA needs sums over pairs of rows, which are computed here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ..._blas import available
from ..._progress import Progress, watcher
from ..._threads import run_in_parallel
from ..._xp import (
    Array,
    all_finite,
    asarray_like,
    astype,
    device,
    is_sparse,
    namespace,
    to_host,
    to_numpy,
    wide_dtype,
)
from ...errors import kernel_not_finite, not_symmetric_kernel
from ...kernels import Kernel
from ...linalg import FLOAT32_EPS, FLOAT64_EPS
from .kernel_job import TILE, tile_rows

#: Number of rows whose kernels with all others give an estimate of the means.
_GUESS_ROWS = 128
#: Number of steps of subspace iteration with the kernels between these rows.
_START_STEPS = 3


class Tiles(ABC):
    """A symmetric kernel matrix that is computed one tile at a time."""

    def __init__(self, like: Array, semidefinite: bool) -> None:
        self.n = int(like.shape[0])
        self.itemsize = 4 if like.dtype == namespace(like).float32 else 8
        self.semidefinite = semidefinite
        self._like = like

    @abstractmethod
    def __call__(self, rows: slice, columns: slice, out: Array | None = None) -> Array:
        """A tile, which the caller may modify; it is stored in `out` or in a new array."""

    def empty(self, *shape: int) -> Array:
        """An uninitialised array for sums."""
        if isinstance(self._like, np.ndarray) or is_sparse(self._like):
            return np.empty(shape)
        xp = namespace(self._like)
        return xp.empty(shape, dtype=wide_dtype(xp, device(self._like)), device=device(self._like))

    def empty_tiles(self, count: int, size: int) -> Array:
        """An uninitialised array for `count` tiles."""
        like = self.empty(0)
        xp = namespace(like)
        dtype = xp.float32 if self.itemsize < 8 else like.dtype
        return xp.empty((count, size, size), dtype=dtype, device=device(like))


class KernelTiles(Tiles):
    """Tiles of the kernels k(x_i, x_j) of rows."""

    def __init__(self, kernel: Kernel, X: Array) -> None:
        super().__init__(X, kernel.semidefinite)
        self.kernel, self.X = kernel, X
        self._prepared: dict[tuple[int, int, int | None], Callable[..., Array]] = {}
        self._among = None if isinstance(X, np.ndarray) else kernel.among(X)

    def __call__(self, rows: slice, columns: slice, out: Array | None = None) -> Array:
        if self._among is not None:
            return self._among(rows, columns)
        if rows == columns:
            # With a single argument, the kernel sets the distance of each row to itself to exactly zero.
            return self.kernel(self._rows(rows))
        key = (columns.start, columns.stop, columns.step)
        if key not in self._prepared:
            self._prepared[key] = self.kernel.against(self._rows(columns))
        return self._prepared[key](self._rows(rows), out)

    def _rows(self, some: slice) -> Array:
        return self.X[some] if self.X.ndim == 1 or is_sparse(self.X) else self.X[some, :]


class GivenTiles(Tiles):
    """Tiles of a precomputed kernel matrix."""

    def __init__(self, K: Array) -> None:
        super().__init__(K, semidefinite=False)
        self.K = K

    def __call__(self, rows: slice, columns: slice, out: Array | None = None) -> Array:
        if is_sparse(self.K):
            return self.K[rows][:, columns].toarray()
        if isinstance(self.K, np.ndarray) and out is not None:
            np.copyto(out, self.K[rows, columns])
            return out
        return namespace(self.K).asarray(self.K[rows, columns], copy=True)


class KernelMatrix:
    """G = D^(1/2) J K J^T D^(1/2) with J = I - 1 s^T, for weights w, D = diag(w) and s = w / sum(w).

    Parameters
    ----------
    tiles : Tiles
    weights : array of shape (n,), optional
        Frequency weights; weight 2 equals repeating the row.
    room : int
        Bytes for tiles that are kept between products; the others are computed again.
    progress : Progress, optional

    Attributes
    ----------
    semidefinite : bool
        Whether the kernel guarantees that no eigenvalue is negative.
    epsilon, unit : float
        Rounding error and approximate size of the kernels.
    weight : float
        Total weight.
    root, share : arrays of shape (n,)
        sqrt(w), and s.
    means : array of shape (n,)
        K s, known after the first product.
    diagonal : array of shape (n,)
        Diagonal of K, known after the first product.

    Notes
    -----
    A tile is used for both halves of the symmetric matrix: K_ij V_j and K_ij^T V_i. An estimate a_i + a_j of the means
    is subtracted from the tiles, which does not change the centred matrix: without it, kernels that hardly vary would
    lose digits, because they are close to their mean. A pass takes n^2 / 2 kernels (none if all tiles are kept) and
    2 n^2 b multiplications for b vectors.
    """

    def __init__(
        self,
        tiles: Tiles,
        weights: Array | None = None,
        room: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self.n = tiles.n
        self._tiles, self._progress = tiles, watcher(progress)
        like = tiles.empty(0)
        self._xp, self._device, self._dtype = namespace(like), device(like), like.dtype
        xp = self._xp
        w = xp.ones(self.n, dtype=self._dtype, device=self._device) if weights is None else astype(weights, self._dtype)
        self.weight = float(xp.sum(w))
        self.root, self.share = xp.sqrt(w), w / self.weight
        self._host = isinstance(like, np.ndarray)
        self._size = size = tile_rows(self.n, self._host)
        slices = [slice(i, min(i + size, self.n)) for i in range(0, self.n, size)]
        self._pairs = [(rows, columns) for i, rows in enumerate(slices) for columns in slices[: i + 1]]
        self._n_kept = min(len(self._pairs), room // (tiles.itemsize * self._size**2))
        self._kept: dict[int, Array] = {}
        # On the host, all kept tiles are parts of one array, because allocating it takes a third of the time.
        self._store: Any = tiles.empty_tiles(self._n_kept, self._size) if self._host else None
        self.semidefinite = tiles.semidefinite
        self.epsilon = FLOAT32_EPS if tiles.itemsize < 8 else FLOAT64_EPS
        self.unit = 0.0
        #: The kernels of a few rows with each other, and with all rows if these are on a device.
        self._corner: Any = None
        self._few: Any = None
        self._guess = self._guess_means()
        if not math.isfinite(self.unit):
            raise kernel_not_finite(getattr(tiles, "kernel", None))
        self.unit = self.unit or 1.0
        self._pool: ThreadPoolExecutor | None = None
        self.means: Any = None
        self.diagonal: Any = tiles.empty(self.n)

    def __call__(self, V: Array) -> Array:
        """G V, in one pass over the tiles."""
        xp = self._xp
        U = V * self.root[:, None]
        U = U - self.share[:, None] * xp.sum(U, axis=0)[None, :]
        if self.means is None:
            # The means of K are computed together with the first product.
            Z = self._product(xp.concat([U, self.share[:, None]], axis=1))
            self._set_means(Z[:, -1])
            Z = Z[:, :-1]
        else:
            Z = self._product(U)
        return (Z - (self.share @ Z)[None, :]) * self.root[:, None]

    def start(self, b: int, random: np.random.Generator) -> Array:
        """b vectors to start the iteration from, (n, b).

        They span nearly the space of the leading eigenvectors for a few rows, found by subspace iteration, and are
        extended to all rows by their kernels. A random part, a thirtieth of their size, is added to include directions
        that those rows do not show.
        """
        xp, few = self._xp, slice(0, self.n, -(-self.n // _GUESS_ROWS))
        # Uniform numbers with the mean 0 and the variance 1: normal ones would take five times as long.
        if self._host:
            V = math.sqrt(12.0) * (random.random((self.n, b)) - 0.5)
        else:
            # Single bytes, which are drawn and sent in an eighth of the time.
            drawn = np.frombuffer(random.bytes(self.n * b), np.int8).reshape(self.n, b)
            V = (math.sqrt(12.0) / 256.0) * (asarray_like(drawn, self.diagonal, dtype=self._dtype) + 0.5)
        K = self._corner.astype(np.float64) / self.unit
        means = K.mean(axis=0)
        wanted = min(b, len(K) // 2)
        if wanted == 0:
            return V
        K = K - means - means[:, None] + means.mean()
        U = random.standard_normal((len(K), wanted))
        for _ in range(_START_STEPS):
            U = np.linalg.qr(K @ U)[0]
        U = asarray_like(U, self.diagonal, dtype=self._dtype)
        known = self._tiles.empty(self.n, U.shape[1])
        for rows in self._strips():
            T = self._tiles(rows, few) if self._few is None else self._few
            known[rows, :] = astype(T, self._dtype) / self.unit @ U
        self._few = None
        known = known - xp.mean(known, axis=0)
        lengths = xp.sqrt(xp.sum(known * known, axis=0))
        lengths = xp.where(lengths > 0.0, lengths, xp.ones_like(lengths))
        V[:, : U.shape[1]] += known * (30.0 * math.sqrt(self.n) / lengths)
        return V

    def dense(self) -> Array:
        """A matrix whose lower triangle is that of G, in one pass over the tiles; its upper triangle is arbitrary."""
        G = self._tiles.empty(self.n, self.n)
        self._set_means(self._product(self.share[:, None], into=G)[:, 0])
        shifted = self.means - self._guess - self.share @ self._guess
        total = float(self.share @ shifted)
        for start in range(0, self.n, TILE):
            rows = slice(start, min(start + TILE, self.n))
            left = G[rows, : rows.stop]
            left -= shifted[rows][:, None]
            left -= (shifted[: rows.stop] - total)[None, :]
            left *= self.root[rows][:, None]
            left *= self.root[: rows.stop][None, :]
        return G

    @property
    def is_kept(self) -> bool:
        """Whether all tiles are kept, so that only the first product reads the rows."""
        return self._n_kept == len(self._pairs)

    @property
    def trace(self) -> float:
        """Sum of all eigenvalues of G, known after the first product."""
        sums = [(self.root * self.root) @ self.diagonal, self.share @ self.means]
        squares, mean = map(float, to_host(sums))
        return squares - self.weight * mean

    def _set_means(self, product: Array) -> None:
        """Set the means of K, given those of the tiles."""
        self.means = product + self._guess + self.share @ self._guess

    def _strips(self) -> Iterator[slice]:
        """The rows whose kernels with a few others are computed together: they take at most the memory of a tile."""
        step = TILE if self._host else max(1, self._size**2 // (2 * _GUESS_ROWS))
        return (slice(i, min(i + step, self.n)) for i in range(0, self.n, step))

    def _guess_means(self) -> Array:
        """A vector a such that K_ij is approximately a_i + a_j, from means over a few rows; also sets `unit`."""
        every = -(-self.n // _GUESS_ROWS)
        a = self._tiles.empty(self.n)
        few = slice(0, self.n, every)
        self._corner = corner = to_numpy(self._tiles(few, few))
        asymmetry = float(np.abs(corner - corner.T).max())
        if asymmetry > 1e-4 * float(np.abs(corner).max()):
            raise not_symmetric_kernel(getattr(self._tiles, "kernel", None), asymmetry)
        for rows in self._strips():
            T = self._tiles(rows, few)
            self._few = None if self._host or rows.stop - rows.start < self.n else T
            a[rows] = astype(self._xp.mean(T, axis=1), self._dtype)
            # The comparison is written such that NaN is kept.
            largest = float(self._xp.max(self._xp.abs(T)))
            self.unit = self.unit if largest <= self.unit else largest
        return a - 0.5 * self._xp.mean(a[few])

    def _product(self, U: Array, into: Array | None = None) -> Array:
        """K U with the estimate of the means subtracted from K, tile by tile."""
        if self._progress is not None:
            self._progress.begin("KernelMatrix", len(self._pairs))
        tick = None if self._progress is None else self._progress.step
        if self._host:
            Z = self._product_in_parallel(U, into, tick)
        else:
            Z = self._partial_product(range(len(self._pairs)), U, into, tick or (lambda: None))
        if self._progress is not None:
            self._progress.end()
        # All products are of the same kernels, so that a look at the first of them is enough.
        if self.means is None and not all_finite(Z):
            raise kernel_not_finite(getattr(self._tiles, "kernel", None))
        return Z

    def _product_in_parallel(self, U: Array, into: Array | None, tick: Callable[[], None] | None) -> Array:
        """The product, by several threads."""
        n_threads = min(available(), len(self._pairs))
        shares = [range(i, len(self._pairs), n_threads) for i in range(n_threads)]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(n_threads)
        Z: Any = None
        tasks = [partial(self._partial_product, share, U, into) for share in shares]
        for part in run_in_parallel(tasks, tick, pool=self._pool):
            Z = part if Z is None else Z + part
        return Z

    def _partial_product(self, share: range, U: Array, into: Array | None, tick: Callable[[], None]) -> Array:
        """The contribution of some of the tiles to the product."""
        xp = self._xp
        Z = xp.zeros(U.shape, dtype=self._dtype, device=self._device)
        # One buffer for all tiles that are not kept: allocating memory for each would cost the host as much as its
        # kernels.
        scratch, V = self._tiles.empty_tiles(1, self._size) if self._host else None, None
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for number in share:
                rows, columns = self._pairs[number]
                T = self._tile(number, scratch)
                if into is not None:
                    into[rows, columns] = astype(T, self._dtype)
                V = astype(U, T.dtype) if V is None else V
                # A part of Z is a view; adding to it by its index would copy it once more.
                part = Z[rows, :]
                part += astype(T @ V[columns, :], self._dtype)
                if rows != columns:
                    part = Z[columns, :]
                    part += astype(T.T @ V[rows, :], self._dtype)
                tick()
        return Z

    def _tile(self, number: int, scratch: Array | None) -> Array:
        """One tile minus the estimate of the means; it is computed if it was not kept, and then kept if it fits."""
        if number in self._kept:
            return self._kept[number]
        rows, columns = self._pairs[number]
        out = None
        if scratch is not None:
            store, place = (self._store, number) if number < self._n_kept else (scratch, 0)
            out = store[place, : rows.stop - rows.start, : columns.stop - columns.start]
        T = self._tiles(rows, columns, out)
        if rows == columns:
            self.diagonal[rows] = astype(self._xp.linalg.diagonal(T), self._dtype)
        a = astype(self._guess, T.dtype)
        T -= a[columns][None, :]
        T -= a[rows][:, None]
        if number < self._n_kept:
            if out is not None and T is not out:
                out[:, :] = T
                T = out
            self._kept[number] = T
        return T
