"""Passes over rows in child processes that are killed at random moments, until one of them ends.

Run as a script: `killed_passes.py DIRECTORY SEED` prints a line for each kind of rows: "same" if the last child found
the same bits as a pass that was never interrupted. Children are forked before BLAS is used, and start at once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from lowdim import scan
from lowdim._core import container
from lowdim.reading import Checkpoint, summarize
from lowdim.reading import checkpoint as checkpoints
from lowdim.summaries import Moments

CASES = ("stream", "array", "parquet")
KILLS = 2
RNG = np.random.default_rng(0)
X = RNG.standard_normal((300_001, 8)).astype(np.float32)
WEIGHTS = RNG.integers(0, 3, len(X)).astype(float)


class SlowMoments(Moments):
    """Moments of many small blocks, each of which takes some time."""

    def update(self, block, weights=None):
        time.sleep(0.003)
        super().update(block, weights)

    def block_rows(self, n_columns, itemsize, stored=1.0):
        return 2500


def stream():
    """An iterator that can be read once, over blocks of several lengths."""
    edges = [0, *np.cumsum(np.tile([700, 3100, 2500, 40], 60)).tolist(), len(X)]
    return (X[i:j].astype(float) for i, j in pairwise(edges))


def parquet(directory):
    """Three files, whose row groups have other lengths than blocks."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    for i, rows in enumerate(np.array_split(X, 3)):
        table = pa.table({f"x{j}": rows[:, j] for j in range(rows.shape[1])})
        pq.write_table(table, directory / f"part-{i}.parquet", row_group_size=7777)


def rows(case, directory):
    """The rows and the weights of a case; streams are made anew."""
    if case == "stream":
        return stream(), WEIGHTS
    return (X, None) if case == "array" else (scan(directory / "*.parquet"), WEIGHTS)


def summary(case, directory, n_threads, checkpoint=None):
    """The pass of a case with so many threads."""
    source, weights = rows(case, directory)
    with threadpool_limits(n_threads):
        return summarize(source, SlowMoments(X.shape[1]), weights=weights, checkpoint=checkpoint)


def child(case, directory, n_threads, path):
    """Run the pass in a forked process; its sums go to a file."""
    pid = os.fork()
    if pid == 0:
        try:
            found = summary(case, directory, n_threads, Checkpoint(path, every_seconds=0.02))
            np.savez(directory / "found.npz", mean=found.mean, rest=found.rest, scatter=found.scatter)
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def rows_in(path):
    """How many rows are in the sums of the checkpoint."""
    if not path.exists():
        return 0
    return sum(each["state"]["n_rows"] for each in container.header(path)["summaries"])


def run_and_kill(directory, case, seed):
    """Kill the pass of a case several times, and then let it end; the number of threads differs each time."""
    path = directory / "pass.checkpoint"
    if case == "parquet":
        parquet(directory)
    random = np.random.default_rng(seed)
    pids = []
    for kill in range(KILLS + 1):
        before = rows_in(path)
        pids.append(child(case, directory, 1 + (seed + kill) % 2, path))
        if kill < KILLS:
            # Further rows have been added, and then it may be reading, adding or writing.
            while rows_in(path) <= before:
                time.sleep(0.001)
            time.sleep(random.uniform(0.0, 0.02))
            os.kill(pids[-1], signal.SIGKILL)
    ends = [os.waitpid(pid, 0)[1] for pid in pids]
    assert ends == [signal.SIGKILL] * KILLS + [0], ends
    left = [each.name for each in directory.iterdir() if each.suffix not in (".npz", ".parquet")]
    assert not left, f"these files are left: {left}"


def outcome(directory, case, seed):
    """Compare the sums with those of a pass that was not interrupted, with the threads of the first child."""
    expected = summary(case, directory, 1 + seed % 2)
    with np.load(directory / "found.npz") as found:
        same = all(np.array_equal(found[name], getattr(expected, name)) for name in ("mean", "rest", "scatter"))
    return "same" if same else "different"


def main(directory, seed):
    """See above."""
    # The file is written as often as it can be, although that takes longer than the sums.
    checkpoints._PATIENCE = 0
    folders = {case: Path(directory, case) for case in CASES}
    for case, folder in folders.items():
        folder.mkdir()
        run_and_kill(folder, case, seed)
    for case, folder in folders.items():
        print(case, outcome(folder, case, seed))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
