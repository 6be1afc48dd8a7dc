"""Everything that can be saved, small: every model with every option that changes its attributes, every summary, every
result of selection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from files.fitted_models import CASES as MODELS
from files.fitted_models import fitted
from files.selection_results import selected
from laws.summaries_drawn import CASES, WIDTH, empty, filled
from lowdim import save
from lowdim.errors import LowdimWarning, without_warnings

X = np.round(16 * np.random.default_rng(6).standard_normal((6, WIDTH))) / 8


def summaries() -> Iterator[tuple[str, Any]]:
    """All kinds of summaries, with rows and without, and with names."""
    for label in CASES:
        yield label, filled(label, (X, None))
    yield "Sample sparse", filled("Sample", (sparse.csr_array(X), None))
    for label in ("Moments", "Sample", "Labelled"):
        yield f"{label} empty", empty(label)
    named = filled("Moments", (X, None))
    named.names = ["a", "b", "$c", "d.e"]
    yield "Moments named", named


def saved_objects(every: int = 1) -> dict[str, Any]:
    """All summaries and results, and every so-manieth model, by a label."""
    models = {f"model {name}": fitted(name) for name in list(MODELS)[::every]}
    with without_warnings(LowdimWarning):
        return {**dict(summaries()), **selected(), **models}


def content_of(value: Any, path: Path) -> bytes:
    """The content of the file of a value. The same value always gives the same bytes."""
    with without_warnings(LowdimWarning):
        save(value, path)
    content = path.read_bytes()
    os.remove(path)
    return content
