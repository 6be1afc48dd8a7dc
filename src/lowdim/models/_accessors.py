"""Accessors: `model.tables`, `model.plot` and `model.report`, which belong to layers above the models.

A model must not import the modules that look at it. An accessor names the class that does so by text, and imports it
when the accessor is used, so that matplotlib, for example, is needed only by those who plot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, update_wrapper
from importlib import import_module
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted


class Accessor:
    """A descriptor: `model.name` is what the class or function that `place` ("package.module:name") names makes of the
    model.

    `Model.name`, without an instance, is the class or function itself, for documentation.
    """

    def __init__(self, place: str) -> None:
        self.place = place

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        module, name = self.place.split(":")
        found = getattr(import_module(module), name)
        return found if model is None else found(model)


@dataclass(frozen=True)
class Offer:
    """A function whose first argument is a fitted model, and for which fitted models it is meant."""

    function: Callable[..., Any]
    fits: Callable[[Any], bool]

    @property
    def brief(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]


class Offers:
    """Functions of one fitted model, as methods: those of the table `offers` that fit it. Printing it lists them."""

    #: What is offered, such as "table" or "plot", for messages.
    what: ClassVar[str]
    offers: ClassVar[Mapping[str, Offer]]

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        check_is_fitted(self._model)
        offer = self.offers.get(name)
        if offer is None or not offer.fits(self._model):
            known = f"{type(self._model).__name__} has no {self.what} {name!r}"
            raise AttributeError(f"{known}; it has {', '.join(self._names())}.")
        bound: Any = update_wrapper(partial(offer.function, self._model), offer.function)
        # Otherwise the signature would be that of the function, with the model as its first argument.
        del bound.__wrapped__
        return bound

    def _names(self) -> list[str]:
        return [name for name, offer in self.offers.items() if offer.fits(self._model)]

    def __dir__(self) -> list[str]:
        return self._names() if self._model.__sklearn_is_fitted__() else []

    def __repr__(self) -> str:
        kind = type(self._model).__name__
        if not self._model.__sklearn_is_fitted__():
            return f"{kind} is not fitted yet, so it has no {self.what}s."
        names = self._names()
        width = max(map(len, names), default=0)
        lines = [f"  {name:<{width}}  {self.offers[name].brief}" for name in names]
        return "\n".join([f"The {self.what}s of this {kind}:", *lines])
