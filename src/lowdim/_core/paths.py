"""Paths that the user gives, and files that appear under their name only when they are whole."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import directory_is_missing, output_exists

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: The end of the names of temporary directories.
_UNFINISHED = ".unfinished"
#: The name, in the temporary directory, of a directory that is about to be replaced.
_REPLACED = ".replaced"


def require_free(path: str | PathLike[str], overwrite: bool, given: str | PathLike[str] | None = None) -> None:
    """Refuse a file in a directory that does not exist, or one that exists and must not be replaced.

    Messages call it `given`, if it is known to the user by another name. Meant to be called before the work begins.
    """
    shown = path if given is None else given
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise directory_is_missing(shown, folder)
    if not overwrite and os.path.lexists(path):
        raise output_exists(shown, None)


@contextmanager
def moved_when_whole(path: str | PathLike[str], *, over_directory: bool = False) -> Iterator[Path]:
    """A path of the same name in a temporary directory beside `path`. Write a file or a directory there.

    A file at `path` is replaced. A directory is replaced, with all that it holds, only with `over_directory`; otherwise
    it is an error.

    When the block ends, what was written is flushed to the disk and moved to `path` in one step: whoever opens `path`
    finds what was there before, or all of the new content. If the block raises an error, `path` stays as it was. In
    both cases the temporary directory is removed. (Only a directory that replaces something takes two steps. If the
    process is killed between them, the next call for the same path brings back what was there.)

    A process that is killed leaves its temporary directory behind, `.NAME.RANDOM.unfinished`. The next call for the
    same path removes it. A directory that another process still writes to is left alone: its writer holds a lock on
    it, which ends with the process.
    """
    target = Path(os.path.realpath(path))

    def refuse_directory() -> None:
        """The empty path stands for the working directory."""
        if target.is_dir() and not over_directory:
            raise IsADirectoryError(
                f"cannot write to the path {str(path)!r}: {target} is a directory, which is not replaced. Add "
                "the name of a file."
            )

    with suppress(FileNotFoundError):
        mode = target.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(
                f"{target} is a device, a socket or a pipe, and cannot be replaced by a file. Choose another path."
            )
    refuse_directory()
    _remove_leftovers(target)
    directory, lock = _locked_directory(target)
    try:
        unfinished = directory / target.name
        yield unfinished
        for file in unfinished.rglob("*") if unfinished.is_dir() else [unfinished]:
            if file.is_file():
                _flush(file, os.O_RDWR)
        refuse_directory()
        _move(unfinished, target)
        # Where directories cannot be opened, the system flushes the names in them by itself.
        with suppress(OSError):
            _flush(target.parent, os.O_RDONLY)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _prefix(target: Path) -> str:
    """How the names of temporary directories for `target` begin. Names of files have at most 255 bytes."""
    return f".{target.name[:48]}."


def _locked_directory(target: Path) -> tuple[Path, int | None]:
    """A new temporary directory beside `target`, and the descriptor that holds the lock on it."""
    while True:
        directory = Path(tempfile.mkdtemp(_UNFINISHED, _prefix(target), target.parent))
        # Between the two calls, another process may take the directory for a left-over one, lock and remove it.
        with suppress(FileNotFoundError, BlockingIOError):
            lock = _lock(directory)
            if directory.is_dir():
                return directory, lock


def _lock(directory: Path) -> int | None:
    """A descriptor with a lock on a directory; None where there are no locks. If another process has the lock, a
    BlockingIOError is raised."""
    if fcntl is None:
        return None
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise
        return None  # this file system has no locks
    return descriptor


def _remove_leftovers(target: Path) -> None:
    """Remove the temporary directories that killed processes left beside `target`. Where there are no locks, nothing
    shows whether a directory is left over, and it stays."""
    try:
        names = os.listdir(target.parent)
    except OSError:
        return  # the directory may be writable, but not readable
    for name in names:
        begin = _prefix(target)
        # `.a.b.RANDOM.unfinished` belongs to the file `a.b`, not to the file `a`; RANDOM has no dot.
        if name.startswith(begin) and name.endswith(_UNFINISHED) and "." not in name[len(begin) : -len(_UNFINISHED)]:
            with suppress(OSError):
                lock = _lock(target.parent / name)
                if lock is not None:
                    _bring_back(target.parent / name / _REPLACED, target)
                    shutil.rmtree(target.parent / name, ignore_errors=True)
                    os.close(lock)


def _move(unfinished: Path, target: Path) -> None:
    """Give what was written its name."""
    if not unfinished.is_dir() and not target.is_dir():
        os.replace(unfinished, target)
        return
    # A directory with content cannot be replaced in one step.
    replaced = unfinished.with_name(_REPLACED)
    if target.exists():
        os.rename(target, replaced)
    try:
        os.rename(unfinished, target)
    except BaseException:
        _bring_back(replaced, target)
        raise


def _bring_back(replaced: Path, target: Path) -> None:
    """Undo the first of the two steps by which a directory is replaced, unless the second one was taken."""
    if replaced.exists() and not target.exists():
        os.rename(replaced, target)


def _flush(path: Path, flags: int) -> None:
    """Have the content of a file, or the names in a directory, written to the disk."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def local_path(path: str | PathLike[str]) -> Any:
    """The path with the home directory in place of a leading "~" (or "~name"); bytes stay bytes."""
    return os.path.expanduser(os.fspath(path))
