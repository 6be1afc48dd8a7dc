"""How functions become commands: their parameters are options, and errors are lines of text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .terminal import Terminal, speaking_plainly

_COMMON = {
    "json": Annotated[bool, typer.Option("--json", help="Print the result as JSON.")],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no remarks.")],
    "traceback": Annotated[bool, typer.Option("--traceback", help="Show where an error comes from.")],
}

#: A small letter before a capital, or a capital that begins a word after other capitals.
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def group(help: str, cls: type[TyperGroup] | None = None) -> typer.Typer:
    """An application to which commands can be added."""
    return typer.Typer(
        help=help,
        cls=cls,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": _normalized},
    )


def add(
    app: typer.Typer,
    name: str,
    function: Callable[..., None],
    options: Iterable[inspect.Parameter] = (),
    doc: str | None = None,
    without: Iterable[str] = (),
) -> None:
    """Add a function to an application as a command.

    The first parameter of the function is a Terminal. The others are arguments and options of the command; further
    `options` are passed on as keywords. Parameters of the function in `without` keep their defaults. Every command also
    has the options of `_COMMON`.
    """
    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    own = [p for p in own if p.kind is not inspect.Parameter.VAR_KEYWORD and p.name not in without]
    common = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for key, annotation in _COMMON.items()
    ]

    def run(json: bool, quiet: bool, traceback: bool, **given: Any) -> None:
        with speaking_plainly(traceback):
            function(Terminal(json, quiet), **given)

    parameters = [*own, *options, *common]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # read by typer
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__doc__ = doc or inspect.getdoc(function)
    app.command(name)(run)


def command_name(name: str) -> str:
    """The name of a class as a command: "kernel-pca" for KernelPCA."""
    return "-".join(_WORDS.split(name)).lower()


def _normalized(token: str) -> str:
    """Names of models may be written as those of their classes."""
    from ..models import __all__ as models

    names = {name.lower(): command_name(name) for name in models}
    return token if token.startswith("-") else names.get(token.lower(), token)
