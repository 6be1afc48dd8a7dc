"""The table of a report: which of its columns are used, which are left out and why, labels and names of its rows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import Any, cast

import narwhals as nw
import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from .._core.arrays import dense, to_numpy
from .._core.threads import memory_bytes
from ..coding import MISSING
from ..errors import (
    duplicate_columns,
    names_difference,
    no_columns_left,
    not_numbers,
    not_one_for_each_row,
    unknown_column,
)
from ..inspect.diagnostics import categories, missing_labels
from ..models.base import Model
from ..models.ca import CA
from ..models.gcca import GCCA
from ..models.kernel_cca import KernelCCA
from ..reading.summarizing import check_weights
from ..sources.array import ArraySource
from ..sources.base import Source
from ..sources.categories import CategorySource, category_table
from ..sources.csv import is_number
from ..sources.derived import gather, with_known_length
from ..sources.frame import is_table
from ..sources.opening import (
    SourceTable,
    can_be_read_once,
    is_stream,
    named_table,
    open_source,
    open_target,
    row_labels,
)
from ..sources.scan import ColumnChoice, Contents, Scan, names_file, scan
from .blocks import brief, listed
from .categories import MixedRows, check_declared, why_no_category

#: Tables up to this size are held in memory as float64.
_HELD_BYTES = 1 << 30
#: What a vector of categories without a name is called.
_UNNAMED = "group"
#: A column of text with at most this many different entries can colour the rows; those with at most so many are taken
#: before the others, since so many groups can be told apart.
_MOST_LEVELS, _FEW_LEVELS = 50, 10


class OpenedTable:
    """The table of a report: what the user gave, opened.

    Parameters
    ----------
    X : rows
        Anything that `open_source` reads. Columns that are not numbers are left out; those with few different entries
        can colour the rows, and the first one whose entries are all different names them.
    columns, exclude : str or list of str, optional
        Names or patterns of the columns that are analysed, and of those that are not.
    hue : vector, str, or list of str, optional
        Categories of the rows: a vector, or columns of `X` by their names.
    labels : vector or str, optional
        The name of each row, or the name of a column of `X`.
    sample_weight : vector or str, optional
    y, Y : table, str, or list of str, optional
        Responses and a second table: tables with the same rows, or columns of `X` by their names.
    supplementary : rows, optional
        Rows with the same columns, which are shown but not fitted.
    supplementary_columns : str or list of str, optional
        Names or patterns of columns of `X` that are shown but not fitted.
    categorical_features : str or list of str, optional
        Columns of numbers that are categories.
    of_model : sequence of str
        The categories of a fitted model, which are analysed whatever they hold.
    min_frequency : int or float, optional
        Levels of fewer rows, or of a smaller share of the rows, are pooled.
    with_categories : bool
        Whether columns of text, of truth values and of categoricals are analysed. They are if one of them is not made
        of numbers.
    always : bool
        Whether the analysis is one of numbers and categories also if there are only numbers.
    """

    def __init__(
        self,
        X: Any,
        *,
        columns: Any = None,
        exclude: Any = None,
        hue: Any = None,
        labels: Any = None,
        sample_weight: Any = None,
        y: Any = None,
        Y: Any = None,
        supplementary: Any = None,
        supplementary_columns: Any = None,
        categorical_features: Any = None,
        of_model: Sequence[str] = (),
        min_frequency: float | int | None = None,
        with_categories: bool = False,
        always: bool = False,
    ) -> None:
        for what, given in (("X", X), ("y", y), ("Y", Y), ("supplementary", supplementary)):
            if is_table(given):
                names = Counter(str(name) for name in getattr(given, "column_names", given.columns))
                twice = [name for name, times in names.items() if times > 1]
                if twice:
                    raise duplicate_columns(what, twice, can_leave_out=False)
        #: What the table is called, such as the name of its file.
        self.label = _label_of(X)
        if with_categories and is_stream(X):
            X = _joined_frames(X)
        index = row_labels(X)
        if can_be_read_once(X):
            # Labels and names are read beside the rows, which must be there for more than one reading.
            X = gather(open_source(X), "for a report")
        table = category_table(X)[0] if with_categories and _holds_text(X) else named_table(X)
        if table is not None and not table.names:
            table = None
        choice = ColumnChoice.of(columns, exclude)
        if table is None and (choice != ColumnChoice() or supplementary_columns is not None):
            source = open_source(X)
            source.names = _numbered(source.shape[1])
            table = SourceTable(source)
        y, Y = _or_file(y, table), _or_file(Y, table)
        beside = None
        if supplementary_columns is not None:
            beside = ColumnChoice.of(supplementary_columns, None).named_among(cast(Contents, table))
        #: The names of the columns that are numbers, and the columns that are left out, each with the reason.
        named_elsewhere = (hue, labels, sample_weight, y, Y, beside)
        #: The rows of the numbers and the categories, if there are categories that are analysed; their names, and those
        #: of all columns that are supplementary in such an analysis.
        self.mixed: MixedRows | None = None
        self.categories: list[str] = []
        self.aside: list[str] = []
        declared = [categorical_features] if isinstance(categorical_features, str) else list(categorical_features or [])
        found = None
        if with_categories and table is not None:
            roles = (named_elsewhere, beside or [], declared, of_model)
            found = _mixed_columns(table, choice, *roles, min_frequency, always=always)
        elif declared:
            raise ValueError(
                f"categorical_features={declared!r} names columns, and the columns of X have no names; they are called "
                "x1, x2, ... if it is an array of objects."
            )
        if found is None or not (found.categories or always):
            source, self.names, self.left_out = _columns(X, table, choice, named_elsewhere)
            self.left_out |= {} if found is None else found.left_out
        else:
            source, self.names, self.left_out = found.source, found.numbers, found.left_out
            self.mixed, self.categories, self.aside = found.rows, found.categories, list(beside or [])
        #: The columns of the table that are named for another purpose, by the name of the argument.
        self.roles: dict[str, list[str]] = {}
        if table is not None:
            arguments = {"y": y, "Y": Y, "supplementary_columns": beside, "hue": hue, "labels": labels}
            arguments["sample_weight"] = sample_weight
            self.roles = {what: _names(given, table) for what, given in arguments.items() if given is not None}
        #: How the entries of a file were read, if not as they usually are.
        self.how_read = "" if table is None else table.how_read
        #: The number of all columns of the table.
        self.n_columns = len(self.names) if table is None else len(table.names)
        #: The rows of all columns that are numbers, which can be read again and may hold NaN, None if there are only
        #: categories; and whether they are in memory.
        if self.mixed is not None:
            self.rows, self.held = source, self.mixed.held
        else:
            self.rows, self.held = _readable(source)
        if self.held and self.rows is not None:
            self.rows.names = self.names
        n = self.mixed.n if self.mixed is not None else self.rows.shape[0]
        #: Columns whose entries are categories, which can colour the rows.
        self.groups = _groups(hue, table)
        named: Any = index if labels is None else _vector(labels, table, "labels")
        if self.held and table is not None:
            able: list[tuple[bool, str, np.ndarray]] = []
            for name in [*self.categories, *self.left_out]:
                rows = self.mixed
                in_rows = rows is not None and name in rows.categories
                entries = rows.labels_of(name) if rows is not None and in_rows else _entries(table.column(name))
                if name in self.categories:
                    entries = np.where(entries == None, MISSING, entries)  # noqa: E711 # of each entry
                try:
                    levels = len(set(entries.tolist()) - {None})
                except TypeError:
                    # Lists and the like are no categories.
                    continue
                if 2 <= levels <= min(_MOST_LEVELS, len(entries) // 2):
                    able.append((levels > _FEW_LEVELS, name, entries))
                elif self.left_out.get(name, "").startswith("its entries are dates"):
                    continue
                elif named is None and len(set(entries.tolist())) == len(entries):
                    named = entries
            for _, name, entries in sorted(able, key=lambda each: each[0]):
                self.groups.setdefault(name, entries)
        #: The name of each row, its number where it has none; None if no row has a name.
        self.labels = None if named is None else _labels(named, "labels")
        if self.labels is not None:
            for i in np.flatnonzero(missing_labels(self.labels)):
                self.labels[i] = f"row {i + 1}"
        self.weights = None if sample_weight is None else to_numpy(_vector(sample_weight, table, "sample_weight"))
        if n is not None:
            self.check_lengths(n)
        if self.weights is not None:
            check_weights(self.weights, self.rows if self.mixed is None else self.mixed.source)
            self.weights = self.weights.astype(np.float64)
        #: Responses, a second table, and columns and rows that are shown but not fitted.
        self.y = _second(y, table, "y", "the response")
        self.Y = _second(Y, table, "Y", "the second table")
        self.supplementary_columns, self.supplementary = None, None
        if self.mixed is None:
            self.supplementary_columns = _second(beside, table, "supplementary_columns", "the supplementary columns")
        if supplementary is not None and self.mixed is None:
            self.supplementary = _supplementary(supplementary, self.names, table is not None)
        #: Supplementary rows as they are, if there are categories.
        self.further = supplementary if self.mixed is not None else None

    def check_lengths(self, n: int) -> None:
        """Refuse vectors that do not have an entry for each of the n rows."""
        vectors = [("hue", values) for values in self.groups.values()]
        for what, vector in [*vectors, ("labels", self.labels), ("sample_weight", self.weights)]:
            if vector is not None and len(vector) != n:
                raise not_one_for_each_row(what, len(vector), n)


def _columns(
    X: Any, table: Any, choice: ColumnChoice, named: Sequence[Any]
) -> tuple[Source, list[str], dict[str, str]]:
    """The rows and the names of the columns that are numbers, except those that are `named` for another purpose; and
    the columns that are left out, each with the reason."""
    if table is None:
        source = open_source(X)
        return source, _numbered(source.shape[1]), {}
    special = [name for given in named for name in _names(given, table)]
    for name in special:
        if name not in table.names:
            raise unknown_column(table.label, name, list(table.names))
    asked = table.chosen or list(table.names)
    if choice != ColumnChoice():
        named_now = choice.named_among(table)
        asked = named_now if choice.columns is not None else [name for name in asked if name in named_now]
    chosen = [name for name in asked if name not in special]
    numeric = set(table.numeric)
    names = [name for name in chosen if name in numeric]
    if not chosen:
        raise no_columns_left(table.label, chosen, names)
    if not names:
        raise not_numbers(table.label, chosen, names, why=table.why_not_numbers(chosen))
    left_out = {}
    for name in chosen:
        if name not in numeric:
            nearly = table.nearly_numbers([name])
            nearly = nearly.replace(f"column {name!r} has", "it has", 1)
            why = f"not all of its entries are numbers: {nearly}" if nearly else "its entries are not numbers"
            left_out[name] = why
    return open_source(table.rows(names)), names, left_out


@dataclass(frozen=True)
class MixedColumns:
    """The columns of a table with categories: those that are analysed or supplementary, and the others."""

    #: The columns of numbers with their rows, and the categories that are analysed.
    numbers: list[str]
    source: Any
    categories: list[str]
    #: The columns that are left out, each with the reason.
    left_out: dict[str, str]
    rows: MixedRows


def _mixed_columns(
    table: Any,
    choice: ColumnChoice,
    named: Sequence[Any],
    aside: Sequence[str],
    declared: list[str],
    of_model: Sequence[str],
    min_frequency: float | int | None,
    always: bool,
) -> MixedColumns | None:
    """The columns of a table that has categories; None if all of its columns are numbers."""
    special = [name for given in named for name in _names(given, table)]
    for name in special:
        if name not in table.names:
            raise unknown_column(table.label, name, list(table.names))
    chosen = [name for name in _asked(table, choice) if name not in special]
    check_declared(declared, [*chosen, *aside])
    declared = [*declared, *(name for name in of_model if name in chosen)]
    numeric, kinds = set(table.numeric), {name: table.kind_of(name) for name in (*chosen, *aside)}
    if not always and not any(
        name in declared or (kind == "category" and name not in numeric) for name, kind in kinds.items()
    ):
        return None
    numbers, labels, left_out = [], [], {}
    for name, kind in kinds.items():
        if name in declared or kind == "category":
            labels.append(name)
        elif kind == "number":
            numbers.append(name)
        else:
            left_out[name] = "its entries are dates" if kind == "date" else "its entries are neither numbers nor text"
    nearly = [name for name in labels if name not in declared and name not in numeric and table.nearly_numbers([name])]
    try:
        rows = _rows_of(table, numbers, labels)
    except (TypeError, ValueError, NotImplementedError):
        # pyarrow raises these for columns with entries of several types, or of lists.
        unread = [name for name in labels if not _are_labels(table, name)]
        if not unread:
            raise
        left_out |= dict.fromkeys(unread, "its entries are of several types, or neither numbers nor text")
        labels = [name for name in labels if name not in unread]
        rows = _rows_of(table, numbers, labels)
    categories = []
    for name in labels:
        entries = rows.entries[name]
        why = ""
        if name in nearly and not all(map(is_number, entries.labels)):
            what = table.nearly_numbers([name]).replace(f"column {name!r} has", "it has", 1)
            why = f"not all of its entries are numbers: {what}"
        elif name not in declared:
            why = why_no_category(name, entries, min_frequency)
        if not why:
            categories.append(name)
        elif name in aside:
            raise ValueError(f"supplementary_columns: {name!r} cannot be analysed, since {why}.")
        else:
            left_out[name] = why
    source_of_numbers: Any = None
    if numbers:
        source_of_numbers = ArraySource(rows.array(numbers)) if rows.held else open_source(table.rows(numbers))
    return MixedColumns(numbers, source_of_numbers, categories, left_out, rows)


def _rows_of(table: Any, numbers: list[str], labels: list[str]) -> MixedRows:
    source = CategorySource(table.keeping(numbers, labels), labels, table.blanks)
    return MixedRows(source, _is_small(source))


def _are_labels(table: Any, name: str) -> bool:
    """Whether the entries of a column can be read as labels."""
    try:
        _rows_of(table, [], [name])
    except (TypeError, ValueError, NotImplementedError):
        return False
    return True


def _joined_frames(X: Any) -> Any:
    """Blocks that are data frames with text as one data frame; other blocks as they are."""
    blocks = iter(X() if callable(X) else X)
    first: Any = next(blocks, None)
    whole = chain([] if first is None else [first], blocks)
    if is_table(first):
        frame: Any = nw.from_native(cast(Any, first), eager_only=True)
        if not all(kind.is_numeric() for kind in frame.schema.values()):
            return nw.concat([nw.from_native(block, eager_only=True) for block in whole]).to_native()
    # What is used up by reading has lost its first block.
    return whole if hasattr(X, "__next__") else X


def _holds_text(X: Any) -> bool:
    """Whether an array, or a list of rows, may hold text."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "OUS"
    rows = isinstance(X, list) and bool(X) and isinstance(X[0], list | tuple)
    return rows and any(isinstance(entry, str) for entry in X[0])


def _asked(table: Any, choice: ColumnChoice) -> list[str]:
    """The columns that the user has chosen, whatever they hold."""
    asked = list(table.chosen or [name for name in table.names if name not in table.index])
    if choice == ColumnChoice():
        return asked
    named_now = choice.named_among(table)
    return named_now if choice.columns is not None else [name for name in asked if name in named_now]


def _numbered(p: int) -> list[str]:
    """What the columns of a table without names are called."""
    return [f"x{j + 1}" for j in range(p)]


def _label_of(X: Any) -> str:
    """What to call the table in sentences."""
    if isinstance(X, Scan):
        return _label_of(getattr(X.found, "where", "a table"))
    if isinstance(X, str | os.PathLike):
        return PurePath(os.fspath(X)).name
    if isinstance(X, list) and X and all(isinstance(part, str | os.PathLike) for part in X):
        return f"{_label_of(X[0])} and {len(X) - 1} more files" if len(X) > 1 else _label_of(X[0])
    return "a table"


def _names(given: Any, table: Any) -> list[str]:
    """The names of columns that an argument stands for; none if it is a vector or a table."""
    if table is None or isinstance(given, str):
        return [] if table is None else [given]
    listed = isinstance(given, list | tuple) and given and all(isinstance(name, str) for name in given)
    # Entries that occur twice are labels of rows, even if columns are called like them.
    return list(given) if listed and set(given) & set(table.names) and len(set(given)) == len(given) else []


def _or_file(given: Any, table: Any) -> Any:
    """A second table; text that names no column, but may be the path of a file, is that file."""
    named = table is not None and given in table.names if isinstance(given, str) else True
    return given if named or not names_file(given) else scan(given)


def _readable(source: Source) -> tuple[Source, bool]:
    """A source that can be read again, as float64 in memory if it is small; and whether it is in memory."""
    if not _is_small(source):
        return with_known_length(source, "for a report") if not source.traits.rereadable else source, False
    gathered = gather(source, "for a report")
    blocks = [np.asarray(to_numpy(dense(block)), dtype=np.float64) for block in gathered.blocks(1 << 20)]
    held = ArraySource(blocks[0] if len(blocks) == 1 else np.concatenate(blocks))
    held.names, held.table, held.origin = source.names, source.table, source
    return held, True


def _is_small(source: Source) -> bool:
    """Whether all rows of a source can be held in memory, as far as that is known."""
    n, p = source.shape
    limit = min(_HELD_BYTES, memory_bytes() // 8 or _HELD_BYTES)
    if n is not None:
        return 8 * n * p <= limit
    sizes = [os.path.getsize(path) * (4 if str(path).endswith(".gz") else 1) for path in source.files]
    return not source.traits.rereadable or not sizes or sum(sizes) <= limit


def _groups(hue: Any, table: Any) -> dict[str, np.ndarray]:
    """The categories of the rows by name."""
    if hue is None:
        return {}
    names = _names(hue, table)
    if names:
        return {name: _entries(table.column(name)) for name in names}
    return {str(getattr(hue, "name", None) or _UNNAMED): _labels(_vector(hue, table, "hue"), "hue")}


def _vector(given: Any, table: Any, what: str) -> Any:
    """A vector, which may be the name of a column."""
    if not isinstance(given, str):
        return given
    if table is None:
        raise ValueError(f"{what}={given!r} names a column, and the columns of X have no names; pass a vector.")
    return table.column(given)


def _labels(values: Any, what: str) -> np.ndarray:
    """A vector of categories or names; an error if its entries cannot be told apart."""
    shape = getattr(values, "shape", None)
    if shape is not None and len(shape) != 1:
        raise ValueError(f"{what} must be a vector, with one entry for each row; got shape {tuple(shape)}.")
    entries = _entries(values)
    for i, entry in enumerate(entries):
        if not isinstance(entry, Hashable):
            raise TypeError(f"{what} must hold text or numbers; entry {i} is of type {type(entry).__name__}.")
    return entries


def _entries(values: Any) -> np.ndarray:
    """A vector of anything, as objects of Python; None for text without a letter, such as an empty field of a file."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    listed = to_numpy(values).tolist() if hasattr(values, "shape") else list(values)
    out = np.empty(len(listed), dtype=object)
    out[:] = [None if isinstance(entry, str) and not entry.strip() else entry for entry in listed]
    return out


def _second(given: Any, table: Any, name: str, what: str) -> Source | None:
    """A second table, which may be columns of the first."""
    if given is None:
        return None
    names = _names(given, table)
    source = open_target(table.rows(names) if names else _vector(given, table, name), table=what)
    if names:
        source.names = names
    return _readable(source)[0]


def _supplementary(given: Any, names: Sequence[str], named: bool) -> Source:
    """Rows with the same columns as the table."""
    found = named_table(given) if named else None
    if found is not None:
        for name in names:
            if name not in found.names:
                raise unknown_column("supplementary", name, list(found.names))
        source = open_source(found.rows(names))
    else:
        source = open_source(given)
    if source.shape[1] != len(names):
        raise ValueError(
            f"supplementary has {source.shape[1]} columns, and X has {len(names)} that are numbers; pass rows with the "
            "same columns."
        )
    return _readable(source)[0]


# Labels of rows: categories that form groups, and numbers that can only colour the rows.


#: Of more categories than this, the most frequent ones are kept and the others become one.
MOST_LEVELS = 30


@dataclass(frozen=True)
class Grouping:
    """The groups of the rows by one column of labels."""

    name: str
    #: What the groups are called.
    levels: list[str]
    #: The group of each row; -1 if its label is missing.
    codes: np.ndarray
    #: How many less frequent categories the last group holds; 0 if each has a group.
    n_pooled: int = 0

    @property
    def title(self) -> str:
        """What sentences call the groups: "groups by sex", or just "groups" if the vector had no name."""
        return "groups" if self.name == _UNNAMED else f"groups by {brief(self.name)}"

    def of(self, levels: Sequence[str]) -> str:
        """What sentences call rows of some groups: "sex male", or just "male" if the vector had no name."""
        names = listed([brief(level) for level in levels], 3)
        return names if self.name == _UNNAMED else f"{brief(self.name)} {names}"


def groupings(labels: Mapping[str, np.ndarray]) -> list[Grouping]:
    """The columns of labels that form groups: all but those that `measures` returns.

    There are at most `MOST_LEVELS` groups, the last of which holds all the less frequent ones.
    """
    found = []
    for name, values in labels.items():
        levels, codes = categories(values)
        if len(levels) == 0 or _are_measured(levels):
            continue
        names, n_pooled = [str(level) for level in levels], 0
        if len(names) > MOST_LEVELS:
            counts = np.bincount(codes[codes >= 0], minlength=len(names))
            kept = np.sort(np.argsort(-counts, kind="stable")[: MOST_LEVELS - 1])
            place = np.full(len(counts) + 1, len(kept))
            place[kept], place[-1] = np.arange(len(kept)), -1
            n_pooled = len(counts) - len(kept)
            names, codes = [*(names[i] for i in kept), f"{n_pooled} others"], place[codes]
        found.append(Grouping(name, names, codes, n_pooled))
    return found


def measures(labels: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The columns of labels that are numbers with too many different values for groups, as float64; NaN if missing."""
    found = {}
    for name, values in labels.items():
        levels, codes = categories(values)
        if _are_measured(levels):
            found[name] = np.append(np.asarray(levels, dtype=np.float64), np.nan)[codes]
    return found


def _are_measured(levels: list) -> bool:
    numbers = all(isinstance(level, int | float | np.number) and not isinstance(level, bool) for level in levels)
    return len(levels) > MOST_LEVELS and numbers


# A model that the user passes: whether a report can be about it, and which columns of the table it was fitted to.


def check_model(model: Any) -> None:
    """Refuse what is no model, and models of several tables, which have no map of their own."""
    if model is None:
        return
    if not isinstance(model, Model):
        kind = f"{type(model).__module__}.{type(model).__name__}"
        raise TypeError(f"model must be a model of lowdim, such as lowdim.PCA(5), fitted or not; got {kind}.")
    if isinstance(model, CA):
        raise TypeError(
            "a report is about rows and columns, and CA is about a table of counts: its tables (lowdim inspect) and "
            "plots show it. Of the two columns of categories that were counted, MCA makes a report."
        )
    if isinstance(model, GCCA | KernelCCA):
        raise TypeError(
            f"a report is about one table, or about two of them, and {type(model).__name__} has its own kind of "
            "tables. Leave the model out; Y= compares a second table by CCA."
        )


def is_fitted(model: Any) -> bool:
    """Whether there is a model, and it is fitted."""
    return model is not None and bool(model.__sklearn_is_fitted__())


def columns_of(model: Any, names: Sequence[str]) -> np.ndarray:
    """The positions, among `names`, of the columns that the model was fitted to; an error if the table lacks one."""
    kind = type(model).__name__
    wanted = model._wanted()
    if wanted is not None:
        places = {name: j for j, name in enumerate(names)}
        if not set(wanted) <= set(places):
            got = [name for name in names if name in wanted]
            raise ValueError(
                f"this {kind} was fitted to columns that are not all numbers in the table: "
                f"{names_difference(wanted, got)}. Pass the table of the fit, or a model that is not fitted."
            )
        return np.array([places[name] for name in wanted], dtype=int)
    if model.n_features_in_ != len(names):
        raise ValueError(
            f"this {kind} was fitted to {model.n_features_in_} columns, and {len(names)} of the table are numbers. "
            "Pass the table of the fit, or a model that is not fitted."
        )
    return np.arange(len(names))


def fit_given(model: Any, rows: Source, response: Source | None, weights: np.ndarray | None) -> Any:
    """A copy of the model fitted to the rows; the model itself is not changed."""
    if not get_tags(model).target_tags.required:
        return clone(model).fit(rows, sample_weight=weights)
    if response is None:
        raise ValueError(
            f"{type(model).__name__} relates a second table to the rows: pass it as y or Y, or pass a model "
            "that is fitted."
        )
    return clone(model).fit(rows, response, sample_weight=weights)
