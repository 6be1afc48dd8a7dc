"""Which solver of latent Gaussian models runs: complete rows, rows with missing entries, a summary, and as asked."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import lowdim
from inputs import with_missing
from lowdim import PPCA, FactorAnalysis
from lowdim.reading import summarize
from lowdim.solvers import EM, LATENT_SOLVERS, Newton, Status, latent
from lowdim.solvers.latent.base import ClosedForm, LatentJob
from lowdim.sources import open_source
from lowdim.summaries import Moments
from recorder import passes_of

RNG = np.random.default_rng(3)
X = RNG.standard_normal((120, 2)) @ RNG.standard_normal((2, 6)) + 0.5 * RNG.standard_normal((120, 6)) + 4.0
INCOMPLETE = with_missing(X)
MODELS = {"PPCA": (PPCA, True), "FactorAnalysis": (FactorAnalysis, False)}
#: Which solver runs: the model, its options, the rows, and the solvers of the plan and of the fit.
CHOICES = {
    "PPCA, complete": (PPCA(2), X, "covariance", "covariance"),
    "PPCA, missing entries": (PPCA(2), INCOMPLETE, "covariance", "em"),
    "PPCA by triangle": (PPCA(2, solver="triangle"), X, "triangle", "triangle"),
    "PPCA by triangle, missing entries": (PPCA(2, solver="triangle"), INCOMPLETE, "triangle", "em"),
    "PPCA by em": (PPCA(2, solver="em"), X, "em", "em"),
    "PPCA with a prior": (PPCA(2, prior="vb"), X, "em", "em"),
    "PPCA, unstored": (PPCA(2, missing="unstored"), sparse.csr_array(np.nan_to_num(INCOMPLETE)), "em", "em"),
    "PPCA, unstored but dense": (PPCA(2, missing="unstored"), X, "covariance", "covariance"),
    "FactorAnalysis, complete": (FactorAnalysis(2), X, "newton", "newton"),
    "FactorAnalysis, missing entries": (FactorAnalysis(2), INCOMPLETE, "newton", "em"),
    "FactorAnalysis by em": (FactorAnalysis(2, solver="em"), X, "em", "em"),
    "FactorAnalysis by newton, missing entries": (FactorAnalysis(2, solver=Newton()), INCOMPLETE, "newton", "em"),
}


@pytest.mark.parametrize("what", list(CHOICES))
def test_choices(what):
    model, rows, planned, run = CHOICES[what]
    plan = lowdim.plan(model, rows)
    assert plan.solver.name == planned
    model.fit(rows)
    assert (model.solver_, model.plan_.solver.name) == (run, run)
    assert model.plan_.passes == model.n_passes_
    # What cannot be known before rows are read is said.
    if planned != "em":
        assert plan.why.endswith("(rows with missing entries: em)")


def test_a_plan_does_not_look_for_missing_entries():
    """They may lie anywhere, and a plan reads nothing."""
    assert lowdim.plan(PPCA(2), INCOMPLETE) == lowdim.plan(PPCA(2), X)


@pytest.mark.parametrize("name", list(LATENT_SOLVERS))
def test_rows_and_their_moments(name):
    """Both ways lead to the same likelihood."""
    solver = LATENT_SOLVERS[name]()
    fit = FactorAnalysis(2, solver=solver).fit(X)
    again = FactorAnalysis(2, solver=name).fit_summary(summarize(X, Moments(6, wide=True)))
    assert fit.plan_.solver == again.plan_.solver == solver
    assert (again.plan_.passes, again.plan_.why) == (0, "from a summary")
    assert fit.status_ is again.status_ is Status.CONVERGED
    assert again.loglike_[-1] == pytest.approx(fit.loglike_[-1], rel=1e-8)
    newton = FactorAnalysis(2, solver=Newton()).fit(X)
    assert fit.loglike_[-1] == pytest.approx(newton.loglike_[-1], rel=1e-6)


@pytest.mark.parametrize("name", list(LATENT_SOLVERS))
@pytest.mark.parametrize("model", list(MODELS))
def test_every_solver_is_taken_or_refused_by_name_and_by_object(model, name):
    """One noise variance for all columns is not what every solver can fit."""
    cls, tied = MODELS[model]
    able = LATENT_SOLVERS[name].ties_noise or not tied
    for solver in (name, LATENT_SOLVERS[name]()):
        if able:
            assert lowdim.plan(cls(2, solver=solver), X).solver == LATENT_SOLVERS[name]()
            assert cls(2, solver=solver).fit(X).solver_ == name
        else:
            with pytest.raises(ValueError, match="is not one of 'auto', 'em', 'covariance'"):
                cls(2, solver=solver).fit(X)


def test_a_solver_object_need_not_be_in_the_table():
    class Other(EM):
        pass

    class Patient(Newton):
        name = "patient"

    assert FactorAnalysis(2, solver=Other()).fit(X).solver_ == "em"
    assert FactorAnalysis(2, solver=Patient()).fit(X).solver_ == "patient"
    with pytest.raises(ValueError, match=r"Or an object from lowdim\.solvers"):
        PPCA(2, solver=Patient()).fit(X)
    for solver in (Newton, "closed-form"):
        with pytest.raises(ValueError, match=r"Or an object from lowdim\.solvers"):
            FactorAnalysis(2, solver=solver).fit(X)


#: The solver that "auto" takes for each kind of job: one noise variance or many, a prior or none, rows complete or not.
JOBS = {
    (tied, bayes, complete): EM if bayes or not complete else ClosedForm if tied else Newton
    for tied in (True, False)
    for bayes in (True, False)
    for complete in (True, False)
}


@pytest.mark.parametrize("kind", list(JOBS))
def test_auto_takes_the_cheapest_solver_that_can_do_the_job(kind):
    job = LatentJob(120, 6, 2, open_source(X).traits, *kind)
    assert type(latent.PROBLEM.choose(job, "auto")) is JOBS[kind]
    for solver in (Newton(), EM(), ClosedForm()):
        tied, bayes, complete = kind
        able = (solver.ties_noise if tied else solver.separates_noise) and (solver.takes_prior or not bayes)
        able = able and (solver.takes_missing or complete)
        assert (solver.refusal(job) is None) == able
        if able:
            assert solver.cost(job).n_bytes == solver.plan(job).n_bytes > 0


def test_auto_compares_the_work_of_all_solvers_of_the_table(monkeypatch):
    class Quick(Newton):
        name = "quick"

        def cost(self, job):
            return replace(super().cost(job), work=1.0)

    class Slow(Newton):
        name = "slow"

        def cost(self, job):
            return replace(super().cost(job), work=1e300)

    monkeypatch.setitem(LATENT_SOLVERS, "slow", Slow)
    assert FactorAnalysis(2).fit(X).solver_ == "newton"
    monkeypatch.setitem(LATENT_SOLVERS, "quick", Quick)
    assert FactorAnalysis(2).fit(X).solver_ == "quick"
    assert PPCA(2).fit(X).solver_ == "covariance"


def test_a_job_that_does_not_fit_is_refused_before_the_rows_are_summarized(memory):
    """The first block is looked at before, since rows with missing entries need less memory."""
    memory(1000)

    def refused(solver):
        with pytest.raises(MemoryError, match="on 6 columns"):
            FactorAnalysis(2, solver=solver).fit(X)

    for solver in ("auto", "newton", "em"):
        assert passes_of(refused, solver) == []


def test_options_of_em_hold_for_rows_with_missing_entries():
    from lowdim.errors import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="solver='em' stopped after 3 steps"):
        model = PPCA(2, solver=EM(max_iter=3)).fit(INCOMPLETE)
    assert model.plan_.solver == EM(max_iter=3)
