"""The comparison with other libraries on the front page, README.md, from what benchmarks/results.json holds."""

from __future__ import annotations

from pathlib import Path

from benchmarks import page

README = Path(__file__).parents[1] / "README.md"
COMMAND = "python -m benchmarks --write"
#: Rows of the table: the task in words, the case, and the contenders that lowdim is compared with.
ROWS = [
    ("PCA of 200,000 x 256 numbers", "tall", ["scikit-learn auto"]),
    ("the same, with columns around 10,000,000", "offset", ["scikit-learn auto"]),
    ("PCA of 500 x 20,000", "wide", ["scikit-learn auto"]),
    ("PCA of 20,000 x 2,000, 50 components", "decay-2000", ["scikit-learn randomized"]),
    ("PCA of sparse 50,000 x 20,000", "sparse", ["scikit-learn arpack"]),
    ("PCA of a stream of 200,000 x 256", "stream", ["scikit-learn IncrementalPCA"]),
    ("Factor analysis of 50,000 x 100", "factors", ["scikit-learn"]),
    ("the same, with larger uniquenesses", "factors-easy", ["scikit-learn"]),
    (
        "20% missing entries of 20,000 x 100 filled",
        "missing",
        ["statsmodels fill-em", "scikit-learn IterativeImputer, once"],
    ),
    ("ICA of 100,000 x 40", "ica-mixed", ["picard"]),
    ("Kernel PCA of 20,000 x 20", "kpca-20000", ["scikit-learn, arpack"]),
    ("PLS of 10,000 x 500, 3 responses", "pls", ["scikit-learn", "ikpls algorithm 2"]),
    (
        "PLS cross-validated, 10 folds, 1 to 20 components, 20,000 x 400",
        "cv-pls",
        ["scikit-learn cross_validate for each K", "ikpls, fast cross-validation, one job"],
    ),
    ("CCA of 20,000 x (100 + 80)", "cca", ["scikit-learn (one call)", "cca-zoo CCA"]),
    ("the same, with ten times the noise", "cca-weak", ["scikit-learn (one call)", "cca-zoo CCA"]),
]
#: Names of contenders on the front page, where those of the full tables say more than is needed.
NAMES = {
    "scikit-learn auto": "scikit-learn",
    "scikit-learn randomized": "scikit-learn, randomized",
    "scikit-learn arpack": "scikit-learn, ARPACK",
    "scikit-learn, arpack": "scikit-learn, ARPACK",
    "scikit-learn IncrementalPCA": "scikit-learn, IncrementalPCA",
    "scikit-learn IterativeImputer, once": "scikit-learn, IterativeImputer",
    "scikit-learn (one call)": "scikit-learn",
    "scikit-learn cross_validate for each K": "scikit-learn",
    "statsmodels fill-em": "statsmodels",
    "ikpls algorithm 2": "ikpls",
    "ikpls, fast cross-validation, one job": "ikpls",
    "cca-zoo CCA": "cca-zoo",
}


def table(results):
    """The table: for each task the time of lowdim, and of others how many times as long they take; errors of both."""
    lines = ["| task | lowdim | the other library | takes | error of lowdim | error of the other |"]
    lines += ["| --- | ---: | --- | ---: | ---: | ---: |"]
    for words, case, others in ROWS:
        measured = {m.contender: m for m in results.measurements(case)}
        ours = next(iter(measured.values()))
        for first, other in zip([True, *[False] * len(others)], others, strict=False):
            theirs = measured[other]
            cells = [
                words if first else "",
                page.duration(ours.seconds) if first else "",
                NAMES.get(other, other),
                f"{times(theirs.ratio)} as long",
                error(ours) if first else "",
                error(theirs),
            ]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def error(measurement):
    """The error as text; of ICA the gradient alone, without the log-likelihood."""
    return page.error(measurement.error).split(";")[0]


def times(ratio):
    """A ratio in words, with two digits.

    >>> times(1.254), times(16.67), times(678.7)
    ('1.3 times', '17 times', '680 times')
    """
    digits = f"{float(f'{ratio:.2g}'):.1f}" if ratio < 10 else f"{float(f'{ratio:.2g}'):.0f}"
    return f"{digits} times"


def write(results):
    """Write the table into README.md."""
    page.write("peers", COMMAND, table(results), README)
