"""Loadings as a heatmap and as bars, against the loadings of the models."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from lowdim import CCA, GCCA, ICA, PCA, PLSRegression, bootstrap, inspect

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.standard_normal((60, 5)) @ RNG.standard_normal((5, 5)), columns=["a", "b", "c", "d", "e"])
Y = X.iloc[:, :2].to_numpy() + RNG.standard_normal((60, 2))


def ticks(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


@pytest.mark.parametrize("model", [PCA(3), ICA(3, random_state=0), PLSRegression(3)], ids=lambda m: type(m).__name__)
@pytest.mark.filterwarnings("ignore::lowdim.errors.LowdimWarning")
def test_the_heatmap_has_the_loadings_and_their_names(model):
    ax = model.fit(X, Y).plot.loadings()
    (image,) = ax.images
    expected = inspect.loadings(model)
    np.testing.assert_allclose(image.get_array(), expected.values)
    low, high = image.get_clim()
    assert low == -high
    assert ticks(ax.yaxis) == list("abcde")
    assert ticks(ax.xaxis) == expected.columns
    assert [text.get_text() for text in ax.texts] == [f"{value:.2f}" for value in expected.values.ravel()]


def test_numbers_are_readable_on_their_cells():
    ax = PCA(3).fit(X).plot.loadings()
    (image,) = ax.images
    cells = image.to_rgba(image.get_array())
    for text in ax.texts:
        column, row = text.get_position()
        cell, ink = cells[int(row), int(column), :3], np.array(to_rgb(text.get_color()))
        other = 1.0 - ink
        assert np.abs(cell - ink).mean() > np.abs(cell - other).mean() - 0.25


def test_chosen_components():
    pca = PCA(4).fit(X)
    np.testing.assert_allclose(pca.plot.loadings([4, "PC1"]).images[0].get_array(), pca.loadings_[:, [3, 0]])


def test_many_columns_and_components_show_the_largest_and_say_so():
    wide = RNG.standard_normal((40, 2000))
    pca = PCA(20).fit(wide)
    ax = pca.plot.loadings()
    strongest = np.sort(np.argsort(-np.sum(pca.loadings_[:, :12] ** 2, axis=1))[:30])
    assert ticks(ax.yaxis) == [f"x{j + 1}" for j in strongest]
    note = ax.get_title(loc="right")
    assert note == "30 of 2,000 columns, those of the largest loadings; 12 of 20 components"
    assert len(ax.texts) == 0


def test_bars_are_sorted_by_magnitude_with_intervals():
    pca = PCA(2).fit(X)
    draws = bootstrap(PCA(2), X, n_resamples=50, random_state=0)
    ax = pca.plot.loading_bars("PC2", bootstrap=draws)
    order = np.argsort(-np.abs(pca.loadings_[:, 1]))
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], pca.loadings_[order, 1])
    assert ticks(ax.yaxis) == [X.columns[j] for j in order]
    low, high = draws.interval("loadings")[:, order, 1]
    (whiskers,) = ax.collections
    ends = np.array([segment[:, 0] for segment in whiskers.get_segments()])
    values = pca.loadings_[order, 1]
    np.testing.assert_allclose(ends, np.column_stack([np.minimum(low, values), np.maximum(high, values)]))
    hatched = [bar.get_hatch() is not None for bar in ax.patches]
    assert hatched == [bool(a <= 0 <= b) for a, b in zip(low, high, strict=True)]
    # The largest is on top.
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_bars_of_many_columns():
    wide = RNG.standard_normal((40, 2000))
    ax = PCA(1).fit(wide).plot.loading_bars()
    assert len(ax.patches) == 30
    assert ax.get_title(loc="right") == "30 of 2,000 columns, those of the largest size"


def test_a_bootstrap_of_something_else():
    draws = bootstrap(CCA(1), X, Y, n_resamples=5, random_state=0)
    with pytest.raises(ValueError, match="'loadings' is not one of 'correlations'"):
        PCA(1).fit(X).plot.loading_bars(bootstrap=draws)


def test_other_tables():
    cca = CCA(2).fit(X, pd.DataFrame(Y, columns=["u", "v"]))
    ax = cca.plot.loadings(table="y")
    np.testing.assert_allclose(ax.images[0].get_array(), cca.y_loadings_)
    assert ticks(ax.yaxis) == ["u", "v"]
    gcca = GCCA(1).fit([X, Y, X.iloc[:, 2:]])
    assert len(gcca.plot.loading_bars(table=2).patches) == 3


def test_one_column():
    ax = PCA(1).fit(X[["a"]]).plot.loadings()
    np.testing.assert_allclose(ax.images[0].get_array(), [[X["a"].std()]])
    assert len(PCA(1).fit(X[["a"]]).plot.loading_bars().patches) == 1
