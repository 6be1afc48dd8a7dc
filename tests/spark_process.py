"""Scripts with a session of Spark of their own: a process can have one only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from partitions import require_spark


def run_with_spark(*command: str | Path, folder: Path, connect: bool = False, seconds: float = 240) -> list[str]:
    """The lines that a script of Python prints, which must end without an error. It finds all modules of this process.

    A script that uses Spark Connect starts a server, always at the same port; two of them could not run at the same
    time. With `connect`, Spark takes a free port, as it does in its own tests.
    """
    require_spark()
    places = os.pathsep.join(place for place in sys.path if place)
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": places, "PYTHONWARNINGS": "ignore"}
    if connect:
        environment["SPARK_TESTING"] = "1"
    found = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
        timeout=seconds,
        check=False,
    )
    assert found.returncode == 0, found.stderr[-3000:]
    return found.stdout.splitlines()
