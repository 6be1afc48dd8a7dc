"""The builders of messages about files."""

from __future__ import annotations

from typing import Any


def damaged_file(path: Any, reason: Any) -> ValueError:
    """The error for a file that does not hold a summary, or one that no rows can have."""
    return ValueError(
        f"{path} is damaged, or not a file that the method `save` of a summary wrote: {reason}. Make the summary again "
        "from the rows, and save it."
    )


def expands_too_much(path: Any, needed: int, allowed: int) -> MemoryError:
    """The error for a compressed file whose arrays would take much more memory than the file is large."""
    return MemoryError(
        f"the arrays of {path} would take {needed} bytes, and {allowed} are allowed for a file of this size. If the "
        f"file comes from a source that you trust, pass max_bytes={needed}."
    )
