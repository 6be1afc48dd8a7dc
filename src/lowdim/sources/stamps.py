"""Files that were found for a table, and by what a change of them is noticed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import changed_file, deleted_file


@dataclass(frozen=True)
class Stamp:
    """A file, and by what a change of it is noticed."""

    path: str
    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, path: str) -> Stamp:
        """The stamp of a file that exists."""
        found = os.stat(path)
        return cls(path, found.st_size, found.st_mtime_ns, found.st_ino)

    def check(self) -> None:
        """Raise an error if the file is another one by now, or no longer there."""
        try:
            now = Stamp.of(self.path)
        except FileNotFoundError:
            raise deleted_file(self.path) from None
        if now.size != self.size:
            raise changed_file(self.path, f"it had {self.size} bytes and now has {now.size}")
        if now != self:
            raise changed_file(self.path, "it was written again in between, as its time stamp or its inode says")


@dataclass(frozen=True)
class Found:
    """Files of one kind, in the order in which they are read."""

    #: What the user gave, as text.
    where: str
    #: One of the keys of `FILE_KINDS`.
    kind: str
    files: tuple[Stamp, ...]
    #: The name of an array in a store ("file.h5::name"), or None.
    inside: str | None = None
    #: For each file, the keys and values in the names of its directories ("year=2024"), below what the user gave.
    partitions: tuple[tuple[tuple[str, str], ...], ...] = ()

    @property
    def paths(self) -> list[str]:
        return [file.path for file in self.files]

    @property
    def n_bytes(self) -> int:
        """The size of all files."""
        return sum(file.size for file in self.files)

    def short_names(self) -> list[str]:
        """The names of the files below the directory that they have in common."""
        if len(self.files) == 1:
            return [os.path.basename(self.paths[0])]
        common = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in self.paths])
        return [os.path.relpath(path, common) for path in self.paths]


def check_unchanged(files: Sequence[Stamp]) -> None:
    """Raise an error if one of the files has changed, or was deleted, since its stamp was taken."""
    for file in files:
        file.check()
