"""The rules that are decided once: divisor, rank cut, resolution and sign; lengths and distances of rows."""

import numpy as np
import pytest
from scipy import sparse

from lowdim import PCA
from lowdim.linalg import (
    FLOAT32_EPS,
    FLOAT64_EPS,
    RESOLUTION,
    RESOLUTION_FLOAT32,
    divisor,
    fix_signs,
    most_components,
    numerical_rank,
    rank_cut,
    require_normal,
    require_rows,
    require_size,
    resolution,
    row_lengths,
    signs,
    squared_distances,
    underflows,
    with_sign,
)


def test_the_divisor_is_zero_up_to_rounding():
    assert divisor(10.0, 1) == 9.0
    assert divisor(1.0 + 1e-12, 1) == 0.0
    require_rows(2, 2.0, 1)
    with pytest.raises(ValueError, match="too few for a covariance with ddof=1"):
        require_rows(1, 1.0, 1)


def test_eigenvalues_at_the_rank_cut_count_as_zero():
    cut = rank_cut(2.0, 10, FLOAT64_EPS)
    assert cut == 2.0 * 10 * FLOAT64_EPS
    assert numerical_rank(np.array([2.0, 1.0, 2 * cut, cut, 0.0]), 10, FLOAT64_EPS) == 3
    assert numerical_rank(np.zeros(0), 10) == 0


def test_resolution_follows_the_precision_of_the_products():
    assert resolution(FLOAT64_EPS) == RESOLUTION
    assert resolution(FLOAT32_EPS) == RESOLUTION_FLOAT32
    assert resolution(FLOAT64_EPS, 1e-8) == 1e-8


def test_signs_do_not_depend_on_rounding():
    vectors = np.array([[-0.6, 0.6 + 1e-12, 0.1], [0.2, -0.9, 0.3]])
    fixed = fix_signs(vectors)
    assert fixed[0, 0] > 0 and fixed[1, 1] > 0
    np.testing.assert_array_equal(fix_signs(-vectors), fixed)


def test_weights_count_as_rows():
    assert most_components(3, 3.0, 10) == 3
    assert most_components(3, 7.0, 10) == 7
    assert most_components(30, 30.0, 10) == 10


@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-7, 1e-6, 1e-5])
def test_signs_do_not_depend_on_the_precision(gap):
    """The second entry is larger by rounding, or by more than float64 would round; the first decides in any dtype."""
    vectors = np.array([[-0.5, 0.5 * (1.0 + gap), 0.1], [0.5, -0.5 * (1.0 + gap), 0.1]])
    for dtype in ("float32", "float64"):
        np.testing.assert_array_equal(signs(vectors.astype(dtype)), [-1.0, 1.0])
        np.testing.assert_array_equal(signs(np.array([[-0.5, 0.50005, 0.1]], dtype=dtype)), [1.0])


@pytest.mark.parametrize("seed", range(6))
def test_signs_agree_between_solvers_and_between_fit_and_partial_fit_in_float32(seed):
    """Components whose two largest entries nearly tie, with opposite signs, as columns in pairs have them."""
    random = np.random.default_rng(seed)
    latent = random.standard_normal((60, 3)) * [5.0, 3.0, 2.0]
    X = np.column_stack([sign * latent[:, [j]] for j in range(3) for sign in (1.0, -1.0)])
    X = (X + 1e-6 * random.standard_normal(X.shape)).astype("float32")
    expected = PCA(3, solver="triangle").fit(X).components_
    for solver in ("covariance", "gram", "krylov"):
        np.testing.assert_allclose(PCA(3, solver=solver).fit(X).components_, expected, atol=1e-3)
    in_parts = PCA(3)
    for start in range(0, 60, 20):
        in_parts.partial_fit(X[start : start + 20])
    np.testing.assert_allclose(in_parts.components_, expected, atol=1e-3)
    np.testing.assert_allclose(PCA(3).fit(X.astype("float64")).components_, expected, atol=1e-3)


def test_squares_that_are_too_small():
    """The smallest normal number is 2^-1022. What is zero is constant, unless the mean is as small."""
    squares = np.array([2.0**-1021, 2.0**-1023, 0.0, 0.0, 0.0, 2.0**-1060])
    mean = np.array([0.0, 0.0, 0.0, 1.0, 2.0**-600, 1e-100])
    np.testing.assert_array_equal(underflows(squares, mean, 1.0), [False, True, False, False, True, False])
    require_size(squares, mean, 1.0)
    with pytest.raises(ValueError, match=r"Input y holds .* the variance of column 1 is below"):
        require_size(squares, mean, 1.0, each=True, table="y")
    with pytest.raises(ValueError, match="the variance of all columns is below"):
        require_size(squares, mean, 4.0)
    require_size(np.zeros(2), np.array([0.0, 3.0]), 5.0, each=True)


def test_numbers_that_are_too_small():
    narrow, wide = np.zeros(0, np.float32), np.zeros(0)
    require_normal(0.0, narrow, "it")
    require_normal(1e-40, wide, "it")
    with pytest.raises(ValueError, match="the variance of it is below"):
        require_normal(1e-40, narrow, "it")
    with pytest.raises(ValueError, match="the variance of it is below"):
        require_normal(1e-307, wide, "it", weight=10.0)


def test_the_sign_of_one_vector_is_that_of_a_row():
    random = np.random.default_rng(2)
    rows = [random.standard_normal(6), -np.ones(4), np.array([1.0, -1.0 - 1e-7]), np.array([-1.0, 1.0]), np.zeros(3)]
    for row in rows:
        np.testing.assert_array_equal(with_sign(row), fix_signs(row[None, :])[0])
    assert with_sign(np.zeros(0)).shape == (0,)


# ---- Lengths and distances of rows of any size


@pytest.mark.parametrize("unit", [2.0**-100, 2.0**70])
def test_squared_distances_beyond_float32(unit):
    rows = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    far = squared_distances(rows * np.float32(unit), rows[:4] * np.float32(unit))
    direct = ((rows[:, None, :].astype(float) - rows[None, :4, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(far / unit**2, direct, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("unit", [1.0, 2.0**-700, 2.0**700])
def test_lengths_of_rows_of_any_size(unit, stored):
    rows = np.array([[3.0, 4.0], [0.0, 0.0], [5.0, 12.0], [0.0, -2.0]])
    np.testing.assert_array_equal(row_lengths(stored(rows * unit)), np.array([5.0, 1.0 / unit, 13.0, 2.0]) * unit)
