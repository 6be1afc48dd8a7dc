"""Batches of any length become blocks of exactly the length asked for."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowdim.sources import arrow as blocks


class Batches(blocks.ArrowSource):
    """Some columns of batches that are there."""

    def __init__(self, batches, names, n=None):
        super().__init__(names, [pa.float64()], n)
        self._batches = batches

    def batches(self, names, carried=()):
        return (batch.select(names) for batch in self._batches)


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
        made = list(Batches(batches, ["a", "b", "c"], n if known else None).blocks_keeping(rows, ["id"]))
    assert [len(block) for block, _ in made] == [rows] * (n // rows) + [n % rows] * (n % rows > 0)
    np.testing.assert_array_equal(np.concatenate([np.empty((0, 3)), *(block for block, _ in made)]), values)
    assert [i for _, kept in made for i in kept["id"].to_pylist()] == list(range(n))


def test_blocks_are_not_overwritten_by_later_ones():
    batches = (pa.record_batch({"a": np.full(10, float(k))}) for k in range(50))
    made = [block for block, _ in Batches(batches, ["a"]).blocks_keeping(10, ())]
    np.testing.assert_array_equal([block[0, 0] for block in made], range(50))


def test_an_integer_that_is_not_exact_is_placed():
    numbers = [pa.record_batch({"a": [1.0] * 7, "b": [0] * 6 + [k]}) for k in (1, 2, 2**53 + 1)]
    with pytest.raises(ValueError, match=r"column 'b' .* 9007199254740993 in row 20"):
        list(Batches(numbers, ["a", "b"]).blocks(4))
