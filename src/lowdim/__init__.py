"""The few directions that explain a table of numbers: rows -> a mergeable summary -> a solve."""

from typing import TYPE_CHECKING

from . import errors, kernels, models, selection, solvers
from ._core import __version__ as __version__
from ._core import imported_when_used
from .models.plan import plan
from .models.staged import staged_fit
from .selection.bootstrapping import bootstrap
from .selection.choose import choose_n_components
from .selection.cross_validation import cross_validate
from .selection.permutation import permutation_test
from .selection.suitability import factor_suitability
from .sources.on_device import on_device
from .sources.scan import scan
from .table import Table

if TYPE_CHECKING:
    from . import files as files
    from . import inspect
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
    elsewhere={
        **dict.fromkeys(("Checkpoint", "summarize"), "reading"),
        **dict.fromkeys(("choose_width", "pool"), "selection"),
        **dict.fromkeys(("FourthMoments", "Moments", "Triangle"), "summaries"),
        "kernel_plan": "solvers",
        "open_source": "sources",
    },
)

__all__ = [
    "Table",
    "bootstrap",
    "choose_n_components",
    "cross_validate",
    "errors",
    "factor_suitability",
    "inspect",
    "kernels",
    "load",
    "on_device",
    "permutation_test",
    "plan",
    "report",
    "save",
    "scan",
    "selection",
    "solvers",
    "staged_fit",
    "to_onnx",
    *models.__all__,
]

#: Modules that are reached as attributes, and that `from lowdim import *` leaves out.
_MODULES = ("densities", "features", "files", "models", "plot", "reading", "sklearn", "sources", "summaries")


def __dir__() -> list[str]:
    """The public names, and what every module has."""
    return sorted([*__all__, *_MODULES, *(name for name in globals() if name[:2] == "__")])
