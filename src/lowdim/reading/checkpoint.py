"""A pass over the rows that was interrupted goes on where it was: its place and its sums are kept in a file.

The summaries of a pass do not depend on one another, so each has its own place (`Lane`), and no thread has to wait for
another one when the file is written. Arrays of a summary are replaced and never overwritten, so that the state of a
summary is a copy of its references. Both cost next to nothing for each block.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

from .._digest import digest
from .._paths import local_path
from .._xp import Array
from ..errors import no_checkpoint_elsewhere, other_stream
from ..sources import Source
from ..summaries.base import Summary
from .checkpoint_file import State, describe_pass, read_state, write_state
from .lanes import Begin, Cut, Lane, Place

#: After a file has been written, the next one waits at least this many times as long as that took.
_PATIENCE = 20
#: Of each block of a stream, about this many rows are compared when it is read again.
_COMPARED_ROWS = 16


@dataclass(frozen=True)
class Checkpoint:
    """A file that keeps the state of a pass over the rows, so that the pass can be interrupted.

    Parameters
    ----------
    path : str or path
        The file. It is written now and then while rows are read, and removed when the pass is whole.
    every_seconds : float
        How often it is written. If writing takes long, it is written less often, so that it takes at most a twentieth
        of the time.

    Notes
    -----
    A path can be given wherever a checkpoint is expected. The file holds the sums, one summary for each thread and half
    as many again, and no rows unless these summaries hold some.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from lowdim import Checkpoint, Moments, summarize
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "pass.checkpoint")
    ...     moments = summarize(X, Moments, checkpoint=Checkpoint(path, every_seconds=10))
    ...     print(moments.mean, os.path.exists(path))
    [5. 6.] False
    """

    path: str | PathLike[str]
    every_seconds: float = 30.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | PathLike):
            raise TypeError(f"a checkpoint must be a str, a path or a Checkpoint, got {type(self.path).__name__}.")
        object.__setattr__(self, "path", local_path(self.path))
        if not (isinstance(self.every_seconds, int | float) and 0 <= self.every_seconds < math.inf):
            raise ValueError(f"every_seconds={self.every_seconds!r} must be a number of seconds, zero or more.")

    @classmethod
    def of(cls, given: Any) -> Checkpoint:
        """The checkpoint itself, or one with the given path."""
        return given if isinstance(given, cls) else cls(given)

    def remove(self) -> None:
        """Delete the file, if there is one."""
        if os.path.exists(self.path):
            os.remove(self.path)


class Keeper:
    """Writes the state of one pass, and finds it again."""

    def __init__(self, checkpoint: Checkpoint, source: Source, weights: Array | None, summary: Summary) -> None:
        if source.traits.remote or not source.traits.host:
            engine = source.traits.engine
            raise no_checkpoint_elsewhere(source.table, engine=None if engine is None else engine.name)
        self._checkpoint, self._source = checkpoint, source
        self._described = describe_pass(source, weights, summary)
        #: The state in which the pass was interrupted, or None.
        self.found = read_state(checkpoint.path, self._described, type(summary))

    def lanes(self, summary: Summary, cut: Cut) -> list[Lane]:
        """The summaries of the pass, as far as they were. The first one is `summary` itself."""
        summaries = [summary, *(summary.fresh() for _ in range(cut.summaries - 1))]
        places = [Place(i) for i in range(cut.summaries)]
        begin = Begin()
        if self.found is not None:
            places, begin = self.found.places, self.found.begin
            for each, found in zip(summaries, self.found.summaries, strict=True):
                each.restore(found)
        self.found = None
        self._cut = cut
        #: Where the last blocks that were handed out begin, and the next one. All blocks before these have been added.
        self._begins = deque([begin], maxlen=cut.summaries + 1)
        each_place = zip(summaries, places, strict=True)
        self._lanes = [Lane(each, place, cut.summaries, watched=True) for each, place in each_place]
        # A file that cannot be written is noticed before rows are read.
        self.write()
        return self._lanes

    @property
    def first(self) -> int:
        """The number of the first piece that has not been added."""
        return min(lane.place.piece for lane in self._lanes)

    @property
    def row(self) -> int:
        """The first row of the next block that will be handed out."""
        return self._begins[-1].row

    def blocks(self) -> Iterator[tuple[Begin, Array]]:
        """The blocks from the first one on that has not been added, each with its beginning."""
        begin, skips = self._begins[-1], self._source.can_skip
        if begin.row and begin.row == self._source.shape[0]:
            return
        blocks = (self._source.after(begin.row) if begin.row and skips else self._source).blocks(self._cut.rows)
        if begin.row and not skips:
            self._drop(blocks, begin)
        for block in blocks:
            before = "" if skips else _digest_with(begin.before, block)
            following = Begin(begin.block + 1, begin.row + int(block.shape[0]), before)
            self._begins.append(following)
            yield begin, block
            begin = following

    def tick(self) -> None:
        """Write the file, if it is time for that."""
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        """Write the state of all summaries."""
        seen = [lane.seen for lane in self._lanes]
        first = min(place.piece for place, _ in seen)
        # If the pieces are parts and not blocks, no blocks are handed out, and the only entry is the first row.
        begin = next((each for each in self._begins if each.block == first), self._begins[0])
        self._write(State(self._cut, [place for place, _ in seen], begin, [summary for _, summary in seen]))

    def finish(self, summary: Any) -> bool:
        """Whether the file holds the sums of all rows, which `summary` then takes over."""
        if self.found is None or not self.found.whole:
            return False
        summary.restore(self.found.summaries[0])
        return True

    def end(self, summary: Summary, *, keep: bool) -> None:
        """Remove the file after the last row; or, with `keep`, write the sums of all rows to it."""
        if keep and self.found is None:
            self._write(State(self._cut, [], Begin(), [summary]))
        elif not keep:
            self._checkpoint.remove()

    def _write(self, state: State) -> None:
        began = time.monotonic()
        write_state(self._checkpoint.path, self._described, state)
        ended = time.monotonic()
        self._due = ended + max(self._checkpoint.every_seconds, _PATIENCE * (ended - began))

    def _drop(self, blocks: Iterator[Array], begin: Begin) -> None:
        """Read and drop the rows of a stream before `begin`, which must be those that were added earlier."""
        done, before = 0, ""
        while done < begin.row:
            block = next(blocks, None)
            if block is None:
                break
            done, before = done + int(block.shape[0]), _digest_with(before, block)
        if done != begin.row or before != begin.before:
            raise other_stream(self._checkpoint.path, begin.row)


def _digest_with(before: str, block: Array) -> str:
    """The digest of the blocks of a stream up to this one: their lengths, and rows here and there."""
    n = int(block.shape[0])
    return digest([before, n, block[:: max(1, n // _COMPARED_ROWS), :]])
