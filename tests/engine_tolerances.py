"""How far the result of a model on an engine may be from that of an array: the table of docs/engines.md.

`python tests/engine_tolerances.py` measures the differences again, and writes them into the page; it takes some
minutes. A test compares the tolerances of the page with these.
"""

from __future__ import annotations

from engine_parity import CASES, as_arrays, differences, fit_all
from engine_ways import WAYS
from page_tables import PageTable, number

TABLE = PageTable("engines.md", "differences", "engine_tolerances.py")

#: The largest difference of any entry of any fitted array, and of the scores, relative to the largest entry of that
#: array; by case, for all engines.
TOLERANCES: dict[str, float] = {
    "PCA": 1e-13,
    "PCA, krylov": 1e-13,
    "PCA, triangle": 1e-13,
    "Whitening": 1e-13,
    "PPCA": 1e-13,
    "PPCA, rows with missing entries": 1e-13,
    "FactorAnalysis": 1e-11,
    "FeatureMapPCA": 1e-13,
    "KernelPCA, dense": 1e-13,
    "KernelPCA, nystrom": 1e-10,
    "KernelPCA, fourier": 1e-13,
    "AutoEncoder": 1e-13,
    "ICA": 1e-13,
    "PCR": 1e-13,
    "PLSRegression": 1e-13,
    "PLSCanonical": 1e-13,
    "PLSSVD": 1e-13,
    "CCA": 1e-12,
    "GCCA": 1e-12,
    "KernelCCA": 1e-13,
}


def write() -> None:
    """Measure the differences, and replace the table of the page."""
    expected = fit_all(as_arrays)
    measured = {way: differences(fits(), expected) for way, fits in WAYS.items()}
    rows = []
    for name, case in CASES.items():
        numbers = [TOLERANCES[name], *(measured[way][name] for way in WAYS)]
        where = "brought to your process" if case.gathers else "stay where they are"
        rows.append([name, where, *map(number, numbers)])
    TABLE.write(["model", "rows", "allowed", *WAYS], rows, numbers=1 + len(WAYS))


if __name__ == "__main__":
    write()
