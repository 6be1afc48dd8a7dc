"""The protocol of a summary: a monoid over blocks of rows.

`update(block, weights)` adds the rows of a block, `merge(other)` adds another summary, and `fresh()` returns an empty
summary, the identity of `merge`. Up to rounding, the result does not depend on how the rows were cut into blocks or in
which order these were merged. A summary sees blocks only, and does not know where they come from.

A summary declares the names of its attributes (`parameters`, `options`, `state`); merging, `fresh`, `save` and `load`
follow from these names.

An update or a merge that is refused leaves the summary as it was. For this, subclasses define what would change
(`_updated`, `_merged`) and change nothing themselves; `update` and `merge` make the changes once all are known.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from itertools import accumulate, pairwise
from os import PathLike
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .._xp import Array, Beside, astype, device, namespace, wide_dtype
from ..container import flatten, write
from ..errors import NonFiniteBlock, no_rows_seen, squares_about_zero
from ..linalg import FLOAT32_SQUARES
from .blocks import check_block, counted_rows
from .loaded import check_shapes, check_values, read_summary, stored_values, with_summaries
from .names import Names, agreed_names, checked_names

#: Blocks of about this size stay in cache while they are summed.
CACHE_BYTES = 4 << 20
#: Up to this many columns the product of a block is too small for a threaded BLAS.
NARROW = 768

#: New values of attributes of a summary, by name.
Changes = dict[str, Any]
#: Shapes of values of a summary, by name: () for a number; None is any length.
Layout = dict[str, tuple[int | None, ...]]

S = TypeVar("S", bound="Summary")


class Summary(ABC):
    """Statistics of rows that are accumulated block by block and can be merged.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import Moments
    >>> from lowdim.summaries import Summary
    >>> both = Moments(2)
    >>> isinstance(both, Summary)
    True
    >>> both.update(np.array([[1.0, 2.0], [3.0, 3.0]]))
    >>> both.update(np.array([[5.0, 7.0]]), np.array([2.0]))  # one row of weight 2
    >>> both.weight, both.mean
    (4.0, array([3.5 , 4.75]))
    """

    #: Names of the attributes that define what is summed: only summaries with equal values of them can be merged. They
    #: are arguments of the constructor, unless a class overrides `_empty` and `_made_from`.
    parameters: ClassVar[tuple[str, ...]]
    #: Names of further arguments of the constructor, which may differ between summaries that are merged.
    options: ClassVar[tuple[str, ...]] = ()
    #: Names of all attributes that make up the summary: these are saved.
    state: ClassVar[tuple[str, ...]]
    #: Names in `state` that were added after the first files were written, so that files may lack them. They keep the
    #: values of an empty summary then.
    added: ClassVar[tuple[str, ...]] = ()
    #: Names of parameters that may be None.
    optional: ClassVar[tuple[str, ...]] = ()
    #: Kinds of dtypes, as NumPy names them, of arrays that are not floats, or need not be.
    kinds: ClassVar[dict[str, str]] = {}
    #: Names of values that are never negative, and of symmetric matrices whose diagonal is never negative.
    nonnegative: ClassVar[tuple[str, ...]] = ()
    symmetric: ClassVar[tuple[str, ...]] = ()
    #: Whether NaN stands for a missing entry.
    takes_nan: ClassVar[bool] = False
    #: The powers of the entries that are summed and may overflow, for messages.
    powers: ClassVar[str] = "squares"
    #: Whether `update` accepts several tables side by side (a `Beside` block) without joining them first.
    takes_pieces: ClassVar[bool] = False
    #: Whether blocks on a device may have any size, because they are summed up in slices.
    slices_on_device: ClassVar[bool] = False
    _names: Names = None

    @property
    def names(self) -> Names:
        """The names of the columns of the rows, all tables side by side, or None; `summarize` takes them from its
        source. Rows and summaries with other names, or with the same names in another order, are refused."""
        return self._names

    @names.setter
    def names(self, names: Sequence[str | None] | None) -> None:
        self._set_names(checked_names(names, getattr(self, "n_features", None)))

    @property
    def threaded_blas(self) -> bool:
        """Whether the product of one block is large enough to keep a threaded BLAS busy by itself."""
        return False

    def update(self, block: Array, weights: Array | None = None) -> None:
        """Add the rows of `block`, a dense array or a CSR array; row i counts `weights[i]` times. Rows of weight zero
        are ignored. If the block is refused, the summary stays as it was."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            self._change(self._changes_from(block, weights))

    def merge(self, other: Self) -> None:
        """Add all rows that `other` has summed up; `other` is not changed. If `other` is refused, the summary stays as
        it was."""
        if type(self) is not type(other):
            raise TypeError(f"a {type(self).__name__} cannot be merged with a {type(other).__name__}.")
        names = agreed_names(self.names, other.names, f"the {type(self).__name__} to be merged")
        for name in self.parameters:
            if not same_parameters(getattr(self, name), getattr(other, name)):
                raise ValueError(
                    f"two {type(self).__name__} summaries with different {name} cannot be merged: they are sums of "
                    "different things."
                )
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            self._change(self._merged(other))
        if names is not self.names:
            self._set_names(names)

    def _changes_from(self, block: Array, weights: Array | None) -> Changes:
        """What changes when a block is added, after checks of the block and its weights."""
        if isinstance(block, Beside) and not (self.takes_pieces and weights is None):
            block = block.joined()
        block = check_block(block)
        if weights is not None:
            block, weights = counted_rows(block, weights)
        return self._updated(block, weights) if block.shape[0] else {}

    @abstractmethod
    def _updated(self, block: Array, weights: Array | None) -> Changes:
        """What changes when a block is added that has at least one row; all weights are positive. Arrays that belong to
        the summary must not be overwritten."""

    @abstractmethod
    def _merged(self, other: Self) -> Changes:
        """What changes when `other` is added, which has the same parameters. Arrays that belong to either summary must
        not be overwritten."""

    def _set_names(self, names: Names) -> None:
        """Set the names of the columns, which have been checked."""
        self._names = names

    def snapshot(self) -> Self:
        """This summary as it is now; later updates of either do not change the other. Arrays are shared, since they are
        replaced and never overwritten."""
        return copy(self)

    def restore(self, other: Self) -> None:
        """Take over the sums of another summary with the same parameters, in place of those so far."""
        self.__dict__.update(other.snapshot().__dict__)

    def _plus(self, sums: Changes) -> Changes:
        """What changes when these sums of further rows are added to those so far, which are None before the first."""
        return {name: part if (so_far := getattr(self, name)) is None else so_far + part for name, part in sums.items()}

    def _change(self, changes: Changes) -> None:
        """Make the changes that `_updated` or `_merged` returned."""
        self.__dict__.update(changes)

    def fresh(self) -> Self:
        """An empty summary with the same parameters and names: the identity of `merge`."""
        empty = self._empty()
        empty._set_names(self.names)
        return empty

    def _empty(self) -> Self:
        """An empty summary with the same parameters."""
        return type(self)(**{name: getattr(self, name) for name in (*self.parameters, *self.options)})

    def from_products(self, known: Any) -> Self | None:
        """This summary of all features, from known inner products of all samples (a `Gram`); None if these do not
        suffice."""
        return None

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        """How many rows a block should have; `stored` is the fraction of entries that sparse rows store."""
        return max(16, CACHE_BYTES // max(1, n_columns * itemsize))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the summary to a file: a safetensors file with a checksum, no pickle. It appears under its name when it
        is whole; a file of that name is replaced then. Arrays on a device are saved from the host."""
        write(path, *flatten({"holds": "summary"} | self._tree()))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a summary from a file that `save` wrote.

        The class, the parameters and the shapes and dtypes of all arrays are checked before these are read. Then all
        numbers must be finite, and signs and counts must be possible, so that a damaged file is refused here and does
        not lead to wrong results later. The memory taken is about the size of the file.
        """
        return read_summary(path, cls)

    def __sizeof__(self) -> int:
        """The bytes of everything that it holds. Dask sends tasks where most bytes are, and watches the memory of its
        workers by them."""
        return object.__sizeof__(self) + sum(_held_bytes(value) for value in vars(self).values())

    def _tree(self) -> dict[str, Any]:
        """The name of the class, the names of the columns if they are known, and the values of `state` as a tree;
        nested summaries become trees as well."""
        return {
            "class": type(self).__name__,
            "names": None if self.names is None else list(self.names),
            "state": {name: _without_objects(getattr(self, name)) for name in self.state},
        }

    @classmethod
    def _from_tree(cls, tree: dict[str, Any], declared: bool = False) -> Self:
        """Rebuild a summary from the tree that its `_tree` returned. `declared`: the arrays have not been read yet,
        only their shapes and dtypes are known, and only these are checked."""
        stored = {name: with_summaries(value, declared) for name, value in stored_values(cls, tree).items()}
        summary = cls._made_from(stored)
        summary._restore(stored)
        summary.names = tree["names"]
        check_shapes(summary)
        if not declared:
            check_values(summary)
        return summary

    @abstractmethod
    def _layout(self) -> Layout:
        """The shape of each value in `state`. Values that are summaries or text are left out, and so are sums that this
        summary was told not to make."""

    @classmethod
    def _made_from(cls, stored: dict[str, Any]) -> Self:
        """An empty summary with the parameters in `stored`; these are removed from `stored`."""
        return cls(**{name: stored.pop(name) for name in (*cls.parameters, *cls.options) if name in stored})

    def _restore(self, stored: dict[str, Any]) -> None:
        """Set the attributes in `stored`; all others keep the values of an empty summary."""
        for name, value in stored.items():
            setattr(self, name, value)


def _held_bytes(value: Any) -> int:
    if isinstance(value, dict | list | tuple):
        return sum(_held_bytes(item) for item in (value.values() if isinstance(value, dict) else value))
    return int(getattr(value, "nbytes", 0)) or sys.getsizeof(value)


def require_seen(summary: Any) -> None:
    """Raise an error if a summary of moments has seen no rows."""
    if summary.mean is None:
        raise no_rows_seen()


def union(summaries: Sequence[S]) -> S:
    """All summaries merged into a new one; the summaries themselves are not changed."""
    total = summaries[0].fresh()
    for summary in summaries:
        total.merge(summary)
    return total


def total_weight(block: Array, weights: Array | None) -> float:
    """The sum of the weights of a block; without weights, its number of rows."""
    if weights is None:
        return float(block.shape[0])
    return float(namespace(weights).sum(weights))


def row_weights(like: Array, weights: Array | None) -> Array:
    """One weight for each row, of the length and dtype of `like`; ones if no weights are given."""
    return namespace(like).ones_like(like) if weights is None else astype(weights, like.dtype)


def scaled_rows(Z: Array, weights: Array | None) -> Array:
    """Rows of `Z` times the square roots of their weights."""
    if weights is None:
        return Z
    xp = namespace(Z)
    return Z * xp.sqrt(weights)[:, None]


def column_groups(n_features: int, groups: Sequence[int] | None) -> tuple[int, ...]:
    """Widths of tables side by side, which must add up to `n_features`; one table if `groups` is None."""
    widths = (n_features,) if groups is None else tuple(int(g) for g in groups)
    if sum(widths) != n_features or min(widths) < 1:
        raise ValueError(f"groups={widths} must be positive widths that add up to n_features={n_features}.")
    return widths


def check_columns(expected: int, block: Array) -> None:
    """Raise an error if a block does not have the expected number of columns."""
    if block.shape[1] != expected:
        raise ValueError(f"this summary is of {expected} columns, the block has {block.shape[1]}.")


def check_squares(squares: Array) -> None:
    """Raise `NonFiniteBlock` if sums of squares, or their sum over the columns, are not finite."""
    if not _are_in_range(squares):
        raise NonFiniteBlock


def row_at_mean(mean: Array, weight: float) -> Array:
    """The row sqrt(weight) mean, whose squares and products are the difference between the second moments about zero
    and those about the mean; an error if its squares are not finite."""
    row = mean * math.sqrt(weight)
    with np.errstate(over="ignore"):
        if not _are_in_range(row * row):
            raise squares_about_zero()
    return row


def _are_in_range(squares: Array) -> bool:
    xp = namespace(squares)
    return float(xp.max(squares)) <= float(xp.finfo(squares.dtype).max) / 16 / squares.shape[0]


def is_far(s: Array, squares: Array, weight: float) -> bool:
    """Whether the shift is a bad one: the mean of some column is more than ten standard deviations away from it.

    `s` and `squares` are the sums of x - shift and (x - shift)^2 in each column. If the shift is far from the mean,
    subtracting s^2 / weight from the squares cancels leading digits, so that a better shift is needed.
    """
    xp = namespace(squares)
    spread = squares - s * s / weight
    return bool(xp.any(spread < 0.01 * squares))


def products_in_range(Z: Array, groups: Sequence[int] = ()) -> Array:
    """Z^T Z; in float64 if the squares of all columns, or of one of their groups, are out of the range of float32."""
    P = Z.T @ Z
    xp = namespace(P)
    if P.dtype == xp.float32:
        low, high = FLOAT32_SQUARES
        squares = xp.linalg.diagonal(P)
        edges = pairwise(accumulate(groups or (P.shape[0],), initial=0))
        if not all(low < float(xp.max(squares[i:j])) < high for i, j in edges):
            Z = astype(Z, wide_dtype(xp, device(P)))
            P = Z.T @ Z
    return P


def same_parameters(a: Any, b: Any) -> bool:
    """Whether two parameters of summaries are equal. Arrays are compared by their entries, summaries by their
    parameters."""
    if a is b:
        return True
    if isinstance(a, Summary):
        return type(a) is type(b) and all(same_parameters(getattr(a, name), getattr(b, name)) for name in a.parameters)
    if not hasattr(a, "shape") or not hasattr(b, "shape"):
        return not hasattr(a, "shape") and not hasattr(b, "shape") and a == b
    return tuple(a.shape) == tuple(b.shape) and bool(namespace(a).all(a == b))


def _without_objects(value: Any) -> Any:
    """`value` with each summary replaced by its tree."""
    if isinstance(value, Summary):
        return value._tree()
    return [_without_objects(item) for item in value] if isinstance(value, list) else value
