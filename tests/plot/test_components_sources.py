"""Densities and courses of sources."""

import numpy as np
import pytest
from scipy import integrate

from lowdim import ICA

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.laplace(size=3000), RNG.uniform(-1, 1, 3000)]) @ np.array([[3.0, 1.0], [1.0, 2.0]])
MODEL = ICA(random_state=0).fit(X)
U = MODEL.transform(X)


def test_histograms_and_densities_have_the_same_area():
    """On its line, a histogram and the density it is compared with are multiplied by the same number."""
    ax = MODEL.plot.densities(X)
    curves = [line for line in ax.lines if len(line.get_xdata()) == 300]
    for i, (stairs, line) in enumerate(zip(ax.patches, curves, strict=True)):
        base = 1 - i
        heights, edges, _ = stairs.get_data()
        x, y = line.get_data()
        inside = np.mean((U[:, i] >= edges[0]) & (U[:, i] <= edges[-1]))
        area, under = np.sum((heights - base) * np.diff(edges)), integrate.trapezoid(y - base, x)
        np.testing.assert_allclose(area / inside, under, rtol=0.05)
        density = np.exp(-np.asarray(MODEL.densities_[i].energy(x)))
        np.testing.assert_allclose((y - base) / density, np.full(300, (y[150] - base) / density[150]))
        assert (heights - base).max() <= 0.85 + 1e-9
    assert [text.get_text() for text in ax.get_yticklabels()] == ["IC1", "IC2"]


def test_sources_are_drawn_in_the_order_of_rows():
    ax = MODEL.plot.sources(X, n_rows=200)
    courses = [line for line in ax.lines if len(line.get_xdata()) == 200]
    for i, line in enumerate(courses):
        assert np.corrcoef(line.get_ydata(), U[:200, i])[0, 1] == pytest.approx(1.0)
        assert np.ptp(line.get_ydata()) == pytest.approx(0.9)
    assert ax.get_title(loc="right") == "the first 200 of 3,000 rows"


def test_chosen_and_many_sources():
    assert len(MODEL.plot.densities(X, ["IC2"]).patches) == 1
    many = ICA(random_state=0).fit(RNG.laplace(size=(400, 14)))
    ax = many.plot.densities(RNG.laplace(size=(400, 14)))
    assert len(ax.patches) == 12
    assert ax.get_title(loc="right") == "12 of 14 sources"
    assert "12 of 14 sources" in many.plot.sources(RNG.laplace(size=(50, 14))).get_title(loc="right")


def test_components_as_an_array():
    assert len(MODEL.plot.densities(X, np.array([2, 1])).patches) == 2


@pytest.mark.parametrize("n_rows", [0, -3, 2.5])
def test_a_number_of_rows_that_cannot_be_drawn(n_rows):
    with pytest.raises(ValueError, match=f"n_rows={n_rows} must be a whole number"):
        MODEL.plot.sources(X, n_rows=n_rows)
