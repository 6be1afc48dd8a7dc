"""Auto-encoders of simulated tables: never worse than PCA on those of the gallery (the others are in
test_auto_encoder.py), and bounds that hold."""

from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage
from sklearn.datasets import load_wine, make_circles

from inputs import with_missing
from lowdim import PCA, PPCA, AutoEncoder
from lowdim.solvers import Adam

pytest.importorskip("torch", reason="torch is not installed, and networks are trained by it")
MNIST = Path(__file__).parents[2] / "gallery" / "data" / "mnist.npz"


def ellipse(random):
    angle = random.uniform(0, 2 * np.pi, 200)
    return np.column_stack([2 * np.cos(angle) + 0.5 * np.sin(angle), np.sin(angle)])


def arc_and_clusters(random):
    angle = random.uniform(0.2, 2.9, 60)
    arc = np.column_stack([0.75 * np.cos(angle), 0.75 * np.sin(angle) - 0.35])
    clusters = [random.normal(centre, 0.1, (40, 2)) for centre in ([-0.35, -0.55], [0.4, -0.5])]
    return np.vstack([arc + 0.05 * random.standard_normal((60, 2)), *clusters])


def signals(random):
    time = np.arange(8000) / 8000
    chord = sum(np.sin(2 * np.pi * tone * time) for tone in (220, 277, 330))
    sweep = np.sin(2 * np.pi * (100 * time + 400 * time**2))
    bursts = random.laplace(size=8000) * (np.sin(2 * np.pi * 3 * time) > 0.3)
    sources = np.column_stack([chord, sweep, bursts, 2 * ((150 * time) % 1) - 1])
    return sources / sources.std(axis=0) @ random.uniform(0.3, 1.0, (4, 4)).T


def factors(random):
    loadings = np.kron(np.eye(2), np.ones((5, 1))) * random.uniform(0.8, 1.2, (10, 1))
    common = random.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 1000)
    return common @ loadings.T + random.standard_normal((1000, 10)) * np.where(np.arange(10) % 5 == 4, 4.0, 0.5)


def two_views(random):
    shared = random.standard_normal((500, 1))
    noise = random.standard_normal((500, 4))
    return np.hstack([3 * noise[:, :1], shared + 0.3 * noise[:, 1:3], 3 * noise[:, 3:]])


def moved_digit(random):
    with np.load(MNIST) as file:
        three = file["images"][np.flatnonzero(file["labels"] == 3)[0]] / 255.0
    field = np.pad(three, 6)

    def moved():
        turned = ndimage.rotate(field, random.uniform(-25, 25), reshape=False, order=1)
        return ndimage.shift(turned, random.uniform(-5, 5, size=2), order=1).ravel()

    return np.stack([moved() for _ in range(500)])


SIMULATED = {
    "ellipse": ellipse,
    "parallelogram": lambda random: random.uniform(-1, 1, (4000, 2)) @ [[2.0, 0.5], [1.0, 1.5]],
    "arc and clusters": arc_and_clusters,
    "two circles": lambda random: make_circles(300, factor=0.3, noise=0.05, random_state=0)[0],
    "mixed signals": signals,
    "two factors": factors,
    "two views": two_views,
    "a digit that is moved": moved_digit,
    "wine with missing entries": lambda random: with_missing(load_wine().data),
}


@pytest.mark.filterwarnings("ignore::lowdim.errors.ConvergenceWarning")
@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.parametrize("name", SIMULATED)
def test_training_only_improves_on_pca(name, variational):
    X = SIMULATED[name](np.random.default_rng(0))
    k = 2 if X.shape[1] > 2 else 1
    model = AutoEncoder(k, hidden=(32,), variational=variational, solver=Adam(max_epochs=15)).fit(X)
    if variational:
        assert model.score(X) >= -model.linear_error_ - 1e-9 * abs(model.linear_error_)
        return
    assert model.reconstruction_error(X).mean() <= model.linear_error_ * (1 + 1e-9)
    if not np.isnan(X).any():
        assert model.linear_error_ <= PCA(k).fit(X).reconstruction_error(X).mean() * (1 + 1e-9)


def estimated_bound(model, X, n=300):
    """The mean evidence bound, with an expectation over other random numbers than those of `score`."""
    network, random = model._network, np.random.default_rng(1)
    V, k = network.standardized(X)[0], network.k
    found = network.encoder(V)
    mean, log_variance = found[:, :k], found[:, k:]
    draws = (mean + np.exp(0.5 * log_variance) * random.standard_normal(mean.shape) for _ in range(n))
    squares = sum(np.sum((V - network.decoder(u)) ** 2, axis=1) for u in draws) / n
    divergence = 0.5 * np.sum(np.exp(log_variance) + mean**2 - 1.0 - log_variance, axis=1)
    constant = np.log(2 * np.pi) + network.log_noise + 2 * np.log(network.unit)
    return np.mean(-0.5 * (squares * np.exp(-network.log_noise) + V.shape[1] * constant) - divergence)


@pytest.mark.parametrize("n", [100, 400], ids=["steps with all rows", "steps with some"])
@pytest.mark.parametrize("name", ["circle", "parabola"])
def test_the_bound_is_that_of_other_random_numbers_too(name, n):
    random = np.random.default_rng(0)
    X = make_circles(n, noise=0.05, factor=0.99, random_state=0)[0]
    if name == "parabola":
        t = random.uniform(-2, 2, n)
        X = np.column_stack([t, t**2, random.normal(0, 0.3, n)])
    model = AutoEncoder(1, variational=True).fit(X)
    assert abs(model.score(X) - estimated_bound(model, X)) < 0.05
    assert estimated_bound(model, X) >= PPCA(1).fit(X).score(X) - 0.01
