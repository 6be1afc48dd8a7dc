"""Tables as the page shows them."""

import numpy as np

from lowdim import Table
from lowdim.reporting.page import shown_table


def test_numbers_are_shown_short_and_copied_whole():
    table = shown_table(Table({"x": [1 / 3, 2 / 3], "n": [1, 2], "yes": [True, False]}, ["a", "b"], row_name="name"))
    label, cells = table.lines[0]
    assert (table.corner.text, label.text) == ("name", "a")
    assert [cell.text for cell in cells] == ["0.3333", "1", "yes"]
    assert float(cells[0].exact) == np.float64("0.3333333333")
    assert cells[1].exact is None and cells[2].exact is None
    assert list(table.right) == [True, True, False]


def test_missing_entries_are_copied_as_nothing():
    table = shown_table(Table({"x": [np.nan, np.inf, 1.0], "n": [None, 1, 2], "t": ["a", None, "c"]}))
    assert table.corner is None
    columns = list(zip(*(cells for _, cells in table.lines), strict=True))
    assert [cell.exact for cell in columns[0]][:2] == ["", ""]
    assert columns[1][0].exact == ""
    assert columns[2][1].text == ""


def test_long_text_is_whole_in_a_tooltip():
    name = "a very long name of a column that no page can show"
    table = shown_table(Table({name: [name, "short"]}))
    assert table.heads[0].tip == name
    (long,), (short,) = (cells for _, cells in table.lines)
    assert long.text == long.tip == name
    assert short.tip == ""


def test_text_that_cannot_be_seen_is_made_visible():
    table = shown_table(Table({"a\0b": ["x\u202ey"]}, ["p\nq"]))
    ((label, (cell,)),) = table.lines
    assert (table.heads[0].text, label.text, cell.text) == ("a b", "p q", "x y")


def test_of_tables_that_are_too_large_the_first_part_is_shown_and_the_rest_counted():
    wide = shown_table(Table.from_matrix(np.zeros((200, 400)), [f"x{i}" for i in range(400)]))
    assert len(wide.heads) == 300
    assert len(wide.lines) * 300 <= 40_000
    assert f"{200 - len(wide.lines)} more rows, 100 more columns" in wide.notes[0]
    long = shown_table(Table({"x": np.arange(100_000)}, notes=["a note"]))
    assert len(long.lines) == 40_000
    assert long.notes == ["... 60000 more rows", "a note"]


def test_a_table_without_columns():
    assert shown_table(Table({})).lines == []
