"""Summaries from files: what `update` and `merge` guarantee must hold for them as well."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import container
from .._entries import all_finite, asymmetry, largest_magnitude
from .._xp import is_sparse, to_numpy
from ..errors import damaged_file, is_checkpoint

if TYPE_CHECKING:
    from .base import Layout, Summary

#: Symmetric matrices may differ from their transpose, and have negative diagonal entries, by this fraction of their
#: largest entry.
_ROUNDING = 1e-8
#: What goes wrong while a summary is made from values that no summary can have.
_DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def read_summary(path: str | PathLike[str], cls: type[Summary]) -> Any:
    """The summary of the class `cls` in a file. It is made twice: before the arrays are read, from their shapes, and
    from the arrays."""

    def check(document: dict[str, Any], layout: Any) -> None:
        name = document.get("class")
        if document.get("holds") in ("model", "result"):
            raise ValueError(f"{path} holds a {document['holds']}, not a {cls.__name__}; use lowdim.load(path).")
        if document.get("holds") == "checkpoint":
            raise is_checkpoint(path)
        if document.get("holds") != "summary" or class_named(name) is None:
            raise damaged_file(path, "it does not say which summary it holds", container.is_newer(document))
        if name != cls.__name__:
            raise ValueError(f"{path} holds a {name}, not a {cls.__name__}; use lowdim.summaries.{name}.load(path).")
        make(document, layout, declared=True)

    def make(document: dict[str, Any], arrays: Any, declared: bool) -> Any:
        try:
            rebuild = container.declared if declared else container.rebuild
            return cls._from_tree(rebuild(document, arrays), declared)
        except _DAMAGE as error:
            raise damaged_file(path, error, container.is_newer(document)) from error

    return make(*container.read(path, check), declared=False)


def class_named(name: Any) -> type[Summary] | None:
    """The summary of this name in the table `SUMMARIES`."""
    from . import SUMMARIES

    return SUMMARIES.get(name) if isinstance(name, str) else None


def with_summaries(value: Any, declared: bool) -> Any:
    """`value` with each tree replaced by its summary."""
    if isinstance(value, list):
        return [with_summaries(item, declared) for item in value]
    if not isinstance(value, dict):
        return value
    cls = class_named(value.get("class"))
    if cls is None:
        raise ValueError(f"there is no summary of the class {str(value.get('class'))[:80]!r}")
    return cls._from_tree(value, declared)


def stored_values(cls: type[Summary], tree: dict[str, Any]) -> dict[str, Any]:
    """The values in the tree of a summary, by name; all must be there, and no others."""
    stored = tree.get("state")
    if not isinstance(stored, dict) or "names" not in tree:
        raise ValueError(f"it has no state of a {cls.__name__}")
    names = tree["names"] or []
    if not isinstance(names, list) or not all(name is None or isinstance(name, str) for name in names):
        raise ValueError("the names of its columns are no list of names")
    if missing := [name for name in cls.state if name not in stored and name not in cls.added]:
        raise ValueError(f"{', '.join(missing)} is missing")
    if more := [name for name in stored if name not in cls.state]:
        raise ValueError(f"it holds {', '.join(more)[:80]}, which a {cls.__name__} does not have")
    return dict(stored)


def check_shapes(summary: Summary) -> None:
    """Raise a ValueError if the values of a summary do not have the shapes and dtypes of a summary of rows, or if some
    are missing."""
    layout, given = summary._layout(), (*summary.parameters, *summary.options)
    for name, shape in layout.items():
        value = getattr(summary, name)
        if value is not None:
            _check_shape(name, value, shape, summary.kinds.get(name, "f") if shape else "fiub")
        elif name not in summary.optional and (not shape or name in given):
            raise ValueError(f"{name} is missing")
    for name in summary.state:
        if name not in layout and isinstance(getattr(summary, name), np.ndarray | np.generic | int | float):
            raise ValueError(f"it holds {name}, which this summary does not have")
    _check_complete(summary, layout)


def check_values(summary: Summary) -> None:
    """Raise a ValueError if the values of a summary cannot be those of a summary of rows: numbers that are not finite
    or have the wrong sign."""
    for name in summary._layout():
        value = getattr(summary, name)
        if value is not None and not all_finite(_numbers(value)):
            raise ValueError(f"{name} contains NaN or infinity")
    for name in summary.nonnegative:
        value = getattr(summary, name)
        if value is not None and _numbers(value).size and _numbers(value).min() < 0:
            raise ValueError(f"{name} has the negative entry {_numbers(value).min():g}")
    for name in summary.symmetric:
        value = getattr(summary, name)
        if value is not None:
            _check_symmetric(name, _numbers(value))


def _numbers(value: Any) -> np.ndarray:
    """A number, or the entries of an array of any kind, as a NumPy array."""
    return value.data if is_sparse(value) else np.asarray(to_numpy(value))


def _check_shape(name: str, value: Any, shape: tuple[int | None, ...], kinds: str) -> None:
    """Raise an error unless `value` holds numbers of these kinds and has the given shape, where None is any length.
    Arrays may not have been read yet, so that only numbers must be finite."""
    numbers = _numbers(value)
    if numbers.dtype.kind not in kinds:
        allowed = {"f": "floats", "u": "whole numbers without a sign", "i": "whole numbers"}.get(kinds, "real numbers")
        raise ValueError(f"{name} has dtype {numbers.dtype}, and must hold {allowed}")
    got = tuple(value.shape) if is_sparse(value) else numbers.shape
    if len(got) != len(shape) or any(s is not None and s != g for g, s in zip(got, shape, strict=True)):
        wanted = ", ".join("any" if s is None else str(s) for s in shape)
        raise ValueError(f"{name} has shape {got}, and must have shape ({wanted})")
    if not shape and not np.isfinite(numbers):
        raise ValueError(f"{name} contains NaN or infinity")


def _check_symmetric(name: str, S: np.ndarray) -> None:
    """Raise an error unless a matrix is symmetric and its diagonal is not negative, up to rounding."""
    allowed = _ROUNDING * largest_magnitude(S)
    difference, smallest = asymmetry(S), float(np.diagonal(S).min())
    if not difference <= allowed:
        raise ValueError(f"{name} is not symmetric: it differs from its transpose by up to {difference:.3g}")
    if smallest < -allowed:
        raise ValueError(f"{name} has the negative diagonal entry {smallest:.3g}")


def _check_complete(summary: Summary, layout: Layout) -> None:
    """Raise an error unless all sums are there if the summary has seen rows, and none of them if it has not."""
    sums = [name for name, shape in layout.items() if shape and name not in (*summary.parameters, *summary.options)]
    there = {name: getattr(summary, name) is not None for name in sums}
    seen = any(there.values())
    if seen and not all(there.values()):
        missing = ", ".join(name for name, known in there.items() if not known)
        raise ValueError(f"{missing} is missing")
    for name in ("n_rows", "weight"):
        count = getattr(summary, name, 0 if not seen else 1)
        if (count > 0) != seen or count < 0:
            raise ValueError(f"{name} is {count}, but the summary holds {'' if seen else 'no '}sums of rows")
    if not isinstance(getattr(summary, "n_rows", 0), int):
        raise ValueError(f"n_rows is {summary.n_rows!r}, and must be a whole number")  # type: ignore[attr-defined]
