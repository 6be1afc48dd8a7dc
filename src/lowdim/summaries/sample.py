"""A random sample of the rows that does not depend on how they are cut into blocks."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._xp import Array, concat_rows, is_sparse, to_numpy
from ..errors import NonFiniteBlock
from .base import Summary, check_columns, row_weights

#: Keys are computed for blocks of this size, which stay in the cache of a core.
_BLOCK_BYTES = 512 << 10


class Sample(Summary):
    """Up to `size` different rows, drawn at random, with the number of times that each occurs.

    Parameters
    ----------
    n_features : int
    size : int
        Rows to keep.
    seed : int
        Seed of the random keys; different seeds draw different rows.

    Attributes
    ----------
    rows : array of shape (m, p)
        The rows in random order, as a CSR array if the blocks were sparse and a NumPy array otherwise.
    weights : array of shape (m,)
        The total weight of each row: 2 for a row that occurs twice, or once with weight two.

    Notes
    -----
    Each row has a pseudorandom key, a hash of its entries, and the rows with the smallest keys are kept. Two samples
    therefore merge into the sample of all rows, and equal rows are recognised [1]_. One pass, size * p numbers.

    References
    ----------
    .. [1] Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan (2002), Counting distinct elements in a data stream.
    """

    parameters = ("n_features", "size", "seed")
    state = ("n_features", "size", "seed", "rows", "weights", "keys")

    def __init__(self, n_features: int, size: int, *, seed: int = 0) -> None:
        self.n_features, self.size, self.seed = int(n_features), int(size), int(seed)
        self._rows: Any = None
        self._weights: np.ndarray = np.zeros(0)
        self._keys: np.ndarray = np.zeros(0, dtype=np.uint64)
        # New rows are collected here and compared with the rows kept for many of them at a time.
        self._waiting: list[tuple[Any, np.ndarray, np.ndarray]] = []
        random = np.random.default_rng([self.seed, self.n_features])
        self._factors = random.integers(1, 2**63, self.n_features, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        # Added before mixing: without it the key of a row of zeros would be zero, which is always the smallest.
        self._offset = random.integers(1, 2**63, dtype=np.uint64)

    def _update(self, block: Array, weights: Array | None) -> None:
        check_columns(self.n_features, block)
        block = block if is_sparse(block) else to_numpy(block)
        if not np.isfinite(block.sum()):
            raise NonFiniteBlock
        keys = self._keys_of(block)
        counts = to_numpy(row_weights(keys.astype(np.float64), None if weights is None else to_numpy(weights)))
        if len(self._keys) == self.size:
            # Once the sample is full, nearly all further rows have too large a key and can be dropped at once.
            few = np.flatnonzero(keys <= self._keys[-1])
            block, keys, counts = block[few], keys[few], counts[few]
        else:
            # The caller may overwrite the memory of the block.
            block = block.copy()
        self._wait(block, keys, counts)

    def _merge(self, other: Self) -> None:
        self._wait(other.rows, other.keys, other.weights)

    @property
    def rows(self) -> Any:
        """The rows kept, in the order of their keys."""
        self._settle()
        return self._rows

    @property
    def weights(self) -> np.ndarray:
        """How often each row occurs."""
        self._settle()
        return self._weights

    @property
    def keys(self) -> np.ndarray:
        """The keys of the rows, ascending."""
        self._settle()
        return self._keys

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(256, _BLOCK_BYTES // (n_columns * itemsize))

    def _wait(self, rows: Any, keys: np.ndarray, weights: np.ndarray) -> None:
        if len(keys):
            self._waiting.append((rows, keys, weights))
            if sum(len(waiting) for _, waiting, _ in self._waiting) >= self.size:
                self._settle()

    def _settle(self) -> None:
        """Merge the waiting rows with those kept."""
        if not self._waiting:
            return
        pieces = self._waiting if self._rows is None else [(self._rows, self._keys, self._weights), *self._waiting]
        self._waiting = []
        keys = np.concatenate([piece[1] for piece in pieces])
        weights = np.concatenate([piece[2] for piece in pieces])
        self._keys, first, of = np.unique(keys, return_index=True, return_inverse=True)
        self._keys, first = self._keys[: self.size], first[: self.size]
        self._weights = np.bincount(of, weights)[: self.size]
        # Rows are selected piece by piece and sorted afterwards, so that the pieces are never joined as a whole.
        order = np.argsort(first)
        edges = np.searchsorted(first[order], np.cumsum([0] + [len(piece[1]) for piece in pieces]))
        start, kept = 0, []
        for (rows, piece_keys, _), i, j in zip(pieces, edges, edges[1:], strict=False):
            kept.append(rows[first[order[i:j]] - start])
            start += len(piece_keys)
        pieces.clear()
        self._rows = concat_rows(kept)[np.argsort(order)]

    def _keys_of(self, block: Any) -> np.ndarray:
        """The key of each row, a 64-bit hash: its entries, taken as integers (see `_bits`), are multiplied by a random
        odd factor for each column and added up modulo 2^64, and the bits of the sum are mixed (SplitMix64)."""
        if is_sparse(block):
            terms = _bits(block.data) * self._factors[block.indices]
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
            key = sums[block.indptr[1:]] - sums[block.indptr[:-1]]
        else:
            key = np.einsum("ij,j->i", _bits(block), self._factors)
        key = key + self._offset
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
        return key ^ (key >> np.uint64(31))

    def _restore(self, stored: dict[str, Any]) -> None:
        self._rows, self._weights, self._keys = stored.get("rows"), stored["weights"], stored["keys"]


def _bits(values: np.ndarray) -> np.ndarray:
    """Floats as 64-bit integers: the same for a float32 and the float64 equal to it, and zero for both 0.0 and -0.0.
    The high bits are mixed into the low ones, because the low bits of many floats are all zero."""
    bits: Any = np.ascontiguousarray(values.astype(np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32))
