"""The scripts in examples/ run without a warning, print labelled tables, draw pictures, and stay short."""

import ast
import runpy
import shlex
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

import lowdim
from lowdim.cli import main

FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
#: Arguments after the folder.
FURTHER = {"larger_than_memory": ["20000"]}
#: Tokens that make no line of code.
NO_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


@pytest.fixture(autouse=True)
def _no_screen():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def printed_by(name, folder, capsys):
    """What a script prints; it draws into the folder."""
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) > 3 and "object at 0x" not in printed
    pictures = list(folder.glob("*.png"))
    assert pictures and all(path.stat().st_size > 2000 for path in pictures)
    return printed


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "demo"])
def test_it_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, str(tmp_path), *FURTHER.get(name, [])])
    printed_by(name, tmp_path, capsys)


def test_the_demo_runs_and_its_commands_do_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["demo"])
    printed = printed_by("demo", Path("demo"), capsys)
    commands = [shlex.split(line) for line in printed.splitlines() if line.startswith("lowdim ")]
    made = sorted(path.name for path in Path("demo").iterdir())
    model = lowdim.load("demo/digits.model")
    for path in Path("demo").iterdir():
        if path.suffix != ".csv":
            path.unlink()
    for command in commands:
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0, capsys.readouterr().err
        # What the commands print is what the script printed, and where the model is.
        lines = capsys.readouterr().out.splitlines()
        assert all(line in printed or line.startswith("saved to demo/digits.model") for line in lines)
    assert sorted(path.name for path in Path("demo").iterdir()) == made
    np.testing.assert_array_equal(lowdim.load("demo/digits.model").components_, model.components_)


@pytest.mark.parametrize("name", SCRIPTS)
def test_at_most_fifteen_lines_are_the_work_itself(name):
    """Without imports, the docstring, comments, empty lines, and the function that loads or makes the data."""
    path = FOLDER / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    aside = [
        node
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) or (isinstance(node, ast.FunctionDef) and node.name == "data")
    ]
    work = [node for node in tree.body[1:] if node not in aside]
    lines = {line for node in work for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    with tokenize.open(path) as file:
        code = {token.start[0] for token in tokenize.generate_tokens(file.readline) if token.type not in NO_CODE}
    # A text of several lines is one line of code.
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.Constant)]
    within = {line for node in texts for line in range(node.lineno + 1, (node.end_lineno or 0) + 1)}
    assert len(lines & code - within) <= 15
