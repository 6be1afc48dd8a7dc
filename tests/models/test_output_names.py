"""The names of components and columns are the same wherever they appear."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import lowdim
import lowdim.sklearn
from examples import MODELS, X, Y, make, tables
from inputs import INPUTS
from lowdim import CCA, GCCA, ICA, PCA, KernelCCA, PLSRegression, Whitening, bootstrap, permutation_test
from lowdim.errors import GaussianWarning, LowdimWarning, without_warnings
from lowdim.inspect import column_names, importance
from lowdim.sources import open_source

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
    printed = [line.split()[0] for line in str(model).splitlines()[2:]]
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


WAVELENGTHS = [900.0, 902.5, 905.0, 907.5, 910.0]
TEXTS = ["900.0", "902.5", "905.0", "907.5", "910.0"]


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.parametrize("name", MODELS)
def test_names_that_are_numbers_are_kept_as_text(name, tmp_path):
    given = tables(name)
    frame = pd.DataFrame(X, columns=WAVELENGTHS)
    model = fitted(name, frame, *given[1:])
    assert column_names(model) == TEXTS
    # This attribute is scikit-learn's, and is only set if all names are text.
    assert not hasattr(model, "feature_names_in_")
    with without_warnings(LowdimWarning):
        lowdim.save(model, tmp_path / "model")
    for each in (model, lowdim.load(tmp_path / "model")):
        assert column_names(each) == TEXTS
        # The names are those of the fit, or none, or of text: there is no warning.
        for rows in (frame, frame.set_axis(TEXTS, axis=1), X):
            np.testing.assert_array_equal(each.transform(rows), model.transform(frame))
        with pytest.raises(ValueError, match=r"X has columns '900.0', '902.5', '905.0', '907.5', '911.0', expected"):
            each.transform(frame.rename(columns={910.0: 911.0}))
    assert column_names(model.fit(*given)) == ["x1", "x2", "x3", "x4", "x5"]


def test_names_that_are_numbers_are_shown_everywhere(tmp_path):
    frame = pd.DataFrame(X, columns=range(20911, 20916))
    texts = ["20911", "20912", "20913", "20914", "20915"]
    pca = PCA(2).fit(frame)
    assert pca.tables.loadings().rows == texts
    assert pca.tables.contributions().rows == texts
    assert [label.get_text() for label in pca.plot.loadings().get_yticklabels()] == texts
    assert list(Whitening("zca").fit(frame).get_feature_names_out()) == texts
    assert bootstrap(PCA(2), frame, n_resamples=3, random_state=0).labels["loadings"] == (texts, ["PC1", "PC2"])
    pls = PLSRegression(2).fit(frame.assign(y=Y[:, 0]), "y")
    assert pls.tables.coefficients().rows == texts
    assert pls.jackknife(frame, Y[:, 0]).features == texts
    with pytest.raises(ValueError, match=r"column '20913' \(number 2\), first in row 3"):
        PCA(2).fit(frame.astype(float).mask(lambda each: each == each.iloc[3, 2]))
    pca.report(frame, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(text in page for text in texts)


def test_numbers_that_only_count_the_columns_are_no_names():
    frame = pd.DataFrame(X)
    for rows in (frame, frame[[0, 1, 2, 3, 4]], [frame]):
        model = PCA(2).fit(rows)
        assert column_names(model) == ["x1", "x2", "x3", "x4", "x5"]
        assert not hasattr(model, "feature_names_in_")
    assert column_names(PLSRegression(1).fit(X, pd.DataFrame(Y)), "y") == ["y1", "y2", "y3"]
    assert column_names(PCA(2).fit(frame.iloc[:, 2:])) == ["2", "3", "4"]


@pytest.mark.parametrize("kind", [kind for kind in INPUTS if not INPUTS[kind].named])
def test_columns_without_names_can_be_given_some(kind):
    words = ["ant", "bee", "cat", "dog", "elk"]
    rows = INPUTS[kind].make(np.round(8 * X))
    model = PCA(2).fit(open_source(rows, names=words))
    assert list(model.feature_names_in_) == column_names(model) == words
    with pytest.raises(ValueError, match=r"has columns 'ant', 'bee', 'cat', 'dog', 'fly', expected"):
        model.transform(open_source(INPUTS[kind].make(np.round(8 * X)), names=[*words[:4], "fly"]))


def test_names_of_sparse_rows_are_shown_and_named_in_messages():
    counts = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, np.nan]]))
    with pytest.raises(ValueError, match=r"NaN: column 'dog' \(number 1\), first in row 2"):
        PCA(1).fit(open_source(counts, names=np.array(["cat", "dog"])))
    pls = PLSRegression(1).fit(open_source(sparse.csr_array(X), names=range(900, 905)), Y)
    assert pls.tables.coefficients().rows == ["900", "901", "902", "903", "904"]


@pytest.mark.parametrize(
    ("rows", "given", "message"),
    [
        (X, ["a"], "names must be 5 different names, one for each column of X; got 1"),
        (X, list("abcda"), "names must be 5 different names, .* got 5, of which 4 are different"),
        (X, "abcde", "names must be 5 different names"),
        (pd.DataFrame(X, columns=list("abcde")), list("vwxyz"), "the columns of X have names already: 'a', 'b'"),
    ],
)
def test_names_that_cannot_be_given(rows, given, message):
    with pytest.raises(ValueError, match=message):
        open_source(rows, names=given)


def test_labels_of_resampling_are_the_same():
    frame = pd.DataFrame(X, columns=list("abcde"))
    draws = bootstrap(PCA(2), frame, n_resamples=3, random_state=0)
    assert draws.labels["loadings"] == (list("abcde"), ["PC1", "PC2"])
    assert bootstrap(CCA(1), X, Y, n_resamples=3, random_state=0).labels["y_structure"] == (
        ["y1", "y2", "y3"],
        ["pair1"],
    )
    assert permutation_test(CCA(), X, Y, n_resamples=19).table().rows == ["pair1", "pair2", "pair3"]


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
