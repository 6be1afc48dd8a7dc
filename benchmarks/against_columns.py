"""Time against the number of columns D, for N = 100 rows: fits, cross-validation and bootstrap.

    python -m benchmarks.against_columns --most 10000    # D from 100 to 10,000
    python -m benchmarks.against_columns --write         # D to 100,000, and the table and the figure of the page

With N fixed, everything that these tasks need is N products of length D and work that does not depend on D. So on
logarithmic axes the slope of the time tends to at most 1. The slope is that of the line of least squares through the
logarithms over the last factor of ten of D that was measured. Each call runs on one core in a process of its own, with
a limit of time, and a task that reached the limit is not tried with more columns.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import lowdim
from benchmarks.page import duration, write
from benchmarks.worker import run_limited

N, K, FOLDS, DRAWS, RIDGE = 100, 3, 5, 10, 0.1
COLUMNS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "time_against_columns.svg"


@dataclass(frozen=True)
class Task:
    """`call(X, Y)` is what is timed; Y is the response, or the second table."""

    model: str
    work: str
    call: Callable[[Any, Any], Any]


def tasks():
    """The fit, the cross-validation and the bootstrap of each model."""
    for model, second in MODELS.items():
        fresh = partial(_models, model)
        yield Task(model, "fit", lambda X, y, f=fresh, s=second: f().fit(X, *_second(y, s)))
        counts = range(1, K + 1)
        yield Task(
            model,
            "cross_validate",
            lambda X, y, f=fresh, s=second, c=counts: lowdim.cross_validate(
                f(n_components=None), X, *_second(y, s), cv=FOLDS, n_components=c
            ),
        )
        yield Task(
            model,
            "bootstrap",
            lambda X, y, f=fresh, s=second: lowdim.bootstrap(f(), X, *_second(y, s), n_resamples=DRAWS, random_state=0),
        )


#: The models, and which table is the second: none, the responses, or a table as wide as the first.
MODELS = {"PCA": None, "PLSRegression": "responses", "CCA": "table", "FactorAnalysis": None}


def _models(name, n_components=K):
    options = {"regularization": RIDGE} if name == "CCA" else {}
    return getattr(lowdim, name)(n_components, **options)


def _second(tables, which):
    return [] if which is None else [tables[which]]


def make(p, seed=0):
    """Rows of five latent variables and noise; a second table and two responses of the same latent variables."""
    random = np.random.default_rng(seed)
    latent = random.standard_normal((N, 5))

    def table(width):
        return latent @ random.standard_normal((5, width)) + random.standard_normal((N, width))

    return table(p), {"responses": table(2), "table": table(p)}


def measure(columns, limit, repeats, say=print):
    """Seconds of each task for each number of columns; tasks that ended at the limit or by an error have no more."""
    found: dict[Task, dict[int, float]] = {task: {} for task in tasks()}
    ended: dict[Task, str] = {}
    for p in columns:
        X, second = make(p)
        for task, times in found.items():
            if task in ended:
                continue
            outcomes = []
            while len(outcomes) < repeats:
                outcomes.append(run_limited(partial(partial, task.call, X, second), limit=limit))
                if outcomes[-1].seconds is None or outcomes[-1].seconds > 1.0:
                    break
            if outcomes[-1].seconds is None:
                ended[task] = f"D = {p:,}: {outcomes[-1].stopped or outcomes[-1].error}"
            else:
                times[p] = min(o.seconds for o in outcomes)
        say(f"D = {p:,}")
    return found, ended


def slope(times):
    """The slope of log time against log D over the last factor of ten; None for fewer than two points."""
    last = max(times, default=0)
    points = [(np.log(p), np.log(seconds)) for p, seconds in times.items() if 10 * p >= last]
    return float(np.polyfit(*zip(*points, strict=True), 1)[0]) if len(points) > 1 else None


def table(found, ended, columns):
    head = ["task", *(f"{p:,}" for p in columns), "slope", "ended at"]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(columns) + 1) + " --- |"]
    for task, times in found.items():
        steep = slope(times)
        cells = [duration(times[p]) if p in times else "" for p in columns]
        cells = [f"{task.model}, {task.work}", *cells, "" if steep is None else f"{steep:.2f}", ended.get(task, "")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(found, figure):
    """One panel for each kind of work, with a dotted line of slope 1."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "lowdim"  # the same file for the same numbers
    works = list(dict.fromkeys(task.work for task in found))
    fig, axes = plt.subplots(1, len(works), figsize=(11, 3.6), sharey=True)
    for ax, work in zip(axes, works, strict=True):
        for task, times in found.items():
            if task.work == work and times:
                ax.loglog(list(times), list(times.values()), "o-", markersize=3, label=task.model)
        lowest = min((min(t.values()) for task, t in found.items() if task.work == work and t), default=1e-3)
        line = np.array([1_000, 100_000])
        ax.loglog(line, lowest * line / line[0], "k:", linewidth=1, label="slope 1")
        ax.set_title(work, fontsize=10)
        ax.set_xlabel("columns D")
    axes[0].set_ylabel("seconds")
    axes[0].legend(fontsize=8)
    fig.suptitle(f"N = {N} rows, K = {K}, one core; {FOLDS} folds, {DRAWS} draws", fontsize=10)
    fig.tight_layout(pad=0.5)
    fig.savefig(figure, metadata={"Date": None})


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against_columns", description=__doc__.split("\n\n")[0])
    parser.add_argument("--most", type=int, default=max(COLUMNS), help="the largest number of columns")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a call may take (30)")
    parser.add_argument("--repeats", type=int, default=3, help="calls below a second are repeated, the shortest counts")
    parser.add_argument("--write", action="store_true", help="write the table into README.md, and draw the figure")
    args = parser.parse_args(arguments)
    columns = [p for p in COLUMNS if p <= args.most]
    found, ended = measure(columns, args.limit, args.repeats)
    text = table(found, ended, columns)
    print(text)
    if args.write:
        write("columns", "python -m benchmarks.against_columns --write", text)
        draw(found, FIGURE)


if __name__ == "__main__":
    main()
