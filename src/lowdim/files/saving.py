"""Models, summaries and results of selection as files, and back, without pickle."""

from __future__ import annotations

from os import PathLike
from typing import Any

from .. import container
from ..attributes import Anything, Inspection, Record
from ..errors import (
    HoldsRowsWarning,
    bad_min_rows,
    damaged_file,
    fewer_rows_than_allowed,
    is_checkpoint,
    not_a_stored_class,
    unknown_number_of_rows,
    warn_user,
)
from ..models._base import Model
from ..summaries import SUMMARIES, Summary
from .apart import plain
from .classes import RESULTS, class_named, name_of
from .fields import fields_of
from .together import built, parameters_checked, placed_summary
from .tree import from_tree, to_tree

#: What goes wrong while an object is made from values that it cannot have.
_DAMAGE = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def save(obj: Any, path: str | PathLike[str], *, min_rows: int | None = None) -> None:
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
    min_rows : int, optional
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
    if isinstance(obj, Summary):
        rows = ["rows"] if _summary_holds_rows(type(obj).__name__) else []
        _require_rows(obj, min_rows, holds_rows=bool(rows))
        obj.save(path)
        _warn_of_rows(obj, path, rows)
        return
    name = name_of(type(obj))
    if name is None or not (isinstance(obj, Model) or name in RESULTS):
        raise not_a_stored_class(obj)
    record = plain(obj, f"this {type(obj).__name__}")
    _check(record, unread=False)
    rows = _attributes_of_rows(record)
    _require_rows(obj, min_rows, holds_rows=bool(rows))
    tree, shared = to_tree(record.fields)
    header = {"holds": "model" if isinstance(obj, Model) else "result", "class": name, "holds_rows": bool(rows)}
    container.write(path, *container.flatten({**header, "of": tree, "shared": shared}))
    _warn_of_rows(obj, path, rows)


def load(path: str | PathLike[str], *, like: Any = None) -> Any:
    """The model, summary or result of selection in a file that `save` wrote.

    Class, parameters, shapes and dtypes are checked before any array is read, and then that all numbers are possible:
    finite, of the right sign and order, and so on. A file that is damaged or was changed is refused with a ValueError.
    The memory taken is about the size of the file, and nothing in it is run.

    Parameters
    ----------
    path : str or path
    like : array, optional
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
        summary = SUMMARIES[kind].load(path)
        return summary if like is None else placed_summary(summary, like)

    def check(document: dict[str, Any], layout: Any) -> None:
        try:
            record = _record(container.declared(document, layout), unread=True)
            if issubclass(class_named(record.kind), Model) and not _holds_arrays(record.fields["parameters"]):
                parameters_checked(record)
        except _DAMAGE as error:
            raise damaged_file(path, error, container.is_newer(document)) from error

    document, arrays = container.read(path, check)
    try:
        return built(_record(container.rebuild(document, arrays), unread=False), like)
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
    if issubclass(class_named(name), Model) != is_model or not (is_model or name in RESULTS):
        raise ValueError(f"it holds an object of the class {name}, which is no {tree['holds']}")
    record = Record(name, from_tree(tree["of"], tree["shared"]))
    _check(record, unread)
    if tree.get("holds_rows") is not bool(_attributes_of_rows(record)):
        raise ValueError("it does not say whether it holds rows")
    return record


def _check(record: Record, unread: bool) -> None:
    """Raise a ValueError if the record is not one of its class."""
    Anything().check(record, Inspection(fields_of, unread), record.kind)


def _attributes_of_rows(record: Record) -> list[str]:
    """The names of the attributes of a model that hold rows of the fit, or numbers for each of them."""
    if not issubclass(class_named(record.kind), Model):
        return []
    kinds: Any = fields_of(record.kind)["fitted"]
    inspection = Inspection(fields_of)
    fitted = record.fields["fitted"]
    return [name for name, value in fitted.items() if kinds.kinds[name].of_rows(value, inspection)]


def _warn_of_rows(obj: Any, path: Any, names: list[str]) -> None:
    """Warn that a file holds rows, if it does, in the attributes of these names."""
    if names:
        warn_user(
            f"{path} holds rows of the fit, or numbers for each of them, in {', '.join(names)}: whoever gets the file "
            f"gets these too. This {type(obj).__name__} cannot do without them.",
            HoldsRowsWarning,
        )


def _summary_holds_rows(name: Any) -> bool:
    """Whether summaries of this class hold rows themselves."""
    cls: Any = SUMMARIES.get(name) if isinstance(name, str) else None
    return cls is not None and "rows" in cls.state


def _require_rows(obj: Any, min_rows: int | None, holds_rows: bool) -> None:
    """Refuse an object of too few rows, if a number is given."""
    if min_rows is None:
        return
    if isinstance(min_rows, bool) or not isinstance(min_rows, int) or min_rows < 1:
        raise bad_min_rows(min_rows)
    n = getattr(obj, "n_samples_" if isinstance(obj, Model) else "n_rows", None)
    if n is None:
        raise unknown_number_of_rows(obj)
    if n < min_rows or holds_rows:
        raise fewer_rows_than_allowed(obj, n, min_rows, holds_rows)


def _holds_arrays(value: Any) -> bool:
    """Whether a plain value holds an array, or a number that is stored as one."""
    if isinstance(value, Record):
        value = value.fields
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_holds_arrays, value)) if isinstance(value, list | tuple) else hasattr(value, "dtype")
