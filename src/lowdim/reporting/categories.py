"""The categories of a table beside its numbers: which columns are categories, which are left out, and their rows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.coded import NO_LEVEL
from ..errors import list_names
from ..sources.categories import CategorySource
from .blocks import brief, count, listed

#: Of tables that are not in memory, so many rows tell what the categories hold.
_LOOKED_AT = 200_000
#: A column of text identifies rows if its entries are all different, and there are at least so many.
_IDENTIFIED = 5
#: A column of text with at least so many levels is no category if a level has fewer rows than this on average.
_FEWEST_LEVELS, _ROWS_OF_A_LEVEL = 20, 3
#: A column with more levels than this is not analysed, unless rare ones are pooled.
MOST_LEVELS = 100
#: Text is free text if it has at least so many letters on average, or so many words, and many levels.
_LETTERS, _WORDS = 40, 5
#: A column holds dates if this share of its levels look like dates.
_DATES = 0.9
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_DATE = re.compile(
    r"\s*(\d{1,4}([-/.])\d{1,2}\2\d{1,4}"
    rf"|\d{{1,2}}[ .-]*({_MONTHS})[a-z]*[ .,-]*\d{{2,4}}|({_MONTHS})[a-z]* \d{{1,2}},? \d{{2,4}})"
    r"([T ]+\d{1,2}:.*)?\s*"
    r"|\s*\d{1,2}:\d{2}(:\d{2})?\s*",
    re.IGNORECASE,
)
#: Words in the names of columns whose whole numbers are often codes.
_CODES = re.compile(
    "class|pclass|type|kind|code|group|grp|cat|category|cluster|segment|region|district|county|state|country|zip|"
    "zipcode|postcode|postal|plz|area|branch|shop|store|department|dept|brand|gender|sex|race|religion|marital|month|"
    "weekday|day|status|level|grade|year|yr"
)
#: Words in the names of columns that identify what the rows belong to.
_KEYS = re.compile("ids?|uuid|guid|key|nr|number")
#: Those of years.
_YEARS = re.compile("year|yr|jahr|annee")


@dataclass(frozen=True)
class Entries:
    """What a column of labels holds."""

    #: The labels, sorted, and the number of rows of each.
    labels: list[str]
    counts: np.ndarray
    #: The number of rows that were looked at, and of those without an entry.
    n: int
    missing: int

    @property
    def known(self) -> int:
        """The number of rows with an entry."""
        return self.n - self.missing


class MixedRows:
    """The rows of the numbers and of the categories of a table, which can be read again.

    Parameters
    ----------
    source : CategorySource
        Rows of numbers and of labels.
    held : bool
        Whether all rows are kept in memory.

    Attributes
    ----------
    entries : dict of str to Entries
        What each category holds: in all rows, or in the first ones if the rows are not in memory.
    """

    def __init__(self, source: CategorySource, held: bool) -> None:
        self.source, self.held = source, held
        self.categories = list(source.categories)
        self.numbers = list((source.names or ())[: source.n_numbers])
        source = source if held else source.first_block  # type: ignore[assignment] # of the same kind
        self._X, self._codes, self._labels, self._ordered = _joined(source, _LOOKED_AT)
        self.n = len(self._X) if held else None
        self.entries = {
            name: _entries_of(codes, labels)
            for name, codes, labels in zip(self.categories, self._codes, self._labels, strict=True)
        }
        if not held:
            self._X, self._codes = self._X[:0], []

    def count(self) -> int:
        """The number of rows; one pass if it is not known."""
        known = self.source.shape[0] if self.n is None else self.n
        return sum(block.shape[0] for block in self.source.blocks(_LOOKED_AT)) if known is None else known

    def array(self, names: Sequence[str]) -> np.ndarray:
        """The entries of some of the numbers, if all rows are in memory."""
        return self._X[:, [self.numbers.index(name) for name in names]]

    def codes_of(self, name: str) -> np.ndarray:
        """The numbers of the levels of a category in all rows, -1 where there is none, if all rows are in memory."""
        return self._codes[self.categories.index(name)]

    def labels_of(self, name: str) -> np.ndarray:
        """The entries of a category as text, None where there is none, if all rows are in memory."""
        j = self.categories.index(name)
        return np.array([*self._labels[j], None], dtype=object)[self._codes[j]]

    def table(self, numbers: Sequence[str], categories: Sequence[str], means: Mapping[str, float]) -> Any:
        """Some of the columns, as a table of Arrow if all rows are in memory, and otherwise as a function that returns
        an iterator of blocks. Missing numbers are the `means`, as far as these are given."""
        if not self.held:
            return lambda: self._blocks(numbers, categories, means)
        X, places = self.array(numbers), [self.categories.index(name) for name in categories]
        codes = [self._codes[j] for j in places]
        labels, ordered = [self._labels[j] for j in places], [self._ordered[j] for j in places]
        return _arrow_table(numbers, X, categories, codes, labels, ordered, means)

    def _blocks(self, numbers: Sequence[str], categories: Sequence[str], means: Mapping[str, float]) -> Iterator[Any]:
        columns = [self.numbers.index(name) for name in numbers]
        places = [self.categories.index(name) for name in categories]
        for block in self.source.blocks(_LOOKED_AT):
            codes, labels = [block.codes[j] for j in places], [block.labels[j] for j in places]
            ordered = [block.ordered[j] for j in places]
            yield _arrow_table(numbers, block.numbers[:, columns], categories, codes, labels, ordered, means)


def _joined(source: Any, rows: int) -> tuple[np.ndarray, list[np.ndarray], list[list[str]], list[bool]]:
    """All rows of a source of categories: the numbers, and the codes of each category with its labels."""
    parts, width = [], len(source.categories)
    places: list[dict[str, int]] = [{} for _ in range(width)]
    codes: list[list[np.ndarray]] = [[] for _ in range(width)]
    ordered = [False] * width
    for block in source.blocks(rows):
        # The memory of a block is used again.
        parts.append(np.array(block.numbers, dtype=np.float64))
        for j in range(width):
            new = [places[j].setdefault(label, len(places[j])) for label in block.labels[j]]
            codes[j].append(np.array([*new, NO_LEVEL], dtype=np.int32)[block.codes[j]])
            ordered[j] = bool(block.ordered[j])
    joined = [np.concatenate(of_one) if of_one else np.zeros(0, dtype=np.int32) for of_one in codes]
    return np.concatenate(parts), joined, [list(place) for place in places], ordered


def _entries_of(codes: np.ndarray, labels: list[str]) -> Entries:
    counts = np.bincount(codes + 1, minlength=len(labels) + 1)
    there = [(label, int(n)) for label, n in zip(labels, counts[1:], strict=True) if n]
    there.sort()
    return Entries([label for label, _ in there], np.array([n for _, n in there]), len(codes), int(counts[0]))


def _arrow_table(
    numbers: Sequence[str],
    X: np.ndarray,
    categories: Sequence[str],
    codes: Sequence[np.ndarray],
    labels: Sequence[Sequence[str]],
    ordered: Sequence[bool],
    means: Mapping[str, float],
) -> Any:
    """A table of Arrow, in which categories are dictionaries."""
    import pyarrow as pa

    columns = {}
    for j, name in enumerate(numbers):
        columns[name] = pa.array(np.where(np.isnan(X[:, j]), means.get(name, np.nan), X[:, j]))
    for name, each, texts, in_order in zip(categories, codes, labels, ordered, strict=True):
        indices = pa.array(each, mask=each == NO_LEVEL)
        columns[name] = pa.DictionaryArray.from_arrays(indices, pa.array(list(texts), pa.string()), ordered=in_order)
    return pa.table(columns)


# Which columns are categories that can be analysed, and why others are not.


def why_no_category(name: str, found: Entries, min_frequency: float | int | None) -> str:
    """Why a column of text is not analysed; empty if it can be.

    Parameters
    ----------
    name : str
    found : Entries
    min_frequency : int, float or None
        Levels of fewer rows, or of a smaller share of the rows, are pooled.
    """
    n_levels = len(found.labels)
    if n_levels == 0:
        return "all its entries are missing"
    if n_levels == 1 and not found.missing:
        return f"all its entries are {brief(found.labels[0])!r}"
    if n_levels > 2 and np.mean([_DATE.fullmatch(label) is not None for label in found.labels[:1000]]) >= _DATES:
        return "its entries are dates or times"
    if n_levels == found.known >= _IDENTIFIED and n_levels < _FEWEST_LEVELS:
        return f"it identifies the rows: all its {n_levels:,} entries are different"
    if n_levels < _FEWEST_LEVELS:
        return ""
    lengths = [len(label) for label in found.labels]
    words = [len(label.split()) for label in found.labels]
    often = found.known / n_levels
    if (np.mean(lengths) >= _LETTERS or np.mean(words) >= _WORDS) and often < 2 * _ROWS_OF_A_LEVEL:
        return "its entries are free text"
    if n_levels == found.known:
        return f"it identifies the rows: all its {n_levels:,} entries are different"
    if often < _ROWS_OF_A_LEVEL:
        return f"it nearly identifies the rows: it has {n_levels:,} levels in {count(found.known, 'row')} with an entry"
    if any(_KEYS.fullmatch(word) for word in words_of(name)):
        return f"by its name and its {n_levels:,} levels, it identifies what the rows belong to"
    kept = n_levels
    if min_frequency is not None:
        least = min_frequency * (found.n if isinstance(min_frequency, float) else 1)
        kept = int((found.counts >= least).sum()) + 1
    if kept > MOST_LEVELS:
        return (
            f"it has {kept:,} levels, and columns of more than {MOST_LEVELS} are not analysed (min_frequency, or "
            "--min-frequency, pools rare ones)"
        )
    return ""


def words_of(name: str) -> list[str]:
    """The words in the name of a column: those of "shopId" are "shop" and "id"."""
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", str(name))]


def looks_like_codes(name: str, low: float, high: float, few: bool) -> bool:
    """Whether a column of whole numbers from `low` to `high`, of which there are a `few`, may hold codes.

    Its name says so, or it holds numbers from 1 to at most 10 (0 and 1 are the same as a number or as a category).
    """
    words = words_of(name)
    if any(_YEARS.fullmatch(word) for word in words):
        return low >= 1000 and high <= 2500
    named = any(_CODES.fullmatch(word) for word in words)
    return (named and low >= 0) or (few and low == 1 and 3 <= high <= 10)


def asked_about(names: Sequence[str], examples: Mapping[str, str]) -> Iterable[str]:
    """The question about columns of whole numbers that may be codes."""
    if not names:
        return
    one = len(names) == 1
    options = " ".join(f"--categorical {shlex.quote(name)}" for name in names[:5])
    said = [f"{brief(name)} ({examples[name]})" for name in names]
    yield (
        f"{'Is' if one else 'Are'} {listed(said)} {'a code' if one else 'codes'}? "
        f"{'It holds' if one else 'They hold'} whole numbers and "
        f"{'is' if one else 'are'} analysed as {'a number' if one else 'numbers'}, with an order and distances. If "
        f"{'its' if one else 'their'} numbers are just names, declare {'it' if one else 'them'}: "
        f"categorical_features={list(names[:5])!r}, or {options}."
    )


def check_declared(names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names of categories that are no columns."""
    if unknown := [name for name in names if name not in known]:
        raise ValueError(
            f"categorical_features: there is no column {list_names(unknown)}; the columns are "
            f"{list_names(list(known), 20)}."
        )
