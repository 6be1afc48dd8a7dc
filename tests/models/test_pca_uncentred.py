"""PCA without centring: the singular value decomposition of the table itself, by every solver and from every source."""

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.decomposition import TruncatedSVD

import lowdim
import lowdim.sklearn
from inputs import INPUTS, to_numpy
from lowdim import PCA, bootstrap, choose_n_components, cross_validate, permutation_test
from lowdim.inspect import contributions, cos2, diagnose, hotelling_t2, q_residuals, t2_limit
from lowdim.selection import Eigenvalues
from lowdim.solvers import SOLVERS, Krylov
from lowdim.summaries import Moments, Triangle
from oracles import principal_angles

RNG = np.random.default_rng(11)
X = RNG.standard_normal((60, 6)) * [5.0, 3.0, 2.0, 1.0, 0.7, 0.4] @ np.linalg.qr(RNG.standard_normal((6, 6)))[0]
X += [4.0, -3.0, 0.0, 1.0, 2.0, 0.5]
WIDE = RNG.standard_normal((20, 50)) * np.linspace(3.0, 0.5, 50) + 1.0
WEIGHTS = RNG.integers(0, 4, len(X)).astype(float)
THIN = sparse.random_array((400, 700), density=0.02, rng=RNG, format="csr")


def svd(table):
    """Singular values and right vectors with the usual signs, of the table as it is."""
    _, s, Vt = np.linalg.svd(np.asarray(table, dtype=float), full_matrices=False)
    return s, Vt * np.sign(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)])[:, None]


def assert_is_svd(model, table, k, rtol=1e-8):
    s, Vt = svd(table)
    n = len(table)
    np.testing.assert_allclose(to_numpy(model.singular_values_), s[:k], rtol=rtol)
    np.testing.assert_allclose(to_numpy(model.explained_variance_), s[:k] ** 2 / (n - 1), rtol=2 * rtol)
    np.testing.assert_allclose(to_numpy(model.explained_variance_ratio_), s[:k] ** 2 / (s**2).sum(), rtol=2 * rtol)
    np.testing.assert_allclose(to_numpy(model.components_), Vt[:k], atol=1e3 * rtol)
    np.testing.assert_array_equal(to_numpy(model.mean_), np.zeros(table.shape[1]))


@pytest.mark.parametrize("table", [X, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_singular_value_decomposition(solver, table):
    model = PCA(3, center=False, solver=solver).fit(table)
    assert_is_svd(model, table, 3)
    assert model.solver_ == solver
    rest = (svd(table)[0][3:] ** 2).sum() / (len(table) - 1) / (table.shape[1] - 3)
    assert model.noise_variance_ == pytest.approx(rest, rel=1e-7)


@pytest.mark.parametrize("table", [X, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("solver", ["covariance", "triangle", "gram", "auto"])
def test_all_components(solver, table):
    """There are as many as rows or columns: no direction is lost to the mean."""
    k = min(table.shape)
    model = PCA(center=False, solver=solver).fit(table)
    assert_is_svd(model, table, k)
    assert model.rank_ == model.n_components_ == k
    np.testing.assert_allclose(model.inverse_transform(model.transform(table)), table, atol=1e-10)


@pytest.mark.parametrize("kind", INPUTS)
def test_every_source(kind):
    table = np.round(8 * X)
    assert_is_svd(PCA(2, center=False).fit(INPUTS[kind].make(table)), table, 2, rtol=1e-5)


def test_scores_and_reconstructions_are_linear():
    model = PCA(2, center=False).fit(X)
    W = model.components_
    np.testing.assert_allclose(model.transform(X), X @ W.T, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(X @ W.T), X @ W.T @ W, atol=1e-12)
    np.testing.assert_allclose(model.reconstruction_error(X), ((X - X @ W.T @ W) ** 2).sum(axis=1), rtol=1e-8)
    np.testing.assert_array_equal(model.transform(np.zeros((1, 6))), [[0.0, 0.0]])
    white = PCA(2, center=False, whiten=True, ddof=0).fit(X).transform(X)
    np.testing.assert_allclose(white.T @ white / len(X), np.eye(2), atol=1e-10)


def test_scikit_learn_and_tf_idf_like_rows():
    """TruncatedSVD has the same singular values and scores; its variances are those of the scores about their mean."""
    theirs = TruncatedSVD(5, algorithm="arpack", random_state=0).fit(THIN)
    ours = PCA(5, center=False).fit(THIN)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(ours.transform(THIN)), np.abs(theirs.transform(THIN)), atol=1e-6)
    np.testing.assert_allclose(ours.transform(THIN).var(axis=0), theirs.explained_variance_, rtol=1e-6)
    total = (THIN.toarray() ** 2).sum()
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.singular_values_**2 / total, rtol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [False, True])
def test_sparse_rows(solver, scale):
    options = {"center": False, "scale": scale, "solver": solver}
    found = PCA(3, **options).fit(THIN)
    table = THIN.toarray()
    if scale:
        table = table / np.sqrt((table**2).sum(axis=0) / (len(table) - 1))
    np.testing.assert_allclose(found.singular_values_, svd(table)[0][:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(found.components_[0] @ svd(table)[1][0]), 1.0, rtol=1e-9)


@pytest.mark.parametrize("table", [X, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_standardized_columns_are_divided_by_their_root_mean_square(solver, table):
    """As prcomp(scale. = TRUE, center = FALSE) does, with the divisor n - 1."""
    model = PCA(2, center=False, scale=True, solver=solver).fit(table)
    scale = np.sqrt((table**2).sum(axis=0) / (len(table) - 1))
    np.testing.assert_allclose(model.scale_, scale, rtol=1e-10)
    np.testing.assert_allclose(model.singular_values_, svd(table / scale)[0][:2], rtol=1e-8)
    np.testing.assert_allclose(model.transform(table), table / scale @ model.components_.T, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_constant_columns_are_not_constant_about_zero(solver):
    table = np.column_stack([X[:, :3], np.full(len(X), 2.0), np.zeros(len(X))])
    model = PCA(3, center=False, scale=True, solver=solver).fit(table)
    assert model.scale_[3] == pytest.approx(2.0 * np.sqrt(len(X) / (len(X) - 1)))
    assert model.scale_[4] == 1.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_are_repetitions(solver):
    a = PCA(3, center=False, solver=solver).fit(X, sample_weight=WEIGHTS)
    b = PCA(3, center=False, solver=solver).fit(np.repeat(X, WEIGHTS.astype(int), axis=0))
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-6)


def test_summaries_and_further_rows():
    """Moments about the mean hold the second moments about zero, too; partial_fit goes on from them."""
    for kind in (Moments, Triangle):
        assert_is_svd(PCA(3, center=False).fit_summary(lowdim.reading.summarize(X, kind)), X, 3)
    model = PCA(3, center=False).partial_fit(X[:20]).partial_fit(X[20:45]).partial_fit(X[45:])
    assert_is_svd(model, X, 3)
    assert_is_svd(PCA(3, center=False).fit(X[:30]).partial_fit(X[30:]), X, 3)


@pytest.mark.parametrize("solver", ["auto", "triangle"])
def test_a_large_offset_costs_no_more_than_in_the_decomposition_of_the_table(solver):
    table = X + 1e7
    s, Vt = svd(table)
    model = PCA(3, center=False, solver=solver).fit(table)
    np.testing.assert_allclose(model.singular_values_, s[:3], rtol=1e-7)
    assert model.solver_ == "triangle"
    assert principal_angles(model.components_, Vt[:3]).max() < 1e-6


def test_squares_that_overflow_are_refused():
    for solver in ("covariance", "triangle", "krylov"):
        with pytest.raises(ValueError, match="center=False: the squares"):
            PCA(1, center=False, solver=solver).fit(X + 1e160)


def test_float32():
    model = PCA(2, center=False).fit(X.astype(np.float32))
    assert model.components_.dtype == np.float32
    assert_is_svd(model, X, 2, rtol=1e-5)


def test_a_share_of_the_mean_square():
    s = svd(X)[0]
    share = (s**2).cumsum() / (s**2).sum()
    for target in (0.5, 0.9, 0.99):
        assert PCA(target, center=False).fit(X).n_components_ == int(np.argmax(share >= target)) + 1


# ---- The density, and what follows from it


def test_the_density_is_gaussian_about_zero():
    model = PCA(2, center=False, ddof=0).fit(X)
    expected = stats.multivariate_normal(np.zeros(6), model.get_covariance()).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-8)
    np.testing.assert_allclose(model.get_precision() @ model.get_covariance(), np.eye(6), atol=1e-8)
    # It is the most likely of its kind: a turned or scaled one is less likely.
    best = model.score(X)
    for factor in (0.9, 1.1):
        C = model.get_covariance() * factor
        assert stats.multivariate_normal(np.zeros(6), C).logpdf(X).mean() < best


def test_cross_validation_is_that_of_fits_about_zero():
    folds = np.arange(len(X)) % 4
    found = cross_validate(PCA(center=False), X, cv=folds, n_components=[0, 1, 2, 3])
    for j, k in enumerate([0, 1, 2, 3]):
        scores = []
        for fold in range(4):
            train, test = X[folds != fold], X[folds == fold]
            if k == 0:
                C = np.eye(6) * (train**2).sum() / (len(train) - 1) / 6
                scores.append(stats.multivariate_normal(np.zeros(6), C).logpdf(test).mean())
            else:
                scores.append(PCA(k, center=False).fit(train).score(test))
        np.testing.assert_allclose(found.mean[0, j], np.average(scores), rtol=1e-6)


def test_cross_validation_with_fewer_rows_than_columns():
    folds = np.arange(len(WIDE)) % 4
    found = cross_validate(PCA(center=False), WIDE, cv=folds, n_components=[1, 2])
    expected = [
        np.mean([PCA(k, center=False).fit(WIDE[folds != f]).score(WIDE[folds == f]) for f in range(4)]) for k in (1, 2)
    ]
    np.testing.assert_allclose(found.mean[0], expected, rtol=1e-6)


def test_rules_see_the_second_moments_about_zero():
    noise = RNG.standard_normal((300, 8))
    for offset, k in ((0.0, 0), (1.0, 1)):
        choices = choose_n_components(noise + offset, ["parallel", "bic", "cv", "gavish-donoho"], center=False)
        assert [choice.k for choice in choices.values()] == [k] * 4, offset
    assert "about zero" in str(choices)
    assert all(choice.k == 0 for choice in choose_n_components(noise + 1.0, ["parallel", "bic", "cv"]).values())
    for rule in ("bic", "parallel", "cv", "minka"):
        assert PCA(rule, center=False).fit(noise + 1.0).n_components_ == 1


@pytest.mark.parametrize("table", [X, WIDE], ids=["tall", "wide"])
@pytest.mark.parametrize("scale", [False, True])
def test_the_eigenvalues_of_the_rules(table, scale):
    e = choose_n_components(table, "proportion", center=False, scale=scale).eigenvalues
    unit = np.sqrt((table**2).sum(axis=0) / (len(table) - 1)) if scale else 1.0
    np.testing.assert_allclose(e.values, svd(table / unit)[0] ** 2 / (len(table) - 1), rtol=1e-8)
    assert e.free == len(table)
    from_summary = Eigenvalues.from_summary(lowdim.reading.summarize(table, Triangle), scale, center=False)
    np.testing.assert_allclose(from_summary.values, e.values, rtol=1e-8)


def test_bootstrap():
    model = PCA(2, center=False)
    found = bootstrap(model, X, n_resamples=20, random_state=0)
    np.testing.assert_allclose(found.estimates["explained_variance"], model.fit(X).explained_variance_, rtol=1e-8)
    # The first component of rows with a mean has far more than the variance about the mean in every sample.
    assert found.replicates["explained_variance"][:, 0].min() > PCA(1).fit(X).explained_variance_[0]


def test_shuffled_columns_are_refused():
    with pytest.raises(ValueError, match="center=False: shuffled columns keep their means"):
        permutation_test(PCA(2, center=False), X)


def test_diagnostics_are_about_zero():
    model = PCA(2, center=False).fit(X)
    Z = X @ model.components_.T
    np.testing.assert_allclose(hotelling_t2(model, X), (Z**2 / model.explained_variance_).sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(np.asarray(contributions(model, X)).sum(axis=0), [1.0, 1.0], rtol=1e-8)
    np.testing.assert_allclose(cos2(model, X), Z**2 / (X**2).sum(axis=1)[:, None], rtol=1e-8)
    np.testing.assert_allclose(q_residuals(model, X), ((X - Z @ model.components_) ** 2).sum(axis=1), rtol=1e-8)
    assert diagnose(model, X).t2.shape == (60,)


@pytest.mark.parametrize("new_rows", [False, True])
def test_the_limit_of_t2_is_that_of_rows_of_mean_zero(new_rows):
    """One row in twenty of the fit, and of new rows, is beyond it: 400 tables of 12 rows with all of 3 columns."""
    beyond = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        rows, others = rng.standard_normal((12, 3)), rng.standard_normal((12, 3))
        model = PCA(center=False).fit(rows)
        beyond.append(hotelling_t2(model, others if new_rows else rows) > t2_limit(model, 0.05, new_rows=new_rows))
    assert abs(np.mean(beyond) - 0.05) < 0.012


def test_the_printed_table_says_so():
    text = str(PCA(2, center=False).fit(X))
    assert text.startswith("PCA of 60 rows, 6 columns, not centred (covariance)")
    assert "root mean square" in text
    assert "variance" not in text.splitlines()[1]
    assert "std. deviation" in str(PCA(2).fit(X))


# ---- Parameters and files


def test_the_parameter_is_checked():
    with pytest.raises(ValueError, match="center=1 must be True or False"):
        PCA(center=1).fit(X)
    with pytest.raises(ValueError, match="center='no' must be True or False"):
        choose_n_components(X, center="no")


def test_saved_models_go_on_about_zero(tmp_path):
    model = PCA(3, center=False).fit(X[:40])
    lowdim.save(model, tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    assert loaded.center is False
    assert_is_svd(loaded.partial_fit(X[40:]), X, 3)


def test_centred_models_are_as_before():
    assert PCA().center is True
    assert "center" not in lowdim.sklearn.PCA().get_params()
    np.testing.assert_allclose(PCA(2).fit(X).mean_, X.mean(axis=0))


def test_one_row_and_zero_rows():
    model = PCA(1, center=False, ddof=0).fit(X[:1])
    np.testing.assert_allclose(model.singular_values_, [np.linalg.norm(X[0])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        zero = PCA(2, center=False, solver=Krylov()).fit(np.zeros((20, 5)))
    np.testing.assert_array_equal(zero.explained_variance_, [0.0, 0.0])


@pytest.mark.parametrize("shape", [(30, 4), (4, 30)])
@pytest.mark.parametrize("solver", ["covariance", "triangle", "gram", "krylov"])
@pytest.mark.parametrize("scale", [1e-158, 1e-200])
def test_entries_whose_squares_underflow_are_refused(shape, solver, scale):
    X = np.random.default_rng(0).normal(size=shape) * scale
    for rows in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="too small for their squares"):
            PCA(2, center=False, solver=solver).fit(rows)


@pytest.mark.parametrize("solver", ["covariance", "triangle", "gram", "krylov"])
def test_a_table_of_zeros_has_no_second_moments(solver):
    assert np.array_equal(PCA(2, center=False, solver=solver).fit(np.zeros((6, 4))).explained_variance_, [0.0, 0.0])
