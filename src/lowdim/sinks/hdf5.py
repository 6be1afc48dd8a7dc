"""HDF5 files."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array_sink import ArraySink

#: The name of the dataset, unless the path gives another one.
DATASET = "data"


class Hdf5Sink(ArraySink):
    """A dataset in an HDF5 file of its own. The names of the columns are its attribute `columns`."""

    kind = "HDF5"
    package = ("h5py", "hdf5")
    has_inner_names = True
    _file: Any = None

    def _create(self, rest: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        import h5py

        # This version of the format, which HDF5 has read since 2008, allows attributes of more than 64 KiB.
        self._file = h5py.File(self.path, "w", libver=("v108", "v108"))
        self._dataset = self._file.create_dataset(
            self.inner or DATASET, shape=(0, *rest), maxshape=(None, *rest), chunks=(self._chunk, *rest), dtype=dtype
        )
        self._dataset.attrs["columns"] = self.names

    def _append(self, rows: np.ndarray) -> None:
        n = self._written + rows.shape[0]
        self._dataset.resize(n, axis=0)
        self._dataset[self._written : n] = rows

    def _finish(self) -> None:
        self._release()

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
