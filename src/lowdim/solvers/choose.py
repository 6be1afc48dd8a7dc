"""The choice of a solver: a pure function that can be asked and that prints its answer."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..errors import choice, needs_memory
from ..sources.base import Traits
from .base import Cost, Job, Solver
from .covariance import Covariance
from .gram import Dual
from .krylov import Krylov
from .triangle import Triangular

#: Solvers by shorthand.
SOLVERS: dict[str, type[Solver]] = {cls.name: cls for cls in (Covariance, Triangular, Dual, Krylov)}

#: scikit-learn's svd_solver strings.
SKLEARN_SOLVERS = {
    "auto": "auto",
    "full": "triangle",
    "covariance_eigh": "covariance",
    "arpack": "krylov",
    "randomized": "krylov",
}


@dataclass(frozen=True)
class Plan:
    """What will run, what it costs, and why."""

    solver: Any
    #: Passes over the rows, at least.
    passes: int
    #: Bytes beside the rows, about.
    n_bytes: int
    why: str

    @property
    def fits_memory(self) -> bool:
        """Whether this machine has the bytes (True where it does not say how many it has)."""
        have = memory_bytes()
        return not have or self.n_bytes <= have

    def __str__(self) -> str:
        size = in_words(self.n_bytes)
        often = {0: "no pass", 1: "1 pass"}.get(self.passes, f"{self.passes} passes") + " over the rows"
        return f"{self.solver.name}: {often}, about {size} beside them; {self.why}"


def in_words(n_bytes: int) -> str:
    """Bytes for a reader."""
    size = f"{n_bytes} bytes"
    for unit, factor in (("MiB", 2**20), ("GiB", 2**30)):
        size = f"{n_bytes / factor:.1f} {unit}" if n_bytes >= factor / 16 else size
    return size


def plan(
    shape: tuple[int | None, int], k: int | None = None, *, solver: str | Solver = "auto", traits: Traits | None = None
) -> Plan:
    """The solver that will run for rows of this shape, and why.

    Parameters
    ----------
    shape : (n, p); n is None for a stream of unknown length
    k : int, optional
        Components wanted; None for all (a fraction of variance needs all, too).
    solver : "auto", a solver's name, or a solver
    traits : Traits, optional
        What the source of the rows allows (`open_source(X).traits`); default: a dense array.

    Examples
    --------
    >>> from lowdim import plan
    >>> print(plan((200_000, 256), 10))
    covariance: 1 pass over the rows, about 6.0 MiB beside them; one product of the rows is cheapest for 256 columns
    """
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise TypeError(f"shape must be a pair (n, p), got {type(shape).__name__}; for rows pass X.shape.")
    if k is not None and not 1 <= k <= shape[1]:
        raise ValueError(f"k={k} must be between 1 and p={shape[1]}, or None for all.")
    job = Job(*shape, k, traits or Traits())
    if isinstance(solver, str) and solver == "auto":
        return _cheapest(job, memory_bytes())
    if isinstance(solver, str):
        if solver not in SOLVERS:
            advice = f"scikit-learn's names go into svd_solver={solver!r}." if solver in SKLEARN_SOLVERS else ""
            raise choice("solver", solver, ["auto", *SOLVERS], advice)
        solver = SOLVERS[solver]()
    if not isinstance(solver, Solver):
        made = f"; make one: {solver.__name__}()" if isinstance(solver, type) else ""
        raise TypeError(f"solver must be a name or a solver object, got {type(solver).__name__}{made}.")
    refusal = solver.refusal(job)
    if refusal is not None:
        raise refusal
    return _plan(solver, solver.cost(job), "as asked")


@lru_cache(maxsize=256)
def _cheapest(job: Job, have: int) -> Plan:
    """The solver of least work among those that can, should, and fit into the `have` bytes of memory (0: unknown)."""
    candidates = [cls() for cls in SOLVERS.values()]
    costs = {s: s.cost(job) for s in candidates if s.refusal(job) is None}
    fitting = {s: c for s, c in costs.items() if not have or c.n_bytes <= have}
    if not fitting:
        least = min(costs, key=lambda s: costs[s].n_bytes)
        advice = "Pass n_components as a small whole number, so that few directions are looked for."
        raise needs_memory(f"solver={least.name!r} on {job.p} columns", costs[least].n_bytes, have, advice)
    sensible = {s: c for s, c in fitting.items() if s.is_sensible(job)} or fitting
    best = min(sensible, key=lambda s: sensible[s].work)
    return _plan(best, sensible[best], sensible[best].why)


def _plan(solver: Solver, cost: Cost, why: str) -> Plan:
    return Plan(solver, cost.passes, cost.n_bytes, why)


def memory_bytes() -> int:
    """Bytes of memory of this machine, 0 where it does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


def free_bytes() -> int:
    """Bytes of memory that are free now, or all where the system does not say; 0 where it says nothing at all."""
    found = []
    try:
        with open("/proc/meminfo") as file:
            found += [1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:")]
        with open("/sys/fs/cgroup/memory.max") as limit, open("/sys/fs/cgroup/memory.current") as used:
            found.append(max(0, int(limit.read()) - int(used.read())))
    except (OSError, ValueError):
        # No Linux, or no limit on this group of processes.
        pass
    return min(found, default=memory_bytes())


def sklearn_solver(svd_solver: Any) -> str:
    """The name of the solver that scikit-learn's `svd_solver` string asks for."""
    if svd_solver not in SKLEARN_SOLVERS:
        raise choice(
            "svd_solver", svd_solver, list(SKLEARN_SOLVERS), "Options of a solver go into solver=..., e.g. Krylov()."
        )
    return SKLEARN_SOLVERS[svd_solver]
