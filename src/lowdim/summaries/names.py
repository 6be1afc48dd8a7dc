"""Names of the columns that were summed up: they travel with a summary, so that other columns are never added to it.

Names are None if nothing is known about them, or a tuple with a name for each column. A column of a table without
names, beside a table with names, has the name None, which agrees with every other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from ..errors import different_columns

Names = tuple[str | None, ...] | None


def checked_names(names: Any, n_columns: int | None) -> Names:
    """`names` as a tuple, after a check that there is one for each column; None if no column has a name."""
    if names is None:
        return None
    known = () if isinstance(names, str) else tuple(names)
    if isinstance(names, str) or not all(name is None or isinstance(name, str) for name in known):
        raise TypeError("names must be a sequence of texts, one for each column.")
    if n_columns is not None and len(known) != n_columns:
        raise ValueError(f"this summary is of {n_columns} columns, and there are {len(known)} names.")
    return None if all(name is None for name in known) else known


def agreed_names(mine: Names, others: Names, what: str) -> Names:
    """The names of columns that two sides call `mine` and `others`; an error that names the difference if they are not
    the same. `what` is the other side in messages."""
    if others is None or others is mine:
        return mine
    if mine is None or mine == others:
        return others
    differ = (a != b and a is not None and b is not None for a, b in zip(mine, others, strict=False))
    if len(mine) != len(others) or any(differ):
        raise different_columns(mine, others, what)
    return tuple(b if a is None else a for a, b in zip(mine, others, strict=True))


def names_of_tables(names: Names, widths: Sequence[int]) -> list[list[str] | None]:
    """The names of the columns of each of several tables side by side; None for a table without names."""
    if names is None:
        return [None] * len(widths)
    each = (names[i:j] for i, j in pairwise(accumulate(widths, initial=0)))
    return [None if None in part else [str(name) for name in part] for part in each]
