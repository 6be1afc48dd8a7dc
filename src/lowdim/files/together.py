"""Plain values put together to objects, through their constructors and the checks of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._xp import asarray_like, dtype_like, is_array
from ..attributes import Inspection, Record
from ..models._base import Model
from ..summaries import Summary
from .classes import class_named, put_together
from .fields import fields_of


def built(value: Any, like: Any = None) -> Any:
    """The object with this plain form; the arrays of models and summaries are made in the namespace and on the device
    of `like`, or are NumPy's if that is None."""
    if isinstance(value, Record):
        return _built_record(value, like)
    if isinstance(value, list | tuple):
        return type(value)(built(item, like) for item in value)
    return {key: built(item, like) for key, item in value.items()} if isinstance(value, dict) else value


def parameters_checked(record: Record) -> Any:
    """The model of a record before it was fitted, with parameters that its own check accepts."""
    cls: Any = class_named(record.kind)
    model = cls(**built(record.fields["parameters"]))
    model._check_parameters()
    return model


def placed_summary(summary: Summary, like: Any) -> Summary:
    """The summary, with its arrays in the namespace and on the device of `like`."""
    moved = {name: asarray_like(value, like) for name in summary.state if is_array(value := getattr(summary, name))}
    summary._restore(moved)
    return summary


def _built_record(record: Record, like: Any) -> Any:
    fields = record.fields
    if record.kind == "dtype":
        dtype = np.dtype(fields["name"]).type
        return dtype if like is None else dtype_like(dtype, like)
    cls: Any = class_named(record.kind)
    if issubclass(cls, Summary):
        summary = cls._from_tree(fields["tree"])
        return summary if like is None else placed_summary(summary, like)
    if not issubclass(cls, Model):
        return put_together(cls, {name: built(item, like) for name, item in fields.items()})
    model, fitted = parameters_checked(record), fields["fitted"]
    if like is not None:
        fitted = fields_of(record.kind)["fitted"].placed(fitted, _mover(like), Inspection(fields_of))
    model.__dict__.update(built(fitted, like))
    model._check_fitted()
    return model if fields["output"] is None else model.set_output(transform=fields["output"])


def _mover(like: Any) -> Callable[[np.ndarray], Any]:
    """The function that makes an array of the namespace and device of `like`; the same array is moved once."""
    moved: dict[int, Any] = {}

    def move(array: np.ndarray) -> Any:
        if id(array) not in moved:
            moved[id(array)] = asarray_like(array, like)
        return moved[id(array)]

    return move
