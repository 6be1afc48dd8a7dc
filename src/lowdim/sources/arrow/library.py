"""pyarrow, which is imported only when it is needed."""

from __future__ import annotations

from typing import Any

from ...errors import missing_extra


def pyarrow(purpose: str) -> Any:
    """The module pyarrow; an error that says what to install, and for what, if it is missing."""
    try:
        import pyarrow
    except ImportError as error:
        raise missing_extra(purpose, "pyarrow", "files") from error
    return pyarrow
