"""The page of a report: values as JSON, tables, points, the policy, and the file, which is whole and escaped and allows
only its own scripts."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import lowdim.reporting.page as page_package
from lowdim import Table
from lowdim.reporting.blocks import Chart, Document, Listing, Menu, Prose, Section, Widget, visible
from lowdim.reporting.page import (
    FEW,
    SCRIPTS,
    STYLES,
    _style_ids,
    _text,
    chart_json,
    has_many_points,
    policy,
    render,
    shown_table,
    values_json,
)
from reporting.browser.documents import rich
from reporting.browser.hostile_documents import NAMES, hostile

# Values as JSON in a script element: what a browser reads is what was given.


def decoded(stored):
    """The array that JavaScript makes of {dtype, bdata, shape}."""
    return np.frombuffer(base64.b64decode(stored["bdata"]), f"<{stored['dtype']}").reshape(stored["shape"])


def read(value):
    return json.loads(values_json(value))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f8", "i1", "i2", "i4", ">i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_arrays_come_back(dtype):
    array = np.array([[0, 1, 1], [0, 1, 0]], dtype=dtype)
    np.testing.assert_array_equal(decoded(read(array)), array)


def test_large_integers_become_floats():
    array = np.array([2**40, -5])
    stored = read(array)
    assert stored["dtype"] == "f8"
    np.testing.assert_array_equal(decoded(stored), array)


def test_slices_and_transposed_arrays():
    array = np.arange(12.0).reshape(3, 4)
    for part in (array.T, array[::2, ::-1], array[:, 1], array[:0]):
        np.testing.assert_array_equal(decoded(read(part)), part)


def test_missing_numbers_of_arrays_are_kept():
    array = np.array([np.nan, np.inf, -np.inf, 1.0])
    np.testing.assert_array_equal(decoded(read(array)), array)


def test_plain_values():
    value = {"a": [1, 2.5, None, True, "text", np.float32(0.5), np.int64(3)], 4: (1, 2), "bad": [float("nan"), np.inf]}
    expected = {"a": [1, 2.5, None, True, "text", 0.5, 3], "4": [1, 2], "bad": [None, None]}
    assert read(value) == expected


def test_arrays_of_text_become_lists():
    assert read(np.array(["a", "b"])) == ["a", "b"]
    assert read(np.array(["a", None, 3], dtype=object)) == ["a", None, 3]
    assert read(np.array(["2024-01-02"], dtype="M8[D]")) == ["2024-01-02"]


def test_text_cannot_leave_the_element():
    text = "</script><!--<script>&amp;\u2028\u2029\ud800 \U0001f600 \0"
    written = values_json({text: text})
    assert written.isascii()
    assert not set("<>&") & set(written)
    assert json.loads(written) == {text: text}


def test_arrays_of_a_layout_are_lists():
    values = np.array([1.0, np.nan])
    stored = json.loads(chart_json(Chart("c", "", "", [{"x": values}], {"xaxis": {"tickvals": values}})))
    np.testing.assert_array_equal(decoded(stored["data"][0]["x"]), values)
    assert stored["layout"] == {"xaxis": {"tickvals": [1.0, None]}}


# Tables as the page shows them.


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


# Documents with many points, and with few.


def document(*blocks):
    return Document("", "", [Section("a", "", "", [Prose(""), Listing(Table({}))]), Section("b", "", "", blocks)])


def chart(*lengths, kind="scattergl"):
    return Chart("c", "", "", [{"type": kind, "x": np.zeros(n), "y": np.zeros(n)} for n in lengths])


@pytest.mark.parametrize(
    ("block", "many"),
    [
        (chart(FEW), False),
        (chart(FEW, 1), True),
        (chart(FEW + 1, kind="scatter"), False),
        (Menu("m", "", {"a": chart(1), "b": chart(FEW + 1)}), True),
        (Widget("w", "map", "", "", {"numbers": np.zeros(FEW)}), False),
        (Widget("w", "map", "", "", {"numbers": np.zeros(FEW + 1)}), True),
        (Widget("w", "rebuilding", "", "", {"rows": np.zeros(FEW + 1)}), False),
    ],
)
def test_points_are_counted(block, many):
    assert has_many_points(document(block)) is many


def test_a_document_without_charts():
    assert not has_many_points(document())


# The policy of the page: what it names, and what it leaves out.


def directives(text):
    return {part.split()[0]: part.split()[1:] for part in text.split("; ")}


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_only_the_given_scripts_and_styles_are_allowed():
    found = directives(policy(["let a = 1;", "é"], "p {}", compiles=False))
    assert found["default-src"] == ["'none'"]
    assert found["script-src"] == [digest("let a = 1;"), digest("é")]
    assert found["style-src"] == [digest("p {}"), digest("")]
    assert found["base-uri"] == found["form-action"] == ["'none'"]
    assert "http" not in policy(["x"], "", compiles=True)


def test_compiling_is_allowed_only_on_request():
    strict, loose = (directives(policy(["x"], "", compiles=compiles)) for compiles in (False, True))
    assert loose["script-src"] == [*strict["script-src"], "'unsafe-eval'"]
    assert {**loose, "script-src": strict["script-src"]} == strict


# The file as text. Browsers are in tests/reporting/browser.


class Parsed(HTMLParser):
    """The elements of a page, as Python's parser sees them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self._inside = [], {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self._inside = len(self.elements) - 1

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        self.texts[self._inside] = self.texts.get(self._inside, "") + data

    def all(self, tag):
        return [(a, self.texts.get(i, "")) for i, (name, a) in enumerate(self.elements) if name == tag]


@pytest.fixture(scope="module", params=[rich, hostile], ids=["rich", "hostile"])
def made(request):
    document = request.param()
    return document, Parsed(render(document))


def test_every_script_and_style_is_named_by_the_policy(made):
    _, page = made
    policy = next(a["content"] for a, _ in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    hashes = set(re.findall(r"'sha256-([^']+)'", policy))
    running = [text for a, text in [*page.all("script"), *page.all("style")] if a.get("type") != "application/json"]
    assert len(running) >= len(SCRIPTS) + 2
    for text in running:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in hashes


def test_nothing_is_fetched(made):
    _, page = made
    for _, attributes in page.elements:
        for name in ("src", "href", "action", "data", "poster"):
            assert attributes.get(name, "#").startswith(("#", "data:"))


def test_no_element_has_a_handler(made):
    _, page = made
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]


def test_every_chart_has_its_values_and_its_name(made):
    _, page = made
    stored = {a["id"]: json.loads(text) for a, text in page.all("script") if a.get("type") == "application/json"}
    keys = [a.get("data-chart", a.get("data-key")) for _, a in page.elements if "data-chart" in a or "data-key" in a]
    assert {f"values-{key}" for key in keys} == set(stored) - {"look"}
    identifiers = [a["id"] for _, a in page.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))


def test_files_are_inside(made):
    document, page = made
    links = {a["download"]: a["href"] for a, _ in page.all("a") if "download" in a}
    for download in document.downloads:
        assert base64.b64decode(links[visible(download.name)].partition(",")[2]) == download.content


def test_the_page_can_be_written(made):
    document, _ = made
    text = render(document)
    assert "\0" not in text
    assert text.encode("utf-8").decode("utf-8") == text
    assert text.startswith("<!DOCTYPE html>")
    assert text.index('<meta charset="utf-8">') < 200


def test_names_are_shown_and_not_run():
    page = Parsed(render(hostile()))
    assert [text for _, text in page.all("title")] == [NAMES[1]]
    paragraphs = [text for _, text in page.all("p")]
    for name in NAMES[:9]:
        assert name in paragraphs


def test_an_empty_document():
    page = Parsed(render(Document("Title", "", [])))
    assert [text for _, text in page.all("h1")] == ["Title"]
    assert not page.all("section")


def test_every_file_of_the_package_is_in_the_page():
    folder = Path(page_package.__file__).parent
    assert {path.name for path in (folder / "scripts").iterdir()} == set(SCRIPTS)
    assert {path.name for path in (folder / "styles").iterdir()} == set(STYLES)
    for name in SCRIPTS:
        script = _text(f"scripts/{name}")
        assert "use strict" in script
        # Nothing in them ends the element early.
        assert "</script" not in script.lower() and "<!--" not in script


def test_style_elements_of_plotly_are_found():
    identifier = "0123456789abcdef" * 4
    assert _style_ids(f'if(!document.getElementById("{identifier}")){{var e=document.createElement("style")') == [
        identifier
    ]
    assert _style_ids('document.getElementById("other")') == []
