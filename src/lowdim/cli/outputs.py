"""Where commands write: a new file, a file that may be replaced, or the standard output."""

from __future__ import annotations

import os

from ..errors import output_exists
from .tables import STANDARD


def require_absent(output: str, overwrite: bool) -> None:
    """Refuse to replace a file unless that was asked for; before any row is read."""
    if output == STANDARD:
        raise ValueError("a model or a summary cannot go to the standard output: name a file with --output.")
    if not overwrite and os.path.lexists(os.path.expanduser(output)):
        raise output_exists(output, None)
