"""The few directions that explain a table of numbers: rows -> a mergeable summary -> a solve."""

from typing import TYPE_CHECKING

from . import densities, errors, features, kernels, models, selection, solvers
from ._core import __version__ as __version__
from ._core import imported_when_used
from .models.plan import plan
from .reading.checkpoint import Checkpoint
from .reading.summarize import summarize
from .selection.bootstrapping import bootstrap
from .selection.choose import choose_n_components
from .selection.cross_validation import cross_validate
from .selection.kernel_width import choose_width
from .selection.permutation import permutation_test
from .selection.pooling import pool
from .selection.suitability import factor_suitability
from .solvers.kernel import kernel_plan
from .sources.on_device import on_device
from .sources.opening import open_source
from .sources.scan import scan
from .summaries.moments import FourthMoments, Moments
from .summaries.triangle import Triangle
from .table import Table

if TYPE_CHECKING:
    from . import files, inspect
    from . import plot as plot
    from . import sklearn as sklearn
    from .files import load, save
    from .models import *  # noqa: F403 (a model is named once, in models.__all__)
    from .onnx import to_onnx
    from .reporting import report

__getattr__ = imported_when_used(
    __name__,
    {
        **dict.fromkeys(models.__all__, "models"),
        **{module: module for module in ("files", "inspect", "plot", "sklearn")},
        "load": "files",
        "report": "reporting",
        "save": "files",
        "to_onnx": "onnx",
    },
)

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


def __dir__() -> list[str]:
    """The public names, and what every module has."""
    return sorted(
        [*__all__, "models", "plot", "sklearn", "summaries", *(name for name in globals() if name[:2] == "__")]
    )
