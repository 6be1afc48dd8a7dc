"""Fits on a GPU beside fits of the same rows on the CPU of the same machine; needs torch, and a device of CUDA.

python -m benchmarks.gpu     # prints the rows of the table in docs/gpus.md
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lowdim import CCA, ICA, PCA, PPCA, KernelPCA, PLSRegression

#: How many fits are timed, after one that is not.
REPEATS = 5


def main() -> None:
    import torch

    warnings.simplefilter("ignore")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {torch.get_num_threads()} CPU threads")
    print("| fit | rows | float32 GPU | CPU | float64 GPU | CPU | difference |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name, shape, make, seen in CASES:
        cells = []
        for dtype in (torch.float32, torch.float64):
            tables = make_tables(name, shape, dtype)
            on_gpu, model = timed(make, lambda tables=tables: tables, torch.cuda.synchronize)
            on_host = [table.cpu().numpy() for table in tables]
            on_cpu, reference = timed(make, lambda on_host=on_host: on_host)
            cells += [f"{1e3 * on_gpu:.0f} ms", f"{1e3 * on_cpu:.0f} ms"]
        found, expected = getattr(model, seen).cpu().numpy(), np.asarray(getattr(reference, seen))
        difference = np.abs(found - expected).max() / np.abs(expected).max()
        print(f"| {name} | {shape[0]:,} x {shape[1]:,} | {' | '.join(cells)} | {difference:.0e} |", flush=True)
    for dtype in (torch.float32, torch.float64):
        host = make_tables("blocks", (1_000_000, 256), dtype)[0].cpu().numpy()
        moved, _ = timed(CASES[0][2], lambda host=host: [copied(host)], torch.cuda.synchronize)
        print(f"PCA(10) of 50 blocks that are copied from the host, {dtype}: {1e3 * moved:.0f} ms")


#: What is fitted: a name, the shape of the rows, the model, and what is compared.
CASES: list[tuple[str, tuple[int, int], Callable[[], Any], str]] = [
    ("PCA(10)", (1_000_000, 256), lambda: PCA(10), "explained_variance_"),
    ("PCA(10), wide", (2_000, 50_000), lambda: PCA(10), "explained_variance_"),
    ("PLSRegression(5), three responses", (1_000_000, 256), lambda: PLSRegression(5), "coef_"),
    ("CCA(5), two halves of the columns", (1_000_000, 256), lambda: CCA(5), "correlations_"),
    ('KernelPCA(5, kernel="rbf")', (20_000, 50), lambda: KernelPCA(5, kernel="rbf"), "explained_variance_"),
    ("ICA()", (1_000_000, 10), ICA, "explained_variance_"),
    ("PPCA(5), 10% missing", (20_000, 50), lambda: PPCA(5), "explained_variance_"),
]


def make_tables(name: str, shape: tuple[int, int], dtype: Any) -> list[Any]:
    """Tensors on the GPU: twenty strong directions and noise, far from zero; or mixed uniform sources."""
    import torch

    torch.manual_seed(0)
    options = {"device": "cuda", "dtype": torch.float64}
    n, p = shape
    if name.startswith("ICA"):
        return [(torch.rand(n, p, **options) @ torch.randn(p, p, **options)).to(dtype)]
    strong = torch.randn(n, 20, **options) * torch.linspace(6, 1, 20, **options)
    X = (strong @ torch.randn(20, p, **options) + torch.randn(n, p, **options) + 5).to(dtype)
    if name.startswith("PLS"):
        return [X, X[:, :3] + torch.randn(n, 3, **options).to(dtype)]
    if name.startswith("CCA"):
        return [X[:, : p // 2], X[:, p // 2 :]]
    if name.startswith("PPCA"):
        X[torch.rand(n, p, **options) < 0.1] = torch.nan
    return [X]


def copied(host: np.ndarray) -> Any:
    """Blocks of an array of the host, each copied to the GPU when it is asked for."""
    import torch

    for block in np.array_split(host, 50):
        yield torch.from_numpy(block).cuda()


def timed(
    make: Callable[[], Any], tables: Callable[[], list[Any]], wait: Callable[[], None] = lambda: None
) -> tuple[float, Any]:
    """The median time of a fit in seconds, and the model."""
    model, times = make().fit(*tables()), []
    for _ in range(REPEATS):
        wait()
        start = time.perf_counter()
        model = make().fit(*tables())
        wait()
        times.append(time.perf_counter() - start)
    return statistics.median(times), model


if __name__ == "__main__":
    main()
