"""Every plot against a picture that was looked at, and rules that hold for all of them."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.testing.compare import compare_images
from PIL import Image

from lowdim.plot import PLOTS
from plot.gallery import DPI, EXAMPLES, PICTURES, SIZE, save

#: The series of matplotlib that drew the pictures. Others place text and lines slightly differently.
DRAWN_WITH = "3.11"
#: The largest root mean square difference of colours, from 0 to 255. Few colours make about 1 of it.
TOLERANCE = 4.0


def test_every_plot_has_an_example_and_every_example_a_picture():
    plots = {max((name for name in PLOTS if example.startswith(name)), key=len) for example in EXAMPLES}
    assert plots == set(PLOTS)
    assert {path.stem for path in PICTURES.glob("*.png")} == set(EXAMPLES)
    assert sum(path.stat().st_size for path in PICTURES.glob("*.png")) < 1.5e6


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_picture(name, tmp_path):
    """With another series of matplotlib, only the size and that something was drawn are compared."""
    path = tmp_path / f"{name}.png"
    save(name, path)
    if matplotlib.__version__.startswith(f"{DRAWN_WITH}."):
        assert compare_images(str(PICTURES / path.name), str(path), TOLERANCE) is None
        return
    with Image.open(path) as drawn:
        assert drawn.size == (SIZE[0] * DPI, SIZE[1] * DPI)
        assert np.asarray(drawn.convert("L")).std() > 5.0


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_plot_draws_on_the_axes_that_are_given_and_leaves_everything_else_alone(name):
    """In a dark style, so that text in a fixed colour would show: axes, ticks and labels are white. Numbers in cells
    have the colour that differs more from their cell."""
    projection = "3d" if name == "scores_3d" else None
    with matplotlib.style.context("dark_background"):
        figure, (left, right) = plt.subplots(1, 2, subplot_kw={"projection": projection})
        settings, figures = dict(matplotlib.rcParams), plt.get_fignums()
        assert EXAMPLES[name](left) is left
        assert dict(matplotlib.rcParams) == settings
    assert not right.has_data()
    assert plt.get_fignums() == figures
    assert left.get_figure() is figure
    shown = [left.xaxis.label, left.yaxis.label, *left.get_xticklabels(), *left.get_yticklabels(), *left.texts]
    allowed = {"white", "black"} if name.startswith("loadings") else {"white"}
    assert {text.get_color() for text in shown} <= allowed


def test_fonts_follow_the_style():
    with matplotlib.rc_context({"font.size": 20.0}):
        ax = EXAMPLES["scores_labels"]()
    assert min(text.get_fontsize() for text in ax.texts if text.get_text()) > 15.0


def test_colours_follow_the_style():
    cycle = matplotlib.cycler(color=["#010203", "#040506", "#070809"])
    with matplotlib.rc_context({"axes.prop_cycle": cycle}):
        ax = EXAMPLES["scores"]()
        faces = [matplotlib.colors.to_hex(points.get_facecolor()[0]) for points in ax.collections[:3]]
    assert faces == ["#010203", "#040506", "#070809"]
