"""Weight, mean and the R factor of the centred rows, merged by tall-skinny QR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._xp import Array, astype, column_sums, dense, device, namespace, wide_dtype
from ..errors import too_few_rows
from ..linalg import divisor, r_factor
from .base import NARROW, Summary, check_columns, check_squares, column_groups, scaled_rows, total_weight, two_sum


class Triangle(Summary):
    """Total weight, mean, and R with R^T R = scatter about the mean.

    Parameters
    ----------
    n_features : int
        Number of columns p.
    groups : sequence of int, optional
        Widths of column groups that lie side by side (two tables, say); they add up to p.

    Attributes
    ----------
    n_rows, weight, mean
        As in Moments.
    root : array of shape (min(n_rows + 1, p), p) at most
        The R factor of the centred (and sqrt-weighted) rows.

    Notes
    -----
    Two sets of rows merge as R = qr([R_1; R_2; sqrt(w_1 w_2 / (w_1 + w_2)) (mean_1 - mean_2)]) [1]_. The scatter is
    never squared out, so eigenvalues down to eps^2 of the largest keep their leading digits. Products are in float64
    for float32 rows too. One pass, p^2 numbers (rows are kept as they are until there are 2 p of them).

    References
    ----------
    .. [1] Demmel, Grigori, Hoemmen, Langou (2012), Communication-optimal parallel and sequential QR.
    """

    parameters = ("n_features", "groups")
    state = ("groups", "n_rows", "weight", "mean", "rest", "rows")

    def __init__(self, n_features: int, *, groups: Sequence[int] | None = None) -> None:
        self.n_features = int(n_features)
        self.groups = column_groups(self.n_features, groups)
        self.n_rows = 0
        self.weight = 0.0
        self.mean: Any = None
        self.rest: Any = None
        self.rows: Any = None

    @property
    def root(self) -> Array:
        """R, with p rows at most."""
        if self.rows is not None and self.rows.shape[0] > self.n_features:
            self.rows = r_factor(self.rows)
        return self.rows

    @property
    def scatter(self) -> Array:
        """R^T R, for those who want the square."""
        return self.root.T @ self.root

    def covariance(self, ddof: int = 1) -> Array:
        """R^T R / (weight - ddof)."""
        if divisor(self.weight, ddof) <= 0:
            raise too_few_rows(self.n_rows, self.weight, ddof)
        return self.scatter / divisor(self.weight, ddof)

    def _update(self, block: Array, weights: Array | None) -> None:
        check_columns(self.n_features, block)
        xp = namespace(block)
        block = dense(block)
        block = astype(block, wide_dtype(xp, device(block)))
        weight = total_weight(block, weights)
        first = block[0, :]
        Z = block - first
        step = column_sums(Z, None if weights is None else astype(weights, Z.dtype)) / weight
        Z = scaled_rows(Z - step, weights)
        check_squares(xp.sum(Z * Z, axis=0))
        self._absorb(int(block.shape[0]), weight, first, step, Z)

    def _merge(self, other: Self) -> None:
        if other.weight:
            self._absorb(other.n_rows, other.weight, other.mean, other.rest, other.rows)

    def fresh(self) -> Self:
        return type(self)(self.n_features, groups=self.groups)

    @property
    def threaded_blas(self) -> bool:
        """QR of wide blocks keeps all threads of BLAS busy; of narrow ones it does not."""
        return self.n_features > NARROW

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(1024, 4 * n_columns)

    def _absorb(self, n: int, weight: float, shift: Array, step: Array, rows: Array) -> None:
        """Merge rows of mean `shift + step` whose centred rows have the root `rows`."""
        self.n_rows += n
        if self.weight == 0.0:
            self.weight, self.rows = weight, rows
            self.mean, self.rest = two_sum(shift, step)
        else:
            both = self.weight + weight
            d = (shift - self.mean) + (step - self.rest)
            joint = d * math.sqrt(self.weight / both * weight)
            check_squares(joint * joint)
            self.rows = namespace(d).concat([self.rows, rows, joint[None, :]], axis=0)
            self.mean, self.rest = two_sum(self.mean, self.rest + d * (weight / both))
            self.weight = both
        if self.rows.shape[0] > 2 * self.n_features:
            self.rows = r_factor(self.rows)

    @classmethod
    def _from_state(cls, state: dict[str, np.ndarray]) -> Self:
        self = cls(int(state["groups"].sum()), groups=state["groups"].tolist())
        self.n_rows, self.weight = int(state["n_rows"]), float(state["weight"])
        self.mean, self.rest, self.rows = state.get("mean"), state.get("rest"), state.get("rows")
        return self

    def __repr__(self) -> str:
        return f"Triangle({self.n_rows} rows of weight {self.weight:g}, {self.n_features} columns)"
