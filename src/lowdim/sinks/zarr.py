"""Zarr stores."""

from __future__ import annotations

from typing import Any

import numpy as np

from .array_sink import ArraySink


class ZarrSink(ArraySink):
    """An array in a directory, in chunks of whole rows. The names of the columns are its attribute `columns`."""

    kind = "Zarr"
    package = ("zarr", "zarr")
    has_inner_names = True
    is_directory = True

    @classmethod
    def other_arrays(cls, path: str, inner: str | None) -> list[str]:
        import zarr

        try:
            store = zarr.open(path, mode="r")
        except Exception:
            # Damaged, or of another kind: then it holds no array that could be read.
            return []
        if not isinstance(store, zarr.Group):
            return []
        arrays = (name for name, member in store.members(max_depth=None) if isinstance(member, zarr.Array))
        return sorted(name for name in arrays if name != (inner or "").strip("/"))

    def _create(self, rest: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        import zarr

        self._rest = rest
        self._array = zarr.create_array(
            self.path,
            name=self.inner,
            shape=(self._chunk, *rest),
            chunks=(self._chunk, *rest),
            dtype=dtype,
            attributes={"columns": self.names},
            # Otherwise chunks of zeros would be left out, and nobody could tell them from chunks that were lost.
            config={"write_empty_chunks": True},
        )

    def _append(self, rows: np.ndarray) -> None:
        needed = self._written + rows.shape[0]
        if needed > self._array.shape[0]:
            # Each change of the shape goes through the list of all chunks, so there should be few.
            self._array.resize((2 * needed, *self._rest))
        self._array[self._written : needed] = rows

    def _finish(self) -> None:
        self._array.resize((self._written, *self._rest))

    def _release(self) -> None:
        # Every chunk is a file, which is closed when it is written.
        pass
