"""Weights, folds and groups that are columns of a data frame of Spark."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold

from lowdim import PCA, KernelPCA, PLSRegression, bootstrap, choose_n_components, cross_validate

from .conftest import COLUMNS


@pytest.fixture(scope="module")
def weighted(table):
    return table.select("id", *COLUMNS, "w")


@pytest.fixture(scope="module")
def folded(table):
    return table.select("id", *COLUMNS, "fold")


@pytest.mark.parametrize("model", [PCA(2), PCA(2, solver="krylov"), KernelPCA(2)], ids=["one pass", "passes", "rows"])
def test_weights(weighted, X, along, model):
    found = model.fit(weighted, sample_weight="w").explained_variance_.copy()
    np.testing.assert_allclose(found, model.fit(X, sample_weight=along[0]).explained_variance_, rtol=1e-10)


def test_weights_of_two_tables(weighted, X, along):
    found = PLSRegression(2).fit(weighted, "e", sample_weight="w")
    expected = PLSRegression(2).fit(X[:, :4], X[:, 4], sample_weight=along[0])
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    ours, theirs = found.score(weighted, "e", "w"), expected.score(X[:, :4], X[:, 4], along[0])
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_weights_in_an_array_are_refused(numbers):
    """They were ignored once, which gives a wrong answer."""
    with pytest.raises(TypeError, match=r"weights in an array go by the order.*name of a column"):
        PCA(2).fit(numbers, sample_weight=np.ones(240))


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("'x'", "must hold numbers: got column 'v'"),
        ("-1", "must not be negative"),
        ("0", "all zero"),
        ("double('nan')", "must be finite"),
        ("null", "must hold numbers|must be finite"),
    ],
)
def test_bad_weights(numbers, entry, words):
    from pyspark.sql import functions

    with pytest.raises(ValueError, match=words):
        PCA(1).fit(numbers.withColumn("v", functions.expr(entry)), sample_weight="v")


def test_folds_by_a_column(table, folded, X, along):
    weights, folds = along
    expected = cross_validate(PCA(), X, cv=folds)
    np.testing.assert_allclose(cross_validate(PCA(), folded, cv="fold").per_split, expected.per_split, rtol=1e-10)
    np.testing.assert_allclose(
        cross_validate(PCA(), table, cv="fold", sample_weight="w").per_split,
        cross_validate(PCA(), X, cv=folds, sample_weight=weights).per_split,
        rtol=1e-10,
    )
    found = cross_validate(PLSRegression(), folded, "e", cv="fold", n_components=[1, 2])
    expected = cross_validate(PLSRegression(), X[:, :4], X[:, 4], cv=folds, n_components=[1, 2])
    np.testing.assert_allclose(found.per_split, expected.per_split, rtol=1e-9)


def test_groups_stay_together(folded, X, along):
    """In folds as scikit-learn makes them, or each group in turn."""
    for cv in (2, None):
        found = cross_validate(PCA(), folded, cv=cv, groups="fold", n_components=[1, 2]).per_split
        expected = cross_validate(PCA(), X, cv=cv, groups=along[1], n_components=[1, 2]).per_split
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_folds_by_a_hash_do_not_depend_on_partitions(numbers):
    """They are the same rows however the data frame is cut, and others with another seed."""
    found = [cross_validate(PCA(), frame, cv=4).per_split for frame in (numbers, numbers.repartition(5))]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10)
    other = cross_validate(PCA(), numbers, cv=KFold(4, shuffle=True, random_state=3))
    assert np.abs(other.per_split - found[0]).max() > 1e-3
    assert other.weights.sum() == 240


def test_rules_that_leave_rows_out(numbers, X):
    choices = choose_n_components(numbers, ["cv", "bic", "parallel"])
    expected = choose_n_components(X, ["cv", "bic", "parallel"])
    assert {name: choice.k for name, choice in choices.items()} == {name: c.k for name, c in expected.items()}
    assert PCA("cv").fit(numbers).n_components_ == expected["cv"].k


def test_splitters_that_number_the_rows_are_refused(numbers):
    for cv, words in ((KFold(3), "numbers the rows"), (np.arange(240) % 3, "labels in an array")):
        with pytest.raises(TypeError, match=words):
            cross_validate(PCA(), numbers, cv=cv)
    with pytest.raises(ValueError, match=r"of the folds have no row.*cv='fold'"):
        cross_validate(PCA(), numbers.limit(6), cv=6)


def test_bootstrap(numbers, folded, X, along):
    drawn = [bootstrap(PCA(1), f, n_resamples=4, n_blocks=30, random_state=0) for f in (numbers, numbers.coalesce(1))]
    np.testing.assert_allclose(drawn[0].replicates["loadings"], drawn[1].replicates["loadings"], rtol=1e-9)
    with pytest.warns(UserWarning, match="few for a bootstrap"):
        found = bootstrap(PCA(1), folded, n_resamples=4, groups="fold", random_state=0)
    with pytest.warns(UserWarning, match="few for a bootstrap"):
        expected = bootstrap(PCA(1), X, n_resamples=4, groups=along[1], random_state=0)
    np.testing.assert_allclose(found.replicates["loadings"], expected.replicates["loadings"], rtol=1e-9)
    with pytest.raises(ValueError, match="draws single rows"):
        bootstrap(PCA(1), numbers, n_resamples=4, kind="row")
