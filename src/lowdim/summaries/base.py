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

import inspect
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from itertools import accumulate, pairwise
from os import PathLike
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .._core import container
from .._core.arrays import (
    Array,
    Beside,
    all_finite_by_pieces,
    astype,
    asymmetry,
    is_complex,
    is_sparse,
    largest_magnitude,
    namespace,
    to_numpy,
    wide_dtype,
    working_dtype,
)
from .._core.coded import Coded
from .._core.container import flatten, write
from ..errors import (
    NonFiniteBlock,
    bad_ndim,
    bad_weights,
    complex_data,
    damaged_file,
    is_checkpoint,
    names_difference,
    refuse_former_names,
)
from ..linalg import FLOAT32_SQUARES

# Checks of a block of rows and of its weights, before they are added to a summary.


def counted_rows(block: Array, weights: Any) -> tuple[Array, Array]:
    """The rows of positive weight of a block, and their weights, which must be frequencies: one finite number for each
    row, none of them negative."""
    shape = tuple(getattr(weights, "shape", ()))
    if shape != (block.shape[0],):
        got = f"shape {shape}" if hasattr(weights, "shape") else type(weights).__name__
        raise bad_weights("must be an array with one entry per row", f"{got} for {block.shape[0]} rows")
    if isinstance(weights, np.ndarray) and weights.dtype.kind not in "fiub":
        raise bad_weights("must hold real numbers", f"dtype {weights.dtype}")
    xp = namespace(weights)
    # A quick test for the usual case: NaN is passed on by both minimum and maximum, and fails every comparison.
    if block.shape[0] == 0 or bool((xp.min(weights) > 0) & (xp.max(weights) < math.inf)):
        return block, weights
    allowed = (weights >= 0) & (weights < math.inf)
    if not bool(xp.all(allowed)):
        row = int(xp.argmin(astype(allowed, xp.int8)))
        value = float(weights[row])
        raise bad_weights("must not be negative" if value < 0 else "must be finite", f"{value} in row {row}")
    index = xp.nonzero(weights > 0)[0]
    if is_sparse(block) or isinstance(block, Coded):
        return block[index], weights[index]
    return xp.take(block, index, axis=0), xp.take(weights, index, axis=0)


# Names of the columns that were summed up: they travel with a summary, so that other columns are never added to it.
#
# Names are None if nothing is known about them, or a tuple with a name for each column. A column of a table without
# names, beside a table with names, has the name None, which agrees with every other.


Names = tuple[str | None, ...] | None


def checked_names(names: Any, n_columns: int | None) -> Names:
    """`names` as a tuple, after a check that there is one for each column; None if no column has a name."""
    if names is None:
        return None
    known = () if isinstance(names, str) else tuple(names)
    if isinstance(names, str) or not all(name is None or isinstance(name, str) for name in known):
        raise TypeError("names must be a sequence of texts, one for each column.")
    if n_columns is not None and len(known) != n_columns:
        raise ValueError(f"this summary is of {n_columns} columns, and there are {len(known)} names.")
    return None if all(name is None for name in known) else known


def agreed_names(mine: Names, others: Names, what: str) -> Names:
    """The names of columns that two sides call `mine` and `others`; an error that names the difference if they are not
    the same. `what` is the other side in messages."""
    if others is None or others is mine:
        return mine
    if mine is None or mine == others:
        return others
    differ = (a != b and a is not None and b is not None for a, b in zip(mine, others, strict=False))
    if len(mine) != len(others) or any(differ):
        raise ValueError(
            f"{what} has other columns than the rows summed up so far: {names_difference(mine, others)}. Sums of "
            "different columns cannot be added; select the same columns in the same order everywhere."
        )
    return tuple(b if a is None else a for a, b in zip(mine, others, strict=True))


def names_of_tables(names: Names, widths: Sequence[int]) -> list[list[str] | None]:
    """The names of the columns of each of several tables side by side; None for a table without names."""
    if names is None:
        return [None] * len(widths)
    each = (names[i:j] for i, j in pairwise(accumulate(widths, initial=0)))
    return [None if None in part else [str(name) for name in part] for part in each]


# The mean of two sets of rows from their means, by Chan's formula.


def merged_mean(
    weight: Any, mean: Array, rest: Array, other_weight: Any, shift: Array, step: Array, both: Any = None
) -> tuple[Array, Array, Array, Any]:
    """mean_1 + d w_2 / (w_1 + w_2), d = mean_2 - mean_1, for mean_1 = mean + rest and mean_2 = shift + step [1]_.

    Returns the rounded mean and its rounding error, d, and w_2 / (w_1 + w_2). Weights are numbers, or arrays with one
    weight for each column. `both` replaces w_1 + w_2 in the quotient; it is needed if w_1 + w_2 may be zero in some
    column.

    References
    ----------
    .. [1] Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance, eq. 2.1.
    """
    d = (shift - mean) + (step - rest)
    share = other_weight / (weight + other_weight if both is None else both)
    return *two_sum(mean, rest + d * share), d, share


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and the rounding error (Knuth's TwoSum). Means are kept in these two parts because merging uses
    the difference of two means: at an offset of 1e8 a single float64 would leave only half of its digits."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


# Summaries from files: what `update` and `merge` guarantee must hold for them as well.


#: Symmetric matrices may differ from their transpose, and have negative diagonal entries, by this fraction of their
#: largest entry.
_ROUNDING = 1e-8
#: What goes wrong while a summary is made from values that no summary can have.
_DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def class_named(name: Any) -> type[Summary] | None:
    """The summary of this name in the table `SUMMARIES`."""
    from . import SUMMARIES

    return SUMMARIES.get(name) if isinstance(name, str) else None


def with_summaries(value: Any, declared: bool) -> Any:
    """`value` with each tree replaced by its summary."""
    if isinstance(value, list):
        return [with_summaries(item, declared) for item in value]
    if not isinstance(value, dict):
        return value
    cls = class_named(value.get("class"))
    if cls is None:
        raise ValueError(f"there is no summary of the class {str(value.get('class'))[:80]!r}")
    return cls._from_tree(value, declared)


def stored_values(cls: type[Summary], tree: dict[str, Any]) -> dict[str, Any]:
    """The values in the tree of a summary, by name; all must be there, and no others."""
    stored = tree.get("state")
    if not isinstance(stored, dict) or "names" not in tree:
        raise ValueError(f"it has no state of a {cls.__name__}")
    names = tree["names"] or []
    if not isinstance(names, list) or not all(name is None or isinstance(name, str) for name in names):
        raise ValueError("the names of its columns are no list of names")
    present = {cls.names_in_files.get(name, name): name for name in cls.state}
    if missing := [name for name in present if name not in stored and present[name] not in cls.added]:
        raise ValueError(f"{', '.join(missing)} is missing")
    if more := [name for name in stored if name not in present]:
        raise ValueError(f"it holds {', '.join(more)[:80]}, which a {cls.__name__} does not have")
    return {present[name]: value for name, value in stored.items()}


def check_shapes(summary: Summary) -> None:
    """Raise a ValueError if the values of a summary do not have the shapes and dtypes of a summary of rows, or if some
    are missing."""
    layout, given = summary._layout(), (*summary.parameters, *summary.options)
    for name, shape in layout.items():
        value = getattr(summary, name)
        if value is not None:
            _check_shape(name, value, shape, summary.kinds.get(name, "f") if shape else "fiub")
        elif name not in summary.optional and (not shape or name in given):
            raise ValueError(f"{name} is missing")
    for name in summary.state:
        if name not in layout and isinstance(getattr(summary, name), np.ndarray | np.generic | int | float):
            raise ValueError(f"it holds {name}, which this summary does not have")
    _check_complete(summary, layout)


def check_values(summary: Summary) -> None:
    """Raise a ValueError if the values of a summary cannot be those of a summary of rows: numbers that are not finite
    or have the wrong sign."""
    for name in summary._layout():
        value = getattr(summary, name)
        if value is None:
            continue
        numbers = _numbers(value)
        if not all_finite_by_pieces(numbers):
            raise ValueError(f"{name} contains NaN or infinity")
        if name in summary.nonnegative and numbers.size and numbers.min() < 0:
            raise ValueError(f"{name} has the negative entry {numbers.min():g}")
        if name in summary.symmetric:
            allowed, difference = _ROUNDING * largest_magnitude(numbers), asymmetry(numbers)
            if not difference <= allowed:
                raise ValueError(f"{name} is not symmetric: it differs from its transpose by up to {difference:.3g}")
            if (smallest := float(np.diagonal(numbers).min())) < -allowed:
                raise ValueError(f"{name} has the negative diagonal entry {smallest:.3g}")


def _numbers(value: Any) -> np.ndarray:
    """A number, or the entries of an array of any kind, as a NumPy array."""
    return value.data if is_sparse(value) else np.asarray(to_numpy(value))


def _check_shape(name: str, value: Any, shape: tuple[int | None, ...], kinds: str) -> None:
    """Raise an error unless `value` holds numbers of these kinds and has the given shape, where None is any length.
    Arrays may not have been read yet, so that only numbers must be finite."""
    numbers = _numbers(value)
    if numbers.dtype.kind not in kinds:
        allowed = {"f": "floats", "u": "whole numbers without a sign", "i": "whole numbers"}.get(kinds, "real numbers")
        raise ValueError(f"{name} has dtype {numbers.dtype}, and must hold {allowed}")
    got = tuple(value.shape) if is_sparse(value) else numbers.shape
    if len(got) != len(shape) or any(s is not None and s != g for g, s in zip(got, shape, strict=True)):
        wanted = ", ".join("any" if s is None else str(s) for s in shape)
        raise ValueError(f"{name} has shape {got}, and must have shape ({wanted})")
    if not shape and not np.isfinite(numbers):
        raise ValueError(f"{name} contains NaN or infinity")


def _check_complete(summary: Summary, layout: Layout) -> None:
    """Raise an error unless all sums are there if the summary has seen rows, and none of them if it has not."""
    sums = [name for name, shape in layout.items() if shape and name not in (*summary.parameters, *summary.options)]
    there = {name: getattr(summary, name) is not None for name in sums}
    filled = any(there.values())
    if filled and not all(there.values()):
        missing = ", ".join(name for name, known in there.items() if not known)
        raise ValueError(f"{missing} is missing")
    for name in ("n_rows", "weight"):
        count = getattr(summary, name, 0 if not filled else 1)
        if (count > 0) != filled or count < 0:
            raise ValueError(f"{name} is {count}, but the summary holds {'' if filled else 'no '}sums of rows")
    if not isinstance(getattr(summary, "n_rows", 0), int):
        raise ValueError(f"n_rows is {summary.n_rows!r}, and must be a whole number")  # type: ignore[attr-defined]


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
    >>> from lowdim.summaries import Moments
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
    #: The attributes that make up the summary, which are saved, with their shapes: a letter for each axis, whose length
    #: `_sizes` says ("*" is any length), nothing for a number, and "-" for text and for other summaries.
    state: ClassVar[dict[str, str]]
    #: What values in `state` are called in files, where that differs.
    names_in_files: ClassVar[dict[str, str]] = {}
    #: Names of the attributes that are added up when summaries are merged; sums that are not made are None.
    _sums: ClassVar[tuple[str, ...]] = ()
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

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuse former names of arguments."""
        if parameters:
            refuse_former_names(cls.__name__, parameters, inspect.signature(cls.__init__).parameters)
        return super().__new__(cls)

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
            block, weights = self._checked(block, weights)
            if block.shape[0]:
                self._change(self._updated(block, weights))

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

    def _changes_from(self, block: Any, weights: Any) -> Changes:
        """What changes when a block is added, for summaries that are parts of others."""
        block, weights = self._checked(block, weights)
        return self._updated(block, weights) if block.shape[0] else {}

    def _checked(self, block: Any, weights: Any) -> tuple[Any, Any]:
        """A block and its weights as `_updated` gets them: real numbers in float32 or float64, in CSR format if they
        are sparse, without rows of weight zero. Blocks that are so already, as the blocks of all sources are, are
        returned unchanged."""
        if isinstance(block, Beside) and not (self.takes_pieces and (weights is None or isinstance(block, Coded))):
            block = block.joined()
        if not hasattr(block, "ndim") or not hasattr(block, "dtype"):
            raise TypeError(
                f"a block of rows must be a 2-D array or a sparse matrix, got {type(block).__name__}; "
                "lowdim.reading.summarize(X, summary) reads data frames, lists and streams."
            )
        if block.ndim != 2:
            raise bad_ndim(block.ndim, tuple(block.shape))
        dtype = working_dtype(block)
        if block.dtype != dtype:
            if is_complex(block):
                raise complex_data(block.dtype)
            block = astype(block, dtype)
        if is_sparse(block) and block.format != "csr":
            block = block.tocsr()
        if weights is not None:
            block, weights = counted_rows(block, weights)
        n_columns = self._sizes().get("p", block.shape[1])
        if block.shape[0] and block.shape[1] != n_columns:
            raise ValueError(f"this summary is of {n_columns} columns, the block has {block.shape[1]}.")
        return block, weights

    def _sizes(self) -> dict[str, int]:
        """The lengths for which the letters of `state` stand; "p" is the number of columns of a block."""
        return {"p": self.n_features}  # type: ignore[attr-defined] # of summaries that do not override this

    @abstractmethod
    def _updated(self, block: Array, weights: Array | None) -> Changes:
        """What changes when a block is added that has at least one row; all weights are positive. Arrays that belong to
        the summary must not be overwritten."""

    def _merged(self, other: Self) -> Changes:
        """What changes when `other` is added, which has the same parameters. Arrays that belong to either summary must
        not be overwritten."""
        return self._plus({name: part for name in self._sums if (part := getattr(other, name)) is not None})

    def _set_names(self, names: Names) -> None:
        """Set the names of the columns, which have been checked."""
        self._names = names

    def snapshot(self) -> Self:
        """This summary as it is now; later updates of either do not change the other. Arrays are shared, since they are
        replaced and never overwritten."""
        return copy(self)

    def restore(self, other: Self) -> None:
        """Take over the sums of another summary with the same parameters, in place of those so far."""
        self.__dict__ = other.snapshot().__dict__

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

        def check(document: dict[str, Any], layout: Any) -> None:
            name = document.get("class")
            if document.get("holds") in ("model", "result"):
                raise ValueError(f"{path} holds a {document['holds']}, not a {cls.__name__}; use lowdim.load(path).")
            if document.get("holds") == "checkpoint":
                raise is_checkpoint(path)
            if document.get("holds") != "summary" or class_named(name) is None:
                raise damaged_file(path, "it does not say which summary it holds", container.is_newer(document))
            if name != cls.__name__:
                raise ValueError(
                    f"{path} holds a {name}, not a {cls.__name__}; use lowdim.summaries.{name}.load(path)."
                )
            make(document, layout, declared=True)

        def make(document: dict[str, Any], arrays: Any, declared: bool) -> Any:
            try:
                rebuild = container.declared if declared else container.rebuild
                return cls._from_tree(rebuild(document, arrays), declared)
            except _DAMAGE as error:
                raise damaged_file(path, error, container.is_newer(document)) from error

        # It is made twice: before the arrays are read, from their shapes, and from the arrays.
        return make(*container.read(path, check), declared=False)

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
            "state": {
                self.names_in_files.get(name, name): _without_objects(getattr(self, name)) for name in self.state
            },
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

    def _layout(self) -> Layout:
        """The shape of each value in `state`. Values that are summaries or text are left out, and so are sums that this
        summary does not make."""
        unmade, sizes = self._unmade(), self._sizes()
        axes = {name: letters for name, letters in self.state.items() if letters != "-" and name not in unmade}
        return {name: tuple(sizes.get(letter) for letter in letters) for name, letters in axes.items()}

    def _unmade(self) -> tuple[str, ...]:
        """Names in `state` of what this summary does not make."""
        return ()

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


def require_nonempty(summary: Any) -> None:
    """Raise an error if a summary of moments has seen no rows."""
    if summary.mean is None:
        raise ValueError(
            "the summary is empty: it has seen no rows. First update it with rows, or merge others into it."
        )


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


def check_squares(squares: Array) -> None:
    """Raise `NonFiniteBlock` if sums of squares, or their sum over the columns, are not finite."""
    xp = namespace(squares)
    if not float(xp.max(squares)) <= float(xp.finfo(squares.dtype).max) / 16 / squares.shape[0]:
        raise NonFiniteBlock


def products_in_range(Z: Array, widths: Sequence[int] = ()) -> Array:
    """Z^T Z; in float64 if the squares of all columns, or of those of one table, are out of the range of float32."""
    P = Z.T @ Z
    xp = namespace(P)
    if P.dtype == xp.float32:
        low, high = FLOAT32_SQUARES
        squares = xp.linalg.diagonal(P)
        edges = pairwise(accumulate(widths or (P.shape[0],), initial=0))
        if not all(low < float(xp.max(squares[i:j])) < high for i, j in edges):
            Z = astype(Z, wide_dtype(P))
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


# Summaries as bytes, for engines that send no objects: the bytes of the file that `save` would write.


class SummaryCodec:
    """Summaries to bytes and back. What arrives is checked as a file is."""

    def encode(self, summary: Summary) -> bytes:
        """The bytes of a summary."""
        return container.to_bytes(*container.flatten({"holds": "summary"} | summary._tree()))

    def decode(self, data: bytes) -> Summary:
        """The summary of these bytes."""
        document, arrays = container.from_bytes(data)
        cls = class_named(document.get("class"))
        if cls is None:
            raise damaged_file("a message", "it does not say which summary it holds", container.is_newer(document))
        return cls._from_tree(container.rebuild(document, arrays))


class Parcel:
    """A summary that is sent as bytes in place of an object, if it is pickled."""

    def __init__(self, summary: Summary) -> None:
        self.summary = summary

    def __reduce__(self) -> tuple[Any, ...]:
        if class_named(type(self.summary).__name__) is type(self.summary):
            return _opened, (SummaryCodec().encode(self.summary),)
        # A summary of another module, which has no place in the table of those that files hold.
        return Parcel, (self.summary,)


def _opened(data: bytes) -> Parcel:
    return Parcel(SummaryCodec().decode(data))
