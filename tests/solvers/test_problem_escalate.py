"""Solve, look, solve again with something finer: the loop that all problems share, with solvers made up for it."""

from dataclasses import dataclass, replace

import pytest

from lowdim.solvers import AnySolver, Cost, Job, Status
from lowdim.solvers.problem import Problem, finer_plan
from lowdim.sources.base import Traits


@dataclass(frozen=True)
class Level(AnySolver):
    """A solver of this fineness, which knows the next one up to `most`."""

    name = "level"
    fineness: int = 0
    most: int = 3
    n_bytes: int = 8
    refuses: int = -1

    def cost(self, job):
        return Cost(1.0, 1, self.n_bytes, "cheap")

    def refusal(self, job):
        return ValueError("no") if self.fineness == self.refuses else None

    def solve(self, rows, request):
        rows.ran.append(self.fineness)
        return Result(self.fineness, Status.EXACT if self.fineness >= rows.enough else rows.unsettled)

    def finer(self, job):
        if self.fineness == self.most:
            return None
        return Level(self.fineness + 1, self.most, self.n_bytes * 1000, self.refuses)


@dataclass(frozen=True)
class Result:
    fineness: int
    status: Status
    passes: int = 2


class Rows:
    """Rows whose job is given, and on which solvers note that they ran."""

    def __init__(self, job, enough, unsettled):
        self.job, self.enough, self.unsettled, self.ran = job, enough, unsettled, []


class Levels(Problem):
    """The problem of reaching a level that is fine enough."""

    def job(self, rows, request):
        return rows.job


def run(first, job, enough, *, unsettled=Status.UNRESOLVED, asked="auto"):
    """What came out, the plan behind it, the passes, and which solvers ran."""
    rows = Rows(job, enough, unsettled)
    found, plan = Levels({"level": first}, Level).solve(rows, None, asked)
    assert found.passes == plan.passes
    return found, plan, found.passes, rows.ran


JOB = Job(100, 5, 2)


def test_what_is_settled_is_solved_once():
    result, plan, passes, ran = run(Level(), JOB, enough=0)
    assert (result.fineness, passes, ran) == (0, 2, [0])
    assert plan == replace(Level().plan(JOB), passes=2)
    assert plan.why == "cheap"


@pytest.mark.parametrize("unsettled", [Status.UNRESOLVED, Status.NOT_CONVERGED])
def test_finer_solvers_until_it_is_settled(unsettled):
    result, plan, passes, ran = run(Level(), JOB, enough=2, unsettled=unsettled)
    assert (result.fineness, passes, ran) == (2, 6, [0, 1, 2])
    assert plan.solver.fineness == 2
    assert plan.why == f"level ended {unsettled.name.lower()}, so a more accurate solver ran"


@pytest.mark.parametrize("status", [s for s in Status if s not in (Status.UNRESOLVED, Status.NOT_CONVERGED)])
def test_other_ends_are_ends(status):
    assert run(Level(), JOB, enough=9, unsettled=status)[3] == [0]


def test_the_finest_solver_is_the_last():
    result, plan, passes, ran = run(Level(most=2), JOB, enough=9)
    assert (result.status, passes, ran) == (Status.UNRESOLVED, 6, [0, 1, 2])
    assert plan.solver == Level(2, 2, 8_000_000)


def test_a_solver_that_was_asked_for_is_not_left():
    assert run(Level(), JOB, enough=2, asked="level")[3] == [0]


def test_rows_that_are_gone_are_not_solved_again():
    assert run(Level(), Job(100, 5, 2, Traits(rereadable=False)), enough=2)[3] == [0]


def test_a_finer_solver_that_refuses_is_not_asked():
    assert run(Level(refuses=1), JOB, enough=2)[3] == [0]
    assert finer_plan(Level(refuses=1).plan(JOB), Status.UNRESOLVED, JOB) is None


def test_a_finer_solver_that_does_not_fit_is_not_run():
    class Small(Job):
        memory = 10_000

    job = Small(100, 5, 2)
    assert run(Level(), job, enough=2)[3] == [0, 1]
    assert finer_plan(Level(1, n_bytes=8_000).plan(job), Status.UNRESOLVED, job) is None


def test_errors_are_passed_on():
    class Bad(Level):
        def solve(self, rows, request):
            raise ValueError("the rows are bad")

    with pytest.raises(ValueError, match="the rows are bad"):
        run(Bad(), JOB, enough=0)
