"""Block Krylov: leading eigenpairs of the scatter matrix from its products with vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..._core.arrays import Array, astype, count_true, eps, namespace, to_numpy
from ..._core.threads import single_threaded_blas
from ...linalg import (
    FLOAT32_EPS,
    FLOAT64_EPS,
    NOISE,
    fix_signs,
    require_normal,
    require_rows,
    require_size,
    with_complement,
)
from ...summaries.moments import Columns
from ...summaries.triangle import Sketch
from ..iteration import Lanczos, LanczosOptions
from ..problem import EIGH_WORK, Cost, Job, Request, RowsLike, Spectrum, Status, Tail
from .covariance import Covariance, Solver, column_scale, unresolved

#: With more columns, the p x p covariance matrix is too large to be used if the iteration fails.
_COVARIANCE_UP_TO = 20_000
#: For rows of fewer bytes an iteration in float32 is not worthwhile.
_NARROW_BYTES = 8 << 20
#: Tolerance, noise level (as a multiple of eps) and maximal number of steps of the iteration in float32.
_NARROW_TOL = 1e-5
_NARROW_NOISE = 8
_NARROW_STEPS = 100
#: The usual number of steps. Products with thin blocks run at half the speed of square ones.
_USUAL_STEPS = 12
#: Those of sparse rows, whose eigenvalues often lie close together.
_SPARSE_STEPS = 14
_NARROW_SLOWNESS = 2.0
#: A step costs so many multiplications of a matrix product for each stored entry, and so many more for each vector.
_STORED_WORK, _VECTOR_WORK = 90.0, 17.0


@dataclass(frozen=True)
class Krylov(LanczosOptions, Solver):
    """Maximise w^T S w over a growing block Krylov space span(V, S V, S^2 V, ...).

    Parameters
    ----------
    block : int, default=None
        Number of vectors multiplied at a time; default: k rounded up to a multiple of 8. If it is less than k, a random
        block at the end looks for further copies of repeated eigenvalues, but close neighbours can hide them.
    tol : float, default=1e-05
        Iterate until ||S w - lambda w|| <= tol * lambda for each pair. The relative error of eigenvalues is then about
        tol^2 divided by their relative gap, that of vectors tol divided by it.
    steps : int, default=None
        Take exactly this many steps, whatever the residual.
    max_steps : int, default=500
        Maximal number of steps.

    Notes
    -----
    Block Lanczos with full orthogonalisation, and thick restarts when the basis is full [1]_ [2]_. A step is one pass
    over the rows: `Sketch` computes both halves of S V while a block of rows is in cache. One more pass at the
    beginning computes the mean and the total variance. A step takes 4 n p block operations; the memory holds
    p (basis + 2 block) numbers.

    For sparse float64 rows the iteration first runs in float32, at half the cost per step and with a copy of the stored
    values. The iteration in float64 then starts from the vectors found, and usually ends after one or two steps.

    References
    ----------
    .. [1] Golub, Underwood (1977), The block Lanczos method for computing eigenvalues.
    .. [2] Wu, Simon (2000), Thick-restart Lanczos method for large symmetric eigenvalue problems.
    .. [3] Musco, Musco (2015), Randomized block Krylov methods for stronger and faster approximate SVD.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import PCA
    >>> from lowdim.solvers import Krylov
    >>> rows = np.random.default_rng(0).standard_normal((300, 50)) / np.arange(1, 51)
    >>> quick = PCA(3, solver=Krylov(steps=4)).fit(rows)
    >>> bool(np.allclose(quick.explained_variance_, PCA(3).fit(rows).explained_variance_, rtol=1e-4))
    True
    """

    name = "krylov"
    on_host = "small matrices of the iteration"
    one_pass = False
    finds_all = False
    tol: float = 1e-5
    max_steps: int = 500

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        p, k = rows.shape[1], request.k
        assert k is not None, "refusal() rejects jobs without a number of components"
        columns = rows.summarize(Columns(p))
        require_rows(columns.n_rows, columns.weight, request.ddof, request.fixed_ddof)
        mean = columns.mean
        columns = request.about(columns)
        require_size(columns.squares, mean, columns.weight, each=request.scale)
        scale = column_scale(columns.squares, columns.mean, columns.weight, request)
        xp = namespace(columns.mean)
        if float(xp.max(columns.squares)) == 0.0:
            return _without_variance(columns, scale, k, request.center)
        squares = columns.squares if scale is None else columns.squares / (scale * scale)
        unit = float(xp.max(squares)) or 1.0
        narrow = rows.traits.itemsize < 8
        if narrow:
            # Vectors are divided by this number in the dtype of the rows.
            require_normal(math.sqrt(unit), rows.empty(0), "all columns")
        action = _Action(rows, columns, scale, unit)
        floor = NOISE * (eps(rows.empty(1)) if narrow else eps(columns.mean))
        b = min(self.block_size(k), p, columns.n_rows)
        lanczos = Lanczos(self, k, b, request.seed, floor)
        # The threads of BLAS would keep spinning after each small product and slow down the threads that read the rows.
        with single_threaded_blas():
            start, narrow_steps = self._narrow_start(action, request, b)
            found = lanczos.run(action, columns.mean, start)
        values, vectors = np.clip(found.values, 0.0, None) * unit, fix_signs(found.vectors.T)
        n_free = min(count_true(squares > 0), request.free(columns.n_rows))
        rest = float(xp.sum(squares)) - float(values.sum()) if k < n_free else 0.0
        epsilon, errors = FLOAT32_EPS if narrow else FLOAT64_EPS, np.zeros(len(values))
        some = unresolved(values, n_free, epsilon)
        with np.errstate(divide="ignore"):
            errors[some] = floor * values[0] / values[some]
        return Spectrum(
            values=values,
            vectors=vectors,
            mean=columns.mean,
            scale=scale,
            tail=Tail(rest, None, None) if rest > 0.0 else Tail(),
            weight=columns.weight,
            n_rows=columns.n_rows,
            status=found.status,
            ended=found.status,
            residual=found.residual,
            epsilon=epsilon,
            passes=found.steps + narrow_steps + 1,
            center=request.center,
            errors=errors,
            n_free=n_free,
        ).judged()

    def _narrow_start(self, action: _Action, request: Request, b: int) -> tuple[Array | None, int]:
        """A start from products of sparse rows in float32, which take half the time, and the passes spent on it.

        (None, 0) if float32 is not used. It is only a start: the result and its residual are computed in float64.
        """
        k = request.k or 1
        narrow = None if self.steps is not None or b < k else action.in_float32()
        if narrow is None:
            return None, 0
        options = replace(self, tol=max(self.tol, _NARROW_TOL), max_steps=min(self.max_steps, _NARROW_STEPS))
        like = astype(action.mean, np.float32)
        found = Lanczos(options, k, b, request.seed, _NARROW_NOISE * FLOAT32_EPS).run(narrow, like, n_out=b)
        return astype(found.vectors, action.mean.dtype), found.steps

    def cost(self, job: Job) -> Cost:
        n, p, k = job.rows, job.p, job.k or 1
        b = self.block_size(k)
        steps = self.steps or (_SPARSE_STEPS if job.traits.sparse else _USUAL_STEPS)
        if job.traits.sparse:
            # Products of sparse rows are cheap enough for the small matrices of the iteration to count: vectors are
            # made orthogonal to all before them, and each step ends with the eigenpairs of its projection.
            size = steps * b
            work = steps * n * p * job.traits.stored * (_STORED_WORK + _VECTOR_WORK * b)
            work += 4 * p * size**2 + EIGH_WORK * size * (size * (steps + 1) / 2) ** 2 / steps
        else:
            work = steps * 4 * n * p * b * _NARROW_SLOWNESS
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


def _without_variance(columns: Columns, scale: Array | None, k: int, center: bool) -> Spectrum:
    """The spectrum of constant columns: zeros, and arbitrary orthonormal vectors."""
    xp = namespace(columns.mean)
    return Spectrum(
        values=np.zeros(min(k, columns.mean.shape[0])),
        vectors=fix_signs(with_complement(xp.zeros_like(columns.mean)[None, :][:0, :], k)),
        mean=columns.mean,
        scale=scale,
        tail=Tail(),
        weight=columns.weight,
        n_rows=columns.n_rows,
        status=Status.EXACT,
        residual=0.0,
        center=center,
    )


class _Action:
    """The map V -> S V / unit for the scatter matrix S of the (scaled) columns, in one pass over the rows."""

    def __init__(self, rows: RowsLike, columns: Columns, scale: Array | None, unit: float) -> None:
        self._rows, self._columns, self._scale, self._unit = rows, columns, scale, unit
        self.mean = columns.mean
        self._implicit = rows.traits.sparse and columns.offset_is_harmless(scale)
        # V is divided by it before the product, and the result after it, so that no square overflows.
        self._divisor = math.sqrt(unit) if scale is None else scale[:, None] * math.sqrt(unit)

    def __call__(self, V: Array) -> Array:
        sketch = Sketch(V / self._divisor, self.mean, implicit=self._implicit)
        return astype(self._rows.summarize(sketch).product / self._divisor, V.dtype)

    def in_float32(self) -> _Action | None:
        """The same map in float32; None if the rows are not available in float32 or their squares leave its range."""
        if not self._implicit or self._rows.traits.n_bytes < _NARROW_BYTES:
            return None
        weight = self._columns.weight
        spread = math.sqrt(self._unit / weight) if self._scale is None else float(np.min(to_numpy(self._scale)))
        if spread < 1e-12 or weight > 1e12:
            return None
        rows = self._rows.narrowed()
        return None if rows is None else _Action(rows, self._columns, self._scale, self._unit)
