"""The objective of factor analysis as a function of the uniquenesses: its value and derivatives, in both forms."""

import numpy as np
import pytest

from lowdim.solvers.latent import factor_likelihood
from lowdim.solvers.latent.factor_likelihood import OfCovariance, OfRows

RNG = np.random.default_rng(5)


def root(m=9, p=14, k=2, seed=0):
    """Standardized rows, of which the columns have unit length."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, k)) @ rng.standard_normal((k, p)) + rng.standard_normal((m, p))
    Z = X - X.mean(axis=0)
    return Z / np.sqrt(np.sum(Z * Z, axis=0))


Z = root()
Y = np.log(RNG.uniform(0.2, 0.9, Z.shape[1]))
FORMS = {"covariance": OfCovariance(Z.T @ Z), "rows": OfRows(Z)}


def hessian(point):
    """The second derivatives as a matrix."""
    if hasattr(point, "hessian"):
        return point.hessian()
    return np.array([point.curvature(e) for e in np.eye(len(point.y))])


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("form", list(FORMS))
def test_concentrated_likelihood(form, k):
    """ln |C| + tr C^{-1} R for C = W^T W + Psi, and no other loadings have a smaller one."""
    point = FORMS[form].at(Y, k)

    def discrepancy(W):
        C = W.T @ W + np.diag(np.exp(Y))
        return np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, Z.T @ Z))

    W = point.loadings
    np.testing.assert_allclose(point.value, discrepancy(W), rtol=1e-12)
    for _ in range(5):
        assert discrepancy(W + 1e-3 * RNG.standard_normal(W.shape)) > point.value


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("form", list(FORMS))
def test_derivatives_of_the_concentrated_likelihood(form, k):
    objective, h = FORMS[form], 1e-5
    point, steps = objective.at(Y, k), h * np.eye(len(Y))
    ends = [(objective.at(Y + e, k), objective.at(Y - e, k)) for e in steps]
    np.testing.assert_allclose(point.gradient, [(a.value - b.value) / (2 * h) for a, b in ends], atol=1e-8)
    np.testing.assert_allclose(hessian(point), [(a.gradient - b.gradient) / (2 * h) for a, b in ends], atol=1e-7)


@pytest.mark.parametrize("k", [1, 4])
def test_factors_of_few_rows_and_many_columns(k):
    a, b = (FORMS[form].at(Y, k) for form in FORMS)
    np.testing.assert_allclose(a.value, b.value, rtol=1e-13)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-12)
    np.testing.assert_allclose(hessian(a), hessian(b), atol=1e-11)
    np.testing.assert_allclose(a.loadings.T @ a.loadings, b.loadings.T @ b.loadings, atol=1e-12)
    for column in (0, 5):
        np.testing.assert_allclose(*(FORMS[form].correlations(column) for form in FORMS), atol=1e-14)


def test_the_leading_part_is_exact_where_the_model_fits(monkeypatch):
    W = RNG.standard_normal((2, 8))
    C = W.T @ W + np.diag(RNG.uniform(0.5, 2.0, 8))
    sd = np.sqrt(np.diag(C))
    y = np.log(np.diag(C - W.T @ W) / sd**2)
    objective = OfCovariance(C / sd / sd[:, None])
    exact = objective.at(y, 2)
    monkeypatch.setattr(factor_likelihood, "_EXACT_UP_TO", 0.0)
    leading = objective.at(y, 2)
    assert exact.exact and not leading.exact
    np.testing.assert_allclose(leading.hessian(), exact.hessian(), atol=1e-12)
    elsewhere = objective.at(y + RNG.uniform(-0.5, 0.0, 8), 2)
    assert np.linalg.eigvalsh(elsewhere.hessian()).min() > 0.0


@pytest.mark.parametrize("form", list(FORMS))
def test_steps_lead_downwards_and_keep_to_the_free_coordinates(form):
    objective = FORMS[form]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        point = objective.at(np.log(rng.uniform(0.01, 1.0, objective.p)), 3)
        free = rng.random(objective.p) < 0.8
        step = point.newton_step(free)
        assert np.all(step.move[~free] == 0.0)
        assert point.gradient @ step.move < 0.0


def test_steps_solve_the_equations_of_newton():
    """Directly, and by conjugate gradients if the gradient is small."""
    R, y = np.corrcoef(root(200, 10, 2), rowvar=False), np.full(10, np.log(0.6))
    objective = OfCovariance(R)
    for _ in range(20):
        y = np.clip(y + objective.at(y, 2).newton_step(np.ones(10, bool)).move, -5.0, 0.0)
    y = y + 1e-3
    direct = objective.at(y, 2)
    step = direct.newton_step(np.ones(10, bool))
    assert step.convex
    np.testing.assert_allclose(direct.hessian() @ step.move, -direct.gradient, atol=1e-12)
    by_cg = OfRows(np.linalg.cholesky(R).T).at(y, 2).newton_step(np.ones(10, bool))
    assert by_cg.convex

    def decrease(move):
        """What the quadratic model of the objective promises."""
        return -(direct.gradient + 0.5 * direct.hessian() @ move) @ move

    assert decrease(by_cg.move) > 0.99 * decrease(step.move)


@pytest.fixture(params=["array_api_strict", "torch"])
def on_device(request, monkeypatch):
    """A function that gives the objective of a matrix as if it were on a device, whatever its size."""
    library = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    monkeypatch.setattr(factor_likelihood, "_ON_DEVICE_FROM", 2)
    return lambda R: OfCovariance(library.asarray(R))


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("near", [True, False], ids=["exact", "leading part"])
def test_a_device_gives_the_same(on_device, monkeypatch, k, near):
    monkeypatch.setattr(factor_likelihood, "_EXACT_UP_TO", 0)
    # Pieces of one, two and all factors.
    for pieces in (1, 2 * len(Y) ** 2, 1 << 20):
        monkeypatch.setattr(factor_likelihood, "_PAIRS", pieces)
        here, there = (form.at(Y, k, near=near) for form in (FORMS["covariance"], on_device(Z.T @ Z)))
        assert here.exact == there.exact == near
        np.testing.assert_allclose(there.value, here.value, rtol=1e-13)
        np.testing.assert_allclose(there.gradient, here.gradient, atol=1e-12)
        np.testing.assert_allclose(there.hessian(), here.hessian(), atol=1e-11)
        free = np.arange(len(Y)) != 2
        np.testing.assert_allclose(there.newton_step(free).move, here.newton_step(free).move, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("k", [1, 3])
def test_all_uniquenesses_times_the_best_factor(k):
    objective = FORMS["covariance"]
    at = objective.at(Y, k)
    best = objective.at(Y + at.stretch, k)
    assert best.stretch == pytest.approx(0.0, abs=1e-12)
    for step in (-0.01, 0.01):
        assert objective.at(best.y + step, k).value > best.value
