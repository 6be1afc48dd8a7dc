"""Everything that a report computes, each thing when it is first asked for. No words, no charts, no HTML."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._xp import dense, to_numpy
from ..inspect.limits import q_limit, t2_limit
from ..models import PCA
from ..models._first_components import first_components
from ..selection.choices import Choices
from ..sources import Source
from ..summaries.base import union
from .given_model import fit_given, is_fitted
from .numbers.canonical import Canonical, canonical
from .numbers.components import Meaning, bootstrapped, meaning_of_other, meaning_of_principal
from .numbers.counting import choices_of_pieces, choices_of_rows, followed
from .numbers.groupings import Grouping, groupings
from .numbers.misfits import ALPHA
from .numbers.nonlinear import MOST_ROWS, Beyond, beyond
from .numbers.pairs import Pair, paired
from .numbers.rebuilding import Rebuilding, rebuilding
from .numbers.regression import Regression, regression
from .numbers.sampled import sampled_rows
from .numbers.scoring import MOST_FURTHER, Scoring, SomeRows
from .numbers.seen import Seen, see
from .prepared_table import PreparedTable

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
