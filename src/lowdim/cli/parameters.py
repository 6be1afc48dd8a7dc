"""Parameters of models and functions as options of commands."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from .numpydoc import Described, described_parameters

#: Kinds of parameters that cannot be given on a command line.
_NOT_TEXT = ("array", "mapping", "dict")
#: Kinds that are lists, and kinds that are names of columns.
_LISTS, _NAMES = ("sequence of", "("), ("sequence, or str", "vector, or str")


class Parameters:
    """The parameters of a class or function that can be given as options, with types and help from its docstring.

    Parameters that are arrays are left out, and so are those of `skip` and those that the docstring does not describe.
    """

    def __init__(self, function: Callable[..., Any], skip: Iterable[str] = (), heading: str = "Parameters") -> None:
        words, unwanted = described_parameters(function), set(skip)
        self._kinds: dict[str, str] = {}
        #: The options, as parameters of a command.
        self.options: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(function).parameters.items():
            described = words.get(name)
            if name in unwanted or described is None or described.kind.startswith(_NOT_TEXT):
                continue
            self._kinds[name] = described.kind
            annotation = _annotation(name, described, parameter, heading)
            # Options that are not given are not passed on, so that the default is that of the function.
            option = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            self.options.append(option)

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        """The values of the options that were given, for the function."""
        return {name: value_of(given[name], kind) for name, kind in self._kinds.items() if given[name] is not None}


def _annotation(name: str, described: Described, parameter: inspect.Parameter, heading: str) -> Any:
    """The type of an option and its help."""
    flag = "--" + name.replace("_", "-")
    text = plain_help(described.text or described.kind)
    if parameter.default is not None and parameter.default is not inspect.Parameter.empty:
        text += f" \\[default: {parameter.default}]"
    if described.kind.startswith("bool"):
        flags = typer.Option(f"{flag}/--no-{flag[2:]}", help=text, show_default=False, rich_help_panel=heading)
        return Annotated[bool | None, flags]
    short = ["-k"] if name == "n_components" else []
    metavar = {"int": "INT", "float": "FLOAT"}.get(described.kind, "VALUE")
    option = typer.Option(flag, *short, help=text, metavar=metavar, show_default=False, rich_help_panel=heading)
    return Annotated[str | None, option]


def plain_help(text: str) -> str:
    """Help without the marks of docstrings, and safe from being taken for the marks of rich."""
    return text.replace("`", "").replace("[", "\\[")


def value_of(value: Any, kind: str) -> Any:
    """The value that a text stands for: a number, None, true, false or text; a list of them with commas between
    numbers, and always for kinds that are lists. Names of columns stay as they are."""
    if not isinstance(value, str) or kind.startswith(_NAMES):
        return value
    if kind.startswith(_LISTS):
        return [_single(part.strip()) for part in value.split(",")]
    if "," in value:
        parts = [_single(part.strip()) for part in value.split(",")]
        return value if any(isinstance(part, str) for part in parts) else parts
    return _single(value)


def _single(text: str) -> Any:
    """The number, None, true or false that a text stands for; otherwise the text."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else text
    return text
