"""Solvers: rows -> summary -> result.

There is one subpackage per problem; this module exports what users and authors of solvers need. Users pass solver
objects with their options to models. The author of a new solver derives a class from `Solver` (for spectra) or
`KernelSolver`, states the `Cost` of a `Job`, and computes a record such as `Spectrum` from `RowsLike` and a `Request`.
Adding the class to the table of its problem registers it.
"""

from . import ica, kernel, latent, neural, spectra, tables
from .base import AnySolver, Cost, Job, Plan, Request, RowsLike
from .ica import ICA_SOLVERS, FixedPointICA, IcaSolver, QuasiNewtonICA
from .kernel import (
    KERNEL_SOLVERS,
    PREIMAGES,
    DenseKernel,
    Features,
    FixedPoint,
    FourierFeatures,
    KernelSolver,
    KrylovKernel,
    Nystrom,
    Ridge,
)
from .latent import (
    EM,
    LATENT_SOLVERS,
    ROTATIONS,
    Equamax,
    LatentSolver,
    Newton,
    NewtonCG,
    Oblimin,
    Promax,
    Quartimax,
    Rotation,
    Varimax,
)
from .neural import NEURAL_SOLVERS, Adam, LinearOptimum, NeuralSolver
from .results import CanonicalFit, KernelFit, LatentFit, Misfit, PairFit, Spectrum, Status, Tail, Unmixing
from .spectra import SOLVERS, Covariance, Gram, Krylov, Solver, Triangle
from .tables import REDUCTIONS, CovarianceReduction, GramReduction, Reduction, TriangleReduction

__all__ = [
    "EM",
    "ICA_SOLVERS",
    "KERNEL_SOLVERS",
    "LATENT_SOLVERS",
    "NEURAL_SOLVERS",
    "PREIMAGES",
    "REDUCTIONS",
    "ROTATIONS",
    "SOLVERS",
    "Adam",
    "AnySolver",
    "CanonicalFit",
    "Cost",
    "Covariance",
    "CovarianceReduction",
    "DenseKernel",
    "Equamax",
    "Features",
    "FixedPoint",
    "FixedPointICA",
    "FourierFeatures",
    "Gram",
    "GramReduction",
    "IcaSolver",
    "Job",
    "KernelFit",
    "KernelSolver",
    "Krylov",
    "KrylovKernel",
    "LatentFit",
    "LatentSolver",
    "LinearOptimum",
    "Misfit",
    "NeuralSolver",
    "Newton",
    "NewtonCG",
    "Nystrom",
    "Oblimin",
    "PairFit",
    "Plan",
    "Promax",
    "Quartimax",
    "QuasiNewtonICA",
    "Reduction",
    "Request",
    "Ridge",
    "Rotation",
    "RowsLike",
    "Solver",
    "Spectrum",
    "Status",
    "Tail",
    "Triangle",
    "TriangleReduction",
    "Unmixing",
    "Varimax",
    "ica",
    "kernel",
    "latent",
    "neural",
    "spectra",
    "tables",
]
