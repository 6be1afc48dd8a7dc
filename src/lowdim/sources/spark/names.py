"""Names of columns as Spark reads them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The name of a column for Spark, in which dots and blanks have no meaning."""
    return "`" + name.replace("`", "``") + "`"
