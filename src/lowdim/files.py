"""Models, summaries and results of selection as files, and back, without pickle: `lowdim.save` and `lowdim.load`."""

from __future__ import annotations

import types
import typing
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from . import densities, features, kernels, models, selection, solvers
from ._core import container
from ._core.arrays import Array, asarray_like, dtype_like, is_array, is_sparse, to_numpy
from ._core.schema import (
    Anything,
    Entries,
    Flag,
    Inspection,
    Instance,
    Kind,
    Maybe,
    Numbers,
    Real,
    Record,
    Text,
    Whole,
    declared,
)
from .coding import Coding
from .errors import HoldsRowsWarning, damaged_file, is_checkpoint, not_storable, warn_user
from .models.base import Model
from .models.kernel_cca import PrecomputedKernel
from .models.whitening import SymmetricFactors
from .selection.bootstrapping import Jackknife
from .selection.fold_methods import FOLD_METHODS
from .solvers.neural.network import Network, Path
from .solvers.pairs.cca import KernelReduction, MappedTable
from .summaries import SUMMARIES
from .summaries.base import Summary
from .summaries.latent import LatentGaussian

__all__ = ["header", "load", "save"]


# The table of classes that files may hold: models, summaries, results of selection and small value objects.
#
# The table is made from the tables of the library, so that a new kernel, density, solver or model is in it without
# further work. Nothing else can be written to a file or read from one.


#: The keys of the dictionaries that stand for an object, and for an array that occurs several times, in files.
RECORD, SHARED = {"class", "of"}, {"shared"}
#: What can be stored by itself, beside models and summaries.
RESULTS: tuple[type, ...] = (
    solvers.Plan,
    selection.Choice,
    selection.Choices,
    selection.CrossValidation,
    selection.Bootstrap,
    selection.PermutationTest,
    Jackknife,
    selection.WidthChoice,
)
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
_VALUES = (LatentGaussian, SymmetricFactors, MappedTable, PrecomputedKernel, Network, Path, Coding)


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


def _by_name(entries: Iterable[Any]) -> dict[str, type]:
    """Classes by name, from the entries of a table, which are classes or objects."""
    classes = [entry if isinstance(entry, type) else type(entry) for entry in entries]
    return {cls.__name__: cls for cls in classes}


def _sklearn_classes() -> dict[str, type]:
    """The classes of `lowdim.sklearn`, which is imported only when one of them is stored or loaded."""
    package = import_module(".sklearn", __package__)
    classes = [getattr(package, name) for name in package.__all__]
    deflation = import_module(".sklearn.fast_ica", __package__).Deflation
    return _by_name([deflation, *(cls for cls in classes if isinstance(cls, type))])


#: The classes of each group by name; the full name is `group.name`.
_GROUPS: dict[str, Callable[[], Mapping[str, type]]] = {
    "models": lambda: {name: getattr(models, name) for name in models.__all__} | _by_name(_VALUES),
    "summaries": lambda: SUMMARIES,
    "solvers": lambda: _by_name(
        [
            *(entry for table in _SOLVER_TABLES for entry in table.values()),
            *(KernelReduction, solvers.Plan, solvers.Status, solvers.Tail),
        ]
    ),
    "selection": lambda: _by_name([*FOLD_METHODS.values(), selection.Eigenvalues, *RESULTS[1:]]),
    "kernels": lambda: _by_name([*kernels.KERNELS.values(), kernels.Sum, kernels.Product, kernels.Multiple]),
    "densities": lambda: _by_name([*densities.DENSITIES.values(), densities.Flipped]),
    "features": lambda: _by_name([*features.FEATURE_MAPS.values(), *filter(is_dataclass, vars(features).values())]),
    "sklearn": _sklearn_classes,
}


# What is stored of each class of the table: the kinds of the values from which its objects are built again.


@dataclass(frozen=True)
class SummaryTree(Kind):
    """What a summary stores of itself; it has its own checks."""

    cls: type[Summary]

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        try:
            self.cls._from_tree(value, inspection.unread)
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise ValueError(f"the {self.cls.__name__} is not one of rows: {error}") from error


#: What is stored of value classes, where neither their annotations nor the metadata of their fields say it.
_FIELDS: dict[type, dict[str, Kind]] = {
    solvers.Status: {"name": Text(tuple(status.name for status in solvers.Status))},
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
    MappedTable: {
        "rows": Numbers("*", "w", host=True, rows=True, sparse=True),
        "kernel": Instance("kernels.*", "models.PrecomputedKernel", shares="w"),
        "origin": Maybe(Numbers("w", host=True)),
        "share": Numbers("m", host=True, sign="nonnegative"),
        "means": Numbers("m", host=True),
    },
    selection.Choice: {"rule": Text(ChainMap(selection.RULES, selection.FACTOR_RULES))},
}
#: The record of a dtype of an array library, which is no object of the table.
_DTYPE = {"name": Text(("float32", "float64"))}


def fields_of(name: str) -> Mapping[str, Kind]:
    """What is stored of an object of the class of this name; a ValueError if the name is not in the table."""
    if name == "dtype":
        return _DTYPE
    cls: Any = class_named(name)
    if issubclass(cls, Model):
        kinds = {attribute: kind for attribute, kind in declared(cls).items() if kind.stored}
        output = Maybe(Text(("default", "pandas", "polars")))
        return {"parameters": Entries(Anything()), "fitted": Entries(kinds), "output": output}
    if issubclass(cls, Summary):
        return {"tree": SummaryTree(cls)}
    own = _FIELDS.get(cls, {})
    # Lengths that several fields share are known from the first of `own`.
    return own if own and not is_dataclass(cls) else {**own, **_from_fields(cls), **own}


@cache
def _from_fields(cls: Any) -> dict[str, Kind]:
    """What the fields of a value class say of its arguments, which its constructor checks further: their metadata or,
    where they have none, their annotations."""
    if not is_dataclass(cls):
        raise ValueError(f"the class {cls.__name__} does not say what is stored of it")
    hints, names = typing.get_type_hints(cls), getattr(cls, "names_in_files", {})
    kinds = {f.name: f.metadata.get("kind") or _kind_of(hints[f.name]) for f in fields(cls) if f.init}
    return {names.get(name, name): kind for name, kind in kinds.items()}


def _kind_of(hint: Any) -> Kind:
    simple = {float: Real(finite=False), int: Whole(None), bool: Flag(), str: Text()}
    if hint in simple:
        return simple[hint]
    inner = typing.get_args(hint)
    if typing.get_origin(hint) in (types.UnionType, typing.Union) and len(inner) == 2 and inner[1] is type(None):
        return Maybe(_kind_of(inner[0]))
    return Numbers("...", dtype="any", finite=False, host=True) if hint is np.ndarray else Anything()


# Objects as plain values (None, numbers, text, lists, tuples, dictionaries, arrays and records), and back.


class _Encoder:
    """The way from one object to its plain form; an array that occurs several times in it has one plain form."""

    def __init__(self) -> None:
        #: The plain forms of arrays by the identity of the array, which is kept so that its identity is not reused.
        self._arrays: dict[int, tuple[Any, Any]] = {}

    def encode(self, value: Any, where: str) -> Any:
        """The plain form of a value; a TypeError that names `where` it is if it cannot be stored."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.str_):
            return str(value)
        if type(value) in (list, tuple):
            return type(value)(self.encode(item, f"{where}[{i}]") for i, item in enumerate(value))
        if type(value) is dict:
            # Some keys could not be distinguished from those of what stands for an object in a file.
            if not all(type(key) is str for key in value) or value.keys() in (RECORD, SHARED):
                keys = ", ".join(map(repr, value))[:80]
                raise not_storable(where, f"a dictionary with the keys {keys}", "Use other names.")
            return {key: self.encode(item, f"{where}[{key!r}]") for key, item in value.items()}
        if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
            return Record("dtype", {"name": np.dtype(value).name})
        if isinstance(value, np.generic) or is_sparse(value) or is_array(value):
            if id(value) not in self._arrays:
                self._arrays[id(value)] = value, _encode_array(value, where)
            return self._arrays[id(value)][1]
        name = name_of(type(value))
        if name is not None:
            return self._record(value, name, where)
        # All array libraries print their dtypes so.
        if (dtype := str(value).rpartition(".")[2]) in ("float32", "float64"):
            return Record("dtype", {"name": dtype})
        raise _refusal(value, where)

    def _record(self, value: Any, name: str, where: str) -> Record:
        """An object of a class in the table as the arguments with which its constructor makes an equal object."""
        if isinstance(value, Model):
            return self._model(value, name)
        if isinstance(value, Summary):
            return Record(name, {"tree": self.encode(value._tree(), where)})
        if isinstance(value, Enum):
            return Record(name, {"name": value.name})
        if isinstance(value, LatentGaussian):
            parts = {part: getattr(value, part) for part in value.parameters}
        else:
            names = getattr(value, "names_in_files", {})
            parts = {names.get(f.name, f.name): getattr(value, f.name) for f in fields(value) if f.init}
        of = f"of {type(value).__name__} in {where}"
        return Record(name, {part: self.encode(item, f"{part} {of}") for part, item in parts.items()})

    def _model(self, model: Model, name: str) -> Record:
        """Parameters, fitted attributes and the container of `set_output`."""
        kind = type(model).__name__
        if not model.__sklearn_is_fitted__():
            raise ValueError(f"this {kind} is not fitted yet, so there is nothing to save; call fit first.")
        parameters = model.get_params(deep=False)
        asked = {part: self.encode(value, f"the parameter {part} of this {kind}") for part, value in parameters.items()}
        kinds, output = declared(type(model)), None
        fitted: dict[str, Any] = {}
        for attribute, value in model.__dict__.items():
            where = f"the attribute {attribute} of this {kind}"
            if attribute in parameters:
                continue
            if attribute == "_sklearn_output_config":
                output = value.get("transform")
            elif attribute not in kinds:
                advice = f"Delete it before saving (del model.{attribute}), and set it again after loading."
                raise not_storable(where, "none that fit sets", advice)
            elif kinds[attribute].stored:
                fitted[attribute] = self.encode(value, where)
        return Record(name, {"parameters": asked, "fitted": fitted, "output": output})


def _encode_array(value: Any, where: str) -> Any:
    """An array, or a number of NumPy, as files hold it."""
    is_number = isinstance(value, np.generic)
    found: Any = value if is_number else sparse.csr_array(value) if is_sparse(value) else to_numpy(value)
    if found.dtype == object:
        if not all(isinstance(item, str) for item in found.ravel()):
            raise not_storable(where, "an array of objects", "Convert it to numbers first.")
    elif found.dtype.kind not in "fiub" or found.dtype.itemsize > 8:
        what = f"{'a number' if is_number else 'an array'} of dtype {found.dtype}"
        raise not_storable(where, what, "Convert it to float64 first.")
    # The order in memory is kept, as rounding in products depends on it.
    return found.copy(order="K") if isinstance(found, np.ndarray) and not found.flags.forc else found


def _refusal(value: Any, where: str) -> TypeError:
    """The error for an object that is in no table."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return not_storable(where, "a random generator", "Use a whole number as the seed.")
    if isinstance(value, BaseEstimator) or isinstance(getattr(value, "__self__", None), BaseEstimator):
        return not_storable(where, "an estimator", "Save it by itself, by its own means, and fit again after loading.")
    if hasattr(value, "state_dict"):
        return not_storable(
            where,
            "a module of torch",
            "Use hidden=(...) in place of your own module, or keep its class in your program and store its parameters "
            "yourself: torch.save(model.encoder_.state_dict(), path).",
        )
    if callable(value):
        advice = "Use one that lowdim has by name, or keep it in your own program and fit there again."
        return not_storable(where, "a function or an object of a class that lowdim does not know", advice)
    return not_storable(where, f"an object of the class {type(value).__name__}", "Replace it by numbers or text.")


def _decode(value: Any, like: Array | None = None) -> Any:
    """The object with this plain form, made by its constructor. The arrays of models and summaries are made in the
    namespace and on the device of `like`, or are NumPy's if that is None."""
    if isinstance(value, list | tuple):
        return type(value)(_decode(item, like) for item in value)
    if isinstance(value, dict):
        return {key: _decode(item, like) for key, item in value.items()}
    if not isinstance(value, Record):
        return value
    parts = value.fields
    if value.kind == "dtype":
        dtype = np.dtype(parts["name"]).type
        return dtype if like is None else dtype_like(dtype, like)
    cls: Any = class_named(value.kind)
    if issubclass(cls, Summary):
        return _moved_summary(cls._from_tree(parts["tree"]), like)
    if issubclass(cls, Enum):
        return cls[parts["name"]]
    if not issubclass(cls, Model):
        names = {stored: name for name, stored in getattr(cls, "names_in_files", {}).items()}
        return cls(**{names.get(name, name): _decode(item, like) for name, item in parts.items()})
    model, fitted = _unfitted(value), parts["fitted"]
    if like is not None:
        fitted = fields_of(value.kind)["fitted"].moved(fitted, lambda array: asarray_like(array, like), fields_of)
    model.__dict__.update(_decode(fitted, like))
    model._check_fitted()
    return model if parts["output"] is None else model.set_output(transform=parts["output"])


def _unfitted(record: Record) -> Any:
    """The model of a record before it was fitted, with parameters that its own check accepts."""
    cls: Any = class_named(record.kind)
    model = cls(**_decode(record.fields["parameters"]))
    model._check_parameters()
    return model


def _moved_summary(summary: Summary, like: Any) -> Summary:
    """The summary, with its arrays in the namespace and on the device of `like`, if that is not None."""
    if like is not None:
        arrays = {name: value for name in summary.state if is_array(value := getattr(summary, name))}
        summary._restore({name: asarray_like(value, like) for name, value in arrays.items()})
    return summary


# Records as trees of dictionaries, which the container stores, and back.
#
# A record is the dictionary {"class": name, "of": {...}}. Arrays that occur several times, such as the rows that kernel
# PCA keeps and uses in several places, are stored once, in a list of their own, and {"shared": i} stands for them.


def _to_tree(value: Any) -> tuple[Any, list[Any]]:
    """The tree of a plain value, and the arrays that occur in it several times."""
    counts = Counter(id(leaf) for leaf in _leaves(value) if is_sparse(leaf) or getattr(leaf, "ndim", 0) > 0)
    shared: dict[int, tuple[int, Any]] = {}

    def tree(item: Any) -> Any:
        if isinstance(item, Record):
            return {"class": item.kind, "of": tree(item.fields)}
        if isinstance(item, dict):
            return {name: tree(part) for name, part in item.items()}
        if isinstance(item, list | tuple):
            return type(item)(tree(part) for part in item)
        if counts[id(item)] > 1:
            return {"shared": shared.setdefault(id(item), (len(shared), item))[0]}
        return item

    whole = tree(value)
    return whole, [array for _, array in shared.values()]


def _from_tree(tree: Any, shared: list[Any]) -> Any:
    """The plain value of a tree; a ValueError if it refers to arrays that are not there."""
    if isinstance(tree, list | tuple):
        return type(tree)(_from_tree(part, shared) for part in tree)
    if not isinstance(tree, dict):
        return tree
    if tree.keys() == SHARED:
        i = tree["shared"]
        if type(i) is not int or not 0 <= i < len(shared):
            raise ValueError(f"it refers to the shared array {str(i)[:40]}, which it does not hold")
        return shared[i]
    if tree.keys() == RECORD:
        if not isinstance(tree["class"], str) or not isinstance(tree["of"], dict):
            raise ValueError("an object in it has no class")
        return Record(tree["class"], {name: _from_tree(part, shared) for name, part in tree["of"].items()})
    return {name: _from_tree(part, shared) for name, part in tree.items()}


def _leaves(value: Any) -> Iterator[Any]:
    """What a plain value is made of, without records, dictionaries, lists and tuples."""
    if isinstance(value, Record):
        value = value.fields
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


#: What goes wrong while an object is made from values that it cannot have.
_DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def save(obj: object, path: str | PathLike[str], *, min_rows: int | None = None) -> None:
    """Write a fitted model, a summary or a result of selection to a file.

    The file is a safetensors file with a checksum, and no pickle: `load` runs no code that is in it. It appears under
    its name when it is whole, and a file of that name is replaced then. What `load` returns has the same attributes, to
    the last bit, as `obj`.

    Parameters
    ----------
    obj : a fitted model, a summary, a Plan, or a result of selection
        Models of `lowdim` and `lowdim.sklearn`. Arrays on a device are saved from the host. Functions and objects of
        other libraries among the parameters cannot be stored, nor can random generators.
    path : str or path
    min_rows : int, default=None
        Refuse to save what was made from fewer rows than this, or holds rows itself.

    Warns
    -----
    HoldsRowsWarning
        If the file holds rows of the fit, or numbers for each of them, as kernel PCA does. `header` says so too.

    Notes
    -----
    Arrays are written as they lie in memory. Only those on a device, or with gaps between their entries, are copied.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from lowdim import PCA, load, save
    >>> rows = np.array([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0], [5.0, 6.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pca.safetensors"
    ...     save(PCA(1).fit(rows), path)
    ...     model = load(path)
    >>> model.transform(rows).shape
    (4, 1)
    """
    name = name_of(type(obj))
    if isinstance(obj, Summary):
        rows = ["rows"] if _summary_holds_rows(type(obj).__name__) else []
    elif name is not None and isinstance(obj, (Model, *RESULTS)):
        record = _Encoder().encode(obj, f"this {type(obj).__name__}")
        Anything().check(record, Inspection(fields_of), record.kind)
        rows = _attributes_of_rows(record)
    else:
        what = f"the class {obj.__name__}" if isinstance(obj, type) else f"an object of the class {type(obj).__name__}"
        raise TypeError(
            f"{what} cannot be saved. Fitted models of lowdim and lowdim.sklearn can (not classes derived from them), "
            "and so can summaries, plans and results of selection."
        )
    if min_rows is not None:
        _require_rows(obj, min_rows, holds_rows=bool(rows))
    if isinstance(obj, Summary):
        obj.save(path)
    else:
        tree, shared = _to_tree(record.fields)
        header = {"holds": "model" if isinstance(obj, Model) else "result", "class": name, "holds_rows": bool(rows)}
        container.write(path, *container.flatten({**header, "of": tree, "shared": shared}))
    if rows:
        warn_user(
            f"{path} holds rows of the fit, or numbers for each of them, in {', '.join(rows)}: whoever gets the file "
            f"gets these too. This {type(obj).__name__} cannot do without them.",
            HoldsRowsWarning,
        )


def load(path: str | PathLike[str], *, like: Array | None = None) -> Any:
    """The model, summary or result of selection in a file that `save` wrote.

    Class, parameters, shapes and dtypes are checked before any array is read, and then that all numbers are possible:
    finite, of the right sign and order, and so on. A file that is damaged or was changed is refused with a ValueError.
    The memory taken is about the size of the file, and nothing in it is run.

    Parameters
    ----------
    path : str or path
    like : array, default=None
        The arrays of models and summaries are made in the namespace and on the device of this array. By default they
        are NumPy arrays, wherever the model was fitted.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, lowdim
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "pca.safetensors")
    ...     lowdim.save(lowdim.PCA(2).fit(X), path)
    ...     pca = lowdim.load(path)
    >>> pca.transform(X).shape
    (50, 2)
    """
    document = container.header(path)
    kind = document.get("class")
    if document.get("holds") == "checkpoint":
        raise is_checkpoint(path)
    if document.get("holds") == "summary" and isinstance(kind, str) and kind in SUMMARIES:
        return _moved_summary(SUMMARIES[kind].load(path), like)

    def check(document: dict[str, Any], layout: Any) -> None:
        try:
            record = _record(container.declared(document, layout), unread=True)
            # Parameters that are arrays, or numbers of NumPy, have not been read yet.
            parameters = record.fields["parameters"] if document["holds"] == "model" else None
            if parameters is not None and not any(hasattr(leaf, "dtype") for leaf in _leaves(parameters)):
                _unfitted(record)
        except _DAMAGE as error:
            raise damaged_file(path, error, container.is_newer(document)) from error

    document, arrays = container.read(path, check)
    try:
        return _decode(_record(container.rebuild(document, arrays), unread=False), like)
    except _DAMAGE as error:
        raise damaged_file(path, error, container.is_newer(document)) from error


def header(path: str | PathLike[str]) -> dict[str, Any]:
    """What a file says of itself, without reading its arrays.

    The dictionary has the entries "class", "holds" ("model", "summary" or "result"), "holds_rows" (whether the file
    holds rows of the fit, or numbers for each of them), "columns" (the names of the columns, or None), "lowdim" (the
    version that wrote the file) and "version" (that of the format). The checksum is not compared.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from lowdim import PCA, files, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pca.safetensors"
    ...     save(PCA(1).fit([[1.0, 2.0], [3.0, 3.0], [3.0, 5.0]]), path)
    ...     found = files.header(path)
    >>> found["class"], found["columns"], found["holds_rows"]
    ('models.PCA', None, False)
    """
    document = container.header(path)
    return {
        "class": document.get("class"),
        "holds": document.get("holds"),
        "holds_rows": document.get("holds_rows", _summary_holds_rows(document.get("class"))),
        "columns": _column_names(document),
        "lowdim": document["lowdim"],
        "version": document["version"],
    }


def _column_names(document: dict[str, Any]) -> list[str] | None:
    """The names of the columns that a model or a summary was made from, as far as the document has any."""
    found: Any = document.get("names")
    if document.get("holds") == "model":
        for name in ("of", "fitted", "feature_names_in_", "$text"):
            document = document.get(name, {}) if isinstance(document, dict) else {}
        found = document
    is_list = isinstance(found, list) and found and all(isinstance(name, str) for name in found)
    return found if is_list else None


def _record(tree: dict[str, Any], unread: bool) -> Record:
    """The record of the object in a file; a ValueError if it is not one of its class. `unread`: the arrays have not
    been read, and only their shapes and dtypes are known."""
    if tree.get("holds") not in ("model", "result") or not isinstance(tree.get("class"), str):
        raise ValueError(f"it holds {str(tree.get('holds'))[:40]!r}, and no model, summary or result of selection")
    if not isinstance(tree.get("of"), dict) or not isinstance(tree.get("shared"), list):
        raise ValueError("it does not hold the attributes of an object")
    name, is_model = tree["class"], tree["holds"] == "model"
    if issubclass(class_named(name), Model) != is_model or not (is_model or class_named(name) in RESULTS):
        raise ValueError(f"it holds an object of the class {name}, which is no {tree['holds']}")
    record = Record(name, _from_tree(tree["of"], tree["shared"]))
    Anything().check(record, Inspection(fields_of, unread), name)
    if tree.get("holds_rows") is not bool(_attributes_of_rows(record)):
        raise ValueError("it does not say whether it holds rows")
    return record


def _attributes_of_rows(record: Record) -> list[str]:
    """The names of the attributes of a model that hold rows of the fit, or numbers for each of them."""
    if not issubclass(class_named(record.kind), Model):
        return []
    kinds: Any = fields_of(record.kind)["fitted"]
    fitted = record.fields["fitted"]
    return [name for name, value in fitted.items() if kinds.kinds[name].holds_rows(value, fields_of)]


def _summary_holds_rows(name: Any) -> bool:
    """Whether summaries of this class hold rows themselves."""
    cls: Any = SUMMARIES.get(name) if isinstance(name, str) else None
    return cls is not None and "rows" in cls.state


def _require_rows(obj: Any, min_rows: int, holds_rows: bool) -> None:
    """Refuse an object of too few rows."""
    if isinstance(min_rows, bool) or not isinstance(min_rows, int) or min_rows < 1:
        raise ValueError(f"min_rows={min_rows!r} must be a whole number of at least 1, or None.")
    n = getattr(obj, "n_samples_" if isinstance(obj, Model) else "n_rows", None)
    if n is None:
        raise ValueError(
            f"min_rows is for models and for summaries that count their rows, and a {type(obj).__name__} does not. "
            "Leave it out, if the file may be saved."
        )
    if n < min_rows or holds_rows:
        why = "holds rows, or numbers for each of them" if holds_rows else f"was made from {n} rows"
        raise ValueError(
            f"this {type(obj).__name__} {why}, and min_rows={min_rows} asks for a file that was made from at least so "
            "many rows and holds none of them. It was not saved."
        )
