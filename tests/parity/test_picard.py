"""ICA beside python-picard and scikit-learn's FastICA: the same optimum, or a likelier one; no worse sources."""

import warnings

import numpy as np
import pytest
from picard import picard
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA, FastICA
from sklearn.preprocessing import StandardScaler

from lowdim import ICA
from lowdim.densities import Infomax, Sech
from lowdim.errors import GaussianWarning
from lowdim.solvers import Status
from models.ica_mixes import MIXES, amari, log_likelihood, mix

each_mix = pytest.mark.parametrize("name", list(MIXES))
each_seed = pytest.mark.parametrize("seed", range(3))


def by_picard(X, **options):
    """Unmixing of centred rows."""
    K, W, _ = picard(X.T.copy(), tol=1e-8, max_iter=1000, random_state=0, **options)
    return W @ K


@each_seed
def test_the_likelihood_is_no_lower(seed):
    """Unconstrained, with the density of both."""
    X, A = mix("super-Gaussian", 4000, seed)
    ours, theirs = ICA(extended=False).fit(X), by_picard(X, ortho=False, extended=False)
    densities = [Sech()] * X.shape[1]
    assert ours.loglike_[-1] / len(X) > log_likelihood(theirs, densities, X) - 1e-10
    assert amari(ours.components_, A) <= amari(theirs, A) + 1e-5


@each_mix
@each_seed
def test_rotations_are_no_worse(name, seed):
    X, A = mix(name, 4000, seed)
    ours, theirs = ICA(ortho=True).fit(X), by_picard(X, ortho=True)
    assert amari(ours.components_, A) <= amari(theirs, A) + 1e-5
    # Sources of one fit are those of the other.
    similarity = np.abs(theirs @ ours.mixing_)
    np.testing.assert_allclose(np.sort(similarity, axis=1)[:, -1], 1.0, atol=1e-5)


@each_mix
@each_seed
def test_the_likelihood_of_extended_infomax_is_no_lower(name, seed):
    X, A = mix(name, 4000, seed)
    ours, theirs = ICA(density="infomax").fit(X), by_picard(X, ortho=False, extended=True)
    U = (X - X.mean(axis=0)) @ theirs.T
    heavy = (1 - np.tanh(U) ** 2).mean(axis=0) * U.var(axis=0) > (U * np.tanh(U)).mean(axis=0)
    densities = [Infomax() if h else Infomax().flipped for h in heavy]
    assert ours.loglike_[-1] / len(X) > log_likelihood(theirs, densities, X) - 1e-10
    assert amari(ours.components_, A) <= amari(theirs, A) + 1e-5


@each_mix
def test_without_constraint_sources_are_no_worse(name):
    """On average over draws: for heavy tails, picard's extended density is another one than ours."""
    distances = []
    for seed in range(8):
        X, A = mix(name, 2000, seed)
        distances.append([amari(W, A) for W in (ICA().fit(X).components_, by_picard(X, ortho=False, extended=True))])
    ours, theirs = np.mean(distances, axis=0)
    assert ours <= theirs + 1e-6


def white(X, k):
    """Scores of unit variance, of standardised columns."""
    return PCA(k, whiten=True).fit_transform(StandardScaler().fit_transform(X))


#: Options of ours and of picard, and which likelihood that is: density, whether light tails have another, orthogonal.
MODES = {
    "free": ({"extended": False}, {"ortho": False, "extended": False}, Sech(), False),
    "ortho": ({"ortho": True}, {"ortho": True}, Sech(), True),
    "infomax": ({"density": "infomax"}, {"ortho": False, "extended": True}, Infomax(), True),
}


def likelihood(W, X, density, extended):
    """Of an unmixing matrix, with the density that each source is for."""
    U = (X - X.mean(axis=0)) @ W.T
    heavy = density.slope(U).mean(axis=0) * U.var(axis=0) > (U * density.score(U)).mean(axis=0)
    densities = [density if h or not extended else density.flipped for h in heavy]
    return log_likelihood(W, densities, X)


def contrast(W, X, density, extended):
    """Of a rotation of white rows: how far the energies of its sources are from that of a Gaussian, in total."""
    U = (X - X.mean(axis=0)) @ W.T
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    gaussian = weights @ density.energy(nodes) / weights.sum()
    return np.abs(density.energy(U / U.std(axis=0)).mean(axis=0) - gaussian).sum()


def ends_of_picard(X, options):
    """Unmixing of centred rows, from twelve starts."""
    for seed in range(12):
        K, W, _ = picard(X.T.copy(), tol=1e-6, max_iter=1000, random_state=seed, **options)
        yield W @ K


REAL_ROWS = [(load_digits, 10), (load_breast_cancer, 10), (load_wine, 13)]


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize(("load", "k"), REAL_ROWS)
@pytest.mark.filterwarnings("ignore::lowdim.errors.GaussianWarning", "ignore::lowdim.errors.DensityWarning")
@pytest.mark.filterwarnings("ignore::lowdim.errors.LocalOptimaWarning")  # there are as many as the name says
def test_real_rows_with_many_optima(load, k, mode):
    """Which of them a start ends at depends on rounding, for either: a change of the rows by 1e-15 changes it. Each
    optimum of picard is one of ours, and the best of many starts of ours is no worse than picard's on average. (Drawn
    from the ends of 80 or more starts of each, the best of 24 is worse than the mean of 12 at most once in 500
    times for each of these cases; the best of 12 would be worse than the mean of 6 once in 25.)"""
    X = white(load().data, k)
    ours, theirs, density, extended = MODES[mode]
    best = ICA(n_init=24, **ours).fit(X)
    # Likelihoods of sources of variance one, some with the flipped density and some not, do not compare. Rotations are
    # compared by the contrast that both maximise.
    measure = contrast if mode == "ortho" else likelihood
    others = []
    for W in ends_of_picard(X, theirs):
        others.append(measure(W, X, density, extended))
        near = ICA(w_init=W @ np.linalg.inv(best.whitening_), **ours).fit(X)
        assert near.status_ is Status.CONVERGED
        assert measure(near.components_, X, density, extended) >= others[-1] - 1e-10
        similarity = np.abs(near.components_ @ np.linalg.inv(W))
        np.testing.assert_allclose(np.sort(similarity, axis=1)[:, -1], 1.0, atol=1e-4)
    assert measure(best.components_, X, density, extended) >= np.mean(others) - 1e-6


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize(("load", "k"), REAL_ROWS)
@pytest.mark.filterwarnings("ignore::lowdim.errors.DensityWarning")
def test_every_end_is_stationary_or_says_why_not(load, k, mode):
    """A gradient above the tolerance is left only by rotations among sources that look Gaussian, with a warning."""
    X = white(load().data, k)
    for seed in range(12):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", GaussianWarning)
            model = ICA(random_state=seed, n_init=1, **MODES[mode][0]).fit(X)
        if model.status_ is Status.CONVERGED:
            assert model.gradient_norm_ <= 1e-6
        else:
            assert model.status_ is Status.UNDETERMINED
            assert [warning.category for warning in caught] == [GaussianWarning]


@each_mix
def test_fast_ica_finds_the_same_rotation(name):
    X, _ = mix(name, 4000)
    ours = ICA(solver="fixed-point", tol=1e-9).fit(X)
    theirs = FastICA(tol=1e-12, max_iter=1000, random_state=0, whiten="unit-variance").fit(X)
    similarity = np.abs(theirs.components_ @ ours.mixing_)
    order = similarity.argmax(axis=1)
    assert sorted(order) == list(range(X.shape[1]))
    np.testing.assert_allclose(similarity[np.arange(len(order)), order], 1.0, atol=1e-5)
    np.testing.assert_allclose(similarity.sum(axis=1), 1.0, atol=1e-3)
