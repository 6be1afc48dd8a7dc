"""Bars of progress with rows per second and time left, drawn by rich on the standard error stream."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

#: A pass gets a bar when it has taken this many seconds.
_PATIENCE = 0.5


class Bars:
    """A bar for the pass over the rows that is running; a finished pass leaves none behind."""

    def __init__(self) -> None:
        self._passes = self._done = 0
        self._begun = 0.0
        self._n_blocks: int | None = None
        self._block_rows: int | None = None
        self._bar: Progress | None = None
        self._task: Any = None

    def begin(self, what: str, n_blocks: int | None, block_rows: int | None = None) -> None:
        """Show the beginning of a pass over so many blocks of so many rows."""
        self._passes += 1
        self._done, self._begun = 0, time.monotonic()
        self._n_blocks, self._block_rows = n_blocks, block_rows

    def step(self) -> None:
        """Show that a block is done."""
        self._done += 1
        seconds = time.monotonic() - self._begun
        if seconds < _PATIENCE:
            return
        if self._bar is None:
            self._bar = _new_bar()
            self._bar.start()
            self._task = self._bar.add_task(f"pass {self._passes}", total=self._n_blocks, rate="")
        rate = "" if self._block_rows is None else f"{self._done * self._block_rows / seconds:,.0f} rows/s"
        self._bar.update(self._task, completed=self._done, rate=rate)

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _new_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
