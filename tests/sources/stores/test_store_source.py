"""Arrays in files: the same rows as the array, in blocks of the asked size, each chunk read once; and bad files."""

import os
import pickle

import h5py
import numpy as np
import pytest
import zarr

from lowdim import PCA, PLSRegression, open_source, scan
from lowdim.sources.file_kinds import FILE_KINDS
from lowdim.sources.stores import StoreSource
from lowdim.sources.stores.npy import NpyArray

RNG = np.random.default_rng(3)
#: No chunk of zeros in any dtype: Zarr would not store it.
X = 5 * RNG.standard_normal((37, 6)) + 30


def write_npy(path, X):
    np.save(path, X)


def write_fortran(path, X):
    np.save(path, np.asfortranarray(X))


def write_zarr(path, X, name=None):
    if name is None:
        array = zarr.create_array(path, shape=X.shape, chunks=(5, 4), dtype=X.dtype)
    else:
        array = zarr.open_group(path, mode="a").create_array(name, shape=X.shape, chunks=(5, 4), dtype=X.dtype)
    array[:] = X


def write_shards(path, X):
    array = zarr.create_array(path, shape=X.shape, chunks=(5, 3), shards=(10, 6), dtype=X.dtype)
    array[:] = X


def write_old_zarr(path, X):
    array = zarr.create_array(path, shape=X.shape, chunks=(8, 6), dtype=X.dtype, zarr_format=2)
    array[:] = X


def write_zip(path, X):
    with zarr.storage.ZipStore(path, mode="w") as store:
        array = zarr.create_array(store, shape=X.shape, chunks=(5, 4), dtype=X.dtype)
        array[:] = X


def write_hdf5(path, X, name="data", **options):
    with h5py.File(path, "a") as file:
        file.create_dataset(name, data=X, **options)


def write_chunked_hdf5(path, X):
    write_hdf5(path, X, chunks=(min(7, len(X)), 4), compression="gzip")


#: How files of each kind are written, and what their names end with.
KINDS = {
    "npy": (write_npy, ".npy"),
    "npy in Fortran order": (write_fortran, ".npy"),
    "zarr": (write_zarr, ".zarr"),
    "zarr with shards": (write_shards, ".zarr"),
    "zarr, format 2": (write_old_zarr, ".zarr"),
    "zarr in a zip file": (write_zip, ".zarr.zip"),
    "hdf5": (write_hdf5, ".h5"),
    "hdf5 in chunks": (write_chunked_hdf5, ".hdf5"),
}


@pytest.fixture(params=list(KINDS))
def kind(request):
    return KINDS[request.param]


def opened(*paths, **choice):
    return scan(list(paths), **choice).open()


def rows_of(source, rows=1000):
    return np.concatenate(list(source.blocks(rows)))


def test_every_kind_of_file_is_tried():
    arrays = [FILE_KINDS[name] for name in ("npy", "zarr", "hdf5")]
    assert {ending for _, ending in KINDS.values()} == {ending for kind in arrays for ending in kind.suffixes}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool", ">f8"])
def test_the_rows_of_the_array(kind, dtype, tmp_path):
    write, ending = kind
    if dtype == ">f8" and ending.startswith(".zarr"):
        dtype = "int64"  # Zarr's third format stores little-endian numbers
    A = X.astype(dtype)
    write(tmp_path / f"a{ending}", A)
    source = opened(tmp_path / f"a{ending}")
    expected = open_source(A)
    assert source.shape == expected.shape
    assert source.dtype == expected.dtype
    for rows in (1, 4, 5, 12, 37, 100):
        blocks = list(source.blocks(rows))
        assert [len(block) for block in blocks] == [len(block) for block in expected.blocks(rows)]
        assert all(block.dtype == expected.dtype for block in blocks)
        np.testing.assert_array_equal(np.concatenate(blocks), next(expected.blocks(100)))


def test_rows_of_several_files(kind, tmp_path):
    write, ending = kind
    places = []
    for k, (i, j) in enumerate([(0, 1), (1, 18), (18, 37)]):
        places.append(tmp_path / f"part{k}{ending}")
        write(places[-1], X[i:j])
    source = opened(*places)
    assert source.shape == X.shape
    for rows in (4, 10, 37):
        blocks = list(source.blocks(rows))
        assert [len(block) for block in blocks[:-1]] == [rows] * (len(blocks) - 1)
        np.testing.assert_array_equal(np.concatenate(blocks), X)
    np.testing.assert_array_equal(rows_of(source.between(11, 30), 4), X[11:30])
    np.testing.assert_array_equal(rows_of(source.between(11, 30).between(2, 9)), X[13:20])
    np.testing.assert_array_equal(np.concatenate([rows_of(part) for part in source.parts(3)]), X)
    np.testing.assert_array_equal(rows_of(source.features()), X.T)
    np.testing.assert_array_equal(rows_of(source.between(5, 20).features()), X[5:20].T)
    assert source.row_label(20) == f"row 2 of {places[2]} (row 20 of all)"
    assert source.features().row_label(20) == source.between(3, 30).row_label(20) == source.row_label(20)


@pytest.mark.parametrize(
    ("columns", "exclude", "expected"),
    [
        (2, None, [2]),
        ([4, 1], None, [4, 1]),
        ([-1, 0], None, [5, 0]),
        (slice(1, 4), None, [1, 2, 3]),
        (range(0, 6, 2), None, [0, 2, 4]),
        (np.array([3, 2]), None, [3, 2]),
        ("numeric", None, range(6)),
        (None, 0, [1, 2, 3, 4, 5]),
        (None, [1, -1], [0, 2, 3, 4]),
        (slice(0, 3), [1], [0, 2]),
    ],
)
def test_columns_by_number(kind, columns, exclude, expected, tmp_path):
    write, ending = kind
    write(tmp_path / f"a{ending}", X)
    source = opened(tmp_path / f"a{ending}", columns=columns, exclude=exclude)
    assert source.shape == (37, len(expected))
    np.testing.assert_array_equal(rows_of(source, 10), X[:, list(expected)])
    np.testing.assert_array_equal(rows_of(source.features()), X[:, list(expected)].T)


@pytest.mark.parametrize("columns", ["price", ["a", "b"], "x*", [True], [1.0], [0, "a"]])
def test_columns_have_no_names(columns, tmp_path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(TypeError, match=r"the columns of arrays .* have no names; pass their numbers"):
        opened(tmp_path / "a.npy", columns=columns)


@pytest.mark.parametrize(("columns", "exclude"), [([6], None), ([-7], None), ([1, 1], None), ([], None), (0, 0)])
def test_columns_that_do_not_exist(columns, exclude, tmp_path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match="must be different numbers from 0 to 5"):
        opened(tmp_path / "a.npy", columns=columns, exclude=exclude)


def test_a_map_is_read_in_place(tmp_path):
    np.save(tmp_path / "a.npy", X)
    source = opened(tmp_path / "a.npy")
    assert source.traits.in_memory
    assert all(isinstance(_owner(block), np.memmap) for block in source.blocks(10))
    assert isinstance(_owner(next(source.features().blocks(10))), np.memmap)
    assert not next(source.blocks(10)).flags.writeable


def _owner(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
        if isinstance(array, np.memmap):
            break
    return array


def test_a_chunk_is_read_once(tmp_path, monkeypatch):
    write_chunked_hdf5(tmp_path / "a.h5", X)
    monkeypatch.setattr("lowdim.sources.stores.store_source._PIECE_BYTES", 1)
    seen = []
    read = h5py.Dataset.__getitem__
    monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda self, at: seen.append(at[0]) or read(self, at))
    for rows in (3, 7, 10):
        seen.clear()
        np.testing.assert_array_equal(rows_of(opened(tmp_path / "a.h5"), rows), X)
        assert all(part.start % 7 == 0 for part in seen)
        assert sum(part.stop - part.start for part in seen) == 37


def test_a_reader_that_stops_early_closes_the_file(tmp_path):
    write_chunked_hdf5(tmp_path / "a.h5", X)
    reader = opened(tmp_path / "a.h5").blocks(3)
    next(reader)
    reader.close()
    with h5py.File(tmp_path / "a.h5", "r+") as file:  # refused as long as the file is open for reading
        assert file["data"].shape == X.shape


def test_tasks_on_other_machines_open_the_file_again(kind, tmp_path):
    write, ending = kind
    write(tmp_path / f"a{ending}", X)
    stored = pickle.dumps(opened(tmp_path / f"a{ending}"))
    assert len(stored) < 5000
    np.testing.assert_array_equal(rows_of(pickle.loads(stored)), X)


def test_integers_that_float64_cannot_hold(kind, tmp_path):
    write, ending = kind
    A = np.full((37, 6), 2**53, dtype=np.int64)
    A[:, 1] = -(2**60)  # exact
    write(tmp_path / f"exact{ending}", A)
    np.testing.assert_array_equal(rows_of(opened(tmp_path / f"exact{ending}"), 10), A.astype(float))
    A[20, 4] += 1
    write(tmp_path / f"a{ending}", A)
    source = opened(tmp_path / f"a{ending}", columns=[5, 4])
    with pytest.raises(ValueError, match=r"column 4 holds the integer 9007199254740993 in row 20 of .*a\."):
        rows_of(source, 10)
    with pytest.raises(ValueError, match="column 4 holds the integer"):
        rows_of(opened(tmp_path / f"a{ending}").features())


# ---- Which array


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


# ---- Objects that the user has opened


def test_arrays_of_zarr_and_datasets_of_h5py_are_rows(tmp_path):
    write_zarr(tmp_path / "a.zarr", X)
    write_chunked_hdf5(tmp_path / "a.h5", X)
    expected = PCA(2).fit(X)
    with h5py.File(tmp_path / "a.h5") as file:
        for given in (zarr.open_array(tmp_path / "a.zarr", mode="r"), file["data"]):
            assert isinstance(open_source(given), StoreSource)
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


# ---- Bad files


@pytest.mark.parametrize("shape", [(5,), (2, 3, 4), (0, 3), (3, 0)])
def test_arrays_that_are_no_tables(shape, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(shape))
    with pytest.raises(ValueError, match=r"a\.npy: the array has shape"):
        opened(tmp_path / "a.npy")
    write_hdf5(tmp_path / "a.h5", np.zeros(shape))
    with pytest.raises(ValueError, match=r"a\.h5"):
        scan(f"{tmp_path / 'a.h5'}::data").open()
    write_zarr_of(shape, tmp_path / "a.zarr")
    with pytest.raises(ValueError, match=r"a\.zarr"):
        opened(tmp_path / "a.zarr")


def write_zarr_of(shape, path):
    zarr.create_array(path, shape=shape, chunks=tuple(max(n, 1) for n in shape), dtype="f8")


@pytest.mark.parametrize("dtype", ["complex128", "datetime64[s]", "S5", "U5", [("a", "f8"), ("b", "i4")]])
def test_arrays_without_numbers(dtype, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((3, 2), dtype=dtype))
    with pytest.raises(ValueError, match=r"a\.npy: the array has dtype .*; rows are real numbers"):
        opened(tmp_path / "a.npy")


@pytest.mark.parametrize("shape", [(3,), (3, 2)])
def test_records(shape, tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(shape, dtype=[("a", "f8"), ("b", "i4")]))
    with pytest.raises(ValueError, match=r"a\.npy: .*Of records with the fields 'a', 'b', pass pandas\.DataFrame"):
        open_source(tmp_path / "a.npy")


def test_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    np.save(tmp_path / "a.npy", np.array([[Trap()]], dtype=object), allow_pickle=True)
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=r"a\.npy: the file holds Python objects"):
        opened(tmp_path / "a.npy")
    with pytest.raises(ValueError, match=r"b\.npy cannot be read"):
        opened(tmp_path / "b.npy")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("left", [0, 4, 20, 200, -8])
def test_truncated_files(left, tmp_path):
    for write, name in ((write_npy, "a.npy"), (write_hdf5, "a.h5"), (write_zip, "a.zarr.zip")):
        write(tmp_path / name, X)
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[:left])
        with pytest.raises(ValueError, match=rf"{name} cannot be read"):
            opened(tmp_path / name)


def test_corrupt_chunks(tmp_path):
    write_zarr(tmp_path / "a.zarr", X)
    (tmp_path / "a.zarr" / "c" / "3" / "1").write_bytes(b"no chunk")
    with pytest.raises(ValueError, match=r"a\.zarr cannot be read in rows 0 to 36"):
        rows_of(opened(tmp_path / "a.zarr"))
    write_hdf5(tmp_path / "a.h5", X, chunks=(7, 6), compression="gzip", shuffle=True)
    with h5py.File(tmp_path / "a.h5") as file:
        chunk = file["data"].id.get_chunk_info(2)
    with open(tmp_path / "a.h5", "r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(b"\0" * chunk.size)
    with pytest.raises(ValueError, match=r"a\.h5 cannot be read in rows 0 to 36"):
        rows_of(opened(tmp_path / "a.h5"))


def test_corrupt_metadata(tmp_path):
    write_zarr(tmp_path / "a.zarr", X)
    (tmp_path / "a.zarr" / "zarr.json").write_text("{")
    with pytest.raises(ValueError, match=r"a\.zarr cannot be read as a Zarr store"):
        opened(tmp_path / "a.zarr")
    (tmp_path / "b.zarr").mkdir()
    with pytest.raises(ValueError, match=r"b\.zarr cannot be read as a Zarr store"):
        opened(tmp_path / "b.zarr")


@pytest.mark.parametrize("text", ["[" * 100_000, "null", "3", "[]", '{"node_type": 3}'])
def test_metadata_of_another_form(text, tmp_path):
    write_zarr(tmp_path / "a.zarr", X)
    (tmp_path / "a.zarr" / "zarr.json").write_text(text)
    with pytest.raises(ValueError, match=r"a\.zarr cannot be read as a Zarr store"):
        opened(tmp_path / "a.zarr")


def test_damaged_headers_of_npy_files(tmp_path):
    write_npy(tmp_path / "a.npy", X)
    content = (tmp_path / "a.npy").read_bytes()
    brackets = content[:10] + b"(" * 118 + content[128:]
    for damaged in (brackets, *(content[:k] + b"\n{" + content[k + 2 :] for k in range(6, 120))):
        (tmp_path / "a.npy").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a\.npy cannot be read as a \.npy file of 1904 bytes"):
            opened(tmp_path / "a.npy")


def test_other_datasets_in_an_hdf5_file(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["rows"] = X
        file["nothing"] = h5py.Empty("f8")
        file["lost"] = h5py.SoftLink("/nowhere")
        file["elsewhere"] = h5py.ExternalLink("gone.h5", "/rows")
        file.create_dataset("cube", (8, 8, 8), "f8", chunks=(2, 2, 2))
    np.testing.assert_array_equal(rows_of(opened(tmp_path / "a.h5")), X)
    with pytest.raises(ValueError, match=r"a\.h5::nothing: the array has shape \(\)"):
        opened(f"{tmp_path}/a.h5::nothing")
    with pytest.raises(ValueError, match=r"a\.h5::cube: the array has shape \(8, 8, 8\)"):
        opened(f"{tmp_path}/a.h5::cube")
    for name in ("lost", "elsewhere"):
        with pytest.raises(ValueError, match=rf"a\.h5 holds no array '{name}'"):
            opened(f"{tmp_path}/a.h5::{name}")


@pytest.mark.parametrize("n", [10**12, 2**62])
def test_metadata_that_names_more_chunks_than_there_can_be(n, tmp_path):
    """The chunks are not listed, which would take all memory."""
    write_zarr(tmp_path / "a.zarr", X)
    metadata = tmp_path / "a.zarr" / "zarr.json"
    metadata.write_text(metadata.read_text().replace("37", str(n)))
    total = 2 * -(-n // 5)
    message = rf"a\.zarr: {total - 16} of {total} chunks are not stored, the first of them c/8/0"
    with pytest.raises(ValueError, match=message):
        opened(tmp_path / "a.zarr")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("data", (10**12, 6), "f8", chunks=(5, 6))[:5] = X[:5]
    with pytest.raises(ValueError, match=r"a\.h5: .* chunks are not stored, the first of them at row 5, column 0"):
        opened(tmp_path / "a.h5")


@pytest.mark.parametrize("place", ["zarr.json", "c/3/1", "c/9"])
def test_what_reading_never_ends_is_refused_in_a_directory_of_zarr(place, tmp_path):
    write_zarr(tmp_path / "a.zarr", X)
    path = tmp_path / "a.zarr" / place
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(ValueError, match=rf"a\.zarr/{place} is a named pipe"):
        opened(tmp_path / "a.zarr")
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=rf"a\.zarr/{place} is a character device"):
        opened(tmp_path / "a.zarr")


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


def test_files_that_change_between_two_passes(kind, tmp_path):
    write, ending = kind
    path = tmp_path / f"a{ending}"
    write(path, X)
    source = opened(path)
    rows_of(source)
    changed = next(p for p in ([path] if path.is_file() else sorted(path.rglob("*"))) if p.is_file())
    os.utime(changed, ns=(1, 1))
    with pytest.raises(ValueError, match="has changed since it was scanned"):
        rows_of(source)


def test_a_file_that_changes_during_a_pass(tmp_path):
    write_npy(tmp_path / "a.npy", X)
    reader = opened(tmp_path / "a.npy").blocks(10)
    next(reader)
    os.utime(tmp_path / "a.npy", ns=(1, 1))
    with pytest.raises(ValueError, match="has changed since it was scanned"):
        list(reader)


def test_files_of_other_widths(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X[:, :4])
    with pytest.raises(ValueError, match=r"b\.npy: the array has 4 columns, and that of .*a\.npy has 6"):
        opened(tmp_path / "a.npy", tmp_path / "b.npy")


@pytest.mark.parametrize(("package", "ending", "extra"), [("zarr", ".zarr", "zarr"), ("h5py", ".h5", "hdf5")])
def test_missing_libraries(package, ending, extra, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    (tmp_path / f"a{ending}").touch()
    with pytest.raises(ImportError, match=rf"pip install 'lowdim\[{extra}\]'"):
        opened(tmp_path / f"a{ending}")


def test_a_map_holds_no_copy_of_its_rows(tmp_path):
    np.save(tmp_path / "a.npy", X)
    assert isinstance(NpyArray(tmp_path / "a.npy")._map, np.memmap)
