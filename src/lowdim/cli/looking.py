"""The verb that looks at files: inspect."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Annotated, Any

import typer

from ..files import header, load
from ..selection import Bootstrap
from ..sources import scan
from ..summaries import Summary
from ..tabular import Table, Tabular
from .commands import add
from .fitting import model_values
from .summarizing import summary_values
from .tables import paths_of, saved_kind
from .tables import table as table_of
from .terminal import Terminal

File = Annotated[str, typer.Argument(help="A saved model, summary or result, or files with data.", show_default=False)]
Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA", help="Rows, for tables of a model that are about rows.", show_default=False),
]
Which = Annotated[
    str | None, typer.Option("--table", "-t", help="One of the tables of a model; a wrong name lists them.")
]
Rows = Annotated[int, typer.Option("--max-rows", help="Print at most so many rows.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the application."""
    add(app, "inspect", inspect)


def inspect(
    terminal: Terminal,
    file: File,
    data: Data = [],  # noqa: B006 (typer reads the default, and nothing changes it)
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
