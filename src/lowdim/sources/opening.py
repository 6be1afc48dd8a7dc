"""`open_source`, which finds the right source for rows, and the table of kinds of input."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._core.arrays import is_array, is_sparse
from ..errors import bad_ndim, cannot_keep, list_names, list_of_paths, text_response
from .array import ArraySource, SparseSource
from .arrow import ArrowObject, is_arrow_object, is_arrow_stream
from .base import Engine, Source
from .contents import require_columns
from .dask import DASK, DaskSource, is_dask
from .derived import entries_of
from .frame import TableSource, is_column, is_table, open_table
from .in_process import IN_PROCESS
from .named import (
    ContentsTable,
    DaskTable,
    FrameTable,
    NamedTable,
    SentTable,
    SourceTable,
    check_row_labels,
    columns_by_name,
)
from .on_device import OnDevice, open_sent, rows_in_main_memory
from .scan import Scan, is_path, names_file, scan, scanned, with_columns
from .spark import SPARK, SparkContents, is_spark
from .stores import is_store_object, open_store_object
from .stream import StreamSource


def _is_stream(X: Any) -> bool:
    """True for an iterable of blocks, or a callable that returns one."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and not _is_delayed(X[0]) and (getattr(X[0], "ndim", None) == 2 or _has_columns(X[0]))
    # Whatever has keys is no sequence of blocks: it would give the keys.
    if isinstance(X, str | bytes) or hasattr(X, "keys") or _is_delayed(X) or is_column(X):
        return False
    return callable(X) or hasattr(X, "__iter__")


def _has_columns(X: Any) -> bool:
    """True for tables in memory and for everything that speaks Arrow."""
    return is_table(X) or is_arrow_object(X)


def _is_nested_list(X: Any) -> bool:
    """True for a list of numbers or of lists of numbers."""
    return isinstance(X, list | tuple) and not _is_stream(X) and not (len(X) > 0 and _is_delayed(X[0]))


def _open_list(X: Any) -> Source:
    """The source of a list of lists of numbers."""
    if len(X) > 0 and is_path(X[0]) and names_file(str(X[0])):
        raise list_of_paths(X[0])
    return ArraySource(np.asarray(X))


def _is_delayed(X: Any) -> bool:
    """True for lazy Dask objects that are neither arrays nor data frames."""
    return hasattr(X, "__dask_graph__") and not is_dask(X) and not hasattr(X, "__array__")


def _is_array_like(X: Any) -> bool:
    """True for objects that NumPy can convert to an array."""
    return hasattr(X, "__array__") and not is_column(X) and not np.isscalar(X)


def _open_opened_rows(X: Any) -> Source:
    source = open_store_object(X)
    source.require_two_axes()
    return source


def _open_arrow(X: Any) -> Source:
    return ArrowObject(X).open()


def _open_stream(X: Any) -> Source:
    return StreamSource(X, open_source)


def _named_dask(X: Any) -> NamedTable | None:
    return DaskTable(X, open_source) if hasattr(X, "columns") else None


def _open_on_device(X: OnDevice) -> Source:
    return open_sent(open_source(rows_in_main_memory(X.rows)), X.to)


def _named_on_device(X: OnDevice) -> NamedTable | None:
    table = named_table(X.rows)
    return None if table is None else SentTable(table, X.to)


class SourceKind(NamedTuple):
    """A kind of input: how it is known, opened, and asked for columns by their names."""

    #: Whether X is of this kind.
    fits: Callable[[Any], bool]
    #: The source of the rows of X.
    open: Callable[[Any], Source]
    #: The columns of X by their names, which need not be numbers; None if they have no names. By default they are those
    #: of the source.
    named: Callable[[Any], NamedTable | None] | None = None


#: The kinds of input. The first one that fits decides.
SOURCES: list[SourceKind] = [
    SourceKind(lambda X: isinstance(X, OnDevice), _open_on_device, _named_on_device),
    SourceKind(lambda X: isinstance(X, np.ndarray), ArraySource),
    SourceKind(is_sparse, SparseSource),
    SourceKind(is_path, lambda X: scan(X).open(), lambda X: named_table(scan(X))),
    SourceKind(lambda X: isinstance(X, Scan), lambda X: X.open(), lambda X: ContentsTable(X.contents, X)),
    SourceKind(_is_nested_list, _open_list),
    SourceKind(is_dask, lambda X: DaskSource(X, open_source), _named_dask),
    SourceKind(is_spark, lambda X: scan(X).open(), lambda X: named_table(scan(X))),
    SourceKind(is_array, ArraySource),
    SourceKind(is_table, open_table, FrameTable),
    SourceKind(is_arrow_object, _open_arrow, lambda X: ContentsTable(ArrowObject(X))),
    SourceKind(is_store_object, _open_opened_rows),
    SourceKind(_is_array_like, lambda X: open_source(np.asarray(X))),
    # Opening it may take its first block, so it is opened once.
    SourceKind(_is_stream, _open_stream, lambda X: SourceTable(open_source(X))),
]

#: The schedulers whose workers may hold rows, by name.
ENGINES: dict[str, Engine] = {engine.name: engine for engine in (IN_PROCESS, DASK, SPARK)}


def open_source(X: Any, wanted: Sequence[str] | None = None) -> Source:
    """The source of the rows of `X`.

    `X` is a NumPy array or memory map, any array-API array (torch, CuPy), a SciPy sparse matrix, a pandas, polars or
    pyarrow table, a Dask array or data frame, a nested list of numbers, or an iterable of blocks of these (a callable
    that returns one can be read again and again). It may also be the path of a file or a directory, what `lowdim.scan`
    returns, or an object that speaks Arrow: a reader of record batches, a dataset, a lazy frame of polars, a relation
    of DuckDB, or whatever has `__arrow_c_stream__` or `__arrow_c_array__`.

    `wanted` are the names of the columns that a fitted model needs. Of files that have them, just these are read;
    everything else has to have them and no others.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import open_source
    >>> source = open_source([np.zeros((3, 2)), np.ones((4, 2))])
    >>> source.shape, source.traits.rereadable
    ((7, 2), True)
    >>> [block.shape for block in source.blocks(2)]
    [(2, 2), (1, 2), (2, 2), (2, 2)]
    """
    if isinstance(X, Source):
        return X
    if wanted is not None:
        X = with_columns(X, wanted)
    opener = _opener(X)
    if opener is not None:
        return opener(X)
    if np.isscalar(X) and not isinstance(X, str | bytes):
        raise bad_ndim(0, ())
    if is_column(X):
        raise bad_ndim(1, (len(X),))
    raise _unknown(X[0] if isinstance(X, list | tuple) else X)


def open_keeping(
    X: Any, names: Sequence[str], wanted: Sequence[str] | None = None, beside: Sequence[str] = ()
) -> Source:
    """The source of the columns of `X` without `names`, which are of any type and are carried along: `blocks_keeping`
    of the source gives them.

    `X` is a data frame, a Dask data frame, an iterable of data frames, files with a table, or an object that speaks
    Arrow. Columns that are `wanted` (see `open_source`) are among the rows even if they are carried along as well.
    `beside` are further columns of the same table that the caller needs, whatever a scan of files has chosen.
    """
    if isinstance(X, OnDevice):
        return open_sent(open_keeping(X.rows, names, wanted, beside), X.to)
    aside = [name for name in names if name not in (*(wanted or ()), *beside)]
    X = scanned(X)
    if isinstance(X, Scan):
        return _open_files_keeping(X, names, aside, wanted, beside)
    if is_table(X):
        return TableSource(X, keep=names, aside=aside)
    if is_arrow_object(X):
        return ArrowObject(X).open(names, aside)
    open_block = partial(open_keeping, names=names, wanted=wanted, beside=beside)
    if is_dask(X) and not hasattr(X, "chunks"):
        return DaskSource(X, open_block)
    if not is_dask(X) and not is_array(X) and _is_stream(X):
        return StreamSource(X, open_block)
    raise cannot_keep("X", names)


def _open_files_keeping(
    files: Scan, names: Sequence[str], aside: Sequence[str], wanted: Sequence[str] | None, beside: Sequence[str]
) -> Source:
    """The source of files from which the columns `names` are carried along; `aside` are those that are no rows."""
    contents = files.contents
    if not contents.has_names:
        raise cannot_keep(contents.label, names)
    # What is no column may be the path of another table.
    beside = [name for name in beside if name in contents.names or not names_file(name)]
    require_columns([*names, *beside], contents)
    files = (files if wanted is None else with_columns(files, wanted)).without(aside)
    if beside:
        chosen = files.chosen
        files = files.select([*chosen, *(name for name in beside if name not in chosen)])
    return files.open()


def _opener(X: Any) -> Callable[[Any], Source] | None:
    """The function in `SOURCES` that opens `X`, or None if `X` passes none of the tests."""
    kind = _kind_of(X)
    return None if kind is None else kind.open


def _kind_of(X: Any) -> SourceKind | None:
    return next((kind for kind in SOURCES if kind.fits(X)), None)


def can_be_opened(X: Any) -> bool:
    """Whether `open_source` knows a source for `X`."""
    return isinstance(X, Source) or _kind_of(X) is not None


def can_be_read_once(X: Any) -> bool:
    """Whether `X` is used up when its rows are read, and its first block when it is opened."""
    if isinstance(X, OnDevice):
        return can_be_read_once(X.rows)
    if hasattr(X, "__next__"):
        return True
    kind = None if isinstance(X, Source) else _kind_of(X)
    return kind is not None and kind.open is _open_arrow and is_arrow_stream(X)


def rows_are_ordered(X: Any) -> bool:
    """Whether the rows of `X` have an order; those of a data frame of Spark have none."""
    X = X.contents if isinstance(X, Scan) else X
    return not is_spark(X) and not isinstance(X, SparkContents)


def by_name(
    X: Any, y: Any = None, *, wanted: Sequence[str] | None = None, hold: bool = False, **vectors: Any
) -> tuple[Any, ...]:
    """(X, y, and each of the vectors), with columns of `X` in place of their names.

    Parameters
    ----------
    X : rows
        If columns are named by the other arguments, the result holds the columns that are left.
    y : table, str, or list of str
        A name stands for a vector, a list of names for a table. A string that is not the name of a column may be the
        path of a file; it is then returned as it is.
    wanted : sequence of str, optional
        The columns that a fitted model expects; see `open_source`.
    hold : bool
        Whether a named `y` is read into memory at once. By default it is a source, and `X` and `y` together are read in
        one pass.
    vectors : array, str, or anything else
        Weights and labels. A column that is named is read at once, by one pass over this column.

    Notes
    -----
    Without names, everything is returned as it is, and nothing is opened.
    """
    read = (lambda rows: entries_of(open_source(rows))) if hold else None
    check_row_labels(X, **vectors)
    return columns_by_name(named_table, X, y, vectors, wanted=wanted, hold=read)


def named_table(X: Any) -> NamedTable | None:
    """The columns of `X` by their names; None if they have no names."""
    if isinstance(X, Source):
        return SourceTable(X)
    kind = _kind_of(X)
    if kind is None:
        return None
    if kind.named is None:
        source = kind.open(X)
        return None if source.names is None else SourceTable(source)
    table = kind.named(X)
    return None if table is None or not table.has_names else table


def open_target(y: Any, *, stream: bool = False, table: str = "y", wanted: Sequence[str] | None = None) -> Source:
    """The source of responses, or of any further table: as `open_source`, but a vector is one column.

    With `stream`, a list is a list of blocks, as it is for the first table.
    """
    in_blocks = stream and isinstance(y, list | tuple) and len(y) > 0 and hasattr(y[0], "__len__")
    try:
        y = y if wanted is None else with_columns(y, wanted)
        if in_blocks or ((callable(y) or hasattr(y, "__next__")) and _opener(y) is _open_stream):
            # The blocks may be vectors, too.
            source: Source = StreamSource(y, _open_column)
        else:
            source = _open_column(y)
    except (TypeError, ValueError) as error:
        # The message names the table X; replace this by the name of this table.
        text = re.sub(r"\bX\b", table, str(error))
        raise type(error)(text if text.startswith(table) else f"{table}: {text}") from error
    source.table = table
    return source


def hold_files(y: Any, wanted: Sequence[str] | None = None) -> Any:
    """Responses in files as an array, and those that would be sent to a device as they are on the host; anything else
    as it is."""
    if isinstance(y, OnDevice):
        return hold_files(y.rows, wanted)
    return entries_of(open_target(y, wanted=wanted)) if is_path(y) or isinstance(y, Scan) else y


def _open_column(y: Any) -> Source:
    """As `open_source`, but a vector is read as one column."""
    if isinstance(y, Source):
        return y
    if isinstance(y, OnDevice):
        return open_sent(_open_column(rows_in_main_memory(y.rows)), y.to)
    y = scanned(y)
    if isinstance(y, Scan):
        return y.open(vectors=True)
    if is_store_object(y):
        return open_store_object(y)
    if is_dask(y):
        vector = getattr(y, "ndim", 2) == 1
        if vector:
            y = y.to_frame() if hasattr(y, "to_frame") else y[:, None]
        source = open_source(y)
        source.vector = vector
        return source
    if is_column(y):
        name = getattr(y, "name", None)
        source = _open_vector(np.asarray(y if hasattr(y, "__array__") else y.to_numpy()))
        source.names = None if name is None else [str(name)]
        source.vector = True
        return source
    if isinstance(y, list | tuple) and not _is_stream(y):
        y = np.asarray(y)
    if getattr(y, "ndim", None) is None and hasattr(y, "__array__") and not _has_columns(y):
        y = np.asarray(y)
    vector = getattr(y, "ndim", None) == 1 and is_array(y)
    source = _open_vector(y) if vector else open_source(y)
    source.vector = vector
    return source


def _open_vector(y: Any) -> Source:
    """The source of a vector of responses, as one column."""
    try:
        return open_source(y[:, None])
    except (TypeError, ValueError) as error:
        entries = y.tolist() if isinstance(y, np.ndarray) and y.dtype.kind in "OSU" else []
        text = next((entry for entry in entries if isinstance(entry, str)), None)
        raise error if text is None else text_response(text) from error


def _unknown(X: Any) -> TypeError:
    """The error for an object that no source can read."""
    if hasattr(X, "__dask_graph__"):
        return TypeError(
            f"cannot read rows from {type(X).__name__}; of Dask's collections, arrays and data frames have rows: "
            "dask.array.from_delayed, or X.to_dataframe(), make one."
        )
    lazy = " A lazy table has to be read first: pass X.collect()." if hasattr(X, "collect") else ""
    keys = [str(key) for key in X.keys()] if hasattr(X, "keys") else []  # noqa: SIM118
    parts = f" It holds {list_names(keys)}: pass one of these, as in X[name]." if keys else ""
    return TypeError(
        f"cannot read rows from {type(X).__name__}; pass a 2-D array, a sparse matrix, a data frame, a path of files, "
        f"or an iterable of blocks.{lazy}{parts}"
    )
