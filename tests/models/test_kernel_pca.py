"""Kernel PCA: identities, special cases, every solver, every kind of rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from examples import MAPS, able
from examples import PAIRS as EXACT
from inputs import namespace, table, to_numpy
from lowdim import PCA, FeatureMapPCA, KernelPCA
from lowdim.features import Polynomial as PolynomialMap
from lowdim.kernels import (
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Quadratic,
    Sigmoid,
    ThinPlateSpline,
)
from lowdim.solvers import KERNEL_SOLVERS, KrylovKernel, Nystrom, Status
from oracles import tolerance
from recorder import passes_of

pytestmark = pytest.mark.filterwarnings("ignore::lowdim.errors.IndefiniteWarning")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 3)) @ np.diag([3.0, 2.0, 1.0]) + [1.0, -2.0, 0.5]
NEW = RNG.standard_normal((7, 3)) + 1.0
KERNELS = {
    "linear": Linear(),
    "gaussian": Gaussian(gamma=0.125),
    "polynomial": Polynomial(3, gamma=0.3, coef0=1.0),
    "quadratic": Quadratic(gamma=1.0, coef0=0.1),
    "laplacian": Laplacian(0.3),
    "matern": Matern(1.5, 2.0),
    "cosine": Cosine(),
    "sigmoid": Sigmoid(gamma=0.05, coef0=0.5),
    "thin plate spline": ThinPlateSpline(1.0),
    "sum": Gaussian(gamma=0.125) + Linear(),
    "product": Gaussian(gamma=0.125) * Matern(0.5, 3.0),
}
each_kernel = pytest.mark.parametrize("name", list(KERNELS))
each_exact = pytest.mark.parametrize("solver", EXACT)


def oracle(K, new=None, weights=None):
    """Eigenvalues of the centred matrix, and scores of the rows and of new ones, by the formulas."""
    n = len(K)
    w = np.ones(n) if weights is None else weights
    J = np.eye(n) - np.outer(np.ones(n), w) / w.sum()
    G = np.sqrt(w)[:, None] * (J @ K @ J.T) * np.sqrt(w)
    values, U = np.linalg.eigh(G)
    values, U = values[::-1], U[:, ::-1]
    keep = values > 1e-9 * values[0]
    values, P = values[keep], U[:, keep] / np.sqrt(w)[:, None]
    scores = P * np.sqrt(values)
    if new is None:
        return values, scores
    centred = new - (K @ w / w.sum()) - (new @ w / w.sum())[:, None] + w @ K @ w / w.sum() ** 2
    return values, scores, centred @ (w[:, None] * P) / np.sqrt(values)


def assert_same_scores(ours, theirs, atol=1e-8):
    """Up to the sign of each component, in units of the largest score."""
    theirs = theirs[:, : ours.shape[1]]
    ours = ours * np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=atol * np.abs(theirs).max())


# ---- The formulas


@each_exact
@each_kernel
def test_eigenpairs_and_scores(name, solver):
    kernel = KERNELS[name]
    values, scores, new = oracle(kernel(X), kernel(NEW, X))
    model = KernelPCA(3, kernel=kernel, solver=solver)
    fitted = model.fit_transform(X)
    np.testing.assert_allclose(model.eigenvalues_, values[:3], rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_, values[:3] / (len(X) - 1), rtol=1e-10)
    assert_same_scores(fitted, scores)
    assert_same_scores(model.transform(X), scores)
    assert_same_scores(model.transform(NEW), new)
    # K~ P = P Gamma, and P is orthonormal.
    P = model.eigenvectors_
    np.testing.assert_allclose(P.T @ P, np.eye(3), atol=1e-8)
    J = np.eye(len(X)) - 1 / len(X)
    np.testing.assert_allclose(J @ kernel(X) @ J @ P, P * model.eigenvalues_, atol=1e-7 * values[0])


@each_exact
@each_kernel
def test_share_of_variance_and_negative_mass(name, solver):
    """With a semidefinite kernel the total is the trace; otherwise the sum of what is positive, which the iteration
    estimates."""
    kernel = KERNELS[name]
    J = np.eye(len(X)) - 1 / len(X)
    values = np.linalg.eigvalsh(J @ kernel(X) @ J)
    positive, negative = values[values > 0].sum(), -values[values < 0].sum()
    model = KernelPCA(3, kernel=kernel, solver=solver).fit(X)
    rtol = 1e-9 if kernel.semidefinite or solver == "dense" else 0.02
    np.testing.assert_allclose(model.explained_variance_ratio_, model.eigenvalues_ / positive, rtol=rtol)
    if kernel.semidefinite:
        assert model.negative_mass_ == 0.0
    else:
        np.testing.assert_allclose(model.negative_mass_, negative / (positive + negative), rtol=rtol)


@pytest.mark.parametrize("solver", [*EXACT, "nystrom"])
def test_weights_are_repetitions(solver):
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    rows = np.repeat(X, counts, axis=0)
    weighted = KernelPCA(4, kernel=Gaussian(0.125), solver=solver).fit(X, sample_weight=counts)
    repeated = KernelPCA(4, kernel=Gaussian(0.125), solver=solver).fit(rows)
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(weighted.transform(NEW), repeated.transform(NEW), atol=1e-8)
    np.testing.assert_allclose(weighted.explained_variance_ratio_, repeated.explained_variance_ratio_, rtol=1e-9)
    if solver != "nystrom":
        inside = np.repeat(weighted.eigenvectors_, counts[counts > 0], axis=0)
        np.testing.assert_allclose(inside, repeated.eigenvectors_, atol=1e-8)
    # Rows of weight zero are scored like others.
    np.testing.assert_allclose(
        KernelPCA(4, kernel=Gaussian(0.125), solver=solver).fit_transform(X, sample_weight=counts),
        weighted.transform(X),
        atol=1e-8,
    )


def test_the_median_rule_is_said():
    model = KernelPCA(2, kernel="rbf").fit(X)
    apart = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))[np.triu_indices(len(X), 1)]
    assert model.kernel_.gamma == pytest.approx(0.5 / np.median(apart) ** 2, rel=1e-12)
    assert model.gamma_ == pytest.approx(1 / (2 * np.median(apart) ** 2))
    assert "Gaussian(gamma=" in str(model)
    assert KernelPCA(2, kernel="rbf", gamma=0.3).fit(X).gamma_ == 0.3
    assert KernelPCA(2, kernel="poly").fit(X).gamma_ == pytest.approx(1 / 3)
    assert KernelPCA(2).fit(X).gamma_ is None


def test_width_does_not_depend_on_order_or_solver():
    rows = np.random.default_rng(2).standard_normal((3000, 4))
    widths = {
        KernelPCA(2, kernel="rbf", solver=solver).fit(A).kernel_.gamma
        for solver in ("krylov", Nystrom(50), "fourier")
        for A in (rows, rows[::-1])
    }
    assert len(widths) == 1


# ---- Special cases


@pytest.mark.parametrize("solver", [*able("linear"), "auto"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_the_linear_kernel_is_pca(solver, offset):
    rows = np.round(64 * X) / 64 + offset
    pca, model = PCA(3).fit(rows), KernelPCA(3, solver=solver).fit(rows)
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-9)
    assert_same_scores(model.transform(rows), pca.transform(rows))
    np.testing.assert_allclose(model.inverse_transform(model.transform(rows)), rows, rtol=1e-12, atol=1e-8)


@pytest.mark.parametrize("up_to", [False, True])
@pytest.mark.parametrize("degree", [2, 3])
def test_the_polynomial_kernel_is_a_feature_map(degree, up_to):
    explicit = FeatureMapPCA(4, feature_map=PolynomialMap(degree, up_to=up_to)).fit(X)
    kernel = Polynomial(degree, gamma=1.0, coef0=1.0 if up_to else 0.0)
    for solver in [*EXACT, "features"]:
        model = KernelPCA(4, kernel=kernel, solver=solver).fit(X)
        np.testing.assert_allclose(model.explained_variance_, explicit.explained_variance_, rtol=1e-9)
        assert_same_scores(model.transform(NEW), explicit.transform(NEW))


@pytest.mark.parametrize("solver", able(Quadratic()))
def test_the_circle_becomes_flat(solver):
    """Its quadratic features lie in a plane: two components, and no third."""
    angle = np.linspace(0, 6.2, 60)
    circle = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
    model = KernelPCA(kernel=Quadratic(), solver=solver if solver in ("dense", "features", "nystrom") else "dense")
    assert model.fit(circle).n_components_ == 2
    assert model.explained_variance_ratio_.sum() == pytest.approx(1.0)


def test_a_matrix_that_is_given():
    kernel = Gaussian(0.125)
    own = KernelPCA(3, kernel=kernel, solver="dense").fit(X)
    for solver in EXACT:
        given = KernelPCA(3, kernel="precomputed", solver=solver).fit(kernel(X))
        np.testing.assert_allclose(given.eigenvalues_, own.eigenvalues_, rtol=1e-10)
        assert_same_scores(given.transform(kernel(NEW, X)), own.transform(NEW))
    weights = np.arange(len(X)) % 3
    own = KernelPCA(3, kernel=kernel).fit(X, sample_weight=weights)
    given = KernelPCA(3, kernel="precomputed").fit(kernel(X), sample_weight=weights)
    assert_same_scores(given.transform(kernel(NEW, X)), own.transform(NEW))
    assert given.__sklearn_tags__().input_tags.pairwise


def test_own_functions():
    """Of two rows, or of two blocks."""
    model = KernelPCA(3, kernel=Gaussian(0.125)).fit(X)
    for function in (lambda x, y: np.exp(-((x - y) ** 2).sum() / 8), lambda A, B: np.atleast_2d(Gaussian(0.125)(A, B))):
        if function.__code__.co_varnames[0] == "A":
            function = _of_blocks
        own = KernelPCA(3, kernel=function, solver="dense").fit(X)
        assert_same_scores(own.transform(NEW), model.transform(NEW))


def _of_blocks(A, B):
    return Gaussian(0.125)(np.atleast_2d(A), np.atleast_2d(B))


def test_a_fraction_of_variance():
    every = KernelPCA(kernel=Gaussian(0.125)).fit(X)
    shares = np.cumsum(every.explained_variance_ratio_)
    assert shares[-1] == pytest.approx(1.0)
    for solver in ("dense", "nystrom"):
        some = KernelPCA(0.8, kernel=Gaussian(0.125), solver=solver).fit(X)
        assert some.n_components_ == np.argmax(shares >= 0.8) + 1
        assert some.eigenvectors_ is None or some.eigenvectors_.shape[1] == some.n_components_


# ---- Solvers


def test_in_memory_and_matrix_free():
    rows = np.random.default_rng(3).standard_normal((2000, 5))
    fits = [
        KernelPCA(6, kernel="rbf", solver=solver, memory=memory).fit(rows)
        for solver, memory in [("krylov", None), ("matrix-free", None), ("krylov", "20 MiB"), ("dense", None)]
    ]
    # The sample of the rows, and the kernels once or for each product.
    assert [fit.plan_.passes for fit in (fits[0], fits[3])] == [2, 2]
    assert fits[1].plan_.passes == fits[2].plan_.passes > 5
    for fit in fits[:3]:
        np.testing.assert_allclose(fit.eigenvalues_, fits[3].eigenvalues_, rtol=1e-12)
        np.testing.assert_allclose(fit.eigenvectors_, fits[3].eigenvectors_, atol=1e-8)
        np.testing.assert_allclose(fit.transform(rows[:20]), fits[3].transform(rows[:20]), atol=1e-8)


def test_clusters_that_no_guess_has_seen():
    """A kernel so narrow that clusters do not feel one another: each must be found, wherever the start has looked."""
    rng = np.random.default_rng(4)
    sizes = np.full(40, 25)
    sizes[:5] = [120, 110, 100, 90, 80]
    centres = 100.0 * np.arange(40)[:, None] * np.ones(3)
    rows = np.repeat(centres, sizes, axis=0) + 0.01 * rng.standard_normal((sizes.sum(), 3))
    rows = rows[rng.permutation(len(rows))]
    krylov, dense = (KernelPCA(8, kernel=Gaussian(0.5), solver=s).fit(rows) for s in ("krylov", "dense"))
    np.testing.assert_allclose(krylov.eigenvalues_, dense.eigenvalues_, rtol=1e-9)


def test_auto_never_gives_up(monkeypatch):
    """Where the iteration would, `auto` goes on with LAPACK."""
    rows = np.random.default_rng(4).standard_normal((600, 3))
    expected = KernelPCA(3, kernel=Gaussian(0.5), solver="dense").fit(rows)

    class GivesUp(KrylovKernel):
        def solve(self, *given):
            return replace(super().solve(*given), status=Status.NOT_CONVERGED)

    monkeypatch.setitem(KERNEL_SOLVERS, "krylov", GivesUp())
    model = KernelPCA(3, kernel=Gaussian(0.5)).fit(rows)
    assert model.solver_ == "dense"
    assert "not_converged" in model.plan_.why
    np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues_, rtol=1e-12)


def test_ties():
    """All distances alike: one eigenvalue, many times."""
    krylov = KernelPCA(5, kernel=Gaussian(0.5), solver="krylov").fit(np.eye(600))
    np.testing.assert_allclose(krylov.eigenvalues_, 1 - np.exp(-1.0), rtol=1e-9)


def test_threads_change_nothing():
    rows = np.random.default_rng(5).standard_normal((1500, 4))
    with threadpool_limits(1, user_api="blas"):
        one = KernelPCA(3, kernel="rbf").fit(rows)
    with threadpool_limits(2, user_api="blas"):
        two, again = (KernelPCA(3, kernel="rbf").fit(rows) for _ in range(2))
    np.testing.assert_allclose(one.eigenvectors_, two.eigenvectors_, atol=1e-8)
    np.testing.assert_array_equal(two.eigenvectors_, again.eigenvectors_)


def test_options_of_a_solver():
    rows = np.random.default_rng(6).standard_normal((600, 4))
    fit = KernelPCA(3, kernel="rbf", solver=KrylovKernel(steps=3)).fit(rows)
    assert fit.status_ is Status.FIXED_STEPS
    tight = KernelPCA(3, kernel="rbf", solver=KrylovKernel(tol=1e-12, block=8)).fit(rows)
    assert tight.residual_ < 1e-12
    assert tight.status_ is Status.CONVERGED


def test_progress_is_reported():
    rows = np.random.default_rng(6).standard_normal((1200, 4))
    made = passes_of(KernelPCA(3, kernel="rbf", solver="matrix-free").fit, rows)
    assert made[:2] == ["Sample", "KernelMatrix"]


# ---- Kinds of rows


@pytest.mark.parametrize("solver", able(Gaussian(0.125)))
def test_float32_stays(solver):
    wide = KernelPCA(3, kernel=Gaussian(0.125), solver=solver).fit(X)
    narrow = KernelPCA(3, kernel=Gaussian(0.125), solver=solver).fit(X.astype(np.float32))
    assert narrow.eigenvalues_.dtype == narrow.transform(X.astype(np.float32)).dtype == np.float32
    if solver != "nystrom":
        np.testing.assert_allclose(narrow.eigenvalues_, wide.eigenvalues_, rtol=1e-5)
    if solver in EXACT:
        assert narrow.eigenvectors_.dtype == np.float32
        np.testing.assert_allclose(narrow.transform(X.astype(np.float32)), wide.transform(X), atol=1e-5)


@pytest.mark.parametrize("solver", able("polynomial"))
def test_sparse_rows(solver):
    rows = np.where(np.random.default_rng(7).random(X.shape) < 0.5, np.round(4 * X), 0.0)
    kernel = Polynomial(2, gamma=0.1, coef0=1.0)
    dense = KernelPCA(3, kernel=kernel, solver=solver).fit(rows)
    own = KernelPCA(3, kernel=kernel, solver=solver).fit(sparse.csr_array(rows))
    np.testing.assert_allclose(own.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(own.transform(sparse.csr_array(rows)), dense.transform(rows), atol=1e-7)
    assert own.inverse_transform(own.transform(sparse.csr_array(rows))).shape == rows.shape


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables(library):
    own = KernelPCA(2, kernel=Gaussian(0.125)).fit(table(library, X))
    np.testing.assert_allclose(
        own.transform(table(library, NEW)), KernelPCA(2, kernel=Gaussian(0.125)).fit(X).transform(NEW)
    )
    assert list(own.feature_names_in_) == ["col0", "col1", "col2"]


@pytest.mark.parametrize("solver", MAPS)
def test_streams(solver):
    """A feature map followed by PCA: whatever comes in blocks."""
    kernel = Polynomial(2, gamma=0.1) if solver == "features" else Gaussian()
    whole = KernelPCA(3, kernel=kernel, solver=solver).fit(X)
    pieces = [X[:20], X[20:21], X[21:]]
    for rows in (pieces, lambda: iter(pieces)):
        streamed = KernelPCA(3, kernel=kernel, solver=solver).fit(rows)
        np.testing.assert_allclose(streamed.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(streamed.transform(NEW), whole.transform(NEW), atol=1e-7)
        np.testing.assert_allclose(streamed.transform(rows), whole.transform(X), atol=1e-7)
        assert streamed.error_ == pytest.approx(whole.error_)


def test_auto_takes_landmarks_of_a_stream():
    streamed = KernelPCA(3, kernel=Gaussian(0.125)).fit([X[:50], X[50:]])
    assert streamed.solver_ == "nystrom"
    assert "blocks" in str(streamed.plan_)
    assert streamed.error_ == 0.0  # there are fewer rows than landmarks
    np.testing.assert_allclose(
        streamed.eigenvalues_, KernelPCA(3, kernel=Gaussian(0.125)).fit(X).eigenvalues_, rtol=1e-9
    )


def test_a_generator_is_read_once():
    """Where nothing has to be found out first."""
    given = Nystrom(X[:30])
    for solver in (given, "fourier"):
        once = KernelPCA(2, kernel=Gaussian(0.125), solver=solver).fit(block for block in (X[:40], X[40:]))
        twice = KernelPCA(2, kernel=Gaussian(0.125), solver=solver).fit(X)
        np.testing.assert_allclose(once.eigenvalues_, twice.eigenvalues_, rtol=1e-9)
        assert "gathered" not in once.plan_.why


def test_a_generator_is_gathered_if_something_has_to_be_found_out_first():
    for options in ({"kernel": "rbf", "solver": "fourier"}, {"kernel": Gaussian(0.125)}, {"kernel": "rbf"}):
        once = KernelPCA(2, **options).fit(block for block in (X[:40], X[40:]))
        expected = KernelPCA(2, **options).fit(X)
        assert once.solver_ == expected.solver_
        assert "gathered" in once.plan_.why
        np.testing.assert_array_equal(once.eigenvalues_, expected.eigenvalues_)


@pytest.mark.parametrize("solver", list(KERNEL_SOLVERS))
@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_array_libraries(library, solver, dtype):
    xp = namespace(library)
    kernel = Polynomial(2, gamma=0.1) if solver == "features" else Gaussian()
    rows, new = (xp.asarray(A.astype(dtype)) for A in (X, NEW))
    model = KernelPCA(3, kernel=kernel, solver=solver)
    scores = model.fit_transform(rows)
    assert type(scores) is type(rows)
    assert scores.dtype == rows.dtype
    own = KernelPCA(3, kernel=kernel, solver=solver).fit(X.astype(dtype))
    atol = tolerance(dtype, condition=1e4)
    np.testing.assert_allclose(to_numpy(model.eigenvalues_), own.eigenvalues_, rtol=atol)
    np.testing.assert_allclose(to_numpy(model.transform(new)), own.transform(NEW.astype(dtype)), atol=10 * atol)
    back = model.inverse_transform(model.transform(new))
    assert type(back) is type(rows)
    if dtype == "float64":
        np.testing.assert_allclose(to_numpy(back), own.inverse_transform(own.transform(NEW)), atol=1e-3)


# ---- Copies


def test_rows_may_change_after_the_fit():
    rows = X.copy()
    model = KernelPCA(2, kernel=Gaussian(0.125)).fit(rows)
    before = model.transform(NEW)
    rows[:] = 0.0
    np.testing.assert_array_equal(model.transform(NEW), before)


def test_clone_and_names():
    model = KernelPCA(2, kernel=Gaussian(0.125) + Linear(), solver=Nystrom(20, choose="k-means++"))
    assert clone(model).get_params() == model.get_params()
    assert list(model.fit(X).get_feature_names_out()) == ["PC1", "PC2"]


# ---- The width


def test_purpose_chooses_the_width_and_pre_images_do_not():
    """As docs/kernel_pca.md says: the error of pre-images prefers the widest kernel."""
    X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    X, new, y, new_y = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    median = KernelPCA(2, kernel="rbf").fit(X).kernel_.gamma
    kernels = [Gaussian(median / share**2) for share in (2.0, 1.0, 0.5, 0.25, 0.125)]
    errors = []
    for kernel in kernels:
        model = KernelPCA(2, kernel=kernel).fit(X)
        errors.append(np.mean((model.inverse_transform(model.transform(new)) - new) ** 2))
    assert np.argmin(errors) == 0
    pipeline = make_pipeline(KernelPCA(2), StandardScaler(), LogisticRegression(C=1e3))
    assert pipeline.set_params(kernelpca__kernel=kernels[0]).fit(X, y).score(new, new_y) < 0.7
    search = GridSearchCV(pipeline, {"kernelpca__kernel": kernels}).fit(X, y)
    assert search.best_params_["kernelpca__kernel"] in kernels[2:4]
    assert search.score(new, new_y) > 0.95
