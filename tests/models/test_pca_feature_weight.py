"""PCA with weights of the columns: the PCA of columns that are multiplied by the roots of the weights."""

import numpy as np
import pandas as pd
import pytest

from examples import SPECTRAL as SOLVERS
from examples import X
from lowdim import PCA, cross_validate, load, save
from lowdim.reading import summarize
from lowdim.summaries import Moments

WEIGHTS_OF_COLUMNS = np.array([1.0, 4.0, 0.25, 9.0, 1.0])


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_weights_of_columns_are_their_squares(scale, solver, shape):
    """Weights are equal to multiplying the columns by their roots, after they were standardised."""
    rows = X if shape == "tall" else X[:4]
    model = PCA(2, scale=scale, feature_weight=WEIGHTS_OF_COLUMNS, solver=solver).fit(rows)
    sd = rows.std(axis=0, ddof=1) if scale else 1.0
    root = np.sqrt(WEIGHTS_OF_COLUMNS)
    by_hand = PCA(2).fit((rows - rows.mean(axis=0)) / sd * root)
    tol = 1e-5 if solver == "krylov" else 1e-9
    np.testing.assert_allclose(model.explained_variance_, by_hand.explained_variance_, rtol=tol)
    np.testing.assert_allclose(model.explained_variance_ratio_, by_hand.explained_variance_ratio_, rtol=tol)
    scores = by_hand.transform((rows - rows.mean(axis=0)) / sd * root)
    np.testing.assert_allclose(model.transform(rows), scores, rtol=0, atol=100 * tol * np.abs(scores).max())
    np.testing.assert_allclose(model.scale_, sd / root * np.ones(5), rtol=1e-12)
    full = PCA(feature_weight=WEIGHTS_OF_COLUMNS, scale=scale).fit(X)
    np.testing.assert_allclose(full.inverse_transform(full.transform(X)), X, atol=1e-10)


def test_weights_of_columns_by_name_for_summaries_folds_and_rules(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = {"b": 4.0, "c": 0.25, "d": 9.0}
    model = PCA(2, feature_weight=named).fit(frame)
    expected = PCA(2, feature_weight=WEIGHTS_OF_COLUMNS).fit(X)
    np.testing.assert_allclose(model.transform(frame), expected.transform(X))
    again = PCA(2, feature_weight=WEIGHTS_OF_COLUMNS).fit_summary(summarize(X, Moments))
    np.testing.assert_allclose(again.explained_variance_, expected.explained_variance_)
    by_hand = X * np.sqrt(WEIGHTS_OF_COLUMNS)
    # Densities differ by the logarithm of the units only.
    units = 0.5 * np.log(WEIGHTS_OF_COLUMNS).sum()
    found = cross_validate(PCA(feature_weight=WEIGHTS_OF_COLUMNS), X)
    np.testing.assert_allclose(found.mean, cross_validate(PCA(), by_hand).mean + units, rtol=1e-8)
    assert PCA("cv", feature_weight=WEIGHTS_OF_COLUMNS).fit(X).n_components_ == PCA("cv").fit(by_hand).n_components_
    rule = PCA("kaiser", feature_weight=WEIGHTS_OF_COLUMNS).fit(X)
    assert rule.n_components_ == PCA("kaiser").fit(by_hand).n_components_
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(frame), model.transform(frame))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "one entry for each of the 5 columns"),
        ([1, 1, 1, 1, 0], "positive and finite"),
        ([1, 1, 1, 1, np.nan], "positive and finite"),
        ({"nobody": 2.0}, "no column 'nobody'"),
    ],
)
def test_weights_of_columns_that_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        PCA(2, feature_weight=weights).fit(X)
