"""Files that hold no rows of numbers, or are damaged, and libraries that are missing."""

import os
import pickle

import h5py
import numpy as np
import pytest
import zarr

from lowdim import scan
from lowdim.sources import open_source
from sources.stores.stored_arrays import (
    X,
    opened,
    rows_of,
    write_hdf5,
    write_npy,
    write_zarr,
    write_zip,
)


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


@pytest.mark.parametrize(("package", "ending", "extra"), [("zarr", ".zarr", "zarr"), ("h5py", ".h5", "hdf5")])
def test_missing_libraries(package, ending, extra, monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    (tmp_path / f"a{ending}").touch()
    with pytest.raises(ImportError, match=rf"pip install 'lowdim\[{extra}\]'"):
        opened(tmp_path / f"a{ending}")
