"""Fits whose only pass over the rows can be interrupted."""

from __future__ import annotations

from typing import Any

from ..errors import no_checkpoint_of, no_checkpoint_with_holes
from ..reading import Checkpoint, FirstPass
from ..solvers import Plan
from ._rule_choice import is_cv


def keep_state(model: Any, plan: Plan, rows: Any, checkpoint: Checkpoint) -> Checkpoint:
    """Let the pass over the rows keep its state; an error if the fit is planned to be more than one pass for one
    summary."""
    if is_cv(getattr(model, "n_components", None)):
        raise no_checkpoint_of(type(model).__name__, "cross-validation, with sums of the folds")
    if plan.passes != 1 or getattr(plan.solver, "starts_from", None) is None:
        raise no_checkpoint_of(type(model).__name__, plan)
    read = model._rows_read(rows)
    if model._takes_nan and read.shows_holes():
        raise no_checkpoint_with_holes("there are missing values in the first rows.")
    read.first_pass = FirstPass(checkpoint)
    return checkpoint
