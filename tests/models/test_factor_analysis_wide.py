"""Factor analysis of fewer rows than columns, which needs no matrix of all pairs of columns."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import FactorAnalysis as TheirFactorAnalysis
from sklearn.model_selection import KFold

import lowdim
import lowdim.sklearn
from lowdim import PPCA, FactorAnalysis, bootstrap, cross_validate
from lowdim.errors import NoComponentWarning
from lowdim.reading import summarize
from lowdim.solvers import Newton, NewtonCG, Status
from lowdim.summaries import Triangle
from oracles import gaussian_log_density
from parity.reference import data

# Heywood cases are a property of the rows, and these have some.
pytestmark = pytest.mark.filterwarnings("ignore::lowdim.errors.HeywoodWarning")


def rows(n=20, p=60, k=2, seed=0, noise=(0.5, 1.5)):
    rng = np.random.default_rng(seed)
    e = rng.standard_normal((n, p)) * rng.uniform(*noise, p)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, p)) * 1.5 + e + rng.standard_normal(p)


X = rows()
CG = NewtonCG()


def covariance(fa):
    return fa.loadings_ @ fa.phi_ @ fa.loadings_.T + np.diag(fa.noise_variance_)


# ---- The same maximum as from the covariance


@pytest.mark.parametrize("k", [1, 2, 4])
def test_rows_and_covariance_give_the_same_model(k):
    by_rows, by_covariance = FactorAnalysis(k, solver=CG).fit(X), FactorAnalysis(k, solver=Newton()).fit(X)
    assert by_rows.status_ is by_covariance.status_ is Status.CONVERGED
    np.testing.assert_allclose(by_rows.loglike_[-1], by_covariance.loglike_[-1], rtol=1e-9)
    np.testing.assert_allclose(covariance(by_rows), covariance(by_covariance), atol=1e-5)


def test_the_equations_of_maximum_likelihood():
    fa, S = FactorAnalysis(2, solver=CG).fit(X), np.cov(X, rowvar=False, ddof=0)
    Sigma, L = covariance(fa), fa.loadings_
    np.testing.assert_allclose(S @ np.linalg.solve(Sigma, L), L, atol=1e-7)
    np.testing.assert_allclose(np.diag(Sigma), np.diag(S), rtol=1e-7)
    D = L.T @ (L / fa.uniquenesses_[:, None])
    np.testing.assert_allclose(D, np.diag(np.diag(D)), atol=1e-9 * D[0, 0])
    np.testing.assert_allclose(fa.loglike_[-1], gaussian_log_density(X, fa.mean_, Sigma).sum(), rtol=1e-10)
    assert np.diff(fa.loglike_).min() >= -1e-9 * abs(fa.loglike_[0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("what", ["made", "noise", "few rows of noise", "spectra"])
def test_never_a_lower_likelihood_than_scikit_learn(what):
    """Uniquenesses are bounded below, so a Heywood case may lose what the bound costs."""
    rng = np.random.default_rng(0)
    table, k = {
        "made": (rows(30, 100, 3), 3),
        "noise": (rng.standard_normal((20, 60)), 4),
        "few rows of noise": (rng.standard_normal((5, 200)), 1),
        "spectra": (data("gasoline"), 3),
    }[what]
    fa = FactorAnalysis(k).fit(table)
    theirs = TheirFactorAnalysis(k, tol=1e-6, max_iter=2000, svd_method="lapack").fit(table)
    assert fa.solver_ == "newton-cg"
    assert fa.score(table) >= theirs.score(table) - (1e-4 if fa.heywood_.any() else 1e-9)


@pytest.mark.parametrize(
    "given",
    [
        lambda A: sparse.csr_array(A),
        lambda A: [A[:7], A[7:8], A[8:]],
        lambda A: iter([A[:7], A[7:8], A[8:]]),
        lambda A: np.asfortranarray(A),
    ],
    ids=["sparse", "blocks", "stream", "columns"],
)
def test_where_the_rows_come_from_does_not_matter(given):
    plain, other = FactorAnalysis(2, solver=CG).fit(X), FactorAnalysis(2, solver=CG).fit(given(X))
    np.testing.assert_allclose(other.loadings_, plain.loadings_, atol=1e-7)
    np.testing.assert_allclose(other.loglike_[-1], plain.loglike_[-1], rtol=1e-11)
    assert other.n_passes_ == 1


def test_weights_are_repetitions():
    w = np.random.default_rng(2).integers(0, 3, len(X))
    weighted = FactorAnalysis(2, solver=CG).fit(X, sample_weight=w)
    repeated = FactorAnalysis(2, solver=CG).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.loadings_, repeated.loadings_, atol=1e-6)
    np.testing.assert_allclose(weighted.loglike_[-1], repeated.loglike_[-1], rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-140, 1e140, "each its own"])
def test_units_do_not_matter(scale):
    scales = 10.0 ** np.linspace(-90, 120, 60) if scale == "each its own" else scale
    plain = FactorAnalysis(2, solver=CG, scale=True).fit(X)
    other = FactorAnalysis(2, solver=CG, scale=True).fit(X * scales)
    np.testing.assert_allclose(other.loadings_, plain.loadings_, atol=1e-6)
    np.testing.assert_allclose(other.transform(X * scales), plain.transform(X), atol=1e-6)


def test_offsets_and_float32():
    plain = FactorAnalysis(2, solver=CG).fit(X)
    far = FactorAnalysis(2, solver=CG).fit(X + 1e8)
    np.testing.assert_allclose(far.loadings_, plain.loadings_, atol=1e-4)
    narrow = FactorAnalysis(2, solver=CG).fit(X.astype(np.float32))
    assert narrow.loadings_.dtype == narrow.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(narrow.loadings_, plain.loadings_, atol=1e-4)


# ---- Edges


def test_constant_and_collinear_columns():
    table = np.column_stack([X, X[:, 0], np.full(len(X), 3.0)])
    fa = FactorAnalysis(2, solver=CG).fit(table)
    for value in (fa.loadings_, fa.uniquenesses_, fa.transform(table), fa.score_samples(table)):
        assert np.all(np.isfinite(value))
    np.testing.assert_allclose(fa.loadings_[-1], 0.0, atol=1e-12)
    assert not fa.heywood_[-1]
    with pytest.raises(ValueError, match="no test: the covariance is singular"):
        fa.test()


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 2), (3, 3), (6, 5)])
def test_as_many_factors_as_rows(n, k):
    """The rows are then explained completely, and only the floor bounds the likelihood."""
    table = rows(n, 50)
    fa = FactorAnalysis(k, solver=CG).fit(table)
    assert fa.status_ is Status.CONVERGED
    assert np.all(np.isfinite(fa.loadings_)) and np.isfinite(fa.score(table))
    if k >= n - 1:
        assert np.all(fa.noise_variance_ <= 1.1e-6 * table.var(axis=0))


def test_more_rows_than_columns():
    """It is not the solver of choice, but it works."""
    table = rows(150, 7)
    a, b = FactorAnalysis(2, solver=CG).fit(table), FactorAnalysis(2).fit(table)
    assert (a.solver_, b.solver_) == ("newton-cg", "newton")
    np.testing.assert_allclose(a.loadings_, b.loadings_, atol=1e-6)
    np.testing.assert_allclose(a.test(), b.test(), rtol=1e-6)


# ---- The plan, and the memory


@pytest.mark.parametrize(
    ("shape", "solver"),
    [((100, 20), "newton"), ((50, 60), "newton"), ((50, 1000), "newton-cg"), ((5, 500), "newton-cg")],
)
def test_which_solver_is_planned(shape, solver):
    plan = lowdim.plan(FactorAnalysis(3), shape)
    assert plan.solver.name == solver
    n, p = shape
    assert plan.n_bytes >= 8 * p * (p if solver == "newton" else n)


def test_tens_of_thousands_of_columns_fit_where_their_covariance_would_not():
    plan = lowdim.plan(FactorAnalysis(5), (200, 50_000))
    assert plan.solver.name == "newton-cg"
    assert plan.n_bytes < 1e9


def peak(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


WIDE = rows(12, 4000, seed=3)
INCOMPLETE = np.where(np.random.default_rng(0).random(WIDE.shape) < 0.1, np.nan, WIDE)
USES = {
    "FactorAnalysis, fit": lambda: FactorAnalysis(2).fit(WIDE),
    "FactorAnalysis, rotated": lambda: FactorAnalysis(2, rotation="promax", scale=True).fit(WIDE),
    "FactorAnalysis, bic": lambda: FactorAnalysis("bic").fit(WIDE),
    "FactorAnalysis, kaiser": lambda: FactorAnalysis("kaiser").fit(WIDE),
    "FactorAnalysis, cv": lambda: cross_validate(FactorAnalysis(), WIDE, n_components=[0, 1, 2], cv=3),
    "FactorAnalysis, bootstrap": lambda: bootstrap(FactorAnalysis(1), WIDE, n_resamples=2, random_state=0),
    "PPCA, fit": lambda: PPCA(2).fit(WIDE),
    "PPCA, standardized": lambda: PPCA(2, scale=True).fit(WIDE),
}


@pytest.mark.filterwarnings("ignore::lowdim.errors.LowdimWarning")
@pytest.mark.parametrize("what", list(USES))
def test_no_matrix_of_all_pairs_of_columns(what):
    """It would take 128 million bytes."""
    assert peak(USES[what]) < 40e6


@pytest.mark.parametrize("model", [FactorAnalysis(2), FactorAnalysis(2, scores="bartlett"), PPCA(2)], ids=str)
def test_no_such_matrix_in_a_fitted_model_either(model):
    fitted = model.fit(WIDE)
    assert peak(lambda: (fitted.transform(WIDE), fitted.score_samples(WIDE), fitted.bic(WIDE), fitted.aic(WIDE))) < 40e6
    assert (
        peak(lambda: (fitted.impute(INCOMPLETE, return_std=True), fitted.sample(3), fitted.posterior(INCOMPLETE)))
        < 40e6
    )


# ---- Choosing the number of factors, and warm starts


def test_rules_of_wide_tables():
    table = rows(30, 90, 3, seed=1, noise=(0.4, 0.6))
    for rule in ("bic", "kaiser", "parallel", "cv"):
        fa = FactorAnalysis(rule).fit(table)
        by_summary = None if rule == "cv" else FactorAnalysis(rule).fit_summary(summarize(table, Triangle))
        assert by_summary is None or by_summary.n_components_ == fa.n_components_
        plain = FactorAnalysis(fa.n_components_).fit(table)
        assert fa.loglike_[-1] >= plain.loglike_[-1] - 1e-9 * abs(plain.loglike_[-1])
        assert rule != "cv" or fa.n_components_ == 3


@pytest.mark.parametrize("rule", ["bic", "aic", "cv"])
def test_rules_do_not_take_the_unbounded_likelihood_of_many_factors_for_evidence(rule):
    """With nearly as many factors as rows, the likelihood of any wide table exceeds every penalty."""
    table = rows(20, 400, 2, seed=2, noise=(0.8, 1.2))
    fa = FactorAnalysis(rule).fit(table)
    assert fa.choice_.k == 2
    many = FactorAnalysis(18).fit(table)
    assert many.bic(table) < fa.bic(table)


def test_cross_validation_refits_each_split():
    """K = 0 is the model of independent columns."""
    folds = KFold(3)
    found = cross_validate(FactorAnalysis(), X, cv=folds, n_components=[0, 1, 2])
    for s, (train, test) in enumerate(folds.split(X)):
        independent = np.diag(X[train].var(axis=0))
        expected = [gaussian_log_density(X[test], X[train].mean(axis=0), independent).mean()]
        expected += [FactorAnalysis(k).fit(X[train]).score(X[test]) for k in (1, 2)]
        np.testing.assert_allclose(found.per_split[s, 0], expected, rtol=1e-6)


def test_a_fit_can_start_at_another_one():
    table = rows(300, 20, 3, seed=4, noise=(2.0, 3.0))
    cold = FactorAnalysis(3).fit(table)
    warm = FactorAnalysis(3).start_at(cold).fit(table)
    assert warm.n_iter_ <= 2 < cold.n_iter_
    np.testing.assert_allclose(warm.loadings_, cold.loadings_, atol=1e-7)
    # It is the start of one fit only, and one of another width is not used.
    np.testing.assert_array_equal(warm.fit(table).loglike_, cold.loglike_)
    other = FactorAnalysis(3).start_at(cold).fit(table[:, :15])
    np.testing.assert_array_equal(other.loglike_, FactorAnalysis(3).fit(table[:, :15]).loglike_)


def test_the_curve_of_bic_ends_where_further_factors_cannot_pay():
    table = rows(400, 12, 2, seed=5)
    fa = FactorAnalysis("bic").fit(table)
    curve = fa.choice_.curve
    most = FactorAnalysis().fit(table).n_components_
    assert len(curve) < most + 1
    cold = [FactorAnalysis(k).fit(table) for k in range(1, most + 1)]
    np.testing.assert_allclose(curve[1:], [m.bic(table) for m in cold[: len(curve) - 1]], rtol=1e-8)
    assert min(m.bic(table) for m in cold[len(curve) - 1 :]) > curve.min()


@pytest.mark.parametrize(("rule", "shape"), [("bic", (1000, 4)), ("aic", (1000, 4)), ("bic", (30, 100))])
def test_one_factor_is_kept_of_columns_without_any(rule, shape):
    """The curve then ends before the first factor is fitted, or begins with its minimum."""
    table = np.random.default_rng(8).standard_normal(shape)
    with pytest.warns(NoComponentWarning):
        fa = FactorAnalysis(rule).fit(table)
    assert (fa.choice_.k, fa.n_components_) == (0, 1)
    np.testing.assert_allclose(fa.loglike_[-1], FactorAnalysis(1).fit(table).loglike_[-1], rtol=1e-8)


def test_bootstrap_samples_start_at_the_solution_of_all_rows():
    """Their maxima are those of fits without a start."""
    table = rows(200, 9, 2, seed=6)
    drawn = bootstrap(FactorAnalysis(2), table, n_resamples=10, random_state=0)
    shares = np.full(200, 1 / 200)
    counts = np.random.RandomState(0).multinomial(200, shares, size=10)
    cold = [FactorAnalysis(2).fit(table, sample_weight=c).noise_variance_ for c in counts]
    np.testing.assert_allclose(drawn.replicates["noise_variance"], cold, atol=1e-6)


def test_in_place_of_scikit_learn():
    """The drop-in class, too, takes the form of Newton's method that suits the rows, with its own number of steps."""
    wide, tall = lowdim.sklearn.FactorAnalysis(2, max_iter=77).fit(X), lowdim.sklearn.FactorAnalysis(2).fit(rows(80, 5))
    assert (wide.solver_, wide.solver.max_iter, tall.solver_) == ("newton-cg", 77, "newton")
    np.testing.assert_allclose(wide.loglike_[-1], FactorAnalysis(2).fit(X).loglike_[-1], rtol=1e-10)
