"""The centred kernel matrix by tiles: products, what is kept, what is estimated, and the plan for it."""

import numpy as np
import pytest

from lowdim.kernels import Gaussian, Polynomial, Sigmoid
from lowdim.solvers import KERNEL_SOLVERS, DenseKernel, KernelSolver, KrylovKernel, Nystrom, kernel_plan
from lowdim.solvers.kernel import matrix as kernel_matrix
from lowdim.solvers.kernel.matrix import KernelJob, KernelMatrix, Tiles

RNG = np.random.default_rng(0)
X = RNG.standard_normal((101, 3))
V = RNG.standard_normal((101, 4))


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Many of them, the last one smaller."""
    monkeypatch.setattr(kernel_matrix, "TILE", 16)
    monkeypatch.setattr(kernel_matrix, "tile_rows", lambda n, host: min(16, n))


def centred(K, weights=None):
    w = np.ones(len(K)) if weights is None else weights
    J = np.eye(len(K)) - np.outer(np.ones(len(K)), w) / w.sum()
    return np.sqrt(w)[:, None] * (J @ K @ J.T) * np.sqrt(w)


@pytest.mark.parametrize("weights", [None, RNG.integers(1, 4, 101).astype(float)], ids=["", "weights"])
@pytest.mark.parametrize("room", [0, 10_000, 10**9], ids=["nothing kept", "some", "all"])
@pytest.mark.parametrize("given", [False, True])
def test_products(room, weights, given):
    K = Gaussian(1 / 4.5)(X)
    matrix = KernelMatrix(Tiles(K) if given else Tiles(X, Gaussian(1 / 4.5)), weights, room)
    G = centred(K, weights)
    for _ in range(3):  # the first, with what is kept, and once more
        np.testing.assert_allclose(matrix(V), G @ V, atol=1e-12)
    w = np.ones(101) if weights is None else weights
    np.testing.assert_allclose(matrix.means, K @ w / w.sum(), atol=1e-14)
    np.testing.assert_allclose(matrix.diagonal, np.diagonal(K), atol=1e-14)
    assert matrix.trace == pytest.approx(np.trace(G))
    np.testing.assert_allclose(np.tril(matrix.dense()), np.tril(G), atol=1e-13)


def test_kernels_are_computed_once_where_there_is_room():
    made = []

    class Counting(Tiles):
        def __call__(self, rows, columns, out=None):
            made.append((rows, columns))
            return super().__call__(rows, columns, out)

    matrix = KernelMatrix(Counting(X, Gaussian(0.5)), None, 10**9)
    before = len(made)
    for _ in range(4):
        matrix(V)
    assert len(made) - before == 7 * 8 // 2


def test_float32_is_kept():
    matrix = KernelMatrix(Tiles(X.astype(np.float32), Gaussian(1 / 4.5)), None, 10**9)
    np.testing.assert_allclose(matrix(V), centred(Gaussian(1 / 4.5)(X)) @ V, atol=1e-4)
    assert matrix._store.dtype == np.float32


def test_negative_mass_is_estimated():
    rows = np.random.default_rng(1).standard_normal((700, 3))
    kernel = Sigmoid(gamma=1.0, coef0=0.5)
    values = np.linalg.eigvalsh(centred(kernel(rows)))
    fit = KrylovKernel().solve(KernelMatrix(Tiles(rows, kernel), None, 10**9), 3, 0)
    assert fit.negative_mass == pytest.approx(-values[values < 0].sum() / np.abs(values).sum(), rel=0.02)
    assert fit.total == pytest.approx(values[values > 0].sum(), rel=0.02)


# ---- Plans


def test_plans_say_what_and_why(monkeypatch):
    monkeypatch.undo()
    assert "LAPACK is quickest" in kernel_plan((300, 5), 3).why
    assert "all components" in kernel_plan((3000, 5), memory="8 GiB").why
    assert "many components" in kernel_plan((3000, 5), 1000, memory="8 GiB").why
    assert "computed once" in kernel_plan((3000, 5), 10, memory="8 GiB").why
    assert "does not fit" in kernel_plan((50_000, 5), 10, memory="160 MiB").why
    assert "18% of half" in kernel_plan((50_000, 5), 10, memory="1 GiB", itemsize=4).why
    assert "blocks" in kernel_plan((None, 5), 10, whole=False).why
    assert "written out" in kernel_plan((10**6, 5), 10, kernel=Polynomial(2, gamma=1.0)).why
    assert "matrix is precomputed" in kernel_plan((3000, 3000), 10, kernel="precomputed").why
    assert kernel_plan((3000, 5), 10, solver="nystrom").why == "as requested"


@pytest.mark.parametrize(
    ("n", "k", "solver"),
    [(600, 50, "dense"), (1300, 128, "dense"), (3000, 250, "dense"), (3000, 10, "krylov"), (20_000, 100, "krylov")],
)
def test_many_components_go_to_lapack(n, k, solver):
    assert kernel_plan((n, 10), k, memory="100 GiB").solver.name == solver


def test_what_cannot_be_planned():
    for shape in (X, (40_000,), 40_000, [3, 4]):
        with pytest.raises(TypeError, match="shape must be a pair"):
            kernel_plan(shape, 5)
    for k in (0, -3, 41, 1.5, "all"):
        with pytest.raises(ValueError, match="n_components="):
            kernel_plan((40, 3), k)
    assert kernel_plan((3000, 10), 0.9, memory="8 GiB").solver.name == "dense"
    assert kernel_plan((None, 10), 3).solver.name == "nystrom"
    with pytest.raises(ValueError, match="It is 'krylov' here"):
        kernel_plan((40, 3), 2, solver="arpack")


def test_plans_stay_within_the_memory():
    for n in (1000, 20_000, 100_000, 10**6):
        for memory in (10**9, 4 * 10**9):
            try:
                assert kernel_plan((n, 20), 10, memory=memory).n_bytes <= memory
            except MemoryError as error:
                assert "GiB" in str(error)


def test_memory_in_words():
    # As much of the matrix is kept as is allowed.
    told = {"2 GiB": 2 * 2**30, "1.5gb": 1.5e9, "500 MB": 500e6, "700000000": 7e8, 7 * 10**8: 7e8}
    for words, allowed in told.items():
        assert kernel_plan((50_000, 5), 10, memory=words).n_bytes == allowed
    for little in ("12345", 12345):
        with pytest.raises(MemoryError, match=r"memory=0\.0 MiB is allowed"):
            kernel_plan((500, 5), 3, memory=little)
    assert kernel_plan((500, 5), 3).n_bytes > 2**20


def test_every_solver_has_a_name_and_costs_something():
    job = KernelJob(5000, 4, 3, kernel=Gaussian(0.5), allowed=10**10)
    for name, solver in KERNEL_SOLVERS.items():
        assert isinstance(solver, KernelSolver)
        assert name in (solver.name, "matrix-free")
        if solver.refusal(job) is None:
            assert solver.cost(job).n_bytes > 0
            assert solver.cost(job).work > 0


def test_tiles_of_the_plan_are_those_of_the_matrix(monkeypatch):
    monkeypatch.undo()
    job = KernelJob(5000, 4, 3, kernel=Gaussian(0.5), allowed=10**10)
    assert job.triangle_bytes == 8 * kernel_matrix.TILE**2 * 55
    assert DenseKernel().cost(job).n_bytes > 8 * 5000**2
    assert Nystrom(100).cost(job).n_bytes < 10**8


@pytest.mark.parametrize("n", [1, 8192, 8193, 9000, 20_000, 100_000])
def test_tiles_on_a_device_have_about_the_same_size(n, monkeypatch):
    monkeypatch.undo()
    size = kernel_matrix.tile_rows(n, host=False)
    count = -(-n // size)
    assert size <= 8192
    assert count == -(-n // 8192)
    assert count * size - n < count
