"""ICA: stationary, of the likelihood it says, the sources it should find, and the same whatever rows come in."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from inputs import BOTH, FEW_INPUTS, to_numpy
from lowdim import ICA, PCA
from lowdim.densities import Flipped, GeneralizedGaussian, Sech
from lowdim.errors import GaussianWarning
from lowdim.solvers import Status
from models.ica_mixes import MIXES, amari, gradient, log_likelihood, mix
from oracles import signed

OPTIONS = {
    "plain": {},
    "ortho": {"ortho": True},
    "fixed-point": {"solver": "fixed-point"},
    "student": {"density": "student"},
    "laplace": {"density": GeneralizedGaussian(1.0)},
    "custom": {
        "density": (
            lambda u: u + 2 * np.logaddexp(0, -u),
            lambda u: np.tanh(u / 2),
            lambda u: 0.5 - 0.5 * np.tanh(u / 2) ** 2,
        ),
        "extended": False,
    },
}
each_option = pytest.mark.parametrize("options", list(OPTIONS.values()), ids=list(OPTIONS))
#: Densities for heavy tails alone are for the mix that has no others.
each_fit = pytest.mark.parametrize(
    ("name", "options"),
    [(n, o) for n in MIXES for o in OPTIONS.values() if n == "super-Gaussian" or o.get("extended", True)],
)


def aligned(a, b):
    """Rows of `a` in the order and with the signs of the rows of `b` that they are most like."""
    unit = [m / np.linalg.norm(m, axis=1, keepdims=True) for m in (a, b)]
    similar = unit[1] @ unit[0].T
    order = np.abs(similar).argmax(axis=1)
    return a[order] * np.sign(similar[np.arange(len(b)), order])[:, None]


# ---- The mathematics


@each_fit
def test_the_gradient_is_zero(name, options):
    X, _ = mix(name)
    model = ICA(**options).fit(X)
    assert model.status_ is Status.CONVERGED
    assert np.abs(gradient(model, X)).max() < 1.01e-6
    assert model.gradient_norm_ == pytest.approx(np.abs(gradient(model, X)).max(), abs=1e-9)


@each_fit
def test_the_sources_are_found(name, options):
    X, A = mix(name, 10_000)
    assert amari(ICA(**options).fit(X).components_, A) < 0.05


@each_fit
def test_the_likelihood_is_that_of_the_rows(name, options):
    X, _ = mix(name)
    model = ICA(**options).fit(X)
    expected = log_likelihood(model.components_, model.densities_, X)
    assert model.score(X) == pytest.approx(expected, rel=1e-10)
    assert model.loglike_[-1] == pytest.approx(len(X) * expected, rel=1e-10)
    np.testing.assert_allclose(model.score_samples(X).mean(), expected, rtol=1e-10)


def test_a_density_of_two_columns_integrates_to_one():
    X, _ = mix("both")
    model = ICA().fit(X[:, :2])
    sd = X[:, :2].std(axis=0)
    axes = [model.mean_[j] + sd[j] * np.linspace(-25, 25, 801) for j in range(2)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    cell = np.prod([a[1] - a[0] for a in axes])
    assert np.exp(model.score_samples(grid)).sum() * cell == pytest.approx(1.0, abs=1e-3)


def test_no_other_matrix_nearby_is_likelier():
    X, _ = mix("both")
    model = ICA().fit(X)
    best = log_likelihood(model.components_, model.densities_, X)
    random = np.random.default_rng(0)
    for _ in range(20):
        M = np.eye(5) + 0.01 * random.standard_normal((5, 5))
        assert log_likelihood(M @ model.components_, model.densities_, X) < best


def test_sources_of_the_density_itself_have_its_scale():
    """ln p(u) = -ln(pi cosh u) has variance pi^2 / 4."""
    random = np.random.default_rng(0)
    S = np.log(np.tan(np.pi / 2 * random.random((40_000, 3))))
    assert S.var() == pytest.approx(np.pi**2 / 4, rel=0.02)
    model = ICA().fit(S @ random.standard_normal((3, 3)))
    np.testing.assert_allclose(model.transform(S @ np.linalg.pinv(model.components_.T)).var(axis=0), S.var(), rtol=0.05)


def test_orthogonal_sources_are_white():
    X, _ = mix("both")
    for options in ({"ortho": True}, {"solver": "fixed-point"}):
        U = ICA(**options).fit_transform(X)
        np.testing.assert_allclose(np.cov(U.T, ddof=0), np.eye(5), atol=1e-10)


def test_both_solvers_agree():
    X, _ = mix("both")
    one, other = ICA(ortho=True, tol=1e-10).fit(X), ICA(solver="fixed-point", tol=1e-10).fit(X)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-7)


def test_without_light_tails_extended_changes_nothing():
    X, _ = mix("super-Gaussian")
    one, other = ICA(tol=1e-9).fit(X), ICA(extended=False, tol=1e-9).fit(X)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-6)
    assert one.densities_ == [Sech()] * 4


def test_each_source_has_the_density_of_its_side():
    X, _ = mix("both", 5000)
    model = ICA().fit(X)
    light = model.kurtosis_ < 0
    assert light.sum() == 2
    assert [isinstance(d, Flipped) for d in model.densities_] == light.tolist()


@pytest.mark.parametrize("options", [{}, {"ortho": True}], ids=["plain", "ortho"])
def test_any_mix_of_the_columns_has_the_same_sources(options):
    X, _ = mix("both")
    B = np.random.default_rng(5).standard_normal((5, 5))
    one = ICA(tol=1e-10, **options).fit(X)
    other = ICA(tol=1e-10, **options).fit(X @ B + 7.0)
    np.testing.assert_allclose(aligned(other.components_ @ B.T, one.components_), one.components_, atol=1e-6)


def test_kurtosis():
    X, _ = mix("both")
    model = ICA().fit(X)
    U = model.transform(X)
    U = (U - U.mean(axis=0)) / U.std(axis=0)
    np.testing.assert_allclose(model.kurtosis_, (U**4).mean(axis=0) - 3, rtol=1e-8)


# ---- Conventions


@each_option
def test_unmixing_and_mixing_are_inverses(options):
    X, _ = mix("super-Gaussian")
    model = ICA(**options).fit(X)
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(model.components_, model.unmixing_ @ model.whitening_, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
    np.testing.assert_allclose(np.cov((X @ model.whitening_.T).T, ddof=0), np.eye(4), atol=1e-9)


def test_sources_are_ordered_and_signed():
    X, _ = mix("both")
    model = ICA().fit(X)
    U = model.transform(X)
    variances = (model.mixing_**2).sum(axis=0) * U.var(axis=0)
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=1e-8)
    np.testing.assert_allclose(model.explained_variance_ratio_, variances / X.var(axis=0).sum(), rtol=1e-8)
    assert np.all(np.diff(variances) <= 0)
    np.testing.assert_array_equal(model.mixing_.T, signed(model.mixing_.T))


def test_the_start_does_not_matter_to_order_and_signs():
    X, _ = mix("both")
    fits = [ICA(tol=1e-10, random_state=seed).fit(X) for seed in (None, 1, np.random.RandomState(2))]
    for other in fits[1:]:
        np.testing.assert_allclose(other.components_, fits[0].components_, atol=1e-6)


def test_the_same_call_gives_the_same_bits():
    X, _ = mix("both")
    for options in ({}, {"random_state": 3, "n_init": 2}):
        one, other = (ICA(**options).fit(X) for _ in range(2))
        np.testing.assert_array_equal(one.components_, other.components_)


def test_fewer_components_are_those_of_pca():
    X, _ = mix("both")
    model = ICA(3).fit(X)
    pca = PCA(3, ddof=0).fit(X)
    assert model.components_.shape == (3, 5)
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(3), atol=1e-10)
    # The same space, and the same rows in it.
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), pca.inverse_transform(pca.transform(X)),
                               atol=1e-9)  # fmt: skip
    assert model.noise_variance_ == pytest.approx(pca.noise_variance_)
    U, rest = model.transform(X), X - model.inverse_transform(model.transform(X))
    volume = 0.5 * np.linalg.slogdet(model.components_ @ model.components_.T)[1]
    inside = volume - sum(d.energy(U[:, i]) for i, d in enumerate(model.densities_))
    outside = -np.log(2 * np.pi * pca.noise_variance_) - 0.5 * (rest**2).sum(axis=1) / pca.noise_variance_
    np.testing.assert_allclose(model.score_samples(X), inside + outside, rtol=1e-9)
    assert model.loglike_[-1] == pytest.approx(model.score_samples(X).sum())


def test_a_share_of_the_variance():
    X, _ = mix("both")
    assert ICA(0.9).fit(X).n_components_ == PCA(0.9).fit(X).n_components_


def test_kept_sources():
    X, _ = mix("both", 500)
    model = ICA(keep_sources=True).fit(X)
    np.testing.assert_array_equal(model.sources_, model.transform(X))
    assert not hasattr(model.set_params(keep_sources=False).fit(X), "sources_")


def test_a_given_start():
    X, _ = mix("both")
    model = ICA().fit(X)
    again = ICA(w_init=model.unmixing_).fit(X)
    assert again.n_iter_ == 1
    np.testing.assert_allclose(again.components_, model.components_, atol=1e-5)
    start = np.random.default_rng(1).standard_normal((5, 5))
    for options in ({}, {"ortho": True}, {"solver": "fixed-point"}):
        assert ICA(w_init=start, **options).fit(X).status_ is Status.CONVERGED


def test_restarts_tell_which_sources_are_stable():
    random = np.random.default_rng(0)
    S = np.column_stack([random.laplace(size=(3000, 2)), random.standard_normal((3000, 2))])
    with pytest.warns(GaussianWarning):
        model = ICA(ortho=True, n_init=6).fit(S @ random.standard_normal((4, 4)))
    firm = model.kurtosis_ > 1
    assert np.all(model.stability_[firm] > 0.99)
    assert np.all(model.stability_ <= 1 + 1e-12)
    single = ICA(n_init=1).fit(mix("both")[0])
    assert single.stability_ is None


def test_the_best_start_is_kept():
    X = np.random.default_rng(0).laplace(size=(60, 8))
    with pytest.warns(GaussianWarning):
        first, best = (ICA(random_state=0, n_init=n).fit(X).loglike_[-1] for n in (1, 8))
    # Its first start is the same, and there are many optima of so few rows.
    assert best > first


def test_it_prints_itself():
    X, _ = mix("both")
    table = str(ICA(n_init=2).fit(X)).splitlines()
    assert table[0] == "ICA of 3000 rows, 5 columns (quasi-newton)"
    assert table[1].split() == ["proportion", "kurtosis", "stability"]
    assert [line.split()[0] for line in table[2:]] == ["IC1", "IC2", "IC3", "IC4", "IC5"]


def test_names_of_the_sources():
    X, _ = mix("both", 500)
    assert list(ICA(2).fit(X).get_feature_names_out()) == ["IC1", "IC2"]
    with pytest.raises(NotFittedError):
        ICA().transform(X)


# ---- Rows of every kind


@pytest.mark.parametrize(
    ("kind", "dtype"), [(kind, d) for kind, i in FEW_INPUTS.items() for d in i.dtypes if d in BOTH]
)
def test_every_kind_of_input(kind, dtype):
    given = FEW_INPUTS[kind]
    X = np.round(mix("both", 400)[0] * 8)
    expected = ICA(3, tol=1e-8).fit(X)

    def rows():
        return given.make(X.astype(dtype))

    model = ICA(3, tol=1e-8).fit(rows())
    assert model.components_.dtype == given.result_dtype(dtype)
    loose = 1e-3 if model.components_.dtype == given.result_dtype("float32") and dtype == "float32" else 1e-6
    size = np.abs(expected.components_).max()
    np.testing.assert_allclose(to_numpy(model.components_), expected.components_, atol=loose * size)
    np.testing.assert_allclose(to_numpy(model.transform(rows())), expected.transform(X), atol=20 * loose)
    assert model.score(rows()) == pytest.approx(expected.score(X), rel=1e-4)


def test_weights_are_repetitions():
    X, _ = mix("both", 1000)
    w = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    one = ICA(tol=1e-10).fit(X, sample_weight=w)
    other = ICA(tol=1e-10).fit(np.repeat(X, w.astype(int), axis=0))
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-6)
    np.testing.assert_allclose(one.kurtosis_, other.kurtosis_, rtol=1e-6)
    assert one.loglike_[-1] == pytest.approx(other.loglike_[-1])
    assert np.abs(gradient(one, X, w)).max() < 1e-9


@pytest.mark.parametrize("options", [{}, {"ortho": True}, {"solver": "fixed-point"}])
def test_many_rows_begin_with_a_sample_and_end_with_all(options):
    X, _ = mix("both", 48_000)
    model = ICA(n_init=1, **options).fit(X)
    assert np.abs(gradient(model, X)).max() < 1.01e-6
    assert model.n_passes_ < 16
    cold = ICA(w_init=np.eye(5), max_iter=500, **options).fit(X)
    np.testing.assert_allclose(model.components_, cold.components_, atol=1e-4)
    w = np.where(np.arange(48_000) < 24_000, 2.0, 1.0)
    assert np.abs(gradient(ICA(**options).fit(X, sample_weight=w), X, w)).max() < 1.01e-6


def test_a_sample_that_cannot_tell_the_sources_is_not_trusted():
    """Sources so near to Gaussian that only all rows can tell."""
    random = np.random.default_rng(0)
    S = np.sign(random.standard_normal((60_000, 4))) * random.gamma(1 / 1.8, 1, (60_000, 4)) ** (1 / 1.8)
    X = S @ random.standard_normal((4, 4))
    model = ICA().fit(X)
    assert np.abs(gradient(model, X)).max() < 1.01e-6
    assert model.densities_ == [Sech()] * 4


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_wide_rows_are_kept_white(kind):
    random = np.random.default_rng(0)
    S = random.laplace(size=(800, 3))
    X = S @ random.standard_normal((3, 40)) + 0.1 * random.standard_normal((800, 40))
    expected = ICA(3, tol=1e-9).fit([X[:300], X[300:]])  # streams are read anew
    rows = {"dense": X, "sparse": sparse.csr_array(X), "float32": X.astype("float32")}[kind]
    model = ICA(3, tol=1e-9).fit(rows)
    np.testing.assert_allclose(model.components_, expected.components_, atol=1e-3 if kind == "float32" else 1e-7)


def test_steps_in_float64_do_not_lead_back_to_float32():
    """In sources that are mostly zero, the rounding error of a gradient in float32 is above the limit for float64."""
    random = np.random.default_rng(0)
    latent = random.laplace(size=(100_000, 10)) * np.linspace(3, 1, 10)
    stored = sparse.random_array((100_000, 10), density=0.2, format="coo", rng=random)
    rows, columns = stored.coords
    loadings = random.standard_normal((10, 10))
    values = np.einsum("ij,ij->i", latent[rows], loadings[columns]) + random.standard_normal(len(rows))
    table = sparse.csr_array((values, (rows, columns)), shape=(100_000, 10))
    found = ICA(0.9, random_state=0).fit(table)
    assert found.status_ is Status.CONVERGED
    assert found.n_iter_ < 50
