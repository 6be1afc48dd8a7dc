"""Time against the number of rows N of a generated stream, which is never in memory: a fit reads it once.

    python -m benchmarks.against_rows --most 1000000     # N from 10,000 to 1,000,000
    python -m benchmarks.against_rows --write            # N to 100,000,000, and the table and the figure of the page

Blocks are slices of one array of random numbers that is made beforehand, so that the time is that of the fit and not
that of making random numbers. The slope is that of the line of least squares through the logarithms, over all N from
which on the pass takes most of the time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

import lowdim
from benchmarks.page import duration, write

P, K, BLOCK = 10, 3, 100_000
ROWS = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
#: The slope is measured from this many rows on: below, the solve takes a good part of the time.
FROM = 1_000_000
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "time_against_rows.svg"


def stream(n, pool):
    """A function that returns the blocks of n rows; each begins at another row of the pool."""

    def blocks():
        for number, start in enumerate(range(0, n, BLOCK)):
            rows = min(BLOCK, n - start)
            first = (number * 7919) % (len(pool) - rows)
            yield pool[first : first + rows]

    return blocks


#: What is fitted to X, and to y where the model has one.
TASKS = {
    "PCA": lambda X, y: lowdim.PCA(K).fit(X),
    "FactorAnalysis": lambda X, y: lowdim.FactorAnalysis(K).fit(X),
    "PLSRegression": lambda X, y: lowdim.PLSRegression(K).fit(X, y),
    "CCA": lambda X, y: lowdim.CCA(2).fit(X, y),
}


def measure(counts, repeats, say=print):
    """Seconds of each task for each number of rows; for fewer than ten million rows, the median of several fits."""
    random = np.random.default_rng(0)
    latent = random.standard_normal((3 * BLOCK, 4))
    X, Y = (latent @ random.standard_normal((4, q)) + random.standard_normal((3 * BLOCK, q)) for q in (P, 2))
    found = {name: {} for name in TASKS}
    for n in counts:
        for name, task in TASKS.items():
            times = []
            for _ in range(1 if n >= 10_000_000 else repeats):
                start = time.perf_counter()
                task(stream(n, X), stream(n, Y))
                times.append(time.perf_counter() - start)
            found[name][n] = statistics.median(times)
        say(f"N = {n:,}")
    return found


def slope(times):
    """The slope of log time against log N; None for fewer than two points."""
    points = [(np.log(n), np.log(seconds)) for n, seconds in times.items() if n >= FROM]
    return float(np.polyfit(*zip(*points, strict=True), 1)[0]) if len(points) > 1 else None


def table(found, counts):
    head = ["model", *(f"{n:,}" for n in counts), "rows per second", "slope"]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(counts) + 2)]
    for name, times in found.items():
        steep, most = slope(times), max(times)
        cells = [name, *(duration(times[n]) for n in counts), f"{most / times[most]:,.0f}"]
        lines.append("| " + " | ".join([*cells, "" if steep is None else f"{steep:.2f}"]) + " |")
    return "\n".join(lines)


def draw(found, figure):
    """Times on logarithmic axes, with a dotted line of slope 1."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "lowdim"  # the same file for the same numbers
    fig, ax = plt.subplots(figsize=(5.5, 3.8))
    for name, times in found.items():
        ax.loglog(list(times), list(times.values()), "o-", markersize=3, label=f"{name}, slope {slope(times):.2f}")
    lowest = min(times[max(times)] / max(times) for times in found.values())
    line = np.array([FROM, max(ROWS)])
    ax.loglog(line, 0.7 * lowest * line, "k:", linewidth=1, label="slope 1")
    ax.set_xlabel("rows N of a stream")
    ax.set_ylabel("seconds")
    ax.set_title(f"D = {P} columns, K = {K}, two cores", fontsize=10)
    ax.legend(fontsize=8)
    fig.tight_layout(pad=0.5)
    fig.savefig(figure, metadata={"Date": None})


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against_rows", description=__doc__.split("\n\n")[0])
    parser.add_argument("--most", type=int, default=max(ROWS), help="the largest number of rows")
    parser.add_argument("--repeats", type=int, default=5, help="fits to fewer than ten million rows (5)")
    parser.add_argument("--write", action="store_true", help="write the table into README.md, and draw the figure")
    args = parser.parse_args(arguments)
    counts = [n for n in ROWS if n <= args.most]
    found = measure(counts, args.repeats)
    text = table(found, counts)
    print(text)
    if args.write:
        write("rows", "python -m benchmarks.against_rows --write", text)
        draw(found, FIGURE)


if __name__ == "__main__":
    main()
