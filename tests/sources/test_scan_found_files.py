"""Which files a path stands for, what is refused, and how a change of a file is noticed."""

import os
import socket

import numpy as np
import pytest

import lowdim
from lowdim.sources.scan import check_unchanged, find_files, kind_of


@pytest.fixture
def folder(tmp_path):
    """Three CSV files, one of them in a directory below, and notes of a writer."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("b.csv", "a.csv", "deep/er/c.csv", "_SUCCESS", ".b.csv.crc", "_metadata/x.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x\n1\n")
    return tmp_path


def names(found, folder):
    return [os.path.relpath(path, folder) for path in found.paths]


def test_a_directory_is_searched_in_the_order_of_names_without_notes(folder):
    assert names(find_files(folder), folder) == ["a.csv", "b.csv", "deep/er/c.csv"]
    assert find_files(folder).short_names() == ["a.csv", "b.csv", "deep/er/c.csv"]


def test_patterns_and_lists(folder):
    assert names(find_files(f"{folder}/*.csv"), folder) == ["a.csv", "b.csv"]
    assert names(find_files(f"{folder}/**/*.csv"), folder) == ["a.csv", "b.csv", "deep/er/c.csv"]
    assert names(find_files(f"{folder}/dee*"), folder) == ["deep/er/c.csv"]
    assert names(find_files([folder / "b.csv", f"{folder}/deep"]), folder) == ["b.csv", "deep/er/c.csv"]
    assert names(find_files(f"{folder}/_meta*/*.csv"), folder) == ["_metadata/x.csv"]


def test_the_home_directory(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    assert names(find_files("~/a.csv"), folder) == ["a.csv"]


def test_a_name_with_the_marks_of_a_pattern_is_a_file_if_there_is_one(tmp_path):
    (tmp_path / "a[1].csv").write_text("x\n1\n")
    assert names(find_files(tmp_path / "a[1].csv"), tmp_path) == ["a[1].csv"]


def test_a_directory_that_contains_itself_ends(folder):
    (folder / "deep" / "back").symlink_to(folder)
    assert names(find_files(folder), folder) == ["a.csv", "b.csv", "deep/er/c.csv"]


def test_kinds_and_names_inside_of_stores(tmp_path):
    assert [kind_of(name) for name in ("a.PARQUET", "a.csv.gz", "a.feather", "a.zarr/", "a.txt")] == [
        "parquet", "csv", "arrow", "zarr", None,
    ]  # fmt: skip
    (tmp_path / "rows.h5").write_bytes(b"")
    found = find_files(f"{tmp_path}/rows.h5::group/x")
    assert (found.kind, found.inside) == ("hdf5", "group/x")
    (tmp_path / "rows.zarr").mkdir()
    assert names(find_files(tmp_path / "rows.zarr"), tmp_path) == ["rows.zarr"]


def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*rows\.csv\. Check the path"):
        find_files(tmp_path / "rows.csv")
    with pytest.raises(FileNotFoundError, match=r"no file matches .*/\*\.parquet\. Check the pattern"):
        find_files(f"{tmp_path}/*.parquet")
    with pytest.raises(FileNotFoundError, match=r"the directory .* holds no files, .* \.parquet, \.pq"):
        find_files(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no file an empty list"):
        find_files([])
    with pytest.raises(TypeError, match=r"files are given by a path, .*; got int"):
        find_files([3])
    with pytest.raises(ValueError, match=r"s3://bucket/x\.parquet is an address, and only files of this machine"):
        find_files("s3://bucket/x.parquet")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*gone\.csv"):
        find_files(tmp_path)


def test_a_path_that_goes_on_behind_a_store(tmp_path):
    (tmp_path / "a.zarr" / "group" / "rows").mkdir(parents=True)
    (tmp_path / "a.h5").write_text("")
    for store, name in (("a.zarr", "group/rows"), ("a.zarr", "other"), ("a.h5", "rows")):
        with pytest.raises(ValueError, match=rf"inside of a store: .* two colons, as in '.*{store}::{name}'"):
            find_files(tmp_path / store / name)


def test_files_of_several_kinds_or_of_no_kind(folder):
    (folder / "d.parquet").write_bytes(b"")
    with pytest.raises(ValueError, match=r"files of several kinds, .*a\.csv \(csv\), .*d\.parquet \(parquet\)"):
        find_files(folder)
    with pytest.raises(ValueError, match=r"notes\.txt has none of the suffixes .* \.parquet"):
        (folder / "notes.txt").write_text("")
        find_files(folder / "notes.txt")


def test_devices_sockets_and_pipes(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="/dev/null is a character device, and only ordinary files can be read"):
        find_files("/dev/null")
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match=r"pipe\.csv is a named pipe"):
        find_files(tmp_path / "pipe.csv")
    # The name of a socket must be short.
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.csv")
        with pytest.raises(ValueError, match=r"s\.csv is a socket"):
            find_files("s.csv")


def test_a_directory_without_permission_on_the_way_to_a_file(folder, monkeypatch):
    path = str(folder / "closed" / "a.csv")

    def closed(place, **_):
        raise PermissionError(13, "Permission denied", place)

    monkeypatch.setattr(os, "lstat", closed)
    with pytest.raises(PermissionError, match=r"closed/a\.csv may not be read"):
        find_files(path)


def test_a_file_without_permission(folder, monkeypatch):
    # An administrator may read everything, so the answer of the system is made up.
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("b.csv") and allowed(path, mode))
    with pytest.raises(PermissionError, match=r"b\.csv may not be read by this user"):
        find_files(folder)
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("deep") and allowed(path, mode))
    with pytest.raises(PermissionError, match=r"deep may not be read"):
        find_files(folder)


def test_changes_are_noticed(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x\n1\n")
    files = find_files(path).files
    check_unchanged(files)
    path.write_text("x\n1\n2\n")
    with pytest.raises(ValueError, match=r"rows\.csv has changed since it was scanned: it had 4 bytes and now has 6"):
        check_unchanged(files)
    path.write_text("x\n3\n")
    os.utime(path, ns=(0, files[0].mtime_ns + 1))
    with pytest.raises(ValueError, match="it was written again in between"):
        check_unchanged(files)
    # The same size and time, and another file.
    (tmp_path / "other.csv").write_text("x\n4\n")
    os.utime(tmp_path / "other.csv", ns=(0, files[0].mtime_ns))
    os.replace(tmp_path / "other.csv", path)
    with pytest.raises(ValueError, match="has changed"):
        check_unchanged(files)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="was there when it was scanned, and is gone now"):
        check_unchanged(files)


@pytest.mark.parametrize("name", ["pca.model", "x.summary", "plain"])
def test_what_lowdim_saved_is_no_table(name, tmp_path):
    path = tmp_path / name
    rows = np.random.default_rng(0).standard_normal((20, 3))
    lowdim.save(lowdim.summarize(rows, lowdim.Moments) if "summary" in name else lowdim.PCA(2).fit(rows), path)
    with pytest.raises(ValueError, match=rf"{name} is no table: lowdim wrote it, .* lowdim\.load\(path\) reads it"):
        lowdim.PCA(2).fit(path)
