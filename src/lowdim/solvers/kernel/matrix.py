"""The job of kernel PCA, its result, and the centred kernel matrix of rows with its products."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import Any

import numpy as np

from ... import features
from ..._core.arrays import (
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
from ..._core.threads import Progress, available, free_bytes, run_in_parallel, watcher
from ...errors import kernel_not_finite, read_once
from ...kernels import Gaussian, Kernel
from ...linalg import FLOAT32_EPS, FLOAT64_EPS
from ...summaries.sample import Sample
from .. import spectra
from ..problem import AnySolver, Cost, Job, Plan, RowsLike, SpectraLike, Status

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def memory_allowed(memory: Any) -> int:
    """The number of bytes that `memory` stands for: a number, a string such as "2 GiB", or None for half of the free
    memory."""
    if memory is None:
        return free_bytes() // 2 or 2**62
    number = memory
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]i?)?b?\s*", memory.lower())
        number = float(match[1]) * _UNITS[match[2] or ""] if match else 0
    if isinstance(number, Real) and not isinstance(number, bool) and 1 <= float(number) < math.inf:
        return int(float(number))
    raise ValueError(f"memory={memory!r} must be a positive number of bytes, words such as '2 GiB', or None.")


# The job of kernel PCA, and the base class of its solvers.


#: Number of rows of a tile of the kernel matrix: a float64 tile and its products fit into the cache of a core.
TILE = 512
#: On a device tiles are larger, because each tile costs several kernel launches, and the host waits for it.
_DEVICE_TILE = 8192
#: Number of rows that a plan assumes if it is unknown.
_UNKNOWN_ROWS = 100_000
#: "auto" uses explicit features if there are at most this many, and enough rows.
_FEW_FEATURES = 1000


def tile_rows(n: int, host: bool) -> int:
    """The number of rows of a tile of an n x n kernel matrix. On a device, all tiles have about the same size, so that
    no memory is left unused in the last ones."""
    return min(TILE, n) if host else -(-n // -(-n // _DEVICE_TILE))


@dataclass(frozen=True)
class KernelJob(Job):
    """The job of kernel PCA; `k` is None for all components with a positive eigenvalue."""

    #: None if the kernel matrix is precomputed.
    kernel: Kernel | None = None
    #: Bytes that may be used in addition to the rows; 0 if there is no limit.
    allowed: int = 0
    #: Whether rows are objects that only the kernel can interpret, not numbers.
    objects: bool = False

    @property
    def rows(self) -> int:
        return _UNKNOWN_ROWS if self.n is None else self.n

    @property
    def memory(self) -> int:
        return self.allowed

    @property
    def triangle_bytes(self) -> int:
        """Bytes of one half of the kernel matrix, in tiles."""
        size = tile_rows(self.rows, self.traits.host)
        tiles = -(-self.rows // size)
        return self.traits.itemsize * size**2 * tiles * (tiles + 1) // 2

    @property
    def draws_sample(self) -> bool:
        """Whether a sample is drawn in a first pass; it needs rows of numbers that can be read again.

        Widths, landmarks, signs and examples come from it.
        """
        return self.kernel is not None and not self.objects and self.traits.rereadable

    @cached_property
    def explicit_features(self) -> tuple[Callable[[Array], Array], int] | None:
        """The explicit feature map of the kernel and its number of features, or None if there is none."""
        return None if self.kernel is None else self.kernel.explicit_features(self.p)

    @cached_property
    def has_few_features(self) -> bool:
        """Whether the kernel has explicit features, and so few that PCA of these is faster than using pairs of rows."""
        found = self.explicit_features
        if found is None or found[1] > _FEW_FEATURES:
            return False
        return not self.traits.whole or self.rows > max(1000, 4 * found[1])


@dataclass(frozen=True)
class SampledRows:
    """The request to a solver after the job was planned and a sample of the rows was drawn."""

    #: The job, whose kernel has values for all its parameters.
    job: KernelJob
    plan: Plan
    sample: Sample | None
    seed: int


class KernelSolver(AnySolver):
    """A solver that computes components from rows and a kernel.

    "auto" takes the one solver that is sensible for a job (`is_sensible`): PCA of explicit features if there are few,
    landmarks if rows come in blocks, and otherwise the eigenpairs of the kernel matrix.

    Examples
    --------
    >>> from lowdim.solvers import KERNEL_SOLVERS, KernelSolver, Nystrom
    >>> isinstance(Nystrom(landmarks=100), KernelSolver), sorted(KERNEL_SOLVERS)
    (True, ['dense', 'features', 'fourier', 'krylov', 'matrix-free', 'nystrom'])
    """

    def job_of(self, sources: Sequence[Any], k: int | None) -> KernelJob:
        """The job for a Gaussian kernel, in half of the free memory."""
        n, p = sources[0].shape
        return KernelJob(n, p, k, sources[0].traits, Gaussian(), memory_allowed(None))

    @property
    def sample_size(self) -> int:
        """The number of distinct rows that the solver needs in the sample."""
        return 0

    def final_cost(self, job: KernelJob) -> Cost:
        """The cost if the solver runs, where it may use more memory than `cost`, which says the least it needs."""
        return self.cost(job)

    def plan(self, job: KernelJob, why: str = "") -> Plan:
        """The plan for this solver to do `job`; the sample of the rows is one of its passes."""
        cost = self.final_cost(job)
        return Plan(self, cost.passes + job.draws_sample, cost.n_bytes, why or cost.why)

    def _solve_sampled(self, rows: RowsLike, request: SampledRows) -> Components:
        """Components of the rows, of which a sample was drawn."""
        return self.components(rows, request.job, request.sample, request.seed, spectra)

    @abstractmethod
    def components(
        self, rows: RowsLike, job: KernelJob, sample: Sample | None, seed: int, spectra: SpectraLike
    ) -> Components:
        """Components of the rows, for a job whose kernel has values for all its parameters.

        `sample` is None if the rows are not numbers or can be read only once.
        """

    @abstractmethod
    def memory_advice(self, job: KernelJob) -> str:
        """Advice for a job that does not fit into the allowed memory."""

    def unknowns(self, job: KernelJob) -> list[str]:
        """Descriptions of what has to be estimated from the rows in a first pass."""
        return [] if job.kernel is None or job.kernel.is_complete else ["the width of the kernel"]

    def refusal(self, job: KernelJob) -> Exception | None:
        unknowns = self.unknowns(job)
        if unknowns and not job.traits.rereadable:
            return read_once(self.name, f"give what a first reading would find: {' and '.join(unknowns)}")
        needed = self.cost(job).n_bytes
        return None if job.fits(needed) else self.too_large(job, needed)

    def too_large(self, job: KernelJob, n_bytes: int) -> MemoryError:
        needed, allowed = (
            f"{n / 2**30:.1f} GiB" if n >= 2**30 else f"{n / 2**20:.1f} MiB" for n in (n_bytes, job.memory)
        )
        return MemoryError(
            f"solver={self.name!r} on {job.rows} rows would need {needed}, and memory={allowed} is allowed. "
            f"{self.memory_advice(job)}"
        )


@dataclass(frozen=True)
class MapError:
    """The error of a feature map: an estimate, and a 99 % confidence interval of the error for all rows."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Components:
    """Components of kernel PCA: the scores of x are (phi(x) - offset) projection."""

    phi: Any
    projection: Array
    offset: Array
    #: Positive eigenvalues of the centred kernel matrix, descending, and the sum of all positive ones.
    values: np.ndarray
    total: float
    negative_mass: float
    status: Status
    residual: float
    #: Number of passes over the rows, or over pairs of rows.
    passes: int
    n_rows: int
    weight: float
    #: The rows with which kernels are computed, and a matrix B and a vector c: the point with scores z is the sum of
    #: the features of these rows with weights z B + c.
    basis: Any = None
    expansion: tuple[Array, Array] | None = None
    #: Unit eigenvectors of the centred kernel matrix, as columns.
    eigenvectors: Array | None = None
    error: MapError = MapError(0.0, 0.0, 0.0)
    #: The kernel, with a value for each of its parameters; None if the kernel matrix was precomputed.
    kernel: Kernel | None = None
    #: Distinct rows of the fit, from which a map from scores to rows can be learned; None if not available.
    examples: Any = None


def array_like(rows: Any, like: Array) -> Any:
    """A NumPy array as an array of the library, device and dtype of `like`; sparse rows and None are unchanged."""
    return rows if rows is None or is_sparse(rows) else asarray_like(rows, like, dtype=like.dtype)


def kernel_columns(kernel: Kernel, rows: Array, origin: Array | None) -> Any:
    """The map from x to its kernels with `rows`.

    `origin` is subtracted first if such a shift does not change centred kernels and the kernel does not shift rows by
    itself: products of numbers far from zero would lose digits.
    """
    if origin is None or is_sparse(rows) or kernel.shift_invariant or not kernel.shift_free:
        return features.KernelColumns(kernel, rows)
    shift = astype(origin, rows.dtype)
    return features.Scaled(features.KernelColumns(kernel, rows - shift), shift=shift)


# The centred kernel matrix of rows, and its products with vectors.
#
# The matrix is computed in tiles of its lower triangle, which are kept or computed again for each product. While other
# solvers need sums over rows, exact kernel PCA needs sums over pairs of rows, which are computed here.


#: Number of rows whose kernels with all others give an estimate of the means.
_GUESS_ROWS = 128
#: Number of steps of subspace iteration with the kernels between these rows.
_START_STEPS = 3


class Tiles:
    """A symmetric kernel matrix by tiles: the kernels k(x_i, x_j) of rows X, or X itself if there is no kernel."""

    def __init__(self, X: Array, kernel: Kernel | None = None) -> None:
        self.X, self.kernel, self.n = X, kernel, int(X.shape[0])
        self.itemsize = 4 if X.dtype == namespace(X).float32 else 8
        self._prepared: dict[tuple[int, int, int | None], Callable[..., Array]] = {}
        self._among = None if kernel is None or isinstance(X, np.ndarray) else kernel.among(X)

    def __call__(self, rows: slice, columns: slice, out: Array | None = None) -> Array:
        """A tile, which the caller may modify; it is stored in `out` or in a new array."""
        if self.kernel is None:
            return self._copied(rows, columns, out)
        if self._among is not None:
            return self._among(rows, columns)
        if rows == columns:
            # With a single argument, the kernel sets the distance of each row to itself to exactly zero.
            return self.kernel(self._rows(rows))
        key = (columns.start, columns.stop, columns.step)
        if key not in self._prepared:
            self._prepared[key] = self.kernel.against(self._rows(columns))
        return self._prepared[key](self._rows(rows), out)

    def _copied(self, rows: slice, columns: slice, out: Array | None) -> Array:
        """A tile of the precomputed matrix."""
        if is_sparse(self.X):
            return self.X[rows][:, columns].toarray()
        if isinstance(self.X, np.ndarray) and out is not None:
            np.copyto(out, self.X[rows, columns])
            return out
        return namespace(self.X).asarray(self.X[rows, columns], copy=True)

    def _rows(self, some: slice) -> Array:
        return self.X[some] if self.X.ndim == 1 or is_sparse(self.X) else self.X[some, :]

    def empty(self, *shape: int) -> Array:
        """An uninitialised array for sums."""
        if isinstance(self.X, np.ndarray) or is_sparse(self.X):
            return np.empty(shape)
        xp = namespace(self.X)
        return xp.empty(shape, dtype=wide_dtype(self.X), device=device(self.X))

    def empty_tiles(self, count: int, size: int) -> Array:
        """An uninitialised array for `count` tiles."""
        like = self.empty(0)
        xp = namespace(like)
        dtype = xp.float32 if self.itemsize < 8 else like.dtype
        return xp.empty((count, size, size), dtype=dtype, device=device(like))


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
        self, tiles: Tiles, weights: Array | None = None, room: int = 0, progress: Progress | None = None
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
        self.semidefinite = tiles.kernel is not None and tiles.kernel.semidefinite
        self.epsilon = FLOAT32_EPS if tiles.itemsize < 8 else FLOAT64_EPS
        self.unit = 0.0
        #: The kernels of a few rows with each other, and with all rows if these are on a device.
        self._corner: Any = None
        self._few: Any = None
        self._guess = self._guess_means()
        if not math.isfinite(self.unit):
            raise kernel_not_finite(tiles.kernel)
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
            # Single bytes, which are drawn and copied in an eighth of the time.
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
            raise ValueError(
                f"the kernel {self._tiles.kernel} is not symmetric: k(x, y) and k(y, x) differ by up to "
                f"{asymmetry:.3g}. Pass a function that gives the same value for both orders, for example "
                "(f(x, y) + f(y, x)) / 2."
            )
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
            n_threads = min(available(), len(self._pairs))
            if self._pool is None:
                self._pool = ThreadPoolExecutor(n_threads)
            shares = (range(i, len(self._pairs), n_threads) for i in range(n_threads))
            tasks = [partial(self._partial_product, share, U, into) for share in shares]
            Z: Any = None
            for part in run_in_parallel(tasks, tick, pool=self._pool):
                Z = part if Z is None else Z + part
        else:
            Z = self._partial_product(range(len(self._pairs)), U, into, tick or (lambda: None))
        if self._progress is not None:
            self._progress.end()
        # All products are of the same kernels, so that a look at the first of them is enough.
        if self.means is None and not all_finite(Z):
            raise kernel_not_finite(self._tiles.kernel)
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
