"""The size of blocks on a device: large where they are parts of an array, smaller where they have to be made."""

from __future__ import annotations

import numpy as np
import pytest

from lowdim._core.arrays import Beside
from lowdim.features import Polynomial
from lowdim.reading import summarize
from lowdim.reading.summarizing import rows_to_sum
from lowdim.sources import open_source
from lowdim.sources.beside import BesideSource
from lowdim.sources.derived import MappedSource
from lowdim.summaries import FourthMoments, Moments

strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
X = strict.asarray(np.random.default_rng(0).normal(size=(40, 8)))
VIEWS, MADE, COSTLY = 4 << 30, 1 << 30, 128 << 20


def n_bytes(source, summary=None, **options):
    """The size of a block."""
    p = source.shape[1]
    return rows_to_sum(source, Moments(p) if summary is None else summary, **options) * p * 8


def test_blocks_of_an_array_are_parts_of_it():
    assert n_bytes(open_source(X)) == VIEWS
    assert n_bytes(open_source(X).between(0, 20)) == VIEWS


def test_blocks_that_are_copies_are_smaller():
    whole = strict.asarray(np.arange(40).reshape(5, 8))
    assert n_bytes(open_source(whole)) == MADE
    assert n_bytes(open_source([X, X])) == MADE
    assert n_bytes(open_source(X), weighted=True) == MADE
    assert n_bytes(BesideSource([open_source(X), open_source(strict.astype(X, strict.float32))])) == MADE


def test_tables_side_by_side_are_not_copied():
    assert n_bytes(BesideSource([open_source(X), open_source(X)])) == VIEWS
    (block,) = BesideSource([open_source(X), open_source(X)]).blocks(100)
    assert isinstance(block, Beside) and block.joined().shape == (X.shape[0], 16)


def test_blocks_that_take_memory_to_make_or_to_sum_up_are_smallest():
    mapped = MappedSource(open_source(X), Polynomial(2))
    assert n_bytes(mapped) <= COSTLY
    assert n_bytes(open_source(X), FourthMoments(8)) == COSTLY


def test_whole_numbers_on_a_device_are_summed_up():
    rows = np.arange(40).reshape(5, 8) ** 2
    found = summarize(strict.asarray(rows), Moments)
    np.testing.assert_allclose(np.from_dlpack(found.scatter), 4 * np.cov(rows.T), rtol=1e-12)
