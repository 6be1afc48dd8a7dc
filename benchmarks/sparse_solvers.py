"""What "auto" costs for sparse rows, beside the quickest of the solvers that it chooses from.

    python -m benchmarks.sparse_solvers --write

The grid crosses densities, shapes, numbers of components, dtypes and two kinds of rows: entries of noise, whose
eigenvalues lie close together, and counts of eight groups of rows, whose first eigenvalues stand out. Times are
processor times of one thread, so that other work of the machine matters little.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

import lowdim
from benchmarks.clock import shortest
from benchmarks.page import duration, write

KINDS = ("noise", "counts")
SHAPES = ((1_500, 2_000), (20_000, 600), (20_000, 1_500))
DENSITIES = (0.003, 0.02, 0.1, 0.25)
COMPONENTS = (5, 50)
DTYPES = ("float32", "float64")
SOLVERS = ("covariance", "gram", "krylov")


def rows(kind, shape, density, dtype, seed=0):
    """Sparse rows of one of the two kinds; counts may repeat a column, so that their density is somewhat lower."""
    n, p = shape
    random = np.random.default_rng(seed)
    if kind == "noise":
        X = sparse.random_array(shape, density=density, rng=random, data_sampler=random.standard_normal, format="csr")
        return X.astype(dtype)
    often = 1.0 / np.arange(1, p + 1) ** 0.7
    columns = [
        random.choice(p, (n // 8, max(1, int(1.3 * density * p))), p=each / each.sum())
        for each in (random.permutation(often) for _ in range(8))
    ]
    columns = np.concatenate(columns)
    X = sparse.csr_array((np.ones(columns.size), columns.ravel(), np.arange(len(columns) + 1) * columns.shape[1]))
    X.sum_duplicates()
    return X.astype(dtype)


def times(X, k):
    """Seconds of each solver that suits the shape, and the name of the one that "auto" takes."""
    n, p = X.shape
    tried = [name for name in SOLVERS if name != "gram" or n < p]
    chosen = lowdim.plan(lowdim.PCA(k), X).solver.name
    return {name: shortest(lambda name=name: lowdim.PCA(k, solver=name).fit(X), 2, 0.5) for name in tried}, chosen


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sparse_solvers", description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", action="store_true", help="write the table into benchmarks/README.md")
    args = parser.parse_args()
    lines, ratios = [], []
    with threadpool_limits(1):
        for kind, shape, density, k, dtype in product(KINDS, SHAPES, DENSITIES, COMPONENTS, DTYPES):
            found, chosen = times(rows(kind, shape, density, dtype), k)
            best = min(found, key=found.get)
            ratios.append(found[chosen] / found[best])
            cells = [kind, f"{shape[0]:,} x {shape[1]:,}", f"{density:.1%}", str(k), dtype]
            cells += [duration(found[name]) if name in found else "" for name in SOLVERS]
            lines.append("| " + " | ".join([*cells, chosen, f"{ratios[-1]:.2f}"]) + " |")
            print(lines[-1], file=sys.stderr, flush=True)
    worst = sorted(zip(ratios, lines, strict=True), reverse=True)[:12]
    head = ["rows", "shape", "stored", "K", "dtype", *SOLVERS, "auto", "auto / quickest"]
    text = "\n".join(
        [
            f"{len(ratios)} cases: auto took the quickest solver in {sum(r == 1.0 for r in ratios)}, at most 1.3 times "
            f"its time in {sum(r <= 1.3 for r in ratios)}, and {max(ratios):.2f} times in the worst. The twelve worst:",
            "",
            "| " + " | ".join(head) + " |",
            "| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | --- | ---: |",
            *(line for _, line in worst),
        ]
    )
    print(text)
    if args.write:
        write("sparse-solvers", "python -m benchmarks.sparse_solvers --write", text)


if __name__ == "__main__":
    main()
