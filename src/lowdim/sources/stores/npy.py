"""NPY files, as memory maps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from tokenize import TokenError
from typing import Any

import numpy as np

from ...errors import no_such_array, objects_in_npy, unreadable_file
from .stored_array import Reader, StoredArray, rows_between


class NpyArray(StoredArray):
    """The array of a .npy file, mapped to memory and read in place. Files of Python objects are refused, not opened."""

    mapped = True

    def __init__(self, path: Any, name: str | None = None) -> None:
        self._path = self.place = os.fspath(path)
        if name is not None:
            raise no_such_array(self._path, name, ["one array, which has no name"])
        try:
            self.paths = [self._path]
            self._map = np.lib.format.open_memmap(self._path, mode="r")
        except (ValueError, OverflowError, SyntaxError, TokenError) as error:
            raise self._refused(error) from error
        self._accept(self._map.shape, self._map.dtype)

    def __reduce__(self) -> Any:
        # A map would be pickled as all its rows.
        return NpyArray, (self._path,)

    def _files(self) -> Sequence[str]:
        return [self._path]

    def _reading(self) -> AbstractContextManager[Reader]:
        # A plain view: slices of a memmap carry attributes, which takes longer than reading a few rows.
        X = np.asarray(self._map)
        return nullcontext(partial(rows_between, X))

    def _refused(self, error: Exception) -> ValueError:
        """The error for a file that cannot be mapped: one of objects, or one that is damaged."""
        if "Python objects" in str(error):
            return objects_in_npy(self.place)
        return unreadable_file(self.place, f" as a .npy file of {os.path.getsize(self._path)} bytes", error)
