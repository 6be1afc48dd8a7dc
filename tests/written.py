"""Files of results as other libraries read them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np


def read_back(path: Any, table: bool = False) -> Any:
    """The numbers in a file or a directory of parts, and the names of the columns; or a pyarrow table."""
    path, _, inner = str(path).partition("::")
    path = path.rstrip("/")
    kind = path[path.index(".", path.rindex("/")) :]
    if os.path.isdir(path) and kind != ".zarr":
        each = [read_back(f"{path}/{name}", table) for name in sorted(os.listdir(path))]
        return np.concatenate([numbers for numbers, _ in each]), each[0][1]
    if kind == ".npy":
        return np.load(path), None
    if kind == ".zarr":
        import zarr

        opened = zarr.open(path, mode="r")
        array = opened[inner] if inner else opened
        return array[:], array.attrs["columns"]
    if kind in (".h5", ".hdf5"):
        import h5py

        with h5py.File(path) as file:
            dataset = file[inner or "data"]
            return dataset[:], list(dataset.attrs["columns"])
    found = _table(path, kind)
    return found if table else (np.column_stack([column.to_numpy() for column in found.columns]), found.column_names)


def _table(path: str, kind: str) -> Any:
    from pyarrow import csv, feather, parquet

    if kind == ".parquet":
        return parquet.ParquetFile(path).read()
    return csv.read_csv(path) if kind.startswith(".csv") else feather.read_table(path)
