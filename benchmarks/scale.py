"""What a pass over very many rows takes on many workers: measured costs of single tasks, and a simulation of the tree.

    python -m benchmarks.scale             # print costs and tables
    python -m benchmarks.scale --write     # and write the tables into docs/scale.md
    python -m benchmarks.scale sent        # only one of the tables: what travels

Measured, on one core of this machine: the summary of a partition, the merge of eight summaries, their sizes, and the
time that Dask's scheduler takes for a task. Assumed: the speed of the network, and that rows are in the memory of the
workers. A worker has one thread. The simulation runs every task of a pass, with the tree of merges that lowdim makes.
"""

from __future__ import annotations

import argparse
import heapq
import math
import time
import tracemalloc
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import travel
from benchmarks.page import duration, write
from lowdim.solvers import Krylov
from lowdim.sources.base import FAN_IN
from lowdim.summaries import Moments
from lowdim.summaries.base import SummaryCodec, union

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
COMMAND = "python -m benchmarks.scale --write"
COLUMNS = 256
#: Rows of 256 columns, and the size of their partitions. With larger partitions, Dask's scheduler has fewer tasks.
TABLES = [(10**9, 128 << 20), (10**9, 1 << 30), (10**10, 128 << 20), (10**10, 1 << 30), (10**12, 1 << 30)]
WORKERS = [1, 10, 100, 1_000, 10_000]
WIDTHS = [256, 1_024, 4_096, 16_384, 65_536]
#: Bytes per second that a worker receives (10 Gbit/s), and seconds before the first byte: assumptions.
BANDWIDTH, LATENCY = 1.25e9, 1e-3
#: The number of vectors of a step of `krylov` for ten components.
VECTORS = Krylov().block_size(10)


@dataclass(frozen=True)
class Costs:
    """Seconds of single tasks."""

    row: float  # to sum up one row
    merge: float  # to merge FAN_IN summaries
    task: float  # for which the scheduler is busy with one task
    summary_bytes: int
    graph: float  # to make the tasks of one partition, in the process of the user, before the pass
    graph_bytes: int  # that these tasks need there

    @property
    def transfer(self):
        """Seconds until a worker that holds one of FAN_IN summaries has the others."""
        return LATENCY + (FAN_IN - 1) * self.summary_bytes / BANDWIDTH


# ---- Costs


def measured_costs(columns=COLUMNS, rows=65_536, tasks=1_000, repeats=5):
    """Costs on one core of this machine; the shortest of several times."""
    block = np.random.default_rng(0).standard_normal((rows, columns))

    def summary():
        moments = Moments(columns)
        step = moments.block_rows(columns, 8, 1.0)
        for start in range(0, rows, step):
            moments.update(block[start : start + step])
        return moments

    some = [summary() for _ in range(FAN_IN)]
    graph, graph_bytes = graph_costs(tasks)
    return Costs(
        row=_shortest(summary, repeats) / rows,
        merge=_shortest(lambda: union(some), repeats),
        task=seconds_per_task(tasks),
        summary_bytes=len(SummaryCodec().encode(some[0])),
        graph=graph,
        graph_bytes=graph_bytes,
    )


def _shortest(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def seconds_per_task(tasks, repeats=3):
    """The time of a task that does nothing, with Dask's distributed scheduler and two worker processes. The scheduler
    is in this process, which also has to make the tasks and to learn that they have ended."""
    from distributed import Client

    def run():
        client.gather(client.map(_nothing, range(tasks), pure=False))

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        run()
        return _shortest(run, repeats) / tasks


def graph_costs(partitions):
    """Seconds and bytes for each partition of the graph of tasks that lowdim makes in this process. Nothing is run."""
    import dask
    import dask.array as da

    from lowdim.sources.opening import open_source

    rows = open_source(da.zeros((1_024 * partitions, COLUMNS), chunks=(1_024, COLUMNS)))
    engine = rows.traits.engine

    def make():
        with dask.config.set(scheduler=lambda graph, keys, **options: [dict(graph.__dask_graph__()) for _ in keys]):
            engine.merged(rows, _nothing, _nothing)

    seconds = _shortest(make, 2) / partitions
    tracemalloc.start()
    make()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak // partitions


def _nothing(i):
    return i


# ---- The simulation


def simulated(n_partitions, seconds, n_workers, costs):
    """The time of a pass over partitions that take `seconds` each.

    The scheduler starts one task after another, and each costs it `costs.task`. A worker that is free is given a merge
    if one is ready, because that frees memory, and the next partition otherwise. A merge begins with the transfer of
    the summaries that its worker does not hold.
    """
    sizes = [n_partitions]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FAN_IN))
    # For each merge, the number of its summaries that are still to come.
    missing = [[min(FAN_IN, below - FAN_IN * i) for i in range(-(-below // FAN_IN))] for below in sizes[:-1]]
    merges, running = deque(), []  # merges that are ready; the end, level and number of each task that runs
    idle, begun, now, scheduler = n_workers, 0, 0.0, 0.0
    while True:
        while (
            idle
            and (merges or begun < n_partitions)
            and (not running or scheduler <= now or scheduler <= running[0][0])
        ):
            start = scheduler = max(now, scheduler) + costs.task
            if merges:
                level, number = merges.popleft()
                heapq.heappush(running, (start + costs.transfer + costs.merge, level, number))
            else:
                heapq.heappush(running, (start + seconds, 0, begun))
                begun += 1
            idle -= 1
        if not running:
            return now
        now, level, number = heapq.heappop(running)
        idle += 1
        if level + 1 < len(sizes):
            left = missing[level]
            left[number // FAN_IN] -= 1
            if left[number // FAN_IN] == 0:
                merges.append((level + 1, number // FAN_IN))


# ---- Tables


def costs_table(costs, columns=COLUMNS):
    lines = ["| what | measured |", "| --- | ---: |"]
    rows = (128 << 20) // (8 * columns)
    for what, value in {
        f"summary of a partition of 128 MiB, {rows:,} rows of {columns} columns": duration(costs.row * rows),
        f"merge of {FAN_IN} summaries": duration(costs.merge),
        "size of a summary": _bytes(costs.summary_bytes),
        "Dask's scheduler, for each task": duration(costs.task),
        "graph of tasks, for each partition": f"{duration(costs.graph)}, {_bytes(costs.graph_bytes)}",
    }.items():
        lines.append(f"| {what} | {value} |")
    return "\n".join(lines)


def sent_table(dask, spark, columns=COLUMNS):
    lines = [
        f"| rows of {columns} columns | size of the rows | workers of Dask send | executors of Spark send |",
        "| ---: | ---: | ---: | ---: |",
    ]
    for n in dask:
        lines.append(f"| {n:,} | {_bytes(8 * columns * n)} | {_bytes(dask[n])} | {_bytes(spark[n])} |")
    return "\n".join(lines)


def pass_table(costs, tables=TABLES, workers=WORKERS, columns=COLUMNS):
    """The time of a pass with the graph of its tasks, and which share of it rows alone would take."""
    lines = ["| rows | partitions | " + " | ".join(f"{w:,} workers" for w in workers) + " | rows alone |"]
    lines[0] = lines[0].replace("| 1 workers |", "| 1 worker |")
    lines.append("| ---: | ---: |" + " ---: |" * len(workers) + " --- |")
    for n, size in tables:
        rows = size // (8 * columns)
        partitions, seconds = -(-n // rows), costs.row * rows
        cells = [f"10^{round(math.log10(n))}", f"{partitions:,} of {size >> 20:,} MiB"]
        for w in workers:
            found = partitions * costs.graph + simulated(partitions, seconds, w, costs)
            ideal = partitions * seconds / w
            cells.append(f"{duration_long(found)} ({100 * ideal / found:.0f}%)")
        cells.append(f"{duration_long(partitions * seconds)} / W")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def width_table(costs, widths=WIDTHS):
    """What a merge takes for other numbers of columns: sizes, times and memory go with their square."""
    head = ["columns", "summary", f"memory to merge {FAN_IN}", "transfer and merge", "one step of `krylov` sends"]
    lines = ["| " + " | ".join(head) + " |", "| ---: |" + " ---: |" * (len(head) - 1)]
    for width in widths:
        share = (width / COLUMNS) ** 2
        wide = replace(costs, merge=costs.merge * share, summary_bytes=round(costs.summary_bytes * share))
        cells = [
            f"{width:,}",
            _bytes(wide.summary_bytes),
            _bytes((FAN_IN + 1) * wide.summary_bytes),
            duration(wide.transfer + wide.merge),
            _bytes(8 * VECTORS * width),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def duration_long(seconds):
    """A duration, in minutes, hours or days where that is shorter."""
    for unit, length in [("d", 86_400), ("h", 3_600), ("min", 60)]:
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return duration(seconds)


def _bytes(n):
    for unit, size in [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]:
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n} bytes"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__.split("\n\n")[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES_OF_PAGE)}; all by default")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/scale.md")
    args = parser.parse_args(arguments)
    names = args.tables or TABLES_OF_PAGE
    costs = None if names == ["sent"] else measured_costs()
    for name in names:
        text = TABLES_OF_PAGE[name](costs)
        print(text + "\n")
        if args.write:
            write(name, COMMAND, text, PAGE)


def _sent(costs):
    counts = [20_000, 200_000]
    return sent_table(travel.of_dask(counts), travel.of_spark(counts))


TABLES_OF_PAGE = {"costs": costs_table, "sent": _sent, "passes": pass_table, "widths": width_table}


if __name__ == "__main__":
    main()
