"""Names of the user are shown literally, on one line, and shortened."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lowdim import PLSRegression
from lowdim.plot.axes import WIDEST, label, legend, legend_label, tick_labels


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("$x^2$", "$x^2$"),
        ("a\nb\tc", r"a\nb\tc"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
        ("n" * 60, "n" * (WIDEST - 1) + "…"),
        ("größe", "größe"),
        # DejaVu Sans, which comes with matplotlib, has no Chinese characters.
        ("\u6c34", "<U+6C34>"),
        ("\N{SLIGHTLY SMILING FACE}", "<U+1F642>"),
        # Characters that join others or choose their form have no picture.
        ("a\u200db\ufe0f", "ab"),
        (3, "3"),
        (None, "None"),
    ],
)
def test_label(text, shown):
    assert label(text) == shown


def test_two_characters_without_a_picture_differ():
    assert label("\U0001f642") != label("\U0001f643")


def test_text_is_drawn_as_it_is():
    """Drawing turns an even number of dollar signs into mathematics, and fails if it is none, unless it is told not to;
    a missing picture is a warning, which is an error here."""
    figure, ax = plt.subplots()
    awkward = ["$\\nonsense{$", "$a$", "\N{SLIGHTLY SMILING FACE}", "_under", "a\nb"]
    for i, text in enumerate(awkward):
        ax.scatter([i], [i], label=legend_label(text))
    tick_labels(ax.xaxis, range(len(awkward)), awkward)
    box = legend(ax)
    figure.canvas.draw()
    shown = ["$\\nonsense{$", "$a$", "<U+1F642>", "_under", r"a\nb"]
    assert [text.get_text().strip() for text in box.get_texts()] == shown
    assert [text.get_text() for text in ax.get_xticklabels()] == shown


def test_a_legend_of_many_responses_leaves_room_for_the_picture():
    X = np.random.default_rng(0).standard_normal((40, 5))
    Y = X @ np.random.default_rng(1).standard_normal((5, 30))
    ax = PLSRegression(2).fit(X, Y).plot.predictions(X, Y)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(texts) == 13 and texts[-1] == "... 18 more" and texts[0].startswith("y1: ")
