"""Missing numbers in coded rows: replaced by their means or by conditional means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose

from lowdim._core.coded import NO_LEVEL, Categories
from lowdim.coding import Coding

CODING = Coding(["u", "v", "w"], ["sex"], [["f", "m"]], [[]], means=np.array([1.0, 2.0, 3.0]))
NAN = np.nan


def coded(coding, numbers, codes):
    return coding(Categories(np.array(numbers), [np.array(codes)], [["m", "f", "x"]], [False])).numbers


def test_only_what_is_named_is_replaced():
    numbers = [[NAN, NAN, 5.0], [4.0, NAN, NAN]]
    assert np.array_equal(coded(CODING, numbers, [0, 1]), numbers, equal_nan=True)
    found = coded(replace(CODING, filled=["u", "w"]), numbers, [0, 1])
    assert np.array_equal(found, [[1.0, NAN, 5.0], [4.0, NAN, 3.0]], equal_nan=True)


def test_the_block_is_left_as_it_is():
    numbers = np.array([[NAN, 0.0, 5.0]])
    coded(replace(CODING, filled=["u"]), numbers, [0])
    assert np.isnan(numbers[0, 0])


def test_conditional_means():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((3, 3))
    S, shifts = root @ root.T, rng.standard_normal((2, 3))
    coding = replace(CODING, filled=["u", "v", "w"], shifts=shifts, covariance=S)
    numbers = np.array([[NAN, 0.5, NAN], [NAN, NAN, NAN], [0.1, NAN, 0.2], [NAN, 1.0, 1.0]])
    # Levels m and f, one that is not known, and a missing entry.
    found = coded(coding, numbers, [0, 1, 2, NO_LEVEL])
    means = CODING.means + np.vstack([shifts[1], shifts[0], np.zeros((2, 3))])
    for row, filled, mean in zip(numbers, found, means, strict=True):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        expected = row.copy()
        expected[m] = mean[m] + S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)]) @ (row[o] - mean[o])
        assert_allclose(filled, expected, rtol=1e-12)


def test_constant_numbers_are_replaced_by_the_constant():
    S = np.diag([1.0, 0.0, 1.0])
    coding = replace(CODING, filled=["u", "v", "w"], shifts=np.zeros((2, 3)), covariance=S)
    assert coded(coding, [[0.0, NAN, 0.0], [NAN, 2.0, 0.0]], [0, 0]).tolist() == [[0.0, 2.0, 0.0], [1.0, 2.0, 0.0]]
