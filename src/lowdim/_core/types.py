"""Types of arguments, for type checkers: rows and vectors of any library, and random numbers.

The libraries need not be installed, so protocols name what their objects have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np


class HasShape(Protocol):
    """An array, sparse matrix, data frame or column of any library, an array in a file, or a source."""

    @property
    def shape(self) -> tuple[object, ...]: ...


class HasArrow(Protocol):
    """An object that speaks Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class HasBatches(Protocol):
    """A dataset of pyarrow."""

    def to_batches(self) -> Iterable[Any]: ...


class CanCollect(Protocol):
    """A data frame of Spark, or a lazy frame of polars."""

    def collect(self) -> Any: ...


class CanCast(Protocol):
    """A column of Spark, which may be an expression of other columns."""

    def cast(self, dataType: Any, /) -> Any: ...


#: One number or label for each row, or the name of a column that holds them.
VectorLike: TypeAlias = HasShape | CanCast | Sequence[Any] | str
RandomState: TypeAlias = int | np.integer | np.random.RandomState | None


class HasTransform(Protocol):
    """A transformer of scikit-learn."""

    def fit(self, X: Any, y: Any = None) -> Any: ...
    def transform(self, X: Any) -> Any: ...


class HasParameters(Protocol):
    """A module of torch."""

    def parameters(self) -> Iterable[Any]: ...


class Estimator(Protocol):
    """A model, or a pipeline of scikit-learn."""

    def fit(self, X: Any, y: Any = None) -> Any: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
