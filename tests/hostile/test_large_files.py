"""Saving takes hardly any memory, and loading that of the file and a little."""

import tracemalloc

import numpy as np
import pytest

from lowdim import KernelPCA, Whitening, load, save
from lowdim.errors import HoldsRowsWarning, without_warnings
from lowdim.reading import summarize
from lowdim.summaries import Moments, Sample

#: Bytes that may be taken beside the file.
LITTLE = 8 << 20
X = np.random.default_rng(0).standard_normal((300, 1400))
LARGE = {
    "Moments": lambda: summarize(X, Moments),
    "Sample": lambda: summarize(np.tile(X, (1, 5)), Sample(7000, 300)),
    "Whitening": lambda: Whitening("zca").fit(np.random.default_rng(1).standard_normal((1200, 1000))),
    "KernelPCA": lambda: KernelPCA(2, kernel="rbf").fit(np.tile(X, (1, 5))),
}


def peak(work):
    """The most bytes that are taken at once during `work`, and its result."""
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", list(LARGE))
def test_memory(name, tmp_path):
    value, path = LARGE[name](), tmp_path / "large"
    with without_warnings(HoldsRowsWarning):
        taken, _ = peak(lambda: save(value, path))
    size = path.stat().st_size
    assert size > 1.5 * LITTLE
    assert taken < LITTLE
    taken, _ = peak(lambda: load(path))
    assert size / 2 < taken < size + LITTLE
