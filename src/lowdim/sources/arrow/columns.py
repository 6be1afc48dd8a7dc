"""Columns of Arrow as floating-point numbers: which types are numbers, and how each is converted.

| type | number |
| --- | --- |
| floats | as they are; float16 becomes float32 |
| integers | float64; one that float64 cannot hold exactly is an error |
| decimals | the nearest float64 |
| booleans | 0 and 1 |
| nulls | NaN, which is a missing value |
| dictionaries | as their values are |
| anything else | not a number |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..exact_integers import EXACT, may_be_inexact, require_exact

#: Powers of ten up to this exponent are exact in float64.
_EXACT_POWER = 22


def is_number(kind: Any) -> bool:
    """Whether a type of Arrow is one of numbers."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_number(kind.value_type)
    tests = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def numeric_columns(schema: Any) -> list[str]:
    """The names of the columns that are numbers."""
    numbers = {kind for kind in set(schema.types) if is_number(kind)}
    return [field.name for field in schema if field.type in numbers]


def index_columns(schema: Any) -> list[str]:
    """The columns that are the index of a data frame of pandas, as a note in the schema says."""
    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    # An index that is a range of numbers is described and not stored.
    return [name for name in noted if isinstance(name, str) and name in schema.names]


def block_dtype(kinds: Iterable[Any]) -> type[np.floating[Any]]:
    """The dtype of a block of columns of these types: float32 if float32 holds all their values exactly."""
    return np.float32 if all(_is_narrow(kind) for kind in kinds) else np.float64


def _is_narrow(kind: Any) -> bool:
    from pyarrow import types

    return types.is_float32(kind) or types.is_float16(kind)


def fill(out: np.ndarray, column: Any) -> None:
    """Write a column, an array of Arrow, into `out`, a vector of the same length; nulls become NaN."""
    kind = str(column.type)
    if kind in _PLAIN:
        _fill_plain(out, column, np.dtype(_PLAIN[kind]))
    else:
        _converter(column.type)(out, column)


#: Types of Arrow whose memory NumPy can read, and their dtypes.
_PLAIN = {
    "double": "f8",
    "float": "f4",
    "halffloat": "f2",
    "int64": "i8",
    "int32": "i4",
    "int16": "i2",
    "int8": "i1",
    "uint64": "u8",
    "uint32": "u4",
    "uint16": "u2",
    "uint8": "u1",
}


def _fill_plain(out: np.ndarray, column: Any, dtype: np.dtype[Any]) -> None:
    """Write numbers that lie in memory one after another, without a copy in between."""
    n = len(column)
    if column.null_count == n:
        out[:] = np.nan
        return
    values = np.frombuffer(column.buffers()[1], dtype=dtype, count=n, offset=column.offset * dtype.itemsize)
    out[:] = values
    if column.null_count:
        # What lies in memory where an entry is null is arbitrary.
        out[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
    if may_be_inexact(dtype):
        require_exact(out, values)


def _converter(kind: Any) -> Callable[[np.ndarray, Any], None]:
    """The function that writes columns of a type which needs more than a copy."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return lambda out, column: fill(out, column.dictionary_decode())
    if types.is_decimal(kind):
        return _fill_decimals
    if types.is_boolean(kind):
        return _fill_booleans
    if types.is_null(kind):
        return _fill_nulls
    raise TypeError(f"columns of type {kind} are not numbers.")


def _fill_nulls(out: np.ndarray, column: Any) -> None:
    out[:] = np.nan


def _fill_booleans(out: np.ndarray, column: Any) -> None:
    import pyarrow as pa

    fill(out, column.cast(pa.uint8()))


def _fill_decimals(out: np.ndarray, column: Any) -> None:
    """The float64 nearest to each decimal.

    A decimal is a whole number divided by a power of ten. If both are exact in float64, so that only the division
    rounds, the quotient is the nearest number. Others are written as text and read again, which is slower.
    """
    import pyarrow as pa

    kind = column.type
    if kind.bit_width == 128 and 0 <= kind.scale <= _EXACT_POWER and column.null_count < len(column):
        halves = np.frombuffer(column.buffers()[1], dtype="<i8", count=2 * len(column), offset=16 * column.offset)
        low, high = halves[::2], halves[1::2]
        known = ~column.is_null().to_numpy(zero_copy_only=False)
        if np.all(((low >> 63) == high) & (np.abs(low) <= int(EXACT)) | ~known):
            np.divide(low, 10.0**kind.scale, out=out)
            out[~known] = np.nan
            return
    fill(out, column.cast(pa.string()).cast(pa.float64()))
