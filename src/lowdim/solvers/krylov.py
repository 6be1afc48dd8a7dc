"""Block Krylov: leading eigenpairs of the scatter matrix from its action alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._threads import single_threaded_blas
from .._xp import Array, asarray_like, astype, eps, namespace, to_numpy, wide_dtype
from ..linalg import fix_signs, orthonormal_block
from ..summaries import Columns, Sketch
from .base import Cost, Job, Request, RowsLike, Solver, is_resolved, require_rows, scales
from .covariance import Covariance
from .results import Spectrum, Status

#: The basis may grow to this many bytes before it is condensed.
_BASIS_BYTES = 256 << 20
#: Beyond this many columns there is no p x p matrix to fall back on.
_COVARIANCE_UP_TO = 20_000
#: A dozen steps are usual. Thin products run at half the speed of square ones, sparse ones at a fortieth.
_USUAL_STEPS = 12
_NARROW_SLOWNESS = 2.0
_SPARSE_SLOWNESS = 40.0


@dataclass(frozen=True)
class Krylov(Solver):
    """Maximise w^T S w over a growing block Krylov space span(V, S V, S^2 V, ...).

    Parameters
    ----------
    block : int, optional
        Vectors multiplied at a time; default: k rounded up to a multiple of 8, at most 64.
    tol : float
        Iterate until ||S w - lambda w|| <= tol * lambda for each pair. Eigenvalues are then right to about tol^2 over
        their relative gap, vectors to tol over it.
    steps : int, optional
        Take exactly so many steps instead, whatever the residual.
    max_steps : int
        Give up after this many.

    Notes
    -----
    Block Lanczos with full orthogonalisation, and thick restarts when the basis outgrows its memory [1]_ [2]_. A step is
    one pass over the rows: `Sketch` forms both halves of S V while a block of rows is in cache. One pass more comes
    first, for the mean and the total variance. 4 n p block operations a step, p (basis + 2 block) numbers.

    References
    ----------
    .. [1] Golub, Underwood (1977), The block Lanczos method for computing eigenvalues.
    .. [2] Wu, Simon (2000), Thick-restart Lanczos method for large symmetric eigenvalue problems.
    .. [3] Musco, Musco (2015), Randomized block Krylov methods for stronger and faster approximate SVD.
    """

    name = "krylov"
    one_pass = False
    block: int | None = None
    tol: float = 1e-5
    steps: int | None = None
    max_steps: int = 300

    def __post_init__(self) -> None:
        for name in ("block", "steps", "max_steps"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(f"Krylov({name}={value!r}): a whole number of at least 1 is needed.")
        if not 0.0 < self.tol < 1.0:
            raise ValueError(f"Krylov(tol={self.tol!r}): a number between 0 and 1 is needed.")

    def block_size(self, k: int) -> int:
        """Vectors per step."""
        return self.block or min(64, 8 * math.ceil(k / 8))

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        p, k = rows.shape[1], request.k
        assert k is not None, "refusal() has seen to it"
        columns = rows.summarize(Columns(p))
        require_rows(columns.n_rows, columns.weight, request.ddof)
        scale = scales(columns.squares, columns.weight, request)
        xp = namespace(columns.mean)
        squares = columns.squares if scale is None else columns.squares / (scale * scale)
        implicit = scale is None and columns.offset_is_harmless
        action = _Action(rows, columns, scale, implicit)
        narrow = rows.traits.itemsize < 8
        floor = (eps(rows.empty(1)) if narrow else eps(columns.mean)) * 30
        lanczos = _Lanczos(self, k, min(p, columns.n_rows), request.seed, floor)
        # Threads of BLAS would go on spinning after each small product, beside those that read the rows.
        with single_threaded_blas():
            values, vectors, residual, status, taken = lanczos.run(action, columns.mean)
        vectors = fix_signs(vectors.T)
        total = float(xp.sum(squares))
        n_free = min(int(xp.count_nonzero(squares > 0)), columns.n_rows - 1)
        if status is not Status.NOT_CONVERGED and not is_resolved(values, n_free, 1e-7 if narrow else 1e-16):
            status = Status.UNRESOLVED
        return Spectrum(
            values=values,
            vectors=vectors,
            mean=columns.mean,
            scale=scale,
            total=total,
            tail=max(total - float(xp.sum(values)), 0.0) if k < min(p, columns.n_rows - 1) else 0.0,
            tail_spread=None,
            weight=columns.weight,
            n_rows=columns.n_rows,
            status=status,
            residual=residual,
            passes=taken + 1,
        )

    def cost(self, job: Job) -> Cost:
        n, p, k = job.rows, job.p, job.k or 1
        b = self.block_size(k)
        steps = self.steps or _USUAL_STEPS
        work = steps * 4 * n * p * b * (_SPARSE_SLOWNESS * job.traits.stored if job.traits.sparse else _NARROW_SLOWNESS)
        why = f"k = {k} of p = {p}: a few products with thin blocks are cheapest"
        return Cost(work, 1 + steps, 8 * p * (k + (steps + 3) * b), why)

    def refusal(self, job: Job) -> Exception | None:
        if job.k is None:
            return ValueError(
                "solver='krylov' finds leading components only; pass n_components as a whole number, or another solver."
            )
        return super().refusal(job)

    def is_sensible(self, job: Job) -> bool:
        short = min(job.rows, job.p)
        return job.k is not None and short > 500 and 5 * job.k <= short

    def finer(self, rows: RowsLike) -> Solver | None:
        return Covariance(wide=True) if rows.shape[1] <= _COVARIANCE_UP_TO else None


class _Action:
    """V -> S V, one pass over the rows."""

    def __init__(self, rows: RowsLike, columns: Columns, scale: Array | None, implicit: bool) -> None:
        self._rows, self._columns, self._scale, self._implicit = rows, columns, scale, implicit

    def __call__(self, V: Array) -> Array:
        scale = self._scale
        if scale is not None:
            V = V / scale[:, None]
        product = self._rows.summarize(Sketch(V, self._columns.mean, implicit=self._implicit)).product
        return product if scale is None else product / scale[:, None]


class _Lanczos:
    """The iteration: a basis Q with T = Q^T S Q, grown a block at a time."""

    def __init__(self, options: Krylov, k: int, rank_bound: int, seed: int, floor: float) -> None:
        self.options, self.k, self.floor = options, k, floor
        self.rank_bound = rank_bound
        self.b = min(options.block_size(k), rank_bound)
        self.random = np.random.default_rng(seed)

    def run(self, action: Any, like: Array) -> tuple[Array, Array, float, Status, int]:
        """Values, vectors (p, k), residual over lambda_1, status and steps."""
        xp, p = namespace(like), like.shape[0]
        wide = wide_dtype(xp, getattr(like, "device", None) if xp is not np else None)
        room = self._room(p)
        Q = xp.empty((p, room), dtype=wide, device=None if xp is np else like.device)
        T = np.zeros((room, room))
        start = asarray_like(self.random.standard_normal((p, self.b)), like, dtype=wide)
        V, _, _ = orthonormal_block(start, None, self.random)
        m, step, fresh = 0, 0, 0
        while True:
            b = V.shape[1]
            Q[:, m : m + b] = V
            Z = astype(action(V), wide)
            step += 1
            T[: m + b, m : m + b] = to_numpy(Q[:, : m + b].T @ Z)
            T[m : m + b, : m + b] = T[: m + b, m : m + b].T
            before, m = m, m + b
            V, R, replaced = orthonormal_block(Z, Q[:, :m], self.random)
            theta, U = (a[..., ::-1] for a in np.linalg.eigh(0.5 * (T[:m, :m] + T[:m, :m].T)))
            residuals = np.linalg.norm(to_numpy(R) @ U[before:m, : self.k], axis=0)
            status = self._status(
                theta, residuals, step, m, exhausted=V.shape[1] == 0, unsure=fresh > 0 or replaced > 0
            )
            fresh = replaced
            if status is not None:
                break
            if m + V.shape[1] > room:
                keep = min(m, self.k + self.b, room - V.shape[1])
                Q[:, :keep] = Q[:, :m] @ asarray_like(np.ascontiguousarray(U[:, :keep]), Q)
                T[:] = 0.0
                T[range(keep), range(keep)] = theta[:keep]
                m = keep
        k = self.k
        values = np.clip(theta[:k], 0.0, None)
        vectors = Q[:, :m] @ asarray_like(np.ascontiguousarray(U[:, :k]), Q)
        residual = float(residuals.max()) / (float(values[0]) or 1.0)
        return asarray_like(values, like, dtype=wide), vectors, residual, status, step

    def _room(self, p: int) -> int:
        """Columns of the basis: as many as memory allows, never fewer than a restart needs."""
        least = self.k + 4 * self.b
        return min(p, max(least, min(_BASIS_BYTES // (8 * p), 2000)))

    def _status(
        self, theta: np.ndarray, residuals: np.ndarray, step: int, m: int, *, exhausted: bool, unsure: bool
    ) -> Status | None:
        """How the iteration stands; None to go on. A block that has just met an invariant subspace is not sure of
        its multiplicities until a random direction has been tried."""
        if m < self.k:
            return None
        steps = self.options.steps
        if exhausted:
            return Status.CONVERGED
        if steps is not None:
            return Status.FIXED_STEPS if step >= steps else None
        bound = np.maximum(self.options.tol * theta[: self.k], self.floor * max(theta[0], 0.0))
        if np.all(residuals <= bound) and not unsure:
            return Status.CONVERGED
        return Status.NOT_CONVERGED if step >= self.options.max_steps else None
