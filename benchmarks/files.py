"""Fits to files compared with only reading them, and with other libraries that are fed by the same reader."""

from __future__ import annotations

from functools import partial

import numpy as np
from pyarrow import dataset, parquet
from pyarrow import table as arrow_table
from sklearn.decomposition import IncrementalPCA

import lowdim
from benchmarks.file_tables import table
from benchmarks.harness import Case, Contender

try:
    import dask.dataframe as dask_frames
    from dask_ml import decomposition as dask_ml
except ImportError:
    dask_ml = None

#: Rows and columns: 4 GiB and, for libraries that take long, 512 MiB of Parquet; 230 MiB of CSV; 1 GiB of NPY.
PARQUET, LESS, CSV, NPY = (8_388_608, 64), (1_048_576, 64), (400_000, 64), (2_097_152, 64)
K = 10


def eigenvalues(data, k):
    """Eigenvalues of the covariance, from moments that were computed when the files were made."""
    return np.linalg.eigvalsh(data.cov)[::-1][:k]


def batches(data, kind):
    """All columns of all files, read by pyarrow in its own threads."""
    files = dataset.dataset(sorted(data.path.glob(f"*.{kind}")), format=kind)
    return files.scanner(columns=data.names).to_batches()


def as_array(batch):
    """A batch of columns as an array of rows."""
    return np.column_stack([column.to_numpy() for column in batch.columns])


# ---- Fits


def lowdim_fit(kind):
    return lambda data, k: lambda: lowdim.PCA(k).fit(lowdim.scan(data.path / f"*.{kind}"))


def only_reading(kind):
    def setup(data, k):
        def read():
            return sum(batch.num_rows for batch in batches(data, kind))

        return read

    return setup


def incremental(data, k):
    """scikit-learn's IncrementalPCA, which gets each batch of the same reader."""

    def fit():
        pca = IncrementalPCA(k)
        for batch in batches(data, "parquet"):
            pca.partial_fit(as_array(batch))
        return pca

    return fit


def by_dask(data, k):
    def fit():
        rows = dask_frames.read_parquet(data.path, columns=data.names).to_dask_array(lengths=True)
        return dask_ml.PCA(k, svd_solver="full").fit(rows)

    return fit


def in_memory(data, k):
    X = np.load(data.path / "rows.npy")
    return lambda: lowdim.PCA(k).fit(X)


def explained(pca):
    return pca.explained_variance_


def contender(name, setup, values=explained, **options):
    return Contender(name, setup, values, **options)


# ---- Writing


def written_scores(data, k):
    """Scores of all rows, to one Parquet file."""
    pca = lowdim.PCA(k).fit(lowdim.scan(data.path / "part-0000.parquet"))
    out = data.path.parent / "scores.parquet"
    return lambda: pca.transform_to(lowdim.scan(data.path / "*.parquet"), out, overwrite=True)


def read_and_write(data, k):
    """All columns are read, and the first k of them written."""
    out = data.path.parent / "copied.parquet"
    names = [f"pc{j}" for j in range(k)]

    def write():
        schema = arrow_table({name: np.zeros(0) for name in names}).schema
        with parquet.ParquetWriter(out, schema, use_dictionary=False) as file:
            for batch in batches(data, "parquet"):
                file.write_table(arrow_table(dict(zip(names, batch.columns, strict=False))))
        return out

    return write


DASK = [] if dask_ml is None else [contender("dask-ml", by_dask, once=True)]
CASES = [
    Case(
        "parquet",
        "PCA of 4 GiB of Parquet, 8,388,608 x 64, K=10",
        "<= 1.4 x only reading",
        PARQUET,
        K,
        partial(table, "parquet"),
        eigenvalues,
        [
            contender("lowdim", lowdim_fit("parquet")),
            contender("pyarrow, only reading", only_reading("parquet"), None),
        ],
    ),
    Case(
        "parquet-peers",
        "the same, 512 MiB, 1,048,576 x 64",
        "",
        LESS,
        K,
        partial(table, "parquet"),
        eigenvalues,
        [
            contender("lowdim", lowdim_fit("parquet")),
            contender("scikit-learn IncrementalPCA", incremental, once=True),
            *DASK,
        ],
    ),
    Case(
        "csv",
        "PCA of 230 MiB of CSV, 400,000 x 64, K=10",
        "<= 1.4 x only reading",
        CSV,
        K,
        partial(table, "csv"),
        eigenvalues,
        [
            contender("lowdim", lowdim_fit("csv")),
            contender("pyarrow, only reading", only_reading("csv"), None),
        ],
    ),
    Case(
        "npy",
        "PCA of 1 GiB of NPY, 2,097,152 x 64, K=10, in the page cache",
        "<= 1.2 x the fit to an array",
        NPY,
        K,
        partial(table, "npy"),
        eigenvalues,
        [
            contender("lowdim", lambda data, k: lambda: lowdim.PCA(k).fit(data.path / "rows.npy")),
            contender("lowdim, array in memory", in_memory),
        ],
    ),
    Case(
        "scores",
        "scores of 4 GiB of Parquet to Parquet, K=10",
        "<= 1.3 x reading and writing",
        PARQUET,
        K,
        partial(table, "parquet"),
        eigenvalues,
        [
            contender("lowdim transform_to", written_scores, None),
            contender("pyarrow, reading and writing", read_and_write, None),
        ],
    ),
]
