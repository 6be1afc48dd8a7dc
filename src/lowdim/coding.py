"""Coding of categories: each level becomes a column of zeros and ones."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from ._core.coded import NO_LEVEL, Categories, Coded
from ._core.schema import Flag, ListOf, Maybe, Numbers, Text
from .errors import CategoryWarning, list_names, warn_user
from .summaries.levels import Levels

#: The names of the level of missing entries, and of the level that rare ones are pooled in.
MISSING, RARE = "(missing)", "(rare)"
#: A category is taken for an identifier if it has at least so many levels, and more than this share of the rows.
_IDENTIFIER_FROM, _IDENTIFIER_SHARE = 20, 0.8

_TEXTS = ListOf(Text())


@dataclass(frozen=True, eq=False)
class Coding:
    """Maps blocks of numbers and categories to numbers and columns of zeros and ones, one for each level.

    A row whose level is not known, because its label is new, has `without` in the columns of the category; by default
    these are zeros. Missing entries of the numbers `filled` are replaced: by the mean of the number or, if a
    `covariance` is known, by the conditional mean, given the categories of the row and the numbers that are observed
    in it.

    Examples
    --------
    >>> from lowdim.coding import Coding
    >>> coding = Coding(["age"], ["sex"], [["f", "m"]], [{}])
    >>> coding.names
    ['age', 'sex=f', 'sex=m']
    """

    #: The names of the columns of numbers, and of the categories.
    numbers: list[str] = field(metadata={"kind": _TEXTS})
    categories: list[str] = field(metadata={"kind": _TEXTS})
    #: The levels of each category, in their order.
    levels: list[list[str]] = field(metadata={"kind": ListOf(_TEXTS)})
    #: For each category, the labels that are pooled in the level `RARE`.
    rare: list[list[str]] = field(metadata={"kind": ListOf(_TEXTS)})
    #: The entries of the columns of a category in rows without one of its levels.
    without: np.ndarray | None = field(default=None, metadata={"kind": Maybe(Numbers("*", host=True))})
    #: Whether a label that is none of the levels is an error.
    strict: bool = field(default=False, metadata={"kind": Flag()})
    #: The numbers whose missing entries are replaced, and the means of all numbers.
    filled: list[str] = field(default_factory=list, metadata={"kind": _TEXTS})
    means: np.ndarray | None = field(default=None, metadata={"kind": Maybe(Numbers("*", host=True))})
    #: What each level adds to the means of the numbers, and the covariance of the numbers given the levels.
    shifts: np.ndarray | None = field(default=None, metadata={"kind": Maybe(Numbers("*", "*", host=True))})
    covariance: np.ndarray | None = field(
        default=None, metadata={"kind": Maybe(Numbers("*", "*", host=True, symmetric=True))}
    )

    @property
    def widths(self) -> list[int]:
        """The number of levels of each category."""
        return [len(levels) for levels in self.levels]

    @property
    def width(self) -> int:
        """The number of coded columns."""
        return len(self.numbers) + sum(self.widths)

    @property
    def names(self) -> list[str]:
        """The names of the coded columns."""
        each = zip(self.categories, self.levels, strict=True)
        return [*self.numbers, *(f"{category}={level}" for category, levels in each for level in levels)]

    @property
    def columns(self) -> dict[str, slice]:
        """The coded columns of each column of the table."""
        of_numbers = {name: slice(j, j + 1) for j, name in enumerate(self.numbers)}
        edges = pairwise(accumulate(self.widths, initial=len(self.numbers)))
        return of_numbers | {name: slice(i, j) for name, (i, j) in zip(self.categories, edges, strict=True)}

    def __call__(self, block: Categories) -> Coded:
        codes = np.empty((block.shape[0], len(self.levels)), dtype=np.int32, order="F")
        for j, lookup in enumerate(self.lookups):
            if self.strict and (new := [label for label in block.labels[j] if label not in lookup]):
                raise ValueError(
                    f"column {self.categories[j]!r} has the new levels {list_names(new)}. All levels have to be known "
                    "before the first rows are added: name them in levels=."
                )
            # The last place is that of the code -1.
            of_labels = [lookup.get(label, NO_LEVEL) for label in block.labels[j]]
            table = np.array([*of_labels, lookup.get(MISSING, NO_LEVEL)], dtype=np.int32)
            codes[:, j] = table[block.codes[j]]
        return Coded(self._with_numbers(block.numbers, codes), codes, self.widths, self.without)

    def _with_numbers(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Numbers with the missing entries replaced that are to be."""
        if not self.filled or not numbers.size or not np.isnan(numbers.sum()):
            return numbers
        missing = np.isnan(numbers) & np.isin(self.numbers, self.filled)
        rows = np.flatnonzero(missing.any(axis=1))
        if len(rows):
            numbers = numbers.copy()
            numbers[rows] = np.where(missing[rows], self.expected(numbers[rows], codes[rows]), numbers[rows])
        return numbers

    def expected(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """For rows of numbers and of the codes of their levels, the means of the numbers, where those that are missing
        have their conditional means given the others: mean_m + S_mo S_oo^-1 (x_o - mean_o), with S the covariance."""
        assert self.means is not None, "known if missing entries are replaced"
        mean = np.tile(self.means, (len(numbers), 1))
        if self.shifts is not None:
            for j, start in zip(range(len(self.widths)), accumulate(self.widths, initial=0), strict=False):
                known = np.flatnonzero(codes[:, j] >= 0)
                mean[known] += self.shifts[start + codes[known, j]]
        if self.covariance is None:
            return mean
        S = self.covariance
        varies = np.diagonal(S) > 0.0
        missing = np.isnan(numbers)
        patterns, of_row = np.unique(missing, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            known, unknown = np.flatnonzero(~pattern & varies), np.flatnonzero(pattern & varies)
            if len(known) and len(unknown):
                rows = np.flatnonzero(of_row.ravel() == i)
                slopes = np.linalg.solve(S[np.ix_(known, known)], S[np.ix_(known, unknown)])
                mean[np.ix_(rows, unknown)] += (numbers[np.ix_(rows, known)] - mean[np.ix_(rows, known)]) @ slopes
        return mean

    @cached_property
    def lookups(self) -> list[dict[str, int]]:
        """For each category, the number of the level of each label."""
        found = []
        for levels, rare in zip(self.levels, self.rare, strict=True):
            places = {level: i for i, level in enumerate(levels)}
            found.append(places | {label: places[RARE] for label in rare})
        return found

    def unknown(self, found: Levels) -> dict[str, list[str]]:
        """The labels of each category that are not among its levels."""
        new = {}
        for j, (name, lookup) in enumerate(zip(self.categories, self.lookups, strict=True)):
            seen = zip(found.labels[j], found.weights[j], strict=True)
            new[name] = [label for label, weight in seen if weight > 0 and label not in lookup]
        return {name: labels for name, labels in new.items() if labels}


def coding_of(
    names: Sequence[str],
    found: Levels,
    *,
    given: Mapping[str, Sequence[Any]] | None = None,
    min_frequency: float | int | None = None,
    with_missing: bool = True,
) -> Coding:
    """The coding of numbers with these names, and of categories with the levels that were found.

    Parameters
    ----------
    names : sequence of str
        The names of the columns of numbers.
    found : Levels
    given : mapping of str to sequences, optional
        The levels of some categories, in their order. Others that occur in the rows are left out.
    min_frequency : int or float, optional
        Levels of fewer rows, or of a smaller share of the rows, are pooled.
    with_missing : bool
        Whether missing entries are a level. Otherwise rows with a missing entry have none of the levels.
    """
    levels, rare = [], []
    for j, name in enumerate(found.columns):
        if given is not None and name in given:
            own, pooled = [str(level) for level in given[name]], list[str]()
        else:
            _refuse_identifier(name, found, j)
            own, pooled = _levels_of(found, j, min_frequency)
        if with_missing and found.missing(j) > 1e-9 * found.weight and MISSING not in own:
            own.append(MISSING)
        if not own:
            raise ValueError(f"column {name!r} has no entry: all are missing. Leave it out.")
        levels.append(own)
        rare.append(pooled)
    return Coding(list(names), list(found.columns), levels, rare)


def _levels_of(found: Levels, j: int, min_frequency: float | int | None) -> tuple[list[str], list[str]]:
    """The levels of a category in their order, and the labels that are pooled."""
    weights = dict(zip(found.labels[j], found.weights[j], strict=True))
    labels = [label for label in found.labels[j] if weights[label] > 0]
    labels = labels if found.ordered[j] else in_order(labels)
    if min_frequency is None:
        return labels, []
    share = isinstance(min_frequency, numbers.Real) and not isinstance(min_frequency, numbers.Integral)
    least = float(min_frequency) * (float(sum(weights.values())) if share else 1.0)
    pooled = [label for label in labels if weights[label] < least]
    if len(pooled) < 2:
        return labels, []
    return [*(label for label in labels if label not in pooled and label != RARE), RARE], pooled


def in_order(labels: Sequence[str]) -> list[str]:
    """Labels in the order of their numbers if all are numbers, and in that of their characters otherwise.

    Examples
    --------
    >>> from lowdim.coding import in_order
    >>> in_order(["10", "9"]), in_order(["b", "a", "10"])
    (['9', '10'], ['10', 'a', 'b'])
    """
    try:
        return sorted(labels, key=lambda label: (float(label), label))
    except ValueError:
        return sorted(labels)


def _refuse_identifier(name: str, found: Levels, j: int) -> None:
    """Raise an error for a category that nearly every row has a level of its own in."""
    n_levels, n_rows = int(np.count_nonzero(found.weights[j])), found.n_rows
    if n_levels >= _IDENTIFIER_FROM and n_levels > _IDENTIFIER_SHARE * n_rows:
        numeric = all(_is_number(label) for label in found.labels[j])
        raise ValueError(
            f"column {name!r} looks like an identifier: {n_levels} different entries in {n_rows} rows, such as "
            f"{list_names(found.labels[j][:3])}. Leave it out; it says nothing about the other columns."
            f"{' If it holds measurements, use FAMD, in which they are numbers.' if numeric else ''}"
        )


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def look_alikes(found: Levels) -> None:
    """Warn of levels that differ only by blanks, or by capital and small letters."""
    pairs = []
    for name, labels in zip(found.columns, found.labels, strict=True):
        same: dict[str, str] = {}
        for label in labels:
            other = same.setdefault(" ".join(label.split()).casefold(), label)
            if other != label:
                pairs.append(f"{other!r} and {label!r} of {name!r}")
    if pairs:
        warn_user(
            f"levels that differ only by blanks or by capital letters are different levels: {'; '.join(pairs[:5])}"
            f"{f' and {len(pairs) - 5} more' if len(pairs) > 5 else ''}. If they mean the same, make them the same "
            "text first.",
            CategoryWarning,
        )


def check_min_frequency(value: Any) -> None:
    """Refuse a frequency that is neither a count nor a share."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= 1
    share = isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral) and 0.0 < float(value) < 1.0
    if value is not None and not (whole or share):
        raise ValueError(
            f"min_frequency={value!r} must be a number of rows of at least 1, a share of the rows between 0 and 1, or "
            "None."
        )
