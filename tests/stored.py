"""Files of all kinds that models read, written from the rows of a NumPy array: once for each array and kind."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from functools import wraps
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

#: Removed when the process ends.
_FOLDER = tempfile.TemporaryDirectory(prefix="lowdim_tests_")


def names(p: int) -> list[str]:
    """Column names of tables."""
    return [f"col{j}" for j in range(p)]


def once(write: Callable[[Path, np.ndarray], str]) -> Callable[[np.ndarray], str]:
    """A function that writes a file for an array, unless there is one already, and returns its path.

    `write(folder, X)` writes into an empty folder.
    """

    @wraps(write)
    def written(X: np.ndarray) -> str:
        X = np.ascontiguousarray(X)
        digest = hashlib.sha256(X.tobytes() + f"{X.dtype} {X.shape}".encode()).hexdigest()[:16]
        folder = Path(_FOLDER.name) / f"{write.__name__}_{digest}"
        note = folder.with_suffix(".path")
        if not note.exists():
            folder.mkdir()
            note.write_text(write(folder, X))
        return note.read_text()

    return written


def arrow_table(X: np.ndarray) -> Any:
    import pyarrow as pa

    return pa.table({name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(names(X.shape[1]))})


def thirds(X: np.ndarray) -> list[np.ndarray]:
    """The rows in three parts, of which one may be empty."""
    return [X[i:j] for i, j in pairwise([0, len(X) // 3, len(X) // 2, len(X)])]


@once
def parquet(folder: Path, X: np.ndarray) -> str:
    """A directory of three files, with several row groups each."""
    import pyarrow.parquet as pq

    for i, part in enumerate(thirds(X)):
        pq.write_table(arrow_table(part), folder / f"part-{i}.parquet", row_group_size=4)
    return str(folder)


@once
def arrow(folder: Path, X: np.ndarray) -> str:
    """An Arrow file of record batches of five rows."""
    import pyarrow as pa

    table = arrow_table(X)
    with pa.ipc.new_file(folder / "rows.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return str(folder / "rows.arrow")


@once
def csv(folder: Path, X: np.ndarray) -> str:
    """A CSV file; all digits are written."""
    lines = [",".join(names(X.shape[1])), *(",".join("" if v != v else repr(float(v)) for v in row) for row in X)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    return str(folder / "rows.csv")


@once
def spreadsheet(folder: Path, X: np.ndarray) -> str:
    """A spreadsheet with a column of text between the numbers."""
    from openpyxl import Workbook

    book, middle = Workbook(), X.shape[1] // 2
    header = names(X.shape[1])
    book.active.append([*header[:middle], "id", *header[middle:]])
    for i, row in enumerate(X.tolist()):
        entries = [None if entry != entry else entry for entry in row]
        book.active.append([*entries[:middle], f"r{i}", *entries[middle:]])
    book.save(folder / "rows.xlsx")
    return str(folder / "rows.xlsx")


@once
def npy(folder: Path, X: np.ndarray) -> str:
    np.save(folder / "rows.npy", X)
    return str(folder / "rows.npy")


@once
def npy_parts(folder: Path, X: np.ndarray) -> str:
    """A directory of NPY files."""
    for i, part in enumerate(part for part in thirds(X) if len(part)):
        np.save(folder / f"part-{i}.npy", part)
    return str(folder)


@once
def zarr(folder: Path, X: np.ndarray) -> str:
    """A Zarr store of small chunks, all of which are written."""
    import zarr as library

    chunks = (min(5, X.shape[0]), min(3, X.shape[1]))
    options = {"chunks": chunks, "dtype": X.dtype, "config": {"write_empty_chunks": True}}
    array = library.create_array(folder / "rows.zarr", shape=X.shape, **options)
    array[:] = X
    return str(folder / "rows.zarr")


@once
def hdf5(folder: Path, X: np.ndarray) -> str:
    """A compressed dataset of an HDF5 file beside others."""
    import h5py

    with h5py.File(folder / "rows.h5", "w") as file:
        file.create_dataset("group/rows", data=X, chunks=(min(4, X.shape[0]), X.shape[1]), compression="gzip")
        file.create_dataset("other", data=np.zeros((2, 2)))
    return f"{folder / 'rows.h5'}::group/rows"
