"""Block Krylov: leading eigenpairs of the scatter matrix from its action alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..._threads import single_threaded_blas
from ..._xp import Array, astype, eps, namespace, to_numpy
from ...linalg import FLOAT32_EPS, FLOAT64_EPS, fix_signs
from ...summaries import Columns, Sketch
from ..base import Cost, Job, Request, RowsLike, require_rows
from ..lanczos import Lanczos, check_limits
from ..results import Spectrum, Status, Tail
from .by_covariance import Covariance
from .spectral_solver import Solver, is_resolved, scales

#: Beyond this many columns there is no p x p matrix to fall back on.
_COVARIANCE_UP_TO = 20_000
#: Residuals below this many roundings of lambda_1 are noise.
_NOISE = 30
#: Rows of fewer bytes are not worth a rehearsal in float32.
_WORTH_REHEARSING = 8 << 20
#: Where it ends: near its noise, or with what it has after so many steps.
_REHEARSAL_TOL = 1e-5
_REHEARSAL_NOISE = 8
_REHEARSAL_STEPS = 100
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
        Vectors multiplied at a time; default: k rounded up to a multiple of 8. With fewer than k, copies of a tied
        eigenvalue are looked for with a random block at the end, but close neighbours can hide them.
    tol : float
        Iterate until ||S w - lambda w|| <= tol * lambda for each pair. Eigenvalues are then right to about tol^2 over
        their relative gap, vectors to tol over it.
    steps : int, optional
        Take exactly so many steps instead, whatever the residual.
    max_steps : int
        Give up after this many.

    Notes
    -----
    Block Lanczos with full orthogonalisation, and thick restarts when the basis outgrows its room [1]_ [2]_. A step is
    one pass over the rows: `Sketch` forms both halves of S V while a block of rows is in cache. One pass more comes
    first, for the mean and the total variance. 4 n p block operations a step, p (basis + 2 block) numbers.

    Sparse float64 rows are first iterated on in float32, which costs half a step each and a copy of the stored values;
    the iteration proper then starts from the vectors found, and usually ends after one or two steps.

    References
    ----------
    .. [1] Golub, Underwood (1977), The block Lanczos method for computing eigenvalues.
    .. [2] Wu, Simon (2000), Thick-restart Lanczos method for large symmetric eigenvalue problems.
    .. [3] Musco, Musco (2015), Randomized block Krylov methods for stronger and faster approximate SVD.
    """

    name = "krylov"
    one_pass = False
    finds_all = False
    block: int | None = None
    tol: float = 1e-5
    steps: int | None = None
    max_steps: int = 500

    def __post_init__(self) -> None:
        check_limits(self)

    def block_size(self, k: int) -> int:
        """Vectors per step: at least k, so that no copy of an eigenvalue can be missed."""
        return self.block or 8 * math.ceil(k / 8)

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        p, k = rows.shape[1], request.k
        assert k is not None, "refusal() has seen to it"
        columns = rows.summarize(Columns(p))
        require_rows(columns.n_rows, columns.weight, request.ddof)
        scale = scales(columns.squares, columns.mean, columns.weight, request)
        xp = namespace(columns.mean)
        squares = columns.squares if scale is None else columns.squares / (scale * scale)
        unit = float(xp.max(squares)) or 1.0
        action = _Action(rows, columns, scale, unit)
        narrow = rows.traits.itemsize < 8
        floor = _NOISE * (eps(rows.empty(1)) if narrow else eps(columns.mean))
        b = min(self.block_size(k), p, columns.n_rows)
        lanczos = Lanczos(self, k, b, request.seed, floor)
        # Threads of BLAS would go on spinning after each small product, beside those that read the rows.
        with single_threaded_blas():
            start, rehearsed = self._rehearse(action, request, b)
            found = lanczos.run(action, columns.mean, start)
        status = found.status
        values, vectors = xp.clip(found.values, 0.0, None) * unit, fix_signs(found.vectors.T)
        rest = float(xp.sum(squares)) - float(xp.sum(values)) if k < min(p, columns.n_rows - 1) else 0.0
        n_free = min(int(xp.count_nonzero(squares > 0)), columns.n_rows - 1)
        if status is not Status.NOT_CONVERGED and not is_resolved(
            values, n_free, FLOAT32_EPS if narrow else FLOAT64_EPS
        ):
            status = Status.UNRESOLVED
        return Spectrum(
            values=values,
            vectors=vectors,
            mean=columns.mean,
            scale=scale,
            tail=Tail(rest, None, None) if rest > 0.0 else Tail(),
            weight=columns.weight,
            n_rows=columns.n_rows,
            status=status,
            residual=found.residual,
            epsilon=FLOAT32_EPS if narrow else FLOAT64_EPS,
            passes=found.steps + rehearsed + 1,
        )

    def _rehearse(self, action: _Action, request: Request, b: int) -> tuple[Array | None, int]:
        """A start from float32 products of sparse rows, which take half the time, and the passes spent on it; (None, 0)
        where there is none. It is a start only: the answer and its residual are those of the full products."""
        k = request.k or 1
        rehearsal = None if self.steps is not None or b < k else action.narrowed()
        if rehearsal is None:
            return None, 0
        options = replace(self, tol=max(self.tol, _REHEARSAL_TOL), max_steps=min(self.max_steps, _REHEARSAL_STEPS))
        like = astype(action.mean, np.float32)
        found = Lanczos(options, k, b, request.seed, _REHEARSAL_NOISE * FLOAT32_EPS).run(rehearsal, like, n_out=b)
        return astype(found.vectors, action.mean.dtype), found.steps

    def cost(self, job: Job) -> Cost:
        n, p, k = job.rows, job.p, job.k or 1
        b = self.block_size(k)
        steps = self.steps or _USUAL_STEPS
        work = steps * 4 * n * p * b * (_SPARSE_SLOWNESS * job.traits.stored if job.traits.sparse else _NARROW_SLOWNESS)
        why = f"products with thin blocks are cheapest for {k} of {p} columns"
        return Cost(work, 1 + steps, 8 * p * (k + (steps + 3) * b), why)

    def refusal(self, job: Job) -> Exception | None:
        if job.k is None:
            return ValueError(
                "solver='krylov' finds leading components only; pass n_components as a whole number, or another solver."
            )
        return super().refusal(job)

    def is_sensible(self, job: Job) -> bool:
        short = min(job.rows, job.p)
        return job.k is not None and (short > 500 or not job.traits.by_feature) and 5 * job.k <= short

    def finer(self, job: Job) -> Solver | None:
        return Covariance(wide=True) if job.p <= _COVARIANCE_UP_TO else None


class _Action:
    """V -> S V / unit for the scatter S of the (scaled) columns: one pass over the rows."""

    def __init__(self, rows: RowsLike, columns: Columns, scale: Array | None, unit: float) -> None:
        self._rows, self._columns, self._scale, self._unit = rows, columns, scale, unit
        self.mean = columns.mean
        self._implicit = rows.traits.sparse and columns.offset_is_harmless(scale)
        # In two halves, before and after the product, so that no square overflows.
        self._divisor = math.sqrt(unit) if scale is None else scale[:, None] * math.sqrt(unit)

    def __call__(self, V: Array) -> Array:
        sketch = Sketch(V / self._divisor, self.mean, implicit=self._implicit)
        return astype(self._rows.summarize(sketch).product / self._divisor, V.dtype)

    def narrowed(self) -> _Action | None:
        """The same in float32, where the rows can be had so and their squares stay in its range."""
        if not self._implicit or self._rows.traits.n_bytes < _WORTH_REHEARSING:
            return None
        weight = self._columns.weight
        spread = math.sqrt(self._unit / weight) if self._scale is None else float(np.min(to_numpy(self._scale)))
        if spread < 1e-12 or weight > 1e12:
            return None
        rows = self._rows.narrowed()
        return None if rows is None else _Action(rows, self._columns, self._scale, self._unit)
