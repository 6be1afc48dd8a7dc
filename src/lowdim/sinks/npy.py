"""NPY files."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from .array_sink import ArraySink


class NpySink(ArraySink):
    """An NPY file, which can be mapped into memory."""

    kind = "NPY"
    _file: Any = None

    def _create(self, rest: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._file = open(self.path, "wb")  # noqa: SIM115 (closed by `_release`)
        self._rest, self._dtype = rest, dtype
        self._write_header(0)

    def _append(self, rows: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(rows).data)

    def _finish(self) -> None:
        self._file.seek(0)
        self._write_header(self._written)
        self._release()

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()

    def _write_header(self, n: int) -> None:
        # NumPy leaves room in the header for more rows, so its length does not depend on their number.
        header = {"descr": npy_format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (n, *self._rest)}
        npy_format.write_array_header_1_0(self._file, header)
