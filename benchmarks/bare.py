"""The bare products and decompositions that a task cannot do without, timed on this machine in the same run.

BLAS has one thread.

A need is a `Counter` of pieces, each a tuple of a name and sizes. Pieces of tables are timed on the tables themselves:

- ("read", t): one sum over all stored entries of table t
- ("gram", t): X^T X, or X X^T if X has fewer rows than columns
- ("products", t, k): X V and X^T (X V) for a V of k columns
- ("lift", t, k): X^T U for a U of k columns if X has fewer rows than columns, otherwise X V
- ("shuffle", t): each column of a table in a random order of its own
- ("rows", t): all rows of a table in a random order, as folds, draws and shuffles need them

Other pieces are timed on random numbers, and those that would take long are extrapolated from smaller ones:

- ("product", a, b, c): an a x b matrix times a b x c matrix, 2 a b c operations
- ("eigh", m): all eigenpairs of an m x m matrix, in proportion to m^3
- ("exp", m): the exponential function of m numbers
- ("write", m): products of m pairs of numbers, as in polynomial features
- ("fill", m): a new array of m numbers, such as those of the answer
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import scipy.linalg
import scipy.sparse
from threadpoolctl import threadpool_limits

from benchmarks.clock import shortest

#: The largest product (in operations), the largest eigenvalue problem and the longest vector that are timed as such.
OPERATIONS, ORDER, LENGTH = 4e9, 1000, 2_000_000
#: A random order takes about as long for a part of the entries; this many are timed.
SHUFFLED = 2_000_000


class Bare:
    """Seconds of pieces, each timed once, for the tables of one shape."""

    def __init__(self, tables):
        self.tables = tables
        self._known: dict[tuple, float] = {}

    def seconds(self, need: Counter) -> float:
        return sum(count * self._piece(piece) for piece, count in need.items())

    def least(self, needs: list[Counter]) -> tuple[float, Counter]:
        """The least time among alternative ways to do the same task, and that way."""
        return min(((self.seconds(need), need) for need in needs), key=lambda pair: pair[0])

    def _piece(self, piece):
        if piece not in self._known:
            name, *sizes = piece
            with threadpool_limits(1):
                self._known[piece] = getattr(self, f"_{name}")(*sizes)
        return self._known[piece]

    # ---- Pieces of the tables

    def _read(self, t):
        X = self.tables[t]
        entries = X.data if scipy.sparse.issparse(X) else X
        return shortest(lambda: entries.sum())

    def _gram(self, t):
        X = self.tables[t]
        n, p = X.shape
        if not scipy.sparse.issparse(X) and self._operations(min(n, p), max(n, p), min(n, p)) > OPERATIONS:
            return self._product(min(n, p), max(n, p), min(n, p))
        left, right = (X, X.T) if n < p else (X.T, X)
        return shortest(lambda: left @ right)

    def _products(self, t, k):
        X = self.tables[t]
        V = np.ones((X.shape[1], k))
        return shortest(lambda: X.T @ (X @ V))

    def _lift(self, t, k):
        X = self.tables[t]
        n, p = X.shape
        if not scipy.sparse.issparse(X) and self._operations(n, p, k) > OPERATIONS:
            return self._product(n, p, k)
        if n < p:
            return shortest(lambda: X.T @ np.ones((n, k)))
        return shortest(lambda: X @ np.ones((p, k)))

    def _shuffle(self, t):
        n, p = self.tables[t].shape
        share = min(p, max(1, SHUFFLED // n))
        columns, random = np.ones((share, min(n, SHUFFLED))), np.random.default_rng(0)
        return shortest(lambda: random.permuted(columns, axis=1)) * (n * p / columns.size)

    def _rows(self, t):
        X, random = self.tables[t], np.random.default_rng(0)
        return shortest(lambda: X[random.permutation(X.shape[0])])

    # ---- Pieces of random numbers

    @staticmethod
    def _operations(a, b, c):
        return 2.0 * a * b * c

    def _product(self, a, b, c):
        share = (OPERATIONS / self._operations(a, b, c)) ** (1 / 3)
        if share >= 1.0:
            A, B = np.ones((a, b)), np.ones((b, c))
            return shortest(lambda: A @ B)
        # A smaller product of a similar form; short sides keep their length.
        sides = sorted((a, b, c))
        small = Counter()
        left = OPERATIONS / 2
        for i, side in enumerate(sides):
            small[i] = max(1, min(side, LENGTH, int(left ** (1 / (3 - i)))))
            left /= small[i]
        x, y, z = (small[sides.index(side)] for side in (a, b, c))
        A, B = np.ones((x, y)), np.ones((y, z))
        return shortest(lambda: A @ B) * self._operations(a, b, c) / self._operations(x, y, z)

    def _eigh(self, m):
        order = min(m, ORDER)
        A = np.random.default_rng(0).standard_normal((order, order))
        A = A + A.T
        return shortest(lambda: scipy.linalg.eigh(A, driver="evd")) * (m / order) ** 3

    def _exp(self, m):
        length = min(m, LENGTH)
        values = np.linspace(-1, 0, length)
        return shortest(lambda: np.exp(values)) * m / length

    def _write(self, m):
        length = min(m, LENGTH)
        values = np.linspace(-1, 0, length)
        return shortest(lambda: values * values) * m / length

    def _fill(self, m):
        length = max(1, min(m, 10 * LENGTH))
        return shortest(lambda: np.ones(length)) * m / length


def words(need: Counter) -> str:
    """A need as text: "gram X + 20 eigh 60"."""
    parts = []
    for (name, *sizes), count in need.items():
        size = " x ".join(f"{s:,}" if isinstance(s, int) else s for s in sizes)
        parts.append(f"{count} {name} {size}" if count > 1 else f"{name} {size}")
    return " + ".join(parts)
