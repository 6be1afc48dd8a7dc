"""Moments of arrays that are not NumPy's, as those on a device: large slices, and few looks at the sums."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import PLSRegression
from lowdim.densities import Sech
from lowdim.errors import NonFiniteBlock
from lowdim.summaries import Moments, ScoreMoments

RNG = np.random.default_rng(12)
#: 6000 rows of six columns with deviations from 3 down to 0.5.
ROWS = RNG.standard_normal((6000, 6)) * [3.0, 2.5, 2.0, 1.5, 1.0, 0.5] @ np.linalg.qr(RNG.standard_normal((6, 6)))[0]


def moments(library, rows, dtype="float64", weights=None, **options):
    summary = Moments(rows.shape[1], **options)
    block = library.asarray(rows.astype(dtype))
    summary.update(block, None if weights is None else library.asarray(weights.astype(dtype)))
    return summary


def eigenvalues(scatter):
    return np.linalg.eigvalsh(np.from_dlpack(scatter))


def exact_eigenvalues(rows):
    """Of the scatter about the mean, in extended precision up to the eigenvalues."""
    centred = rows.astype(np.longdouble) - rows.astype(np.longdouble).mean(axis=0)
    return np.linalg.eigvalsh((centred.T @ centred).astype(np.float64))


#: Rows for which zero, the first row, or the mean of the first rows is a bad shift.
HARD = {
    "near zero": ROWS,
    "far from zero": ROWS + 1e4 * ROWS.std(axis=0),
    "one column far from zero": ROWS + 1e4 * np.eye(6)[2],
    "drift": ROWS + np.where(np.arange(6000) < 4500, 0.0, 40.0)[:, None],
    "first rows elsewhere": np.concatenate([ROWS[:4096], ROWS, ROWS, ROWS, ROWS, ROWS])
    + np.repeat([1e4, 0.0], [4096, 30000])[:, None],
    "first rows constant": np.concatenate([np.ones((4096, 6)), ROWS + 5.0]),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize(("dtype", "most"), [("float32", 1e-6), ("float64", 1e-13)])
def test_eigenvalues_keep_their_digits(library, slices, name, dtype, most):
    rows = HARD[name].astype(dtype)
    found = moments(library, rows, dtype)
    expected = exact_eigenvalues(rows)
    np.testing.assert_allclose(eigenvalues(found.scatter), expected, rtol=0, atol=most * expected[-1])
    assert found.product_eps == np.finfo(dtype).eps
    mean = np.from_dlpack(found.mean) + np.from_dlpack(found.rest)
    error = np.abs(mean - rows.astype(np.longdouble).mean(axis=0)).max()
    # A sum of n numbers has an error of about sqrt(n) roundings.
    assert error <= np.sqrt(len(rows)) * np.finfo(dtype).eps * rows.std()


def test_blocks_after_the_first_use_the_mean_so_far(library):
    rows = HARD["far from zero"].astype("float32")
    summary = moments(library, rows[:1000], "float32")
    for i in range(1000, 6000, 1000):
        summary.update(library.asarray(rows[i : i + 1000]))
    expected = exact_eigenvalues(rows)
    np.testing.assert_allclose(eigenvalues(summary.scatter), expected, rtol=0, atol=1e-6 * expected[-1])


@pytest.mark.parametrize("constant", [1e8, 0.1, -3.0])
def test_the_scatter_of_a_constant_column_is_zero(library, slices, constant):
    rows = ROWS.copy()
    rows[:, 3] = constant
    for dtype in ("float32", "float64"):
        assert not np.from_dlpack(moments(library, rows, dtype).scatter)[3].any()


def test_weights_are_repetitions(library, slices):
    weights = RNG.integers(1, 4, len(ROWS))
    found = moments(library, ROWS + 2.0, weights=weights)
    expected = moments(library, np.repeat(ROWS + 2.0, weights, axis=0))
    assert found.weight == expected.weight
    np.testing.assert_allclose(np.from_dlpack(found.scatter), np.from_dlpack(expected.scatter), rtol=1e-11, atol=1e-8)


@pytest.mark.parametrize("size", [1e20, 1e-20])
def test_squares_that_do_not_fit_float32_are_multiplied_in_float64(library, slices, size):
    rows = (size * ROWS).astype("float32")
    found = moments(library, rows, "float32")
    assert found.product_eps == np.finfo("float64").eps
    np.testing.assert_allclose(eigenvalues(found.scatter), exact_eigenvalues(rows.astype(float)), rtol=1e-12)


def test_a_group_of_columns_has_a_range_of_its_own(library):
    rows = np.hstack([ROWS, 1e-20 * ROWS]).astype("float32")
    assert moments(library, rows, "float32", widths=[6, 6]).product_eps == np.finfo("float64").eps
    assert moments(library, rows, "float32").product_eps == np.finfo("float32").eps


def test_wide_products(library, slices):
    found = moments(library, ROWS, "float32", wide=True)
    assert found.product_eps == np.finfo("float64").eps
    expected = exact_eigenvalues(ROWS.astype("float32").astype(float))
    np.testing.assert_allclose(eigenvalues(found.scatter), expected, rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("row", [0, 5000])
def test_what_is_not_finite_is_refused(library, slices, bad, row):
    rows = ROWS.copy()
    rows[row, 2] = bad
    with pytest.raises(NonFiniteBlock):
        moments(library, rows)


def test_zeros_and_ones_beside_a_column_that_is_shifted_are_exact(library, slices):
    """About their means, the rounding errors of so many equal numbers would not cancel."""
    ones = (RNG.random((6000, 4)) < [0.05, 0.2, 0.35, 0.45]).astype(float)
    rows = np.column_stack([ones, 50.0 + RNG.standard_normal(6000)]).astype("float32")
    found = np.from_dlpack(moments(library, rows, "float32").scatter)
    centred = rows.astype(np.longdouble) - rows.astype(np.longdouble).mean(axis=0)
    expected = (centred.T @ centred).astype(float)
    np.testing.assert_allclose(found[:4, :4], expected[:4, :4], rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(np.diagonal(found), np.diagonal(expected), rtol=1e-6)


@pytest.mark.parametrize("p", [127, 128, 131])
@pytest.mark.parametrize("n", [1, 50, 700])
def test_products_of_many_columns(library, slices, n, p):
    """From 128 columns on, half of the columns are multiplied by all, and the others by themselves."""
    rows = RNG.standard_normal((n, p)) + 0.5
    found = np.from_dlpack(moments(library, rows).scatter)
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(found, centred.T @ centred, atol=1e-10)
    np.testing.assert_allclose(found, found.T, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tables_side_by_side_on_a_device(library, slices, dtype):
    """They are joined slice by slice, in float64 if the products are."""
    pieces = [library.asarray(part.astype(dtype)) for part in (ROWS[:, :2], ROWS[:, 2:])]
    summary = PLSRegression(1).fit(*pieces).summary_
    expected = moments(library, ROWS.astype(dtype), dtype, widths=[2, 4], wide=True)
    assert summary.product_eps == np.finfo("float64").eps
    np.testing.assert_allclose(np.from_dlpack(summary.scatter), np.from_dlpack(expected.scatter), rtol=1e-13, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("narrow", [True, False])
def test_sources_of_rows_on_a_device(library, offset, dtype, narrow):
    """Rows far from zero are centred before the product, the others after it."""
    rows = (ROWS + offset).astype(dtype)
    mean, A = rows.astype(np.float64).mean(axis=0), RNG.standard_normal((6, 6)) / 3.0
    options = {"density": Sech(), "narrow": narrow}
    found = ScoreMoments(A, mean, **options)
    found.update(library.asarray(rows))
    expected = ScoreMoments(A, mean, **options)
    expected.update(rows)
    for name in ("products", "slopes", "curvature", "energy", "fourth"):
        one, other = np.from_dlpack(getattr(found, name)), getattr(expected, name)
        np.testing.assert_allclose(one, other, rtol=3e-5 if narrow else 1e-9, atol=1e-2 if narrow else 1e-6)
