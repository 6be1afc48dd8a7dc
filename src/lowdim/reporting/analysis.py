"""Everything that a report computes, each thing when it is first asked for. No words, no charts, no HTML."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._core.arrays import dense, to_numpy
from ..inspect.limits import q_limit, t2_limit
from ..models.base import first_components
from ..models.pca import PCA
from ..selection.rules import Choices
from ..sources.array import ArraySource
from ..sources.base import Source
from ..sources.beside import ColumnsSource
from ..summaries.base import union
from ..summaries.moments import Moments
from .beyond import MOST_ROWS, Beyond, beyond
from .canonical import Canonical, canonical
from .correlations import Correlations, columns_to_correlate, correlations_of, covariances
from .data import (
    ColumnLayout,
    Columns,
    Grouping,
    column_facts,
    correlations_of_rows,
    found_layout,
    groupings,
    layout_given,
    why_not_analysed,
)
from .filled import Holes, fill_holes
from .how_many import choices_of_pieces, choices_of_rows, followed
from .map import MOST_FURTHER, Scoring, Seen, SomeRows, see
from .meaning import Meaning, bootstrapped, meaning_of_other, meaning_of_principal
from .misfits import ALPHA
from .missing import Missing, missing_in
from .opening import LeftOut, Opened, columns_of, fit_given, is_fitted
from .passes import FirstPass, first_pass, moments_of, pieces_of, sampled_rows
from .rebuilding import Rebuilding, rebuilding
from .regression import Pair, Regression, paired, regression

# The rows as they are analysed: which columns, whether they are rescaled, and with missing entries filled in.


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


#: The largest number of components that can be axes of the map.
_MAPPED = 10
#: The largest number of components from which rows are rebuilt: of tables, and of pictures.
_OF_TABLES, _OF_PICTURES = 50, 100


class Analysis(PreparedTable):
    """What is known of a table: models, and what they say. Attributes are computed when they are first asked for."""

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

    @cached_property
    def choices(self) -> Choices:
        """The number of components according to every rule."""
        options: Any = {"standardize": self.standardize, "seed": self.request.random_state}
        if self.pieces is not None:
            return choices_of_pieces(self.pieces, **options)
        return choices_of_rows(self.rows, self.n, self.p, self.opened.weights, **options)

    @property
    def rank(self) -> int:
        """The largest number of components that the rows can have."""
        return max(1, min(self.n - 1, self.p))

    @cached_property
    def model(self) -> Any:
        """The fitted model that the report is about."""
        given = self.request.model
        if given is not None:
            second = self.opened.response or self.opened.other
            return given if is_fitted(given) else fit_given(given, self.rows, second, self.opened.weights)
        return self.fitted(PCA(self.k, standardize=self.standardize))

    @cached_property
    def full(self) -> Any:
        """PCA with more components than `model`, for the spectrum and for rebuilding rows."""
        most = _OF_TABLES if self.image_shape is None else _OF_PICTURES
        return self.fitted(PCA(min(self.rank, max(self.k, most)), standardize=self.standardize))

    @cached_property
    def subspace(self) -> Any:
        """PCA with the components of the model, for T2, Q and the columns responsible for them: the model itself if it
        is a PCA."""
        if isinstance(self.model, PCA):
            return self.model
        k = min(int(self.model.n_components_), self.rank)
        return self.fitted(PCA(k, standardize=self.standardize))

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
        return None if shares is None else np.asarray(to_numpy(shares), dtype=np.float64)

    @cached_property
    def n_mapped(self) -> int:
        """The number of components that can be axes of the map."""
        return min(_MAPPED, len(self.mapped.component_names_))

    @cached_property
    def groupings(self) -> list[Grouping]:
        """The groups of the rows."""
        return groupings(self.opened.groups)

    @cached_property
    def scoring(self) -> Scoring:
        """How rows are scored; limits are exceeded by 5% of usual rows, and infinite if there are too few rows."""
        model = self.subspace
        t2, q = np.inf, np.inf
        if self.n > model.n_components_ + 1 and model.rank_ > 0:
            t2 = t2_limit(model, ALPHA)
            known = model.tail_.squares is not None
            q = q_limit(model, ALPHA) if known else q_limit(model, ALPHA, self.rows, sample_weight=self.opened.weights)
        # Of many components, only the axes of the map are computed.
        axes = first_components(self.mapped, self.n_mapped) if isinstance(self.mapped, PCA) else self.mapped
        return Scoring(axes, self.n_mapped, model, t2, q)

    @cached_property
    def seen(self) -> Seen:
        """The points of the map, the rows at the ends, and statistics of groups, from the second pass."""
        opened = self.opened
        return see(self.rows, self.n, self.scoring, self.groupings, opened.weights, self.request.random_state)

    @cached_property
    def n_explained(self) -> int:
        """The number of components whose meaning is told: those of the model, but at least two and at most ten."""
        return min(self.n_mapped, max(2, int(getattr(self.model, "n_components_", 2))))

    @cached_property
    def meaning(self) -> Meaning:
        """What the columns have to do with the first components."""
        model, count = self.mapped, self.n_explained
        if not isinstance(model, PCA):
            return meaning_of_other(model, count, self.seen)
        draws = None
        if self.image_shape is None:
            seed = self.request.random_state
            few_more = min(count + 2, self.rank)
            draws = bootstrapped(model, few_more, self.rows, self.pieces, self.opened.weights, seed)
        return meaning_of_principal(model, count, self.first.deviation[self.used], self.standardize, draws)

    @cached_property
    def rebuilding(self) -> Rebuilding:
        """Some rows, and what is needed to rebuild them from more and more components."""
        whole = self.image_shape is not None
        return rebuilding(self.full, self.first, self.used, whole, self.seen, self.groupings)

    @cached_property
    def further(self) -> SomeRows | None:
        """The first supplementary rows, which were not part of the fit; those with missing entries are left out."""
        source = self.opened.supplementary
        if source is None:
            return None
        X = np.asarray(to_numpy(dense(next(iter(source.blocks(MOST_FURTHER))))), dtype=np.float64)[:, self.used]
        complete = np.flatnonzero(np.isfinite(X).all(axis=1))
        # Rows that are too far away are refused with an error that names the entry.
        with np.errstate(over="ignore", invalid="ignore"):
            return self.scoring(X[complete], complete) if len(complete) else None

    def row_name(self, number: int) -> str:
        """What a row is called: its name, or its number, from 0."""
        return f"row {number}" if self.opened.ids is None else str(self.opened.ids[number])

    def fitted(self, model: Any) -> Any:
        """A model of one table fitted to the rows, from the pieces of the first pass where there are any."""
        if self.pieces is not None:
            return model.fit_summary(union(self.pieces))
        return model.fit(self.rows, sample_weight=self.opened.weights)

    @cached_property
    def with_response(self) -> Pair | None:
        """The rows with their responses, if there are any."""
        return self._pair(self.opened.response, "y")

    @cached_property
    def with_other(self) -> Pair | None:
        """The rows with those of another table, if there is one."""
        return self._pair(self.opened.other, "z")

    def _pair(self, second: Source | None, stem: str) -> Pair | None:
        if second is None:
            return None
        weights, seed = self.opened.weights, self.request.random_state
        return paired(self.rows, second, self.names, n=self.n, stem=stem, weights=weights, seed=seed)

    @cached_property
    def regression(self) -> Regression | None:
        """How well the responses can be predicted; None if there are none, or too few rows."""
        pair = self.with_response
        if pair is None or not pair.is_enough:
            return None
        return regression(pair, self.standardize, self.request.random_state)

    @cached_property
    def canonical(self) -> Canonical | None:
        """What the other table has in common with this one; None if there is none, or there are too few rows."""
        pair = self.with_other
        return canonical(pair, self.request.random_state) if pair is not None and pair.is_enough else None

    @cached_property
    def beyond(self) -> Beyond | None:
        """Kernel PCA and ICA beside PCA, of at most 1,500 rows; None if there are too few."""
        seed = self.request.random_state
        numbers, (X,) = sampled_rows([self.rows], self.n, MOST_ROWS, seed)
        if self.standardize:
            X = X / self.units
        codes = self.groupings[0].codes[numbers] if self.groupings else None
        return beyond(X, numbers, codes, self.k, seed)
