"""Which files a path stands for, what is refused, and how a change of a file is noticed."""

import gzip
import os
import socket

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import zarr

import lowdim
from lowdim import scan
from lowdim.sources import open_source

#: Files with one number each, which tells which files are read, and notes of a writer.
NUMBERS = {"b.csv": 2, "a.csv": 1, "deep/er/c.csv": 3, "_SUCCESS": 4, ".b.csv.crc": 5, "_metadata/x.csv": 6}


@pytest.fixture
def folder(tmp_path):
    """Three CSV files, one of them in a directory below, and notes of a writer."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name, number in NUMBERS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"x\n{number}\n")
    return tmp_path


def numbers(where):
    """The entries of all files, in the order in which they are read."""
    return np.concatenate(list(open_source(scan(where)).blocks(10)))[:, 0].tolist()


def test_a_directory_is_searched_in_the_order_of_names_without_notes(folder):
    assert numbers(folder) == [1, 2, 3]
    source = open_source(folder)
    assert [source.row_label(i).split(" (")[0] for i in range(3)] == [
        f"row 0 of {name}" for name in ("a.csv", "b.csv", "deep/er/c.csv")
    ]


def test_patterns_and_lists(folder):
    assert numbers(f"{folder}/*.csv") == [1, 2]
    assert numbers(f"{folder}/**/*.csv") == [1, 2, 3]
    assert numbers(f"{folder}/dee*") == [3]
    assert numbers([folder / "b.csv", f"{folder}/deep"]) == [2, 3]
    assert numbers(f"{folder}/_meta*/*.csv") == [6]


def test_the_home_directory(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    assert numbers("~/a.csv") == [1]


def test_a_name_with_the_marks_of_a_pattern_is_a_file_if_there_is_one(tmp_path):
    (tmp_path / "a[1].csv").write_text("x\n1\n")
    (tmp_path / "a1.csv").write_text("x\n2\n")
    assert numbers(tmp_path / "a[1].csv") == [1]


def test_a_directory_that_contains_itself_ends(folder):
    (folder / "deep" / "back").symlink_to(folder)
    assert numbers(folder) == [1, 2, 3]


def test_kinds_and_names_inside_of_stores(tmp_path):
    table = pa.table({"x": [7.0]})
    pa.parquet.write_table(table, tmp_path / "a.PARQUET")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x\n7\n"))
    pa.feather.write_feather(table, tmp_path / "a.feather")
    zarr.create_array(tmp_path / "a.zarr", shape=(1, 1), dtype="f8")[:] = 7.0
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["group/x"], file["group/other"] = [[7.0]], [[8.0]]
    kinds = {"a.PARQUET": "parquet", "a.csv.gz": "csv", "a.feather": "arrow", "a.zarr/": "zarr", "a.zarr": "zarr"}
    for name, kind in {**kinds, "rows.h5::group/x": "hdf5"}.items():
        assert f": 1 {kind} file, " in repr(scan(f"{tmp_path}/{name}"))
        assert numbers(f"{tmp_path}/{name}") == [7]


def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*rows\.csv\. Check the path"):
        scan(tmp_path / "rows.csv")
    with pytest.raises(FileNotFoundError, match=r"no file matches .*/\*\.parquet\. Check the pattern"):
        scan(f"{tmp_path}/*.parquet")
    with pytest.raises(FileNotFoundError, match=r"the directory .* holds no files, .* \.parquet, \.pq"):
        scan(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no file an empty list"):
        scan([])
    with pytest.raises(TypeError, match=r"files are given by a path, .*; got int"):
        scan([3])
    with pytest.raises(ValueError, match=r"s3://bucket/x\.parquet is an address, and only files of this machine"):
        scan("s3://bucket/x.parquet")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*gone\.csv"):
        scan(tmp_path)


def test_a_path_that_goes_on_behind_a_store(tmp_path):
    (tmp_path / "a.zarr" / "group" / "rows").mkdir(parents=True)
    (tmp_path / "a.h5").write_text("")
    for store, name in (("a.zarr", "group/rows"), ("a.zarr", "other"), ("a.h5", "rows")):
        with pytest.raises(ValueError, match=rf"inside of a store: .* two colons, as in '.*{store}::{name}'"):
            scan(tmp_path / store / name)


def test_files_of_several_kinds_or_of_no_kind(folder):
    (folder / "d.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"files of several kinds, .*a\.csv \(csv\), .*d\.parquet \(parquet\)"):
        scan(folder)
    with pytest.raises(ValueError, match=r"notes\.txt has none of the suffixes .* \.parquet"):
        (folder / "notes.txt").write_text("")
        scan(folder / "notes.txt")


def test_devices_sockets_and_pipes(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="/dev/null is a character device, and only ordinary files can be read"):
        scan("/dev/null")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match=r"pipe\.csv is a named pipe"):
        scan(tmp_path / "pipe.csv")
    # The name of a socket must be short.
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.csv")
        with pytest.raises(ValueError, match=r"s\.csv is a socket"):
            scan("s.csv")


def test_a_directory_without_permission_on_the_way_to_a_file(folder, monkeypatch):
    path = str(folder / "closed" / "a.csv")

    def closed(place, **_):
        raise PermissionError(13, "Permission denied", place)

    monkeypatch.setattr(os, "lstat", closed)
    with pytest.raises(PermissionError, match=r"closed/a\.csv may not be read"):
        scan(path)


def test_a_file_without_permission(folder, monkeypatch):
    # An administrator may read everything, so the answer of the system is made up.
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("b.csv") and allowed(path, mode))
    with pytest.raises(PermissionError, match=r"b\.csv may not be read by this user"):
        scan(folder)
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("deep") and allowed(path, mode))
    with pytest.raises(PermissionError, match=r"deep may not be read"):
        scan(folder)


def test_changes_are_noticed(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x\n1\n")
    source, written = open_source(path), path.stat().st_mtime_ns

    def read():
        return list(source.blocks(10))

    np.testing.assert_array_equal(read(), [[[1.0]]])
    path.write_text("x\n1\n2\n")
    with pytest.raises(ValueError, match=r"rows\.csv has changed since it was scanned: it had 4 bytes and now has 6"):
        read()
    path.write_text("x\n3\n")
    os.utime(path, ns=(0, written + 1))
    with pytest.raises(ValueError, match="it was written again in between"):
        read()
    # The same size and time, and another file.
    (tmp_path / "other.csv").write_text("x\n4\n")
    os.utime(tmp_path / "other.csv", ns=(0, written))
    os.replace(tmp_path / "other.csv", path)
    with pytest.raises(ValueError, match="has changed"):
        read()
    path.unlink()
    with pytest.raises(FileNotFoundError, match="was there when it was scanned, and is gone now"):
        read()


@pytest.mark.parametrize("name", ["pca.model", "x.summary", "plain"])
def test_what_lowdim_saved_is_no_table(name, tmp_path):
    path = tmp_path / name
    rows = np.random.default_rng(0).standard_normal((20, 3))
    lowdim.save(
        lowdim.reading.summarize(rows, lowdim.summaries.Moments) if "summary" in name else lowdim.PCA(2).fit(rows), path
    )
    with pytest.raises(ValueError, match=rf"{name} is no table: lowdim wrote it, .* lowdim\.load\(path\) reads it"):
        lowdim.PCA(2).fit(path)
