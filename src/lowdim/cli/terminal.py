"""What a command says: results to the standard output, everything else to the standard error stream.

Errors are one line without a traceback, and each kind of end has its exit code: 0 all is well, 1 the work could not be
done, 2 the command was not understood, 130 it was interrupted, 141 whoever read the output has closed it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .._progress import watched_by
from ..errors import LowdimWarning

FAILED, INTERRUPTED, CLOSED = 1, 130, 141

#: What messages of the library say, and what it is called on the command line.
_PHRASES = {
    'columns="numeric"': "--columns numeric",
    "columns='numeric'": "--columns numeric",
    "lowdim.scan(..., --columns numeric)": "--columns numeric",
    "exclude=": "--exclude",
    "overwrite=True": "--overwrite",
    "PPCA(k, standardize=True).fit(X).impute(X)": "lowdim fit ppca --standardize, then lowdim impute",
    "PPCA(k, standardize=True).fit(A).impute(A) for A = all tables side by side": (
        "lowdim fit ppca --standardize of all columns, then lowdim impute"
    ),
    "standardize=True": "--standardize",
}


@dataclass(frozen=True)
class Terminal:
    """How a command was asked to speak."""

    json: bool = False
    quiet: bool = False

    def answer(self, text: str, values: dict[str, Any]) -> None:
        """Print the result of a command: the text, or the values as JSON."""
        shown = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) if self.json else text
        print(_encodable(shown))

    def remark(self, text: str) -> None:
        """Print a line to the standard error stream, unless it was asked to be quiet."""
        if not self.quiet:
            print(_encodable(text, sys.stderr), file=sys.stderr)

    @property
    def width(self) -> int:
        """The number of characters of a line."""
        return shutil.get_terminal_size((80, 24)).columns

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Context in which passes over rows show their progress, if somebody looks."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from .progress import Bars

        bars = Bars()
        try:
            with watched_by(bars):
                yield
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
        warnings.showwarning = _show_warning
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
    """What an error says, in the words of the command line."""
    text = _said(error)
    for said, meant in _PHRASES.items():
        text = text.replace(said, meant)
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {text}".strip()
    expected = isinstance(error, ValueError | TypeError | OSError | ImportError | LookupError | AttributeError)
    return text if expected and text else f"{type(error).__name__}: {text} (--traceback shows where it comes from)"


def _said(error: BaseException) -> str:
    """The text of an error, without the number of the system's error or the quotes of a KeyError."""
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return str(error)


def _has_cause(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False


def _end(text: str, code: int) -> None:
    print(_encodable(f"lowdim: {text}", sys.stderr), file=sys.stderr)
    sys.exit(code)


def _show_warning(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
    print(_encodable(f"lowdim: warning: {message}", sys.stderr), file=sys.stderr)


def _encodable(text: str, stream: Any = None) -> str:
    """Text that the stream can print, with escapes for characters that its encoding lacks."""
    encoding = getattr(stream or sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
