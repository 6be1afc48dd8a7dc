"""Options of commands: those that several commands share, and those that are the parameters of a model or function."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from .numpydoc import Described, described_parameters

#: Parameters that take arrays or functions, and so cannot be given on a command line.
_NOT_TEXT = ("array", "mapping", "dict")

#: The headings under which options are listed.
ROWS, RESULT, PARAMETERS = "The table", "The result", "Parameters of the model"


def _option(*names: str, help: str, metavar: str | None = None, panel: str = ROWS) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, show_default=False)


Output = Annotated[
    str | None,
    _option("--output", "-o", help="The file to write; - is the standard output.", metavar="FILE", panel=RESULT),
]
Overwrite = Annotated[bool, _option("--overwrite", "-f", help="Replace the output if it exists.", panel=RESULT)]
Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="Files of one table: CSV, Parquet, Arrow, NPY, Zarr or HDF5; a directory; or - for the standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A file that lowdim fit wrote.", show_default=False)]
Columns = Annotated[
    list[str] | None,
    _option(
        "--columns", "-c", help='A column, a pattern such as "temp_*", or numeric. Can be repeated.', metavar="NAME"
    ),
]
Exclude = Annotated[
    list[str] | None,
    _option("--exclude", "-x", help="A column or a pattern to leave out; repeatable.", metavar="NAME"),
]
Ids = Annotated[
    list[str] | None,
    _option("--id", help="A column that names the rows, and is not one of the table; repeatable.", metavar="NAME"),
]
Weight = Annotated[
    str | None, _option("--weight", "-w", help="The column with the weights of the rows.", metavar="NAME")
]
Responses = Annotated[
    list[str] | None, _option("--y", "-y", help="A column of the second table; repeatable.", metavar="NAME")
]
ResponseFiles = Annotated[
    list[str] | None, _option("--y-data", help="A file with the second table; repeatable.", metavar="FILE")
]
Fewer = Annotated[
    int | None, _option("--n-components", "-k", help="Use only the first so many components.", panel=RESULT)
]


def keyword(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    """An option of a command whose signature is built."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def options_of(function: Callable[..., Any], skip: Iterable[str] = ()) -> dict[str, inspect.Parameter]:
    """The parameters of a class or function as options, with types and help from its docstring.

    Parameters that are arrays or functions are left out, and so are those that the docstring does not describe.
    """
    words = described_parameters(function)
    options = {}
    for name, parameter in inspect.signature(function).parameters.items():
        described = words.get(name)
        if name in skip or described is None or described.kind.startswith(_NOT_TEXT):
            continue
        options[name] = keyword(name, _annotation(name, described, parameter), parameter.default)
    return options


def _annotation(name: str, described: Described, parameter: inspect.Parameter) -> Any:
    """The type of an option and its help."""
    flag = "--" + name.replace("_", "-")
    text = plain_help(described.text or described.kind)
    if described.kind.startswith("bool"):
        kind: Any = bool if isinstance(parameter.default, bool) else bool | None
        option = typer.Option(f"{flag}/--no-{flag[2:]}", help=text, rich_help_panel=PARAMETERS)
        return Annotated[kind, option]
    short = ["-k"] if name == "n_components" else []
    metavar = {"int": "INT", "float": "FLOAT"}.get(described.kind, "VALUE")
    if parameter.default is not None:
        text += f" \\[default: {parameter.default}]"
    option = typer.Option(flag, *short, help=text, metavar=metavar, show_default=False, rich_help_panel=PARAMETERS)
    return Annotated[str | None, option]


def plain_help(text: str) -> str:
    """Help without the marks of docstrings, and safe from being taken for the marks of rich."""
    return text.replace("`", "").replace("[", "\\[")


def values_of(options: Iterable[str], given: dict[str, Any]) -> dict[str, Any]:
    """The values of options that were given as text or flags, as the parameters of a model."""
    return {name: _value(given[name]) for name in options if given[name] is not None}


def _value(value: Any) -> Any:
    """The number, None, true, false or text that a text stands for; a list if it has commas between numbers."""
    if not isinstance(value, str):
        return value
    words = {"none": None, "true": True, "false": False}
    if value.lower() in words:
        return words[value.lower()]
    if "," in value:
        parts = [_value(part.strip()) for part in value.split(",")]
        return value if any(isinstance(part, str) for part in parts) else parts
    for kind in (int, float):
        try:
            number = kind(value)
        except ValueError:
            continue
        return number if math.isfinite(number) else value
    return value
