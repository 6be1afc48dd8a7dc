"""How a source is made again on the machine of a task: calls that are made there, with places for what is found there.

`Source.elsewhere(later)` writes such a recipe. An engine puts places in it for what the task is given separately, such
as its partition (`with_places`), and sends it. The task makes the source (`made`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A call that a task makes before it begins."""

    function: Callable[..., Any]
    arguments: list[Any]
    named: dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Stands for one of the values that the task is given: its number among them."""

    number: int


def later(function: Callable[..., Any]) -> Callable[..., Call]:
    """The function, with calls that are noted and not made.

    >>> made(later(max)(later(abs)(-3), 2), [])
    3
    """
    return lambda *arguments, **named: Call(function, list(arguments), named)


def with_places(recipe: Any, place: Callable[[Any], Place | None]) -> Any:
    """The recipe with places for the arguments to which `place` gives one."""
    if isinstance(recipe, Call):
        named = {name: with_places(each, place) for name, each in recipe.named.items()}
        return Call(recipe.function, with_places(recipe.arguments, place), named)
    if isinstance(recipe, list):
        return [with_places(item, place) for item in recipe]
    found = place(recipe)
    return recipe if found is None else found


def made(recipe: Any, values: Sequence[Any]) -> Any:
    """What a recipe makes, with these values at its places. A value at several places is the same object at all."""
    if isinstance(recipe, Place):
        return values[recipe.number]
    if isinstance(recipe, Call):
        named = {name: made(each, values) for name, each in recipe.named.items()}
        return recipe.function(*made(recipe.arguments, values), **named)
    return [made(item, values) for item in recipe] if isinstance(recipe, list) else recipe
