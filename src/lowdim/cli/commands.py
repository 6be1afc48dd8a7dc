"""How functions become commands: their parameters are options, with help from their docstrings."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .terminal import Terminal, speaking_plainly

# How functions become commands: their parameters are options, and errors are lines of text.


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


# What a docstring says of parameters, so that the help of options says nothing twice.


#: The heading of a section, and what follows up to the next one.
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Described:
    """A parameter as its docstring describes it."""

    #: The types, such as "int, float, str or None".
    kind: str
    text: str


def described_parameters(obj: Any) -> dict[str, Described]:
    """The parameters in the docstring of a class or a function, by name; "a, b : float" describes two."""
    found = _SECTION.search(inspect.getdoc(obj) or "")
    parameters: dict[str, Described] = {}
    if found is None:
        return parameters
    for entry in re.split(r"\n(?=\S)", found.group(1).rstrip()):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        text = " ".join(line.strip() for line in body.split("\n")).strip()
        for name in names.split(","):
            parameters[name.strip()] = Described(kind.strip(), text)
    return parameters


def first_sentence(obj: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(obj) or "").split("\n")[0]


# Options that several commands share.


#: The headings under which options are listed.
ROWS, RESULT = "The table", "The result"


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


# Parameters of models and functions as options of commands.


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
