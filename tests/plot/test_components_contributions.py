"""Bars of contributions, and the variance of the components of tables with categories."""

import numpy as np
import pytest

from lowdim import CA, FAMD, MCA, PCA, inspect
from parity.test_factominer import table


def widths(ax):
    return np.array([bar.get_width() for bar in ax.patches])


def test_contributions_of_columns_with_their_average():
    X = table("wine_sensory").iloc[:, 2:]
    model = PCA(3, scale=True).fit(X)
    ax = model.plot.contributions("PC2")
    expected = np.sort(inspect.contributions(model)["PC2"])[::-1]
    np.testing.assert_allclose(widths(ax), expected)
    dashed = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert dashed == [pytest.approx(1 / X.shape[1])]
    assert "average: 3.4%" in ax.get_xlabel()
    sides = {text.get_text() for text in ax.get_legend().get_texts()}
    assert sides == {"above zero", "below zero"}
    below = [bool(bar.get_hatch()) for bar in ax.patches]
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    coordinates = inspect.coordinates(model)
    short = {name[:20]: value for name, value in zip(coordinates.rows, coordinates["PC2"], strict=True)}
    assert below == [short[name[:20]] < 0 for name in names]


def test_contributions_of_levels_and_rows():
    X = table("tea").iloc[:, :18]
    model = MCA(2).fit(X)
    assert model.plot.contributions(1).get_title("right") == "30 of 45 columns and levels, those of the largest size"
    ax = model.plot.contributions(1, X)
    np.testing.assert_allclose(widths(ax), np.sort(inspect.contributions(model, X)["dim1"])[::-1][:30])
    assert "30 of 300 rows" in ax.get_title("right")
    counts = table("housetasks")
    ca = CA(2).fit(counts)
    np.testing.assert_allclose(widths(ca.plot.contributions(1, counts)).sum(), 1.0)
    assert ca.plot.contributions().get_yticklabels()[0].get_text() == "Husband"


def test_scree_of_categories_shows_all_eigenvalues():
    X = table("tea").iloc[:, :18]
    ax = MCA(2).fit(X).plot.scree()
    assert len(ax.lines[0].get_xdata()) == 27
    np.testing.assert_allclose(ax.lines[1].get_ydata()[0], 1 / 18)
    assert ax.get_ylabel() == "inertia"
    famd = FAMD(2).fit(table("poison"))
    np.testing.assert_allclose(famd.plot.scree().lines[1].get_ydata()[0], 1.0)
    assert famd.plot.cumulative().get_ylabel() == "cumulative proportion of inertia"
    assert len(CA(2).fit(table("housetasks")).plot.scree().lines[0].get_xdata()) == 2


def test_scree_of_a_kept_summary():
    ax = PCA(2).fit(np.random.default_rng(0).standard_normal((30, 4))).plot.scree()
    assert ax.get_legend().get_title().get_text() == "components according to"
