"""Which array of a file is read, arrays with one axis as responses, and arrays that the user has opened."""

import h5py
import numpy as np
import pytest
import zarr

from lowdim import PCA, PLSRegression, scan
from lowdim.sources import open_source
from sources.stores.stored_arrays import X, opened, rows_of, write_chunked_hdf5, write_hdf5, write_zarr


def test_the_only_table_is_found(tmp_path):
    write_zarr(tmp_path / "a.zarr", X, "group/values")
    zarr.open_group(tmp_path / "a.zarr").create_array("labels", shape=(37,), dtype="i4")
    write_hdf5(tmp_path / "a.h5", X, "group/values")
    write_hdf5(tmp_path / "a.h5", X[:, 0], "labels")
    for name in ("a.zarr", "a.h5"):
        np.testing.assert_array_equal(rows_of(opened(tmp_path / name)), X)


def test_one_of_several_tables(tmp_path):
    for name, A in {"train": X[:20], "more/test": X[20:]}.items():
        write_zarr(tmp_path / "a.zarr", A, name)
        write_hdf5(tmp_path / "a.h5", A, name)
    for store in ("a.zarr", "a.h5"):
        path = tmp_path / store
        np.testing.assert_array_equal(rows_of(open_source(f"{path}::train")), X[:20])
        np.testing.assert_array_equal(rows_of(open_source(f"{path}::/more/test")), X[20:])
        with pytest.raises(ValueError, match=rf"{store} holds 2 arrays with two axes: .*train.*Say which one"):
            opened(path)
        with pytest.raises(ValueError, match=rf"{store} holds no array 'tests'. It holds: .*more/test"):
            scan(f"{path}::tests")


def test_no_table(tmp_path):
    write_hdf5(tmp_path / "a.h5", X[:, 0], "labels")
    write_hdf5(tmp_path / "a.h5", X[:, 1], "weights")
    zarr.open_group(tmp_path / "a.zarr", mode="w")
    for store in ("a.zarr", "a.h5"):
        with pytest.raises(ValueError, match=rf"{store} holds no array with two axes"):
            opened(tmp_path / store)
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match=r"a\.npy holds no array 'train'"):
        scan(f"{tmp_path / 'a.npy'}::train")


def test_an_array_with_one_axis_is_a_response(tmp_path):
    y = X[:, 0] + 0.1 * X[:, 1]
    np.save(tmp_path / "a.npy", y)
    zarr.create_array(tmp_path / "a.zarr", shape=y.shape, chunks=(5,), dtype="f8")[:] = y
    write_hdf5(tmp_path / "a.h5", y, "group/y", chunks=(4,))
    expected = PLSRegression(2).fit(X, y)
    with h5py.File(tmp_path / "a.h5") as file:
        opened_objects = [file["group/y"], zarr.open_array(tmp_path / "a.zarr", mode="r")]
        for given in (tmp_path / "a.npy", str(tmp_path / "a.zarr"), f"{tmp_path}/a.h5::group/y", *opened_objects):
            found = PLSRegression(2).fit(X, given)
            assert found.predict(X).shape == (37,)
            np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-12)
            with pytest.raises(ValueError, match=r"the array has shape \(37,\), that is one axis, and rows need two"):
                open_source(given)


@pytest.mark.parametrize("ending", [".npy", ".zarr", ".h5"])
def test_predictions_of_one_response_are_a_response(ending, tmp_path):
    """They are written as an array with one axis, the only array of the file."""
    rows, y = tmp_path / "rows.npy", X @ np.arange(6.0)
    np.save(rows, X)
    first = PLSRegression(2).fit(X, y)
    expected = PLSRegression(2).fit(X, first.predict(X))
    path = first.predict_to(X, tmp_path / f"predicted{ending}")
    for target in (path, scan(path)):
        model = PLSRegression(2).fit(rows, target)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-12)
        assert model.predict(rows).shape == (37,)
        assert model.score(rows, target) == pytest.approx(expected.score(X, first.predict(X)))
    with pytest.raises(ValueError, match=r"that is one axis, and rows need two"):
        PCA(1).fit(path)


def test_arrays_of_zarr_and_datasets_of_h5py_are_rows(tmp_path):
    write_zarr(tmp_path / "a.zarr", X)
    write_chunked_hdf5(tmp_path / "a.h5", X)
    expected = PCA(2).fit(X)
    with h5py.File(tmp_path / "a.h5") as file:
        for given in (zarr.open_array(tmp_path / "a.zarr", mode="r"), file["data"]):
            source = open_source(given)
            assert not source.traits.in_memory and source.traits.rereadable
            np.testing.assert_array_equal(rows_of(source), X)
            found = PCA(2).fit(given)
            np.testing.assert_allclose(found.components_, expected.components_, atol=1e-12)
            np.testing.assert_allclose(found.transform(given), expected.transform(X), atol=1e-12)


def test_opened_objects_keep_the_rules_of_their_library(tmp_path):
    array = zarr.create_array(tmp_path / "a.zarr", shape=X.shape, chunks=(5, 6), dtype="f8", fill_value=2.0)
    array[:30] = X[:30]
    expected = np.vstack([X[:30], np.full((7, 6), 2.0)])
    np.testing.assert_array_equal(rows_of(open_source(array)), expected)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        data = file.create_dataset("data", X.shape, "f4", chunks=(5, 6), fillvalue=2.0)
        data[:30] = X[:30]
        np.testing.assert_array_equal(rows_of(open_source(data)), expected.astype(np.float32))
