"""Values as JSON in a script element: what a browser reads is what was given."""

import base64
import json

import numpy as np
import pytest

from lowdim.reporting.blocks import Chart
from lowdim.reporting.page import chart_json, values_json


def decoded(stored):
    """The array that JavaScript makes of {dtype, bdata, shape}."""
    return np.frombuffer(base64.b64decode(stored["bdata"]), f"<{stored['dtype']}").reshape(stored["shape"])


def read(value):
    return json.loads(values_json(value))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i1", "i2", "i4", ">i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_arrays_come_back(dtype):
    array = np.array([[0, 1, 1], [0, 1, 0]], dtype=dtype)
    np.testing.assert_array_equal(decoded(read(array)), array)


def test_large_integers_become_floats():
    array = np.array([2**40, -5])
    stored = read(array)
    assert stored["dtype"] == "f8"
    np.testing.assert_array_equal(decoded(stored), array)


def test_slices_and_transposed_arrays():
    array = np.arange(12.0).reshape(3, 4)
    for part in (array.T, array[::2, ::-1], array[:, 1], array[:0]):
        np.testing.assert_array_equal(decoded(read(part)), part)


def test_missing_numbers_of_arrays_are_kept():
    array = np.array([np.nan, np.inf, -np.inf, 1.0])
    np.testing.assert_array_equal(decoded(read(array)), array)


def test_plain_values():
    value = {"a": [1, 2.5, None, True, "text", np.float32(0.5), np.int64(3)], 4: (1, 2), "bad": [float("nan"), np.inf]}
    expected = {"a": [1, 2.5, None, True, "text", 0.5, 3], "4": [1, 2], "bad": [None, None]}
    assert read(value) == expected


def test_arrays_of_text_become_lists():
    assert read(np.array(["a", "b"])) == ["a", "b"]
    assert read(np.array(["a", None, 3], dtype=object)) == ["a", None, 3]
    assert read(np.array(["2024-01-02"], dtype="M8[D]")) == ["2024-01-02"]


def test_text_cannot_leave_the_element():
    text = "</script><!--<script>&amp;\u2028\u2029\ud800 \U0001f600 \0"
    written = values_json({text: text})
    assert written.isascii()
    assert not set("<>&") & set(written)
    assert json.loads(written) == {text: text}


def test_arrays_of_a_layout_are_lists():
    values = np.array([1.0, np.nan])
    stored = json.loads(chart_json(Chart("c", "", "", [{"x": values}], {"xaxis": {"tickvals": values}})))
    np.testing.assert_array_equal(decoded(stored["data"][0]["x"]), values)
    assert stored["layout"] == {"xaxis": {"tickvals": [1.0, None]}}
