"""The verbs for files and summaries: convert, summarize, merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import typer

from .._core.arrays import to_numpy
from .._core.paths import local_path, moved_when_whole
from .._core.threads import watcher
from ..files import load, save
from ..reading.summarize import summarize as summarize_rows
from ..sinks import find_output, open_sink
from ..sources.base import Source
from ..sources.opening import open_keeping
from ..sources.scan import Found, Scan
from ..summaries.base import Summary
from ..summaries.moments import Moments
from ..summaries.triangle import Triangle
from ..table import numbered
from .commands import Columns, Data, Exclude, Ids, Overwrite, Responses, Weight, add
from .fitting import Checkpoint
from .terminal import Terminal, paths_of, require_absent, saved_kind, table

# The verb that turns files into others: convert.


#: The size of a block of rows.
_BLOCK_BYTES = 1 << 20

Target = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The file to write.", show_default=False)]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the application."""
    add(app, "convert", convert)


def convert(
    terminal: Terminal,
    data: Data,
    output: Target,
    overwrite: Overwrite = False,
    columns: Columns = None,
    exclude: Exclude = None,
) -> None:
    """Write data in another format, or a model as an ONNX file.

    The end of the name of the output decides on its format. Tables keep all their columns, of any type; arrays (NPY,
    Zarr, HDF5) take numbers only.

    Example:

    lowdim convert wine.csv -o wine.parquet

    lowdim convert pca.model -o pca.onnx
    """
    if len(data) == 1 and saved_kind(data[0]) == "model":
        _convert_model(data[0], output, overwrite)
    else:
        with terminal.progress(), paths_of(data) as paths:
            _convert_rows(table(paths, columns, exclude), output, overwrite)
    if terminal.json:
        terminal.answer("", {"output": output})
    elif output != "-":
        terminal.remark(f"written to {output}")


def _convert_model(path: str, output: str, overwrite: bool) -> None:
    """Write a model as an ONNX file."""
    from ..onnx import to_onnx

    if not output.lower().endswith(".onnx"):
        raise ValueError(
            f"{path} holds a model, which can be converted to a file that ends with .onnx, not {output!r}."
        )
    require_absent(output, overwrite)
    content = to_onnx(load(path)).SerializeToString()
    with moved_when_whole(local_path(output)) as unfinished:
        unfinished.write_bytes(content)


def _convert_rows(rows: Scan, output: str, overwrite: bool) -> None:
    """Write a table block by block: one pass, and the memory of a few blocks."""
    if rows.contents.has_names and find_output(output).kind.tabular:
        _convert_table(rows, output, overwrite)
        return
    source = rows.open()
    names = source.names if source.names is not None else numbered("x", source.shape[1])
    with open_sink(output, names, overwrite=overwrite, reading=source.files) as sink:
        _copy(source, sink)


def _convert_table(rows: Scan, output: str, overwrite: bool) -> None:
    """Write columns of any type, in their order.

    Columns that are carried along keep their types, but CSV files have no types: there they are text, and so numbers
    are read as numbers. Blocks consist of numbers, so at least one column has to be numbers, even if it is also carried
    along.
    """
    columns = rows.choice.named_among(rows.contents)
    numbers = [name for name in columns if name in set(rows.numeric)]
    if not numbers:
        raise ValueError("none of the columns are numbers, and lowdim reads tables of numbers.")
    untyped = isinstance(rows.found, Found) and rows.found.kind == "csv"
    keep = [name for name in columns if name not in numbers] if untyped else columns
    read = rows.select(numbers if untyped else numbers[:1])
    source = open_keeping(read, keep, wanted=read.chosen) if keep else read.open()
    with open_sink(output, [], keep=columns, overwrite=overwrite, reading=source.files) as sink:
        _copy(source, _InOrder(sink, columns, read.chosen), keep)


def _copy(source: Source, to: Any, keep: Sequence[str] = ()) -> None:
    """Write all blocks of a source as they are."""
    n, p = source.shape
    rows = max(64, _BLOCK_BYTES // (p * source.traits.itemsize))
    progress = watcher()
    if progress is not None:
        progress.begin("rows", None if n is None else -(-n // rows), rows)
    for block, kept in source.blocks_keeping(rows, keep):
        to.write([to_numpy(block)], kept)
        if progress is not None:
            progress.step()
    if progress is not None:
        progress.end()


class _InOrder:
    """Writes numbers and columns that were carried along as one table, in the order of its columns."""

    def __init__(self, to: Any, columns: Sequence[str], numbers: Sequence[str]) -> None:
        self._to, self._columns, self._numbers = to, columns, numbers

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        import pyarrow as pa

        found = {} if kept is None else dict(zip(kept.column_names, kept.columns, strict=True))
        for j, name in enumerate(self._numbers):
            found.setdefault(name, pa.array(results[0][:, j], from_pandas=True))
        self._to.write([], pa.table([found[name] for name in self._columns], names=list(self._columns)))


# The verbs for summaries of rows, which can be merged: summarize, merge.


#: The summaries that models can be fitted to.
_KINDS: dict[str, type[Moments] | type[Triangle]] = {"moments": Moments, "triangle": Triangle}

Kind = Annotated[str, typer.Option("--kind", help="moments, or triangle where columns depend on each other.")]
SummaryOutput = Annotated[str, typer.Option("--output", "-o", help="The file to write.", show_default=False)]
MinRows = Annotated[int | None, typer.Option("--min-rows", help="Refuse to write a summary of fewer rows than this.")]
Files = Annotated[list[str], typer.Argument(help="Files that `lowdim summarize` wrote.", show_default=False)]


def add_summarizing(app: typer.Typer) -> None:
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
