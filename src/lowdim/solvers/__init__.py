"""Solvers: rows -> summary -> result.

There is one subpackage per problem; this module exports what users and authors of solvers need. Users pass solver
objects with their options to models. The author of a new solver derives a class from `Solver` (for spectra) or
`KernelSolver`, states the `Cost` of a `Job`, and computes a record such as `Spectrum` from `RowsLike` and a `Request`.
Adding the class to the table of its problem registers it.
"""

from typing import TYPE_CHECKING

from .._core import imported_when_used
from .ica import ICA_SOLVERS
from .ica.fixed_point import FixedPointICA
from .ica.objective import IcaSolver, Unmixing
from .ica.quasi_newton import QuasiNewtonICA
from .kernel import KERNEL_SOLVERS, kernel_plan
from .kernel.exact import DenseKernel, KernelFit, KrylovKernel
from .kernel.maps import Features, FourierFeatures, Nystrom
from .kernel.matrix import KernelSolver
from .kernel.preimages import PREIMAGES, FixedPoint, Ridge
from .latent import LATENT_SOLVERS
from .latent.base import LatentFit, LatentSolver, Misfit
from .latent.em import EM
from .latent.newton import Newton, NewtonCG
from .latent.rotation import ROTATIONS, Equamax, Oblimin, Promax, Quartimax, Rotation, Varimax
from .pairs.reductions import REDUCTIONS, CovarianceReduction, GramReduction, Reduction, TriangleReduction
from .pairs.views import CanonicalFit, PairFit
from .problem import AnySolver, Cost, Job, Plan, Request, RowsLike, Spectrum, Status, Tail
from .spectra import SOLVERS
from .spectra.covariance import Covariance, Solver, Triangle
from .spectra.gram import Gram
from .spectra.krylov import Krylov

if TYPE_CHECKING:
    from .neural import NEURAL_SOLVERS
    from .neural.network import LinearOptimum, NeuralSolver
    from .neural.training import Adam

__getattr__ = imported_when_used(
    __name__,
    {
        "NEURAL_SOLVERS": "neural",
        "LinearOptimum": "neural.network",
        "NeuralSolver": "neural.network",
        "Adam": "neural.training",
    },
)

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
    "kernel_plan",
]
