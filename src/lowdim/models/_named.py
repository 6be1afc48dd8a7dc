"""The names of the components and columns of a model, which are the same wherever they appear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from ..tabular import numbered


# scikit-learn has no types, so its bases are Any.
class Named(ClassNamePrefixFeaturesOutMixin):  # type: ignore[misc]
    """Mixin of models: names of components and columns."""

    n_components_: int
    n_features_in_: int
    #: The name of a component, which a number follows: PC1, PC2, ...
    component_name = "PC"

    @property
    def component_names_(self) -> list[str]:
        """The names of the components, wherever they appear: in tables, data frames, files and messages."""
        check_is_fitted(self)
        return numbered(self.component_name, self.n_components_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the columns of the result of `transform`: `component_names_`.

        Parameters
        ----------
        input_features : array of str, optional
            It is only compared with the names of the columns of the fit.
        """
        super().get_feature_names_out(input_features)
        return np.asarray(self.component_names_, dtype=object)

    def _score_names(self) -> list[str]:
        """`component_names_` as a method."""
        return self.component_names_

    @property
    def _n_features_out(self) -> int:
        """What scikit-learn asks for: the number of columns of the result of `transform`."""
        return int(self.n_components_)

    def _column_names(self, table: int = 0) -> list[str]:
        """The names of the columns of a table of the fit; x1, x2, ... (second table: y1, y2, ...) if they had none."""
        known = self._known_names(table)
        if known is None:
            return numbered(self._column_name(table), self._widths()[table])
        return [str(name) for name in known]

    def _known_names(self, table: int) -> Sequence[str] | None:
        """The names that the columns of a table had in the fit, if they had any."""
        names: Sequence[str] | None = getattr(self, ("feature_names_in_", "target_names_in_")[table], None)
        return names

    def _wanted(self) -> list[str] | None:
        """The names of the columns of new rows, which are those of the fit; None if these had none."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _column_name(self, table: int) -> str:
        """The name of a column without a name, which a number follows."""
        return "xy"[table]

    def _widths(self) -> Sequence[int]:
        """The number of columns of each table of the fit."""
        return (self.n_features_in_,)
