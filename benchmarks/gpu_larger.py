"""Rows in main memory that a device works on, through `lowdim.on_device`, beside the bare copy to the device.

python -m benchmarks.gpu_larger                    # 40 GB, torch's "cuda"; prints the table of benchmarks/gpu.md
python -m benchmarks.gpu_larger --gb 8 --cupy      # CuPy
python -m benchmarks.gpu_larger --gb 0.2 --device cpu

The bare rate is that of copies from page-locked memory, in the same run. The error is the largest relative difference
of the eigenvalues from those of products in float64.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from lowdim import PCA, on_device

COLUMNS, K, REPEATS = 256, 16, 3
#: Rows are made, and compared, in blocks of this many.
BLOCK = 1 << 18
#: The size of what is copied for the bare rate.
BARE_BYTES = 1 << 30


def rows(n: int) -> np.ndarray:
    """Twenty strong directions and noise, not centred. Each block has the columns of the one before in another order,
    and another mean, so that no block can be mistaken for another."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(20, COLUMNS)) * (1.0 + np.arange(20)[:, None] / 4)
    base = (rng.normal(size=(BLOCK, 20)) @ B + rng.normal(size=(BLOCK, COLUMNS))).astype(np.float32)
    X = np.empty((n, COLUMNS), dtype=np.float32)

    def fill(i: int) -> None:
        m, k = min(BLOCK, n - i), i // BLOCK
        X[i : i + m] = np.roll(base[:m], k, axis=1)
        X[i : i + m] += 5.0 + np.float32(k % 7)

    with ThreadPoolExecutor() as threads:
        list(threads.map(fill, range(0, n, BLOCK)))
    return X


def eigenvalues(X: np.ndarray, device: str) -> np.ndarray:
    """The largest eigenvalues of the covariance, from products in float64 of blocks on the device."""
    import torch

    shift = torch.from_numpy(X[:BLOCK].mean(axis=0, dtype=np.float64)).to(device)
    s = torch.zeros(COLUMNS, dtype=torch.float64, device=device)
    P = torch.zeros((COLUMNS, COLUMNS), dtype=torch.float64, device=device)
    for i in range(0, len(X), BLOCK):
        Z = torch.from_numpy(X[i : i + BLOCK]).to(device).double() - shift
        s += Z.sum(0)
        P += Z.T @ Z
    values = torch.linalg.eigvalsh((P - torch.outer(s, s) / len(X)) / (len(X) - 1))
    return values.flip(0)[:K].cpu().numpy()


def median_time(call: Callable[[], Any]) -> tuple[float, Any]:
    """The median time of a call in seconds, after one call that is not timed, and its result."""
    found, times = call(), []
    for _ in range(REPEATS):
        start = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - start)
    return statistics.median(times), found


def bare_rate(device: str, n_bytes: int) -> float:
    """GB/s of copies from page-locked memory to the device."""
    import torch

    on_gpu = device != "cpu"
    host = torch.empty(n_bytes, dtype=torch.uint8, pin_memory=on_gpu).fill_(1)
    there = torch.empty(n_bytes, dtype=torch.uint8, device=device)

    def copy() -> None:
        for _ in range(4):
            there.copy_(host, non_blocking=True)
        if on_gpu:
            torch.cuda.synchronize()

    return 4 * n_bytes / median_time(copy)[0] / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gb", type=float, default=40.0, help="size of the rows in units of 10^9 bytes")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cupy", action="store_true", help="work with CuPy in place of torch")
    asked = parser.parse_args()
    n = int(asked.gb * 1e9) // (4 * COLUMNS)
    X = rows(n)
    size = X.nbytes / 1e9
    exact = eigenvalues(X, asked.device)
    bare = bare_rate(asked.device, min(BARE_BYTES, X.nbytes))
    device: Any = asked.device
    if asked.cupy:
        import cupy

        device = cupy.cuda.Device(0)
    print(f"{size:.1f} GB, {n:,} x {COLUMNS} float32; bare copy from page-locked memory: {bare:.1f} GB/s\n")
    print("| work | time | rate | rate / bare | error |\n| --- | ---: | ---: | ---: | ---: |")
    spent, pca = median_time(lambda: PCA(K).fit(on_device(X, device)))
    error = f"{np.abs(pca.explained_variance_ / exact - 1).max():.0e}"
    print(f"| PCA({K}) | {spent:.2f} s | {size / spent:.1f} GB/s | {size / spent / bare:.2f} | {error} |", flush=True)
    spent, _ = median_time(lambda: pca.transform(on_device(X, device)))
    print(f"| transform to {K} | {spent:.2f} s | {size / spent:.1f} GB/s | {size / spent / bare:.2f} | - |", flush=True)
    print(f"\n{pca.plan_}")


if __name__ == "__main__":
    main()
