"""Multiple factor analysis: principal components of several groups of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array
from .._core.coded import Categories
from .._core.schema import Entries, ListOf, Numbers, Text
from .._core.types import RandomState
from ..coding import Coding
from ..errors import list_names
from ..linalg import eigh_descending
from ..selection.rules import RuleName
from ..solvers.problem import Plan
from ..sources.base import Source
from ..sources.opening import TableLike
from ..summaries.moments import Moments
from .famd import roles_of
from .mixed import CodedScores, MixedModel, column_names, numbers_scale

#: Between the two names of a column of pandas that has several, as in ("taste", "sweet").
_BETWEEN = "."


class MFA(MixedModel):
    """Multiple factor analysis: the directions that groups of columns have in common.

    Each group is divided by the root of the first eigenvalue of its own analysis, so that none can dominate the first
    dimension. Groups may consist of numbers, of categories, or of both.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of dimensions, as in `FAMD`.
    groups : dict of str to list, or str, default=None
        The columns of each group. A text, such as "_", is a separator: columns with the same beginning before it are a
        group. None stands for the first level of the names of a data frame of pandas whose columns have several.
    scale : bool or dict of str to bool, default=True
        Whether numbers are standardised, for all groups or for each. Otherwise they are only centred.
    categorical_features : list of str, default=None
        Columns of numbers or dates that are categories.
    levels : dict of str to list, default=None
        The levels of categories, in their order, as in `MCA`.
    min_frequency : int or float, default=None
        Levels with fewer rows, or with a smaller share of the rows, are pooled in one level, "(rare)".
    missing : {"level", "passive", "error"}, default="level"
        Missing entries of categories, as in `MCA`. Missing numbers are an error.
    supplementary : list of str, default=None
        Groups, or columns, that do not take part in the fit. Their coordinates are computed in the same pass.
    random_state : int, RandomState or None, default=None
        Seed of rules that draw random numbers; None is a fixed seed.

    Attributes
    ----------
    components_ : array of shape (n_components, n_coded)
        Unit eigenvectors in the coded columns, after a division by `scale_`.
    explained_variance_ : array of shape (n_components,)
        The eigenvalues; the first is at most the number of active groups.
    explained_variance_ratio_ : array of shape (n_components,)
        Their shares of the total inertia.
    group_names_ : list of str
        The names of the groups, active ones first.
    group_inertias_ : dict
        The eigenvalues of the separate analysis of each group; of groups of categories only, those of its `MCA`.
    lg_, rv_ : arrays of shape (n_groups + 1, n_groups + 1)
        Lg and RV coefficients between the groups, and with their common configuration, which is the last.
    levels_, mean_, scale_, singular_values_, n_components_, n_features_in_, feature_names_in_, n_samples_
    total_inertia_, coding_, summary_

    Notes
    -----
    The columns are coded and weighted as in `FAMD`, and the weights of a group are divided by the first eigenvalue of
    its separate analysis [1]_. With S_gh the weighted scatter between two groups, Lg(g, h) = |S_gh|^2, the sum of its
    squared entries, and RV(g, h) = Lg(g, h) / sqrt(Lg(g, g) Lg(h, h)); no matrix of rows by rows is needed.

    References
    ----------
    .. [1] Pages (2014), Multiple factor analysis by example using R, chapters 3 to 7.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowdim import MFA
    >>> wines = pd.DataFrame({"flowers": [1, 2, 3, 5], "fruit": [2, 1, 4, 3], "taste": ["dry", "dry", "soft", "dry"]})
    >>> mfa = MFA(1, groups={"nose": ["flowers", "fruit"], "mouth": ["taste"]}).fit(wines)
    >>> mfa.group_names_, mfa.explained_variance_.round(2)
    (['nose', 'mouth'], array([1.56]))
    """

    group_names_: list[str]
    group_inertias_: dict[str, np.ndarray]
    lg_: np.ndarray
    fitted_attributes = {
        "group_names_": ListOf(Text(), length="g"),
        "group_inertias_": Entries(Numbers("*", host=True, sign="nonnegative", order="descending")),
        "lg_": Numbers("*", "*", host=True, symmetric=True),
        # The group of each column of the table.
        "_group_of": Entries(Text()),
    }

    def __init__(
        self,
        n_components: int | float | RuleName | None = None,
        *,
        groups: Mapping[str, Sequence[str]] | str | None = None,
        scale: bool | Mapping[str, bool] = True,
        categorical_features: Sequence[str] | None = None,
        levels: Mapping[str, Sequence[Any]] | None = None,
        min_frequency: float | int | None = None,
        missing: Literal["level", "passive", "error"] = "level",
        supplementary: Sequence[str] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.groups = groups
        self.scale = scale
        self.categorical_features = categorical_features
        self.levels = levels
        self.min_frequency = min_frequency
        self.missing = missing
        self.supplementary = supplementary
        self.random_state = random_state

    def _open(self, X: Any, *, reset: bool, method: str = "partial_fit", keep: Sequence[str] = ()) -> Any:
        levels = getattr(getattr(X, "columns", None), "names", None)
        if levels is not None and len(levels) > 1:
            # pandas has a name for each level of the names of the columns.
            named = [_BETWEEN.join(map(str, name)) for name in X.columns]
            if reset and self.groups is None:
                self._group_of = {name: str(pair[0]) for name, pair in zip(named, X.columns, strict=True)}
            X = X.set_axis(named, axis=1)
        return super()._open(X, reset=reset, method=method, keep=keep)

    def _roles(self, kinds: Mapping[str, str]) -> tuple[list[str], list[str]]:
        if self.groups is not None:
            self._group_of = self._named_groups(list(kinds))
        elif set(self.__dict__.get("_group_of", {})) != set(kinds):
            raise ValueError(
                "groups=None, and X is no data frame of pandas whose columns have names of several levels. Pass the "
                "columns of each group, as in groups={'taste': ['sweet', 'sour'], ...}, or the separator behind the "
                "name of the group in the names of the columns, as in groups='_'."
            )
        kept = {name: kind for name, kind in kinds.items() if name in self._group_of}
        return roles_of(kept, self.categorical_features)

    def _named_groups(self, names: list[str]) -> dict[str, str]:
        """The group of each column that has one."""
        if isinstance(self.groups, str):
            without = [name for name in names if self.groups not in name]
            if without:
                raise ValueError(
                    f"groups={self.groups!r}: the columns {list_names(without)} have no such separator in their names."
                )
            return {name: name.split(self.groups, 1)[0] for name in names}
        if not isinstance(self.groups, Mapping) or not self.groups:
            raise TypeError(f"groups={self.groups!r} must be a dictionary of lists of columns, or a separator.")
        found: dict[str, str] = {}
        for group, columns in self.groups.items():
            columns = column_names(columns)
            if unknown := [name for name in columns if name not in names]:
                raise ValueError(f"groups: {group!r} names {list_names(unknown)}, which X does not have.")
            if twice := [name for name in columns if name in found]:
                raise ValueError(f"groups: {list_names(twice)} is in {found[twice[0]]!r} and in {group!r}.")
            if not columns:
                raise ValueError(f"groups: {group!r} has no column.")
            found |= dict.fromkeys(columns, str(group))
        return found

    def _supplementary(self) -> list[str]:
        given = column_names(self.supplementary)
        groups = set(self._group_of.values())
        columns = [column for name in given if name in groups for column, g in self._group_of.items() if g == name]
        return columns + [name for name in given if name not in groups and self._require_column(name)]

    def _require_column(self, name: str) -> bool:
        """An error unless a name is that of a column with a group."""
        if name not in self._group_of:
            raise ValueError(f"supplementary: {name!r} is neither a group nor a column of one.")
        return True

    def coded_rows(self, source: Any, sample_weight: Any = None) -> Source:
        # The groups become a parameter as well: the names of coded columns do not tell them.
        grouped: dict[str, list[str]] = {}
        for name, group in self._group_of.items():
            grouped.setdefault(group, []).append(name)
        self.groups = grouped
        return super().coded_rows(source, sample_weight)

    def shuffled_together(self) -> list[list[int]]:
        # The columns of a group stay related, so that its weights stay what they are.
        found: dict[str, list[int]] = {}
        for j, name in enumerate(self._whole_coding.columns):
            found.setdefault(self._group_of[name], []).append(j)
        return list(found.values())

    def _unrelated(self, coding: Coding) -> list[np.ndarray]:
        return list(self._places_of(coding).values())

    def _places_of(self, coding: Coding) -> dict[str, np.ndarray]:
        """The coded columns of each group."""
        found: dict[str, list[int]] = {}
        for name, piece in coding.columns.items():
            found.setdefault(self._group_of[name], []).extend(range(piece.start, piece.stop))
        return {group: np.array(places) for group, places in found.items()}

    def _is_scaled(self, group: str) -> bool:
        return bool(self.scale.get(group, True) if isinstance(self.scale, Mapping) else self.scale)

    def _is_centred_only(self, codings: Sequence[Coding]) -> np.ndarray:
        found = []
        for coding in codings:
            found += [not self._is_scaled(self._group_of[name]) for name in coding.numbers]
            found += [False] * sum(coding.widths)
        return np.array(found, dtype=bool)

    def _weights(self, moments: Any, coding: Coding) -> np.ndarray:
        weights, _ = self._group_weights(moments, coding)
        return weights

    def _group_weights(self, moments: Any, coding: Coding) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The weights of coded columns, and the eigenvalues of the separate analysis of each group."""
        a, inertias = len(coding.numbers), {}
        weights = np.concatenate([numbers_scale(moments, a), 1.0 / moments.mean[a:]])
        for group, places in self._places_of(coding).items():
            numeric = places[places < a]
            if not self._is_scaled(group):
                weights[numeric] = 1.0
            root = np.sqrt(weights[places])
            S = moments.scatter[np.ix_(places, places)] * root * root[:, None] / moments.weight
            values = np.clip(eigh_descending(S)[0], 0.0, None)
            if values[0] <= 0.0:
                raise ValueError(f"group {group!r} does not vary. Leave it out.")
            weights[places] /= values[0]
            categories = [name for name in coding.categories if self._group_of[name] == group]
            # Of categories only, the eigenvalues of MCA are these over the number of columns.
            rank = len(numeric) + sum(len(coding.levels[coding.categories.index(name)]) - 1 for name in categories)
            inertias[group] = values[:rank] / (1 if len(numeric) else len(categories))
        return weights, inertias

    def _solve(self, moments: Moments, plan: Plan) -> None:
        super()._solve(moments, plan)
        S, _, sizes, self.group_inertias_ = self._weighted_scatter(moments)
        self.group_names_ = list(sizes)
        # The common configuration consists of all active groups, over the first eigenvalue.
        every = np.arange(self.coding_.width)
        blocks, units = [*sizes.values(), every], [*np.ones(len(sizes)), float(self._inertias[0])]
        self.lg_ = np.array(
            [
                [np.sum(S[np.ix_(g, h)] ** 2) / (u * v) for h, v in zip(blocks, units, strict=True)]
                for g, u in zip(blocks, units, strict=True)
            ]
        )

    def _weighted_scatter(
        self, moments: Moments
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The covariances of all coded columns times the roots of their weights, active columns first; these roots; the
        columns of each group; and the eigenvalues of the separate analysis of each group."""
        A, active, beside = self._image(moments)
        used, a = moments.image(A), active.width
        parts = []
        for coding, piece in ((active, slice(0, a)), (beside, slice(a, None))):
            part = Moments(max(coding.width, 1))
            part.weight, part.mean = used.weight, used.mean[piece]
            part.scatter = used.scatter[piece, piece]
            parts.append(part)
        weights, inertias = self._group_weights(parts[0], active)
        sizes = self._places_of(active)
        if beside.width:
            more, others = self._group_weights(parts[1], beside)
            # A column of an active group that is supplementary is no group of its own.
            others = {group: values for group, values in others.items() if group not in sizes}
            weights = np.concatenate([weights, more])
            sizes |= {g: places + a for g, places in self._places_of(beside).items() if g in others}
            inertias |= others
        root = np.sqrt(weights)
        return used.scatter * root * root[:, None] / used.weight, root, sizes, inertias

    @property
    def rv_(self) -> np.ndarray:
        """RV coefficients between the groups, and with their common configuration, which is the last."""
        check_is_fitted(self)
        root = np.sqrt(np.diagonal(self.lg_))
        return np.asarray(self.lg_ / root / root[:, None])

    @property
    def n_active_groups_(self) -> int:
        """The number of groups that take part in the fit; they are the first of `group_names_`."""
        check_is_fitted(self)
        return len(self._places_of(self.coding_))

    @property
    def group_coordinates_(self) -> np.ndarray:
        """The coordinates of the active groups, shape (n_groups, n_components): the part of each in the eigenvalues,
        which is Lg between the dimension and the group, from 0 to 1."""
        check_is_fitted(self)
        share = [(self.components_[:, places] ** 2).sum(axis=1) for places in self._places_of(self.coding_).values()]
        return np.array(share) * self.explained_variance_

    def partial_coordinates(self, X: TableLike) -> dict[str, np.ndarray]:
        """The coordinates of the rows of `X` as each active group alone sees them: the number of groups times the part
        of the group in the coordinates. The coordinates are the mean of these."""
        check_is_fitted(self)
        places = self._places_of(self.coding_)
        A = (self.components_ / self.scale_).T

        def parts(block: Categories) -> Array:
            found = []
            for of_group in places.values():
                only = np.zeros_like(A)
                only[of_group] = len(places) * A[of_group]
                found.append(CodedScores(self.coding_, only, self.mean_)(block))
            return np.concatenate(found, axis=1)

        k, stacked = self.n_components_, self._map(X, parts, "partial_coordinates")
        return {group: stacked[:, i * k : (i + 1) * k] for i, group in enumerate(places)}
