"""The scripts in gallery/ run without a warning, and each of their figures has a description."""

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest
from matplotlib import pyplot
from PIL import Image

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "gallery"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("plot_*.py"))
#: Figures of pages that scripts draw: their script, their number in it, and how many colours they have.
DRAWN_BY = runpy.run_path(str(ROOT / "docs" / "figures" / "draw.py"))["DRAWN_BY"]


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
    for file, (script, number, _) in DRAWN_BY.items():
        if script == name:
            figure = pyplot.figure(number)
            with Image.open(ROOT / "docs" / "figures" / file) as picture:
                again = f"the figure has changed: python docs/figures/draw.py {file}"
                assert picture.text["Description"] == figure.get_label(), again
                assert picture.size == tuple((100 * figure.get_size_inches()).astype(int)), again


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_asks_a_question_and_says_what_each_picture_means(name):
    script = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(script))
    title, line = text.splitlines()[:2]
    assert line == "=" * len(title)
    assert "?" in text
    # Sphinx-gallery shows text where a comment follows the mark of a cell.
    cells = re.findall(r"^# %%\n((?:#.*\n)*)", script, flags=re.M)
    before, found, source = " ".join(cells[-1].replace("#", " ").split()).rpartition("Source of the idea: ")
    assert found and source.endswith(".")
    assert "lecture" not in (script[: script.rindex("Source of the idea: ")]).lower() and "lecture" not in before
    for part in script.split("plt.show()\n")[1:]:
        assert re.search(r"^# %%\n# \S", part, flags=re.M), "no text follows a picture"


@pytest.mark.parametrize("name", [name for name in SCRIPTS if "sys.argv" in (FOLDER / f"{name}.py").read_text()])
@pytest.mark.parametrize("where", ["elsewhere", "root", "gallery"])
def test_it_finds_its_data_as_a_script_and_as_a_notebook(name, where, tmp_path, monkeypatch):
    """A script may run from any folder. In a notebook there is no `__file__`, and sys.argv is that of the kernel."""
    found = [
        ast.unparse(node)
        for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("places", "root")
    ]
    monkeypatch.setattr(sys, "argv", [str(FOLDER / f"{name}.py" if where == "elsewhere" else tmp_path / "kernel.py")])
    monkeypatch.chdir({"elsewhere": tmp_path, "root": ROOT, "gallery": FOLDER}[where])
    names = {"Path": Path, "sys": sys}
    exec("\n".join(found), names)
    assert names["root"] == ROOT


def test_every_script_has_a_group_and_every_group_has_scripts():
    groups = runpy.run_path(str(ROOT / "docs" / "_extensions" / "gallery_groups.py"))
    place = groups["ByGroup"](str(FOLDER))
    starts = [start for _, _, starts in groups["GROUPS"] for start in starts]
    assert {starts[place(f"{name}.py")[0]] for name in SCRIPTS} == set(starts)
    with pytest.raises(ValueError, match="no group"):
        place("plot_another_method.py")


@pytest.mark.parametrize("file", DRAWN_BY)
def test_figures_of_pages_have_a_script_and_a_page(file):
    assert DRAWN_BY[file][0] in SCRIPTS
    pages = [path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]]
    assert any(f"figures/{file})" in text and f"gallery/{DRAWN_BY[file][0]}.py" in text for text in pages)


def test_data_have_a_source_and_a_licence():
    described = re.findall(r"^\| (\S+) \|", (FOLDER / "data" / "SOURCES.md").read_text(encoding="utf-8"), flags=re.M)
    assert set(described) - {"file", "---"} == {path.name for path in (FOLDER / "data").iterdir()} - {"SOURCES.md"}


def test_the_list_of_scripts_has_all_of_them_with_their_titles():
    """gallery/README.md is what the forge shows of the folder."""
    listed = dict(re.findall(r"^\| \[(plot_\w+)\.py\]\(\1\.py\) \| (.+) \|$", (FOLDER / "README.md").read_text(), re.M))
    titles = {
        name: ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text())).splitlines()[0] for name in SCRIPTS
    }
    assert listed == titles
