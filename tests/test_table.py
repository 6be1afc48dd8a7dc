"""Tables with names: what they hold, how they are taken apart and converted."""

import json
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lowdim import Table
from lowdim.table import Tabular, numbered


@pytest.fixture
def table():
    columns = {"size": [3.0, -7.0, np.nan, 3.0], "count": np.array([1, 2, 3, 4]), "kind": ["a", None, "c", "d"]}
    return Table(columns, ["w", "x", "y", "z"], title="Sizes", notes=["measured twice"], row_name="thing")


def test_columns_keep_their_kind(table):
    assert table.columns == list(table) == ["size", "count", "kind"]
    assert table["size"].dtype == float and table["count"].dtype.kind == "i" and table["kind"].dtype == object
    assert len(table) == 4 and "size" in table and "w" not in table
    assert table.rows == ["w", "x", "y", "z"]
    assert table.row("x") == {"size": -7.0, "count": 2, "kind": None}


def test_values_are_the_numbers(table):
    assert np.array_equal(table.values, [[3, 1], [-7, 2], [np.nan, 3], [3, 4]], equal_nan=True)
    assert np.asarray(table, dtype=np.float32).dtype == np.float32


def test_rows_without_labels_are_positions():
    table = Table({"a": [5.0, 6.0, 7.0]})
    assert table.rows == [0, 1, 2] and not table.has_labels
    assert table.sort("a").rows == [2, 1, 0]
    assert table.head(2).rows == [0, 1]
    assert table.to_pandas().index.tolist() == [0, 1, 2]
    assert table.to_polars().columns == ["a"]


@pytest.mark.parametrize("descending", [True, False])
def test_sort_keeps_ties_and_puts_nan_last(table, descending):
    order = table.sort("size", descending=descending).rows
    assert order == (["w", "z", "x", "y"] if descending else ["x", "w", "z", "y"])
    assert table.sort("size", absolute=True).rows == ["x", "w", "z", "y"]


def test_pandas_has_the_labels_as_index(table):
    frame = table.to_pandas()
    expected = pd.DataFrame(
        {"size": [3.0, -7.0, np.nan, 3.0], "count": [1, 2, 3, 4], "kind": ["a", None, "c", "d"]},
        index=pd.Index(["w", "x", "y", "z"], name="thing"),
    )
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False, check_index_type=False)


def test_polars_has_the_labels_as_first_column(table):
    frame = table.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["thing", "size", "count", "kind"]
    assert frame["thing"].to_list() == ["w", "x", "y", "z"]
    clash = Table({"row": [1.0]}, ["a"]).to_polars()
    assert clash.columns == ["row_", "row"]
    assert Table({"a": [1.0, 2.0]}, ["x", 3]).to_polars()["row"].to_list() == ["x", "3"]


def test_csv_has_all_digits(tmp_path):
    table = Table({"size": [1 / 3, 0.1]}, ["a, b", "c"], row_name="thing", blank=0.2)
    assert table.to_csv() == 'thing,size\n"a, b",0.3333333333333333\nc,0.1\n'
    assert table.to_csv(tmp_path / "sizes.csv", sep=";", decimal=",") is None
    text = (tmp_path / "sizes.csv").read_text()
    assert text == "thing;size\na, b;0,3333333333333333\nc;0,1\n"
    assert Table({"size": [1.5]}).to_csv() == "size\n1.5\n"


def test_excel_has_all_digits(table, tmp_path):
    pytest.importorskip("openpyxl")
    table.to_excel(tmp_path / "sizes.xlsx", sheet_name="sizes")
    frame = pd.read_excel(tmp_path / "sizes.xlsx", sheet_name="sizes", index_col=0, engine="openpyxl")
    expected = table.to_pandas()
    assert list(frame.columns) == list(expected.columns) and list(frame.index) == list(expected.index)
    found, wanted = (
        [None if pd.isna(entry) else entry for entry in each.to_numpy(dtype=object).ravel()]
        for each in (frame, expected)
    )
    assert found == wanted


def test_excel_says_what_to_install(table, tmp_path, monkeypatch):
    for name in ("openpyxl", "openpyxl.workbook"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="to_excel needs openpyxl, which is not installed: pip install openpyxl"):
        table.to_excel(tmp_path / "sizes.xlsx")


def test_markdown_and_latex_have_the_numbers_of_the_printed_table(tmp_path):
    table = Table({"a_b": [12.5, -0.1, 2e-9], "n": [1, 2, -3], "kind": ["x|y", "50%", None]}, ["r1", "r2", "r3"])
    shown = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.to_markdown().splitlines()]
    assert shown[0] == ["a_b", "n", "kind"] and shown[2] == ["r1", "12.500", "1", "x\\|y"]
    assert shown[3] == ["r2", "-0.100", "2", "50%"] and shown[4][:3] == ["r3", "2.0e-09", "-3"]
    assert {len(line) for line in table.to_markdown().splitlines()} == {len(table.to_markdown().splitlines()[0])}
    latex = table.to_latex().splitlines()
    assert latex[:4] == [r"\begin{tabular}{lrrl}", r"\toprule", r" & a\_b & n & kind \\", r"\midrule"]
    assert latex[4:7] == [
        r"r1 & 12.500 & 1 & x|y \\",
        r"r2 & $-0.100$ & 2 & 50\% \\",
        r"r3 & $2.0 \times 10^{-9}$ & $-3$ &  \\",
    ]
    assert latex[7:] == [r"\bottomrule", r"\end{tabular}"]
    for name in ("markdown", "latex"):
        write = getattr(table, f"to_{name}")
        assert write(tmp_path / name) is None and (tmp_path / name).read_text() == write() + "\n"
        assert getattr(Table({}), f"to_{name}")() is not None


def test_small_numbers_are_left_blank_where_they_are_printed(table):
    loadings = Table({"F1": [0.8, 0.0012], "F2": [-0.1, -0.6]}, ["a", "b"], title="Loadings", blank=0.3)
    assert str(loadings) == "Loadings\n       F1       F2\na  0.8000\nb          -0.6000"
    assert loadings.sort("F2").select(["F1"]).to_markdown().splitlines()[3] == "| b   |        |"
    assert "<td></td>" in loadings._repr_html_() and "$-0.6000$" in loadings.to_latex()
    assert loadings["F2"].tolist() == [-0.1, -0.6] and loadings.to_pandas()["F2"].tolist() == [-0.1, -0.6]


def test_json(table):
    values = json.loads(json.dumps(table.to_dict(), allow_nan=False))
    assert values["columns"]["size"] == [3.0, -7.0, None, 3.0]
    assert values["rows"] == ["w", "x", "y", "z"] and values["title"] == "Sizes"


def test_matrix_with_names():
    matrix = np.arange(6.0).reshape(3, 2)
    table = Table.from_matrix(matrix, ["PC1", "PC2"], ["a", "b", "c"])
    assert np.array_equal(table.values, matrix)
    with pytest.raises(ValueError, match=r"shape \(3, 2\) cannot have 3 names"):
        Table.from_matrix(matrix, ["a", "b", "c"])


def test_bad_tables():
    with pytest.raises(ValueError, match="same length, got"):
        Table({"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="same length, got"):
        Table({"a": [1.0]}, ["x", "y"])
    with pytest.raises(ValueError, match="one dimension"):
        Table({"a": np.ones((2, 2))})
    with pytest.raises(KeyError, match="no column 'b'; the columns are 'a'"):
        Table({"a": [1.0]})["b"]
    with pytest.raises(KeyError, match="no row 'q'"):
        Table({"a": [1.0]}, ["p"]).row("q")


def test_an_empty_table():
    table = Table({})
    assert len(table) == 0 and table.columns == [] and table.values.shape == (0, 0)
    assert str(table) == "" and "<table>" in table._repr_html_()
    assert str(Table({"a": []})).strip() == "a"


def test_results_with_a_table_print_and_convert_it(table):
    class Result(Tabular):
        def table(self):
            return table

    assert str(Result()) == str(table)
    assert Result()._repr_html_() == table._repr_html_()
    assert Result().to_pandas().equals(table.to_pandas())
    assert Result().to_polars().equals(table.to_polars())


def test_rows_at_positions(table):
    assert table.take(np.array([2, 0])).rows == ["y", "w"]
    assert Table({"a": [5.0, 6.0, 7.0]}).take(np.array([1, 2])).rows == [1, 2]
    assert table.shape == (4, 3)


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2024-01-01", periods=3, name="day"),
        pd.MultiIndex.from_product([["a"], [1, 2, 3]], names=["group", "number"]),
        pd.RangeIndex(5, 8),
    ],
    ids=["dates", "levels", "range"],
)
def test_an_index_of_pandas_is_kept_with_its_type_and_names(index):
    table = Table({"a": [5.0, 6.0, 7.0]}, index)
    assert table.to_pandas().index.equals(index) and table.to_pandas().index.names == index.names
    assert table.sort("a").to_pandas().index.equals(index[::-1])
    assert table.head(2).to_pandas().index.equals(index[:2])
    assert len(table.to_polars()) == 3 and len(str(table).split("\n")) == 4
    named = Table({"a": [1.0]}, pd.Index(["x"], name="old"), row_name="new")
    assert named.to_pandas().index.name == "new"


def test_two_columns_of_the_same_name():
    with pytest.raises(ValueError, match="cannot have the same name"):
        Table.from_matrix(np.ones((2, 2)), ["a", "a"])


def test_entries_may_be_anything():
    table = Table({"a": [(1, 2), (3, 4)], "b": [[1], [2]]})
    assert table["a"].tolist() == [(1, 2), (3, 4)] and table["b"].tolist() == [[1], [2]]
    assert numbered("PC", 3) == ["PC1", "PC2", "PC3"] and numbered("x", 0) == []


def test_some_columns(table):
    some = table.select(["kind", "size"])
    assert some.columns == ["kind", "size"] and some.rows == table.rows
    assert (some.title, some.notes, some.row_name) == (table.title, table.notes, table.row_name)
    with pytest.raises(KeyError, match="there is no column 'weight'; the columns are 'size', 'count', 'kind'"):
        table.select(["size", "weight"])


def test_entries_that_are_missing_are_sorted_last():
    table = Table({"a": [None, 2, float("nan"), 3, 1, 2], "b": ["y", None, "x", "z", None, "w"]})
    assert table.sort("a").rows == [3, 1, 5, 4, 0, 2]
    assert table.sort("a", descending=False).rows == [4, 1, 5, 3, 0, 2]
    assert table.sort("b", descending=False).rows == [5, 2, 0, 3, 1, 4]


def test_whole_numbers_beyond_floats_and_dates():
    table = Table({"n": [10**400, None], "t": np.array(["2020-01-02", "NaT"], dtype="datetime64[ns]")})
    assert str(10**400) in table.text(width=1000) and "2020-01-02" in str(table)


def test_labels_of_several_levels_and_of_polars():
    levels = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["u", "v"])
    assert Table({"x": [1.0, 2.0]}, levels, row_name="component").to_pandas().index.equals(levels)
    assert Table({"x": [1.0, 2.0]}, pl.Series(["a", "b"])).sort("x").rows == ["b", "a"]
    assert Table({"x": [1.0, 2.0]}).take([1, 0]).rows == [1, 0]
