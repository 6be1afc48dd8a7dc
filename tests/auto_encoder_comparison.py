"""Auto-encoders beside PCA and kernel PCA on the data of the gallery: the table of docs/auto_encoders.md.

`python tests/auto_encoder_comparison.py` measures again, and writes the table into the page; it takes some minutes and
needs torch. A test repeats the quickest rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from lowdim import PCA, AutoEncoder, KernelPCA
from lowdim.errors import LowdimWarning, without_warnings
from page_tables import PageTable

TABLE = PageTable("auto_encoders.md", "comparison", "auto_encoder_comparison.py")
GALLERY = Path(__file__).parents[1] / "gallery" / "data"
COMPONENTS = (2, 10, 30)
#: A quarter of the rows is held out from all fits.
HELD_OUT = 0.25


def _from_gallery(file: str, name: str, which: str = "") -> np.ndarray:
    with np.load(GALLERY / file) as stored:
        rows = stored[name][stored[which]] if which else stored[name]
    return rows.reshape(len(rows), -1).astype(np.float32)


#: Rows by name.
DATA: dict[str, Callable[[], np.ndarray]] = {
    "digits": lambda: load_digits().data.astype(np.float32),
    "OPTDIGITS": lambda: _from_gallery("optdigits.npz", "images"),
    "MNIST": lambda: _from_gallery("mnist.npz", "images"),
    "faces": lambda: _from_gallery("faces.npz", "images", "is_face"),
    "cells": lambda: _from_gallery("cells.npz", "X"),
}
#: Models by the heads of their columns.
METHODS: dict[str, Callable[[int], Any]] = {
    "PCA": PCA,
    "kernel PCA": lambda k: KernelPCA(k, kernel="rbf"),
    "AutoEncoder": AutoEncoder,
    "variational": lambda k: AutoEncoder(k, variational=True),
}


def split(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows for fits, and rows that are held out."""
    out = np.random.default_rng(0).random(len(rows)) < HELD_OUT
    return rows[~out], rows[out]


def measure(data: str, k: int, method: str) -> tuple[float, float]:
    """The share of the squares of held-out rows about the mean that is lost, and the seconds of the fit."""
    train, test = split(DATA[data]())
    model = METHODS[method](k)
    begin = time.perf_counter()
    with without_warnings(LowdimWarning):
        model.fit(train)
        seconds = time.perf_counter() - begin
        rest = test - model.inverse_transform(model.transform(test))
    return float(np.sum(rest**2) / np.sum((test - train.mean(axis=0)) ** 2)), seconds


def write() -> None:
    """Measure all, and replace the table of the page."""
    # The first fit imports torch.
    measure("faces", 2, "AutoEncoder")
    rows = []
    for data, load in DATA.items():
        n, p = load().shape
        for k in COMPONENTS:
            found = [measure(data, k, method) for method in METHODS]
            cells = [f"{100 * error:.1f}% ({seconds:.2g} s)" for error, seconds in found]
            rows.append([f"{data}, {n} x {p}", str(k), *cells])
            print(rows[-1], flush=True)
    TABLE.write(["rows", "K", *METHODS], rows, numbers=1 + len(METHODS))


if __name__ == "__main__":
    write()
