"""The conventions for signs, order, rank, resolution and divisors, which are defined only here."""

from __future__ import annotations

import math

import numpy as np

from .._xp import Array, astype, count_true, device, eps, namespace, smallest_normal, to_numpy
from ..errors import column_label, too_few_rows, too_small

#: Below this ratio lambda_K / lambda_1 a float64 Gram or covariance matrix has lost the digits of lambda_K.
#: Its rounding errors are about eps * lambda_1, so about six digits are left at 1e-10.
RESOLUTION = 1e-10
#: The same for products in float32, whose errors are about 1e-7 lambda_1: about four digits are left.
RESOLUTION_FLOAT32 = 1e-3

#: Between these bounds, sums of squares in float32 neither overflow nor underflow.
FLOAT32_SQUARES = (1e-28, 1e35)

#: Relative rounding errors of products in float64 and in float32.
FLOAT64_EPS = 2.0**-52
FLOAT32_EPS = 2.0**-23

#: Entries of a vector that differ by less than this share of the largest count as equal in the rule for signs.
_TIED = 2.0**-16


def divisor(weight: float, ddof: int) -> float:
    """The divisor of a covariance, total weight minus `ddof`; zero if that is negative or zero up to rounding."""
    left = weight - ddof
    return left if left > 1e-9 * weight else 0.0


def require_rows(n_rows: int, weight: float, ddof: int, fixed: bool = False) -> None:
    """Raise an error if the divisor of a covariance is not positive; a `fixed` ddof cannot be chosen by the user."""
    if divisor(weight, ddof) <= 0:
        raise too_few_rows(n_rows, weight, ddof, fixed)


def require_size(
    squares: Array, mean: Array, weight: float, *, each: bool = False, table: str = "X", numbered: bool = True
) -> None:
    """Raise an error if columns vary so little that their variances underflow.

    Parameters
    ----------
    squares : array of shape (p,), or of shape (1,)
        Sums of squares of the columns about their means or about zero, or the largest eigenvalue of their scatter.
    mean : array of shape (p,)
        Their means, also if the squares are about zero: only the means tell entries that underflow from zeros.
    weight : float
        Total weight of the rows.
    each : bool
        Whether no column may vary so little, because each is divided by its standard deviation. Otherwise the largest
        sum of squares decides, since what underflows beside it is less than its rounding error.
    table : str
        The name of the table, for the message.
    numbered : bool
        Whether these are all columns of the table, so that the message can name one by its number.
    """
    if have_digits(squares, weight, each=each):
        return
    lost = underflows(to_numpy(squares), to_numpy(mean), weight)
    if lost.any():
        one = column_label(int(lost.argmax()), None) if numbered else "a column"
        raise too_small(one if each else "all columns", table)


def underflows(squares: Array, mean: Array, weight: float) -> Array:
    """Which columns vary, but have sums of squares (and so variances) that are too small to have all their digits.

    A sum of squares may also be zero because the column is constant. If the mean is far from zero, two different
    entries differ by so much that their difference can be squared, so a column without squares is constant; so is one
    whose mean is zero.
    """
    xp = namespace(squares)
    mean = astype(mean, squares.dtype)
    size = xp.abs(mean)
    unclear = (size > 0) & (size < math.sqrt(smallest_normal(squares)) / eps(squares))
    # The roots are divided, since variances may be zero where sums of squares are not.
    varies = xp.where(squares > 0, ~is_constant(xp.sqrt(squares) / math.sqrt(weight), mean), unclear)
    return varies & (squares < _least_squares(squares, weight))


def have_digits(squares: Array, weight: float, *, each: bool = False) -> bool:
    """Whether the largest sum of squares (or `each` of them) and the variance have all their digits."""
    xp = namespace(squares)
    return float(xp.min(squares) if each else xp.max(squares)) >= _least_squares(squares, weight)


def require_normal(value: float, like: Array, where: str, weight: float = 1.0) -> None:
    """Raise an error if numbers that were computed in the dtype of `like` have lost digits, because they are so small.

    `value` is their size, or the sum of so many as `weight` says; zero is allowed. `where` says which numbers they are.
    """
    if 0.0 < value < smallest_normal(like) * max(weight, 1.0):
        raise too_small(where)


def _least_squares(squares: Array, weight: float) -> float:
    """The least sum of squares that has all its digits, as has the variance: both are at least the smallest normal
    number."""
    return smallest_normal(squares) * max(weight, 1.0)


def most_components(n_rows: int, weight: float, n_features: int) -> int:
    """The largest number of components: min(n, p), where n counts repetitions (weight 2 equals repeating the row)."""
    return min(max(n_rows, int(weight)), n_features)


def signs(vectors: Array) -> Array:
    """+1 or -1 for each row, which makes its entry of largest magnitude positive; the first such entry on a tie.

    Entries that are smaller than the largest by less than 2^-16 of it count as tied, in every dtype. Otherwise the sign
    would depend on rounding errors, and so on the solver and on the precision in which it computes: components of
    float32 rows have relative errors of about 1e-6.
    """
    xp = namespace(vectors)
    size = xp.abs(vectors)
    tied = size >= xp.max(size, axis=1, keepdims=True) * (1.0 - _TIED)
    if isinstance(vectors, np.ndarray):
        decisive = vectors[np.arange(len(vectors)), tied.argmax(axis=1)]
        return np.where(decisive < 0, -1.0, 1.0).astype(vectors.dtype)
    first = xp.argmax(xp.astype(tied, xp.int8), axis=1)
    here = xp.arange(vectors.shape[1], device=device(vectors))[None, :] == first[:, None]
    negative = xp.any(here & (vectors < 0), axis=1)
    return 1.0 - 2.0 * xp.astype(negative, vectors.dtype)


def with_sign(vector: np.ndarray) -> np.ndarray:
    """A vector times the sign that `signs` gives to a row, in a third of the time."""
    size = np.abs(vector)
    decisive = vector[(size >= size.max(initial=0.0) * (1.0 - _TIED)).argmax()] if len(vector) else 0.0
    return -vector if decisive < 0 else vector


def fix_signs(vectors: Array) -> Array:
    """Rows of `vectors` times their `signs`."""
    return vectors * signs(vectors)[:, None]


def is_constant(deviation: Array, mean: Array) -> Array:
    """Which columns are constant: those whose standard deviation is at most the rounding error of their entries."""
    return deviation <= 2.0 * FLOAT64_EPS * namespace(mean).abs(mean)


def rank_cut(largest: float, n_features: int, epsilon: float) -> float:
    """The value at or below which eigenvalues count as zero: n_features * epsilon * largest."""
    return n_features * epsilon * largest


def resolution(epsilon: float, needed: float = RESOLUTION) -> float:
    """The share of the largest eigenvalue below which products with rounding `epsilon` have lost an eigenvalue's
    digits: `needed` for products in float64."""
    return needed if epsilon < 1e-10 else RESOLUTION_FLOAT32


def numerical_rank(values: Array, n_features: int, epsilon: float | None = None) -> int:
    """The number of the descending eigenvalues `values` that are above the rank cut."""
    if values.shape[0] == 0:
        return 0
    cut = rank_cut(float(values[0]), n_features, eps(values) if epsilon is None else epsilon)
    return count_true(values > cut)


def with_zeros(values: Array, n: int) -> Array:
    """`values` with `n` zeros added to their last axis, for components without variance."""
    if n == 0:
        return values
    xp = namespace(values)
    zeros = xp.zeros((*values.shape[:-1], n), dtype=values.dtype, device=device(values))
    return xp.concat([values, zeros], axis=-1)
