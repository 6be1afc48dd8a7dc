"""Results written to files: `transform_to` and its like, which map the same rows by the same functions as `transform`.

A method such as `transform` is defined by the maps that it makes of its arguments, one for each table. `transform`
returns their results, and `transform_to` writes them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import bad_keep, columns_clash, inconsistent_lengths
from ..reading import RowMap, write_rows
from ..sinks import find_output, open_sink
from ..sources import BesideSource, in_order, names_in
from ._progress import callback_progress

#: The endings of results that have the name of a kept column.
_ENDINGS = {
    "transform_to": "score",
    "inverse_transform_to": "reconstructed",
    "impute_to": "imputed",
    "predict_to": "predicted",
}
#: What `transform` and its like make of their arguments.
Maps = Sequence[RowMap]


def write_results(
    model: Any,
    maps_of: Callable[[Any], Maps],
    X: Any,
    path: Any,
    method: str,
    keep: Sequence[str],
    overwrite: bool,
    wanted: Sequence[str] | None = None,
    y: Any = None,
) -> str:
    """Write the results of the maps of `X`, side by side, and return the path; one pass, and a few blocks of memory.

    `method` is the name of the caller, and `wanted` are the columns that it needs, for files that have others too.
    `y` may name further columns of `X` that the maps need.
    """
    check_is_fitted(model)
    keep = _checked_names(keep)
    find_output(path).kind.require()
    maps = maps_of(model._open_keeping(X, keep, wanted, names_in(y)) if keep else X)
    names = _beside_kept(result_names(maps), keep, method)
    progress = callback_progress(model, X, None, method)
    reading = [file for each in maps for file in each.source.files]
    with open_sink(path, names, keep=keep, overwrite=overwrite, reading=reading) as sink:
        write_rows(maps, sink, keep=keep, progress=progress)
    if progress is not None:
        progress.finish()
    return os.fspath(path)


def results(maps: Maps) -> Any:
    """The result of one map, or a tuple with those of several tables, which must have the same number of rows. If these
    are columns of a data frame of Spark, it is one data frame with the results of all."""
    if len(maps) == 1:
        return maps[0].result()
    if not all(in_order(each.source) for each in maps):
        return _together(maps).result()
    found = tuple(each.result() for each in maps)
    lengths = [result.shape[0] for result in found]
    if len(set(lengths)) > 1:
        raise inconsistent_lengths([each.source.table for each in maps], lengths)
    return found


def _together(maps: Maps) -> RowMap:
    """One map of tables whose rows have no order, with the results of all maps side by side."""
    functions = [each.function for each in maps]

    def all_of(block: Any) -> Any:
        found = [function(piece) for function, piece in zip(functions, block.pieces, strict=True)]
        return np.concatenate([each.reshape(len(each), -1) for each in found], axis=1)

    takes_nan = any(each.takes_nan for each in maps)
    return RowMap(BesideSource([each.source for each in maps]), all_of, lambda: result_names(maps), takes_nan)


def result_names(maps: Maps) -> list[str]:
    """The names of all results, side by side. If two tables share a name, all names begin with that of their table."""
    each = [list(m.names()) for m in maps]
    if len(maps) > 1 and max(Counter(name for names in each for name in names).values()) > 1:
        tables = (m.source.table.removeprefix("the features of ").replace(" ", "") for m in maps)
        each = [[f"{table}_{name}" for name in names] for table, names in zip(tables, each, strict=True)]
    return [name for names in each for name in names]


def _beside_kept(names: Sequence[str], keep: Sequence[str], method: str) -> list[str]:
    """The names of the results beside kept columns: a result of the same name as a kept column gets an ending that says
    what it is."""
    found = [f"{name}_{_ENDINGS[method]}" if name in keep else name for name in names]
    counts = Counter([*keep, *found])
    clashing = [new for new, name in zip(found, names, strict=True) if new != name and counts[new] > 1]
    if clashing:
        raise columns_clash(clashing)
    return found


def _checked_names(keep: Any) -> tuple[str, ...]:
    """`keep` as a tuple of different names."""
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise bad_keep(keep)
    return names
