"""Permutation tests: calibrated without structure, and finding what there is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_wine

from lowdim import CCA, PCA, PLSRegression, permutation_test
from lowdim.errors import SmallSampleWarning

random = np.random.default_rng(5)


def test_the_statistics_are_those_of_the_model():
    X = load_wine().data
    for model in (PCA(), PCA(scale=True)):
        test = permutation_test(model, X, n_resamples=3, alpha=0.5)
        np.testing.assert_allclose(test.statistic, model.fit(X).explained_variance_ratio_, rtol=1e-9, atol=1e-12)
    A, B = X[:, :4], X[:, 4:7]
    r = CCA().fit(A, B).singular_values_
    wilks = [-np.log(np.prod(1 - r[k:] ** 2)) for k in range(3)]
    np.testing.assert_allclose(permutation_test(CCA(), A, B, n_resamples=3, alpha=0.5).statistic, wilks, rtol=1e-8)
    for options in ({}, {"scale": False}, {"scale": (True, False)}):
        for c in (0.2, 1.0, (0.0, 0.3)):
            model = CCA(regularization=c, **options)
            found = permutation_test(model, A, B, n_resamples=3, alpha=0.5).statistic
            np.testing.assert_allclose(found, model.fit(A, B).singular_values_, rtol=1e-8)


def test_p_values_are_uniform_without_structure():
    """Of the first component, over many tables of noise; later ones are never smaller."""
    first = {"PCA": [], "CCA": []}
    for seed in range(120):
        noise = np.random.default_rng(seed)
        A, B = noise.standard_normal((25, 3)), noise.exponential(size=(25, 2))
        for name, test in (
            ("PCA", permutation_test(PCA(), A, n_resamples=39, random_state=seed)),
            ("CCA", permutation_test(CCA(), A, B, n_resamples=39, random_state=seed)),
        ):
            p = test.p_values
            assert np.all(np.diff(p) >= 0)
            first[name].append(p[0] - noise.uniform(0, 1 / 40))
    for values in first.values():
        assert stats.kstest(values, "uniform").pvalue > 1e-3


def test_what_is_there_is_found():
    latent = random.standard_normal((200, 2))
    X = latent @ random.standard_normal((2, 8)) * 2 + random.standard_normal((200, 8))
    assert permutation_test(PCA(), X, n_resamples=99, random_state=0).n_components == 2
    A = np.column_stack([latent + 0.3 * random.standard_normal((200, 2)), random.standard_normal((200, 2))])
    B = np.column_stack([latent + 0.3 * random.standard_normal((200, 2)), random.standard_normal(200)])
    test = permutation_test(CCA(), A, B, n_resamples=99, random_state=0)
    assert test.n_components == 2
    assert test.p_values[0] == pytest.approx(0.01)


def test_later_pairs_are_not_found_because_of_the_first():
    """One strong pair, and noise: without taking it out, the second would be found far too often."""
    found = 0
    for seed in range(60):
        noise = np.random.default_rng(seed)
        A, B = noise.standard_normal((40, 3)), noise.standard_normal((40, 3))
        B[:, 0] = A[:, 0] + 0.1 * noise.standard_normal(40)
        found += permutation_test(CCA(), A, B, n_resamples=39, random_state=seed).n_components > 1
    # At alpha 0.05: at most 9 of 60, but for one time in a thousand.
    assert found <= 9


@pytest.mark.parametrize("c", [0.0, 0.1, 0.5, 0.9, (0.0, 0.9)])
def test_the_null_of_each_pair_is_that_of_tables_without_the_earlier_ones(c):
    """Slowly, with n x n projections: variates of y after the first j are shuffled, those of X before are removed, and
    the covariance of the former is restored."""
    noise = np.random.default_rng(2)
    A, B = (stats.zscore(noise.standard_normal((12, p)) + noise.standard_normal((12, 1)), ddof=1) for p in (4, 3))
    found = permutation_test(CCA(regularization=c), A, B, n_resamples=5, alpha=0.5, random_state=3)
    shuffles = np.random.RandomState(3)
    scores = []
    for Z, ridge in zip((A, B), np.broadcast_to(c, 2), strict=True):
        values, V = np.linalg.eigh((1 - ridge) * np.cov(Z.T) + ridge * np.eye(Z.shape[1]))
        scores.append(Z @ (V / np.sqrt(values)) @ V.T / np.sqrt(11))
    L, _, Rt = np.linalg.svd(scores[0].T @ scores[1])
    X, Y = scores[0] @ L, scores[1] @ Rt.T
    assert found.are_correlations is (c == 0.0)
    for null, strength in zip(found.null, found.null_strength, strict=True):
        order = shuffles.permutation(12)
        for j in range(3):
            rest, lengths, V = np.linalg.svd(Y[:, j:], full_matrices=False)
            basis = np.linalg.qr(X[:, :j])[0]
            left, _, right = np.linalg.svd((np.eye(12) - basis @ basis.T) @ rest[order], full_matrices=False)
            s = np.linalg.svd(X[:, j:].T @ (left @ right) * lengths @ V, compute_uv=False)
            expected = -np.log1p(-s * s).sum() if c == 0.0 else s[0]
            assert null[j] == pytest.approx(expected, rel=1e-8)
            assert strength[j] == pytest.approx(s[0], rel=1e-8)


def test_strengths_are_what_is_compared():
    """The singular values of CCA, which are correlations without regularization, and the proportions of PCA."""
    noise = np.random.default_rng(2)
    A, B = noise.standard_normal((30, 3)), noise.standard_normal((30, 4))
    for c in (0.0, 0.4):
        found = permutation_test(CCA(regularization=c), A, B, n_resamples=1, alpha=0.5)
        np.testing.assert_allclose(found.strength, CCA(regularization=c).fit(A, B).singular_values_)
    found = permutation_test(PCA(), A, n_resamples=3, alpha=0.5)
    np.testing.assert_array_equal(found.strength, found.statistic)
    np.testing.assert_array_equal(found.null_strength, found.null)


@pytest.mark.parametrize("c", [0.0, 0.3, 1.0])
def test_several_strong_pairs_do_not_make_later_ones_significant(c):
    """Five pairs of thirty rows leave 24 dimensions. Shuffled in all 29, a sixth is found in up to 20% of tables."""
    more, all_five = 0, 0
    for seed in range(150):
        random = np.random.default_rng(seed)
        A, B = random.standard_normal((30, 10)), random.standard_normal((30, 8))
        common = 20.0 * random.standard_normal((30, 5))
        A[:, :5] += common
        B[:, :5] += common
        A, B = A @ random.standard_normal((10, 10)), B @ random.standard_normal((8, 8))
        found = permutation_test(CCA(regularization=c), A, B, n_resamples=19, random_state=seed).n_components
        more, all_five = more + (found > 5), all_five + (found >= 5)
    assert more <= 15
    assert all_five >= 135


@pytest.mark.parametrize("c", [0.0, 0.1, 0.5, 0.9])
def test_regularization_keeps_the_level_and_does_not_lose_power(c):
    """Each table has a strong factor of its own, or both share one that is weak in every column. Singular values of the
    regularised problem are then above 1, with or without a relation."""
    size, power, later = 0, 0, 0
    for seed in range(25):
        noise = np.random.default_rng(seed)
        A, B, z = noise.standard_normal((30, 8)), noise.standard_normal((30, 6)), noise.standard_normal((30, 1))
        factors = 2 * noise.standard_normal((30, 1)), 2 * noise.standard_normal((30, 1))
        model, options = CCA(regularization=c), {"n_resamples": 39, "random_state": seed}
        size += permutation_test(model, A + factors[0], B + factors[1], **options).n_components > 0
        power += permutation_test(model, A + 0.7 * z, B + 0.7 * z, **options).n_components > 0
        later += permutation_test(model, A + 3 * z, B + 3 * z, **options).n_components > 1
    # At alpha 0.05: at most 5 of 25, but for one time in a thousand.
    assert size <= 5
    assert later <= 5
    assert power >= (10 if c == 0.0 else 19)


def test_fewer_rows_than_columns():
    wide = random.standard_normal((15, 40))
    test = permutation_test(PCA(), wide, n_resamples=19, random_state=0)
    assert len(test.statistic) == 14
    with pytest.raises(ValueError, match="perfectly correlated"):
        permutation_test(CCA(), wide, wide[:, :3])
    # Every shuffle of y has the same singular values with an X that spans all rows.
    with pytest.raises(ValueError, match=r"perfectly correlated; .* for both tables"):
        permutation_test(CCA(regularization=(0.0, 0.5)), wide, wide[:, :3])
    ridge = permutation_test(CCA(regularization=0.5), wide, random.standard_normal((15, 3)), n_resamples=19)
    assert ridge.n_components <= 1


def test_scales_and_offsets_do_no_harm():
    X = np.round(random.standard_normal((30, 4)) * 2**10) / 2**10
    plain = permutation_test(PCA(), X, n_resamples=9, alpha=0.5, random_state=1)
    moved = permutation_test(PCA(), (X + 1e8) * 1e-150, n_resamples=9, alpha=0.5, random_state=1)
    np.testing.assert_allclose(moved.statistic, plain.statistic, rtol=1e-6)
    np.testing.assert_allclose(moved.null, plain.null, rtol=1e-6)


def test_tables():
    test = permutation_test(PCA(), random.standard_normal((30, 4)), n_resamples=9, alpha=0.5, random_state=1)
    assert list(test.table()) == ["statistic", "by chance", "p", "significant"]
    assert test.table().rows == ["PC1", "PC2", "PC3", "PC4"]
    assert test.table()["significant"].sum() == test.n_components
    assert "9 shuffles" in str(test)
    assert "9 shuffles" in repr(test)
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert len(test.to_pandas()) == 4


def test_bad_input_is_refused():
    X = random.standard_normal((30, 4))
    with pytest.raises(TypeError, match="PLSRegression has no permutation test"):
        permutation_test(PLSRegression(), X, X)
    with pytest.raises(ValueError, match="n_resamples=0"):
        permutation_test(PCA(), X, n_resamples=0)
    with pytest.raises(ValueError, match="smallest p-value of n_resamples=9"):
        permutation_test(PCA(), X, n_resamples=9)
    with pytest.raises(ValueError, match="alpha=5"):
        permutation_test(PCA(), X, alpha=5)
    with pytest.raises(ValueError, match="at least 3"):
        permutation_test(PCA(), X[:2])
    with pytest.raises(ValueError, match="all columns of X are constant"):
        permutation_test(PCA(), np.ones((10, 3)))
    with pytest.raises(ValueError, match="NaN"):
        permutation_test(PCA(), np.where(X > 1, np.nan, X))


@pytest.mark.parametrize("blocks", [lambda X: [X[:7], X[7:]], lambda X: lambda: iter([X]), lambda X: iter([X])])
def test_rows_in_blocks_are_gathered(blocks):
    X = random.standard_normal((30, 4))
    found = permutation_test(PCA(), blocks(X), n_resamples=5, alpha=0.5, random_state=0)
    expected = permutation_test(PCA(), X, n_resamples=5, alpha=0.5, random_state=0)
    np.testing.assert_allclose(found.null, expected.null)


def test_tables_that_are_always_correlated_get_a_warning():
    random = np.random.default_rng(0)
    A, B = random.standard_normal((20, 12)), random.standard_normal((20, 10))
    with pytest.warns(SmallSampleWarning, match="ranks 12 and 10 but only 20 rows: correlations of 1"):
        permutation_test(CCA(), A, B, n_resamples=19, random_state=0)
    permutation_test(CCA(regularization=0.1), A, B, n_resamples=19, random_state=0)


def test_the_first_pairs_alone_have_the_same_p_values():
    random = np.random.default_rng(0)
    X, Y = random.standard_normal((80, 5)), random.standard_normal((80, 4))
    Y[:, 0] += X[:, 0]
    for model, tables in ((CCA(), (X, Y)), (CCA(regularization=0.2), (X, Y)), (PCA(), (X,))):
        whole = permutation_test(model, *tables, n_resamples=39, random_state=0)
        part = permutation_test(model, *tables, n_resamples=39, n_components=2, random_state=0)
        assert np.array_equal(part.statistic, whole.statistic[:2]) and np.array_equal(part.null, whole.null[:, :2])
        assert np.array_equal(part.strength, whole.strength[:2]) and np.array_equal(part.p_values, whole.p_values[:2])
    with pytest.raises(ValueError, match="n_components=0 must be a whole number"):
        permutation_test(PCA(), X, n_components=0)
