"""Combinations of the columns of tables: by coordinates, or, where these are not needed, by products of columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from .views import Views

#: Products of variates that differ by no more than this from the unit matrix differ from it by rounding: its square is
#: below the rounding of float64.
_NEARLY_ORTHONORMAL = 1e-8


class Combinations(ABC):
    """For each table with coordinates A_i, combinations V_i of its columns, (m, k_i)."""

    def __init__(self, views: Views) -> None:
        self._views = views

    @abstractmethod
    def coordinates(self, i: int) -> np.ndarray:
        """V_i."""

    @abstractmethod
    def inner(self, i: int, j: int) -> np.ndarray:
        """V_i^T V_j."""

    @abstractmethod
    def with_columns(self, i: int, j: int) -> np.ndarray:
        """A_i^T V_j."""

    @abstractmethod
    def times(self, factors: Sequence[np.ndarray]) -> Combinations:
        """The combinations V_i F_i."""

    def regression(self, j: int, i: int) -> np.ndarray:
        """The coefficients B of the least squares regression of the columns of table j on V_i, A_j = V_i B.

        If V_i is orthonormal up to rounding, V_i^T V_i = I + E, this is B = (I - E) V_i^T A_j up to E^2.
        """
        E = self.inner(i, i)
        E = E - np.eye(len(E))
        if np.abs(E).max(initial=0.0) > _NEARLY_ORTHONORMAL:
            return np.linalg.lstsq(self.coordinates(i), self._views.tables[j].table, rcond=None)[0]
        products = self.with_columns(j, i).T
        return products - E @ products


class ByCoordinates(Combinations):
    """Combinations whose coordinates are known."""

    def __init__(self, views: Views, vectors: Sequence[np.ndarray]) -> None:
        super().__init__(views)
        self._vectors = vectors

    def coordinates(self, i: int) -> np.ndarray:
        return self._vectors[i]

    def inner(self, i: int, j: int) -> np.ndarray:
        return self._vectors[i].T @ self._vectors[j]

    def with_columns(self, i: int, j: int) -> np.ndarray:
        return self._views.tables[i].table.T @ self._vectors[j]

    def times(self, factors: Sequence[np.ndarray]) -> ByCoordinates:
        return ByCoordinates(self._views, [V @ F for V, F in zip(self._vectors, factors, strict=True)])


class ByProducts(Combinations):
    """Combinations V_i = A_i W_i whose weights W_i are known. Coordinates are computed only if they are asked for; all
    else follows from the products A_i^T A_j."""

    def __init__(self, views: Views, weights: Sequence[np.ndarray]) -> None:
        super().__init__(views)
        self._weights = weights
        #: What was computed so far: each is asked for several times.
        self._with_columns: dict[tuple[int, int], np.ndarray] = {}

    def coordinates(self, i: int) -> np.ndarray:
        return self._views.tables[i].table @ self._weights[i]

    def inner(self, i: int, j: int) -> np.ndarray:
        return self._weights[i].T @ self.with_columns(i, j)

    def with_columns(self, i: int, j: int) -> np.ndarray:
        found = self._with_columns.get((i, j))
        if found is None:
            products = self._views.products(i, j)
            assert products is not None, "combinations by products are made only if these are known"
            found = self._with_columns[i, j] = products @ self._weights[j]
        return found

    def times(self, factors: Sequence[np.ndarray]) -> ByProducts:
        return ByProducts(self._views, [W @ F for W, F in zip(self._weights, factors, strict=True)])
