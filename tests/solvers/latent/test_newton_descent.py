"""Local minima of the objective of factor analysis: from one start, from several, and near a known one."""

import numpy as np
import pytest

from lowdim.solvers import Newton, NewtonCG, Status
from lowdim.solvers.latent import factor_likelihood
from lowdim.solvers.latent.factor_likelihood import OfCovariance, OfRows, Step
from lowdim.solvers.latent.newton import Corrections, Descent
from lowdim.summaries import Moments
from parity.reference import data

FLOOR = 1e-6


def descent(R, k, **options):
    return Descent(OfCovariance(R), k, Newton(floor=FLOOR, **options))


def noise(n=300, p=12, seed=0):
    return np.corrcoef(np.random.default_rng(seed).standard_normal((n, p)), rowvar=False)


REAL = {
    f"{name}, {k} factors": (np.corrcoef(data(name), rowvar=False), k)
    for name, ks in {"swiss": (1, 2, 3), "crabs": (1, 2), "mfeat_mor": (1, 2), "longley": (1, 2, 3)}.items()
    for k in ks
}
MADE = {f"noise {seed}, {k} factors": (noise(seed=seed), k) for seed in range(3) for k in (1, 3)}
TABLES = REAL | MADE


@pytest.mark.parametrize("what", list(TABLES))
def test_no_random_start_ends_at_a_better_optimum(what):
    """Thirty starts are far more than the search takes."""
    R, k = TABLES[what]
    found = Newton().minimise(OfCovariance(R), k)
    assert found.status is Status.CONVERGED
    search, random = descent(R, k), np.random.default_rng(1)
    ends = [search.run(random.uniform(0.05, 0.95, len(R))).objective for _ in range(30)]
    assert found.objective <= min(ends) + 1e-8 * (1.0 + abs(found.objective))


def test_negative_curvature_does_not_stop_a_descent():
    """From the standard start of these tables, steps that ignore negative curvature make no progress."""
    for name, k in (("mfeat_mor", 2), ("metabolite_complete", 8)):
        R = np.corrcoef(data(name), rowvar=False)
        search = descent(R, k)
        found = search.run(next(search.objective.starts(k)))
        assert found.status is Status.CONVERGED
        assert len(found.history) < 60
        assert np.all(np.diff(found.history) <= 1e-9)


def test_a_start_that_finds_a_known_optimum_or_none_that_is_better_ends_early():
    R, k = TABLES["swiss, 2 factors"]
    search = descent(R, k)
    random = np.random.default_rng(0)
    ends = [search.run(random.uniform(0.05, 0.95, len(R))) for _ in range(12)]
    best, worst = min(ends, key=lambda f: f.objective), max(ends, key=lambda f: f.objective)
    assert worst.objective > best.objective + 0.01
    assert search._run(best.psi, best) is best
    assert search._run(np.clip(worst.psi, 0.01, 1.0), best) is None
    assert search._run(np.clip(best.psi, 0.01, 1.0), worst).objective == pytest.approx(best.objective, abs=1e-9)


def test_the_best_of_several_starts():
    R, k = TABLES["swiss, 2 factors"]
    search = descent(R, k)
    random = np.random.default_rng(0)
    starts = [random.uniform(0.05, 0.95, len(R)) for _ in range(12)]
    ends = [search.run(start).objective for start in starts]
    worst = search.run(starts[int(np.argmax(ends))])
    assert search.best(worst, iter(starts), agreeing=99).objective == pytest.approx(min(ends), abs=1e-9)
    # Once two of them agree, no further one is tried.
    assert search.best(worst, iter([worst.psi, starts[int(np.argmin(ends))]]), agreeing=2) is worst


def test_uniquenesses_reach_the_floor_in_few_steps():
    """One column is the factor."""
    R = np.full((5, 5), 0.45)
    R[0, :] = R[:, 0] = 0.7
    np.fill_diagonal(R, 1.0)
    found = descent(R, 1).run(np.full(5, 0.5))
    assert found.psi[0] <= 1.01 * FLOOR
    assert len(found.history) < 15
    np.testing.assert_allclose(found.psi[1:], 0.51, atol=1e-5)


@pytest.mark.parametrize("what", list(TABLES))
def test_near_a_solution(what):
    """It is found again; and from elsewhere, a Heywood case is no worse than what the standard start leads to."""
    R, k = TABLES[what]
    search = descent(R, k)
    best = search.search()
    again = search.search_near(np.clip(best.psi * np.random.default_rng(0).uniform(0.9, 1.1, len(R)), 0.05, 1.0))
    assert again.objective <= best.objective + 1e-8 * (1.0 + abs(best.objective))
    standard = search.run(next(search.objective.starts(k)))
    from_fewer = search.search_near(np.clip(descent(R, max(k - 1, 1)).search().psi, 0.05, 1.0))
    if (from_fewer.psi <= 1.01 * FLOOR).any():
        assert from_fewer.objective <= standard.objective + 1e-9 * abs(standard.objective)
    # As the first of all starts, it leads to nothing worse than the others.
    assert search.search(np.clip(best.psi, 0.05, 1.0)).objective <= best.objective + 1e-8 * (1.0 + abs(best.objective))


def test_random_starts_as_many_as_asked():
    R, k = TABLES["noise 0, 3 factors"]
    counted = []

    class Counting(OfCovariance):
        def at(self, y, k, *, near=False):
            counted.append(y)
            return super().at(y, k, near=near)

    for n_init in (0, 5):
        counted.clear()
        found = Newton(n_init=n_init).minimise(Counting(R), k)
        random = np.random.default_rng(0)
        starts = [np.log(random.uniform(0.05, 0.95, len(R))) for _ in range(n_init + 1)]
        assert [any(np.array_equal(start, y) for y in counted) for start in starts] == [True] * n_init + [False]
    assert found.objective <= Newton(n_init=0).minimise(OfCovariance(R), k).objective + 1e-12


@pytest.mark.parametrize("k", [1, 3])
def test_rows_and_their_covariance_lead_to_the_same_place(k):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((15, 3)) @ rng.standard_normal((3, 40)) + 0.7 * rng.standard_normal((15, 40))
    Z = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(15)
    by_rows, by_covariance = (Newton().minimise(f, k) for f in (OfRows(Z), OfCovariance(Z.T @ Z)))
    assert by_rows.status is Status.CONVERGED
    np.testing.assert_allclose(by_rows.objective, by_covariance.objective, atol=1e-9)
    np.testing.assert_allclose(by_rows.psi, by_covariance.psi, atol=1e-6)


def test_a_root_of_moments_and_a_root_with_more_rows_than_the_rank():
    """What `NewtonCG` makes of a summary does not change its result."""
    from lowdim import FactorAnalysis
    from lowdim.reading import summarize

    rng = np.random.default_rng(6)
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 30)) + rng.standard_normal((20, 30))
    by_rows = FactorAnalysis(2, solver=NewtonCG()).fit(X)
    by_moments = FactorAnalysis(2, solver=NewtonCG()).fit_summary(summarize(X, Moments))
    in_blocks = FactorAnalysis(2, solver=NewtonCG()).fit([X[i : i + 1] for i in range(20)])
    for other in (by_moments, in_blocks):
        np.testing.assert_allclose(other.loglike_[-1], by_rows.loglike_[-1], rtol=1e-10)
        np.testing.assert_allclose(other.loadings_, by_rows.loadings_, atol=1e-6)


# ---- Many columns: exact second derivatives only near the end


def misfit(p=40, factors=6, seed=3):
    """A correlation matrix with more factors than are fitted, so that the leading part of the second derivatives is far
    from all of them."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((factors, p)) * np.linspace(0.5, 2.0, factors)[:, None]
    S = B.T @ B + np.diag(rng.uniform(0.5, 1.5, p))
    sd = np.sqrt(np.diagonal(S))
    return S / sd / sd[:, None]


@pytest.mark.parametrize("k", [1, 3, 5])
def test_exact_steps_near_the_end_find_the_same_optimum(monkeypatch, k):
    R = misfit()
    expected = descent(R, k, tol=1e-10).search()
    monkeypatch.setattr(factor_likelihood, "_EXACT_UP_TO", 0)
    found = descent(R, k, tol=1e-10).search()
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(expected.objective, rel=1e-12)
    np.testing.assert_allclose(found.psi, expected.psi, rtol=1e-6)


def test_exact_steps_replace_many_usual_ones(monkeypatch):
    R, k, used = misfit(), 3, []

    class Watched(OfCovariance):
        def at(self, y, k, *, near=False):
            used.append(near)
            return super().at(y, k, near=near)

    monkeypatch.setattr(factor_likelihood, "_EXACT_UP_TO", 0)
    monkeypatch.setattr(Watched, "price", lambda self, k: 0.5)
    found = Descent(Watched(R), k, Newton(tol=1e-10, floor=FLOOR)).search()
    assert any(used) and not used[0]
    assert found.residual < 1e-12
    usual = len(used)
    used.clear()
    monkeypatch.setattr(Watched, "price", lambda self, k: np.inf)
    Descent(Watched(R), k, Newton(tol=1e-10, floor=FLOOR)).search()
    assert not any(used) and len(used) > usual


def test_corrections_give_the_curvature_of_the_last_step():
    """The corrected inverse of the second derivatives maps the last difference of gradients to the last step."""
    objective, free = OfCovariance(misfit()), np.ones(40, dtype=bool)
    corrections, rng = Corrections(), np.random.default_rng(0)
    y = np.log(rng.uniform(0.3, 0.6, 40))
    at = objective.at(y, 3)
    corrections.step(at, free)
    after = objective.at(y + 0.01 * rng.standard_normal(40), 3)
    corrections.note(at, after)

    class Linear:
        """A point whose gradient is the last difference, and whose plain steps are those of the identity."""

        gradient = after.gradient - at.gradient

        def newton_step(self, free, gradient=None):
            return Step(-np.where(free, self.gradient if gradient is None else gradient, 0.0), True)

    np.testing.assert_allclose(corrections.step(Linear(), free).move, at.y - after.y, atol=1e-12)
    # Other coordinates are free now, so what is remembered is of no use.
    free[3] = False
    assert corrections.step(Linear(), free).move[3] == 0.0
