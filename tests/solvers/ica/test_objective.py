"""The likelihood of an unmixing matrix: its derivatives by differences, and what the solvers make of them."""

import numpy as np
import pytest

from examples import density
from lowdim.densities import DENSITIES, Sech
from lowdim.reading import summarize
from lowdim.reading.rows import Rows
from lowdim.solvers import FixedPointICA, QuasiNewtonICA, Status, ica
from lowdim.solvers.ica.objective import IcaRequest, Objective
from lowdim.solvers.ica.quasi_newton import curvatures, preconditioned
from lowdim.sources import open_source
from lowdim.summaries import ScoreMoments
from oracles import tolerance

K = 4
random = np.random.default_rng(0)
S = np.column_stack([random.laplace(size=5000), random.uniform(-1, 1, 5000), random.standard_t(5, 5000),
                     random.logistic(size=5000)])  # fmt: skip
X = S @ random.standard_normal((K, K)) + 3.0
MEAN = X.mean(axis=0)
VALUES, VECTORS = np.linalg.eigh(np.cov(X.T, ddof=0))
WHITENING = (VECTORS / np.sqrt(VALUES)).T
W = np.linalg.qr(random.standard_normal((K, K)))[0]
FLIPPED = np.array([False, True, False, True])
each_density = pytest.mark.parametrize("density", [density(name) for name in DENSITIES], ids=list(DENSITIES))


def objective(density=None):
    return Objective(Rows(open_source(X)), MEAN, WHITENING, density or Sech(), may_narrow=True)


def loss(W, density, flipped):
    """Slow and plain."""
    Y = (X - MEAN) @ WHITENING.T @ W.T
    densities = [density.flipped if flip else density for flip in flipped]
    return sum(d.energy(Y[:, i]).mean() for i, d in enumerate(densities)) - np.linalg.slogdet(W)[1]


@each_density
def test_the_moments_are_sums_over_rows(density):
    A, w = random.standard_normal((K, K)), random.integers(0, 3, len(X)).astype(float)
    sums = summarize(X, ScoreMoments(A, MEAN, density), weights=w)
    Y = (X - MEAN) @ A
    np.testing.assert_allclose(sums.products, (density.score(Y) * w[:, None]).T @ Y, rtol=1e-10)
    np.testing.assert_allclose(sums.slopes, w @ density.slope(Y), rtol=1e-10)
    np.testing.assert_allclose(sums.curvature, (density.slope(Y) * w[:, None]).T @ Y**2, rtol=1e-10)
    np.testing.assert_allclose(sums.energy, w @ density.energy(Y), rtol=1e-10)
    np.testing.assert_allclose(sums.fourth, w @ Y**4, rtol=1e-10)
    assert sums.weight == w.sum()


@each_density
def test_what_is_not_asked_for_is_not_summed(density):
    A = random.standard_normal((K, K))
    whole = summarize(X, ScoreMoments(A, MEAN, density))
    few = summarize(X, ScoreMoments(A, MEAN, density, curved=False, measured=False))
    np.testing.assert_array_equal(few.products, whole.products)
    np.testing.assert_array_equal(few.slopes, whole.slopes)
    assert few.energy is few.fourth is few.curvature is None


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
def test_in_float32_means_may_be_anywhere(offset):
    """Nearby, rows are unmixed before they are centred."""
    A = random.standard_normal((K, K))
    exact = summarize(X, ScoreMoments(A, MEAN, Sech()))
    rough = summarize(X + offset, ScoreMoments(A, MEAN + offset, Sech(), narrow=True))
    np.testing.assert_allclose(rough.products, exact.products, atol=1e-5 * np.abs(exact.products).max())


@each_density
def test_in_float32_the_moments_have_half_the_digits(density):
    A = random.standard_normal((K, K))
    for scale in (1.0, 1e100):
        exact = summarize(X, ScoreMoments(A, MEAN, density))
        rough = summarize(X * scale, ScoreMoments(A / scale, MEAN * scale, density, narrow=True))
        for name in ("products", "slopes", "curvature", "energy", "fourth"):
            size = np.abs(getattr(exact, name)).max()
            np.testing.assert_allclose(getattr(rough, name), getattr(exact, name), atol=1e-5 * size)


@each_density
def test_the_loss_with_flipped_densities(density):
    point = objective(density).at(W, curved=True, narrow=False).with_flips(FLIPPED, density)
    assert point.loss == pytest.approx(loss(W, density, FLIPPED), rel=1e-9)


@each_density
def test_the_relative_gradient(density):
    point = objective(density).at(W, curved=True, narrow=False).with_flips(FLIPPED, density)
    G, h = point.gradient(ortho=False), 1e-5
    for i in range(K):
        for j in range(K):
            M = np.zeros((K, K))
            M[i, j] = h
            up, down = (loss((np.eye(K) + sign * M) @ W, density, FLIPPED) for sign in (1, -1))
            assert G[i, j] == pytest.approx((up - down) / (2 * h), abs=1e-6)


def test_second_derivatives_of_independent_sources():
    """At the truth, E[psi'(y_i) y_j^2] M_ij + M_ji is what the gradient changes by, up to chance."""
    found = QuasiNewtonICA().run(objective(), W, np.zeros(K, bool), True)
    base, at = objective().at(found.W, curved=True, narrow=False), objective()
    point = base.with_flips(found.flipped, Sech())
    M = 1e-4 * np.random.default_rng(1).standard_normal((K, K))
    moved = at.at((np.eye(K) + M) @ found.W, curved=True, narrow=False).with_flips(found.flipped, Sech())
    # The gradient at (I + M) W is relative to that point.
    change = moved.gradient(False) - point.gradient(False)
    np.testing.assert_allclose(preconditioned(change, curvatures(point, False), False), M, atol=0.15 * np.abs(M).max())


def test_preconditioners_are_inverses():
    point = objective().at(W, curved=True, narrow=False)
    G = np.random.default_rng(2).standard_normal((K, K))
    h = curvatures(point, False)
    M = preconditioned(G, h, False)
    H = h * M + np.where(np.eye(K) > 0, 0.0, M.T)
    np.testing.assert_allclose(H, G, rtol=1e-10)
    skew, h = G - G.T, curvatures(point, True)
    M = preconditioned(skew, h, True)
    np.testing.assert_allclose(h * M, skew, rtol=tolerance())
    assert np.allclose(M, -M.T)


@pytest.mark.parametrize("ortho", [False, True])
@pytest.mark.parametrize("extended", [False, True])
def test_the_loss_never_rises_but_where_a_density_changes(ortho, extended):
    found = QuasiNewtonICA(ortho=ortho).run(objective(), W, np.zeros(K, bool), extended)
    assert found.status is Status.CONVERGED
    assert found.gradient_norm <= 1e-6
    # The first steps are taken in float32.
    rises = np.count_nonzero(np.diff(found.loss) > 1e-5)
    assert rises <= (5 * K if extended else 0)
    if ortho:
        np.testing.assert_allclose(found.W @ found.W.T, np.eye(K), atol=1e-12)


def test_both_solvers_find_the_same_rotation():
    one = QuasiNewtonICA(1e-9, ortho=True).run(objective(), W, np.zeros(K, bool), True)
    other = FixedPointICA(1e-9).run(objective(), W, np.zeros(K, bool), True)
    similarity = np.abs(one.W @ other.W.T)
    np.testing.assert_allclose(np.sort(similarity, axis=1)[:, -1], 1.0, atol=1e-9)
    assert one.loss[-1] == pytest.approx(other.loss[-1], abs=1e-12)


def test_going_on_from_a_known_point_reads_nothing():
    of = objective()
    found = QuasiNewtonICA(1e-3, ortho=True).run(of, W, np.zeros(K, bool), True)
    passes = of.passes
    again = QuasiNewtonICA(1e-2, ortho=True).run(of, found.W, found.flipped, True)
    assert of.passes == passes
    assert again.n_iter == 0


def test_where_there_is_nothing_wider_than_float32():
    """As on some devices: the iteration ends."""
    narrow = Objective(Rows(open_source(X.astype("float32"))), MEAN.astype("float32"), WHITENING.astype("float32"),
                       Sech(), may_narrow=True)  # fmt: skip
    for solver in (QuasiNewtonICA(1e-4), FixedPointICA(1e-4)):
        assert solver.run(narrow, W, np.zeros(K, bool), True).status is Status.CONVERGED


def test_no_more_steps_than_allowed():
    found = QuasiNewtonICA(max_iter=2).run(objective(), W, np.zeros(K, bool), True)
    assert (found.n_iter, found.status) == (2, Status.NOT_CONVERGED)
    assert len(found.loss) == 3


def test_a_tolerance_below_rounding_ends():
    found = QuasiNewtonICA(1e-30, max_iter=500).run(objective(), W, np.zeros(K, bool), True)
    assert found.n_iter < 200
    assert found.gradient_norm < 1e-13


def test_a_request_without_a_whitener_is_for_plans():
    rows = Rows(open_source(X))
    assert ica.plan(rows, IcaRequest(Sech()), "quasi-newton").solver == QuasiNewtonICA()
    with pytest.raises(TypeError, match="can be planned but not solved"):
        ica.solve(rows, IcaRequest(Sech()))
