"""Kernels: each against its formula entry by entry, in every array library, added, multiplied, refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from inputs import namespace, to_numpy
from lowdim.features import Polynomial as PolynomialMap
from lowdim.kernels import (
    KERNELS,
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Quadratic,
    Sigmoid,
    ThinPlateSpline,
    as_kernel,
)

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((7, 3)), RNG.standard_normal((5, 3))


def distance(x, y):
    return np.sqrt(((x - y) ** 2).sum())


def spline(x, y):
    r = distance(x, y) / 0.7
    return r * r * np.log(r) if r > 0 else 0.0


#: A kernel, and its formula for two rows.
FORMULAS = {
    "linear": (Linear(), lambda x, y: x @ y),
    "polynomial": (Polynomial(3, gamma=0.5, coef0=2.0), lambda x, y: (0.5 * (x @ y) + 2.0) ** 3),
    "polynomial 4": (Polynomial(4, gamma=2.0, coef0=0.0), lambda x, y: (2.0 * (x @ y)) ** 4),
    "quadratic": (Quadratic(gamma=1.0, coef0=0.1), lambda x, y: (x @ y + 0.1) ** 2),
    "gaussian": (Gaussian(gamma=1 / 0.18), lambda x, y: np.exp(-(distance(x, y) ** 2) / (2 * 0.3**2))),
    "gaussian by gamma": (Gaussian(gamma=0.3), lambda x, y: np.exp(-0.3 * distance(x, y) ** 2)),
    "laplacian": (Laplacian(0.4), lambda x, y: np.exp(-0.4 * np.abs(x - y).sum())),
    "sigmoid": (Sigmoid(gamma=5.0, coef0=0.5), lambda x, y: np.tanh(5.0 * (x @ y) + 0.5)),
    "thin plate spline": (ThinPlateSpline(0.7), spline),
    "cosine": (Cosine(), lambda x, y: x @ y / np.sqrt((x @ x) * (y @ y))),
    "matern 1/2": (Matern(0.5, 0.8), lambda x, y: np.exp(-distance(x, y) / 0.8)),
    "matern 3/2": (
        Matern(1.5, 0.8),
        lambda x, y: (1 + 3**0.5 * distance(x, y) / 0.8) * np.exp(-(3**0.5) * distance(x, y) / 0.8),
    ),
    "matern 5/2": (
        Matern(2.5, 0.8),
        lambda x, y: (
            (1 + 5**0.5 * distance(x, y) / 0.8 + 5 * distance(x, y) ** 2 / (3 * 0.8**2))
            * np.exp(-(5**0.5) * distance(x, y) / 0.8)
        ),
    ),
}
each = pytest.mark.parametrize("name", list(FORMULAS))


def slow(formula, A, B):
    return np.array([[formula(a, b) for b in B] for a in A])


def test_multiples():
    kernel = 2.5 * Gaussian(gamma=1 / 0.18) + Linear() * 0.5
    np.testing.assert_allclose(kernel(X, Y), 2.5 * Gaussian(gamma=1 / 0.18)(X, Y) + 0.5 * Linear()(X, Y))
    np.testing.assert_allclose(kernel.against(Y)(X), kernel(X, Y))
    assert str(kernel) == "2.5 * Gaussian(gamma=5.556) + 0.5 * Linear()"
    assert kernel.semidefinite
    assert kernel.shift_free
    assert not kernel.shift_invariant
    assert (3 * Gaussian()).fitted(X).kernel == Gaussian().fitted(X)
    for factor in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="positive number"):
            factor * Linear()


def test_a_quadratic_kernel_has_its_degree():
    assert str(Quadratic(coef0=0.1)) == "Quadratic(gamma=1, coef0=0.1)"
    with pytest.raises(TypeError):
        Quadratic(degree=3)
    with pytest.raises(ValueError, match="kernel='quadratic' has no degree"):
        as_kernel("quadratic", degree=3)


def test_things_that_are_no_kernels():
    with pytest.raises(TypeError, match="feature map, for FeatureMapPCA"):
        as_kernel(PolynomialMap(2))
    with pytest.raises(ValueError, match="or None for the default"):
        Gaussian(gamma="scale")


def test_every_kernel_of_the_table_is_tested():
    assert {type(kernel) for kernel, _ in FORMULAS.values()} == set(KERNELS.values())


@each
def test_kernels_entry_by_entry(name):
    kernel, formula = FORMULAS[name]
    np.testing.assert_allclose(kernel(X, Y), slow(formula, X, Y), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X), slow(formula, X, X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(X), kernel(X).T, atol=1e-14)


@each
def test_every_kind_of_rows(name):
    kernel, _ = FORMULAS[name]
    expected = kernel(X, Y)
    narrow = kernel(X.astype(np.float32), Y.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, expected, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(kernel(sparse.csr_array(X), sparse.csr_array(Y)), expected, atol=1e-12)
    for library in ("array_api_strict", "torch"):
        xp = namespace(library)
        found = kernel(xp.asarray(X), xp.asarray(Y))
        assert type(found) is type(xp.asarray(X))
        np.testing.assert_allclose(to_numpy(found), expected, atol=1e-12)


@each
def test_semidefinite_as_they_say(name):
    kernel, _ = FORMULAS[name]
    rows = RNG.standard_normal((40, 3))
    values = np.linalg.eigvalsh(kernel(rows))
    if kernel.semidefinite:
        assert values.min() > -1e-12 * values.max()
    else:
        assert values.min() < -1e-3 * values.max()


@each
def test_rows_are_left_alone(name):
    x, y = X.copy(), Y.copy()
    FORMULAS[name][0](x, y)
    FORMULAS[name][0](x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)


def test_scikit_learn_agrees():
    pairs = {
        "linear": (pairwise.linear_kernel, {}),
        "poly": (pairwise.polynomial_kernel, {"degree": 2, "gamma": 0.3, "coef0": 0.5}),
        "rbf": (pairwise.rbf_kernel, {"gamma": 0.3}),
        "laplacian": (pairwise.laplacian_kernel, {"gamma": 0.3}),
        "sigmoid": (pairwise.sigmoid_kernel, {"gamma": 0.3, "coef0": 0.5}),
        "cosine": (pairwise.cosine_similarity, {}),
    }
    for name, (theirs, parameters) in pairs.items():
        np.testing.assert_allclose(as_kernel(name, **parameters)(X, Y), theirs(X, Y, **parameters), rtol=1e-10)


def test_sums_and_products():
    a, b = Gaussian(0.5), Linear()
    np.testing.assert_allclose((a + b)(X, Y), a(X, Y) + b(X, Y))
    np.testing.assert_allclose((a * b)(X, Y), a(X, Y) * b(X, Y))
    assert (a + b).semidefinite and not (a + Sigmoid()).semidefinite
    assert (a * Matern()).shift_invariant and not (a * b).shift_invariant
    assert (Gaussian() + Matern()).fitted(X) == Gaussian().fitted(X) + Matern().fitted(X)
    with pytest.raises(TypeError):
        a + 1


def test_widths_by_the_median_rule():
    distances = [distance(a, b) for i, a in enumerate(X) for b in X[:i]]
    assert Gaussian().fitted(X).gamma == pytest.approx(0.5 / np.median(distances) ** 2)
    assert Matern().fitted(X).length_scale == pytest.approx(np.median(distances))
    city = [np.abs(a - b).sum() for i, a in enumerate(X) for b in X[:i]]
    assert Laplacian().fitted(X).gamma == pytest.approx(1 / np.median(city))
    assert Gaussian(2.0).fitted(X) == Gaussian(2.0)
    w = RNG.integers(1, 4, 7)
    assert Gaussian().fitted(X, w).gamma == pytest.approx(Gaussian().fitted(np.repeat(X, w, axis=0)).gamma)
    assert Gaussian().fitted(np.ones((4, 2))).gamma == 0.5
    many = RNG.standard_normal((3000, 2))
    assert Gaussian().fitted(many).gamma == pytest.approx(1 / (8 * np.log(2)), rel=0.1)
    with pytest.raises(ValueError, match=r"the width of Gaussian\(.*\) is not known yet"):
        Gaussian()(X)


def test_columns_far_from_zero_cost_nothing():
    rows = np.round(100 * X)
    for kernel in (Gaussian(0.0002), Matern(1.5, 50.0), ThinPlateSpline(50.0), Laplacian(0.01)):
        np.testing.assert_allclose(kernel(rows + 1e8), kernel(rows), atol=1e-12)


def test_functions():
    by_row = as_kernel(lambda x, y: float(x @ y) ** 2)
    by_block = as_kernel(lambda A, B: (A @ B.T) ** 2 if np.ndim(A) == 2 else np.array([0.0]))
    np.testing.assert_allclose(by_row(X, Y), (X @ Y.T) ** 2)
    np.testing.assert_allclose(by_block(X, Y), (X @ Y.T) ** 2)
    with pytest.raises(ValueError, match=r"gave shape \(3,\) of float64 for blocks of 7 and 5"):
        as_kernel(lambda A, B: np.zeros(3))(X, Y)


def test_functions_cannot_change_the_rows():
    def in_place(x, y):
        x -= y
        return float(x @ x)

    before = X.copy()
    with pytest.raises(ValueError, match=r"failed on two rows: .*read-only"):
        as_kernel(in_place)(X)
    np.testing.assert_array_equal(X, before)
    assert X.flags.writeable


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(gamma=0), r"Gaussian\(gamma=0\): a positive number is needed"),
        (lambda: Gaussian(gamma=-1.0), "a positive number is needed"),
        (lambda: Polynomial(degree=True), "a positive number is needed"),
        (lambda: Polynomial(coef0=np.nan), "a finite number is needed"),
        (lambda: Matern(nu=1.0), "nu is 0.5, 1.5 or 2.5"),
        (lambda: as_kernel("gauss"), "kernel='gauss' is not one of 'linear'"),
        (
            lambda: as_kernel(Linear(), gamma=1.0),
            r"gamma=1.0 is for kernels given by name; set the parameters of Linear\(\) in",
        ),
        (lambda: as_kernel("linear", gamma=1.0), "kernel='linear' has no gamma, got gamma=1.0; leave gamma at None"),
        (lambda: as_kernel("rbf", degree=2), "kernel='rbf' has no degree, got degree=2; leave degree at None"),
        (lambda: as_kernel("laplacian", coef0=0.0), "kernel='laplacian' has no coef0"),
        (
            lambda: as_kernel(max, coef0=0.0),
            "coef0=0.0 is for kernels given by name; a function is called with two rows",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_parameters_left_at_none_are_defaults():
    assert as_kernel("linear", gamma=None, degree=None, coef0=None) == Linear()
    assert as_kernel("poly", gamma=None, degree=2, coef0=None) == Polynomial(2)
    assert as_kernel(max, gamma=None).function is max


def test_which_kernels_have_random_frequencies():
    for kernel in (Gaussian(0.5), Laplacian(1.0), Matern()):
        assert kernel.has_frequencies
        assert (kernel + 2.0 * Gaussian(0.5)).has_frequencies
        assert (kernel * Matern()).has_frequencies
    spline = ThinPlateSpline()
    for kernel in (spline, 2.0 * spline, spline + Gaussian(0.5), Matern() * spline, Linear(), Polynomial()):
        assert not kernel.has_frequencies


def test_what_is_no_kernel():
    with pytest.raises(TypeError, match="kernel must be a name, a kernel or a function of two rows, got int"):
        as_kernel(3)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize(("dtype", "most"), [("float32", 1e-5), ("float64", 1e-12)])
def test_gaussian_kernels_among_rows_of_a_device(library, dtype, most):
    """What is prepared once for all rows gives the kernels of any two slices of them."""
    rows, kernel = (RNG.standard_normal((30, 3)) + 50.0).astype(dtype), Gaussian(gamma=1 / 4.5)
    tile, whole = kernel.among(namespace(library).asarray(rows)), kernel(rows.astype("float64"))
    for some, others in ((slice(0, 10), slice(10, 30)), (slice(3, 9), slice(3, 9)), (slice(0, 30, 4), slice(5, 7))):
        np.testing.assert_allclose(to_numpy(tile(some, others)), whole[some, others], atol=most)
    np.testing.assert_array_equal(np.diagonal(to_numpy(tile(slice(0, 30), slice(0, 30)))), 1.0)


def test_gaussian_kernels_of_rows_many_widths_apart_are_not_prepared():
    rows = namespace("array_api_strict").asarray(RNG.standard_normal((30, 3)).astype("float32"))
    assert Gaussian(gamma=5000.0).among(rows) is None
    assert Gaussian(gamma=0.5).among(X) is None
    assert Linear().among(rows) is None
