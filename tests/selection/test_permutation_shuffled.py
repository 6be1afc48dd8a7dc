"""Columns shuffled one by one: every order is equally likely, and all shuffles are independent."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from lowdim.selection import permutation as shuffled_columns
from lowdim.selection.permutation import Shuffler, shuffled_products


def test_all_orders_are_equally_likely():
    generator, shuffler = np.random.default_rng(0), Shuffler(4)
    x, seen = np.arange(4.0), Counter()
    for _ in range(4800):
        shuffler.shuffle(x, generator)
        seen[tuple(x.astype(int))] += 1
    assert stats.chisquare([seen[order] for order in permutations(range(4))]).pvalue > 1e-3


def test_a_long_vector_keeps_its_entries_and_their_places_are_uniform():
    n, generator = 20_001, np.random.default_rng(1)
    shuffler, x = Shuffler(n), np.arange(20_001.0)
    shuffler.shuffle(x, generator)
    np.testing.assert_array_equal(np.sort(x), np.arange(n))
    # The entries of each tenth come from everywhere, and neighbours are unrelated.
    assert stats.chisquare(np.histogram2d(np.arange(n), x, bins=10)[0].ravel()).pvalue > 1e-3
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 4 / np.sqrt(n)


def test_partners_by_exact_arithmetic():
    """1 + floor(u i / 2^32), and a new number if the remainder is among the first 2^32 mod i."""
    n, generator = 3000, np.random.default_rng(2)
    words = generator.integers(0, 2**32, n, dtype=np.uint32)
    words[:1000] = [0, 2**32 - 1] * 500
    words[2000:2500] = -(-(2**32) * 7 // np.arange(2001, 2501)) % 2**32
    found = Shuffler(n).partners(words, generator)
    redrawn = 0
    for size, (u, r) in enumerate(zip(words.tolist(), found.tolist(), strict=True), start=1):
        assert 1 <= r <= size
        if u * size % 2**32 < 2**32 % size:
            redrawn += 1
        else:
            assert r == 1 + (u * size >> 32)
    assert redrawn > 400


def test_numbers_that_are_drawn_again_are_uniform():
    shuffler, generator = Shuffler(3), np.random.default_rng(3)
    zeros = np.zeros(3, np.uint32)
    # 2^32 mod 3 = 1, so u = 0 is refused for i = 3, but not for i = 2.
    drawn = [shuffler.partners(zeros, generator).tolist() for _ in range(300)]
    assert {tuple(each[:2]) for each in drawn} == {(1, 1)}
    assert stats.chisquare(np.bincount([each[2] for each in drawn], minlength=4)[1:]).pvalue > 1e-3


@pytest.mark.parametrize("short", [True, False], ids=["short", "long"])
def test_moments_of_the_products(short, monkeypatch):
    """For centred columns E S_ij = 0 and Var S_ij = |z_i|^2 |z_j|^2 / (n - 1); all S_ij are uncorrelated."""
    if not short:
        monkeypatch.setattr(shuffled_columns, "_SHORT", 1)
    n, B = 60, 3000
    Z = np.random.default_rng(4).exponential(size=(n, 4)) ** 2
    Z -= Z.mean(axis=0)
    S = np.array(list(shuffled_products(Z, B, 5)))
    lengths = np.sqrt(np.sum(Z * Z, axis=0))
    r = (S / np.outer(lengths, lengths))[:, *np.triu_indices(4, 1)] * np.sqrt(n - 1)
    np.testing.assert_allclose(S[:, range(4), range(4)], np.broadcast_to(lengths**2, (B, 4)), rtol=1e-12)
    np.testing.assert_array_less(np.abs(r.mean(axis=0)), 4 / np.sqrt(B))
    covariance = r.T @ r / B
    np.testing.assert_allclose(covariance, np.eye(6), rtol=0, atol=0.2)
    # Nor does a shuffle know the one before it.
    np.testing.assert_array_less(np.abs(r[1:].T @ r[:-1] / B), 5 / np.sqrt(B))


def test_the_number_of_threads_does_not_matter(monkeypatch):
    monkeypatch.setattr(shuffled_columns, "_PARALLEL_FROM", 1)
    Z = np.random.default_rng(6).standard_normal((5000, 7))
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(np.array(list(shuffled_products(Z, 3, 7))))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [3, 5000])
def test_one_column(n):
    Z = np.arange(n, dtype=float)[:, None]
    for S in shuffled_products(Z, 3, 0):
        np.testing.assert_allclose(S, Z.T @ Z, rtol=1e-14)
