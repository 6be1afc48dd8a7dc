"""Columns of Arrow as numbers, against exact arithmetic."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from lowdim.sources import open_source

RNG = np.random.default_rng(3)


def opened(column):
    """The source of a table with one column."""
    return open_source(pa.record_batch({"a": column}))


def filled(column):
    return next(opened(column).blocks(1000))[:, 0]


NUMBERS = [
    pa.float16(), pa.float32(), pa.float64(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(),
    pa.uint32(), pa.uint64(), pa.bool_(), pa.decimal128(9, 2), pa.decimal256(40, 2), pa.null(),
    pa.dictionary(pa.int8(), pa.float64()), pa.dictionary(pa.int32(), pa.int64()),
]  # fmt: skip
OTHERS = [
    pa.string(), pa.large_string(), pa.binary(), pa.date32(), pa.date64(), pa.timestamp("us"), pa.time32("s"),
    pa.duration("ns"), pa.list_(pa.float64()), pa.list_(pa.float64(), 3), pa.struct([("a", pa.float64())]),
    pa.dictionary(pa.int8(), pa.string()),
]  # fmt: skip


def test_which_types_are_numbers():
    for kind in NUMBERS:
        assert opened(pa.nulls(3, kind)).shape == (3, 1)
    for kind in OTHERS:
        with pytest.raises(ValueError, match="has columns that are not numbers: 'a'; these are numbers: none"):
            opened(pa.nulls(3, kind))


def test_narrow_types_give_narrow_blocks():
    def dtype_of(*kinds):
        source = open_source(pa.record_batch({str(kind): pa.nulls(3, kind) for kind in kinds}))
        assert next(source.blocks(3)).dtype == source.dtype
        return source.dtype

    assert dtype_of(pa.float32(), pa.float16()) == np.float32
    assert dtype_of(pa.float16()) == np.float32
    for kind in (pa.float64(), pa.int8(), pa.bool_(), pa.decimal128(3, 1)):
        assert dtype_of(pa.float32(), kind) == np.float64


@pytest.mark.parametrize("kind", [kind for kind in NUMBERS if kind != pa.null()], ids=str)
def test_values_nulls_and_slices(kind):
    values = [1, 0, None, 1, 1, None, 0, 1]
    if pa.types.is_float16(kind):
        values = [None if v is None else np.float16(v) for v in values]
    elif pa.types.is_decimal(kind):
        values = [None if v is None else Decimal(v) for v in values]
    elif pa.types.is_boolean(kind):
        values = [None if v is None else bool(v) for v in values]
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    column = pa.array(values, type=plain)
    column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column
    expected = np.array([np.nan if v is None else float(v) for v in values])
    np.testing.assert_array_equal(filled(column), expected)
    np.testing.assert_array_equal(filled(column.slice(1, 4)), expected[1:5])
    np.testing.assert_array_equal(filled(column.slice(3, 2)), expected[3:5])
    np.testing.assert_array_equal(filled(column.slice(2, 1)), expected[2:3])
    parts = [pa.record_batch({"a": part}) for part in (column, column.slice(0, 0), column.slice(1, 2))]
    (block,) = open_source(pa.RecordBatchReader.from_batches(parts[0].schema, parts)).blocks(1000)
    np.testing.assert_array_equal(block[:, 0], [*expected, *expected[1:3]])


def test_a_column_of_nulls():
    assert np.isnan(filled(pa.nulls(3))).all()
    assert np.isnan(filled(pa.nulls(3, pa.decimal128(5, 1)))).all()
    assert np.isnan(filled(pa.nulls(3, pa.int64()))).all()


def test_floats_keep_their_bits():
    values = np.array([0.1, -0.0, np.inf, np.nan, 5e-324])
    np.testing.assert_array_equal(filled(pa.array(values)).view("i8"), values.view("i8"))
    (narrow,) = opened(pa.array(values.astype("f4"))).blocks(5)
    np.testing.assert_array_equal(narrow.view("i4")[:, 0], values.astype("f4").view("i4"))


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64()], ids=str)
def test_integers_are_exact_or_refused(kind):
    exact = [2**53, 2**53 + 2, 2**60, 0, 5]
    np.testing.assert_array_equal(filled(pa.array(exact, type=kind)), np.array(exact, dtype=float))
    with pytest.raises(ValueError, match=rf"column 'a' \(number 0\) holds the integer {2**53 + 1} in row 2,"):
        filled(pa.array([1, None, 2**53 + 1, 2**60 + 1], type=kind))
    with pytest.raises(ValueError, match=f"holds the integer {2**63 - 1} in row 0,"):
        filled(pa.array([2**63 - 1], type=kind))
    if kind == pa.int64():
        with pytest.raises(ValueError, match=f"holds the integer {-(2**53) - 1} in row 0,"):
            filled(pa.array([-(2**53) - 1], type=kind))
        assert filled(pa.array([-(2**63)], type=kind))[0] == -(2.0**63)


def test_what_lies_below_a_null_does_not_matter():
    values = pa.array(np.array([2**53 + 1, 3], dtype="i8"))
    column = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x02"), values.buffers()[1]], null_count=1)
    np.testing.assert_array_equal(filled(column), [np.nan, 3.0])


@pytest.mark.parametrize("scale", [0, 2, 9, 22, 30])
@pytest.mark.parametrize("digits", [5, 15, 16, 30])
def test_decimals_become_the_nearest_number(scale, digits):
    numbers = [int("".join(map(str, RNG.integers(0, 10, digits)))) * int(RNG.choice([-1, 1])) for _ in range(200)]
    values = [Decimal(number).scaleb(-scale) for number in numbers]
    # Python divides whole numbers with correct rounding.
    expected = [float(Fraction(number, 10**scale)) for number in numbers]
    for kind in (pa.decimal128(38, scale), pa.decimal256(60, scale)):
        column = pa.array([*values, None], type=kind)
        np.testing.assert_array_equal(filled(column), [*expected, np.nan])
