"""Solvers: summary -> result."""

from .base import Cost, Job, Plan, Request, RowsLike
from .ica.fixed_point import FixedPointICA
from .ica.objective import Objective
from .ica.quasi_newton import QuasiNewtonICA
from .kernel import KERNEL_SOLVERS, kernel_plan
from .kernel.exact import DenseKernel, ExactKernel, KrylovKernel
from .kernel.job import KernelJob, KernelSolver
from .kernel.maps import Features, FourierFeatures, MapSolver, Nystrom
from .kernel.preimages import PREIMAGES, FixedPoint, Ridge
from .latent import EM, ROTATIONS, Equamax, Newton, Oblimin, Promax, Quartimax, Rotation, Varimax
from .results import CanonicalFit, KernelFit, LatentFit, PairFit, Spectrum, Status, Unmixing
from .spectra import SKLEARN_SOLVERS, SOLVERS, Covariance, Gram, Krylov, Solver, Triangle, sklearn_solver

__all__ = [
    "EM",
    "KERNEL_SOLVERS",
    "PREIMAGES",
    "ROTATIONS",
    "SKLEARN_SOLVERS",
    "SOLVERS",
    "CanonicalFit",
    "Cost",
    "Covariance",
    "DenseKernel",
    "Equamax",
    "ExactKernel",
    "Features",
    "FixedPoint",
    "FixedPointICA",
    "FourierFeatures",
    "Gram",
    "Job",
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
    "RowsLike",
    "Solver",
    "Spectrum",
    "Status",
    "Triangle",
    "Unmixing",
    "Varimax",
    "kernel_plan",
    "sklearn_solver",
]
