"""What the section about kernel PCA and ICA says."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris, make_circles
from sklearn.neighbors import NearestNeighbors

from lowdim import PCA
from reporting.tables import charts, listings, prose, section_of

IRIS = load_iris(as_frame=True)
SPECIES = IRIS.target_names[IRIS.target]


def _section(X, k=2, **options):
    return section_of(X, "beyond", n_components=k, **options)


@pytest.fixture(scope="module")
def iris():
    return _section(IRIS.data, hue=SPECIES)


def test_iris_needs_no_curves(iris):
    text = prose(iris)
    assert "keep PCA" in text and iris.summary == ""
    (table,) = listings(iris)
    assert table.rows == ["PCA", "kernel PCA", "ICA"]
    kept, right = table["neighbours kept"][0], table["right by means"][0]
    Z = PCA(2).fit_transform(IRIS.data)
    both = [NearestNeighbors(n_neighbors=10).fit(A).kneighbors(return_distance=False) for A in (IRIS.data, Z)]
    # Ties of equal rows may be broken in another way.
    assert abs(kept - np.mean([len(set(a) & set(b)) / 10 for a, b in zip(*both, strict=True)])) < 0.01
    assert f"PCA's map keeps {100 * kept:.1f}%" in text
    assert f"right for {100 * right:.1f}% of the rows with PCA" in text


def test_groups_of_few_rows_each_are_not_compared():
    makers = np.array([f"maker {i % 25}" for i in range(100)])
    rows = np.random.default_rng(0).standard_normal((100, 4))
    text = prose(_section(rows, hue=makers))
    assert "nearest neighbours of a row" in text and "Straight lines on the map" not in text
    table = pd.DataFrame(rows, columns=list("abcd")).assign(maker=makers, kind=np.where(rows[:, 0] > 0, "x", "y"))
    assert "a group by kind" in prose(_section(table, hue=["maker", "kind"]))


def test_a_difference_that_is_small_is_told_from_one_that_may_be_chance():
    random = np.random.default_rng(0)
    found = [_section(random.standard_normal((40, 5)), hue=random.permutation(list("xy") * 20)) for _ in range(6)]
    pattern = r"right for ([\d.]+)% of the rows with PCA and ([\d.]+)% with kernel PCA(.*)"
    said = [re.search(pattern, prose(section)).groups() for section in found]
    verdicts = {"about the same": 0, "below three standard errors": 0}
    for pca, kernel, verdict in said:
        small = abs(float(pca) - float(kernel)) < 3
        verdicts["about the same" if small else "below three standard errors"] += 1
        assert ("about the same" in verdict) == small
        assert small or "below three standard errors, and may be chance" in verdict
    assert min(verdicts.values()) > 0


def test_circles_do():
    X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    section = _section(X, hue=np.where(y == 1, "inner", "outer"))
    assert "kernel PCA sets the groups apart better" in prose(section)
    pca, kernel = listings(section)[0]["right by means"][:2]
    assert kernel > 0.9 and pca < 0.7
    gain = kernel - pca
    assert f"{100 * gain:.1f}% more of the rows" in section.summary


def test_mixed_sources_are_reported():
    random = np.random.default_rng(0)
    sources = np.column_stack([random.laplace(size=800), random.uniform(-1, 1, 800), random.laplace(size=800)])
    rotation, _ = np.linalg.qr(random.standard_normal((3, 3)))
    text = prose(_section(sources / sources.std(axis=0) @ rotation, k=3))
    assert "farther from Gaussian than chance explains" in text and "more than a fit to chance" in text
    # The excess kurtosis of the two sources of Laplace, of which that of a sample is somewhere near 3.
    said = text.partition("have the excess kurtosis ")[2].partition(";")[0]
    found = np.array([float(number) for number in said.split(" and ")])
    np.testing.assert_allclose(found, np.sort(stats.kurtosis(sources))[::-1][:2], rtol=0.1)


def test_the_maps_show_the_same_rows_in_the_same_colours(iris):
    (chart,) = charts(iris).values()
    assert len(chart.data) == 9 and sum(trace["showlegend"] for trace in chart.data) == 3
    for first, second in zip(chart.data[:3], chart.data[3:6], strict=True):
        assert first["marker"] == second["marker"] and first["text"] == second["text"]
        assert (first["xaxis"], second["xaxis"]) == ("x", "x2")
    drawn = np.concatenate([trace["x"] for trace in chart.data[:3]])
    assert np.allclose(drawn, PCA(2).fit_transform(IRIS.data)[:, 0], atol=1e-4)


def test_large_tables_are_a_sample_and_small_ones_say_nothing(monkeypatch):
    X = np.random.default_rng(0).standard_normal((200, 3))
    monkeypatch.setattr("lowdim.reporting.analysis.MOST_ROWS", 100)
    assert "a random sample of 100 rows" in _section(X).lead
    assert _section(X[:20]) is None


@pytest.mark.parametrize("scale", [True, False])
def test_columns_are_compared_in_the_units_of_the_report(scale):
    X = np.random.default_rng(0).standard_normal((60, 3)) * [1.0, 2.0, 3.0]
    table = charts(_section(X, k=None, scale=scale))["beyond-maps"].table
    found = np.column_stack([table["PCA PC1"], table["PCA PC2"]])
    centred = X - X.mean(axis=0)
    centred = centred / X.std(axis=0, ddof=1) if scale else centred
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    assert np.allclose(np.abs(found), np.abs(U[:, :2] * s[:2]))
