"""Everything that a report knows of a table, each thing computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._core.arrays import dense
from ..models.base import first_components
from ..models.latent import LatentModel
from ..models.pca import PCA
from ..sources.array import ArraySource
from ..sources.base import Source
from ..sources.beside import ColumnsSource
from ..sources.derived import MappedSource
from ..summaries.base import union
from ..summaries.moments import Moments
from ..table import Table
from .blocks import LONGEST, brief, share
from .choosing_k import choices_of, followed
from .columns import Grouping, OpenedTable, columns_of, fit_given, groupings, is_fitted
from .data import Columns, Correlations, found_layout
from .loadings import Meaning
from .map import MOST_FURTHER, Scoring, SomeRows, second_pass
from .missing import Filled, Missing
from .nonlinear import MOST_ROWS, Beyond, beyond
from .passes import ColumnSummary, first_pass, floats, moments_of, pieces_of, sampled_rows
from .reconstruction import Rebuilding
from .two_tables import Canonical, Pair, Regression

#: The largest number of components that can be axes of the map.
_MAPPED = 10
#: The largest number of components that are described at the top of the page.
_TOLD = 3
#: The largest number of components from which rows are rebuilt: of tables, and of pictures.
_OF_TABLES, _OF_PICTURES = 50, 100
#: Groups are compared on maps if they have so many rows on average.
_ROWS_OF_A_GROUP = 5


@dataclass(frozen=True)
class ReportOptions:
    """What the user asked for, beside the table."""

    #: A model, fitted or not; None for PCA.
    model: Any = None
    n_components: int | None = None
    #: None to decide by the scales of the columns.
    scale: bool | None = None
    #: The shape of the image in each row; None to find out, False for none.
    image_shape: Any = None
    #: Columns of numbers that are categories, and how frequent levels are that are not pooled.
    categorical_features: Sequence[str] = ()
    min_frequency: float | int | None = None
    random_state: int = 0
    #: The call or command that makes the same report.
    command: str = ""


class Analysis:
    """What is known of a table. Attributes are computed when they are first asked for."""

    def __init__(self, opened: OpenedTable, request: ReportOptions) -> None:
        self.opened, self.request, self.seed = opened, request, request.random_state

    # The rows as they are analysed: which columns, whether they are rescaled, and with missing entries filled in.

    @cached_property
    def first(self) -> ColumnSummary:
        """Counts, means, deviations and ranges of all columns that are numbers."""
        return first_pass(self.opened.rows, self.opened.held, self.opened.weights, self.seed)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.first.n

    @cached_property
    def columns(self) -> Columns:
        """Kinds and skewness of all columns that are numbers, and which of them identify the rows."""
        return Columns(self.first, self.opened.names)

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

    @property
    def varying(self) -> list[str]:
        """The names of the columns that are analysed and vary in this table."""
        return [name for name, deviation in zip(self.names, self.deviation, strict=True) if deviation > 0]

    @property
    def measured(self) -> list[str]:
        """The names of the columns of numbers that are analysed, by which rows can be coloured."""
        return self.names

    @cached_property
    def left_out(self) -> dict[str, str]:
        """The columns that are not analysed, and why."""
        names, others = self.opened.names, np.setdiff1d(np.arange(len(self.opened.names)), self.used)
        return self.opened.left_out | {names[j]: self.columns.why_not_analysed(j) for j in others}

    @cached_property
    def deviation(self) -> np.ndarray:
        """The standard deviations of the columns that are analysed."""
        return self.first.deviation[self.used]

    @property
    def units(self) -> np.ndarray:
        """The same, and 1 for columns that do not vary in this table."""
        return np.where(self.deviation > 0, self.deviation, 1.0)

    #: The shape of the picture in each row; () if the columns are the points of a curve, and None otherwise.
    layout = cached_property(found_layout)

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """The shape of the picture in each row, or None."""
        return self.layout or None

    @property
    def is_curve(self) -> bool:
        """Whether the columns are the points of a curve."""
        return self.layout == ()

    @cached_property
    def scales_differ(self) -> bool:
        """Whether the standard deviations of the columns differ so much that they probably have different units.

        Pixels and points of a curve have the same units.
        """
        if self.layout is not None:
            return False
        deviations = np.sort(self.deviation)
        edge = max(1, len(deviations) // 20)
        return bool(deviations[-edge] > 5 * deviations[edge - 1])

    @cached_property
    def scale(self) -> bool:
        """Whether the columns are divided by their standard deviations."""
        model = self.request.model
        if model is not None:
            return bool(getattr(model, "scale", False))
        return self.request.scale if self.request.scale is not None else self.scales_differ

    @cached_property
    def has_missing(self) -> bool:
        """Whether entries of the columns that are analysed are missing."""
        return bool(np.any(self.first.missing[self.used] > 0))

    @cached_property
    def missing(self) -> Missing | None:
        """Where entries are missing; None if none is."""
        first = self.first
        return Missing(first.sample[:, self.used], first.missing[self.used]) if self.has_missing else None

    @cached_property
    def filled(self) -> Filled | None:
        """How missing entries were filled in; None if there are none."""
        return Filled(self) if self.has_missing else None

    @cached_property
    def given(self) -> Source:
        """The rows of the columns that are analysed, in which entries may be missing."""
        rows = self.opened.rows
        if self.opened.held:
            (X,) = rows.blocks(int(rows.shape[0] or 1))
            held = ArraySource(X if self.p == X.shape[1] else X[:, self.used])
            held.names = self.names
            return held
        return rows if self.p == rows.shape[1] else ColumnsSource(rows, self.used.tolist())

    @cached_property
    def rows(self) -> Source:
        """The same rows, complete: missing entries are filled in, on the way if the rows are not in memory."""
        if self.filled is None:
            return self.given
        completed = self.filled.completed
        rows = MappedSource(self.given, self.filled.model.impute) if completed is None else ArraySource(completed)
        rows.names = self.names
        return rows

    @cached_property
    def values(self) -> np.ndarray | None:
        """The complete rows as an array, if they are in memory."""
        return next(iter(self.rows.blocks(self.n))) if self.opened.held else None

    @cached_property
    def pieces(self) -> list[Moments] | None:
        """Moments of random pieces of the rows, if they are not in memory; see `first_pass`."""
        if self.opened.held:
            return None
        if self.has_missing:
            return pieces_of(self.rows, self.n, self.opened.weights, self.seed)
        pieces = self.first.pieces
        return None if pieces is None else [moments_of(part, self.used, self.names) for part in pieces]

    #: Correlations of the columns that are analysed.
    correlations = cached_property(Correlations)

    # Models, and what they say.

    @property
    def rank(self) -> int:
        """The largest number of components that the rows can have."""
        return max(1, min(self.n - 1, self.p))

    #: The number of components according to every rule.
    choices = cached_property(choices_of)

    @cached_property
    def k(self) -> int:
        """The number of components of the model: what was asked for, or what the rule that is followed says, but at
        least one."""
        if is_fitted(self.request.model):
            return int(self.request.model.n_components_)
        if self.request.n_components is not None:
            return min(self.request.n_components, self.rank)
        answer = followed(self.choices)
        return 1 if answer is None or answer.k is None else min(max(answer.k, 1), self.rank)

    def _principal(self, k: int) -> Any:
        """PCA with k components, from the pieces of the first pass where there are any."""
        model = PCA(k, scale=self.scale)
        if self.pieces is not None:
            return model.fit_summary(union(self.pieces))
        return model.fit(self.rows, sample_weight=self.opened.weights)

    @cached_property
    def model(self) -> Any:
        """The fitted model that the report is about."""
        given = self.request.model
        if given is None:
            return self._principal(self.k)
        if is_fitted(given):
            return given
        # Models of missing entries need no filled in ones, which would make the rows look more alike than they are.
        rows = self.given if isinstance(given, LatentModel) else self.rows
        return fit_given(given, rows, self.opened.y or self.opened.Y, self.opened.weights)

    @cached_property
    def full(self) -> Any:
        """PCA with more components than `model`, for the spectrum and for rebuilding rows."""
        most = _OF_TABLES if self.image_shape is None else _OF_PICTURES
        return self._principal(min(self.rank, max(self.k, most)))

    @cached_property
    def subspace(self) -> Any:
        """PCA with the components of the model, for T2, Q and the columns responsible for them: the model itself if it
        is a PCA."""
        if isinstance(self.model, PCA):
            return self.model
        return self._principal(min(int(self.model.n_components_), self.rank))

    @cached_property
    def mapped(self) -> Any:
        """The model whose components are the axes of the map: the one that was asked for, or PCA with more components
        than `model`, also if one was asked for that has a single component."""
        alone = isinstance(self.model, PCA) and self.model.n_components_ < 2
        return self.full if self.request.model is None or alone else self.model

    @cached_property
    def variance_shares(self) -> np.ndarray | None:
        """The share of the variance of each component of `mapped`; None if the model does not know it."""
        shares = getattr(self.mapped, "explained_variance_ratio_", None)
        return None if shares is None else floats(shares)

    @cached_property
    def n_mapped(self) -> int:
        """The number of components that can be axes of the map."""
        return min(_MAPPED, len(self.mapped.component_names_))

    @cached_property
    def n_explained(self) -> int:
        """The number of components whose meaning is described: those of the model, but at least two and at most ten."""
        return min(self.n_mapped, max(2, int(getattr(self.model, "n_components_", 2))))

    @cached_property
    def n_told(self) -> int:
        """The number of components that are described at the top of the page: the first ones of the model, but none if
        none stands out from noise."""
        answer = followed(self.choices) if self.request.model is None and self.request.n_components is None else None
        found = min(_TOLD, self.n_mapped, int(getattr(self.model, "n_components_", _TOLD)))
        return 0 if answer is not None and answer.k == 0 else found

    @property
    def n_compared(self) -> int:
        """The number of groupings, from the first one, of which sentences say along which component they differ."""
        return 3

    @cached_property
    def groupings(self) -> list[Grouping]:
        """The groups of the rows."""
        return groupings(self.opened.groups)

    @cached_property
    def scoring(self) -> Scoring:
        """How rows are scored. Of many components, only the axes of the map are computed."""
        axes = first_components(self.mapped, self.n_mapped) if isinstance(self.mapped, PCA) else self.mapped
        return Scoring(axes, self.n_mapped, self.subspace, self.n, self.rows, self.opened.weights)

    #: The points of the map, the rows at the ends, and statistics of groups, from the second pass.
    second = cached_property(second_pass)

    @cached_property
    def further(self) -> SomeRows | None:
        """The first supplementary rows, which were not part of the fit; those with missing entries are left out."""
        source = self.opened.supplementary
        if source is None:
            return None
        X = floats(dense(next(iter(source.blocks(MOST_FURTHER)))))[:, self.used]
        complete = np.flatnonzero(np.isfinite(X).all(axis=1))
        # Rows that are too far away are refused with an error that names the entry.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.scoring(X[complete], complete) if len(complete) else None

    @property
    def n_supplementary(self) -> int | None:
        """The number of supplementary rows, if it is known."""
        return None if self.opened.supplementary is None else self.opened.supplementary.shape[0]

    #: What the columns have to do with the first components.
    meaning = cached_property(Meaning)

    #: Some rows, and what is needed to rebuild them from more and more components.
    rebuilding = cached_property(Rebuilding)

    @cached_property
    def pairs(self) -> dict[str, Pair]:
        """The rows with their responses ("y"), and with those of a second table ("Y"), if these are given."""
        given = {"y": (self.opened.y, "y"), "Y": (self.opened.Y, "z")}
        return {
            name: Pair(self.rows, second, self.n, stem, self.opened.weights, self.seed)
            for name, (second, stem) in given.items()
            if second is not None
        }

    @cached_property
    def regression(self) -> Regression:
        """How well the responses can be predicted."""
        return Regression(self.pairs["y"], self.scale, self.seed)

    @cached_property
    def canonical(self) -> Canonical:
        """What the other table has in common with this one."""
        return Canonical(self.pairs["Y"], self.seed)

    @cached_property
    def compared(self) -> Grouping | None:
        """The groups that maps are judged by: the first ones that have rows enough."""
        enough = (group for group in self.groupings if self.n >= _ROWS_OF_A_GROUP * len(group.levels))
        return next(enough, None)

    @cached_property
    def beyond(self) -> Beyond | None:
        """Kernel PCA and ICA beside PCA, of at most 1,500 rows; None if there are too few."""
        numbers, (X,) = sampled_rows([self.rows], self.n, MOST_ROWS, self.seed)
        codes = None if self.compared is None else self.compared.codes[numbers]
        return beyond(X / self.units if self.scale else X, numbers, codes, self.k, self.seed)

    # What rows, columns and components are called in sentences, tables and charts.

    def row_name(self, number: int) -> str:
        """What a row is called: its name, or its number, which readers count from 1."""
        return f"row {number + 1}" if self.opened.labels is None else str(self.opened.labels[number])

    def labels_of(self, rows: np.ndarray) -> list[str] | None:
        """The names of rows, shortened; None if rows have none."""
        return None if self.opened.labels is None else [brief(self.opened.labels[i], LONGEST) for i in rows]

    def group_of(self, row: int) -> str:
        """The group of a row by the first labels; empty if it has none."""
        code = int(self.groupings[0].codes[row]) if self.groupings else -1
        return brief(self.groupings[0].levels[code]) if code >= 0 else ""

    def called(self, row: int) -> str:
        """The name of a row, with its group by the first labels: "row 139 (virginica)"."""
        group, name = self.group_of(row), brief(self.row_name(row))
        return f"{name} ({group})" if group else name

    def brief_names(self, columns: Iterable[int]) -> list[str]:
        """The names of columns in sentences."""
        return [brief(self.names[j]) for j in columns]

    def column_table(self, columns: Mapping[str, Any], which: Iterable[int], title: str) -> Table:
        """A table with a row for each of these columns that are analysed."""
        return Table(columns, [self.names[j] for j in which], title=title, row_name="column")

    def component_title(self, k: int) -> str:
        """The name of a component with its share of the variance, if that is known: "PC1 (72.9%)". Some kinds of
        whitening have a component for each column, of the same name."""
        name, shares = self.mapped.component_names_[k], self.variance_shares
        name = f"whitened {name}" if name in self.names else name
        return name if shares is None else f"{name} ({share(shares[k])})"
