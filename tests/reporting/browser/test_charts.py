"""Charts, menus, tables and colours of the page in a browser."""

import re

import numpy as np
import pytest

from reporting.browser.documents import SPECIES, map_values, rich
from reporting.browser.opening import draw_all, figure, opened, settled, wait_until


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    options = {"permissions": ["clipboard-read", "clipboard-write"], "accept_downloads": True}
    with opened(browser, rich(), tmp_path_factory.mktemp("charts"), **options) as page:
        yield page


def test_opening_draws_what_is_near_and_scrolling_draws_the_rest(page):
    drawn = "report.allCharts().filter(chart => !chart.stale).length"
    displayed = "report.allCharts().filter(({div}) => div.offsetParent).length"
    assert 1 <= page.evaluate(drawn) < page.evaluate(displayed)
    draw_all(page)
    assert page.evaluate(drawn) == page.evaluate(displayed)
    # Each of them shows the axes or the picture of its figure.
    shown = "({div}) => div.querySelector('.xy, .gl-container canvas, canvas')"
    assert page.evaluate(f"report.allCharts().filter(({{div}}) => div.offsetParent).every({shown})")


def test_a_chart_holds_the_numbers_of_its_figure(page):
    figure(page, "scree")
    (trace,) = settled(page, "scree")
    np.testing.assert_allclose(trace["y"], [4.2282, 0.2427, 0.0782, 0.0238], rtol=0)


def test_the_pointer_shows_the_row_below_it(page):
    plot = figure(page, "rows").locator("#plot-rows")
    point = plot.locator(".points path").first
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    text = plot.locator(".hoverlayer .hovertext").first
    text.wait_for()
    assert re.search(r"plant \d+.*row \d+.*species: \w+", text.text_content(), re.S)


def test_a_menu_shows_the_chart_that_is_chosen(page):
    page.get_by_label("Component", exact=True).select_option("PC2")
    figure(page, "pc2")
    assert page.locator("#plot-pc1").is_hidden()
    page.get_by_label("Component", exact=True).select_option("PC1")
    figure(page, "pc1")
    assert page.locator("#plot-pc2").is_hidden()


def test_the_button_changes_the_colours_of_page_and_charts(page):
    figure(page, "rows")
    background = "getComputedStyle(document.body).backgroundColor"
    paper = "document.getElementById('plot-rows')._fullLayout.paper_bgcolor"
    seen = []
    for label in ("Dark colours", "Light colours"):
        seen.append(page.evaluate(background))
        page.get_by_role("button", name=label).click()
        figure(page, "rows")
        wait_until(page, f"{paper} === {background}")
    light, dark = seen
    assert sum(map(int, re.findall(r"\d+", light))) > 3 * 200
    assert sum(map(int, re.findall(r"\d+", dark))) < 3 * 60


def test_long_tables_show_more_rows_when_asked(page):
    listing = page.locator("#data .listing").first
    rows = listing.locator("tbody tr:visible")
    assert rows.count() == 12
    listing.get_by_role("button", name="Show all 40 rows").click()
    assert rows.count() == 40
    listing.get_by_role("button", name="Show the first 12 rows").click()
    assert rows.count() == 12


def test_a_table_is_copied_with_all_digits(page):
    numbers = page.locator("figure:has(#plot-scree)")
    numbers.locator("summary").click()
    numbers.get_by_role("button", name="Copy as CSV").click()
    numbers.get_by_text("Copied 4 rows.").wait_for()
    lines = page.evaluate("navigator.clipboard.readText()").splitlines()
    variances = np.array([4.2282, 0.2427, 0.0782, 0.0238])
    shares = [float(line.split(",")[2]) for line in lines[1:]]
    assert lines[0].endswith("variance,share")
    np.testing.assert_allclose(shares, variances / variances.sum(), rtol=1e-9)


def test_files_are_saved_as_they_are(page, tmp_path):
    with page.expect_download() as waiting:
        page.get_by_role("link", name="model.lowdim").click()
    waiting.value.save_as(tmp_path / "saved")
    assert waiting.value.suggested_filename == "model.lowdim"
    assert (tmp_path / "saved").read_bytes() == bytes(range(256))


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_charts_are_saved_as_pictures(page, tmp_path, kind):
    plot = figure(page, "scree")
    plot.locator("#plot-scree").hover()
    button = "Download plot as a PNG" if kind == "png" else "Download as SVG"
    with page.expect_download() as waiting:
        plot.locator(f"[data-title='{button}'], [data-title='{button.replace('a PNG', 'a png')}']").click()
    waiting.value.save_as(tmp_path / "saved")
    assert waiting.value.suggested_filename == f"scree.{kind}"
    assert (tmp_path / "saved").read_bytes().startswith(b"\x89PNG" if kind == "png" else b"<svg")


def test_many_points_are_drawn_by_webgl(browser, tmp_path):
    values = map_values(5000)
    with opened(browser, rich(**values), tmp_path) as page:
        plot = figure(page, "rows")
        assert {trace["type"] for trace in settled(page, "rows")} == {"scattergl", "scatter"}
        assert plot.locator("canvas").count() > 0
        # The canvas is not empty: some of its pixels have the colour of a group.
        assert page.evaluate(
            """() => { const canvas = document.querySelector('#plot-rows .gl-canvas-context');
            const copy = document.createElement('canvas'); copy.width = canvas.width; copy.height = canvas.height;
            const context = copy.getContext('2d'); context.drawImage(canvas, 0, 0);
            return context.getImageData(0, 0, copy.width, copy.height).data.some(value => value > 0); }"""
        )


def test_without_webgl_a_part_of_the_points_is_drawn_as_svg(browser, tmp_path):
    no_webgl = """const original = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
            return kind.includes('webgl') ? null : original.call(this, kind, ...more); };"""
    with opened(browser, rich(**map_values(5000)), tmp_path) as page:
        page.add_init_script(no_webgl)
        page.reload()
        plot = figure(page, "rows")
        traces = [trace for trace in settled(page, "rows") if trace["name"] in SPECIES]
        assert {trace["type"] for trace in traces} == {"scatter"}
        assert 2000 < sum(len(trace["x"]) for trace in traces) <= 3000
        assert plot.get_by_label("Map", exact=True).is_disabled()
        assert plot.get_by_text("This browser has no WebGL").is_visible()


def test_without_javascript_the_words_and_tables_are_there(browser, tmp_path):
    with opened(browser, rich(), tmp_path, java_script_enabled=False) as page:
        assert page.locator("noscript p").is_visible()
        assert page.get_by_text("Rows beyond a dashed line are unusual.").is_visible()
        assert page.locator("#data .listing").first.locator("tbody tr:visible").count() == 40
        assert page.locator(".plot:visible, .controls:visible, button:visible").count() == 0
