"""JSON from files that nobody vouches for."""

import json

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from lowdim._core.container import dump, parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
PLENTY = 1 << 24


@settings(max_examples=60, deadline=None)
@given(value=VALUES)
def test_values_come_back(value):
    assert parse(dump(value).encode(), PLENTY) == value


@settings(max_examples=60, deadline=None)
@given(strings=st.lists(st.text(alphabet='[]{},:"\\ a'), min_size=1, max_size=5))
def test_brackets_and_commas_in_strings_do_not_count(strings):
    """A list of strings needs memory for its strings only, and is not deep, whatever is in them."""
    text = dump(strings).encode()
    needed = 2 * len(text) + 96 + 64 * (len(strings) - 1)
    assert parse(text, needed) == strings
    with pytest.raises(MemoryError):
        parse(text, needed - 1)
    assert parse(dump(["[" * 500, '\\"{' * 100]).encode(), PLENTY) == ["[" * 500, '\\"{' * 100]


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"a":[[', '[{"b":'])
def test_values_may_be_nested_to_a_depth(opening):
    closing = opening[::-1].translate(str.maketrans("[{", "]}", '":ab'))
    levels = len(closing)
    for times in (64 // levels, 64 // levels + 1, 100_000):
        text = (opening * times + "1" + closing * times).encode()
        if times * levels <= 64:
            assert parse(text, PLENTY) == json.loads(text)
        else:
            with pytest.raises((ValueError, MemoryError), match=r"nested more than 64 deep|would take"):
                parse(text, PLENTY)


@pytest.mark.parametrize(
    "value", [0.1, -0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 1 / 3, np.nextafter(1, 2).item()]
)
def test_floats_come_back_with_every_bit(value):
    assert parse(dump(value).encode(), PLENTY).hex() == value.hex()


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "1e999", "[-1e400]"])
def test_numbers_that_are_not_finite_are_refused(text):
    with pytest.raises(ValueError, match=r"not JSON|out of range"):
        parse(text.encode(), PLENTY)


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '[{"a":{"b":1,"c":2,"b":3}}]', '{"\\u0061":1,"a":2}'])
def test_keys_that_occur_twice_are_refused(text):
    with pytest.raises(ValueError, match="occurs twice"):
        parse(text.encode(), PLENTY)


@pytest.mark.parametrize(
    "text", [b"", b"[", b"]", b'"', b'"\\', b"{]", b"[1,]", b"\xff", b"[1] 2", b'{"a"}', b"1" * 5000]
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError):  # the messages are Python's
        parse(text, PLENTY)
