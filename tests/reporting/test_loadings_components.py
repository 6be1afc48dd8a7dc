"""How well components are determined, on known directions; and when there is a bootstrap of them."""

import numpy as np
import pytest

from lowdim import PCA
from lowdim.reporting.loadings import bootstrapped
from lowdim.sources import open_source
from reporting.tables import analysis, clusters

X, GROUPS = clusters(400)


def test_the_moments_of_the_first_pass_suffice(not_held, monkeypatch, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    a = analysis(tmp_path / "rows.npy", n_components=2, scale=False)
    reads = []
    monkeypatch.setattr(type(a.given), "blocks", lambda *_: reads.append(1))
    assert a.meaning.n_resamples > 0 and reads == []


def test_directions_of_clear_and_of_equal_variances():
    random = np.random.default_rng(1)
    rows = random.standard_normal((500, 5)) * [6.0, 2.0, 2.0, 0.5, 0.3]
    found = analysis(rows, n_components=4, scale=False).meaning
    assert found.turns[0] < 2 and found.turns[3] < 15
    # The second and the third direction are arbitrary within their plane.
    assert found.turns[1] > 15 and found.turns[2] > 15
    assert found.mixes_with[1:3].tolist() == [2, 1]


@pytest.mark.parametrize("scale", [False, True], ids=["covariances", "correlations"])
def test_the_test_of_equal_variances_keeps_its_level(scale):
    random = np.random.default_rng(8)
    found = []
    for _ in range(60):
        common = random.standard_normal((100, 2))[:, [0, 0, 0, 1, 1, 1]]
        rows = common + 0.7 * random.standard_normal((100, 6))
        found.append(analysis(rows, n_components=2, scale=scale).meaning.equal_to_next[0])
    # Of 60 tests at a level of 5%, more than 9 reject with a probability below 1 in 1,000.
    assert np.mean(np.array(found) < 0.05) <= 9 / 60 and max(found) > 0.5


def test_variances_that_clearly_differ_are_not_called_equal():
    # Shares of 56% and 18%, and a column without variance of its own.
    rows = np.random.default_rng(2).standard_normal((60, 4)) * np.sqrt([5.6, 1.8, 1.3, 1.3])
    found = analysis(np.column_stack([rows, rows.sum(axis=1)]), n_components=4, scale=False).meaning
    assert found.equal_to_next[0] < 1e-3 and found.equal_to_next[3] == 0


@pytest.mark.parametrize("size", [1e150, 1e-150])
def test_variances_of_any_size_are_compared(size):
    rows = np.random.default_rng(3).standard_normal((50, 4)) * [2.0, 1.8, 1.0, 0.5]
    expected, found = (analysis(unit * rows, n_components=3, scale=False).meaning for unit in (1.0, size))
    np.testing.assert_allclose(found.equal_to_next, expected.equal_to_next, rtol=1e-6)


def test_a_model_of_one_component_has_a_map_of_two():
    a = analysis(X, model=PCA(1))
    assert a.n_mapped > 1 and a.n_explained == 2 and a.subspace.n_components_ == 1


def test_there_is_no_bootstrap_of_many_rows_and_columns(monkeypatch):
    monkeypatch.setattr("lowdim.reporting.loadings.MOST_BOTH", 4)
    X = np.random.default_rng(0).normal(size=(40, 5))
    rows = open_source(X)
    model = PCA(2).fit(X)
    assert bootstrapped(model, 2, rows, None, None, 0) is None
    monkeypatch.setattr("lowdim.reporting.loadings.MOST_BOTH", 5)
    assert bootstrapped(model, 2, rows, None, None, 0) is not None
