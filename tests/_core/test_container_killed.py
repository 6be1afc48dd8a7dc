"""A process that is killed while it saves leaves the whole old file, the whole new file or none, never a part."""

import multiprocessing
import os
import signal
import sys
import time

import numpy as np
import pytest

from _core.container_children import SIZE, save, save_again_and_again, save_and_die, save_on_a_full_disk
from lowdim._core import container as files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")


@pytest.fixture(scope="module")
def processes():
    """Processes that begin with lowdim imported."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["lowdim"])
    return context


def whole(path):
    """The number in a file that must be whole."""
    document, arrays = files.read(path)
    np.testing.assert_array_equal(arrays["numbers"], np.full(SIZE, document["i"], dtype=float))
    return document["i"]


def left_in(directory):
    return [name for name in os.listdir(directory) if name != "file"]


def test_killed_at_any_moment(processes, tmp_path):
    path, random = tmp_path / "file", np.random.default_rng()
    for _ in range(8):
        begun = processes.Event()
        process = processes.Process(target=save_again_and_again, args=(path, begun))
        process.start()
        assert begun.wait(120)
        time.sleep(random.uniform(0, 0.05))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert whole(path) >= 1
        # What the processes before have left is gone.
        assert len(left_in(tmp_path)) <= 1
    save(path, 7)
    assert whole(path) == 7
    assert left_in(tmp_path) == []


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_killed_at_a_moment(processes, moment, old, tmp_path):
    path = tmp_path / "file"
    if old:
        save(path, 1)
    process = processes.Process(target=save_and_die, args=(path, moment))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert path.exists() is old
    if old:
        assert whole(path) == 1
    (left,) = left_in(tmp_path)
    assert left.startswith(".file.")
    save(path, 7)
    assert whole(path) == 7
    assert left_in(tmp_path) == []


def test_a_full_disk_leaves_nothing(processes, tmp_path):
    path, refused = tmp_path / "file", processes.Event()
    save(path, 1)
    process = processes.Process(target=save_on_a_full_disk, args=(path, refused))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert refused.is_set()
    assert left_in(tmp_path) == []
    assert whole(path) == 1
