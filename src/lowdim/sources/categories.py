"""Tables that have categories beside numbers: which columns are what, and blocks of rows with codes for the categories.

A column of text, of booleans or of dictionaries (categoricals) is a category. Its entries are labels, which are text
whatever they were in the table, so that 1 in a data frame and "1" in a file are the same level.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from datetime import datetime, time
from functools import partial
from typing import Any

import numpy as np

from .._core.arrays import Array, is_array, is_sparse, to_numpy
from .._core.coded import NO_LEVEL, Categories, Coded
from ..errors import (
    bad_ndim,
    complex_data,
    empty,
    mixed_types,
    needs_second_reading,
    no_category,
    not_categories,
    other_names,
    unknown_column,
)
from ..table import numbered
from .arrow import pyarrow
from .base import DerivedSource, Source
from .frame import is_column, is_spark, is_table, names_of_columns
from .opening import FrameTable, is_stream, named_table
from .scan import Contents, scan
from .stream import StreamSource


def category_table(X: Any) -> tuple[Contents, bool]:
    """The columns of a table that may have categories, and whether they have names of their own.

    Columns of an array, or of a list of rows, are called x1, x2, ...; each is a column of numbers or of text.
    """
    if isinstance(X, Contents):
        return X, True
    # Without pyarrow there are no columns of any type.
    pyarrow("reading categories")
    if is_sparse(X):
        raise TypeError("a sparse matrix has no categories; pass the table itself, before it was coded.")
    if hasattr(X, "__array__") and not (is_array(X) or is_column(X) or is_table(X) or hasattr(X, "columns")):
        X = np.asarray(X)
    if not is_column(X) and (is_array(X) or (isinstance(X, list | tuple) and _is_rows(X))):
        return FrameTable(_frame_of(X)), False
    if is_table(X) and hasattr(X, "set_axis") and names_of_columns(X.columns) is None:
        # The names in pandas only count the columns.
        return FrameTable(X.set_axis(numbered("x", X.shape[1]), axis=1)), False
    # By default, the rows of a data frame of Spark are its columns of numbers.
    X = scan(X, "*") if is_spark(X) else X
    table = FrameBlocks(X) if is_stream(X) else named_table(X)
    if table is None:
        raise not_categories(X)
    return table, True


def check_text(table: Contents, categories: Sequence[str], named: Sequence[str] | str | None) -> None:
    """Raise an error if nearly all entries of a category are numbers, unless it was named as one.

    In files, such a column is text because of an entry such as "?" or "1,5". Text in memory is what the user made it.
    """
    asked = [name for name in categories if name != named and name not in (named or ())]
    if isinstance(table, FrameTable) or not (why := table.nearly_numbers(asked)):
        return
    raise ValueError(
        f"{table.label} has columns of text in which nearly all entries are numbers: {why}. Correct these entries, "
        "leave the columns out, or name them in categorical_features= if each entry is a level."
    )


def without_columns(table: Contents, names: Sequence[str]) -> Contents:
    """A table in which some columns are no part of the rows."""
    for name in names:
        if name not in table.names:
            raise unknown_column(table.label, name, list(table.names))
    rest = copy(table)
    rest.index = [*table.index, *names]
    return rest


class FrameBlocks(FrameTable):
    """The columns of data frames that are blocks of one table. The first of them says what the columns hold."""

    def __init__(self, blocks: Any) -> None:
        if hasattr(blocks, "__next__"):
            raise needs_second_reading("for the categories, whose levels are found first; pass a list of the blocks")
        self._blocks = blocks
        first = next(iter(blocks() if callable(blocks) else blocks), None)
        if not is_table(first):
            raise not_categories(first)
        super().__init__(first)
        self.n = None

    def column(self, name: str) -> np.ndarray:
        blocks = self._blocks() if callable(self._blocks) else self._blocks
        return np.concatenate([FrameTable(block).column(name) for block in blocks])

    def keeping(self, columns: Sequence[str], names: Sequence[str]) -> Source:
        return StreamSource(self._blocks, partial(_opened_block, columns=list(columns), names=list(names)))


def _opened_block(block: Any, columns: list[str], names: list[str]) -> Source:
    """A block of a stream, which may have its columns in another order, and others beside them."""
    if not is_table(block):
        raise not_categories(block)
    table = FrameTable(block)
    if set(columns) | set(names) <= set(table.names):
        return table.keeping(columns, names)
    raise other_names(None, list(table.names), [*columns, *names], "it")


def _is_rows(X: Any) -> bool:
    """Whether a list is one of rows, and not one of files or of blocks."""
    return bool(X) and isinstance(X[0], list | tuple | np.ndarray) and np.ndim(X[0]) == 1


def _frame_of(X: Any) -> Any:
    """An array, or a list of rows, as a table of pyarrow with the columns x1, x2, ..."""
    import pyarrow as pa

    rows = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else to_numpy(X)
    if rows.ndim != 2:
        raise bad_ndim(rows.ndim, rows.shape)
    if rows.dtype.kind == "c":
        raise complex_data(rows.dtype)
    if 0 in rows.shape:
        raise empty(rows.shape[0], rows.shape[1], rows.shape)
    names = numbered("x", rows.shape[1])
    return pa.table({name: _arrow_column(rows[:, j], name) for j, name in enumerate(names)})


def _arrow_column(values: np.ndarray, name: str) -> Any:
    """A column of an array as an array of pyarrow."""
    import pyarrow as pa

    if values.dtype.kind == "O":
        # Numbers of NumPy and of Python are one kind of entries.
        values = np.array([v.item() if isinstance(v, np.generic) else v for v in values], dtype=object)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise mixed_types(name, values) from error


# Blocks of rows with codes.


class CategorySource(DerivedSource):
    """Rows of numbers and of categories, which come as blocks of `Categories`.

    Parameters
    ----------
    parent : Source
        The rows of the numbers, which carry the categories along.
    categories : list of str
        The names of the categories.
    blanks : frozenset of str
        Labels that stand for a missing entry.
    """

    def __init__(self, parent: Source, categories: list[str], blanks: frozenset[str] = frozenset()) -> None:
        n, width = parent.shape[0], parent.shape[1] + len(categories)
        n_bytes = 8 * width * (n or 0)
        whole = parent.traits.in_memory and parent.can_be_cut
        cut = not whole and parent.traits.host and len(parent.parts(2)) > 1 and not parent.traits.remote
        how: Any = {"by_feature": False, "sparse": False, "stored": 1.0, "views": False, "costly": True, "itemsize": 8}
        sizes = {"n_bytes": n_bytes if whole else 0, "part_bytes": n_bytes if cut else 0}
        super().__init__(parent, categories, blanks, **how, **sizes)
        self._categories, self._blanks = categories, blanks
        self.shape = (n, width)
        numeric = numbered("x", parent.shape[1]) if parent.names is None else list(parent.names)
        self.names = [*numeric, *categories]
        self.kind, self.dtype = "categories", np.float64

    @property
    def n_numbers(self) -> int:
        """The number of columns of numbers."""
        return self.parent.shape[1]

    @property
    def categories(self) -> list[str]:
        """The names of the categories."""
        return self._categories

    def blocks(self, rows: int) -> Iterator[Any]:
        return (block for block, _ in self.blocks_keeping(rows, ()))

    def blocks_keeping(self, rows: int, names: Sequence[str]) -> Iterator[tuple[Any, Any]]:
        for numbers, kept in self.parent.blocks_keeping(rows, list(dict.fromkeys([*self._categories, *names]))):
            entries = [encoded(kept.column(name), name, self._blanks) for name in self._categories]
            codes, labels, ordered = zip(*entries, strict=True) if entries else ((), (), ())
            block = Categories(np.asarray(numbers, dtype=np.float64), codes, labels, ordered)
            yield block, kept.select(list(names)) if names else None

    def between(self, i: int, j: int) -> Source:
        return self.of_other(self.parent.between(i, j))

    @property
    def first_block(self) -> Source:
        first = self.parent.first_block
        return self if first is self.parent else self.of_other(first)

    def identity(self) -> dict[str, Any]:
        return {"categories": self._categories, "of": self.parent.identity()}

    def empty(self, *shape: int) -> Array:
        return np.empty(shape)


def encoded(column: Any, name: str, blanks: frozenset[str]) -> tuple[np.ndarray, list[str], bool]:
    """The codes of a column of Arrow, the labels that they stand for, and whether these have an order of their own."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), NO_LEVEL, dtype=np.int32), [], False
    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(held):
        raise no_category(name, "lists" if hasattr(held, "value_type") else "dictionaries")
    if not pa.types.is_dictionary(kind):
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_decimal(kind):
            column = column.cast("string")
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], kind).dictionary_encode()
    # Those of polars have no sign.
    codes = whole.indices.cast("int64").fill_null(NO_LEVEL).to_numpy(zero_copy_only=False).astype(np.int32)
    labels = [label_of(value) for value in whole.dictionary.to_pylist()]
    ordered = pa.types.is_dictionary(kind) and bool(kind.ordered)
    if any(label is None or label in blanks for label in labels) or len(set(labels)) < len(labels):
        return *_without_blanks(codes, labels, blanks), ordered
    return codes, labels, ordered  # type: ignore[return-value] # none of them is None


def _without_blanks(codes: np.ndarray, labels: list[Any], blanks: frozenset[str]) -> tuple[np.ndarray, list[str]]:
    """Codes and labels without those that stand for a missing entry, and with each label once."""
    kept: dict[str, int] = {}
    new = [NO_LEVEL if label is None or label in blanks else kept.setdefault(label, len(kept)) for label in labels]
    lookup = np.array([*new, NO_LEVEL], dtype=np.int32)
    return lookup[codes], list(kept)


def label_of(value: Any) -> str | None:
    """An entry as text; None if it is missing: null, NaN, or empty text. Whole numbers have no decimals, and dates
    without a time have none."""
    if value is None or value != value:
        return None
    if isinstance(value, datetime) and value.time() == time():
        return str(value.date())
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = str(value)
    return text if text.strip() else None


def is_category(kind: Any) -> bool:
    """Whether a type of Arrow is one of categories: text, truth values, or a dictionary."""
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_string_view, types.is_boolean, types.is_dictionary)
    return any(test(kind) for test in tests)


#: So many different whole numbers may be the numbers of classes; two are the same as a category with two levels.
_MOST_CLASSES, _FEWEST_CLASSES = 10, 3
#: Words in the names of columns whose whole numbers are rather names than amounts.
_CODE_WORDS = re.compile(
    "zip|zipcode|post|postal|postcode|plz|year|ids?|codes?|class|classes|category|cat|type|group|cluster|region|"
    "district|ward"
)


def looks_like_codes(name: str, values: Any) -> str:
    """Why numbers may be codes, that is names of classes, in words; empty if nothing says so.

    Parameters
    ----------
    name : str
        The name of the column.
    values : array of numbers
        Entries of the column, or its different values. NaN is ignored.

    Returns
    -------
    str
        Such as "its values are 1, 2, ..., 5", for 3 to 10 whole numbers that follow one another from 0 or 1, or "its
        name has the word 'zip'", for whole numbers.

    Examples
    --------
    >>> from lowdim.sources.categories import looks_like_codes
    >>> looks_like_codes("pclass", [3, 1, 2, 2])
    'its values are 1, 2, 3'
    >>> looks_like_codes("zipCode", [8001, 8953])
    "its name has the word 'zip'"
    >>> looks_like_codes("height", [172, 181]), looks_like_codes("code", [0.5, 1])
    ('', '')
    """
    found = np.unique(np.asarray(values, dtype=np.float64))
    found = found[~np.isnan(found)]
    if not len(found) or not np.all(np.isfinite(found)) or np.any(found != np.floor(found)):
        return ""
    n = len(found)
    if _FEWEST_CLASSES <= n <= _MOST_CLASSES and found[0] in (0, 1) and found[-1] - found[0] == n - 1:
        listed = [f"{value:.0f}" for value in found]
        return f"its values are {', '.join(listed if n < 4 else [*listed[:2], '...', listed[-1]])}"
    words = re.findall("[A-Z]?[a-z]+|[A-Z]+", name)
    word = next((word.lower() for word in words if _CODE_WORDS.fullmatch(word.lower())), None)
    return "" if word is None else f"its name has the word {word!r}"


class CodedSource(DerivedSource):
    """The rows of a `CategorySource`, coded by a function from blocks of `Categories` to `Coded` blocks or arrays."""

    def __init__(self, parent: Source, coding: Callable[[Categories], Coded | Array]) -> None:
        names = list(coding.names)  # type: ignore[attr-defined] # a `Coding`, which is a layer above
        # Only codes are kept in memory, not zeros and ones.
        super().__init__(parent, coding, stored=parent.shape[1] / len(names))
        self._coding, self.names = coding, names
        self.shape = (parent.shape[0], len(self.names))
        self.kind = "coded categories"

    def blocks(self, rows: int) -> Iterator[Any]:
        return map(self._coding, self.parent.blocks(rows))

    def between(self, i: int, j: int) -> Source:
        return self.of_other(self.parent.between(i, j))

    @property
    def first_block(self) -> Source:
        first = self.parent.first_block
        return self if first is self.parent else self.of_other(first)

    def identity(self) -> dict[str, Any]:
        return {"coded": list(self.names or []), "of": self.parent.identity()}

    def empty(self, *shape: int) -> Array:
        return np.empty(shape)
