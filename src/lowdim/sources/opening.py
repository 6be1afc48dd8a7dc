"""`open_source`, which finds the right source for rows, and the table of kinds of input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property, partial
from operator import is_not
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np

from .._core.arrays import is_array, is_known_array, is_sparse
from .._core.devices import Destination
from .._core.types import CanCollect, HasArrow, HasBatches, HasShape
from ..errors import ENCODE_CLASSES, bad_ndim, cannot_keep, list_names, needs_second_reading, unknown_column
from .array import ArraySource, SparseSource
from .base import Source, when_called
from .beside import ColumnsSource
from .derived import entries_of
from .frame import (
    TableSource,
    is_arrow_object,
    is_column,
    is_dask,
    is_delayed,
    is_spark,
    is_store_object,
    is_table,
    kind_of_entries,
    open_table,
    repeated_columns,
)
from .on_device import OnDevice, open_to_device, rows_in_main_memory
from .scan import ColumnKind, Contents, Scan, is_path, names_file, require_columns, scan, with_columns
from .stream import StreamSource

# The columns of tables by their names, also of those that are no part of the rows.


#: Numbers that are written as text are looked for in so many entries of a column.
_LOOKED_AT = 10_000


class FrameTable(Contents):
    """A data frame in memory."""

    def __init__(self, frame: Any) -> None:
        try:
            self._frame = frame if isinstance(frame, nw.DataFrame) else nw.from_native(frame, eager_only=True)
        except nw.exceptions.DuplicateError:
            raise repeated_columns(frame) from None
        self.names, self.n = [str(name) for name in self._frame.columns], len(self._frame)
        if len(set(self.names)) < len(self.names):
            # The names of pandas may be numbers.
            raise repeated_columns(frame)

    @cached_property
    def _kinds(self) -> dict[str, Any]:
        return dict(zip(self.names, self._frame.schema.values(), strict=True))

    @property
    def numeric(self) -> list[str]:  # type: ignore[override]
        return [name for name, kind in self._kinds.items() if kind.is_numeric()]

    def rows(self, columns: Sequence[str]) -> Any:
        # By number, since names may be anything in pandas.
        return self._frame[:, [self.names.index(name) for name in columns]].to_native()

    def source(self, columns: Sequence[str]) -> Source:
        return open_table(self.rows(columns))

    def column(self, name: str) -> np.ndarray:
        return self._frame[:, self.names.index(name)].to_numpy()

    def keeping(self, columns: Sequence[str], names: Sequence[str]) -> Source:
        # A column may be one of the rows and be kept as well.
        both = list(dict.fromkeys([*columns, *names]))
        rows = self.rows(both)
        if hasattr(rows, "set_axis"):
            # The names of pandas may be numbers.
            rows = rows.set_axis(both, axis=1)
        return TableSource(rows, names, [name for name in names if name not in columns])

    def kind_of(self, name: str) -> ColumnKind:
        return kind_of_entries(self._frame[:, self.names.index(name)])

    def nearly_numbers(self, columns: Sequence[str]) -> str:
        # This loads what reads CSV files.
        from .csv import ONE_OF, OTHER_NUMBER, is_number

        found = []
        for name in columns:
            texts = [text for text in self.column(name)[:_LOOKED_AT] if isinstance(text, str) and text.strip()]
            others = sum(not (is_number(text) or OTHER_NUMBER.fullmatch(text)) for text in texts)
            if texts and ONE_OF * others <= len(texts):
                found.append(f"column {name!r} has the text {texts[0]!r}; convert it to numbers first")
        return "; ".join(found)

    def text_among(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self._kinds[name] == nw.String]

    def two_tables(self, x: Sequence[str], y: Sequence[str]) -> tuple[Any, Any]:
        return self.rows(x), self.rows(y)


class SourceTable(Contents):
    """A source whose columns have names, such as a stream of data frames."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.names = self.numeric = list(source.names or [])
        self.n = source.shape[0]

    def source(self, columns: Sequence[str]) -> Source:
        return ColumnsSource(self._source, [self.names.index(name) for name in columns])

    rows = source

    def column(self, name: str) -> np.ndarray:
        if not self._source.traits.rereadable:
            raise needs_second_reading(f"for the column {name!r}, which is read before the rows")
        return super().column(name)

    def two_tables(self, x: Sequence[str], y: Sequence[str]) -> tuple[Any, Any]:
        return self.source(x), self.source(y)


class ToDeviceTable:
    """The columns of a table that is copied to a device. Weights, labels and other single columns stay on the host."""

    def __init__(self, table: Contents, to: Destination) -> None:
        self._table, self._to = table, to

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def rows(self, names: Sequence[str]) -> Any:
        return OnDevice(self._table.rows(names), self._to)

    def pair(self, x: Sequence[str], y: Sequence[str] | str) -> tuple[Any, Any]:
        first, second = self._table.pair(x, y)
        if isinstance(first, ColumnsSource) and isinstance(second, ColumnsSource):
            # Both are columns of one source, which is read once.
            parent = open_to_device(first.parent, self._to)
            return first.of_other(parent), second.of_other(parent)
        return OnDevice(first, self._to), OnDevice(second, self._to)


# The kinds of input.


class SourceKind(NamedTuple):
    """A kind of input: how it is known, opened, and asked for columns by their names."""

    #: Whether X is of this kind.
    fits: Callable[[Any], bool]
    #: The source of the rows of X. None for what is first made into another kind of input by `becomes`.
    open: Callable[[Any], Source] | None = None
    #: The columns of X by their names, which need not be numbers; None if they have no names. By default they are those
    #: of the source.
    named: Callable[[Any], Any] | None = None
    #: The source of X as responses, where this is not just `open`.
    target: Callable[[Any], Source] | None = None
    #: See `open_keeping`; None if no columns can be carried along.
    keeping: Callable[..., Source] | None = None
    #: Whether X is used up when its rows are read. So is everything that has `__next__`.
    once: Callable[[Any], bool] = lambda X: False
    becomes: Callable[[Any], Any] | None = None


def _is_stream(X: Any) -> bool:
    """True for an iterable of blocks, or a callable that returns one."""
    if isinstance(X, list | tuple):
        first = X[0] if X else None
        return not is_delayed(first) and (
            getattr(first, "ndim", None) == 2 or is_table(first) or is_arrow_object(first)
        )
    # Whatever has keys is no sequence of blocks: it would give the keys.
    if isinstance(X, str | bytes) or hasattr(X, "keys") or is_delayed(X) or is_column(X):
        return False
    return callable(X) or hasattr(X, "__iter__")


def _open_list(X: Any) -> Source:
    """The source of a list of lists of numbers."""
    if len(X) > 0 and is_path(X[0]) and names_file(str(X[0])):
        raise ValueError(
            f"X is a list of text, such as {str(X[0])!r}, and not rows of numbers. If these are files, pass "
            "lowdim.scan(X)."
        )
    return ArraySource(np.asarray(X))


def _dask_target(y: Any) -> Source:
    vector = getattr(y, "ndim", 2) == 1
    if vector:
        y = y.to_frame() if hasattr(y, "to_frame") else y[:, None]
    source = _dask_source(y, open_source)
    source.vector = vector
    return source


def _keep_of_dask(X: Any, **how: Any) -> Source:
    if hasattr(X, "chunks"):
        raise cannot_keep("X", how["names"])
    return _dask_source(X, partial(open_keeping, **how))


def _keep_of_files(X: Scan, names: Sequence[str], wanted: Sequence[str] | None, beside: Sequence[str]) -> Source:
    contents = X.contents
    if not contents.has_names:
        raise cannot_keep(contents.label, names)
    # What is no column may be the path of another table.
    beside = [name for name in beside if name in contents.names or not names_file(name)]
    require_columns([*names, *beside], contents)
    X = (X if wanted is None else with_columns(X, wanted)).without(_aside(names, wanted, beside))
    if beside:
        chosen = X.chosen
        X = X.select([*chosen, *(name for name in beside if name not in chosen)])
    return X.open()


def _aside(names: Sequence[str], wanted: Sequence[str] | None, beside: Sequence[str]) -> list[str]:
    """Those of the columns `names`, which are carried along, that are no rows."""
    return [name for name in names if name not in (*(wanted or ()), *beside)]


# What reads these is imported when it is needed.
_arrow_object = when_called("arrow", "arrow_object")
_dask_source, _dask_table = when_called("dask", "DaskSource"), when_called("dask", "DaskTable")
_open_store_object = when_called("stores", "open_store_object")

#: The kinds of input. The first one that fits decides.
SOURCES: list[SourceKind] = [
    SourceKind(
        lambda X: isinstance(X, OnDevice),
        lambda X: open_to_device(open_source(rows_in_main_memory(X.rows)), X.to),
        lambda X: None if (table := named_table(X.rows)) is None else ToDeviceTable(table, X.to),
        target=lambda X: open_to_device(_open_column(rows_in_main_memory(X.rows)), X.to),
        keeping=lambda X, **how: open_to_device(open_keeping(X.rows, **how), X.to),
        once=lambda X: can_be_read_once(X.rows),
    ),
    SourceKind(lambda X: isinstance(X, np.ndarray), ArraySource),
    SourceKind(is_sparse, SparseSource),
    SourceKind(is_path, becomes=scan),
    SourceKind(
        lambda X: isinstance(X, Scan),
        Scan.open,
        Scan.named,
        target=lambda X: X.open(vectors=True),
        keeping=_keep_of_files,
    ),
    # A list of numbers, or of lists of numbers.
    SourceKind(
        lambda X: isinstance(X, list | tuple) and not _is_stream(X) and not (len(X) > 0 and is_delayed(X[0])),
        _open_list,
        target=lambda y: _open_column(np.asarray(y)),
    ),
    SourceKind(
        is_dask,
        lambda X: _dask_source(X, open_source),
        lambda X: _dask_table(X, open_source) if hasattr(X, "columns") else None,
        target=_dask_target,
        keeping=_keep_of_dask,
    ),
    SourceKind(is_spark, becomes=scan),
    SourceKind(is_array, ArraySource),
    SourceKind(is_table, open_table, FrameTable, keeping=lambda X, **how: TableSource(X, how["names"], _aside(**how))),
    SourceKind(
        is_arrow_object,
        lambda X: _arrow_object(X).open(),
        _arrow_object,
        keeping=lambda X, **how: _arrow_object(X).open(how["names"], _aside(**how)),
        once=when_called("arrow", "is_arrow_stream"),
    ),
    SourceKind(is_store_object, partial(_open_store_object, vectors=False), target=_open_store_object),
    SourceKind(lambda X: hasattr(X, "__array__") and not is_column(X) and not np.isscalar(X), becomes=np.asarray),
    SourceKind(
        _is_stream,
        lambda X: StreamSource(X, open_source),
        # Opening it may take its first block, so it is opened once.
        lambda X: SourceTable(open_source(X)),
        keeping=lambda X, **how: StreamSource(X, partial(open_keeping, **how)),
    ),
]


#: What can be opened, for type checkers: a table, its path, or blocks of rows, from an iterable or from a function that
#: returns one. Responses may also be the names of columns.
TableLike: TypeAlias = (
    HasShape
    | HasArrow
    | HasBatches
    | CanCollect
    | Scan
    | OnDevice
    | Iterable[Any]
    | Callable[[], Iterable[Any]]
    | str
    | PathLike[str]
)


def _kind_of(X: Any) -> SourceKind | None:
    """The first row of `SOURCES` that fits; None if there is none."""
    return next((kind for kind in SOURCES if kind.fits(X)), None)


def _resolved(X: Any) -> tuple[SourceKind | None, Any]:
    """The kind of `X`, and `X` itself or what it becomes."""
    kind = _kind_of(X)
    return (kind, X) if kind is None or kind.becomes is None else _resolved(kind.becomes(X))


def open_source(X: TableLike, wanted: Sequence[str] | None = None, *, names: Sequence[Any] | None = None) -> Source:
    """The source of the rows of `X`.

    `X` is a NumPy array or memory map, any array-API array (torch, CuPy), a SciPy sparse matrix, a pandas, polars or
    pyarrow table, a Dask array or data frame, a nested list of numbers, or an iterable of blocks of these (a callable
    that returns one can be read again and again). It may also be the path of a file or a directory, what `lowdim.scan`
    returns, or an object that speaks Arrow: a reader of record batches, a dataset, a lazy frame of polars, a relation
    of DuckDB, or whatever has `__arrow_c_stream__` or `__arrow_c_array__`.

    `wanted` are the names of the columns that a fitted model needs. Of files that have them, just these are read;
    everything else has to have them and no others.

    `names` gives names to columns that have none, such as the words of a sparse matrix of counts. Fitted models, their
    tables and their messages show them; pass new rows with their names, too.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.sources import open_source
    >>> source = open_source([np.zeros((3, 2)), np.ones((4, 2))])
    >>> source.shape, source.traits.rereadable
    ((7, 2), True)
    >>> [block.shape for block in source.blocks(2)]
    [(2, 2), (1, 2), (2, 2), (2, 2)]
    >>> from scipy import sparse
    >>> open_source(sparse.csr_array([[1, 0], [0, 2]]), names=["cat", "dog"]).names
    ['cat', 'dog']
    """
    if names is not None:
        return _named(open_source(X, wanted), names)
    if isinstance(X, Source):
        return X
    if type(X) is np.ndarray:
        # The most frequent kind of input.
        return ArraySource(X)
    kind, X = _resolved(X if wanted is None else with_columns(X, wanted))
    if kind is not None and kind.open is not None:
        return kind.open(X)
    if np.isscalar(X) and not isinstance(X, str | bytes):
        raise bad_ndim(0, ())
    if is_column(X):
        raise bad_ndim(1, (len(X),))
    X = X[0] if isinstance(X, list | tuple) else X
    if hasattr(X, "__dask_graph__"):
        raise TypeError(
            f"cannot read rows from {type(X).__name__}; of Dask's collections, arrays and data frames have rows: "
            "dask.array.from_delayed, or X.to_dataframe(), make one."
        )
    lazy = " A lazy table has to be read first: pass X.collect()." if hasattr(X, "collect") else ""
    keys = [str(key) for key in X.keys()] if hasattr(X, "keys") else []  # noqa: SIM118
    parts = f" It holds {list_names(keys)}: pass one of these, as in X[name]." if keys else ""
    raise TypeError(
        f"cannot read rows from {type(X).__name__}; pass a 2-D array, a sparse matrix, a data frame, a path of files, "
        f"or an iterable of blocks.{lazy}{parts}"
    )


def _named(source: Source, names: Sequence[Any]) -> Source:
    """A source with names for its columns, which have none yet: those of tables in files say what is read."""
    if source.names is not None:
        raise ValueError(
            f"names: the columns of {source.table} have names already: {list_names(list(source.names))}. Rename them "
            "there, or leave names out."
        )
    given, p = [str(name) for name in names], source.shape[1]
    if isinstance(names, str) or len(given) != p or len(set(given)) < p:
        raise ValueError(
            f"names must be {p} different names, one for each column of {source.table}; got {len(given)}, of which "
            f"{len(set(given))} are different."
        )
    found = copy(source)
    found.names = given
    return found


def open_keeping(
    X: Any, names: Sequence[str], wanted: Sequence[str] | None = None, beside: Sequence[str] = ()
) -> Source:
    """The source of the columns of `X` without `names`, which are of any type and are carried along: `blocks_keeping`
    of the source gives them.

    `X` is a data frame, a Dask data frame, an iterable of data frames, files with a table, or an object that speaks
    Arrow. Columns that are `wanted` (see `open_source`) are among the rows even if they are carried along as well.
    `beside` are further columns of the same table that the caller needs, whatever a scan of files has chosen.
    """
    kind, X = _resolved(X)
    if kind is None or kind.keeping is None:
        raise cannot_keep("X", names)
    return kind.keeping(X, names=names, wanted=wanted, beside=beside)


def can_be_opened(X: Any) -> bool:
    """Whether `open_source` knows a source for `X`."""
    return isinstance(X, Source) or _kind_of(X) is not None


def is_stream(X: Any) -> bool:
    """Whether `X` is an iterable of blocks, or a callable that returns one."""
    kind = None if isinstance(X, Source) else _kind_of(X)
    return kind is not None and kind.fits is _is_stream


def can_be_read_once(X: Any) -> bool:
    """Whether `X` is used up when its rows are read, and its first block when it is opened."""
    if hasattr(X, "__next__"):
        return True
    kind = None if isinstance(X, Source) else _kind_of(X)
    return kind is not None and kind.once(X)


def rows_are_ordered(X: Any) -> bool:
    """Whether the rows of `X` have an order; those of a data frame of Spark have none."""
    return X.contents.ordered if isinstance(X, Scan) else not is_spark(X)


def by_name(
    X: Any,
    y: Any = None,
    *,
    wanted: Sequence[str] | None = None,
    hold: bool = False,
    of_any_kind: bool = False,
    **vectors: Any,
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
    of_any_kind : bool
        Whether `X` may have columns that are not numbers. A named `y` is then left out, and None is returned for it.
    vectors : array, str, or anything else
        Weights and labels. A column that is named is read at once, by one pass over this column.

    Notes
    -----
    Without names, everything is returned as it is, and nothing is opened.
    """
    if y is None and not any(map(partial(is_not, None), vectors.values())):
        return X, y, *vectors.values()
    check_row_labels(X, **vectors)
    targets, named = names_in(y), {key: value for key, value in vectors.items() if isinstance(value, str)}
    if of_any_kind and is_stream(X):
        if not named:
            return X, None, *vectors.values()
        key, name = next(iter(named.items()))
        raise ValueError(
            f"{key}={name!r} is the name of a column, and columns of blocks with categories cannot be taken by name. "
            "Pass its entries, one for each row, or pass one data frame or a file as X."
        )
    table = named_table(X) if targets or named else None
    if table is None:
        return X, y, *vectors.values()
    is_file = isinstance(y, str) and y not in table.names and names_file(y)
    # Classes of the rows, as scikit-learn passes them to models that do not look at them, are no names either.
    if is_file or (not isinstance(y, str) and len(targets) == table.n and not set(targets) & set(table.names)):
        targets = []
    for name in (*targets, *named.values()):
        if name not in table.names:
            raise unknown_column(table.label, name, list(table.names))
    if len(set(targets)) < len(targets):
        twice = [name for name in dict.fromkeys(targets) if targets.count(name) > 1]
        raise ValueError(f"y names {list_names(twice)} more than once. Name each column once.")
    if not targets and not named:
        return X, y, *vectors.values()
    used = [*targets, *named.values()]
    if of_any_kind and table.scan is not None:
        X, y = (table.scan if wanted is None else with_columns(table.scan, wanted)).without(used), None
        return X, y, *(table.column(value) if key in named else value for key, value in vectors.items())
    rest = table.rest(used, wanted)
    if of_any_kind:
        X, y = table.rows(rest), None
    elif targets and not hold:
        X, y = table.pair(rest, y)
    else:
        X = table.rows(rest)
        if targets:
            y = table.column(y) if isinstance(y, str) else entries_of(open_source(table.rows(targets)))
    return X, y, *(table.column(value) if key in named else value for key, value in vectors.items())


def names_in(y: Any) -> list[str]:
    """The names of columns that `y` may stand for; empty if it is a table."""
    if isinstance(y, str):
        return [y]
    return list(y) if isinstance(y, list | tuple) and all(isinstance(name, str) for name in y) else []


def named_table(X: Any) -> Any:
    """The columns of `X` by their names; None if they have no names."""
    if isinstance(X, Source):
        return SourceTable(X)
    kind, X = _resolved(X)
    if kind is None or kind.open is None:
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
        source = _open_column(y if wanted is None else with_columns(y, wanted), in_blocks)
    except (TypeError, ValueError) as error:
        # The message names the table X; replace this by the name of this table.
        text = re.sub(r"\bX\b", table, str(error))
        raise type(error)(text if text.startswith(table) else f"{table}: {text}") from error
    source.table = table
    return source


def entries_of_target(y: Any, wanted: Sequence[str] | None = None) -> np.ndarray:
    """Responses as one array in main memory; those that would be copied to a device are taken from there."""
    return entries_of(open_target(y.rows if isinstance(y, OnDevice) else y, wanted=wanted))


def _open_column(y: Any, in_blocks: bool = False) -> Source:
    """As `open_source`, but a vector is read as one column. So are vectors that are the blocks of a stream."""
    if isinstance(y, Source):
        return y
    kind, y = _resolved(y)
    fresh = (callable(y) or hasattr(y, "__next__")) and kind is not None and kind.fits is _is_stream
    if in_blocks or fresh:
        return StreamSource(y, _open_column)
    if kind is not None and kind.target is not None:
        return kind.target(y)
    name = None
    vector = not is_known_array(y) and is_column(y)
    if vector:
        name = getattr(y, "name", None)
        y = np.asarray(y if hasattr(y, "__array__") else y.to_numpy())
    elif getattr(y, "ndim", None) != 1 or not is_array(y):
        return open_source(y)
    try:
        source = open_source(y[:, None])
    except (TypeError, ValueError) as error:
        entries = y.tolist() if isinstance(y, np.ndarray) and y.dtype.kind in "OSTU" else []
        text = next((entry for entry in entries if isinstance(entry, str | bytes)), None)
        if text is None:
            raise
        raise ValueError(
            f"y holds text, such as {text[:40]!r} (could not convert string to float). {ENCODE_CLASSES}"
        ) from error
    source.names, source.vector = None if name is None else [str(name)], True
    return source


# The labels of the rows of a table.


def row_labels(X: Any) -> Any:
    """The index of a table or column of pandas, as it is; None if it only counts the rows, and for everything else."""
    X = X.rows if isinstance(X, OnDevice) else X
    if is_known_array(X) or isinstance(X, Source | Scan) or not (is_table(X) or is_column(X)):
        return None
    index: Any = nw.maybe_get_index(nw.from_native(X, eager_only=True, allow_series=True))
    counts = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1 and index.name is None
    return None if counts else index


def check_row_labels(first: Any, name: str = "X", **others: Any) -> None:
    """Raise an error if another table or series of pandas has the row labels of the first one in another order.

    Rows belong together by their positions. They surely do not if both have the same labels, each once, in another
    order. Other differences say nothing: tables that were made in different ways often have different labels. A default
    index 0, 1, 2, ... counts as no labels, since it is also that of rows that were computed from labelled ones.
    """
    given = {other: value for other, value in others.items() if value is not None}
    labels = row_labels(first) if given else None
    if labels is None:
        return
    for other, value in given.items():
        theirs = row_labels(value)
        if theirs is None or theirs is labels or len(theirs) != len(labels) or theirs.equals(labels):
            continue
        if not labels.is_unique or not theirs.is_unique:
            continue
        places = labels.get_indexer(theirs)
        if bool((places >= 0).all()):
            # Positions are compared, since a label may be NaN or NA, which does not equal itself.
            place = next((i for i, found in enumerate(places.tolist()) if found != i), None)
            if place is not None:
                aligned = "B.loc[A.index]"
                if other.isidentifier() and name.isidentifier():
                    aligned = f"{other}.loc[{name}.index]"
                raise ValueError(
                    f"{name} and {other} have the same row labels in another order: row {place} is {labels[place]!r} "
                    f"in {name} and {theirs[place]!r} in {other}. Rows are matched by their positions: pass {aligned}, "
                    "or drop the labels with reset_index(drop=True) if the positions are right."
                )
