"""The builders of messages about files that are written."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Any

from .messages import list_names


def unknown_output(path: Any, suffixes: Sequence[str]) -> ValueError:
    """The error for a path whose suffix names no kind of file that can be written."""
    return ValueError(
        f"the kind of file to write is not known from the name {str(path)!r}: it must end with one of "
        f"{', '.join(suffixes)} (a further '/' makes a directory of such files)."
    )


def output_is_no_path(got: Any) -> TypeError:
    """The error for a place to write to that is not a path."""
    return TypeError(f"path must be a string or a Path, got {type(got).__name__}.")


def not_html(path: Any) -> ValueError:
    """The error for the path of a page that does not end as one does."""
    return ValueError(f"the report {str(path)!r} must end with .html, as in 'report.html'.")


def output_is_special(path: Any) -> OSError:
    """The error for a device, a socket or a pipe at a path, which no file replaces."""
    return OSError(f"{path} is a device, a socket or a pipe, and cannot be replaced by a file. Choose another path.")


def output_is_directory(path: Any, found: Any) -> IsADirectoryError:
    """The error for the path of a directory where that of a file is needed; `found` is the whole path."""
    return IsADirectoryError(
        f"cannot write to the path {str(path)!r}: {found} is a directory, which is not replaced. Add the name of a "
        "file."
    )


def no_inner_name(path: Any, kind: str, allowed: Sequence[str]) -> ValueError:
    """The error for '::' in a path to a kind of file that has no arrays with names."""
    return ValueError(
        f"{str(path)!r} names an array inside of a {kind} file, which holds only one table: '::' is for "
        f"{' and '.join(allowed)}. Leave it out."
    )


def directory_is_missing(path: Any, folder: Any) -> FileNotFoundError:
    """The error for a path in a directory that does not exist."""
    return FileNotFoundError(
        errno.ENOENT, f"cannot write {str(path)!r}: there is no directory {str(folder)!r}; make it first"
    )


def output_exists(path: Any, file: Any = None) -> FileExistsError:
    """The error for a path under which there is something already; `file` is the file, if the path names an array."""
    what, that = ("it", "it") if file is None else (f"the file {str(file)!r}", "all of it")
    return FileExistsError(
        errno.EEXIST, f"cannot write {str(path)!r}: {what} exists already. Pass overwrite=True to replace {that}"
    )


def would_lose_arrays(path: Any, file: Any, names: Sequence[str]) -> FileExistsError:
    """The error for a file with several arrays, of which all would be replaced by one."""
    return cannot_be_replaced(
        path,
        f"{str(file)!r} also holds {list_names(names)}. A result is written as a file of its own, and they would be "
        "lost",
    )


def cannot_be_replaced(path: Any, reason: str) -> FileExistsError:
    """The error for something that is never replaced by a result."""
    return FileExistsError(errno.EEXIST, f"{str(path)!r} is not replaced: {reason}. Choose another path")


def no_permission_to_write(path: Any, folder: Any) -> PermissionError:
    """The error for a directory in which files may not be made."""
    return PermissionError(
        errno.EACCES,
        f"cannot write {str(path)!r}: you have no permission to make files in the directory {str(folder)!r}",
    )


def not_written(path: Any, error: OSError) -> OSError:
    """The error for a file that could not be written to its end, for example because the disk is full."""
    reason = str(error) if error.errno is None else os.strerror(error.errno)
    return OSError(
        error.errno or errno.EIO,
        f"{str(path)!r} could not be written: {reason}. Nothing was left there; what was there before is unchanged",
    )


def being_read(path: Any) -> ValueError:
    """The error for a path at which the rows lie that are being read."""
    return ValueError(f"{str(path)!r} holds the rows that are being read; write the results to another path.")


def no_kept_columns(path: Any, kind: str, suffixes: Sequence[str]) -> ValueError:
    """The error for columns that are to be carried along to a file that holds one array of numbers."""
    return ValueError(
        f"{str(path)!r} cannot hold the columns given as keep: a {kind} file holds one array of numbers. Write a table "
        f"({', '.join(suffixes)}), or leave keep out."
    )


def not_for_csv(path: Any, names: Sequence[str], types: Sequence[Any]) -> ValueError:
    """The error for kept columns whose values cannot be written as text."""
    listed = ", ".join(f"{name!r} ({type_})" for name, type_ in zip(names, types, strict=True))
    return ValueError(
        f"a CSV file cannot hold the columns {listed}, given as keep. Write {str(path)!r} as .parquet or .arrow, or do "
        "not keep them."
    )


def other_kept_type(name: str, now: Any, first: Any) -> ValueError:
    """The error for a kept column whose values do not have the type that they had in the first rows."""
    return ValueError(
        f"the column {name!r}, given as keep, holds values of the type {now} that cannot be converted to {first}, the "
        "type of the first rows. Convert the column to one type first, or do not keep it."
    )


def bad_keep(keep: Any) -> ValueError:
    """The error for columns to carry along that are not names, or are named twice."""
    return ValueError(f"keep={keep!r} must be the names of different columns, as in keep=['id'].")


def cannot_keep(table: str, names: Sequence[str]) -> TypeError:
    """The error for columns that are to be carried along from something that has no columns with names."""
    return TypeError(
        f"keep={list(names)} needs columns with names, which {table} does not have: pass a data frame, a scan of files "
        "with a table (Parquet, Arrow, CSV) or an iterable of data frames, or leave keep out."
    )


def columns_clash(clashing: Sequence[str]) -> ValueError:
    """The error for results that cannot be told from kept columns, although their names have got an ending."""
    return ValueError(
        f"there would be two columns {', '.join(map(repr, clashing))}: a kept column and a result. Rename the kept "
        "column, or do not keep it."
    )


def formula_like(column: str, example: str) -> str:
    """The warning for text in a CSV file that spreadsheets run as a formula."""
    shown = example if len(example) <= 40 else example[:39] + "…"
    return (
        f"the column {column!r} holds text such as {shown!r}, which spreadsheets run as a formula. It is written as it "
        "is. To open the file in a spreadsheet, write it with lowdim.sinks.escaped_formulas() (on the command line, "
        "--escape-formulas)."
    )
