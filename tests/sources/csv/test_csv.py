"""CSV files: separators, headers, missing values, types, and how files are named and cut."""

import codecs
import gzip

import numpy as np
import pandas as pd
import pytest

from lowdim import FAMD, PCA, PPCA, PLSRegression, scan
from lowdim.sources import csv as csv_files
from lowdim.sources import open_source
from sources.csv.csv_rows import rows


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.tsv"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_separators_compression_and_marks(csv, separator, name, end, mark):
    lines = [["a", "b c"], ["1", "2.5"], ['"3"', "-4e2"], ["", "NA"]]
    path = csv(mark + end.join(separator.join(line) for line in lines).encode(), name)
    assert scan(path).columns == ["a", "b c"]
    np.testing.assert_array_equal(rows(path), [[1, 2.5], [3, -400], [np.nan, np.nan]])


def test_a_separator_between_quotes_does_not_count(csv):
    path = csv('"a;b;c;d",e\n1,2\n')
    assert scan(path).columns == ["a;b;c;d", "e"]


def test_what_is_missing(csv):
    texts = ["", "NA", "N/A", "NaN", "nan", "null", "NULL", '""']
    path = csv("a,b\n" + "\n".join(f"{i},{text}" for i, text in enumerate(texts)) + "\n")
    assert np.isnan(rows(path)[:, 1]).all()
    np.testing.assert_array_equal(rows(path)[:, 0], range(len(texts)))


def test_nulls_are_missing_values_or_are_named_with_file_row_and_line(csv, tmp_path):
    values = np.random.default_rng(0).standard_normal((30, 3)).round(3)
    lines = [",".join(map(str, row)) for row in values]
    lines[17] = "0.5,,1.5"
    path = csv("a,b,c\n" + "\n".join(lines[:10]) + "\n\n" + "\n".join(lines[10:]) + "\n")
    assert np.isnan(rows(path)).sum() == 1
    incomplete = values.copy()
    incomplete[17] = [0.5, np.nan, 1.5]
    np.testing.assert_allclose(PPCA(1).fit(path).noise_variance_, PPCA(1).fit(incomplete).noise_variance_)
    # An empty line is no row, but it is a line; and the header is one.
    with pytest.raises(
        ValueError, match=r"NaN: column 'b' \(number 1\), first in row 17 of rows\.csv \(line 20\)\. Com"
    ):
        PCA(1).fit(path)


def test_integers_may_become_fractions_later(csv, monkeypatch):
    many = 300_000  # more than the first block of pyarrow
    path = csv("a,b\n" + "1,2\n" * many + "1.5,2\n" * 10 + "3,\n")
    found = rows(path)
    assert found.shape == (many + 11, 2)
    assert found[:, 0].sum() == many + 18
    assert np.isnan(found[-1, 1])


def test_text_in_a_column_that_is_not_read_is_no_matter(csv, tmp_path):
    csv("a,b,c\n1,2,3\n3,4,5\n", "a.csv")
    csv("a,b,c\n1,2,3\n3,4,x\n", "b.csv")
    np.testing.assert_array_equal(rows(tmp_path, columns=["b", "a"]), [[2, 1], [4, 3], [2, 1], [4, 3]])


def test_columns_that_are_not_numbers(csv):
    path = csv("id,a,day,b,flag\nx,1,2020-01-01,2.5,true\ny,2,2020-01-02,3.5,false\n")
    with pytest.raises(ValueError, match=r"not numbers: 'id', 'day'; these are numbers: 'a', 'b', 'flag'\. Take only"):
        PCA(1).fit(path)
    np.testing.assert_array_equal(rows(path, columns="numeric"), [[1, 2.5, 1], [2, 3.5, 0]])


@pytest.mark.parametrize("name", ["A.CSV", "a.Tsv", "A.CSV.GZ", "a.csv.GZ", "a.Tsv.Gz"])
def test_suffixes_in_capital_letters(name, csv, tmp_path):
    values = np.random.default_rng(0).standard_normal((50_000, 3)).round(6)
    text = "a,b,c\n" + "\n".join(",".join(map(str, row)) for row in values.tolist())
    data = text.encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data, 1) if name.lower().endswith("gz") else data)
    assert open_source(path).shape == (len(values), 3)
    np.testing.assert_array_equal(rows(path), values)
    np.testing.assert_array_equal(rows(path, columns=["c", "a"]), values[:, [2, 0]])
    # Beside a file with a suffix in small letters, and with a row that is named.
    csv("c,b,a\n3,2,1\n", "b.csv.gz")
    other = csv("c,b,a\n3,2,1\n3,,1\n", "z.csv.gz")
    mixed = scan([tmp_path / "b.csv.gz", path, other])
    np.testing.assert_array_equal(rows(mixed.found.paths), [[3, 2, 1], *values[:, ::-1], [3, 2, 1], [3, np.nan, 1]])
    with pytest.raises(ValueError, match=r"column 'b' .* row 1 of z\.csv\.gz \(line 3, row 50002 of all\)"):
        PCA(1).fit(mixed)


def test_another_separator_in_one_of_several_files_is_named(csv, tmp_path):
    csv("a,b\n1,2\n", "first.csv")
    csv("a;b\n1;2\n", "second.csv")
    with pytest.raises(ValueError, match=r"second\.csv is separated by semicolons, and the first .* by commas"):
        rows(tmp_path)
    csv("a\tb\n1\t2\n", "first.csv")
    with pytest.raises(ValueError, match=r"second\.csv is separated by semicolons, and the first .* by tabs"):
        rows(tmp_path)
    # A single column has no separator.
    csv("a\n1\n", "first.csv")
    csv("a\n2\n", "second.csv")
    np.testing.assert_array_equal(rows(tmp_path), [[1], [2]])


def test_the_index_of_a_data_frame_is_no_column_of_the_rows(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0, 5.0], "b": [3.0, 4.0, 1.0]}, index=[7, 8, 9])
    table.to_csv(tmp_path / "rows.csv")
    for options in ({}, {"columns": "numeric"}, {"columns": "*"}):
        np.testing.assert_array_equal(rows(tmp_path / "rows.csv", **options), table)
    assert list(PLSRegression(1).fit(tmp_path / "rows.csv", y="b").feature_names_in_) == ["a"]
    # It is read, or carried along, if it is named.
    np.testing.assert_array_equal(rows(tmp_path / "rows.csv", columns=["", "a"])[:, 0], table.index)
    PCA(1).fit(table).transform_to(tmp_path / "rows.csv", tmp_path / "out.parquet", keep="")
    assert pd.read_parquet(tmp_path / "out.parquet")[""].tolist() == ["7", "8", "9"]
    # Another column without a name is one of the rows.
    (tmp_path / "rows.csv").write_text("a,\n1,2\n")
    assert scan(tmp_path / "rows.csv").chosen == ["a", ""]


def test_columns_that_are_carried_along_are_the_text_that_they_were(csv, tmp_path):
    path = csv("id,day,a,b\n00042,2024-01-01,1,2\n00043,NA,2,3.5\n1e3,,4,1\n")
    pca = PCA(1).fit(scan(path, columns=["a", "b"]))
    pca.transform_to(path, tmp_path / "out.parquet", keep=["id", "day", "a"])
    kept = pd.read_parquet(tmp_path / "out.parquet")
    assert kept["id"].tolist() == ["00042", "00043", "1e3"]
    assert kept["day"].tolist() == ["2024-01-01", "NA", ""]
    # One that is also a column of the rows is the number that was read.
    assert kept["a"].tolist() == [1.0, 2.0, 4.0]


def test_a_header_is_needed(csv, tmp_path):
    with pytest.raises(ValueError, match=r"rows\.csv has no header: .* it is numbers: 1, 2\.5"):
        scan(csv("1,2.5\n3,4\n"))
    with pytest.raises(ValueError, match=r"rows\.csv has no header: .* it is empty"):
        scan(csv(""))
    csv("2019,total\n1,2\n", "a.csv")
    assert scan(tmp_path / "a.csv").columns == ["2019", "total"]


def test_a_header_ends_with_its_line(csv, tmp_path):
    with pytest.raises(ValueError, match=r"rows\.csv has a header that does not end with the first line"):
        scan(csv('"a\nb",c\n1,2\n'))
    with pytest.raises(ValueError, match=r"rows\.csv has a header that does not end with the first line"):
        scan(csv('"a\rb",c\n1,2\n'))
    csv("a,c\n1,2\n", "a.csv")
    csv('c,a,"d\ne"\n1,2,3\n', "b.csv")
    with pytest.raises(ValueError, match=r"b\.csv has a header that does not end with the first line"):
        PPCA(1).fit(scan([tmp_path / "a.csv", tmp_path / "b.csv"]))
    assert scan(csv('"a,""b""",c\n1,2\n')).columns == ['a,"b"', "c"]


def test_a_name_that_is_too_long(csv):
    with pytest.raises(ValueError, match=r"rows\.csv cannot be read at its beginning: field larger than"):
        scan(csv("x" * 200_000 + ",b\n1,2\n"))


def test_a_name_that_occurs_twice_in_another_file(csv, tmp_path):
    paths = [csv("a,b\n1,2\n", "a.csv"), csv("a,b,b\n1,2,3\n", "b.csv")]
    with pytest.raises(ValueError, match=r"b\.csv has several columns with the name 'b'"):
        PCA(1).fit(scan(paths))


def test_a_name_that_occurs_twice_in_a_column_that_is_not_read(csv):
    """pyarrow reads no column of such a file."""
    with pytest.raises(ValueError, match=r"rows\.csv has several columns with the name 'b'\. .*: rename them\.$"):
        scan(csv("a,b,b\n1,x,y\n"), exclude="b")


def test_line_breaks_between_quotes_in_columns_that_are_not_read(csv):
    path = csv('a,b,c\r\n1,2,"x\r\ny"\r\n3,,z\r\n')
    np.testing.assert_array_equal(rows(path, columns="numeric"), [[1, 2], [3, np.nan]])
    with pytest.raises(ValueError, match=r"'b' .* row 1 of rows\.csv \(line 4\)"):
        PCA(1).fit(scan(path, columns="numeric"))


@pytest.mark.parametrize("text", ["x\n5,6,y", "x\n7,8,q\n9,9,", "x\n\ny"])
def test_line_breaks_between_quotes_where_blocks_end(csv, text, monkeypatch):
    """Lines that are parts of a field are no rows, wherever pyarrow cuts the file."""
    monkeypatch.setattr(csv_files, "_BLOCK_BYTES", 1 << 10)
    values = np.arange(3000.0)
    for length in range(5):
        lines = (f'{i:.0f},{2 * i:.0f},"{"x" * (length + int(i) % 7)}{text}"\n' for i in values)
        path = csv("a,b,c\n" + "".join(lines))
        np.testing.assert_array_equal(rows(path, columns=["a", "b"]), np.column_stack([values, 2 * values]))


def test_encodings(csv):
    with pytest.raises(ValueError, match="is written in UTF-16; CSV files must be in UTF-8"):
        scan(csv("a,b\n1,2\n", encoding="utf-16"))
    with pytest.raises(ValueError, match="is written in UTF-32; CSV files must be in UTF-8"):
        scan(csv("a,b\n1,2\n", encoding="utf-32"))
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le"):
        with pytest.raises(ValueError, match="is written in UTF-16 or UTF-32, or is no text; CSV files must be"):
            scan(csv("a,b\n1,2\n", encoding=encoding))
    with pytest.raises(ValueError, match="is written in another encoding than UTF-8"):
        scan(csv("größe,b\n1,2\n", encoding="latin-1"))
    assert scan(csv("größe,b\n1,2\n")).columns == ["größe", "b"]


def test_files_without_rows(csv, tmp_path):
    csv("a,b\n", "a.csv")
    with pytest.raises(ValueError, match=r"found 0 sample\(s\) in .*: none of the files has a row"):
        PCA(1).fit(tmp_path)
    csv("a,b\n1,2\n3,5\n", "b.csv")
    csv("a,b\n", "c.csv")
    np.testing.assert_array_equal(rows(tmp_path), [[1, 2], [3, 5]])


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "a,b\r\n", "a,b\n\n", codecs.BOM_UTF8 + b"a,b"])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.GZ"])
@pytest.mark.parametrize("counted", [True, False])
def test_a_header_and_no_rows(text, suffix, counted, csv, tmp_path, monkeypatch):
    if not counted:
        monkeypatch.setattr(csv_files, "_COUNTED_BYTES", 0)
    path = csv(text, f"a.{suffix}")
    with pytest.raises(ValueError, match=r"found 0 sample\(s\)" if counted else "n_samples=0"):
        PCA(1).fit(path)
    csv("a,b\n1,2\n3,5\n", "b.csv")
    csv(text, f"c.{suffix}")
    np.testing.assert_array_equal(rows(tmp_path), [[1, 2], [3, 5]])


def test_columns_in_another_order_and_missing_ones(csv, tmp_path):
    csv("a,b\n1,2\n", "a.csv")
    csv("b,c,a\n4,9,3\n", "b.csv")
    np.testing.assert_array_equal(rows(tmp_path), [[1, 2], [3, 4]])
    csv("a,B\n1,2\n", "c.csv")
    with pytest.raises(ValueError, match=r"c\.csv has no column 'b', which is needed .*; its columns are 'a', 'B'"):
        PCA(1).fit(tmp_path)


def test_lines_that_are_longer_than_a_block(csv, monkeypatch):
    monkeypatch.setattr(csv_files, "_BLOCK_BYTES", 1 << 10)
    values = np.random.default_rng(0).standard_normal((5, 300))
    lines = [",".join(repr(float(value)) for value in row) for row in values]
    path = csv("\n".join([",".join(f"x{j}" for j in range(300)), *lines]))
    assert len(lines[0]) > 4 << 10
    np.testing.assert_array_equal(rows(path), values)


def test_paths_from_here(csv, tmp_path, monkeypatch):
    csv("a,b\n1,2\n", "a.csv")
    csv("a,b\n3,4\n", "b.csv")
    monkeypatch.chdir(tmp_path)
    for where in (".", "./a*", ["a.csv", "./b.csv"], "../" + tmp_path.name):
        np.testing.assert_array_equal(rows(where), [[1, 2], [3, 4]][: len(scan(where).found.files)])


def test_large_files_are_not_counted_first(csv, monkeypatch):
    monkeypatch.setattr(csv_files, "_COUNTED_BYTES", 100)
    values = np.random.default_rng(1).standard_normal((50, 3))
    path = csv("a,b,c\n" + "\n".join(",".join(map(repr, map(float, row))) for row in values))
    source = open_source(path)
    assert source.shape == (None, 3)
    assert source.traits.rereadable
    assert not source.traits.whole
    np.testing.assert_allclose(PCA(2).fit(path).components_, PCA(2).fit(values).components_)
    np.testing.assert_array_equal(np.concatenate(list(source.after(13).blocks(7))), values[13:])


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_the_line_that_tells_excel_the_separator(csv, mark, end, name):
    path = csv(mark + end.join(["sep=;", "a;b,c", "1;2", "", "3;x", ""]), name)
    assert scan(path).columns == ["a", "b,c"]
    with pytest.raises(ValueError, match=r"column 'b,c' has the text 'x' in line 5"):
        PCA(1).fit(path)
    np.testing.assert_array_equal(rows(path, columns=["a"]), [[1], [3]])
    path = csv("sep=|\na|b\n1|2\n3|\n", name)
    with pytest.raises(ValueError, match=r"column 'b' .* first in row 1 of rows\.csv.* \(line 4\)"):
        PCA(1).fit(path)


@pytest.mark.parametrize("end", ["", "\n"])
def test_separators_at_the_end_of_each_line(csv, end):
    path = csv("a;b;;\n1;2;;\n3;4;;" + end)
    assert scan(path).columns == ["a", "b"]
    np.testing.assert_array_equal(rows(path), [[1, 2], [3, 4]])
    assert scan(csv("a,\n1,\n2,\n")).columns == ["a"]
    with pytest.raises(ValueError, match=r"in line 3: it has 2 fields, and the header names 3 columns"):
        rows(csv("a,b,\n1,2,\n3,4\n"))
    with pytest.raises(ValueError, match=r"entries in columns without a name: 2, 3\. Write a name above each"):
        scan(csv("a,,\n1,2,3\n"))


def test_lines_that_end_in_several_ways(csv):
    np.testing.assert_array_equal(rows(csv("a,b\r\n1,2\n3,4\r\n5,6")), [[1, 2], [3, 4], [5, 6]])


@pytest.mark.parametrize("title", ["Report", "Report,,", '"Report, of 2024"', "Report\n\nof 2024", "\ufeffReport"])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_a_title_above_the_header(csv, title, suffix):
    line = title.count("\n") + 2
    match = (
        rf"begins with 'Report.*title: line {line} has the names 'place', 'b', 'c'.* delete the lines above line {line}"
    )
    with pytest.raises(ValueError, match=match):
        scan(csv(f"{title}\nplace,b,c\nBern,2,3\n", f"rows.{suffix}"))


@pytest.mark.parametrize("text", ['note\n"Hello, you"\n', "x\n1\n2\n", "note\nfine\nbad\n", "a,\n1,2\n"])
def test_a_header_of_one_name_is_no_title(csv, text):
    assert scan(csv(text)).columns[0] in ("note", "x", "a")


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        (["m,kg,text"], "line 2"),
        ([",kg,"], "line 2"),
        (["Length,Weight,Note", "m,kg,"], "lines 2 to 3"),
        (["What is it?,How heavy is it?,Say more", "{'id': 1},{'id': 2},{'id': 3}"], "lines 2 to 3"),
    ],
)
def test_further_lines_of_the_header(csv, lines, where):
    path = csv("\n".join(["length,weight,note", *lines, "1,2,a", "2,3,b", ",4,c", ""]))
    with pytest.raises(ValueError, match=rf"rows\.csv has text where numbers should begin, in {where}: .*'weight'"):
        scan(path)


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\nx,y,z\nu,v,w\n",
        "a,b,c\nx,unknown,?\nu,1,2\n",
        "a,b,c\nx,heavy,\nu,1,2\nv,2,3\n",
        "a,b,c\nx,heavy,1\nu,1,2\nv,2,3\n",
    ],
)
def test_rows_that_begin_with_text_are_no_header(csv, text):
    assert scan(csv(text)).columns == ["a", "b", "c"]


def test_whole_numbers_that_begin_with_zeros_are_codes(csv):
    many = 200_000
    path = csv("zip,month,a,b\n8001,1,007.5,1\n00123,0,0.5,-0\n,10,0,0\n" + "1234,2,1,1\n" * many)
    found = scan(path, columns="numeric")
    assert found.chosen == ["month", "a", "b"]
    assert found.contents.kind_of("zip") == "category"
    assert (
        "codes and are read as text" in found.contents.how_read
        and "'zip' ('00123' in line 3)" in found.contents.how_read
    )
    with pytest.raises(
        ValueError, match=r"not numbers: 'zip' \(column 'zip' has numbers that begin with zeros, as codes"
    ):
        PCA(1).fit(path)


def test_text_in_another_encoding_below_the_header(csv):
    path = csv("city,a\nZürich,1\nBern,2\n", encoding="latin-1")
    np.testing.assert_array_equal(rows(path, columns="numeric"), [[1], [2]])
    with pytest.raises(
        ValueError, match=r"another encoding than UTF-8, as column 'city' shows; .*read_text\('latin-1'\)"
    ):
        FAMD(1).fit(path)


def test_categories_that_are_text_because_of_a_few_entries(csv):
    path = csv("city,a\n" + "".join(f"{city},{i}\n" for i, city in enumerate("xyz" * 8)) + "x,unclear\n")
    with pytest.raises(
        ValueError, match=r"nearly all entries are numbers: column 'a' has the text 'unclear' in line 26\. C"
    ):
        FAMD(1).fit(path)
    path = csv("city,a\n" + "".join(f"{city},{i % 3}\n" for i, city in enumerate("xyz" * 8)) + "x,unclear\n")
    assert FAMD(1, categorical_features=["a"]).fit(path).n_features_in_ == 2
