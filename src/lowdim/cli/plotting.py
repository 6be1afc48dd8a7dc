"""The verb that draws: plot, with one command for each plot."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from .._paths import local_path
from .._whole_files import moved_when_whole
from ..files import load
from ..plot import PLOTS
from ..plot._axes import require_matplotlib
from .commands import add, group
from .numpydoc import first_sentence
from .options import RESULT, Data, ModelFile, Overwrite, ResponseFiles, Responses
from .outputs import require_absent
from .parameters import Parameters, plain_help
from .tables import paths_of, second_table, table
from .terminal import Terminal

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


def add_to(app: typer.Typer) -> None:
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
