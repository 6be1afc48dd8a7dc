"""The table of classes that files may hold: models, summaries, results of selection and small value objects.

The table is made from the tables of the library, so that a new kernel, density, solver or model is in it without
further work. Nothing else can be written to a file or read from one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from enum import Enum
from importlib import import_module
from typing import Any

from .. import densities, features, kernels, models, selection, solvers
from ..models._symmetric import SymmetricFactors
from ..models.kernel_cca import PrecomputedKernel
from ..selection.fold_scores import FOLD_SCORES
from ..selection.jackknife import Jackknife
from ..solvers.neural import Network, Path
from ..solvers.tables import KernelReduction, MappedTable
from ..summaries import SUMMARIES, LatentGaussian

#: The keys of the dictionaries that stand for an object, and for an array that occurs several times, in files.
RECORD, SHARED = {"class", "of"}, {"shared"}
#: What can be stored by itself, beside models and summaries.
RESULTS: dict[str, type] = {
    "solvers.Plan": solvers.Plan,
    "selection.Choice": selection.Choice,
    "selection.Choices": selection.Choices,
    "selection.CrossValidation": selection.CrossValidation,
    "selection.Bootstrap": selection.Bootstrap,
    "selection.PermutationTest": selection.PermutationTest,
    "selection.Jackknife": Jackknife,
    "selection.WidthChoice": selection.WidthChoice,
}
_SOLVER_TABLES: tuple[Mapping[str, Any], ...] = (
    solvers.SOLVERS,
    solvers.LATENT_SOLVERS,
    solvers.ICA_SOLVERS,
    solvers.KERNEL_SOLVERS,
    solvers.NEURAL_SOLVERS,
    solvers.REDUCTIONS,
    solvers.ROTATIONS,
    solvers.PREIMAGES,
)
_FEATURES = (
    features.KernelColumns,
    features.Fourier,
    features.Scaled,
    features.Same,
    features.SomeColumns,
    features.UnitLength,
)
_VALUES = (LatentGaussian, SymmetricFactors, MappedTable, PrecomputedKernel, Network, Path)


def class_named(name: str) -> type:
    """The class of this name in the table; a ValueError if there is none."""
    group, _, rest = name.partition(".")
    found = _GROUPS[group]().get(rest) if group in _GROUPS else None
    if found is None:
        raise ValueError(f"the class {name[:80]!r} is not one that files may hold")
    return found


def name_of(cls: type) -> str | None:
    """The name of a class in the table; None if it is not in it."""
    # scikit-learn's classes are imported only by those who use them.
    of_sklearn = cls.__module__.startswith("lowdim.sklearn.")
    for group, table in _GROUPS.items():
        if group != "sklearn" or of_sklearn:
            for name, known in table().items():
                if known is cls:
                    return f"{group}.{name}"
    return None


def taken_apart(value: Any) -> dict[str, Any]:
    """The arguments with which the constructor of a value class makes an equal object."""
    if isinstance(value, Enum):
        return {"name": value.name}
    if isinstance(value, LatentGaussian):
        return {name: getattr(value, name) for name in value.parameters}
    names = getattr(value, "names_in_files", {})
    return {names.get(f.name, f.name): getattr(value, f.name) for f in fields(value) if f.init}


def put_together(cls: Any, arguments: dict[str, Any]) -> Any:
    """The object of a value class with these arguments."""
    if issubclass(cls, Enum):
        return cls[arguments["name"]]
    names = {stored: name for name, stored in getattr(cls, "names_in_files", {}).items()}
    return cls(**{names.get(name, name): value for name, value in arguments.items()})


def _by_name(entries: Iterable[Any]) -> dict[str, type]:
    """Classes by name, from the entries of a table, which are classes or objects."""
    classes = [entry if isinstance(entry, type) else type(entry) for entry in entries]
    return {cls.__name__: cls for cls in classes}


def _solver_classes() -> dict[str, type]:
    entries = [entry for table in _SOLVER_TABLES for entry in table.values()]
    return _by_name([*entries, KernelReduction, solvers.Plan, solvers.Status, solvers.Tail])


def _selection_classes() -> dict[str, type]:
    results = [cls for name, cls in RESULTS.items() if name.startswith("selection.")]
    return _by_name([*FOLD_SCORES.values(), selection.Eigenvalues, *results])


def _sklearn_classes() -> dict[str, type]:
    """The classes of `lowdim.sklearn`, which is imported only when one of them is stored or loaded."""
    package = import_module("..sklearn", __package__)
    classes = [getattr(package, name) for name in package.__all__]
    deflation = import_module("..sklearn.deflation", __package__).Deflation
    return _by_name([deflation, *(cls for cls in classes if isinstance(cls, type))])


#: The classes of each group by name; the full name is `group.name`.
_GROUPS: dict[str, Callable[[], Mapping[str, type]]] = {
    "models": lambda: {name: getattr(models, name) for name in models.__all__} | _by_name(_VALUES),
    "summaries": lambda: SUMMARIES,
    "solvers": _solver_classes,
    "selection": _selection_classes,
    "kernels": lambda: _by_name([*kernels.KERNELS.values(), kernels.Sum, kernels.Product, kernels.Multiple]),
    "densities": lambda: _by_name([*densities.DENSITIES.values(), densities.Flipped]),
    "features": lambda: _by_name([*features.FEATURE_MAPS.values(), *_FEATURES]),
    "sklearn": _sklearn_classes,
}
