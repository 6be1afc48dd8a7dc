"""The scripts in gallery/ run without a warning, and each of their figures has a description."""

import ast
import re
import runpy
from pathlib import Path

import pytest
from matplotlib import pyplot

FOLDER = Path(__file__).parents[1] / "gallery"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("plot_*.py"))


@pytest.fixture(autouse=True)
def _no_screen():
    pyplot.switch_backend("Agg")
    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_runs_and_describes_its_figures(name, capsys):
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out
    labels = [pyplot.figure(number).get_label() for number in pyplot.get_fignums()]
    assert labels and all(40 < len(label) < 500 for label in labels)
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_says_what_the_lectures_claim_and_what_was_measured(name):
    text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")))
    title, line = text.splitlines()[:2]
    assert line == "=" * len(title)
    assert "**The lecture" in text and "**Measured" in text


def test_data_have_a_source_and_a_licence():
    described = re.findall(r"^\| (\S+) \|", (FOLDER / "data" / "SOURCES.md").read_text(encoding="utf-8"), flags=re.M)
    assert set(described) - {"file", "---"} == {path.name for path in (FOLDER / "data").iterdir()} - {"SOURCES.md"}
