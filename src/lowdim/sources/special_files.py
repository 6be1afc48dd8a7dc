"""Devices, sockets and pipes, which are never read: that might not end."""

from __future__ import annotations

import os
import stat

from ..errors import no_such_file, special_file

#: What is neither a file nor a directory.
_SPECIAL = (
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISFIFO, "a named pipe"),
)


def refuse_special(path: str) -> None:
    """Raise an error if there is nothing at a path, or a device, a socket or a pipe."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise no_such_file(path) from None
    for is_special, what in _SPECIAL:
        if is_special(mode):
            raise special_file(path, what)


def check_ordinary(directory: str) -> None:
    """Raise an error if something in a directory, or below it, is a device, a socket or a pipe: reading it might never
    end."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                check_ordinary(entry.path)
            elif not entry.is_file():
                refuse_special(entry.path)
