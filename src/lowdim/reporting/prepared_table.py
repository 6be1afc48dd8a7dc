"""The rows as they are analysed: which columns, whether they are rescaled, and with missing entries filled in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._xp import to_numpy
from ..sources import ArraySource, ColumnsSource, Source
from ..summaries import Moments
from ..summaries.base import union
from .given_model import columns_of, is_fitted
from .numbers.columns import Columns, column_facts, why_not_analysed
from .numbers.correlations import Correlations, columns_to_correlate, correlations_of, covariances
from .numbers.first_pass import FirstPass, first_pass, moments_of, pieces_of
from .numbers.holes import Holes, fill_holes
from .numbers.layout import ColumnLayout, correlations_of_rows, found_layout, layout_given
from .numbers.missing import Missing, missing_in
from .opening import LeftOut, Opened

#: The number of rows that tell whether the columns are pixels.
_LOOK = 1000


@dataclass(frozen=True)
class Request:
    """What the user asked for, beside the table."""

    #: A model, fitted or not; None for PCA.
    model: Any = None
    n_components: int | None = None
    #: None to decide by the scales of the columns.
    standardize: bool | None = None
    #: The shape of the image in each row; None to find out, False for none.
    image_shape: Any = None
    random_state: int = 0
    #: The call or command that makes the same report.
    command: str = ""


class PreparedTable:
    """The table before the model of the report is fitted. Attributes are computed when they are first asked for."""

    def __init__(self, opened: Opened, request: Request) -> None:
        self.opened = opened
        self.request = request

    @cached_property
    def first(self) -> FirstPass:
        """Counts, means, deviations and ranges of all columns that are numbers."""
        opened = self.opened
        return first_pass(opened.rows, opened.held, opened.weights, self.request.random_state)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.first.n

    @cached_property
    def used(self) -> np.ndarray:
        """The positions of the columns that are analysed: those of a model that is fitted, or those that vary and do
        not just identify the rows."""
        if is_fitted(self.request.model):
            return columns_of(self.request.model, self.opened.names)
        first = self.first
        varying = (first.observed > 0) & (first.low < first.high) & (first.deviation > 0)
        measured = varying & ~self.columns.identifiers
        return np.flatnonzero(measured if measured.any() else varying)

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns that are analysed."""
        return [self.opened.names[j] for j in self.used]

    @property
    def p(self) -> int:
        """The number of columns that are analysed."""
        return len(self.used)

    @cached_property
    def left_out(self) -> list[LeftOut]:
        """The columns that are not analysed, and why."""
        names, others = self.opened.names, np.setdiff1d(np.arange(len(self.opened.names)), self.used)
        found = [LeftOut(names[j], why_not_analysed(self.first, self.columns, j)) for j in others]
        return [*self.opened.left_out, *found]

    @cached_property
    def has_holes(self) -> bool:
        """Whether entries of the columns that are analysed are missing."""
        return bool(np.any(self.first.missing[self.used] > 0))

    @cached_property
    def given(self) -> Source:
        """The rows of the columns that are analysed, in which entries may be missing."""
        opened = self.opened
        if opened.held:
            (X,) = opened.rows.blocks(int(opened.rows.shape[0] or 1))
            held = ArraySource(X if self.p == X.shape[1] else X[:, self.used])
            held.names = self.names
            return held
        return opened.rows if self.p == opened.rows.shape[1] else ColumnsSource(opened.rows, self.used.tolist())

    @cached_property
    def columns(self) -> Columns:
        """Kinds and skewness of all columns that are numbers, and which of them identify the rows."""
        return column_facts(self.first, self.opened.names)

    @cached_property
    def missing(self) -> Missing | None:
        """Where entries are missing; None if none is."""
        first = self.first
        return missing_in(first.sample[:, self.used], first.missing[self.used]) if self.has_holes else None

    @cached_property
    def holes(self) -> Holes | None:
        """How missing entries were filled in; None if there are none."""
        if not self.has_holes:
            return None
        held = self.opened.held
        return fill_holes(
            self.first.sample[:, self.used],
            self.opened.weights if held else None,
            self.first.deviation[self.used],
            standardize=self.standardize or self.scales_differ,
            held=held,
            n_rows=self.n,
            seed=self.request.random_state,
        )

    @cached_property
    def rows(self) -> Source:
        """The same rows, complete: missing entries are filled in."""
        if self.holes is None:
            return self.given
        rows = self.holes.filled(self.given) if self.holes.completed is None else ArraySource(self.holes.completed)
        rows.names = self.names
        return rows

    @cached_property
    def values(self) -> np.ndarray | None:
        """The complete rows as an array, if they are in memory."""
        if not self.opened.held:
            return None
        (X,) = self.rows.blocks(self.n)
        return X

    @cached_property
    def pieces(self) -> list[Moments] | None:
        """Moments of random pieces of the rows, if they are not in memory; see `first_pass`."""
        if self.opened.held:
            return None
        if self.has_holes:
            return pieces_of(self.rows, self.n, self.opened.weights, self.request.random_state)
        pieces = self.first.pieces
        return None if pieces is None else [moments_of(part, self.used, self.names) for part in pieces]

    @cached_property
    def correlations(self) -> Correlations:
        """Correlations of the columns that are analysed."""
        among = columns_to_correlate(self.p)
        if self.pieces is not None:
            scatter = to_numpy(union(self.pieces).scatter)[np.ix_(among, among)]
        elif self.values is not None:
            scatter = covariances(self.values[:, among], self.opened.weights)
        else:
            sample = self.first.sample[:, self.used]
            scatter = covariances(sample if self.holes is None else self.holes.model.impute(sample))[
                np.ix_(among, among)
            ]
        return correlations_of(scatter, among, self.first.mean[self.used[among]], self.n)

    @cached_property
    def standardize(self) -> bool:
        """Whether the columns are divided by their standard deviations."""
        if self.request.model is not None:
            return bool(
                getattr(self.request.model, "standardize", False) or getattr(self.request.model, "scale", False)
            )
        return self.request.standardize if self.request.standardize is not None else self.scales_differ

    @property
    def units(self) -> np.ndarray:
        """The standard deviations of the columns that are analysed, and 1 for those that do not vary in this table."""
        deviation = self.first.deviation[self.used]
        return np.where(deviation > 0, deviation, 1.0)

    @cached_property
    def layout(self) -> ColumnLayout | None:
        """Whether the columns are the pixels of a picture or the points of a curve; None if they are neither."""
        asked, p = self.request.image_shape, len(self.opened.names)
        if asked is not None and asked is not False:
            return layout_given(asked, p)
        sample = self.first.sample
        # Some rows are enough, from all over the table.
        found = correlations_of_rows(sample[:: -(-len(sample) // _LOOK), self.used], self.used, p)
        layout = found_layout(found, np.nan_to_num(self.first.deviation), self.n)
        return None if asked is False and layout is not None and not layout.is_curve else layout

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """The shape of the picture in each row, or None."""
        return None if self.layout is None else self.layout.shape

    @cached_property
    def scales_differ(self) -> bool:
        """Whether the standard deviations of the columns differ so much that they probably have different units.

        Pixels and points of a curve have the same units.
        """
        if self.layout is not None:
            return False
        deviations = np.sort(self.first.deviation[self.used])
        edge = max(1, len(deviations) // 20)
        return bool(deviations[-edge] > 5 * deviations[edge - 1])
