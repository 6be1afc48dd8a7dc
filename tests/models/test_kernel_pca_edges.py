"""Kernel PCA at its edges: what has no answer is refused in words, what has one gets it."""

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import KernelPCA as SklearnKernelPCA

from examples import PAIRS as EXACT
from examples import able
from lowdim import KernelPCA
from lowdim.errors import ConvergenceWarning, IndefiniteWarning, NoVariance, RankWarning
from lowdim.kernels import (
    KERNELS,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Quadratic,
    Sigmoid,
    ThinPlateSpline,
)
from lowdim.solvers import KERNEL_SOLVERS, FourierFeatures, KrylovKernel, Nystrom, Ridge, kernel_plan

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))


# ---- Rows that are alike


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.5), Matern(0.5, 1.0), Quadratic()], ids=str)
def test_duplicate_rows_are_weights(kernel):
    twice = KernelPCA(4, kernel=kernel).fit(np.vstack([X, X]))
    weighted = KernelPCA(4, kernel=kernel).fit(X, sample_weight=np.full(60, 2.0))
    np.testing.assert_allclose(twice.eigenvalues_, weighted.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(twice.transform(X), weighted.transform(X), atol=1e-8)


@pytest.mark.parametrize("solver", able("gaussian"))
def test_one_row_is_too_few(solver):
    with pytest.raises(ValueError, match=r"n_samples=1 .* too few"):
        KernelPCA(1, kernel=Gaussian(0.5), solver=solver).fit(X[:1])


@pytest.mark.parametrize("solver", list(KERNEL_SOLVERS))
def test_rows_that_are_all_the_same(solver):
    kernel = Linear() if solver == "features" else Gaussian(0.5)
    with pytest.raises(NoVariance, match="no variance"):
        KernelPCA(2, kernel=kernel, solver=solver).fit(np.full((600, 3), 1.7))


def test_a_matrix_without_variance():
    for K in (np.ones((5, 5)), np.zeros((5, 5))):
        with pytest.raises(NoVariance):
            KernelPCA(2, kernel="precomputed").fit(K)


@pytest.mark.parametrize("solver", able("linear"))
def test_more_components_than_positive_eigenvalues(solver):
    with pytest.warns(RankWarning, match="only 3 of n_components=5"):
        model = KernelPCA(5, solver=solver).fit(np.vstack([X] * 10))
    assert model.n_components_ == 3
    assert model.transform(X).shape == (60, 3)
    assert KernelPCA(solver="dense").fit(X).n_components_ == 3


# ---- Kernels that are not what they should be


@pytest.mark.parametrize("solver", able("sigmoid"))
@pytest.mark.parametrize("kernel", [Sigmoid(gamma=5.0, coef0=0.5), ThinPlateSpline(1.0)], ids=["sigmoid", "spline"])
def test_indefinite_kernels_are_reported(kernel, solver):
    with pytest.warns(IndefiniteWarning, match="not positive semidefinite"):
        model = KernelPCA(2, kernel=kernel, solver=solver).fit(X)
    J = np.eye(60) - 1 / 60
    values = np.linalg.eigvalsh(J @ kernel(X) @ J)
    assert model.negative_mass_ == pytest.approx(-values[values < 0].sum() / np.abs(values).sum(), rel=0.02)


def test_a_matrix_that_is_not_symmetric():
    K = Gaussian(0.5)(X)
    K[7, 30] += 0.25
    with pytest.raises(ValueError, match=r"differ by up to 0.25 \(entries \(7, 30\) and \(30, 7\)\)"):
        KernelPCA(2, kernel="precomputed").fit(K)
    # A difference that is rounding is none.
    K[7, 30] -= 0.25 - 1e-13
    KernelPCA(2, kernel="precomputed").fit(K)


def test_a_matrix_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"square matrix, X has shape \(60, 3\)"):
        KernelPCA(2, kernel="precomputed").fit(X)
    model = KernelPCA(2, kernel="precomputed").fit(Gaussian(0.5)(X))
    with pytest.raises(ValueError, match="features"):
        model.transform(Gaussian(0.5)(X[:5], X[:40]))


def test_a_function_of_the_wrong_shape():
    with pytest.raises(ValueError, match=r"gave shape"):
        KernelPCA(2, kernel=lambda A, B: np.zeros((3, 4))).fit(X)


def test_a_function_that_gives_nan():
    with pytest.raises(ValueError, match="gives NaN or infinity"):
        KernelPCA(2, kernel=lambda x, y: np.nan).fit(X)


def test_kernels_that_leave_the_range_of_numbers():
    with pytest.raises(ValueError, match="gives NaN or infinity"):
        KernelPCA(2, kernel=Polynomial(9, gamma=1.0)).fit(1e40 * X)


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, "wide", True])
def test_widths_that_are_none(gamma):
    with pytest.raises(ValueError, match=r"gamma=.*positive number"):
        KernelPCA(2, kernel="rbf", gamma=gamma).fit(X)


def test_a_kernel_object_has_its_own_parameters():
    with pytest.raises(ValueError, match=r"set the parameters of .* in the kernel itself"):
        KernelPCA(2, kernel=Gaussian(0.5), gamma=0.5).fit(X)


# ---- Parameters


@pytest.mark.parametrize("k", [0, 61, -1, 1.0, 1.5, "many", True])
def test_numbers_of_components_that_cannot_be(k):
    with pytest.raises(ValueError, match=r"n_components=.* between 1 and 60 = n_samples"):
        KernelPCA(k, kernel="rbf").fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"solver": "arpack"}, "solver='arpack' is not one of"),
        ({"solver": Nystrom}, r"make one: Nystrom\(\)"),
        ({"kernel": "gauss"}, "kernel='gauss' is not one of"),
        ({"kernel": 3}, "kernel must be a name"),
        ({"memory": "much"}, "memory='much' must be"),
        ({"memory": 0}, "memory=0 must be"),
        ({"memory": -5.0}, "memory=-5.0 must be"),
        ({"preimage": "magic"}, "preimage='magic' is not one of"),
        ({"preimage": 3}, "preimage must be"),
        ({"solver": "krylov", "n_components": None}, "finds leading components only"),
        ({"solver": "fourier", "kernel": "poly"}, "kernels that depend on x - y only"),
        ({"solver": "fourier", "kernel": ThinPlateSpline()}, "no random Fourier features"),
        ({"solver": "features", "kernel": "rbf"}, "can be written out"),
        (
            {"kernel": "linear", "gamma": 1e9},
            "kernel='linear' has no gamma, got gamma=1000000000.0; leave gamma at None",
        ),
        ({"kernel": "rbf", "degree": 3}, "kernel='rbf' has no degree"),
        ({"kernel": "cosine", "coef0": 1.0}, "kernel='cosine' has no coef0"),
        ({"kernel": lambda x, y: 1.0, "gamma": 2.0}, "gamma=2.0 is for kernels given by name; a function"),
        ({"kernel": "precomputed", "degree": 2}, "degree=2 is for kernels given by name; kernel='precomputed'"),
    ],
)
def test_parameters_that_make_no_sense(parameters, message):
    """In `fit`, and in `plan` before a row is read."""
    model = KernelPCA(**{"n_components": 2, "kernel": Gaussian(0.5), **parameters})
    for method in (model.fit, model.plan):
        with pytest.raises((ValueError, TypeError), match=message):
            method(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Nystrom(0),
        lambda: Nystrom(2.5),
        lambda: Nystrom(choose="best"),
        lambda: FourierFeatures(1),
        lambda: Ridge(alpha=-1.0),
        lambda: Ridge(rows=0),
        lambda: KrylovKernel(tol=0.0),
        lambda: KrylovKernel(block=0),
        lambda: KrylovKernel(max_steps=True),
    ],
)
def test_options_that_make_no_sense(make):
    with pytest.raises(ValueError, match=r"needed|is not one of"):
        make()


def test_bad_rows_are_named():
    bad = X.copy()
    bad[17, 2] = np.nan
    for solver in able("gaussian"):
        with pytest.raises(ValueError, match="NaN: column 2, first in row 17"):
            KernelPCA(2, kernel=Gaussian(0.5), solver=solver).fit(bad)
    model = KernelPCA(2, kernel=Gaussian(0.5)).fit(X)
    with pytest.raises(ValueError, match="NaN: column 2, first in row 17"):
        model.transform(bad)
    with pytest.raises(ValueError, match=r"NaN"):
        KernelPCA(2, kernel="precomputed").fit(bad @ bad.T)


def test_an_iteration_that_gives_up_says_so():
    rows = np.random.default_rng(1).standard_normal((600, 4))
    with pytest.warns(ConvergenceWarning, match="stopped at residual"):
        KernelPCA(3, kernel="rbf", solver=KrylovKernel(max_steps=2)).fit(rows)


def test_a_failed_fit_changes_nothing():
    model = KernelPCA(2, kernel=Gaussian(0.5)).fit(X)
    before = model.transform(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((5, 3), np.nan))
    np.testing.assert_array_equal(model.transform(X), before)


# ---- Memory


def test_what_does_not_fit_is_refused_with_numbers():
    with pytest.raises(MemoryError, match=r"'dense' on 200000 rows would need 1788.2 GiB, and memory=8.0 GiB"):
        kernel_plan((200_000, 5), memory="8 GiB")
    with pytest.raises(MemoryError, match="fewer components"):
        kernel_plan((200_000, 5), 10, memory="100 MB")
    with pytest.raises(MemoryError, match="fewer landmarks"):
        kernel_plan((10**6, 5), 10, solver=Nystrom(20_000), memory="1 GiB")
    rows = np.random.default_rng(2).standard_normal((3000, 2))
    with pytest.raises(MemoryError, match="n_components as a small whole number"):
        KernelPCA(kernel="rbf", memory="50 MB").fit(rows)
    assert KernelPCA(2, kernel="rbf", memory="50 MB").fit(rows).plan_.n_bytes <= 50e6


@pytest.mark.parametrize(
    "kernel",
    [
        "thin plate spline",
        Gaussian(0.5) + ThinPlateSpline(),
        ThinPlateSpline() * Gaussian(0.5),
        2.0 * ThinPlateSpline(),
    ],
    ids=str,
)
def test_kernels_without_frequencies_are_refused_before_a_row_is_read(kernel):
    for refused in (
        lambda: kernel_plan((1000, 3), 2, kernel=kernel, solver="fourier"),
        lambda: KernelPCA(2, kernel=kernel, solver="fourier").fit(X),
    ):
        with pytest.raises(TypeError, match="no random Fourier features"):
            refused()


def test_streams_are_gathered_for_exact_solvers():
    for solver in EXACT:
        streamed = KernelPCA(2, kernel=Gaussian(0.5), solver=solver).fit([X[:30], X[30:]])
        expected = KernelPCA(2, kernel=Gaussian(0.5), solver=solver).fit(X)
        np.testing.assert_array_equal(streamed.eigenvalues_, expected.eigenvalues_)


# ---- Ranges


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("scale", [1e-150, 1e-60, 1e60, 1e150])
def test_scales(scale, solver):
    """The answer does not depend on the unit of the rows."""
    kernel = Gaussian()
    plain, scaled = (KernelPCA(3, kernel=kernel, solver=solver).fit(A) for A in (X, scale * X))
    np.testing.assert_allclose(scaled.eigenvalues_, plain.eigenvalues_, rtol=1e-9)
    plain, scaled = (KernelPCA(3, solver=solver).fit(A) for A in (X, scale * X))
    np.testing.assert_allclose(scaled.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-9)
    np.testing.assert_allclose(scaled.transform(scale * X) / scale, plain.transform(X), atol=1e-8)


@pytest.mark.parametrize("solver", [*EXACT, "nystrom"])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplacian(0.5), Matern(2.5, 1.0)], ids=str)
def test_offsets(kernel, solver):
    rows = np.round(64 * X) / 64
    plain, moved = (KernelPCA(3, kernel=kernel, solver=solver).fit(A) for A in (rows, rows + 1e8))
    np.testing.assert_allclose(moved.eigenvalues_, plain.eigenvalues_, rtol=1e-9)


def test_kernels_that_hardly_vary():
    """exp(-d^2 / 2 sigma^2) with sigma a hundred times the spread: nearly linear, and nearly all mean."""
    rows = np.random.default_rng(3).standard_normal((600, 3)) * [3.0, 2.0, 1.0]
    dense, krylov = (KernelPCA(3, kernel=Gaussian(1 / 180000), solver=s).fit(rows) for s in ("dense", "krylov"))
    np.testing.assert_allclose(krylov.eigenvalues_, dense.eigenvalues_, rtol=1e-8)
    narrow = KernelPCA(3, kernel=Gaussian(1 / 1800), solver="krylov").fit(rows.astype(np.float32))
    wide = KernelPCA(3, kernel=Gaussian(1 / 1800), solver="krylov").fit(rows)
    np.testing.assert_allclose(narrow.eigenvalues_, wide.eigenvalues_, rtol=1e-2)


@st.composite
def nasty(draw):
    n, p = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    entry = st.sampled_from([0.0, 1.0, -1.0, 2.0, 1e-160, 1e-8, 1e8, 1e120, -1e160, np.nan, np.inf])
    return np.array(draw(st.lists(st.lists(entry, min_size=p, max_size=p), min_size=n, max_size=n)))


@pytest.mark.filterwarnings("ignore::lowdim.errors.LowdimWarning")
@pytest.mark.parametrize("solver", list(KERNEL_SOLVERS))
@settings(max_examples=25, deadline=None)
@given(rows=nasty(), as_sparse=st.booleans())
def test_a_clear_error_or_finite_results(solver, rows, as_sparse):
    """All kernels are given the same tables, since to draw one takes longer than to fit a model to it."""
    for kernel in KERNELS:
        note(kernel)
        model = KernelPCA(1, kernel=kernel, solver=solver)
        assert_a_clear_error_or_finite_results(model, sparse.csr_array(rows) if as_sparse else rows)


def assert_a_clear_error_or_finite_results(model, given_rows):
    try:
        scores = model.fit_transform(given_rows)
    except (ValueError, TypeError) as error:
        assert type(error) is not np.linalg.LinAlgError
        assert len(str(error)) > 20
        return
    for value in (scores, model.transform(given_rows), model.eigenvalues_, model.explained_variance_ratio_):
        assert np.all(np.isfinite(value))


# ---- Rows that do not count


def test_fewer_rows_count_than_components_are_asked_for():
    """Centred, the features of eight rows have rank seven."""
    rows = np.random.default_rng(4).standard_normal((600, 3))
    weights = np.zeros(600)
    weights[:8] = 1.0
    for solver in ("auto", *EXACT, "nystrom"):
        with pytest.raises(ValueError, match="n_components=10 must be a whole number between 1 and 8"):
            KernelPCA(10, kernel=Gaussian(0.5), solver=solver).fit(rows, sample_weight=weights)
        with pytest.warns(RankWarning, match="only 7 of n_components=8"):
            model = KernelPCA(8, kernel=Gaussian(0.5), solver=solver).fit(rows, sample_weight=weights)
        assert model.n_samples_ == 8


@pytest.mark.parametrize("solver", list(KERNEL_SOLVERS))
def test_rows_of_weight_zero_may_be_anything(solver):
    kernel = Polynomial(2, gamma=1.0) if solver == "features" else Gaussian(0.5)
    bad, weights = X.copy(), np.ones(60)
    bad[5] = np.nan
    weights[5] = 0.0
    own = KernelPCA(2, kernel=kernel, solver=solver).fit(bad, sample_weight=weights)
    without = KernelPCA(2, kernel=kernel, solver=solver).fit(np.delete(X, 5, axis=0))
    np.testing.assert_allclose(own.eigenvalues_, without.eigenvalues_, rtol=1e-9)


# ---- float32


def test_landmarks_of_float32_rows_invent_nothing():
    """Directions in which kernels hardly vary are divided by how little they do."""
    rng = np.random.default_rng(5)
    rows = 3.0 * rng.standard_normal((6, 3))[rng.integers(6, size=3000)] + rng.standard_normal((3000, 3))
    wide, narrow = (
        KernelPCA(6, kernel=Gaussian(gamma=0.5), solver=Nystrom(700)).fit(A)
        for A in (rows.astype(np.float32).astype(np.float64), rows.astype(np.float32))
    )
    np.testing.assert_allclose(narrow.eigenvalues_, wide.eigenvalues_, rtol=1e-3)
    np.testing.assert_array_equal(narrow.X_fit_, wide.X_fit_.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_many_widths_apart(dtype):
    """Exponents of rows far from the origin cancel; near ones must be measured all the same."""
    apart = 1e3 if dtype == "float32" else 1e7
    rng = np.random.default_rng(6)
    centres = apart * rng.standard_normal((6, 3))
    rows = (centres[rng.integers(6, size=700)] + rng.standard_normal((700, 3))).astype(dtype)
    wide = rows.astype(np.longdouble)
    D = np.zeros((700, 700))
    for d in range(3):
        D += ((wide[:, d][:, None] - wide[:, d]) ** 2).astype(float)
    J = np.eye(700) - 1 / 700
    values = np.linalg.eigvalsh(J @ np.exp(-D / 2) @ J)[::-1][:6]
    for solver in ("dense", "krylov"):
        model = KernelPCA(6, kernel=Gaussian(0.5), solver=solver)
        scores = model.fit_transform(rows)
        np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-4 if dtype == "float32" else 1e-8)
        tolerated = 1e-3 if dtype == "float32" else 1e-6
        np.testing.assert_allclose(model.transform(rows), scores, atol=tolerated * np.abs(scores).max())


# ---- Small things


def test_kinds_of_numbers():
    assert KernelPCA(np.float32(0.5), kernel=Gaussian(0.5)).fit(X).n_components_ < 20
    assert KernelPCA(np.int64(2), kernel=Gaussian(0.5), memory=np.int64(10**9)).fit(X).n_components_ == 2
    for memory in ("1.2.3 GiB", ".", "0 GiB"):
        with pytest.raises(ValueError, match="memory="):
            KernelPCA(2, memory=memory).fit(X)


def test_high_degrees_of_few_columns():
    rows = np.linspace(0.5, 1.0, 1200)[:, None]
    model = KernelPCA(2, kernel="poly", degree=200, gamma=0.01).fit(rows)
    assert model.solver_ == "features"
    np.testing.assert_allclose(
        model.eigenvalues_[0],
        KernelPCA(2, kernel="poly", degree=200, gamma=0.01, solver="krylov").fit(rows).eigenvalues_[0],
        rtol=1e-8,
    )


@pytest.mark.parametrize("solver", ["auto", "dense", "krylov"])
def test_rows_too_far_apart_for_the_width(solver):
    """The kernel matrix is the identity, or nearly so, and all eigenvalues are the same."""
    rows = np.random.default_rng(7).standard_normal((400, 30))
    for gamma in (0.3, 1.0, 3.0, 1e6):
        model = KernelPCA(3, kernel="rbf", gamma=gamma, solver=solver).fit(rows)
        every = KernelPCA(kernel="rbf", gamma=gamma, solver="dense").fit(rows)
        np.testing.assert_allclose(model.eigenvalues_, every.eigenvalues_[:3], rtol=1e-9)


def test_negative_kernels_have_no_components():
    with pytest.raises(NoVariance, match="no eigenvalue of the centred kernel matrix is positive"):
        KernelPCA(2, kernel="precomputed").fit(-Gaussian(0.5)(X))


def test_dense_fit_sparse_rows():
    model = KernelPCA(2, kernel=Gaussian(0.5)).fit(X)
    np.testing.assert_allclose(model.transform(sparse.csr_array(X)), model.transform(X), atol=1e-10)


def test_signs_are_those_of_the_largest_score():
    """As scikit-learn has them."""
    theirs = SklearnKernelPCA(3, kernel="rbf", gamma=0.4).fit(X)
    model = KernelPCA(3, kernel="rbf", gamma=0.4).fit(X)
    np.testing.assert_allclose(model.eigenvectors_, theirs.eigenvectors_, atol=1e-8)


@pytest.mark.parametrize("n", [30, 3000])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_kernels_of_float32_rows_may_be_out_of_the_range_of_float32(kernel, n):
    """Oracle: the same rows in float64. There are few rows for the kernel matrix, and many for explicit features."""
    rows = (1e22 * np.random.default_rng(3).standard_normal((n, 4))).astype(np.float32)
    expected = KernelPCA(2, kernel=kernel).fit_transform(rows.astype(np.float64))
    model = KernelPCA(2, kernel=kernel)
    for scores in (model.fit_transform(rows), model.transform(rows)):
        # Scores of about 1e66 do not fit into float32 either.
        assert scores.dtype == (np.float32 if kernel == "linear" else np.float64)
        np.testing.assert_allclose(scores, expected, atol=1e-5 * np.abs(expected).max())
