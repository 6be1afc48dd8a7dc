"""The verb that writes a page about a table: report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from ..errors import unknown_column
from ..files import load
from ..reporting import report as write_report
from ..sources import Scan
from .commands import add
from .options import RESULT, ROWS, Columns, Data, Exclude, Overwrite, Weight
from .outputs import require_absent
from .parameters import value_of
from .tables import paths_of, saved_kind, table
from .terminal import Terminal

ANALYSIS = "The analysis"

Page = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="The page to write: .html.", rich_help_panel=RESULT)
]
Title = Annotated[
    str | None, typer.Option("--title", help="The heading of the page.", show_default=False, rich_help_panel=RESULT)
]


def _about_rows(*names: str, help: str, metavar: str = "NAME") -> Any:
    return typer.Option(*names, help=help, metavar=metavar, show_default=False, rich_help_panel=ROWS)


def _about_analysis(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, show_default=False, rich_help_panel=ANALYSIS)


Labels = Annotated[
    list[str] | None, _about_rows("--label", "-l", help="A column of categories, which colour the map; repeatable.")
]
RowNames = Annotated[str | None, _about_rows("--id", help="The column that says what each row is called.")]
Supplementary = Annotated[
    list[str] | None,
    _about_rows("--supplementary", help="Rows that are shown and not fitted; repeatable.", metavar="FILE"),
]
Response = Annotated[
    list[str] | None, _about_analysis("--response", help="A column to predict; repeatable.", metavar="NAME")
]
Other = Annotated[
    list[str] | None,
    _about_analysis("--other", help="Another table of the same rows, for CCA; repeatable.", metavar="FILE"),
]
Model = Annotated[
    str | None, _about_analysis("--model", help="A file that lowdim fit wrote; the default is PCA.", metavar="FILE")
]
Components = Annotated[
    int | None,
    _about_analysis("--n-components", "-k", help="The number of components; the default is chosen by a rule."),
]
Standardize = Annotated[
    bool | None,
    _about_analysis("--standardize/--no-standardize", help="Divide columns by their standard deviations, or do not."),
]
ImageShape = Annotated[
    str | None,
    _about_analysis("--image-shape", help="The picture in each row, as in 8,8; or none.", metavar="SHAPE"),
]
Seed = Annotated[int | None, _about_analysis("--random-state", "--seed", help="The seed of what is drawn at random.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the application."""
    add(app, "report", report)


def report(
    terminal: Terminal,
    data: Data,
    output: Page = "report.html",
    overwrite: Overwrite = False,
    title: Title = None,
    columns: Columns = None,
    exclude: Exclude = None,
    label: Labels = None,
    id: RowNames = None,
    weight: Weight = None,
    supplementary: Supplementary = None,
    response: Response = None,
    other: Other = None,
    model: Model = None,
    n_components: Components = None,
    standardize: Standardize = None,
    image_shape: ImageShape = None,
    seed: Seed = None,
) -> None:
    """Write a page that shows what is in a table: one HTML file.

    It needs no network, opens from disk, and can be sent and printed.

    Example:

    lowdim report wine.csv --label class -o report.html
    """
    require_absent(output, overwrite)
    options = {key: value for key, value in locals().items() if key not in ("terminal", "overwrite", "data")}
    if model is not None and saved_kind(model) != "model":
        raise ValueError(f"--model {model!r} is not a file with a model, which lowdim fit writes.")
    with terminal.progress(), paths_of(data) as paths:
        rows = table(paths, columns, exclude)
        made = write_report(
            rows,
            output,
            labels=_names(label, rows),
            ids=id,
            model=None if model is None else load(model),
            n_components=n_components,
            standardize=standardize,
            response=_names(response, rows),
            other=None if other is None else table(other),
            supplementary=None if supplementary is None else table(supplementary),
            image_shape=_shape(image_shape),
            sample_weight=weight,
            title=title,
            overwrite=overwrite,
            random_state=seed,
            command=command_of(data, options),
        )
    values = {
        "output": output,
        "bytes": made.n_bytes,
        "sections": [section.key for section in made.sections],
        "summary": list(made.summary),
    }
    terminal.answer(str(made), values)


def command_of(data: Sequence[str], options: Mapping[str, Any]) -> str:
    """The command with these files and options; what was not given is left out."""
    words = ["lowdim", "report", *data]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        elif value is not None:
            for each in value if isinstance(value, list) else [value]:
                # A value that begins with a dash would be taken for another option.
                words += [f"{flag}={each}"] if str(each).startswith("-") else [flag, str(each)]
    return shlex.join(words)


def _names(given: list[str] | None, rows: Scan) -> Any:
    """Names of columns, a single one as text; an error if the table lacks one. The function would take a list without
    any name of a column for a vector."""
    for name in given or []:
        if name not in rows.columns:
            raise unknown_column(rows.contents.label, name, rows.columns)
    return given[0] if given is not None and len(given) == 1 else given


def _shape(text: str | None) -> Any:
    """The shape of an image that a text such as "8,8" stands for; False for "none"."""
    if text is None:
        return None
    if text.lower() in ("none", "false"):
        return False
    shape = value_of(text, "sequence of int")
    if len(shape) not in (2, 3) or not all(isinstance(part, int) and part > 0 for part in shape):
        raise ValueError(f"--image-shape {text!r} must be the height and the width, as in 8,8 or 32,32,3; or none.")
    return tuple(shape)
