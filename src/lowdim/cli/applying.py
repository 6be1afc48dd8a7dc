"""The verbs that apply a fitted model to rows: transform, inverse, impute, predict."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from ..files import load
from ..sinks import escaped_formulas
from .commands import add
from .options import Columns, Data, Exclude, Fewer, Ids, ModelFile, Output, Overwrite, ResponseFiles, Responses
from .tables import STANDARD, paths_of, saved_kind, second_table, table
from .terminal import Terminal

Escape = Annotated[
    bool,
    typer.Option(
        "--escape-formulas", help="In CSV, put an apostrophe before text that a spreadsheet would run as a formula."
    ),
]
Deviations = Annotated[bool, typer.Option("--std", help="Also write the standard deviations of the filled entries.")]


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the application."""
    for name, function in (("transform", transform), ("inverse", inverse), ("impute", impute), ("predict", predict)):
        add(app, name, function)


def transform(
    terminal: Terminal,
    model: ModelFile,
    data: Data,
    output: Output = None,
    overwrite: Overwrite = False,
    ids: Ids = None,
    columns: Columns = None,
    exclude: Exclude = None,
    y: Responses = None,
    y_data: ResponseFiles = None,
    n_components: Fewer = None,
    escape_formulas: Escape = False,
) -> None:
    """Write the scores of rows on the components of a model.

    Columns with --id are carried along. Without --output, CSV goes to the standard output.

    Example:

    lowdim transform pca.model wine.csv --id class -o scores.parquet
    """
    fitted = _model(model, "transform_to")
    second = second_table(y, y_data)
    more = {"n_components": n_components} | ({} if second is None else {"y": second})
    _write(terminal, fitted.transform_to, data, columns, exclude, ids, output, overwrite, escape_formulas, more)


def inverse(
    terminal: Terminal,
    model: ModelFile,
    data: Data,
    output: Output = None,
    overwrite: Overwrite = False,
    ids: Ids = None,
    columns: Columns = None,
    exclude: Exclude = None,
    escape_formulas: Escape = False,
) -> None:
    """Write the rows that belong to scores.

    The columns of the data are the scores, without those of --id. There may be fewer than the model has components.

    Example:

    lowdim inverse pca.model scores.csv --id class -o rows.csv
    """
    fitted = _model(model, "inverse_transform_to")
    _write(terminal, fitted.inverse_transform_to, data, columns, exclude, ids, output, overwrite, escape_formulas)


def impute(
    terminal: Terminal,
    model: ModelFile,
    data: Data,
    output: Output = None,
    overwrite: Overwrite = False,
    ids: Ids = None,
    columns: Columns = None,
    exclude: Exclude = None,
    std: Deviations = False,
    escape_formulas: Escape = False,
) -> None:
    """Write rows with their missing entries filled in.

    Example:

    lowdim impute ppca.model holes.csv --id class -o filled.csv
    """
    fitted = _model(model, "impute_to")
    more = {"return_std": True} if std else {}
    _write(terminal, fitted.impute_to, data, columns, exclude, ids, output, overwrite, escape_formulas, more)


def predict(
    terminal: Terminal,
    model: ModelFile,
    data: Data,
    output: Output = None,
    overwrite: Overwrite = False,
    ids: Ids = None,
    columns: Columns = None,
    exclude: Exclude = None,
    n_components: Fewer = None,
    escape_formulas: Escape = False,
) -> None:
    """Write the responses that a model predicts.

    Example:

    lowdim predict pls.model wine.csv --id class -o predictions.csv
    """
    fitted = _model(model, "predict_to")
    more = {} if n_components is None else {"n_components": n_components}
    _write(terminal, fitted.predict_to, data, columns, exclude, ids, output, overwrite, escape_formulas, more)


def _model(path: str, method: str) -> Any:
    """The model in a file, if it has the method that a command needs."""
    kind = saved_kind(path)
    if kind not in (None, "model"):
        raise ValueError(f"{path} holds a {kind}, and no model; `lowdim inspect {path}` shows it.")
    model = load(path)
    if not hasattr(model, method):
        what = method.removesuffix("_to").replace("_", " ")
        raise ValueError(f"{path} holds a {type(model).__name__}, which cannot {what}.")
    return model


def _write(
    terminal: Terminal,
    method: Any,
    data: Sequence[str],
    columns: Sequence[str] | None,
    exclude: Sequence[str] | None,
    ids: Sequence[str] | None,
    output: str | None,
    overwrite: bool,
    escape_formulas: bool,
    more: dict[str, Any] | None = None,
) -> None:
    """Apply a method of a model that writes its results, and say where they are."""
    where = STANDARD if output is None else output
    if terminal.json and where == STANDARD:
        raise ValueError("--json and the table cannot both go to the standard output: name a file with --output.")
    guard = escaped_formulas() if escape_formulas else nullcontext()
    more = {name: value for name, value in (more or {}).items() if value is not None}
    with terminal.progress(), paths_of(data) as paths, guard:
        method(table(paths, columns, exclude), where, keep=list(ids or []), overwrite=overwrite, **more)
    if where == STANDARD:
        return
    if terminal.json:
        terminal.answer("", {"output": where})
    else:
        terminal.remark(f"written to {where}")
