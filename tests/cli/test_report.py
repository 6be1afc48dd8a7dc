"""The verb report: what it passes on, prints and refuses."""

import json
import shlex

import pandas as pd
import pytest

import lowdim
from command import invoke as run
from lowdim.cli import results as reporting
from lowdim.reporting import build


def test_it_writes_the_page_and_says_where(files, tmp_path):
    where = tmp_path / "wine.html"
    done = run("report", "wine.csv", "--hue", "class", "-o", where, folder=files)
    last = done.stdout.splitlines()[-1]
    assert str(where) in last and f"{where.stat().st_size / 1e6:.1f} MB" in last
    again = run("report", "wine.csv", "-o", where, folder=files, check=False)
    assert again.returncode == 1 and "exists already" in again.stderr and "--overwrite" in again.stderr
    replaced = run("report", "wine.csv", "-o", where, "--overwrite", "--title", "Wine", "--json", folder=files)
    values = json.loads(replaced.stdout)
    assert values["output"] == str(where) and values["bytes"] == where.stat().st_size
    assert "computed" in values["sections"]
    assert "Wine" in where.read_text(encoding="utf-8")


def test_the_options_are_the_arguments_of_the_function(files, tmp_path, monkeypatch):
    seen = {}

    def remember(X, path, **given):
        seen.update(given, chosen=X.chosen, path=path, command=build.COMMAND.get())
        return build.Report(str(files / "wine.csv"), (), (), None)

    monkeypatch.setattr(reporting, "write_report", remember)
    run("fit", "pca", "wine.csv", "-c", "numeric", "-k", "2", "-o", tmp_path / "p.model", folder=files)
    command = (
        "lowdim report wine.csv --output r.html --columns numeric --exclude hue --hue class --hue ash --labels class "
        "--sample-weight proline --supplementary wine.csv --supplementary-columns magnesium --y alcohol --Y left.csv "
        f"--model {tmp_path}/p.model --n-components 3 --no-scale --image-shape 2,5 --random-state 4 --brief "
        "--categorical ash --categorical hue --min-frequency 0.02"
    )
    run(*shlex.split(command)[1:], folder=files)
    assert seen["chosen"] == [c for c in pd.read_csv(files / "wine.csv") if c not in ("hue", "class")]
    assert (seen["hue"], seen["labels"], seen["y"]) == (["class", "ash"], "class", "alcohol")
    assert (seen["n_components"], seen["scale"], seen["random_state"], seen["brief"]) == (3, False, 4, True)
    assert seen["supplementary_columns"] == ["magnesium"]
    assert seen["categorical_features"] == ["ash", "hue"] and seen["min_frequency"] == 0.02
    assert seen["image_shape"] == (2, 5) and seen["sample_weight"] == "proline" and seen["path"] == "r.html"
    assert isinstance(seen["model"], lowdim.PCA) and seen["model"].n_components_ == 2
    assert seen["Y"].columns == list(pd.read_csv(files / "left.csv"))
    # The command of the page, run again, is the same call.
    first = dict(seen)
    assert sorted(shlex.split(seen["command"])) == sorted(shlex.split(command))
    run(*shlex.split(seen["command"])[1:], folder=files)
    for key in ("hue", "labels", "y", "n_components", "scale", "image_shape", "command", "path"):
        assert seen[key] == first[key]


def test_a_name_that_begins_with_a_dash():
    assert reporting.command_of({"data": ["a b.csv"], "hue": ["--help"], "title": None, "scale": True}) == (
        "lowdim report 'a b.csv' --hue=--help --scale"
    )


def test_the_second_table_may_be_columns(files, tmp_path):
    done = run("report", "wine.csv", "--Y", "ash", "--Y", "hue", "-o", tmp_path / "r.html", "--json", folder=files)
    assert "two-tables" in json.loads(done.stdout)["sections"]


@pytest.mark.parametrize(
    ("arguments", "present"),
    [
        (("report", "wine.csv", "--label", "class"), "--hue"),
        (("report", "wine.csv", "--id=class"), "--labels"),
        (("transform", "p.model", "wine.csv", "--id", "class"), "--keep"),
        (("choose", "wine.csv", "--rule", "bic"), "--rules"),
        (("choose", "wine.csv", "--n-draws", "9"), "--n-resamples"),
        (("fit", "kernel-pca", "wine.csv", "--sigma=3"), "--gamma"),
        (("plot", "scores", "p.model", "wine.csv", "--groups", "class"), "--hue"),
    ],
)
def test_former_options_name_the_present_ones(files, arguments, present):
    done = run(*arguments, folder=files, check=False)
    assert done.returncode == 2 and f"it is called {present}" in " ".join(done.stderr.replace("│", "").split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wine.csv", "-o", "r.txt"), "must end with .html"),
        (("wine.csv", "-o", "nowhere/r.html"), "there is no directory"),
        (("wine.csv", "-o", "-"), "name a file with --output"),
        (("wine.csv", "--hue", "clas", "-o", "r.html"), "Did you mean 'class'?"),
        (("wine.csv", "--hue", "clas", "--hue", "hues", "-o", "r.html"), "has no column 'clas'"),
        (("wine.csv", "-k", "0", "-o", "r.html"), "n_components=0"),
        (("wine.csv", "-c", "numeric", "-k", "14", "-o", "r.html"), "n_components=14"),
        (("wine.csv", "-k", "16", "-o", "r.html"), "n_components=16"),
        (("wine.csv", "--categorical", "clas", "-o", "r.html"), "--categorical: there is no column 'clas'"),
        (("wine.csv", "--y", "ash", "--min-frequency", "3", "-o", "r.html"), "y makes one about numbers only"),
        (("wine.csv", "--image-shape", "8", "-o", "r.html"), "as in 8,8"),
        (("wine.csv", "--model", "wine.csv", "-o", "r.html"), "not a file with a model"),
        (("wine.csv", "-c", "ash", "-o", "r.html"), "at least 2 columns"),
        (("nothing.csv", "-o", "r.html"), "nothing.csv"),
    ],
)
def test_what_is_refused_is_one_line(files, arguments, message):
    done = run("report", *arguments, folder=files, check=False)
    assert done.returncode == 1 and message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (files / "r.html").exists() and not list(files.glob(".r.html*"))


def test_decimal_commas_and_columns_left_out_are_told_first(files, tmp_path):
    """Six of ten columns were once left out of a page that said "no entry is missing", and the command ended well."""
    wine = pd.read_csv(files / "wine.csv").drop(columns="class")
    wine.to_csv(tmp_path / "comma.csv", sep=";", decimal=",", index=False)
    done = run("report", "comma.csv", folder=tmp_path)
    first = done.stdout.splitlines()[0]
    assert (
        f"and {wine.shape[1]} columns of numbers" in first and "decimal commas" in first and "not analysed" not in first
    )
    assert "lowdim: warning" in done.stderr and "--decimal ," in done.stderr
    again = run("report", "comma.csv", "--decimal", ",", "-f", folder=tmp_path)
    assert again.stderr == "" and "commas" not in again.stdout
    assert "--decimal ," in (tmp_path / "report.html").read_text(encoding="utf-8")
    wine["share"] = [f"{i}%" for i in range(len(wine))]
    wine.to_csv(tmp_path / "percent.csv", index=False)
    done = run("report", "percent.csv", "-f", folder=tmp_path)
    assert "'share' ('0%' in line 2 is 0)" in done.stdout.splitlines()[0] and "--decimal ." in done.stderr
    wine.loc[1, "share"] = "1"
    wine.to_csv(tmp_path / "percent.csv", index=False)
    first = run("report", "percent.csv", "-f", folder=tmp_path).stdout.splitlines()[0]
    assert f"1 of {wine.shape[1]} columns is not analysed: share" in first and "'0%' in line 2" in first
    assert "no entry is missing in them" in first
