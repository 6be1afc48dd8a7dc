"""Labels of rows: the index of pandas where it says more than the positions."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from lowdim import scan
from lowdim.sources.opening import row_labels

ROWS = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["a", "b", "c"], name="city"),
        pd.Index([7, 3, 3]),
        pd.RangeIndex(1, 4),
        pd.RangeIndex(0, 6, 2),
        pd.RangeIndex(3, name="id"),
        pd.date_range("2024-01-01", periods=3),
        pd.MultiIndex.from_product([["a"], [1, 2, 3]]),
    ],
    ids=str,
)
def test_an_index_that_says_more_than_positions_is_kept_as_it_is(index):
    frame = pd.DataFrame(ROWS, index=index)
    assert row_labels(frame) is frame.index
    assert row_labels(frame[0]).equals(index)


def test_everything_else_has_no_labels(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    frame.to_parquet(tmp_path / "rows.parquet")
    others = [
        ROWS,
        ROWS.tolist(),
        sparse.csr_array(ROWS),
        pl.DataFrame(ROWS),
        pa.table({"a": [1.0]}),
        iter([ROWS]),
        "rows.csv",
        scan(tmp_path / "rows.parquet"),
        None,
    ]
    assert all(row_labels(X) is None for X in [frame, frame["a"], *others])
