"""ICA where it is hard: Gaussian sources, few rows, no rank, far offsets, extreme scales, senseless parameters."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from inputs import namespace
from lowdim import ICA
from lowdim.densities import Flipped, GeneralizedGaussian, Student
from lowdim.errors import (
    ConvergenceWarning,
    DensityWarning,
    GaussianWarning,
    MissingValues,
    NoVariance,
    RankWarning,
    SmallSampleWarning,
)
from lowdim.solvers import Status
from models.ica_mixes import amari, gradient, mix

X, A = mix("both", 2000)
random = np.random.default_rng(0)


def warned(X, **options):
    """The model, and the categories of what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ICA(**options).fit(X)
    return model, [w.category for w in caught], [str(w.message) for w in caught]


# ---- Gaussian sources


@pytest.mark.parametrize("k", [2, 5, 12])
@pytest.mark.parametrize("options", [{}, {"ortho": True}], ids=["plain", "ortho"])
def test_gaussian_sources_are_warned_of(k, options):
    _, categories, messages = warned(np.random.default_rng(k).standard_normal((4000, k)), **options)
    assert categories == [GaussianWarning]
    assert f"{k} of {k} sources look Gaussian" in messages[0]


def test_those_that_are_gaussian_are_named():
    S = np.column_stack([random.laplace(size=(5000, 3)), random.standard_normal((5000, 2))])
    B = random.standard_normal((5, 5))
    model, categories, messages = warned(S @ B.T)
    assert categories == [GaussianWarning]
    found = np.abs(model.components_ @ B)
    gaussian = [f"IC{i + 1}" for i in range(5) if found[i, 3:].max() > found[i, :3].max()]
    assert f"2 of 5 sources look Gaussian ({', '.join(gaussian)})" in messages[0]


def test_one_gaussian_source_is_found_like_the_others():
    S = np.column_stack([random.laplace(size=(20_000, 2)), random.standard_normal(20_000)])
    B = random.standard_normal((3, 3))
    model, categories, _ = warned(S @ B.T)
    assert not categories
    assert amari(model.components_, B) < 0.03


def test_with_a_density_of_its_own_side_light_tails_need_no_flip():
    S = np.random.default_rng(0).uniform(-1, 1, (4000, 3))
    B = random.standard_normal((3, 3))
    model = ICA(density=GeneralizedGaussian(4.0)).fit(S @ B.T)
    assert amari(model.components_, B) < 0.05
    assert np.abs(gradient(model, S @ B.T)).max() < 1.01e-6


def test_without_extended_light_tails_are_missed():
    Y, B = mix("sub-Gaussian", 20_000)
    with pytest.warns(DensityWarning, match=r"3 of 3 sources have tails on the other side .* Use extended=True"):
        assert amari(ICA(extended=False).fit(Y).components_, B) > 0.2
    with pytest.warns(GaussianWarning, match=r"Or their tails are too light for the density: try extended=True\.$"):
        ICA(extended=False).fit(np.random.default_rng(0).uniform(size=(300, 3)))
    Z = np.random.default_rng(0).laplace(size=(20_000, 3))
    with pytest.warns(DensityWarning, match="Use density='sech'"):
        ICA(density=GeneralizedGaussian(4.0)).fit(Z)
    assert amari(ICA().fit(Y).components_, B) < 0.05


def test_the_fixed_point_needs_no_extended():
    """Its steps do not know the sign of a source's kurtosis, and neither does its end."""
    Y, B = mix("both", 4000)
    for options in ({"extended": False}, {"density": GeneralizedGaussian(4.0)}):
        model = ICA(solver="fixed-point", **options).fit(Y)
        assert model.status_ is Status.CONVERGED
        assert amari(model.components_, B) < 0.15
        assert not any(isinstance(d, Flipped) for d in model.densities_)


@pytest.mark.parametrize("density", [GeneralizedGaussian(0.5), Student(1.0), Student(2.0)], ids=str)
def test_scores_that_fall_again_flip_by_kurtosis(density):
    Y = np.random.default_rng(0).laplace(size=(2000, 4)) @ np.random.default_rng(1).standard_normal((4, 4))
    heavy = ICA(density=density).fit(Y)
    assert heavy.densities_ == [density] * 4
    Y, B = mix("both", 5000)
    assert amari(ICA(density=density).fit(Y).components_, B) < 0.1


def test_a_gaussian_density_tells_nothing():
    gaussian = (lambda u: u * u / 2, lambda u: u, lambda u: np.ones_like(u))
    with pytest.raises(ValueError, match="this is the Gaussian"):
        ICA(density=gaussian).fit(X)


def test_a_likelihood_without_a_maximum():
    """Most rows have exactly zero of the source: a density with heavy tails gains by making the others huge."""
    some = np.random.default_rng(0).laplace(size=100)
    Y = np.concatenate([some, -some, np.zeros(1800)])[:, None]
    with pytest.raises(ValueError, match="the likelihood has no maximum"):
        ICA(density=Student(1.0)).fit(Y)
    assert ICA(density=Student(1.0), ortho=True).fit(Y).status_ is Status.CONVERGED
    assert ICA().fit(Y).status_ is Status.CONVERGED


def test_custom_functions_that_overflow_are_told_from_bad_rows():
    rows = X.copy()
    rows[0] *= 1e5
    reckless = (lambda u: np.log(np.cosh(u)), np.tanh, lambda u: 1 - np.tanh(u) ** 2)
    with pytest.raises(ValueError, match="gives NaN or infinity at"), np.errstate(over="ignore"):
        ICA(density=reckless).fit(rows)
    careful = (lambda u: np.logaddexp(u, -u), *reckless[1:])
    assert ICA(density=careful).fit(rows).n_components_ == 5


# ---- Rank, rows, single components


def test_a_constant_column():
    with pytest.warns(RankWarning, match="1 of 6 components have no variance"):
        model = ICA().fit(np.column_stack([X[:, :2], np.ones(len(X)), X[:, 2:]]))
    assert model.n_components_ == 5
    np.testing.assert_allclose(model.components_[:, 2], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.delete(model.components_, 2, axis=1), ICA().fit(X).components_, atol=1e-4)


def test_duplicates_of_columns_and_of_rows():
    with pytest.warns(RankWarning):
        model = ICA().fit(np.column_stack([X, X]))
    assert model.n_components_ == 5
    assert amari(model.components_[:, :5] + model.components_[:, 5:], A) < 0.05
    twice, once = ICA(tol=1e-9).fit(np.vstack([X, X])), ICA(tol=1e-9).fit(X)
    np.testing.assert_allclose(twice.components_, once.components_, atol=1e-6)


def test_more_components_than_rank():
    Y = X @ np.random.default_rng(1).standard_normal((5, 8))
    with pytest.warns(RankWarning, match="3 of 8"):
        model = ICA(8).fit(Y)
    assert model.n_components_ == 5
    with pytest.warns(RankWarning, match="left out of the density"):
        score = model.score(Y)
    # The same rows in the same space, however it was whitened.
    assert model.loglike_[-1] == pytest.approx(ICA(5).fit(Y).loglike_[-1], rel=1e-9)
    assert model.loglike_[-1] == pytest.approx(len(Y) * score)


@pytest.mark.parametrize("options", [{}, {"ortho": True}, {"solver": "fixed-point"}])
def test_a_single_component(options):
    for rows, k in ((X[:, :1], None), (X, 1)):
        model = ICA(k, **options).fit(rows)
        assert model.n_components_ == 1
        assert np.abs(gradient(model, rows)).max() < 1.01e-6


@pytest.mark.parametrize("n", [2, 3, 6, 12])
@pytest.mark.parametrize("options", [{}, {"ortho": True}, {"solver": "fixed-point"}])
def test_few_rows(n, options):
    model, categories, messages = warned(X[:n], max_iter=300, **options)
    assert SmallSampleWarning in categories
    assert GaussianWarning not in categories
    assert any(f"{n} rows for" in m for m in messages)
    assert ("did you mean X.T?" in messages[-1]) == (n < 5)
    assert np.all(np.isfinite(model.components_))


def test_fewer_rows_than_columns():
    Y = np.random.default_rng(0).laplace(size=(40, 100))
    model, categories, _ = warned(Y)
    assert set(categories) == {RankWarning, SmallSampleWarning}
    assert model.n_components_ == 39
    S = np.random.default_rng(0).laplace(size=(90, 2))
    assert ICA(2).fit(S @ random.standard_normal((2, 100))).n_components_ == 2


def test_one_row_and_no_variance():
    with pytest.raises(ValueError, match="n_samples=1: independent component analysis needs at least 2 rows"):
        ICA().fit(X[:1])
    with pytest.raises(NoVariance):
        ICA().fit(np.ones((10, 3)))
    with pytest.raises(ValueError, match="n_components=6 must be a whole number between 1 and 5"):
        ICA(6).fit(X)


# ---- Numbers


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_units_do_not_matter(scale):
    one, other = ICA(tol=1e-9).fit(X), ICA(tol=1e-9).fit(X * scale)
    np.testing.assert_allclose(other.components_ * scale, one.components_, atol=1e-6)
    np.testing.assert_allclose(other.mixing_ / scale, one.mixing_, atol=1e-6)


def test_columns_of_very_different_units():
    units = np.array([1e-140, 1e-9, 1.0, 1e10, 1e140])
    one, other = ICA(tol=1e-9).fit(X), ICA(tol=1e-9).fit(X * units)
    order = np.abs(one.components_ @ (other.mixing_ / units[:, None])).argmax(axis=0)
    np.testing.assert_allclose(np.abs(other.components_ * units), np.abs(one.components_[order]), atol=1e-6)


@pytest.mark.parametrize(("offset", "dtype"), [(1e8, "float64"), (1e3, "float32")])
def test_far_from_the_origin(offset, dtype):
    rows = (np.round(64 * X) / 64 + offset).astype(dtype)
    one, other = ICA().fit(rows), ICA().fit(np.asarray(rows, dtype=float) - offset)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-5 if dtype == "float64" else 2e-3)
    # By the mean in full; the attribute is of the dtype of the rows.
    one.mean_ = rows.astype(float).mean(axis=0)
    assert np.abs(gradient(one, rows.astype(float))).max() < 1e-5


def test_float32_reaches_the_tolerance_of_float64():
    for options in ({}, {"ortho": True}, {"solver": "fixed-point"}, {"tol": 1e-9}):
        model = ICA(**options).fit(X.astype("float32"))
        assert model.components_.dtype == np.float32
        assert model.status_ is Status.CONVERGED
        assert model.gradient_norm_ <= options.get("tol", 1e-6)


def test_nearly_dependent_columns():
    """The smallest variance is 1e-9 of the largest: whitening has to be looked at again."""
    S = np.random.default_rng(3).laplace(size=(3000, 3))
    Y = S @ np.array([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [3e-5, -3e-5, 0.0]])
    model = ICA(3).fit(Y)
    assert np.abs(gradient(model, Y)).max() < 1e-5
    U = ICA(3, ortho=True).fit_transform(Y)
    np.testing.assert_allclose(np.cov(U.T, ddof=0), np.eye(3), atol=1e-6)


def test_outliers():
    for rows in (np.vstack([X, 1e6 * np.ones((1, 5))]), np.random.default_rng(0).standard_cauchy((3000, 3))):
        model = ICA().fit(rows)
        assert np.abs(gradient(model, rows)).max() < 1.01e-6


@pytest.mark.parametrize("kind", ["rare dummies", "one row", "no mean"])
def test_a_few_rows_that_have_all_the_variance(kind):
    """A sample does not show them; float32 hardly does."""
    rng = np.random.default_rng(0)
    if kind == "rare dummies":
        rows = np.column_stack([rng.laplace(size=(50_000, 4)), rng.integers(0, 50_000, 50_000) < 3])
    elif kind == "one row":
        rows = rng.laplace(size=(60_000, 3)).astype("float32")
        rows[7] = [1e7, 1e7, -1e7]
    else:
        rows = np.random.default_rng(1).pareto(0.4, (60_000, 3))
    model = ICA().fit(rows)
    assert model.status_ is Status.CONVERGED
    assert model.gradient_norm_ <= 1e-6


@pytest.mark.parametrize("freedom", [1.0, 2.0])
def test_students_density_of_rows_without_a_variance(freedom):
    rng = np.random.default_rng(1)
    rows = rng.standard_cauchy((2000, 4)) @ rng.standard_normal((4, 4))
    assert ICA(density=Student(freedom), n_init=1).fit(rows).status_ is Status.CONVERGED


@pytest.mark.parametrize("density", ["sech", "infomax", Student(1.0), GeneralizedGaussian(0.5)], ids=str)
def test_a_fixed_point_is_one_of_its_densities(density):
    Y, _ = mix("both", 1000, 3)
    model = ICA(solver="fixed-point", density=density).fit(Y)
    assert np.abs(gradient(model, Y)).max() < 1.01e-6


# ---- What cannot be done


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "newton"}, "solver='newton' is not one of 'quasi-newton', 'fixed-point'"),
        ({"solver": "fixed-point", "ortho": False}, "finds rotations only"),
        ({"extended": "yes"}, "extended='yes' must be True or False"),
        ({"ortho": 1}, "ortho=1 must be True or False"),
        ({"keep_sources": None}, "keep_sources=None must be True or False"),
        ({"tol": 0.0}, "tol=0.0 must be a positive number"),
        ({"tol": "small"}, "tol='small' must be a positive number"),
        ({"max_iter": 0}, "max_iter=0 must be a whole number of at least 1"),
        ({"n_init": 1.5}, "n_init=1.5 must be a whole number of at least 1"),
        ({"n_init": 2, "w_init": np.eye(5)}, "pass only one of them"),
        ({"w_init": np.eye(4)}, r"w_init must have shape \(5, 5\)"),
        ({"w_init": np.zeros((5, 5))}, "have an inverse"),
        ({"w_init": np.full((5, 5), np.nan)}, "finite numbers"),
        ({"n_components": 0}, "n_components=0 must be"),
    ],
)
def test_parameters_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        ICA(**options).fit(X)


def test_bad_entries_are_named():
    for bad, error in ((np.nan, MissingValues), (np.inf, ValueError)):
        rows = X.copy()
        rows[17, 3] = bad
        with pytest.raises(error, match="column 3, first in row 17"):
            ICA().fit(rows)


def test_a_stream_that_can_be_read_once():
    for solver in ("quasi-newton", "fixed-point"):
        once = ICA(solver=solver).fit(iter([X[:50], X[50:]]))
        np.testing.assert_array_equal(once.components_, ICA(solver=solver).fit(X).components_)


def test_too_few_steps_are_warned_of():
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 steps with a relative gradient of .*Raise max_iter"):
        model = ICA(max_iter=2).fit(X)
    assert model.status_ is Status.NOT_CONVERGED
    with pytest.warns(ConvergenceWarning, match="use solver='quasi-newton'"):
        ICA(solver="fixed-point", max_iter=2).fit(X)
    for solver in ("quasi-newton", "fixed-point"):
        with pytest.warns(SklearnConvergenceWarning, match="rounding allows no higher accuracy"):
            ICA(tol=1e-40, solver=solver).fit(X)


def test_weights_that_count_as_few_rows():
    with pytest.warns(SmallSampleWarning, match="2000 rows of total weight 1 for 5 sources"):
        ICA().fit(X, sample_weight=np.full(2000, 1 / 2000))


def test_float32_sums_that_are_too_inaccurate_cost_few_passes():
    """torch adds up all rows of a block in float32. The loss is then too small by more than steps near the maximum
    change it, so that float64 has to follow at once."""
    rows = np.random.default_rng(0).random((60_000, 8)) @ np.random.default_rng(1).standard_normal((8, 8))
    found = ICA(n_init=1, random_state=0).fit(namespace("torch").asarray(rows.astype(np.float32)))
    assert found.status_ is Status.CONVERGED
    assert found.n_passes_ <= 20
