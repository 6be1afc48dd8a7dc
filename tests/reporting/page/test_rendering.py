"""The file as text: it is whole, escaped and allows only its own scripts. Browsers are in tests/reporting/browser."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import lowdim.reporting.page as page_package
from lowdim.reporting.blocks import Document, visible
from lowdim.reporting.page import SCRIPTS, STYLES, _style_ids, _text, render
from reporting.browser.documents import rich
from reporting.browser.hostile_documents import NAMES, hostile


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
