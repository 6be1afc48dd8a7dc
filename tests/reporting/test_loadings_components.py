"""What columns have to do with components, against eigenvectors, correlations and known directions."""

import numpy as np
import pytest

from lowdim import ICA, PCA, FactorAnalysis, KernelPCA, bootstrap, open_source
from lowdim.reporting import columns as report_columns
from lowdim.reporting.loadings import bootstrapped, equal_variances
from reporting.tables import analysis, clusters, named

X, GROUPS = clusters(400)


@pytest.mark.parametrize("standardize", [False, True])
def test_loadings_and_correlations(standardize):
    a = analysis(X, n_components=3, standardize=standardize)
    found = a.meaning
    C = np.corrcoef(X.T) if standardize else np.cov(X.T)
    values, vectors = np.linalg.eigh(C)
    order = np.argsort(-values)[:3]
    np.testing.assert_allclose(np.abs(found.loadings), np.abs(vectors[:, order]) * np.sqrt(values[order]), atol=1e-10)
    np.testing.assert_allclose(found.shares, values[order] / values.sum(), rtol=1e-10)
    scores = np.asarray(a.full.scores(named(X)))[:, :3]
    np.testing.assert_allclose(found.correlations, np.corrcoef(X.T, scores.T)[:6, 6:], atol=1e-10)
    assert found.are_correlations == standardize
    np.testing.assert_allclose(found.weights.sum(axis=0), 1.0)


def test_intervals_are_those_of_the_bootstrap():
    a = analysis(X, n_components=2, standardize=False)
    draws = bootstrap(PCA(4), named(X), n_boot=a.meaning.n_boot, random_state=0)
    low, high = draws.interval("loadings")[:, :, :2]
    np.testing.assert_allclose(a.meaning.low, low, atol=1e-12)
    np.testing.assert_allclose(a.meaning.high, high, atol=1e-12)
    assert np.all(a.meaning.low <= a.meaning.loadings) and np.all(a.meaning.loadings <= a.meaning.high)
    np.testing.assert_array_equal(a.meaning.uncertain, (low <= 0) & (high >= 0))


def test_pieces_of_rows_that_are_not_in_memory_give_similar_intervals(monkeypatch, tmp_path):
    X, _ = clusters(3000)
    expected = analysis(X, n_components=2, standardize=False).meaning
    np.save(tmp_path / "rows.npy", X)
    monkeypatch.setattr(report_columns, "_HELD_BYTES", 0)
    a = analysis(tmp_path / "rows.npy", n_components=2, standardize=False)
    reads = []
    monkeypatch.setattr(type(a.given), "blocks", lambda *_: reads.append(1))
    found = a.meaning
    # The moments of the first pass suffice.
    assert reads == []
    np.testing.assert_allclose(found.loadings, expected.loadings, atol=1e-9)
    widths = expected.high - expected.low
    np.testing.assert_allclose(found.low, expected.low, atol=0.3 * widths.max())
    np.testing.assert_allclose(found.high, expected.high, atol=0.3 * widths.max())
    assert 0.7 < np.mean(found.high - found.low) / np.mean(widths) < 1.4


def test_directions_of_clear_and_of_equal_variances():
    random = np.random.default_rng(1)
    rows = random.standard_normal((500, 5)) * [6.0, 2.0, 2.0, 0.5, 0.3]
    found = analysis(rows, n_components=4, standardize=False).meaning
    assert found.turns[0] < 2 and found.turns[3] < 15
    # The second and the third direction are arbitrary within their plane.
    assert found.turns[1] > 15 and found.turns[2] > 15
    assert found.mixes_with[1:3].tolist() == [2, 1]


def test_the_test_of_equal_variances_keeps_its_level():
    random = np.random.default_rng(8)
    found = []
    for _ in range(400):
        values = np.linalg.eigvalsh(np.cov(random.standard_normal((300, 2)).T))[::-1]
        found.append(equal_variances(values, 300.0)[0])
    assert 0.005 < np.mean(np.array(found) < 0.05) < 0.09
    # Variances that are clearly different, and a variance of zero.
    assert np.all(equal_variances(np.array([4.0, 2.0, 0.0]), 300.0) < 1e-6)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_variances_of_any_size_are_compared(scale):
    values = np.array([2.0, 1.8, 1.8])
    np.testing.assert_allclose(equal_variances(scale * values, 50.0), equal_variances(values, 50.0), rtol=1e-9)
    assert equal_variances(np.array([1e300, 1e-300]), 50.0) == 0.0


def test_intervals_of_columns_without_a_part_hold_zero():
    random = np.random.default_rng(2)
    common = random.standard_normal((200, 1))
    rows = np.hstack([common + 0.3 * random.standard_normal((200, 3)), random.standard_normal((200, 2))])
    uncertain = analysis(rows, n_components=2, standardize=True).meaning.uncertain[:, 0]
    assert not uncertain[:3].any() and uncertain[3:].any()


@pytest.mark.filterwarnings("ignore:.*look Gaussian:lowdim.errors.GaussianWarning")
@pytest.mark.parametrize("model", [FactorAnalysis(2), ICA(2, random_state=0), KernelPCA(2)])
def test_other_models(model):
    a = analysis(X, model=model.fit(X))
    found, Z = a.meaning, np.asarray(model.transform(X))
    expected = np.corrcoef(X.T, Z.T)[:6, 6:]
    if isinstance(model, FactorAnalysis):
        # With the factors themselves, not with their estimated scores.
        expected = model.loadings_ / np.sqrt(np.diag(model.get_covariance()))[:, None]
    np.testing.assert_allclose(found.correlations, expected, atol=1e-9)
    if isinstance(model, FactorAnalysis):
        np.testing.assert_allclose(found.loadings, model.loadings_)
    if isinstance(model, KernelPCA):
        assert found.are_correlations
    assert found.low is None and found.n_boot == 0


def test_a_model_of_one_component_has_a_map_of_two():
    a = analysis(X, model=PCA(1))
    assert a.n_mapped > 1 and a.n_explained == 2 and a.subspace.n_components_ == 1


def test_large_tables_are_drawn_less_often():
    random = np.random.default_rng(3)
    assert analysis(random.standard_normal((40, 30)), n_components=2).meaning.n_boot == 200
    assert 25 <= analysis(random.standard_normal((420, 430)), n_components=2).meaning.n_boot < 100


def test_few_rows_have_no_intervals():
    found = analysis(X[:6], n_components=2).meaning
    assert found.low is None and found.turns is None and not found.uncertain.any()


def test_there_is_no_bootstrap_of_many_rows_and_columns(monkeypatch):
    monkeypatch.setattr("lowdim.reporting.loadings.MOST_BOTH", 4)
    X = np.random.default_rng(0).normal(size=(40, 5))
    rows = open_source(X)
    model = PCA(2).fit(X)
    assert bootstrapped(model, 2, rows, None, None, 0) is None
    monkeypatch.setattr("lowdim.reporting.loadings.MOST_BOTH", 5)
    assert bootstrapped(model, 2, rows, None, None, 0) is not None
