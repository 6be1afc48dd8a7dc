"""Directories of files of one kind, each of bounded size."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from .base import Sink

#: A part is ended when its rows have this many bytes.
_PART_BYTES = 256 << 20
_PART_NAME = re.compile(r"part-\d{5,}\..*")


class PartsSink(Sink):
    """A directory of files part-00000, part-00001, ..., in the order of the rows.

    Parameters
    ----------
    path, names
        As in `Sink`.
    make : class of sinks
        The kind of the files.
    suffix : str
        How their names end.
    """

    def __init__(self, path: str, names: Sequence[str], make: type[Sink], suffix: str) -> None:
        super().__init__(path, names)
        self._make, self._suffix = make, suffix
        self._part: Sink | None = None
        self._count = self._bytes = 0
        os.mkdir(path)

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        if self._part is None:
            name = f"part-{self._count:05d}{self._suffix}"
            self._part = self._make(os.path.join(self.path, name), self.names)
            self._count, self._bytes = self._count + 1, 0
        self._part.write(results, kept)
        self._bytes += sum(r.nbytes for r in results) + (0 if kept is None else kept.nbytes)
        if self._bytes >= _PART_BYTES:
            self.close()

    def close(self) -> None:
        if self._part is not None:
            self._part.close()
            self._part = None

    def abandon(self) -> None:
        if self._part is not None:
            self._part.abandon()


def holds_only_parts(directory: str) -> bool:
    """Whether a directory looks like one that `PartsSink` has written, or is empty."""
    return all(_PART_NAME.fullmatch(name) for name in os.listdir(directory))
