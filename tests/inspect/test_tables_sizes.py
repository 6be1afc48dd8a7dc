"""Tables of awkward sizes and with awkward labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lowdim import CCA, PCA, FactorAnalysis, PLSRegression, Table, bootstrap, cross_validate
from lowdim.errors import LowdimWarning, without_warnings

AWKWARD = ["🦊 fox", "line\nbreak", "<b>bold</b> & co", '"quoted"', "tab\t", "=1+1", "Größe 山", "x" * 300]
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((40, len(AWKWARD))) @ RNG.standard_normal((len(AWKWARD), len(AWKWARD)))


def tables_of(frame):
    """Tables of several models of a frame."""
    with without_warnings(LowdimWarning):
        pca = PCA(2).fit(frame)
        fa = FactorAnalysis(1).fit(frame)
        pls = PLSRegression(1).fit(frame, frame.iloc[:, :2])
        cca = CCA(1, regularization=0.1).fit(frame, frame.iloc[:, :2])
    yield from (pca.tables.importance(), pca.tables.loadings(), pca.tables.contributions(), pca.tables.cos2(frame))
    yield from (pca.tables.scores(frame), pca.tables.correlations(frame), pca.tables.diagnose(frame).table())
    yield from (fa.tables.communalities(), fa.tables.structure())
    yield from (pls.tables.coefficients(), pls.tables.vip(), cca.tables.structure("y"), cca.tables.scores(frame))


def test_labels_of_all_kinds():
    frame = pd.DataFrame(ROWS, columns=AWKWARD, index=[f"{AWKWARD[i % 8]} {i}" for i in range(40)])
    for table in tables_of(frame):
        lines = table.text(max_rows=None).split("\n")
        blocks = 1 + lines.count("")
        body = len(lines) - len(table.notes) - (blocks - 1) - 1
        assert body == blocks * (len(table) + 1), "one line for each row"
        html = table._repr_html_()
        assert "<b>" not in html and "line\nbreak" not in html
        assert list(table.to_pandas().index) == table.rows
        assert list(table.to_pandas().columns) == table.columns
        assert table.to_polars().shape[0] == len(table)


def test_awkward_names_are_kept_as_they_are():
    frame = pd.DataFrame(ROWS, columns=AWKWARD)
    assert PCA(2).fit(frame).tables.loadings().rows == AWKWARD
    draws = bootstrap(PCA(1), frame, n_resamples=3, random_state=0)
    assert draws.table("loadings").rows == AWKWARD and "<b>" not in draws._repr_html_()
    assert "line\\nbreak" in str(draws)


def test_one_column_and_one_component():
    rows = ROWS[:, :1]
    pca = PCA(1).fit(rows)
    assert str(pca.tables.importance()).split("\n")[2].split()[0] == "PC1"
    assert pca.tables.loadings().shape == pca.tables.contributions().shape == (1, 1)
    assert pca.tables.scores(rows).shape == (40, 1)
    np.testing.assert_allclose(pca.tables.cos2(rows), 1.0)
    pls = PLSRegression(1).fit(rows, rows[:, 0])
    assert pls.tables.coefficients().rows == ["x1"] and pls.tables.coefficients().columns == ["y1"]
    assert cross_validate(PLSRegression(), rows, 2 * rows).table().rows == [1]


def test_two_thousand_columns():
    rows = RNG.standard_normal((30, 2000))
    pca = PCA(25).fit(rows)
    loadings = pca.tables.loadings()
    assert loadings.shape == (2000, 25) and loadings.rows[-1] == "x2000"
    text = str(loadings)
    assert text.endswith("... 1960 more rows, 5 more columns") and len(text) < 20_000
    assert len(loadings._repr_html_()) < 100_000
    wide = Table.from_matrix(rows, [f"x{j}" for j in range(2000)])
    assert len(str(wide)) < 10_000 and wide.to_pandas().shape == (30, 2000)
    assert all(len(line) <= 80 for line in text.split("\n"))


@pytest.mark.parametrize("labelled", [True, False])
def test_a_million_rows(labelled):
    """Rows are neither copied nor looped over, and labels are kept as they are."""
    n = 1_000_000
    rows = RNG.standard_normal((n, 2)).astype(np.float32) * [3.0, 1.0]
    index = pd.RangeIndex(10, n + 10) if labelled else None
    frame = pd.DataFrame(rows.astype(np.float32), columns=["a", "b"], index=index)
    pca = PCA(2).fit(frame)
    table = pca.tables.scores(frame)
    assert len(table) == n and table["PC1"].dtype == np.float32
    assert table["PC1"].base is not None and np.shares_memory(table["PC1"].base, table["PC2"].base)
    assert "... 999960 more rows" in str(table)
    assert table.to_pandas().index.equals(frame.index)
    first = table.head(2)
    assert first.rows == ([10, 11] if labelled else [0, 1])
    found = pca.tables.diagnose(frame, alpha=1e-5)
    assert len(found.outlier_table()) < 100 and len(str(found).split("\n")) < 20
    assert isinstance(table.to_polars(), pl.DataFrame)
