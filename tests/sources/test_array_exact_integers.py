"""Integers that float64 cannot hold: Python's integers, which are exact, decide."""

import numpy as np
import pyarrow as pa
import pytest
import zarr

from lowdim.sources import open_source


def in_file(integers, path):
    np.save(path, integers[:, None])
    return path


def in_store(integers, path):
    array = zarr.create_array(path.with_suffix(".zarr"), shape=(len(integers), 1), dtype=integers.dtype, overwrite=True)
    array[:] = integers[:, None]
    return array


def in_batch(integers, path):
    return pa.record_batch({"a": integers})


each_kind = pytest.mark.parametrize("make", [in_file, in_store, in_batch])


def entries(rows):
    return np.concatenate([block[:, 0] for block in open_source(rows).blocks(4)])


@each_kind
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_the_first_integer_that_was_rounded_is_found(dtype, make, tmp_path):
    integers = np.array([5, 2**53, 2**53 + 2, 2**62, 2**53 + 1, 2**53 + 3], dtype=dtype)
    floats = integers.astype(np.float64)
    first = next(i for i, (a, b) in enumerate(zip(integers.tolist(), floats.tolist(), strict=True)) if a != int(b))
    with pytest.raises(ValueError, match=rf"holds the integer {integers[first]} in row {first}\b"):
        entries(make(integers, tmp_path / "a.npy"))
    np.testing.assert_array_equal(entries(make(integers[:first], tmp_path / "b.npy")), floats[:first])


@each_kind
def test_negative_integers(make, tmp_path):
    with pytest.raises(ValueError, match=f"holds the integer {-(2**53) - 1} in row 1"):
        entries(make(np.array([0, -(2**53) - 1]), tmp_path / "a.npy"))


def test_entries_that_are_missing_are_left_alone():
    integers = pa.array(np.array([2**53 + 1, 7]), mask=np.array([True, False]))
    np.testing.assert_array_equal(entries(pa.record_batch({"a": integers})), [np.nan, 7.0])
    with pytest.raises(ValueError, match="holds the integer"):
        entries(pa.record_batch({"a": pa.array([None, -(2**53) - 1])}))


@each_kind
@pytest.mark.parametrize("dtype", ["int32", "uint32", "bool", "float64"])
def test_other_dtypes_are_exact(dtype, make, tmp_path):
    largest = {"bool": True, "float64": 2.0**60 + 2.0**10}.get(dtype) or np.iinfo(dtype).max
    values = np.array([largest, 0, 1], dtype=dtype)
    found = entries(make(values, tmp_path / "a.npy"))
    assert [int(value) for value in found] == [int(value) for value in values]
