"""The verbs that learn from rows (fit, cross-validate, choose, summarize, merge) and that apply a fitted model."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from inspect import cleandoc
from typing import Any

import typer
from sklearn.utils import get_tags

from .. import models
from .._core.paths import local_path
from ..files import load, save
from ..inspect.tables import importance, names_expected
from ..reading.summarize import summarize as summarize_rows
from ..selection.choose import choose_n_components
from ..selection.cross_validation import cross_validate
from ..sinks import escaped_formulas
from ..summaries.base import Summary
from ..summaries.moments import Moments
from ..summaries.triangle import Triangle
from .commands import Parameters, add, command_name, group, with_example
from .terminal import STANDARD, Terminal, paths_of, require_absent, saved_kind, second_table, table, tables

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


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the application."""
    fits = group("Fit a model to the rows of a table, and save it.")
    validations = group("Score numbers of components by rows that were left out.")
    heading = "Parameters of the model"
    for name in models.__all__:
        cls, command = getattr(models, name), command_name(name)
        is_pair = get_tags(cls()).target_tags.required and cls is not models.GCCA
        without = () if is_pair else ("y", "y_data")
        help = with_example(cls, _FIT_EXAMPLES.get(name, _FIT_EXAMPLES[""]).format(name=command))
        add(fits, command, partial(fit, cls), Parameters(cls, heading=heading), help, without)
        if hasattr(cls, "held_out_scorer"):
            help = with_example(cls, _CV_EXAMPLES.get(name, _CV_EXAMPLES[""]).format(name=command))
            parameters = Parameters(cls, skip=["n_components"], heading=heading)
            add(validations, command, partial(validate, cls), parameters, help, without)
    app.add_typer(fits, name="fit")
    app.add_typer(validations, name="cross-validate")
    rules = Parameters(
        choose_n_components, skip=["X", "rules", "cv", "sample_weight"], heading="Parameters of the rules"
    )
    add(app, "choose", choose, rules)
    for name, method, lacks, doc in _APPLYING:
        add(app, name, partial(apply, method), doc=cleandoc(doc), without=lacks)
    add(app, "summarize", summarize)
    add(app, "merge", merge)


# The verbs that learn from rows: fit, cross-validate, choose.


def fit(
    cls: Any,
    terminal: Terminal,
    data: list[str],
    output: str | None = None,
    overwrite: bool = False,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
    ids: list[str] | None = None,
    y: list[str] | None = None,
    y_data: list[str] | None = None,
    weight: str | None = None,
    checkpoint: str | None = None,
    **parameters: Any,
) -> None:
    """Fit a model of a class; `parameters` are those of the class."""
    model = cls(**parameters)
    if output is not None:
        require_absent(output, overwrite)
    with terminal.progress(), paths_of(data) as paths:
        if len(paths) == 1 and saved_kind(paths[0]) == "summary":
            model.fit_summary(load(paths[0]))
        else:
            more = {} if checkpoint is None else {"checkpoint": checkpoint}
            rows = tables(cls, paths, columns, exclude, ids)
            model.fit(rows, second_table(y, y_data), sample_weight=weight, **more)
    text, values = str(model), model_values(model)
    if output is not None:
        save(model, output)
        text, values = f"{text}\nsaved to {output} ({_size(output)})", {**values, "saved": output}
    terminal.answer(text, values)


def _size(path: str) -> str:
    n = os.path.getsize(local_path(path))
    return f"{n} bytes" if n < 10_000 else f"{n / 1000:.0f} kB" if n < 10_000_000 else f"{n / 1e6:.0f} MB"


def model_values(model: Any) -> dict[str, Any]:
    """A fitted model as values of JSON."""
    return {
        "model": type(model).__name__,
        "rows": int(model.n_samples_),
        "n_features": int(model.n_features_in_),
        "columns": names_expected(model),
        "n_components": int(model.n_components_),
        "importance": importance(model).to_dict(),
        "plan": str(model.plan_),
    }


def validate(
    cls: Any,
    terminal: Terminal,
    data: list[str],
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
    ids: list[str] | None = None,
    y: list[str] | None = None,
    y_data: list[str] | None = None,
    weight: str | None = None,
    cv: str = "5",
    counts: str | None = None,
    groups: str | None = None,
    **parameters: Any,
) -> None:
    """Cross-validate a model of a class; `parameters` are those of the class."""
    model = cls(**parameters)
    tried = None if counts is None else _counts(counts)
    with terminal.progress(), paths_of(data) as paths:
        rows = tables(cls, paths, columns, exclude, ids)
        second = second_table(y, y_data)
        folds = None if groups is not None and cv == "5" else int(cv) if cv.isdigit() else cv
        result = cross_validate(model, rows, second, cv=folds, n_components=tried, groups=groups, sample_weight=weight)
    values = {
        "model": cls.__name__,
        "what": result.what,
        "best": result.best,
        "one_standard_error": result.one_standard_error,
        "table": result.table().to_dict(),
    }
    terminal.answer(str(result), values)


def _counts(text: str) -> list[int]:
    """The numbers of components in "5" (1 to 5) or "2,4,8"."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--try {text!r} must be a whole number, or several with commas between them.") from None
    return list(range(1, numbers[0] + 1)) if len(numbers) == 1 else numbers


def choose(
    terminal: Terminal,
    data: list[str],
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
    ids: list[str] | None = None,
    rule: list[str] | None = None,
    cv: str = "5",
    weight: str | None = None,
    **options: Any,
) -> None:
    """How many components? The answer of each rule.

    Example:

    lowdim choose wine.csv --columns numeric --exclude class --standardize
    """
    with terminal.progress(), paths_of(data) as paths:
        is_summary = len(paths) == 1 and saved_kind(paths[0]) == "summary"
        rows = load(paths[0]) if is_summary else table(paths, columns, exclude, ids)
        folds = int(cv) if cv.isdigit() else cv
        choices = choose_n_components(rows, rule or "all", cv=folds, sample_weight=weight, **options)
    terminal.answer(str(choices), {"table": choices.table().to_dict()})


# The verbs that apply a fitted model to rows: transform, inverse, impute, predict.


#: Verbs, the methods of models that do the work, options of other verbs that they lack, and their help.
_APPLYING = (
    (
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
    (
        "inverse",
        "inverse_transform_to",
        ("std", "n_components", "y", "y_data"),
        """Write the rows that belong to scores.

        The columns of the data are the scores, without those of --id. There may be fewer than the model has components.

        Example:

        lowdim inverse pca.model scores.csv --id class -o rows.csv
        """,
    ),
    (
        "impute",
        "impute_to",
        ("n_components", "y", "y_data"),
        """Write rows with their missing entries filled in.

        Example:

        lowdim impute ppca.model holes.csv --id class -o filled.csv
        """,
    ),
    (
        "predict",
        "predict_to",
        ("std", "y", "y_data"),
        """Write the responses that a model predicts.

        Example:

        lowdim predict pls.model wine.csv --id class -o predictions.csv
        """,
    ),
)


def apply(
    method: str,
    terminal: Terminal,
    model: str,
    data: list[str],
    output: str | None = None,
    overwrite: bool = False,
    ids: list[str] | None = None,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
    y: list[str] | None = None,
    y_data: list[str] | None = None,
    n_components: int | None = None,
    std: bool = False,
    escape_formulas: bool = False,
) -> None:
    """Apply a method of a model, which writes its results, and say where they are."""
    where = STANDARD if output is None else output
    if terminal.json and where == STANDARD:
        raise ValueError("--json and the table cannot both go to the standard output: name a file with --output.")
    kind = saved_kind(model)
    if kind not in (None, "model"):
        raise ValueError(f"{model} holds a {kind}, and no model; `lowdim inspect {model}` shows it.")
    fitted = load(model)
    if not hasattr(fitted, method):
        what = method.removesuffix("_to").replace("_", " ")
        raise ValueError(f"{model} holds a {type(fitted).__name__}, which cannot {what}.")
    given = {"y": second_table(y, y_data), "n_components": n_components, "return_std": std or None}
    more = {name: value for name, value in given.items() if value is not None}
    with terminal.progress(), paths_of(data) as paths, escaped_formulas() if escape_formulas else nullcontext():
        rows = tables(type(fitted), paths, columns, exclude)
        getattr(fitted, method)(rows, where, keep=list(ids or []), overwrite=overwrite, **more)
    terminal.written(where)


# The verbs for summaries of rows, which can be merged: summarize, merge.


#: The summaries that models can be fitted to.
_KINDS: dict[str, type[Moments] | type[Triangle]] = {"moments": Moments, "triangle": Triangle}


def summarize(
    terminal: Terminal,
    data: list[str],
    output: str,
    overwrite: bool = False,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
    ids: list[str] | None = None,
    y: list[str] | None = None,
    weight: str | None = None,
    kind: str = "moments",
    min_rows: int | None = None,
    checkpoint: str | None = None,
) -> None:
    """Write a summary of the rows of a table, from which models can be fitted without the rows.

    With --y, these columns come last and are the second table of PLS, PCR and CCA.

    Example:

    lowdim summarize wine.csv --columns numeric --exclude class -o wine.summary
    """
    if kind not in _KINDS:
        raise ValueError(f"--kind {kind!r} must be one of {', '.join(_KINDS)}.")
    require_absent(output, overwrite)
    with terminal.progress(), paths_of(data) as paths:
        rows = table(paths, columns, exclude, ids)
        groups = None
        if y:
            last = [*y, *([weight] if weight else [])]
            first = rows.without(last)
            groups = (len(first.chosen), len(y))
            rows = rows.select([*first.chosen, *last])
        width = len(rows.chosen) - (weight is not None and weight in rows.chosen)
        empty: Any = _KINDS[kind](width) if groups is None else _KINDS[kind](width, groups=groups)
        summary = summarize_rows(rows, empty, weights=weight, checkpoint=checkpoint)
        save(summary, output, min_rows=min_rows)
    text, values = about_summary(summary)
    terminal.answer(f"{text}, saved to {output}", {**values, "saved": output})


def merge(terminal: Terminal, files: list[str], output: str, overwrite: bool = False) -> None:
    """Merge summaries of different rows of the same columns.

    Example:

    lowdim merge site1.summary site2.summary -o all.summary
    """
    require_absent(output, overwrite)
    merged: Any = None
    for path in files:
        summary = load(path)
        if not isinstance(summary, Summary):
            raise ValueError(f"{path} holds a {type(summary).__name__}, and no summary.")
        if merged is None:
            merged = summary
        else:
            merged.merge(summary)
    save(merged, output)
    text, values = about_summary(merged)
    terminal.answer(f"{text}, saved to {output}", {**values, "saved": output})


def about_summary(summary: Any) -> tuple[str, dict[str, Any]]:
    """A line about a summary, and what it is as values of JSON."""
    values = {
        "summary": type(summary).__name__,
        "rows": int(summary.n_rows),
        "n_features": int(summary.n_features),
        "columns": None if summary.names is None else list(summary.names),
    }
    return f"{values['summary']} of {values['rows']} rows, {values['n_features']} columns", values
