"""The call of `report` that makes the same page, as text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..sources import Scan


def call_of(X: Any, path: Any, given: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The call with its arguments: values that can be written down as they are, all others by their names.

    Arguments that have their default are left out.
    """
    arguments = [_rows(X), repr(os.fspath(path))]
    for name, value in given.items():
        if value is not defaults[name]:
            arguments.append(f"{name}={_written(value, name)}")
    return f"lowdim.report({', '.join(arguments)})"


def _rows(X: Any) -> str:
    if not isinstance(X, Scan):
        return _written(X, "X")
    choice = [(name, getattr(X.choice, name, None)) for name in ("columns", "exclude")]
    chosen = [f"{name}={_written(value, name)}" for name, value in choice if value]
    return f"lowdim.scan({', '.join([_written(getattr(X.found, 'where', X), 'path'), *chosen])})"


def _written(value: Any, name: str) -> str:
    """The value as Python writes it, if it is a number, text or a short list of these; otherwise its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if isinstance(value, os.PathLike):
        return repr(os.fspath(value))
    if isinstance(value, list | tuple) and len(value) <= 12 and all(isinstance(v, str | int | float) for v in value):
        return repr(list(value))
    return name
