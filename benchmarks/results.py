"""What was measured: benchmarks/results.json, from which the tables of the pages are written.

The file has two parts: `runs`, each with its date, machine, versions of packages and number of rounds, and `cases`,
each with the number of its run and a row for each contender. A case that is measured again replaces its former rows.
"""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.harness import Measurement

FILE = Path(__file__).parent / "results.json"
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
    "dask",
    "dask-ml",
    "pyspark",
]


class Results:
    """The content of the file."""

    def __init__(self, file=FILE):
        self.file = file
        content = json.loads(file.read_text()) if file.exists() else {"runs": {}, "cases": {}}
        self.runs, self.cases = content["runs"], content["cases"]

    def __contains__(self, name):
        return name in self.cases

    def measurements(self, name):
        """The rows of a case."""
        return [Measurement(**{**row, **_without_none(row)}) for row in self.cases[name]["rows"]]

    def store(self, name, measurements, run, keep=True):
        """Put the measurements of a case, made in this run, in place of earlier ones; `keep` writes the file."""
        number = next((n for n, known in self.runs.items() if known == run), None)
        if number is None:
            number = str(1 + max(map(int, self.runs), default=0))
            self.runs[number] = run
        self.cases[name] = {"run": number, "rows": [_plain(asdict(m)) for m in measurements]}
        used = {case["run"] for case in self.cases.values()}
        self.runs = {n: r for n, r in self.runs.items() if n in used}
        if keep:
            self.file.write_text(json.dumps({"runs": self.runs, "cases": self.cases}, indent=1) + "\n")

    def settings(self, names):
        """Sentences on the runs in which these cases were measured: which cases, when, where, with which versions."""
        numbers = sorted({self.cases[name]["run"] for name in names}, key=int)
        lines = []
        for number in numbers:
            run = self.runs[number]
            which = ", ".join(f"{package} {v}" for package, v in run["packages"].items())
            lines.append(
                f"{run['cores']} cores of {run['processor']}, {run['date']}; medians of {run['repeats']}. "
                f"Python {run['python']}, {which}."
            )
            if len(numbers) > 1:
                measured = (name for name in names if self.cases[name]["run"] == number)
                lines[-1] += f" Cases: {', '.join(measured)}.\n"
        return lines

    def when(self, names):
        """A sentence on the days and machines on which these cases were measured."""
        runs = [self.runs[self.cases[name]["run"]] for name in names]
        machines = sorted({f"{run['cores']} cores of {run['processor']}" for run in runs})
        days = sorted({run["date"] for run in runs})
        between = f"on {days[0]}" if len(days) == 1 else f"between {days[0]} and {days[-1]}"
        return f"Measured on {' and '.join(machines)} {between}."


def this_run(repeats):
    """Date, machine and versions of the present run."""
    return {
        "date": str(datetime.date.today()),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": _processor(),
        "repeats": repeats,
        "python": platform.python_version(),
        "packages": dict(_versions()),
    }


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _versions():
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            yield package, "not installed"


def _plain(row):
    """A row for JSON, which has no NaN."""
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}


def _without_none(row):
    """The times of a stopped call, which are NaN in a measurement."""
    return {key: float("nan") for key in ("seconds", "ratio") if row[key] is None}
