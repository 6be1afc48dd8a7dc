"""Explicit feature maps: functions that map a block of rows to a block of features, row by row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ._core import schema
from ._core.arrays import (
    Array,
    SharedScratch,
    affine_product,
    asarray_like,
    astype,
    dense,
    device,
    is_sparse,
    namespace,
    wide_dtype,
)
from .linalg import row_lengths

#: The largest number of features of a polynomial map.
_MOST = 2_000_000
#: On a device, rows are centred after a product if the mean adds at most this many deviations to it.
_SMALL_MEAN = 4.0
#: The size of blocks on a device that are multiplied by a matrix as they are, and of those that are copied for that.
_WITHOUT_COPY_BYTES, _COPIED_BYTES = 16 << 30, 1 << 30


@dataclass(frozen=True)
class Polynomial:
    """All products of `degree` entries of a row, or of up to `degree` entries.

    Parameters
    ----------
    degree : int, default=2
        Number of entries in a product.
    up_to : bool, default=False
        Whether to include the lower degrees as well.
    coef0 : float, default=1.0
        Weight of the lower degrees; used only with `up_to`.

    Notes
    -----
    The product x_1^{a_1} x_2^{a_2} ... of degree M is multiplied by sqrt(M! / (a_1! a_2! ...)), so that
    phi(x) . phi(y) = (x . y)^M. With `up_to`, the entry sqrt(coef0) is appended to x, so that
    phi(x) . phi(y) = (x . y + coef0)^M; one of the features is then constant.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.features import Polynomial
    >>> Polynomial(2)(np.array([[2.0, 3.0]])).round(3)
    array([[4.   , 8.485, 9.   ]])
    >>> Polynomial(2).names(["a", "b"]), Polynomial(2).n_features(10)
    (['a^2', 'a b', 'b^2'], 55)
    """

    degree: int = 2
    up_to: bool = False
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.degree, bool) or not isinstance(self.degree, int) or self.degree < 1:
            raise ValueError(f"Polynomial(degree={self.degree!r}): a whole number of at least 1 is needed.")
        if not 0.0 < float(self.coef0) < math.inf:
            raise ValueError(f"Polynomial(coef0={self.coef0!r}): a positive number is needed.")

    def n_features(self, p: int) -> int:
        """The number of features of a row with p entries; numbers that are too large for any memory are cut off."""
        n = p + self.up_to + self.degree - 1
        fewer, found = min(self.degree, n - self.degree), 1
        for i in range(1, fewer + 1):
            found = found * (n - fewer + i) // i
            if found > 2**62:
                return 2**62
        return found

    def __call__(self, block: Array) -> Array:
        index, scale = _products(block.shape[1] + self.up_to, self.degree)
        if is_sparse(block):
            return self._sparse(block, index, scale)
        xp = namespace(block)
        if self.up_to:
            last = xp.full((block.shape[0], 1), math.sqrt(self.coef0), dtype=block.dtype, device=device(block))
            block = xp.concat([block, last], axis=1)
        out = astype(asarray_like(scale, block), block.dtype)[None, :]
        for factor in index.T:
            out = out * xp.take(block, asarray_like(factor, block), axis=1)
        return out

    def names(self, entries: Sequence[str]) -> list[str]:
        """Names of the features, such as 'x1^2' and 'x1 x2'."""
        found = []
        for factors in _products(len(entries) + self.up_to, self.degree)[0].tolist():
            powers = Counter(i for i in factors if i < len(entries))
            found.append(" ".join(entries[i] if m == 1 else f"{entries[i]}^{m}" for i, m in powers.items()) or "1")
        return found

    def factors(self, p: int) -> np.ndarray:
        """The numbers of the entries in each product, (features, degree); number p is the one that `up_to` appends."""
        return _products(p + self.up_to, self.degree)[0]

    def scales(self, p: int) -> np.ndarray:
        """The factor by which each product of entries is multiplied."""
        index, scale = _products(p + self.up_to, self.degree)
        lower = (index == p).sum(axis=1) if self.up_to else 0
        return scale * math.sqrt(self.coef0) ** lower

    def _sparse(self, block: Any, index: np.ndarray, scale: np.ndarray) -> Any:
        if self.up_to:
            last = np.full((block.shape[0], 1), math.sqrt(self.coef0), dtype=block.dtype)
            block = sparse.hstack([block, sparse.csr_array(last)])
        columns = sparse.csc_array(block)
        out = columns[:, index[:, 0]]
        for factor in index.T[1:]:
            out = out.multiply(columns[:, factor])
        return sparse.csr_array(out.multiply(scale[None, :].astype(block.dtype)))


@dataclass(frozen=True)
class KernelColumns:
    """phi(x) = (k(x, l_1), ..., k(x, l_m)) for m rows l_j.

    The features of Nystrom's method are linear in these: L^(-1/2) U^T phi(x), where U L U^T is the kernel matrix of the
    rows l_j.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.features import KernelColumns
    >>> from lowdim.kernels import Linear
    >>> landmarks = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> KernelColumns(Linear(), landmarks)(np.array([[2.0, 3.0]]))
    array([[2., 5.]])
    """

    kernel: Any = field(metadata={"kind": schema.Instance("kernels.*")})
    rows: Array = field(metadata={"kind": schema.Numbers("*", "p", rows=True, sparse=True)})

    @cached_property
    def _against(self) -> Any:
        return self.kernel.against(self.rows)

    def n_features(self, p: int) -> int:
        """The number of features of a row with p entries."""
        return int(self.rows.shape[0])

    def __call__(self, block: Array) -> Array:
        return self._against(block)

    def on(self, like: Array) -> KernelColumns:
        """The same map for arrays of the namespace, device and dtype of `like`."""
        return KernelColumns(self.kernel, asarray_like(self.rows, like, dtype=like.dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        return KernelColumns, (self.kernel, self.rows)


@dataclass(frozen=True)
class Fourier:
    """phi(x) = sqrt(a / m) (cos w_1.x, ..., cos w_m.x, sin w_1.x, ..., sin w_m.x) for m frequencies w_j.

    If the density of the random w_j is the Fourier transform of a shift-invariant kernel, the expectation of
    phi(x) . phi(y) is k(x, y), where a = k(x, x) [1]_.

    References
    ----------
    .. [1] Rahimi, Recht (2007), Random features for large-scale kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.features import Fourier
    >>> phi = Fourier(np.random.default_rng(0).standard_normal((2, 2000)))
    >>> x, y = np.array([[0.5, 0.0]]), np.array([[0.0, 0.5]])
    >>> round((phi(x) @ phi(y).T).item(), 2), round(float(np.exp(-0.25)), 2)  # about the Gaussian kernel of width 1
    (0.78, 0.78)
    """

    frequencies: Array = field(metadata={"kind": schema.Numbers("p", "*")})
    amplitude: float = field(default=1.0, metadata={"kind": schema.Real("positive")})

    def n_features(self, p: int) -> int:
        """The number of features of a row with p entries."""
        return 2 * int(self.frequencies.shape[1])

    def on(self, like: Array) -> Fourier:
        """The same map for arrays of the namespace and device of `like`."""
        return Fourier(asarray_like(self.frequencies, like), self.amplitude)

    def __call__(self, block: Array) -> Array:
        angles = block @ astype(self.frequencies, block.dtype)
        xp = namespace(angles)
        factor = math.sqrt(self.amplitude / self.frequencies.shape[1])
        return xp.concat([xp.cos(angles), xp.sin(angles)], axis=1) * factor


@dataclass(frozen=True)
class Scaled:
    """phi(factor (x - shift)) for another feature map phi.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.features import Polynomial, Scaled
    >>> Scaled(Polynomial(2), 0.5)(np.array([[2.0, 4.0]])).round(3)
    array([[1.   , 2.828, 4.   ]])
    """

    feature_map: Any = field(metadata={"kind": schema.Instance("features.*", shares="p")})
    factor: float = field(default=1.0, metadata={"kind": schema.Real()})
    shift: Any = field(default=None, metadata={"kind": schema.Maybe(schema.Numbers("p"))})

    def n_features(self, p: int) -> int:
        """The number of features of a row with p entries."""
        return int(self.feature_map.n_features(p))

    def on(self, like: Array) -> Scaled:
        """The same map for arrays of the namespace and device of `like`."""
        inner = self.feature_map.on(like) if hasattr(self.feature_map, "on") else self.feature_map
        return Scaled(inner, self.factor, None if self.shift is None else asarray_like(self.shift, like))

    def __call__(self, block: Array) -> Array:
        if self.shift is not None:
            block = block - astype(self.shift, block.dtype)
        return self.feature_map(block if self.factor == 1.0 else block * self.factor)


@dataclass(frozen=True)
class Same:
    """phi(x) = x

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.features import Same
    >>> Same()(np.array([[2.0, 3.0]]))
    array([[2., 3.]])
    """

    def n_features(self, p: int) -> int:
        """The number of features of a row with p entries."""
        return p

    def __call__(self, block: Array) -> Array:
        return block


@dataclass(frozen=True, eq=False)
class SomeColumns:
    """phi(x) = (x_i, x_j, ...) for the columns with these numbers

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.features import SomeColumns
    >>> SomeColumns(np.array([2, 0]))(np.array([[2.0, 3.0, 4.0]]))
    array([[4., 2.]])
    """

    columns: np.ndarray = field(metadata={"kind": schema.Numbers("*", dtype="int", host=True, below="p")})

    def n_features(self, p: int) -> int:
        """The number of features of a row with p entries."""
        return len(self.columns)

    def __call__(self, block: Array) -> Array:
        if is_sparse(block):
            return block[:, self.columns]
        return namespace(block).take(block, asarray_like(self.columns, block), axis=1)


@dataclass(frozen=True)
class UnitLength:
    """phi(x) = x / |x|, and zero for rows of zeros

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.features import UnitLength
    >>> UnitLength()(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    def n_features(self, p: int) -> int:
        """The number of features of a row with p entries."""
        return p

    def __call__(self, block: Array) -> Array:
        lengths = row_lengths(block)
        if is_sparse(block):
            return sparse.diags_array(1.0 / lengths).astype(block.dtype) @ block
        return block / lengths[:, None]


@lru_cache(maxsize=64)
def _products(p: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """The entries in each product, shape (features, degree), and the square roots of the multinomial coefficients."""
    count = math.comb(p + degree - 1, degree)
    if count > _MOST:
        raise MemoryError(
            f"products of {degree} of {p} entries are {count:,} features, and at most {_MOST:,} are allowed. Lower the "
            "degree, or use KernelPCA with a polynomial kernel, which does not compute them."
        )
    index = np.array(list(combinations_with_replacement(range(p), degree)), dtype=np.int64)
    logs = np.zeros(len(index))
    run = np.ones(len(index))
    for j in range(1, degree):
        run = np.where(index[:, j] == index[:, j - 1], run + 1, 1.0)
        logs += np.log(run)
    # Logarithms are used because factorials of high degrees overflow.
    scale = np.exp(0.5 * (math.lgamma(degree + 1) - logs))
    index.setflags(write=False)
    scale.setflags(write=False)
    return index, scale


#: Feature maps by name.
FEATURE_MAPS = {"polynomial": Polynomial}
#: The names of these, for type checkers.
FeatureMapName = Literal["polynomial"]


def require_width(feature_map: Any, p: int, m: int) -> None:
    """Raise a ValueError if a feature map from a file says that it does not map rows of p entries to m features.

    Examples
    --------
    >>> from lowdim.features import Polynomial, require_width
    >>> require_width(Polynomial(2), 2, 3)
    >>> require_width(Polynomial(2), 2, 4)
    Traceback (most recent call last):
        ...
    ValueError: the feature map has 3 features of 2 columns, and the model is one of 4
    """
    found = feature_map.n_features(p) if hasattr(feature_map, "n_features") else m
    if found != m:
        raise ValueError(f"the feature map has {found} features of {p} columns, and the model is one of {m}")


def affine(A: Array, mean: Array, deviation: float) -> AffineMap:
    """The function block -> (block - mean) A, computed in the dtype of the block.

    Sparse blocks are centred after the product. This costs digits if the mean is large compared to the standard
    deviation `deviation` of the result; in that case sparse blocks are made dense one at a time. Blocks on a device are
    centred after the product if the mean is so small that this costs none, because a copy of them would take as long as
    the product.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.features import affine
    >>> average = affine(np.array([[0.5], [0.5]]), mean=np.array([1.0, 1.0]), deviation=1.0)
    >>> average(np.array([[2.0, 4.0]]))
    array([[2.]])
    """
    return AffineMap(A, mean, deviation)


class AffineMap:
    """The function that `affine` returns; it knows its matrix and its mean.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.features import affine
    >>> average = affine(np.array([[0.5], [0.5]]), mean=np.array([1.0, 1.0]), deviation=1.0)
    >>> type(average).__name__, average.mean
    ('AffineMap', array([1., 1.]))
    """

    def __init__(self, matrix: Array, mean: Array, deviation: float) -> None:
        self.matrix, self.mean, self.deviation = matrix, mean, deviation
        self._converted: dict[Any, tuple[Array, Array, Array]] = {}
        self._small: bool | None = None
        self._scratch = SharedScratch()

    def __call__(self, block: Array) -> Array:
        if block.dtype not in self._converted:
            self._converted[block.dtype] = (
                astype(self.matrix, block.dtype),
                astype(self.mean, block.dtype),
                astype(self.mean @ self.matrix, block.dtype),
            )
        matrix, centre, offset = self._converted[block.dtype]
        if is_sparse(block):
            if np.abs(offset).max(initial=0.0) <= 1e3 * self.deviation:
                return block @ matrix - offset
            block = dense(block)
        elif not isinstance(block, np.ndarray) and self._mean_is_small():
            return affine_product(block, matrix, -offset)
        return self._scratch.difference(block, centre) @ matrix

    @property
    def device_bytes(self) -> int:
        """The size of blocks on a device: large ones take no memory beside the results, or that of one more block."""
        return _WITHOUT_COPY_BYTES if self._mean_is_small() else _COPIED_BYTES

    def _mean_is_small(self) -> bool:
        """Whether the part of a product that is due to the mean cannot be much larger than the largest deviation. Then
        the rounding errors of products with rows that are not centred are not much larger than those with centred
        rows."""
        if self._small is None:
            xp = namespace(self.mean)
            wide = wide_dtype(self.mean)
            mean, matrix = astype(self.mean, wide), astype(self.matrix, wide)
            squares = xp.sum(matrix**2, axis=0)
            longest = math.sqrt(float(xp.max(squares))) if squares.shape[0] else 0.0
            self._small = math.sqrt(float(xp.sum(mean**2))) * longest <= _SMALL_MEAN * self.deviation
        return self._small
