"""Fits on a GPU beside the bare products that they need, and beside what others offer on the same device.

python -m benchmarks.gpu            # torch; prints the tables of benchmarks/gpu.md
python -m benchmarks.gpu cupy       # CuPy

It needs a device of CUDA. Rows are on the device before the clock starts. The limit is the time of the bare products,
on the same rows, in the same run. The error is the largest relative difference from a fit in float64. A short loop in
plain Python is timed before each row: it tells how fast the host was then, which prepares the work of the device.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowdim import CCA, ICA, PCA, PPCA, FactorAnalysis, KernelPCA, PLSRegression, Whitening
from lowdim._core.arrays import to_numpy

#: How many calls are timed, after one that is not.
REPEATS = 7


class Torch:
    """What is timed with torch."""

    name = "torch"

    def __init__(self) -> None:
        import torch

        self.xp = torch
        self.title = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
        torch.manual_seed(0)

    def normal(self, *shape: int) -> Any:
        return self.xp.randn(*shape, device="cuda")

    def uniform(self, *shape: int) -> Any:
        return self.xp.rand(*shape, device="cuda")

    def wide(self, x: Any) -> Any:
        return x.double()

    def wait(self) -> None:
        self.xp.cuda.synchronize()

    def peak(self, call: Callable[[], Any]) -> int:
        """The memory that a call takes beside what is there."""
        self.xp.cuda.empty_cache()
        before = self.xp.cuda.memory_allocated()
        self.xp.cuda.reset_peak_memory_stats()
        call()
        self.wait()
        return int(self.xp.cuda.max_memory_allocated() - before)

    def kernel_matrix(self, X: Any) -> Any:
        return self.xp.exp(-(self.xp.cdist(X, X) ** 2))

    def peers(self, X: Any, k: int) -> dict[str, Callable[[], Any]]:
        """Ways to the k largest eigenvalues of a covariance."""
        torch, n = self.xp, X.shape[0]

        def by_hand() -> Any:
            Z = X - X.mean(0)
            return torch.linalg.eigvalsh(Z.T @ Z).flip(0)[:k] / (n - 1)

        return {
            "torch.pca_lowrank": lambda: torch.pca_lowrank(X, k)[1] ** 2 / (n - 1),
            "torch.svd_lowrank": lambda: torch.svd_lowrank(X - X.mean(0), k)[1] ** 2 / (n - 1),
            "torch, by hand": by_hand,
        }


class CuPy:
    """What is timed with CuPy."""

    name = "cupy"

    def __init__(self) -> None:
        import cupy

        self.xp = cupy
        name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
        self.title = f"{name}, CuPy {cupy.__version__}"
        self.random = cupy.random.default_rng(0)

    def normal(self, *shape: int) -> Any:
        return self.random.standard_normal(shape, dtype=self.xp.float32)

    def uniform(self, *shape: int) -> Any:
        return self.random.random(shape, dtype=self.xp.float32)

    def wide(self, x: Any) -> Any:
        return x.astype(self.xp.float64)

    def wait(self) -> None:
        self.xp.cuda.runtime.deviceSynchronize()

    def peak(self, call: Callable[[], Any]) -> None:
        """CuPy does not tell how much memory a call took at most."""

    def kernel_matrix(self, X: Any) -> Any:
        squares = (X * X).sum(axis=1)
        return self.xp.exp(2 * X @ X.T - squares - squares[:, None])

    def peers(self, X: Any, k: int) -> dict[str, Callable[[], Any]]:
        """Ways to the k largest eigenvalues of a covariance."""
        cupy, n = self.xp, X.shape[0]

        def by_hand() -> Any:
            Z = X - X.mean(axis=0)
            return cupy.linalg.eigvalsh(Z.T @ Z)[::-1][:k] / (n - 1)

        found = {"cupy, by hand": by_hand}
        try:
            import cuml
        except ImportError:
            return found
        return found | {"cuML": lambda: cuml.PCA(n_components=k).fit(X).explained_variance_}


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    work: str
    #: Makes the tables; X is the first of them.
    make: Callable[[Any], list[Any]]
    call: Callable[..., Any]
    #: The bare products, or None.
    bare: Callable[..., Any] | None
    #: What is compared with a call in float64, or None.
    compared: Callable[[Any], Any] | None
    #: Milliseconds that are asked for.
    target: float
    #: Whether the rows are float64.
    wide: bool = False


def rows(lib: Any, n: int, p: int) -> Any:
    """Twenty strong directions and noise, not centred."""
    B = lib.normal(20, p) * (1.0 + lib.xp.arange(20, dtype=lib.xp.float32, **_on(lib))[:, None] / 4)
    X = lib.xp.empty((n, p), dtype=lib.xp.float32, **_on(lib))
    for i in range(0, n, 500_000):
        m = min(500_000, n - i)
        X[i : i + m] = lib.normal(m, 20) @ B + lib.normal(m, p) + 5.0
    return X


def _on(lib: Any) -> dict[str, Any]:
    return {"device": "cuda"} if lib.name == "torch" else {}


def product(X: Any, *others: Any) -> Any:
    return X.T @ X


def variances(model: Any) -> Any:
    return model.explained_variance_


def halves(lib: Any, n: int, p: int, q: int) -> list[Any]:
    X = rows(lib, n, p)
    return [X[:, :q], X[:, q:]]


def with_missing(lib: Any, n: int, p: int) -> list[Any]:
    X = rows(lib, n, p)
    X[lib.uniform(n, p) < 0.2] = float("nan")
    return [X]


def both_products(X: Any, Y: Any) -> Any:
    return X.T @ X, X.T @ Y, Y.T @ Y


def cases(lib: Any) -> list[Case]:
    def made(n: int, p: int) -> Callable[[Any], list[Any]]:
        return lambda lib: [rows(lib, n, p)]

    def read(X: Any) -> Any:
        return X.sum()

    def transform(X: Any) -> Any:
        key = id(X)
        if key not in fitted:
            fitted.clear()
            fitted[key] = PCA(16).fit(X)
        return fitted[key].transform(X)

    def mixed(lib: Any) -> list[Any]:
        return [lib.uniform(1_000_000, 32) @ lib.normal(32, 32)]

    fitted: dict[int, Any] = {}
    millions = made(2_000_000, 256)
    return [
        Case("PCA(16), 8,000,000 x 256", made(8_000_000, 256), lambda X: PCA(16).fit(X), product, variances, 29),
        Case("transform to 16, 8,000,000 x 256", made(8_000_000, 256), transform, read, None, 5),
        Case("PCA(16), 2,000,000 x 256", millions, lambda X: PCA(16).fit(X), product, variances, 9),
        Case("PCA(16), 2,000,000 x 256, float64", millions, lambda X: PCA(16).fit(X), product, variances, 9, True),
        Case("Whitening(n_components=16), the same", millions, _whiten, product, variances, 9),
        Case("PPCA(16), the same", millions, lambda X: PPCA(16).fit(X), product, variances, 9),
        Case("FactorAnalysis(10), the same", millions, lambda X: FactorAnalysis(10).fit(X), product, _noise, 60),
        Case(
            "CCA(10), 2,000,000 x (128, 128)",
            lambda lib: halves(lib, 2_000_000, 256, 128),
            lambda X, Y: CCA(10).fit(X, Y),
            both_products,
            lambda model: model.correlations_,
            12,
        ),
        Case(
            "PLSRegression(10), 2,000,000 x (250, 6)",
            lambda lib: halves(lib, 2_000_000, 256, 250),
            lambda X, Y: PLSRegression(10).fit(X, Y),
            both_products,
            lambda model: model.coef_,
            12,
        ),
        Case("PCA(10), 500 x 200,000", made(500, 200_000), lambda X: PCA(10).fit(X), _wide_product, variances, 8),
        Case("ICA(), 1,000,000 x 32", mixed, lambda X: ICA(random_state=0).fit(X), product, None, 20),
        Case(
            'KernelPCA(10, kernel="rbf"), 20,000 x 20',
            made(20_000, 20),
            lambda X: KernelPCA(10, kernel="rbf").fit(X),
            lib.kernel_matrix,
            variances,
            25,
        ),
        Case(
            "PPCA(10), 100,000 x 100, 20% missing",
            lambda lib: with_missing(lib, 100_000, 100),
            lambda X: PPCA(10).fit(X),
            None,
            variances,
            60,
        ),
    ]


def _whiten(X: Any) -> Any:
    return Whitening(n_components=16).fit(X)


def _noise(model: Any) -> Any:
    return model.noise_variance_


def _wide_product(X: Any) -> Any:
    return X @ X.T


def timed(lib: Any, call: Callable[[], Any]) -> tuple[float, Any]:
    """The median time of a call in milliseconds, and its result."""
    found, times = call(), []
    for _ in range(REPEATS):
        lib.wait()
        start = time.perf_counter()
        found = call()
        lib.wait()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times), found


def loop() -> int:
    """A loop in plain Python, which uses nothing but the host."""
    total = 0
    for i in range(5000):
        total += i
    return total


def error(found: Any, exact: Any) -> float:
    """The largest difference, relative to the largest entry of a matrix, or to each of several variances."""
    a, b = (np.asarray(to_numpy(x), dtype=np.float64) for x in (found, exact))
    return float(np.abs(a - b).max() / np.abs(b).max()) if a.ndim > 1 else float(np.abs(a / b - 1).max())


def main(library: str = "torch") -> None:
    warnings.simplefilter("ignore")
    lib = {"torch": Torch, "cupy": CuPy}[library]()
    print(lib.title)
    print("| work | time | bare products | time / bare | error | memory beside the rows | loop on the host | target |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for case in cases(lib):
        tables = case.make(lib)
        if case.wide:
            tables = [lib.wide(table) for table in tables]
        host = timed(lib, loop)[0]
        spent, model = timed(lib, lambda case=case, tables=tables: case.call(*tables))
        bare = None if case.bare is None else timed(lib, lambda case=case, tables=tables: case.bare(*tables))[0]
        memory = lib.peak(lambda case=case, tables=tables: case.call(*tables))
        difference = "-"
        if case.compared is not None:
            exact = case.call(*(lib.wide(table) for table in tables))
            difference = f"{error(case.compared(model), case.compared(exact)):.0e}"
        limits = ["-", "-"] if bare is None else [f"{bare:.1f} ms", f"{spent / bare:.1f}"]
        room = "-" if memory is None else f"{memory / 2**20:.0f} MiB"
        cells = [case.work, f"{spent:.1f} ms", *limits, difference, room, f"{host:.2f} ms", f"{case.target:g} ms"]
        print(f"| {' | '.join(cells)} |", flush=True)
        del tables, model
    print("\n| PCA(16), 2,000,000 x 256 | time | error |\n| --- | ---: | ---: |")
    X = rows(lib, 2_000_000, 256)
    exact = PCA(16).fit(lib.wide(X)).explained_variance_
    for name, call in ({"lowdim": lambda: PCA(16).fit(X).explained_variance_} | lib.peers(X, 16)).items():
        spent, values = timed(lib, call)
        print(f"| {name} | {spent:.1f} ms | {error(values, exact):.0e} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
