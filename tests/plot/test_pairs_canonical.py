"""Variates, correlations and structure of two tables."""

import numpy as np
import pandas as pd
import pytest

from lowdim import CCA, GCCA, PCA, FactorAnalysis, KernelCCA, PLSCanonical, inspect, permutation_test

RNG = np.random.default_rng(0)
SHARED = RNG.standard_normal((70, 2))
X = pd.DataFrame(np.column_stack([SHARED, RNG.standard_normal(70)]) @ RNG.standard_normal((3, 3)), columns=list("abc"))
Y = pd.DataFrame(SHARED @ RNG.standard_normal((2, 4)) + RNG.standard_normal((70, 4)), columns=list("uvwz"))


def texts_of(ax):
    return {text.get_text(): text.xy for text in ax.texts if text.get_text()}


@pytest.mark.parametrize("model", [CCA(2), PLSCanonical(2), KernelCCA(2)], ids=lambda m: type(m).__name__)
def test_variates_and_their_correlation(model):
    model.fit(X, Y)
    ax = model.plot.variates(X, Y, 2)
    left, right = (np.asarray(side)[:, 1] for side in model.transform(X, Y))
    np.testing.assert_allclose(np.asarray(ax.collections[0].get_offsets()), np.column_stack([left, right]))
    assert ax.get_title(loc="left") == f"correlation {np.corrcoef(left, right)[0, 1]:.3f}"


def test_variates_with_groups_and_labels():
    ax = CCA(1).fit(X, Y).plot.variates(X[:5], Y[:5], hue=list("ababa"), labels=list("ABCDE"))
    assert set(texts_of(ax)) == set("ABCDE")
    assert len(ax.get_legend().get_texts()) == 2


def test_variates_of_one_table_with_named_columns():
    """The second table, groups and labels are columns of the table that holds the rows."""
    both = pd.concat([X, Y], axis=1).assign(group=list("ab") * 35, name=[f"row {i}" for i in range(70)])
    cca = CCA(1).fit(X, Y)
    ax = cca.plot.variates(both, list("uvwz"), hue="group", labels="name")
    points = np.column_stack([np.asarray(side)[:, 0] for side in cca.transform(X, Y)])
    for i, group in enumerate(ax.collections[:2]):
        np.testing.assert_allclose(np.asarray(group.get_offsets()), points[i::2])
    assert set(texts_of(ax)) <= set(both["name"])


def test_correlations_without_a_test():
    for model in (CCA().fit(X, Y), GCCA(2).fit([X, Y])):
        ax = model.plot.correlations()
        np.testing.assert_allclose([bar.get_height() for bar in ax.patches], model.correlations_)
        assert ax.get_legend() is None


def test_the_band_holds_the_shuffles():
    cca = CCA().fit(X, Y)
    test = permutation_test(CCA(), X, Y, n_resamples=99, random_state=0)
    ax = cca.plot.correlations(test)
    np.testing.assert_allclose(sorted(bar.get_height() for bar in ax.patches), np.sort(cca.correlations_))
    for k, band in enumerate(ax.collections):
        heights = band.get_paths()[0].vertices[:, 1]
        np.testing.assert_allclose(heights.min(), test.null_strength[:, k].min())
        np.testing.assert_allclose(heights.max(), np.quantile(test.null_strength[:, k], 0.95))
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["95% of 99 shuffles", "significant", "not significant"]


def test_with_regularization_the_singular_values_are_drawn():
    model = CCA(2, regularization=0.3).fit(X, Y)
    test = permutation_test(CCA(regularization=0.3), X, Y, n_resamples=19, random_state=0)
    ax = model.plot.correlations(test)
    assert ax.get_ylabel() == "singular value"
    np.testing.assert_allclose(sorted(bar.get_height() for bar in ax.patches), np.sort(model.singular_values_))


def test_structure_in_a_circle():
    cca = CCA(2).fit(X, Y)
    ax = cca.plot.structure()
    for points, values in zip(ax.collections, (cca.x_structure_, cca.y_structure_), strict=True):
        order = np.argsort(-np.sum(values**2, axis=1))
        np.testing.assert_allclose(np.asarray(points.get_offsets()), values[order])
    assert set(texts_of(ax)) == set("abcuvwz")
    U, V = cca.transform(X, Y)
    np.testing.assert_allclose(texts_of(ax)["b"][1], np.corrcoef(X["b"], np.asarray(U)[:, 1])[0, 1])
    np.testing.assert_allclose(texts_of(ax)["w"][0], np.corrcoef(Y["w"], np.asarray(V)[:, 0])[0, 1])


def test_structure_of_one_pair_as_bars():
    for ax in (CCA(1).fit(X, Y).plot.structure(), CCA(2).fit(X, Y).plot.structure([1])):
        cca = CCA(1).fit(X, Y)
        first = np.sort(np.abs(cca.x_structure_[:, 0]))[::-1]
        second = np.sort(np.abs(cca.y_structure_[:, 0]))[::-1]
        np.testing.assert_allclose([abs(bar.get_width()) for bar in ax.patches], np.concatenate([first, second]))
        assert {text.get_text() for text in ax.get_yticklabels()} == set("abcuvwz")


def test_a_test_of_something_else():
    test = permutation_test(PCA(), X, n_resamples=19)
    with pytest.raises(ValueError, match="the permutation test is of PCA"):
        CCA(1).fit(X, Y).plot.correlations(test)


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_structure_of_factors_and_of_several_tables():
    fa = FactorAnalysis(1, scale=True).fit(X)
    ax = fa.plot.structure()
    np.testing.assert_allclose(
        sorted(abs(bar.get_width()) for bar in ax.patches), np.sort(np.abs(inspect.structure(fa).values[:, 0]))
    )
    assert ax.get_legend() is None
    tables = [X, Y, pd.DataFrame(SHARED, columns=["s", "t"])]
    gcca = GCCA(2).fit(tables)
    ax = gcca.plot.structure()
    for i, points in enumerate(ax.collections):
        values = np.asarray(gcca.structure_[i])
        order = np.argsort(-np.sum(values**2, axis=1), kind="stable")
        np.testing.assert_allclose(np.asarray(points.get_offsets()), values[order])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [f"columns of table {i}" for i in range(3)]


def test_structure_of_many_columns():
    wide = RNG.standard_normal((60, 40))
    cca = CCA(2, regularization=0.5).fit(wide, Y[:60])
    assert cca.plot.structure().get_title(loc="right") == "25 of 40 columns of X"
    assert cca.plot.structure([1]).get_title(loc="right") == "15 of 40 columns of X"
    with pytest.raises(ValueError, match="one or two"):
        cca.plot.structure([1, 2, 1])
