"""The few directions that explain a table of numbers: rows -> a mergeable summary -> a solve."""

from . import errors, inspect, solvers
from .models import (
    CCA,
    GCCA,
    PCA,
    PCR,
    PLSSVD,
    PPCA,
    FactorAnalysis,
    KernelCCA,
    PLSCanonical,
    PLSRegression,
    Whitening,
)
from .solvers import plan
from .sources import open_source
from .summaries import FourthMoments, Moments, Triangle
from .summarize import summarize

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "GCCA",
    "PCA",
    "PCR",
    "PLSSVD",
    "PPCA",
    "FactorAnalysis",
    "FourthMoments",
    "KernelCCA",
    "Moments",
    "PLSCanonical",
    "PLSRegression",
    "Triangle",
    "Whitening",
    "errors",
    "inspect",
    "open_source",
    "plan",
    "solvers",
    "summarize",
]
