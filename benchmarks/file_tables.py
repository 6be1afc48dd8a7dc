"""Tables in files for the benchmarks: made once in a directory, the same each time.

The directory is that of the environment variable LOWDIM_BENCH_FILES, or `lowdim_bench_files` among the temporary files.
Rows have ten latent variables and noise; a file is kept until its directory is deleted.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LATENT = 10
FILES = 16
#: Rows that are made at a time.
_ROWS = 1 << 17


def folder() -> Path:
    """Where the files are."""
    return Path(os.environ.get("LOWDIM_BENCH_FILES", Path(tempfile.gettempdir(), "lowdim_bench_files")))


@dataclass(frozen=True)
class FileTable:
    """A directory with the files of one table, and the sums that exact answers need."""

    path: Path
    shape: tuple[int, int]
    mean: np.ndarray
    cov: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers, as float64."""
        return 8 * self.shape[0] * self.shape[1]

    @property
    def names(self) -> list[str]:
        """The columns."""
        return [f"x{j}" for j in range(self.shape[1])]


def blocks(shape: tuple[int, int], seed: int = 0):
    """The rows of a table, in blocks."""
    n, p = shape
    loadings = np.random.default_rng(seed).standard_normal((LATENT, p)) * np.linspace(3.0, 1.0, LATENT)[:, None]
    for number, i in enumerate(range(0, n, _ROWS)):
        random = np.random.default_rng([seed, number])
        rows = min(_ROWS, n - i)
        yield random.standard_normal((rows, LATENT)) @ loadings + random.standard_normal((rows, p)) + 10.0


def table(kind: str, shape: tuple[int, int]) -> FileTable:
    """The table of this shape as files of a kind ("parquet", "csv" or "npy"), which are written if they are missing."""
    path = folder() / f"{kind}-{shape[0]}x{shape[1]}"
    known = path / "_moments.npz"
    if not known.exists():
        path.mkdir(parents=True, exist_ok=True)
        n, mean, scatter = 0, np.zeros(shape[1]), np.zeros((shape[1], shape[1]))
        write = {"parquet": _write_parquet, "csv": _write_csv, "npy": _write_npy}[kind](path, shape)
        for block in blocks(shape):
            stored = write.send(block)
            # Two-pass moments of the block, merged as in [1] of lowdim.summaries.Moments, in plain NumPy.
            centre = stored.mean(axis=0)
            d, m = centre - mean, len(stored)
            scatter += (stored - centre).T @ (stored - centre) + np.outer(d, d) * (n * m / (n + m))
            mean, n = mean + d * (m / (n + m)), n + m
        write.close()
        np.savez(known, mean=mean, cov=scatter / (n - 1))
    with np.load(known) as found:
        return FileTable(path, shape, found["mean"], found["cov"])


def _write_parquet(path, shape):
    """A generator to which blocks are sent; it writes them to `FILES` files and gives back what is stored."""
    from pyarrow import parquet, table

    def write(i, block):
        # A dictionary of values that occur once would make the files a quarter larger.
        columns = table({f"x{j}": block[:, j] for j in range(shape[1])})
        parquet.write_table(columns, path / f"part-{i:04d}.parquet", use_dictionary=False)

    return _started(_in_files(shape, write))


def _write_csv(path, shape):
    from pyarrow import csv, table

    def write(i, block):
        csv.write_csv(table({f"x{j}": block[:, j] for j in range(shape[1])}), path / f"part-{i:04d}.csv")

    return _started(_in_files(shape, write, digits=6))


def _write_npy(path, shape):
    out = np.lib.format.open_memmap(path / "rows.npy", mode="w+", dtype=np.float64, shape=shape)

    def fill():
        start, block = 0, (yield None)
        while True:
            out[start : start + len(block)] = block
            start += len(block)
            block = yield block

    return _started(fill())


def _in_files(shape, write, digits=None):
    """One file for each few blocks."""
    per_file = max(1, -(-shape[0] // (FILES * _ROWS)))
    held, number = [], 0
    block = yield None
    try:
        while True:
            block = block if digits is None else np.round(block, digits)
            held.append(block)
            if len(held) == per_file:
                write(number, np.concatenate(held))
                held, number = [], number + 1
            block = yield block
    finally:
        if held:
            write(number, np.concatenate(held))


def _started(generator):
    next(generator)
    return generator
