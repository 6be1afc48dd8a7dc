"""Coordinates of two tables mapped by kernels, from their centred kernel matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._xp import is_sparse
from ...errors import kernel_not_finite, needs_all_rows, needs_memory, too_small
from ...linalg import FLOAT64_EPS, eigh_descending, numerical_rank, require_normal, require_rows
from ...summaries import Gram
from ..base import EIGH_WORK, Cost
from .problem import Tables, TablesJob
from .reduction import Reduction
from .views import LiftedVectors, View, Views

#: Maximal numbers of n x n and of n x k matrices that are in memory at once (measured).
_SQUARE, _NARROW = 13, 6


class KernelLike(Protocol):
    """The interface of a kernel; implemented by `lowdim.kernels.Kernel`."""

    #: Whether centred kernel matrices do not change if all rows are shifted, so that any origin may be used.
    shift_free: Any

    def fitted(self, X: Any, weights: Any = None) -> Any:
        """The kernel with all its parameters, those that were not given estimated from the rows."""

    def __call__(self, A: Any, B: Any = None) -> Any:
        """The kernel matrix of the rows of A with those of B (default: A)."""


@dataclass(frozen=True, eq=False)
class KernelReduction(Reduction):
    """A_i = U diag(s) from the centred kernel matrix U diag(s^2) U^T of table i.

    The rows are read once and kept. Each table takes n^2 numbers and an eigenproblem of size n. Two reductions never
    compare equal, since kernels need not be comparable.
    """

    name = "gram"
    #: One kernel for each table.
    kernels: tuple[KernelLike, ...]
    #: The name of the model in messages.
    model: str = "KernelCCA"

    def views(self, tables: Tables, standardize: Sequence[bool], ddof: int) -> Views:
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


def kernel_view(kernel: KernelLike, A: Any, weights: np.ndarray | None) -> KernelView:
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


def _in_float64(rows: Any) -> Any:
    """Rows of float32 as float64, because their squares may be out of the range of float32; others unchanged."""
    return rows.astype(np.float64) if getattr(rows, "dtype", None) == np.float32 else rows


def _kernel_matrix(kernel: Any, A: Any, B: Any = None) -> np.ndarray:
    """The kernel matrix of the rows of A with those of B (default: A), in float64; raises an error if it is not
    finite."""
    A, B = (_in_float64(rows) for rows in (A, B))
    K = kernel(A) if B is None else kernel(A, B)
    if not np.all(np.isfinite(K)):
        raise kernel_not_finite(kernel)
    return K.astype(np.float64, copy=False)
