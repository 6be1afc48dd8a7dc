"""A fitted model with its first components only, for `transform(X, n_components=k)` and its like.

What a model keeps of each component is known from `fitted_attributes`, whose shapes call the number of components k:
the first components are the first entries of these attributes. Nothing is fitted again, and no array is copied.
"""

from __future__ import annotations

import copy
import numbers
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..attributes import declared
from ..errors import not_so_many_components


def first_components(model: Any, k: Any, least: int = 1) -> Any:
    """A fitted model of the first `k` components of `model`, or the model itself if `k` is None or the number it has.

    An error if `k` is not a whole number from `least` to that number.
    """
    check_is_fitted(model)
    if k is None:
        return model
    whole = isinstance(k, numbers.Integral) and not isinstance(k, bool | np.bool_)
    if not whole or not least <= int(k) <= model.n_components_:
        raise not_so_many_components(k, least, model.n_components_)
    if int(k) == model.n_components_:
        return model
    first = copy.copy(model)
    first._keep_first(int(k))
    return first


def keep_first_entries(model: Any, k: int) -> None:
    """Keep of each fitted attribute what belongs to the first k components."""
    for name, kind in declared(type(model)).items():
        if name in model.__dict__:
            model.__dict__[name] = kind.first(model.__dict__[name], "k", k)


def with_first_components(transform: Callable[..., Any]) -> Callable[..., Any]:
    """`transform` with the argument `n_components`, for which it runs in the model of so many components: the names
    that scikit-learn gives the columns of a data frame are then those of this model."""

    @wraps(transform)
    def of_first_components(self: Any, X: Any, *arguments: Any, n_components: Any = None, **options: Any) -> Any:
        model = self if n_components is None else first_components(self, n_components)
        return transform(model, X, *arguments, **options)

    return of_first_components
