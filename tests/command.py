"""The installed command `lowdim`, run as a process."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

#: The command that pip installed beside this Python; where there is none, the module that it runs.
_SCRIPT = Path(sysconfig.get_path("scripts")) / "lowdim"
COMMAND = [str(_SCRIPT)] if _SCRIPT.exists() else [sys.executable, "-m", "lowdim.cli"]


def environment(**more):
    """The environment of the tests, without a terminal's settings."""
    unwanted = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERMINAL_WIDTH")
    return {key: value for key, value in os.environ.items() if key not in unwanted} | more


def run(*arguments, folder, stdin=None, check=True, **more):
    """Run the command in a folder and return the finished process, whose output is text."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        env=environment(**more),
        timeout=120,
        check=False,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    if check:
        assert done.returncode == 0, err
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)
