"""Numbers in other notations than that of programs: read where entries leave no doubt, and otherwise asked for."""

import numpy as np
import pandas as pd
import pytest

from lowdim import PCA, scan
from lowdim.errors import NumberFormatWarning
from lowdim.sources import csv as csv_files
from sources.csv.csv_rows import rows

GERMAN = "id;a;b;c\nx;1,5;2;1,234\ny;-0,25;3;2,345\nz;1e3;;3,456\n"
NUMBERS = [[1.5, 2, 1.234], [-0.25, 3, 2.345], [1000, np.nan, 3.456]]


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.CSV.GZ"])
@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_found_and_that_is_said(csv, name, separator):
    """A column whose commas might separate thousands is read as the others are."""
    path = csv(GERMAN.replace(";", separator), name)
    with pytest.warns(NumberFormatWarning, match=r"decimal commas, as in '1,5' in line 2 of column 'a'.*decimal=','"):
        found = scan(path, columns="numeric")
    assert found.chosen == ["a", "b", "c"]
    np.testing.assert_array_equal(rows(path, columns="numeric", decimal=","), NUMBERS)


def test_the_same_in_several_files(csv, tmp_path):
    csv(GERMAN, "a.csv")
    csv("id;a;b;c\nw;7,5;1;0,5\n", "b.csv")
    np.testing.assert_array_equal(rows(tmp_path, columns="numeric", decimal=","), [*NUMBERS, [7.5, 1, 0.5]])


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a;b\n1,234;2\n5,678;3\n", "a"),  # thousands, or decimals?
        ("a;b\n1,5;2.5\n2,5;3.5\n", "a"),  # both notations
        ('a,b\n"1,5",2\n"2,5",3\n', "a"),  # commas separate the fields
        ("a;b\n5%;2\n6;3\n", "a"),  # 0.06, or 6?
        ("a;b\n$5;2\n\u20ac6.50;3\n", "a"),
    ],
)
def test_numbers_that_may_mean_two_things_are_refused(csv, text, column):
    path = csv(text)
    with pytest.raises(ValueError, match=rf"nearly all entries are numbers: column '{column}' has the text"):
        PCA(1).fit(scan(path, columns="numeric"))
    with pytest.raises(ValueError, match=rf"not numbers: '{column}' \(column '{column}' has the text .*thousands"):
        PCA(1).fit(path)


def test_a_column_that_may_be_thousands_beside_decimal_commas(csv):
    path = csv('a,b\n"1,5","1,234"\n"2,5","2,345"\n')
    with pytest.raises(ValueError, match=r"column 'a' has the text '1,5' .*column 'b' has the text '1,234'"):
        PCA(1).fit(scan(path, columns="numeric"))


def test_the_option_decides(csv):
    path = csv("a;b\n1,234;2\n5,678;3\n")
    np.testing.assert_array_equal(rows(path, decimal=","), [[1.234, 2], [5.678, 3]])
    quoted = csv('a,b\n"1,5",2\n"2,5",3\n')
    np.testing.assert_array_equal(rows(quoted, decimal=","), [[1.5, 2], [2.5, 3]])
    german = csv(GERMAN)
    assert scan(german, decimal=".").numeric == ["b"]
    points = csv("a;b\n1.5;2\n2.5;3\n")
    with pytest.raises(ValueError, match=r"'1\.5' in line 2; if the file has a point before decimals .* decimal='\.'"):
        rows(points, decimal=",")


def test_what_the_option_cannot_be(csv, tmp_path):
    path = csv(GERMAN)
    with pytest.raises(ValueError, match="decimal=';'"):
        scan(path, decimal=";")
    np.save(tmp_path / "rows.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"decimal=',' is for CSV files, and .*rows\.npy"):
        scan(tmp_path / "rows.npy", decimal=",")


def test_text_with_commas_stays_text(csv):
    assert scan(csv("a;b\n1,2,3;1\n4,5;2\n")).numeric == ["b"]
    assert scan(csv("a;b\nx,y;1\n1,5;2\n")).numeric == ["b"]


def test_separators_and_signs_are_left_out_and_that_is_said(csv):
    path = csv('id,a,b,c\nx,"$1,200.50",5%,1\'000\ny,$7,12.5%,NA\nz,,,20\n')
    with pytest.warns(NumberFormatWarning, match=r"'a' \('\$1,200\.50' in line 2 is 1200\.5\), 'b' \('5%' in"):
        found = scan(path, columns="numeric")
    assert found.chosen == ["a", "b", "c"]
    assert "'c' (\"1'000\" in line 2 is 1000)" in found.contents.how_read
    expected = [[1200.5, 0.05, 1000], [7, 0.125, np.nan], [np.nan, np.nan, 20]]
    np.testing.assert_array_equal(rows(path, columns="numeric", decimal="."), expected)


def test_decimal_commas_with_separators_and_signs(csv):
    path = csv("id;a;b;c\nx;1.234,5;5 %;1,5\ny;7;12,5 %;2\n")
    with pytest.warns(NumberFormatWarning, match=r"commas, as in '1\.234,5'.*'a' \(.* is 1234\.5\), 'b' \(.* 0\.05"):
        scan(path)
    np.testing.assert_array_equal(rows(path, columns="numeric", decimal=","), [[1234.5, 0.05, 1.5], [7, 0.125, 2]])
    assert scan(csv("a;b\n1.234;2\n5.678;3\n"), decimal=",").numeric == ["a", "b"]
    with pytest.warns(
        NumberFormatWarning, match=r"with points between thousands and decimal commas, as in '1\.234\.567'"
    ):
        assert scan(csv("a;b\n1.234.567;2\n5.678;3\n")).numeric == ["a", "b"]


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.CSV.GZ"])
def test_numbers_with_signs_in_several_files_and_blocks(csv, tmp_path, name, monkeypatch):
    monkeypatch.setattr(csv_files, "_BLOCK_BYTES", 1 << 10)
    values = np.arange(1000, 3000)
    lines = "".join(f'n{i},"${i:,}",{i / 10}\n' for i in values)
    csv("id,a,b\n" + lines, name)
    csv("b,a\n0.5,$1\n", "zz.csv")
    expected = np.vstack([np.column_stack([values, values / 10]), [1, 0.5]])
    np.testing.assert_array_equal(rows(tmp_path, columns=["a", "b"], decimal="."), expected)
    # Carried along, it is the text that it was.
    found = scan(tmp_path / name, ["b"], decimal=".")
    PCA(1).fit(found).transform_to(found, tmp_path / "out.parquet", keep="a")
    assert pd.read_parquet(tmp_path / "out.parquet")["a"][0] == "$1,000"


def test_a_later_entry_in_another_notation_is_named(csv):
    path = csv("a,b\n" + '"$1,200.5",2\n' * 200_000 + "17,3\n")
    with pytest.raises(ValueError, match=r"in line 200002: '17' in column 'a' is not a number that is written as"):
        PCA(1).fit(scan(path, decimal="."))
