"""A random sample of the rows that does not depend on how they are cut into blocks."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse

from .._core.arrays import Array, asarray_like, astype, concat_rows, dense, float_bits, is_sparse, namespace, to_numpy
from ..errors import NonFiniteBlock
from .base import Changes, Summary, row_weights

#: Keys are computed for blocks of this size, which stay in the cache of a core.
_BLOCK_BYTES = 512 << 10
#: On a device they are computed for so many bytes at a time.
_DEVICE_BYTES = 256 << 20


class Sample(Summary):
    """Up to `size` different rows, drawn at random, with the number of times that each occurs.

    Parameters
    ----------
    n_features : int
    size : int
        Rows to keep.
    seed : int, default=0
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

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Sample
    >>> found = summarize(np.arange(2000.0).reshape(1000, 2), Sample(2, size=5))
    >>> found.rows.shape
    (5, 2)
    """

    parameters = ("n_features", "size", "seed")
    state = dict(n_features="", size="", seed="", rows="mp", weights="m", keys="m")
    kinds = {"keys": "u"}
    nonnegative = ("n_features", "size", "seed", "weights")

    def __init__(self, n_features: int, size: int, *, seed: int = 0) -> None:
        self.n_features, self.size, self.seed = int(n_features), int(size), int(seed)
        self._rows: Any = None
        self._weights: np.ndarray = np.zeros(0)
        self._keys: np.ndarray = np.zeros(0, dtype=np.uint64)
        # New rows are collected here and compared with the rows kept for many of them at a time.
        self._waiting: list[tuple[Any, np.ndarray, np.ndarray]] = []

    @cached_property
    def _hash(self) -> tuple[np.ndarray, np.uint64]:
        """A random odd factor for each column, and the number that is added before mixing: without it the key of a row
        of zeros would be zero, which is always the smallest. They are drawn when they are needed first, so that no file
        can have memory allocated for columns that it does not hold."""
        random = np.random.default_rng([self.seed, self.n_features])
        factors = random.integers(1, 2**63, self.n_features, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        return factors, random.integers(1, 2**63, dtype=np.uint64)

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        on_host = is_sparse(block) or isinstance(block, np.ndarray)
        if not math.isfinite(block.sum() if on_host else namespace(block).sum(block)):
            raise NonFiniteBlock
        keys = self._keys_of(block)
        if not on_host:
            # Of rows on a device, those with the smallest keys alone are copied to the host.
            few = np.flatnonzero(keys <= _bound_of_smallest(keys, self.size))
            block, keys = to_numpy(namespace(block).take(block, asarray_like(few, block), axis=0)), keys[few]
            weights = None if weights is None else to_numpy(weights)[few]
        counts = to_numpy(row_weights(keys.astype(np.float64), None if weights is None else to_numpy(weights)))
        if len(self._keys) == self.size:
            # Once the sample is full, nearly all further rows have too large a key and can be dropped at once.
            few = np.flatnonzero(keys <= self._keys[-1])
            block, keys, counts = block[few], keys[few], counts[few]
        else:
            # The caller may overwrite the memory of the block.
            block = block.copy()
        return self._with_rows(block, keys, counts)

    def _merged(self, other: Self) -> Changes:
        return self._with_rows(other.rows, other.keys, other.weights)

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

    def _with_rows(self, rows: Any, keys: np.ndarray, weights: np.ndarray) -> Changes:
        """What changes with further rows."""
        if len(keys) == 0:
            return {}
        first = self._waiting[0][0] if self._rows is None and self._waiting else self._rows
        if first is not None and is_sparse(first) != is_sparse(rows):
            # All rows are kept as the first ones are.
            rows = sparse.csr_array(rows) if is_sparse(first) else dense(rows)
        waiting = [*self._waiting, (rows, keys, weights)]
        if sum(len(piece[1]) for piece in waiting) < self.size:
            return {"_waiting": waiting}
        return self._settled(waiting)

    def _settle(self) -> None:
        """Merge the waiting rows with those kept."""
        if self._waiting:
            self._change(self._settled(self._waiting))

    def _settled(self, waiting: list[tuple[Any, np.ndarray, np.ndarray]]) -> Changes:
        """The rows to keep of those kept so far and those waiting."""
        pieces = waiting if self._rows is None else [(self._rows, self._keys, self._weights), *waiting]
        keys = np.concatenate([piece[1] for piece in pieces])
        weights = np.concatenate([piece[2] for piece in pieces])
        keys, first, of = np.unique(keys, return_index=True, return_inverse=True)
        keys, first = keys[: self.size], first[: self.size]
        weights = np.bincount(of, weights)[: self.size]
        rows = _selected([piece[0] for piece in pieces], first)
        return {"_rows": rows, "_keys": keys, "_weights": weights, "_waiting": []}

    def _sizes(self) -> dict[str, int]:
        return {"p": self.n_features, "m": min(len(self._keys), self.size)}

    def _unmade(self) -> tuple[str, ...]:
        return () if min(len(self.keys), self.size) else ("rows",)

    def _keys_of(self, block: Any) -> np.ndarray:
        """The key of each row, a 64-bit hash: its entries, taken as integers (see `_bits`), are multiplied by a random
        odd factor for each column and added up modulo 2^64, and the bits of the sum are mixed (SplitMix64)."""
        factors, added = self._hash
        if is_sparse(block):
            terms = _bits(block.data) * factors[block.indices]
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
            key = sums[block.indptr[1:]] - sums[block.indptr[:-1]]
        elif isinstance(block, np.ndarray):
            key = np.einsum("ij,j->i", _bits(block), factors)
        else:
            key = _sums_on_device(block, factors)
        return mixed_bits(key + added)

    def _restore(self, stored: dict[str, Any]) -> None:
        self._rows, self._weights, self._keys = stored["rows"], stored["weights"], stored["keys"]

    @classmethod
    def _from_tree(cls, tree: dict[str, Any], declared: bool = False) -> Self:
        sample = super()._from_tree(tree, declared)
        if not declared and sample.rows is not None:
            # Some rows at a time, to save memory.
            step = max(1, _BLOCK_BYTES // (8 * max(1, sample.n_features)))
            for i in range(0, len(sample.keys), step):
                if not np.array_equal(sample._keys_of(sample.rows[i : i + step]), sample.keys[i : i + step]):
                    raise ValueError("the keys are not those of the rows")
        return sample


def _bound_of_smallest(keys: np.ndarray, n: int) -> Any:
    """The n-th smallest of the different keys, or the largest if there are fewer."""
    if len(keys) > n:
        bound = np.partition(keys, n - 1)[n - 1]
        # Unless a key occurs twice among the smallest ones, which is rare, these are the different ones.
        if len(np.unique(keys[keys <= bound])) == n:
            return bound
    return np.unique(keys)[:n][-1]


def _selected(pieces: list[Any], index: np.ndarray) -> Any:
    """Rows `index` of the pieces one below the other, which are never joined as a whole: the rows are taken piece by
    piece."""
    order = np.argsort(index)
    starts = np.cumsum([0] + [piece.shape[0] for piece in pieces])
    edges = np.searchsorted(index[order], starts)
    places = [order[i:j] for i, j in pairwise(edges)]
    taken = (piece[index[at] - start] for piece, at, start in zip(pieces, places, starts, strict=False))
    if is_sparse(pieces[0]):
        return concat_rows(list(taken))[np.argsort(order)]
    rows = np.empty((len(index), pieces[0].shape[1]), np.result_type(*(piece.dtype for piece in pieces)))
    for at, part in zip(places, taken, strict=True):
        rows[at] = part
    return rows


def _sums_on_device(block: Array, factors: np.ndarray) -> np.ndarray:
    """The sums of the entries of rows on a device, as integers times the factors, modulo 2^64. One number for each row
    is copied to the host, or the rows themselves where their library cannot take floats as integers."""
    xp = namespace(block)
    if float_bits(astype(block[:1, :1], xp.float64)) is None:
        return np.einsum("ij,j->i", _bits(to_numpy(block)), factors)
    there = asarray_like(factors.view(np.int64), block)
    step = max(1, _DEVICE_BYTES // (8 * block.shape[1]))
    sums = []
    for i in range(0, block.shape[0], step):
        bits = float_bits(astype(block[i : i + step, :], xp.float64) + 0.0)
        # A shift of a signed integer copies its sign, which is cut off.
        bits = bits ^ ((bits >> 32) & 0xFFFFFFFF)
        sums.append(to_numpy(xp.sum(bits * there[None, :], axis=1)).view(np.uint64))
    return np.concatenate(sums)


def mixed_bits(keys: np.ndarray) -> np.ndarray:
    """Unsigned 64-bit integers with their bits mixed, by the last steps of SplitMix64. Zero stays zero."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return keys ^ (keys >> np.uint64(31))


def _bits(values: np.ndarray) -> np.ndarray:
    """Floats as 64-bit integers: the same for a float32 and the float64 equal to it, and zero for both 0.0 and -0.0.
    The high bits are mixed into the low ones, because the low bits of many floats are all zero."""
    bits: Any = np.ascontiguousarray(values.astype(np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32))
