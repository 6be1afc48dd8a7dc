"""Ctrl-C, SIGKILL and a full disk in the middle of `transform_to`: nothing partial is ever under the final name."""

import os
import sys

import numpy as np
import pytest

from fresh_process import run_fresh
from lowdim import PCA
from written import read_back

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals of this kind")

#: One for each kind of file.
ENDINGS = [".parquet", ".arrow", ".csv", ".csv.gz", ".npy", ".zarr", ".h5", ".parquet/"]
BEGIN = """
import os, resource, signal, sys, threading
import numpy as np
from lowdim import PCA
from lowdim.sinks import formats
formats._GROUP_BYTES = formats._CHUNK_BYTES = 1 << 16
folder = {folder!r}
X = np.random.default_rng(0).standard_normal((1000, 8))
model = PCA(7).fit(X)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
KILLED = """
def rows():
    for i in range(20):
        yield X
    os.kill(os.getpid(), signal.SIGKILL)

for ending in {endings!r}:
    child = os.fork()
    if not child:
        model.transform_to(rows(), folder + "/out" + ending)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, status
    print(ending)
"""
INTERRUPTED = """
def rows():
    i = 0
    while True:
        yield X
        i += 1
        if i == 20:
            threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT)).start()

for ending in {endings!r}:
    try:
        model.transform_to(rows(), folder + "/out" + ending)
    except KeyboardInterrupt:
        print(ending)
    assert os.listdir(folder) == [], os.listdir(folder)
"""
FULL = """
import itertools
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 15, 1 << 15))
for ending in {endings!r}:
    try:
        model.transform_to(itertools.repeat(X, 100), folder + "/out" + ending)
    except OSError as error:
        print(ending, "could not be written: File too large. Nothing was left there" in str(error), error.errno)
    assert os.listdir(folder) == [], os.listdir(folder)
"""


def run(code, folder):
    return run_fresh((BEGIN + code).format(folder=str(folder), endings=ENDINGS))


def test_a_process_that_is_killed_leaves_nothing_under_the_name_and_the_next_one_cleans_up(tmp_path):
    assert run(KILLED, tmp_path) == ENDINGS
    left = os.listdir(tmp_path)
    # Files and directories of one name share a place, so that the second process removed what the first one left.
    assert len(left) == len({ending.rstrip("/") for ending in ENDINGS})
    assert all(name.startswith(".out") and name.endswith(".unfinished") for name in left)
    rows = np.random.default_rng(1).standard_normal((9, 3))
    model = PCA(2).fit(rows)
    for ending in ENDINGS:
        np.testing.assert_allclose(
            read_back(model.transform_to(rows, f"{tmp_path}/out{ending}", overwrite=True))[0], model.transform(rows)
        )
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_after_ctrl_c_and_a_full_disk_nothing_is_left_and_the_process_goes_on(tmp_path):
    """A limit on the size of files has the same effect as a disk without space, for each kind of file in turn."""
    assert run(INTERRUPTED + FULL, tmp_path) == ENDINGS + [f"{ending} True 27" for ending in ENDINGS]
