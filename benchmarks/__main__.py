"""Run the cases or groups of cases named on the command line, or all cases, and print a table of each group."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from benchmarks import front
from benchmarks.categories import CASES as CATEGORIES
from benchmarks.engines import CASES as ENGINES
from benchmarks.files import CASES as FILES
from benchmarks.harness import measure, peak_extra_bytes
from benchmarks.ica import CASES as ICA
from benchmarks.kernels import CASES as KERNELS
from benchmarks.latent import CASES as LATENT
from benchmarks.odd import CASES as ODD
from benchmarks.page import table, write
from benchmarks.pca import CASES as PCA
from benchmarks.results import Results, this_run
from benchmarks.selection import CASES as SELECTION
from benchmarks.sparse_tables import CASES as SPARSE
from benchmarks.tables import CASES as TABLES
from benchmarks.wide import CASES as WIDE
from benchmarks.wide_factors import CASES as WIDE_FACTORS

#: Groups of cases, which the command line takes like names of cases. Each has its table on the page.
GROUPS = {
    "large": [*PCA, *LATENT, *TABLES, *KERNELS, *ICA, *SELECTION],
    "unusual": [*WIDE, *WIDE_FACTORS, *SPARSE, *ODD],
    "categories": CATEGORIES,
    "files": FILES,
    "engines": ENGINES,
}
COMMAND = "python -m benchmarks {group} --write"
CASES = [case for group in GROUPS.values() for case in group]
BY_NAME = {case.name: case for case in CASES}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = [*GROUPS, *BY_NAME]
    parser.add_argument("cases", nargs="*", metavar="case", help=f"any of: {', '.join(names)}; all by default")
    parser.add_argument("--repeats", type=int, default=5, help="timed rounds (default 5)")
    parser.add_argument("--no-memory", action="store_true", help="do not measure the peak memory")
    parser.add_argument("--write", action="store_true", help="keep the results, and rewrite the tables of the pages")
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
    if args.write and (args.no_memory or args.repeats < 5):
        parser.error("--write needs memory, and at least 5 repeats")

    run, results = this_run(args.repeats), Results()
    for group, members in GROUPS.items():
        chosen = [case for case in members if not args.cases or group in args.cases or case.name in args.cases]
        for case in chosen:
            if missing := [package for package in case.needs if find_spec(package) is None]:
                progress(f"{case.name}: left out, because {', '.join(missing)} is not installed")
                continue
            measurements = measure(case, args.repeats, not args.no_memory, say=progress)
            results.store(case.name, measurements, run, keep=args.write)
        if chosen:
            print(table([case for case in chosen if case.name in results], results) + "\n")
    if args.write:
        write_tables(results)


def write_tables(results):
    """Write the tables of all groups into benchmarks/README.md, and the comparison on the front page."""
    for group in GROUPS:
        write(group, COMMAND.format(group=group), table_of(group, results))
    front.write(results, BY_NAME)


def table_of(group, results):
    """The table of the cases of a group that have been measured."""
    return table([case for case in GROUPS[group] if case.name in results], results)


def progress(text):
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
