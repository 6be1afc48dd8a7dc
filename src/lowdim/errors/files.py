"""The builders of messages about files."""

from __future__ import annotations

from typing import Any


def damaged_file(path: Any, reason: Any, newer: bool = False) -> ValueError:
    """The error for a file that does not hold what lowdim saves. `newer`: its format is of a newer minor version."""
    advice = (
        "A newer version of lowdim wrote it and may read it."
        if newer
        else "Take another copy of it, or make it again and save it."
    )
    return ValueError(f"{path} is damaged, or not a file that lowdim saved: {reason}. {advice}")


def foreign_file(path: Any, appearance: str) -> ValueError:
    """The error for a file of another kind."""
    return ValueError(
        f"{path} is not a file that lowdim saved: it looks like {appearance}. Models and summaries are read from files "
        "that lowdim.save or the method `save` of a summary wrote."
    )


def newer_file(path: Any, version: str, writer: str) -> ValueError:
    """The error for a file whose format is of a newer major version."""
    return ValueError(
        f"{path} was written by lowdim {writer[:40]}, in version {version} of the format, which this version of lowdim "
        "cannot read. Install the version of lowdim that wrote it, or a newer one."
    )


def file_exceeds_memory(path: Any, needed: int, free: int) -> MemoryError:
    """The error for a file whose arrays are larger than the memory that is free."""
    return MemoryError(f"the arrays of {path} take {needed} bytes, and {free} bytes of memory are free.")
