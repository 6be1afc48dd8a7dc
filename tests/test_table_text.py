"""The printed form of tables."""

import re

import numpy as np
import pytest

from lowdim import Table
from lowdim.table import cell_width, clean, cut


def lines_of(table, **options):
    return table.text(**options).split("\n")


def test_numbers_of_a_column_have_the_same_decimals():
    lines = lines_of(Table({"a": [123.456789, 1.0], "b": [0.5, 1e-9], "c": [1e9, 0.0], "d": [np.nan, np.inf]}))
    assert lines[1].split() == ["0", "123.46", "0.5000", "1.000e+09", "nan"]
    assert lines[2].split() == ["1", "1.00", "1.0e-09", "0", "inf"]


def test_small_numbers_beside_large_ones_keep_three_digits():
    table = Table({"mean": [40000.25, 3.764, -0.0123, 1e-9, 0.0], "t": [-1596.42, -0.6213, 12.5, np.nan, 812.44]})
    lines = [line[2:] for line in lines_of(table)[1:]]
    assert [line.split() for line in lines] == [
        ["40000", "-1596.4"],
        ["3.76", "-0.621"],
        ["-0.0123", "12.5"],
        ["1.0e-09", "nan"],
        ["0", "812.4"],
    ]
    # The points are below one another.
    assert lines[0].index("0 ") + 1 == lines[1].index(".") == lines[2].index(".")
    assert [line.split()[1] for line in lines_of(Table({"share": [0.00123, 0.000456]}))[1:]] == ["0.00123", "0.00046"]


def test_entries_that_are_no_floats():
    lines = lines_of(Table({"k": [3, None], "n": [1, 20], "ok": [True, False], "word": ["a", None]}))
    assert lines[1].split() == ["0", "3", "1", "yes", "a"]
    assert lines[2].split() == ["1", "-", "20", "no"]


def test_title_notes_and_rows_left_out():
    table = Table({"a": np.arange(50.0)}, title="Numbers", notes=["a note"])
    lines = lines_of(table, max_rows=3)
    assert lines[0] == "Numbers" and lines[-2:] == ["... 47 more rows", "a note"] and len(lines) == 7
    assert len(lines_of(table, max_rows=None)) == 53
    assert "more rows" in str(table) and "more rows" not in table.text(max_rows=50)


def test_wide_tables_continue_below():
    table = Table({f"column {i}": [float(i)] for i in range(12)}, ["label"])
    blocks = table.text(width=60).split("\n\n")
    assert len(blocks) > 1
    assert all(len(line) <= 60 for line in table.text(width=60).split("\n"))
    assert all(block.split("\n")[1].startswith("label") for block in blocks)
    assert re.findall(r"column \d+", table.text(width=60)) == table.columns
    # A column that is wider than the width is shown all the same.
    assert "column 11" in table.text(width=5)


def test_long_text_in_the_last_place_is_cut():
    table = Table({"k": [1], "assumes": ["word " * 40]})
    line = lines_of(table, width=60)[1]
    assert len(line) <= 60 and line.endswith("…")


@pytest.mark.parametrize("label", ["two\nlines", "tab\tand\x1b[31m red", "a\r\nb", "\u2028"])
def test_labels_cannot_break_lines_or_send_escapes(label):
    text = str(Table({label: [1.0]}, [label], title=label, notes=[label]))
    assert len(text.splitlines()) == 4
    assert "\x1b" not in text and "\t" not in text and "\r" not in text


def test_wide_characters_are_aligned():
    table = Table({"x": [1.0, 2.0, 3.0]}, ["日本", "ab", "🍷"])
    ends = {cell_width(line) for line in str(table).split("\n")}
    assert len(ends) == 1
    assert cell_width("e\u0301") == 1
    assert cut("日本語日本語", 5) == "日本…" and cut("abc", 3) == "abc"
    assert clean("é ü 日") == "é ü 日"


def test_html_is_escaped_and_cut():
    nasty = "<script>alert('x')</script>"
    html = Table({nasty: [1.0], "text": [nasty]}, [nasty], title=nasty, notes=[nasty], row_name=nasty)._repr_html_()
    assert "<script" not in html and html.count("&lt;script&gt;") == 6
    large = Table({f"c{i}": np.zeros(100) for i in range(50)})._repr_html_()
    assert "60 more rows, 30 more columns" in large and large.count("<tr>") == 41


def test_the_name_of_the_labels_is_shown_where_there_is_room():
    assert lines_of(Table({"a": [1.0, 2.0]}, ["long label", "b"], row_name="column"))[0].split() == ["column", "a"]
    assert lines_of(Table({"a": [1.0, 2.0]}, ["b", "c"], row_name="column"))[0].split() == ["a"]


def test_whole_numbers_as_labels_are_aligned_on_the_right():
    assert [line[:2] for line in lines_of(Table({"a": [1.0, 2.0]}, np.array([9, 10])))] == ["  ", " 9", "10"]
    assert [line[:3] for line in lines_of(Table({"a": [1.0, 2.0]}, ["a", "bcd"]))] == ["   ", "a  ", "bcd"]


def test_columns_left_out():
    table = Table({f"c{i}": [1.0] for i in range(25)})
    assert lines_of(table)[-1] == "... 5 more columns"
    assert lines_of(table, max_columns=24)[-1] == "... 1 more column"
    assert "more" not in table.text(max_columns=None)
    assert "<p>... 5 more columns</p>" in table._repr_html_()


def test_zero_has_no_sign():
    assert "-" not in str(Table({"a": [-0.0, 0.5, 2.0]}, ["x", "y", "z"]))
    assert "-0" not in str(Table({"a": [-0.0, 1e12, 1e-12]}, ["x", "y", "z"]))
