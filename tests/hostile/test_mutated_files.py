"""A share of the mutated files, in a process of its own: tests/hostile/mutate.py runs as many as one likes."""

import re
import subprocess
import sys
from pathlib import Path

from hostile.mutations import DAMAGE, FORGERY

SCRIPT = Path(__file__).with_name("mutate.py")


def test_mutated_files_are_refused_or_hold_what_was_saved():
    command = [sys.executable, str(SCRIPT), "--seconds", "5", "--every", "9"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    tried = {line.split()[0] for line in done.stdout.splitlines() if re.search(" [1-9][0-9]* (refused|the same)", line)}
    assert {*DAMAGE, *FORGERY} <= tried
