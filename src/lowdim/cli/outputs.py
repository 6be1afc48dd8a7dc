"""Where commands write: a new file, a file that may be replaced, or the standard output."""

from __future__ import annotations

import os

from .._paths import local_path
from ..errors import output_exists
from .tables import STANDARD


def require_absent(output: str, overwrite: bool) -> None:
    """Refuse to replace a file unless that was asked for; before any row is read."""
    if output == STANDARD:
        raise ValueError("only tables can go to the standard output: name a file with --output.")
    if not overwrite and os.path.lexists(local_path(output)):
        raise output_exists(output, None)
