"""One summary for each label of rows, for cross-validation and the block bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Self, TypeVar

import numpy as np

from .._core.arrays import Array, Beside, astype, dense, is_sparse, namespace, to_numpy
from .._core.coded import Coded
from .base import Changes, Names, Summary, checked_names, same_parameters

S = TypeVar("S", bound=Summary)


class Labelled(Summary, Generic[S]):
    """One summary for the rows of each label; a row has one label in each of several labellings.

    Parameters
    ----------
    like : Summary
        The kind of summary to make for the rows of each label.
    counts : sequence of int
        The number of labels in each labelling.

    Attributes
    ----------
    parts : list of lists of summaries
        `parts[r][l]` is the summary of the rows with label l in labelling r.

    Notes
    -----
    Labels are the last columns of the rows, one column for each labelling. They are integers from 0 on; rows of label
    -1 belong to no part. Parts can be merged, so the summary of all rows except those of one label needs neither a
    second pass nor a subtraction. One pass; the memory of `like` times the number of labels, and as much again for the
    labels in a block while it is added.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.summaries import Moments
    >>> from lowdim.summaries import Labelled
    >>> both = Labelled(Moments(1), [2])
    >>> both.update(np.array([[1.0, 0], [2.0, 1], [3.0, 0], [6.0, 1]]))  # the last column holds the labels
    >>> [part.mean for part in both.parts[0]]
    [array([2.]), array([4.])]
    """

    parameters = ("like", "counts")
    state = dict(like="-", counts="r", parts="-")
    kinds = {"counts": "i"}
    takes_pieces = True

    def __init__(self, like: S, counts: Sequence[int]) -> None:
        self.like: S = like.fresh()
        self.counts = tuple(int(c) for c in counts)
        self.parts: list[list[S]] = [[like.fresh() for _ in range(c)] for c in self.counts]
        self.takes_nan = like.takes_nan  # type: ignore[misc] # depends on `like`, so set for each object
        if like.names is not None:
            self._set_names((*like.names, *(None for _ in self.counts)))

    @property
    def threaded_blas(self) -> bool:
        return self.like.threaded_blas

    def _set_names(self, names: Names) -> None:
        super()._set_names(names)
        # The last columns are the labels, which parts do not hold.
        of_rows = None if names is None else checked_names(names[: len(names) - len(self.counts)], None)
        for part in (self.like, *(part for parts in self.parts for part in parts)):
            part._set_names(of_rows)

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        """What changes in each part, by labelling and label."""
        rows, labels = self._split(block)
        changes: Any = {}
        for r, (parts, column) in enumerate(zip(self.parts, labels.T, strict=True)):
            for label, where in _runs(column):
                if not -1 <= label < len(parts):
                    raise ValueError(
                        f"labels of labelling {r} must be integers from -1 to {len(parts) - 1}, got {label}; labels "
                        f"are the last {len(self.counts)} columns of the rows."
                    )
                if label >= 0:
                    some_weights = None if weights is None else _taken(weights, where)
                    changes[r, label] = parts[label]._changes_from(_taken(rows, where), some_weights)
        return changes

    def _merged(self, other: Self) -> Changes:
        changes: Any = {}
        for r, (mine, theirs) in enumerate(zip(self.parts, other.parts, strict=True)):
            for label, (part, more) in enumerate(zip(mine, theirs, strict=True)):
                changes[r, label] = part._merged(more)
        return changes

    def _change(self, changes: Any) -> None:
        for (r, label), of_part in changes.items():
            self.parts[r][label]._change(of_part)

    def snapshot(self) -> Self:
        twin = super().snapshot()
        twin.parts = [[part.snapshot() for part in parts] for parts in self.parts]
        return twin

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return self.like.block_rows(n_columns, itemsize, stored)

    def _sizes(self) -> dict[str, int]:
        return {"r": len(self.parts)}

    @classmethod
    def _made_from(cls, stored: dict[str, Any]) -> Self:
        like, counts = stored["like"], stored["counts"]
        if [len(parts) for parts in stored["parts"]] != list(counts):
            raise ValueError(f"there must be {list(counts)} parts, one for each label")
        if not all(same_parameters(part, like) for parts in stored["parts"] for part in parts):
            raise ValueError("the parts are summaries of different things")
        return super()._made_from(stored)

    def _split(self, block: Array) -> tuple[Array, np.ndarray]:
        """The rows without the columns of labels, and the labels."""
        k = len(self.counts)
        if isinstance(block, Beside) and block.pieces[-1].shape[1] == k:
            rows: Any = Beside(block.pieces[:-1]) if len(block.pieces) > 2 else block.pieces[0]
            return rows, to_numpy(block.pieces[-1]).astype(np.int64)
        if isinstance(block, Beside):
            block = block.joined()
        rows, labels = block[:, :-k], to_numpy(dense(block[:, -k:])).astype(np.int64)
        return rows.tocsr() if is_sparse(rows) else rows, labels


def _runs(labels: np.ndarray) -> list[tuple[int, Any]]:
    """Each label with its rows: slices if the rows of every label are contiguous, otherwise arrays of row numbers."""
    steps = np.flatnonzero(np.diff(labels)) + 1
    edges = np.concatenate([[0], steps, [len(labels)]])
    firsts = labels[edges[:-1]]
    if len(np.unique(firsts)) == len(firsts):
        return [(int(f), slice(int(i), int(j))) for f, i, j in zip(firsts, edges, edges[1:], strict=False)]
    order = np.argsort(labels, kind="stable")
    values, starts = np.unique(labels[order], return_index=True)
    return [(int(v), rows) for v, rows in zip(values, np.split(order, starts[1:]), strict=True)]


def _taken(block: Array, where: Any) -> Array:
    """Some rows of a block, or some entries of a vector of weights."""
    if isinstance(where, slice):
        return block[where] if block.ndim == 1 else block[where, :]
    if isinstance(block, np.ndarray | Coded) or is_sparse(block):
        return block[where]
    if isinstance(block, Beside):
        return Beside([_taken(piece, where) for piece in block.pieces])
    xp = namespace(block)
    index = xp.asarray(where, device=block.device)
    return xp.take(block, astype(index, xp.int64), axis=0)
