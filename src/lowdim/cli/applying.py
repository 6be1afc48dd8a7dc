"""The verbs that apply a fitted model to rows: transform, inverse, impute, predict."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from inspect import cleandoc
from typing import Annotated, Any

import typer

from ..files import load
from ..sinks import escaped_formulas
from .commands import add
from .options import Columns, Data, Exclude, Fewer, Ids, ModelFile, Output, Overwrite, ResponseFiles, Responses
from .tables import STANDARD, paths_of, saved_kind, second_table, tables
from .terminal import Terminal

Escape = Annotated[
    bool,
    typer.Option(
        "--escape-formulas", help="In CSV, put an apostrophe before text that a spreadsheet would run as a formula."
    ),
]
Deviations = Annotated[bool, typer.Option("--std", help="Also write the standard deviations of the filled entries.")]


@dataclass(frozen=True)
class _Verb:
    """A verb, and the method of models that does the work."""

    name: str
    method: str
    #: Options of other verbs that this one does not have.
    without: tuple[str, ...]
    doc: str


_VERBS = (
    _Verb(
        "transform",
        "transform_to",
        ("std",),
        """Write the scores of rows on the components of a model.

        Columns with --id are carried along. Without --output, CSV goes to the standard output. The tables of GCCA are
        given as one file each.

        Example:

        lowdim transform pca.model wine.csv --id class -o scores.parquet
        """,
    ),
    _Verb(
        "inverse",
        "inverse_transform_to",
        ("std", "n_components", "y", "y_data"),
        """Write the rows that belong to scores.

        The columns of the data are the scores, without those of --id. There may be fewer than the model has components.

        Example:

        lowdim inverse pca.model scores.csv --id class -o rows.csv
        """,
    ),
    _Verb(
        "impute",
        "impute_to",
        ("n_components", "y", "y_data"),
        """Write rows with their missing entries filled in.

        Example:

        lowdim impute ppca.model holes.csv --id class -o filled.csv
        """,
    ),
    _Verb(
        "predict",
        "predict_to",
        ("std", "y", "y_data"),
        """Write the responses that a model predicts.

        Example:

        lowdim predict pls.model wine.csv --id class -o predictions.csv
        """,
    ),
)


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the application."""
    for verb in _VERBS:
        add(app, verb.name, _applying(verb.method), doc=cleandoc(verb.doc), without=verb.without)


def _applying(method: str) -> Callable[..., None]:
    """The command that applies a method of a model, which writes its results, and says where they are."""

    def apply(
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
        std: Deviations = False,
        escape_formulas: Escape = False,
    ) -> None:
        where = STANDARD if output is None else output
        if terminal.json and where == STANDARD:
            raise ValueError("--json and the table cannot both go to the standard output: name a file with --output.")
        fitted = _model(model, method)
        given = {"y": second_table(y, y_data), "n_components": n_components, "return_std": std or None}
        more = {name: value for name, value in given.items() if value is not None}
        with terminal.progress(), paths_of(data) as paths, escaped_formulas() if escape_formulas else nullcontext():
            rows = tables(type(fitted), paths, columns, exclude)
            getattr(fitted, method)(rows, where, keep=list(ids or []), overwrite=overwrite, **more)
        if terminal.json:
            terminal.answer("", {"output": where})
        elif where != STANDARD:
            terminal.remark(f"written to {where}")

    return apply


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
