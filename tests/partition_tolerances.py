"""How much the partitions of a Dask array may change a result: the table of docs/dask.md.

`python tests/partition_tolerances.py` measures the differences again, and writes them into the page. A test compares
the tolerances of the page with these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import ICA, PCA, PPCA, FactorAnalysis, KernelPCA
from lowdim.solvers import EM
from page_tables import PageTable, number
from partitions import ENGINES, separate_parts

TABLE = PageTable("dask.md", "partitions", "partition_tolerances.py")
#: Numbers of partitions.
PARTITIONS = (1, 3, 17)


@dataclass(frozen=True)
class Case:
    """A model that draws random numbers or iterates, the attribute that is compared, and the largest difference
    relative to its largest entry."""

    make: Callable[[], Any]
    attribute: str
    tolerance: float
    incomplete: bool = False


def _kernel_pca(solver: str) -> KernelPCA:
    return KernelPCA(2, kernel="rbf", solver=solver, random_state=0)


def _ica(solver: str) -> ICA:
    return ICA(5, solver=solver, random_state=0, tol=1e-9)


CASES: dict[str, Case] = {
    "PCA, `krylov`": Case(lambda: PCA(2, solver="krylov", random_state=0), "components_", 1e-13),
    "PPCA, rows with missing entries": Case(lambda: PPCA(2, solver=EM(tol=1e-6)), "loadings_", 1e-13, incomplete=True),
    "Factor analysis": Case(lambda: FactorAnalysis(2), "loadings_", 1e-13),
    "ICA, `quasi-newton`": Case(lambda: _ica("quasi-newton"), "components_", 1e-13),
    "ICA, `fixed-point`": Case(lambda: _ica("fixed-point"), "components_", 1e-12),
    "Kernel PCA, `nystrom`": Case(lambda: _kernel_pca("nystrom"), "explained_variance_", 1e-12),
    "Kernel PCA, `fourier`": Case(lambda: _kernel_pca("fourier"), "explained_variance_", 1e-13),
}


def differences() -> dict[str, float]:
    """For each case, the largest difference between fits with several numbers of partitions, with all signs and the
    order as they are. Small partitions are not joined, which would make one part of all of them."""
    import dask.array as da

    rng = np.random.default_rng(1)
    rows = rng.laplace(size=(1200, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0] @ np.linalg.qr(rng.standard_normal((5, 5)))[0] + 3.0
    incomplete = np.where(rng.random(rows.shape) < 0.1, np.nan, rows)
    found = {}
    with separate_parts(ENGINES["Dask"]):
        for name, case in CASES.items():
            table = incomplete if case.incomplete else rows
            cut = (da.from_array(table, chunks=(-(-len(table) // n), -1)) for n in PARTITIONS)
            first, *others = (getattr(case.make().fit(each), case.attribute) for each in cut)
            found[name] = max(float(np.abs(other - first).max() / np.abs(first).max()) for other in others)
    return found


def write() -> None:
    """Measure the differences, and replace the table of the page."""
    measured = differences()
    rows = [
        [name, f"`{case.attribute}`", number(case.tolerance), number(measured[name])] for name, case in CASES.items()
    ]
    TABLE.write(["model", "compared", "allowed", "measured"], rows, numbers=2)


if __name__ == "__main__":
    write()
