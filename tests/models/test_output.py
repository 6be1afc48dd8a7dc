"""`set_output` holds for everything that consists of rows: both tables, `inverse_transform` and `impute`."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn

import lowdim.sklearn
from examples import MODELS, X, Y, make, tables
from lowdim import CCA, GCCA, ICA, PCA, PCR, PLSSVD, PPCA, FactorAnalysis, KernelCCA, PLSCanonical, PLSRegression
from lowdim.errors import LowdimWarning
from lowdim.inspect import column_names

LABELS = [f"row {i}" for i in range(len(X))]
NAMES = [f"column {j}" for j in range(X.shape[1])]
OF_Y = [f"response {j}" for j in range(Y.shape[1])]
FRAME = pd.DataFrame(X, index=LABELS, columns=NAMES)
RESPONSES = pd.DataFrame(Y, index=LABELS, columns=OF_Y)
PAIRS = {
    "CCA": CCA(2),
    "PLSCanonical": PLSCanonical(2),
    "PLSRegression": PLSRegression(2),
    "PLSSVD": PLSSVD(2),
    "PCR": PCR(2),
}


def incomplete(table):
    """The table with some missing entries."""
    return table.mask(np.random.default_rng(0).random(table.shape) < 0.1)


def is_frame(found, expected, names, labels=LABELS):
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == list(names) and list(found.index) == list(labels)
    np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("name", [*PAIRS, "KernelCCA"])
def test_both_tables_of_a_pair(name):
    model = (PAIRS | {"KernelCCA": KernelCCA(2)})[name].fit(FRAME, RESPONSES)
    plain = model.transform(FRAME, RESPONSES)
    model.set_output(transform="pandas")
    for found, expected in zip(model.transform(FRAME, RESPONSES), plain, strict=True):
        is_frame(found, expected, model.component_names_)
    is_frame(model.transform(FRAME), plain[0], model.component_names_)
    # Rows of an array have the labels of the rows of the table beside it.
    is_frame(model.transform(FRAME, Y)[1], plain[1], model.component_names_)
    model.set_output(transform="polars")
    for found, expected in zip(model.transform(FRAME, RESPONSES), plain, strict=True):
        assert isinstance(found, pl.DataFrame) and found.columns == model.component_names_
        np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-12)
    model.set_output(transform="default")
    assert all(type(found) is np.ndarray for found in model.transform(FRAME, RESPONSES))


@pytest.mark.parametrize("name", PAIRS)
def test_rows_of_both_tables_from_their_scores(name):
    model = PAIRS[name].fit(FRAME, RESPONSES).set_output(transform="default")
    plain = model.inverse_transform(*model.transform(FRAME, RESPONSES))
    model.set_output(transform="pandas")
    Z, U = model.transform(FRAME, RESPONSES)
    back = model.inverse_transform(Z, U)
    is_frame(back[0], plain[0], NAMES)
    is_frame(back[1], plain[1], OF_Y)
    is_frame(model.inverse_transform(Z), plain[0], NAMES)
    model.set_output(transform="default")


@pytest.mark.parametrize("name", [*PAIRS, "KernelCCA"])
def test_what_fit_transform_returns(name):
    model = (PAIRS | {"KernelCCA": KernelCCA(2)})[name].set_output(transform="pandas")
    found = model.fit_transform(FRAME, RESPONSES)
    parts = found if isinstance(found, tuple) else (found,)
    for part, expected in zip(parts, model.transform(FRAME, RESPONSES), strict=False):
        is_frame(part, expected, model.component_names_)
    model.set_output(transform="default")


def test_several_tables():
    parts = [FRAME.iloc[:, :2], FRAME.iloc[:, 2:4].to_numpy(), RESPONSES]
    model = GCCA(1).fit(parts)
    plain = model.transform(parts)
    model.set_output(transform="pandas")
    score = model.score(parts)
    for found in (model.transform(parts), model.fit_transform(parts)):
        for part, expected in zip(found, plain, strict=True):
            is_frame(part, expected, ["comp1"])
    back = model.inverse_transform(list(model.transform(parts)))
    assert [list(part.columns) for part in back] == [NAMES[:2], ["x1", "x2"], OF_Y]
    assert all(list(part.index) == LABELS for part in back)
    assert score == pytest.approx(model.set_output(transform="default").score(parts))


def test_a_score_does_not_depend_on_the_container():
    model = KernelCCA(1).fit(X, Y)
    plain = model.score(X, Y)
    assert model.set_output(transform="polars").score(X, Y) == plain


@pytest.mark.parametrize("kind", [PPCA, FactorAnalysis])
def test_imputed_rows(kind):
    rows = incomplete(FRAME)
    with warnings.catch_warnings(action="ignore", category=LowdimWarning):
        model = kind(2).fit(rows)
    filled, deviations = model.impute(rows, return_std=True)
    assert type(filled) is np.ndarray
    model.set_output(transform="pandas")
    is_frame(model.impute(rows), filled, NAMES)
    both = model.impute(rows, return_std=True)
    is_frame(both[0], filled, NAMES)
    is_frame(both[1], deviations, NAMES)
    model.set_output(transform="polars")
    frame = model.impute(rows)
    assert isinstance(frame, pl.DataFrame) and frame.columns == NAMES
    np.testing.assert_array_equal(frame.to_numpy(), filled)


def test_drawn_rows():
    rows = incomplete(FRAME)
    model = PPCA(2).fit(rows)
    plain = model.impute(rows, n_draws=3)
    found = model.set_output(transform="pandas").impute(rows, n_draws=3)
    for draw, expected in zip(found, plain, strict=True):
        is_frame(draw, expected, NAMES)


def test_imputed_rows_without_names():
    rows = incomplete(FRAME).to_numpy()
    model = PPCA(2).fit(rows)
    filled, names = model.impute(rows), [f"x{j + 1}" for j in range(X.shape[1])]
    is_frame(model.set_output(transform="pandas").impute(rows), filled, names, range(len(X)))


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("KernelCCA", "GCCA")])
def test_rows_from_scores_of_every_model(name):
    with warnings.catch_warnings(action="ignore", category=LowdimWarning):
        model = make(name).fit(*tables(name, X, Y))
    Z = model.transform(X)
    plain = model.inverse_transform(Z)
    scores = pd.DataFrame(Z, index=LABELS)
    found = model.set_output(transform="pandas").inverse_transform(scores.to_numpy())
    assert isinstance(found, pd.DataFrame) and found.shape == plain.shape
    np.testing.assert_allclose(found.to_numpy(), plain, atol=1e-9)
    # FeatureMapPCA goes back to features.
    of_rows = model.feature_map_.names if name == "FeatureMapPCA" else list
    assert list(found.columns) == of_rows(column_names(model))


def test_the_configuration_of_scikit_learn_holds_too():
    model = PPCA(2).fit(FRAME)
    with sklearn.config_context(transform_output="polars"):
        assert isinstance(model.impute(FRAME), pl.DataFrame)
        assert isinstance(model.inverse_transform(model.transform(FRAME).to_numpy()), pl.DataFrame)
        assert type(model.set_output(transform="default").impute(FRAME)) is np.ndarray


def test_float32_stays_float32():
    rows = FRAME.astype(np.float32)
    model = PCA(2).fit(rows).set_output(transform="pandas")
    assert set(model.inverse_transform(model.transform(rows)).dtypes) == {np.dtype(np.float32)}


@pytest.mark.parametrize("model", [PLSRegression(2), PCR(2), CCA(2)], ids=lambda m: type(m).__name__)
def test_predictions_are_arrays_as_in_scikit_learn(model):
    assert type(model.set_output(transform="pandas").fit(FRAME, RESPONSES).predict(FRAME)) is np.ndarray


def test_the_classes_with_the_signatures_of_scikit_learn_follow_it():
    ours, theirs = (
        module.PLSRegression(2).set_output(transform="pandas").fit(FRAME, RESPONSES)
        for module in (lowdim.sklearn, sklearn.cross_decomposition)
    )
    kinds = [[type(part) for part in model.transform(FRAME, RESPONSES)] for model in (ours, theirs)]
    assert kinds[0] == kinds[1] == [pd.DataFrame, np.ndarray]
    for module in (lowdim.sklearn, sklearn.decomposition):
        model = module.PCA(2).set_output(transform="pandas").fit(FRAME)
        assert type(model.inverse_transform(model.transform(FRAME).to_numpy())) is np.ndarray
    assert list(lowdim.sklearn.PCA(2).fit(FRAME).get_feature_names_out()) == ["pca0", "pca1"]


def test_ica_and_the_index_of_its_sources():
    model = ICA(2, random_state=0).set_output(transform="pandas")
    with warnings.catch_warnings(action="ignore", category=LowdimWarning):
        sources = model.fit_transform(FRAME)
    is_frame(model.inverse_transform(sources), model.set_output(transform="default").inverse_transform(sources), NAMES)
