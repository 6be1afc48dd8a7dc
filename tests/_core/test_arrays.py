"""What stands in for functions that older versions lack, blocks stored by columns, and what all entries share."""

import tracemalloc

import numpy as np
import pytest

from lowdim._core.arrays import (
    Beside,
    Scratch,
    affine_product,
    asarray_like,
    asymmetry,
    constant_minus_square,
    copy_to_numpy,
    count_true,
    cumulative_sum,
    distance_from_orthonormal,
    empty_columns,
    has_columns_in_one_piece,
    in_range,
    is_array,
    largest_magnitude,
    subtract_product,
    to_device,
    to_host,
    to_numpy,
)
from lowdim._core.arrays import all_finite_by_pieces as all_finite

strict = pytest.importorskip("array_api_strict")

X = np.random.default_rng(0).standard_normal((5, 3))
RNG = np.random.default_rng(9)


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "array_api_strict"])
def test_sums_and_counts(xp):
    for values in (X, X[:, 0], X[:0]):
        np.testing.assert_allclose(to_numpy(cumulative_sum(xp.asarray(values))), np.add.accumulate(values), rtol=1e-14)
        count = count_true(xp.asarray(values) > 0)
        assert count == sum(bool(v > 0) for v in values.ravel())
        assert type(count) is int


def test_arrays_that_are_read_only_become_numpy_arrays():
    view = strict.linalg.diagonal(strict.asarray(X[:3]))
    np.testing.assert_array_equal(to_numpy(view), np.diagonal(X[:3]))
    assert to_numpy(view).flags.writeable


@pytest.mark.parametrize("number", [np.float64(2), np.float32(0.5), np.int64(3), np.bool_(True)])
def test_numbers_of_numpy_are_no_arrays(number):
    assert not is_array(number)
    assert is_array(np.asarray(number))
    np.testing.assert_array_equal(to_numpy(number), np.asarray(number))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_for_columns_has_a_gap(dtype):
    block = empty_columns(4096, 5, dtype)
    assert block.shape == (4096, 5)
    assert block.strides == (block.itemsize, 4096 * block.itemsize + 64)
    assert has_columns_in_one_piece(block)


def test_which_blocks_have_columns_in_one_piece():
    rows, columns = np.zeros((10, 4)), np.zeros((10, 4), order="F")
    assert has_columns_in_one_piece(columns)
    assert has_columns_in_one_piece(columns[2:7, 1:3])
    assert not has_columns_in_one_piece(rows)
    assert not has_columns_in_one_piece(columns[::2])
    assert has_columns_in_one_piece(Beside([columns, columns]))
    assert not has_columns_in_one_piece(Beside([columns, rows]))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("pieces", [1, 2])
def test_differences_keep_the_order_of_the_rows(order, pieces):
    random = np.random.default_rng(0)
    tables = [np.asarray(random.standard_normal((100, 3)), order=order) for _ in range(pieces)]
    b = random.standard_normal(3 * pieces)
    found = Scratch().difference(tables[0] if pieces == 1 else Beside(tables), b)
    np.testing.assert_array_equal(found, np.hstack(tables) - b)
    assert has_columns_in_one_piece(found) == (order == "F")


def test_small_arrays_leave_a_device_together():
    strict = pytest.importorskip("array_api_strict")
    arrays = [np.arange(6.0).reshape(2, 3), np.array([7.0]), np.zeros((0, 2))]
    found = to_host([strict.asarray(x) for x in arrays])
    for a, b in zip(arrays, found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert to_host(arrays)[0] is arrays[0]


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_affine_products(library):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    X, A, c = np.arange(12.0).reshape(4, 3), np.arange(6.0).reshape(3, 2), np.array([-1.0, 5.0])
    found = affine_product(*(xp.asarray(x) for x in (X, A, c)))
    np.testing.assert_array_equal(np.from_dlpack(found), X @ A + c)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("size", [3, 1 << 15], ids=["few numbers", "many numbers"])
def test_numbers_out_of_range_keep_their_dtype_on_a_device(library, size):
    """Few numbers are looked at on the host, and many on the device."""
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    fine = xp.asarray(np.linspace(0.0, 1.0, size))
    assert in_range(fine, xp.float32).dtype == xp.float32
    for bad in (1e300, 1e-300, np.nan):
        x = np.ones(size)
        x[1] = bad
        assert in_range(xp.asarray(x), xp.float32).dtype == xp.float64


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_a_device_without_float64_gets_float32(library, monkeypatch):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    like, x = xp.zeros(1, dtype=xp.float32), np.array([0.1, 1e300])
    assert asarray_like(x, like).dtype == xp.float64
    assert asarray_like(np.arange(3), like).dtype == xp.int64
    monkeypatch.setattr("lowdim._core.arrays.wide_dtype", lambda like: xp.float32)
    found = asarray_like(x, like)
    assert found.dtype == xp.float32
    np.testing.assert_array_equal(np.from_dlpack(found), np.array([0.1, np.inf], dtype=np.float32))


@pytest.mark.parametrize("library", ["numpy", "array_api_strict", "torch"])
def test_arrays_are_copied_into_numpy_arrays(library):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    out = np.zeros((4, 3))
    copy_to_numpy(xp.asarray(np.arange(6.0).reshape(2, 3)), out[1:3])
    np.testing.assert_array_equal(out, [[0, 0, 0], [0, 1, 2], [3, 4, 5], [0, 0, 0]])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_that_are_copied_at_once(dtype):
    arrays = [x.astype(dtype) for x in (X, X[:0], X[0], X[:, 1:].T, np.float64(2.0) * np.ones(()), X[::2])]
    copied = to_device(arrays, strict.asarray(0.0, device=strict.Device("device1")))
    for found, x in zip(copied, arrays, strict=True):
        assert found.device == strict.Device("device1")
        np.testing.assert_array_equal(to_numpy(found), x)
        assert to_numpy(found).dtype == dtype


def test_arrays_of_several_dtypes_are_copied_at_once():
    arrays = [X.astype("float32"), X, X[0].astype("float32"), X[1]]
    like = strict.asarray(0.0, device=strict.Device("device1"))
    for found, x in zip(to_device(arrays, like), arrays, strict=True):
        np.testing.assert_array_equal(to_numpy(found), x)
        assert to_numpy(found).dtype == x.dtype
    assert to_device([], like) == []
    assert all(a is b for a, b in zip(to_device(arrays, X), arrays, strict=True))


@pytest.mark.parametrize("library", ["numpy", "array_api_strict", "torch"])
def test_products_that_are_subtracted(library):
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    x, y, A = (np.random.default_rng(i).standard_normal((3, 4)) for i in range(3))
    found = subtract_product(xp.asarray(A.copy()), xp.asarray(x[:, :1]), xp.asarray(y))
    np.testing.assert_allclose(to_numpy(found), A - x[:, :1] * y, rtol=1e-15)
    np.testing.assert_allclose(to_numpy(constant_minus_square(1.5, xp.asarray(x))), 1.5 - x * x, rtol=1e-14)


# ---- What all entries of an array have in common, found piece by piece


@pytest.mark.parametrize("shape", [(), (3,), (70_000,), (300, 400), (2, 70_000), (5, 6, 7), (0,), (0, 4), (4, 0)])
def test_entries_that_are_not_finite_are_found_anywhere(shape):
    a = RNG.standard_normal(shape)
    assert all_finite(a)
    for place in RNG.integers(0, a.size, 4) if a.size else ():
        for bad in (np.nan, np.inf, -np.inf):
            wrong = a.copy()
            wrong.flat[place] = bad
            assert not all_finite(wrong)
            assert not all_finite(wrong.T)


def test_the_largest_magnitude():
    a = RNG.standard_normal((30, 40))
    assert largest_magnitude(a) == np.abs(a).max()
    assert largest_magnitude(-np.abs(a)) == np.abs(a).max()
    assert largest_magnitude(np.zeros((0, 3))) == 0.0


@pytest.mark.parametrize("p", [1, 7, 300, 700])
def test_asymmetry(p):
    a = RNG.standard_normal((p, p))
    assert asymmetry(a) == np.abs(a - a.T).max()
    assert asymmetry(a + a.T) == 0.0
    for i, j in RNG.integers(0, p, (4, 2)):
        wrong = a + a.T
        wrong[i, j] += 0.5
        assert asymmetry(wrong) == np.abs(wrong - wrong.T).max()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (300, 400), (400, 400), (0, 4)])
def test_distance_from_orthonormal(shape, dtype):
    rows = np.linalg.qr(RNG.standard_normal(shape[::-1]))[0].T.astype(dtype)
    exact = rows.astype("float64")
    for a, b in ((rows, exact), (rows[::-1] * 1.5, exact[::-1] * 1.5), (rows + 0.01, exact + np.float32(0.01))):
        expected = np.abs(b @ b.T - np.eye(len(b))).max(initial=0.0)
        np.testing.assert_allclose(distance_from_orthonormal(a), expected, atol=1e-5 if dtype == "float32" else 1e-13)


def test_what_overflows_is_not_small():
    huge = np.array([[1e308, -1e308], [1e308, 1e308]])
    assert not asymmetry(huge) <= 1e308
    assert not distance_from_orthonormal(huge) <= 1e308


def test_they_take_no_memory():
    a = RNG.standard_normal((1000, 1000))
    tracemalloc.start()
    all_finite(a), asymmetry(a), largest_magnitude(a), distance_from_orthonormal(a)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < a.nbytes / 4
