"""The verbs that look at files, convert them, draw plots and write reports: inspect, convert, plot, report."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer

from .._core.arrays import to_numpy
from .._core.paths import local_path, moved_when_whole
from .._core.threads import watcher
from ..errors import unknown_column
from ..files import header, load
from ..plot import PLOTS
from ..plot.axes import require_matplotlib
from ..reporting.making import report as write_report
from ..selection.bootstrapping import Bootstrap
from ..sinks import find_output, open_sink
from ..sources.base import Source
from ..sources.opening import open_keeping
from ..sources.scan import Found, Scan, scan
from ..summaries.base import Summary
from ..table import Table, Tabular, numbered
from .commands import Parameters, add, group, value_of, with_example
from .fitting import about_summary, model_values
from .terminal import Terminal, paths_of, require_absent, saved_kind, second_table, table


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the application."""
    add(app, "inspect", inspect_file)
    add(app, "report", report)
    plots = group("Draw a fitted model.")
    for name, offer in PLOTS.items():
        takes, command = inspect.signature(offer.function).parameters, name.replace("_", "-")
        parameters = Parameters(offer.function, skip=_NOT_OPTIONS, heading="Parameters of the plot")
        without = ([] if "X" in takes else ["data"]) + ([] if "y" in takes else ["y", "y_data"])
        example = _EXAMPLES.get(command, "{} pca.model -o picture.png").format(f"lowdim plot {command}")
        add(plots, command, partial(draw, name), parameters, with_example(offer.function, example), without)
    app.add_typer(plots, name="plot")
    add(app, "convert", convert)


# The verb that looks at files: inspect.


def inspect_file(
    terminal: Terminal,
    file: str,
    data: list[str] = [],  # noqa: B006 (typer reads the default, and nothing changes it)
    which: str | None = None,
    max_rows: int = 40,
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
        return
    values: dict[str, Any]
    if isinstance(obj, Summary):
        text, values = about_summary(obj)
    elif kind == "model":
        text, values = f"{obj}\n{obj!r}", model_values(obj)
    else:
        text, values = str(obj), {"result": type(obj).__name__}
        if isinstance(obj, Bootstrap):
            values["tables"] = {name: obj.table(name).to_dict() for name in obj.estimates}
        elif isinstance(obj, Tabular):
            values["table"] = obj.table().to_dict()
        else:
            values["text"] = text
    lines = [text] if about["columns"] is None else [text, f"columns: {', '.join(about['columns'])}"]
    if about["holds_rows"]:
        lines.append("The file holds rows of the fit, or numbers for each of them.")
    lines.append(f"written by lowdim {about['lowdim']}")
    terminal.answer("\n".join(lines), {**values, "holds_rows": about["holds_rows"], "lowdim": about["lowdim"]})


def _table(model: Any, name: str, paths: list[str]) -> Any:
    """The table of a model with this name, of the rows in these files if there are any."""
    make = getattr(model.tables, name)
    rows = inspect.signature(model.tables.offers[name].function).parameters.get("X")
    if paths and rows is None:
        raise ValueError(f"the table {name!r} is about the model alone: leave out {', '.join(paths)}.")
    if not paths and rows is not None and rows.default is inspect.Parameter.empty:
        raise ValueError(f"the table {name!r} is about rows: name their file after that of the model.")
    return make(table(paths)) if paths else make()


def _show_data(terminal: Terminal, file: str, max_rows: int) -> None:
    """The columns of files with data, known without reading the rows."""
    with paths_of([file]) as (path,):
        found = scan(path)
        columns, numeric = list(found.columns), set(found.numeric)
    shown = Table(
        {"number": [name in numeric for name in columns]},
        [str(name) for name in columns],
        title=f"{file}: {len(columns)} columns, {len(numeric)} of them numbers",
        row_name="column",
    )
    terminal.answer(shown.text(max_rows=max_rows, width=terminal.width), shown.to_dict())


# The verb that turns files into others: convert.


#: The size of a block of rows.
_BLOCK_BYTES = 1 << 20


def convert(
    terminal: Terminal,
    data: list[str],
    output: str,
    overwrite: bool = False,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
) -> None:
    """Write data in another format, or a model as an ONNX file.

    The end of the name of the output decides on its format. Tables keep all their columns, of any type; arrays (NPY,
    Zarr, HDF5) take numbers only.

    Example:

    lowdim convert wine.csv -o wine.parquet

    lowdim convert pca.model -o pca.onnx
    """
    if len(data) == 1 and saved_kind(data[0]) == "model":
        _convert_model(data[0], output, overwrite)
    else:
        with terminal.progress(), paths_of(data) as paths:
            _convert_rows(table(paths, columns, exclude), output, overwrite)
    terminal.written(output)


def _convert_model(path: str, output: str, overwrite: bool) -> None:
    """Write a model as an ONNX file."""
    from ..onnx import to_onnx

    if not output.lower().endswith(".onnx"):
        raise ValueError(
            f"{path} holds a model, which can be converted to a file that ends with .onnx, not {output!r}."
        )
    require_absent(output, overwrite)
    content = to_onnx(load(path)).SerializeToString()
    with moved_when_whole(local_path(output)) as unfinished:
        unfinished.write_bytes(content)


def _convert_rows(rows: Scan, output: str, overwrite: bool) -> None:
    """Write a table block by block: one pass, and the memory of a few blocks."""
    if rows.contents.has_names and find_output(output).kind.tabular:
        _convert_table(rows, output, overwrite)
        return
    source = rows.open()
    names = source.names if source.names is not None else numbered("x", source.shape[1])
    with open_sink(output, names, overwrite=overwrite, reading=source.files) as sink:
        for block, _ in _blocks(source):
            sink.write([block])


def _convert_table(rows: Scan, output: str, overwrite: bool) -> None:
    """Write columns of any type, in their order.

    Columns that are carried along keep their types, but CSV files have no types: there they are text, and so numbers
    are read as numbers. Blocks consist of numbers, so at least one column has to be numbers, even if it is also carried
    along.
    """
    import pyarrow as pa

    columns = rows.choice.named_among(rows.contents)
    numbers = [name for name in columns if name in set(rows.numeric)]
    if not numbers:
        raise ValueError("none of the columns are numbers, and lowdim reads tables of numbers.")
    untyped = isinstance(rows.found, Found) and rows.found.kind == "csv"
    keep = [name for name in columns if name not in numbers] if untyped else columns
    read = rows.select(numbers if untyped else numbers[:1])
    source = open_keeping(read, keep, wanted=read.chosen) if keep else read.open()
    with open_sink(output, [], keep=columns, overwrite=overwrite, reading=source.files) as sink:
        for block, kept in _blocks(source, keep):
            found = {} if kept is None else dict(zip(kept.column_names, kept.columns, strict=True))
            for j, name in enumerate(read.chosen):
                found.setdefault(name, pa.array(block[:, j], from_pandas=True))
            sink.write([], pa.table({name: found[name] for name in columns}))


def _blocks(source: Source, keep: Sequence[str] = ()) -> Iterator[tuple[np.ndarray, Any]]:
    """All blocks of a source, and the columns that are carried along; whoever watches sees the progress."""
    n, p = source.shape
    rows = max(64, _BLOCK_BYTES // (p * source.traits.itemsize))
    progress = watcher()
    if progress is not None:
        progress.begin("rows", None if n is None else -(-n // rows), rows)
    for block, kept in source.blocks_keeping(rows, keep):
        yield to_numpy(block), kept
        if progress is not None:
            progress.step()
    if progress is not None:
        progress.end()


# The verb that draws: plot, with one command for each plot.


#: Parameters of plots that are not options: objects, or given in another way.
_NOT_OPTIONS = ("model", "X", "Y", "y", "ax", "choices", "bootstrap", "test", "sample_weight")
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


def draw(
    name: str,
    terminal: Terminal,
    model: str,
    output: str,
    data: list[str] = [],  # noqa: B006 (typer reads the default, and nothing changes it)
    y: list[str] | None = None,
    y_data: list[str] | None = None,
    overwrite: bool = False,
    style: str | None = None,
    dpi: int = 150,
    **options: Any,
) -> None:
    """Draw one plot; `options` are those of the plot."""
    # It draws without a screen.
    require_matplotlib().use("Agg")
    from matplotlib import pyplot

    require_absent(output, overwrite)
    fitted = load(model)
    second = second_table(y, y_data)
    takes = inspect.signature(PLOTS[name].function).parameters
    for parameter, missing, advice in (
        ("X", not data, "the rows: name a file with them after the model."),
        ("y", second is None, "the second table: name its columns with --y, or its file with --y-data."),
    ):
        if missing and parameter in takes and takes[parameter].default is inspect.Parameter.empty:
            raise ValueError(f"lowdim plot {name.replace('_', '-')} needs {advice}")
    if second is not None:
        options["y"] = second
    with terminal.progress(), paths_of(data) as paths, pyplot.style.context(style or "default"):
        plot = getattr(fitted.plot, name)
        figure = (plot(table(paths), **options) if paths else plot(**options)).figure
        kind = Path(output).suffix.lower().removeprefix(".")
        known = figure.canvas.get_supported_filetypes()
        if kind not in known:
            raise ValueError(f"the picture {output!r} must end with one of .{', .'.join(sorted(known))}.")
        with moved_when_whole(local_path(output)) as unfinished:
            figure.savefig(unfinished, dpi=dpi, format=kind, bbox_inches="tight")
    terminal.written(output)


# The verb that writes a page about a table: report.


def report(
    terminal: Terminal,
    data: list[str],
    output: str = "report.html",
    overwrite: bool = False,
    title: str | None = None,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
    label: list[str] | None = None,
    id: str | None = None,
    weight: str | None = None,
    supplementary: list[str] | None = None,
    response: list[str] | None = None,
    other: list[str] | None = None,
    model: str | None = None,
    n_components: int | None = None,
    standardize: bool | None = None,
    image_shape: str | None = None,
    seed: int | None = None,
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
