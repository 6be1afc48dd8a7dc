"""Everything that a report knows of a table with categories, each thing computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property, partial
from itertools import takewhile
from typing import Any

import numpy as np
from sklearn.base import clone

from .._core.coded import Categories
from ..coding import MISSING
from ..errors import NoComponentWarning, list_names, without_warnings
from ..inspect.geometry import Geometry, geometry
from ..models.base import first_components
from ..models.famd import FAMD
from ..models.mca import MCA
from ..models.mixed import CodedScores
from ..selection.rules import Choice
from ..sources.base import Source
from ..sources.categories import CategorySource, category_table
from ..sources.derived import MappedSource
from .analysis import Analysis
from .blocks import brief
from .categories import MixedRows, looks_like_codes
from .columns import Grouping, groupings, is_fitted
from .data import FEW, names_rows
from .map import MOST_FURTHER, SomeRows
from .passes import ColumnSummary, Ranges

#: The largest number of components that can be axes of the map.
_MAPPED = 10
#: Longer names of columns are shortened where there is little room.
_SHORT = 16
#: Whole numbers identify rows, or what rows belong to, if the name of the column says so and so large a share of them
#: is different.
_DIFFERENT = 0.5


class MixedScoring:
    """Scores and numbers of the rows of a table with categories, as the second pass takes them. There is no T2 and Q:
    no row is beyond a limit."""

    t2_limit = q_limit = np.inf

    def __init__(self, mapped: Any, n_components: int) -> None:
        self.mapped, self.n_components = mapped, n_components

    def __call__(self, X: np.ndarray, numbers: np.ndarray) -> SomeRows:
        scores, nothing = np.array(X[:, : self.n_components]), np.zeros(len(X))
        return SomeRows(
            numbers, np.array(X[:, self.n_components :]), scores, nothing, nothing, nothing, np.ones(len(X))
        )


def scores_and_numbers(scores: CodedScores, means: np.ndarray, block: Categories) -> np.ndarray:
    """The scores of the rows of a block beside their numbers, in which means stand for missing entries."""
    return np.hstack([scores(block), np.where(np.isnan(block.numbers), means, block.numbers)])


class MixedAnalysis(Analysis):
    """What is known of a table with categories. Its components are those of FAMD, of MCA if there are no numbers, or of
    the model that was asked for."""

    @property
    def mixed_rows(self) -> MixedRows:
        """The rows of the numbers and the categories."""
        assert self.opened.mixed is not None
        return self.opened.mixed

    @property
    def _given(self) -> Any:
        """The model that was asked for, if it is fitted."""
        return self.request.model if is_fitted(self.request.model) else None

    @cached_property
    def first(self) -> ColumnSummary:
        if self.opened.names:
            return super().first
        n, nothing = self.mixed_rows.count(), np.zeros(0)
        found = ColumnSummary(n, nothing, nothing, nothing, Ranges(0), np.zeros((0, 0)), 0)
        return found

    # The columns that are analysed.

    @cached_property
    def used(self) -> np.ndarray:
        """The positions, among the numbers, of those that are analysed."""
        names, first = self.opened.names, self.first
        if not names:
            return np.zeros(0, dtype=int)
        if self._given is not None:
            self._check_given()
            return np.array([names.index(name) for name in self._given.coding_.numbers], dtype=int)
        varying = (first.observed > 0) & (first.low < first.high) & (first.deviation > 0)
        keys = np.array([self._is_key(j) for j in range(len(names))])
        aside = np.isin(names, self.opened.aside)
        asked = np.array([self._is_asked(name) and not isinstance(self.request.model, MCA) for name in names])
        return np.flatnonzero(varying & ~self.columns.identifiers & ~keys & ~aside & asked)

    def _is_asked(self, name: str) -> bool:
        """Whether the model that is to be fitted takes a column."""
        groups = getattr(self.request.model, "groups", None)
        return not isinstance(groups, Mapping) or any(name in columns for columns in groups.values())

    def _is_key(self, j: int) -> bool:
        """Whether whole numbers identify rows or what they belong to, by their name and since most are different."""
        entries = self.first.sample[:, j]
        entries = entries[~np.isnan(entries)]
        return bool(self.first.whole[j] and names_rows(self.opened.names[j]) and len(entries) >= 20) and len(
            np.unique(entries)
        ) > _DIFFERENT * len(entries)

    def _check_given(self) -> None:
        """Refuse a table that lacks columns of the fitted model."""
        coding = self._given.coding_
        lacking = [name for name in coding.numbers if name not in self.opened.names]
        lacking += [name for name in coding.categories if name not in self.opened.categories]
        if lacking:
            raise ValueError(
                f"this {type(self._given).__name__} was fitted to {list_names(lacking)}, which the table does not have "
                "as such columns. Pass the table of the fit, or a model that is not fitted."
            )

    @property
    def measured(self) -> list[str]:
        return [self.opened.names[j] for j in self.used]

    @cached_property
    def categories(self) -> list[str]:
        """The names of the categories that are analysed."""
        if self._given is not None:
            return list(self._given.coding_.categories)
        return [name for name in self.opened.categories if name not in self.opened.aside and self._is_asked(name)]

    @property
    def names(self) -> list[str]:  # type: ignore[override] # not computed once
        """The names of the columns that are analysed, numbers first."""
        return [*self.measured, *self.categories]

    @property
    def p(self) -> int:
        return len(self.names)

    @property
    def varying(self) -> list[str]:
        return self.names

    @cached_property
    def left_out(self) -> dict[str, str]:
        found, used = dict(self.opened.left_out), set(self.used.tolist())
        for j, name in enumerate(self.opened.names):
            if j in used or name in self.opened.aside:
                continue
            if isinstance(self.request.model, MCA):
                found[name] = "MCA is about categories, and it holds numbers (categorical_features declares it)"
            elif self._given is None and self._is_key(j) and not self.columns.identifiers[j]:
                found[name] = "by its name and its entries, it identifies the rows or what they belong to"
            elif not self._is_asked(name):
                found[name] = "the model does not use it"
            else:
                found[name] = self.columns.why_not_analysed(j)
        others = set(self.opened.categories) - set(self.categories) - set(self.opened.aside)
        return found | {name: "the model does not use it" for name in self.opened.categories if name in others}

    @cached_property
    def asked(self) -> dict[str, str]:
        """The columns of whole numbers that may be codes, each with what it holds."""
        found, first = {}, self.first
        for j in self.used:
            name, low, high = self.opened.names[j], first.low[j], first.high[j]
            few = self.columns.kinds[j] == FEW
            if first.whole[j] and high - low > 1 and looks_like_codes(name, low, high, few):
                found[name] = f"{low:.0f} to {high:.0f}"
        return found

    # What is said of PCA, and of pictures.
    scale = False  # type: ignore[assignment]
    layout = None  # type: ignore[assignment]

    # The fit.

    @cached_property
    def estimates(self) -> bool:
        """Whether the model estimates the missing entries of the numbers; otherwise their means stand for them. EM
        reads the rows too often if they are not in memory."""
        model = self.request.model
        if model is not None:
            return getattr(model, "missing", None) == "em"
        return bool(self.missing_numbers) and self.opened.held

    @cached_property
    def means(self) -> dict[str, float]:
        """What stands for the missing entries of the numbers in the rows of the fit: their means, unless the model
        estimates them."""
        mean = np.nan_to_num(self.first.mean)
        return {} if self.estimates else dict(zip(self.opened.names, mean.tolist(), strict=True))

    def _new_model(self) -> Any:
        """The model to fit, with all components."""
        given, aside = self.request.model, self.opened.aside or None
        if given is not None:
            return clone(given)
        options: Any = {"min_frequency": self.request.min_frequency, "supplementary": aside}
        if not self.measured:
            return MCA(**options)
        declared = [name for name in self.request.categorical_features if name in self.categories]
        missing: Any = "em" if self.estimates else "level"
        return FAMD(categorical_features=declared or None, missing=missing, **options)

    def _table(self) -> Any:
        """The rows of all columns of the fit."""
        aside = self.opened.aside
        numbers = [*self.measured, *(name for name in aside if name in self.opened.names)]
        categories = [*self.categories, *(name for name in aside if name in self.opened.categories)]
        return self.mixed_rows.table(numbers, categories, self.means)

    @cached_property
    def full(self) -> Any:
        """The fitted model with all components that it keeps."""
        if self._given is not None:
            return self._given
        return self._new_model().fit(self._table(), sample_weight=self.opened.weights)

    @cached_property
    def inertias(self) -> np.ndarray:
        """All eigenvalues."""
        return np.asarray(self.full._inertias)

    @property
    def rank(self) -> int:
        return int(self.full.n_components_)

    @cached_property
    def choice(self) -> Choice:
        """What parallel analysis says: the eigenvalues that unrelated columns with the same levels would have."""
        model = copy(self.full)
        model.n_components, model.random_state = "parallel", self.seed
        # From the moments of all coded columns, without a further pass.
        with without_warnings(NoComponentWarning):
            model._solve(self.full.summary_, self.full.plan_)
        return model.choice_

    @property
    def _free(self) -> int:
        """The largest number of components that the coded columns can have."""
        coding = self.full.coding_
        return max(len(coding.numbers) + sum(width - 1 for width in coding.widths), 1)

    @cached_property
    def average_inertia(self) -> float:
        """The average eigenvalue: 1 for FAMD, and one over the number of columns for MCA."""
        return float(self.inertias.sum()) / self._free

    @property
    def n_beyond_chance(self) -> int:
        """The number of first components whose eigenvalues are larger than those of unrelated columns."""
        return int(self.choice.k or 0)

    @cached_property
    def k(self) -> int:
        if self.request.model is not None:
            return int(self.full.n_components_)
        wanted = self.request.n_components or max(self.n_beyond_chance, 1)
        return min(wanted, self.rank)

    @cached_property
    def model(self) -> Any:
        return first_components(self.full, self.k)

    @cached_property
    def mapped(self) -> Any:
        if self.request.model is not None:
            return self.full
        return first_components(self.full, min(self.rank, max(self.k, _MAPPED)))

    @cached_property
    def adjusted_by(self) -> str:
        """Whose adjusted inertias the shares of MCA are: Greenacre's, unless missing entries are passive, for which his
        total is not meant; empty for other models."""
        if not isinstance(self.mapped, MCA):
            return ""
        return "Benzecri" if self.mapped.missing == "passive" and self.missing_levels else "Greenacre"

    @cached_property
    def variance_shares(self) -> np.ndarray | None:
        """The shares of the components in the inertia; for MCA, those of the adjusted inertias."""
        names = {"": "explained_variance_ratio_", "Greenacre": "greenacre_ratio_", "Benzecri": "benzecri_ratio_"}
        return np.asarray(getattr(self.mapped, names[self.adjusted_by]), dtype=np.float64)

    @cached_property
    def n_told(self) -> int:
        most = min(3, self.n_mapped, self.k)
        chosen = self.request.model is None and self.request.n_components is None
        return min(most, self.n_beyond_chance) if chosen else most

    # The rows.

    @property
    def n_compared(self) -> int:
        """The groupings that were asked for; they come first."""
        return len(list(takewhile(lambda group: group.name not in self.opened.categories, self.groupings[:3])))

    @cached_property
    def groupings(self) -> list[Grouping]:
        """The groups of the rows: those that were asked for, then the categories that have most to do with the first
        two components, and other columns of text."""
        found = groupings(self.opened.groups)
        asked = list(takewhile(lambda group: group.name not in self.opened.categories, found))
        of_map = {name: float(row[:2].max()) for name, row in self.relations.items()}
        return asked + sorted(found[len(asked) :], key=lambda group: -of_map.get(group.name, -1.0))

    @cached_property
    def scoring(self) -> Any:
        return MixedScoring(self.mapped, self.n_mapped)

    def _scored(self, table: Any) -> Source:
        """Scores and numbers of the rows of a table with all columns of the model."""
        coding = self.mapped.coding_
        contents, _ = category_table(table)
        rows = CategorySource(contents.keeping(coding.numbers, coding.categories), list(coding.categories))
        axes = first_components(self.mapped, self.n_mapped)
        mean = dict(zip(self.opened.names, np.nan_to_num(self.first.mean).tolist(), strict=True))
        means = np.array([mean[name] for name in coding.numbers])
        return MappedSource(rows, partial(scores_and_numbers, axes._scoring(), means))

    @cached_property
    def rows(self) -> Source:
        return self._scored(self._table())

    @cached_property
    def _further(self) -> tuple[SomeRows, int] | None:
        """The first supplementary rows, and the number of all."""
        if self.opened.further is None:
            return None
        coding, contents = self.mapped.coding_, self.check_supplementary()
        source = CategorySource(
            contents.keeping(coding.numbers, coding.categories), list(coding.categories), contents.blanks
        )
        rows = MixedRows(source, held=True)
        X = next(iter(self._scored(rows.table(coding.numbers, coding.categories, self.means)).blocks(MOST_FURTHER)))
        return self.scoring(np.asarray(X)[:MOST_FURTHER], np.arange(min(len(X), MOST_FURTHER))), rows.count()

    def check_supplementary(self) -> Any:
        """The columns of the supplementary rows; an error if some are lacking."""
        if self.opened.further is None:
            return None
        names = self.names
        contents, named = category_table(self.opened.further)
        if not named:
            raise ValueError(
                f"supplementary has {len(contents.names)} columns without names, and X has {len(names)} that are "
                f"analysed: {list_names(names, 20)}. Pass rows with these columns by name."
            )
        if lacking := [name for name in names if name not in contents.names]:
            raise ValueError(f"supplementary has no column {list_names(lacking)}; pass rows with the same columns.")
        return contents

    @property
    def further(self) -> SomeRows | None:  # type: ignore[override] # computed with their number
        return None if self._further is None else self._further[0]

    @property
    def n_supplementary(self) -> int | None:
        return None if self._further is None else self._further[1]

    # The columns and levels as points.

    @cached_property
    def short_names(self) -> dict[str, str]:
        """What columns are called where there is little room: of long names the first word, such as "Q7", if it is
        that of one column only."""
        names = list(self.relations)
        first = [name.split()[0].rstrip(":.-)") if name.split() else name for name in names]
        return {
            name: word if len(name) > _SHORT and word and first.count(word) == 1 else brief(name, _SHORT)
            for name, word in zip(names, first, strict=True)
        }

    @cached_property
    def geometry(self) -> Geometry:
        """Coordinates, contributions and tests of the columns and levels on the components of the map."""
        return geometry(self.mapped)

    @cached_property
    def relations(self) -> dict[str, np.ndarray]:
        """How much each column has to do with each component: the squared correlation of a number, and the correlation
        ratio eta2 of a category."""
        g, values = self.geometry, np.where(self.mapped.explained_variance_ > 0, self.mapped.explained_variance_, 1.0)
        means = g.coordinates**2 if type(self.mapped).levels_have_unit_axes else g.coordinates**2 / values
        of_points = np.where(g.is_level[:, None], np.nan_to_num(g.share)[:, None] * means, g.correlations**2)
        found: dict[str, np.ndarray] = {}
        for name, row in zip(g.variables, of_points, strict=True):
            found[name] = found.get(name, 0.0) + row
        return {name: np.clip(row, 0.0, 1.0) for name, row in found.items()}

    @cached_property
    def missing_levels(self) -> dict[str, float]:
        """The categories with missing entries, and the share of the rows where they are missing."""
        g = self.geometry
        there = {v: float(s) for v, level, s in zip(g.variables, g.levels, g.share, strict=True) if level == MISSING}
        if getattr(self.mapped, "missing", "level") == "level":
            return there
        entries = self.mixed_rows.entries
        return {name: entries[name].missing / entries[name].n for name in self.categories if entries[name].missing}

    @cached_property
    def missing_numbers(self) -> dict[str, int]:
        """The numbers with missing entries, and how many are missing."""
        return {self.opened.names[j]: int(self.first.missing[j]) for j in self.used if self.first.missing[j] > 0}

    @cached_property
    def associations(self) -> tuple[list[str], np.ndarray]:
        """The names of the columns, and how strongly any two of them go together: |r| for numbers, the root of eta2 for
        a number and a category, and Cramer's V for categories."""
        model = self.full
        whole, S = model._whole_coding, model.summary_.scatter / model.summary_.weight
        mean = model.summary_.mean + model.summary_.rest
        columns = [name for name in (*whole.numbers, *whole.categories) if name in self.names]
        pieces = [whole.columns[name] for name in columns]
        unit = np.where(np.arange(len(mean)) < len(whole.numbers), np.diagonal(S), mean)
        squares = S**2 / np.where(unit > 0, unit, 1.0) / np.where(unit > 0, unit, 1.0)[:, None]
        out = np.eye(len(columns))
        for i, one in enumerate(pieces):
            for j, other in enumerate(pieces[:i]):
                free = [int((mean[piece] > 0).sum()) - 1 for piece in (one, other)]
                both = min(max(free[0], 1), max(free[1], 1))
                numbers = columns[i] in whole.numbers or columns[j] in whole.numbers
                total = float(squares[one, other].sum()) / (1 if numbers else both)
                out[i, j] = out[j, i] = np.sqrt(min(total, 1.0))
        return columns, out

    @cached_property
    def same(self) -> list[tuple[str, str]]:
        """Pairs of columns that say the same: each level of one goes with one level of the other."""
        names, values = self.associations
        widths = {
            name: len(levels)
            for name, levels in zip(self.full._whole_coding.categories, self.full._whole_coding.levels, strict=True)
        }
        return [
            (names[j], names[i])
            for i in range(len(names))
            for j in range(i)
            if values[i, j] > 1 - 1e-9 and widths.get(names[i]) == widths.get(names[j])
        ]
