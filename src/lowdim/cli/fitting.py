"""The verbs that learn from rows (fit, cross-validate, choose, summarize, merge) and that apply a fitted model."""

from __future__ import annotations

import csv
import inspect
import json
import os
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import typer
from sklearn.utils import get_tags

from .. import models
from .._core.paths import local_path
from ..files import load, save
from ..inspect.tables import importance
from ..reading.summarizing import summarize as summarize_rows
from ..selection.choose import choose_n_components
from ..selection.cross_validation import cross_validate
from ..sinks import escaped_formulas
from ..summaries.base import Summary
from ..summaries.moments import Moments
from ..summaries.triangle import Triangle
from .commands import Parameters, add, command_name, group, with_example
from .terminal import STANDARD, Call, saved_kind

#: How some models are fitted in the example of their help; for the others, see `add_to`.
_FIT_EXAMPLES = {
    "Whitening": "wine.csv --columns numeric --exclude class --kind zca -o wine.model",
    "KernelPCA": "wine.csv -c numeric -x class -k 2 --kernel rbf -o wine.model",
    "CA": "counts.csv --exclude task -k 2 -o counts.model",
    "MCA": "people.csv --exclude age -k 2 --min-frequency 5 -o people.model",
    "FAMD": "people.csv --categorical children -k 2 -o people.model",
    "MFA": "people.csv --groups groups.csv -k 2 -o people.model",
    "GCCA": "left.csv right.csv third.csv -k 2 -o tables.model",
}


#: How models of categories are cross-validated in the example of their help.
_VALIDATION_EXAMPLES = {
    "MCA": "people.csv --exclude age --cv 5",
    "FAMD": "people.csv --categorical children --cv 5",
    "MFA": "people.csv --column-groups groups.csv --cv 5",
}
#: Parameters of models that name columns of the table, by the names of the options; groups of rows are others.
_COLUMNS = {
    "categorical_features": "categorical_features",
    "column_groups": "groups",
    "supplementary": "supplementary",
}


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the application."""
    fits = group("Fit a model to the rows of a table, and save it.")
    validations = group("Score numbers of components by rows that were left out.")
    heading = "Parameters of the model"
    for name in models.__all__:
        cls, command = getattr(models, name), command_name(name)
        is_pair = get_tags(cls()).target_tags.required and cls is not models.GCCA
        rows = f"columns exclude decimal {'y y_data' if is_pair else ''} sample_weight"
        wine = f"wine.csv --columns numeric {'--y hue --y proline' if is_pair else '--exclude class'}"
        help = with_example(cls, f"lowdim fit {command} {_FIT_EXAMPLES.get(name, f'{wine} -k 2 -o wine.model')}")
        named = {key: own for key, own in _COLUMNS.items() if own in inspect.signature(cls).parameters}
        rows += f" {' '.join(named)}"
        parameters = Parameters(cls, skip=named.values(), heading=heading)
        add(fits, command, partial(fit, cls), f"data output overwrite {rows} checkpoint", parameters, help)
        if hasattr(cls, "held_out_scorer"):
            example = _VALIDATION_EXAMPLES.get(name, f"{wine} --cv 5")
            help = with_example(cls, f"lowdim cross-validate {command} {example}")
            parameters = Parameters(cls, skip=["n_components", *named.values()], heading=heading)
            add(validations, command, partial(validate, cls), f"data {rows} cv n_components groups", parameters, help)
    app.add_typer(fits, name="fit")
    app.add_typer(validations, name="cross-validate")
    rules = Parameters(
        choose_n_components, skip=["X", "rules", "cv", "sample_weight"], heading="Parameters of the rules"
    )
    add(app, "choose", choose, "data columns exclude decimal rules cv sample_weight", rules)
    applying = {transform: "y y_data n_components", inverse: "", impute: "return_std", predict: "n_components"}
    for verb, own in applying.items():
        add(app, verb.__name__, verb, f"model data output overwrite keep columns exclude decimal {own} escape_formulas")
    add(
        app,
        "summarize",
        summarize,
        "data output overwrite columns exclude decimal y sample_weight kind min_rows checkpoint",
    )
    add(app, "merge", merge, "files output overwrite")


# The verbs that learn from rows: fit, cross-validate, choose.


def fit(cls: Any, call: Call, **parameters: Any) -> None:
    """Fit a model of a class; `parameters` are those of the class."""
    model = cls(**parameters, **_named_columns(call))
    if call.output is not None:
        call.require_absent()
    with call.reading() as paths:
        if len(paths) == 1 and saved_kind(paths[0]) == "summary":
            model.fit_summary(load(paths[0]))
        else:
            more = {} if call.checkpoint is None else {"checkpoint": call.checkpoint}
            rows = call.tables(cls, paths, call.columns, call.exclude)
            model.fit(rows, call.second_table(), sample_weight=call.sample_weight, **more)
    text, values = str(model), model_values(model)
    if call.output is not None:
        save(model, call.output)
        text, values = f"{text}\nsaved to {call.output} ({_size(call.output)})", {**values, "saved": call.output}
    call.answer(text, values)


def _named_columns(call: Call) -> dict[str, Any]:
    """The parameters of a model that name columns of the table, as far as they are given."""
    given = {own: value for key, own in _COLUMNS.items() if (value := vars(call).get(key)) is not None}
    if "groups" in given:
        given["groups"] = _groups(given["groups"])
    return given


def _groups(text: str) -> str | dict[str, list[str]]:
    """The groups of columns that a separator or a file gives."""
    path, kind = Path(local_path(text)), Path(text).suffix.lower()
    if kind not in (".json", ".csv") or not path.is_file():
        if kind in (".json", ".csv"):
            raise FileNotFoundError(f"--groups: there is no file {text}.")
        return text
    if kind == ".json":
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"--groups: {text} is not a JSON file: {error}.") from error
        lists = isinstance(found, dict) and all(isinstance(columns, list | str) for columns in found.values())
        if not lists:
            raise ValueError(f'--groups: {text} must hold {{"group": ["column", ...], ...}}.')
        return dict(found)
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    if not lines or not {"column", "group"} <= set(lines[0]):
        raise ValueError(f"--groups: {text} must have the columns column and group, with a line for each column.")
    groups: dict[str, list[str]] = {}
    for line in lines:
        groups.setdefault(line["group"], []).append(line["column"])
    return groups


def _size(path: str) -> str:
    n = os.path.getsize(local_path(path))
    return f"{n} bytes" if n < 10_000 else f"{n / 1000:.0f} kB" if n < 10_000_000 else f"{n / 1e6:.0f} MB"


def model_values(model: Any) -> dict[str, Any]:
    """A fitted model as values of JSON."""
    return {
        "model": type(model).__name__,
        "rows": int(model.n_samples_),
        "n_features": int(model.n_features_in_),
        "columns": list(model.coding_.columns) if hasattr(model, "coding_") else model._wanted(),
        "n_components": int(model.n_components_),
        **({"levels": model.levels_} if hasattr(model, "levels_") else {}),
        "importance": importance(model).to_dict(),
        "plan": str(model.plan_),
    }


def validate(cls: Any, call: Call, **parameters: Any) -> None:
    """Cross-validate a model of a class; `parameters` are those of the class."""
    model = cls(**parameters, **_named_columns(call))
    tried = None if call.n_components is None else _counts(call.n_components)
    given = {"n_components": tried, "groups": call.groups, "sample_weight": call.sample_weight}
    with call.reading() as paths:
        rows = call.tables(cls, paths, call.columns, call.exclude)
        second = call.second_table()
        folds = None if call.groups is not None and call.cv == "5" else _folds(call.cv)
        result = cross_validate(model, rows, second, cv=folds, **given)
    values = {
        "model": cls.__name__,
        "what": result.what,
        "best": result.best,
        "one_standard_error": result.one_standard_error,
        "table": result.table().to_dict(),
    }
    call.answer(str(result), values)


def _counts(text: str) -> list[int]:
    """The numbers of components in "1-5" or "2,4,8"."""
    try:
        ends = [[int(end) for end in part.split("-", 1)] for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--n-components {text!r} must be whole numbers, as in 1-5 or 2,4,8.") from None
    return [number for part in ends for number in range(part[0], part[-1] + 1)]


def _folds(cv: str) -> int | str:
    """The number of folds, or the name of a column."""
    return int(cv) if cv.isdigit() else cv


def choose(call: Call, **options: Any) -> None:
    """How many components? The answer of each rule.

    Example:

    lowdim choose wine.csv --columns numeric --exclude class --scale
    """
    with call.reading() as paths:
        is_summary = len(paths) == 1 and saved_kind(paths[0]) == "summary"
        rows = load(paths[0]) if is_summary else call.table(paths, call.columns, call.exclude)
        rules: Any = call.rules or "all"
        choices = choose_n_components(rows, rules, cv=_folds(call.cv), sample_weight=call.sample_weight, **options)
    call.answer(str(choices), {"table": choices.table().to_dict()})


# The verbs that apply a fitted model to rows: transform, inverse, impute, predict.


def transform(call: Call) -> None:
    """Write the scores of rows on the components of a model.

    Columns with --keep are carried along. Without --output, CSV goes to the standard output. The tables of GCCA are
    given as one file each.

    Example:

    lowdim transform pca.model wine.csv --keep class -o scores.parquet
    """
    _apply(call, "transform_to", y=call.second_table(), n_components=call.n_components)


def inverse(call: Call) -> None:
    """Write the rows that belong to scores.

    The columns of the data are the scores, without those of --keep. There may be fewer than the model has components.

    Example:

    lowdim inverse pca.model scores.csv --keep class -o rows.csv
    """
    _apply(call, "inverse_transform_to")


def impute(call: Call) -> None:
    """Write rows with their missing entries filled in.

    Example:

    lowdim impute ppca.model incomplete.csv --keep class -o filled.csv
    """
    _apply(call, "impute_to", return_std=call.return_std or None)


def predict(call: Call) -> None:
    """Write the responses that a model predicts.

    Example:

    lowdim predict pls.model wine.csv --keep class -o predictions.csv
    """
    _apply(call, "predict_to", n_components=call.n_components)


def _apply(call: Call, method: str, **given: Any) -> None:
    """Apply a method of a model, which writes its results, and say where they are."""
    where = STANDARD if call.output is None else call.output
    if call.json and where == STANDARD:
        raise ValueError("--json and the table cannot both go to the standard output: name a file with --output.")
    kind = saved_kind(call.model)
    if kind not in (None, "model"):
        raise ValueError(f"{call.model} holds a {kind}, and no model; `lowdim inspect {call.model}` shows it.")
    fitted = load(call.model)
    if not hasattr(fitted, method):
        what = method.removesuffix("_to").replace("_", " ")
        raise ValueError(f"{call.model} holds a {type(fitted).__name__}, which cannot {what}.")
    more = {name: value for name, value in given.items() if value is not None}
    with call.reading() as paths, escaped_formulas() if call.escape_formulas else nullcontext():
        rows = call.tables(type(fitted), paths, call.columns, call.exclude)
        getattr(fitted, method)(rows, where, keep=list(call.keep or []), overwrite=call.overwrite, **more)
    call.written(where)


# The verbs for summaries of rows, which can be merged: summarize, merge.


#: The summaries that models can be fitted to.
_KINDS: dict[str, type[Moments] | type[Triangle]] = {"moments": Moments, "triangle": Triangle}


def summarize(call: Call) -> None:
    """Write a summary of the rows of a table, from which models can be fitted without the rows.

    With --y, these columns come last and are the second table of PLS, PCR and CCA.

    Example:

    lowdim summarize wine.csv --columns numeric --exclude class -o wine.summary
    """
    if call.kind not in _KINDS:
        raise ValueError(f"--kind {call.kind!r} must be one of {', '.join(_KINDS)}.")
    call.require_absent()
    with call.reading() as paths:
        rows, weight = call.table(paths, call.columns, call.exclude), call.sample_weight
        more: dict[str, Any] = {}
        if call.y:
            last = [*call.y, *([weight] if weight else [])]
            first = rows.without(last)
            more["widths"] = (len(first.chosen), len(call.y))
            rows = rows.select([*first.chosen, *last])
        width = len(rows.chosen) - (weight is not None and weight in rows.chosen)
        summary = summarize_rows(rows, _KINDS[call.kind](width, **more), weights=weight, checkpoint=call.checkpoint)
    _save_summary(call, summary, min_rows=call.min_rows)


def merge(call: Call) -> None:
    """Merge summaries of different rows of the same columns.

    Example:

    lowdim merge site1.summary site2.summary -o all.summary
    """
    call.require_absent()
    merged: Any = None
    for path in call.files:
        summary = load(path)
        if not isinstance(summary, Summary):
            raise ValueError(f"{path} holds a {type(summary).__name__}, and no summary.")
        if merged is None:
            merged = summary
        else:
            merged.merge(summary)
    _save_summary(call, merged)


def _save_summary(call: Call, summary: Any, **options: Any) -> None:
    save(summary, call.output, **options)
    text, values = about_summary(summary)
    call.answer(f"{text}, saved to {call.output}", {**values, "saved": call.output})


def about_summary(summary: Any) -> tuple[str, dict[str, Any]]:
    """A line about a summary, and what it is as values of JSON."""
    values = {
        "summary": type(summary).__name__,
        "rows": int(summary.n_rows),
        "n_features": int(summary.n_features),
        "columns": None if summary.names is None else list(summary.names),
    }
    return f"{values['summary']} of {values['rows']} rows, {values['n_features']} columns", values
