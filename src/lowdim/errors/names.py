"""The builders of messages about names of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


def different_columns(expected: Sequence[str | None], got: Sequence[str | None], what: str) -> ValueError:
    """The error for rows or a summary, `what`, whose columns are not those that were summed up so far."""
    return ValueError(
        f"{what} has other columns than the rows summed up so far: {names_difference(expected, got)}. Sums of "
        "different columns cannot be added; select the same columns in the same order everywhere."
    )


def names_difference(expected: Sequence[str | None], got: Sequence[str | None]) -> str:
    """How two lists of names differ: the names that are missing, those that are not expected, or the first place where
    the order differs. A column without a name (None) agrees with every other one."""
    pairs = [(j, a, b) for j, (a, b) in enumerate(zip(expected, got, strict=False)) if a is not None and b is not None]
    wanted = Counter([a for _, a, _ in pairs] + list(expected[len(got) :]))
    found = Counter([b for _, _, b in pairs] + list(got[len(expected) :]))
    parts = [
        f"{label}: {_listed(list(names.elements()))}"
        for label, names in (("missing", wanted - found), ("not expected", found - wanted))
        if names
    ]
    if parts:
        return "; ".join(parts)
    j, a, b = next(pair for pair in pairs if pair[1] != pair[2])
    return f"the same names in another order, where column {j} is {b!r} instead of {a!r}"


def rows_in_another_order(first: str, other: str, place: int, label: Any, other_label: Any) -> ValueError:
    """The error for two tables with the same row labels in another order."""
    aligned = f"{other}.loc[{first}.index]" if other.isidentifier() and first.isidentifier() else "B.loc[A.index]"
    return ValueError(
        f"{first} and {other} have the same row labels in another order: row {place} is {label!r} in {first} and "
        f"{other_label!r} in {other}. Rows are matched by their positions: pass {aligned}, or drop the labels with "
        "reset_index(drop=True) if the positions are right."
    )


def _listed(names: Sequence[str | None], most: int = 6) -> str:
    listed = ", ".join("a column without a name" if name is None else repr(name) for name in names[:most])
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")
