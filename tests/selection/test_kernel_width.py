"""The width of a kernel: the criterion against its definition, and what it chooses for rows in groups."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowdim
from lowdim import KernelPCA
from lowdim.errors import HoldsRowsWarning
from lowdim.kernels import Gaussian, Laplacian, Linear, Matern, as_kernel
from lowdim.selection import WidthChoice, choose_width
from lowdim.summaries import Sample

CIRCLES, CIRCLE = make_circles(200, factor=0.3, noise=0.05, random_state=7)


def separation(model, X, y):
    """The accuracy of a linear classifier of the scores."""
    Z = StandardScaler().fit_transform(model.fit_transform(X))
    return LogisticRegression(C=1e3, max_iter=5000).fit(Z, y).score(Z, y)


def median_width(X, k):
    return KernelPCA(k, kernel="rbf").fit(X)


@pytest.fixture(scope="module")
def of_circles():
    return choose_width(CIRCLES, 2)


def test_circles_are_separated_where_the_median_rule_fails(of_circles):
    assert separation(median_width(CIRCLES, 2), CIRCLES, CIRCLE) < 0.6
    assert separation(KernelPCA(2, kernel=of_circles.kernel), CIRCLES, CIRCLE) == 1.0


def test_moons_are_separated_better_than_by_the_median_rule():
    X, y = make_moons(300, noise=0.08, random_state=7)
    choice = choose_width(X, 3)
    assert separation(median_width(X, 3), X, y) < 0.92
    assert separation(KernelPCA(3, kernel=choice.kernel), X, y) > 0.94


def test_digits():
    """The accuracy for rows that were not in the fit is that of the best width, up to two percent."""
    X, y = load_digits(return_X_y=True)
    fit, new = np.split(np.random.default_rng(1).permutation(len(X))[:1000], [400])
    choice = choose_width(X[fit], 10, factors=(2.0, 1.0, 0.5, 0.35, 0.25, 0.125), max_rows=300)
    each = []
    for kernel in choice.kernels:
        model = make_pipeline(KernelPCA(10, kernel=kernel), StandardScaler(), LogisticRegression(max_iter=5000))
        each.append(model.fit(X[fit], y[fit]).score(X[new], y[new]))
    assert each[choice.best] >= max(each) - 0.02
    assert max(each) - min(each) > 0.2


def test_the_factors_of_the_criterion_are_what_they_are_called():
    """They are computed again with KernelPCA, fold by fold."""
    sample = lowdim.reading.summarize(CIRCLES, Sample(2, 400, seed=0))
    X = sample.rows
    choice = choose_width(CIRCLES, 2, kernel=Gaussian(gamma=2.0), factors=(1.0,), n_resamples=2)
    random = np.random.default_rng(0)
    folds = random.permutation(np.arange(len(X)) % 5)
    kernel = Gaussian(gamma=2.0)
    explained = total = inside = all_inside = grouped = 0.0
    for fold in range(5):
        train, test = X[folds != fold], X[folds == fold]
        model = KernelPCA(kernel=kernel, solver="dense").fit(train)
        Z, fitted = model.transform(test), model.transform(train)[:, :2]
        explained += (Z[:, :2] ** 2).sum()
        # Distances from the mean in the feature space.
        K, between = kernel(train), kernel(test, train)
        total += (1.0 - 2.0 * between.mean(axis=1) + K.mean()).sum()
        inside += model.eigenvalues_[:2].sum()
        all_inside += np.trace(K) - len(train) * K.mean()
        centres = KMeans(3, n_init=4, random_state=0).fit(fitted).cluster_centers_
        apart = ((Z[:, None, :2] - centres) ** 2).sum(axis=2).min(axis=1)
        grouped += (Z[:, :2] ** 2).sum() - apart.sum()
    assert choice.share[0] == pytest.approx(inside / all_inside, rel=1e-6)
    assert choice.held_out[0] == pytest.approx(explained / total, rel=1e-6)
    assert choice.grouped[0] == pytest.approx(grouped / explained, rel=1e-3)
    product = choice.grouped * (1 - choice.chance) * np.sqrt(choice.held_out / choice.share)
    np.testing.assert_allclose(choice.score, product)


def test_noise_is_said_to_have_no_structure():
    X = np.random.default_rng(5).standard_normal((150, 3))
    choice = choose_width(X, 2, factors=(1.0, 0.5))
    assert abs(choice.held_out - choice.chance).max() < 0.05
    flat = WidthChoice((Gaussian(gamma=0.5),), *(np.array([v]) for v in (0.4, 0.3, 0.31, 0.6)), 2, 150)
    assert "no structure was found" in str(flat)


def test_the_table(of_circles):
    table = of_circles.table()
    assert table.columns == ["share", "left out", "by chance", "grouped", "score", "best"]
    assert table.rows[of_circles.best] == str(of_circles.kernel)
    assert list(table["best"]).count("*") == 1
    assert "Widths for 2 components, from 200 rows" in str(of_circles)
    assert of_circles.to_pandas().shape == (11, 6)
    assert repr(of_circles).startswith("WidthChoice(Gaussian(gamma=")


def test_weights_are_repetitions():
    weights = np.random.default_rng(0).integers(0, 3, len(CIRCLES)).astype(float)
    options = {"factors": (1.0, 0.35), "n_resamples": 1}
    a = choose_width(CIRCLES, 2, sample_weight=weights, **options)
    b = choose_width(np.repeat(CIRCLES, weights.astype(int), axis=0), 2, **options)
    np.testing.assert_allclose(a.score, b.score, rtol=1e-8)


@pytest.mark.parametrize("kernel", ["laplacian", "matern", 2.0 * Gaussian(), Matern(nu=2.5) * Laplacian()], ids=str)
def test_other_kernels_with_a_width(kernel):
    choice = choose_width(CIRCLES, 2, kernel=kernel, factors=(0.5, 1.0), n_resamples=1)
    wide, narrow = choice.kernels
    K, k = wide(CIRCLES[:20]), narrow(CIRCLES[:20])
    assert np.all(k - 1e-12 <= K)


@pytest.mark.parametrize("kernel", [Gaussian(gamma=0.3), Laplacian(gamma=0.3), Matern(length_scale=2.0)], ids=str)
def test_a_widened_kernel_is_the_kernel_of_shrunken_rows(kernel):
    np.testing.assert_allclose(kernel.widened(3.0)(CIRCLES[:9]), kernel(CIRCLES[:9] / 3.0), rtol=1e-12)


def test_search_in_the_model(of_circles):
    model = KernelPCA(2, kernel="rbf", gamma="search").fit(CIRCLES)
    assert model.kernel_ == of_circles.kernel
    assert model.width_choice_.best == of_circles.best
    by_hand = KernelPCA(2, kernel=of_circles.kernel).fit(CIRCLES)
    np.testing.assert_allclose(model.transform(CIRCLES), by_hand.transform(CIRCLES), rtol=1e-10)
    assert model.plan_.passes == by_hand.plan_.passes + 1
    assert not hasattr(model.set_params(gamma=None).fit(CIRCLES), "width_choice_")


def test_searched_models_can_be_saved(tmp_path, of_circles):
    model = KernelPCA(2, kernel="rbf", gamma="search").fit(CIRCLES)
    with pytest.warns(HoldsRowsWarning):
        lowdim.save(model, tmp_path / "model")
    loaded = lowdim.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.width_choice_.score, of_circles.score)


def test_a_pair_of_widths():
    pair = lowdim.KernelCCA(1, kernel="rbf", gamma=(2.0, 0.5), regularization=0.1).fit(CIRCLES, CIRCLES)
    assert (pair.x_kernel_, pair.y_kernel_) == (Gaussian(2.0), Gaussian(0.5))


def test_sigma_is_an_error_that_gives_gamma():
    """As for `length`, which is that of scikit-learn's Matern kernel."""
    message = r"no argument 'sigma': it is called 'gamma' now, which is 1 / \(2 sigma\^2\)"
    calls = [
        lambda: Gaussian(sigma=2.0),
        lambda: KernelPCA(2, sigma=2.0),
        lambda: lowdim.KernelCCA(2, sigma=2.0),
        lambda: as_kernel("rbf", sigma=2.0),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(TypeError, match="no argument 'length': it is called 'length_scale' now"):
        Matern(length=2.0)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"kernel": "linear"}, TypeError, "has no width"),
        ({"kernel": Gaussian() + Linear()}, TypeError, "has no width"),
        ({"kernel": "precomputed"}, ValueError, "precomputed"),
        ({"n_components": None}, ValueError, "number of components"),
        ({"n_components": 0.9}, ValueError, "number of components"),
        ({"gamma": "median"}, ValueError, "gamma=.median."),
    ],
    ids=str,
)
def test_refusals_of_the_model(options, error, match):
    X = CIRCLES @ CIRCLES.T if options.get("kernel") == "precomputed" else CIRCLES
    with pytest.raises(error, match=match):
        KernelPCA(**{"n_components": 2, "kernel": "rbf", "gamma": "search"} | options).fit(X)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"n_resamples": 0}, "n_resamples=0"),
        ({"max_rows": 2.5}, "max_rows=2.5"),
        ({"factors": ()}, "factors="),
        ({"factors": (1.0, -1.0)}, "factors="),
        ({"n_components": 150}, "at least 304 different rows"),
    ],
    ids=str,
)
def test_refusals(options, match):
    with pytest.raises(ValueError, match=match):
        choose_width(CIRCLES, **{"n_components": 2} | options)


def test_rows_that_can_be_read_only_once():
    blocks = [CIRCLES[:100], CIRCLES[100:]]
    assert choose_width(iter(blocks), 2, factors=(1.0,), n_resamples=1).n_rows == 200
    model = KernelPCA(2, kernel="rbf", gamma="search").fit(iter(blocks))
    assert model.kernel_ == KernelPCA(2, kernel="rbf", gamma="search").fit(CIRCLES).kernel_
