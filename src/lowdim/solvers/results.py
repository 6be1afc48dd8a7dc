"""What a solve returns: frozen records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from .._xp import Array, namespace
from ..linalg import divisor


class Status(Enum):
    """How a solve ended; the value is what to say about it."""

    EXACT = "solved directly, to rounding"
    CONVERGED = "iterated until the residual was below the tolerance"
    FIXED_STEPS = "stopped after the number of steps asked for"
    UNRESOLVED = "the smallest eigenvalues kept are too small beside the largest for this solver to resolve"
    NOT_CONVERGED = "stopped before the residual was below the tolerance"

    def __str__(self) -> str:
        return f"{self.name.lower()}: {self.value}"


@dataclass(frozen=True)
class Spectrum:
    """Leading eigenpairs of a scatter matrix (of a covariance, times its divisor)."""

    #: Eigenvalues of the scatter, descending, (k,).
    values: Array
    #: Unit eigenvectors as rows, (k, p).
    vectors: Array
    #: Mean of the rows, (p,).
    mean: Array
    #: What columns were divided by, (p,), or None.
    scale: Array | None
    #: Sum of all eigenvalues.
    total: float
    #: Sum of the eigenvalues that are not in `values`.
    tail: float
    #: (sum of those)^2 / (sum of their squares): how many directions the rest is spread over; None if unknown.
    tail_spread: float | None
    #: Total weight and number of the rows.
    weight: float
    n_rows: int
    status: Status
    #: max_k ||S w_k - lambda_k w_k|| / lambda_1.
    residual: float
    #: Passes over the rows, None if no rows were read.
    passes: int = 1

    def truncated(self, k: int) -> Spectrum:
        """The first `k` pairs; the others join the tail."""
        if k >= self.values.shape[0]:
            return self
        xp = namespace(self.values)
        cut = self.values[k:]
        lost = float(xp.sum(cut))
        tail = self.tail + lost
        spread = None
        if tail > 0.0 and (self.tail_spread is not None or self.tail == 0.0):
            # In units of the largest value cut off, so that no square overflows.
            unit = float(xp.max(cut)) or 1.0
            squares = float(xp.sum((cut / unit) ** 2))
            if self.tail > 0.0 and self.tail_spread:
                squares += (self.tail / unit) ** 2 / self.tail_spread
            spread = (tail / unit) ** 2 / squares
        return replace(self, values=self.values[:k], vectors=self.vectors[:k, :], tail=tail, tail_spread=spread)

    def variances(self, ddof: int) -> Array:
        """Eigenvalues of the covariance with divisor weight - ddof."""
        return self.values / divisor(self.weight, ddof)


def describe(record: Any) -> str:
    """One line a field, for plans and the like."""
    width = max(len(name) for name, _ in record)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in record)
