"""Scores, contributions, cos2 and correlations of rows in files."""

import numpy as np
import pandas as pd
import pytest

from lowdim import PCA
from lowdim.inspect import correlations


def test_correlations_of_rows_in_a_file(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((50, 3)), columns=["a", "b", "c"])
    frame.assign(name="x").to_csv(tmp_path / "rows.csv", index=False)
    pca = PCA(2).fit(frame)
    expected = correlations(pca, frame)
    found = correlations(pca, tmp_path / "rows.csv")
    assert found.rows == ["a", "b", "c"]
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)


def test_supplementary_columns_with_the_labels_in_another_order_are_refused():
    labels = [f"row {i}" for i in range(10)]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 3)), index=labels, columns=["a", "b", "c"])
    pca = PCA(2).fit(X)
    with pytest.raises(ValueError, match="same row labels in another order"):
        pca.tables.correlations(X, X[["a"]].iloc[::-1])
