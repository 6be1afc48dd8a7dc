"""The few directions that explain a table of numbers: rows -> a mergeable summary -> a solve."""

from . import errors, inspect, solvers
from .models import PCA, PPCA, FactorAnalysis, Whitening
from .solvers import plan
from .sources import open_source
from .summaries import FourthMoments, Moments, Triangle
from .summarize import summarize

__version__ = "0.1.0"

__all__ = [
    "PCA",
    "PPCA",
    "FactorAnalysis",
    "FourthMoments",
    "Moments",
    "Triangle",
    "Whitening",
    "errors",
    "inspect",
    "open_source",
    "plan",
    "solvers",
    "summarize",
]
