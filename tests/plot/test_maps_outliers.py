"""T2 against Q, against lowdim.inspect."""

import numpy as np
import pandas as pd
import pytest

from lowdim import PCA, PLSRegression, inspect

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 6)) @ np.diag([4, 3, 1, 1, 1, 1.0])
X[7] += 8.0 * np.eye(6)[5]
X[9] += 20.0 * np.eye(6)[0]


@pytest.mark.parametrize("model", [PCA(2), PLSRegression(2)], ids=["PCA", "PLS"])
def test_points_limits_and_labels(model):
    model.fit(X, X[:, :2] + RNG.standard_normal((60, 2)))
    ax = model.plot.outliers(X)
    found = inspect.diagnose(model, X)
    points = np.vstack([np.asarray(group.get_offsets()) for group in ax.collections])
    expected = np.column_stack([found.t2, found.q])
    np.testing.assert_allclose(points[np.lexsort(points.T)], expected[np.lexsort(expected.T)])
    far = np.asarray(ax.collections[1].get_offsets())
    assert len(far) == len(found.outliers)
    vertical, horizontal = ax.lines
    np.testing.assert_allclose(vertical.get_xdata(), found.t2_limit)
    np.testing.assert_allclose(horizontal.get_ydata(), found.q_limit)
    labels = {text.get_text() for text in ax.texts if text.get_text()}
    assert {"7", "9"} <= labels <= {str(i) for i in found.outliers}


def test_labels_of_the_index_and_none():
    table = pd.DataFrame(X, index=[f"batch {i}" for i in range(60)])
    pca = PCA(2).fit(table)
    assert "batch 7" in {text.get_text() for text in pca.plot.outliers(table).texts}
    assert not pca.plot.outliers(table, labels=False).texts


def test_limits_for_new_rows_and_other_levels():
    pca = PCA(2).fit(X)
    ax = pca.plot.outliers(X[:20], alpha=0.01, new_rows=True)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), inspect.t2_limit(pca, 0.01, new_rows=True))
    np.testing.assert_allclose(ax.lines[1].get_ydata(), inspect.q_limit(pca, 0.01, new_rows=True))


def test_no_row_beyond_a_limit():
    pca = PCA(2).fit(X)
    inner = X[np.setdiff1d(np.arange(60), inspect.diagnose(pca, X).outliers)][:10]
    ax = pca.plot.outliers(inner)
    assert not ax.texts
    assert "beyond a limit: 0 of 10 rows" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_labels_and_weights_are_columns_of_the_table():
    weights = 1.0 + np.arange(60) % 3
    table = pd.DataFrame(X, columns=list("abcdef"))
    pca = PCA(2).fit(table, sample_weight=weights)
    more = table.assign(w=weights, name=[f"batch {i}" for i in range(60)])
    ax = pca.plot.outliers(more, labels="name", sample_weight="w")
    found = inspect.diagnose(pca, table, sample_weight=weights)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), found.q_limit)
    assert {"batch 7", "batch 9"} <= {text.get_text() for text in ax.texts}


def test_a_note_says_how_many_labels_fit():
    rows = np.random.default_rng(1).standard_t(2, (3000, 4))
    pca = PCA(2).fit(rows)
    ax = pca.plot.outliers(rows)
    written = sum(bool(text.get_text()) for text in ax.texts)
    beyond = len(inspect.diagnose(pca, rows).outliers)
    assert 0 < written < beyond
    assert ax.get_title(loc="right") == f"{written} of {beyond} labels fit"
