"""How the numbers of a row are stored in a data frame of Spark, and how batches of Arrow become rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from ... import errors
from ..._xp import dense, is_sparse
from ..array import ArraySource
from ..arrow import ArrowObject
from ..base import Source
from ..sparse import SparseSource
from ..stream import StreamSource
from .failures import in_plain_words
from .names import quoted

#: Vectors of Spark ML are made rows of an array in pieces of at most this size.
_PIECE_BYTES = 8 << 20
#: What a vector of Spark ML consists of.
_VECTOR = ("type", "size", "indices", "values")
#: The form of vectors is known from this many rows.
_LOOKED_AT = 20


@dataclass(frozen=True)
class Form:
    """How the numbers of a row are stored: in several columns of numbers, or in one column of arrays or vectors.

    Columns that go along are further columns of numbers, and are the last columns of the rows.

    Notes
    -----
    Spark makes batches of Arrow of the rows before it sends them to Python, entry by entry. It takes about half of the
    time for one column of arrays that it takes for many columns of numbers, and the entries of a row then lie side by
    side, where the summaries want them. So columns of numbers are sent as one array, if none of them could lose digits.
    """

    #: "numbers", "array" or "vector".
    kind: str
    columns: tuple[str, ...]
    #: The number of columns of the rows, and whether all are in single precision.
    width: int
    narrow: bool = False
    #: Whether columns of numbers are sent as one array.
    together: bool = False
    #: Whether arrays are the values of vectors, because all vectors are dense.
    of_vectors: bool = False
    #: The fraction of entries of vectors that are stored, if rows are CSR; otherwise None.
    stored: float | None = None
    #: The names of the columns that go along.
    carried: tuple[str, ...] = ()

    @property
    def dtype(self) -> Any:
        """The dtype of the rows."""
        return np.float32 if self.narrow else np.float64

    @property
    def names(self) -> list[str] | None:
        """The names of the columns of the rows."""
        return [*self.columns, *self.carried] if self.kind == "numbers" else None

    def selection(self, along: Sequence[Any] = ()) -> list[Any]:
        """What is sent of a data frame, as expressions of Spark: the columns that are the rows, and those that go along
        with them. They are numbered, and have their names again where they are opened: Spark does not send names with
        dots or backticks as they are."""
        from pyspark.sql import functions

        kind = "float" if self.narrow else "double"
        if self.together:
            # A single expression, because it takes about a millisecond to make one.
            entries = ", ".join(f"cast({quoted(name)} as {kind})" for name in self.columns)
            columns = [functions.expr(f"array({entries})")]
        elif self.kind == "vector" or self.of_vectors:
            parts = functions.unwrap_udt(functions.col(quoted(self.columns[0])))
            columns = [parts[field] for field in (["values"] if self.of_vectors else _VECTOR)]
        else:
            columns = [functions.col(quoted(name)) for name in self.columns]
        added = [column.cast(kind) for column in along]
        return [column.alias(f"c{i}") for i, column in enumerate([*columns, *added])]

    @property
    def total_width(self) -> int:
        """The number of columns with those that go along."""
        return self.width + len(self.carried)

    def open(self, batches: Iterator[Any]) -> Source:
        """The rows of batches of Arrow, which hold these columns; there is at least one batch."""
        if self.kind == "numbers" and not self.together:
            import pyarrow as pa

            named = (pa.RecordBatch.from_arrays(batch.columns, self.names) for batch in batches)
            first = next(named)
            return ArrowObject(pa.RecordBatchReader.from_batches(first.schema, chain([first], named))).open()
        pieces = (piece for batch in batches for piece in self._pieces(batch))
        return StreamSource(pieces, self._open_piece, fresh=True)

    def type_of_vectors(self) -> Any | None:
        """An expression of Spark that is 1 for rows which are dense vectors, and 0 for sparse ones. None if the rows
        are no vectors, or are known to be sparse."""
        from pyspark.sql import functions

        if self.kind != "vector" or self.stored is not None:
            return None
        return functions.unwrap_udt(functions.col(quoted(self.columns[0])))["type"]

    def all_dense(self) -> Form:
        """The form of rows all of which are dense vectors. They are sent as arrays: Spark takes twice as long to send
        the indices of vectors as well, even if none of them has any."""
        return replace(self, kind="array", of_vectors=True)

    def sample(self) -> Source:
        """Two made-up rows."""
        rows: Any = np.arange(2.0 * self.total_width).reshape(2, self.total_width).astype(self.dtype)
        return self._open_piece(rows if self.stored is None else sparse.csr_array(rows))

    def _open_piece(self, rows: Any) -> Source:
        source: Source = SparseSource(rows) if is_sparse(rows) else ArraySource(rows)
        source.names = self.names
        return source

    def _pieces(self, batch: Any) -> Iterator[Any]:
        """The rows of a batch that has arrays, or the fields of vectors, and maybe columns that go along."""
        columns = batch.columns
        n = len(_VECTOR) if self.kind == "vector" else 1
        rows = _vectors(columns[:n], self) if self.kind == "vector" else _lists(columns[0], self)
        along = [column.to_numpy(zero_copy_only=False) for column in columns[n:]]
        added = np.column_stack(along).astype(self.dtype) if along else None
        if self.stored is not None:
            both: Any = [rows, None if added is None else sparse.csr_array(added)]
            yield rows if added is None else sparse.hstack(both, format="csr")
            return
        # Rows that are sparse among dense ones could take much memory as an array.
        step = max(64, _PIECE_BYTES // (8 * self.total_width)) if is_sparse(rows) else batch.num_rows
        for i in range(0, batch.num_rows, step):
            piece = dense(rows[i : i + step])
            yield piece if added is None else np.hstack([piece, added[i : i + step]])


def form_of(frame: Any) -> Form:
    """The form of the rows of a data frame: all columns of numbers or, if it has none, its one column of arrays or
    vectors. The length of arrays and vectors is that of the first row; a few rows are read to find it."""
    from pyspark.sql import types

    fields = frame.schema.fields
    numbers = [field for field in fields if is_number(field.dataType)]
    in_one = [field for field in fields if is_list(field.dataType)]
    if numbers:
        kinds = [field.dataType for field in numbers]
        narrow = all(isinstance(kind, types.FloatType) for kind in kinds)
        # Whole numbers of 64 bits and decimals are looked at where they are converted.
        together = not any(isinstance(kind, types.LongType | types.DecimalType) for kind in kinds)
        return Form("numbers", tuple(field.name for field in numbers), len(numbers), narrow, together)
    if len(in_one) != 1:
        raise errors.no_spark_columns([f"{field.name} ({field.dataType.simpleString()})" for field in fields])
    name, kind = in_one[0].name, in_one[0].dataType
    with in_plain_words():
        found = [row[0] for row in frame.select(quoted(name)).limit(_LOOKED_AT).collect()]
    if not found:
        raise errors.empty(0, 0, (0, 0))
    if found[0] is None:
        raise errors.ragged_column(name, None)
    width = len(found[0])
    if isinstance(kind, types.ArrayType):
        return Form("array", (name,), width, isinstance(kind.elementType, types.FloatType))
    kept = [vector for vector in found if vector is not None]
    in_sparse = 2 * sum(hasattr(vector, "indices") for vector in kept) > len(kept)
    stored = max(float(np.mean([len(vector.values) for vector in kept])) / max(width, 1), 1e-9) if in_sparse else None
    return Form("vector", (name,), width, stored=stored)


def is_number(kind: Any) -> bool:
    """True for the types of numbers."""
    from pyspark.sql import types

    return isinstance(kind, types.NumericType | types.BooleanType)


def is_list(kind: Any) -> bool:
    """True for the types of arrays of numbers and of vectors."""
    from pyspark.sql import types

    return type(kind).__name__ == "VectorUDT" or (isinstance(kind, types.ArrayType) and is_number(kind.elementType))


def _lists(column: Any, form: Form) -> np.ndarray:
    """Rows that are lists of numbers; a list that is missing, or has another length, is an error. Numbers that are
    missing are NaN."""
    lengths = column.value_lengths()
    if column.null_count or set(lengths.unique().to_pylist()) != {form.width}:
        raise errors.ragged_column(form.columns[0], form.width)
    values = column.flatten().cast("float32" if form.narrow else "float64", safe=False)
    return values.to_numpy(zero_copy_only=False).reshape(-1, form.width)


def _vectors(fields: Sequence[Any], form: Form) -> Any:
    """Rows that are vectors of Spark ML, as an array if all of them are dense, otherwise CSR."""
    types, stored_sizes, stored_indices, values = fields
    if types.null_count:
        raise errors.ragged_column(form.columns[0], form.width)
    in_full = types.to_numpy(zero_copy_only=False).astype(bool)
    lengths = values.value_lengths().to_numpy(zero_copy_only=False)
    data = values.flatten().to_numpy(zero_copy_only=False)
    sizes = np.where(in_full, lengths, stored_sizes.fill_null(-1).to_numpy(zero_copy_only=False))
    if np.any(sizes != form.width):
        raise errors.ragged_column(form.columns[0], form.width)
    if in_full.all() and form.stored is None:
        return data.reshape(-1, form.width)
    edges = np.concatenate([[0], np.cumsum(lengths)])
    indices = np.empty(len(data), dtype=np.int64)
    # Only sparse vectors have stored indices, and they are in the order of the rows.
    of_full = np.repeat(in_full, lengths)
    indices[~of_full] = stored_indices.flatten().to_numpy(zero_copy_only=False)
    indices[of_full] = np.tile(np.arange(form.width), int(in_full.sum()))
    return sparse.csr_array((data, indices, edges), shape=(len(in_full), form.width))
