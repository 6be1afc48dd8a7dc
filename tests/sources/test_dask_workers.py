"""Workers of a Dask cluster that are killed in the middle of a fit: their tasks run again and give the same bits."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import numpy as np
import pytest

from lowdim import ICA, PCA, PPCA, KernelPCA
from lowdim.solvers import EM

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed, the scheduler of Dask clusters, is not installed")

N, P, ROWS = 900, 6, 300


def rows() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.laplace(size=(N, P)) * np.arange(P, 0, -1) @ rng.standard_normal((P, P)) + 3.0


def read(i: int, folder: str, holes: bool, deadly: int) -> np.ndarray:
    """A partition. The read of this number, counted over all processes, kills the process that does it, once."""
    count = len(os.listdir(folder)) + 1
    open(os.path.join(folder, f"{os.getpid()} {count} {i}"), "x").close()
    if 0 < deadly <= count:
        with suppress(FileExistsError):
            open(f"{folder} killed", "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
    X = rows()
    if holes:
        X[np.random.default_rng(4).random(X.shape) < 0.1] = np.nan
    return X[i : i + ROWS]


def collection(folder, holes: bool, deadly: int = 0):
    parts = [dask.delayed(read, pure=False)(i, str(folder), holes, deadly) for i in range(0, N, ROWS)]
    return da.concatenate([da.from_delayed(part, (ROWS, P), float) for part in parts])


MODELS = {
    "ICA": lambda: ICA(3, tol=1e-2, random_state=0),
    "Krylov": lambda: PCA(2, solver="krylov", random_state=0),
    "PPCA with holes": lambda: PPCA(2, solver=EM(tol=0.1)),
    "Nystrom": lambda: KernelPCA(2, kernel="rbf", solver="nystrom", random_state=0),
}


def check_bits(name: str, folder) -> None:
    """The same bits with a worker killed in the second pass or later as without."""
    holes = "holes" in name
    calm, deadly = folder / f"{name} calm", folder / f"{name} deadly"
    calm.mkdir()
    deadly.mkdir()
    expected = MODELS[name]().fit(collection(calm, holes))
    reads = len(os.listdir(calm))
    assert reads > N // ROWS, f"{name}: more than one pass"
    found = MODELS[name]().fit(collection(deadly, holes, max(N // ROWS + 2, reads // 2)))
    assert (folder / f"{name} deadly killed").exists()
    for attribute, value in vars(expected).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(found, attribute), value, err_msg=f"{name}: {attribute}")


def check_tasks(client) -> None:
    """Fits inside tasks: the worker fits what it reads itself, in a thread that is not the main one of its process."""

    def fit(k: int) -> np.ndarray:
        return PCA(k, solver="covariance").fit(rows()).components_

    for k, found in enumerate(client.gather(client.map(fit, range(1, P + 1), pure=False)), start=1):
        np.testing.assert_allclose(found, PCA(k, solver="covariance").fit(rows()).components_, atol=1e-12)


def test_a_cluster(tmp_path):
    """One test, so that one cluster is started: two processes with one thread each.

    A process that was killed is replaced by a copy of one that has all modules, which takes little time.
    """
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        distributed.utils.get_mp_context().set_forkserver_preload(["distributed", "lowdim"])
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            check_tasks(client)
            for name in MODELS:
                check_bits(name, tmp_path)
