"""The protocol of a sink: where results go, block by block. A sink does not know where the rows came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib import import_module
from os.path import basename
from typing import Any, ClassVar

import numpy as np

from ..errors import missing_extra


class Sink(ABC):
    """Writes one file, or one directory that is opened as a file is.

    Parameters
    ----------
    path : str
        Where to write. Nothing is there yet.
    names : sequence of str
        The names of the columns of results.
    inner : str or None
        The name of the array inside of the file, for kinds that have such names.

    Notes
    -----
    What a file looks like (types, widths) is known from the first block, so nothing is written before.
    """

    #: The name of the kind in messages.
    kind: ClassVar[str]
    #: The library that writes the file, and the extra of lowdim that installs it; None for NumPy.
    package: ClassVar[tuple[str, str] | None] = None
    #: Whether the file holds a table, whose columns have names and may be of any type. Otherwise it holds one array.
    tabular: ClassVar[bool] = False
    #: Whether arrays inside of the file have names.
    has_inner_names: ClassVar[bool] = False
    #: Whether what is written is a directory already.
    is_directory: ClassVar[bool] = False
    #: Whether what is written is a file that is moved to its place when it is whole.
    moved: ClassVar[bool] = True

    def __init__(self, path: str, names: Sequence[str], inner: str | None = None) -> None:
        self.path, self.names, self.inner = path, list(names), inner

    @property
    def name(self) -> str:
        """The name of the file, for messages."""
        return basename(self.path)

    @classmethod
    def require(cls) -> None:
        """Raise an ImportError with advice if the library that is needed is not installed."""
        if cls.package is None:
            return
        package, extra = cls.package
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            raise missing_extra(f"writing {cls.kind} files", package, extra) from error

    @classmethod
    def other_arrays(cls, path: str, inner: str | None) -> list[str]:
        """The names of arrays at `path` beside the one that would be written, which would be lost with the old file."""
        return []

    @abstractmethod
    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        """Write the next rows: arrays of results, side by side, and before them a pyarrow table of kept columns."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left, and end the file."""

    @abstractmethod
    def abandon(self) -> None:
        """Let go of the file, which is going to be removed."""
