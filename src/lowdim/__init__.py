"""The few directions that explain a table of numbers: rows -> a mergeable summary -> a solve."""

from . import densities, errors, features, inspect, kernels, models, selection, solvers
from .models import *  # noqa: F403 (a model is named once, in models.__all__)
from .planning import plan
from .reading import summarize
from .selection import bootstrap, choose_n_components, cross_validate, permutation_test
from .solvers.kernel import kernel_plan
from .sources import open_source
from .summaries import FourthMoments, Moments, Triangle

__version__ = "0.1.0"

__all__ = [
    "FourthMoments",
    "Moments",
    "Triangle",
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
    *models.__all__,
]
