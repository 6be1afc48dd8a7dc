"""The quasi-Newton method of EM: its derivatives, its ends, and where it takes over from Anderson acceleration."""

import re

import numpy as np
import pytest
from scipy import sparse

from inputs import with_missing
from lowdim import PPCA
from lowdim.errors import ConvergenceWarning
from lowdim.reading import summarize
from lowdim.solvers import EM, Status
from lowdim.solvers.latent.acceleration import QuasiNewton, _Derivatives, steps_left
from lowdim.solvers.latent.em import Iterate, MaximumLikelihood, iterate
from lowdim.summaries import Latent, LatentGaussian, Observed
from models.ppca_rows import INCOMPLETE, rows
from oracles import observed_loglike

K, P = 2, 6


def model_of(vector, tied):
    """The model of the vector (W, mean, ln noise), with units that differ between the columns."""
    W, mean, log_noise = vector[: K * P].reshape(K, P), vector[K * P : (K + 1) * P], vector[(K + 1) * P :]
    noise = np.exp(np.broadcast_to(log_noise, (P,)))
    scale = np.linspace(0.5, 2.0, P)
    return LatentGaussian(scale * mean, scale, W, noise)


def loglike(model):
    """Written anew, from the covariance of the rows."""
    S = (model.loadings.T @ model.loadings + np.diag(model.noise)) * model.scale * model.scale[:, None]
    return observed_loglike(INCOMPLETE, model.mean, S).sum()


@pytest.mark.parametrize("tied", [True, False])
def test_the_gradient_against_finite_differences(tied):
    x = np.random.default_rng(0).standard_normal((K + 1) * P + (1 if tied else P)) / 2
    latent = summarize(INCOMPLETE, Latent(model_of(x, tied), informed=True))
    # The mean is a step from where the model is.
    h = 1e-5
    expected = [
        (loglike(model_of(x + h * e, tied)) - loglike(model_of(x - h * e, tied))) / (2 * h) for e in np.eye(len(x))
    ]
    np.testing.assert_allclose(_Derivatives(latent, tied).gradient, expected, rtol=1e-6, atol=1e-6)


def test_the_information_of_complete_rows_is_that_of_fisher():
    """(S^{-1})_dd W S^{-1} W^T for each row, to which a share of the information of complete data is added."""
    model = model_of(np.random.default_rng(1).standard_normal((K + 1) * P + 1) / 2, True)
    X = rows()
    latent = summarize(X, Latent(model, informed=True))
    precision = np.linalg.inv(model.loadings.T @ model.loadings + np.diag(model.noise))
    inside = model.loadings @ precision @ model.loadings.T
    found = _Derivatives(latent, True)._information
    A = np.zeros((P, K, K))
    i, j = np.tril_indices(K)
    A[:, i, j] = A[:, j, i] = latent.second[: len(i)].T
    for d in range(P):
        fisher = len(X) * precision[d, d] * inside
        np.testing.assert_allclose(found[d], fisher + 0.05 * A[d] / model.noise[d], rtol=1e-10)


@pytest.mark.parametrize("tied", [True, False])
def test_it_ends_where_plain_steps_end(tied):
    start = model_of(np.random.default_rng(2).standard_normal((K + 1) * P + (1 if tied else P)) / 2, tied)
    step, floor = MaximumLikelihood(tied, 1e-10), 1e-10
    outcomes = [
        iterate(
            EM(tol=1e-8, max_iter=5000),
            Iterate(start),
            step,
            lambda model: summarize(INCOMPLETE, Latent(model, informed=True)),
            summarize(INCOMPLETE, Observed(P)),
            accelerate,
        )[1]
        for accelerate in (None, lambda at: QuasiNewton(at, tied, floor))
    ]
    plain, fast = outcomes
    assert fast.status is Status.CONVERGED
    assert np.diff(fast.loglike).min() >= -1e-10 * abs(fast.loglike[-1])
    assert fast.loglike[-1] == pytest.approx(plain.loglike[-1], rel=1e-9)


def few_stored(n=1500, p=60, share=0.15, seed=0):
    """Noise of which few entries are stored: the directions of largest variance are hardly larger than the others."""
    random = np.random.default_rng(seed)
    table = sparse.random_array((n, p), density=share, rng=random, data_sampler=random.standard_normal)
    return table.tocsr()


def test_an_ill_conditioned_likelihood_takes_few_steps():
    """Anderson acceleration alone takes several times as many."""
    table = few_stored()
    ppca = PPCA(3, missing="unstored").fit(table)
    assert ppca.status_ is Status.CONVERGED
    assert ppca.n_iter_ < 400
    assert np.diff(ppca.loglike_).min() >= -1e-10 * abs(ppca.loglike_[-1])
    dense = table.toarray()
    dense[dense == 0] = np.nan
    C = ppca.loadings_ @ ppca.loadings_.T + ppca.noise_variance_ * np.eye(60)
    assert ppca.loglike_[-1] == pytest.approx(observed_loglike(dense, ppca.mean_, C).sum(), rel=1e-9)


def test_units_and_offsets_do_not_matter():
    table = few_stored(600, 30, 0.3)
    one = PPCA(2, missing="unstored").fit(table)
    other = table.copy()
    other.data = other.data * 1e100
    far = PPCA(2, missing="unstored").fit(other)
    assert far.n_iter_ == pytest.approx(one.n_iter_, abs=20)
    np.testing.assert_allclose(far.noise_variance_ / 1e200, one.noise_variance_, rtol=1e-4)


def test_a_geometric_sequence_tells_the_steps_left():
    assert steps_left([0.5**i for i in range(10)], 0.5**19) == pytest.approx(10)
    assert steps_left([1.0, 1.0, 1.0], 0.1) == np.inf
    assert steps_left([1.0, 2.0, 4.0], 0.1) == np.inf


def test_a_tolerance_that_takes_too_many_steps_is_not_waited_for():
    table = with_missing(rows(n=200, p=6, noise=0.5), 0.5)
    options = {"tol": 1e-6, "accelerate": False, "n_init": 0}
    # Each step is a pass over sparse rows of which nothing else is stored.
    table = sparse.csr_array(np.nan_to_num(table))
    whole = PPCA(4, missing="unstored", solver=EM(max_iter=5000, **options)).fit(table)
    assert whole.n_iter_ > 800
    message = r"the tolerance would take about (\d+) steps, more than max_iter\. Raise tol"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        ppca = PPCA(4, missing="unstored", solver=EM(max_iter=450, **options)).fit(table)
    assert ppca.status_ is Status.NOT_CONVERGED
    assert ppca.n_iter_ < 400
    assert int(re.search(message, str(caught[0].message)).group(1)) == pytest.approx(whole.n_iter_, rel=0.3)
    assert ppca.loglike_[-1] == pytest.approx(whole.loglike_[-1], abs=0.01)
