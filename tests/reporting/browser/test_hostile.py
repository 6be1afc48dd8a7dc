"""Documents with hostile names and cells: nothing of them runs, and nothing breaks the layout."""

import csv
import io

import numpy as np
import pytest

from reporting.browser.hostile_documents import NAMES, hostile
from reporting.browser.opening import draw_all, figure, opened


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    options = {"permissions": ["clipboard-read", "clipboard-write"]}
    with opened(browser, hostile(), tmp_path_factory.mktemp("hostile"), **options) as page:
        yield page
        assert page.evaluate("window.hacked === undefined")


def test_everything_is_drawn_and_nothing_runs(page):
    draw_all(page)
    assert page.evaluate("window.hacked === undefined")
    assert page.evaluate("Object.keys(Object.prototype).length === 0")


def test_text_is_shown_as_it_is(page):
    paragraphs = page.locator("#all > p:not(.lead)").all_text_contents()
    assert paragraphs[:9] == NAMES[:9]
    # What cannot be seen, or would turn the text around it, is a blank.
    assert paragraphs[9] == "line break    tab"
    assert paragraphs[10] == "nul byte  [31m \ufeff"
    assert "\u202e" not in "".join(paragraphs)


def test_no_element_comes_from_the_table(page):
    assert page.locator("img, iframe, object, embed, base, svg[onload], [onmouseover], [onerror]").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0
    assert page.evaluate("document.querySelectorAll('.plot a[href], .plot [*|href^=javascript]').length") == 0
    assert page.locator("body").is_visible()


def test_the_layout_holds(page):
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    page.set_viewport_size({"width": 1280, "height": 900})
    heights = page.evaluate("Array.from(document.querySelectorAll('tbody tr'), row => row.offsetHeight)")
    assert max(heights) < 60


def test_the_pointer_shows_names_as_they_are(page):
    plot = figure(page, "rows").locator("#plot-rows")
    for point in plot.locator(".points path").all()[:12]:
        point.dispatch_event("mouseover")
        box = point.bounding_box()
        page.mouse.move(box["x"] + 2, box["y"] + 2)
    assert plot.locator(".hoverlayer a, .hoverlayer image").count() == 0


def test_copies_hold_no_formulas(page):
    listing = page.locator("#all > .listing").first
    listing.get_by_role("button", name="Copy as CSV").click()
    listing.get_by_text("Copied").wait_for()
    cells = [cell for row in csv.reader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))) for cell in row]
    assert "'=cmd|' /C calc'!A0" in cells
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_controls_work_with_such_names(page):
    found = figure(page, "rows")
    for name, options in [
        ("Colour by", ["column:3", "component:1", "none", "group:0"]),
        ("Size by", ["column:1", "none"]),
    ]:
        for option in options:
            found.get_by_label(name).select_option(option)
    found.get_by_label("Outlines").select_option("hulls")
    field = found.get_by_label("Select rows by number, name or group")
    field.fill("<script>")
    field.press("Enter")
    numbers = np.arange(150)[["<script>" in NAMES[i % len(NAMES)] for i in range(150)]] + 1
    listed = [int(text) for text in found.locator(".selection tbody td:first-child").all_text_contents()]
    assert listed == numbers.tolist()
    assert found.locator(".selection").locator("script, img, svg, a").count() == 0
