"""Canonical correlations of two or more tables, their tests, and their relation to the columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ..._core.arrays import Array, asarray_like, is_sparse, namespace, to_numpy
from ...errors import kernel_not_finite, needs_all_rows, needs_memory, too_small
from ...linalg import FLOAT64_EPS, eigh_descending, numerical_rank, require_normal, require_rows, signs, svd_leading
from ...summaries.gram import Gram
from ...table import Table, Tabular, numbered
from ..problem import EIGH_WORK, Cost, Status
from .reductions import Reduction, Tables, TablesJob
from .views import CanonicalFit, Combinations, LiftedVectors, View, Views

#: Eigenvectors over all tables have unit length; the part of a table in one is rounding if it is shorter than this.
_NO_PART = 1e-10


def solve_canonical(views: Views, k: int, regularization: Sequence[float]) -> CanonicalFit:
    """Weights w_i with the largest sum of w_i^T S_ij w_j over pairs of tables, for sum_i w_i^T D_i w_i = 1.

    Notes
    -----
    S_ij are covariances between tables, D_i = (1 - c_i) S_ii + c_i I with the `regularization` c_i. With
    S_ii = V diag(l) V^T and b_i = D_i^{1/2} w_i the two-table problem is the singular value decomposition of
    D_1^{-1/2} S_12 D_2^{-1/2}; for more tables it is the eigenproblem of the matrix of all such blocks with zeros on
    the diagonal (MAXVAR [1]_, [2]_: the variates that one common variate explains best). For two tables its
    eigenvalues are the singular values, so it is the same problem; `b` is then scaled table by table.

    References
    ----------
    .. [1] Kettenring (1971), Canonical analysis of several sets of variables.
    .. [2] Carroll (1968), Generalization of canonical correlation analysis to three or more sets of variables.
    """
    whitened = [_whitened(views, i, c) for i, c in enumerate(regularization)]
    gains, backs = ([getattr(each, name) for each in whitened] for name in ("gain", "back"))
    ranks = tuple(len(gain) for gain in gains)
    k = min(k, *ranks)
    B = [each.B for each in whitened if each.B is not None]
    if len(B) == len(whitened) and views.knows_products:
        U = Combinations(views, weights=B)
    else:
        pairs = zip(views.tables, whitened, strict=True)
        U = Combinations(views, [view.table @ each.B if each.U is None else each.U for view, each in pairs])
    if len(gains) == 2:
        M = (gains[0][:, None] * U.inner(0, 1)) * gains[1]
        # The tests of all correlations are for those without regularization.
        L, values, Rt = svd_leading(M, k, all_values=not any(regularization))
        blocks = [L[:, :k], Rt[:k].T]
    else:
        values, blocks = _solve_several(U, gains, k)
    factors, rotations = [], []
    for gain, back, b in zip(gains, backs, blocks, strict=True):
        lengths = np.linalg.norm(gain[:, None] * b, axis=0)
        # The part in a component of a table that is uncorrelated with the others is only rounding.
        part = np.linalg.norm(b, axis=0) > _NO_PART
        b = np.where(part & (lengths > 0), b / np.where(lengths > 0, lengths, 1.0), 0.0)
        factors.append(gain[:, None] * b)
        rotations.append(back @ b)
    variates = U.times(factors)
    correlations = np.empty((k, len(gains), len(gains)))
    for i, j in combinations_with_replacement(range(len(gains)), 2):
        correlations[:, i, j] = correlations[:, j, i] = np.clip(np.diagonal(variates.inner(i, j)), -1.0, 1.0)
    return CanonicalFit(
        rotations=tuple(rotations),
        variates=variates,
        values=values,
        correlations=correlations,
        ranks=ranks,
        status=Status.EXACT if all(each.resolved for each in whitened) else Status.UNRESOLVED,
    )


class _Whitened(NamedTuple):
    """Orthonormal combinations U of the columns of a table, or B with U = A B for its coordinates A."""

    U: np.ndarray | None
    B: np.ndarray | None
    #: Square roots of S_ii in these combinations, divided by those of D_i.
    gain: np.ndarray
    #: The coefficients of U D_i^{-1/2} in the columns.
    back: np.ndarray
    #: Whether no direction that matters was lost to rounding.
    resolved: bool


def _whitened(views: Views, i: int, c: float) -> _Whitened:
    """The columns of table i, with D = (1 - c) S + c I."""
    view = views.tables[i]
    unit = view.unit / math.sqrt(views.divisor)
    B = views.orthonormal(i) if c == 0.0 else None
    if B is not None:
        return _Whitened(None, B, np.ones(len(B)), B / unit, True)
    U, s, Vt = views.svd(i)
    deviations = s * unit
    d = np.sqrt((1.0 - c) * deviations**2 + c)
    # Directions that are left out or inaccurate do no harm if the ridge is far above their variance.
    smallest = 0.0 if len(s) < views.full_rank(i) else float(s[-1]) ** 2 / float(s[0]) ** 2
    resolved = not views.squared or max(smallest, c / float(d[0]) ** 2) >= views.resolution
    return _Whitened(U, None, deviations / d, Vt.T / d, resolved)


def _solve_several(U: Combinations, gains: list[np.ndarray], k: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """All eigenvalues of the matrix of blocks between tables, and the k leading eigenvectors, table by table."""
    edges = np.cumsum([0, *(len(g) for g in gains)])
    T = np.zeros((edges[-1], edges[-1]))
    parts = [slice(i, j) for i, j in pairwise(edges)]
    for i, j in combinations(range(len(gains)), 2):
        block = gains[i][:, None] * U.inner(i, j) * gains[j]
        T[parts[i], parts[j]], T[parts[j], parts[i]] = block, block.T
    values, vectors = eigh_descending(T, at_least=k)
    return values, [vectors[:k, part].T for part in parts]


# Correlations between canonical variates, and their relation to the columns of the tables.


def pair_correlations(variates: Sequence[Any]) -> Iterator[np.ndarray]:
    """Correlations between corresponding columns, for each pair of tables, (K,); zero if a column is constant."""
    centred = [to_numpy(Z).astype(float) for Z in variates]
    centred = [Z - Z.mean(axis=0) for Z in centred]
    lengths = [np.linalg.norm(Z, axis=0) for Z in centred]
    for i, j in combinations(range(len(centred)), 2):
        size = lengths[i] * lengths[j]
        yield (centred[i] * centred[j]).sum(axis=0) / np.where(size > 0, size, 1.0)


@dataclass(frozen=True)
class ColumnStructure:
    """The relation of the columns of one table to the variates."""

    #: Sign of each component, (k,), and divisors of the columns, (p,).
    sign: Array
    scale: Array
    #: Weights of the (scaled) columns, (p, k).
    rotations: Array
    #: Further lifted vectors, in the units of the columns.
    extra: list[Array]
    #: Standard deviations of the columns (one for constant columns).
    deviation: Array


def column_structure(lifted: LiftedVectors, k: int, *, scaled: bool, sign: Array | None = None) -> ColumnStructure:
    """Rotations, and further lifted vectors in groups of k; without `sign`, the rotations determine the signs."""
    xp = namespace(lifted.vectors)
    scale = lifted.scale if scaled else xp.ones_like(lifted.scale)
    R = lifted.vectors[:, :k] / lifted.scale[:, None] * scale[:, None]
    sign = signs(R.T) if sign is None else asarray_like(sign, R, dtype=R.dtype)
    raw = lifted.vectors * lifted.scale[:, None]
    extra = [raw[:, i : i + k] * sign[None, :] for i in range(k, raw.shape[1], k)] if k else []
    deviation = xp.where(lifted.deviation > 0, lifted.deviation, xp.ones_like(lifted.deviation))
    return ColumnStructure(sign, scale, R * sign[None, :], extra, deviation)


@dataclass(frozen=True, repr=False)
class CanonicalTests(Tabular):
    """Tests of the hypotheses that correlation k and all later ones are zero, one entry for each k."""

    correlations: np.ndarray
    #: prod_{j >= k} (1 - r_j^2).
    wilks: np.ndarray
    #: Rao's approximation of Wilks' lambda by F, its degrees of freedom and p-values.
    f: np.ndarray
    f_dof: np.ndarray
    f_p: np.ndarray
    #: Bartlett's approximation by chi-square.
    chi2: np.ndarray
    chi2_dof: np.ndarray
    chi2_p: np.ndarray

    def __repr__(self) -> str:
        real = int(np.count_nonzero(self.f_p < 0.05))
        return f"CanonicalTests({real} of {len(self.f_p)} correlations with p < 0.05 by Rao's F)"

    def table(self) -> Table:
        """A row for each k: "from 2" tests that the second and all later correlations are zero."""
        columns = {
            "r": self.correlations,
            "Wilks": self.wilks,
            "F": self.f,
            "dof 1": self.f_dof[:, 0].astype(int),
            "dof 2": self.f_dof[:, 1],
            "p(F)": self.f_p,
            "chi2": self.chi2,
            "dof": self.chi2_dof,
            "p(chi2)": self.chi2_p,
        }
        title = "Tests that this correlation and all later ones are zero"
        return Table(columns, numbered("from ", len(self.f_p)), title=title, row_name="correlations")


def canonical_tests(correlations: np.ndarray, n: float, p: int, q: int) -> CanonicalTests:
    """Wilks' lambda with Rao's F [1]_ and Bartlett's chi-square [2]_ for n rows of tables of ranks p and q.

    Bartlett: -(n - 1 - (p + q + 1) / 2) ln lambda is approximately chi-square with (p - k)(q - k) degrees of freedom,
    where lambda leaves out the first k correlations.

    References
    ----------
    .. [1] Rao (1973), Linear statistical inference and its applications, section 8c.5.
    .. [2] Bartlett (1941), The statistical significance of canonical correlations.
    """
    factor = n - 1 - (p + q + 1) / 2
    if n - 1 < p + q:
        raise ValueError(
            f"n_samples={n:g} is too few for tests of tables of ranks {p} and {q}: at least {p + q + 1} are needed."
        )
    r = correlations[: min(p, q)]
    k = np.arange(len(r))
    with np.errstate(divide="ignore"):
        log_wilks = np.cumsum(np.log1p(-(r[::-1] ** 2)))[::-1]
    a, b = p - k, q - k
    dof = a * b
    squares = a**2 + b**2 - 5.0
    power = np.where(squares > 0, np.sqrt(np.clip((dof**2 - 4.0) / np.where(squares > 0, squares, 1.0), 0, None)), 1.0)
    power = np.where(dof == 2, 1.0, power)
    dof2 = factor * power - dof / 2 + 1
    with np.errstate(divide="ignore", over="ignore"):
        f = np.expm1(-log_wilks / power) * dof2 / dof
    chi2 = -factor * log_wilks
    return CanonicalTests(
        correlations=r,
        wilks=np.exp(log_wilks),
        f=f,
        f_dof=np.column_stack([dof, dof2]),
        f_p=special.fdtrc(dof, dof2, f),
        chi2=chi2,
        chi2_dof=dof,
        chi2_p=special.chdtrc(dof, chi2),
    )


# Coordinates of two tables mapped by kernels, from their centred kernel matrices.


#: Maximal numbers of n x n and of n x k matrices that are in memory at once (measured).
_SQUARE, _NARROW = 13, 6


@dataclass(frozen=True, eq=False)
class KernelReduction(Reduction):
    """A_i = U diag(s) from the centred kernel matrix U diag(s^2) U^T of table i.

    The rows are read once and kept. Each table takes n^2 numbers and an eigenproblem of size n. Two reductions never
    compare equal, since kernels need not be comparable.
    """

    name = "gram"
    #: One kernel for each table: a `lowdim.kernels.Kernel`, or what has its methods `fitted` and `__call__`.
    kernels: tuple[Any, ...]
    #: The name of the model in messages.
    model: str = "KernelCCA"

    def views(self, tables: Tables, scale: Sequence[bool], ddof: int) -> Views:
        rows, weights = [], None
        for table in tables.each:
            A, weights = table.whole(self.model)
            rows.append(A)
        n = rows[0].shape[0]
        total = float(n) if weights is None else float(weights.sum())
        require_rows(n, total, ddof, fixed=True)
        # Overflow is detected by checking the kernel matrices.
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            views = tuple(kernel_view(kernel, A, weights) for kernel, A in zip(self.kernels, rows, strict=True))
        return Views(
            tables=views,
            names=tables.names,
            weight=total,
            n_rows=n,
            ddof=ddof,
            n_columns=n,
            epsilon=FLOAT64_EPS,
            squared=True,
            reduction=self.name,
        )

    def cost(self, job: TablesJob) -> Cost:
        n = job.rows
        k = n if job.k is None else job.k
        n_bytes = 8 * n * (_SQUARE * n + _NARROW * k)
        why = f"the kernels of {n} rows with each other are needed"
        return Cost(n * n * job.p + len(job.widths) * EIGH_WORK * n**3, self.passes, n_bytes, why)

    def refusal(self, job: TablesJob) -> Exception | None:
        return super().refusal(job) if job.traits.whole else needs_all_rows(self.model, "both tables")

    def too_large(self, job: TablesJob, n_bytes: int) -> MemoryError:
        advice = "Fit to fewer rows, or use CCA on explicit features of the kernels."
        return needs_memory(f"{self.model} of {job.n} rows", n_bytes, job.memory, advice)


@dataclass(frozen=True)
class MappedTable:
    """A table mapped by a kernel: its rows, and the mean of their features."""

    #: The kernel with all its parameters.
    kernel: Any
    rows: Any
    #: The point that is subtracted from the rows, or None for zero.
    origin: np.ndarray | None
    #: The normalised weights of the rows, (n,), and the weighted means of their kernels with all rows, (n,).
    share: np.ndarray
    means: np.ndarray

    def centred_kernels(self, new: Any) -> np.ndarray:
        """Kernels of new rows with those of the fit, with features centred by the mean of the fit."""
        rows = self.rows
        if self.origin is not None:
            new, rows = new - self.origin, rows - self.origin
        # Overflow is detected by checking the kernel matrix.
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            K = _kernel_matrix(self.kernel, new, rows)
        return K - (K @ self.share)[:, None] - self.means[None, :] + self.means @ self.share


@dataclass(frozen=True, kw_only=True)
class KernelView(View):
    """Coordinates of a table mapped by a kernel; its lift gives coefficients of the rows of the fit."""

    mapped: MappedTable
    #: The share of negative eigenvalues in the spectrum of the kernel matrix; they are left out.
    negative: float


def kernel_view(kernel: Any, A: Any, weights: np.ndarray | None) -> KernelView:
    """Coordinates U diag(s) of the rows A, from their centred kernel matrix U diag(s^2) U^T."""
    kernel = kernel.fitted(A, weights)
    # Columns far from zero would lose digits, so the mean is subtracted if the kernel allows it.
    origin = np.average(A, axis=0, weights=weights) if kernel.shift_free and not is_sparse(A) else None
    K = _kernel_matrix(kernel, A if origin is None else A - origin)
    n = len(K)
    share = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    gram = Gram(n, sample_weight=weights)
    gram.product = 0.5 * (K + K.T)
    G = gram.centred()
    unit = float(np.abs(G).max()) or 1.0
    if not K.any() and not is_sparse(A) and np.any(A != 0):
        raise too_small("the features of the kernel")
    require_normal(unit, G, "the features of the kernel")
    values, Ut = eigh_descending(G / unit)
    negative = float(-values[values < 0].sum()) / (float(np.abs(values).sum()) or 1.0)
    mapped = MappedTable(kernel, A, origin, share, K @ share)
    s, unit = np.sqrt(np.clip(values, 0.0, None)), math.sqrt(unit)
    rank = numerical_rank(values, n, FLOAT64_EPS) if values[0] > 0 else 0
    U, s = Ut[:rank].T, s[:rank]
    root = np.ones(n) if weights is None else np.sqrt(weights)
    M = root[:, None] * U / (s * unit) if rank else np.zeros((n, 0))
    none = np.zeros(0)
    return KernelView.of(
        U * s,
        unit,
        lambda v: LiftedVectors(M @ v, none, none, none),
        (U, s, np.eye(rank)),
        is_lifted=True,
        mapped=mapped,
        negative=negative,
    )


def _kernel_matrix(kernel: Any, A: Any, B: Any = None) -> np.ndarray:
    """The kernel matrix of the rows of A with those of B (default: A), in float64; raises an error if it is not
    finite."""
    # The squares of float32 rows may be out of its range.
    A, B = (rows.astype(np.float64) if getattr(rows, "dtype", None) == np.float32 else rows for rows in (A, B))
    K = kernel(A) if B is None else kernel(A, B)
    if not np.all(np.isfinite(K)):
        raise kernel_not_finite(kernel)
    return K.astype(np.float64, copy=False)
