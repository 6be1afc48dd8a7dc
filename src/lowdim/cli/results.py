"""The verbs that look at files, convert them, draw plots and write reports: inspect, convert, plot, report."""

from __future__ import annotations

import inspect
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextvars import copy_context
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
from ..reporting.build import COMMAND
from ..reporting.build import report as write_report
from ..selection.bootstrapping import Bootstrap
from ..sinks import find_output, open_sink
from ..sources.base import Source
from ..sources.opening import open_keeping
from ..sources.scan import Found, Scan
from ..summaries.base import Summary
from ..table import Table, Tabular, numbered
from .commands import COMMON, Parameters, add, group, value_of, with_example
from .fitting import about_summary, model_values
from .terminal import Call, paths_of, saved_kind


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the application."""
    add(app, "inspect", inspect_file, "file data decimal which max_rows")
    rows = "columns exclude decimal hue labels categorical_features sample_weight supplementary supplementary_columns"
    analysis = "y Y model n_components scale min_frequency image_shape random_state"
    add(app, "report", report, f"data output brief overwrite title {rows} {analysis}")
    plots = group("Draw a fitted model.")
    for name, offer in PLOTS.items():
        takes, command = inspect.signature(offer.function).parameters, name.replace("_", "-")
        parameters = Parameters(offer.function, skip=_NOT_OPTIONS, heading="Parameters of the plot")
        rows, second = "data decimal" if "X" in takes else "", "y y_data" if "y" in takes else ""
        example = next(text for names, text in _EXAMPLES.items() if name in names.split() or not names)
        help = with_example(offer.function, f"lowdim plot {command} {example} -o picture.png")
        add(plots, command, partial(draw, name), f"model output {rows} {second} overwrite style dpi", parameters, help)
    app.add_typer(plots, name="plot")
    add(app, "convert", convert, "data output overwrite columns exclude decimal")


# The verb that looks at files: inspect.


def inspect_file(call: Call) -> None:
    """Show what is in a file: a model, a summary, or the columns of data.

    Some tables of a model are about rows, whose files follow the model.
    Rows are numbered from 0.

    Example:

    lowdim inspect pca.model wine.csv --table diagnose
    """
    file, which = call.file, call.which
    if call.data and which is None:
        raise ValueError("say with --table which table of the rows to show; without it, inspect takes one file.")
    kind = saved_kind(file)
    if kind is None:
        _show_table(call, _columns(call))
        return
    about = header(file)
    obj = load(file)
    if which is not None:
        if kind != "model":
            raise ValueError(f"{file} holds a {kind}; only models have tables.")
        with paths_of(call.data) as paths:
            _show_table(call, _table(call, obj, which, paths))
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
    call.answer("\n".join(lines), {**values, "holds_rows": about["holds_rows"], "lowdim": about["lowdim"]})


def _table(call: Call, model: Any, name: str, paths: list[str]) -> Any:
    """The table of a model with this name, of the rows in these files if there are any."""
    make = getattr(model.tables, name)
    rows = inspect.signature(model.tables.offers[name].function).parameters.get("X")
    if paths and rows is None:
        raise ValueError(f"the table {name!r} is about the model alone: leave out {', '.join(paths)}.")
    if not paths and rows is not None and rows.default is inspect.Parameter.empty:
        raise ValueError(f"the table {name!r} is about rows: name their file after that of the model.")
    return make(call.table(paths)) if paths else make()


def _columns(call: Call) -> Table:
    """The columns of files with data, known without reading the rows."""
    with paths_of([call.file]) as paths:
        found = call.table(paths)
        columns, numeric = list(found.columns), set(found.numeric)
    return Table(
        {"number": [name in numeric for name in columns]},
        [str(name) for name in columns],
        title=f"{call.file}: {len(columns)} columns, {len(numeric)} of them numbers",
        row_name="column",
    )


def _show_table(call: Call, found: Any) -> None:
    if isinstance(found, Table):
        call.answer(found.text(max_rows=call.max_rows, width=shutil.get_terminal_size().columns), found.to_dict())
    else:
        # It shows what matters of its table, such as the rows beyond a limit.
        call.answer(str(found), found.table().to_dict())


# The verb that turns files into others: convert.


#: The size of a block of rows.
_BLOCK_BYTES = 1 << 20


def convert(call: Call) -> None:
    """Write data in another format, or a model as an ONNX file.

    The end of the name of the output decides on its format. Tables keep all their columns, of any type; arrays (NPY,
    Zarr, HDF5) take numbers only.

    Example:

    lowdim convert wine.csv -o wine.parquet

    lowdim convert pca.model -o pca.onnx
    """
    if len(call.data) == 1 and saved_kind(call.data[0]) == "model":
        _convert_model(call)
    else:
        with call.reading() as paths:
            _convert_rows(call.table(paths, call.columns, call.exclude), call.output, call.overwrite)
    call.written(call.output)


def _convert_model(call: Call) -> None:
    """Write a model as an ONNX file."""
    from ..onnx import to_onnx

    (path,) = call.data
    if not call.output.lower().endswith(".onnx"):
        raise ValueError(
            f"{path} holds a model, which can be converted to a file that ends with .onnx, not {call.output!r}."
        )
    call.require_absent()
    content = to_onnx(load(path)).SerializeToString()
    with moved_when_whole(local_path(call.output)) as unfinished:
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
#: Models, and rows where they are needed, of the examples in the help of plots; of all others at the end.
_EXAMPLES = {
    "scores biplot": "pca.model wine.csv --hue class",
    "correlation_circle outliers": "pca.model wine.csv",
    "reconstructions": "pca.model wine.csv --image-shape 1,13",
    "variates": "cca.model wine.csv --y hue --y proline",
    "correlations structure": "cca.model",
    "validation": "cv.model",
    "vip coefficients": "pls.model",
    "predictions": "pls.model wine.csv --y hue",
    "contours": "kernel.model left.csv",
    "principal_axes": "plane.model left.csv",
    "densities sources": "ica.model wine.csv",
    "missing": "ppca.model incomplete.csv",
    "convergence": "ica.model",
    "contributions": "famd.model",
    "levels": "famd.model people.csv",
    "symmetric_map": "ca.model counts.csv",
    "groups": "mfa.model",
    "partial_points": "mfa.model people.csv",
    "": "pca.model",
}


def draw(name: str, call: Call, **options: Any) -> None:
    """Draw one plot; `options` are those of the plot."""
    # It draws without a screen.
    require_matplotlib().use("Agg")
    from matplotlib import pyplot

    call.require_absent()
    fitted = load(call.model)
    second = call.second_table()
    if second is not None:
        options["y"] = second
    takes = inspect.signature(PLOTS[name].function).parameters
    for parameter, missing, advice in (
        ("X", not vars(call).get("data"), "the rows: name a file with them after the model."),
        ("y", second is None, "the second table: name its columns with --y, or its file with --y-data."),
    ):
        if missing and parameter in takes and takes[parameter].default is inspect.Parameter.empty:
            raise ValueError(f"lowdim plot {name.replace('_', '-')} needs {advice}")
    with call.reading() as paths, pyplot.style.context(call.style or "default"):
        figure = getattr(fitted.plot, name)(*([call.table(paths)] if paths else []), **options).figure
        kind = Path(call.output).suffix.lower().removeprefix(".")
        known = figure.canvas.get_supported_filetypes()
        if kind not in known:
            raise ValueError(f"the picture {call.output!r} must end with one of .{', .'.join(sorted(known))}.")
        with moved_when_whole(local_path(call.output)) as unfinished:
            figure.savefig(unfinished, dpi=call.dpi, format=kind, bbox_inches="tight")
    call.written(call.output)


# The verb that writes a page about a table: report.


def report(call: Call) -> None:
    """Write a page that shows what is in a table: one HTML file.

    It is about all columns of numbers and of categories. It needs no network, opens from disk, and can be sent and
    printed.

    Example:

    lowdim report wine.csv --hue class -o report.html
    """
    call.require_absent()
    if call.model is not None and saved_kind(call.model) != "model":
        raise ValueError(f"--model {call.model!r} is not a file with a model, which lowdim fit writes.")
    with call.reading() as paths:
        rows = call.table(paths, call.columns, call.exclude)
        context = copy_context()
        context.run(COMMAND.set, command_of(vars(call)))
        made = context.run(
            write_report,
            rows,
            call.output,
            hue=_names(call.hue, rows),
            labels=call.labels,
            model=None if call.model is None else load(call.model),
            n_components=call.n_components,
            scale=call.scale,
            y=_names(call.y, rows),
            Y=call.Y if set(call.Y or ()) <= set(rows.columns) else call.table(call.Y),
            supplementary=None if call.supplementary is None else call.table(call.supplementary),
            supplementary_columns=call.supplementary_columns,
            categorical_features=call.categorical_features,
            min_frequency=None if call.min_frequency is None else value_of(call.min_frequency, "int or float"),
            image_shape=_shape(call.image_shape),
            sample_weight=call.sample_weight,
            title=call.title,
            brief=bool(call.brief),
            overwrite=call.overwrite,
            random_state=call.random_state,
        )
    values = {
        "output": call.output,
        "bytes": made.n_bytes,
        "sections": [section.key for section in made.sections],
        "summary": list(made.summary),
    }
    call.answer(str(made), values)


#: Options that are not called as the arguments of the function.
_FLAGS = {"categorical_features": "--categorical"}


def command_of(given: Mapping[str, Any]) -> str:
    """The command with these files and options; what was not given is left out."""
    words = ["lowdim", "report", *given["data"]]
    for name, value in given.items():
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if name in ("data", "overwrite", *COMMON):
            continue
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
