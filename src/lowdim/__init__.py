"""The few directions that explain a table of numbers: rows -> a mergeable summary -> a solve."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import densities, errors, features, files, inspect, kernels, models, selection, solvers
from ._version import __version__ as __version__
from .files import load, save
from .models import *  # noqa: F403 (a model is named once, in models.__all__)
from .onnx import to_onnx
from .planning import plan
from .reading import Checkpoint, summarize
from .selection import (
    bootstrap,
    choose_n_components,
    choose_width,
    cross_validate,
    factor_suitability,
    permutation_test,
    pool,
)
from .solvers.kernel import kernel_plan
from .sources import on_device, open_source, scan
from .summaries import FourthMoments, Moments, Triangle
from .tabular import Table

if TYPE_CHECKING:
    from .reporting import report


def __getattr__(name: str) -> Any:
    """`lowdim.sklearn` is imported when it is used, because it imports much of scikit-learn; so are `lowdim.plot` and
    what `lowdim.report` needs."""
    if name in ("plot", "sklearn"):
        return import_module(f".{name}", __name__)
    if name == "report":
        return import_module(".reporting", __name__).report
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
    "factor_suitability",
    "features",
    "files",
    "inspect",
    "kernel_plan",
    "kernels",
    "load",
    "on_device",
    "open_source",
    "permutation_test",
    "plan",
    "pool",
    "report",
    "save",
    "scan",
    "selection",
    "solvers",
    "summarize",
    "to_onnx",
    *models.__all__,
]
