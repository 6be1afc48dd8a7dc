"""A model that the user passes: whether a report can be about it, and which columns of the table it was fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from ..errors import names_difference
from ..models import GCCA, KernelCCA
from ..models._base import Model
from ..sources import Source


def check_model(model: Any) -> None:
    """Refuse what is no model, and models of several tables, which have no map of their own."""
    if model is None:
        return
    if not isinstance(model, Model):
        kind = f"{type(model).__module__}.{type(model).__name__}"
        raise TypeError(f"model must be a model of lowdim, such as lowdim.PCA(5), fitted or not; got {kind}.")
    if isinstance(model, GCCA | KernelCCA):
        raise TypeError(
            f"a report is about one table, or about two of them, and {type(model).__name__} has its own kind of "
            "tables. Leave the model out; other= compares a second table by CCA."
        )


def is_fitted(model: Any) -> bool:
    """Whether there is a model, and it is fitted."""
    return model is not None and bool(model.__sklearn_is_fitted__())


def columns_of(model: Any, names: Sequence[str]) -> np.ndarray:
    """The positions, among `names`, of the columns that the model was fitted to; an error if the table lacks one."""
    kind = type(model).__name__
    expected = getattr(model, "feature_names_in_", None)
    if expected is not None:
        places = {name: j for j, name in enumerate(names)}
        wanted = [str(name) for name in expected]
        if not set(wanted) <= set(places):
            got = [name for name in names if name in wanted]
            raise ValueError(
                f"this {kind} was fitted to columns that are not all numbers in the table: "
                f"{names_difference(wanted, got)}. Pass the table of the fit, or a model that is not fitted."
            )
        return np.array([places[name] for name in wanted], dtype=int)
    if model.n_features_in_ != len(names):
        raise ValueError(
            f"this {kind} was fitted to {model.n_features_in_} columns, and {len(names)} of the table are numbers. "
            "Pass the table of the fit, or a model that is not fitted."
        )
    return np.arange(len(names))


def fit_given(model: Any, rows: Source, response: Source | None, weights: np.ndarray | None) -> Any:
    """A copy of the model fitted to the rows; the model itself is not changed."""
    if not get_tags(model).target_tags.required:
        return clone(model).fit(rows, sample_weight=weights)
    if response is None:
        raise ValueError(
            f"{type(model).__name__} relates a second table to the rows: pass it as response or other, or pass a model "
            "that is fitted."
        )
    return clone(model).fit(rows, response, sample_weight=weights)
