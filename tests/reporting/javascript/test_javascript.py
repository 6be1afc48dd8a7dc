"""The functions of the page that need no browser, tested by node in the files *.test.js beside this one."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def test_the_functions_of_the_scripts():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node, which runs the tests of the scripts, is not installed")
    files = sorted(map(str, HERE.glob("*.test.js")))
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
