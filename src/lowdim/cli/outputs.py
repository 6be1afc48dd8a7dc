"""Where commands write: a new file, a file that may be replaced, or the standard output."""

from __future__ import annotations

import os

from .._paths import local_path
from ..errors import directory_is_missing, output_exists
from .tables import STANDARD


def require_absent(output: str, overwrite: bool) -> None:
    """Refuse a place where nothing can be written, or a file that must not be replaced; before any row is read."""
    if output == STANDARD:
        raise ValueError("only tables can go to the standard output: name a file with --output.")
    place = local_path(output)
    folder = os.path.dirname(os.path.realpath(place))
    if not os.path.isdir(folder):
        raise directory_is_missing(output, folder)
    if not overwrite and os.path.lexists(place):
        raise output_exists(output, None)
