"""Sources that look Gaussian: the iteration ends early, and those that do not are found as before."""

import warnings

import numpy as np
import pytest

from lowdim import ICA
from lowdim.densities import Sech
from lowdim.errors import GaussianWarning
from lowdim.solvers import Status
from lowdim.solvers.ica.objective import Flips, GaussianBlock, Point
from models.ica_mixes import gradient, mix

OPTIONS = [{}, {"ortho": True}, {"solver": "fixed-point"}]


def point(stability):
    """A point at which the sources have these stabilities."""
    k = len(stability)
    return Point(np.eye(k), np.zeros((k, k)), np.asarray(stability), None, None, None, False, 1e-16)


def test_only_the_skew_part_among_members_is_left_out():
    block = GaussianBlock(Sech())
    G = np.arange(16.0).reshape(4, 4)
    np.testing.assert_array_equal(block.without_rotations(G), G)
    block.members = np.array([1, 3])
    H = block.without_rotations(G)
    assert H[1, 3] == H[3, 1] == (G[1, 3] + G[3, 1]) / 2
    changed = np.argwhere(G != H)
    assert {tuple(place) for place in changed} == {(1, 3), (3, 1)}


def test_a_rotation_of_sources_with_other_scales_is_left_out():
    """The derivative along D S D^{-1} is zero for each skew S, and a step keeps its other parts."""
    random = np.random.default_rng(0)
    block, d = GaussianBlock(Sech()), random.uniform(0.5, 2.0, 4)
    block.members = np.array([0, 2, 3])
    G, M, S = random.standard_normal((3, 4, 4))
    S[1] = S[:, 1] = 0.0
    rotation = d[:, None] * (S - S.T) / d
    left = block.without_rotations(G, d)
    assert np.sum(left * rotation) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(block.without_rotations(M + rotation, 1 / d), block.without_rotations(M, 1 / d))
    np.testing.assert_allclose(np.sum(left * M), np.sum(G * block.without_rotations(M, 1 / d)))


def test_members_look_gaussian_twice():
    block, n = GaussianBlock(Sech()), 10_000.0
    assert not block.find(point([0.0, 0.0, 0.5, 0.5]), n, 49)
    assert not block.find(point([0.0, 0.0, 0.0, 0.5]), n, 50)
    assert not block.find(point([0.0, 0.0, 0.0, 0.0]), n, 55)
    assert block.find(point([0.0, 0.5, 0.0, 0.0]), n, 60)
    assert list(block.members) == [0, 2]
    assert block.holds(0, 2)
    assert not block.holds(0, 1)
    # A single source is determined by the others, and none is looked for again.
    assert not block.find(point([0.0, 0.0, 0.0, 0.0]), n, 70)
    alone = GaussianBlock(Sech())
    assert not any(alone.find(point([0.0, 0.5, 0.5, 0.5]), n, steps) for steps in (50, 60, 70))


def test_members_that_do_not_look_gaussian_in_the_end_are_released():
    block, n = GaussianBlock(Sech()), 10_000.0
    assert not len(block.release(point([0.5, 0.5, 0.5]), n))
    for steps in (50, 60):
        block.find(point([0.0, 0.0, 0.5]), n, steps)
    assert list(block.members) == [0, 1]
    assert not len(block.release(point([0.0, 0.0, 0.0]), n))
    assert block
    assert list(block.release(point([0.0, 0.5, 0.0]), n)) == [0, 1]
    assert not block
    # None are looked for again, so that the iteration ends.
    assert not any(block.find(point([0.0, 0.0, 0.0]), n, steps) for steps in (70, 80, 90))


@pytest.mark.parametrize("options", [{}, {"density": "infomax"}, {"solver": "fixed-point"}], ids=str)
def test_what_is_released_is_found_to_the_tolerance(options, monkeypatch):
    """As if all sources had looked Gaussian after 60 steps; in the end four of them do not."""
    random = np.random.default_rng(1)
    X = random.laplace(size=(500, 4)) @ random.standard_normal((4, 4))
    expected = ICA(**options).fit(X)
    released = []

    def find(block, point, n, steps):
        if released or len(block.members):
            return False
        block.members = np.arange(4)
        return True

    def release(block, point, n, own=GaussianBlock.release):
        released.extend(found := own(block, point, n))
        return found

    monkeypatch.setattr(GaussianBlock, "find", find)
    monkeypatch.setattr(GaussianBlock, "release", release)
    model = ICA(**options).fit(X)
    assert released == [0, 1, 2, 3]
    assert model.status_ is Status.CONVERGED
    assert model.gradient_norm_ <= 1e-6
    np.testing.assert_allclose(model.loglike_[-1], expected.loglike_[-1], rtol=1e-10)


def test_a_source_may_change_its_density_again_after_it_was_kept():
    flips = Flips(np.array([False, False]), Sech(), extended=True)
    light = point([-0.5, -0.5])
    flips.keep(np.array([0]))
    flips.update(light)
    assert list(flips.flipped) == [False, True]
    flips.release(np.array([0]))
    assert flips.update(light)
    assert list(flips.flipped) == [True, True]
    fixed = Flips(np.array([False]), Sech(), extended=False)
    fixed.release(np.array([0]))
    assert not fixed.update(point([-0.5]))


@pytest.mark.parametrize("options", [*OPTIONS, {"density": "infomax"}], ids=str)
def test_gaussian_rows_end_early_with_the_warning(options):
    X = np.random.default_rng(0).standard_normal((6000, 25))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ICA(**options).fit(X)
    assert [w.category for w in caught] == [GaussianWarning]
    assert "25 of 25 sources look Gaussian" in str(caught[0].message)
    assert model.status_ is Status.UNDETERMINED
    assert model.n_iter_ < 90


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_other_sources_are_found_to_the_tolerance(options):
    random = np.random.default_rng(1)
    S = np.column_stack([random.laplace(size=(8000, 4)), random.standard_normal((8000, 16))])
    X = S @ random.standard_normal((20, 20))
    with pytest.warns(GaussianWarning, match="16 of 20"):
        model = ICA(**options).fit(X)
    assert model.status_ is Status.UNDETERMINED
    G = np.abs(gradient(model, X))
    found = np.argsort(-np.abs(model.kurtosis_))[:4]
    # Of the gradient between Gaussian sources only the skew part is left.
    assert max(G[found].max(), G[:, found].max()) < 1.1e-6
    assert model.gradient_norm_ == pytest.approx(G.max(), rel=1e-3)


@pytest.mark.parametrize("kind", ["both", "super-Gaussian"])
def test_the_last_steps_are_few(kind):
    """Changes of a gradient in float32 would mislead the steps in float64, of which there were more than a hundred."""
    for seed in range(4):
        X, _ = mix(kind, 48_000)
        model = ICA(random_state=seed, n_init=1).fit(X)
        assert model.status_ is Status.CONVERGED
        assert model.n_passes_ < 16
