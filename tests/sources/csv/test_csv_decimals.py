"""Decimal commas: found where entries leave no doubt, and otherwise asked for."""

import numpy as np
import pytest

from lowdim import PCA, scan
from lowdim.errors import NumberFormatWarning
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
        ("a;b\n1.234,5;2\n2.345,5;3\n", "a"),
        ('a,b\n"1,5",2\n"2,5",3\n', "a"),  # commas separate the fields
        ("a;b\n5%;2\n6%;3\n", "a"),
        ("a;b\n$5;2\n$6.50;3\n", "a"),
    ],
)
def test_numbers_that_may_mean_two_things_are_refused(csv, text, column):
    path = csv(text)
    with pytest.raises(ValueError, match=rf"nearly all entries are numbers: column '{column}' has the text"):
        PCA(1).fit(scan(path, columns="numeric"))
    with pytest.raises(ValueError, match=rf"not numbers: '{column}' \(column '{column}' has the text .*thousands"):
        PCA(1).fit(path)


def test_the_option_decides(csv):
    path = csv("a;b\n1,234;2\n5,678;3\n")
    np.testing.assert_array_equal(rows(path, decimal=","), [[1.234, 2], [5.678, 3]])
    quoted = csv('a,b\n"1,5",2\n"2,5",3\n')
    np.testing.assert_array_equal(rows(quoted, decimal=","), [[1.5, 2], [2.5, 3]])
    german = csv(GERMAN)
    assert scan(german, decimal=".").numeric == ["b"]
    points = csv("a;b\n1.5;2\n2.5;3\n")
    with pytest.raises(ValueError, match=r"'1\.5' in line 2; decimals have to be written with a comma"):
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
