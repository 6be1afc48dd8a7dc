"""Minimisation of the objective of factor analysis over bounded log-uniquenesses: from one start, and from several."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from ..results import Status
from .concentrated import Objective, Point

#: Maximal change of the logarithm of a uniqueness in a step.
_LONGEST_STEP = 3.0
#: The iteration has converged after this many consecutive steps that improve the objective by no more than rounding.
_IDLE = 3
#: Constant of the sufficient decrease condition of the line search.
_ARMIJO = 1e-4
#: Objectives that differ by less than this share are those of the same optimum.
_SAME = 1e-7
#: A start other than the first ends at this size of the gradient, unless it leads to a better optimum.
_ROUGH = 1e-4
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

    def is_same_as(self, other: FactorSolution) -> bool:
        """Whether both have the same objective, up to the accuracy of a rough descent."""
        return abs(self.objective - other.objective) <= _SAME * (1.0 + abs(other.objective))


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
        low = math.log(self.floor)
        y = np.clip(np.log(start), low, 0.0)
        at = self.objective.at(y, self.k)
        history = [at.value]
        status, size, idle, polished = Status.NOT_CONVERGED, math.inf, 0, False
        for _ in range(self.max_iter):
            g = at.gradient
            free = ~(((at.y <= low) & (g > 0)) | ((at.y >= 0.0) & (g < 0)))
            size = float(np.abs(g[free]).max(initial=0.0))
            small = size <= max(self.tol, at.rounding)
            if small and (polished or not at.exact or size == 0.0):
                status = Status.CONVERGED
                break
            # A step with exact second derivatives doubles the number of correct digits, so one more is worthwhile.
            polished = small
            following = self._search(at, at.newton_step(free), low)
            if following is None:
                following = self._search(at, np.where(free, -g, 0.0), low)
            if following is None:
                # No step decreases the objective: only rounding is left.
                status = Status.CONVERGED
                break
            idle = idle + 1 if following.value > at.value - at.rounding else 0
            at = following
            history.append(at.value)
            if idle > _IDLE:
                status = Status.CONVERGED
                break
        return FactorSolution(np.exp(at.y), at.loadings, at.value, history, status, size)

    def _search(self, at: Point, d: np.ndarray, low: float) -> Point | None:
        """The first of y + d, y + d/2, ... (clipped to the bounds) with a sufficient decrease, or None."""
        d = d * min(1.0, _LONGEST_STEP / max(float(np.abs(d).max()), 1e-300))
        for _ in range(30):
            trial = np.clip(at.y + d, low, 0.0)
            move = trial - at.y
            slope = float(at.gradient @ move)
            if not np.any(move) or slope >= 0.0:
                return None
            there = self.objective.at(trial, self.k)
            if there.value <= at.value + _ARMIJO * slope + at.rounding:
                return there
            d = 0.5 * d
        return None

    def best(
        self, first: FactorSolution, starts: Iterator[np.ndarray], *, agreeing: int, least: int = 1
    ) -> FactorSolution:
        """The best of `first` and the ends of further starts.

        There are as many as it takes until `agreeing` ends are the best optimum, but at least `least`. A start is
        followed to the end only if it leads to a better optimum.
        """
        best, count = first, 1
        rough = replace(self, tol=max(self.tol, _ROUGH))
        for tried, start in enumerate(starts):
            found = rough.run(start)
            if found.is_same_as(best):
                count += 1
            elif found.objective < best.objective:
                best, count = self._finished(found), 1
            if tried + 1 >= least and count >= agreeing:
                break
        return best

    def _finished(self, rough: FactorSolution) -> FactorSolution:
        """A rough descent continued to the end."""
        found = self.run(rough.psi)
        return replace(found, history=rough.history + found.history[1:])

    def search(self) -> FactorSolution:
        """The best of several local optima: the more a start costs and the better they agree, the fewer there are.

        Beyond 30 columns, a first optimum that is not a Heywood case is taken for the best.
        """
        simple = self.objective.starts(self.k)
        first, p = self.run(simple[0]), self.objective.p
        if p == 1 or (self._is_clear(first) and p > _CLEAR_FROM):
            return first
        work = self.objective.work(self.k)
        affordable = int(_FURTHER_WORK / work / _STEPS)
        most = _MANY if p <= _MANY_UP_TO else _SOME if p <= _SOME_UP_TO else min(_SOME, affordable)
        return self.best(first, islice(self._further_starts(simple, first), most), agreeing=_AGREEING, least=_LEAST)

    def search_near(self, start: np.ndarray) -> FactorSolution:
        """The better of the optimum that is found from `start` and those of two simple starts.

        If the first two agree, or if there are many columns and the first is not a Heywood case, it is not doubted.
        """
        first = self.run(start)
        if self._is_clear(first) and self.objective.p > _CLEAR_FROM:
            return first
        return self.best(first, iter(self.objective.starts(self.k)[:3:2]), agreeing=2)

    def _is_clear(self, found: FactorSolution) -> bool:
        """Whether a descent has converged to an optimum that is not a Heywood case."""
        return found.status is Status.CONVERGED and not np.any(self.at_floor(found.psi))

    def _further_starts(self, simple: list[np.ndarray], first: FactorSolution) -> Iterator[np.ndarray]:
        """The simple starts and those of Heywood cases, in the order in which they are tried."""
        yield from simple[1:3]
        heywood = iter(self._heywood_starts(np.clip(simple[0], 0.1, 0.9), first.psi))
        yield next(heywood)
        yield from simple[3:]
        yield from heywood

    def _heywood_starts(self, base: np.ndarray, psi: np.ndarray) -> list[np.ndarray]:
        """Starts with one small uniqueness, in one of the columns with the least `psi`, by their objectives.

        Each Heywood case is a separate local optimum, and the objective at the start foretells fairly well which is the
        best.
        """
        starts, values = [], []
        for column in np.argsort(psi, kind="stable")[:_COLUMNS]:
            start = base.copy()
            start[column] = max(_SMALL, 2 * self.floor)
            starts.append(start)
            values.append(self.objective.at(np.log(start), self.k).value)
        return [starts[i] for i in np.argsort(values, kind="stable")]

    def at_floor(self, psi: np.ndarray) -> np.ndarray:
        """Which uniquenesses are at the floor."""
        return psi <= 1.01 * self.floor
