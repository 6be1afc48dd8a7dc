"""The map in a browser: what its controls draw, and how rows are selected, listed and copied."""

import csv
import io

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from reporting.browser.documents import SPECIES, map_values, maps
from reporting.browser.opening import figure, opened, settled

VALUES = map_values()
SCORES = np.column_stack([component["scores"] for component in VALUES["components"]])
CODES = VALUES["groups"][0]["codes"]


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    options = {"permissions": ["clipboard-read", "clipboard-write"]}
    with opened(browser, maps(rows=VALUES), tmp_path_factory.mktemp("map"), **options) as page:
        yield page


@pytest.fixture
def the_map(page):
    """The map as it is when the page is opened."""
    found = figure(page, "rows")
    for label, value in [
        ("Map", "2"),
        ("Across", "component:0"),
        ("Up", "component:1"),
        ("Colour by", "group:0"),
        ("Size by", "none"),
        ("Outlines", "none"),
    ]:
        menu = found.get_by_label(label, exact=True)
        if menu.is_enabled():
            menu.select_option(value)
    found.get_by_label("Density").set_checked(False)
    return found


def points(page):
    """The points that are drawn, in any order."""
    traces = [trace for trace in settled(page, "rows") if trace["mode"] == "markers" and trace["name"] in SPECIES]
    return np.array(sorted((x, y) for trace in traces for x, y in zip(trace["x"], trace["y"], strict=True)))


@pytest.mark.parametrize(("across", "up"), [(0, 1), (2, 1), (3, 3)])
def test_any_two_components_are_the_axes(page, the_map, across, up):
    the_map.get_by_label("Across").select_option(f"component:{across}")
    the_map.get_by_label("Up", exact=True).select_option(f"component:{up}")
    expected = np.array(sorted(map(tuple, SCORES[:, [across, up]].tolist())))
    np.testing.assert_array_equal(points(page), expected)
    title = page.evaluate("document.getElementById('plot-rows').layout.xaxis.title.text")
    assert title == VALUES["components"][across]["title"]


def test_the_legend_says_what_the_groups_are_groups_of(page, the_map):
    settled(page, "rows")
    title = "document.getElementById('plot-rows').layout.legend.title?.text"
    assert page.evaluate(title) == "species"
    the_map.get_by_label("Colour by").select_option("column:1")
    settled(page, "rows")
    assert page.evaluate(title) is None


def test_three_components_are_drawn_in_space(page, the_map):
    assert the_map.get_by_label("Depth").is_hidden()
    the_map.get_by_label("Map", exact=True).select_option("3")
    assert the_map.get_by_label("Depth").is_visible()
    assert {trace["type"] for trace in settled(page, "rows")} == {"scatter3d"}
    assert the_map.locator(".gl-container canvas, canvas").count() > 0
    assert the_map.get_by_label("Outlines").is_disabled()


def test_a_column_colours_the_points(page, the_map):
    the_map.get_by_label("Colour by").select_option("column:2")
    settled(page, "rows")
    colors = page.evaluate(
        """document.getElementById('plot-rows').data.filter(t => t.marker?.color.length === t.x.length)
        .flatMap(t => [...t.marker.color])"""
    )
    np.testing.assert_array_equal(sorted(colors), np.sort(VALUES["columns"][2]["values"]))
    assert the_map.locator(".colorbar").count() == 1


def test_a_column_sizes_the_points(page, the_map):
    the_map.get_by_label("Size by").select_option("column:0")
    settled(page, "rows")
    found = page.evaluate(
        """document.getElementById('plot-rows').data.filter(t => t.marker?.size.length)
        .flatMap(t => Array.from(t.customdata, (i, position) => [i, t.marker.size[position]]))"""
    )
    sizes = np.array([size for _, size in sorted(found)])
    # The largest value has the largest point, and so on.
    np.testing.assert_array_equal(np.argsort(sizes), np.argsort(VALUES["columns"][0]["values"]))


def outlines(page):
    return {t["name"]: np.column_stack([t["x"], t["y"]]) for t in settled(page, "rows") if t["mode"] == "lines"}


def test_hulls_are_those_of_the_points(page, the_map):
    the_map.get_by_label("Outlines").select_option("hulls")
    for level, corners in outlines(page).items():
        cloud = SCORES[SPECIES.index(level) == CODES][:, :2]
        np.testing.assert_array_equal(np.unique(corners, axis=0), np.unique(cloud[ConvexHull(cloud).vertices], axis=0))


def test_ellipses_have_the_distance_of_the_radius(page, the_map):
    the_map.get_by_label("Outlines").select_option("ellipses")
    found = outlines(page)
    assert set(found) == set(SPECIES)
    for level, curve in found.items():
        stored = VALUES["groups"][0]["ellipses"][SPECIES.index(level)]
        covariance = stored["covariance"].reshape(4, 4)[:2, :2]
        away = curve - stored["mean"][:2]
        distances = np.sqrt(np.einsum("ij,jk,ik->i", away, np.linalg.inv(covariance), away))
        np.testing.assert_allclose(distances, VALUES["radius"], rtol=1e-10)


def test_a_density_counts_the_points(page, the_map):
    the_map.get_by_label("Density").set_checked(True)
    assert settled(page, "rows")[0]["type"] == "heatmap"
    roots = page.evaluate("document.getElementById('plot-rows').data[0].z.flat()")
    assert np.sum(np.square(roots)) == pytest.approx(len(SCORES))


def test_brushing_lists_the_rows_and_copies_them(page, the_map):
    area = the_map.locator(".nsewdrag").bounding_box()
    page.mouse.move(area["x"] + 2, area["y"] + 2)
    page.mouse.down()
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2, steps=4)
    page.mouse.up()
    the_map.locator(".selection table").wait_for()
    [x0, x1], [y0, y1] = page.evaluate(
        "['xaxis', 'yaxis'].map(name => document.getElementById('plot-rows')._fullLayout[name].range)"
    )
    x, y = SCORES[:, 0], SCORES[:, 1]
    inside = (x <= (x0 + x1) / 2) & (y >= (y0 + y1) / 2)
    assert 0 < inside.sum() < len(x)
    listed = [int(text) for text in the_map.locator(".selection tbody td:first-child").all_text_contents()]
    assert listed == (np.flatnonzero(inside) + 1).tolist()
    said = f"{inside.sum()} rows selected."
    assert page.locator("#said").text_content() == said

    the_map.locator(".selection").get_by_role("button", name="Copy as CSV").click()
    the_map.get_by_text(f"Copied {inside.sum()} rows.").wait_for()
    copied = list(csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))
    assert [row["name"] for row in copied] == [f"plant {i + 1}" for i in np.flatnonzero(inside)]
    assert [row["species"] for row in copied] == [SPECIES[code] for code in CODES[inside]]
    np.testing.assert_allclose([float(row["PC3"]) for row in copied], SCORES[inside, 2], rtol=1e-6)

    the_map.get_by_role("button", name="Clear the selection").click()
    assert the_map.locator(".selection table").count() == 0
    assert page.locator("#said").text_content() == "No row is selected."


@pytest.mark.parametrize(
    ("text", "rows"), [("3, 10-12", [3, 10, 11, 12]), ("plant 7", [7]), ("setosa", list(range(1, 151, 3))), ("xyz", [])]
)
def test_rows_are_selected_by_keyboard(page, the_map, text, rows):
    field = the_map.get_by_label("Select rows by number, name or group")
    field.fill(text)
    field.press("Enter")
    listed = [int(cell) for cell in the_map.locator(".selection tbody td:first-child").all_text_contents()]
    assert listed == rows
    marked = [trace["selected"] for trace in settled(page, "rows") if trace["name"] in SPECIES]
    assert sum(count or 0 for count in marked) == len(rows)


@pytest.fixture(scope="module")
def odd_maps(browser, tmp_path_factory):
    """Maps with a stored density, and with many levels, missing entries and a single component."""
    edges = {"x_edges": np.arange(4, dtype="f4"), "y_edges": np.arange(3, dtype="f4")}
    dense = {**VALUES, "densities": [{"x": 0, "y": 1, **edges, "counts": np.arange(6, dtype="f4")}]}
    short = map_values(200, components=1, names=[f"level {i}" for i in range(20)])
    short["groups"][0]["codes"][:5] = -1
    short["columns"][0]["values"][:7] = np.nan
    short |= {"labels": None, "supplementary": None}
    with opened(browser, maps(dense=dense, short=short), tmp_path_factory.mktemp("maps")) as page:
        yield page


def test_a_stored_density_of_all_rows_is_drawn_for_both_orders_of_its_axes(odd_maps):
    found = figure(odd_maps, "dense")
    drawn = "document.getElementById('plot-dense').data[0].z.map(row => [...row])"
    assert settled(odd_maps, "dense")[0]["type"] == "heatmap"
    np.testing.assert_allclose(np.square(odd_maps.evaluate(drawn)), np.arange(6.0).reshape(2, 3))
    found.get_by_label("Up", exact=True).select_option("component:0")
    found.get_by_label("Across").select_option("component:1")
    settled(odd_maps, "dense")
    np.testing.assert_allclose(np.square(odd_maps.evaluate(drawn)), np.arange(6.0).reshape(2, 3).T)


def test_many_levels_missing_entries_and_a_single_component(odd_maps):
    found = figure(odd_maps, "short")
    traces = {trace["name"]: len(trace["x"]) for trace in settled(odd_maps, "short")}
    assert len([name for name in traces if name.startswith("level")]) == 20
    named = odd_maps.evaluate("document.getElementById('plot-short').layout.annotations.map(note => note.text)")
    assert 2 <= len(named) <= 20 and set(named) <= set(traces)
    assert traces["no label"] == 5
    assert sum(traces.values()) == 200
    found.get_by_label("Colour by").select_option("column:0")
    assert {trace["name"]: len(trace["x"]) for trace in settled(odd_maps, "short")} == {"Rows": 193, "missing": 7}
    assert found.get_by_label("Map", exact=True).is_disabled()
