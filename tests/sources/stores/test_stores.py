"""Arrays in files: the same rows as the array, in blocks of the asked size, each chunk read once; files that change."""

import os
import pickle

import h5py
import numpy as np
import pytest

from lowdim.sources import open_source
from lowdim.sources.scan import FILE_KINDS
from sources.stores.stored_arrays import (
    KINDS,
    X,
    opened,
    rows_of,
    write_chunked_hdf5,
    write_npy,
)


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
    monkeypatch.setattr("lowdim.sources.stores._PIECE_BYTES", 1)
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


def test_a_map_holds_no_copy_of_its_rows(tmp_path):
    np.save(tmp_path / "a.npy", X)
    source = opened(tmp_path / "a.npy")
    first, second = (next(source.blocks(10)) for _ in range(2))
    assert np.shares_memory(first, second)
    assert _owner(first).filename == str(tmp_path / "a.npy")
