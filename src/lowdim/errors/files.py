"""The builders of messages about files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from .messages import ENCODE_CLASSES, list_names


def damaged_file(path: Any, reason: Any, newer: bool = False) -> ValueError:
    """The error for a file that does not hold what lowdim saves. `newer`: its format is of a newer minor version."""
    advice = (
        "A newer version of lowdim wrote it and may read it."
        if newer
        else "Take another copy of it, or make it again and save it."
    )
    return ValueError(f"{path} is damaged, or not a file that lowdim saved: {reason}. {advice}")


def missing_extra(purpose: str, package: str, extra: str) -> ImportError:
    """The error for a package that is needed and not installed."""
    return ImportError(f"{purpose} needs {package}, which is not installed: pip install 'lowdim[{extra}]'.")


def not_a_path(got: Any) -> TypeError:
    """The error for something else than a path where files are named."""
    return TypeError(
        f"files are given by a path, a pattern such as 'part-*.parquet', a directory, or a list of these; got "
        f"{type(got).__name__}."
    )


def list_of_paths(path: Any) -> ValueError:
    """The error for a list of paths in place of rows."""
    return ValueError(
        f"X is a list of text, such as {str(path)!r}, and not rows of numbers. If these are files, pass lowdim.scan(X)."
    )


def no_such_file(path: Any) -> FileNotFoundError:
    """The error for a path where there is nothing."""
    return FileNotFoundError(f"there is no file {path}. Check the path; relative ones start at the working directory.")


def not_local(path: str) -> ValueError:
    """The error for an address on another machine."""
    return ValueError(
        f"{path} is an address, and only files of this machine are read by their paths. Open it with another library "
        "and pass what that returns: pyarrow.dataset.dataset(...) or polars.scan_parquet(...)."
    )


def no_match(pattern: str) -> FileNotFoundError:
    """The error for a pattern that no file matches."""
    return FileNotFoundError(
        f"no file matches {pattern}. Check the pattern: * stands for any characters within one directory, ** for any "
        "directories."
    )


def empty_directory(path: str, suffixes: Sequence[str]) -> FileNotFoundError:
    """The error for a directory without files."""
    return FileNotFoundError(
        f"the directory {path} holds no files, apart from names that begin with a dot or an underscore, which are left "
        f"out. Files with these suffixes can be read: {', '.join(suffixes)}."
    )


def mixed_kinds(where: str, kinds: Mapping[str, str]) -> ValueError:
    """The error for files of several kinds."""
    listed = ", ".join(f"{path} ({kind})" for kind, path in kinds.items())
    return ValueError(
        f"{where} holds files of several kinds, for example {listed}. All files of a table must be of one kind: choose "
        "some with a pattern such as 'directory/*.parquet'."
    )


def special_file(path: str, what: str) -> ValueError:
    """The error for a device, a socket or a pipe."""
    return ValueError(f"{path} is {what}, and only ordinary files can be read. Write its contents to a file first.")


def not_permitted(path: str) -> PermissionError:
    """The error for a file that may not be read."""
    return PermissionError(f"{path} may not be read by this user. Change its permissions, or leave it out.")


def unknown_suffix(path: str, suffixes: Sequence[str]) -> ValueError:
    """The error for a file whose name does not tell what it holds."""
    return ValueError(
        f"{path} has none of the suffixes that tell how a file is read: {', '.join(suffixes)}. Rename it, or choose "
        "files with a pattern such as 'directory/*.parquet'."
    )


def saved_object(path: str) -> ValueError:
    """The error for a model, a summary or a checkpoint where rows are expected."""
    return ValueError(
        f"{path} is no table: lowdim wrote it, and it holds a model, a summary, a result or a checkpoint. "
        "lowdim.load(path) reads it; models are fitted to a summary by fit_summary(lowdim.load(path))."
    )


def changed_file(path: str, how: str) -> ValueError:
    """The error for a file that is not the one that was scanned."""
    return ValueError(
        f"{path} has changed since it was scanned: {how}. All passes over the rows must see the same rows: wait until "
        "nothing writes to it any more, then call lowdim.scan again."
    )


def deleted_file(path: str) -> FileNotFoundError:
    """The error for a file that is no longer there."""
    return FileNotFoundError(
        f"{path} was there when it was scanned, and is gone now. Restore it, or call lowdim.scan again to read the "
        "files that are left."
    )


def unreadable_file(path: str, where: str, reason: Any) -> ValueError:
    """The error for a file that is damaged, or not what its name says; `where` is the place in it."""
    return ValueError(
        f"{path} cannot be read{where}: {str(reason).rstrip('.')}. The file is damaged, incomplete, or not what its "
        "name says: write it again, or leave it out."
    )


def ragged_line(n_fields: int, n_columns: int) -> str:
    """Why a line of a CSV file cannot be read that has more or fewer fields than the header."""
    fields, columns = (f"{n} {noun}{'' if n == 1 else 's'}" for n, noun in ((n_fields, "field"), (n_columns, "column")))
    return f"it has {fields}, and the header names {columns}"


def open_quote() -> str:
    """Why a line of a CSV file cannot be read in which a quote is opened and not closed."""
    return "a quote is opened there and not closed at the end of a field, so that lines behind it belong to this field"


def no_rows_in_files(where: str) -> ValueError:
    """The error for files that have columns and no rows."""
    return ValueError(f"found 0 sample(s) in {where}, while a minimum of 1 is required: none of the files has a row.")


def missing_columns(path: str, missing: Sequence[str], names: Sequence[str]) -> ValueError:
    """The error for one of several files that has not the columns of the first one."""
    return ValueError(
        f"{path} has no column {list_names(missing)}, which is needed and which the first file has; its columns are "
        f"{list_names(names)}. Rename the column there, or leave the file or the column out."
    )


def csv_header(path: str, fields: Sequence[str]) -> ValueError:
    """The error for a CSV file that does not begin with the names of its columns."""
    got = f"numbers: {', '.join(fields[:6])}{', ...' if len(fields) > 6 else ''}" if fields else "empty"
    return ValueError(
        f"{path} has no header: the first line must hold the names of the columns, and it is {got}. Write a line with "
        "names at the beginning."
    )


def other_separator(path: str, separator: str, first: str, expected: str) -> ValueError:
    """The error for one of several CSV files whose fields are separated by another character."""
    words = {",": "commas", ";": "semicolons", "\t": "tabs"}
    return ValueError(
        f"{path} is separated by {words[separator]}, and the first file, {first}, by {words[expected]}. All CSV files "
        "of a table must be separated by the same character: write this one again, or leave it out."
    )


def nearly_numbers(where: str, why: str) -> ValueError:
    """The error for columns that 'numeric' would leave out because of a few entries; `why` says where these are."""
    return ValueError(
        f"{where} has columns of text in which nearly all entries are numbers: {why}. columns='numeric' would leave "
        "these columns out: correct the entries, or say that they are not wanted with exclude=."
    )


def csv_line_break_in_header(path: str) -> ValueError:
    """The error for a CSV file with a line break, or only one quote, in the name of a column."""
    return ValueError(
        f"{path} has a header that does not end with the first line: a quote is open there. Line breaks within the "
        "name of a column are not supported; rename it."
    )


def csv_encoding(path: str, encoding: str) -> ValueError:
    """The error for a CSV file that is not in UTF-8."""
    return ValueError(f"{path} is written in {encoding}; CSV files must be in UTF-8. Convert it first.")


def inexact_integer(value: int, row: str, column: str) -> ValueError:
    """The error for an integer that float64 cannot hold."""
    return ValueError(
        f"{column} holds the integer {value} in {row}, which float64 cannot hold exactly (integers up to 2^53 can "
        "always be held). If it is an identifier, leave the column out; otherwise subtract a constant, or convert the "
        "column to floating point first."
    )


def not_numbers(where: str, columns: Sequence[str], numeric: Sequence[str], *, why: str = "") -> ValueError:
    """The error for columns that are not numbers."""
    others = "Take only those with lowdim.scan(..., columns='numeric'), leave columns out with exclude=, or encode the"
    advice = f"{others} others as numbers." if numeric else "Encode them as numbers first."
    return ValueError(
        f"{where} has columns that are not numbers: {list_names(columns, 20)}{f' ({why})' if why else ''}; these are "
        f"numbers: {list_names(numeric, 20) or 'none'}. {advice}"
    )


def named_response_not_numbers(where: str, columns: Sequence[str], numeric: Sequence[str]) -> ValueError:
    """The error for responses, given by the names of their columns, that are not numbers."""
    return ValueError(
        f"y: {list_names(columns, 20)} of {where} cannot be a response, since it is not a number. {ENCODE_CLASSES} "
        f"These columns are numbers: {list_names(numeric, 20) or 'none'}."
    )


def unknown_column(where: str, name: str, names: Sequence[str]) -> ValueError:
    """The error for a name or a pattern that no column matches."""
    near = get_close_matches(name, list(names), 3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return ValueError(f"{where} has no column {name!r}; its columns are {list_names(names, 20)}.{hint}")


def no_columns_left(where: str, names: Sequence[str], numeric: Sequence[str]) -> ValueError:
    """The error for a choice of columns that is empty."""
    return ValueError(
        f"no column of {where} is chosen: found 0 feature(s), while a minimum of 1 is required. Its columns are "
        f"{list_names(names, 20) or 'none'}; these are numbers: {list_names(numeric, 20) or 'none'}."
    )


def duplicate_columns(where: str, names: Sequence[str], *, can_leave_out: bool = True) -> ValueError:
    """The error for several columns of one name. `can_leave_out`: other columns can be read without these."""
    return ValueError(
        f"{where} has several columns with the name {list_names(names)}. Columns are read by their names: rename them"
        f"{', or leave them out' if can_leave_out else ''}."
    )


def named_twice(argument: str, names: Sequence[str]) -> ValueError:
    """The error for a column that is named several times."""
    twice = [name for name in dict.fromkeys(names) if list(names).count(name) > 1]
    return ValueError(f"{argument} names {list_names(twice)} more than once. Name each column once.")


def bad_columns(argument: str, got: Any) -> TypeError:
    """The error for a choice of columns that is not made of names."""
    return TypeError(
        f"{argument}={got!r} must be the name of a column, a pattern such as 'temp_*', or a list of these"
        f"{', or numeric' if argument == 'columns' else ''}."
    )


def foreign_file(path: Any, appearance: str) -> ValueError:
    """The error for a file of another kind."""
    return ValueError(
        f"{path} is not a file that lowdim saved: it looks like {appearance}. Models and summaries are read from files "
        "that lowdim.save or the method `save` of a summary wrote."
    )


def newer_file(path: Any, version: str, writer: str) -> ValueError:
    """The error for a file whose format is of a newer major version."""
    return ValueError(
        f"{path} was written by lowdim {writer[:40]}, in version {version} of the format, which this version of lowdim "
        "cannot read. Install the version of lowdim that wrote it, or a newer one."
    )


def file_exceeds_memory(path: Any, needed: int, free: int | None) -> MemoryError:
    """The error for a file whose arrays are larger than the memory that is free, if that is known."""
    have = "less memory is" if free is None else f"{free} bytes of memory are"
    return MemoryError(f"the arrays of {path} take {needed} bytes, and {have} free.")
