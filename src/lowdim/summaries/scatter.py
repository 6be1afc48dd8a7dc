"""The base class of summaries of a mean and a scatter matrix."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from .._xp import Array
from ..linalg import divisor, require_rows
from .base import NARROW, Layout, Summary, column_groups


class ScatterSummary(Summary):
    """Total weight, mean and scatter about the mean of p columns, which may be those of several tables side by side."""

    parameters = ("n_features", "groups")
    kinds: ClassVar[dict[str, str]] = {"groups": "i"}
    nonnegative: ClassVar[tuple[str, ...]] = ("weight",)
    #: sum_i w_i (x_i - mean)(x_i - mean)^T, not divided by the weight.
    scatter: Any

    def __init__(self, n_features: int, *, groups: Sequence[int] | None = None) -> None:
        self.n_features = int(n_features)
        self.groups = column_groups(self.n_features, groups)
        self.n_rows = 0
        self.weight = 0.0
        self.mean: Any = None
        self.rest: Any = None

    @property
    def threaded_blas(self) -> bool:
        """Whether there are enough columns for the product of a block to keep all BLAS threads busy."""
        return self.n_features > NARROW

    def covariance(self, ddof: int = 1) -> Array:
        """scatter / (weight - ddof)."""
        require_rows(self.n_rows, self.weight, ddof)
        return self.scatter / divisor(self.weight, ddof)

    @abstractmethod
    def about_zero(self) -> Self:
        """The second moments of the same rows about zero, as a summary of mean zero: its scatter is that about the mean
        plus weight mean mean^T. Further rows cannot be added to it."""

    def _layout(self) -> Layout:
        p = self.n_features
        counts: Layout = {"n_features": (), "groups": (None,), "n_rows": (), "weight": ()}
        return counts | {"mean": (p,), "rest": (p,)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_rows} rows of weight {self.weight:g}, {self.n_features} columns)"
