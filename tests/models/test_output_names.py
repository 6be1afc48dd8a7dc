"""The names of components and columns are the same wherever they appear."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.exceptions import NotFittedError

import lowdim.sklearn
from examples import MODELS, X, Y, make, tables
from lowdim import CCA, GCCA, ICA, PCA, KernelCCA, PLSRegression, Whitening, bootstrap, permutation_test
from lowdim.errors import GaussianWarning, LowdimWarning
from lowdim.inspect import column_names, importance

STEMS = {
    "PCA": "PC",
    "Whitening": "PC",
    "PPCA": "PC",
    "FactorAnalysis": "F",
    "FeatureMapPCA": "PC",
    "KernelPCA": "PC",
    "AutoEncoder": "AE",
    "ICA": "IC",
    "PCR": "PC",
    "PLSRegression": "comp",
    "PLSCanonical": "comp",
    "PLSSVD": "comp",
    "CCA": "pair",
    "GCCA": "comp",
    "KernelCCA": "pair",
}


def fitted(name, *given, **options):
    with warnings.catch_warnings(action="ignore", category=LowdimWarning):
        return make(name, **options).fit(*(given or tables(name)))


@pytest.mark.parametrize("name", MODELS)
def test_components_have_one_name_each(name, tmp_path):
    model = fitted(name)
    expected = [f"{STEMS[name]}{k + 1}" for k in range(model.n_components_)]
    assert model.component_names_ == expected
    assert list(model.get_feature_names_out()) == expected
    assert model.get_feature_names_out().dtype == object
    frame = model.set_output(transform="pandas").transform(X)
    assert list(frame.columns) == expected
    path = model.transform_to(X, f"{tmp_path}/scores.parquet")
    assert pq.read_schema(path).names == expected
    printed = [line.split()[0] for line in str(model).splitlines()[2:-1]]
    assert printed[: len(expected)] == importance(model).rows[: len(expected)]
    if name != "Whitening":
        assert importance(model).rows == expected


@pytest.mark.parametrize("name", MODELS)
def test_there_are_no_names_before_the_fit(name):
    with pytest.raises(NotFittedError):
        _ = make(name).component_names_
    with pytest.raises(NotFittedError):
        make(name).get_feature_names_out()


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].two_tables and name != "GCCA"])
def test_scores_of_two_tables_in_one_place_begin_with_their_table(name):
    model = fitted(name)
    expected = model.component_names_
    both = model.tables.scores(X, Y)
    assert both.columns == [f"X_{each}" for each in expected] + [f"y_{each}" for each in expected]


def test_whitened_columns_keep_the_names_of_the_columns():
    frame = pd.DataFrame(X, columns=list("abcde"))
    for kind in ("zca", "zca-cor", "cholesky"):
        assert Whitening(kind).fit(frame).component_names_ == list("abcde")
        assert Whitening(kind).fit(X).component_names_ == ["x1", "x2", "x3", "x4", "x5"]
    assert Whitening("pca-cor").fit(frame).component_names_ == ["PC1", "PC2", "PC3", "PC4", "PC5"]
    assert importance(Whitening("zca").fit(frame)).rows == ["PC1", "PC2", "PC3", "PC4", "PC5"]


def test_names_of_columns_count_from_one():
    assert column_names(PCA().fit(X)) == ["x1", "x2", "x3", "x4", "x5"]
    pair = PLSRegression(1).fit(X, Y)
    assert column_names(pair, "y") == column_names(pair, 1) == ["y1", "y2", "y3"]
    assert column_names(KernelCCA(1).fit(X, Y), "y") == ["y1", "y2", "y3"]
    several = GCCA(1).fit([X[:, :2], pd.DataFrame(X[:, 2:], columns=list("abc")), Y])
    assert [column_names(several, i) for i in range(3)] == [["x1", "x2"], ["a", "b", "c"], ["x1", "x2", "x3"]]
    assert column_names(CCA(1).fit(pd.DataFrame(X, columns=list("abcde")), Y)) == list("abcde")


@pytest.mark.parametrize("table", ["Y", 2, -1, True, 0.0, None])
def test_tables_that_there_are_not(table):
    with pytest.raises(ValueError, match=r"table=.* is not one of 'X', 'y', 0, 1"):
        column_names(CCA(1).fit(X, Y), table)
    with pytest.raises(ValueError, match=r"table=.* is not one of 'X', 0\."):
        column_names(PCA(1).fit(X), table)


def test_labels_of_resampling_are_the_same():
    frame = pd.DataFrame(X, columns=list("abcde"))
    draws = bootstrap(PCA(2), frame, n_boot=3, random_state=0)
    assert draws.labels["loadings"] == (list("abcde"), ["PC1", "PC2"])
    assert bootstrap(CCA(1), X, Y, n_boot=3, random_state=0).labels["y_structure"] == (["y1", "y2", "y3"], ["pair1"])
    assert permutation_test(CCA(), X, Y, n_permutations=19).table().rows == ["pair1", "pair2", "pair3"]


def test_warnings_name_the_same_sources():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.laplace(size=3000), rng.standard_normal((3000, 2))])
    with pytest.warns(GaussianWarning) as caught:
        model = ICA().fit(rows)
    named = str(caught[0].message).split("(")[1].split(")")[0].split(", ")
    assert set(named) < set(model.component_names_)


def test_names_that_are_given_are_compared():
    model = PCA(2).fit(pd.DataFrame(X, columns=list("abcde")))
    assert list(model.get_feature_names_out(list("abcde"))) == ["PC1", "PC2"]
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        model.get_feature_names_out(list("abcdf"))


def test_the_classes_of_scikit_learn_keep_its_names():
    for cls in (lowdim.sklearn.PCA, lowdim.sklearn.IncrementalPCA, lowdim.sklearn.FactorAnalysis):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = cls(2).fit(X)
        expected = [f"{cls.__name__.lower()}{k}" for k in range(2)]
        assert model.component_names_ == list(model.get_feature_names_out()) == expected
        assert importance(model).rows == expected
