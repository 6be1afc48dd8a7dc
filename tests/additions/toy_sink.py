"""A kind of output: a text file with the names, and one line of numbers for each row."""

import numpy as np

from lowdim.sinks import Sink


class ToySink(Sink):
    kind = "toy"

    def __init__(self, path, names, inner=None):
        super().__init__(path, names, inner)
        self._file = open(path, "w")  # noqa: SIM115 (closed by `close`)
        print(*names, file=self._file)

    def write(self, results, kept=None):
        np.savetxt(self._file, np.hstack(results), "%.17g")

    def close(self):
        self._file.close()

    def abandon(self):
        self.close()


ROW = (".toy", ToySink)
