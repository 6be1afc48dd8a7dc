"""What the processes do that are killed while they save."""

import os
import signal

import numpy as np

from lowdim._core import container
from lowdim._core import container as writing

#: Large enough for a kill to come in the middle.
SIZE = 1_500_000


def save(path, i):
    container.write(path, {"i": i}, {"numbers": np.full(SIZE, i, dtype=float), "rest": np.full(9, -1.0)})


def save_again_and_again(path, begun):
    """Save other numbers each time; `begun` is set after the first."""
    for i in range(1, 100_000):
        save(path, i)
        begun.set()


def save_and_die(path, moment):
    """Die before the last numbers are written, before they are flushed to the disk, or before the file has its name."""

    def die(*ignored):
        os.kill(os.getpid(), signal.SIGKILL)

    if moment == "write":
        bytes_of = writing._bytes
        writing._bytes = lambda array: die() if array[0] == -1 else bytes_of(array)
    else:
        setattr(os, moment, die)
    save(path, 2)


def save_on_a_full_disk(path, refused):
    """Save where files can have no more than a MiB; `refused` is set if that raises an OSError."""
    import resource  # Windows has none

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    try:
        save(path, 2)
    except OSError:
        refused.set()
