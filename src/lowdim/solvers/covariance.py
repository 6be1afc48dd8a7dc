"""Eigenpairs of the scatter matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._xp import Array, eps, namespace
from ..linalg import eigh_descending, fix_signs, most_components
from ..summaries import Moments
from .base import EIGH_WORK, Cost, Job, Request, RowsLike, Solver, is_resolved, require_rows, scales
from .results import Spectrum, Status
from .triangle import Triangular


@dataclass(frozen=True)
class Covariance(Solver):
    """S w = lambda w for the scatter S of the rows.

    Parameters
    ----------
    wide : bool
        Multiply float32 blocks in float64.

    Notes
    -----
    One pass, n p^2 multiplications and p^2 numbers, then a symmetric eigenproblem of size p. Right to about eps times
    lambda_1: eigenvalues below 1e-10 lambda_1 are reported as unresolved.
    """

    name = "covariance"
    wide: bool = False

    def solve(self, rows: RowsLike, request: Request) -> Spectrum:
        moments = rows.summarize(Moments(rows.shape[1], wide=self.wide))
        narrow = not self.wide and rows.traits.itemsize < 8
        return self.from_summary(moments, request, product_eps=1e-7 if narrow else 1e-16)

    def from_summary(self, moments: Moments, request: Request, product_eps: float = 1e-16) -> Spectrum:
        """Solve without rows."""
        require_rows(moments.n_rows, moments.weight, request.ddof)
        S = moments.scatter
        xp = namespace(S)
        squares = xp.linalg.diagonal(S)
        scale = scales(squares, moments.weight, request)
        if scale is not None:
            S = S / scale[:, None] / scale[None, :]
            squares = xp.linalg.diagonal(S)
        p = moments.n_features
        n_all = most_components(moments.n_rows, moments.weight, p)
        k = n_all if request.k is None else request.k
        unit = float(xp.max(squares)) or 1.0
        S = S / unit
        values, vectors = eigh_descending(S, k if request.k is not None and k < n_all else p)
        values = xp.clip(values, 0.0, None)
        total = float(xp.sum(squares))
        tail, spread = _tail(S, values[k:], values[:k], total / unit)
        values, vectors = values[:k], fix_signs(vectors[:k, :])
        n_free = min(int(xp.count_nonzero(squares > 0)), moments.n_rows - 1)
        return Spectrum(
            values=values * unit,
            vectors=vectors,
            mean=moments.mean,
            scale=scale,
            total=total,
            tail=tail * unit,
            tail_spread=spread,
            weight=moments.weight,
            n_rows=moments.n_rows,
            status=Status.EXACT if is_resolved(values, n_free, product_eps) else Status.UNRESOLVED,
            residual=_residual(S, values, vectors),
        )

    def cost(self, job: Job) -> Cost:
        n, p = job.rows, job.p
        why = (
            f"p = {p} is small: one product of the rows is cheapest"
            if job.traits.rereadable
            else "the stream can be read once"
        )
        return Cost(n * p * p + EIGH_WORK * p**3, 1, 8 * p * (4 * p + max(2048, 2 * p)), why)

    def finer(self, rows: RowsLike) -> Solver | None:
        if not self.wide and rows.traits.itemsize < 8:
            return Covariance(wide=True)
        return Triangular()


def _tail(S: Array, rest: Array, kept: Array, total: float) -> tuple[float, float | None]:
    """Sum of the discarded eigenvalues, and the number of directions they are spread over."""
    xp = namespace(S)
    if kept.shape[0] + rest.shape[0] == S.shape[0]:
        first, second = float(xp.sum(rest)), float(xp.sum(rest * rest))
    else:
        first = max(total - float(xp.sum(kept)), 0.0)
        second = max(float(xp.sum(S * S)) - float(xp.sum(kept * kept)), 0.0)
    return first, first * first / second if second > 0.0 else None


def _residual(S: Array, values: Array, vectors: Array) -> float:
    """max_k ||S w - lambda w|| / lambda_1."""
    xp = namespace(S)
    largest: Any = float(values[0]) or eps(values)
    R = vectors @ S - values[:, None] * vectors
    return float(xp.sqrt(xp.max(xp.sum(R * R, axis=1)))) / largest
