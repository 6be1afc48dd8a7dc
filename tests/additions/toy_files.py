"""A kind of file to read: text with the names of the columns, and one line of numbers for each row."""

from pathlib import Path

import numpy as np

from lowdim.sources.array import ArraySource
from lowdim.sources.scan import ColumnChoice, Contents, FileKind


class ToyFile(Contents):
    choice = ColumnChoice

    def __init__(self, found):
        self._path = Path(found.paths[0])
        self.label = found.where
        with self._path.open() as file:
            self.names = self.numeric = file.readline().split()

    def source(self, columns):
        source = ArraySource(self._rows()[:, [self.names.index(name) for name in columns]])
        source.names, source.known_to_sklearn = list(columns), False
        return source

    def column(self, name):
        return self._rows()[:, self.names.index(name)]

    def dtype(self, columns):
        return np.float64

    def _rows(self):
        return np.loadtxt(self._path, skiprows=1, ndmin=2)


ROW = ("toy", FileKind((".toy",), ToyFile))
