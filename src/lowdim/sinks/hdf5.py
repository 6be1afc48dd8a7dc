"""HDF5 files."""

from __future__ import annotations

import io
from collections.abc import Callable
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

    @classmethod
    def other_arrays(cls, path: str, inner: str | None) -> list[str]:
        import h5py

        if not h5py.is_hdf5(path):
            return []
        found: list[str] = []
        with h5py.File(path, "r") as file:
            # Unlike `visititems`, this also names links, whose targets may be elsewhere.
            file.visititems_links(lambda name, _: found.append(name))
            groups = {name for name in found if isinstance(file.get(name), h5py.Group)}
        return [name for name in found if name not in groups and name != (inner or DATASET).strip("/")]

    def _create(self, rest: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        import h5py

        self._disk = _LateErrors(self.path)
        # This version of the format, which HDF5 has read since 2008, allows attributes of more than 64 KiB.
        self._file = h5py.File(self._disk, "w", libver=("v108", "v108"))
        self._dataset = self._file.create_dataset(
            self.inner or DATASET, shape=(0, *rest), maxshape=(None, *rest), chunks=(self._chunk, *rest), dtype=dtype
        )
        self._dataset.attrs["columns"] = self.names

    def _append(self, rows: np.ndarray) -> None:
        n = self._written + rows.shape[0]
        self._dataset.resize(n, axis=0)
        self._dataset[self._written : n] = rows
        self._disk.raise_error()

    def _finish(self) -> None:
        self._release()
        self._disk.raise_error()

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._disk.close()


class _LateErrors(io.FileIO):
    """A file whose errors are raised when they are asked for.

    The HDF5 library does not survive a write that fails: closing the file fails too, and the next file may end the
    process. So it is told that all is well, and the file, of no use any more, is removed.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, "w+b")
        self._error: OSError | None = None

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view):
            done += self._noting(super().write, view[done:]) or len(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        return self._noting(super().truncate, size) or 0

    def raise_error(self) -> None:
        """Raise the first error that there was."""
        if self._error is not None:
            raise self._error

    def _noting(self, function: Callable[..., int | None], *arguments: Any) -> int | None:
        """The value of a function, or None after an error."""
        try:
            return function(*arguments) if self._error is None else None
        except OSError as error:
            self._error = error
            return None
