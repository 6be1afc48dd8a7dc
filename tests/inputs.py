"""All kinds of input that models accept, in one table that the tests of sources run over.

A new kind of input needs one row here, and every grid of tests then includes it.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import stored
from lowdim import on_device, scan
from lowdim.sources.array import ArraySource
from stored import names

BOTH = ("float64", "float32")


@dataclass(frozen=True)
class Input:
    """A kind of input, made from the rows of a NumPy array."""

    make: Callable[[np.ndarray], Any]
    #: Dtypes of the rows that can be passed; `result_dtype` gives the dtype of the results.
    dtypes: tuple[str, ...] = BOTH
    #: Whether the rows can be read again, and by columns.
    again: bool = True
    by_column: bool = True
    #: Array library of the results.
    xp: str = "numpy"
    #: Whether columns have names.
    named: bool = False
    #: Whether `transform` returns a lazy Dask array.
    lazy: bool = False
    #: Whether rows in main memory or in files are copied to a device.
    to_device: bool = False
    #: Whether the rows are read from files, or by a query. How they are read does not depend on the solver.
    stored: bool = False
    queried: bool = False

    def result_dtype(self, dtype: str) -> Any:
        """The dtype of results for rows of `dtype`: float32 stays float32, all others become float64."""
        return getattr(namespace(self.xp), "float32" if self.dtypes == BOTH and dtype == "float32" else "float64")

    def weights(self, w: np.ndarray) -> Any:
        """Weights as an array of the same library as the rows."""
        return w if self.xp == "numpy" else namespace(self.xp).asarray(w)


def namespace(name: str) -> Any:
    """The array library; skips the test, with a reason, if it is not installed."""
    if name == "numpy":
        return np
    return pytest.importorskip(name, reason=f"{name} is not installed")


def on_disk(X: np.ndarray) -> np.memmap:
    """A memory map of a temporary file."""
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=X.dtype, shape=X.shape)
    mapped[:] = X
    return mapped


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.setflags(write=False)
    return X


def strided(X: np.ndarray) -> np.ndarray:
    """A view with gaps and a negative stride."""
    wide = np.full((2 * X.shape[0], X.shape[1] + 3), np.nan, dtype=X.dtype)
    view = wide[::2, X.shape[1] + 1 : 1 : -1]
    view[:] = X
    return view


def untidy_csr(X: np.ndarray) -> Any:
    """A CSR matrix with unsorted columns, duplicate entries and stored zeros."""
    coo = sparse.coo_array(X)
    i, j = (np.concatenate([a, a]) for a in coo.coords)
    values = np.concatenate([3 * coo.data, -2 * coo.data])
    order = np.lexsort((-np.arange(len(i)), i))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=X.shape[0]))])
    untidy = sparse.csr_array((values[order].astype(X.dtype), j[order], indptr), shape=X.shape)
    assert not untidy.has_canonical_format
    return untidy


def read_only_csr(X: np.ndarray) -> Any:
    csr = sparse.csr_array(X)
    for part in (csr.data, csr.indices, csr.indptr):
        part.setflags(write=False)
    return csr


def table(library: str, X: np.ndarray) -> Any:
    module = importlib.import_module(library)
    columns = {name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(names(X.shape[1]))}
    return module.table(columns) if library == "pyarrow" else module.DataFrame(columns)


def blocks(X: np.ndarray) -> list[np.ndarray]:
    """Blocks of different sizes: one row, no rows, several rows."""
    cuts = [0, 1, 1, 4, len(X) // 2 + 1, len(X)]
    return [X[i:j] for i, j in pairwise(cuts)]


def chunked(X: np.ndarray) -> Any:
    """A Dask array whose chunks divide rows and columns, with one chunk without rows."""
    cuts = [0, 1, 1, 4, len(X) // 2 + 1, len(X)]
    rows = tuple(j - i for i, j in pairwise(cuts))
    array = pytest.importorskip("dask.array", reason="Dask is not installed")
    columns = (1, X.shape[1] - 1) if X.shape[1] > 1 else (1,)
    return array.from_array(X, chunks=(rows if min(rows) >= 0 else len(X), columns))


def partitioned(X: np.ndarray) -> Any:
    """A Dask data frame of three partitions."""
    frames = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    return frames.from_pandas(table("pandas", X), npartitions=3)


class ArrayLike:
    """What NumPy can make an array of, and nothing else."""

    def __init__(self, X: np.ndarray) -> None:
        self._X = X

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._X, dtype=dtype, copy=copy)


def in_namespace(library: str, X: np.ndarray) -> Any:
    return namespace(library).asarray(X)


def to_device(library: str, X: Any) -> Any:
    """Rows that are copied to a device: the second one of array-api-strict, or torch's CPU."""
    module = namespace(library)
    return on_device(X, "cpu" if library == "torch" else module.Device("device1"))


def opened_zarr(X: np.ndarray) -> Any:
    """An array of Zarr, which the user has opened."""
    return importlib.import_module("zarr").open_array(stored.zarr(X), mode="r")


def spreadsheet(X: np.ndarray) -> Any:
    """The numbers of a sheet that also has a column of text."""
    pytest.importorskip("python_calamine", reason="python-calamine is not installed")
    return scan(stored.spreadsheet(X), columns="col*")


def record_batches(X: np.ndarray) -> Any:
    """A reader of record batches, which can be read once."""
    return stored.arrow_table(X).to_reader(max_chunksize=5)


#: In older versions of DuckDB, a relation does not keep its connection open.
_CONNECTIONS: list[Any] = []


def relation(table: Any) -> Any:
    """A relation of DuckDB with the rows of a table of pyarrow, and with a connection of its own."""
    connection = importlib.import_module("duckdb").connect()
    _CONNECTIONS.append(connection)
    connection.register("X", table)
    return connection.sql("SELECT * FROM X")


INPUTS: dict[str, Input] = {
    "C order": Input(np.ascontiguousarray),
    "F order": Input(np.asfortranarray),
    "memmap": Input(on_disk),
    "read-only": Input(read_only),
    "strided view": Input(strided),
    "int64": Input(lambda X: X.astype(np.int64), dtypes=("int64",)),
    "int16": Input(lambda X: X.astype(np.int16), dtypes=("int16",)),
    "float16": Input(lambda X: X.astype(np.float16), dtypes=("float16",)),
    "longdouble": Input(lambda X: X.astype(np.longdouble), dtypes=("longdouble",)),
    "big-endian": Input(lambda X: X.astype(">f8"), dtypes=(">f8",)),
    "objects": Input(lambda X: X.astype(object), dtypes=("object",)),
    "list of lists": Input(lambda X: X.tolist(), dtypes=("float64",)),
    "array-like": Input(ArrayLike),
    "csr_array": Input(sparse.csr_array),
    "csc_array": Input(sparse.csc_array),
    "coo_array": Input(sparse.coo_array),
    "lil_array": Input(sparse.lil_array),
    "csr_matrix": Input(sparse.csr_matrix),
    "csc_matrix": Input(sparse.csc_matrix),
    "read-only csr": Input(read_only_csr),
    "untidy csr": Input(untidy_csr),
    "sparse integers": Input(lambda X: sparse.csr_array(X.astype(np.int32)), dtypes=("int32",)),
    "pandas": Input(lambda X: table("pandas", X), named=True),
    "polars": Input(lambda X: table("polars", X), named=True),
    "pyarrow": Input(lambda X: table("pyarrow", X), named=True),
    "list of blocks": Input(blocks, by_column=False),
    "tuple of sparse blocks": Input(lambda X: tuple(map(sparse.csr_array, blocks(X))), by_column=False),
    "list of tables": Input(lambda X: [table("polars", b) for b in blocks(X) if len(b)], by_column=False, named=True),
    "callable": Input(lambda X: lambda: iter(blocks(X)), by_column=False),
    "generator": Input(lambda X: (b for b in blocks(X)), again=False, by_column=False),
    "Dask array": Input(chunked, lazy=True),
    "Dask data frame": Input(partitioned, by_column=False, named=True, lazy=True),
    "Parquet": Input(stored.parquet, named=True, stored=True),
    "Arrow": Input(stored.arrow, named=True, stored=True),
    "CSV": Input(lambda X: scan(stored.csv(X), columns="col*"), dtypes=("float64",), named=True, stored=True),
    "spreadsheet": Input(spreadsheet, dtypes=("float64",), named=True, stored=True),
    "NPY": Input(stored.npy, stored=True),
    "NPY directory": Input(stored.npy_parts, stored=True),
    "Zarr": Input(stored.zarr, stored=True),
    "Zarr array": Input(opened_zarr, stored=True),
    "HDF5": Input(stored.hdf5, stored=True),
    "record batches": Input(record_batches, again=False, by_column=False, named=True, queried=True),
    "polars lazy frame": Input(lambda X: table("polars", X).lazy(), by_column=False, named=True, queried=True),
    "DuckDB relation": Input(lambda X: relation(stored.arrow_table(X)), by_column=False, named=True, queried=True),
    "array_api_strict": Input(lambda X: in_namespace("array_api_strict", X), xp="array_api_strict"),
    "torch": Input(lambda X: in_namespace("torch", X), xp="torch"),
    "list of torch blocks": Input(lambda X: [in_namespace("torch", b) for b in blocks(X)], by_column=False, xp="torch"),
    "copied to torch": Input(lambda X: to_device("torch", X), to_device=True),
    "copied to another device": Input(lambda X: to_device("array_api_strict", X), to_device=True),
    "files copied to a device": Input(
        lambda X: to_device("array_api_strict", stored.parquet(X)), named=True, stored=True, to_device=True
    ),
    "generator copied to a device": Input(
        lambda X: to_device("array_api_strict", (b for b in blocks(X))), again=False, by_column=False, to_device=True
    ),
}

#: For tests that take long: of all files, Parquet only.
FEW_INPUTS = {name: kind for name, kind in INPUTS.items() if not (kind.stored or kind.queried) or name == "Parquet"}

#: Inputs whose entries may be NaN or infinite. The cells of a spreadsheet are finite.
FLOAT_INPUTS = [
    name
    for name, kind in INPUTS.items()
    if not {"int64", "int16", "int32"} & set(kind.dtypes) and name != "spreadsheet"
]


def to_numpy(a: Any) -> np.ndarray:
    """Results as a NumPy array."""
    return np.asarray(a) if isinstance(a, np.ndarray | float) or hasattr(a, "compute") else np.array(np.from_dlpack(a))


def with_missing(X, share=0.2, seed=1):
    """A copy of `X` in which this share of the entries is NaN."""
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


class Unreadable(ArraySource):
    """Rows that must not be read: reading one raises an error."""

    def blocks(self, rows):
        raise AssertionError("a row was read")

    def features(self):
        raise AssertionError("a column was read")
