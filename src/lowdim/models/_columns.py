"""The columns of new rows, compared with those of the fit, and the array library and device that they are on."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._xp import device, namespace
from ..errors import names_difference, other_names, other_namespace, other_width
from ..sources import Source


def check_columns(model: Any, source: Source, reset: bool) -> None:
    """Record the columns of a source in the model if `reset`, otherwise compare them with those of the fit."""
    p = source.shape[1]
    if reset:
        model.n_features_in_ = p
        model.__dict__.pop("feature_names_in_", None)
        if source.names is not None:
            model.feature_names_in_ = np.asarray(source.names, dtype=object)
        return
    expected = list(getattr(model, "feature_names_in_", []))
    # Names are compared if both have some.
    names = list(source.names or []) if expected else []
    if p != model.n_features_in_:
        raise other_width(p, model.n_features_in_, names_difference(expected, names) if names else "")
    if names and names != expected:
        raise other_names(None, names, expected)


def check_namespace(model: Any, source: Source, method: str) -> None:
    """Refuse new rows from another array namespace or device than those of the fit."""
    centre = model._centre()
    if centre is None:
        return
    like = source.empty(0)
    if namespace(like) is not namespace(centre) or device(like) != device(centre):
        raise other_namespace(type(model).__name__, method, centre, like)
