"""`transform` and `transform_to` of models of two tables, of which the second one may be left out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..reading import RowMap
from ._base import Model
from ._first_components import first_components
from ._output import framed_results
from ._writing import Maps, results


class PairTransform(Model):
    """Base class of models of two tables, each of which has scores."""

    _relates_y = True

    def transform(self, X: Any, y: Any = None, *, n_components: int | None = None) -> Any:
        """Scores of the rows of `X`; if `y` is given, a pair with the scores of both tables.

        With `n_components`, those of the first components only; the model is not fitted again.
        """
        check_is_fitted(self)
        maps = self._transform_maps(X, y)
        # scikit-learn makes the data frame of a single result.
        return results(maps) if len(maps) == 1 else framed_results(self, maps, X, y)

    def transform_to(
        self,
        X: Any,
        path: Any,
        *,
        y: Any = None,
        n_components: int | None = None,
        keep: Sequence[str] = (),
        overwrite: bool = False,
    ) -> str:
        """Write the scores of the rows of `X`, and beside them those of `y` if it is given, to a file.

        For the other arguments see `PCA.transform_to`. The columns of both have the names `component_names_`, after
        "X_" and "y_" if `y` is given.
        """
        maps = partial(first_components(self, n_components)._transform_maps, y=y)
        return self._write(maps, X, path, "transform_to", keep, overwrite, self._wanted(), y)

    def _transform_maps(self, X: Any, y: Any = None) -> Maps:
        X, y = self._by_name(X, y, fitted=True)
        return [self._x_map(X)] if y is None else [self._x_map(X), self._y_map(y)]

    def _x_map(self, X: Any) -> RowMap:
        """The map from rows of X to their scores."""
        return self._row_map(X, self._scoring(), "transform", self._score_names)

    @abstractmethod
    def _y_map(self, y: Any) -> RowMap:
        """The map from rows of y to their scores."""
