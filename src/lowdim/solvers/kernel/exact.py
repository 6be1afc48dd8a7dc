"""Exact kernel PCA: eigenpairs of the centred kernel matrix, which need not be in memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..._core.arrays import Array, asarray_like, astype, eps, is_sparse, namespace, to_numpy
from ..._core.threads import in_words, single_threaded_blas
from ...errors import needs_all_rows, not_symmetric
from ...features import Same, Scaled, SomeColumns
from ...linalg import eigh_descending, orthonormal_block, rank_cut, require_normal
from ...summaries.sample import Sample
from ..iteration import Lanczos, LanczosOptions
from ..problem import Cost, RowsLike, SpectraLike, Status
from .matrix import TILE, Components, KernelJob, KernelMatrix, KernelSolver, Tiles, kernel_columns, tile_rows

#: A precomputed matrix may differ from its transpose by this share of its largest entry.
_SYMMETRIC = 1e-8
#: Number of rows compared at a time.
_STRIP = 1024
#: Residuals below this multiple of eps * gamma_1 are rounding noise.
_NOISE = 30
#: Numbers of vectors and of steps for the estimate of the negative mass.
_PROBES, _PROBE_STEPS = 16, 6
#: A negative Ritz value smaller in magnitude than this share of the largest one is rounding.
_NEGATIVE = 1e-6
#: Up to this many rows LAPACK is fastest.
_DENSE_UP_TO = 500
#: Usual number of products with the matrix in an iteration.
_STEPS = 10
#: Units of work that two cores do in an hour, measured for 50,000 rows.
_WORK_PER_HOUR = 3.6e13
_APPROXIMATE = "Nystrom(landmarks=m) approximates the kernel with less, for m small enough"


@dataclass(frozen=True)
class KernelFit:
    """Leading eigenpairs of the centred kernel matrix G of rows."""

    #: Positive eigenvalues of G, descending, (k,), as a NumPy array.
    values: np.ndarray
    #: Unit eigenvectors as columns, (n, k); with weights, sqrt(w_i) times those of the rows repeated w_i times.
    vectors: Array
    #: Sum of all positive eigenvalues, and the share of the negative eigenvalues in sum |lambda|.
    total: float
    negative_mass: float
    status: Status
    #: max_k ||G v_k - gamma_k v_k|| / gamma_1.
    residual: float
    #: Passes over pairs of rows.
    passes: int


class ExactKernel(KernelSolver):
    """A solver of G v = gamma v for the centred kernel matrix G of all rows."""

    #: Whether kernels of float32 rows are computed in float64.
    in_float64: ClassVar[bool] = False

    @abstractmethod
    def solve(self, matrix: KernelMatrix, k: int | None, seed: int) -> KernelFit:
        """The first `k` eigenpairs, or all with a positive eigenvalue if `k` is None."""

    def components(
        self, rows: RowsLike, job: KernelJob, sample: Sample | None, seed: int, spectra: SpectraLike
    ) -> Components:
        """Components from the eigenpairs of the kernel matrix of all rows.

        If the job has no kernel, the rows are this matrix. Passes over pairs of rows and memory are those of `solve`.
        """
        X, weights = rows.whole("KernelPCA")
        basis = None
        phi: Any
        if job.kernel is None:
            K, phi = X, Same()
            if K.shape[0] < K.shape[1]:
                # Rows of weight zero are left out, and so are the corresponding columns.
                phi = SomeColumns(np.flatnonzero(to_numpy(rows.weights) > 0))
                K = phi(K)
            require_symmetric(K)
            tiles = Tiles(K)
        else:
            # A copy, because the user may change the rows after the fit.
            basis = X.copy() if isinstance(X, np.ndarray) or is_sparse(X) else namespace(X).asarray(X, copy=True)
            phi = kernel_columns(job.kernel, basis, _mean(basis, weights))
            known = phi.feature_map.rows if isinstance(phi, Scaled) else phi.rows
            if self.in_float64 and job.traits.itemsize < 8 and not is_sparse(known):
                known = astype(known, namespace(known).float64)
            tiles = Tiles(known, job.kernel)
        matrix = KernelMatrix(tiles, weights, self.kept_bytes(job), rows.progress)
        fit = self.solve(matrix, job.k, seed)
        if fit.values.shape[0]:
            like = tiles.empty_tiles(0, 0)
            require_normal(float(fit.values[0]), like, "the features of the kernel", matrix.weight)
        xp = namespace(fit.vectors)
        deviations = asarray_like(np.sqrt(fit.values), fit.vectors, dtype=fit.vectors.dtype)
        projection = matrix.root[:, None] * fit.vectors / deviations[None, :]
        # Centring makes the columns sum to zero; after an iteration they do so only up to its tolerance.
        projection = projection - matrix.share[:, None] * xp.sum(projection, axis=0)[None, :]
        return Components(
            phi=phi,
            projection=projection,
            offset=matrix.means,
            values=fit.values,
            total=fit.total,
            negative_mass=fit.negative_mass,
            status=fit.status,
            residual=fit.residual,
            passes=fit.passes,
            n_rows=matrix.n,
            weight=matrix.weight,
            basis=basis,
            expansion=(projection.T, matrix.share),
            eigenvectors=fit.vectors / matrix.root[:, None],
        )

    def hours(self, job: KernelJob) -> float:
        """About how many hours the job takes on two cores."""
        return self.cost(job).work / _WORK_PER_HOUR

    def kept_bytes(self, job: KernelJob) -> int:
        """Bytes of the tiles of the kernel matrix that are kept between products with it."""
        return 0

    def row_bytes(self, job: KernelJob) -> int:
        """Bytes of the copies of the rows: one is kept in the model, others are prepared for computing kernels."""
        return 0 if job.kernel is None or job.objects else 4 * job.traits.itemsize * job.rows * job.p

    def refusal(self, job: KernelJob) -> Exception | None:
        if not job.traits.whole:
            return needs_all_rows(f"solver={self.name!r}", instead=", or use solver='nystrom'")
        return super().refusal(job)


@dataclass(frozen=True)
class DenseKernel(ExactKernel):
    """All eigenpairs of G, or the first k, by LAPACK.

    Notes
    -----
    n^2 / 2 kernels, about 4 n^3 / 3 multiplications and up to 4 n^2 numbers of memory.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import KernelPCA
    >>> from lowdim.solvers import DenseKernel
    >>> KernelPCA(2, kernel="rbf", gamma=0.5, solver=DenseKernel()).fit(load_iris().data).eigenvalues_.round(2)
    array([42.02, 20.43])
    """

    name = "dense"
    on_host = "a sample of the rows and a corner of the kernel matrix"
    # LAPACK is fast enough in float64 for all jobs for which it is chosen.
    in_float64 = True

    def solve(self, matrix: KernelMatrix, k: int | None, seed: int) -> KernelFit:
        G = matrix.dense()
        # On a device, the leading pairs alone would be found by products, for which the upper triangle is needed too.
        few = matrix.semidefinite and isinstance(G, np.ndarray)
        found, vectors = eigh_descending(G, at_least=k if few else None)
        values = to_numpy(found)
        # Eigenvalues that are negative only by rounding count as zero.
        negative = -float(np.sum(values[values < -_cut(values, matrix)]))
        return _fit(matrix, values, vectors.T, k, negative, Status.EXACT, 0.0, 1)

    def cost(self, job: KernelJob) -> Cost:
        """A rough estimate, measured on two cores: n^3 units of time, and twice that for all eigenpairs."""
        why = "LAPACK is quickest for so few rows" if job.rows <= _DENSE_UP_TO else "many components are wanted"
        why = "all components are wanted" if job.k is None else why
        n, semidefinite = job.rows, job.kernel is not None and job.kernel.semidefinite
        # If no eigenvalue is negative, the leading ones are enough.
        few = job.k is not None and 8 * job.k <= n and semidefinite
        n_bytes = 8 * n * (n * (3 if few else 6) + 5 * (job.k or 0)) + self.row_bytes(job)
        return Cost((1.0 if semidefinite else 2.0) * n**3, passes=1, n_bytes=n_bytes, why=why)

    def is_sensible(self, job: KernelJob) -> bool:
        """If all components are wanted, or if the matrix fits into memory and an iteration would not be faster."""
        if job.has_few_features or not job.traits.whole:
            return False
        if job.k is None:
            return True
        cost = self.cost(job)
        quickest = job.rows <= _DENSE_UP_TO or cost.work < KrylovKernel().cost(job).work
        return quickest and job.fits(cost.n_bytes)

    def memory_advice(self, job: KernelJob) -> str:
        if job.k is not None:
            return f"Allow more memory; {_APPROXIMATE}."
        return (
            "Pass n_components as a small whole number, so that few are looked for, or allow more memory; "
            f"{_APPROXIMATE}."
        )


@dataclass(frozen=True)
class KrylovKernel(LanczosOptions, ExactKernel):
    """The first k eigenpairs of G from its products with blocks of vectors.

    Parameters
    ----------
    block : int, default=None
        Number of vectors multiplied at a time; default: k rounded up to a multiple of 8.
    tol : float, default=1e-08
        Iterate until ||G v - gamma v|| <= tol * gamma for each pair. The relative error of eigenvalues is then about
        tol^2 divided by their relative gap, that of vectors tol divided by it.
    steps : int, default=None
        Take exactly this many steps, whatever the residual.
    max_steps : int, default=200
        Maximal number of steps.
    keep : bool, default=True
        Keep as much of the kernel matrix as fits into the allowed memory. Otherwise kernels are computed again in each
        step, which about doubles the time for a Gaussian kernel.

    Notes
    -----
    Block Lanczos, as in `lowdim.solvers.Krylov`. A step takes n^2 / 2 kernels, unless they are kept, and 2 n^2 block
    multiplications; about ten steps are usual. The memory holds n (basis + 4 block) numbers and the part of the matrix
    that is kept.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import KernelPCA
    >>> from lowdim.solvers import KrylovKernel
    >>> model = KernelPCA(2, kernel="rbf", gamma=0.5, solver=KrylovKernel(keep=False))
    >>> model.fit(load_iris().data).eigenvalues_.round(2)
    array([42.02, 20.43])
    """

    name = "krylov"
    on_host = "a sample of the rows, a corner of the kernel matrix and small matrices of the iteration"
    keep: bool = True

    def solve(self, matrix: KernelMatrix, k: int | None, seed: int) -> KernelFit:
        assert k is not None, "refusal() rejects jobs without a number of components"
        n, unit, passes = matrix.n, matrix.unit, 0
        # Rows of weight zero have been removed, so there may be fewer than k.
        k = min(k, n)

        def action(V: Array) -> Array:
            nonlocal passes
            passes += 1
            return matrix(V) / unit

        with single_threaded_blas():
            b = min(self.block_size(k), n)
            start = matrix.start(b, np.random.default_rng(seed))
            found = Lanczos(self, k, b, seed, _NOISE * matrix.epsilon).run(action, matrix.diagonal, start)
            largest = max(float(found.values[0]), 0.0)
            indefinite = found.least < -_NEGATIVE * (largest or 1.0)
            negative = unit * _negative_sum(action, matrix.trace / unit, matrix.diagonal, seed) if indefinite else 0.0
        passes = 1 if matrix.is_kept else passes
        return _fit(matrix, found.values * unit, found.vectors, k, negative, found.status, found.residual, passes)

    def kept_bytes(self, job: KernelJob) -> int:
        """Bytes of the part of one half of the matrix that fits into memory; 0 if that is less than one percent."""
        if not self.keep or job.kernel is None:
            return 0
        needed, half = self.cost(job).n_bytes, job.triangle_bytes
        if job.fits(needed + half):
            return half
        room = job.memory - needed
        return room if room >= half // 100 else 0

    def cost(self, job: KernelJob) -> Cost:
        """An estimate in the units of `DenseKernel.cost`; the bytes are the minimum that is needed.

        Ten products with b vectors take 25 n^2 b units of time, and the small eigenproblems between them 7000 b^3.
        """
        k, n = job.k or 1, job.rows
        b = self.block_size(k)
        why = (
            f"half of the kernel matrix ({in_words(job.triangle_bytes)}) does not fit: it is computed anew in each step"
        )
        basis = Lanczos(self, k, b, 0, 0.0).room(n) + 6 * b
        # Tiles that are being computed, with the temporary arrays that kernels need.
        tiles = 8 * TILE**2 if job.traits.host else 9 * tile_rows(n, False) ** 2
        n_bytes = 8 * (n * (basis + 4 * k) + min(tiles, 6 * n**2)) + self.row_bytes(job)
        return Cost(work=25.0 * n**2 * b + 7000.0 * b**3, passes=_STEPS, n_bytes=n_bytes, why=why)

    def final_cost(self, job: KernelJob) -> Cost:
        """The cost if as much of the matrix as fits into memory is kept."""
        cost, half, kept = self.cost(job), job.triangle_bytes, self.kept_bytes(job)
        cost = replace(cost, n_bytes=cost.n_bytes + kept)
        if job.kernel is None:
            return replace(cost, why="the kernel matrix is precomputed")
        if kept == half:
            return replace(cost, passes=1, why="half of the kernel matrix fits and is computed once")
        if kept:
            share = f"{kept / half:.0%} of half of the kernel matrix ({in_words(half)}) fits, what does not is "
            return replace(cost, why=share + "computed anew in each step")
        return cost

    def is_sensible(self, job: KernelJob) -> bool:
        """For few components of rows in memory, unless LAPACK is faster."""
        pairs = job.traits.whole and job.k is not None and not job.has_few_features
        return self.keep and pairs and not DenseKernel().is_sensible(job)

    def finer(self, job: KernelJob) -> KernelSolver | None:
        return DenseKernel()

    def memory_advice(self, job: KernelJob) -> str:
        return f"Ask for fewer components, or allow more memory; {_APPROXIMATE}."

    def refusal(self, job: KernelJob) -> Exception | None:
        if job.k is None:
            return ValueError(
                f"solver={self.name!r} finds leading components only; pass n_components as a whole number, or "
                "solver='dense'."
            )
        return super().refusal(job)


def _cut(values: np.ndarray, matrix: KernelMatrix) -> float:
    """Eigenvalues at or below this cannot be distinguished from zero.

    The rounding error is relative to the kernels, which may be much larger than the centred ones.
    """
    return rank_cut(max(float(values[0]), matrix.unit), matrix.n, matrix.epsilon)


def _fit(
    matrix: KernelMatrix,
    values: np.ndarray,
    vectors: Array,
    k: int | None,
    negative: float,
    status: Status,
    residual: float,
    passes: int,
) -> KernelFit:
    """The first `k` of these eigenpairs that are positive; `negative` is the sum of |gamma| over negative ones."""
    rank = int(np.count_nonzero(values > _cut(values, matrix)))
    kept = rank if k is None else min(k, rank)
    total = max(matrix.trace + negative, float(values[:rank].sum()))
    mass = negative / (total + negative) if negative > 0.0 else 0.0
    return KernelFit(values[:kept], vectors[:, :kept], total, mass, status, residual, passes)


def _negative_sum(action: Callable[[Array], Array], trace: float, like: Array, seed: int) -> float:
    """An estimate of the sum of |gamma| over negative gamma, (tr |G| - tr G) / 2.

    A Krylov space of random vectors contains the dominant part of G, and there tr |G| is a sum over Ritz values. On its
    orthogonal complement it is estimated by stochastic Lanczos quadrature, a short Lanczos run from random vectors [1],
    [2].

    References
    ----------
    [1] Ubaru, Chen, Saad (2017), Fast estimation of tr(f(A)) via stochastic Lanczos quadrature.
    [2] Meyer, Musco, Musco, Woodruff (2021), Hutch++: optimal stochastic trace estimation.
    """
    random = np.random.default_rng(seed)
    n = like.shape[0]
    b = min(_PROBES, n)
    start = asarray_like(random.standard_normal((n, b)), like, dtype=like.dtype)
    Q, T = _krylov_space(action, start, like[:, None][:, :0], random)
    absolute = float(np.abs(np.linalg.eigvalsh(T)).sum())
    if Q.shape[1] < n:
        start = asarray_like(random.standard_normal((n, min(b, n - Q.shape[1]))), like, dtype=like.dtype)
        _, T = _krylov_space(action, start, Q, random)
        theta, U = np.linalg.eigh(T)
        first = U[: start.shape[1]]
        absolute += (n - Q.shape[1]) / start.shape[1] * float((first**2).sum(axis=0) @ np.abs(theta))
    return max(0.0, 0.5 * (absolute - trace))


def _krylov_space(
    action: Callable[[Array], Array], start: Array, excluded: Array, random: np.random.Generator
) -> tuple[Array, np.ndarray]:
    """An orthonormal basis Q of a Krylov space, orthogonal to the columns of `excluded`, and Q^T G Q."""
    xp, n, fixed = namespace(start), start.shape[0], excluded.shape[1]
    V = orthonormal_block(start, excluded, random)[0]
    Q, T = xp.concat([excluded, V], axis=1), np.zeros((n, 0))
    for step in range(_PROBE_STEPS):
        V, _, C, _ = orthonormal_block(action(V), Q, random)
        columns = np.zeros((n, C.shape[1]))
        columns[: C.shape[0]] = C
        T = np.hstack([T, columns])
        if V.shape[1] == 0 or step == _PROBE_STEPS - 1:
            break
        Q = xp.concat([Q, V], axis=1)
    T = np.triu(T[fixed : fixed + T.shape[1]])
    return Q[:, fixed:], T + np.triu(T, 1).T


def _mean(rows: Array, weights: Array | None) -> Array | None:
    """The mean of the rows; None if they are not dense numbers."""
    if is_sparse(rows) or (isinstance(rows, np.ndarray) and rows.dtype.kind not in "f"):
        return None
    xp = namespace(rows)
    w = xp.ones_like(rows[:, 0]) if weights is None else astype(weights, rows.dtype)
    return w @ rows / xp.sum(w)


def require_symmetric(K: Array, table: str = "X") -> None:
    """Raise an error if a precomputed kernel matrix is not symmetric."""
    if is_sparse(K):
        gap = abs(K - K.T).tocoo()
        at = int(gap.data.argmax()) if gap.nnz else 0
        if gap.nnz and gap.data[at] > _SYMMETRIC * abs(K).max():
            raise not_symmetric(float(gap.data[at]), (int(gap.row[at]), int(gap.col[at])), table)
        return
    xp = namespace(K)
    largest, worst, place = 0.0, 0.0, (0, 0)
    for start in range(0, K.shape[0], _STRIP):
        stop = min(start + _STRIP, K.shape[0])
        left = K[start:stop, :]
        largest = max(largest, float(xp.max(xp.abs(left))))
        apart = to_numpy(xp.abs(left - K[:, start:stop].T))
        if apart.max() > worst:
            worst = float(apart.max())
            i, j = np.unravel_index(int(apart.argmax()), apart.shape)
            place = (start + int(i), int(j))
    if worst > max(_SYMMETRIC, 100 * eps(K)) * largest:
        raise not_symmetric(worst, place, table)
