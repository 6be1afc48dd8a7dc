"""A table on disk that is larger than you want in memory: 2,000,000 rows of 50 columns, read block by block.

You learn to reduce a file to a summary in one pass, to compute models from the summary without reading the file again,
and to write scores to another file. The file takes 800 MB; `larger_than_memory.py FOLDER ROWS` writes fewer rows.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import lowdim


def data(path: Path, n: int) -> Path:
    """A Parquet file of n rows with three strong components, written in blocks of 100,000 rows."""
    random = np.random.default_rng(0)
    names = [f"sensor {i}" for i in range(1, 51)]
    directions = random.standard_normal((3, 50)) * [[3.0], [2.0], [1.0]]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as file:
        for start in range(0, n, 100_000):
            m = min(100_000, n - start)
            rows = random.standard_normal((m, 3)) @ directions + random.standard_normal((m, 50))
            file.write_table(pa.table(list(rows.T), names=names))
    return path


folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
rows = lowdim.scan(data(folder / "rows.parquet", int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000))
print(rows, lowdim.plan(lowdim.PCA(3), rows), sep="\n", end="\n\n")

# The only pass over the rows. The summary is a small file, and the rows of other files can be merged into it.
summary = lowdim.reading.summarize(rows, lowdim.summaries.Moments)
lowdim.save(summary, folder / "rows.summary")
pca = lowdim.PCA(3).fit_summary(summary)
print(lowdim.choose_n_components(summary), pca, sep="\n\n", end="\n\n")
print(pca.tables.loadings().sort("PC1", absolute=True).head(5), end="\n\n")
pca.plot.scree().figure.savefig(folder / "larger_than_memory_scree.png")

# A second pass, for the scores.
pca.transform_to(rows, folder / "scores.parquet", overwrite=True)
print(lowdim.scan(folder / "scores.parquet"))
