"""Ends of several starts: by what they are compared, and two sources that are mixtures of two others."""

import re
from itertools import combinations

import numpy as np
import pytest

from lowdim import ICA, PCA, plan
from lowdim.densities import DENSITIES, GeneralizedGaussian, Sech
from lowdim.errors import LocalOptimaWarning
from lowdim.reading.rows import Rows
from lowdim.solvers import Status, Unmixing
from lowdim.solvers.ica.fixed_point import _rounds, unmix_pairs
from lowdim.solvers.ica.objective import Objective, loss_of_end
from lowdim.sources import open_source

HALF = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)


def sources(kinds, n, seed):
    """Independent sources of variance one."""
    random = np.random.default_rng(seed)
    make = {
        "two peaks": lambda: random.choice([-1.0, 1.0], n) + 0.5 * random.standard_normal(n),
        "three peaks": lambda: (
            random.choice([-2.0, 0.0, 2.0], n, p=[1 / 6, 2 / 3, 1 / 6]) + 0.2 * random.standard_normal(n)
        ),
        "four peaks": lambda: (
            random.choice([-2.0, -0.7, 0.7, 2.0], n, p=[1 / 8, 3 / 8, 3 / 8, 1 / 8]) + 0.3 * random.standard_normal(n)
        ),
        "spikes": lambda: random.standard_normal(n) * (random.random(n) < 0.1),
        "uniform": lambda: random.uniform(-1.0, 1.0, n),
        "laplace": lambda: random.laplace(size=n),
        "exponential": lambda: random.exponential(size=n),
    }
    S = np.column_stack([make[kind]() for kind in kinds])
    S -= S.mean(axis=0)
    # Exactly uncorrelated, so that rotations of them are all that ICA has to choose from.
    return S @ np.linalg.inv(np.linalg.cholesky(np.cov(S.T, bias=True))).T


def contrast(Y, density):
    """sum_i |E[-ln p(y_i)] - E[-ln p(v)]| with the expectation over v by a fine grid."""
    grid = np.linspace(-12.0, 12.0, 200_001)
    gauss = np.exp(-0.5 * grid**2)
    reference = density.energy(grid) @ gauss / gauss.sum()
    return np.abs(density.energy(Y / Y.std(axis=0)).mean(axis=0) - reference).sum()


@pytest.mark.parametrize("name", list(DENSITIES))
def test_a_gaussian_source_has_no_loss_with_either_density(name):
    """This is what makes the losses of the two densities comparable."""
    density = DENSITIES[name]()
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    weights = weights / weights.sum()
    for flipped in {False, density.flipped is not None}:
        p = density.flipped if flipped else density
        end = Unmixing(
            np.eye(1), np.array([flipped]), [float(weights @ p.energy(nodes))], 0.0, np.zeros(1), np.zeros(1),
            Status.CONVERGED, 0,
        )  # fmt: skip
        assert loss_of_end(end, density, ortho=True) == pytest.approx(0.0, abs=1e-12)
        assert loss_of_end(end, density, ortho=False) == end.loss[-1]


@pytest.mark.parametrize("solver", ["quasi-newton", "fixed-point"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore::lowdim.errors.GaussianWarning", "ignore::lowdim.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::lowdim.errors.LocalOptimaWarning")  # this is what several starts are for
def test_the_end_of_largest_contrast_is_kept(solver, seed):
    density = GeneralizedGaussian()
    S = sources(["two peaks", "exponential", "laplace", "uniform"], 2000, seed)
    X = S @ np.random.default_rng(seed).standard_normal((4, 4))
    model = ICA(solver=solver, density=density, ortho=True, random_state=seed)
    kept = contrast(model.set_params(n_init=8).fit(X).transform(X), density)
    # A single start may end anywhere; the sources themselves have about the largest contrast.
    assert kept >= contrast(model.set_params(n_init=1).fit(X).transform(X), density) - 1e-6
    assert kept >= 0.99 * contrast(S, density)


# ---- Several starts by default


def waves(seed, n=2000, k=4):
    """Sums of two sine waves: light tails, near Gaussian, and not quite independent."""
    random, t = np.random.default_rng(seed), np.arange(n)[:, None]
    return sum(np.sin(t * random.uniform(0.001, 0.1, k) + random.uniform(0, 6, k)) for _ in range(2))


MIXTURES = [np.random.default_rng(100 + seed).standard_normal((4, 4)) for seed in range(4)]


def likelihoods(**options):
    """The log-likelihood of the sources of each mixture, in nats a row: at the best optimum, it is the same for all."""
    S = waves(4)
    return np.array([
        ICA(**options).fit(S @ B).loglike_[-1] / len(S) + np.linalg.slogdet(B)[1] for B in MIXTURES
    ])  # fmt: skip


def test_several_starts_find_the_same_optimum_for_every_mixture():
    single = likelihoods(n_init=1)
    assert np.ptp(single) > 0.01
    with pytest.warns(LocalOptimaWarning) as caught:
        found = likelihoods()
    assert np.ptp(found) < 1e-6 and found.min() > single.max() - 1e-6
    for warning in caught:
        best, of, least = re.match(
            r"only (\d) of (\d) starts ended at the best solution, .* worse by (\S+) ", str(warning.message)
        ).groups()
        assert 1 <= int(best) <= 2 and int(of) == 5
        assert float(least) > 0.01


def test_starts_that_agree_are_not_mentioned():
    """The first of them is kept, whose result does not depend on how the losses of the others are rounded."""
    X = sources(["laplace", "uniform", "exponential"], 3000, 0) @ MIXTURES[0][:3, :3]
    model, single = ICA().fit(X), ICA(n_init=1).fit(X)
    np.testing.assert_array_equal(model.components_, single.components_)
    assert model.stability_.min() > 0.9 and single.stability_ is None
    assert model.n_passes_ > single.n_passes_


def test_large_fits_and_single_sources_have_one_start():
    def passes(n, k, **options):
        return plan(ICA(k, **options), (n, 20)).passes - plan(PCA(k), (n, 20)).passes

    assert passes(160_000, 5) == passes(160_000, 5, n_init=5) > passes(160_001, 5) == passes(160_001, 5, n_init=1)
    assert passes(100, 1) == passes(100, 1, n_init=1)


# ---- Two sources that are mixtures of two others


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kinds", [("three peaks", "four peaks"), ("spikes", "four peaks"), ("uniform", "laplace")])
@pytest.mark.filterwarnings("ignore::lowdim.errors.GaussianWarning")
def test_the_fixed_point_iteration_does_not_end_at_a_mixture(kinds, seed):
    """It starts there, where its contrast has a local maximum or is stationary."""
    X = sources(kinds, 4000, seed)
    for density in (GeneralizedGaussian(), Sech()):
        model = ICA(solver="fixed-point", density=density)
        model.set_params(w_init=HALF @ np.linalg.inv(model.fit(X).whitening_))
        Y = model.fit(X).transform(X)
        assert model.status_ is Status.CONVERGED
        assert np.abs(np.corrcoef(X.T, Y.T)[:2, 2:]).max(axis=0).min() > 0.98


def test_mixed_pairs_are_found_and_others_left_alone():
    S = sources(["laplace", "uniform", "laplace", "two peaks", "laplace"], 3000, 0)
    W = np.eye(5)
    W[[1, 4]] = HALF @ W[[1, 4]]
    for density in (Sech(), GeneralizedGaussian()):
        objective = Objective(Rows(open_source(S)), np.zeros(5), np.eye(5), density)
        better = unmix_pairs(objective, objective.at(W, curved=False, narrow=False))
        np.testing.assert_allclose(np.abs(better), np.eye(5), atol=1e-12)
        assert objective.passes == 1 + 5
        assert unmix_pairs(objective, objective.at(better, curved=False, narrow=False)) is None


def test_mixed_pairs_of_many_rows_are_found_in_a_sample():
    """One pass draws the sample and one confirms what it shows; if it shows nothing, one pass is enough."""
    S = sources(["laplace", "uniform", "laplace", "two peaks", "laplace", "uniform"], 20_000, 0)
    W = np.eye(6)
    W[[0, 3]] = HALF @ W[[0, 3]]
    W[[1, 4]] = HALF @ W[[1, 4]]
    objective = Objective(Rows(open_source(S)), np.zeros(6), np.eye(6), Sech())
    better = unmix_pairs(objective, objective.at(W, curved=False, narrow=False))
    np.testing.assert_allclose(np.abs(better), np.eye(6), atol=1e-12)
    assert objective.passes == 1 + 2
    assert unmix_pairs(objective, objective.at(better, curved=False, narrow=False)) is None
    assert objective.passes == 1 + 2 + 2


@pytest.mark.parametrize("k", range(1, 10))
def test_every_pair_is_met_once_and_no_source_twice_in_a_round(k):
    rounds = _rounds(k)
    assert sorted(pair for pairs in rounds for pair in pairs) == list(combinations(range(k), 2))
    for pairs in rounds:
        met = [i for pair in pairs for i in pair]
        assert len(met) == len(set(met))
    assert len(rounds) <= k - 1 + k % 2
