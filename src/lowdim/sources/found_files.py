"""Which files a path, a pattern, a list or a directory stands for."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from .. import container
from .._paths import local_path
from ..errors import (
    empty_directory,
    inside_store,
    mixed_kinds,
    no_match,
    no_such_file,
    not_a_path,
    not_local,
    not_permitted,
    saved_object,
    unknown_suffix,
)
from .file_kinds import FILE_KINDS, kind_of, suffixes
from .special_files import refuse_special
from .stamps import Found, Stamp

#: What separates the path of a store from the name of an array in it.
_INSIDE = "::"


def find_files(where: Any) -> Found:
    """The files that `where` stands for: a path, a pattern such as "part-*.parquet", a directory, or a list of these.

    Directories are searched with all that are below them, in the order of the names. Names that begin with a dot or an
    underscore are left out there, since writers use them for their own notes. All files must be of one kind.
    """
    places = list(where) if isinstance(where, list | tuple) else [where]
    if not places:
        raise no_such_file("an empty list")
    paths: list[str] = []
    partitions: list[tuple[tuple[str, str], ...]] = []
    inside = None
    for place in places:
        if not isinstance(place, str | os.PathLike):
            raise not_a_path(place)
        path, name = _split(local_path(place))
        inside = inside if name is None else name
        _refuse_inside(path)
        found = list(_expanded(path))
        paths += found
        partitions += [_keys_of(file, _given_directory(path)) for file in found]
    kinds: dict[str, str] = {}
    for path in paths:
        kinds.setdefault(_kind_of_file(path), path)
    if len(kinds) > 1:
        raise mixed_kinds(_text(where), kinds)
    return Found(_text(where), next(iter(kinds)), tuple(map(Stamp.of, paths)), inside, tuple(partitions))


def is_path(X: Any) -> bool:
    """Whether `X` is the path of a file or a directory, or a pattern."""
    return isinstance(X, str | Path)


def names_file(text: str) -> bool:
    """Whether a text can be taken for the path of a file: by its suffix, or because there is such a file."""
    return kind_of(_split(text)[0]) is not None or os.path.exists(text)


def _split(path: str) -> tuple[str, str | None]:
    """A path, and the name of an array in the file if one is given behind "::"."""
    before, separator, name = path.partition(_INSIDE)
    return (path, None) if not separator or os.path.exists(path) else (before, name)


def _refuse_inside(path: str) -> None:
    """Raise an error for the path of an array in a store that is written as if the store were a directory."""
    for parent in Path(path).parents if kind_of(path) is None else ():
        kind = kind_of(parent.name)
        if kind is not None and FILE_KINDS[kind].named_arrays and parent.exists():
            raise inside_store(path, str(parent), Path(path).relative_to(parent).as_posix())


def _expanded(path: str) -> Iterator[str]:
    """The files that a path, a pattern or a directory stands for."""
    if os.path.lexists(path):
        yield from _files_in(path)
        return
    if "://" in path:
        raise not_local(path)
    if not glob.has_magic(path):
        raise _absent(path)
    # Notes are left out unless the pattern itself names them.
    found = sorted(match for match in glob.glob(path, recursive=True) if _notes(match) <= _notes(path))
    # With "**" the files in directories match by themselves.
    found = [match for match in found if "**" not in path or not os.path.isdir(match) or _is_store(match)]
    if not found:
        raise no_match(path)
    for match in found:
        yield from _files_in(match)


def _given_directory(path: str) -> str:
    """The directory that the user gave: the path itself, or what a pattern begins with; the names of directories below
    it were found."""
    if os.path.isdir(path):
        return path
    while glob.has_magic(path) and not os.path.lexists(path):
        path = os.path.dirname(path)
    return path if os.path.isdir(path) or not path else os.path.dirname(path)


def _keys_of(file: str, directory: str) -> tuple[tuple[str, str], ...]:
    """The keys and values in the names of the directories of a file below another directory, such as "year=2024"."""
    names = Path(os.path.relpath(file, directory or os.curdir)).parts[:-1]
    pairs = (name.partition("=") for name in names)
    return tuple((unquote(key), unquote(value)) for key, equals, value in pairs if key and equals)


def _absent(path: str) -> OSError:
    """The error for a path at which nothing is found: there is nothing, or one of the directories is closed."""
    try:
        os.lstat(path)
    except PermissionError:
        return not_permitted(path)
    except (OSError, ValueError):
        pass
    return no_such_file(path)


def _notes(path: str) -> int:
    """How many parts of a path are names that writers use for their own notes, such as "_SUCCESS" or ".crc"."""
    return sum(part.startswith((".", "_")) and part not in (".", "..") for part in Path(path).parts)


def _files_in(path: str) -> Iterator[str]:
    """The file itself, or all files in a directory and below it, in the order of their names."""
    if not os.path.isdir(path) or _is_store(path):
        yield path
        return
    found = sorted(_walk(path, set()))
    if not found:
        raise empty_directory(path, suffixes())
    yield from found


def _walk(directory: str, seen: set[str]) -> Iterator[str]:
    """All files below a directory; stores that are directories count as files."""
    real = os.path.realpath(directory)
    if real in seen:
        return
    seen.add(real)
    if not os.access(directory, os.R_OK | os.X_OK):
        raise not_permitted(directory)
    with os.scandir(directory) as listed:
        entries = list(listed)
    for entry in entries:
        if _notes(entry.name):
            continue
        if entry.is_dir() and not _is_store(entry.path):
            yield from _walk(entry.path, seen)
        else:
            yield entry.path


def _is_store(path: str) -> bool:
    """Whether a directory is a store, by its name."""
    kind = kind_of(path)
    return kind is not None and FILE_KINDS[kind].directory and os.path.isdir(path)


def _kind_of_file(path: str) -> str:
    """The kind of a file that can be read; an error for anything else."""
    refuse_special(path)
    if not os.access(path, os.R_OK):
        raise not_permitted(path)
    kind = kind_of(path)
    if kind is None:
        raise saved_object(path) if container.looks_written(path) else unknown_suffix(path, suffixes())
    return kind


def _text(where: Any) -> str:
    """How `where` is written in messages."""
    if isinstance(where, list | tuple):
        return f"{os.fspath(where[0])} and {len(where) - 1} more" if len(where) > 1 else os.fspath(where[0])
    return os.fspath(where)
