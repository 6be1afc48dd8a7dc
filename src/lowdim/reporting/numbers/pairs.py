"""The rows of the table and of a second one, complete and in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...sources import Source
from .sampled import sampled_rows

#: At most so many numbers of both tables together are used; of more rows, a random sample.
MOST_ENTRIES = 40_000_000
#: With fewer complete rows, nothing can be left out of a fit.
FEWEST_ROWS = 10


@dataclass(frozen=True)
class Pair:
    """Rows of two tables that belong together, without missing entries."""

    X: np.ndarray
    Y: np.ndarray
    x_names: list[str]
    y_names: list[str]
    #: The numbers of these rows in the table.
    numbers: np.ndarray
    weights: np.ndarray | None
    #: How many rows were looked at, and how many of them were left out because entries of the second table are missing.
    n_drawn: int
    n_missing: int
    #: Columns of the second table that do not vary, and are left out.
    constant: list[str]

    @property
    def is_enough(self) -> bool:
        """Whether there are enough rows to leave some out, and a column of the second table that varies."""
        return len(self.X) >= FEWEST_ROWS and len(self.y_names) > 0


def paired(
    rows: Source,
    second: Source,
    names: Sequence[str],
    *,
    n: int,
    stem: str,
    weights: np.ndarray | None = None,
    seed: int = 0,
) -> Pair:
    """The complete rows of a table and a second one, whose columns are called `stem`1, ... if they have no names."""
    width = rows.shape[1] + second.shape[1]
    numbers, (X, Y) = sampled_rows([rows, second], n, max(1, MOST_ENTRIES // width), seed)
    known = ~np.isnan(Y).any(axis=1)
    X, Y = X[known], Y[known]
    kept = numbers[known]
    y_names = [str(name) for name in second.names or [f"{stem}{j + 1}" for j in range(second.shape[1])]]
    varies = np.ptp(Y, axis=0) > 0 if len(Y) else np.zeros(Y.shape[1], dtype=bool)
    return Pair(
        X=X,
        Y=Y[:, varies],
        x_names=list(names),
        y_names=[name for name, varied in zip(y_names, varies, strict=True) if varied],
        numbers=kept,
        weights=None if weights is None else weights[kept],
        n_drawn=len(numbers),
        n_missing=int(len(numbers) - len(kept)),
        constant=[name for name, varied in zip(y_names, varies, strict=True) if not varied],
    )
