"""The file of a checkpoint: of which pass it is, how far the pass was, and its sums."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from .. import container
from .._digest import digest
from .._xp import Array, is_array
from ..errors import damaged_checkpoint, other_pass
from ..sources import Source
from ..summaries.base import Summary
from .lanes import Begin, Cut, Place

#: Values in messages are cut to this many characters.
_SHORT = 80


@dataclass(frozen=True)
class State:
    """How far a pass is, and its summaries."""

    cut: Cut
    #: One for each summary; none if all rows have been added and there is only one summary.
    places: list[Place]
    #: The first block that has not been added.
    begin: Begin
    summaries: list[Summary] = field(repr=False)

    @property
    def whole(self) -> bool:
        """Whether all rows have been added."""
        return not self.places


def describe_pass(source: Source, weights: Array | None, summary: Summary) -> dict[str, Any]:
    """What must be the same when a pass goes on: the rows, their weights, and the summary to which they are added."""
    parameters = {name: _plain(getattr(summary, name)) for name in summary.parameters}
    about = {"class": type(summary).__name__, **parameters, "digest of what it held": digest(summary._tree())}
    of = {"rows": source.identity(), "weights": None if weights is None else f"digest {digest(weights)}"}
    described: dict[str, Any] = json.loads(json.dumps(of | {"summary": about}))
    return described


def write_state(path: str | PathLike[str], described: dict[str, Any], state: State) -> None:
    """Write the state of a pass. The file appears under its name when it is whole."""
    tree = {
        "holds": "checkpoint",
        "pass": described,
        "cut": state.cut._asdict(),
        "places": [place._asdict() for place in state.places],
        "begin": state.begin._asdict(),
        "summaries": [summary._tree() for summary in state.summaries],
    }
    container.write(path, *container.flatten(tree))


def read_state(path: str | PathLike[str], described: dict[str, Any], kind: type[Summary]) -> State | None:
    """The state in a file, after a check that it is of this pass; None if there is no file."""
    if not os.path.exists(path):
        return None
    differences: list[str] = []

    def check(document: dict[str, Any], layout: Any) -> None:
        if document.get("holds") != "checkpoint" or not isinstance(document.get("pass"), dict):
            raise ValueError(f"it holds {str(document.get('holds'))[:_SHORT]!r}")
        differences.extend(_differences(document["pass"], described))
        if differences:
            raise ValueError("it is of another pass")

    try:
        tree = container.rebuild(*container.read(path, check))
        return _state(tree, kind)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if differences:
            raise other_pass(path, differences) from None
        raise damaged_checkpoint(path, error) from error


def _state(tree: dict[str, Any], kind: type[Summary]) -> State:
    """The state of a pass, from the tree that was read."""
    cut, begin, trees = Cut(**tree["cut"]), Begin(**tree["begin"]), tree["summaries"]
    places = [Place(**place) for place in tree["places"]]
    n = cut.summaries
    numbers = [*cut, begin.block, begin.row, *(number for place in places for number in place)]
    if not all(type(number) is int and number >= 0 for number in numbers) or min(cut.rows, cut.parts, n) < 1:
        raise ValueError("its places are not numbers of rows and pieces")
    if any(place.piece % n != i for i, place in enumerate(places)) or len(trees) != (n if places else 1):
        raise ValueError(f"it holds {len(trees)} summaries with {len(places)} places, and {n} were made")
    if places and cut.parts == 1 and begin.block != min(place.piece for place in places):
        raise ValueError("the rows that it begins with are not those that are missing")
    return State(cut, places, begin, [kind._from_tree(tree) for tree in trees])


def _plain(value: Any) -> Any:
    """A parameter of a summary as a JSON value; arrays and summaries become digests."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Summary):
        return f"{type(value).__name__} with digest {digest(value._tree())}"
    return f"digest {digest(value)}" if is_array(value) else str(value)


def _differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """What differs between two trees of JSON values, one text for each place."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*before, *(key for key in now if key not in before)]:
            yield from _differences(before.get(key), now.get(key), f"{place}, {key}" if place else key)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now) and _is_deep(before):
        for i, (a, b) in enumerate(zip(before, now, strict=True)):
            yield from _differences(a, b, f"{place} {i}")
    elif before != now:
        yield f"{place}: {_short(before)} then, {_short(now)} now"


def _is_deep(values: list[Any]) -> bool:
    return any(isinstance(value, dict | list) for value in values)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."
