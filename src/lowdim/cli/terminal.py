"""What a command reads and says: tables from files, results to the standard output, everything else beside it."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from .._core.paths import local_path, require_free
from .._core.threads import watched_by
from ..errors import LowdimWarning
from ..files import header
from ..models.gcca import GCCA
from ..sources.scan import scan

# What a command says: results to the standard output, everything else to the standard error stream.
#
# Errors are one line without a traceback, and each kind of end has its exit code: 0 all is well, 1 the work could not
# be done, 2 the command was not understood, 130 it was interrupted, 141 whoever read the output has closed it.


FAILED, INTERRUPTED, CLOSED = 1, 130, 141

#: What messages of the library say, and what it is called on the command line.
_PHRASES = {
    'columns="numeric"': "--columns numeric",
    "columns='numeric'": "--columns numeric",
    "lowdim.scan(..., --columns numeric)": "--columns numeric",
    "exclude=": "--exclude",
    "decimal=','": "--decimal ,",
    "decimal='.'": "--decimal .",
    "overwrite=True": "--overwrite",
    "PPCA(k, scale=True).fit(X).impute(X)": "lowdim fit ppca --scale, then lowdim impute",
    "PPCA(k, scale=True).fit(A).impute(A) for A = all tables side by side": (
        "lowdim fit ppca --scale of all columns, then lowdim impute"
    ),
    "scale=True": "--scale",
    "categorical_features": "--categorical",
    "min_frequency=": "--min-frequency ",
    "missing='level'": "--missing level",
    "supplementary_columns": "--supplementary-columns",
}


class Call(SimpleNamespace):
    """A command as it was called: its arguments and options are attributes."""

    def answer(self, text: str, values: dict[str, Any]) -> None:
        """Print the result of a command: the text, or the values as JSON."""
        _print(json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) if self.json else text, sys.stdout)

    def written(self, output: str) -> None:
        """Say where a table or a picture is, unless the command was asked to be quiet."""
        if self.json:
            self.answer("", {"output": output})
        elif output != STANDARD and not self.quiet:
            _print(f"written to {output}", sys.stderr)

    def require_absent(self) -> None:
        """Refuse an output where nothing can be written, or that must not be replaced; before any row is read."""
        if self.output == STANDARD:
            raise ValueError("only tables can go to the standard output: name a file with --output.")
        require_free(local_path(self.output), self.overwrite, self.output)

    def second_table(self) -> Any:
        """The second table: columns of the first by their names (a vector, if there is one name), files, or None."""
        y, y_data = (vars(self).get(name) for name in ("y", "y_data"))
        if y and y_data:
            raise ValueError("--y names columns of the data, and --y-data is another table: give one of them.")
        if y_data:
            return self.table(y_data)
        return None if not y else y[0] if len(y) == 1 else list(y)

    def table(
        self, paths: Sequence[str], columns: Sequence[str] | None = None, exclude: Sequence[str] | None = None
    ) -> Any:
        """The scan of files, with a choice of columns as options give it."""
        where: Any = list(paths) if len(paths) > 1 else paths[0]
        wanted: Any = "numeric" if columns == ["numeric"] else list(columns) if columns else None
        return scan(where, wanted, exclude, decimal=self.decimal)

    def tables(self, cls: type, paths: Sequence[str], *choice: Sequence[str] | None) -> Any:
        """What models of a class take as X: one table of all files or, for GCCA, a list with a table for each file."""
        if not issubclass(cls, GCCA) or len(paths) == 1:
            return self.table(paths, *choice)
        return [self.table([path], *choice) for path in paths]

    @contextmanager
    def reading(self) -> Iterator[list[str]]:
        """Context with the paths of the data, in which passes over rows show their progress, if somebody looks."""
        bars = Bars()
        try:
            unseen = self.quiet or not sys.stderr.isatty()
            with paths_of(vars(self).get("data", ())) as paths, nullcontext() if unseen else watched_by(bars):
                yield paths
        finally:
            # An error may have ended a pass before its end.
            bars.end()


@contextmanager
def speaking_plainly(traceback: bool) -> Iterator[None]:
    """Context that turns errors and warnings into lines of text, and errors into exit codes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", LowdimWarning)
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: _print(f"lowdim: warning: {_in_options(str(message))}", sys.stderr)
        try:
            yield
            sys.stdout.flush()
        except KeyboardInterrupt:
            _end("interrupted; no result was saved.", INTERRUPTED)
        except Exception as error:
            if _has_cause(error, BrokenPipeError):
                # Python would complain once more when it flushes the standard output at its end.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                sys.exit(CLOSED)
            if traceback:
                raise
            _end(f"error: {message_of(error)}", FAILED)


def message_of(error: BaseException) -> str:
    """What an error says, in the words of the command line.

    The number of the system's error and the quotes of a KeyError are left out.
    """
    text = str(error)
    if isinstance(error, KeyError) and error.args:
        text = str(error.args[0])
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    text = _in_options(text)
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {text}".strip()
    expected = isinstance(error, ValueError | TypeError | OSError | ImportError | LookupError | AttributeError)
    return text if expected and text else f"{type(error).__name__}: {text} (--traceback shows where it comes from)"


def _in_options(text: str) -> str:
    """A message of the library in the words of the command line."""
    for said, meant in _PHRASES.items():
        text = text.replace(said, meant)
    return text


def _has_cause(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def _end(text: str, code: int) -> None:
    _print(f"lowdim: {text}", sys.stderr)
    sys.exit(code)


def _print(text: str, stream: Any) -> None:
    """Print with escapes for characters that the encoding of the stream lacks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream)


# Bars of progress with rows per second and time left, drawn by rich on the standard error stream.


#: A pass gets a bar when it has taken this many seconds.
_PATIENCE = 0.5


class Bars:
    """A bar for the pass over the rows that is running; a finished pass leaves none behind."""

    def __init__(self) -> None:
        self._passes = 0
        self._bar: Progress | None = None

    def begin(self, what: str, n_blocks: int | None, block_rows: int | None = None) -> None:
        """Show the beginning of a pass over so many blocks of so many rows."""
        self._passes += 1
        self._done, self._begun = 0, time.monotonic()
        self._n_blocks, self._block_rows = n_blocks, block_rows

    def step(self) -> None:
        """Show that a block is done."""
        self._done += 1
        seconds = time.monotonic() - self._begun
        if seconds < _PATIENCE:
            return
        if self._bar is None:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(f"pass {self._passes}", total=self._n_blocks, rate="")
        rate = "" if self._block_rows is None else f"{self._done * self._block_rows / seconds:,.0f} rows/s"
        self._bar.update(self._task, completed=self._done, rate=rate)

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


# The tables that commands read: files and columns of them, or the standard input.


STANDARD = "-"

#: How files of each kind begin; the standard input is CSV if none of these fits.
_BEGINNINGS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\x93NUMPY": ".npy",
    b"\x89HDF": ".h5",
    b"PK\x03\x04": ".zarr.zip",
    b"\x1f\x8b": ".csv.gz",
}


@contextmanager
def paths_of(data: Sequence[str]) -> Iterator[list[str]]:
    """Context with the paths of the data, in which the standard input is a temporary file.

    Models that read the rows several times, and files that are read from their end, need more than a pipe.
    """
    if STANDARD not in data:
        yield list(data)
        return
    if len(data) > 1:
        raise ValueError("- stands for the standard input, and cannot be read together with other files.")
    if sys.stdin is None:
        raise ValueError("the standard input is closed.")
    stream = sys.stdin.buffer
    beginning = stream.read(16)
    if not beginning:
        raise ValueError("the standard input is empty.")
    suffix = next((end for begin, end in _BEGINNINGS.items() if beginning.startswith(begin)), ".csv")
    with tempfile.TemporaryDirectory(prefix="lowdim") as folder:
        path = Path(folder) / f"standard-input{suffix}"
        with path.open("wb") as file:
            file.write(beginning)
            shutil.copyfileobj(stream, file, 1 << 20)
        yield [str(path)]


def saved_kind(path: str) -> str | None:
    """What a file that `lowdim.save` wrote holds ("model", "summary" or "result"); None for any other file."""
    if not Path(local_path(path)).is_file():
        return None
    try:
        return str(header(path)["holds"])
    except (OSError, ValueError, KeyError):
        return None
