"""Weight, mean and the R factor of the centred rows, merged by tall-skinny QR."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from .._core.arrays import Array, Scratch, astype, column_sums, dense, namespace, wide_dtype
from ..errors import NonFiniteBlock
from ..linalg import r_factor
from .base import CACHE_BYTES, Changes, Summary, check_squares, total_weight
from .moments import Moments, ScatterSummary, row_at_mean


class Triangle(ScatterSummary):
    """Total weight, mean, and R with R^T R = scatter about the mean.

    Parameters
    ----------
    n_features : int
        Number of columns p.
    widths : sequence of int, default=None
        Widths of adjacent groups of columns, for example of two tables side by side; they add up to p.

    Attributes
    ----------
    n_rows, weight, mean
        As in Moments.
    root : array of shape (min(n_rows + 1, p), p) at most
        The R factor of the centred (and sqrt-weighted) rows.

    Notes
    -----
    Two sets of rows merge as R = qr([R_1; R_2; sqrt(w_1 w_2 / (w_1 + w_2)) (mean_1 - mean_2)]) [1]_. The scatter is
    never formed, so that eigenvalues down to eps^2 of the largest keep their leading digits. Products of float32 rows
    are computed in float64, too. One pass, p^2 numbers (up to 2 p rows are kept as they are).

    References
    ----------
    .. [1] Demmel, Grigori, Hoemmen, Langou (2012), Communication-optimal parallel and sequential QR.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import PCA
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Triangle
    >>> rows = np.array([[1.0, 0.0], [-1.0, 1e-9], [1.0, 1e-9], [-1.0, 0.0]])
    >>> kept = summarize(rows, Triangle)
    >>> kept.mean
    array([0.e+00, 5.e-10])
    >>> PCA().fit_summary(kept).explained_variance_  # products of the columns would lose the second one
    array([1.33333333e+00, 3.33333333e-19])
    """

    state = dict(n_features="", widths="*", n_rows="", weight="", mean="p", rest="p", rows="*p")
    _second = "rows"
    rows: Any = None
    #: Whether the rows themselves were computed from products, which have lost the digits of small directions.
    squared: ClassVar[bool] = False

    @property
    def root(self) -> Array:
        """The R factor, with at most p rows."""
        if self.rows is not None and self.rows.shape[0] > self.n_features:
            self.rows = r_factor(self.rows)
        return self.rows

    @property
    def scatter(self) -> Array:  # type: ignore[override] # computed here, stored in Moments
        """R^T R."""
        return self.root.T @ self.root

    def moments(self) -> Moments:
        """The `Moments` of the same rows, for methods that need the scatter itself; this squares the root."""
        out = Moments(self.n_features, widths=self.widths)
        out.n_rows, out.weight, out.mean, out.rest = self.n_rows, self.weight, self.mean, self.rest
        out.scatter = None if self.rows is None else self.scatter
        return out

    def about_zero(self) -> Self:
        row = row_at_mean(self.mean, self.weight)
        return self._about_zero(rows=namespace(row).concat([self.rows, row[None, :]], axis=0))

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        xp = namespace(block)
        block = dense(block)
        block = astype(block, wide_dtype(block))
        weight = total_weight(block, weights)
        first = block[0, :]
        Z = block - first
        step = column_sums(Z, None if weights is None else astype(weights, Z.dtype)) / weight
        Z = Z - step
        if weights is not None:
            Z = Z * xp.sqrt(weights)[:, None]
        check_squares(xp.sum(Z * Z, axis=0))
        return self._with_rows(int(block.shape[0]), weight, first, step, Z)

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(1024, 4 * n_columns)

    def _with_rows(self, n: int, weight: float, shift: Array, step: Array, second: Array) -> Changes:
        changes = super()._with_rows(n, weight, shift, step, second)
        if changes["rows"].shape[0] > 2 * self.n_features:
            changes["rows"] = r_factor(changes["rows"])
        return changes

    def _joined(self, second: Array, d: Array, between: float) -> Array:
        joint = d * math.sqrt(between)
        check_squares(joint * joint)
        return namespace(d).concat([self.rows, second, joint[None, :]], axis=0)


# The product of the scatter matrix with a block of vectors, without forming the scatter matrix.


class Sketch(Summary):
    """`product` = sum_i w_i (x_i - mean) (x_i - mean)^T V for given V: one step of a block Krylov method.

    Parameters
    ----------
    V : array of shape (p, b)
    mean : array of shape (p,)
        The mean of the rows, known from an earlier pass.
    implicit : bool, default=False
        Centre the products instead of the rows, which keeps sparse rows sparse. Only accurate if the means of the
        columns are not much larger than their standard deviations.

    Notes
    -----
    With Y = (X - 1 mean^T) V the product is (X - 1 mean^T)^T Y = X^T Y - mean (1^T Y): both products are computed
    while a block of rows is in cache, so a Krylov step reads the rows once. p b numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Sketch
    >>> X = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 7.0]])
    >>> V = np.array([[1.0], [1.0]])
    >>> summarize(X, Sketch(V, X.mean(axis=0))).product
    array([[18.],
           [24.]])
    >>> np.cov(X.T) * 2 @ V
    array([[18.],
           [24.]])
    """

    parameters = ("V", "mean", "implicit")
    _sums = ("product",)
    state = dict(V="pb", mean="p", implicit="", product="pb")

    def __init__(self, V: Array, mean: Array, *, implicit: bool = False) -> None:
        self.V = V
        self.mean = mean
        self.implicit = implicit
        self.product: Any = None
        self._ready: Any = None
        self._scratch = Scratch()

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        if not self.implicit:
            block = dense(block)
        dtype = block.dtype
        if self._ready is None or self._ready[0].dtype != dtype:
            # They are converted once as long as the rows have the same dtype.
            self._ready = tuple(astype(x, dtype) for x in (self.V, self.mean, self.mean @ self.V))
        V, mean, offset = self._ready
        if not self.implicit:
            block = self._scratch.difference(block, mean)
        Y = block @ V
        if self.implicit:
            Y = Y - offset
        if weights is not None:
            Y = Y * astype(weights, dtype)[:, None]
        P = block.T @ Y
        xp = namespace(P)
        if self.implicit:
            P = P - mean[:, None] * xp.sum(Y, axis=0)[None, :]
        if not bool(xp.all(xp.isfinite(xp.sum(P, axis=0)))):
            raise NonFiniteBlock
        P = astype(P, wide_dtype(P))
        if self.product is not None:
            P += self.product
        return {"product": P}

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        if self.implicit:
            return max(256, 2 * CACHE_BYTES // (itemsize * self.V.shape[1]))
        return max(32, CACHE_BYTES // (itemsize * n_columns))

    def _sizes(self) -> dict[str, int]:
        return dict(zip("pb", self.V.shape, strict=True))
