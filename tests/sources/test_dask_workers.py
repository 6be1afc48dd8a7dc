"""A Dask cluster of real processes: workers that die, lack memory, are slow, or have no lowdim, and a client that is
interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from lowdim import (
    ICA,
    PCA,
    PPCA,
    KernelPCA,
    PLSRegression,
    choose_n_components,
    cross_validate,
)
from lowdim.reading import summarize
from lowdim.solvers import EM
from lowdim.summaries import Moments
from other_lowdim import with_another_version, without_lowdim

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed, the scheduler of Dask clusters, is not installed")

N, P, ROWS = 900, 6, 300
#: The shape of partitions that are parts of their own.
LARGE = (1100, 256)
#: The memory of a worker. A worker that has loaded lowdim needs about half of it.
MEMORY = 600 << 20


def rows() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.laplace(size=(N, P)) * np.arange(P, 0, -1) @ rng.standard_normal((P, P)) + 3.0


def read(i: int, folder: str, incomplete: bool, deadly: int) -> np.ndarray:
    """A partition. The read of this number, counted over all processes, kills the process that does it, once."""
    count = len(os.listdir(folder)) + 1
    open(os.path.join(folder, f"{os.getpid()} {count} {i}"), "x").close()
    if 0 < deadly <= count:
        with suppress(FileExistsError):
            open(f"{folder} killed", "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
    X = rows()
    if incomplete:
        X[np.random.default_rng(4).random(X.shape) < 0.1] = np.nan
    return X[i : i + ROWS]


def collection(folder, incomplete: bool, deadly: int = 0):
    parts = [dask.delayed(read, pure=False)(i, str(folder), incomplete, deadly) for i in range(0, N, ROWS)]
    return da.concatenate([da.from_delayed(part, (ROWS, P), float) for part in parts])


MODELS = {
    "PCA": lambda: PCA(2, solver="covariance"),
    "ICA": lambda: ICA(3, tol=1e-2, random_state=0),
    "Krylov": lambda: PCA(2, solver="krylov", random_state=0),
    "PPCA with missing entries": lambda: PPCA(2, solver=EM(tol=0.1)),
    "Nystrom": lambda: KernelPCA(2, kernel="rbf", solver="nystrom", random_state=0),
}


def same_bits(found, expected, name: str = "") -> None:
    for attribute, value in vars(expected).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(found, attribute), value, err_msg=f"{name}: {attribute}")


def check_bits(name: str, folder) -> None:
    """The same bits with a worker killed in the middle of the fit as without; after the first pass, if there are
    several."""
    incomplete = "missing" in name
    calm, deadly = folder / f"{name} calm", folder / f"{name} deadly"
    calm.mkdir()
    deadly.mkdir()
    expected = MODELS[name]().fit(collection(calm, incomplete))
    reads, once = len(os.listdir(calm)), N // ROWS
    assert (reads == once) == (name == "PCA"), f"{name}: {reads} reads"
    found = MODELS[name]().fit(collection(deadly, incomplete, 2 if reads == once else max(once + 2, reads // 2)))
    assert (folder / f"{name} deadly killed").exists()
    same_bits(found, expected, name)


def check_tasks(client) -> None:
    """Fits inside tasks: the worker fits what it reads itself, in a thread that is not the main one of its process."""

    def fit(k: int) -> np.ndarray:
        return PCA(k, solver="covariance").fit(rows()).components_

    for k, found in enumerate(client.gather(client.map(fit, range(1, P + 1), pure=False)), start=1):
        np.testing.assert_allclose(found, PCA(k, solver="covariance").fit(rows()).components_, atol=1e-12)


def made(block, n: int = 10):
    """A collection of n partitions, which `block(i)` makes; they are so large that none is joined to another."""
    parts = [dask.delayed(block, pure=False)(i) for i in range(n)]
    return da.concatenate([da.from_delayed(part, LARGE, float) for part in parts])


def numbers(i: int) -> np.ndarray:
    return np.random.default_rng(i).standard_normal(LARGE)


class Steps:
    """Progress that remembers what was reported to it."""

    def __init__(self, on_step=lambda: None) -> None:
        self.calls, self.on_step = [], on_step

    def begin(self, what, n_blocks, block_rows=None):
        self.calls.append(n_blocks)

    def step(self):
        assert threading.current_thread() is threading.main_thread()
        self.calls.append("step")
        self.on_step()

    def end(self):
        self.calls.append("end")


def check_progress(folder) -> None:
    """Ten tasks report ten steps, and the first step comes before the last task has ended, which waits for it."""
    gate = str(folder / "gate")

    def block(i: int) -> np.ndarray:
        while i == 9 and not os.path.exists(gate):
            time.sleep(0.01)
        return numbers(i)

    steps = Steps(lambda: Path(gate).touch())
    summarize(made(block), Moments(LARGE[1]), progress=steps)
    assert steps.calls == [10, *["step"] * 10, "end"]


def check_slow_worker(folder) -> None:
    """Whoever takes the first partition is slow for the rest of the pass."""
    slow = str(folder / "slow")

    def block(i: int, late: bool) -> np.ndarray:
        if late:
            with suppress(FileExistsError), open(slow, "x") as file:
                file.write(str(os.getpid()))
            with open(slow) as file:
                time.sleep(0.1 if file.read() == str(os.getpid()) else 0)
        return numbers(i)

    found = [PCA(2, solver="covariance").fit(made(lambda i, late=late: block(i, late))) for late in (False, True)]
    same_bits(*found)


def check_bad_partitions(folder) -> None:
    """The error names rows and column, and the partition is read once for each pass and not again and again."""

    def bad(kind: str, folder: str):
        def block(i: int):
            if i != 4:
                return numbers(i)
            open(os.path.join(folder, f"{kind} {time.time_ns()}"), "x").close()
            X = numbers(i)
            if kind == "nan":
                X[7, 3] = np.nan
            elif kind == "text":
                X = X.astype(object)
                X[7, 3] = "seven"
            elif kind == "shape":
                X = X[:, :4]
            return X

        return made(block)

    for kind, message in {
        "nan": r"column 3, first in row 4407",
        "text": r"in the partition of rows 4400 to 5499: .*seven",
        "shape": r"in the partition of rows 4400 to 5499: .*1100 rows and 4 columns",
    }.items():
        with pytest.raises(ValueError, match=message):
            PCA(2, solver="covariance").fit(bad(kind, str(folder)))
        assert len(list(folder.glob(f"{kind} *"))) == 1


def check_memory() -> None:
    """A partition for which no worker has enough memory: an error that says so, after a few attempts. Tasks that waited
    at the same workers are suspected as well, so the error may name the rows of another partition."""

    def block(i: int) -> np.ndarray:
        if i == 4:
            held = np.ones(3 * MEMORY // 16)
            time.sleep(20)
            return numbers(i) + held[0]
        return numbers(i)

    with pytest.raises(RuntimeError, match=r"rows \d+ to \d+ need, died.*memory.*smaller partitions"):
        PCA(2, solver="covariance").fit(made(block))


def check_interrupt(client, folder) -> None:
    """Ctrl-C: tasks that have not begun never begin, and the model is as before."""
    started = str(folder / "started")

    def block(i: int) -> np.ndarray:
        open(f"{started} {i}", "x").close()
        time.sleep(0.2)
        return numbers(i)

    def press() -> None:
        while not list(folder.glob("started *")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    before, model = (PCA(2, solver="covariance").fit(rows()) for _ in range(2))
    pressing = threading.Thread(target=press)
    # A shell that starts its commands in the background lets them ignore Ctrl-C.
    ignoring = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        pressing.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(made(block, 40))
    finally:
        signal.signal(signal.SIGINT, ignoring)
    pressing.join()
    while any(client.processing().values()):
        time.sleep(0.05)
    assert len(list(folder.glob("started *"))) < 40
    same_bits(model, before)


def check_functions() -> None:
    """What users call, on workers: the answers are those for arrays."""
    X, incomplete = rows(), rows()
    incomplete[np.random.default_rng(4).random(X.shape) < 0.1] = np.nan
    for make in (lambda table: da.from_array(table, chunks=(ROWS, 4)), make_persisted):
        D, E, H = make(X), make(X[:, :2] ** 2), make(incomplete)
        pca, pls, ppca = PCA(2).fit(X), PLSRegression(2).fit(X, X[:, :2] ** 2), PPCA(2).fit(incomplete)
        close = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(pca.transform(D).compute(), pca.transform(X), **close)
        np.testing.assert_allclose(pca.score_samples(D).compute(), pca.score_samples(X), **close)
        np.testing.assert_allclose(PLSRegression(2).fit(D, E).predict(D).compute(), pls.predict(X), **close)
        np.testing.assert_allclose(pls.score(D, E), pls.score(X, X[:, :2] ** 2), **close)
        np.testing.assert_allclose(ppca.impute(H).compute(), ppca.impute(incomplete), **close)
        found, expected = (cross_validate(PCA(), table).per_split for table in (D, X))
        np.testing.assert_allclose(found, expected, **close)
        assert choose_n_components(D)["parallel"].k == choose_n_components(X)["parallel"].k


def make_persisted(table: np.ndarray):
    return da.from_array(table, chunks=(ROWS, -1)).persist()


@contextmanager
def worker_with(client, address: str, name: str, folder: Path):
    """A further worker, whose modules in `folder` hide others."""
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    paths = os.pathsep.join([str(folder), *(path for path in sys.path if path)])
    worker = subprocess.Popen([*command, "--name", name], env=os.environ | {"PYTHONPATH": paths}, **quiet)
    try:
        client.wait_for_workers(3, timeout=30)
        yield
    finally:
        worker.terminate()
        worker.wait()
        while len(client.nthreads()) > 2:
            time.sleep(0.05)


def check_versions(client, address: str, folder: Path) -> None:
    """A worker without lowdim, or with another version, is found before tasks are sent to it; a worker with another
    version that joins later refuses its tasks."""
    with (
        worker_with(client, address, "none", without_lowdim(folder / "none")),
        distributed.Client(address),
        pytest.raises(RuntimeError, match=r"a worker of Dask .* has no lowdim; install lowdim"),
    ):
        PCA(2).fit(made(numbers))
    with worker_with(client, address, "other", with_another_version(folder / "other")):
        message = r"has lowdim 0\.0\.1, and this process has lowdim .*; install the same version"
        with dask.annotate(workers=["other"]), pytest.raises(RuntimeError, match=message):
            PCA(2).fit(made(numbers))
        with distributed.Client(address), pytest.raises(RuntimeError, match=message):
            PCA(2).fit(numbers(0)).transform(made(numbers))


def test_a_cluster(tmp_path):
    """One test, so that one cluster is started: two processes with one thread each.

    A process that was killed is replaced by a copy of one that has all modules, which takes little time.
    """
    settings = {"distributed.worker.multiprocessing-method": "forkserver", "distributed.scheduler.allowed-failures": 1}
    with dask.config.set(settings):
        distributed.utils.get_mp_context().set_forkserver_preload(["distributed", "lowdim"])
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        with (
            distributed.LocalCluster(**options, memory_limit=MEMORY, silence_logs=50) as cluster,
            distributed.Client(cluster) as client,
        ):
            check_tasks(client)
            check_functions()
            check_progress(tmp_path)
            check_slow_worker(tmp_path)
            check_bad_partitions(tmp_path)
            check_interrupt(client, tmp_path)
            for name in MODELS:
                check_bits(name, tmp_path)
            check_memory()
            check_versions(client, cluster.scheduler_address, tmp_path)
