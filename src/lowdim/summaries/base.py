"""The protocol of a summary: a monoid over blocks of rows.

`update(block, weights)` takes rows in, `merge(other)` takes another summary in, `fresh()` gives the identity. What a
summary holds after all rows does not depend on how they were cut into blocks or in which order these were merged,
up to rounding. A summary sees blocks and never learns where they come from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .._xp import Array, Beside, astype, device, is_sparse, namespace, to_numpy, wide_dtype
from ..errors import NonFiniteBlock

#: Blocks of about this size are summed while they lie in cache.
CACHE_BYTES = 4 << 20
#: Up to this many columns the product of a block is too small for a threaded BLAS.
NARROW = 768
#: Squares in float32 are trusted between these bounds.
_FLOAT32_SQUARES = (1e-28, 1e35)


S = TypeVar("S", bound="Summary")


class Summary(ABC):
    """What is remembered of rows."""

    #: Names of the attributes that say what is summed: only summaries that agree on them can be merged.
    parameters: ClassVar[tuple[str, ...]]
    #: Names of all attributes that make up the summary, for `save`.
    state: ClassVar[tuple[str, ...]]
    #: NaN means "not observed" and is welcome.
    takes_nan: ClassVar[bool] = False
    #: Tables side by side need not be joined first.
    takes_pieces: ClassVar[bool] = False

    @property
    def threaded_blas(self) -> bool:
        """Whether the product of one block is large enough to keep a threaded BLAS busy by itself."""
        return False

    def update(self, block: Array, weights: Array | None = None) -> None:
        """Take in the rows of `block`, a dense or CSR block, row i counted `weights[i]` times (zero: not at all)."""
        if isinstance(block, Beside) and not (self.takes_pieces and weights is None):
            block = block.joined()
        if weights is not None:
            block, weights = _positive(block, weights)
        if block.shape[0]:
            self._update(block, weights)

    def merge(self, other: Self) -> None:
        """Take in all that `other` has seen; `other` is left as it was."""
        if type(self) is not type(other):
            raise TypeError(f"a {type(self).__name__} cannot be merged with a {type(other).__name__}.")
        for name in self.parameters:
            if not _same(getattr(self, name), getattr(other, name)):
                raise ValueError(
                    f"two {type(self).__name__} summaries with different {name} cannot be merged: they are sums of "
                    "different things."
                )
        with np.errstate(over="ignore", invalid="ignore"):
            self._merge(other)

    @abstractmethod
    def _update(self, block: Array, weights: Array | None) -> None:
        """Take in a block that has rows, all of positive weight."""

    @abstractmethod
    def _merge(self, other: Self) -> None:
        """Take in `other`, which has the same parameters."""

    @abstractmethod
    def fresh(self) -> Self:
        """An empty summary with the same parameters: the identity of `merge`."""

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        """How many rows a block should have; `stored` is the fraction of entries that sparse rows store."""
        return max(16, CACHE_BYTES // max(1, n_columns * itemsize))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the summary to a `.npz` file (plain arrays, no pickle)."""
        arrays: dict[str, Any] = {n: to_numpy(value) for n in self.state if (value := getattr(self, n)) is not None}
        with open(path, "wb") as file:
            np.savez(file, kind=np.array(type(self).__name__), **arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            kind = str(stored["kind"])
            if kind != cls.__name__:
                raise ValueError(f"{path} holds a {kind}, not a {cls.__name__}; use lowdim.{kind}.load(path).")
            return cls._from_state({name: stored[name] for name in cls.state if name in stored})

    @classmethod
    def _from_state(cls, state: dict[str, np.ndarray]) -> Self:
        raise NotImplementedError


def union(summaries: Sequence[S]) -> S:
    """All summaries as one; those that came in are left as they were."""
    total = summaries[0].fresh()
    for summary in summaries:
        total.merge(summary)
    return total


def total_weight(block: Array, weights: Array | None) -> float:
    """How many rows the block counts as."""
    if weights is None:
        return float(block.shape[0])
    return float(namespace(weights).sum(weights))


def row_weights(like: Array, weights: Array | None) -> Array:
    """One weight a row, of the length and dtype of `like`."""
    return namespace(like).ones_like(like) if weights is None else astype(weights, like.dtype)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and what the rounding left out (Knuth). Means are kept in two such parts: when they are merged,
    their difference matters, and at an offset of 1e8 one float64 has only half its digits left for it."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def scaled_rows(Z: Array, weights: Array | None) -> Array:
    """Rows of `Z` times the square roots of their weights."""
    if weights is None:
        return Z
    xp = namespace(Z)
    return Z * xp.sqrt(weights)[:, None]


def column_groups(n_features: int, groups: Sequence[int] | None) -> tuple[int, ...]:
    """Widths of tables side by side, which add up to all columns; one table where none are given."""
    widths = (n_features,) if groups is None else tuple(int(g) for g in groups)
    if sum(widths) != n_features or min(widths) < 1:
        raise ValueError(f"groups={widths} must be positive widths that add up to n_features={n_features}.")
    return widths


def check_columns(expected: int, block: Array) -> None:
    """A summary sees blocks of one width."""
    if block.shape[1] != expected:
        raise ValueError(f"this summary is of {expected} columns, the block has {block.shape[1]}.")


def check_squares(squares: Array) -> None:
    """Sums of squares must be finite, and so must be their sum over the columns."""
    xp = namespace(squares)
    limit = float(xp.finfo(squares.dtype).max) / 16 / squares.shape[0]
    if not float(xp.max(squares)) <= limit:
        raise NonFiniteBlock


def is_far(s: Array, squares: Array, weight: float) -> bool:
    """Whether, in some column, sums `s` and sums of squares `squares` about a shift are nearly all offset: the mean is
    more than ten deviations away, and a subtraction would cost digits."""
    xp = namespace(squares)
    spread = squares - s * s / weight
    return bool(xp.any(spread < 0.01 * squares))


def products_in_range(Z: Array) -> Array:
    """Z^T Z, in float64 where float32 has no room for the squares."""
    P = Z.T @ Z
    xp = namespace(P)
    if P.dtype == xp.float32:
        low, high = _FLOAT32_SQUARES
        if not low < float(xp.max(xp.linalg.diagonal(P))) < high:
            Z = astype(Z, wide_dtype(xp, device(P)))
            P = Z.T @ Z
    return P


def _positive(block: Array, weights: Array) -> tuple[Array, Array]:
    """The rows of a block that count, with their weights."""
    xp = namespace(weights)
    keep = weights > 0
    if bool(xp.all(keep)):
        return block, weights
    index = xp.nonzero(keep)[0]
    if is_sparse(block):
        return block[index], weights[index]
    return xp.take(block, index, axis=0), xp.take(weights, index, axis=0)


def _same(a: Any, b: Any) -> bool:
    """Equality of parameters that may be arrays."""
    if a is b:
        return True
    if not hasattr(a, "shape") or not hasattr(b, "shape"):
        return not hasattr(a, "shape") and not hasattr(b, "shape") and a == b
    return tuple(a.shape) == tuple(b.shape) and bool(namespace(a).all(a == b))
