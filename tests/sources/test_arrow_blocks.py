"""Batches of any length become blocks of exactly the length asked for."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowdim.sources import arrow as blocks
from lowdim.sources.arrow import blocks_of


def unexpected(row, column, value):
    return AssertionError(f"{value} in row {row}, column {column}")


@settings(deadline=None, max_examples=60)
@given(
    lengths=st.lists(st.integers(0, 40), max_size=6),
    rows=st.integers(1, 50),
    buffer=st.sampled_from([1, 500, 1 << 20]),
    known=st.booleans(),
)
def test_blocks_are_the_batches_cut_anew(lengths, rows, buffer, known):
    n = sum(lengths)
    values = np.arange(3.0 * n).reshape(n, 3)
    table = pa.table({"a": values[:, 0], "b": values[:, 1].astype("i4"), "c": values[:, 2], "id": np.arange(n)})
    ends = np.cumsum(lengths)
    batches = (
        pa.record_batch({name: table[name].slice(end - length, length).combine_chunks() for name in table.column_names})
        for end, length in zip(ends, lengths, strict=True)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_BUFFER_BYTES", buffer)
        made = list(blocks_of(batches, 3, np.float64, rows, unexpected, n=n if known else None, keep=["id"]))
    assert [len(block) for block, _ in made] == [rows] * (n // rows) + [n % rows] * (n % rows > 0)
    np.testing.assert_array_equal(np.concatenate([np.empty((0, 3)), *(block for block, _ in made)]), values)
    assert [i for _, kept in made for i in kept["id"].to_pylist()] == list(range(n))


def test_blocks_are_not_overwritten_by_later_ones():
    batches = (pa.record_batch({"a": np.full(10, float(k))}) for k in range(50))
    made = [block for block, _ in blocks_of(batches, 1, np.float64, 10, unexpected)]
    np.testing.assert_array_equal([block[0, 0] for block in made], range(50))


def test_an_integer_that_is_not_exact_is_placed():
    numbers = [pa.record_batch({"a": [1.0] * 7, "b": [0] * 6 + [k]}) for k in (1, 2, 2**53 + 1)]
    with pytest.raises(AssertionError, match="9007199254740993 in row 20, column 1"):
        list(blocks_of(iter(numbers), 2, np.float64, 4, unexpected))
