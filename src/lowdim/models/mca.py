"""Multiple correspondence analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array
from .._core.types import RandomState
from ..coding import Coding
from ..errors import list_names
from ..selection.rules import RuleName
from .mixed import MixedModel


class MCA(MixedModel):
    """Multiple correspondence analysis: the directions in which the categories of rows differ most.

    The PCA of tables whose columns are categories: the first dimension is the score of the rows whose average squared
    correlation ratio with the columns is largest.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of dimensions. A number in (0, 1) keeps the fewest whose proportion of the inertia reaches it; the name
        of a rule keeps the number that the rule chooses; None keeps all.
    levels : dict of str to list, default=None
        The levels of columns, in their order. By default they are found in the rows: those of ordered categoricals in
        their order, those of others sorted, as numbers if all are numbers.
    min_frequency : int or float, default=None
        Levels with fewer rows, or with a smaller share of the rows, are pooled in one level, "(rare)".
    missing : {"level", "passive", "error"}, default="level"
        Missing entries are a level of their own, "(missing)"; or they are passive, so that a row is where it would be
        with an average entry; or they are an error.
    supplementary : list of str, default=None
        Columns, of numbers or categories, that do not take part in the fit. Their coordinates are computed in the same
        pass.
    random_state : int, RandomState or None, default=None
        Seed of rules that draw random numbers; None is a fixed seed.

    Attributes
    ----------
    components_ : array of shape (n_components, n_levels)
        Unit eigenvectors in the coded columns, one for each level, after a division by `scale_`.
    explained_variance_ : array of shape (n_components,)
        The eigenvalues (principal inertias), at most 1.
    explained_variance_ratio_ : array of shape (n_components,)
        Their shares of the total inertia.
    adjusted_inertia_, benzecri_ratio_, greenacre_ratio_ : arrays
        Eigenvalues that are adjusted for the coding, and their shares by Benzecri and by Greenacre.
    levels_ : dict
        The levels of each column.
    mean_ : array of shape (n_levels,)
        The share of the rows that have each level.
    scale_ : array of shape (n_levels,)
        sqrt(J mean_) for J columns.
    singular_values_, n_components_, n_features_in_, feature_names_in_, n_samples_, total_inertia_, coding_, summary_

    Notes
    -----
    With p_j the share of the rows that have level j, J columns and P levels, the coded columns are
    z_j = 1{level j} / p_j - 1, and their weights q_j = p_j / J. The eigenvalues add up to P / J - 1. It is the
    correspondence analysis of the table of zeros and ones, and its eigenvalues are the square roots of those of the
    Burt table [1]_. Two passes, the first of which finds the levels, and P^2 numbers.

    References
    ----------
    .. [1] Greenacre (2017), Correspondence analysis in practice, 3rd edition, chapters 18 and 19.

    Examples
    --------
    >>> from lowdim import MCA
    >>> rows = [["tea", "sugar"], ["tea", "plain"], ["coffee", "sugar"], ["tea", "plain"], ["coffee", "sugar"]]
    >>> mca = MCA(1).fit(rows)
    >>> mca.levels_
    {'x1': ['coffee', 'tea'], 'x2': ['plain', 'sugar']}
    >>> mca.explained_variance_.round(3)
    array([0.833])
    """

    levels_have_unit_axes = True

    def __init__(
        self,
        n_components: int | float | RuleName | None = None,
        *,
        levels: Mapping[str, Sequence[Any]] | None = None,
        min_frequency: float | int | None = None,
        missing: Literal["level", "passive", "error"] = "level",
        supplementary: Sequence[str] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.levels = levels
        self.min_frequency = min_frequency
        self.missing = missing
        self.supplementary = supplementary
        self.random_state = random_state

    def _roles(self, kinds: Mapping[str, str]) -> tuple[list[str], list[str]]:
        aside = self._supplementary()
        if wrong := [name for name, kind in kinds.items() if kind == "other"]:
            raise ValueError(f"column {list_names(wrong)} holds neither text nor numbers, and cannot be a category.")
        numeric = [name for name in aside if kinds[name] == "number"]
        return numeric, [name for name in kinds if name not in numeric]

    def _weights(self, moments: Any, coding: Coding) -> np.ndarray:
        # q_j / d_j^2 with q_j = p_j / J and d_j = p_j.
        return np.asarray(1.0 / (len(coding.categories) * moments.mean))

    @property
    def adjusted_inertia_(self) -> np.ndarray:
        """(J / (J - 1))^2 (lambda - 1/J)^2 for lambda > 1/J, and zero for the others."""
        check_is_fitted(self)
        return self._adjusted(self.explained_variance_)

    @property
    def benzecri_ratio_(self) -> np.ndarray:
        """The shares of the adjusted inertias in their sum over all dimensions."""
        return self.adjusted_inertia_ / (self._adjusted(self._inertias).sum() or 1.0)

    @property
    def greenacre_ratio_(self) -> np.ndarray:
        """The shares of the adjusted inertias in the average inertia of the tables of two different columns,
        J / (J - 1) (sum lambda^2 - (P - J) / J^2)."""
        J, P = len(self.coding_.categories), len(self.mean_)
        average = J / max(J - 1, 1) * (float(self._inertias @ self._inertias) - (P - J) / J**2)
        return self.adjusted_inertia_ / (average or 1.0)

    def _adjusted(self, inertias: np.ndarray) -> np.ndarray:
        """Adjusted inertias of some dimensions."""
        J = len(self.coding_.categories)
        return np.asarray((J / max(J - 1, 1) * np.clip(inertias - 1.0 / J, 0.0, None)) ** 2)

    def _importance(self) -> list[tuple[str, Array]]:
        return [*super()._importance(), ("Benzecri", self.benzecri_ratio_), ("Greenacre", self.greenacre_ratio_)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags
