"""Data frames of pandas, polars and pyarrow, read through narwhals, and rows that are objects such as strings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from copy import copy
from dataclasses import replace
from typing import Any, TypeGuard

import narwhals as nw
import numpy as np

from .._core.arrays import is_known_array
from ..errors import (
    beyond_float,
    column_label,
    complex_data,
    duplicate_columns,
    empty,
    mixed_types,
    not_numeric,
    unknown_column,
)
from .array import SparseSource, converts_to_float, floats_of, refuse_complex_objects
from .base import Source, Traits

# Data frames of pandas, polars and pyarrow, read through narwhals.
#
# Columns of Python objects that are numbers are converted once, when the table is opened. So are categories that are
# numbers, as dictionary-encoded numbers in files are, and sparse columns of pandas, unless all columns are sparse and
# leave out zeros: then the table is read as a sparse matrix.


def open_table(X: Any) -> Source:
    """The source of a data frame."""
    dtypes = [] if isinstance(X, nw.DataFrame) else list(getattr(X, "dtypes", []))
    if not dtypes or not all(_is_sparse(t) and t.subtype.kind in "fiub" and t.fill_value == 0 for t in dtypes):
        return TableSource(X)
    source = SparseSource(X.sparse.to_coo())
    source.names = names_of_columns(X.columns)
    return source


def names_of_columns(columns: Sequence[Any]) -> list[str] | None:
    """The names of the columns of a data frame as text. Those of pandas may be numbers, such as wavelengths; if they
    only count the columns, 0, 1, 2, ..., they are no names."""
    given = list(columns)
    counts = not any(isinstance(name, str) for name in given) and given == list(range(len(given)))
    return None if counts else [str(name) for name in given]


class TableSource(Source):
    """Rows of a data frame, converted block by block. Missing entries become NaN.

    `blocks_keeping` gives the columns `keep`, of any type; `aside` are those of them that are not among the rows, by
    default all.
    """

    known_to_sklearn = True
    #: The columns that are carried along, as a pyarrow table.
    _kept: Any = None

    def __init__(self, X: Any, keep: Sequence[str] = (), aside: Sequence[str] | None = None) -> None:
        try:
            frame = X if isinstance(X, nw.DataFrame) else nw.from_native(X, eager_only=True)
        except nw.exceptions.DuplicateError:
            raise repeated_columns(X) from None
        n = len(frame)
        if keep:
            self._kept = _kept_columns(frame, list(keep))
            frame = frame.drop(*(keep if aside is None else aside), strict=False)
        p = len(frame.columns)
        if n == 0 or (p == 0 and not keep):
            width = p + len(set(keep) - set(frame.columns))
            raise empty(n, width, (n, width))
        self.names = names_of_columns(frame.columns)
        converted = []
        for j, (name, dtype) in enumerate(frame.schema.items()):
            if not (dtype.is_numeric() or dtype == nw.Boolean):
                numbers = self._numbers(j, frame[:, j], dtype)
                converted.append(nw.new_series(name, numbers, backend=frame.implementation))
        frame = frame.with_columns(*converted) if converted else frame
        booleans = [name for name, dtype in frame.schema.items() if dtype == nw.Boolean]
        # Nullable booleans are converted to floats, so that missing entries become NaN.
        self._frame = frame.with_columns(nw.col(*booleans).cast(nw.Float64)) if booleans else frame
        self.shape = (n, p)
        self.kind = "table"
        self.dtype = np.float32 if all(t == nw.Float32 for t in frame.schema.values()) else np.float64
        itemsize = int(np.dtype(self.dtype).itemsize)
        self.traits = Traits(n_bytes=n * p * itemsize, itemsize=itemsize)

    def _numbers(self, j: int, column: Any, dtype: Any) -> np.ndarray:
        """The numbers in a column of objects or of categories, or in a sparse column."""
        native = getattr(column.to_native(), "dtype", dtype)
        if "complex" in str(native):
            raise complex_data(f"{native} in {column_label(j, self.names)}")
        if _is_sparse(native) and native.subtype.kind in "fiub":
            values = column.to_numpy()
            return values if values.dtype == np.float32 else values.astype(np.float64)
        if dtype in (nw.Categorical, nw.Enum) and _has_numbers(column):
            column = _decoded(column)
        elif dtype != nw.Object:
            why = "could not convert string to float or the like"
            if dtype.is_temporal():
                why = "dates and times; subtract a start and divide by a unit to make numbers of them"
            raise ValueError(not_numeric(j, native, self.names, why))
        values = np.array(column.to_numpy(), dtype=object)
        values[column.is_null().to_numpy()] = np.nan
        refuse_complex_objects(values)
        try:
            return floats_of(values)
        except OverflowError as error:
            raise beyond_float(j, native, self.names) from error
        except (TypeError, ValueError) as error:
            raise type(error)(not_numeric(j, native, self.names, str(error))) from error

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        n, p = int(self.shape[0] or 0), self.shape[1]
        for i in range(0, n, rows):
            if p == 0:
                # All columns are carried along.
                yield np.empty((min(rows, n - i), 0), self.dtype)
                continue
            yield np.asarray(self._frame[i : min(i + rows, n)].to_numpy(), dtype=self.dtype)

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[np.ndarray, Any]]:
        if not names or self._kept is None:
            yield from super().blocks_keeping(rows, names)
            return
        kept, i = self._kept.select(list(names)), 0
        for block in self.blocks(rows):
            yield block, kept.slice(i, block.shape[0])
            i += block.shape[0]

    def between(self, i: int, j: int) -> Source:
        # The columns have been checked, which takes longer than reading a few rows.
        part = copy(self)
        part._frame, part.shape = self._frame[i:j], (j - i, self.shape[1])
        part._kept = None if self._kept is None else self._kept.slice(i, j - i)
        part.traits = replace(self.traits, n_bytes=(j - i) * self.shape[1] * self.traits.itemsize)
        return part

    def features(self) -> Source:
        return self._inherit(_ColumnSource(self._frame, self.dtype), transposed=True)


def _kept_columns(frame: Any, names: list[str]) -> Any:
    """Columns that are carried along, as a table of pyarrow. They are converted all at once, so that their types do not
    depend on the block. Those that are no columns may be levels of the index of pandas."""
    native = frame.to_native()
    levels = set(getattr(getattr(native, "index", None), "names", ())) - set(frame.columns)
    added = {name: native.index.get_level_values(name) for name in names if name in levels}
    whole = nw.from_native(native.assign(**added), eager_only=True) if added else frame
    for name in names:
        if name not in whole.columns:
            raise unknown_column("X", name, whole.columns)
    if whole.implementation.is_pandas_like():
        whole = nw.from_native(_with_text_for_intervals(whole.to_native(), names), eager_only=True)
    # pandas may add its index as a further column, and notes about it.
    try:
        return whole.select(*names).to_arrow().select(names).replace_schema_metadata(None)
    except Exception as error:
        for name in names:
            # Columns of Python objects are looked at one by one.
            if whole.schema[name] == nw.Object:
                try:
                    whole.select(name).to_arrow()
                except Exception:
                    raise mixed_types(name, whole[name].to_list()) from error
        raise


def _with_text_for_intervals(native: Any, names: Sequence[str]) -> Any:
    """A data frame of pandas with text in place of the intervals, and the like, that some categoricals have."""
    changed = {}
    for name in names:
        categories = getattr(getattr(native[name], "dtype", None), "categories", None)
        if categories is not None and str(categories.dtype).startswith(("interval", "period")):
            changed[name] = native[name].cat.rename_categories([str(category) for category in categories])
    return native.assign(**changed) if changed else native


def repeated_columns(X: Any) -> ValueError:
    """The error for a table with several columns of the same name."""
    names = [str(name) for name in (X.columns if hasattr(X, "dtypes") else X.column_names)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    return duplicate_columns("the table", twice, can_leave_out=False)


def _is_sparse(native: Any) -> bool:
    """Whether the dtype of a column is one of pandas' sparse dtypes."""
    return str(native).startswith("Sparse[") and hasattr(native, "subtype")


def _has_numbers(column: Any) -> bool:
    """Whether the categories of a column are numbers; those of polars are text."""
    if column.implementation.is_pandas_like():
        return getattr(column.to_native().dtype.categories.dtype, "kind", "O") in "fiub"
    kind = _decoded(column).dtype
    return bool(kind.is_numeric() or kind == nw.Boolean)


def _decoded(column: Any) -> Any:
    """A dictionary of pyarrow as a column of its values; pandas and polars decode by themselves."""
    if not column.implementation.is_pyarrow():
        return column
    native = column.to_native()
    return nw.from_native(native.cast(native.type.value_type), series_only=True)


class _ColumnSource(Source):
    """The columns of a data frame as rows."""

    def __init__(self, frame: Any, dtype: Any) -> None:
        self._frame = frame
        self.shape = (frame.shape[1], frame.shape[0])
        self.kind = "table"
        self.dtype = dtype
        self.traits = Traits(by_feature=False)

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        p = self._frame.shape[1]
        for j in range(0, p, rows):
            yield np.asarray(self._frame[:, j : min(j + rows, p)].to_numpy(), dtype=self.dtype).T


def kind_of_column(dtype: Any) -> Any:
    """What a column of a data frame holds, by its narwhals dtype; see `ColumnKind`."""
    if dtype.is_numeric():
        return "number"
    if dtype.is_temporal():
        return "date"
    return "category" if dtype in (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object) else "other"


#: What columns of Python objects hold, by the names that pandas has for it; the others are categories.
_OBJECTS = dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal"), "number") | dict.fromkeys(
    ("date", "datetime", "datetime64", "timedelta", "timedelta64", "time"), "date"
)


def kind_of_entries(column: Any) -> Any:
    """What a column of a data frame holds, by its type and, if this says little, by its entries; see `ColumnKind`."""
    kind = kind_of_column(column.dtype)
    if column.dtype == nw.Object:
        if not column.implementation.is_pandas():
            return "other"
        # The module, which is loaded if there is such a column.
        pandas = nw.dependencies.get_pandas()
        return _OBJECTS.get(pandas.api.types.infer_dtype(column.to_native(), skipna=True), kind)
    # Nothing is known of a column without entries; it may be of any type.
    return "category" if kind == "other" and len(column) and column.is_null().all() else kind


# What an object is, known without an import of its library.


def is_table(X: Any) -> bool:
    """True for data frames that narwhals supports."""
    return not is_known_array(X) and (isinstance(X, nw.DataFrame) or bool(nw.dependencies.is_into_dataframe(X)))


def is_column(X: Any) -> TypeGuard[Sized]:
    """True for a single column (a series)."""
    return not is_known_array(X) and bool(nw.dependencies.is_into_series(X))


def is_arrow_object(X: Any) -> bool:
    """True for objects with columns that speak Arrow, apart from data frames in memory."""
    if isinstance(X, type) or is_column(X):
        return False
    exports = hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")
    if type(X).__module__.startswith("pyarrow"):
        # Arrays have a type and no schema.
        return hasattr(X, "schema") and (exports or hasattr(X, "scanner"))
    return exports or bool(nw.dependencies.is_polars_lazyframe(X)) or type(X).__name__ == "DuckDBPyRelation"


def is_dask(X: Any) -> bool:
    """True for Dask arrays and data frames, including those of libraries that build on Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed") and hasattr(X, "_meta")


def is_delayed(X: Any) -> bool:
    """True for lazy Dask objects that are neither arrays nor data frames."""
    return hasattr(X, "__dask_graph__") and not is_dask(X) and not hasattr(X, "__array__")


def is_spark(X: Any) -> bool:
    """True for data frames of Spark, of classic sessions and of Spark Connect."""
    return type(X).__module__.startswith("pyspark.sql.") and hasattr(X, "mapInArrow")


def is_store_object(X: Any) -> bool:
    """True for an array of Zarr or a dataset of h5py."""
    library = type(X).__module__.partition(".")[0]
    return hasattr(X, "chunks") and (library == "h5py" or (library == "zarr" and hasattr(X, "store_path")))


# Rows that are strings, graphs or other objects, for kernels that are functions of two objects.


class ObjectSource(Source):
    """Rows of one or more objects each, for kernels that are functions of two rows."""

    def __init__(self, X: Any) -> None:
        if is_column(X):
            X = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=object)
        n = len(X)
        if not isinstance(X, np.ndarray):
            items, X = X, np.empty(n, dtype=object)
            # One by one: items that are sequences themselves are not unpacked.
            for i, item in enumerate(items):
                X[i] = item
        self._X = X
        if n == 0:
            raise empty(0, 1, (0,))
        self.shape = (n, 1 if self._X.ndim == 1 else self._X.shape[1])
        self.kind = "objects"
        self.dtype = np.float64
        self.traits = Traits(by_feature=False)

    def blocks(self, rows: int) -> Iterator[Any]:
        for i in range(0, len(self._X), rows):
            yield self._X[i : i + rows]

    def between(self, i: int, j: int) -> Source:
        return self._inherit(ObjectSource(self._X[i:j]))


def holds_objects(X: Any) -> bool:
    """True for sequences of strings or other objects that are not rows of numbers."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "US" or (X.dtype.kind == "O" and not converts_to_float(X))
    if is_column(X):
        return holds_objects(np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=object))
    if not isinstance(X, list | tuple) or not X or getattr(X[0], "ndim", 0) > 1:
        return False
    try:
        return np.asarray(X).dtype.kind in "USO"
    except ValueError:
        # Rows of different lengths.
        return True
