"""Names of directories such as `year=2024`: the keys of a partitioned table, which are columns of its files.

| values | column |
| --- | --- |
| whole numbers | int64 |
| numbers | float64 |
| anything else | text |
| `__HIVE_DEFAULT_PARTITION__` | null |

Keys are columns only if all files have the same keys in the same order. A column that the files hold themselves is read
from them, whatever the directories say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from .formats import FileFormat

#: How a missing value is written as the name of a directory.
_NULL = "__HIVE_DEFAULT_PARTITION__"
#: Whole numbers of up to 18 digits fit into int64.
_WHOLE, _REAL = re.compile(r"[-+]?\d{1,18}"), re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def with_keys(format: FileFormat) -> FileFormat:
    """The format, with columns for the keys of the directories if there are some."""
    names = {tuple(key for key, _ in keys) for keys in format.found.partitions}
    if len(names) != 1:
        return format
    keys = names.pop()
    if not keys or len(set(keys)) < len(keys) or set(keys) <= set(format.schema.names):
        return format
    return KeyedFormat(format)


class KeyedFormat(FileFormat):
    """Files of another format, each with constant columns behind its own: the keys of its directories."""

    def __init__(self, inner: FileFormat) -> None:
        super().__init__(inner.found)
        self._inner = inner

    @cached_property
    def _keys(self) -> dict[str, Any]:
        """The entries of each key, one for each file, as an array of Arrow."""
        own = set(self._inner.schema.names)
        values = [dict(keys) for keys in self.found.partitions]
        return {key: _typed([each[key] for each in values]) for key in values[0] if key not in own}

    @property
    def format(self) -> Any:
        return self._inner.format

    @property
    def fragments(self) -> list[Any]:  # type: ignore[override] # a property in place of a cached one
        return self._inner.fragments

    @property
    def schema(self) -> Any:
        return self._extended(self._inner.schema)

    def schema_of(self, i: int) -> Any:
        return self._extended(self._inner.schema_of(i))

    def _extended(self, schema: Any) -> Any:
        """The schema of a file with the keys behind it."""
        import pyarrow as pa

        own = [field for field in schema if field.name not in self._keys]
        return pa.schema([*own, *(pa.field(key, values.type) for key, values in self._keys.items())])

    def stored_field(self, name: str) -> Any:
        return self.schema.field(name) if name in self._keys else self._inner.stored_field(name)

    def counts(self) -> list[int] | None:
        return self._inner.counts()

    def after(self, i: int, rows: int) -> tuple[Any, int]:
        return self._inner.after(i, rows)

    def starts(self) -> list[int]:
        return self._inner.starts()

    @property
    def index(self) -> list[str]:
        return self._inner.index

    def nearly_numbers(self, columns: Sequence[str]) -> str:
        return self._inner.nearly_numbers(self._own(columns))

    def why_not_numbers(self, columns: Sequence[str]) -> str:
        return self._inner.why_not_numbers(self._own(columns))

    def line_of(self, i: int, row: int) -> int | None:
        return self._inner.line_of(i, row)

    def opened(self, i: int, read: Any) -> Any:
        return self._inner.opened(i, read)

    def error(self, i: int, names: Sequence[str], error: Exception) -> Exception:
        return self._inner.error(i, self._own(names), error)

    def damaged_place(self, path: str, names: Sequence[str]) -> tuple[str, Any] | None:
        return self._inner.damaged_place(path, self._own(names))

    def read(self, parts: dict[int, Any], schema: Any, *, threads: bool = True) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa

        own = [field for field in schema if field.name not in self._keys]
        # A column has to be read even if only keys are needed: it tells how many rows there are.
        read = pa.schema(own or [self._inner.schema_of(next(iter(parts))).field(0)])
        for i, batch in self._inner.read(parts, read, threads=threads):
            columns = [
                pa.repeat(self._keys[field.name][i], batch.num_rows)
                if field.name in self._keys
                else batch.column(field.name)
                for field in schema
            ]
            yield i, pa.RecordBatch.from_arrays(columns, schema=schema)

    def _own(self, names: Sequence[str]) -> list[str]:
        """Those of these columns that the files hold."""
        return [name for name in names if name not in self._keys]


def _typed(values: Sequence[str]) -> Any:
    """The values of a key, as numbers if all of them are."""
    import pyarrow as pa

    known = [value for value in values if value != _NULL]
    convert: Any = str
    if known and all(_WHOLE.fullmatch(value) for value in known):
        convert = int
    elif known and all(_REAL.fullmatch(value) for value in known):
        convert = float
    kind = {int: pa.int64(), float: pa.float64(), str: pa.string()}[convert]
    return pa.array([None if value == _NULL else convert(value) for value in values], kind)
