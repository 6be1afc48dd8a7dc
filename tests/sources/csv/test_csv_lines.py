"""Lines of CSV files: fields with the numbers of their lines."""

import gzip

import pytest

from lowdim.sources.csv import (
    HeaderLine,
    has_odd_quotes,
    header_line,
    is_compressed,
    line_of_open_quote,
    longer_of_two,
    rows,
    separator_of,
)


@pytest.fixture(params=["rows.csv", "ROWS.CSV.GZ"])
def path(request, tmp_path):
    return tmp_path / request.param


def write(path, text):
    path.write_bytes(gzip.compress(text.encode()) if is_compressed(str(path)) else text.encode())
    return str(path)


def test_rows_from_any_row_on(path):
    """Empty lines are lines and no rows, and a row in quotes may take several lines."""
    place = write(path, 'a,b\n\n1,2\n"x\ny",3\n\n\n4,5\r\n6,7')
    expected = [(3, ["1", "2"]), (5, ["x\ny", "3"]), (8, ["4", "5"]), (9, ["6", "7"])]
    for start in range(6):
        assert list(rows(place, ",", start)) == expected[start:]


def test_a_field_that_is_too_long_ends_the_rows(path):
    place = write(path, "a,b\n1,2\n" + "x" * 200_000 + ",3\n4,5\n")
    assert list(rows(place, ",")) == [(2, ["1", "2"])]
    assert list(rows(place, ",", 1)) == []


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_first_line(path, end):
    assert header_line(write(path, f"a,b{end}1,2{end}")) == HeaderLine("a,b", True)
    assert header_line(write(path, f"a,b{end}")) == HeaderLine("a,b", True)
    assert header_line(write(path, "\ufeffa,b")) == HeaderLine("a,b", False)


@pytest.mark.parametrize("line", ["sep=;\n", "SEP=;\r\n", '"sep=;"\r\n', "\ufeffsep=;\n", "sep=;;;\n"])
def test_a_line_that_declares_the_separator(path, line):
    assert header_line(write(path, f"{line}a;b\n1;2\n")) == HeaderLine("a;b", True, ";")
    assert list(rows(str(path), ";", before=1)) == [(3, ["1", "2"])]


def test_separators():
    found = {
        "a": ",",
        "a;b": ";",
        "a\tb,c\td": "\t",
        '"a;b;c",d': ",",
        "a,b;c;d": ";",
        "a|b|c": "|",
        "p(a|b),p(c|d)": ",",
    }
    assert {header: separator_of(header) for header in found} == found


def test_the_longer_of_two_lines(path):
    assert longer_of_two(write(path, "a,b\n1.25,2\n" + "3" * 100)) == len("1.25,2\n")


def test_quotes_that_do_not_match(path):
    lines = {"a,b\n1,x\n": None, 'a,b\n1,"x\n2,y\n': 2, 'a,b\n1,5" x\n': None, 'a,b\n\n1,"x\ny"\n2,"z"\n3,"': 6}
    for text, line in lines.items():
        place = write(path, text)
        assert line_of_open_quote(place, ",") == line
        assert has_odd_quotes(place, 100) == (text.count('"') % 2 == 1)


def test_only_the_end_is_looked_at_if_it_has_no_quotes(tmp_path):
    place = write(tmp_path / "rows.csv", 'a,b\n1,"x\n' + "2,y\n" * 100)
    assert has_odd_quotes(place, 1000)
    assert not has_odd_quotes(place, 100)
