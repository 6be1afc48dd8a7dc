"""Solvers: summary -> result."""

from .base import Request, Solver
from .choose import SKLEARN_SOLVERS, SOLVERS, Plan, plan, sklearn_solver
from .covariance import Covariance
from .gram import Dual
from .krylov import Krylov
from .results import Spectrum, Status
from .triangle import Triangular

__all__ = [
    "SKLEARN_SOLVERS",
    "SOLVERS",
    "Covariance",
    "Dual",
    "Krylov",
    "Plan",
    "Request",
    "Solver",
    "Spectrum",
    "Status",
    "Triangular",
    "plan",
    "sklearn_solver",
]
