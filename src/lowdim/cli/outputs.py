"""Where commands write: a new file, a file that may be replaced, or the standard output."""

from __future__ import annotations

from .._paths import local_path
from .._whole_files import require_free
from .tables import STANDARD


def require_absent(output: str, overwrite: bool) -> None:
    """Refuse a place where nothing can be written, or a file that must not be replaced; before any row is read."""
    if output == STANDARD:
        raise ValueError("only tables can go to the standard output: name a file with --output.")
    require_free(local_path(output), overwrite, output)
