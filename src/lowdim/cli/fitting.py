"""The verbs that learn from rows (fit, cross-validate, choose), and those that apply a fitted model."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from inspect import cleandoc
from typing import Annotated, Any

import typer
from sklearn.utils import get_tags

from .. import models
from .._core.paths import local_path
from ..files import load, save
from ..inspect.limits import names_expected
from ..inspect.tables import importance
from ..selection.choose import choose_n_components
from ..selection.cross_validation import cross_validate
from ..sinks import escaped_formulas
from .commands import (
    Columns,
    Data,
    Exclude,
    Fewer,
    Ids,
    ModelFile,
    Output,
    Overwrite,
    Parameters,
    ResponseFiles,
    Responses,
    Weight,
    add,
    command_name,
    first_sentence,
    group,
    plain_help,
)
from .terminal import STANDARD, Terminal, paths_of, require_absent, saved_kind, second_table, table, tables

# The verbs that learn from rows: fit, cross-validate, choose.


Checkpoint = Annotated[
    str | None,
    typer.Option(
        "--checkpoint", metavar="FILE", help="A file that keeps the state of the pass, to go on after a crash."
    ),
]
Folds = Annotated[str, typer.Option("--cv", help="The number of folds, or a column with the fold of each row.")]
Counts = Annotated[
    str | None, typer.Option("--try", "-k", help="The numbers of components to try, as in 5 (1 to 5) or 2,4,8.")
]
Groups = Annotated[str | None, typer.Option("--groups", help="A column; rows of one group stay together.")]
Rules = Annotated[list[str] | None, typer.Option("--rule", "-r", help="A rule; the default is all. Can be repeated.")]


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the application."""
    fits = group("Fit a model to the rows of a table, and save it.")
    validations = group("Score numbers of components by rows that were left out.")
    for name in models.__all__:
        cls = getattr(models, name)
        parameters = Parameters(cls, heading=_HEADING)
        is_pair = get_tags(cls()).target_tags.required and cls is not models.GCCA
        without = () if is_pair else ("y", "y_data")
        run = _fitting(cls, parameters)
        add(fits, command_name(name), run, parameters.options, _help(cls, _FIT_EXAMPLES), without)
        if hasattr(cls, "held_out_scorer"):
            shared = Parameters(cls, skip=["n_components"], heading=_HEADING)
            run = _validating(cls, shared)
            add(validations, command_name(name), run, shared.options, _help(cls, _CV_EXAMPLES), without)
    app.add_typer(fits, name="fit")
    app.add_typer(validations, name="cross-validate")
    rules = Parameters(
        choose_n_components, skip=["X", "rules", "cv", "sample_weight"], heading="Parameters of the rules"
    )
    add(app, "choose", _choosing(rules), rules.options, _CHOOSE)


_HEADING = "Parameters of the model"


def _help(cls: type, examples: dict[str, str]) -> str:
    """The help of a command for a model: what the model does, and an example."""
    name = cls.__name__
    options = examples.get(name, examples[""])
    return f"{plain_help(first_sentence(cls))}\n\nExample:\n\n{options.format(name=command_name(name))}"


_FIT_EXAMPLES = {
    "": "lowdim fit {name} wine.csv --columns numeric --exclude class -k 2 -o wine.model",
    "Whitening": "lowdim fit {name} wine.csv --columns numeric --exclude class --kind zca -o wine.model",
    "KernelPCA": "lowdim fit {name} wine.csv -c numeric -x class -k 2 --kernel rbf -o wine.model",
    "GCCA": "lowdim fit {name} left.csv right.csv third.csv -k 2 -o tables.model",
    **dict.fromkeys(
        ("PCR", "PLSRegression", "PLSCanonical", "PLSSVD", "CCA", "KernelCCA"),
        "lowdim fit {name} wine.csv --columns numeric --y hue --y proline -k 2 -o wine.model",
    ),
}
_CV_EXAMPLES = {
    "": "lowdim cross-validate {name} wine.csv --columns numeric --exclude class --cv 5",
    **dict.fromkeys(
        ("PCR", "PLSRegression", "CCA"),
        "lowdim cross-validate {name} wine.csv --columns numeric --y hue --y proline --cv 5",
    ),
}
_CHOOSE = """How many components? The answer of each rule.

Example:

lowdim choose wine.csv --columns numeric --exclude class --standardize
"""


def _fitting(cls: Any, parameters: Parameters) -> Any:
    """The command that fits models of a class; its options depend on what `fit` takes."""

    def fit(
        terminal: Terminal,
        data: Data,
        output: Output = None,
        overwrite: Overwrite = False,
        columns: Columns = None,
        exclude: Exclude = None,
        ids: Ids = None,
        y: Responses = None,
        y_data: ResponseFiles = None,
        weight: Weight = None,
        checkpoint: Checkpoint = None,
        **given: Any,
    ) -> None:
        model = cls(**parameters.values(given))
        if output is not None:
            require_absent(output, overwrite)
        with terminal.progress(), paths_of(data) as paths:
            if len(paths) == 1 and saved_kind(paths[0]) == "summary":
                model.fit_summary(load(paths[0]))
            else:
                rows = tables(cls, paths, columns, [*(exclude or []), *(ids or [])])
                more = {} if checkpoint is None else {"checkpoint": checkpoint}
                model.fit(rows, second_table(y, y_data), sample_weight=weight, **more)
        if output is not None:
            save(model, output)
        terminal.answer(_text(model, terminal, output), model_values(model, output))

    return fit


def _text(model: Any, terminal: Terminal, output: str | None) -> str:
    """What is printed after a fit."""
    lines = [str(model)]
    if output is not None:
        lines.append(f"saved to {output} ({_size(output)})")
    return "\n".join(lines)


def _size(path: str) -> str:
    n = os.path.getsize(local_path(path))
    return f"{n} bytes" if n < 10_000 else f"{n / 1000:.0f} kB" if n < 10_000_000 else f"{n / 1e6:.0f} MB"


def model_values(model: Any, output: str | None = None) -> dict[str, Any]:
    """A fitted model as values of JSON."""
    names = names_expected(model)
    values = {
        "model": type(model).__name__,
        "rows": int(model.n_samples_),
        "n_features": int(model.n_features_in_),
        "columns": names,
        "n_components": int(model.n_components_),
        "importance": importance(model).to_dict(),
        "plan": str(model.plan_),
    }
    return values if output is None else {**values, "saved": output}


def _validating(cls: Any, parameters: Parameters) -> Any:
    """The command that cross-validates models of a class."""

    def validate(
        terminal: Terminal,
        data: Data,
        columns: Columns = None,
        exclude: Exclude = None,
        ids: Ids = None,
        y: Responses = None,
        y_data: ResponseFiles = None,
        weight: Weight = None,
        cv: Folds = "5",
        counts: Counts = None,
        groups: Groups = None,
        **given: Any,
    ) -> None:
        model = cls(**parameters.values(given))
        tried = None if counts is None else _counts(counts)
        with terminal.progress(), paths_of(data) as paths:
            rows = tables(cls, paths, columns, [*(exclude or []), *(ids or [])])
            second = second_table(y, y_data)
            folds = None if groups is not None and cv == "5" else int(cv) if cv.isdigit() else cv
            result = cross_validate(
                model, rows, second, cv=folds, n_components=tried, groups=groups, sample_weight=weight
            )
        values = {
            "model": cls.__name__,
            "what": result.what,
            "best": result.best,
            "one_standard_error": result.one_standard_error,
            "table": result.table().to_dict(),
        }
        terminal.answer(str(result), values)

    return validate


def _counts(text: str) -> list[int]:
    """The numbers of components in "5" (1 to 5) or "2,4,8"."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--try {text!r} must be a whole number, or several with commas between them.") from None
    return list(range(1, numbers[0] + 1)) if len(numbers) == 1 else numbers


def _choosing(parameters: Parameters) -> Any:
    """The command that applies the rules for the number of components."""

    def choose(
        terminal: Terminal,
        data: Data,
        columns: Columns = None,
        exclude: Exclude = None,
        ids: Ids = None,
        rule: Rules = None,
        cv: Folds = "5",
        weight: Weight = None,
        **given: Any,
    ) -> None:
        with terminal.progress(), paths_of(data) as paths:
            options = parameters.values(given)
            if len(paths) == 1 and saved_kind(paths[0]) == "summary":
                rows = load(paths[0])
            else:
                rows = table(paths, columns, [*(exclude or []), *(ids or [])])
            folds = int(cv) if cv.isdigit() else cv
            choices = choose_n_components(rows, rule or "all", cv=folds, sample_weight=weight, **options)
        terminal.answer(str(choices), {"table": choices.table().to_dict()})

    return choose


# The verbs that apply a fitted model to rows: transform, inverse, impute, predict.


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


def add_applying(app: typer.Typer) -> None:
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
