"""Factor analysis: its identities, with and without missing entries."""

import math

import numpy as np
import pytest
from sklearn.decomposition import FactorAnalysis as TheirFactorAnalysis

from inputs import with_missing
from lowdim import PPCA, FactorAnalysis
from lowdim.errors import ConvergenceWarning, HeywoodWarning
from lowdim.reading import summarize
from lowdim.solvers import EM, ROTATIONS, Newton, Oblimin, Promax, Status, Varimax
from lowdim.summaries import Columns, Moments, Triangle
from oracles import conditional, observed_loglike

# Heywood cases are a property of the rows, and these have some.
pytestmark = pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")

TIGHT = EM(tol=1e-8, max_iter=5000)


def rows(n=150, p=7, k=2, seed=0, noise=(0.5, 1.5)):
    rng = np.random.default_rng(seed)
    e = rng.standard_normal((n, p)) * rng.uniform(*noise, p)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, p)) * 1.5 + e + rng.standard_normal(p)


X = rows()
INCOMPLETE = with_missing(X)
ALL_ROTATIONS = [None, *ROTATIONS]


def covariance(fa):
    return fa.loadings_ @ fa.phi_ @ fa.loadings_.T + np.diag(fa.noise_variance_)


def gradient(fa, table):
    """Finite differences of the likelihood of the observed entries per row, over means, loadings and ln psi."""
    p, k = fa.loadings_.shape

    def loglike(x):
        W = x[p : p + p * k].reshape(p, k)
        return observed_loglike(table, x[:p], W @ W.T + np.diag(np.exp(x[p + p * k :]))).mean()

    x = np.concatenate([fa.mean_, fa.loadings_.ravel(), np.log(fa.noise_variance_)])
    h = 1e-5
    return np.array([(loglike(x + h * e) - loglike(x - h * e)) / (2 * h) for e in np.eye(len(x))])


# ---- Complete rows


@pytest.mark.parametrize("solver", ["newton", TIGHT], ids=["newton", "em"])
def test_gradient_is_zero(solver):
    np.testing.assert_allclose(gradient(FactorAnalysis(2, solver=solver).fit(X), X), 0.0, atol=1e-7)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_newton_and_em_end_at_the_same_place(k):
    newton, em = FactorAnalysis(k).fit(X), FactorAnalysis(k, solver=TIGHT).fit(X)
    assert newton.status_ is em.status_ is Status.CONVERGED
    np.testing.assert_allclose(em.loglike_[-1], newton.loglike_[-1], rtol=1e-9)
    np.testing.assert_allclose(covariance(em), covariance(newton), atol=1e-4)
    for fa in (newton, em):
        # Distances are divided by the smallest noise, and lose as many digits: three factors have a Heywood case.
        slack = 1e-11 + 1e-15 / np.min(fa.noise_variance_ / X.var(axis=0))
        assert np.diff(fa.loglike_).min(initial=0.0) >= -slack * abs(fa.loglike_[0])
        np.testing.assert_allclose(fa.loglike_[-1], observed_loglike(X, fa.mean_, covariance(fa)).sum(), rtol=1e-10)


def test_the_equations_of_maximum_likelihood():
    """S Sigma^{-1} L = L and diag(Sigma) = diag(S); unrotated L^T Psi^{-1} L is diagonal and descending."""
    fa, S = FactorAnalysis(2).fit(X), np.cov(X, rowvar=False, ddof=0)
    Sigma, L = covariance(fa), fa.loadings_
    np.testing.assert_allclose(S @ np.linalg.solve(Sigma, L), L, atol=1e-8)
    np.testing.assert_allclose(np.diag(Sigma), np.diag(S), rtol=1e-8)
    D = L.T @ (L / fa.uniquenesses_[:, None])
    np.testing.assert_allclose(D, np.diag(np.diag(D)), atol=1e-9 * D[0, 0])
    assert D[0, 0] > D[1, 1]
    np.testing.assert_allclose(fa.communalities_ + fa.uniquenesses_, np.diag(S), rtol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_never_a_lower_likelihood_than_scikit_learn(seed):
    table = rows(n=40 + 60 * seed, p=5 + 3 * seed, k=1 + seed // 2, seed=seed)
    k = 1 + seed // 2
    theirs = TheirFactorAnalysis(k, tol=1e-9, max_iter=20000, svd_method="lapack").fit(table)
    assert FactorAnalysis(k).fit(table).score(table) >= theirs.score(table) - 1e-9


def test_equal_noise_is_ppca():
    """A covariance that PPCA fits exactly: both models are then the same."""
    W = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 2)))[0] * [3.0, 2.0]
    moments = Moments.from_covariance(W @ W.T + 0.7 * np.eye(6), 500, ddof=0)
    fa, ppca = FactorAnalysis(2).fit_summary(moments), PPCA(2).fit_summary(moments)
    np.testing.assert_allclose(fa.noise_variance_, 0.7, rtol=1e-6)
    np.testing.assert_allclose(fa.loadings_, ppca.loadings_, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-140, 1e140, "each its own"])
def test_units_do_not_matter(scale):
    scales = 10.0 ** np.arange(-90, 120, 30) if scale == "each its own" else scale
    for table in (X, INCOMPLETE):
        plain, other = (
            FactorAnalysis(2, scale=True).fit(table),
            FactorAnalysis(2, scale=True).fit(table * scales),
        )
        np.testing.assert_allclose(other.loadings_, plain.loadings_, atol=1e-5)
        np.testing.assert_allclose(other.uniquenesses_, plain.uniquenesses_, atol=1e-5)
        np.testing.assert_allclose(other.transform(table * scales), plain.transform(table), atol=1e-5)


def test_from_a_covariance_a_correlation_and_rows():
    by_rows = FactorAnalysis(2, scale=True).fit(X)
    S, R = np.cov(X, rowvar=False), np.corrcoef(X, rowvar=False)
    for matrix in (S, R):
        fa = FactorAnalysis(2, scale=True).fit_summary(Moments.from_covariance(matrix, len(X)))
        np.testing.assert_allclose(fa.uniquenesses_, by_rows.uniquenesses_, atol=1e-8)
        np.testing.assert_allclose(fa.test(), by_rows.test(), rtol=1e-8)
    by_triangle = FactorAnalysis(2, scale=True).fit_summary(summarize(X, Triangle))
    np.testing.assert_allclose(by_triangle.uniquenesses_, by_rows.uniquenesses_, atol=1e-8)
    with pytest.raises(TypeError, match=r"needs a Moments or a Triangle, got Columns.*from_covariance"):
        FactorAnalysis(2).fit_summary(summarize(X, Columns))


def test_as_many_factors_as_degrees_of_freedom():
    assert FactorAnalysis().fit(rows(p=6)).n_components_ == 3
    assert FactorAnalysis().fit(rows(p=3, k=1)).n_components_ == 1


# ---- Rotations


@pytest.mark.parametrize("table", ["complete", "incomplete"])
@pytest.mark.parametrize("rotation", ALL_ROTATIONS)
def test_a_rotation_changes_nothing_but_the_axes(rotation, table):
    rows_of = X if table == "complete" else INCOMPLETE
    plain, fa = FactorAnalysis(3).fit(rows_of), FactorAnalysis(3, rotation=rotation).fit(rows_of)
    np.testing.assert_allclose(covariance(fa), covariance(plain), atol=1e-9)
    np.testing.assert_allclose(fa.score_samples(rows_of), plain.score_samples(rows_of), atol=1e-9)
    np.testing.assert_allclose(fa.impute(rows_of), plain.impute(rows_of), atol=1e-9)
    np.testing.assert_allclose(fa.phi_, np.linalg.inv(fa.rotation_matrix_.T @ fa.rotation_matrix_), atol=1e-10)
    np.testing.assert_allclose(np.diag(fa.phi_), 1.0, atol=1e-10)
    np.testing.assert_allclose(
        np.abs(fa.transform(rows_of) @ fa.loadings_.T), np.abs(plain.transform(rows_of) @ plain.loadings_.T), atol=1e-8
    )
    np.testing.assert_allclose(fa.communalities_, plain.communalities_, atol=1e-9)
    # The shares of the factors add up to what they explain together.
    explained = np.trace(covariance(fa) - np.diag(fa.uniquenesses_))
    np.testing.assert_allclose(np.sum(fa.explained_variance_), explained, rtol=1e-9)
    np.testing.assert_allclose(np.sum(fa.explained_variance_ratio_), explained / np.trace(covariance(fa)), rtol=1e-9)
    np.testing.assert_allclose(plain.loadings_ @ fa.rotation_matrix_, fa.loadings_, atol=1e-9)
    assert np.all(np.take_along_axis(fa.loadings_, np.abs(fa.loadings_).argmax(axis=0)[None], axis=0) > 0)
    if rotation not in ("promax", "oblimin"):
        np.testing.assert_allclose(fa.phi_, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("rotation", [r for r in ROTATIONS if r != "promax"])
def test_rotation_criteria(rotation):
    """Stationarity, tried out: orthogonal turns of two factors, and for oblique ones slants as well."""
    A, r = FactorAnalysis(3).fit(X).loadings_, ROTATIONS[rotation]
    M = r.rotate(A).matrix
    lengths = np.linalg.norm(A, axis=1, keepdims=True) if r.kaiser else 1.0
    best = r.criterion(A @ M / lengths)
    T = np.linalg.inv(M).T
    for i in range(3):
        for j in range(3):
            if i == j:
                continue
            for step in (1e-3, -1e-3):
                turned = T.copy()
                if r.oblique:
                    turned[:, i] = T[:, i] + step * T[:, j]
                    turned[:, i] /= np.linalg.norm(turned[:, i])
                else:
                    turned[:, i] = math.cos(step) * T[:, i] + math.sin(step) * T[:, j]
                    turned[:, j] = math.cos(step) * T[:, j] - math.sin(step) * T[:, i]
                assert r.criterion(A @ np.linalg.inv(turned).T / lengths) >= best - 1e-12


def test_simple_structure_is_found():
    """Loadings on one factor each, mixed by a rotation: varimax, oblimin and the others take them apart."""
    simple = np.zeros((9, 3))
    simple[np.arange(9), np.arange(9) // 3] = np.linspace(0.5, 0.9, 9)
    mixed = simple @ np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    for r in (*ROTATIONS.values(), Varimax(kaiser=False), Oblimin(kaiser=True), Promax(power=3.0)):
        L = np.abs(mixed @ r.rotate(mixed).matrix)
        order = np.argsort(np.argmax(L, axis=0))
        np.testing.assert_allclose(L[:, order], simple, atol=1e-5)


@pytest.mark.parametrize("rotation", ALL_ROTATIONS)
def test_one_factor_and_no_loadings_have_nothing_to_rotate(rotation):
    assert FactorAnalysis(1, rotation=rotation).fit(X).loadings_.shape == (7, 1)
    noise = np.eye(5) + 1e-12
    fa = FactorAnalysis(2, rotation=rotation).fit_summary(Moments.from_covariance(noise, 100))
    assert np.all(np.isfinite(fa.loadings_))


# ---- Scores


def test_factor_scores():
    for rotation in (None, "oblimin"):
        regression = FactorAnalysis(2, rotation=rotation).fit(X)
        bartlett = FactorAnalysis(2, rotation=rotation, scores="bartlett").fit(X)
        L, phi, psi, Z = regression.loadings_, regression.phi_, regression.uniquenesses_, X - regression.mean_
        np.testing.assert_allclose(
            regression.transform(X), Z @ np.linalg.solve(covariance(regression), L @ phi), atol=1e-9
        )
        W = L / psi[:, None]
        np.testing.assert_allclose(bartlett.transform(X), Z @ W @ np.linalg.inv(W.T @ L), atol=1e-8)
        np.testing.assert_array_equal(bartlett.fit_transform(X), bartlett.transform(X))


def test_bartlett_scores_of_rows_with_missing_entries():
    fa = FactorAnalysis(2, scores="bartlett").fit(INCOMPLETE)
    scores = fa.transform(INCOMPLETE)
    for i in range(10):
        observed = ~np.isnan(INCOMPLETE[i])
        W = fa.loadings_[observed] / fa.uniquenesses_[observed, None]
        z = (INCOMPLETE[i] - fa.mean_)[observed]
        np.testing.assert_allclose(
            scores[i], np.linalg.lstsq(W.T @ fa.loadings_[observed], W.T @ z, rcond=None)[0], atol=1e-6
        )


# ---- Missing entries


def test_gradient_is_zero_with_missing_entries():
    np.testing.assert_allclose(gradient(FactorAnalysis(2, solver=TIGHT).fit(INCOMPLETE), INCOMPLETE), 0.0, atol=1e-6)


def test_likelihood_never_falls_with_missing_entries():
    for table in (INCOMPLETE, with_missing(X, 0.6)):
        fa = FactorAnalysis(2).fit(table)
        assert np.diff(fa.loglike_).min() >= -1e-10 * abs(fa.loglike_[0])
        np.testing.assert_allclose(fa.loglike_[-1], observed_loglike(table, fa.mean_, covariance(fa)).sum(), rtol=1e-9)


def test_imputation_is_the_conditional_mean():
    fa = FactorAnalysis(2, rotation="promax").fit(INCOMPLETE)
    filled, sd = fa.impute(INCOMPLETE, return_std=True)
    for i in range(20):
        m = np.isnan(INCOMPLETE[i])
        mean, variance = conditional(INCOMPLETE[i], fa.mean_, covariance(fa))
        np.testing.assert_allclose(filled[i, m], mean, atol=1e-9)
        np.testing.assert_allclose(sd[i, m] ** 2, np.diag(variance), rtol=1e-8)


@pytest.mark.parametrize("size", [1, 40, 150])
def test_blocks_and_weights_do_not_matter(size):
    whole = FactorAnalysis(2, solver=TIGHT).fit(INCOMPLETE)
    pieced = FactorAnalysis(2, solver=TIGHT).fit([INCOMPLETE[i : i + size] for i in range(0, 150, size)])
    np.testing.assert_allclose(pieced.loadings_, whole.loadings_, atol=1e-6)
    w = np.random.default_rng(2).integers(0, 3, 150)
    weighted = FactorAnalysis(2, solver=TIGHT).fit(INCOMPLETE, sample_weight=w)
    repeated = FactorAnalysis(2, solver=TIGHT).fit(np.repeat(INCOMPLETE, w, axis=0))
    np.testing.assert_allclose(weighted.loadings_, repeated.loadings_, atol=1e-6)
    np.testing.assert_allclose(weighted.loglike_[-1], repeated.loglike_[-1], rtol=1e-10)


def test_one_missing_entry_changes_little():
    table = X.copy()
    table[0, 0] = np.nan
    np.testing.assert_allclose(FactorAnalysis(2).fit(table).loadings_, FactorAnalysis(2).fit(X).loadings_, atol=0.05)


# ---- Edges


def test_collinear_and_constant_columns():
    table = np.column_stack([X, X[:, 0], np.full(150, 3.0)])
    for rows_of in (table, with_missing(table)):
        fa = FactorAnalysis(2).fit(rows_of)
        for value in (fa.loadings_, fa.uniquenesses_, fa.transform(rows_of), fa.score_samples(rows_of)):
            assert np.all(np.isfinite(value))
        np.testing.assert_allclose(fa.loadings_[8], 0.0, atol=1e-6)
        assert not fa.heywood_[8]
    with pytest.raises(ValueError, match="no test: the covariance is singular"):
        FactorAnalysis(2).fit(table).test()


def test_a_singular_correlation_matrix():
    R = np.ones((4, 4))
    fa = FactorAnalysis(1).fit_summary(Moments.from_covariance(R, 50))
    np.testing.assert_allclose(fa.get_covariance(), R * 49 / 50, atol=1e-5)
    assert fa.heywood_.all()


def test_fewer_rows_than_columns():
    table = rows(n=6, p=12)
    for k in (1, 3, 6):
        fa = FactorAnalysis(k).fit(table)
        assert np.all(np.isfinite(fa.transform(table)))
        assert np.isfinite(fa.score(table))


def test_a_heywood_case_is_flagged_from_either_side():
    """One column that is the factor itself."""
    rng = np.random.default_rng(3)
    f = rng.standard_normal(400)
    table = np.column_stack([f, *(f + rng.standard_normal(400) for _ in range(3))])
    with pytest.warns(HeywoodWarning, match="all of column 0") as caught:
        newton, em = FactorAnalysis(1).fit(table), FactorAnalysis(1, solver="em").fit(table)
    assert len(caught) == 2
    np.testing.assert_array_equal(newton.heywood_, em.heywood_)
    np.testing.assert_allclose(em.loglike_[-1], newton.loglike_[-1], rtol=1e-7)
    with pytest.warns(HeywoodWarning, match=r"all of column 0; its uniqueness is at the lower bound, 0.05 of"):
        floor = FactorAnalysis(1, solver=Newton(floor=0.05), scale=True).fit(table)
    assert floor.uniquenesses_.min() >= 0.05 - 1e-12


def test_no_test_without_enough_rows():
    with pytest.raises(ValueError, match="too few to test"):
        FactorAnalysis(1).fit_summary(Moments.from_covariance(np.eye(8) + 0.5, 4)).test()


def test_stopped_early_says_so():
    with pytest.warns(ConvergenceWarning, match="solver='newton' stopped after 1 steps"):
        FactorAnalysis(2, solver=Newton(max_iter=1, n_init=0)).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rotation": "geomin"}, "rotation='geomin' is not one of 'varimax', 'quartimax'"),
        ({"scores": "anderson"}, "scores='anderson' is not one of 'regression', 'bartlett'"),
        ({"solver": "svd"}, "solver='svd' is not one of 'auto', 'newton', 'em'"),
        ({"scale": "yes"}, "scale='yes' must be True or False"),
        ({"n_components": 8}, "n_components=8 must be a whole number between 1 and 7 .* or None"),
    ],
)
def test_parameters_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        FactorAnalysis(**options).fit(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Newton(tol=0),
        lambda: Newton(floor=2),
        lambda: Newton(n_init=-1),
        lambda: EM(tol=2),
        lambda: EM(max_iter=-1),
        lambda: EM(start="pca"),
        lambda: EM(n_init=1.5),
        lambda: Varimax(n_init=-1),
        lambda: Oblimin(gamma=5.0),
        lambda: Oblimin(gamma=math.nan),
        lambda: Promax(power=0),
        lambda: EM(accelerate="no"),
    ],
)
def test_options_out_of_range(make):
    with pytest.raises(ValueError, match=r"needed|not one of"):
        make()


def test_the_precision_of_a_heywood_case_keeps_its_digits():
    """C P = I to rounding, although a uniqueness is a millionth of its variance."""
    loadings = np.array([[1.1, 0.8, 0.7, 0.6]])
    correlation = loadings.T @ loadings
    np.fill_diagonal(correlation, 1.0)
    fa = FactorAnalysis(1, scale=True).fit_summary(Moments.from_covariance(correlation, n_samples=100))
    assert fa.heywood_.tolist() == [True, False, False, False]
    np.testing.assert_allclose(fa.get_covariance() @ fa.get_precision(), np.eye(4), atol=1e-13)
