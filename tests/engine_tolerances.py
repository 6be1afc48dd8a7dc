"""How far the result of a model on an engine may be from that of an array: the table of docs/engines.md.

`python tests/engine_tolerances.py` measures the differences again, and writes them into the page; it takes some
minutes. A test compares the tolerances of the page with these.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine_parity import CASES, as_arrays, differences, fit_all
from engine_ways import WAYS

PAGE = Path(__file__).parents[1] / "docs" / "engines.md"
START, END = "<!-- differences: rewritten by `python tests/engine_tolerances.py` -->", "<!-- end of differences -->"

#: The largest difference of any entry of any fitted array, and of the scores, relative to the largest entry of that
#: array; by case, for all engines.
TOLERANCES: dict[str, float] = {
    "PCA": 1e-13,
    "PCA, krylov": 1e-13,
    "PCA, triangle": 1e-13,
    "Whitening": 1e-13,
    "PPCA": 1e-13,
    "PPCA, rows with holes": 1e-13,
    "FactorAnalysis": 1e-11,
    "FeatureMapPCA": 1e-13,
    "KernelPCA, dense": 1e-13,
    "KernelPCA, nystrom": 1e-10,
    "KernelPCA, fourier": 1e-13,
    "ICA": 1e-13,
    "PCR": 1e-13,
    "PLSRegression": 1e-13,
    "PLSCanonical": 1e-13,
    "PLSSVD": 1e-13,
    "CCA": 1e-12,
    "GCCA": 1e-12,
    "KernelCCA": 1e-13,
}


def as_markdown(measured: Mapping[str, Mapping[str, float]]) -> str:
    """The table of the page, from the differences of each case by way."""
    lines = [
        "| " + " | ".join(["model", "rows", "allowed", *WAYS]) + " |",
        "| --- | --- |" + " ---: |" * (1 + len(WAYS)),
    ]
    for name, case in CASES.items():
        numbers = [TOLERANCES[name], *(measured[way][name] for way in WAYS)]
        rows = "brought to your process" if case.gathers else "stay where they are"
        lines.append("| " + " | ".join([name, rows, *map(_number, numbers)]) + " |")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:.0e}" if value else "0"


def table_of_the_page() -> list[list[str]]:
    """The cells of the rows of the table."""
    table = PAGE.read_text(encoding="utf-8").split(START)[1].split(END)[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def write() -> None:
    """Measure the differences, and replace the table of the page."""
    expected = fit_all(as_arrays)
    measured = {way: differences(fits(), expected) for way, fits in WAYS.items()}
    before, rest = PAGE.read_text(encoding="utf-8").split(START)
    PAGE.write_text(f"{before}{START}\n\n{as_markdown(measured)}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    write()
