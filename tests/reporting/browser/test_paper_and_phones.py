"""The page on paper and on narrow screens."""

import re
import zlib

import numpy as np
import pytest
from sklearn.datasets import load_wine

import lowdim
from lowdim.reporting.blocks import Document
from reporting.browser.documents import map_values, rich
from reporting.browser.opening import draw_all, figure, opened, settled
from reporting.tables import section_of

PHONE = {"width": 360, "height": 740}
#: A4 less margins of 15 mm, in pixels of 1/96 inch.
PAPER = {"width": 680, "height": 1009}


def test_nothing_is_wider_than_a_phone(browser, tmp_path):
    with opened(browser, rich(), tmp_path, viewport=PHONE, has_touch=True, is_mobile=True) as page:
        draw_all(page)
        page.evaluate("document.querySelectorAll('main details').forEach(details => { details.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        assert page.evaluate("Math.max(...Array.from(document.querySelectorAll('.plot'), d => d.clientWidth))") <= 360
        # The table of contents is closed, opens, and closes when a section is chosen.
        contents = page.get_by_role("navigation", name="Contents")
        assert contents.get_by_role("link").first.is_hidden()
        contents.get_by_text("Contents").click()
        contents.get_by_role("link", name="The map").click()
        assert contents.get_by_role("link").first.is_hidden()
        assert page.evaluate("location.hash") == "#map"


def test_maps_that_stand_side_by_side_stand_below_each_other_on_a_phone(browser, tmp_path):
    wine = load_wine(as_frame=True)
    section = section_of(wine.data, "beyond", hue=wine.target_names[wine.target], n_components=2)
    with opened(browser, Document("Maps", "", [section]), tmp_path, viewport=PHONE) as page:
        figure(page, "beyond-maps")
        settled(page, "beyond-maps")
        tall, narrow = places(page)
        assert len(narrow) == 3 and np.ptp(narrow[:, :2], axis=0).max() == 0 and np.ptp(narrow[:, 2]) > 0.6
        # The legend does not cover the names of the axes.
        legend = page.locator("#plot-beyond-maps .legend").bounding_box()
        assert page.locator("#plot-beyond-maps .x3title").bounding_box()["y"] + 8 <= legend["y"]
        page.set_viewport_size({"width": 1280, "height": 900})
        page.evaluate("report.refreshAll()")
        settled(page, "beyond-maps")
        low, wide = places(page)
        assert low < tall and np.ptp(wide[:, 2:], axis=0).max() == 0 and np.ptp(wide[:, 0]) > 0.6


def places(page):
    """The height of the chart of maps, and where each of its maps begins and ends, across and up."""
    height, axes = page.evaluate(
        """(() => { const div = document.getElementById('plot-beyond-maps'), layout = div._fullLayout;
            return [div.clientHeight, ['', 2, 3].map(i => [...layout[`xaxis${i}`].domain,
                ...layout[`yaxis${i}`].domain])]; })()"""
    )
    return height, np.array(axes)


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    options = {"color_scheme": "dark", "reduced_motion": "reduce"}
    with opened(browser, rich(**map_values(5000)), tmp_path_factory.mktemp("paper"), **options) as page:
        yield page


def test_printing_draws_whole_charts_in_light_colours(page):
    # What the browser does before it prints, held so that it can be looked at.
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)
    displayed = "report.allCharts().filter(({div}) => div.offsetParent)"
    assert page.evaluate(f"{displayed}.every(({{stale}}) => !stale)")
    sizes = page.evaluate(
        f"""{displayed}.map(({{div}}) => {{
            const box = div.getBoundingClientRect(), drawn = div.querySelector('.main-svg').getBoundingClientRect();
            return [box.left, box.right, box.height, drawn.width - box.width, drawn.height - box.height]; }})"""
    )
    left, right, height, *differences = np.array(sizes).T
    assert left.min() >= 0 and right.max() <= PAPER["width"] and height.max() <= PAPER["height"]
    assert np.abs(differences).max() < 1
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    papers = page.evaluate(f"{displayed}.map(({{div}}) => div._fullLayout.paper_bgcolor)")
    assert set(papers) == {"rgb(255, 255, 255)"}
    assert page.locator("button:visible, select:visible, input:visible").count() == 0
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    figure(page, "rows")
    settled(page, "rows")
    assert page.evaluate("document.getElementById('plot-rows')._fullLayout.paper_bgcolor") == "rgb(23, 25, 29)"


def colours_of_pictures(pdf):
    """The numbers of colours in the large pictures of a PDF file, which Chromium stores as deflated pixels."""
    found = []
    for head, content in re.findall(rb"/Subtype /Image(.*?)stream\r?\n(.*?)endstream", pdf, re.S):
        width = int(re.search(rb"/Width (\d+)", head)[1])
        height = int(re.search(rb"/Height (\d+)", head)[1])
        pixels = np.frombuffer(zlib.decompressobj().decompress(content), np.uint8)
        if width > 300 and len(pixels) == 3 * width * height:
            found.append(len(np.unique(pixels.reshape(-1, 3), axis=0)))
    return found


@pytest.mark.parametrize("dimensions", ["2", "3"])
def test_maps_of_webgl_are_in_the_printed_file(page, dimensions):
    found = figure(page, "rows")
    found.get_by_label("Map", exact=True).select_option(dimensions)
    settled(page, "rows")
    assert max(colours_of_pictures(page.pdf(format="A4")), default=0) > 20


def test_a_brief_report_is_one_page(browser, tmp_path):
    wine = load_wine(as_frame=True)
    lowdim.report(wine.data, tmp_path / "wine.html", hue=wine.target_names[wine.target], brief=True)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((tmp_path / "wine.html").as_uri())
    settled(page, "map")
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    assert page.locator("select:visible, input:visible").count() == 0
    paper = page.pdf(format="A4", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", paper)) == 1
    page.close()
