"""The first steps from a random rotation: when they end, and what they hand over."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim import ICA
from lowdim.densities import Sech
from lowdim.errors import DensityWarning
from lowdim.reading.rows import Rows
from lowdim.solvers.ica.fixed_point import first_steps
from lowdim.solvers.ica.objective import Objective
from lowdim.sources import open_source

N = 20_000


def white(kind, k, seed=0):
    """Independent sources whose own covariance is the unit matrix."""
    random = np.random.default_rng(seed)
    S = random.uniform(-1.0, 1.0, (N, k)) if kind == "uniform" else random.laplace(size=(N, k))
    S -= S.mean(axis=0)
    return S @ np.linalg.inv(np.linalg.cholesky(S.T @ S / N)).T


def objective(Z):
    k = Z.shape[1]
    return Objective(Rows(open_source(Z)), np.zeros(k), np.eye(k), Sech(), may_narrow=True)


def rotation(k, seed=1):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((k, k)))[0]


@pytest.mark.parametrize("kind", ["uniform", "laplace"])
@pytest.mark.parametrize("k", [3, 24])
def test_many_sources_are_separated_although_the_gradient_is_small_at_first(kind, k):
    """Mixtures of many sources are nearly Gaussian, so that the gradient at a random rotation is small."""
    problem = objective(white(kind, k))
    W, flipped, steps = first_steps(problem, rotation(k), np.zeros(k, dtype=bool), True, 1e-8, 30)
    assert 1 < steps == problem.passes < 30
    assert flipped.all() == (kind == "uniform") and flipped.any() == flipped.all()
    # Each source is one of the true ones.
    np.testing.assert_allclose(np.abs(W).max(axis=1), 1.0, atol=0.01)
    np.testing.assert_allclose(W @ W.T, np.eye(k), atol=1e-12)


def test_nothing_is_done_at_a_solution():
    problem = objective(white("uniform", 3))
    W = first_steps(problem, np.eye(3), np.zeros(3, dtype=bool), True, 1e-9, 50)[0]
    before = problem.passes
    again, _, steps = first_steps(problem, W, np.zeros(3, dtype=bool), True, 1e-2, 50)
    assert again is W and steps == 0 and problem.passes == before + 1


def test_no_steps_are_no_passes():
    problem = objective(white("uniform", 3))
    W, _, steps = first_steps(problem, np.eye(3), np.zeros(3, dtype=bool), True, 1e-9, 0, scaled=True)
    assert steps == problem.passes == 0 and np.array_equal(W, np.eye(3))


@pytest.mark.parametrize(("kind", "share"), [("uniform", 0.2), ("laplace", 0.7)])
def test_scales_come_nearer_to_the_most_likely_ones(kind, share):
    Z, start = white(kind, 4), rotation(4)
    plain, scaled = (
        first_steps(objective(Z), start, np.zeros(4, dtype=bool), True, 1e-6, 20, scaled=scaled)
        for scaled in (False, True)
    )

    def distance(W, flipped):
        point = objective(Z).at(W, curved=False, narrow=False).with_flips(flipped, Sech())
        return np.abs(np.diagonal(point.products) - 1.0).max()

    assert distance(*scaled[:2]) < share * distance(*plain[:2])


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_the_step_to_float64_is_accepted_by_its_gradient(library):
    """The loss of many rows in float32 may be smaller than that of a better point in float64."""
    xp = pytest.importorskip(library, reason=f"{library} is not installed")
    Z = white("laplace", 12, seed=3) @ np.random.default_rng(4).standard_normal((12, 12))
    model = ICA(n_init=1, random_state=0).fit(xp.asarray(Z.astype(np.float32)))
    assert model.gradient_norm_ <= 1e-6
    assert model.plan_.passes <= 25


@pytest.mark.parametrize("seed", range(4))
def test_sources_that_the_density_does_not_fit_are_kept_where_they_were_found(seed):
    """The likelihood is smallest there. A solver that starts nearby, not there, would go away from them."""
    Z = white("uniform", 3, seed)
    with pytest.warns(DensityWarning):
        model = ICA(ortho=True, extended=False, random_state=seed).fit(Z)
    np.testing.assert_allclose(np.abs(model.components_).max(axis=1), 1.0, atol=0.02)
