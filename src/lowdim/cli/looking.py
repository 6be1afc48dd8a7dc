"""The verbs that look at files, draw plots and write reports: inspect, plot, report."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from .._core.paths import local_path, moved_when_whole
from ..errors import unknown_column
from ..files import header, load
from ..plot import PLOTS
from ..plot.axes import require_matplotlib
from ..reporting.making import report as write_report
from ..selection.bootstrapping import Bootstrap
from ..sources.scan import Scan, scan
from ..summaries.base import Summary
from ..table import Table, Tabular
from .commands import (
    RESULT,
    ROWS,
    Columns,
    Data,
    Exclude,
    ModelFile,
    Overwrite,
    Parameters,
    ResponseFiles,
    Responses,
    Weight,
    add,
    first_sentence,
    group,
    plain_help,
    value_of,
)
from .converting import summary_values
from .fitting import model_values
from .terminal import Terminal, paths_of, require_absent, saved_kind, second_table, table
from .terminal import table as table_of

# The verb that looks at files: inspect.


File = Annotated[str, typer.Argument(help="A saved model, summary or result, or files with data.", show_default=False)]
InspectedData = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Rows, for tables of a model that are about rows.", show_default=False),
]
Which = Annotated[
    str | None, typer.Option("--table", "-t", help="One of the tables of a model; a wrong name lists them.")
]
Rows = Annotated[int, typer.Option("--max-rows", help="Print at most so many rows.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the application."""
    add(app, "inspect", inspect_file)


def inspect_file(
    terminal: Terminal,
    file: File,
    data: InspectedData = [],  # noqa: B006 (typer reads the default, and nothing changes it)
    which: Which = None,
    max_rows: Rows = 40,
) -> None:
    """Show what is in a file: a model, a summary, or the columns of data.

    Some tables of a model are about rows, whose files follow the model.
    Rows are numbered from 0.

    Example:

    lowdim inspect pca.model wine.csv --table diagnose
    """
    if data and which is None:
        raise ValueError("say with --table which table of the rows to show; without it, inspect takes one file.")
    kind = saved_kind(file)
    if kind is None:
        _show_data(terminal, file, max_rows)
        return
    about = header(file)
    obj = load(file)
    if which is not None:
        if kind != "model":
            raise ValueError(f"{file} holds a {kind}; only models have tables.")
        with paths_of(data) as paths:
            found = _table(obj, which, paths)
        if isinstance(found, Table):
            terminal.answer(found.text(max_rows=max_rows, width=terminal.width), found.to_dict())
        else:
            # It shows what matters of its table, such as the rows beyond a limit.
            terminal.answer(str(found), found.table().to_dict())
    elif isinstance(obj, Summary):
        values = summary_values(obj)
        lines = [f"{values['summary']} of {values['rows']} rows, {values['n_features']} columns"]
        terminal.answer("\n".join([*lines, *_about(about)]), {**values, **_origin(about)})
    elif kind == "model":
        terminal.answer("\n".join([str(obj), repr(obj), *_about(about)]), {**model_values(obj), **_origin(about)})
    else:
        values = {"result": type(obj).__name__, **_result_values(obj), **_origin(about)}
        terminal.answer("\n".join([str(obj), *_about(about)]), values)


def _table(model: Any, name: str, paths: list[str]) -> Any:
    """The table of a model with this name, of the rows in these files if there are any."""
    make = getattr(model.tables, name)
    rows = signature(model.tables.offers[name].function).parameters.get("X")
    if paths and rows is None:
        raise ValueError(f"the table {name!r} is about the model alone: leave out {', '.join(paths)}.")
    if not paths and rows is not None and rows.default is Parameter.empty:
        raise ValueError(f"the table {name!r} is about rows: name their file after that of the model.")
    return make(table_of(paths)) if paths else make()


def _result_values(result: Any) -> dict[str, Any]:
    """The tables of a result as values of JSON; its text, if it has none."""
    if isinstance(result, Bootstrap):
        return {"tables": {name: result.table(name).to_dict() for name in result.estimates}}
    return {"table": result.table().to_dict()} if isinstance(result, Tabular) else {"text": str(result)}


def _about(about: dict[str, Any]) -> list[str]:
    """Lines about the file itself."""
    lines = [] if about["columns"] is None else [f"columns: {', '.join(about['columns'])}"]
    if about["holds_rows"]:
        lines.append("The file holds rows of the fit, or numbers for each of them.")
    return [*lines, f"written by lowdim {about['lowdim']}"]


def _origin(about: dict[str, Any]) -> dict[str, Any]:
    return {"holds_rows": about["holds_rows"], "lowdim": about["lowdim"]}


def _show_data(terminal: Terminal, file: str, max_rows: int) -> None:
    """The columns of files with data, known without reading the rows."""
    with paths_of([file]) as (path,):
        found = scan(path)
        columns, numeric = list(found.columns), set(found.numeric)
    table = Table(
        {"number": [name in numeric for name in columns]},
        [str(name) for name in columns],
        title=f"{file}: {len(columns)} columns, {len(numeric)} of them numbers",
        row_name="column",
    )
    terminal.answer(table.text(max_rows=max_rows, width=terminal.width), table.to_dict())


# The verb that draws: plot, with one command for each plot.


#: Parameters of plots that are not options: objects, or given in another way.
_NOT_OPTIONS = ("model", "X", "Y", "y", "ax", "choices", "bootstrap", "test", "sample_weight")

Picture = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The picture to write: .png, .svg or .pdf.", rich_help_panel=RESULT
    ),
]
Style = Annotated[str | None, typer.Option("--style", help="A style sheet of matplotlib.", rich_help_panel=RESULT)]
Resolution = Annotated[int, typer.Option("--dpi", help="Dots per inch, for .png.", rich_help_panel=RESULT)]


def add_plotting(app: typer.Typer) -> None:
    """Add the verb to the application."""
    plots = group("Draw a fitted model.")
    for name, offer in PLOTS.items():
        function = offer.function
        parameters = Parameters(function, skip=_NOT_OPTIONS, heading="Parameters of the plot")
        takes = inspect.signature(function).parameters
        without = ([] if "X" in takes else ["data"]) + ([] if "y" in takes else ["y", "y_data"])
        command = name.replace("_", "-")
        add(plots, command, _drawing(name, parameters), parameters.options, _help(function, command), without)
    app.add_typer(plots, name="plot")


_EXAMPLES = {
    "scores": "{} pca.model wine.csv --groups class -o picture.png",
    "biplot": "{} pca.model wine.csv --groups class -o picture.png",
    "correlation-circle": "{} pca.model wine.csv -o picture.png",
    "outliers": "{} pca.model wine.csv -o picture.png",
    "reconstructions": "{} pca.model wine.csv --shape 1,13 -o picture.png",
    "variates": "{} cca.model wine.csv --y hue --y proline -o picture.png",
    "correlations": "{} cca.model -o picture.png",
    "structure": "{} cca.model -o picture.png",
    "validation": "{} cv.model -o picture.png",
    "vip": "{} pls.model -o picture.png",
    "coefficients": "{} pls.model -o picture.png",
    "predictions": "{} pls.model wine.csv --y hue -o picture.png",
    "contours": "{} kernel.model left.csv -o picture.png",
    "densities": "{} ica.model wine.csv -o picture.png",
    "sources": "{} ica.model wine.csv -o picture.png",
    "missing": "{} ppca.model holes.csv -o picture.png",
    "convergence": "{} ica.model -o picture.png",
}


def _help(function: Any, command: str) -> str:
    example = _EXAMPLES.get(command, "{} pca.model -o picture.png").format(f"lowdim plot {command}")
    return f"{plain_help(first_sentence(function))}\n\nExample:\n\n{example}"


def _drawing(name: str, parameters: Parameters) -> Any:
    """The command that draws one plot."""

    def draw(
        terminal: Terminal,
        model: ModelFile,
        output: Picture,
        data: Data = [],  # noqa: B006 (typer reads the default, and nothing changes it)
        y: Responses = None,
        y_data: ResponseFiles = None,
        overwrite: Overwrite = False,
        style: Style = None,
        dpi: Resolution = 150,
        **given: Any,
    ) -> None:
        pyplot = _pyplot()
        require_absent(output, overwrite)
        fitted = load(model)
        values = parameters.values(given)
        second = second_table(y, y_data)
        _require_tables(name, data, second)
        if second is not None:
            values["y"] = second
        with terminal.progress(), paths_of(data) as paths, pyplot.style.context(style or "default"):
            plot = getattr(fitted.plot, name)
            drawn = plot(table(paths), **values) if paths else plot(**values)
            _write(drawn, output, dpi)
        if terminal.json:
            terminal.answer("", {"output": output})
        else:
            terminal.remark(f"written to {output}")

    return draw


def _require_tables(name: str, data: Any, second: Any) -> None:
    """Refuse a plot without a table that it needs."""
    takes = inspect.signature(PLOTS[name].function).parameters
    for parameter, given, advice in (
        ("X", bool(data), "the rows: name a file with them after the model."),
        ("y", second is not None, "the second table: name its columns with --y, or its file with --y-data."),
    ):
        if parameter in takes and takes[parameter].default is inspect.Parameter.empty and not given:
            raise ValueError(f"lowdim plot {name.replace('_', '-')} needs {advice}")


def _pyplot() -> Any:
    """matplotlib.pyplot, which draws without a screen."""
    require_matplotlib().use("Agg")
    from matplotlib import pyplot

    return pyplot


def _write(axes: Any, output: str, dpi: int) -> None:
    """Write the figure of the axes, all of it or nothing."""
    figure = axes.figure
    kind = Path(output).suffix.lower().removeprefix(".")
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise ValueError(f"the picture {output!r} must end with one of .{', .'.join(sorted(known))}.")
    with moved_when_whole(local_path(output)) as unfinished:
        figure.savefig(unfinished, dpi=dpi, format=kind, bbox_inches="tight")


# The verb that writes a page about a table: report.


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


def add_reporting(app: typer.Typer) -> None:
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
