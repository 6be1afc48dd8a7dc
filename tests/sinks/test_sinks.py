"""What sinks write is what other libraries read, in one piece or not at all."""

import os
import sys

import h5py
import numpy as np
import pytest
import zarr

from lowdim import sinks
from lowdim.sinks import SINKS, find_output, open_sink
from lowdim.sinks import formats as array_sink
from lowdim.sinks import formats as parts
from lowdim.sinks import formats as table_sink
from written import read_back

rng = np.random.default_rng(0)
X = rng.standard_normal((500, 3)) * [1e-30, 1.0, 1e30]
NAMES = ["a", "b c", "d,e"]


@pytest.fixture
def small_pieces(monkeypatch):
    """Row groups, chunks and parts of a few rows."""
    monkeypatch.setattr(table_sink, "_GROUP_BYTES", 1500)
    monkeypatch.setattr(table_sink, "_COLUMN_BYTES", 0)
    monkeypatch.setattr(array_sink, "_CHUNK_BYTES", 1500)
    monkeypatch.setattr(parts, "_PART_BYTES", 4000)


def write(path, blocks, names=NAMES, **options):
    with open_sink(path, names, **options) as sink:
        for block in blocks:
            sink.write(*block) if isinstance(block, tuple) else sink.write([block])


def cut(A, sizes=(1, 7, 100, 3, 250, 139)):
    return np.split(A, np.cumsum(sizes)[:-1])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("ending", [*SINKS, ".parquet/", ".csv/", ".npy/"])
def test_each_kind_of_file(ending, dtype, tmp_path, small_pieces):
    given = X.astype(dtype)
    write(f"{tmp_path}/out{ending}", cut(given))
    found, names = read_back(f"{tmp_path}/out{ending}")
    # Text does not say how long its numbers are; those of float32 have as many digits as they need.
    np.testing.assert_array_equal(found.astype(dtype) if "csv" in ending else found, given, strict=True)
    assert names in (NAMES, None)
    assert (names is None) == ending.startswith(".npy")
    assert os.listdir(tmp_path) == [f"out{ending.rstrip('/')}"]


@pytest.mark.parametrize("ending", SINKS)
def test_a_vector(ending, tmp_path, small_pieces):
    write(tmp_path / f"out{ending}", cut(X[:, 1]), ["y"])
    found, _ = read_back(tmp_path / f"out{ending}")
    expected = X[:, [1]] if SINKS[ending].tabular else X[:, 1]
    np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("ending", SINKS)
def test_results_side_by_side(ending, tmp_path):
    narrow = X[:, :1].astype("float32")
    write(tmp_path / f"out{ending}", [([narrow[:9], X[:9, 1:]],), ([narrow[9:], X[9:, 1:]],)])
    found, _ = read_back(tmp_path / f"out{ending}")
    np.testing.assert_allclose(found, np.hstack([narrow, X[:, 1:]]), rtol=1e-7)


def test_each_result_keeps_its_dtype_in_a_table(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write(tmp_path / "out.parquet", [([X[:, :1].astype("float32"), X[:, 1:]],)])
    assert [str(t) for t in parquet.read_schema(tmp_path / "out.parquet").types] == ["float", "double", "double"]


@pytest.mark.parametrize("ending", [".h5", ".zarr"])
def test_arrays_inside_of_files_may_have_names(ending, tmp_path):
    write(f"{tmp_path}/out{ending}::scores/pca", [X])
    found, _ = read_back(f"{tmp_path}/out{ending}::scores/pca")
    np.testing.assert_array_equal(found, X)


def test_many_names_in_hdf5(tmp_path):
    """More than the 64 KiB that attributes have in older versions of the format."""
    names = [f"a rather long name of column {j}" for j in range(5000)]
    write(tmp_path / "out.h5", [np.zeros((2, 5000))], names)
    assert read_back(tmp_path / "out.h5")[1] == names


def test_a_few_rows_make_a_small_file(tmp_path):
    for ending in SINKS:
        if not SINKS[ending].is_directory:
            write(tmp_path / f"out{ending}", [X[:3]])
            assert os.path.getsize(tmp_path / f"out{ending}") < 10_000


def test_row_groups_and_parts_are_bounded(tmp_path, small_pieces):
    parquet = pytest.importorskip("pyarrow.parquet")
    write(f"{tmp_path}/out.parquet/", np.split(X, 50))
    names = sorted(os.listdir(tmp_path / "out.parquet"))
    assert names == [f"part-{i:05d}.parquet" for i in range(3)]
    files = [parquet.ParquetFile(tmp_path / "out.parquet" / name) for name in names]
    assert [f.metadata.num_rows for f in files] == [170, 170, 160]
    assert {f.metadata.row_group(0).num_rows for f in files} == {70}


# ---- Kept columns


@pytest.fixture
def kept():
    pa = pytest.importorskip("pyarrow")
    ids = pa.array([f"row {i}" for i in range(500)])
    days = pa.array(np.datetime64("2026-01-01") + np.arange(500))
    return pa.table({"id": ids, "day": days, "class": ids.dictionary_encode()})


@pytest.mark.parametrize("ending", [ending for ending in SINKS if SINKS[ending].tabular])
def test_kept_columns_come_first(ending, kept, tmp_path, small_pieces):
    blocks = [([X[i : i + 50]], kept.slice(i, 50)) for i in range(0, 500, 50)]
    write(tmp_path / f"out{ending}", blocks, keep=kept.column_names)
    found = read_back(tmp_path / f"out{ending}", table=True)
    assert found.column_names == ["id", "day", "class", *NAMES]
    assert found["class"].to_pylist() == found["id"].to_pylist() == kept["id"].to_pylist()
    assert found["day"].to_pylist() == kept["day"].to_pylist()
    np.testing.assert_array_equal(np.column_stack([found[name] for name in NAMES]), X)


@pytest.mark.parametrize("ending", [ending for ending in SINKS if not SINKS[ending].tabular])
def test_arrays_hold_no_kept_columns(ending, tmp_path):
    with pytest.raises(ValueError, match=r"cannot hold the columns given as keep: a .* holds one array.*\.parquet"):
        write(tmp_path / f"out{ending}", [], keep=["id"])
    assert os.listdir(tmp_path) == []


def test_blocks_whose_kept_columns_have_other_types(kept, tmp_path):
    import pyarrow as pa

    numbers = pa.table({"n": pa.array([1, 2], pa.int32())})
    write(tmp_path / "out.arrow", [([X[:2]], numbers), ([X[:2]], numbers.cast(pa.schema([("n", pa.int64())])))])
    assert read_back(tmp_path / "out.arrow", table=True)["n"].to_pylist() == [1, 2, 1, 2]
    text = pa.table({"n": ["one", "two"]})
    with pytest.raises(ValueError, match=r"column 'n', given as keep, .* string that cannot be converted to int32"):
        write(tmp_path / "more.arrow", [([X[:2]], numbers), ([X[:2]], text)])


def test_lists_have_no_text(tmp_path):
    pa = pytest.importorskip("pyarrow")
    lists = pa.table({"many": [[1, 2], [3]]})
    write(tmp_path / "out.parquet", [([X[:2]], lists)])
    with pytest.raises(ValueError, match=r"CSV file cannot hold the columns 'many' \(list<.*out.csv' as .parquet"):
        write(tmp_path / "out.csv", [([X[:2]], lists)])
    assert os.listdir(tmp_path) == ["out.parquet"]


# ---- Where to write


def test_paths_are_taken_apart():
    assert find_output("a.parquet").kind is SINKS[".parquet"]
    assert find_output("A.CSV.GZ").kind is SINKS[".csv.gz"]
    assert find_output("b/a.parquet/").in_parts and find_output("b/a.parquet/").path == "b/a.parquet"
    assert not find_output("a.zarr/").in_parts
    assert (find_output("a.h5::b/c").path, find_output("a.h5::b/c").inner) == ("a.h5", "b/c")


@pytest.mark.parametrize("path", ["scores", "scores.txt", ".csv", "a/.parquet", "", "scores/"])
def test_an_unknown_kind_is_an_error_that_lists_the_kinds(path):
    with pytest.raises(ValueError, match=r"must end with one of \.parquet, \.arrow, .*\.zarr, \.h5"):
        find_output(path)


def test_other_paths_that_make_no_sense():
    with pytest.raises(ValueError, match=r"names an array inside of a CSV file.*'::' is for HDF5 and Zarr"):
        find_output("a.csv::b")
    with pytest.raises(TypeError, match="must be a string or a Path, got bytes"):
        find_output(b"a.csv")


@pytest.mark.parametrize("ending", SINKS)
def test_a_missing_library_is_named_with_its_extra(ending, tmp_path, monkeypatch):
    if SINKS[ending].package is None:
        return
    package, extra = SINKS[ending].package
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}, .* pip install 'lowdim\[{extra}\]'"):
        write(tmp_path / f"out{ending}", [X])


def test_a_missing_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no directory .*nowhere'; make it first"):
        write(tmp_path / "nowhere" / "out.csv", [X])


def test_a_directory_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks.os, "access", lambda *_: False)
    with pytest.raises(PermissionError, match=r"cannot write .*out.csv.*no permission"):
        write(tmp_path / "out.csv", [X])


def test_a_device_is_not_replaced(tmp_path):
    os.symlink("/dev/null", tmp_path / "out.csv")
    with pytest.raises(OSError, match=r"could not be written: .*is a device"):
        write(tmp_path / "out.csv", [X], overwrite=True)


@pytest.mark.parametrize("ending", [".csv", ".npy", ".zarr", ".parquet/"])
def test_what_is_there_is_replaced_only_if_that_is_allowed(ending, tmp_path):
    path = f"{tmp_path}/out{ending}"
    write(path, [X])
    with pytest.raises(FileExistsError, match=r"it exists already\. Pass overwrite=True"):
        write(path, [X + 1])
    np.testing.assert_array_equal(read_back(path)[0], X)
    write(path, [X + 1], overwrite=True)
    np.testing.assert_array_equal(read_back(path)[0], X + 1)
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.parametrize("ending", [".csv", ".npy", ".zarr", ".parquet/"])
def test_what_somebody_else_writes_meanwhile_is_not_replaced(ending, tmp_path):
    path = f"{tmp_path}/out{ending}"

    def blocks():
        yield X
        write(path, [X + 1])

    with pytest.raises(FileExistsError, match=r"it exists already\. Pass overwrite=True"):
        write(path, blocks())
    np.testing.assert_array_equal(read_back(path)[0], X + 1)
    assert len(os.listdir(tmp_path)) == 1


def test_a_directory_of_other_things_is_never_replaced(tmp_path):
    (tmp_path / "out.parquet").mkdir()
    (tmp_path / "out.parquet" / "thesis.tex").write_text("")
    for path in ("out.parquet", "out.parquet/"):
        with pytest.raises(FileExistsError, match="a directory that holds other things"):
            write(f"{tmp_path}/{path}", [X], overwrite=True)
    assert (tmp_path / "out.parquet" / "thesis.tex").exists()


@pytest.mark.parametrize("inner", ["", "::scores", "::group/scores"])
@pytest.mark.parametrize("ending", [".h5", ".zarr"])
def test_a_file_with_other_arrays_is_never_replaced(ending, inner, tmp_path):
    path = f"{tmp_path}/out{ending}"
    if ending == ".h5":
        with h5py.File(path, "w") as file:
            file["group/rows"] = X
            file["elsewhere"] = h5py.ExternalLink("other.h5", "rows")
    else:
        zarr.open_group(path, mode="w").create_array("group/rows", shape=X.shape, dtype=X.dtype)[:] = X
    with pytest.raises(FileExistsError, match=f"out{ending}.* exists already"):
        write(path + inner, [X])
    with pytest.raises(FileExistsError, match=r"also holds .*'group/rows'.* would be lost"):
        write(path + inner, [X], overwrite=True)
    kept = (h5py.File(path) if ending == ".h5" else zarr.open_group(path))["group/rows"][:]
    np.testing.assert_array_equal(kept, X)


@pytest.mark.parametrize("path", ["out.h5", "out.h5::scores", "out.h5::/g/scores", "out.zarr", "out.zarr::g/scores"])
def test_an_array_of_a_store_is_replaced_by_one_of_the_same_name(path, tmp_path):
    write(f"{tmp_path}/{path}", [X])
    write(f"{tmp_path}/{path}", [X + 1], overwrite=True)
    file, _, inner = f"{tmp_path}/{path}".partition("::")
    store = h5py.File(file) if ".h5" in path else zarr.open(file)
    found = (store[inner or "data"] if inner or ".h5" in path else store)[:]
    np.testing.assert_array_equal(found, X + 1)


def test_a_damaged_file_is_replaced(tmp_path):
    for name in ("out.h5", "out.zarr"):
        (tmp_path / name).write_text("damaged")
        write(tmp_path / name, [X], overwrite=True)
        np.testing.assert_array_equal(read_back(tmp_path / name)[0], X)


def test_what_is_being_read_is_never_replaced(tmp_path):
    write(f"{tmp_path}/out.npy/", [X])
    for reading in (f"{tmp_path}/out.npy/part-00000.npy", f"{tmp_path}/out.npy"):
        with pytest.raises(ValueError, match="holds the rows that are being read"):
            write(f"{tmp_path}/out.npy/", [X], overwrite=True, reading=[reading])


# ---- Errors


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, FileNotFoundError("rows.csv")])
@pytest.mark.parametrize("ending", [*SINKS, ".parquet/"])
def test_after_an_error_nothing_is_left(ending, error, tmp_path, small_pieces):
    def blocks():
        yield from cut(X)
        raise error

    path = f"{tmp_path}/out{ending}"
    with pytest.raises(error if isinstance(error, type) else type(error)) as caught:
        write(path, blocks())
    assert "could not be written" not in str(caught.value)
    assert os.listdir(tmp_path) == []
    write(path, [X])
    with pytest.raises(error if isinstance(error, type) else type(error)):
        write(path, blocks(), overwrite=True)
    np.testing.assert_array_equal(read_back(path)[0], X)
    assert len(os.listdir(tmp_path)) == 1
