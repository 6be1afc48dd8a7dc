"""How functions become commands: their parameters are options, with help from a table and from docstrings."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import FORMER_NAMES
from .terminal import Call, speaking_plainly

# The options of the verbs.


#: The headings under which options are listed.
ROWS, RESULT, ANALYSIS = "The table", "The result", "The analysis"
#: What has no default, and options that can be repeated.
_REQUIRED, _LIST = inspect.Parameter.empty, list[str] | None


def _argument(help: str, metavar: str | None = None, kind: Any = list[str], default: Any = _REQUIRED) -> Any:
    return _parameter(kind, default, typer.Argument(metavar=metavar, help=help, show_default=False))


def _option(
    flags: str,
    help: str,
    metavar: str | None = None,
    panel: str | None = None,
    kind: Any = str | None,
    default: Any = None,
) -> Any:
    return _parameter(kind, default, typer.Option(*flags.split(), help=help, metavar=metavar, rich_help_panel=panel))


def _switch(flags: str, help: str, panel: str | None = None) -> Any:
    return _option(flags, help, None, panel, bool, False)


def _parameter(kind: Any, default: Any, about: Any) -> inspect.Parameter:
    """A parameter whose name is still to be set."""
    return inspect.Parameter("name", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about])


_DATA = "Files of one table: CSV, Parquet, Arrow, NPY, Zarr or HDF5; a directory; or - for the standard input."

_SUPPLEMENTARY = _option(
    "--supplementary",
    "A column that does not take part in the fit, and gets coordinates all the same; repeatable.",
    "NAME",
    ROWS,
    _LIST,
)
_COLUMN_GROUPS = (
    'The groups of columns: the separator after the name of the group in the names of the columns, such as "_"; or a '
    'file: .json with {"group": ["column", ...]}, or .csv with the columns column and group.'
)

#: Arguments and options of the verbs by their names. "report y" is `y` of the verb `report` only.
OPTIONS = {
    "data": _argument(_DATA, "DATA"),
    "draw data": _argument(_DATA, "DATA", default=[]),
    "model": _argument("A file that lowdim fit wrote.", "MODEL", str),
    "inspect_file file": _argument("A saved model, summary or result, or files with data.", None, str),
    "inspect_file data": _argument("Rows, for tables of a model that are about rows.", "DATA", default=[]),
    "merge files": _argument("Files that `lowdim summarize` wrote."),
    # What is read.
    "columns": _option(
        "--columns -c", 'A column, a pattern such as "temp_*", or numeric. Can be repeated.', "NAME", ROWS, _LIST
    ),
    "exclude": _option("--exclude -x", "A column or a pattern to leave out; repeatable.", "NAME", ROWS, _LIST),
    "decimal": _option(
        "--decimal",
        "The character before decimals in CSV files, . or , (the default is to find out).",
        "CHARACTER",
        ROWS,
    ),
    "keep": _option("--keep", "A column that is carried along to the output; repeatable.", "NAME", ROWS, _LIST),
    "hue": _option("--hue", "A column of categories, which colour the map; repeatable.", "NAME", ROWS, _LIST),
    "labels": _option("--labels", "The column that says what each row is called.", "NAME", ROWS),
    "sample_weight": _option("--sample-weight -w", "The column with the weights of the rows.", "NAME", ROWS),
    "y": _option("--y -y", "A column of the second table; repeatable.", "NAME", ROWS, _LIST),
    "y_data": _option("--y-data", "A file with the second table; repeatable.", "FILE", ROWS, _LIST),
    "supplementary": _option("--supplementary", "Rows that are shown and not fitted; repeatable.", "FILE", ROWS, _LIST),
    "supplementary_columns": _option(
        "--supplementary-columns", "A column that is shown and not fitted; repeatable.", "NAME", ROWS, _LIST
    ),
    "categorical_features": _option(
        "--categorical",
        "A column of numbers whose entries are codes of categories, such as classes 1 to 3; repeatable.",
        "NAME",
        ROWS,
        _LIST,
    ),
    "fit supplementary": _SUPPLEMENTARY,
    "validate supplementary": _SUPPLEMENTARY,
    "fit column_groups": _option(
        "--groups --column-groups",
        _COLUMN_GROUPS,
        "SEPARATOR|FILE",
        ROWS,
    ),
    "column_groups": _option(
        "--column-groups",
        _COLUMN_GROUPS,
        "SEPARATOR|FILE",
        ROWS,
    ),
    # What is written.
    "output": _option("--output -o", "The file to write; - is the standard output.", "FILE", RESULT),
    "convert output": _option("--output -o", "The file to write.", "FILE", None, str, _REQUIRED),
    "summarize output": _option("--output -o", "The file to write.", None, None, str, _REQUIRED),
    "merge output": _option("--output -o", "The file to write.", None, None, str, _REQUIRED),
    "draw output": _option("--output -o", "The picture to write: .png, .svg or .pdf.", "FILE", RESULT, str, _REQUIRED),
    "report output": _option("--output -o", "The page to write: .html.", "FILE", RESULT, str, "report.html"),
    "overwrite": _switch("--overwrite -f", "Replace the output if it exists.", RESULT),
    "brief": _option("--brief", "One page only, for a screen or a sheet of paper.", None, RESULT, bool | None),
    "title": _option("--title", "The heading of the page.", None, RESULT),
    "style": _option("--style", "A style sheet of matplotlib.", None, RESULT),
    "dpi": _option("--dpi", "Dots per inch, for .png.", None, RESULT, int, 150),
    "n_components": _option("--n-components -k", "Use only the first so many components.", None, RESULT, int | None),
    "return_std": _switch("--return-std", "Also write the standard deviations of the filled entries."),
    "escape_formulas": _switch(
        "--escape-formulas", "In CSV, put an apostrophe before text that a spreadsheet would run as a formula."
    ),
    "max_rows": _option("--max-rows", "Print at most so many rows.", None, None, int, 40),
    # What is computed.
    "checkpoint": _option("--checkpoint", "A file that keeps the state of the pass, to go on after a crash.", "FILE"),
    "cv": _option("--cv", "The number of folds, or a column with the fold of each row.", None, None, str, "5"),
    "validate n_components": _option("--n-components -k", "The numbers of components to compare, as in 1-5 or 2,4,8."),
    "groups": _option("--groups", "A column; rows of one group stay together."),
    "rules": _option("--rules -r", "A rule; the default is all. Can be repeated.", None, None, _LIST),
    "kind": _option("--kind", "moments, or triangle where columns depend on each other.", None, None, str, "moments"),
    "min_rows": _option("--min-rows", "Refuse to write a summary of fewer rows than this.", None, None, int | None),
    "which": _option("--table -t", "One of the tables of a model; a wrong name lists them."),
    "report y": _option("--y -y", "A column to predict; repeatable.", "NAME", ANALYSIS, _LIST),
    "Y": _option(
        "--Y", "A second table of the same rows, for CCA: columns, or files; repeatable.", "NAME", ANALYSIS, _LIST
    ),
    "report model": _option(
        "--model",
        "A file that lowdim fit wrote; the default is FAMD, MCA or PCA, by what the columns hold.",
        "FILE",
        ANALYSIS,
    ),
    "report n_components": _option(
        "--n-components -k", "The number of components; the default is chosen by a rule.", None, ANALYSIS, int | None
    ),
    "scale": _option(
        "--scale/--no-scale",
        "Divide columns by their standard deviations, or do not.",
        None,
        ANALYSIS,
        bool | None,
    ),
    "min_frequency": _option(
        "--min-frequency",
        "Pool levels of categories with fewer rows than this, or with a smaller share of the rows, such as 0.02.",
        "NUMBER",
        ANALYSIS,
    ),
    "image_shape": _option("--image-shape", "The picture in each row, as in 8,8; or none.", "SHAPE", ANALYSIS),
    "random_state": _option("--random-state", "The seed of what is drawn at random.", None, ANALYSIS, int | None),
    # What every command has.
    "json": _switch("--json", "Print the result as JSON."),
    "quiet": _switch("--quiet -q", "Show no progress and no remarks."),
    "traceback": _switch("--traceback", "Show where an error comes from."),
}
COMMON = ("json", "quiet", "traceback")


# Functions as commands.


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
    options: str,
    parameters: Parameters | None = None,
    doc: str | None = None,
) -> None:
    """Add a function to an application as a command.

    The function is given a Call, whose attributes are the values of `options`, which the table OPTIONS describes, and
    the values of further `parameters` as keywords. Every command also has the options --json, --quiet and --traceback.
    """
    verb = getattr(function, "func", function).__name__  # of a partial
    parameters = Parameters(lambda: None) if parameters is None else parameters
    own = [*options.split(), *COMMON]
    listed = [(OPTIONS.get(f"{verb} {key}") or OPTIONS[key]).replace(name=key) for key in own]
    signature = [*listed[: -len(COMMON)], *parameters.options, *listed[-len(COMMON) :]]

    def run(**given: Any) -> None:
        with speaking_plainly(given["traceback"]):
            function(Call(**{key: given[key] for key in own}), **parameters.values(given))

    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined] # read by typer
    run.__annotations__ = {p.name: p.annotation for p in signature}
    run.__doc__ = doc or inspect.getdoc(function)
    app.command(name, cls=_Command)(run)


def command_name(name: str) -> str:
    """The name of a class as a command: "kernel-pca" for KernelPCA."""
    return "-".join(_WORDS.split(name)).lower()


#: Options that once had another name, beside those of the functions, and the names that one of them has now.
_FORMER_OPTIONS = FORMER_NAMES | {
    "label": ("hue",),
    "id": ("labels", "keep"),
    "weight": ("sample_weight",),
    "try": ("n_components",),
    "rule": ("rules",),
    "std": ("return_std",),
    "seed": ("random_state",),
}


class _Command(TyperCommand):
    """A command that says what an option is called now, if it is given by a former name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments that are left; a former name is an error."""
        options = {flag for parameter in self.params for flag in parameter.opts}
        for argument in args:
            flag = argument.partition("=")[0]
            if flag.startswith("--") and flag not in options:
                for present in map(_flag, _FORMER_OPTIONS.get(flag[2:].replace("-", "_"), ())):
                    if present in options:
                        raise typer.BadParameter(f"there is no option {flag}: it is called {present} now.", ctx)
        return super().parse_args(ctx, args)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _normalized(token: str) -> str:
    """Names of models may be written as those of their classes."""
    from ..models import __all__ as models

    names = {name.lower(): command_name(name) for name in models}
    return token if token.startswith("-") else names.get(token.lower(), token)


# What a docstring says of parameters, so that the help of options says nothing twice.


#: The heading of a section, and what follows up to the next one.
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)


def described_parameters(obj: Any) -> dict[str, tuple[str, str]]:
    """The parameters in the docstring of a class or a function, by name: their types, such as "int, float, str or
    None", and what is said of them; "a, b : float" describes two."""
    found = _SECTION.search(inspect.getdoc(obj) or "")
    parameters = {}
    for entry in re.split(r"\n(?=\S)", found.group(1).rstrip()) if found else ():
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(", default=")[0].partition(" : ")
        text = " ".join(line.strip() for line in body.split("\n")).strip()
        for name in names.split(","):
            parameters[name.strip()] = kind.strip(), text
    return parameters


def with_example(obj: Any, example: str) -> str:
    """The help of a command: the first line of a docstring, and an example."""
    first, *_ = (inspect.getdoc(obj) or "").split("\n")
    return f"{plain_help(first)}\n\nExample:\n\n{example}"


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
        words = described_parameters(function)
        self._kinds: dict[str, str] = {}
        #: The options, as parameters of a command.
        self.options: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(function).parameters.items():
            kind, text = words.get(name, ("", ""))
            if name in skip or name not in words or kind.startswith(_NOT_TEXT):
                continue
            self._kinds[name] = kind
            help = plain_help(text or kind)
            if parameter.default is not None and parameter.default is not inspect.Parameter.empty:
                help += f" \\[default: {parameter.default}]"
            flags, metavar = f"--{name.replace('_', '-')}", {"int": "INT", "float": "FLOAT"}.get(kind, "VALUE")
            # Options that are not given are not passed on, so that the default is that of the function.
            if kind.startswith("bool"):
                option = _option(f"{flags}/--no-{flags[2:]}", help, None, heading, bool | None)
            else:
                option = _option(flags + (" -k" if name == "n_components" else ""), help, metavar, heading)
            self.options.append(option.replace(name=name))

    def values(self, given: dict[str, Any]) -> dict[str, Any]:
        """The values of the options that were given, for the function."""
        return {name: value_of(given[name], kind) for name, kind in self._kinds.items() if given[name] is not None}


def plain_help(text: str) -> str:
    """Help without the marks of docstrings, and safe from being taken for the marks of rich."""
    return text.replace("`", "").replace("[", "\\[")


def value_of(value: Any, kind: str) -> Any:
    """The value that a text stands for: a number, None, true, false or text; a list of them with commas between
    numbers, and always for kinds that are lists. Names of columns stay as they are."""
    if not isinstance(value, str) or kind.startswith(_NAMES):
        return value
    parts = [_single(part.strip()) for part in value.split(",")]
    if kind.startswith(_LISTS):
        return parts
    if len(parts) == 1:
        return _single(value)
    return value if any(isinstance(part, str) for part in parts) else parts


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
