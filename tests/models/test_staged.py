"""The models that an iteration goes through, one after the other."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_wine

from lowdim import ICA, PCA, PPCA, FactorAnalysis, PLSRegression, staged_fit
from lowdim.errors import ConvergenceWarning
from lowdim.solvers import EM, Krylov, Newton, Status

X = load_wine().data
X = (X - X.mean(axis=0)) / X.std(axis=0)
N, P = X.shape
S = X.T @ X / N
PLAIN = EM(start="random", accelerate=False, n_init=0, tol=0.01)


def covariance_of(model):
    return model.loadings_ @ model.loadings_.T + model.noise_variance_ * np.eye(P)


@pytest.mark.parametrize("kind", [PPCA, FactorAnalysis])
def test_each_step_of_plain_em_is_that_of_the_textbooks(kind):
    """E[f | x] = B x with B = L^T C^{-1}; L = S B^T M^{-1} with M = I - B L + B S B^T; the noise is diag(S - L B S),
    or its mean for PPCA (Rubin, Thayer 1982; Tipping, Bishop 1999). L is known up to a rotation."""
    stages = list(staged_fit(kind(2, solver=PLAIN), X))
    assert [stage.n_iter_ for stage in stages] == list(range(len(stages)))
    for before, after in pairwise(stages[:12]):
        L = before.loadings_
        B = np.linalg.solve(covariance_of(before), L).T
        M = np.eye(2) - B @ L + B @ S @ B.T
        L = S @ B.T @ np.linalg.inv(M)
        noise = np.diag(S - L @ B @ S)
        np.testing.assert_allclose(after.loadings_ @ after.loadings_.T, L @ L.T, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(after.noise_variance_, noise if kind is FactorAnalysis else noise.mean(), rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        PPCA(2, solver=PLAIN),
        FactorAnalysis(2, solver=Newton(n_init=0)),
        FactorAnalysis(2, solver=EM(n_init=0, tol=0.01)),
        ICA(3, n_init=1, tol=1e-5),
        ICA(3, n_init=1, solver="fixed-point"),
        PCA(2, solver=Krylov(block=2)),
    ],
    ids=str,
)
def test_the_last_stage_is_the_fit_and_the_others_lead_to_it(model):
    fitted, stages = model.fit(X), list(staged_fit(model, X))
    assert stages[-1].status_ is Status.CONVERGED
    assert all(stage.status_ is Status.NOT_CONVERGED for stage in stages[:-1])
    np.testing.assert_array_equal(stages[-1].components_, fitted.components_)
    if hasattr(fitted, "loglike_"):
        # The first steps of ICA do not compute the likelihood.
        ends = [stage.loglike_[-1] for stage in stages][-len(fitted.loglike_) :]
        np.testing.assert_allclose(ends, fitted.loglike_, rtol=1e-12)
    else:
        exact = PCA(2).fit(X).explained_variance_.sum()
        gaps = [exact - stage.explained_variance_.sum() for stage in stages]
        assert len(gaps) > 3 and np.all(np.diff(gaps[:-1]) < 0) and gaps[-1] < 1e-9


def test_components_of_pls_come_one_after_the_other():
    y = X[:, 0]
    stages = list(staged_fit(PLSRegression(3), X[:, 1:], y))
    assert [stage.n_components_ for stage in stages] == [1, 2, 3]
    for k, stage in enumerate(stages, 1):
        direct = PLSRegression(k).fit(X[:, 1:], y)
        np.testing.assert_allclose(stage.predict(X[:, 1:]), direct.predict(X[:, 1:]), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(stage.coef_, direct.coef_, rtol=1e-9, atol=1e-12)


def test_missing_entries_and_weights():
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    weights = np.random.default_rng(1).integers(1, 3, N)
    likelihoods = [stage.loglike_[-1] for stage in staged_fit(PPCA(2), rows, sample_weight=weights)]
    assert len(likelihoods) > 2 and np.all(np.diff(likelihoods) > 0)


def test_a_fit_that_does_not_converge_warns_once_and_one_without_steps_is_refused():
    with pytest.warns(ConvergenceWarning) as given:
        stages = list(staged_fit(FactorAnalysis(2, solver=EM(max_iter=3, accelerate=False, n_init=0)), X))
    assert len(given) == 1 and [stage.n_iter_ for stage in stages] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="PCA is fitted by solver='covariance', which does not iterate"):
        list(staged_fit(PCA(2), X))
