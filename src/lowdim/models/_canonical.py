"""Functions that the models of canonical variates share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import SmallSampleWarning, warn_user
from ..solvers.results import CanonicalFit
from ..solvers.tables import Views
from ._tables_parameters import check_regularization, check_scale


def standardize_flags(scale: Any, regularization: Any, n_tables: int) -> list[bool]:
    """Which tables the solver standardizes: those with `scale`, and those without regularization."""
    flags, ridges = check_scale(scale, n_tables), check_regularization(regularization, n_tables)
    return [flag or c == 0.0 for flag, c in zip(flags, ridges, strict=True)]


def describe_lost_directions(views: Views, ranks: Sequence[int], ridges: Sequence[float]) -> str:
    """A text with the numbers of directions that were left out because a division by zero variance was needed."""
    lost = []
    for name, view, rank, c in zip(views.names, views.tables, ranks, ridges, strict=True):
        if c > 0.0 or rank >= min(view.dimension, views.n_rows - 1):
            continue
        # Coordinates may have fewer columns than their upper bound says.
        expected = min(view.table.shape[1], views.n_rows - 1)
        if rank < expected:
            lost.append(f"{expected - rank} of {expected} directions of {name} have no variance")
    return ", ".join(lost)


def warn_if_forced(views: Views, fit: CanonicalFit, regularization: Sequence[float]) -> None:
    """Warn if two tables have correlations of 1 for any data, because their ranks add up to more than n - 1."""
    free = [rank for rank, c in zip(fit.ranks, regularization, strict=True) if c == 0.0]
    if len(free) > 1 and sum(sorted(free)[-2:]) > views.n_rows - 1:
        warn_user(
            f"the tables have ranks {', '.join(str(r) for r in fit.ranks)} but only {views.n_rows} rows: correlations "
            "of 1 can be found in any data. Use regularization, fewer columns, or more rows.",
            SmallSampleWarning,
        )
