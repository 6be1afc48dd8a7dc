"""The Krylov solver where it is hard: ties wider than its block, clusters, rank loss, restarts, and its options."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from lowdim import PCA, plan
from lowdim.errors import ConvergenceWarning
from lowdim.solvers import SOLVERS, Covariance, Krylov, Status, iteration
from lowdim.solvers.spectra import krylov
from lowdim.sources import open_source
from oracles import principal_angles, tolerance

N, P = 700, 600


def with_values(values, n=N, p=P, seed=0, offset=0.0):
    """n x p rows whose covariance has these leading eigenvalues and no others."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, len(values)))
    U = np.linalg.qr(Z - Z.mean(axis=0))[0]
    V = np.linalg.qr(rng.standard_normal((p, len(values))))[0]
    return (U * np.sqrt(np.asarray(values) * (n - 1.0))) @ V.T + offset


def decaying(first, n_tail=200):
    """Leading values, then a tail 0.5 / i^2."""
    return np.concatenate([first, 0.5 / (1.0 + np.arange(n_tail)) ** 2])


def exact(X, k):
    return PCA(k, solver="triangle").fit(X)


def check(X, k, solver=None, values_to=1e-9, angle=1e-4):
    """Eigenvalues to `values_to` of lambda_1, orthonormal vectors, and the right subspace where it is determined."""
    ours = PCA(k, solver=solver or Krylov()).fit(X)
    theirs = exact(X, k)
    values = theirs.explained_variance_
    np.testing.assert_allclose(ours.explained_variance_, values, rtol=0, atol=values_to * values[0])
    np.testing.assert_allclose(ours.components_ @ ours.components_.T, np.eye(k), rtol=0, atol=1e-10)
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=0, atol=values_to * values[0])
    if angle is not None:
        assert principal_angles(ours.components_, theirs.components_)[0] < angle
    return ours


# ---- Ties and clusters


@pytest.mark.parametrize(("block", "multiplicity"), [(None, 20), (1, 20), (4, 20), (8, 20), (None, 72)])
def test_ties_wider_than_the_block(block, multiplicity):
    """Equal eigenvalues: a Krylov space of b vectors has b directions of their eigenspace, however far it grows."""
    X = with_values(decaying([1.0] * multiplicity))
    pca = check(X, multiplicity, Krylov(block=block))
    assert pca.status_ is Status.CONVERGED


def test_ties_wider_than_k():
    """Which twelve of the twenty directions is open; that they are twelve of them is not."""
    X = with_values(decaying([1.0] * 20))
    pca = check(X, 12, angle=None)
    space = exact(X, 20).components_
    inside = np.linalg.norm(pca.components_ @ space.T, axis=1)
    np.testing.assert_allclose(inside, 1.0, atol=1e-8)


@pytest.mark.parametrize("k", [5, 9, 16])
def test_clusters(k):
    cluster = 1.0 - 1e-6 * np.arange(9)
    check(with_values(decaying(np.concatenate([[3.0], cluster]))), k, angle=None)


def test_all_values_equal():
    check(with_values(np.ones(300)), 7, angle=None)


def test_slow_decay():
    check(with_values(1.0 / np.arange(1, 501)), 30, values_to=1e-7, angle=1e-2)


# ---- Rank


@pytest.mark.parametrize("rank", [1, 3, 8, 11])
@pytest.mark.parametrize("block", [None, 2])
def test_rank_below_k(rank, block):
    X = with_values(np.linspace(2.0, 1.0, rank))
    pca = check(X, 12, Krylov(block=block), angle=None)
    np.testing.assert_allclose(pca.explained_variance_[rank:], 0.0, atol=1e-12)
    assert principal_angles(pca.components_[:rank], exact(X, rank).components_)[0] < 1e-7


def test_rank_below_k_shows_after_a_few_steps(monkeypatch):
    """A random direction that the scatter takes to zero says that nothing is left; there is no need to try all."""
    steps = []
    action = krylov._Action.__call__
    monkeypatch.setattr(krylov._Action, "__call__", lambda self, V: steps.append(V.shape[1]) or action(self, V))
    PCA(12, solver="krylov").fit(with_values([2.0, 1.5, 1.0]))
    assert len(steps) <= 6


@pytest.mark.parametrize(("n", "p"), [(7, 30), (30, 7), (12, 12), (2, 5), (5, 1), (60, 3)])
def test_more_or_all_components_of_small_tables(n, p):
    X = np.random.default_rng(n * p).standard_normal((n, p))
    check(X, min(n, p), values_to=1e-12, angle=None)


def test_constant_rows_have_no_variance():
    pca = PCA(3, solver="krylov").fit(np.full((50, 8), 3.0))
    np.testing.assert_array_equal(pca.explained_variance_, 0)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-12)


# ---- Memory


@pytest.mark.parametrize("values", ["slow", "ties", "rank loss"])
def test_thick_restarts_change_nothing(values, monkeypatch):
    spectrum = {
        "slow": decaying(1.0 / np.arange(1, 31)),
        "ties": decaying([1.0] * 15),
        "rank loss": np.linspace(2.0, 1.0, 6),
    }[values]
    X = with_values(spectrum)
    rooms = []
    room = iteration.Lanczos.room
    monkeypatch.setattr(iteration.Lanczos, "room", lambda self, p: rooms.append(room(self, p)) or rooms[-1])
    monkeypatch.setattr(iteration, "_BASIS_BYTES", 0)
    pca = check(X, 10, Krylov(block=4), angle=1e-4 if values == "slow" else None)
    assert rooms == [10 + 4 * 4]
    assert pca.status_ is not Status.NOT_CONVERGED


# ---- Options


def test_residual_is_that_of_the_pairs_returned():
    X = with_values(1.0 / np.arange(1, 301))
    pca = PCA(10, solver=Krylov(tol=1e-3)).fit(X)
    W, values = pca.components_, pca.explained_variance_
    residual = np.linalg.norm(W @ np.cov(X.T) - values[:, None] * W, axis=1)
    np.testing.assert_allclose(pca.residual_, residual.max() / values[0], rtol=1e-3)
    assert np.all(residual <= 1e-3 * values * 1.01)


def test_smaller_tolerance_takes_more_steps_and_gives_more_digits():
    X = with_values(1.0 / np.arange(1, 301))
    errors, passes = [], []
    for tol in (1e-1, 1e-4, 1e-8):
        pca = PCA(10, solver=Krylov(tol=tol)).fit(X)
        errors.append(np.abs(pca.explained_variance_ - exact(X, 10).explained_variance_).max())
        passes.append(pca.residual_)
    assert errors[0] > errors[2]
    assert errors[2] < 1e-13
    assert passes == sorted(passes, reverse=True)


def test_fixed_steps_are_taken_whatever_the_residual():
    pca = PCA(10, solver=Krylov(steps=2)).fit(with_values(1.0 / np.arange(1, 301)))
    assert pca.status_ is Status.FIXED_STEPS
    assert pca.residual_ > 1e-5


def test_giving_up_warns_with_steps_residual_and_tolerance():
    X = with_values(1.0 / np.arange(1, 501))
    with pytest.warns(ConvergenceWarning, match=r"stopped after 3 passes at residual .* lambda_1, above its tolerance"):
        pca = PCA(10, solver=Krylov(tol=1e-12, max_steps=2)).fit(X)
    assert pca.status_ is Status.NOT_CONVERGED


def test_auto_never_gives_up(monkeypatch):
    """Where krylov would, `auto` goes on with a direct solver."""

    class GivesUp(Krylov):
        def solve(self, *given):
            return replace(super().solve(*given), status=Status.NOT_CONVERGED)

    monkeypatch.setitem(SOLVERS, "krylov", GivesUp)
    X = sparse.random_array((N, P), density=0.02, rng=np.random.default_rng(1), format="csr")
    assert isinstance(plan(X.shape, 5, traits=open_source(X).traits).solver, Krylov)
    pca = PCA(5).fit(X)
    assert isinstance(pca.plan_.solver, Covariance)
    assert "not_converged" in pca.plan_.why
    expected = exact(X.toarray(), 5).explained_variance_
    np.testing.assert_allclose(pca.explained_variance_, expected, rtol=tolerance(condition=10))


def test_seed_decides_the_start_and_only_the_start():
    X = with_values(decaying([3.0, 2.0, 1.0]))
    fits = [PCA(3, solver="krylov", random_state=seed).fit(X) for seed in (0, 0, 1, None, np.random.RandomState(4))]
    np.testing.assert_array_equal(fits[0].components_, fits[1].components_)
    np.testing.assert_array_equal(fits[0].components_, fits[3].components_)
    for other in fits[2:]:
        np.testing.assert_allclose(other.explained_variance_, fits[0].explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(other.components_, fits[0].components_, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": 0}, r"Krylov\(block=0\): a whole number of at least 1"),
        ({"steps": 1.5}, r"Krylov\(steps=1.5\): a whole number of at least 1"),
        ({"max_steps": -1}, r"Krylov\(max_steps=-1\): a whole number of at least 1"),
        ({"tol": 0.0}, r"Krylov\(tol=0.0\): a number between 0 and 1"),
        ({"tol": 2}, r"Krylov\(tol=2\): a number between 0 and 1"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        Krylov(**options)


# ---- Offsets, dtypes, sparse rows


@pytest.mark.parametrize("offset", [1.0, 1e3, 1e7])
def test_large_means_do_no_harm(offset):
    """Products may be centred afterwards only while the mean is small; beyond, rows are centred first."""
    check(with_values(decaying([4.0, 2.0, 1.0]), offset=offset), 3, values_to=1e-9)


@pytest.mark.parametrize("offset", [0.0, 10.0, 1e4])
def test_float32(offset):
    X = with_values(decaying([4.0, 2.0, 1.0]), offset=offset).astype("float32")
    pca = PCA(3, solver="krylov").fit(X)
    values = exact(X.astype(float), 3).explained_variance_
    assert pca.components_.dtype == np.float32
    np.testing.assert_allclose(pca.explained_variance_, values, rtol=tolerance(np.float32))


@pytest.mark.parametrize("scale", [1e-120, 1e-30, 1e30, 1e120])
def test_units_do_not_matter(scale):
    X = with_values(decaying([4.0, 2.0, 1.0]))
    expected = exact(X, 3)
    pca = PCA(3, solver="krylov").fit(X * scale)
    np.testing.assert_allclose(pca.explained_variance_, expected.explained_variance_ * scale**2, rtol=1e-9)
    np.testing.assert_allclose(pca.components_, expected.components_, atol=1e-4)


def test_sparse_rows_with_a_mean():
    X = sparse.random_array((N, P), density=0.02, rng=np.random.default_rng(1), format="csr")
    X = sparse.csr_array(X @ sparse.diags_array(np.linspace(5.0, 1.0, P) ** 2))
    ours = PCA(5, solver="krylov").fit(X)
    theirs = exact(X.toarray(), 5)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-8)
    assert principal_angles(ours.components_, theirs.components_)[0] < 1e-3


# ---- Rehearsal in float32


@pytest.fixture
def rehearsals(monkeypatch):
    """Small sparse tables are rehearsed too; what comes back counts how often."""
    monkeypatch.setattr(krylov, "_NARROW_BYTES", 0)
    seen = []
    narrowed = krylov._Action.in_float32

    def counted(action):
        rows = narrowed(action)
        seen.append(rows is not None)
        return rows

    monkeypatch.setattr(krylov._Action, "in_float32", counted)
    return seen


@pytest.mark.parametrize(
    "values",
    [
        decaying([4.0, 2.0, 1.0]),
        decaying([1.0] * 20),
        decaying([1.0 + 1e-9, 1.0, 1.0 - 1e-9]),
        decaying([1.0, 1e-4, 1e-5], n_tail=5) * np.r_[1.0, np.ones(2), np.full(5, 1e-6)],
        np.r_[1.0, 0.5],
    ],
    ids=["decay", "ties", "cluster", "small beside large", "rank below k"],
)
def test_rehearsed_in_float32_the_answer_is_that_of_float64(values, rehearsals):
    X = sparse.csr_array(with_values(values))
    ours, theirs = PCA(3, solver=Krylov(tol=1e-7)).fit(X), exact(X.toarray(), 3)
    assert rehearsals == [True]
    expected = theirs.explained_variance_
    np.testing.assert_allclose(ours.explained_variance_, expected, rtol=0, atol=1e-12 * expected[0])
    np.testing.assert_allclose(ours.components_ @ ours.components_.T, np.eye(3), rtol=0, atol=1e-10)
    assert ours.residual_ < 1e-6


@pytest.mark.parametrize("scale", [1e-120, 1e-20, 1e-8, 1e8, 1e20, 1e120])
@pytest.mark.parametrize("scaled", [False, True])
def test_rehearsal_keeps_out_of_where_float32_ends(scale, scaled, rehearsals):
    X = sparse.csr_array(with_values(decaying([4.0, 2.0, 1.0])) * scale)
    ours = PCA(3, solver=Krylov(tol=1e-7), scale=scaled).fit(X)
    theirs = PCA(3, solver="triangle", scale=scaled).fit(X.toarray())
    assert rehearsals == [1e-12 < scale < 1e12]
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-10)


@pytest.mark.parametrize("weight", [1e-30, 3.0, 1e30])
def test_rehearsal_with_weights(weight, rehearsals):
    X = with_values(decaying([4.0, 2.0, 1.0]))
    weights = np.where(np.arange(N) % 3, 1.0, 2.0)
    ours = PCA(3, ddof=0, solver=Krylov(tol=1e-7)).fit(sparse.csr_array(X), sample_weight=weights * weight)
    theirs = PCA(3, ddof=0, solver="covariance").fit(X, sample_weight=weights)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-10)
    assert len(rehearsals) == 1


def test_rehearsal_of_integers_and_float32(rehearsals):
    X = sparse.random_array((N, P), density=0.05, rng=np.random.default_rng(1), format="csr")
    X.data = np.ceil(5 * X.data)
    for dtype, rehearsed in (("int64", True), ("float32", False)):
        ours, theirs = PCA(3, solver="krylov").fit(X.astype(dtype)), exact(X.toarray(), 3)
        np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-6)
        assert rehearsals.pop() is rehearsed
