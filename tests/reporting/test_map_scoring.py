"""Scores, T2 and Q of rows, against `diagnose`; and the rows at the ends, against sorting."""

import numpy as np
import pytest

from lowdim import ICA, PCA, PPCA, FactorAnalysis, KernelPCA
from lowdim.inspect import diagnose
from lowdim.reporting.map import largest
from reporting.tables import analysis, clusters, named

X, GROUPS = clusters(200)


@pytest.mark.parametrize("standardize", [False, True])
def test_scores_and_distances_are_those_of_diagnose(standardize):
    a = analysis(X, n_components=3, standardize=standardize)
    rows = a.scoring(X, np.arange(len(X)))
    expected = diagnose(a.model, named(X))
    np.testing.assert_allclose(rows.scores[:, :3], expected.scores, atol=1e-10)
    np.testing.assert_allclose(rows.t2, expected.t2, rtol=1e-10)
    np.testing.assert_allclose(rows.q, expected.q, rtol=1e-9)
    np.testing.assert_array_equal(np.flatnonzero(rows.misfit > 1), expected.outliers)
    np.testing.assert_allclose(rows.kept, np.asarray(expected.cos2).sum(axis=1), atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*look Gaussian:lowdim.errors.GaussianWarning")
@pytest.mark.parametrize("model", [FactorAnalysis(2), ICA(2, random_state=0), KernelPCA(3), PPCA(2)])
@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
def test_other_models_are_mapped_by_their_transform(model):
    fitted = model.fit(X)
    a = analysis(X, model=fitted)
    rows = a.scoring(X, np.arange(len(X)))
    np.testing.assert_allclose(rows.scores, np.asarray(fitted.transform(X)), atol=1e-10)
    # T2 and Q are those of PCA with as many components.
    reference = PCA(int(fitted.n_components_)).fit(X)
    np.testing.assert_allclose(rows.q, diagnose(reference, X).q, rtol=1e-8, atol=1e-10)


def test_a_row_at_the_mean_is_rebuilt_completely():
    a = analysis(X, n_components=2, standardize=False)
    rows = a.scoring(np.asarray(a.model.mean_)[None, :], np.zeros(1, dtype=int))
    assert rows.kept[0] == 1.0 and rows.t2[0] == 0.0


def test_the_largest_values_come_first_and_ties_by_their_numbers():
    values = np.array([1.0, 5.0, 3.0, 5.0, 3.0, 3.0])
    assert largest(values, 4, np.arange(6)).tolist() == [1, 3, 2, 4]
    assert largest(values, 4, np.arange(6)[::-1]).tolist() == [3, 1, 5, 4]
    assert largest(values, 10, np.arange(6)).tolist() == [1, 3, 2, 4, 5, 0]


def test_too_few_rows_for_limits():
    a = analysis(X[:3], n_components=2)
    assert np.isinf(a.scoring.t2_limit) and np.isinf(a.scoring.q_limit)
    assert not np.any(a.second.rows.misfit > 0)
