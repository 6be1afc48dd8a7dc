"""Products of the columns of a table after each column has been shuffled by itself."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from .._blas import available
from .._lapack import swap_entries
from .._threads import run_in_parallel

#: Tables with fewer rows are shuffled several times in one call, up to _AT_A_TIME numbers, since a call for each column
#: would cost more than the shuffling.
_SHORT, _AT_A_TIME = 4096, 1 << 16
#: Entries are numbered by 32-bit integers if there are fewer than this.
_LONG = 1 << 31
#: From this many numbers on, the columns are shuffled by several threads.
_PARALLEL_FROM = 1 << 18


def shuffled_products(Z: np.ndarray, n_shuffles: int, seed: int) -> Iterator[np.ndarray]:
    """The products Z_b^T Z_b, where the columns of Z_b are those of `Z`, each in a random order of its own.

    All n!^p choices of orders are equally likely, and the shuffles b are independent of each other.

    Notes
    -----
    The order of the rows does not matter for the products: Z^T Z = (Q Z)^T (Q Z) for each permutation Q. If Q undoes
    the order of the first column, the other columns are in orders that are still uniform and independent. So the first
    column is left as it is. A column is shuffled where shuffle b - 1 has left it, which makes no difference to the
    distribution either, and needs no copy of all columns. Each column has its own random numbers, so that the results
    do not depend on the number of threads.

    Each shuffle costs n (p - 1) random numbers and n p^2 multiplications; memory is needed for n p numbers, and for
    about four vectors of n numbers in each thread.
    """
    n, p = Z.shape
    if not _SHORT <= n < _LONG:
        yield from _products_of_many(Z, n_shuffles, seed)
        return
    columns = np.ascontiguousarray(Z.T)
    generators = [np.random.Generator(np.random.SFC64(each)) for each in np.random.SeedSequence(seed).spawn(p)]
    n_threads = max(1, min(available(), p - 1)) if n * p >= _PARALLEL_FROM else 1
    shares = [range(1 + i, p, n_threads) for i in range(n_threads)]
    tasks = [partial(_shuffle, columns, generators, share, Shuffler(n)) for share in shares]
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in range(n_shuffles):
            if n_threads == 1:
                tasks[0]()
            else:
                list(run_in_parallel(tasks, pool=pool))
            yield columns @ columns.T


class Shuffler:
    """Shuffles vectors of length n, which must be less than 2^31: all n! orders are equally likely.

    Notes
    -----
    Fisher and Yates' algorithm: for i = 1, 2, ..., n, entry i is swapped with an entry whose number r is drawn from
    1, ..., i. Such a number is 1 + floor(u i / 2^32) for a random integer u of 32 bits, if u is drawn again whenever
    u i mod 2^32 < 2^32 mod i; each r then belongs to the same number of integers u [1]_. All numbers are computed at
    once, and LAPACK swaps the entries: this takes half of the time of NumPy's `shuffle`.

    References
    ----------
    .. [1] Lemire (2019), Fast random integer generation in an interval, algorithm 5.
    """

    def __init__(self, n: int) -> None:
        self._sizes = np.arange(1, n + 1, dtype=np.uint64)
        self._excess = ((1 << 32) % self._sizes).astype(np.uint32)
        self._products = np.empty(n, np.uint64)
        self._low = np.empty(n, np.uint32)
        self._others = np.empty(n, np.int32)
        self._room = np.empty(n)

    def shuffle(self, x: np.ndarray, generator: Any) -> None:
        """Shuffle `x` in place. The swaps are made in memory that stays in cache, even if `x` has left it."""
        words = generator.bit_generator.random_raw((len(x) + 1) // 2).view(np.uint32)
        others = self.partners(words[: len(x)], generator)
        self._room[:] = x
        swap_entries(self._room, others)
        x[:] = self._room

    def partners(self, words: np.ndarray, generator: Any) -> np.ndarray:
        """The numbers r for random integers `words` of 32 bits; those that have to be drawn again are drawn from
        `generator`. The result is overwritten by the next call."""
        products = np.multiply(words, self._sizes, out=self._products)
        np.copyto(self._low, products, casting="unsafe")
        again = np.flatnonzero(self._low < self._excess)
        np.right_shift(products, np.uint64(32), out=products)
        np.add(products, np.uint64(1), out=self._others, casting="unsafe")
        for i in again:
            self._others[i] = generator.integers(1, i + 2)
        return self._others


def _shuffle(columns: np.ndarray, generators: list[Any], which: range, shuffler: Shuffler, tick: Any = None) -> None:
    """Shuffle some of the columns, each with its own generator."""
    for j in which:
        shuffler.shuffle(columns[j], generators[j])
        if tick is not None:
            tick()


def _products_of_many(Z: np.ndarray, n_shuffles: int, seed: int) -> Iterator[np.ndarray]:
    """As `shuffled_products`, for tables with few rows: several shuffles are made at a time."""
    n, p = Z.shape
    generator = np.random.default_rng(seed)
    at_a_time = max(1, min(n_shuffles, _AT_A_TIME // (n * p)))
    columns = np.repeat(Z.T[None], at_a_time, axis=0)
    for start in range(0, n_shuffles, at_a_time):
        some = columns[: min(at_a_time, n_shuffles - start)]
        generator.permuted(some[:, 1:], axis=2, out=some[:, 1:])
        yield from some @ some.transpose(0, 2, 1)
