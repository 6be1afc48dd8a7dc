"""T2 and Q of PPCA and FactorAnalysis given the observed entries of each row."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from inputs import with_missing
from lowdim import ICA, PCA, PPCA, FactorAnalysis
from lowdim.inspect import diagnose, hotelling_t2, q_limit, q_residuals, t2_limit
from oracles import tolerance

RNG = np.random.default_rng(5)
L = RNG.standard_normal((2, 6))
X = RNG.standard_normal((400, 2)) @ L + RNG.standard_normal((400, 6)) * [0.5, 0.6, 0.7, 0.8, 0.9, 1.0] + 20
ROWS = with_missing(X, 0.2)
ROWS[0], ROWS[1, 1:], ROWS[2, 2:] = np.nan, np.nan, np.nan
MODELS = {
    "PPCA": PPCA(2),
    "standardized": PPCA(3, scale=True),
    "prior": PPCA(3, prior="vb"),
    "factors": FactorAnalysis(2),
    "rotated": FactorAnalysis(2, rotation="oblimin", scores="bartlett", scale=True),
}


def by_row(model, x):
    """T2, Q and their degrees of freedom, from the covariance of the posterior mean under the model."""
    o = ~np.isnan(x)
    C = model.get_covariance()[np.ix_(o, o)]
    W = (model._gaussian.loadings * model._gaussian.scale)[:, o]
    z = x[o] - model.mean_[o]
    B = W @ np.linalg.inv(C)
    V, r = B @ C @ B.T, np.linalg.matrix_rank(B @ C @ B.T, tol=1e-9)
    t2 = float(B @ z @ np.linalg.pinv(V, rcond=1e-9) @ (B @ z))
    return t2, float(z @ np.linalg.solve(C, z)) - t2, r, o.sum() - r


@pytest.mark.parametrize("name", MODELS)
def test_distances_are_those_of_the_definition(name):
    model = MODELS[name].fit(ROWS)
    found = model.distances(ROWS)
    expected = np.array([by_row(model, x) for x in ROWS]).T
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-7 * max(1.0, np.abs(theirs).max()))
    np.testing.assert_array_equal(hotelling_t2(model, ROWS), found.t2)
    np.testing.assert_array_equal(q_residuals(model, ROWS), found.q)


def test_complete_rows_of_ppca_are_those_of_pca():
    for scale in (False, True):
        ppca, pca = PPCA(2, scale=scale).fit(X), PCA(2, scale=scale, ddof=0).fit(X)
        found, expected = diagnose(ppca, X), diagnose(pca, X)
        np.testing.assert_allclose(found.t2, expected.t2, rtol=tolerance() * 1e4)
        np.testing.assert_allclose(found.q * ppca.noise_variance_, expected.q, rtol=tolerance() * 1e4)
        assert found.t2_limit == pytest.approx(expected.t2_limit) == t2_limit(ppca)
        assert found.q_limit == q_limit(ppca) == pytest.approx(stats.chi2.isf(0.05, 4))
        new = diagnose(ppca, X, new_rows=True)
        assert new.t2_limit == pytest.approx(diagnose(pca, X, new_rows=True).t2_limit)


def test_a_rotation_changes_nothing():
    plain = FactorAnalysis(2).fit(ROWS).distances(ROWS)
    for rotation in ("varimax", "oblimin"):
        turned = FactorAnalysis(2, rotation=rotation, scale=True).fit(ROWS).distances(ROWS)
        np.testing.assert_allclose(turned.t2, plain.t2, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(turned.q, plain.q, rtol=1e-7, atol=1e-9)


def test_limits_hold_for_every_number_of_observed_entries():
    """Of rows that are drawn from the model, a share of alpha is beyond each limit, and p-values are uniform."""
    model = FactorAnalysis(2).fit(X)
    drawn = with_missing(model.sample(20_000, random_state=0), 0.4)
    found = diagnose(model, drawn, alpha=0.1, new_rows=True)
    observed = np.sum(~np.isnan(drawn), axis=1)
    for o in range(2, 7):
        rows = observed == o
        for values, limit, p_values in (
            (found.t2, found.t2_limit, found.t2_p_value),
            (found.q, found.q_limit, found.q_p_value),
        ):
            beyond = np.mean(values[rows] > limit[rows])
            assert np.array_equal(values[rows] > limit[rows], p_values[rows] < 0.1)
            if o > 2 or values is found.t2:
                assert beyond == pytest.approx(0.1, abs=5 * np.sqrt(0.09 / rows.sum()) + 0.003)
                assert stats.kstest(p_values[rows], "uniform").pvalue > 1e-4
            else:
                # Two factors fit two entries exactly.
                assert beyond == 0 and np.all(p_values[rows] == 1)


def test_rows_with_few_entries_and_rows_that_do_not_fit():
    model = PPCA(2).fit(ROWS)
    rows = ROWS.copy()
    # Row 10 is far from the mean along the components; row 11 is far from the plane.
    rows[10] = model.mean_ + 30 * model.components_[0]
    rows[11] = model.mean_ + 10 * np.linalg.svd(model.components_)[2][-1]
    rows[[10, 11], 3] = np.nan
    found = diagnose(model, rows)
    assert found.t2[0] == found.q[0] == found.q[1] == found.q[2] == 0.0
    assert not np.isin([0, 1, 2], found.q_outliers).any() and 0 not in found.t2_outliers
    assert 10 in found.t2_outliers and 11 in found.q_outliers and 11 not in found.t2_outliers
    assert set(found.outlier_table().rows[:2]) == {10, 11}
    table = found.table()
    assert {"p of T2", "p of Q"} <= set(table.columns)
    assert " to " in table.notes[0] and " to " in table.notes[1]
    # A row without observed entries has no limits, and one with two entries has no limit of Q.
    for note, limits in zip(table.notes, (found.t2_limit, found.q_limit), strict=True):
        assert note.endswith(f", by chance alone about {0.05 * np.isfinite(limits).sum():.3g}")
    assert found.cos2 is None and found.scores.shape == (400, 2)
    ax = model.plot.outliers(rows)
    assert ax.get_ylabel() == "Q, distance to the subspace (in units of the limit of its row)"
    plt.close(ax.figure)


def test_refusals():
    model = PPCA(2).fit(ROWS)
    with pytest.raises(ValueError, match="does not depend on rows"):
        q_limit(model, X=ROWS)
    with pytest.raises(ValueError, match="alpha"):
        diagnose(model, ROWS, alpha=2)
    with pytest.raises(ValueError, match="new_rows=True says that these are others"):
        diagnose(model, ROWS, new_rows=True, sample_weight=np.ones(400))
    with pytest.raises(TypeError, match="PLSCanonical, PPCA or FactorAnalysis"):
        diagnose(ICA(2), X)


@pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")
@pytest.mark.parametrize("kind", [PPCA, FactorAnalysis])
def test_limits_do_not_overflow_for_large_weights(kind):
    rows = np.random.default_rng(0).standard_normal((50, 5))
    few, many = (diagnose(kind(1).fit(rows, sample_weight=np.full(50, w)), rows) for w in (1e12, 1e200))
    np.testing.assert_allclose(many.t2_limit, few.t2_limit, rtol=1e-6)
    np.testing.assert_allclose(many.q_limit, few.q_limit, rtol=1e-6)
