"""CSV files, plain or compressed by gzip, and CSV to the standard output. Numbers are written with all their digits."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..errors import FormulaWarning, formula_like, not_for_csv, warn_user
from .table_sink import TableSink

#: Text that spreadsheets take for a formula: it begins with one of these signs, and is not a number.
_FORMULA = r"^[=@\t\r]|^[+-][^.0-9]|^[+-][.][^0-9]"

_escapes: ContextVar[bool] = ContextVar("lowdim_escapes_formulas", default=False)


@contextmanager
def escaped_formulas() -> Iterator[None]:
    """Context in which CSV files have an apostrophe before text that spreadsheets would run as a formula."""
    before = _escapes.set(True)
    try:
        yield
    finally:
        _escapes.reset(before)


class CsvSink(TableSink):
    """A CSV file with a line of names.

    Text that is carried along is written as it is. Some spreadsheets run text such as "=1+1" as a formula when they
    open the file, so the first such text gives a warning, unless the sink was made in a context of `escaped_formulas`.
    """

    kind = "CSV"

    def __init__(self, path: str, names: Sequence[str], inner: str | None = None) -> None:
        super().__init__(path, names, inner)
        self._escapes, self._warned = _escapes.get(), False

    def write(self, results: Sequence[np.ndarray], kept: Any = None) -> None:
        super().write(results, None if kept is None else self._harmless(kept))

    def _harmless(self, kept: Any) -> Any:
        """The kept columns, in which formulas are noticed, or escaped."""
        import pyarrow as pa
        from pyarrow import compute

        for i, field in enumerate(kept.schema):
            plain = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if not (pa.types.is_string(plain) or pa.types.is_large_string(plain)):
                continue
            texts = kept.column(i).cast(plain)
            formulas = compute.match_substring_regex(texts, _FORMULA)
            if not compute.any(formulas).as_py():
                continue
            if self._escapes:
                escaped = compute.if_else(
                    formulas,
                    compute.binary_join_element_wise(pa.scalar("'", plain), texts, pa.scalar("", plain)),
                    texts,
                )
                kept = kept.set_column(i, field.name, escaped)
            elif not self._warned:
                self._warned = True
                example = texts.filter(formulas)[0].as_py()
                warn_user(formula_like(field.name, example), FormulaWarning)
        return kept

    def _open(self, schema: Any, kept: Sequence[str]) -> Any:
        self._check_types(schema, kept)
        return self._open_text(schema)

    def _open_text(self, schema: Any) -> Any:
        """The writer of text."""
        from pyarrow.csv import CSVWriter

        return CSVWriter(self.path, schema)

    def _check_types(self, schema: Any, kept: Sequence[str]) -> None:
        """Refuse lists and the like, which have no text."""
        from pyarrow import types

        bad = [name for name in kept if types.is_nested(schema.field(name).type)]
        if bad:
            raise not_for_csv(self.name, bad, [schema.field(name).type for name in bad])


class GzipCsvSink(CsvSink):
    """The same, compressed by gzip."""

    kind = "CSV (gzip)"
    _stream: Any = None

    def _open_text(self, schema: Any) -> Any:
        import pyarrow as pa
        from pyarrow.csv import CSVWriter

        self._stream = pa.CompressedOutputStream(self.path, "gzip")
        return CSVWriter(self._stream, schema)

    def _end(self) -> None:
        super()._end()
        if self._stream is not None:
            self._stream.close()


class StandardOutputSink(CsvSink):
    """CSV to the standard output. What has been written cannot be taken back."""

    kind = "CSV (standard output)"
    moved = False

    def _open_text(self, schema: Any) -> Any:
        import pyarrow as pa
        from pyarrow.csv import CSVWriter

        if sys.stdout is None:
            raise ValueError("the standard output is closed: name a file to write to.")
        return CSVWriter(pa.PythonFile(sys.stdout.buffer, mode="w"), schema)

    def _end(self) -> None:
        super()._end()
        sys.stdout.buffer.flush()
