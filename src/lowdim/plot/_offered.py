"""The decorator of plots: for which models a plot is meant, and the error for others."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..errors import does_not_fit
from ..models._accessors import Offer


def shows(what: str, fits: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A plot of `what` (a noun) for the fitted models for which `fits` is true; it becomes an attribute of the plot.

    The plot refuses others, and models that are not fitted, before it draws.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def plot(model: Any, *args: Any, **options: Any) -> Any:
            if hasattr(model, "fit"):
                check_is_fitted(model)
            if not fits(model):
                raise does_not_fit(function.__name__, type(model).__name__, what)
            return function(model, *args, **options)

        plot.fits = fits  # type: ignore[attr-defined]
        return plot

    return decorate


def offer(plot: Callable[..., Any]) -> Offer:
    """A decorated plot and the models that it fits."""
    return Offer(plot, plot.__dict__["fits"])


def has(*attributes: str) -> Callable[[Any], bool]:
    """Whether a model has all of these attributes, and none of them is None."""
    return lambda model: all(getattr(model, name, None) is not None for name in attributes)
