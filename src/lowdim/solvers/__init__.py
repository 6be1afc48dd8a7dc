"""Solvers: summary -> result."""

from .base import Request, Solver
from .choose import SKLEARN_SOLVERS, SOLVERS, Plan, plan, sklearn_solver
from .covariance import Covariance
from .em import EM
from .factor import Newton
from .fixed_point_ica import FixedPointICA
from .gram import Dual
from .kernel_base import KernelJob, KernelSolver
from .kernel_exact import DenseKernel, ExactKernel, KrylovKernel
from .kernel_maps import Explicit, FourierFeatures, MapSolver, Nystrom
from .kernel_plan import KERNEL_SOLVERS, kernel_plan
from .krylov import Krylov
from .preimages import PREIMAGES, FixedPoint, Ridge
from .quasi_newton_ica import QuasiNewtonICA
from .results import CanonicalFit, KernelFit, LatentFit, PairFit, Spectrum, Status, Unmixing
from .rotation import ROTATIONS, Equamax, Oblimin, Promax, Quartimax, Rotation, Varimax
from .triangle import Triangular
from .unmixing import Objective

__all__ = [
    "EM",
    "KERNEL_SOLVERS",
    "PREIMAGES",
    "ROTATIONS",
    "SKLEARN_SOLVERS",
    "SOLVERS",
    "CanonicalFit",
    "Covariance",
    "DenseKernel",
    "Dual",
    "Equamax",
    "ExactKernel",
    "Explicit",
    "FixedPoint",
    "FixedPointICA",
    "FourierFeatures",
    "KernelFit",
    "KernelJob",
    "KernelSolver",
    "Krylov",
    "KrylovKernel",
    "LatentFit",
    "MapSolver",
    "Newton",
    "Nystrom",
    "Objective",
    "Oblimin",
    "PairFit",
    "Plan",
    "Promax",
    "Quartimax",
    "QuasiNewtonICA",
    "Request",
    "Ridge",
    "Rotation",
    "Solver",
    "Spectrum",
    "Status",
    "Triangular",
    "Unmixing",
    "Varimax",
    "kernel_plan",
    "plan",
    "sklearn_solver",
]
