"""The command as a process: pipes, signals, terminals, full disks, awkward names, large files."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import lowdim
from command import COMMAND, SCRIPT, environment, installed, invoke, run

pty = pytest.importorskip("pty", reason="Windows has no terminals and signals of this kind")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table of 200,000 rows and a model of it."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.standard_normal((200_000, 8)), columns=[f"c{j}" for j in range(8)])
    rows.to_parquet(folder / "rows.parquet", row_group_size=20_000)
    lowdim.save(lowdim.PCA(8).fit(rows), folder / "rows.model")
    return folder


def left_behind(folder):
    return [name for name in os.listdir(folder) if "unfinished" in name]


@pytest.mark.skipif(not installed(), reason="lowdim is not installed here, only on the path")
def test_the_command_is_installed():
    assert [str(SCRIPT)] == COMMAND and run("--version", folder=".").stdout.split() == ["lowdim", lowdim.__version__]


def test_a_reader_that_goes_away(folder):
    command = [*COMMAND, "transform", "rows.model", "rows.parquet"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert process.stdout.readline().startswith(b'"PC1"')
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) == 141 and errors == ""


def test_interrupted_while_writing(folder):
    command = [*COMMAND, "transform", "rows.model", *["rows.parquet"] * 60, "-o", "scores.csv"]
    process = subprocess.Popen(
        command,
        cwd=folder,
        stderr=subprocess.PIPE,
        env=environment(),
        # A shell that runs the tests in the background has Ctrl-C ignored in all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not left_behind(folder):
        assert process.poll() is None, "it ended before it wrote anything"
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) == 130
    assert errors == "lowdim: interrupted; no result was saved.\n"
    assert not (folder / "scores.csv").exists() and not left_behind(folder)


INTERRUPTED_AT = """
import builtins, sys
imported = builtins.__import__

def importing(name, *arguments):
    if name == sys.argv[1]:
        raise KeyboardInterrupt
    return imported(name, *arguments)

builtins.__import__ = importing
from _lowdim_command import main
main()
"""


@pytest.mark.parametrize("module", ["numpy", "sklearn.base", "typer"])
def test_interrupted_while_it_starts(module):
    """While lowdim is imported, or what only the command needs."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT, module], capture_output=True, env=environment(), timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_full_disk(folder):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "transform", "rows.model", "rows.parquet"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
        )
    assert done.returncode == 1
    assert "No space left" in done.stderr.decode() and "Traceback" not in done.stderr.decode()

    def small_files_only():
        import resource  # Windows has none

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = subprocess.run(
        [*COMMAND, "transform", "rows.model", "rows.parquet", "-o", "scores.parquet"],
        cwd=folder,
        stderr=subprocess.PIPE,
        env=environment(),
        preexec_fn=small_files_only,
        check=False,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr.decode()
    assert not (folder / "scores.parquet").exists() and not left_behind(folder)


def in_a_terminal(arguments, folder, **more):
    """What the command writes if all its streams are a terminal of 80 columns."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdin=side, stdout=side, stderr=side, env=environment(TERM="xterm", **more)
    )
    os.close(side)
    shown = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(main)
    assert process.wait(60) == 0
    return shown.decode()


def test_progress_only_in_a_terminal(folder):
    many = ["fit", "pca", *["rows.parquet"] * 240, "-k", "2"]
    shown = in_a_terminal(many, folder, COLUMNS="80")
    assert "rows/s" in shown and "pass 1" in shown
    done = run(*many, folder=folder)
    assert done.stderr == "" and "\x1b" not in done.stdout
    assert "rows/s" not in in_a_terminal([*many, "--quiet"], folder, COLUMNS="80")


def test_help_has_colours_only_if_they_are_wanted(folder):
    shown = in_a_terminal(["fit", "pca", "--help"], folder, COLUMNS="80")
    plain = in_a_terminal(["fit", "pca", "--help"], folder, COLUMNS="80", NO_COLOR="1")
    colours = re.compile(r"\x1b\[[0-9;]*3[0-9][;m]")
    assert colours.search(shown) and not colours.search(plain)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", plain).splitlines()
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in run("fit", "pca", "--help", folder=folder).stdout


def test_awkward_names(tmp_path):
    rng = np.random.default_rng(0)
    names = ["--help", "größe", "温度", "🍷", "a,b", "=1+1", "-x", "two\nlines"]
    frame = pd.DataFrame(rng.standard_normal((30, len(names))), columns=names)
    frame.to_parquet(tmp_path / "t.parquet")
    chosen = [f"--columns={name}" for name in names]
    done = invoke("fit", "pca", "t.parquet", *chosen, "-k", "2", "-o", "t.model", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["columns"] == names
    only = invoke("fit", "pca", "t.parquet", "--columns=--help", "--columns=-x", "--json", folder=tmp_path)
    assert json.loads(only.stdout)["columns"] == ["--help", "-x"]
    # A terminal that knows only ASCII gets escapes, and not an error.
    ascii_only = run("inspect", "t.model", "--table", "loadings", folder=tmp_path, PYTHONIOENCODING="ascii")
    assert "\\u6e29" in ascii_only.stdout and len(ascii_only.stdout.splitlines()) >= len(names)


def test_cells_that_look_like_formulas(tmp_path):
    cells = ["=1+1", "+cmd", "-1.5", "@x", "plain", "-x"]
    pd.DataFrame({"id": cells, "a": np.arange(6.0), "b": np.arange(6.0) ** 2}).to_parquet(tmp_path / "t.parquet")
    invoke("fit", "pca", "t.parquet", "-x", "id", "-k", "1", "-o", "t.model", folder=tmp_path)
    done = invoke("transform", "t.model", "t.parquet", "--keep", "id", "-o", "s.csv", folder=tmp_path)
    assert "spreadsheets run as a formula" in done.stderr and "--escape-formulas" in done.stderr
    assert pd.read_csv(tmp_path / "s.csv")["id"].tolist() == cells
    done = invoke("transform", "t.model", "t.parquet", "--keep", "id", "--escape-formulas", folder=tmp_path)
    assert "formula" not in done.stderr
    written = [line.split(",")[0].strip('"') for line in done.stdout.splitlines()[1:]]
    assert written == ["'=1+1", "'+cmd", "-1.5", "'@x", "plain", "'-x"]


def peak_of(arguments, folder):
    """The largest memory of the command, in MiB."""
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, stdout=subprocess.DEVNULL, env=environment(MALLOC_ARENA_MAX="2")
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0
    return used.ru_maxrss / 1024


def test_memory_does_not_grow_with_the_rows(folder, tmp_path):
    some, many = ["rows.parquet"], ["rows.parquet"] * 5
    for arguments in (["fit", "pca", "{}", "-k", "2"], ["transform", "rows.model", "{}", "-f", "-o", "out.parquet"]):
        peaks = []
        for files in (some, many):
            filled = [part for a in arguments for part in (files if a == "{}" else [a])]
            peaks.append(peak_of(filled, folder))
        # A million rows of eight numbers are 61 MiB.
        assert peaks[1] - peaks[0] < 30
