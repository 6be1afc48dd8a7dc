"""Minimisation of the objective of factor analysis over bounded log-uniquenesses: from one start, and from several."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from ..results import Status
from .concentrated import Objective, Point
from .corrections import Corrections

#: Maximal change of the logarithm of a uniqueness in a step.
_LONGEST_STEP = 3.0
#: The iteration has converged after this many consecutive steps that improve the objective by no more than rounding.
_IDLE = 3
#: Log-uniquenesses below this may be on their way to zero. Of many columns, all may have small ones.
_VANISHING, _VANISHING_OF_MANY = math.log(0.05), math.log(0.002)
#: Constant of the sufficient decrease condition of the line search.
_ARMIJO = 1e-4
#: A descent is on its way to a known optimum if no uniqueness differs by more than this.
_NEAR = 0.02
#: A descent cannot reach an objective that is below its own by this many times what Newton's step promises.
_HOPE = 4.0
#: A start whose uniquenesses should all be larger or smaller by more than this factor is moved there first.
_STRETCHED = 4.0
#: Exact steps, if they are not the usual ones, begin when no derivative is larger than this; so many of them then lead
#: to the end.
_CLOSE, _LAST_STEPS = 0.1, 4
#: Beyond this many columns, an optimum that is not a Heywood case is final.
_CLEAR_FROM = 30
#: Maximal numbers of further starts, and the numbers of columns up to which they hold.
_MANY, _MANY_UP_TO = 11, 30
_SOME, _SOME_UP_TO = 3, 100
#: Beyond these, further starts may take this many multiplications in all, with so many steps for each of them.
_FURTHER_WORK, _STEPS = 5e7, 20
#: Least number of further starts, and the number of starts that have to end at the best optimum.
_LEAST, _AGREEING = 3, 3
#: Maximal number of columns in which a Heywood case is tried, and the uniqueness that it starts with.
_COLUMNS, _SMALL = 40, 0.01


@dataclass(frozen=True)
class FactorSolution:
    """The result of a descent, in units of the standard deviations of the columns."""

    psi: np.ndarray
    #: Loadings, (k, p).
    loadings: np.ndarray
    #: -2 log-likelihood / n without the constant p ln 2 pi.
    objective: float
    history: list[float] = field(repr=False)
    status: Status
    #: The largest absolute derivative with respect to a log-uniqueness that is not at a bound.
    residual: float


@dataclass(frozen=True)
class Descent:
    """Newton's method with a line search, for one objective and one number of factors.

    Parameters
    ----------
    objective : Objective
    k : int
    tol, max_iter, floor
        As those of `Newton`.
    """

    objective: Objective
    k: int
    tol: float
    max_iter: int
    floor: float

    def run(self, start: np.ndarray) -> FactorSolution:
        """The local minimum found from the uniquenesses `start`."""
        found = self._run(start, None)
        assert found is not None
        return found

    def _run(self, start: np.ndarray, best: FactorSolution | None) -> FactorSolution | None:
        """The local minimum found from `start`. If one is known already, that is returned if it is found again, and
        None if no better one would be found."""
        low = math.log(self.floor)
        at = self._first(np.clip(np.log(start), low, 0.0), low)
        history = [at.value]
        status, size, idle, polished = Status.NOT_CONVERGED, math.inf, 0, False
        near, close, corrections = False, _CLOSE, Corrections()
        for _ in range(self.max_iter):
            g = at.gradient
            free = ~(((at.y <= low) & (g > 0)) | ((at.y >= 0.0) & (g < 0)))
            before, size = size, float(np.abs(g[free]).max(initial=0.0))
            if not (near or at.exact) and self._is_worth_exact_steps(before, size, close):
                near, at = True, self.objective.at(at.y, self.k, near=True)
            small = size <= max(self.tol, at.rounding)
            if small and (polished or not at.exact or size == 0.0):
                status = Status.CONVERGED
                break
            # A step with exact second derivatives doubles the number of correct digits, so one more is worthwhile.
            polished = small
            if best is not None and np.abs(np.exp(at.y) - best.psi).max() < _NEAR:
                return best
            step = at.newton_step(free) if at.exact else corrections.step(at, free)
            if near and not step.convex:
                # It is not that near: the usual steps go on until the derivatives are much smaller.
                near, close, at = False, 0.1 * size, self.objective.at(at.y, self.k)
                step = corrections.step(at, free)
            if best is not None and step.convex and at.value + 0.5 * _HOPE * float(g @ step.move) > best.objective:
                return None
            following = self._search(at, step.move, low, near)
            if following is None:
                following = self._search(at, np.where(free, -g, 0.0), low, near)
            if following is None:
                # No step decreases the objective: only rounding is left.
                status = Status.CONVERGED
                break
            if not at.exact:
                corrections.note(at, following)
            idle = idle + 1 if following.value > at.value - at.rounding else 0
            at = following
            history.append(at.value)
            if idle > _IDLE:
                status = Status.CONVERGED
                break
        return FactorSolution(np.exp(at.y), at.loadings, at.value, history, status, size)

    def _first(self, y: np.ndarray, low: float) -> Point:
        """The point to start from: `y`, or if all uniquenesses are much too small or too large there, y + ln c."""
        at = self.objective.at(y, self.k)
        stretch = at.stretch
        if abs(stretch) <= math.log(_STRETCHED):
            return at
        there = self.objective.at(np.clip(y + stretch, low, 0.0), self.k)
        return there if there.value < at.value else at

    def _is_worth_exact_steps(self, before: float, size: float, close: float) -> bool:
        """Whether a few exact steps take less time than the usual ones that are still to come, if the largest
        derivative goes on to fall as it did in the last step."""
        if not self.tol < size <= close or not size < before < math.inf:
            return False
        steps = math.log(self.tol / size) / math.log(size / before)
        return steps > _LAST_STEPS * self.objective.price(self.k)

    def _search(self, at: Point, d: np.ndarray, low: float, near: bool = False) -> Point | None:
        """The first of y + d, y + d/2, ... (clipped to the bounds) with a sufficient decrease, or None.

        Before that, small uniquenesses that d makes much smaller are tried at the floor: towards zero the objective is
        linear in psi, so Newton's steps in ln psi would need many steps to get there.
        """
        d = d * min(1.0, _LONGEST_STEP / max(float(np.abs(d).max()), 1e-300))
        small = _VANISHING if at.exact and not near else _VANISHING_OF_MANY
        vanishing = (at.y < small) & (d < -0.5)
        attempt = np.where(vanishing, low - at.y, d) if vanishing.any() else d
        for _ in range(30):
            trial = np.clip(at.y + attempt, low, 0.0)
            move = trial - at.y
            slope = float(at.gradient @ move)
            if not np.any(move) or slope >= 0.0:
                return None
            there = self.objective.at(trial, self.k, near=near)
            # Of the uniquenesses at the floor, only what the plain step would have gained is asked for.
            asked = slope if attempt is d else float(at.gradient @ np.maximum(d, move))
            if there.value <= at.value + _ARMIJO * asked + at.rounding:
                return there
            attempt = d = 0.5 * d if attempt is d else d
        return None

    def best(
        self, first: FactorSolution, starts: Iterator[np.ndarray], *, agreeing: int, least: int = 1
    ) -> FactorSolution:
        """The best of `first` and the ends of further starts.

        There are as many as it takes until `agreeing` ends are the best optimum, but at least `least`.
        """
        best, count = first, 1
        for tried, start in enumerate(starts, 1):
            found = self._run(start, best)
            if found is best:
                count += 1
            elif found is not None and found.objective < best.objective:
                best, count = found, 1
            if tried >= least and count >= agreeing:
                break
        return best

    def search(self, start: np.ndarray | None = None) -> FactorSolution:
        """The best of several local optima: the more a start costs and the better they agree, the fewer there are.

        If `start` is given, it is the first start. Beyond 30 columns, a first optimum that is not a Heywood case is
        taken for the best.
        """
        simple, p = self.objective.starts(self.k), self.objective.p
        first = self.run(next(simple) if start is None else start)
        if p == 1 or (self._is_clear(first) and p > _CLEAR_FROM):
            return first
        affordable = int(_FURTHER_WORK / self.objective.work(self.k) / _STEPS)
        most = _MANY if p <= _MANY_UP_TO else _SOME if p <= _SOME_UP_TO else min(_SOME, affordable)
        before = 2
        if start is not None:
            # The standard start is among the further ones, of which fewer are needed.
            most, before = min(most, _SOME) + 1, 3
        starts = islice(self._further_starts(simple, first, before), most)
        return self.best(first, starts, agreeing=_AGREEING, least=_LEAST)

    def search_near(self, start: np.ndarray) -> FactorSolution:
        """The optimum that is found from `start`; if it is a Heywood case, the better of it and that of the standard
        start."""
        first = self.run(start)
        return (
            first if self._is_clear(first) else self.best(first, islice(self.objective.starts(self.k), 1), agreeing=2)
        )

    def _is_clear(self, found: FactorSolution) -> bool:
        """Whether a descent has converged to an optimum that is not a Heywood case."""
        return found.status is Status.CONVERGED and not np.any(self.at_floor(found.psi))

    def _further_starts(
        self, simple: Iterator[np.ndarray], first: FactorSolution, n_before: int
    ) -> Iterator[np.ndarray]:
        """The simple starts and those of Heywood cases, of which the best comes after `n_before` simple ones."""
        yield from islice(simple, n_before)
        heywood = iter(self._heywood_starts(first.psi))
        yield next(heywood)
        yield from simple
        yield from heywood

    def _heywood_starts(self, psi: np.ndarray) -> list[np.ndarray]:
        """Starts with one column, of those with the least `psi`, as a factor: other columns have the variance that is
        left given this one.

        Each Heywood case is a separate local optimum, and the objective at the start foretells fairly well which is the
        best, so the starts are in the order of their objectives.
        """
        starts, values = [], []
        for column in np.argsort(psi, kind="stable")[:_COLUMNS]:
            start = np.clip(1.0 - self.objective.correlations(column) ** 2, 0.1, 0.9)
            start[column] = max(_SMALL, 2 * self.floor)
            starts.append(start)
            values.append(self.objective.at(np.log(start), self.k).value)
        return [starts[i] for i in np.argsort(values, kind="stable")]

    def at_floor(self, psi: np.ndarray) -> np.ndarray:
        """Which uniquenesses are at the floor."""
        return psi <= 1.01 * self.floor
