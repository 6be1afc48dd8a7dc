"""The pictures of methods, tutorials and questions: scripts draw what pages show, and the committed files are small."""

import re
import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt

from lowdim import load

matplotlib.use("Agg")
DOCS = Path(__file__).parents[1] / "docs"
DRAWN = runpy.run_path(str(DOCS / "figures" / "draw.py"))
#: What trains the auto-encoders that figures and the gallery load.
NETWORKS = runpy.run_path(str(DOCS / "figures" / "train_auto_encoders.py"))["MODELS"]
STORED = DOCS.parent / "gallery" / "data"
#: The pages of the methods, in the order of their table of contents.
METHODS = re.findall(r"\]\((\w+)\.md\) \| `", (DOCS / "methods.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [*DRAWN["METHODS"], *DRAWN["TUTORIALS"], *DRAWN["QUESTIONS"]])
def test_it_is_drawn(name, tmp_path):
    figure = DRAWN["of_a_page"](name)
    DRAWN["save"](figure, tmp_path / name, 256)
    plt.close(figure)
    for path in (tmp_path / name, DOCS / "figures" / name):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert 5_000 < path.stat().st_size < 80_000


def test_every_method_begins_with_its_figure():
    shown = []
    for page in METHODS:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        beginning = text[: text.index("\n## ")]
        [(described, name)] = re.findall(r"!\[([^\]]+)\]\(figures/(\w+\.png)\)", beginning)
        assert len(described) > 80, f"describe {name} to readers who do not see it"
        assert "```python\n>>> " in beginning
        shown.append(name)
    assert sorted(shown) == sorted(DRAWN["METHODS"])


def test_every_figure_of_the_tutorials_is_shown():
    shown = []
    for page in sorted(DOCS.glob("tutorial_*.md")):
        found = re.findall(r"!\[([^\]]+)\]\(figures/(\w+\.png)\)", page.read_text(encoding="utf-8"))
        assert found and all(len(described) > 80 for described, _ in found)
        shown += [name for _, name in found]
    assert sorted(shown) == sorted(DRAWN["TUTORIALS"])


@pytest.mark.parametrize("name", DRAWN["QUESTIONS"])
def test_the_page_of_a_question_begins_with_its_figure(name):
    text = (DOCS / name).with_suffix(".md").read_text(encoding="utf-8")
    [described] = re.findall(rf"!\[([^\]]+)\]\(figures/{name}\)", text[: text.index("\n## ")])
    assert len(described) > 80


def test_networks_of_figures_are_stored():
    assert set(NETWORKS) == {path.stem for path in STORED.glob("*.safetensors")}


def test_a_stored_network_is_what_training_gives():
    pytest.importorskip("torch", reason="torch is not installed, and networks are trained by it")
    trained, stored = NETWORKS["arc"](), load(STORED / "arc.safetensors")
    assert trained.get_params() == stored.get_params()
    np.testing.assert_allclose(trained.reconstruction_error_, stored.reconstruction_error_, rtol=0.1)
