"""The widgets of rows that do not fit, and of rebuilt rows, in a browser."""

import re

import numpy as np
import pytest

from reporting.browser.documents import misfit_values, rebuilding_values, rich
from reporting.browser.opening import figure, opened, settled


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    with opened(browser, rich(), tmp_path_factory.mktemp("widgets")) as page:
        yield page


def test_rows_are_told_apart_by_the_limits_that_they_exceed(page):
    figure(page, "misfit")
    values = misfit_values()
    far, off = values["t2"] > values["t2_limit"], values["q"] > values["q_limit"]
    expected = {
        "Within both limits": np.sum(~far & ~off),
        "Beyond the limit of T²": np.sum(far & ~off),
        "Beyond the limit of Q": np.sum(~far & off),
        "Beyond both limits": np.sum(far & off),
    }
    found = {trace["name"]: len(trace["x"]) for trace in settled(page, "misfit")}
    found.pop("chosen row")
    assert found == {name: count for name, count in expected.items() if count}


def test_the_menu_lists_the_rows_beyond_a_limit_the_farthest_first(page):
    values = misfit_values()
    ratio = np.maximum(values["t2"] / values["t2_limit"], values["q"] / values["q_limit"])
    order = [i for i in np.argsort(-ratio, kind="stable") if ratio[i] > 1]
    options = figure(page, "misfit").get_by_label("Row, the farthest first").locator("option").all_text_contents()
    assert [text.split(" (")[0] for text in options] == ["None", *(f"plant {i + 1}" for i in order)]


def test_a_click_shows_the_columns_responsible(page):
    found = figure(page, "misfit")
    # Row 1 is the farthest one in T2; it is clicked on, after another row was chosen.
    found.get_by_label("Row, the farthest first").select_option("None")
    assert found.locator(".bars").is_hidden()
    where = page.evaluate(
        """([x, y]) => { const div = document.getElementById('plot-misfit'), {xaxis, yaxis} = div._fullLayout;
        const box = div.getBoundingClientRect();
        return [box.x + xaxis._offset + xaxis.d2p(x), box.y + yaxis._offset + yaxis.d2p(y)]; }""",
        [19.0, float(misfit_values()["q"][0])],
    )
    page.mouse.move(*where)
    page.mouse.click(*where)
    found.get_by_text("plant 1: T² is 19").wait_for()
    (bars,) = settled(page, "misfit-t2")
    shares = dict(misfit_values()["explained"][0]["t2"])
    assert bars["x"] == list(shares.values())[::-1]
    labels = page.evaluate("document.getElementById('plot-misfit-t2').layout.yaxis.ticktext")
    assert labels == list(shares)[::-1]


def test_rows_without_stored_contributions_say_so(page):
    found = figure(page, "misfit")
    explained = {entry["point"] for entry in misfit_values()["explained"]}
    menu = found.get_by_label("Row, the farthest first")
    numbers = [option.get_attribute("value") for option in menu.locator("option").all()]
    other = next(number for number in numbers if int(number) >= 0 and int(number) not in explained)
    menu.select_option(other)
    assert found.get_by_text("kept only for the rows that fit worst").is_visible()
    assert found.locator(".bars").is_hidden()


def test_logarithmic_axes(page):
    found = figure(page, "misfit")
    kind = "document.getElementById('plot-misfit')._fullLayout.xaxis.type"
    found.get_by_label("Logarithmic axes").check()
    settled(page, "misfit")
    assert page.evaluate(kind) == "log"
    found.get_by_label("Logarithmic axes").uncheck()
    settled(page, "misfit")
    assert page.evaluate(kind) == "linear"


def test_the_slider_rebuilds_a_row_from_more_components(page):
    found = figure(page, "row")
    values = rebuilding_values()
    p = len(values["mean"])
    components, scores = (
        values["components"].reshape(-1, p),
        values["scores"].reshape(-1, len(values["components"]) // p),
    )
    found.get_by_label("Row", exact=True).select_option("2")
    slider = found.get_by_label("Number of components")
    standard = scores[2] @ components
    for k in (0, 3, len(components)):
        slider.fill(str(k))
        original, rebuilt = settled(page, "row")
        np.testing.assert_allclose(original["y"], standard, atol=1e-5)
        np.testing.assert_allclose(rebuilt["y"], scores[2, :k] @ components[:k], atol=1e-5)
        kept = 1 - np.sum((standard - scores[2, :k] @ components[:k]) ** 2) / np.sum(standard**2)
        sentence = found.locator("p[role=status]").text_content()
        assert float(re.search(r"([\d.]+)%", sentence).group(1)) == pytest.approx(100 * kept, abs=0.051)
        assert slider.get_attribute("aria-valuetext") == f"{k} of {len(components)} components"


@pytest.mark.parametrize(("key", "shape"), [("picture", (8, 8)), ("colours", (4, 5, 3))])
def test_pictures_are_rebuilt(page, key, shape):
    found = page.locator(f"figure:has(#plot-{key})")
    slider = found.get_by_label("Number of components")
    slider.fill("12")
    pixels = [
        np.array(canvas.evaluate("c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"))
        for canvas in found.locator("canvas").all()
    ]
    original, rebuilt, difference = (picture.reshape(*shape[:2], 4)[..., :3] for picture in pixels)
    values = rebuilding_values(shape)
    row = values["rows"][: int(np.prod(shape))].reshape(*shape[:2], -1)
    expected = 255 * (row - values["low"]) / (values["high"] - values["low"])
    assert np.abs(original - expected).max() < 1
    # All components rebuild the row, so nothing is left.
    assert np.abs(rebuilt - original).max() <= 1
    assert difference.min() >= 253
    slider.fill("0")
    assert found.get_by_text("0.0% of the variation").is_visible()
