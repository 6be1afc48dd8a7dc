"""What is stored of each class of the table: the kinds of the values from which its objects are built again."""

from __future__ import annotations

import types
import typing
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from .. import features, selection, solvers
from ..attributes import (
    Anything,
    Entries,
    Flag,
    Inspection,
    Instance,
    Kind,
    ListOf,
    Maybe,
    Numbers,
    Real,
    Sometimes,
    Text,
    TupleOf,
    Whole,
    declared,
)
from ..models._base import Model
from ..models._symmetric import SymmetricFactors
from ..models.kernel_cca import PrecomputedKernel
from ..selection.jackknife import Jackknife
from ..solvers.neural import ACTIVATIONS, Network, Path
from ..solvers.tables import MappedTable
from ..summaries import LatentGaussian, Summary
from .classes import class_named


class SummaryTree(Kind):
    """What a summary stores of itself; it has its own checks."""

    def __init__(self, cls: type[Summary]) -> None:
        self._cls = cls

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        try:
            self._cls._from_tree(value, inspection.unread)
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"the {self._cls.__name__} is not one of rows: {error}") from error


_SQUARES = Maybe(Real("nonnegative"))
_HELD_OUT: dict[str, Any] = {"host": True, "finite": False}
#: What is stored of value classes, where their annotations do not say enough.
_FIELDS: dict[type, dict[str, Kind]] = {
    solvers.Plan: {
        "solver": Instance("solvers.*", "selection.*", "sklearn.*"),
        "passes": Whole(),
        "n_bytes": Whole(),
        "why": Text(),
        "where": Sometimes(Text()),
    },
    solvers.Status: {"name": Text(tuple(status.name for status in solvers.Status))},
    solvers.Tail: {"total": Real("nonnegative"), "squares": _SQUARES, "cubes": _SQUARES},
    LatentGaussian: {
        "mean": Numbers("p"),
        "scale": Numbers("p", sign="positive"),
        "loadings": Numbers("k", "p"),
        "noise": Numbers("p", sign="positive"),
        "spread": Maybe(Numbers("*", "p")),
    },
    SymmetricFactors: {
        "vectors": Numbers("r", "p", orthonormal="rows"),
        "along": Numbers("r"),
        "beyond": Real("nonnegative"),
    },
    Network: {
        "mean": Numbers("p"),
        "unit": Real("positive"),
        "widths": Numbers("*", sign="positive"),
        "encoder": Instance("models.Path"),
        "decoder": Instance("models.Path"),
        "gaussian": Instance("models.LatentGaussian", shares="p"),
        "log_noise": Maybe(Real()),
    },
    Path: {
        "matrix": Numbers("i", "o"),
        "offset": Numbers("o"),
        "weights": TupleOf(Numbers("*", "*")),
        "biases": TupleOf(Numbers("*")),
        "activation": Text(ACTIVATIONS),
    },
    features.KernelColumns: {
        "kernel": Instance("kernels.*"),
        "rows": Numbers("*", "p", rows=True, sparse=True),
    },
    features.Fourier: {"frequencies": Numbers("p", "*"), "amplitude": Real("positive")},
    features.Scaled: {
        "feature_map": Instance("features.*", shares="p"),
        "factor": Real(),
        "shift": Maybe(Numbers("p")),
    },
    features.SomeColumns: {"columns": Numbers("*", dtype="int", host=True, below="p")},
    MappedTable: {
        "rows": Numbers("*", "w", host=True, rows=True, sparse=True),
        "kernel": Instance("kernels.*", "models.PrecomputedKernel", shares="w"),
        "origin": Maybe(Numbers("w", host=True)),
        "share": Numbers("m", host=True, sign="nonnegative"),
        "means": Numbers("m", host=True),
    },
    PrecomputedKernel: {"table": Text(("X", "y")), "columns": Maybe(Numbers("*", dtype="int", host=True, below="w"))},
    selection.Choice: {
        "rule": Text(ChainMap(selection.RULES, selection.FACTOR_RULES)),
        "k": Maybe(Whole()),
        "curve": Numbers("*", **_HELD_OUT),
        "assumes": Text(),
        "note": Text(),
        "eigenvalues": Maybe(Numbers("*", host=True)),
        "first": Maybe(Whole()),
        "cross_validation": Maybe(Instance("selection.CrossValidation")),
    },
    selection.Choices: {
        "eigenvalues": Instance("selection.Eigenvalues"),
        "answers": TupleOf(Instance("selection.Choice")),
    },
    selection.Eigenvalues: {
        "p": Whole(1),
        "values": Numbers("*", host=True, sign="nonnegative", order="descending"),
        "n": Real("positive"),
        "ddof": Whole(),
        "total": Real("nonnegative"),
        "variances": Maybe(Numbers("p", host=True, sign="nonnegative")),
        "matrix": Maybe(Numbers("p", "p", host=True, symmetric=True)),
        "standardize": Flag(),
        "varying": Maybe(Numbers("p", host=True, dtype="bool")),
        "epsilon": Real("nonnegative"),
        "center": Sometimes(Flag()),
    },
    selection.WidthChoice: {
        "kernels": TupleOf(Instance("kernels.*"), length="w"),
        "share": Numbers("w", host=True, sign="nonnegative"),
        "held_out": Numbers("w", host=True, sign="nonnegative"),
        "chance": Numbers("w", host=True, sign="nonnegative"),
        "grouped": Numbers("w", host=True, most=1.0),
        "n_components": Whole(1),
        "n_rows": Whole(1),
    },
    selection.CrossValidation: {
        "estimator": Text(),
        "what": Text(),
        "greater_is_better": Flag(),
        "n_components": Numbers("c", host=True, dtype="int"),
        "settings": ListOf(Entries(Anything()), length="s"),
        "scores": Numbers("f", "s", "c", **_HELD_OUT),
        "by_response": Maybe(Numbers("f", "s", "c", "*", **_HELD_OUT)),
        "weights": Numbers("f", host=True, dtype="any", sign="positive"),
        "n_samples": Whole(1),
        "n_passes": Whole(),
        "plan": Instance("solvers.Plan"),
        "of_means": Sometimes(Maybe(Numbers("f", "s", "*", **_HELD_OUT))),
    },
    selection.Bootstrap: {
        "estimator": Text(),
        "estimates": Entries(Numbers("...", **_HELD_OUT)),
        "replicates": Entries(Numbers("...", **_HELD_OUT)),
        "kind": Text(("row", "block", "groups")),
        "n_blocks": Whole(1),
        "level": Real("positive", most=1.0),
        "labels": Entries(TupleOf(ListOf(Text()))),
        "axes": Sometimes(Entries(TupleOf(Text()))),
    },
    selection.PermutationTest: {
        "estimator": Text(),
        "statistic": Numbers("k", **_HELD_OUT),
        "null": Numbers("*", "k", **_HELD_OUT),
        "level": Real("positive", most=1.0),
        "strength": Sometimes(Maybe(Numbers("k", **_HELD_OUT))),
        "null_strength": Sometimes(Maybe(Numbers("*", "k", **_HELD_OUT))),
        "are_correlations": Sometimes(Flag()),
        "component_name": Sometimes(Text()),
    },
    Jackknife: {
        "coef": Numbers("q", "p", host=True),
        "replicates": Numbers("*", "q", "p", host=True),
        "standard_error": Numbers("q", "p", host=True, sign="nonnegative"),
        "features": ListOf(Anything(), length="p"),
        "targets": ListOf(Anything(), length="q"),
    },
}
#: The record of a dtype of an array library, which is no object of the table.
_DTYPE = {"name": Text(("float32", "float64"))}


def fields_of(name: str) -> Mapping[str, Kind]:
    """What is stored of an object of the class of this name; a ValueError if the name is not in the table."""
    if name == "dtype":
        return _DTYPE
    cls: Any = class_named(name)
    if issubclass(cls, Model):
        kinds = {attribute: kind for attribute, kind in declared(cls).items() if kind.stored()}
        output = Maybe(Text(("default", "pandas", "polars")))
        return {"parameters": Entries(Anything()), "fitted": Entries(kinds), "output": output}
    if issubclass(cls, Summary):
        return {"tree": SummaryTree(cls)}
    return _FIELDS.get(cls) or _from_annotations(cls)


@cache
def _from_annotations(cls: Any) -> dict[str, Kind]:
    """What the annotations of a value class say of its arguments, which its constructor checks further."""
    if not is_dataclass(cls):
        raise ValueError(f"the class {cls.__name__} does not say what is stored of it")
    hints = typing.get_type_hints(cls)
    return {f.name: _kind_of(hints[f.name]) for f in fields(cls) if f.init}


def _kind_of(hint: Any) -> Kind:
    simple = {float: Real(finite=False), int: Whole(None), bool: Flag(), str: Text()}
    if hint in simple:
        return simple[hint]
    inner = typing.get_args(hint)
    if typing.get_origin(hint) in (types.UnionType, typing.Union) and len(inner) == 2 and inner[1] is type(None):
        return Maybe(_kind_of(inner[0]))
    return Numbers("...", dtype="any", finite=False, host=True) if hint is np.ndarray else Anything()
