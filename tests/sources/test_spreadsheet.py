"""Spreadsheets: which cells are the table, what its columns hold, and what is refused."""

import datetime
import sys
import zipfile
from xml.sax.saxutils import escape

import numpy as np
import openpyxl
import pytest

import lowdim
from lowdim import FAMD, PCA, PPCA, PLSRegression, scan
from lowdim.errors import MissingValues, NumberFormatWarning
from lowdim.sources import open_source, spreadsheet
from lowdim.sources.spreadsheet import cell_name

pytest.importorskip("python_calamine", reason="python-calamine is not installed")

HEADER = ["city", "sex", "age", "income"]
ROWS = [[["Bern", "Oslo"][i % 2], "fm"[i % 3 == 0], 20 + i, 1000.5 + i * i] for i in range(12)]
NUMBERS = np.array([row[2:] for row in ROWS], dtype=float)

_NAMES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for short, name in {"office": "office", "table": "table", "text": "text"}.items()
)


_MANIFEST = (
    '<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
    '<manifest:file-entry manifest:full-path="/" '
    'manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>'
)


def ods_cell(entry, merged):
    """A cell of an .ods file."""
    spans = "".join(f' table:number-{what}-spanned="{n}"' for what, n in zip(("rows", "columns"), merged, strict=True))
    kinds = {
        bool: ("boolean", "boolean-value", str(entry).lower()),
        int: ("float", "value", entry),
        float: ("float", "value", repr(entry)),
        datetime.date: ("date", "date-value", entry),
        datetime.datetime: ("date", "date-value", entry.isoformat() if hasattr(entry, "isoformat") else ""),
    }
    if entry is None:
        return f"<table:table-cell{spans}/>"
    kind, name, value = kinds.get(type(entry), ("string", "string-value", escape(str(entry))))
    start = f'<table:table-cell office:value-type="{kind}" office:{name}="{value}"{spans}>'
    return f"{start}<text:p>{escape(str(entry))}</text:p></table:table-cell>"


def write_ods(path, sheets, merged):
    tables = []
    for name, rows in sheets.items():
        tables.append(f'<table:table table:name="{name}">')
        for i, row in enumerate(rows):
            cells = "".join(ods_cell(entry, merged.get((i, j), (1, 1))) for j, entry in enumerate(row))
            tables.append(f"<table:table-row>{cells}</table:table-row>")
        tables.append("</table:table>")
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {_NAMES} office:version="1.2"><office:body>'
        f"<office:spreadsheet>{''.join(tables)}</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", _MANIFEST)
        archive.writestr("content.xml", content)


def write_xlsx(path, sheets, merged):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        for (i, j), (height, width) in merged.items():
            sheet.merge_cells(start_row=i + 1, start_column=j + 1, end_row=i + height, end_column=j + width)
    book.save(path)


@pytest.fixture(params=["xlsx", "ods"])
def book(request, tmp_path):
    """Writes rows, or sheets by their names, to a file, and returns its path."""

    def write(rows, merged=None, name="book"):
        path = tmp_path / f"{name}.{request.param}"
        sheets = rows if isinstance(rows, dict) else {"Data": rows}
        (write_xlsx if request.param == "xlsx" else write_ods)(path, sheets, merged or {})
        return path

    return write


def read(path, **options):
    return np.concatenate(list(open_source(scan(path, **options)).blocks(5)))


def columns_of(path):
    """The columns of a table by their names."""
    contents = scan(path).contents
    return {name: contents.column(name).tolist() for name in contents.names}


# ---- A table, and its columns


def test_a_table_in_every_way(book):
    path = book([HEADER, *ROWS])
    found = scan(path, columns="numeric")
    assert (found.columns, found.numeric) == (HEADER, ["age", "income"])
    assert repr(found).startswith(f"scan({str(path)!r}): 1 spreadsheet file, ")
    np.testing.assert_array_equal(read(path, columns="numeric"), NUMBERS)
    np.testing.assert_allclose(PCA(2).fit(found).components_, PCA(2).fit(NUMBERS).components_)
    pls = PLSRegression(1).fit(scan(path, columns="numeric"), y="income")
    assert list(pls.feature_names_in_) == ["age"]
    model = FAMD(2).fit(path)
    expected = FAMD(2).fit(np.array(ROWS, dtype=object))
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(np.abs(model.transform(path)), np.abs(expected.transform(np.array(ROWS, dtype=object))))
    with pytest.raises(ValueError, match=r"not numbers: 'city', 'sex'; these are numbers: 'age', 'income'"):
        PCA(1).fit(path)
    with pytest.raises(ValueError, match=r"has no column 'incom'.*Did you mean 'income'"):
        scan(path, columns=["incom"])


def test_parts_of_the_rows(book):
    source = open_source(scan(book([HEADER, *ROWS]), columns="numeric"))
    np.testing.assert_array_equal(np.concatenate(list(source.after(5).blocks(2))), NUMBERS[5:])
    np.testing.assert_array_equal(np.concatenate(list(source.between(3, 9).blocks(4))), NUMBERS[3:9])


def test_types_of_columns(book):
    day, moment = datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5)
    path = book(
        [
            ["number", "text", "flag", "day", "moment", "mixed", "nothing"],
            [1, "a", True, day, moment, 7, None],
            [2.5, "b", False, day, moment, "x", None],
            [None, None, None, None, None, None, None],
            [4, None, True, day, day, True, None],
            [5, "5", True, None, moment, 8.5, None],
        ]
    )
    contents = scan(path).contents
    kinds = {name: contents.kind_of(name) for name in contents.names}
    assert kinds == {
        "number": "number",
        "text": "category",
        "flag": "category",
        "day": "date",
        "moment": "date",
        "mixed": "category",
        "nothing": "number",
    }
    assert "without an entry: 'nothing'" in contents.how_read
    found = columns_of(path)
    # An empty row is no row.
    np.testing.assert_array_equal(found["number"], [1, 2.5, 4, 5])
    assert found["text"] == ["a", "b", None, "5"]
    assert found["mixed"] == ["7", "x", "True", "8.5"]


@pytest.mark.parametrize("entry", ["NA", "n/a", "NULL", " ", "", None, "#N/A"])
def test_what_is_missing_among_numbers(book, entry):
    path = book([["a", "b"], [1, 2], [3, entry], [4, 5.5]])
    np.testing.assert_array_equal(read(path), [[1, 2], [3, np.nan], [4, 5.5]])
    assert PPCA(1).fit(path).n_features_in_ == 2
    with pytest.raises(MissingValues, match=r"column 'b' .*first in row 1 of book\.\w+ \(row 3 of the sheet\)"):
        PCA(1).fit(path)


def test_numbers_that_are_stored_as_text(book):
    path = book([["a", "b", "c", "zip"], ["1", "1,234.5", "5%", "00123"], [2, "7", "12.5%", "8001"]])
    with pytest.warns(
        NumberFormatWarning, match=r"stored as text.*'a' \('1' in cell A2 is 1\), 'b' \(.* B2 is 1234\.5"
    ):
        found = scan(path, columns="numeric")
    assert "'c' ('5%' in cell C2 is 0.05)" in found.contents.how_read
    with pytest.warns(NumberFormatWarning):
        np.testing.assert_array_equal(read(path, columns="numeric"), [[1, 1234.5, 0.05], [2, 7, 0.125]])
    assert found.contents.column("zip").tolist() == ["00123", "8001"]


def test_codes_and_numbers_in_doubt(book):
    rows = [["zip", "x", "y"], ["00123", "1,234", 1], [8001, "5,678", 2], ["8002", "1,111", 4]]
    path = book(rows)
    found = scan(path, columns="numeric", exclude="x")
    assert found.chosen == ["y"]
    assert found.contents.column("zip").tolist() == ["00123", "8001", "8002"]
    assert "are codes and are read as text, in column 'zip'" in found.contents.how_read
    with pytest.raises(ValueError, match=r"nearly all entries are numbers: column 'x' has the text '1,234' in cell B2"):
        PCA(1).fit(scan(path, columns="numeric"))


def test_a_column_with_a_few_other_entries(book):
    rows = [[f"r{i}", i] for i in range(20)]
    rows[7][1] = "unclear"
    path = book([["id", "x"], *rows])
    with pytest.raises(
        ValueError, match=r"nearly all entries are numbers: column 'x' has the text 'unclear' in cell B9"
    ):
        PCA(1).fit(scan(path, columns="numeric"))
    with pytest.raises(
        ValueError, match=r"not numbers: 'id', 'x' \(column 'x' has the text 'unclear' in cell B9\); th"
    ):
        PCA(1).fit(path)
    with pytest.raises(ValueError, match=r"'unclear' in cell B9\. Correct these entries, .*categorical_features="):
        FAMD(1).fit(scan(path, exclude="id"))
    rows[7][1] = datetime.date(2024, 2, 1)
    with pytest.raises(ValueError, match=r"column 'x' has the date '2024-02-01' in cell B9"):
        PCA(1).fit(book([["id", "x"], *rows]))


# ---- Where the table is


def test_the_first_sheet_or_the_one_that_is_named(book):
    path = book({"Data": [["a"], [1], [2]], "More": [["a", "b"], [1, 2], [3, 5]], "None": []})
    assert "has 3 sheets: 'Data', 'More', 'None'. The first one is read" in scan(path).contents.how_read
    np.testing.assert_array_equal(read(path), [[1], [2]])
    assert scan(f"{path}::Data").contents.how_read == ""
    np.testing.assert_array_equal(read(f"{path}::More"), [[1, 2], [3, 5]])
    with pytest.raises(ValueError, match=r"has no sheet 'Mor'; its sheets are 'Data', 'More', 'None'\. Name one"):
        scan(f"{path}::Mor")
    with pytest.raises(ValueError, match=r"book\.\w+::None is empty"):
        scan(f"{path}::None")


def test_hidden_sheets_are_read_if_they_are_named(tmp_path):
    path = tmp_path / "book.xlsx"
    write_xlsx(path, {"Lists": [["x"], [1]], "Data": [["a"], [2]]}, {})
    book = openpyxl.load_workbook(path)
    book["Lists"].sheet_state = "hidden"
    book.active = 1
    book.save(path)
    assert scan(path).columns == ["a"] and scan(path).contents.how_read == ""
    assert scan(f"{path}::Lists").columns == ["x"]


def test_titles_notes_and_empty_rows_and_columns(book):
    shifted = [[None, None, *row[:1], None, *row[1:]] for row in [HEADER, *ROWS]]
    middle = len(shifted) // 2
    rows = [[], [None, "Customers"], [None, "of 2024"], [], *shifted[:middle], [], *shifted[middle:]]
    path = book([*rows, [], [None, None, "Source: us"], [None, "Printed today"]])
    found = scan(path, columns="numeric")
    assert found.columns == HEADER
    np.testing.assert_array_equal(read(path, columns="numeric"), NUMBERS)
    assert "are in row 5; what is above is a title: 'Customers', 'of 2024'" in found.contents.how_read
    assert (
        "below the table of" in found.contents.how_read and "'Source: us', 'Printed today'" in found.contents.how_read
    )
    assert open_source(found).row_label(11) == "row 11 of " + path.name + " (row 18 of the sheet)"


def test_single_entries_at_the_end_are_rows_unless_a_row_is_empty_before(book):
    np.testing.assert_array_equal(read(book([["a", "b"], [1, 2], [3], [4]])), [[1, 2], [3, np.nan], [4, np.nan]])
    np.testing.assert_array_equal(read(book([["a"], [1], [], [3]])), [[1], [3]])


def test_a_row_of_totals_is_told(book):
    path = book([HEADER, *ROWS, ["Total ", None, 306, 12512]])
    assert "Row 14 of" in scan(path).contents.how_read and "delete it if it adds up" in scan(path).contents.how_read


def test_a_table_that_begins_far_below(book):
    with pytest.raises(ValueError, match=r"has one entry in each row down to row 30, and several in row 31"):
        scan(book([*[["x"]] * 30, ["a", "b"], [1, 2]]))


def test_names_of_columns(book):
    assert scan(book([["a\nb", 2019, "  c "], [1, 2, 3]])).columns == ["a b", "2019", "c"]
    with pytest.raises(ValueError, match=r"has no names of columns: .* row 1 holds numbers: '1', '2'"):
        scan(book([[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match=r"several columns with the name 'a'"):
        scan(book([["a", "b", "a"], [1, 2, 3]]))
    with pytest.raises(ValueError, match=r"entries in columns without a name: B, D\. Write a name above each"):
        scan(book([["a", None, "b", None], [1, 2, 3, 4]]))
    # The index of a data frame.
    path = book([[None, "a", "b"], ["r1", 1, 2], ["r2", 3, 4]])
    np.testing.assert_array_equal(read(path), [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("lines", "where"),
    [
        ([["km", "kg", "text"]], "row 2"),
        ([[None, "kg", None]], "row 2"),
        ([["Length", "Weight", "Note"], ["km", "kg", None]], "rows 2 to 3"),
    ],
)
def test_further_rows_of_the_header(book, lines, where):
    with pytest.raises(
        ValueError, match=rf"text where numbers should begin, in {where}: .*column 'b'.*one row of names"
    ):
        scan(book([["a", "b", "c"], *lines, [1, 2, "x"], [3, 4, "y"]]))


def test_merged_cells_of_several_rows(book):
    rows = [["group", "x"], ["a", 1], [None, 2], [None, 3], ["b", 4], [None, 5]]
    path = book(rows, {(1, 0): (3, 1), (4, 0): (2, 1)})
    assert columns_of(path)["group"] == ["a", "a", "a", "b", "b"]
    assert "holds for all their rows: 'A2:A4', 'A5:A6'" in scan(path).contents.how_read


def test_merged_cells_that_are_refused(book):
    rows = [["group", None, "x"], ["a", "b", 1], ["c", "d", 2]]
    with pytest.raises(ValueError, match=r"has the merged cells A1:B1, which belong to several columns"):
        scan(book(rows, {(0, 0): (1, 2)}))
    with pytest.raises(ValueError, match=r"has the merged cells A2:B2, which belong to several columns"):
        scan(book([["a", "b"], ["North", None], [1, 2]], {(1, 0): (1, 2)}))
    with pytest.raises(ValueError, match=r"names of columns in several rows, since the cells A1:A2 are merged"):
        scan(book([["a", "b"], [None, "kg"], [1, 2]], {(0, 0): (2, 1)}))
    # A title may be merged as it likes.
    assert scan(book([["Title", None], ["a", "b"], [1, 2]], {(0, 0): (1, 2)})).columns == ["a", "b"]


# ---- Files


def test_several_files(book, tmp_path):
    book([["a", "b"], [1, "x"], [2, "y"]], name="1")
    book([["b", "a"], [7, 3]], name="2")
    np.testing.assert_array_equal(read(tmp_path, columns="a"), [[1], [2], [3]])
    assert scan(tmp_path).contents.column("b").tolist() == ["x", "y", "7"]
    book([["b", "a"], ["z", "text"]], name="3")
    with pytest.raises(ValueError, match=r"3\.\w+ has columns that are not numbers: 'a'"):
        read(tmp_path, columns="a")


def test_a_file_that_changes(book):
    found = scan(book([["a"], [1], [2]]))
    book([["a"], [1], [2], [3]])
    with pytest.raises(ValueError, match="has changed since it was scanned"):
        open_source(found)


def test_a_header_without_rows(book):
    with pytest.raises(ValueError, match=r"found 0 sample\(s\)"):
        PCA(1).fit(book([["a", "b"]]))


def test_columns_that_are_carried_along(book, tmp_path):
    pd = pytest.importorskip("pandas")
    path = book([HEADER, *ROWS])
    out = PCA(1).fit(scan(path, columns="numeric")).transform_to(path, tmp_path / "out.parquet", keep=["city"])
    assert pd.read_parquet(out)["city"].tolist() == [row[0] for row in ROWS]


@pytest.mark.parametrize("data", [b"", b"text", b"PK\x03\x04 no archive"])
def test_damaged_files(tmp_path, data):
    for suffix in ("xlsx", "ods"):
        path = tmp_path / f"bad.{suffix}"
        path.write_bytes(data)
        with pytest.raises(ValueError, match=rf"bad\.{suffix} cannot be read"):
            scan(path)


def test_truncated_files(book):
    path = book([HEADER, *ROWS])
    data = path.read_bytes()
    for size in range(0, len(data), max(1, len(data) // 20)):
        path.write_bytes(data[:size])
        with pytest.raises(ValueError, match="cannot be read"):
            scan(path)


def test_an_archive_of_something_else(tmp_path):
    path = tmp_path / "other.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(ValueError, match=r"other\.xlsx cannot be read"):
        scan(path)


def test_a_password_and_the_old_format(tmp_path):
    compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100)
    (tmp_path / "locked.xlsx").write_bytes(compound)
    with pytest.raises(ValueError, match=r"locked\.xlsx is protected by a password, or .*\. Save it as \.xlsx"):
        scan(tmp_path / "locked.xlsx")
    (tmp_path / "old.XLS").write_bytes(compound)
    with pytest.raises(ValueError, match=r"old\.XLS has the format that Excel had until 2003 .* save it as \.xlsx"):
        scan(tmp_path / "old.XLS")


def test_a_sheet_that_does_not_fit_into_memory(book, monkeypatch):
    path = book([HEADER, *ROWS])
    monkeypatch.setattr(spreadsheet, "free_bytes", lambda: 100)
    with pytest.raises(MemoryError, match=r"take \d+ bytes, and 100 bytes of memory are free"):
        scan(path)


def test_without_the_reader(book, monkeypatch):
    path = book([HEADER, *ROWS])
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r"reading spreadsheets needs python-calamine.*lowdim\[excel\]"):
        lowdim.scan(path)


def test_a_decimal_character_is_for_csv_files(book):
    with pytest.raises(ValueError, match="decimal=',' is for CSV files"):
        scan(book([HEADER, *ROWS]), decimal=",")


def test_names_of_cells():
    assert [cell_name(0, j) for j in (0, 25, 26, 701, 702)] == ["A1", "Z1", "AA1", "ZZ1", "AAA1"]


def test_a_sheet_inside_of_a_file_is_named_with_colons(book):
    path = book([HEADER, *ROWS])
    with pytest.raises(ValueError, match=r"name .* behind two colons, as in '.*::Data'"):
        scan(f"{path}/Data")
