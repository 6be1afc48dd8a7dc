"""The comparison with other libraries on the front page, README.md, from what benchmarks/results.json holds.

Every case in which another library was measured is part of it, so that no choice of cases can flatter anybody.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import page

README = Path(__file__).parents[1] / "README.md"
COMMAND = "python -m benchmarks --write"
#: Rows of the table: the task in words, and its cases.
TASKS = {
    "PCA of arrays": "tall float32 offset wide decay-2000 decay-5000 small transform fit-transform tall-in-turn "
    "tall-shared",
    "PCA of sparse matrices": "sparse sparse-flat",
    "PCA of streams and files": "stream parquet-peers",
    "PCA of rows in Dask": "engine-dask-threads engine-dask-workers",
    "PCA of rows in Spark": "engine-spark",
    "Held-out likelihood of PCA, for every number of components": "cv-likelihood wide-cv-pca",
    "Factor analysis": "factors factors-easy factors-500 factors-500-easy factors-5x500 factors-5x3000 factors-50x200 "
    "factors-noise factors-wide factors-all factors-cov",
    "Number of factors, by cross-validation": "factors-cv",
    "Bootstrap of factor analysis": "factors-bootstrap",
    "Filling missing entries": "missing",
    "ICA": "ica-laplace ica-mixed ica-hard ica-patches",
    "ICA with uncorrelated sources": "ica-laplace-ortho ica-mixed-ortho ica-hard-ortho ica-patches-ortho",
    "ICA of Gaussian rows, which have no sources to be found": "ica-gaussian ica-gaussian-ortho",
    "Kernel PCA": "kpca-5000 kpca-5000-clusters kpca-5000-float32 kpca-20000",
    "Kernel PCA, approximated by Nystrom's method": "nystrom",
    "PLS": "pls pls-wide",
    "Cross-validation of PLS": "cv-pls wide-cv-pls wide-cv-pls-20000",
    "CCA": "cca cca-weak cca-wide",
    "CCA of three tables": "gcca",
    "MCA of categories": "mca-peers",
}
#: Libraries by how the names of their contenders begin.
LIBRARIES = {
    "scikit-learn-intelex": "scikit-learn-intelex",
    "scikit-learn FastICA": "scikit-learn, FastICA",
    "scikit-learn": "scikit-learn",
    "statsmodels": "statsmodels",
    "R factanal": "R, factanal",
    "picard": "picard",
    "ikpls": "ikpls",
    "cca-zoo": "cca-zoo",
    "dask-ml": "dask-ml",
    "MLlib": "Spark MLlib",
    "prince": "prince",
}


class Comparison(NamedTuple):
    """A case in which another library takes `ratio` times as long as lowdim, with the errors of both."""

    task: str
    library: str
    case: str
    ratio: float
    ours: float | None
    theirs: float | None


def table(results, cases):
    """A row for each task and library, when all was measured, and a row for each case in which the other is faster.

    `cases` has the cases by their names.
    """
    found, rows = list(comparisons(results)), {}
    for c in found:
        rows.setdefault((c.task, c.library), []).append(c)
    lines = ["| task | other library | cases | median | range | error of lowdim | error of the other |"]
    lines += ["| --- | --- | ---: | ---: | ---: | ---: | ---: |"]
    last = ""
    for (task, library), members in rows.items():
        ratios = [c.ratio for c in members]
        cells = [
            task if task != last else "",
            library,
            str(len(members)),
            digits(median(ratios)),
            f"{digits(min(ratios))} to {digits(max(ratios))}" if len(ratios) > 1 else "",
            page.error(largest(c.ours for c in members)),
            page.error(largest(c.theirs for c in members)),
        ]
        lines.append("| " + " | ".join(cells) + " |")
        last = task
    faster = sorted((c for c in found if c.ratio < 1), key=lambda c: c.ratio)
    when = results.when([c.case for c in found])
    lines += ["", f"{when} In {len(faster)} of these {len(found)} comparisons, the other library is faster:"]
    lines += ["", "| case | other library | ratio | error of lowdim | error of the other |"]
    lines += ["| --- | --- | ---: | ---: | ---: |"]
    for c in faster:
        work = cases[c.case].work.split(";")[0]
        cells = [work, c.library, digits(c.ratio), page.error(c.ours), page.error(c.theirs)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def comparisons(results):
    """The comparisons of all cases. If a library has several ways to do the same, the fastest one counts."""
    for task, names in TASKS.items():
        for case in names.split():
            ours, *others = results.measurements(case)
            errors = numbers([ours.error, *(m.error for m in others)])
            seen = set()
            for m, error in sorted(zip(others, errors[1:], strict=True), key=lambda pair: pair[0].ratio):
                library = library_of(m.contender)
                if library and library not in seen and not m.stopped:
                    seen.add(library)
                    yield Comparison(task, library, case, m.ratio, errors[0], error)


def largest(errors):
    """The largest of the errors that are known."""
    return max((error for error in errors if error is not None), default=None)


def library_of(contender):
    """The library of a contender, or None for lowdim itself and for bare products."""
    return next((library for start, library in LIBRARIES.items() if contender.startswith(start)), None)


def numbers(errors):
    """Errors as numbers, or None; for log-likelihoods, how far each is below the best one.

    >>> numbers([1e-9, None])
    [1e-09, None]
    >>> numbers(["3e-07; -12.5", "2e-07; -12.25", ""])
    [0.25, 0.0, None]
    """

    def likelihood(error):
        try:
            return float(error.split(";")[-1])
        except (AttributeError, ValueError):
            return None

    likelihoods = [likelihood(error) for error in errors]
    best = max((value for value in likelihoods if value is not None), default=math.nan)
    return [
        error if isinstance(error, float) else None if value is None else best - value
        for error, value in zip(errors, likelihoods, strict=True)
    ]


def digits(ratio):
    """A ratio with two digits.

    >>> digits(0.262), digits(1.254), digits(16.67), digits(1678.7)
    ('0.26', '1.3', '17', '1,700')
    """
    rounded = float(f"{ratio:.2g}")
    return f"{rounded:.2f}" if ratio < 1 else f"{rounded:.1f}" if rounded < 10 else f"{rounded:,.0f}"


def write(results, cases):
    """Write the table into README.md."""
    page.write("peers", COMMAND, table(results, cases), README)
