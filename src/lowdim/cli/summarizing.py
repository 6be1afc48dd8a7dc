"""The verbs for summaries of rows, which can be merged: summarize, merge."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..files import load, save
from ..reading import summarize as summarize_rows
from ..summaries import Moments, Summary, Triangle
from .commands import add
from .fitting import Checkpoint
from .options import Columns, Data, Exclude, Ids, Overwrite, Responses, Weight
from .outputs import require_absent
from .tables import paths_of, table
from .terminal import Terminal

#: The summaries that models can be fitted to.
_KINDS: dict[str, type[Moments] | type[Triangle]] = {"moments": Moments, "triangle": Triangle}

Kind = Annotated[str, typer.Option("--kind", help="moments, or triangle where columns depend on each other.")]
SummaryOutput = Annotated[str, typer.Option("--output", "-o", help="The file to write.", show_default=False)]
MinRows = Annotated[int | None, typer.Option("--min-rows", help="Refuse to write a summary of fewer rows than this.")]
Files = Annotated[list[str], typer.Argument(help="Files that `lowdim summarize` wrote.", show_default=False)]


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the application."""
    add(app, "summarize", summarize)
    add(app, "merge", merge)


def summarize(
    terminal: Terminal,
    data: Data,
    output: SummaryOutput,
    overwrite: Overwrite = False,
    columns: Columns = None,
    exclude: Exclude = None,
    ids: Ids = None,
    y: Responses = None,
    weight: Weight = None,
    kind: Kind = "moments",
    min_rows: MinRows = None,
    checkpoint: Checkpoint = None,
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
        left_out = [*(exclude or []), *(ids or [])]
        rows = table(paths, columns, left_out)
        groups = None
        if y:
            first = rows.without([*y, *([weight] if weight else [])])
            groups = (len(first.chosen), len(y))
            rows = rows.select([*first.chosen, *y, *([weight] if weight else [])])
        width = len(rows.chosen) - (weight is not None and weight in rows.chosen)
        empty: Any = _KINDS[kind](width) if groups is None else _KINDS[kind](width, groups=groups)
        summary = summarize_rows(rows, empty, weights=weight, checkpoint=checkpoint)
        save(summary, output, min_rows=min_rows)
    _answer(terminal, summary, output)


def merge(terminal: Terminal, files: Files, output: SummaryOutput, overwrite: Overwrite = False) -> None:
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
    _answer(terminal, merged, output)


def summary_values(summary: Any) -> dict[str, Any]:
    """A summary as values of JSON."""
    return {
        "summary": type(summary).__name__,
        "rows": int(summary.n_rows),
        "n_features": int(summary.n_features),
        "columns": None if summary.names is None else list(summary.names),
    }


def _answer(terminal: Terminal, summary: Any, output: str) -> None:
    """Say what was written."""
    values = summary_values(summary)
    text = f"{values['summary']} of {values['rows']} rows, {values['n_features']} columns, saved to {output}"
    terminal.answer(text, {**values, "saved": output})
