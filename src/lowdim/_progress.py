"""Progress of passes over rows: what is told, and who watches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Progress(Protocol):
    """Receives a call for each pass over the rows and for each block in it."""

    def begin(self, what: str, n_blocks: int | None, block_rows: int | None = None) -> None:
        """A pass over so many blocks begins, each of which has so many rows; None if that is unknown."""

    def step(self) -> None:
        """A block is done."""

    def end(self) -> None:
        """The pass is done."""


_watcher: ContextVar[Progress | None] = ContextVar("lowdim_watcher", default=None)


@contextmanager
def watched_by(progress: Progress) -> Iterator[None]:
    """Context in which all passes are told to `progress`, except those that are told to another one already."""
    before = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(before)


def watcher(progress: Progress | None = None) -> Progress | None:
    """The progress that was given or, without one, that of the context."""
    return _watcher.get() if progress is None else progress
