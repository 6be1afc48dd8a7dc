"""The builders of messages about what cannot be saved."""

from __future__ import annotations

from typing import Any


def not_storable(where: str, what: str, advice: str) -> TypeError:
    """The error for a value that no file can hold."""
    return TypeError(
        f"{where} is {what}, which a file cannot hold: it holds numbers, text, arrays and the classes of "
        f"lowdim, and no code. {advice}"
    )


def not_a_stored_class(obj: Any) -> TypeError:
    """The error for an object that `lowdim.save` does not know."""
    kind = obj.__name__ if isinstance(obj, type) else type(obj).__name__
    return TypeError(
        f"{'the class ' if isinstance(obj, type) else 'an object of the class '}{kind} cannot be saved. Fitted models "
        "of lowdim and lowdim.sklearn can (not classes derived from them), and so can summaries, plans and results of "
        "selection."
    )


def fewer_rows_than_allowed(obj: Any, n: int, min_rows: int, holds_rows: bool) -> ValueError:
    """The error for an object of fewer rows than `min_rows`, or one that holds rows."""
    why = "holds rows, or numbers for each of them" if holds_rows else f"was made from {n} rows"
    return ValueError(
        f"this {type(obj).__name__} {why}, and min_rows={min_rows} asks for a file that was made from at least so many "
        "rows and holds none of them. It was not saved."
    )


def bad_min_rows(min_rows: Any) -> ValueError:
    """The error for a smallest number of rows that is not one."""
    return ValueError(f"min_rows={min_rows!r} must be a whole number of at least 1, or None.")


def unknown_number_of_rows(obj: Any) -> ValueError:
    """The error for `min_rows` with an object that does not know its number of rows."""
    return ValueError(
        f"min_rows is for models and for summaries that count their rows, and a {type(obj).__name__} does not. Leave "
        "it out, if the file may be saved."
    )


def not_loadable(path: Any, error: Exception) -> ValueError:
    """The error for values that could be written, but would be refused by `load`."""
    return ValueError(f"{path} was not written, because it could not be loaded again: {error}.")
