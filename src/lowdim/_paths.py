"""Paths that the user gives, as the system takes them."""

from __future__ import annotations

import os
from os import PathLike
from typing import Any


def local_path(path: str | PathLike[str]) -> Any:
    """The path with the home directory in place of a leading "~" (or "~name"); bytes stay bytes."""
    return os.path.expanduser(os.fspath(path))
