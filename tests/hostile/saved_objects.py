"""Everything that can be saved, small, for the mutations: the content of its file, and how it is loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse

from laws.summaries_drawn import CASES, WIDTH, empty, filled
from lowdim.summaries import SUMMARIES

X = np.round(16 * np.random.default_rng(6).standard_normal((6, WIDTH))) / 8


def summaries():
    """All kinds of summaries, with rows and without."""
    for label in CASES:
        yield label, filled(label, (X, None))
    yield "Sample sparse", filled("Sample", (sparse.csr_array(X), None))
    for label in ("Moments", "Sample", "Labelled"):
        yield f"{label} empty", empty(label)


def load(path, of):
    """What a file holds, that should hold an object of the class of `of`."""
    return SUMMARIES[type(of).__name__].load(path)


def save(value, path: Path) -> bytes:
    """The content of the file of a value. The same value always gives the same bytes."""
    value.save(path)
    return path.read_bytes()


def saved_objects():
    """Everything, by a label."""
    return dict(summaries())
