"""Run the cases or groups of cases named on the command line, or all cases, and print a table of each group."""

from __future__ import annotations

import argparse
import datetime
import math
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from benchmarks.files import CASES as FILES
from benchmarks.harness import measure, peak_extra_bytes
from benchmarks.ica import CASES as ICA
from benchmarks.kernels import CASES as KERNELS
from benchmarks.latent import CASES as LATENT
from benchmarks.odd import CASES as ODD
from benchmarks.page import duration, write
from benchmarks.pca import CASES as PCA
from benchmarks.selection import CASES as SELECTION
from benchmarks.sparse_tables import CASES as SPARSE
from benchmarks.tables import CASES as TABLES
from benchmarks.wide import CASES as WIDE
from benchmarks.wide_factors import CASES as WIDE_FACTORS

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
    "pyarrow",
    "dask-ml",
]
#: Groups of cases, which the command line takes like names of cases. Each has its table on the page.
GROUPS = {
    "large": [*PCA, *LATENT, *TABLES, *KERNELS, *ICA, *SELECTION],
    "unusual": [*WIDE, *WIDE_FACTORS, *SPARSE, *ODD],
    "files": FILES,
}
CASES = [case for group in GROUPS.values() for case in group]
BY_NAME = {case.name: case for case in CASES}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [*GROUPS, *BY_NAME]
    parser.add_argument("cases", nargs="*", metavar="case", help=f"any of: {', '.join(names)}; all by default")
    parser.add_argument("--repeats", type=int, default=5, help="timed rounds (default 5)")
    parser.add_argument("--no-memory", action="store_true", help="do not measure the peak memory")
    parser.add_argument("--write", action="store_true", help="write the tables of groups into benchmarks/README.md")
    parser.add_argument("--memory", nargs=2, metavar=("CASE", "CONTENDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()

    if args.memory:
        case = BY_NAME[args.memory[0]]
        contender = next(c for c in case.contenders if c.name == args.memory[1])
        print(peak_extra_bytes(case, contender))
        return
    unknown = [name for name in args.cases if name not in names]
    if unknown:
        parser.error(f"no case {', '.join(unknown)}; choose from {', '.join(names)}")
    if args.write and (set(args.cases) - set(GROUPS) or args.no_memory or args.repeats < 5):
        parser.error("--write needs whole groups, with memory, at least 5 repeats")

    for group, members in GROUPS.items():
        chosen = [case for case in members if not args.cases or group in args.cases or case.name in args.cases]
        if not chosen:
            continue
        lines = table_head()
        for case in chosen:
            lines += table_rows(case, measure(case, args.repeats, not args.no_memory, say=progress))
        text = "\n".join([*machine(args.repeats), "", *lines])
        print(text + "\n")
        if args.write and chosen == members:
            write(group, f"python -m benchmarks {group} --write", text)


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
