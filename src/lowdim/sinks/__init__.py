"""Sinks, which write results to files block by block, and `open_sink`, which finds the right one.

A sink is given blocks and knows nothing of where their rows came from. What it writes has its name only when it is
whole.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.paths import local_path, moved_when_whole
from ..errors import (
    cannot_be_replaced,
    directory_is_missing,
    list_names,
    not_written,
    output_exists,
    output_is_no_path,
)
from .formats import PART_NAME, SINKS, PartsSink, Sink, StandardOutputSink, escaped_formulas

__all__ = ["SINKS", "Sink", "escaped_formulas"]

#: The path that stands for the standard output.
STANDARD_OUTPUT = "-"


@dataclass(frozen=True)
class Output:
    """Where results are to be written: "scores.h5::pca", or "scores.parquet/" for a directory of parts."""

    #: The path as it was given.
    given: str
    #: The path of the file or directory.
    path: str
    suffix: str
    kind: type[Sink]
    #: The name of the array inside of the file, if one was given.
    inner: str | None = None
    #: Whether to write a directory of files of this kind.
    in_parts: bool = False

    def sink(self, path: str, names: Sequence[str]) -> Sink:
        """The sink that writes to `path`."""
        if self.in_parts:
            return PartsSink(path, names, self.kind, self.suffix)
        return self.kind(path, names, self.inner)


def find_output(where: str | os.PathLike[str]) -> Output:
    """What a path says about where and how to write; an error if it names no kind of file that can be written."""
    given = local_path(where)
    if not isinstance(given, str):
        raise output_is_no_path(where)
    if given == STANDARD_OUTPUT:
        return Output(given, given, given, StandardOutputSink)
    path, _, inner = given.partition("::")
    bare = path.rstrip("/" + os.sep)
    found = next(((suffix, kind) for suffix, kind in SINKS.items() if bare.lower().endswith(suffix)), None)
    if found is None or os.path.basename(bare).lower() == found[0]:
        raise ValueError(
            f"the kind of file to write is not known from the name {given!r}: it must end with one of "
            f"{', '.join(SINKS)} (a further '/' makes a directory of such files)."
        )
    suffix, kind = found
    if "::" in given and not (kind.has_inner_names and inner):
        named = sorted({sink.kind for sink in SINKS.values() if sink.has_inner_names})
        raise ValueError(
            f"{given!r} names an array inside of a {kind.kind} file, which holds only one table: '::' is for "
            f"{' and '.join(named)}. Leave it out."
        )
    return Output(given, bare, suffix, kind, inner or None, in_parts=bare != path and not kind.is_directory)


class Writer:
    """An open sink, whose errors name the path that the caller gave."""

    def __init__(self, sink: Sink, given: str) -> None:
        self._sink, self._given = sink, given

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        """Write the next rows: arrays of results, side by side, and before them a pyarrow table of kept columns."""
        try:
            self._sink.write(results, kept)
        except OSError as error:
            raise not_written(self._given, error) from error


@contextmanager
def open_sink(
    where: str | os.PathLike[str],
    names: Sequence[str],
    *,
    keep: Sequence[str] = (),
    overwrite: bool = False,
    reading: Sequence[str] = (),
) -> Iterator[Writer]:
    """Context with a sink. What is written to it is at `where` when the context has ended without an error.

    If there is an error (also Ctrl-C, or a full disk), nothing is left, and what was there before is unchanged.

    Parameters
    ----------
    where : str or path
        Where to write. The kind of file is known from the suffix, see `SINKS`. A path that ends with "/" is a directory
        of files of bounded size, and "scores.h5::pca" is the dataset "pca" in that file. "-" is the standard output,
        to which CSV is written at once.
    names : sequence of str
        The names of the columns of results.
    keep : sequence of str
        The names of the columns that are carried along, which only tables can hold.
    overwrite : bool
        Whether what is there may be replaced.
    reading : sequence of str
        Paths of files that are being read, which are never replaced.
    """
    output = find_output(where)
    output.kind.require()
    if keep and not output.kind.tabular:
        tables = ", ".join(suffix for suffix, kind in SINKS.items() if kind.tabular)
        raise ValueError(
            f"{output.given!r} cannot hold the columns given as keep: a {output.kind.kind} file holds one array of "
            f"numbers. Write a table ({tables}), or leave keep out."
        )
    if not output.kind.moved:
        sink = output.sink(output.path, names)
        yield Writer(sink, output.given)
        sink.close()
        return
    _check_place(output, overwrite, reading)
    # Whether an error would be one of writing: the caller may fail to read another file.
    ours = True
    try:
        with moved_when_whole(output.path, over_directory=overwrite) as unfinished:
            sink = output.sink(str(unfinished), names)
            try:
                ours = False
                yield Writer(sink, output.given)
                ours = True
                sink.close()
                ours = False
                # Somebody else may have written there meanwhile.
                _check_place(output, overwrite, reading)
                ours = True
            except BaseException:
                with suppress(Exception):
                    sink.abandon()
                raise
    except OSError as error:
        if not ours:
            raise
        raise not_written(output.given, error) from error


def _check_place(output: Output, overwrite: bool, reading: Sequence[str]) -> None:
    """Refuse a place where nothing can be written, or where something would be lost."""
    place = os.path.realpath(output.path)
    folder = os.path.dirname(place)
    if not os.path.isdir(folder):
        raise directory_is_missing(output.given, folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(
            errno.EACCES,
            f"cannot write {output.given!r}: you have no permission to make files in the directory {folder!r}",
        )
    if any(f"{os.path.realpath(file)}{os.sep}".startswith(place + os.sep) for file in reading):
        raise ValueError(f"{output.given!r} holds the rows that are being read; write the results to another path.")
    if not os.path.lexists(place):
        return
    if not overwrite:
        raise output_exists(output.given, None if output.inner is None else output.path)
    is_store = os.path.exists(os.path.join(place, "zarr.json"))
    if os.path.isdir(place) and not (is_store or all(map(PART_NAME.fullmatch, os.listdir(place)))):
        raise cannot_be_replaced(output.given, "it is a directory that holds other things than results")
    lost = [] if output.in_parts else output.kind.other_arrays(place, output.inner)
    if lost:
        reason = f"{output.path!r} also holds {list_names(lost)}. A result is written as a file of its own, and they "
        raise cannot_be_replaced(output.given, reason + "would be lost")
