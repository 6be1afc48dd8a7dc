"""Attributes that follow from others, for models that were not fitted but rebuilt from saved arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class derived:  # noqa: N801 (used as a decorator, like property)
    """An attribute that is computed by a function of the object, unless the object has it: a fit sets it.

    If what the function needs is missing, so is the attribute.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        try:
            return self._function(instance)
        except AttributeError:
            name = self._function.__name__
            raise AttributeError(f"{owner.__name__!r} object has no attribute {name!r}") from None
