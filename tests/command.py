"""The command `lowdim`: as the installed program in a process of its own, and within this process, which is faster."""

import os
import subprocess
import sys
import sysconfig
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from typer.testing import CliRunner

from lowdim.cli.app import application

#: The program that pip installed beside this Python; where there is none, the module that it runs.
SCRIPT = Path(sysconfig.get_path("scripts")) / "lowdim"
COMMAND = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "lowdim.cli"]


def installed():
    """Whether lowdim was installed by pip, and is not only on the path."""
    return any(point.name == "lowdim" for point in entry_points(group="console_scripts"))


@dataclass(frozen=True)
class Done:
    """What a finished command has printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def environment(**more):
    """The environment of the tests, without settings of a terminal."""
    unwanted = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERMINAL_WIDTH")
    return {key: value for key, value in os.environ.items() if key not in unwanted} | more


def run(*arguments, folder, stdin=None, check=True, **more):
    """Run the program in a folder. By default it is an error if it fails."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env=environment(**more),
        timeout=120,
        check=False,
    )
    return _checked(Done(done.returncode, done.stdout.decode(), done.stderr.decode()), check)


def invoke(*arguments, folder, stdin=None, check=True, **more):
    """As `run`, within this process."""
    with chdir(folder):
        done = CliRunner().invoke(_application(), list(map(str, arguments)), input=stdin, env=more, prog_name="lowdim")
    return _checked(Done(done.exit_code, done.stdout, done.stderr), check)


def commands():
    """The names of all commands, as tuples: ("report",), ("fit", "pca")."""

    def below(group, path=()):
        found = [(*path, command.name) for command in group.registered_commands]
        for each in group.registered_groups:
            found += below(each.typer_instance, (*path, each.name))
        return found

    return below(_application())


@cache
def _application():
    return application()


def _checked(done, check):
    assert not check or done.returncode == 0, done.stderr
    return done
