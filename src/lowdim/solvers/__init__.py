"""Solvers: summary -> result."""

from .base import Request, Solver
from .choose import SKLEARN_SOLVERS, SOLVERS, Plan, plan, sklearn_solver
from .covariance import Covariance
from .em import EM
from .factor import Newton
from .gram import Dual
from .krylov import Krylov
from .results import CanonicalFit, LatentFit, PairFit, Spectrum, Status
from .rotation import ROTATIONS, Equamax, Oblimin, Promax, Quartimax, Rotation, Varimax
from .triangle import Triangular

__all__ = [
    "EM",
    "ROTATIONS",
    "SKLEARN_SOLVERS",
    "SOLVERS",
    "CanonicalFit",
    "Covariance",
    "Dual",
    "Equamax",
    "Krylov",
    "LatentFit",
    "Newton",
    "Oblimin",
    "PairFit",
    "Plan",
    "Promax",
    "Quartimax",
    "Request",
    "Rotation",
    "Solver",
    "Spectrum",
    "Status",
    "Triangular",
    "Varimax",
    "plan",
    "sklearn_solver",
]
