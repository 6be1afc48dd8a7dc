"""CSV files with text where numbers should be, or with damage: columns and lines that are named."""

import gzip
import re

import numpy as np
import pytest

from lowdim import PCA, PLSRegression, scan
from lowdim.sources import csv as csv_files
from sources.csv.csv_rows import rows


def test_text_in_the_first_block_is_named_with_its_line(csv):
    path = csv("id,a,b\nx,1,2\ny,3,\nz,4,two\n")
    with pytest.raises(ValueError, match=r"not numbers: 'id', 'b' \(column 'b' has the text 'two' in line 4\); these"):
        PCA(1).fit(path)


def test_text_behind_the_first_block_is_named_with_its_line(csv):
    many = 300_000
    path = csv("a,b\n" + "1,2\n" * many + "1,two\n" + "1,2\n" * 5)
    with pytest.raises(ValueError, match=rf"rows\.csv cannot be read in line {many + 2}: 'two' in column 'b' is not a"):
        PCA(1).fit(path)


def test_underscores_between_digits_are_text(csv):
    path = csv("a,b\n" + "1,2\n" * 300_000 + "1_000,2\n")
    with pytest.raises(ValueError, match=r"cannot be read in line 300002: '1_000' in column 'a' is not a number"):
        PCA(1).fit(path)


def test_ragged_lines_are_named(csv):
    path = csv("a,b\n1,2\n3,4,5\n6,7\n")
    with pytest.raises(ValueError, match=r"cannot be read in line 3: it has 3 fields, and the header names 2 columns"):
        PCA(1).fit(path)
    path = csv("a,b\n1,2\n3\n")
    with pytest.raises(ValueError, match=r"in line 3: it has 1 field, and the header names 2 columns"):
        PCA(1).fit(path)


def test_names_of_rows_without_a_name_for_their_column(csv):
    """So R writes them by default."""
    with pytest.raises(
        ValueError, match=r"in line 2: it has 3 fields, and the .* 2 columns; if its first field is the na"
    ):
        PCA(1).fit(csv('"a","b"\n"1",2,3\n"2",4,5\n'))


def test_text_in_one_of_several_files_is_named(csv, tmp_path):
    csv("a,b\n1,2\n3,4\n", "a.csv")
    csv("a,b\n1,2\n3,x\n", "b.csv")
    with pytest.raises(ValueError, match=r"b\.csv cannot be read in line 3: 'x' in column 'b' is not a number"):
        PCA(1).fit(tmp_path)


def test_a_decimal_comma_is_explained(csv):
    path = csv("a;b\n1,5;2\n2,5;3.5\n")
    with pytest.raises(
        ValueError,
        match=r"not numbers: 'a' \(column 'a' has the text '1,5' in line 2; if its comma is before decimals, pa",
    ):
        PCA(1).fit(path)
    path = csv("a;b\n" + "1;2\n" * 300_000 + "1,5;2\n")
    with pytest.raises(
        ValueError, match=r"'1,5' in column 'a' is not a number; if its comma is before decimals, pass "
    ):
        PCA(1).fit(path)
    path = csv("a;b\n" + "1,5;2\n" * 300_000 + "1.234,5;2\n")
    with pytest.raises(ValueError, match=r"'1\.234,5' in column 'a' is not a number; decimals .* comma, thousands wit"):
        PCA(1).fit(scan(path, decimal=","))


def test_numbers_with_a_decimal_comma_are_not_left_out_without_a_word(csv):
    path = csv("id;a;b;place\nx;1,234;2;1,5 km\ny;;3;2,5\nz;2;4;3,5\n")
    with pytest.raises(
        ValueError, match=r"nearly all entries are numbers: column 'a' has the text '1,234' in line 2; pass decimal="
    ):
        PCA(1).fit(scan(path, columns="numeric"))
    with pytest.raises(ValueError, match="nearly all entries are numbers: column 'a' "):
        PLSRegression(1).fit(scan(path, columns="numeric"), y="b")
    np.testing.assert_array_equal(rows(path, columns="numeric", exclude="a"), [[2], [3], [4]])
    # Chosen by name, the other columns are read.
    np.testing.assert_array_equal(rows(path, columns=["b"]), [[2], [3], [4]])


@pytest.mark.parametrize("text", ["?", "-", " NA", "none", "1,20", "1'20.5", "2.300,25", "x"])
def test_numbers_with_a_few_other_entries_are_not_left_out_without_a_word(csv, text):
    lines = [f"{i},{i / 2},n{i}" for i in range(20)]
    lines[7] = f'7,"{text}",n7'
    path = csv("a,b,c\n" + "\n".join(lines) + "\n")
    place = rf"column 'b' has the text {re.escape(repr(text))} in line 9"
    with pytest.raises(ValueError, match=rf"rows\.csv has columns of text .* numbers: {place}.*'numeric'.* exclude="):
        PCA(1).fit(scan(path, columns="numeric"))
    with pytest.raises(ValueError, match=rf"not numbers: 'b', 'c' \({place}"):
        PCA(1).fit(path)
    np.testing.assert_array_equal(rows(path, columns="numeric", exclude="b")[:, 0], range(20))
    np.testing.assert_array_equal(rows(path, columns=["a"])[:, 0], range(20))


def test_the_share_of_other_entries_that_makes_a_column_text(csv):
    """One of ten, of the entries that are neither missing nor signs for missing values."""
    entries = ["x", *map(str, range(9)), "?", "?", "", "NA"]
    path = csv("a,b\n" + "".join(f"1,{entry}\n" for entry in entries))
    with pytest.raises(ValueError, match=r"column 'b' has the text 'x' in line 2\."):
        rows(path, columns="numeric")
    for further in ["y", "2020-01-01", "1 km", "+"]:
        path = csv("a,b\n" + "".join(f"1,{entry}\n" for entry in [*entries, further]))
        assert rows(path, columns="numeric").shape == (15, 1)
    # Without a number, nothing says that numbers were meant.
    assert rows(csv("a,b\n1,?\n2,-\n"), columns="numeric").shape == (2, 1)


def test_other_entries_are_looked_for_where_the_types_come_from(csv, tmp_path):
    many = 100_000
    csv("b,a\n", "a.csv")
    path = csv("a,b,c\n" + "1.25,2,3\n" * many + "1,?,3\n" + "1,2,3\n" * (3 * many), "b.csv")
    with pytest.raises(ValueError, match=rf"column 'b' has the text '\?' in line {many + 2}; missing values are"):
        rows(tmp_path, columns="numeric")
    # Behind the first block, it is an error of the rows.
    path = csv("a,b,c\n" + "1.25,2,3\n" * (2 * many) + "1,?,3\n", "b.csv")
    with pytest.raises(
        ValueError, match=rf"b\.csv cannot be read in line {2 * many + 2}: '\?' in column 'b' is not a "
    ):
        rows(path, columns="numeric")


def test_many_columns_of_nearly_numbers(csv):
    header = ",".join(f"x{j}" for j in range(40))
    path = csv("\n".join([header, *[",".join("1" * 40)] * 3, ",".join("?" * 40), ""]))
    with pytest.raises(ValueError, match=r"column 'x4' has .*; and 35 more\. columns="):
        rows(path, columns="numeric")


def test_a_ragged_line_far_behind_is_found_in_its_block_only(csv, monkeypatch):
    """Blocks before it are read by pyarrow, and their entries are not looked at one by one."""
    looked_at = []
    monkeypatch.setattr(csv_files, "why_not", lambda text, kind: looked_at.append(text) and "")
    path = csv("a,b\n" + "\n1,2\n" * 400_000 + "3\n")
    with pytest.raises(ValueError, match=r"cannot be read in line 800002: it has 1 field, and the header names 2 col"):
        PCA(1).fit(path)
    assert len(looked_at) < 2 * csv_files._BLOCK_BYTES / len("\n1,2\n") + 2


@pytest.mark.parametrize("text", [" NA ", "-", "?", "none"])
def test_other_signs_for_missing_values_are_explained(text, csv, tmp_path):
    csv("a,b\n1,2\n", "first.csv")
    csv(f"a,b\n1,2\n1,{text}\n", "second.csv")
    with pytest.raises(ValueError, match=rf"second\.csv .* line 3: '{re.escape(text)}' .*an empty field or NA"):
        rows(tmp_path)


def test_a_compressed_file_that_ends_in_its_first_line(csv):
    path = csv("a,b\n1,2\n", "rows.csv.gz")
    content = path.read_bytes()
    for size in range(1, len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"rows\.csv\.gz (cannot be read|has no header)"):
            PCA(1).fit(path)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
@pytest.mark.parametrize("line", [2, 30_000, 99_990, 100_001])
@pytest.mark.parametrize("entry", ["text", '"5"" wide"'])
def test_a_quote_that_is_not_closed(csv, entry, line, suffix):
    """Lines behind it would belong to its field, and not be read."""
    lines = ["a,b,c", *[f"{i},1,{entry}" for i in range(100_000)]]
    lines[line - 1] = '7,8,"x'
    path = csv("\n".join(lines) + "\n", f"rows.{suffix}")
    with pytest.raises(
        ValueError, match=rf"cannot be read in line {line}: a quote is opened there and not closed at th"
    ):
        rows(path, columns=["a", "b"])
    # Within a field without quotes, a quote is a sign as others.
    lines[line - 1] = '7,8,5" x'
    path = csv("\n".join(lines) + "\n", f"rows.{suffix}")
    assert rows(path, columns=["a", "b"]).shape == (100_000, 2)


def test_what_is_neither_true_nor_false_is_named_with_its_file_and_line(csv, tmp_path):
    csv("a,b\n1,true\n3,false\n", "a.csv")
    csv("a,b\n1,1\n3,0.5\n", "b.csv")
    with pytest.raises(ValueError, match=r"b\.csv cannot be read in line 3: '0\.5' in column 'b' is neither true nor"):
        PCA(1).fit(tmp_path)


def test_a_truncated_compressed_file(csv):
    text = "a,b\n" + "".join(f"{i},{i * i}\n" for i in range(200_000))
    path = csv(gzip.compress(text.encode())[:-2000], "rows.csv")
    path = path.rename(path.with_name("rows.csv.gz"))
    with pytest.raises(ValueError, match=r"rows\.csv\.gz cannot be read"):
        PCA(1).fit(path)


def test_a_damaged_compressed_file(csv):
    """Random text, so that most of the file is not a header of a block."""
    values = np.random.default_rng(0).integers(0, 10**9, (50_000, 2))
    data = bytearray(gzip.compress(("a,b\n" + "".join(f"{a},{b}\n" for a, b in values)).encode()))
    path = csv(b"", "rows.csv").rename(csv("a\n", "rows.csv.gz"))
    for place in np.random.default_rng(1).integers(20, len(data), 8):
        data[place] ^= 0xFF
        path.write_bytes(data)
        data[place] ^= 0xFF
        with pytest.raises(ValueError, match=r"rows\.csv\.gz cannot be read"):
            PCA(1).fit(path)
