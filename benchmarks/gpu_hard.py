"""Hard matrices on a device: the error of each fit beside its time.

python -m benchmarks.gpu_hard                  # torch on CUDA; prints the table of benchmarks/gpu.md
python -m benchmarks.gpu_hard --device cpu --rows 20000

Rows are on the device before the clock starts. Eigenvalues are compared with squared singular values of the same rows
in float64, from which the first row was subtracted; all other results with a fit of the same rows on the host, in
float64. The error is the largest difference, relative to the largest value.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import CCA, PCA, PPCA, FactorAnalysis, Whitening
from lowdim._core.arrays import to_numpy

P, K, REPEATS = 64, 10, 5
#: What eigenvalues must reach, relative to the largest: in float32, and in float64.
FLOAT32, FLOAT64 = 1e-6, 1e-12


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    work: str
    #: Makes the tables, from a generator and a number of rows, in the dtype that is fitted.
    make: Callable[[np.random.Generator, int], list[np.ndarray]]
    model: Any
    #: What is compared.
    compared: Callable[[Any], Any]
    #: The error that is allowed.
    limit: float
    #: Whether it is compared with singular values, and not with a fit on the host.
    singular: bool = True


def with_spectrum(rng: np.random.Generator, n: int, deviations: np.ndarray) -> np.ndarray:
    """Rows whose principal components have these deviations, in random directions, without a mean."""
    p = len(deviations)
    Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return rng.standard_normal((n, p)) * deviations @ Q


def falling(p: int = P) -> np.ndarray:
    """Deviations that fall slowly."""
    return 1.0 + 9.0 / (1.0 + np.arange(p))


def cases() -> list[Case]:
    def narrow(rows: Callable[..., np.ndarray]) -> Callable[[np.random.Generator, int], list[np.ndarray]]:
        return lambda rng, n: [rows(rng, n).astype(np.float32)]

    def wide(rows: Callable[..., np.ndarray]) -> Callable[[np.random.Generator, int], list[np.ndarray]]:
        return lambda rng, n: [rows(rng, n)]

    def times(factor: float, rows: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
        return lambda rng, n: factor * rows(rng, n)

    def centred(rng: np.random.Generator, n: int) -> np.ndarray:
        return with_spectrum(rng, n, falling())

    def large_means(rng: np.random.Generator, n: int) -> np.ndarray:
        X = with_spectrum(rng, n, falling())
        return X + 1e4 * X.std(axis=0) * rng.choice([-1.0, 1.0], P)

    def offsets(rng: np.random.Generator, n: int) -> np.ndarray:
        return with_spectrum(rng, n, falling()) + 1e8

    def large_offsets(rng: np.random.Generator, n: int) -> np.ndarray:
        return 1e3 * with_spectrum(rng, n, falling()) + 1e8

    def graded(rng: np.random.Generator, n: int) -> np.ndarray:
        return with_spectrum(rng, n, np.logspace(0, -12, P)) + 1.0

    def rank_loss(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.standard_normal((n, 20)) @ rng.standard_normal((20, P)) + 5.0

    def ties(rng: np.random.Generator, n: int) -> np.ndarray:
        # Orthogonal columns of equal length: all eigenvalues are equal in pairs.
        Z = rng.standard_normal((n, P))
        Q = np.linalg.qr(Z - Z.mean(axis=0))[0]
        return Q * np.repeat(np.arange(P // 2, 0, -1.0), 2) * np.sqrt(n) + 3.0

    def short(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.standard_normal((200, 20)) * 10.0 @ rng.standard_normal((20, 5000)) + rng.standard_normal(
            (200, 5000)
        )

    def constant(rng: np.random.Generator, n: int) -> np.ndarray:
        X = with_spectrum(rng, n, falling())
        X[:, ::8] = 7.0
        return X

    def incomplete(rng: np.random.Generator, n: int) -> list[np.ndarray]:
        X = with_spectrum(rng, n // 10, np.r_[10.0, 8.0, 6.0, np.ones(P - 3)]) + 1e3
        X[rng.random(X.shape) < 0.2] = np.nan
        return [X]

    def two(rng: np.random.Generator, n: int) -> list[np.ndarray]:
        X = large_means(rng, n)
        return [X, X[:, :K] @ rng.standard_normal((K, K)) + rng.standard_normal((n, K))]

    def eigenvalues(model: Any) -> Any:
        return model.explained_variance_

    def uniquenesses(model: Any) -> Any:
        return model.noise_variance_

    def correlations(model: Any) -> Any:
        return model.correlations_

    pca, every = PCA(K), PCA()
    far, at_1e8 = "means of 1e4 deviations", "offsets of 1e8"
    return [
        Case(f"PCA, float32, {far}", narrow(large_means), pca, eigenvalues, FLOAT32),
        Case(f"PCA, float32, {at_1e8}, deviations of 1e3", narrow(large_offsets), pca, eigenvalues, FLOAT32),
        Case(f"PCA, float64, {far}", wide(large_means), pca, eigenvalues, FLOAT64),
        Case(f"PCA, float64, {at_1e8}", wide(offsets), pca, eigenvalues, FLOAT64),
        Case("PCA, float32, graded spectrum", narrow(graded), every, eigenvalues, FLOAT32),
        Case("PCA, float64, graded spectrum", wide(graded), every, eigenvalues, FLOAT64),
        Case("PCA, float32, rank 20 of 64", narrow(rank_loss), every, eigenvalues, FLOAT32),
        Case("PCA, float64, rank 20 of 64", wide(rank_loss), every, eigenvalues, FLOAT64),
        Case("PCA, float32, eigenvalues in pairs", narrow(ties), every, eigenvalues, FLOAT32),
        Case("PCA, float64, eigenvalues in pairs", wide(ties), every, eigenvalues, FLOAT64),
        Case("PCA, float32, 200 x 5000", narrow(short), pca, eigenvalues, FLOAT32),
        Case("PCA, float64, 200 x 5000", wide(short), pca, eigenvalues, FLOAT64),
        Case("PCA, float32, constant columns", narrow(constant), every, eigenvalues, FLOAT32),
        Case(f"PCA, float32, entries of 1e-30, {far}", narrow(times(1e-30, large_means)), pca, eigenvalues, FLOAT32),
        Case("PCA, float32, entries of 1e30", narrow(times(1e30, centred)), pca, eigenvalues, FLOAT32),
        Case(f"PCA, float64, entries of 1e-30, {far}", wide(times(1e-30, large_means)), pca, eigenvalues, FLOAT64),
        Case(f"PCA, float64, entries of 1e30, {far}", wide(times(1e30, large_means)), pca, eigenvalues, FLOAT64),
        Case(f"Whitening, float32, {far}", narrow(large_means), Whitening(n_components=K), eigenvalues, FLOAT32),
        Case(f"PPCA, float32, {far}", narrow(large_means), PPCA(K), eigenvalues, FLOAT32, singular=False),
        Case("PPCA(3), float64, 20% missing", incomplete, PPCA(3), eigenvalues, 1e-5, singular=False),
        Case(
            f"FactorAnalysis(3), float32, {far}",
            narrow(large_means),
            FactorAnalysis(3),
            uniquenesses,
            1e-4,
            singular=False,
        ),
        Case(f"CCA(5), float64, {far}", two, CCA(5), correlations, 1e-9, singular=False),
    ]


def squared_singular_values(X: np.ndarray, k: int) -> np.ndarray:
    """The k largest eigenvalues of the covariance. Differences from the first row are exact where columns vary little,
    and so is the division by a power of two."""
    unit = 2.0 ** int(np.log2(np.abs(X).max()))
    Z = X.astype(np.float64) / unit
    Z = Z - Z[0]
    Z = Z - Z.mean(axis=0)
    s = np.linalg.svd(Z, compute_uv=False)[:k]
    found: np.ndarray = s**2 / (len(X) - 1) * unit**2
    return found


def fitted(case: Case, tables: list[Any], wait: Callable[[], None]) -> tuple[float, Any]:
    """The median time of a fit in milliseconds, after one that is not timed, and the model."""
    from sklearn.base import clone

    model, times = clone(case.model).fit(*tables), []
    for _ in range(REPEATS):
        wait()
        start = time.perf_counter()
        model = clone(case.model).fit(*tables)
        wait()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times), model


def main() -> None:
    import torch
    from sklearn.base import clone

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=200_000)
    asked = parser.parse_args()
    on_gpu = asked.device.startswith("cuda")
    wait = torch.cuda.synchronize if on_gpu else (lambda: None)
    name = torch.cuda.get_device_name() if on_gpu else asked.device
    warnings.simplefilter("ignore")
    print(f"{name}, torch {torch.__version__}, {asked.rows:,} x {P} unless said otherwise\n")
    print("| work | time | error | allowed | solver |\n| --- | ---: | ---: | ---: | --- |")
    failed = 0
    for case in cases():
        tables = case.make(np.random.default_rng(0), asked.rows)
        there = [torch.from_numpy(table).to(asked.device) for table in tables]
        spent, model = fitted(case, there, wait)
        found = np.asarray(to_numpy(case.compared(model)), dtype=np.float64)
        if case.singular:
            expected = squared_singular_values(tables[0], len(found))
        else:
            host = clone(case.model).fit(*(table.astype(np.float64) for table in tables))
            expected = np.asarray(case.compared(host), dtype=np.float64)
        error = float(np.abs(found - expected).max() / np.abs(expected).max())
        failed += not error <= case.limit
        mark = "" if error <= case.limit else " (too large)"
        cells = [case.work, f"{spent:.1f} ms", f"{error:.0e}{mark}", f"{case.limit:.0e}", model.solver_]
        print(f"| {' | '.join(cells)} |", flush=True)
        del there, model
    print(f"\n{failed} of {len(cases())} errors are larger than allowed.")


if __name__ == "__main__":
    main()
