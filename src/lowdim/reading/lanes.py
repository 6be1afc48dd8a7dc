"""The summaries of one pass over the rows, and how far each of them is."""

from __future__ import annotations

from typing import NamedTuple

from ..summaries.base import Summary


class Cut(NamedTuple):
    """How the rows of a pass are cut. The sums depend on it through rounding, and on nothing else beside the rows."""

    #: The number of rows of a block.
    rows: int
    #: The number of parts that are asked of the source; with one, the pieces of the pass are its blocks.
    parts: int
    #: The number of summaries. Piece i is added to summary i modulo their number.
    summaries: int


class Place(NamedTuple):
    """How far a lane is: its pieces before number `piece` have been added, and so many rows of that one."""

    piece: int
    rows: int = 0


class Begin(NamedTuple):
    """Where a block begins: its number, its first row, and a digest of the blocks before it if they are of a stream."""

    block: int = 0
    row: int = 0
    before: str = ""


class Lane:
    """One of the summaries of a pass, to which every so-many-th piece is added, in order.

    If it is `watched`, `place` says how far the lane is, and `seen` is always a pair of a place and a summary of
    exactly the rows up to it. Such a pair is made after each block and never changed, so that any thread may take it
    at any time. Otherwise `place` is where the lane began.
    """

    def __init__(self, summary: Summary, place: Place, step: int, *, watched: bool = False) -> None:
        self.summary, self._step, self._watched = summary, step, watched
        self.place = place
        self.seen = (place, summary.snapshot() if watched else summary)

    def move(self, piece: int, rows: int) -> None:
        """Note that the rows of `piece` up to row `rows` have been added."""
        if self._watched:
            self.place = Place(piece, rows)
            self.seen = (self.place, self.summary.snapshot())

    def end(self, piece: int) -> None:
        """Note that all rows of `piece` have been added."""
        self.move(piece + self._step, 0)
