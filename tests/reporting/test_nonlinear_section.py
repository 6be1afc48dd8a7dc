"""What the section about kernel PCA and ICA says."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_circles

from lowdim.errors import LowdimWarning, without_warnings
from lowdim.reporting import nonlinear
from lowdim.reporting.analysis import Analysis, Request
from lowdim.reporting.blocks import Chart, Listing, Prose
from lowdim.reporting.columns import OpenedTable


def section_of(X, k=2, **given):
    with without_warnings(LowdimWarning):
        a = Analysis(OpenedTable(X, **given), Request(n_components=k))
        return a, nonlinear.section(a)


def words(section):
    return " ".join(block.text for block in section.blocks if isinstance(block, Prose))


def test_iris_needs_no_curves():
    iris = load_iris(as_frame=True)
    a, section = section_of(iris.data, labels=iris.target_names[iris.target])
    text = words(section)
    assert "keep PCA" in text and section.summary == ""
    assert f"PCA's map keeps {100 * a.beyond.pca.kept.mean():.1f}%" in text
    assert f"right for {100 * a.beyond.pca.by_means.mean():.1f}% of the rows with PCA" in text
    (table,) = (block.table for block in section.blocks if isinstance(block, Listing))
    assert table.rows == ["PCA", "kernel PCA", "ICA"] and np.isclose(
        table["neighbours kept"][0], a.beyond.pca.kept.mean()
    )


def test_circles_do():
    X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    a, section = section_of(X, labels=np.where(y == 1, "inner", "outer"))
    assert "kernel PCA sets the groups by label apart better" in words(section)
    gain = a.beyond.kernel.by_means.mean() - a.beyond.pca.by_means.mean()
    assert f"{100 * gain:.1f}% more of the rows" in section.summary


def test_mixed_sources_are_reported():
    random = np.random.default_rng(0)
    sources = np.column_stack([random.laplace(size=800), random.uniform(-1, 1, 800), random.laplace(size=800)])
    rotation, _ = np.linalg.qr(random.standard_normal((3, 3)))
    a, section = section_of(sources / sources.std(axis=0) @ rotation, k=3)
    text = words(section)
    assert "farther from Gaussian than chance explains" in text and "more than a fit to chance" in text
    assert f"+{a.beyond.sources.kurtosis[0]:.2g}" in text


def test_the_maps_show_the_same_rows_in_the_same_colours():
    iris = load_iris(as_frame=True)
    a, section = section_of(iris.data, labels=iris.target_names[iris.target])
    (chart,) = (block for block in section.blocks if isinstance(block, Chart))
    assert len(chart.data) == 9 and sum(trace["showlegend"] for trace in chart.data) == 3
    for first, second in zip(chart.data[:3], chart.data[3:6], strict=True):
        assert first["marker"] == second["marker"] and first["text"] == second["text"]
        assert (first["xaxis"], second["xaxis"]) == ("x", "x2")
    drawn = np.concatenate([trace["x"] for trace in chart.data[:3]])
    assert np.allclose(drawn, a.beyond.pca.scores[:, 0], atol=1e-4)


def test_large_tables_are_a_sample_and_small_ones_say_nothing(monkeypatch):
    X = np.random.default_rng(0).standard_normal((200, 3))
    monkeypatch.setattr("lowdim.reporting.analysis.MOST_ROWS", 100)
    _, section = section_of(X)
    assert "a random sample of 100 rows" in section.lead
    assert section_of(X[:20])[1] is None


@pytest.mark.parametrize("standardize", [True, False])
def test_columns_are_compared_in_the_units_of_the_report(standardize):
    X = np.random.default_rng(0).standard_normal((60, 3)) * [1.0, 2.0, 3.0]
    with without_warnings(LowdimWarning):
        a = Analysis(OpenedTable(X), Request(standardize=standardize))
        found = a.beyond.pca.scores
    centred = X - X.mean(axis=0)
    centred = centred / X.std(axis=0, ddof=1) if standardize else centred
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    assert np.allclose(np.abs(found), np.abs(U[:, :2] * s[:2]))
