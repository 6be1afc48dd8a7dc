"""The few directions that explain a table of numbers: rows -> a mergeable summary -> a solve."""

from importlib import import_module
from typing import Any

from . import densities, errors, features, files, inspect, kernels, models, selection, solvers
from ._version import __version__ as __version__
from .files import load, save
from .models import *  # noqa: F403 (a model is named once, in models.__all__)
from .planning import plan
from .reading import Checkpoint, summarize
from .selection import bootstrap, choose_n_components, choose_width, cross_validate, permutation_test
from .solvers.kernel import kernel_plan
from .sources import open_source, scan
from .summaries import FourthMoments, Moments, Triangle
from .tabular import Table


def __getattr__(name: str) -> Any:
    """`lowdim.sklearn` is imported when it is used, because it imports much of scikit-learn."""
    if name == "sklearn":
        return import_module(".sklearn", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Checkpoint",
    "FourthMoments",
    "Moments",
    "Table",
    "Triangle",
    "bootstrap",
    "choose_n_components",
    "choose_width",
    "cross_validate",
    "densities",
    "errors",
    "features",
    "files",
    "inspect",
    "kernel_plan",
    "kernels",
    "load",
    "open_source",
    "permutation_test",
    "plan",
    "save",
    "scan",
    "selection",
    "solvers",
    "summarize",
    *models.__all__,
]
