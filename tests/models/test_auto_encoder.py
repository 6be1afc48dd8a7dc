"""Auto-encoders: their ground truth, PCA and probabilistic PCA; and what training must never do. See also
test_auto_encoder_training.py."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn import datasets

import lowdim
from inputs import with_missing
from lowdim import PCA, PPCA, AutoEncoder
from lowdim.errors import RankWarning
from lowdim.reading.rows import Rows
from lowdim.solvers import Adam, Status, neural
from lowdim.solvers.neural.network import Design, NeuralRequest, expectation_points
from lowdim.sources import open_source

GALLERY = Path(__file__).parents[2] / "gallery" / "data"
IRIS = datasets.load_iris().data
WINE = datasets.load_wine().data
DIGITS = datasets.load_digits().data
SPECTRA = Path(__file__).parents[1] / "parity" / "data" / "gasoline.csv"
TABLES = {"iris": IRIS, "wine": WINE, "digits": DIGITS}


def needs_torch():
    return pytest.importorskip("torch", reason="torch is not installed, and networks are trained by it")


# ---- Without hidden layers


@pytest.mark.parametrize("solver", ["linear", "adam"])
@pytest.mark.parametrize("name", TABLES)
def test_without_hidden_layers_it_is_pca(name, solver):
    X = TABLES[name]
    if solver == "adam":
        needs_torch()
    pca = PCA(2).fit(X)
    model = AutoEncoder(2, hidden=(), solver=solver).fit(X)
    decoder = model.inverse_transform(np.eye(2)) - model.inverse_transform(np.zeros((2, 2)))
    assert subspace_angles(decoder.T, pca.components_.T).max() < 1e-3
    expected = pca.reconstruction_error(X).mean()
    np.testing.assert_allclose(model.reconstruction_error(X).mean(), expected, rtol=1e-4)
    assert model.reconstruction_error_ <= expected * (1 + 1e-9)


def test_without_hidden_layers_scores_are_those_of_pca():
    model = AutoEncoder(3, hidden=()).fit(WINE)
    pca = PCA(3).fit(WINE)
    np.testing.assert_allclose(model.transform(WINE), pca.transform(WINE), atol=1e-9 * np.abs(WINE).max())
    np.testing.assert_allclose(np.diag(model.latent_covariance_), PCA(3, ddof=0).fit(WINE).explained_variance_)
    assert model.status_ is Status.EXACT and model.solver_ == "linear" and model.loss_ == [model.linear_error_]
    np.testing.assert_allclose(model.reconstruction_error_, pca.reconstruction_error(WINE).mean())
    np.testing.assert_allclose(model.score(WINE), -model.reconstruction_error_)


@pytest.mark.parametrize("solver", ["linear", "adam"])
@pytest.mark.parametrize("name", TABLES)
def test_the_evidence_bound_of_a_linear_decoder_is_the_likelihood_of_ppca(name, solver):
    X = TABLES[name]
    if solver == "adam":
        needs_torch()
    model = AutoEncoder(2, hidden=(), variational=True, solver=solver).fit(X)
    ppca = PPCA(2).fit(X)
    np.testing.assert_allclose(model.score(X), ppca.score(X), rtol=1e-4)
    if solver == "linear":
        np.testing.assert_allclose(model.score_samples(X), ppca.score_samples(X), rtol=1e-8)
        np.testing.assert_allclose(model.transform(X), ppca.transform(X), atol=1e-8)
        np.testing.assert_allclose(model.noise_variance_, ppca.noise_variance_)
        np.testing.assert_allclose(-model.linear_error_, ppca.score(X))


def test_without_hidden_layers_missing_values_are_those_of_ppca():
    X = with_missing(IRIS)
    model = AutoEncoder(2, hidden=(), variational=True).fit(X)
    ppca = PPCA(2).fit(X)
    missing = np.isnan(X)
    # Rows are encoded with expectations in place of what is missing, and decoded again.
    np.testing.assert_allclose(model.impute(X)[missing], ppca.impute(X)[missing], rtol=0.1)
    np.testing.assert_array_equal(model.impute(X)[~missing], X[~missing])
    np.testing.assert_allclose(model.reconstruction_error(X).mean(), model.reconstruction_error_)
    np.testing.assert_allclose(model.latent_mean_, model.transform(X).mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(-model.linear_error_, model.score(X))


@pytest.mark.parametrize("variational", [False, True])
def test_training_from_elsewhere_finds_the_principal_subspace(variational):
    """The start is moved away from PCA: the optimum of training without hidden layers is PCA, or PPCA, nevertheless."""
    needs_torch()
    random = np.random.default_rng(0)
    X = random.standard_normal((400, 6)) @ np.diag([5.0, 4.0, 3.0, 1.0, 0.5, 0.2])
    start = AutoEncoder(2, hidden=(), variational=variational).fit(X)._network
    matrix = np.zeros_like(start.encoder.matrix)
    matrix[:, :2] = random.standard_normal((6, 2))
    moved = replace(
        start,
        encoder=replace(start.encoder, matrix=matrix, offset=np.zeros_like(start.encoder.offset)),
        decoder=replace(start.decoder, matrix=random.standard_normal((2, 6))),
        log_noise=0.0 if variational else None,
    )
    request = NeuralRequest(Design(2, variational=variational), start=moved)
    fit, _ = neural.solve(
        Rows(open_source(X)), request, Adam(rate=3e-2, batch=400, held_out=0.0, max_epochs=400, patience=25)
    )
    pca = PCA(2).fit(X)
    assert subspace_angles(np.asarray(fit.network.decoder.matrix).T, pca.components_.T).max() < 1e-3
    if variational:
        np.testing.assert_allclose(fit.network.bounds(X).mean(), PPCA(2).fit(X).score(X), rtol=1e-4)
    else:
        np.testing.assert_allclose(fit.network.errors(X).mean(), pca.reconstruction_error(X).mean(), rtol=1e-4)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_points_of_the_expectation_have_the_moments_of_a_gaussian(k):
    points = expectation_points(k)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(points.T @ points / len(points), np.eye(k), atol=1e-12)
    np.testing.assert_allclose((points**3).mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("variational", [False, True])
def test_the_error_of_the_fit_is_that_of_its_rows(variational):
    model = AutoEncoder(5, hidden=(), variational=variational).fit(DIGITS)
    np.testing.assert_allclose(model.reconstruction_error_, model.reconstruction_error(DIGITS).mean(), rtol=1e-10)


# ---- With hidden layers: never worse than PCA on the rows of the fit


def gallery(file, name="images"):
    with np.load(GALLERY / file) as stored:
        rows = stored[name]
    return rows.reshape(len(rows), -1).astype(np.float32)


OF_THE_GALLERY = {
    **{name: (lambda X=X: X) for name, X in TABLES.items()},
    "cancer": lambda: datasets.load_breast_cancer().data,
    "diabetes": lambda: datasets.load_diabetes().data,
    "linnerud": lambda: datasets.load_linnerud().data,
    "OPTDIGITS": lambda: gallery("optdigits.npz"),
    "MNIST": lambda: gallery("mnist.npz"),
    "faces": lambda: gallery("faces.npz"),
    "cells": lambda: gallery("cells.npz", "X"),
    "chapters": lambda: gallery("chapters.npz", "english"),
    "lines of a photograph": lambda: np.mean(datasets.load_sample_images().images[0], axis=2),
    "spectra": lambda: np.genfromtxt(SPECTRA, delimiter=",", skip_header=1)[:, 1:],
    "genotypes": lambda: np.genfromtxt(GALLERY / "genotypes.csv.gz", delimiter=",", skip_header=1)[:, 2:],
}


@pytest.mark.filterwarnings("ignore::lowdim.errors.ConvergenceWarning")
@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.parametrize("name", OF_THE_GALLERY)
def test_training_only_improves_on_pca(name, variational):
    needs_torch()
    X = OF_THE_GALLERY[name]()
    model = AutoEncoder(2, hidden=(32,), variational=variational, solver=Adam(max_epochs=15)).fit(X)
    rounding = 1e-5 if X.dtype == np.float32 else 1e-9
    if variational:
        assert model.score(X) >= -model.linear_error_ - rounding * abs(model.linear_error_)
        return
    error = model.reconstruction_error(X).mean()
    assert error <= model.linear_error_ * (1 + rounding)
    np.testing.assert_allclose(error, model.reconstruction_error_, rtol=1e-4)
    if not np.isnan(X).any():
        assert error <= PCA(2).fit(X).reconstruction_error(X).mean() * (1 + rounding)


def test_it_is_better_than_pca_on_held_out_digits():
    needs_torch()
    train, test = DIGITS[::2], DIGITS[1::2]
    model = AutoEncoder(10).fit(train)
    assert model.status_ is Status.HELD_OUT
    assert model.reconstruction_error(test).mean() < 0.7 * PCA(10).fit(train).reconstruction_error(test).mean()
    assert len(model.loss_) == model.n_iter_ + 1 == len(model.training_loss_) + 1
    assert min(model.loss_) < model.loss_[0] and 50 < model.n_held_out_ < 130
    np.testing.assert_allclose(model.latent_covariance_, np.cov(model.transform(train).T, ddof=0), atol=1e-8)


def test_a_nonlinear_decoder_has_a_higher_bound():
    needs_torch()
    train, test = DIGITS[::2], DIGITS[1::2]
    model = AutoEncoder(5, hidden=(64,), variational=True).fit(train)
    assert model.score(test) > PPCA(5).fit(train).score(test) + 3.0
    drawn = model.sample(2000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), train.mean(axis=0), atol=1.5)
    assert model.noise_variance_ < PPCA(5).fit(train).noise_variance_


@pytest.mark.filterwarnings("ignore::lowdim.errors.ImputedRangeWarning")
def test_missing_values_are_filled_in_better_than_by_ppca():
    needs_torch()
    missing = np.random.default_rng(0).random(DIGITS.shape) < 0.2
    X = np.where(missing, np.nan, DIGITS)
    model = AutoEncoder(10, hidden=(128,)).fit(X)
    filled = model.impute(X)
    np.testing.assert_array_equal(filled[~missing], DIGITS[~missing])

    def misfit(rows):
        return np.mean((rows - DIGITS)[missing] ** 2)

    assert misfit(filled) < 0.8 * misfit(PPCA(10).fit(X).impute(X))
    assert np.isfinite(model.transform(X)).all()
    errors = np.where(missing, 0.0, DIGITS - model.inverse_transform(model.transform(X)))
    np.testing.assert_allclose(model.reconstruction_error(X), np.sum(errors**2, axis=1), rtol=1e-9)


# ---- Components and parameters


def test_as_many_components_as_columns_are_warned_of():
    with pytest.warns(RankWarning, match="n_components=4 is not less than the number of columns, 4"):
        model = AutoEncoder(4, hidden=()).fit(IRIS)
    assert model.reconstruction_error_ < 1e-20


@pytest.mark.parametrize("variational", [False, True])
@pytest.mark.parametrize("k", [6, 9, 50])
def test_more_components_than_columns_are_warned_of(k, variational):
    """Those beyond the columns have no effect without hidden layers, and score zero if they have a prior."""
    with pytest.warns(RankWarning, match=f"n_components={k} is not less than the number of columns, 4"):
        model = AutoEncoder(k, hidden=(), variational=variational).fit(IRIS)
    scores = model.transform(IRIS)
    assert scores.shape == (150, k) and model.latent_covariance_.shape == (k, k)
    np.testing.assert_allclose(model.inverse_transform(scores), IRIS, atol=1e-3 if variational else 1e-9)
    assert model.sample(3, random_state=0).shape == (3, 4)
    if variational:
        np.testing.assert_array_equal(scores[:, 4:], 0.0)


def test_more_components_than_columns_are_trained():
    needs_torch()
    with pytest.warns(RankWarning, match="n_components=9"):
        model = AutoEncoder(9, hidden=(8,)).fit(IRIS)
    assert model.status_ is Status.HELD_OUT
    assert model.reconstruction_error_ <= model.linear_error_ < 1e-20 * np.sum(IRIS**2)


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_components_that_need_too_much_memory_are_refused(hidden):
    with pytest.raises(MemoryError, match=r"10000000 components of 4 columns would need .* Ask for fewer components"):
        AutoEncoder(10**7, hidden=hidden).fit(IRIS)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, None, "two"])
def test_other_numbers_of_components_are_refused(k):
    with pytest.raises(ValueError, match=r"n_components=.* must be a whole number of at least 1;.*pass 1 to 3\."):
        AutoEncoder(k, hidden=()).fit(IRIS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": (0,)}, r"hidden=\(0,\) must be a sequence of whole numbers"),
        ({"hidden": 5}, "hidden=5 must be a sequence"),
        ({"hidden": ("a",)}, "must be a sequence of whole numbers"),
        ({"activation": "sine"}, "activation='sine'"),
        ({"variational": 1}, "variational=1 must be True or False"),
        ({"solver": "linear"}, "solver='linear' is for networks without hidden layers"),
        ({"solver": "sgd"}, "solver='sgd'"),
    ],
)
def test_parameters_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        AutoEncoder(2, **options).fit(IRIS)


@pytest.mark.parametrize(
    "options",
    [
        {"rate": 0.0},
        {"rate": "fast"},
        {"batch": 0},
        {"max_epochs": 1.5},
        {"patience": True},
        {"held_out": 1.0},
        {"window": 1},
        {"epochs_per_window": 0},
    ],
)
def test_options_that_are_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))}="):
        Adam(**options)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (IRIS[:0], "0 sample"),
        (IRIS[:1], "n_samples=1"),
        (np.ones((20, 3)), "all rows of X are the same"),
        (np.where(np.arange(4) == 2, np.nan, IRIS), "no entry was observed in column 2"),
        (np.where(np.arange(150)[:, None] == 7, np.inf, IRIS), "row 7"),
        (IRIS * 1e200, "too large"),
        (IRIS + 1j, "Complex data"),
    ],
    ids=["no row", "one row", "equal rows", "no entry", "infinity", "large", "complex"],
)
@pytest.mark.parametrize("hidden", [(), (8,)])
def test_rows_that_are_refused(rows, message, hidden):
    if hidden:
        needs_torch()
    with pytest.raises(ValueError, match=message):
        AutoEncoder(1, hidden=hidden).fit(rows)


def test_fewer_scores():
    model = AutoEncoder(3, hidden=()).fit(WINE)
    np.testing.assert_array_equal(model.transform(WINE, n_components=2), model.transform(WINE)[:, :2])
    padded = np.hstack([model.transform(WINE)[:, :2], np.zeros((len(WINE), 1))])
    np.testing.assert_array_equal(model.inverse_transform(padded[:, :2]), model.inverse_transform(padded))


def test_without_torch_the_message_says_how_to_install_it(monkeypatch):
    import lowdim.solvers.neural.training as module

    monkeypatch.setattr(module, "torch", None)
    with pytest.raises(ImportError, match=r"needs torch, which is not installed: pip install 'lowdim\[torch\]'"):
        AutoEncoder(2).fit(IRIS)
    assert AutoEncoder(2, hidden=()).fit(IRIS).n_components_ == 2


def test_a_plan_says_how_rows_are_read():
    assert "all rows are kept in memory" in lowdim.plan(AutoEncoder(2), (1000, 20)).why
    assert "each epoch reads the rows again" in lowdim.plan(AutoEncoder(2), (10**8, 100)).why
    assert "the optimum is the solution of PCA" in lowdim.plan(AutoEncoder(2, hidden=()), (1000, 20)).why
