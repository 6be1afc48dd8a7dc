"""How well components are determined, on known directions; and when there is a bootstrap of them."""

import numpy as np
import pytest

from lowdim import PCA, open_source
from lowdim.reporting.loadings import bootstrapped, equal_variances
from reporting.tables import analysis, clusters

X, GROUPS = clusters(400)


def test_the_moments_of_the_first_pass_suffice(not_held, monkeypatch, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    a = analysis(tmp_path / "rows.npy", n_components=2, standardize=False)
    reads = []
    monkeypatch.setattr(type(a.given), "blocks", lambda *_: reads.append(1))
    assert a.meaning.n_boot > 0 and reads == []


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
