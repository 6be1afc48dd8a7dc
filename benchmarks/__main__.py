"""Run the cases named on the command line, or all cases, and print one table."""

from __future__ import annotations

import argparse
import datetime
import math
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.harness import measure, peak_extra_bytes
from benchmarks.ica import CASES as ICA
from benchmarks.kernels import CASES as KERNELS
from benchmarks.latent import CASES as LATENT
from benchmarks.odd import CASES as ODD
from benchmarks.pca import CASES as PCA
from benchmarks.selection import CASES as SELECTION
from benchmarks.sparse_tables import CASES as SPARSE
from benchmarks.tables import CASES as TABLES
from benchmarks.wide import CASES as WIDE
from benchmarks.wide_factors import CASES as WIDE_FACTORS

README = Path(__file__).parent / "README.md"
START, END = "<!-- results: rewritten by `python -m benchmarks --write` -->", "<!-- end of results -->"
PACKAGES = [
    "lowdim",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "statsmodels",
    "cca-zoo",
    "ikpls",
    "python-picard",
]
CASES = [*PCA, *LATENT, *TABLES, *KERNELS, *ICA, *SELECTION, *WIDE, *WIDE_FACTORS, *SPARSE, *ODD]
BY_NAME = {case.name: case for case in CASES}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"any of: {', '.join(BY_NAME)}; all by default")
    parser.add_argument("--repeats", type=int, default=5, help="timed rounds (default 5)")
    parser.add_argument("--no-memory", action="store_true", help="do not measure the peak memory")
    parser.add_argument("--write", action="store_true", help="write all results into benchmarks/README.md")
    parser.add_argument("--memory", nargs=2, metavar=("CASE", "CONTENDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()

    if args.memory:
        case = BY_NAME[args.memory[0]]
        contender = next(c for c in case.contenders if c.name == args.memory[1])
        print(peak_extra_bytes(case, contender))
        return
    unknown = [name for name in args.cases if name not in BY_NAME]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; choose from {', '.join(BY_NAME)}")
    if args.write and (args.cases or args.no_memory or args.repeats < 5):
        parser.error("--write needs a complete run: all cases, with memory, at least 5 repeats")

    lines = table_head()
    for case in [BY_NAME[name] for name in args.cases] or CASES:
        lines += table_rows(case, measure(case, args.repeats, not args.no_memory, say=progress))
    text = "\n".join([*machine(args.repeats), "", *lines])
    print(text)
    if args.write:
        before, rest = README.read_text().split(START)
        README.write_text(f"{before}{START}\n\n{text}\n\n{END}{rest.split(END)[1]}")


# ---- The table


def table_head():
    head = ["task", "library", "time", "time / lowdim", "error", "extra memory", "target"]
    return ["| " + " | ".join(head) + " |", "| --- | --- | ---: | ---: | ---: | ---: | --- |"]


def table_rows(case, measurements):
    """One line for each contender; the first line also has the task and the target."""
    lines = []
    for m in measurements:
        cells = [
            "" if lines else case.work,
            m.contender,
            m.stopped or duration(m.seconds),
            "" if math.isnan(m.ratio) else f"{m.ratio:.2f}",
            error(m.error),
            "" if m.extra_bytes is None else size(m.extra_bytes, m.data_bytes),
            "" if lines else case.must_reach,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def error(value):
    """An error as text: a number in few digits, a string as it is."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.0e}" if abs(value) < 0.01 else f"{value:.3f}"


def duration(seconds):
    for unit, factor in [("s", 1), ("ms", 1e3)]:
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def size(extra, of):
    share = f" ({100 * extra / of:.0f}% of X)" if of > 2**20 else ""
    return f"{extra / 2**20:.1f} MiB{share}"


# ---- The machine


def machine(repeats):
    return [
        f"{cores()} cores of {cpu_model()}, {datetime.date.today()}; medians of {repeats}.",
        f"Python {platform.python_version()}, " + ", ".join(f"{p} {v}" for p, v in versions()) + ".",
    ]


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def cpu_model():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions():
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, "not installed"


def progress(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
