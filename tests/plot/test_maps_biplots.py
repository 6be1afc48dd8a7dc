"""Arrows of columns, against correlations and the identities of the biplot."""

import numpy as np
import pandas as pd
import pytest

from lowdim import ICA, PCA, PLSRegression, plot

RNG = np.random.default_rng(0)
#: Rows of rank two, which two components represent exactly.
FLAT = RNG.standard_normal((50, 2)) @ RNG.standard_normal((2, 4)) + 1.0
X = pd.DataFrame(RNG.standard_normal((60, 4)) @ RNG.standard_normal((4, 4)) + 5.0, columns=list("abcd"))


def arrows_of(ax):
    """The ends of arrows from the origin."""
    return np.array([text.xy for text in ax.texts if text.arrow_patch is not None and text.xyann == (0.0, 0.0)])


def names_of(ax):
    return {text.get_text(): text.xy for text in ax.texts if text.get_text()}


def test_angles_of_arrows_are_correlations():
    ax = PCA(2).fit(FLAT).plot.biplot(FLAT)
    ends = np.array([names_of(ax)[f"x{j + 1}"] for j in range(4)])
    units = ends / np.linalg.norm(ends, axis=1)[:, None]
    np.testing.assert_allclose(units @ units.T, np.corrcoef(FLAT.T), atol=1e-9)


@pytest.mark.parametrize(
    "model", [PCA(2), PCA(2, whiten=True), ICA(2, random_state=0), PLSRegression(2, scale=False)], ids=repr
)
@pytest.mark.filterwarnings("ignore::lowdim.errors.LowdimWarning")
def test_projections_on_arrows_are_entries(model):
    """For rows of rank two, points times arrows are the centred rows, up to one factor."""
    ax = model.fit(FLAT, FLAT[:, :1] if isinstance(model, PLSRegression) else None).plot.biplot(FLAT)
    ends = np.array([names_of(ax)[f"x{j + 1}"] for j in range(4)])
    products = np.asarray(ax.collections[0].get_offsets()) @ ends.T
    centred = FLAT - FLAT.mean(axis=0)
    factor = np.sum(products * centred) / np.sum(centred**2)
    assert factor > 0
    np.testing.assert_allclose(products, factor * centred, atol=1e-7 * np.abs(products).max())


def test_the_longest_arrow_is_nearly_as_long_as_the_farthest_point_is_far():
    ax = PCA(2).fit(X).plot.biplot(X)
    reach = np.linalg.norm(np.asarray(ax.collections[0].get_offsets()), axis=1).max()
    np.testing.assert_allclose(np.linalg.norm(arrows_of(ax), axis=1).max(), 0.9 * reach)


def test_many_columns_show_the_longest_arrows_and_say_so():
    wide = RNG.standard_normal((30, 2000))
    pca = PCA(2).fit(wide)
    ax = pca.plot.biplot(wide)
    assert len(arrows_of(ax)) == 25
    assert "25 of 2,000 columns, the longest arrows" in ax.get_title(loc="right")
    longest = np.argsort(-np.sum(pca.loadings_**2, axis=1))[:25]
    assert set(names_of(ax)) <= {f"x{j + 1}" for j in longest}
    # The picture also holds the farthest arrows.
    assert np.all(np.abs(arrows_of(ax)) <= np.max([ax.get_xlim(), ax.get_ylim()]))


def test_labels_and_groups_of_rows():
    named = X.set_index(pd.Index([f"r{i}" for i in range(60)]))
    ax = PCA(2).fit(X).plot.biplot(named, hue=np.arange(60) % 3, outline="ellipse")
    assert len(ax.collections) >= 3 and len(ax.patches) == 3
    assert any(name.startswith("r") for name in names_of(ax))


def test_one_component_has_no_plane():
    pca = PCA(1).fit(X)
    assert not {"biplot", "correlation_circle"} & set(dir(pca.plot))
    with pytest.raises(TypeError, match=r"plot.biplot shows loadings of two components, and PCA has none"):
        plot.biplot(pca, X)
    with pytest.raises(ValueError, match="1 components were chosen, and this picture shows two"):
        PCA(2).fit(X).plot.biplot(X, [1])


def test_the_circle_has_the_correlations_of_columns_and_of_further_ones():
    pca = PCA(2).fit(X)
    extra = pd.DataFrame({"sum": X.sum(axis=1), "noise": RNG.standard_normal(60)})
    ax = pca.plot.correlation_circle(X, extra)
    Z = pca.transform(X)
    both = pd.concat([X, extra], axis=1)
    expected = {name: [np.corrcoef(both[name], Z[:, k])[0, 1] for k in range(2)] for name in both}
    assert set(names_of(ax)) == set(expected)
    for name, end in names_of(ax).items():
        np.testing.assert_allclose(end, expected[name], atol=1e-9)
    assert ax.get_aspect() == 1.0
    (circle,) = ax.patches
    assert circle.get_radius() == 1.0


def test_the_circle_of_a_constant_column_and_of_arrays():
    rows = np.column_stack([FLAT, np.ones(50)])
    ax = PCA(2).fit(rows).plot.correlation_circle(rows, np.arange(50.0))
    # The constant column has no arrow.
    assert set(names_of(ax)) == {"x1", "x2", "x3", "x4", "y1"}
