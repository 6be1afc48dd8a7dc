"""The builders of messages about checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def damaged_checkpoint(path: Any, reason: Any) -> ValueError:
    """The error for a file under the name of a checkpoint that holds none, or a damaged one."""
    return ValueError(
        f"{path} holds no checkpoint, or a damaged one: {str(reason).rstrip('.')}. Give another path; or delete the "
        "file, if nothing else is in it, to begin the pass again."
    )


def is_checkpoint(path: Any) -> ValueError:
    """The error for a checkpoint where a model, a summary or a result is expected."""
    return ValueError(
        f"{path} is the checkpoint of a pass over rows that was interrupted, and holds no result yet. Call summarize "
        "or fit with the same rows, and this path as checkpoint: the pass goes on where it was."
    )


def other_pass(path: Any, differences: Sequence[str]) -> ValueError:
    """The error for a checkpoint of other rows, other weights or another summary."""
    listed = "; ".join(differences[:4]) + (f"; and {len(differences) - 4} more" if len(differences) > 4 else "")
    return ValueError(
        f"the checkpoint {path} is of another pass: {listed}. Give the same rows, weights and summary to go on with "
        "it, or another path; or delete the file to begin again."
    )


def other_stream(path: Any, n_rows: int) -> ValueError:
    """The error for a stream whose first rows are not those that were read before."""
    return ValueError(
        f"the first {n_rows} rows of the stream are not those that the checkpoint {path} has the sums of. Give the "
        "same rows in the same blocks to go on with it, or delete the file to begin again."
    )


def no_checkpoint_elsewhere(table: str, *, engine: str | None) -> TypeError:
    """The error for a checkpoint of rows that are not in main memory."""
    if engine is not None:
        return TypeError(
            f"{table} is held by {engine}, which repeats what is lost itself, and no checkpoint is kept. "
            "Summarize groups of partitions one after another, save each summary, and merge them; or fit without "
            "checkpoint."
        )
    return TypeError(
        f"{table} is on a device or of another array library than NumPy, and no checkpoint of its sums is kept. Give "
        "NumPy arrays, tables or files, or fit without checkpoint."
    )


def no_checkpoint_of(model: str, plan: Any) -> ValueError:
    """The error for a checkpoint of a fit that is more than one pass over the rows for one summary."""
    return ValueError(
        f"a checkpoint keeps the state of one pass over the rows for a summary, and this fit of {model} needs more "
        f"than that. Its plan is: {plan}. Fit without checkpoint, or with a solver that makes one summary "
        "('covariance' or 'triangle', where the model has them)."
    )


def no_checkpoint_with_holes(reason: Any) -> ValueError:
    """The error for missing values in the rows of a fit that has a checkpoint."""
    return ValueError(
        f"{reason} Rows with missing values are fitted in several passes, and a checkpoint keeps the state of one: fit "
        "without checkpoint, or fill the holes first."
    )
