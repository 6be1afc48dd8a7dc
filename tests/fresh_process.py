"""Jobs that change or end the process they run in, and so run in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys


def run_fresh(code: str) -> list[str]:
    """The lines that `code` prints in a new process with two BLAS threads, which must end without an error."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def assert_jobs_print_their_names(code: str, jobs: dict[str, str]) -> None:
    """Run `check(name, job)`, which `code` defines, for all jobs; each prints its name if it ends as it should."""
    lines = (f"check({name!r}, {job})" for name, job in jobs.items())
    assert run_fresh("\n".join([code, *lines])) == list(jobs)
