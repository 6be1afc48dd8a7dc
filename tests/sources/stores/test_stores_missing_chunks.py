"""Chunks that are not stored: nothing tells whether they were lost."""

import h5py
import numpy as np
import pytest
import zarr

from lowdim import PLSRegression
from sources.stores.stored_arrays import (
    X,
    opened,
    rows_of,
    write_zarr,
)


def test_missing_chunks_of_zarr(tmp_path):
    write_zarr(tmp_path / "a.zarr", X)
    source = opened(tmp_path / "a.zarr")
    (tmp_path / "a.zarr" / "c" / "3" / "1").unlink()
    message = r"a\.zarr: 1 of 16 chunks are not stored, the first of them c/3/1.*zarr\.open_array"
    with pytest.raises(ValueError, match=message):
        opened(tmp_path / "a.zarr")
    with pytest.raises(FileNotFoundError, match="c/3/1 was there when it was scanned, and is gone now"):
        rows_of(source)
    write_zip_with_a_gap(tmp_path / "b.zarr.zip")
    with pytest.raises(ValueError, match=r"zip: 3 of 8 chunks are not stored, the first of them c/5/0"):
        opened(tmp_path / "b.zarr.zip")


def test_missing_chunks_of_vectors(tmp_path):
    zarr.create_array(tmp_path / "y.zarr", shape=(20,), chunks=(5,), dtype="f8")[:10] = 1.0
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("y", (20,), "f8", chunks=(5,))[:10] = 1.0
    for path, first in ((tmp_path / "y.zarr", "c/2"), (f"{tmp_path}/y.h5::y", "at row 10")):
        with pytest.raises(ValueError, match=f"2 of 4 chunks are not stored, the first of them {first}"):
            PLSRegression(1).fit(np.eye(20, 3), y=str(path))


def test_chunks_of_single_rows_of_hdf5(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", data=X, chunks=(1, 6))
        file.create_dataset("gap", X.shape, "f8", chunks=(1, 3))[:30] = X[:30]
    np.testing.assert_array_equal(rows_of(opened(f"{tmp_path}/a.h5::data")), X)
    with pytest.raises(ValueError, match=r"14 of 74 chunks are not stored, the first of them at row 30, column 0"):
        opened(f"{tmp_path}/a.h5::gap")


def write_zip_with_a_gap(path):
    with zarr.storage.ZipStore(path, mode="w") as store:
        array = zarr.create_array(store, shape=X.shape, chunks=(5, 6), dtype="f8")
        array[:25] = X[:25]


def test_missing_chunks_of_hdf5(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", X.shape, "f8", chunks=(5, 6))[:25] = X[:25]
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("data", X.shape, "f8")
    with h5py.File(tmp_path / "c.h5", "w") as file:
        layout = h5py.VirtualLayout(X.shape, "f8")
        layout[:] = h5py.VirtualSource("lost.h5", "data", X.shape)
        file.create_virtual_dataset("data", layout)
    with pytest.raises(ValueError, match=r"a\.h5: 3 of 8 chunks are not stored, the first of them at row 25, column 0"):
        opened(tmp_path / "a.h5")
    with pytest.raises(ValueError, match=r"b\.h5: 1 of 1 chunks are not stored"):
        opened(tmp_path / "b.h5")
    with pytest.raises(ValueError, match=r"c\.h5 is a virtual dataset"):
        opened(tmp_path / "c.h5")


def test_missing_chunks_of_arrays_with_one_axis(tmp_path):
    with h5py.File(tmp_path / "y.h5", "w") as file:
        file.create_dataset("y", (40,), "f8", chunks=(5,))[:25] = 1.0
    zarr.create_array(tmp_path / "y.zarr", shape=(40,), chunks=(5,), dtype="f8")[:25] = 1.0
    with pytest.raises(ValueError, match=r"y\.h5::y: 3 of 8 chunks are not stored, the first of them at row 25\."):
        PLSRegression(1).fit(X[:40], f"{tmp_path}/y.h5::y")
    with pytest.raises(ValueError, match=r"y\.zarr: 3 of 8 chunks are not stored, the first of them c/5\."):
        PLSRegression(1).fit(X[:40], tmp_path / "y.zarr")
