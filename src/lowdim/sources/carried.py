"""Numbers or labels that go along with rows which have no order: a column of the same table in place of an array."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._xp import Array, count_true, namespace
from .base import Source


@dataclass(frozen=True)
class LabelCounts:
    """The labels of a column, in ascending order, and the rows of each."""

    values: list[Any]
    #: The number of rows, and of those of positive weight.
    rows: np.ndarray
    counted: np.ndarray
    #: The sum of their weights.
    weights: np.ndarray


class CarriedColumn(ABC):
    """A column of the table that holds the rows, where a table with an order would have an array with one entry for
    each row. Its entries stay where the rows are, and go along with them; only counts and sums are computed here."""

    #: What messages call it.
    label: str

    @property
    @abstractmethod
    def shape(self) -> tuple[int]:
        """The number of entries."""

    @property
    @abstractmethod
    def total(self) -> float:
        """The sum of the entries."""

    @property
    @abstractmethod
    def n_positive(self) -> int:
        """The number of positive entries."""

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether all entries are whole numbers."""

    @abstractmethod
    def checked(self, source: Source) -> CarriedColumn:
        """The column as weights of the rows of `source`; an error if its entries cannot be weights."""

    @abstractmethod
    def labels(self, weights: CarriedColumn | None) -> LabelCounts:
        """The distinct entries."""

    @abstractmethod
    def numbered(self, values: Sequence[Any], numbers: Sequence[int]) -> CarriedColumn:
        """A column with a number in place of each of these values."""

    @abstractmethod
    def where(self, numbers: Sequence[int], weights: CarriedColumn | None) -> CarriedColumn:
        """Weights: those of the rows whose entry is one of these numbers, and zero for all others."""

    @abstractmethod
    def beside(self, source: Source) -> list[Source]:
        """The tables of a source and, as the last one, this column; all of them are read together."""


def sum_of(along: Array | CarriedColumn) -> float:
    """The sum of weights."""
    return along.total if isinstance(along, CarriedColumn) else float(namespace(along).sum(along))


def count_positive(along: Array | CarriedColumn) -> int:
    """The number of positive weights."""
    return along.n_positive if isinstance(along, CarriedColumn) else count_true(along > 0)


def in_order(source: Source) -> bool:
    """Whether the rows of a source have an order, so that they can be numbered."""
    return source.traits.engine is None or source.traits.engine.ordered
