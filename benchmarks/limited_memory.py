"""Fits to 4 GiB of Parquet in a process that may use 1.5 GiB of memory: they complete, or the process is killed.

    python -m benchmarks.limited_memory --write

The limit is that of a control group, which counts everything, also the pages of files that the process has read (the
system drops these when memory is needed). Where control groups cannot be made, the address space is limited instead
(RLIMIT_AS), which is stricter: memory that is reserved and never used counts, such as the stacks of threads. The table
says which. Swapping is not allowed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from benchmarks.file_tables import table
from benchmarks.files import PARQUET, batches
from benchmarks.page import duration, write

LIMIT = 3 << 29
GROUPS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
HALF = PARQUET[1] // 2
#: What only reads the files; times are compared with the second, which takes the rows of a row group in pieces.
WHOLE, PIECES = "pyarrow.dataset, only reading", "pyarrow.parquet, only reading"
MODELS = ("PCA", "FactorAnalysis", "PLSRegression", "CCA")
#: All take their turn this many times, and the table has the medians.
ROUNDS = 3


def fit(name, data):
    """The model of this name, fitted to the files; responses and second tables are columns of the same files."""
    import lowdim

    rows = lowdim.scan(data.path / "*.parquet")
    if name == "PLSRegression":
        return lowdim.PLSRegression(5).fit(rows, y=data.names[-1])
    if name == "CCA":
        return lowdim.CCA(5).fit(rows, y=data.names[HALF:])
    return getattr(lowdim, name)(5).fit(rows)


def in_pieces(data):
    """All columns of all files, in batches of 32,768 rows."""
    from pyarrow.parquet import ParquetFile

    for path in sorted(data.path.glob("*.parquet")):
        with ParquetFile(path) as file:
            yield from file.iter_batches(32_768, columns=data.names)


def error(name, model, data):
    """The largest error relative to the largest number, compared with the moments that are known."""
    C = data.cov
    if name == "PCA":
        found, exact = model.explained_variance_, np.linalg.eigvalsh(C)[::-1][:5]
    elif name == "FactorAnalysis":
        # The likelihood equations: the diagonal of the covariance of the model is that of the rows.
        model_cov = model.components_.T @ model.components_ + np.diag(model.noise_variance_)
        divisor = (data.shape[0] - 1) / data.shape[0]
        found, exact = np.diag(model_cov), np.diag(C) * divisor
    elif name == "CCA":
        roots = [np.linalg.cholesky(C[s, s]) for s in (slice(0, HALF), slice(HALF, None))]
        between = np.linalg.solve(roots[1], np.linalg.solve(roots[0], C[:HALF, HALF:]).T)
        found, exact = model.correlations_, np.linalg.svd(between, compute_uv=False)[:5]
    else:
        # Coefficients in the space that PLS with 5 components spans: powers of the covariance times that with y.
        d = np.sqrt(np.diag(C))
        R = C / np.outer(d, d)
        S, s = R[:-1, :-1], R[:-1, -1]
        basis = np.linalg.qr(np.column_stack([np.linalg.matrix_power(S, j) @ s for j in range(5)]))[0]
        b = basis @ np.linalg.solve(basis.T @ S @ basis, basis.T @ s)
        found, exact = np.ravel(model.coef_), b * d[-1] / d[:-1]
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def child(name):
    """Fit in this process, or only read the files, and print what it took."""
    data = table("parquet", PARQUET)
    start = time.perf_counter()
    read = {WHOLE: lambda: batches(data, "parquet"), PIECES: lambda: in_pieces(data)}
    done = sum(batch.num_rows for batch in read[name]()) if name in read else fit(name, data)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    wrong = {} if name in read else {"error": error(name, done, data)}
    print(json.dumps({"seconds": seconds, "resident": peak} | wrong))


@contextmanager
def control_group(limit):
    """A control group with this limit of memory, as a function that a child calls to join it; None if there is none."""
    group = new_group(limit)
    try:
        yield None if group is None else lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        if group is not None:
            group.rmdir()


def new_group(limit):
    """The directory of a new control group; None if none can be made. Version 1 has a directory for memory."""
    for root in GROUPS:
        group = root / f"lowdim-bench-{os.getpid()}"
        memory, swap = (
            (("memory.limit_in_bytes", limit), ("memory.memsw.limit_in_bytes", limit))
            if root.name == "memory"
            else (("memory.max", limit), ("memory.swap.max", 0))
        )
        with suppress(OSError):
            group.mkdir()
            try:
                (group / memory[0]).write_text(str(memory[1]))
            except OSError:
                group.rmdir()
                raise
            # Where there is no swap, it cannot be limited.
            with suppress(OSError):
                (group / swap[0]).write_text(str(swap[1]))
            return group
    return None


def run(name, limit):
    """What the child reports, or why it ended."""
    with control_group(limit) as join:

        def before():
            if join is None:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            else:
                join()

        command = [sys.executable, "-m", "benchmarks.limited_memory", "--child", name]
        done = subprocess.run(command, preexec_fn=before, capture_output=True, text=True, check=False)
    how = "RLIMIT_AS" if join is None else "control group"
    if done.returncode == -signal.SIGKILL:
        return how, {"ended": "killed: out of memory"}
    if done.returncode:
        return how, {"ended": done.stderr.strip().splitlines()[-1]}
    return how, json.loads(done.stdout)


def cells(results, reading):
    """A row of the table: medians of the time and of its ratio to only reading in the same round."""
    ended = [result["ended"] for result in results if "ended" in result]
    if ended:
        return [ended[0], "", "", ""]
    seconds = float(np.median([result["seconds"] for result in results]))
    pairs = zip(results, reading, strict=True)
    ratios = [result["seconds"] / other["seconds"] for result, other in pairs if "seconds" in other]
    resident = max(result["resident"] for result in results)
    wrong = f"{max(result['error'] for result in results):.0e}" if "error" in results[0] else ""
    ratio = f"{np.median(ratios):.2f}" if ratios else ""
    return [duration(seconds), ratio, f"{resident / 2**20:.0f} MiB", wrong]


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limited_memory", description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table into benchmarks/README.md")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child)
        return
    data = table("parquet", PARQUET)
    n_bytes = sum(file.stat().st_size for file in data.path.glob("*.parquet"))
    found = {name: [] for name in (WHOLE, PIECES, *MODELS)}
    for _ in range(ROUNDS):
        for name, results in found.items():
            how, result = run(name, LIMIT)
            results.append(result)
            print(name, result, file=sys.stderr, flush=True)
    lines = ["| task | time | time / only reading | resident memory | error |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| {name} | {' | '.join(cells(results, found[PIECES]))} |" for name, results in found.items()]
    limit = f"{n_bytes / 2**30:.1f} GiB of Parquet, at most {LIMIT / 2**30:.1f} GiB of memory ({how})."
    text = "\n".join([limit, "", *lines])
    print(text)
    if args.write:
        write("limited", "python -m benchmarks.limited_memory --write", text)


if __name__ == "__main__":
    main()
