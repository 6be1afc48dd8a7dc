"""A pass over the rows that was interrupted goes on where it was: its place and its sums are kept in a file.

The summaries of a pass do not depend on one another, so each has its own place (`Shard`), and no thread has to wait for
another one when the file is written. Arrays of a summary are replaced and never overwritten, so that the state of a
summary is a copy of its references. Both cost next to nothing for each block.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

from .._core import container
from .._core.arrays import Array, digest, is_array
from .._core.paths import local_path
from .._core.threads import Progress
from ..sources.base import Source
from ..summaries.base import Summary

# The summaries of one pass over the rows, and how far each of them is.


class Cut(NamedTuple):
    """How the rows of a pass are cut. The sums depend on it through rounding, and on nothing else beside the rows."""

    #: The number of rows of a block.
    rows: int
    #: The number of parts that are asked of the source; with one, the pieces of the pass are its blocks.
    parts: int
    #: The number of summaries. Piece i is added to summary i modulo their number.
    summaries: int


class Place(NamedTuple):
    """How far a shard is: its pieces before number `piece` have been added, and so many rows of that one."""

    piece: int
    rows: int = 0


class Begin(NamedTuple):
    """Where a block begins: its number, its first row, and a digest of the blocks before it if they are of a stream."""

    block: int = 0
    row: int = 0
    before: str = ""


# The file of a checkpoint: of which pass it is, how far the pass was, and its sums.


#: Values in messages are cut to this many characters.
_SHORT = 80


@dataclass(frozen=True)
class State:
    """How far a pass is, and its summaries."""

    cut: Cut
    #: One for each summary; none if all rows have been added, to the only summary.
    places: list[Place]
    #: The first block that has not been added.
    begin: Begin
    summaries: list[Summary] = field(repr=False)


def write_state(path: str | PathLike[str], described: dict[str, Any], state: State) -> None:
    """Write the state of a pass. The file appears under its name when it is whole."""
    tree = {
        "holds": "checkpoint",
        "pass": described,
        "cut": state.cut._asdict(),
        "places": [place._asdict() for place in state.places],
        "begin": state.begin._asdict(),
        "summaries": [summary._tree() for summary in state.summaries],
    }
    container.write(path, *container.flatten(tree))


def read_state(path: str | PathLike[str], described: dict[str, Any], kind: type[Summary]) -> State | None:
    """The state in a file, after a check that it is of this pass; None if there is no file."""
    if not os.path.exists(path):
        return None
    differences: list[str] = []

    def check(document: dict[str, Any], layout: Any) -> None:
        if document.get("holds") != "checkpoint" or not isinstance(document.get("pass"), dict):
            raise ValueError(f"it holds {str(document.get('holds'))[:_SHORT]!r}")
        differences.extend(_differences(document["pass"], described))
        if differences:
            raise ValueError("it is of another pass")

    try:
        tree = container.rebuild(*container.read(path, check))
        return _state(tree, kind)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if differences:
            more = f"; and {len(differences) - 4} more" if len(differences) > 4 else ""
            raise ValueError(
                f"the checkpoint {path} is of another pass: {'; '.join(differences[:4])}{more}. Give the same rows, "
                "weights and summary to go on with it, or another path; or delete the file to begin again."
            ) from None
        raise ValueError(
            f"{path} holds no checkpoint, or a damaged one: {str(error).rstrip('.')}. Give another path; or delete the "
            "file, if nothing else is in it, to begin the pass again."
        ) from error


def _state(tree: dict[str, Any], kind: type[Summary]) -> State:
    """The state of a pass, from the tree that was read."""
    cut, begin, trees = Cut(**tree["cut"]), Begin(**tree["begin"]), tree["summaries"]
    places = [Place(**place) for place in tree["places"]]
    n = cut.summaries
    numbers = [*cut, begin.block, begin.row, *(number for place in places for number in place)]
    if not all(type(number) is int and number >= 0 for number in numbers) or min(cut.rows, cut.parts, n) < 1:
        raise ValueError("its places are not numbers of rows and pieces")
    if any(place.piece % n != i for i, place in enumerate(places)) or len(trees) != (n if places else 1):
        raise ValueError(f"it holds {len(trees)} summaries with {len(places)} places, and {n} were made")
    if places and cut.parts == 1 and begin.block != min(place.piece for place in places):
        raise ValueError("the rows that it begins with are not those that are missing")
    return State(cut, places, begin, [kind._from_tree(tree) for tree in trees])


def _plain(value: Any) -> Any:
    """A parameter of a summary as a JSON value; arrays and summaries become digests."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Summary):
        return f"{type(value).__name__} with digest {digest(value._tree())}"
    return f"digest {digest(value)}" if is_array(value) else str(value)


def _differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """What differs between two trees of JSON values, one text for each place."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*before, *(key for key in now if key not in before)]:
            yield from _differences(before.get(key), now.get(key), f"{place}, {key}" if place else key)
    elif (
        isinstance(before, list)
        and isinstance(now, list)
        and len(before) == len(now)
        and any(isinstance(value, dict | list) for value in before)
    ):
        for i, (a, b) in enumerate(zip(before, now, strict=True)):
            yield from _differences(a, b, f"{place} {i}")
    elif before != now:
        yield f"{place}: {_short(before)} then, {_short(now)} now"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."


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
    every_seconds : float, default=30.0
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
    >>> from lowdim.reading import Checkpoint, summarize
    >>> from lowdim.summaries import Moments
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
    def of(cls, given: Checkpoint | str | PathLike[str]) -> Checkpoint:
        """The checkpoint itself, or one with the given path."""
        return given if isinstance(given, Checkpoint) else cls(given)

    def remove(self) -> None:
        """Delete the file, if there is one."""
        if os.path.exists(self.path):
            os.remove(self.path)


class Keeper:
    """Writes the state of one pass, and finds it again."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        source: Source,
        weights: Array | None,
        summary: Summary,
        progress: Progress | None,
    ) -> None:
        if source.traits.engine is not None:
            raise TypeError(
                f"{source.table} is held by {source.traits.engine.name}, which repeats what is lost itself, and no "
                "checkpoint is kept. Summarize groups of partitions one after another, save each summary, and merge "
                "them; or fit without checkpoint."
            )
        if not source.traits.host:
            raise TypeError(
                f"{source.table} is on a device or of another array library than NumPy, and no checkpoint of its sums "
                "is kept. Give NumPy arrays, tables or files, or fit without checkpoint."
            )
        self._checkpoint, self._source, self._progress = checkpoint, source, progress
        parameters = {name: _plain(getattr(summary, name)) for name in summary.parameters}
        about = {"class": type(summary).__name__, **parameters, "digest of what it held": digest(summary._tree())}
        of = {"rows": source.identity(), "weights": None if weights is None else f"digest {digest(weights)}"}
        #: What must be the same when the pass goes on: the rows, their weights, and the summary that they are added to.
        self._described: dict[str, Any] = json.loads(json.dumps(of | {"summary": about}))
        #: The state in which the pass was interrupted, or None.
        self.found = read_state(checkpoint.path, self._described, type(summary))

    def places(self, summaries: list[Summary], cut: Cut) -> list[Place]:
        """How far the summaries of the pass were; they take over what they held then."""
        places, begin = [Place(i) for i in range(cut.summaries)], Begin()
        if self.found is not None:
            places, begin = self.found.places, self.found.begin
            for each, found in zip(summaries, self.found.summaries, strict=True):
                each.restore(found)
        self.found = None
        self._cut = cut
        #: Where the last blocks that were handed out begin, and the next one. All blocks before these have been added.
        self._begins = deque([begin], maxlen=cut.summaries + 1)
        return places

    def watch(self, shards: Sequence[Any]) -> None:
        """Write the state of these shards from now on: the pair `kept` of each."""
        self._shards = shards
        # A file that cannot be written is noticed before rows are read.
        self.write()

    @property
    def begin(self) -> Begin:
        """Where the next block begins that will be handed out."""
        return self._begins[-1]

    def blocks(self) -> Iterator[Array]:
        """The blocks from the first one on that has not been added."""
        begin, skips = self.begin, self._source.can_skip
        if begin.row and begin.row == self._source.shape[0]:
            return
        blocks = (self._source.after(begin.row) if begin.row and skips else self._source).blocks(self._cut.rows)
        if begin.row and not skips:
            self._drop(blocks, begin)
        for block in blocks:
            before = "" if skips else _digest_with(begin.before, block)
            begin = Begin(begin.block + 1, begin.row + int(block.shape[0]), before)
            self._begins.append(begin)
            yield block

    def step(self) -> None:
        """Report a block, and write the file if it is time for that."""
        if self._progress is not None:
            self._progress.step()
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        """Write the state of all summaries."""
        kept = [shard.kept for shard in self._shards]
        first = min(place.piece for place, _ in kept)
        # If the pieces are parts and not blocks, no blocks are handed out, and the only entry is the first row.
        begin = next((each for each in self._begins if each.block == first), self._begins[0])
        self._write([place for place, _ in kept], begin, [summary for _, summary in kept])

    def finish(self, summary: Any) -> bool:
        """Whether the file holds the sums of all rows, which `summary` then takes over."""
        if self.found is None or self.found.places:
            return False
        summary.restore(self.found.summaries[0])
        return True

    def end(self, summary: Summary, *, keep: bool) -> None:
        """Remove the file after the last row; or, with `keep`, write the sums of all rows to it."""
        if keep and self.found is None:
            self._write([], Begin(), [summary])
        elif not keep:
            self._checkpoint.remove()

    def _write(self, places: list[Place], begin: Begin, summaries: list[Summary]) -> None:
        began = time.monotonic()
        write_state(self._checkpoint.path, self._described, State(self._cut, places, begin, summaries))
        ended = time.monotonic()
        self._due = ended + max(self._checkpoint.every_seconds, _PATIENCE * (ended - began))

    def _drop(self, blocks: Iterator[Array], begin: Begin) -> None:
        """Read and drop the rows of a stream before `begin`, which must be those that were added earlier."""
        done, before = 0, ""
        while done < begin.row and (block := next(blocks, None)) is not None:
            done, before = done + int(block.shape[0]), _digest_with(before, block)
        if done != begin.row or before != begin.before:
            raise ValueError(
                f"the first {begin.row} rows of the stream are not those that the checkpoint {self._checkpoint.path} "
                "has the sums of. Give the same rows in the same blocks to go on with it, or delete the file to begin "
                "again."
            )


def _digest_with(before: str, block: Array) -> str:
    """The digest of the blocks of a stream up to this one: their lengths, and rows here and there."""
    n = int(block.shape[0])
    return digest([before, n, block[:: max(1, n // _COMPARED_ROWS), :]])
