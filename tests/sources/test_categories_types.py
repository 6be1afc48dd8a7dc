"""Which columns are categories, by their types and by their entries, and the labels that stand for entries."""

from __future__ import annotations

import datetime as dt
import decimal

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lowdim.sources.categories import category_table, encoded, label_of, without_columns
from lowdim.sources.frame import kind_of_entries


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ([1, 2], "number"),
        ([1, 2.5, None], "number"),
        ([decimal.Decimal("1.5"), None], "number"),
        (["u", None], "category"),
        ([True, None], "category"),
        ([1, "u"], "category"),
        ([None, None], "category"),
        ([dt.date(2020, 1, 1), None], "date"),
        ([dt.datetime(2020, 1, 1)], "date"),
        ([dt.timedelta(1)], "date"),
        ([dt.time(1)], "date"),
    ],
)
def test_kinds_of_objects(entries, kind):
    column = nw.from_native(pd.Series(entries, dtype=object), series_only=True)
    assert kind_of_entries(column) == kind


def test_kinds_of_columns():
    frame = pl.DataFrame({"u": [1.0], "v": ["a"], "w": [True], "x": [dt.date(2020, 1, 1)], "y": [[1]], "z": [None]})
    kinds = {name: kind_of_entries(nw.from_native(frame[name], series_only=True)) for name in frame.columns}
    assert kinds == {"u": "number", "v": "category", "w": "category", "x": "date", "y": "other", "z": "category"}


def test_labels():
    values = [None, float("nan"), "", " \t", 1, 1.0, 1.5, True, "a ", dt.date(2020, 1, 1), 1e20]
    expected = [None, None, None, None, "1", "1", "1.5", "True", "a ", "2020-01-01", "1e+20"]
    assert [label_of(value) for value in values] == expected
    assert label_of(dt.datetime(2020, 1, 1)) == "2020-01-01"
    assert label_of(dt.datetime(2020, 1, 1, 12)) == "2020-01-01 12:00:00"


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["u", None, "v", "u"]), ["u", None, "v", "u"]),
        (pa.array(["u", None, "v", ""], pa.large_string()), ["u", None, "v", None]),
        (pa.array([True, False, None]), ["True", "False", None]),
        (pa.array([1, None, 2], pa.int16()), ["1", None, "2"]),
        (pa.array([1.0, np.nan, 2.5]), ["1", None, "2.5"]),
        (pa.array([decimal.Decimal("1.50"), None]), ["1.50", None]),
        (pa.array([dt.date(2020, 1, 1), None]), ["2020-01-01", None]),
        (pa.array([dt.datetime(2020, 1, 1, 6)], pa.timestamp("ms")), ["2020-01-01 06:00:00"]),
        (pa.nulls(2), [None, None]),
        (pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.uint32()), pa.array(["u", "NA"])), [None, "u", None]),
    ],
)
def test_codes(column, expected):
    for given in (column, pa.chunked_array([column[:1], column[1:]])):
        codes, labels, ordered = encoded(given, "c", frozenset({"NA"}))
        assert [None if code < 0 else labels[code] for code in codes] == expected
        assert codes.dtype == np.int32
        assert len(set(labels)) == len(labels)
        assert not ordered


def test_lists_have_no_codes():
    for column, what in ((pa.array([[1], None]), "lists"), (pa.array([{"k": 1}]), "dictionaries")):
        with pytest.raises(TypeError, match=f"column 'c' holds {what}"):
            encoded(column, "c", frozenset())


def test_some_columns_are_no_part_of_the_rows():
    frame = pd.DataFrame({"a": ["u"], "b": ["v"], "w": [1.0]})
    table = category_table(frame)[0]
    rest = without_columns(table, ["w"])
    assert list(rest.index) == ["w"]
    assert not list(table.index)
    assert rest.column("w").tolist() == [1.0]
    assert category_table(rest) == (rest, True)
    with pytest.raises(ValueError, match="no column 'x'"):
        without_columns(table, ["x"])
    blocks = category_table([frame, frame.assign(w=2.0)])[0]
    assert blocks.column("w").tolist() == [1.0, 2.0]
