"""The mean of two sets of rows from their means, by Chan's formula."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._xp import Array


class MergedMean(NamedTuple):
    """The mean of two sets of rows of weights w_1 and w_2."""

    #: The mean as an unevaluated sum mean + rest: the rounded mean and its rounding error.
    mean: Array
    rest: Array
    #: d = mean_2 - mean_1.
    difference: Array
    #: w_2 / (w_1 + w_2).
    share: Any


def merged_mean(
    weight: Any, mean: Array, rest: Array, other_weight: Any, shift: Array, step: Array, both: Any = None
) -> MergedMean:
    """mean_1 + d w_2 / (w_1 + w_2), d = mean_2 - mean_1, for mean_1 = mean + rest and mean_2 = shift + step [1]_.

    Weights are numbers, or arrays with one weight for each column. `both` replaces w_1 + w_2 in the quotient; it is
    needed if w_1 + w_2 may be zero in some column.

    References
    ----------
    .. [1] Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance, eq. 2.1.
    """
    d = (shift - mean) + (step - rest)
    share = other_weight / (weight + other_weight if both is None else both)
    return MergedMean(*two_sum(mean, rest + d * share), d, share)


def between_weight(weight: float, other_weight: float) -> float:
    """w_1 w_2 / (w_1 + w_2): the factor of d d^T in the scatter of two sets of rows about their common mean."""
    return weight / (weight + other_weight) * other_weight


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and the rounding error (Knuth's TwoSum). Means are kept in these two parts because merging uses
    the difference of two means: at an offset of 1e8 a single float64 would leave only half of its digits."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
