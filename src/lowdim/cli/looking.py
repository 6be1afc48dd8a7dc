"""The verb that looks at files: inspect."""

from __future__ import annotations

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
from .tables import saved_kind
from .terminal import Terminal

File = Annotated[str, typer.Argument(help="A saved model, summary or result, or files with data.", show_default=False)]
Which = Annotated[
    str | None, typer.Option("--table", "-t", help="One of the tables of a model; a wrong name lists them.")
]
Rows = Annotated[int, typer.Option("--max-rows", help="Print at most so many rows.")]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the application."""
    add(app, "inspect", inspect)


def inspect(terminal: Terminal, file: File, which: Which = None, max_rows: Rows = 40) -> None:
    """Show what is in a file: a model, a summary, or the columns of data.

    Example:

    lowdim inspect pca.model --table loadings
    """
    kind = saved_kind(file)
    if kind is None:
        _show_data(terminal, file, max_rows)
        return
    about = header(file)
    obj = load(file)
    if which is not None:
        if kind != "model":
            raise ValueError(f"{file} holds a {kind}; only models have tables.")
        found = getattr(obj.tables, which)()
        table = found if isinstance(found, Table) else found.table()
        terminal.answer(table.text(max_rows=max_rows, width=terminal.width), table.to_dict())
    elif isinstance(obj, Summary):
        values = summary_values(obj)
        lines = [f"{values['summary']} of {values['rows']} rows, {values['n_features']} columns"]
        terminal.answer("\n".join([*lines, *_about(about)]), {**values, **_origin(about)})
    elif kind == "model":
        terminal.answer("\n".join([str(obj), repr(obj), *_about(about)]), {**model_values(obj), **_origin(about)})
    else:
        values = {"result": type(obj).__name__, **_result_values(obj), **_origin(about)}
        terminal.answer("\n".join([str(obj), *_about(about)]), values)


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
    found = scan(file)
    numeric = set(found.numeric)
    table = Table(
        {"number": [name in numeric for name in found.columns]},
        [str(name) for name in found.columns],
        title=f"{file}: {len(found.columns)} columns, {len(numeric)} of them numbers",
        row_name="column",
    )
    terminal.answer(table.text(max_rows=max_rows, width=terminal.width), table.to_dict())
