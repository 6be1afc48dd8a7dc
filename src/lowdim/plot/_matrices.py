"""The loadings of a model: one number for each column and component, whatever the model calls them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._model import numbers_of

#: The attributes that hold loadings, columns in rows.
_NAMES = ("loadings_", "mixing_", "x_loadings_")


def has_loadings(model: Any) -> bool:
    """Whether a fitted model has loadings of one table."""
    return _found(model) is not None


def loadings_of(model: Any) -> np.ndarray:
    """The loadings, shape (p, K)."""
    return numbers_of(_found(model))


def loadings_of_unit_scores(model: Any, deviations: np.ndarray) -> np.ndarray:
    """The loadings for scores that are divided by their standard deviations.

    `loadings_` are those of components of variance one; the others belong to the scores as they are.
    """
    found = loadings_of(model)
    return found if hasattr(model, "loadings_") else found * deviations


def _found(model: Any) -> Any:
    for name in _NAMES:
        value = getattr(model, name, None)
        # Models of several tables have a list of them.
        if value is not None and not isinstance(value, list | tuple):
            return value
    return None
