"""Tables with categories: MCA and FAMD beside the bare products of zeros and ones, and beside other libraries."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import lowdim
from benchmarks.harness import Case, Contender

#: Levels of each category, and the rows of a block of the bare products.
LEVELS, BLOCK = 8, 8192
#: The columns of numbers in tables that have both.
NUMBERS = 30
K = 5


@dataclass(frozen=True)
class Mixed:
    """Numbers, and the codes of categories, that follow three hidden variables."""

    numbers: np.ndarray
    codes: np.ndarray

    @property
    def nbytes(self):
        return self.numbers.nbytes + self.codes.nbytes

    @cached_property
    def frame(self):
        """A data frame of pandas with categoricals."""
        levels = [f"level {i}" for i in range(LEVELS)]
        categories = {f"c{j}": pd.Categorical.from_codes(codes, levels) for j, codes in enumerate(self.codes.T)}
        return pd.DataFrame({f"x{j}": column for j, column in enumerate(self.numbers.T)} | categories)

    @cached_property
    def folder(self):
        return tempfile.TemporaryDirectory()

    @cached_property
    def path(self):
        """A file of Parquet with categories as text."""
        path, n, rows = Path(self.folder.name) / "table.parquet", len(self.codes), 1 << 18
        levels = pa.array([f"level {i}" for i in range(LEVELS)])
        names = [f"c{j}" for j in range(self.codes.shape[1])]
        with parquet.ParquetWriter(path, pa.schema([(name, pa.string()) for name in names])) as file:
            for i in range(0, n, rows):
                texts = [levels.take(pa.array(codes[i : i + rows])) for codes in self.codes.T]
                file.write_table(pa.table(texts, names=names))
        return path


def mixed(shape, numbers=0, seed=0):
    """n rows of p columns, of which the first are numbers."""
    n, p = shape
    numbers = min(numbers, p - 1)
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 3), dtype=np.float32)
    edges = np.linspace(-1.5, 1.5, LEVELS - 1, dtype=np.float32)
    codes = np.empty((n, p - numbers), dtype=np.int8)
    for j in range(p - numbers):
        codes[:, j] = np.searchsorted(edges, hidden[:, j % 3] + 1.5 * rng.standard_normal(n, dtype=np.float32))
    rest = np.empty((n, numbers))
    for j in range(numbers):
        rest[:, j] = hidden[:, j % 3] + rng.standard_normal(n, dtype=np.float32)
    return Mixed(rest, codes)


def counts_of(data):
    """The counts of all pairs of levels, as whole numbers."""
    p = data.codes.shape[1]
    counts = np.zeros((p * LEVELS, p * LEVELS))
    for rows in _blocks(data):
        counts += zeros_and_ones(data.codes[rows], np.float32).T @ zeros_and_ones(data.codes[rows], np.float32)
    return counts


def zeros_and_ones(codes, dtype):
    n, p = codes.shape
    out = np.zeros((n, p * LEVELS), dtype)
    out[np.arange(n)[:, None], codes + np.arange(p) * LEVELS] = 1
    return out


def _blocks(data):
    return [slice(i, j) for i, j in pairwise([*range(0, len(data.codes), BLOCK), len(data.codes)])]


def of_categories(data, k):
    """The eigenvalues of MCA, from the table of counts of pairs."""
    n, p = data.codes.shape
    counts = counts_of(data)
    share = np.diagonal(counts) / n
    root = np.sqrt(np.where(share > 0, share, 1.0) * p)
    return np.linalg.eigvalsh((counts / n - np.outer(share, share)) / root / root[:, None])[::-1][:k]


def of_both(data, k):
    """The eigenvalues of FAMD, from numbers and columns of zeros and ones."""
    n, total, second = len(data.codes), 0.0, 0.0
    for rows in _blocks(data):
        Z = np.hstack([data.numbers[rows], zeros_and_ones(data.codes[rows], np.float64)])
        total, second = total + Z.sum(axis=0), second + Z.T @ Z
    mean = total / n
    cov = second / n - np.outer(mean, mean)
    a = data.numbers.shape[1]
    unit = np.sqrt(np.concatenate([np.diagonal(cov)[:a], np.where(mean[a:] > 0, mean[a:], 1.0)]))
    return np.linalg.eigvalsh(cov / unit / unit[:, None])[::-1][:k]


def bare(data, k):
    """The sum of the products of blocks, of float32 for zeros and ones, and of float64 where there are numbers."""
    a = data.numbers.shape[1]

    def products():
        total = 0.0
        for rows in _blocks(data):
            Z = zeros_and_ones(data.codes[rows], np.float64 if a else np.float32)
            Z = np.hstack([data.numbers[rows], Z]) if a else Z
            total = total + Z.T @ Z
        return total

    return products


def read_and_multiplied(data, k):
    """Reading the file, and the products of blocks of zeros and ones."""

    def products():
        total = 0.0
        names = [f"c{j}" for j in range(data.codes.shape[1])]
        with parquet.ParquetFile(data.path, read_dictionary=names) as file:
            for batch in file.iter_batches(BLOCK * 8):
                codes = np.column_stack([batch.column(name).indices.to_numpy() for name in names])
                for i in range(0, len(codes), BLOCK):
                    Z = zeros_and_ones(codes[i : i + BLOCK], np.float32)
                    total = total + Z.T @ Z
        return total

    return products


def of_prince(data, k):
    import prince

    frame = data.frame.astype(str)
    return lambda: prince.MCA(n_components=k, random_state=0).fit(frame)


def inertias(model):
    return model.explained_variance_


def prince_inertias(model):
    return model.eigenvalues_


def _make(data, attribute):
    """The data, with what a contender needs made before it is timed."""
    getattr(data, attribute)
    return data


CASES = [
    Case(
        "mca",
        f"MCA of {LEVELS} levels a column, in memory",
        "<= 1.5 x the bare products",
        (1_000_000, 30),
        K,
        mixed,
        of_categories,
        [
            Contender("lowdim", lambda data, k: lambda frame=data.frame: lowdim.MCA(k).fit(frame), inertias),
            Contender("bare products", bare, None),
        ],
    ),
    Case(
        "famd",
        f"FAMD of {NUMBERS} numbers and 20 categories, in memory",
        "<= 1.5 x the bare products",
        (1_000_000, NUMBERS + 20),
        K,
        lambda shape: mixed(shape, NUMBERS),
        of_both,
        [
            Contender("lowdim", lambda data, k: lambda frame=data.frame: lowdim.FAMD(k).fit(frame), inertias),
            Contender("bare products", bare, None),
        ],
    ),
    Case(
        "mca-parquet",
        "MCA from Parquet",
        "<= 1.6 x reading and products, <= 1.5 GiB",
        (5_000_000, 50),
        K,
        lambda shape: _make(mixed(shape), "path"),
        of_categories,
        [
            Contender("lowdim", lambda data, k: lambda: lowdim.MCA(k).fit(data.path), inertias),
            Contender("bare reading and products", read_and_multiplied, None),
        ],
    ),
    Case(
        "mca-peers",
        "MCA beside other libraries",
        ">= 10 x faster than prince",
        (100_000, 20),
        K,
        mixed,
        of_categories,
        [
            Contender("lowdim", lambda data, k: lambda frame=data.frame: lowdim.MCA(k).fit(frame), inertias),
            Contender("prince", of_prince, prince_inertias),
        ],
        needs=("prince",),
    ),
]
