"""KernelCCA: the linear kernel is regularized CCA, new points, weights, kernels of all kinds."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV

from lowdim import CCA, KernelCCA
from lowdim.errors import RankWarning, ResolutionWarning, SmallSampleWarning
from oracles_tables import up_to_signs

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 4))
Y = np.column_stack([X[:, 0] + 0.5 * RNG.standard_normal(40), RNG.standard_normal((40, 2))])
NEW_X, NEW_Y = RNG.standard_normal((7, 4)), RNG.standard_normal((7, 3))


@pytest.mark.parametrize("weights", [None, RNG.integers(0, 4, 40).astype(float)], ids=["plain", "weighted"])
@pytest.mark.parametrize("c", [0.3, (0.1, 0.6), 1.0])
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_the_linear_kernel_is_regularized_cca(shape, c, weights):
    x, y = (X, Y) if shape == "tall" else (RNG.standard_normal((40, 90)), RNG.standard_normal((40, 60)))
    new = NEW_X if shape == "tall" else RNG.standard_normal((7, 90))
    kernel = KernelCCA(3, kernel="linear", regularization=c).fit(x, y, sample_weight=weights)
    cca = CCA(3, regularization=c, scale=False).fit(x, y, sample_weight=weights)
    np.testing.assert_allclose(kernel.correlations_, cca.correlations_, atol=1e-9)
    np.testing.assert_allclose(kernel.singular_values_, cca.singular_values_, rtol=1e-9)
    for ours, wanted in (
        *zip(kernel.transform(x, y), cca.transform(x, y), strict=True),
        (kernel.transform(new), cca.transform(new)),
    ):
        np.testing.assert_allclose(up_to_signs(ours, wanted), wanted, atol=1e-7)


def test_explicit_features_give_the_same():
    """(x'y)^2 is the inner product of all products of two columns."""

    def features(A):
        i, j = np.triu_indices(A.shape[1])
        return A[:, i] * A[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))

    kernel = KernelCCA(3, kernel="poly", degree=2, coef0=0, gamma=1, regularization=0.2).fit(X, Y)
    cca = CCA(3, regularization=0.2, scale=False).fit(features(X), features(Y))
    np.testing.assert_allclose(kernel.correlations_, cca.correlations_, atol=1e-9)
    wanted = cca.transform(features(NEW_X))
    np.testing.assert_allclose(up_to_signs(kernel.transform(NEW_X), wanted), wanted, atol=1e-8)


def test_precomputed_and_callable_kernels():
    named = KernelCCA(2, kernel=("rbf", "poly"), gamma=(0.5, None), degree=(None, 2)).fit(X, Y)
    K, L = rbf_kernel(X, gamma=0.5), polynomial_kernel(Y, degree=2)
    given = KernelCCA(2, kernel="precomputed").fit(K, L)
    called = KernelCCA(2, kernel=lambda a, b: np.exp(-0.5 * ((a - b) ** 2).sum())).fit(X, Y)
    np.testing.assert_allclose(given.correlations_, named.correlations_, rtol=1e-10)
    np.testing.assert_allclose(given.transform(rbf_kernel(NEW_X, X, gamma=0.5)), named.transform(NEW_X), atol=1e-9)
    both = KernelCCA(2, kernel="rbf", gamma=0.5).fit(X, Y)
    np.testing.assert_allclose(called.correlations_, both.correlations_, rtol=1e-10)


def test_it_finds_what_is_not_linear():
    angle = RNG.uniform(0, 2 * np.pi, 300)
    x = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.05 * RNG.standard_normal((300, 2))
    y = np.cos(2 * angle) + 0.05 * RNG.standard_normal(300)
    assert CCA().fit(x[:200], y[:200]).correlations_[0] < 0.3
    kernel = KernelCCA(1, kernel="rbf", gamma=1.0, regularization=0.01).fit(x[:200], y[:200])
    held_out = kernel.transform(x[200:], y[200:])
    assert np.corrcoef(held_out[0][:, 0], held_out[1][:, 0])[0, 1] > 0.95


def test_variates_have_unit_variance_and_zero_mean():
    T, U = KernelCCA(3).fit_transform(X, Y), KernelCCA(3).fit(X, Y).transform(X, Y)[1]
    for A in (T, U):
        np.testing.assert_allclose(A.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(A.std(axis=0, ddof=1), 1.0, rtol=1e-9)


def test_sparse_rows():
    dense, thin = KernelCCA(2, kernel="rbf").fit(X, Y), KernelCCA(2, kernel="rbf").fit(sparse.csr_array(X), Y)
    np.testing.assert_allclose(thin.correlations_, dense.correlations_, rtol=1e-10)


@pytest.mark.parametrize(
    ("options", "args", "message"),
    [
        ({}, (X, None), "requires y to be passed"),
        ({}, (X, Y[:5]), "inconsistent numbers of samples"),
        ({"regularization": -1}, (X, Y), r"regularization=-1 must be a number from 0 \(none\) to 1"),
        ({"n_components": 0}, (X, Y), "n_components=0 must be a whole number between 1 and 40"),
        ({"kernel": "precomputed"}, (X, Y), "needs square matrices, X has shape"),
        ({"kernel": lambda a, b: np.nan}, (X, Y), "gives NaN or infinity"),
        ({}, (X, Y, -np.ones(40)), "sample_weight must not be negative"),
        ({}, (X, Y, np.ones(3)), "sample_weight must have one entry per row"),
        ({"kernel": "rbf"}, (np.ones((40, 2)), Y), "there is no variance"),
    ],
)  # fmt: skip
def test_what_is_refused(options, args, message):
    with pytest.raises(ValueError, match=message):
        KernelCCA(**options).fit(*args)


def test_another_width_of_y_is_refused():
    with pytest.raises(ValueError, match="y has 2 columns, the model was fitted on 3"):
        KernelCCA(1).fit(X, Y).transform(X, Y[:, :2])


# ---- Found by trying to break it


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
def test_columns_far_from_zero(kernel):
    x, y = np.round(100 * X), np.round(100 * Y)
    options = {"kernel": kernel} if kernel == "linear" else {"kernel": kernel, "gamma": 1e-4}
    near, far = KernelCCA(2, **options).fit(x, y), KernelCCA(2, **options).fit(x + 1e8, y - 1e8)
    np.testing.assert_allclose(far.correlations_, near.correlations_, rtol=1e-6)
    np.testing.assert_allclose(far.transform(x + 1e8), near.transform(x), atol=1e-5)


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = KernelCCA(2).fit(X, Y)
    before = model.transform(X)
    with pytest.raises(ValueError):
        model.fit(RNG.standard_normal((5, 9)), np.ones(4))
    np.testing.assert_array_equal(model.transform(X), before)


def test_fewer_components_than_asked():
    message = "only 3 of n_components=10 could be computed: the ranks of the kernel matrices"
    with pytest.warns(RankWarning, match=message):
        KernelCCA(10, kernel="linear").fit(X, Y)


def test_missing_values_are_named():
    bad = Y.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"Input y contains NaN: column 1, first in row 3.*PPCA"):
        KernelCCA(1).fit(X, bad)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": ("rbf",)}, "must be one value for both tables, or a pair"),
        ({"kernel": "rbf", "gamma": -1.0}, "a positive number is needed"),
        ({"kernel": "rbf", "gamma": "a"}, "a positive number is needed"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        KernelCCA(1, **options).fit(X, Y)


def test_an_asymmetric_matrix_is_refused():
    K = rbf_kernel(X)
    with pytest.raises(ValueError, match="needs symmetric matrices, but X and its transpose differ by up to"):
        KernelCCA(1, kernel="precomputed").fit(np.triu(K), K)
    np.testing.assert_allclose(
        KernelCCA(1, kernel="precomputed").fit(sparse.csr_array(K), K).correlations_,
        KernelCCA(1, kernel="precomputed").fit(K, K).correlations_,
    )


def test_float32_stays():
    x, y = (
        KernelCCA(1).fit(X.astype("float32"), Y.astype("float32")).transform(X.astype("float32"), Y.astype("float32"))
    )
    assert x.dtype == y.dtype == np.float32


def test_small_directions_and_too_few_rows_are_warned_about():
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.standard_normal((50, 5)))[0], np.linalg.qr(rng.standard_normal((5, 5)))[0]
    x = (U * np.logspace(0, -8, 5)) @ V.T
    with pytest.warns(ResolutionWarning, match="cannot be distinguished from rounding"):
        KernelCCA(1, kernel="linear", regularization=0.0).fit(x, U[:, 4])
    with pytest.warns(SmallSampleWarning, match="correlations of 1 can be found"):
        KernelCCA(1, kernel="rbf", gamma=1.0, regularization=0.0).fit(X, Y)
    with pytest.warns(RankWarning, match="the kernel of X is not positive semidefinite"):
        KernelCCA(1, kernel=("sigmoid", "linear"), gamma=(1.0, None)).fit(X, Y)


def test_rows_of_weight_zero_are_not_looked_at():
    w = np.r_[0.0, np.ones(39)]
    bad = X.copy()
    bad[0] = np.nan
    found = KernelCCA(2).fit(bad, Y, sample_weight=w)
    np.testing.assert_allclose(found.correlations_, KernelCCA(2).fit(X[1:], Y[1:]).correlations_, rtol=1e-9)


def test_a_score_for_choosing_the_kernel():
    found = GridSearchCV(KernelCCA(1, kernel="rbf"), {"gamma": [1e-3, 0.1], "regularization": [0.01, 0.5]}, cv=3).fit(
        X, Y
    )
    assert np.all(np.isfinite(found.cv_results_["mean_test_score"]))
    kernel = KernelCCA(1).fit(X, Y)
    np.testing.assert_allclose(kernel.score(X, Y), kernel.correlations_[0], rtol=1e-9)


def test_it_prints_and_says_what_it_cannot_read():
    assert "pair1" in str(KernelCCA(1).fit(X, Y))
    with pytest.raises(ValueError, match="kernel='gauss' is not one of"):
        KernelCCA(1, kernel="gauss").fit(X, Y)
    with pytest.raises(ValueError, match="X has 40, y has 5 rows"):
        KernelCCA(1).fit(X, Y[:5])


def test_kernel_matrices_are_not_kept():
    """They are as large as all else together, and `transform` is given those of new rows."""
    K, L = X @ X.T, Y @ Y.T
    model = KernelCCA(2, kernel="precomputed").fit(K, L)
    assert (model.x_fit_, model.y_fit_, model.x_kernel_, model.y_kernel_) == (None, None, None, None)
    assert len(pickle.dumps(model)) < K.nbytes
    again = pickle.loads(pickle.dumps(model))
    linear = KernelCCA(2, kernel="linear").fit(X, Y)
    for own, expected in zip(again.transform(K[:5], L[:5]), linear.transform(X[:5], Y[:5]), strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-8)
    assert f"{len(X)} and {len(Y)} columns" in str(again)
    with pytest.raises(ValueError, match=f"y has 3 columns, the model was fitted on {len(Y)}"):
        again.transform(K, L[:, :3])
    half = KernelCCA(2, kernel=("precomputed", "linear")).fit(K, Y)
    assert half.x_fit_ is None
    np.testing.assert_array_equal(half.y_fit_, Y)


def test_rows_of_weight_zero_of_a_kernel_matrix():
    w = RNG.integers(0, 3, 40).astype(float)
    given = KernelCCA(2, kernel="precomputed").fit(X @ X.T, Y @ Y.T, sample_weight=w)
    linear = KernelCCA(2, kernel="linear").fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(given.correlations_, linear.correlations_, rtol=1e-9)
    own, expected = given.transform(NEW_X @ X.T, NEW_Y @ Y.T), linear.transform(NEW_X, NEW_Y)
    for ours, wanted in zip(own, expected, strict=True):
        np.testing.assert_allclose(ours, wanted, atol=1e-8)
    with pytest.raises(ValueError, match=r"needs square matrices, y has shape \(40, 3\)"):
        KernelCCA(2, kernel="precomputed").fit(X @ X.T, Y, sample_weight=w)


@pytest.mark.parametrize(
    "make", [lambda A: iter([A[:9], A[9:]]), lambda A: lambda: iter([A]), lambda A: [A[:9], A[9:]]]
)
def test_blocks_of_rows_are_gathered_by_fit_whichever_table_they_are_of_and_taken_by_transform(make):
    model = KernelCCA(2).fit(X, Y)
    for given in ((make(X), Y), (X, make(Y)), (make(X), make(Y))):
        streamed = KernelCCA(2).fit(*given)
        assert "gathered in memory" in streamed.plan_.why
        np.testing.assert_array_equal(streamed.correlations_, model.correlations_)
    np.testing.assert_array_equal(KernelCCA(2).fit_transform(make(X), make(Y)), model.transform(X))
    with pytest.raises(ValueError, match="X has 40, y has 5 rows"):
        KernelCCA(2).fit(make(X), Y[:5])
    for found, expected in zip(model.transform(make(X), make(Y)), model.transform(X, Y), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_kernels_that_overflow_are_an_error_without_warnings():
    with pytest.raises(ValueError, match="gives NaN or infinity; rescale the rows"):
        KernelCCA(1, kernel="poly").fit(X * np.logspace(-100, 110, 4), Y)
