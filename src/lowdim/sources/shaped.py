"""A source with a shape but no data, for plans that are made without data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._xp import Array
from .base import Source, Traits


class ShapedSource(Source):
    """A placeholder for a table of n rows and p columns; n is None if it is unknown.

    A plan needs only the shape and the traits of a source. Reading the rows raises an error.
    """

    def __init__(self, shape: tuple[int | None, int], traits: Traits | None = None) -> None:
        n, p = shape
        if p < 1 or (n is not None and n < 1):
            raise ValueError(f"shape={shape} must hold a positive number of rows (or None) and of columns.")
        self.shape = (n, p)
        self.kind = "shape"
        self.dtype = np.float64
        self.traits = Traits(n_bytes=8 * (n or 0) * p, whole=n is not None) if traits is None else traits

    def blocks(self, rows: int) -> Iterator[Array]:
        raise TypeError(f"{self.table} is a shape, {self.shape}, and has no rows to read; pass the rows themselves.")
