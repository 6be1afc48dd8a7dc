"""The scripts in examples/ run without a warning, print labelled tables, draw pictures, and stay short."""

import ast
import runpy
import sys
import tokenize
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
#: Arguments after the folder.
FURTHER = {"larger_than_memory": ["20000"]}


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_runs(name, tmp_path, monkeypatch, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(sys, "argv", [name, str(tmp_path), *FURTHER.get(name, [])])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    pyplot.close("all")
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) > 3 and "object at 0x" not in printed
    pictures = list(tmp_path.glob("*.png"))
    assert pictures and all(path.stat().st_size > 2000 for path in pictures)


@pytest.mark.parametrize("name", SCRIPTS)
def test_at_most_fifteen_lines_are_the_work_itself(name):
    """Without imports, the docstring, comments, empty lines, and the function that loads or makes the data."""
    path = FOLDER / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    aside = {type(ast.Import()), ast.ImportFrom}
    work = [
        node
        for node in tree.body[1:]
        if type(node) not in aside and not (isinstance(node, ast.FunctionDef) and node.name == "data")
    ]
    lines = {line for node in work for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    with tokenize.open(path) as file:
        code = {
            token.start[0]
            for token in tokenize.generate_tokens(file.readline)
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
        }
    assert len(lines & code) <= 15
