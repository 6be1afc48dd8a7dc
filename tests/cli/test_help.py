"""The examples in the help run, and the help of every command is there."""

import re
import shutil

import pytest

from command import commands, invoke
from lowdim import load, models

COMMANDS = commands()


def help_of(path):
    return invoke(*path, "--help", folder=".", COLUMNS="200", TERM="dumb").stdout


def examples(path):
    return [line.strip() for line in help_of(path).splitlines() if re.match(r"\s*lowdim ", line)]


USED = ["report", "choose", "fit", "cross-validate", "inspect", "plot", "transform", "inverse", "impute", "predict"]


def test_the_verbs_are_listed_in_the_order_of_their_use():
    shown = help_of([])
    places = [re.search(rf"^\W*{verb} ", shown, re.MULTILINE).start() for verb in USED]
    assert places == sorted(places)


def test_every_model_can_be_fitted():
    fitted = {path[1] for path in COMMANDS if path[0] == "fit"}
    assert {name.replace("-", "") for name in fitted} == {name.lower() for name in models.__all__}
    assert len(fitted) == len(models.__all__)
    assert {"kernel-pca", "pls-regression", "factor-analysis", "pca"} <= fitted


@pytest.fixture(scope="module")
def prepared(files, tmp_path_factory):
    """A folder with everything that the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    for path in files.iterdir():
        if path.suffix == ".csv":
            shutil.copy(path, folder)
    for line in (
        "fit pca wine.csv -c numeric -k 2 -o pca.model",
        "fit pca left.csv -c alcohol -c ash -o plane.model",
        "fit ppca incomplete.csv -x class -k 2 -o ppca.model",
        "fit pls-regression wine.csv -c numeric -y hue -o pls.model",
        "fit pls-regression wine.csv -c numeric -y hue -k cv -o cv.model",
        "fit cca wine.csv -c numeric -y hue -y proline -o cca.model",
        "fit ica wine.csv -c numeric -k 2 -o ica.model",
        "fit kernel-pca left.csv -c alcohol -c ash -k 2 --kernel rbf -o kernel.model",
        "fit famd people.csv -k 2 -o famd.model",
        "fit mfa people.csv --groups groups.csv -k 2 -o mfa.model",
        "fit ca counts.csv -x task -k 2 -o ca.model",
        "transform pca.model wine.csv --keep class -o scores.csv",
        "summarize left.csv -o site1.summary",
        "summarize left.csv -o site2.summary",
    ):
        invoke(*line.split(), folder=folder)
    return folder


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_examples_run(path, prepared):
    lines = examples(path)
    assert lines, "every command has an example"
    if path[-1] == "auto-encoder":
        pytest.importorskip("torch", reason="torch is not installed, which trains auto-encoders")
    for line in lines:
        arguments = line.split()[1:]
        invoke(*arguments, *(["--overwrite"] if "-o" in arguments else []), folder=prepared)
        if arguments[0] == "fit":
            assert type(load(prepared / arguments[-1])).__name__.lower() == arguments[1].replace("-", "")
