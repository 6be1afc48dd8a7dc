"""The few directions that explain a table of numbers: rows -> a mergeable summary -> a solve."""

from . import densities, errors, features, inspect, kernels, selection, solvers
from .models import (
    CCA,
    GCCA,
    ICA,
    PCA,
    PCR,
    PLSSVD,
    PPCA,
    FactorAnalysis,
    FeatureMapPCA,
    KernelCCA,
    KernelPCA,
    PLSCanonical,
    PLSRegression,
    Whitening,
)
from .planning import plan
from .reading import summarize
from .selection import bootstrap, choose_n_components, cross_validate, permutation_test
from .solvers import kernel_plan
from .sources import open_source
from .summaries import FourthMoments, Moments, Triangle

__version__ = "0.1.0"

__all__ = [
    "CCA",
    "GCCA",
    "ICA",
    "PCA",
    "PCR",
    "PLSSVD",
    "PPCA",
    "FactorAnalysis",
    "FeatureMapPCA",
    "FourthMoments",
    "KernelCCA",
    "KernelPCA",
    "Moments",
    "PLSCanonical",
    "PLSRegression",
    "Triangle",
    "Whitening",
    "bootstrap",
    "choose_n_components",
    "cross_validate",
    "densities",
    "errors",
    "features",
    "inspect",
    "kernel_plan",
    "kernels",
    "open_source",
    "permutation_test",
    "plan",
    "selection",
    "solvers",
    "summarize",
]
