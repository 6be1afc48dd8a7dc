"""The examples in the help run, and the help of every command is there."""

import re
import shutil

import pytest
from typer.testing import CliRunner

from lowdim import load, models
from lowdim.cli.app import VERBS, application
from lowdim.cli.commands import command_name

APP = application()


def commands(group, path=()):
    """The names of all commands of an application, as tuples."""
    found = [(*path, command.name) for command in group.registered_commands]
    for each in group.registered_groups:
        found += commands(each.typer_instance, (*path, each.name))
    return found


COMMANDS = commands(APP)


def help_of(path):
    done = CliRunner().invoke(APP, [*path, "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 0
    return done.output


def examples(path):
    return [line.strip() for line in help_of(path).splitlines() if re.match(r"\s*lowdim ", line)]


def test_the_verbs_are_listed_in_the_order_of_their_use():
    shown = help_of([])
    places = [re.search(rf"^\W*{verb} ", shown, re.MULTILINE).start() for verb in VERBS]
    assert places == sorted(places)


def test_every_model_can_be_fitted():
    fitted = {path[1] for path in COMMANDS if path[0] == "fit"}
    assert fitted == {command_name(name) for name in models.__all__}
    assert {"kernel-pca", "pls-regression", "factor-analysis", "pca"} <= fitted


@pytest.fixture(scope="module")
def prepared(files, tmp_path_factory):
    """A folder with everything that the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    for path in files.iterdir():
        if path.suffix == ".csv":
            shutil.copy(path, folder)
    runner = CliRunner()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            "fit pca wine.csv -c numeric -k 2 -o pca.model",
            "fit ppca incomplete.csv -x class -k 2 -o ppca.model",
            "fit pls-regression wine.csv -c numeric -y hue -o pls.model",
            "fit pls-regression wine.csv -c numeric -y hue -k cv -o cv.model",
            "fit cca wine.csv -c numeric -y hue -y proline -o cca.model",
            "fit ica wine.csv -c numeric -k 2 -o ica.model",
            "fit kernel-pca left.csv -c alcohol -c ash -k 2 --kernel rbf -o kernel.model",
            "transform pca.model wine.csv --id class -o scores.csv",
            "summarize left.csv -o site1.summary",
            "summarize left.csv -o site2.summary",
        ):
            done = runner.invoke(APP, line.split())
            assert done.exit_code == 0, done.output
    return folder


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_examples_run(path, prepared, monkeypatch):
    lines = examples(path)
    assert lines, "every command has an example"
    if path[-1] == "auto-encoder":
        pytest.importorskip("torch", reason="torch is not installed, which trains auto-encoders")
    monkeypatch.chdir(prepared)
    for line in lines:
        arguments = line.split()[1:]
        done = CliRunner().invoke(APP, [*arguments, *(["--overwrite"] if "-o" in arguments else [])])
        assert done.exit_code == 0, (line, done.output)
        if arguments[0] == "fit":
            assert command_name(type(load(prepared / arguments[-1])).__name__) == arguments[1]
