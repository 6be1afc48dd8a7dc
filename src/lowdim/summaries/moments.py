"""Weight, mean and scatter of rows, merged by Chan's formula."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from .._core.arrays import (
    Array,
    Beside,
    Scratch,
    asarray_like,
    astype,
    column_sums,
    dense,
    eps,
    has_columns_in_one_piece,
    is_array,
    is_complex,
    is_sparse,
    namespace,
    to_device,
    to_host,
    wide_dtype,
)
from .._core.coded import Coded
from .._core.threads import add_products, mirror_upper
from ..errors import NonFiniteBlock
from ..linalg import FLOAT64_EPS, divisor, require_rows
from .base import (
    CACHE_BYTES,
    NARROW,
    Changes,
    Summary,
    check_squares,
    merged_mean,
    products_in_range,
    total_weight,
    two_sum,
)
from .device import device_sums


class MeanSummary(Summary):
    """Total weight and mean of p columns, with second moments about the mean."""

    parameters: ClassVar[tuple[str, ...]] = ("n_features",)
    nonnegative: ClassVar[tuple[str, ...]] = ("weight",)
    #: The name of the attribute that holds the second moments.
    _second: ClassVar[str]
    n_features: int
    n_rows, weight = 0, 0.0
    mean: Any = None
    rest: Any = None

    def _merged(self, other: Self) -> Changes:
        if other.weight == 0.0:
            return {}
        return self._with_rows(other.n_rows, other.weight, other.mean, other.rest, getattr(other, self._second))

    def _with_rows(self, n: int, weight: float, shift: Array, step: Array, second: Array) -> Changes:
        """What changes with rows of mean `shift + step` and these second moments about it."""
        if self.weight == 0.0:
            mean, rest = two_sum(shift, step)
        else:
            mean, rest, d, _ = merged_mean(self.weight, self.mean, self.rest, weight, shift, step)
            second = self._joined(second, d, between_weight(self.weight, weight))
        counts = {"n_rows": self.n_rows + n, "weight": self.weight + weight}
        return counts | {"mean": mean, "rest": rest, self._second: second}

    def _joined(self, second: Array, d: Array, between: float) -> Array:
        """The second moments so far and those of further rows about the common mean; d is the difference of the means,
        and `between` the factor of d d^T in the scatter."""
        raise NotImplementedError

    @abstractmethod
    def about_zero(self) -> Self:
        """The second moments of the same rows about zero, as a summary of mean zero: its scatter is that about the mean
        plus weight mean mean^T. Further rows cannot be added to it."""

    def _about_zero(self, **second: Array) -> Self:
        """This summary with a mean of zero and these second moments."""
        zeros, out = namespace(self.mean).zeros_like, self.snapshot()
        out._change(second | {"mean": zeros(self.mean), "rest": zeros(self.mean)})
        return out


class ScatterSummary(MeanSummary):
    """Total weight, mean and scatter about the mean of p columns, which may be those of several tables side by side."""

    parameters = ("n_features", "widths")
    kinds: ClassVar[dict[str, str]] = {"widths": "i"}
    names_in_files: ClassVar[dict[str, str]] = {"widths": "groups"}
    #: sum_i w_i (x_i - mean)(x_i - mean)^T, not divided by the weight.
    scatter: Any

    def __init__(self, n_features: int, *, widths: Sequence[int] | None = None) -> None:
        self.n_features = int(n_features)
        self.widths = (self.n_features,) if widths is None else tuple(int(g) for g in widths)
        if sum(self.widths) != self.n_features or min(self.widths) < 1:
            raise ValueError(
                f"widths={self.widths} must be positive widths that add up to n_features={self.n_features}."
            )

    @property
    def threaded_blas(self) -> bool:
        """Whether there are enough columns for the product of a block to keep all BLAS threads busy."""
        return self.n_features > NARROW

    def covariance(self, ddof: int = 1) -> Array:
        """scatter / (weight - ddof)."""
        require_rows(self.n_rows, self.weight, ddof)
        return self.scatter / divisor(self.weight, ddof)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_rows} rows of weight {self.weight:g}, {self.n_features} columns)"


def between_weight(weight: float, other_weight: float) -> float:
    """w_1 w_2 / (w_1 + w_2): the factor of d d^T in the scatter of two sets of rows about their common mean."""
    return weight / (weight + other_weight) * other_weight


def row_at_mean(mean: Array, weight: float) -> Array:
    """The row sqrt(weight) mean, whose squares and products are the difference between the second moments about zero
    and those about the mean; an error if its squares are not finite."""
    row = mean * math.sqrt(weight)
    try:
        with np.errstate(over="ignore"):
            check_squares(row * row)
    except NonFiniteBlock:
        raise ValueError(
            "center=False: the squares of the entries are not finite. Multiply the rows by a small number, or centre "
            "them."
        ) from None
    return row


#: Sparse blocks that store more than this fraction of their entries are made dense, because that is then faster.
_DENSE_FROM = 0.06
#: A block is merged as a whole, but its products are computed in slices. A block has this many slices if they have half
#: of the size that fits in the cache, which also has to hold the shifted rows.
_SLICES = 8
#: From this many columns on, slices of float64 rows have _SLICE_ROWS rows: BLAS is fastest then. Not if each column is
#: in one piece: columns of 1024 numbers are so short that memory would be read at half of its speed.
_SHORT_SLICES_FROM, _SLICE_ROWS = 64, 1024
#: From this many columns on, products of slices are added to their sum by BLAS itself.
_ADDED_BY_BLAS_FROM = 128
#: Pairs of levels are counted, so many rows at a time, and not multiplied, if categories have more levels than this on
#: average.
_COUNTED_LEVELS, _COUNTED_ROWS = 32, 1 << 15
#: For blocks of at least this many numbers it is worth looking whether they need a shift; in the first block, this many
#: rows are looked at.
_UNSHIFTED_FROM, _FIRST_ROWS = 1 << 16, 32


class Moments(ScatterSummary):
    """Total weight, mean and scatter about the mean of the rows.

    Parameters
    ----------
    n_features : int
        Number of columns p.
    widths : sequence of int, default=None
        Widths of adjacent groups of columns, for example of two tables side by side; they add up to p.
    wide : bool, default=False
        Multiply float32 blocks in float64.

    Attributes
    ----------
    n_rows : int
        Number of rows of positive weight.
    weight : float
        Sum of their weights.
    mean, rest : arrays of shape (p,)
        The mean as an unevaluated sum mean + rest: the rounded mean and its rounding error.
    product_eps : float
        The machine epsilon of the least precise products in the scatter.
    scatter : array of shape (p, p)
        sum_i w_i (x_i - mean)(x_i - mean)^T, not divided by the weight.

    Notes
    -----
    A block is summed about a shift c near its mean: the first row for the first block, the mean so far for the others,
    zero if that is not farther from the mean than rows are, or the mean of the block if these turn out to be far from
    it. With s = sum w (x - c) and
    P = sum w (x - c)(x - c)^T the block has mean c + s/w and scatter P - s s^T / w, and two sets of rows merge as [1]_

        scatter = scatter_1 + scatter_2 + (w_1 w_2 / (w_1 + w_2)) d d^T,   d = mean_2 - mean_1.

    No two large numbers are ever subtracted, whatever the offset of the columns, and a column that is constant has
    scatter exactly zero. float32 blocks are multiplied in float32 and added up in float64. One pass, p^2 numbers.

    References
    ----------
    .. [1] Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance, eq. 2.1.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import PCA
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Moments
    >>> rows = np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0], [5.0, 6.0]])
    >>> both = summarize(rows[:2], Moments)
    >>> both.merge(summarize(rows[2:], Moments))
    >>> both.weight, both.mean
    (4.0, array([3., 4.]))
    >>> both.covariance()
    array([[2.66666667, 2.66666667],
           [2.66666667, 3.33333333]])
    >>> PCA(1).fit_summary(both).explained_variance_.round(3)
    array([5.687])
    """

    options = ("wide",)
    symmetric = ("scatter",)
    takes_pieces = True
    slices_on_device = True
    _second = "scatter"
    scatter: Any = None
    product_eps = FLOAT64_EPS
    state = dict(
        n_features="", widths="*", wide="", n_rows="", weight="", mean="p", rest="p", scatter="pp", product_eps=""
    )

    def __init__(self, n_features: int, *, widths: Sequence[int] | None = None, wide: bool = False) -> None:
        super().__init__(n_features, widths=widths)
        self.wide = wide
        self._scratch = Scratch()

    @classmethod
    def from_covariance(
        cls,
        cov: Array,
        n_samples: int,
        mean: Array | None = None,
        *,
        ddof: int = 1,
        widths: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """The summary of `n_samples` rows with covariance (or correlation) `cov` and `mean` (default: zeros).

        `cov` was computed with the divisor n_samples - ddof. It must be symmetric, and up to rounding without negative
        eigenvalues. `widths` are the widths of tables side by side, and `names` those of their columns.
        """
        cov, n, ddof = check_covariance(cov), check_count("n_samples", n_samples, 1), check_count("ddof", ddof, 0)
        require_rows(n, n, ddof)
        self = cls(cov.shape[0], widths=widths)
        self.n_rows, self.weight = n, float(n)
        self.mean = check_mean(mean, cov)
        self.rest = namespace(cov).zeros_like(self.mean)
        self.scatter = cov * divisor(n, ddof)
        self.names = names
        return self

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        weight = total_weight(block, weights)
        if is_sparse(block):
            block = block.astype(np.float64, copy=False)
            if block.nnz > _DENSE_FROM * block.shape[0] * block.shape[1]:
                block = dense(block)
        if is_sparse(block):
            shift, s, P, product_eps = _sparse_sums(block, weights, weight)
        elif isinstance(block, Coded):
            shift, s, P, product_eps = self._coded_sums(block, weights, weight)
        elif namespace(block) is not np:
            shift, s, P, product_eps = device_sums(self, block, weights, weight)
        else:
            shift, s, P, product_eps = self._dense_sums(block, weights, weight)
        if namespace(P) is np:
            s = astype(s, np.float64)
        shift = astype(shift, s.dtype)
        loss = s / math.sqrt(weight)
        rows = self._with_rows(int(block.shape[0]), weight, shift, s / weight, P, loss)
        return rows | {"product_eps": max(self.product_eps, product_eps)}

    def _merged(self, other: Self) -> Changes:
        return super()._merged(other) | {"product_eps": max(self.product_eps, other.product_eps)}

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        # At least 16 p rows, because merging a block costs p^2 operations.
        return _SLICES * max(CACHE_BYTES // 2 // (n_columns * itemsize), 2 * n_columns)

    def image(self, A: Array) -> Moments:
        """The moments of x A over the rows x, without a second pass over the rows."""
        A = asarray_like(A, self.mean, dtype=self.mean.dtype)
        out = Moments(A.shape[1])
        out.n_rows, out.weight, out.product_eps = self.n_rows, self.weight, self.product_eps
        out.mean, out.rest = self.mean @ A, self.rest @ A
        S = A.T @ self.scatter @ A
        out.scatter = 0.5 * (S + S.T)
        return out

    def about_zero(self) -> Self:
        row = row_at_mean(self.mean, self.weight)
        return self._about_zero(scatter=self.scatter + row[:, None] * row[None, :])

    def between(self, i: int, j: int) -> Array:
        """The part of the scatter between column groups `i` and `j`."""
        rows, columns = (slice(sum(self.widths[:g]), sum(self.widths[: g + 1])) for g in (i, j))
        return self.scatter[rows, columns]

    def _dense_sums(
        self, block: np.ndarray | Beside, weights: np.ndarray | None, weight: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Shift, sums and products of a dense block about the shift, and the machine epsilon of the products.

        The shift is the first row for the first block, and then the mean so far. It is None, which stands for zero, if
        zero is as near to the mean as a row is on average: rows that are not shifted need not be copied.
        """
        if self.wide:
            block = astype(block, np.float64)
        shift = block[0, :] if self.mean is None else astype(self.mean, block.dtype)
        if isinstance(block, np.ndarray) and block.size >= _UNSHIFTED_FROM and self._is_near_zero(block):
            shift = None
        s, P, product_eps = self._sums_about(shift, block, weights)
        if is_far(s, np.diagonal(P), weight):
            # The shift was an outlier, or the rows have drifted away from it: use the mean of the block instead.
            step = astype(s / weight, block.dtype)
            shift = step if shift is None else shift + step
            s, P, product_eps = self._sums_about(shift, block, weights)
        check_squares(np.diagonal(P))
        return np.zeros_like(s) if shift is None else shift, s, P, product_eps

    def _coded_sums(
        self, block: Coded, weights: np.ndarray | None, weight: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """As `_dense_sums`, for rows with categories. Only the numbers are shifted.

        Sums of products of zeros and ones are counts, which float32 holds exactly up to 2^24. So without weights they
        are computed in float32, slice by slice, and are exact.
        """
        numbers, a = block.numbers.astype(np.float64, copy=False), block.numbers.shape[1]
        n, p = block.shape
        shift, s, P = np.zeros(p), np.zeros(p), np.zeros((p, p))
        counts = weights is None and block.without is None
        levels, first = slice(a, p), np.zeros(a)
        if a:
            first = numbers[0].copy() if self.mean is None else self.mean[:a].copy()
            s[:a] = column_sums(numbers - first, weights)
            squares = (numbers - first) ** 2
            if is_far(s[:a], column_sums(squares, weights), weight):
                first += s[:a] / weight
                s[:a] = column_sums(numbers - first, weights)
            shift[:a] = first
        many = block.without is None and p - a > _COUNTED_LEVELS * len(block.widths)
        rows = _COUNTED_ROWS if many else max(CACHE_BYTES // (p * (4 if counts and not a else 8)), 2 * p)
        for i in range(0, n, rows):
            part = slice(i, min(i + rows, n))
            w = None if weights is None else weights[part]
            Z = numbers[part] - first
            weighted = Z if w is None else Z * w[:, None]
            P[:a, :a] += Z.T @ weighted
            if many:
                P[levels, levels] += block[part].pair_counts(w)
                if a:
                    P[:a, levels] += block[part].sums_by_level(weighted)
                continue
            E = block.zeros_and_ones(part, np.float32 if counts else np.float64)
            # With whole weights, too, these products are whole numbers, and so exact.
            P[levels, levels] += E.T @ (E if w is None else E * w[:, None])
            if a:
                P[:a, levels] += weighted.T @ E.astype(np.float64, copy=False)
            if block.without is not None:
                s[levels] += E.sum(axis=0) if w is None else w @ E
        P[levels, :a] = P[:a, levels].T
        if block.without is None:
            # The weight of the rows of each level.
            s[levels] = np.diagonal(P)[levels]
        check_squares(np.diagonal(P))
        return shift, s, P, FLOAT64_EPS

    def _is_near_zero(self, block: np.ndarray) -> bool:
        """Whether no mean of a column is more than one standard deviation away from zero, in the rows so far or in the
        first rows of the first block. For a constant column this holds only if it is zero."""
        if self.mean is not None:
            return bool(np.all(self.weight * self.mean**2 <= np.diagonal(self.scatter)))
        first = block[:_FIRST_ROWS].astype(np.float64)
        return bool(np.all(2.0 * first.mean(axis=0) ** 2 <= np.mean(first * first, axis=0)))

    def _sums_about(
        self, shift: np.ndarray | None, block: np.ndarray | Beside, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Sums and products of a block about the shift, slice by slice, so that each slice stays in cache; and the
        largest machine epsilon of the products, which are in the dtype of the rows if the squares are in its range."""
        n, p = block.shape
        short = block.itemsize == 8 and p >= _SHORT_SLICES_FROM and not has_columns_in_one_piece(block)
        # At least 2 p rows, because adding the product of a slice costs p^2 operations.
        rows = max(_SLICE_ROWS if short else CACHE_BYTES // 2 // (p * block.itemsize), 2 * p)
        product_eps = 0.0
        if n > rows:
            s, P = np.zeros(p), np.zeros((p, p))
        by_blas = n > rows and block.dtype == np.float64 and p >= _ADDED_BY_BLAS_FROM
        for i in range(0, n, rows):
            Z: Any = block if n <= rows else block[i : min(i + rows, n), :]
            if shift is not None:
                Z = self._scratch.difference(Z, shift)
            s_part = None
            if weights is not None:
                w = weights[i : i + rows]
                s_part = column_sums(Z, w)
                Z = self._scratch.product(Z, np.sqrt(w)[:, None])
            if by_blas:
                add_products(Z, P)
            else:
                P_part = products_in_range(Z, self.widths)
                product_eps = max(product_eps, eps(P_part))
            # Without weights, the sums come last, because the product has brought the rows into the cache.
            if s_part is None:
                s_part = column_sums(Z)
            if n <= rows:
                return s_part, P_part, product_eps
            s += s_part
            if not by_blas:
                P += P_part
        if by_blas:
            mirror_upper(P)
            product_eps = eps(P)
        return s, P, product_eps

    def _with_rows(
        self, n: int, weight: float, shift: Array, step: Array, P: Array, loss: Array | None = None
    ) -> Changes:
        """What changes with rows of mean `shift + step` and scatter `P - loss loss^T` (`P` if `loss` is None).

        Only matrices stay on a device: vectors come to the host, and the mean is copied back.
        """
        xp = namespace(P)
        shift, step = to_host([shift, step])
        if self.weight == 0.0:
            mean, rest = two_sum(shift, step)
            mean, rest, *more = to_device([mean, rest] if loss is None else [mean, rest, loss], P)
            scatter = P - more[0][:, None] * more[0][None, :] if more else xp.asarray(P, copy=True)
        else:
            own_mean, own_rest = to_host([self.mean, self.rest])
            mean, rest, d, _ = merged_mean(self.weight, own_mean, own_rest, weight, shift, step)
            gain = d * math.sqrt(between_weight(self.weight, weight))
            # The new scatter is summed up in the memory of its smallest term.
            if loss is None:
                mean, rest, gain = to_device([mean, rest, gain], P)
                scatter = gain[:, None] * gain[None, :]
            else:
                terms = [np.stack([gain, loss], axis=1), np.stack([gain, -loss])]
                mean, rest, left, right = to_device([mean, rest, *terms], P)
                scatter = left @ right
            scatter += P
            scatter += self.scatter
            check_squares(xp.linalg.diagonal(scatter))
        counts = {"n_rows": self.n_rows + n, "weight": self.weight + weight}
        return counts | {"mean": mean, "rest": rest, "scatter": scatter}


def is_far(s: Array, squares: Array, weight: float) -> bool:
    """Whether the shift is a bad one: the mean of some column is more than ten standard deviations away from it.

    `s` and `squares` are the sums of x - shift and (x - shift)^2 in each column. If the shift is far from the mean,
    subtracting s^2 / weight from the squares cancels leading digits, so that a better shift is needed.
    """
    xp = namespace(squares)
    spread = squares - s * s / weight
    return bool(xp.any(spread < 0.01 * squares))


def _sparse_sums(block: Any, weights: Array | None, weight: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """As `Moments._dense_sums`, for a sparse block. The shift is zero, except for columns where that would lose digits.
    There are few of these: if a column is stored in a share a of the rows, (sum w x)^2 / weight is at most a sum w x^2,
    so that nearly all of it must be stored."""
    rows = block if weights is None else block.multiply(np.sqrt(weights)[:, None]).tocsr()
    s = np.asarray(block.sum(axis=0)).ravel() if weights is None else block.T @ weights
    P = (rows.T @ rows).toarray()
    shift = np.zeros_like(s)
    # If the mean of a column is large compared to its deviation, subtracting it from the squares would lose digits.
    squares = np.diagonal(P)
    far = np.flatnonzero(squares - s * s / weight < 1e-4 * squares)
    if len(far):
        # Shift, sums and products of these columns about their means.
        Z = block[:, far].toarray()
        w = np.ones(len(Z)) if weights is None else np.asarray(weights, dtype=np.float64)
        first = Z[0].copy()
        Z -= first
        mean = w @ Z / weight
        Z -= mean
        shift[far] = first + mean
        # The shift is rounded, and the entries are differences to the rounded one.
        Z -= shift[far] - first - mean
        s[far] = w @ Z
        Z *= np.sqrt(w)[:, None]
        P[far] = (rows.T @ Z).T
        P[:, far] = P[far].T
        P[np.ix_(far, far)] = Z.T @ Z
    check_squares(np.diagonal(P))
    return shift, s, P, FLOAT64_EPS


# Moments with sums of third and fourth order, from which Ledoit and Wolf's shrinkage estimates the sampling error of
# the covariance.


class FourthMoments(Moments):
    """Moments with `third` = sum w ||z||^2 z and `fourth` = sum w ||z||^4, z = x - mean.

    Notes
    -----
    When the mean moves by d (z becomes z - d), with S the scatter and W the weight about the old mean,

        fourth += 4 d^T S d + 2 |d|^2 tr S + W |d|^4 - 4 d^T third
        third  -= 2 S d + d tr S + W |d|^2 d

    so two summaries are merged as Moments are: both are moved to the common mean and added. One pass, p^2 + p numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import Whitening
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import FourthMoments
    >>> rows = np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0], [5.0, 6.0]])
    >>> kept = summarize(rows, FourthMoments)
    >>> distances = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    >>> bool(np.isclose(kept.fourth, np.sum(distances**4)))
    True
    >>> round(Whitening(regularization="ledoit-wolf").fit_summary(kept).shrinkage_, 3)
    0.438
    """

    takes_pieces = False
    slices_on_device = False
    powers = "fourth powers"
    nonnegative = (*Moments.nonnegative, "fourth")
    state = Moments.state | dict(third="p", fourth="")

    third: Any = None
    fourth: Any = 0.0

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        one = self.fresh()
        one._change(Moments._updated(one, block, weights))
        xp = namespace(one.mean)
        Z = astype(dense(block), one.mean.dtype) - one.mean
        q = xp.sum(Z * Z, axis=1)
        wq = q if weights is None else q * astype(weights, q.dtype)
        one.third, one.fourth = wq @ Z, float(xp.sum(wq * q))
        return self._merged(one)

    def _merged(self, other: Self) -> Changes:
        changes = super()._merged(other)
        if other.weight == 0.0:
            return changes
        third, fourth = _moved(other, changes["mean"])
        if self.weight:
            third_mine, fourth_mine = _moved(self, changes["mean"])
            third, fourth = third + third_mine, fourth + fourth_mine
        if not math.isfinite(fourth):
            raise NonFiniteBlock
        return changes | {"third": third, "fourth": fourth}


def _moved(moments: FourthMoments, to: Array) -> tuple[Array, float]:
    """`third` and `fourth` about the point `to` instead of the mean."""
    xp = namespace(to)
    scatter, weight, third = moments.scatter, moments.weight, moments.third
    d = to - moments.mean
    size = float(d @ d)
    trace = float(xp.sum(xp.linalg.diagonal(scatter)))
    Sd = scatter @ d
    fourth = moments.fourth + 4 * float(d @ Sd) + 2 * size * trace + weight * size * size - 4 * float(d @ third)
    return third - 2 * Sd - d * (trace + weight * size), fourth


# Checks of statistics that are given instead of rows: a covariance, a mean and the number of rows they are of.


#: A covariance may differ from its transpose, and have negative eigenvalues, by this fraction of its largest entry.
_ROUNDING = 1e-8


def check_covariance(cov: Any) -> Array:
    """`cov` in float64, and exactly symmetric; an error unless it is a symmetric matrix of finite real numbers without
    negative eigenvalues. Variances may be zero, as those of constant columns are."""
    cov = _real_numbers("cov", cov)
    xp = namespace(cov)
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1] or cov.shape[0] == 0:
        raise ValueError(f"cov must be a square matrix, got shape {tuple(cov.shape)}.")
    _check_finite("cov", cov)
    largest, asymmetry = float(xp.max(xp.abs(cov))), float(xp.max(xp.abs(cov - cov.T)))
    if asymmetry > _ROUNDING * largest:
        raise ValueError(f"cov must be symmetric, but cov and its transpose differ by up to {asymmetry:.3g}.")
    diagonal = xp.linalg.diagonal(cov)
    j = int(xp.argmin(diagonal))
    if float(diagonal[j]) < -_ROUNDING * largest:
        raise ValueError(
            f"cov has the negative variance {float(diagonal[j]):.3g} in column {j}; variances are zero or positive."
        )
    smallest = float(xp.min(xp.linalg.eigvalsh(cov)))
    if smallest < -_ROUNDING * largest:
        raise ValueError(f"cov has the negative eigenvalue {smallest:.3g}; a covariance has none.")
    return 0.5 * (cov + cov.T)


def check_mean(mean: Any, cov: Array) -> Array:
    """`mean` as an array like `cov`, or zeros if it is None; an error unless it has a finite real number for each
    column of `cov`."""
    if mean is None:
        return namespace(cov).zeros_like(cov[0, :])
    mean = asarray_like(_real_numbers("mean", mean), cov, dtype=cov.dtype)
    if tuple(mean.shape) != (cov.shape[0],):
        raise ValueError(f"mean must have shape ({cov.shape[0]},), got {tuple(mean.shape)}.")
    _check_finite("mean", mean)
    return mean


def check_count(name: str, count: Any, lowest: int) -> int:
    """`count` as an integer; an error unless it is a whole number of at least `lowest`."""
    whole = isinstance(count, numbers.Integral) or (isinstance(count, float | np.floating) and count.is_integer())
    if not whole or isinstance(count, bool) or not lowest <= count < 2**63:
        raise ValueError(f"{name}={count!r} must be a whole number of at least {lowest}.")
    return int(count)


def _real_numbers(name: str, values: Any) -> Array:
    """`values` as an array of float64; an error if they are not real numbers."""
    if not is_array(values):
        try:
            values = np.asarray(values)
        except ValueError as error:
            raise ValueError(f"{name} must be an array of real numbers, but its rows differ in length.") from error
    if is_complex(values):
        raise ValueError(f"{name} must hold real numbers, got dtype {values.dtype}; pass {name}.real if that is meant.")
    if isinstance(values, np.ndarray) and values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {values.dtype}; convert it: {name}.astype(float).")
    return astype(values, wide_dtype(values))


def _check_finite(name: str, values: Array) -> None:
    xp = namespace(values)
    if not bool(xp.all(xp.isfinite(values))):
        raise ValueError(f"{name} contains NaN or infinity; every entry must be finite.")


# Weight, mean and sum of squares of each column, for tables whose p x p scatter matrix would be too large.


class Columns(MeanSummary):
    """Total weight, mean and `squares` = sum w (x - mean)^2 per column: the diagonal of Moments.

    One pass, 2 p numbers. Sparse blocks stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Columns
    >>> found = summarize(np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]]), Columns)
    >>> found.mean, found.squares
    (array([3., 3.]), array([8., 2.]))
    """

    state = dict(n_features="", n_rows="", weight="", mean="p", rest="p", squares="p")
    nonnegative = ("weight", "squares")
    _second = "squares"
    squares: Any = None

    def __init__(self, n_features: int) -> None:
        self.n_features = int(n_features)

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        weight = total_weight(block, weights)
        shift, step, squares = (_stored_sums if is_sparse(block) else self._dense_sums)(block, weights, weight)
        check_squares(squares)
        return self._with_rows(int(block.shape[0]), weight, shift, step, squares)

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(16, int(CACHE_BYTES / max(1.0, n_columns * itemsize * stored)))

    def offset_is_harmless(self, scale: Array | None = None) -> bool:
        """Whether products with the rows (columns divided by `scale`) may be centred instead of the rows themselves.

        This holds if the norm of the mean row is at most about 300 times the largest standard deviation: the
        subtraction then costs at most five digits of lambda_1.
        """
        xp = namespace(self.mean)
        mean, squares = self.mean, self.squares
        if scale is not None:
            mean, squares = mean / scale, squares / (scale * scale)
        largest = float(xp.max(squares))
        with np.errstate(over="ignore"):
            return largest > 0.0 and float(xp.sum(mean * (mean * (self.weight / largest)))) <= 1e5

    def about_zero(self) -> Self:
        """The sums of squares about zero, as a summary of mean zero. Further rows cannot be added to it."""
        return self._about_zero(squares=self.squares + row_at_mean(self.mean, self.weight) ** 2)

    def _dense_sums(self, block: Array, weights: Array | None, weight: float) -> tuple[Array, Array, Array]:
        xp = namespace(block)
        wide = wide_dtype(block)
        w = None if weights is None else astype(weights, wide)
        shift = block[0, :] if self.mean is None else astype(self.mean, block.dtype)
        s, squares = _column_sums_about(shift, block, w)
        if is_far(s, squares, weight):
            shift = shift + astype(s / weight, shift.dtype)
            s, squares = _column_sums_about(shift, block, w)
        step = s / weight
        return astype(shift, wide), step, xp.clip(squares - s * step, 0.0, None)

    def _joined(self, second: Array, d: Array, between: float) -> Array:
        squares = self.squares + second + d * d * between
        check_squares(squares)
        return squares


def _column_sums_about(shift: Array, block: Array, weights: Array | None) -> tuple[Array, Array]:
    """Sums and sums of squares of a dense block about the shift, in float64."""
    Z = astype(block - shift, wide_dtype(block))
    return column_sums(Z, weights), column_sums(Z * Z, weights)


def _stored_sums(block: Any, weights: Array | None, weight: float) -> tuple[Array, Array, Array]:
    """Shift, step to the mean, and squares about it, from the stored entries.

    If at most half of a column is stored, (sum w x)^2 / weight is at most half of sum w x^2, so that it can be
    subtracted without loss of digits. The few other columns are summed a second time.
    """
    w = np.ones(block.shape[0]) if weights is None else np.asarray(weights, dtype=float)
    x = block.data.astype(np.float64)

    def sums(entries: np.ndarray) -> np.ndarray:
        """Weighted sums of the columns of a matrix that stores these entries where the block stores its own."""
        return type(block)((entries, block.indices, block.indptr), shape=block.shape, copy=False).T @ w

    stored = sums(np.ones_like(x))
    step = sums(x) / weight
    squares = np.clip(sums(x * x) - weight * step * step, 0.0, None)
    shift = np.zeros(block.shape[1])
    crowded = stored > 0.5 * weight
    if np.any(crowded):
        # Columns that are stored in every row are shifted by their first entry, as dense columns are, so that a large
        # offset costs no digits. The squares of the others are sum_stored w (x - m)^2 + (weight not stored) m^2.
        at = np.flatnonzero(crowded[block.indices])
        some, columns = np.flatnonzero(crowded), block.indices[at]
        place = np.searchsorted(some, columns)
        w = np.repeat(w, np.diff(block.indptr))[at]
        x = x[at]
        filled = np.bincount(place, minlength=len(some)) == block.shape[0]
        base = np.where(filled, dense(block[:1])[0, some], 0.0)
        x -= base[place]
        mean = np.bincount(place, weights=w * x, minlength=len(some)) / weight
        x -= mean[place]
        unstored = np.clip(weight - np.bincount(place, weights=w, minlength=len(some)), 0.0, None)
        unstored[filled] = 0.0
        shift[some], step[some] = base, mean
        squares[some] = np.bincount(place, weights=w * x * x, minlength=len(some)) + unstored * mean * mean
    return shift, step, squares
