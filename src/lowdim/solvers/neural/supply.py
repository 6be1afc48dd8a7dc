"""The rows of a training: windows of examples, and the rows that are held out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._xp import to_numpy
from ..base import RowsLike
from .examples import Examples
from .held_out import HeldOut
from .network import Network
from .optional_torch import Tensor

#: At most this many rows are held out; fewer than the second number decide nothing.
_MOST_HELD_OUT, _FEWEST_HELD_OUT = 10_000, 5


class Supply:
    """The training rows, one window after another, and the rows by which a state is judged.

    If all rows are in one window, they are read once and kept.
    """

    def __init__(self, rows: RowsLike, network: Network, share: float, size: int, seed: int, like: Tensor) -> None:
        self._rows, self._network, self._size, self._like = rows, network, size, like
        self._random = np.random.default_rng((seed, 3))
        n = rows.shape[0]
        self._choice = HeldOut(share if n is None else min(share, _MOST_HELD_OUT / n), rows.shape[1], seed)
        self.passes = 1
        windows = iter(rows.windows(size))
        first = next(windows)
        self.judges = [self._examples(first, True)]
        count, n_windows = self.judges[0].repeated, 1
        for window in windows:
            n_windows += 1
            if count < _MOST_HELD_OUT:
                self.judges.append(self._examples(window, True))
                count += self.judges[-1].repeated
        self.n_held_out = sum(each.length for each in self.judges)
        self._kept = self._examples(first, False) if n_windows == 1 else None
        if count < _FEWEST_HELD_OUT or not self.has_rows:
            # Nothing is held out, and the training rows (of a large table, the first of them) decide.
            self._choice = HeldOut(0.0, rows.shape[1], seed)
            self.judges, self.n_held_out = [self._examples(first, False)], 0
            self._kept = self.judges[0] if n_windows == 1 else None

    def epoch(self) -> Iterator[Examples]:
        """The training rows, in windows."""
        if self._kept is not None:
            yield self._kept
            return
        self.passes += 1
        for window in self._rows.windows(self._size, self._random):
            yield self._examples(window, False)

    @property
    def has_rows(self) -> bool:
        """Whether there are training rows; a window of a stream may have none of positive weight."""
        return self._kept is None or self._kept.length > 0

    def go_on(self, window: Any) -> int:
        """Take the rows of this window as training rows from now on, in place of those before; returns the number of
        all its rows of positive weight."""
        self._kept = self._examples(window, False)
        return int(window.X.shape[0]) if window.weights is None else int(np.sum(to_numpy(window.weights) > 0))

    def _examples(self, window: Any, held_out: bool) -> Examples:
        """The rows of a window that are held out, or the others."""
        return Examples(self._network, window.X, window.weights, self._choice.chosen(window.X) == held_out, self._like)
