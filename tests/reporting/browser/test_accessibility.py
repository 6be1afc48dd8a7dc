"""The page for readers who use a keyboard or a screen reader."""

from itertools import pairwise

import pytest

from reporting.browser.documents import rich
from reporting.browser.opening import draw_all, figure, opened

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    with opened(browser, rich(), tmp_path_factory.mktemp("accessibility"), reduced_motion="reduce") as page:
        yield page


@pytest.mark.parametrize("button", ["Dark colours", "Light colours"])
def test_axe_finds_nothing_serious(page, button):
    page.get_by_role("button", name=button).click()
    # Also tables that are closed at first, and what a selection lists.
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    field = figure(page, "rows").get_by_label("Select rows by number, name or group")
    field.fill("1-5")
    field.press("Enter")
    draw_all(page)
    found = axe.Axe().run(page).response["violations"]
    serious = [
        (violation["id"], violation["help"], [node["html"][:200] for node in violation["nodes"][:3]])
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_headings_descend_one_level_at_a_time(page):
    levels = page.evaluate("Array.from(document.querySelectorAll('h1, h2, h3, h4'), heading => +heading.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_charts_and_pictures_have_names(page):
    for selector in (".plot", "canvas[role=img]", "figure"):
        for element in page.locator(selector).all():
            assert element.evaluate("e => Boolean(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby'))")


def test_every_control_is_reached_by_the_tab_key_in_the_order_of_the_page(page):
    draw_all(page)
    page.evaluate("document.querySelectorAll('main details').forEach(details => { details.open = true; })")
    wanted = page.evaluate(
        """Array.from(document.querySelectorAll('a[href], button, select, input, summary, [tabindex="0"]'))
        .filter(e => e.checkVisibility({visibilityProperty: true}) && !e.disabled).map((e, i) => (e.tabNumber = i))"""
    )
    page.locator(".skip").focus()
    reached, looks = [0], []
    for _ in wanted[1:]:
        page.keyboard.press("Tab")
        number, outline = page.evaluate(
            """[document.activeElement.tabNumber ?? -1, getComputedStyle(document.activeElement).outlineStyle]"""
        )
        reached.append(number)
        looks.append(outline)
    assert reached == wanted
    assert set(looks) <= {"solid", "auto"}


def test_the_first_link_leads_past_the_contents(page):
    assert page.evaluate("document.querySelector('a, button, input, select, [tabindex]').className") == "skip"
    page.locator(".skip").press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_the_slider_and_the_menu_obey_the_keyboard(page):
    found = figure(page, "row")
    slider = found.get_by_label("Number of components")
    slider.focus()
    slider.press("Home")
    slider.press("ArrowRight")
    assert "With 1 of 8 components" in found.locator("p[role=status]").text_content()
    menu = page.get_by_label("Component", exact=True)
    menu.focus()
    menu.press("ArrowDown")
    assert figure(page, "pc2").is_visible()
