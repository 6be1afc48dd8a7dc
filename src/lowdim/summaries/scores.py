"""Moments of the scores of sources: one step of independent component analysis."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from .._core.arrays import (
    Array,
    Scratch,
    affine_product,
    asarray_like,
    astype,
    column_sums,
    dense,
    namespace,
    to_host,
    to_numpy,
    wide_dtype,
)
from ..densities import Density, parse_density
from ..errors import NonFiniteBlock
from .base import Changes, Summary, total_weight
from .device import tall_product

#: Rows of a block: enough that the work of a call outweighs switching between threads. Narrow blocks have more rows, as
#: long as about six arrays of the size of the block stay in the cache of a core.
_BLOCK_ROWS = 2048
_NARROW_BYTES = 512 << 10
_BLOCK_BYTES = 2 << 20
#: Fourth powers of sources up to this size are finite in float32.
_LARGEST = 1e8
#: If all entries of mean @ A are smaller than this, sources that are rounded to float32 are computed as x A - mean A
#: instead of (x - mean) A. Sources have a standard deviation of about one, so the subtraction then loses no digit that
#: float32 has.
_NEAR = 1e6
#: The same on a device for sources that are computed in float32, which are used while the gradient is large.
_NEAR_FLOAT32 = 32.0


class ScoreMoments(Summary):
    """The sums over rows that the likelihood of sources y = (x - mean) A and its derivatives need.

    Parameters
    ----------
    A : array of shape (p, k)
        Maps centred rows to sources.
    mean : array of shape (p,)
    density : Density
        The density p of every source; psi = -d ln p / du.
    curved : bool, default=True
        Whether to sum up `curvature`, which rotations do not need.
    measured : bool, default=True
        Whether to sum up `energy` and `fourth`, which a step does not need if it uses only the gradient.
    narrow : bool, default=False
        Compute scores and their products in float32: twice as fast, with half the digits. Sums are float64.

    Attributes
    ----------
    products : array of shape (k, k)
        sum_i w_i psi(y_ia) y_ib.
    slopes : array of shape (k,)
        sum_i w_i psi'(y_ia).
    curvature : array of shape (k, k)
        sum_i w_i psi'(y_ia) y_ib^2, or None.
    energy : array of shape (k,)
        sum_i w_i (-ln p(y_ia)), or None.
    fourth : array of shape (k,)
        sum_i w_i y_ia^4, or None.
    weight : float

    Notes
    -----
    With E[.] these sums divided by the weight, and A = K^T W^T for whitened rows z = K (x - mean), the loss
    -ln |det W| + sum_a E[-ln p(y_a)] has the relative gradient E[psi(y) y^T] - I, and near independent sources the
    second derivative along (M_ab, M_ba) is [[E[psi'(y_a) y_b^2], 1], [1, E[psi'(y_b) y_a^2]]] [1]_. One pass,
    2 k (k + 1) numbers; 2 p k + 4 k^2 operations for each row, and about one exponential for each entry.

    References
    ----------
    .. [1] Ablin, Cardoso, Gramfort (2018), Faster independent component analysis by preconditioning with Hessian
       approximations.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.reading import summarize
    >>> from lowdim.densities import Sech
    >>> from lowdim.summaries import ScoreMoments
    >>> u = np.random.default_rng(0).laplace(size=(100, 2))
    >>> found = summarize(u, ScoreMoments(np.eye(2), np.zeros(2), Sech()))
    >>> bool(np.allclose(found.products, np.tanh(u).T @ u))
    True
    """

    parameters = ("A", "mean", "density", "curved", "measured", "narrow")
    _sums = ("weight", "n_rows", "products", "slopes", "curvature", "energy", "fourth")
    state = dict(
        A="pk", mean="p", density_in_words="-", curved="", measured="", narrow="", weight="", n_rows=""
    ) | dict(products="kk", slopes="k", curvature="kk", energy="k", fourth="k")
    nonnegative = ("weight",)

    def __init__(
        self,
        A: Array,
        mean: Array,
        density: Density,
        *,
        curved: bool = True,
        measured: bool = True,
        narrow: bool = False,
    ) -> None:
        self.A, self.mean, self.density = A, mean, density
        self.curved, self.measured, self.narrow = curved, measured, narrow
        self.weight, self.n_rows = 0.0, 0
        self.products: Any = None
        self.slopes: Any = None
        self.curvature: Any = None
        self.energy: Any = None
        self.fourth: Any = None
        self._ready: tuple[Array, Array, Array] | None = None
        self._on_device: tuple[Array, Array | None, Array | None] | None = None
        self._scratch = Scratch()
        self._room: list[np.ndarray] = []
        self._wide = np.empty((0, 0))

    @property
    def density_in_words(self) -> str:
        """The density as an expression, which is how files store it."""
        return str(self.density)

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        Y, room = self._sources(dense(block))
        w = None if weights is None else astype(weights, Y.dtype)
        psi, slope, energy = self.density.terms(Y, w, room, measured=self.measured)
        if w is not None:
            psi, slope = psi * w[:, None], slope * w[:, None]
        sums = {"products": tall_product(psi, Y), "slopes": column_sums(slope)}
        if self.curved or self.measured:
            squares = _squared(Y, room)
        if self.curved:
            sums["curvature"] = tall_product(slope, squares)
        if self.measured:
            sums["energy"], sums["fourth"] = energy, column_sums(_squared(squares, room), w)
        # The sums are small, and a device would take longer to add them than to send them.
        sums = dict(zip(sums, to_host(list(sums.values())), strict=True))
        # If one of the sums is not finite, neither is the sum of all of them.
        if not math.isfinite(sum(float(part.sum()) for part in sums.values())):
            # The cause is either the rows or the density.
            Y, _ = self._sources(dense(block))
            largest = float(namespace(Y).max(namespace(Y).abs(Y)))
            if not largest < _LARGEST:
                raise NonFiniteBlock
            raise ValueError(
                f"the density {self.density} gives NaN or infinity at {largest:.3g}. Its functions must be finite for "
                "large numbers too: write ln cosh u, for example, as np.logaddexp(u, -u) - np.log(2)."
            )
        counts = {"n_rows": int(block.shape[0]), "weight": total_weight(block, weights)}
        return self._plus(counts | {name: v.astype(np.float64) for name, v in sums.items()})

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        # float32 rows come in blocks of the same size: sums over more of them would lose digits.
        row = 8 * max(n_columns, self.A.shape[1])
        return max(64, min(max(_BLOCK_ROWS, _NARROW_BYTES // row), _BLOCK_BYTES // row))

    def _sizes(self) -> dict[str, int]:
        return dict(zip("pk", self.A.shape, strict=True))

    def _unmade(self) -> tuple[str, ...]:
        return (*(() if self.curved else ("curvature",)), *(() if self.measured else ("energy", "fourth")))

    def _sources(self, block: Array) -> tuple[Array, list[np.ndarray] | None]:
        """Sources of a block, and for NumPy three arrays of their shape to work in, all in memory that the next block
        overwrites.

        Rows may have any units and means, so they are centred in float64, and float64 rows are also multiplied by A in
        float64. If the sources are then rounded to float32, they are centred after the product with A, unless the mean
        is very far from zero. Whitened rows, whose mean is zero, are multiplied as they are.
        """
        xp = namespace(block)
        wide = wide_dtype(block)
        dtype = xp.float32 if self.narrow else wide
        unmixed_in = dtype if block.dtype == xp.float32 else wide
        if not isinstance(block, np.ndarray):
            return astype(self._sources_on_device(astype(block, unmixed_in)), dtype), None
        if self._ready is None or self._ready[0].dtype != unmixed_in:
            mean, A = (np.asarray(x, dtype=np.float64) for x in (self.mean, self.A))
            self._ready = A.astype(unmixed_in), mean, mean @ A
        A, mean, offset = self._ready
        n, k = len(block), A.shape[1]
        if not self._room or self._room[0].shape[0] < n:
            self._room = [np.empty((n, k), dtype=dtype) for _ in range(4)]
        Y, *room = (part[:n] for part in self._room)
        if block.dtype == A.dtype == dtype and not mean.any():
            return np.matmul(block, A, out=Y), room
        if A.dtype != dtype and np.abs(offset).max() < _NEAR:
            if len(self._wide) < n:
                self._wide = np.empty((n, k))
            np.subtract(np.matmul(block, A, out=self._wide[:n]), offset, out=Y, casting="same_kind")
            return Y, room
        Z = astype(self._scratch.difference(astype(block, wide), mean), unmixed_in)
        if A.dtype == dtype:
            np.matmul(Z, A, out=Y)
        else:
            Y[...] = Z @ A
        return Y, room

    def _sources_on_device(self, block: Array) -> Array:
        """(x - c) A + (c - mean) A for the rows x of a block, computed in its dtype.

        c is zero if that costs no digits that matter, so that the rows need not be copied; otherwise it is the mean,
        rounded to the dtype.
        """
        if self._on_device is None or self._on_device[0].dtype != block.dtype:
            # A, (c - mean) A and c, in the dtype and on the device of the block; None stands for zeros.
            mean, A = (to_numpy(x).astype(np.float64) for x in (self.mean, self.A))
            if mean.any():
                narrow = block.dtype == namespace(block).float32
                # All terms of a product count, since they may cancel in the mean of the sources.
                near = float((np.abs(mean) @ np.abs(A)).max(initial=0.0)) < (_NEAR_FLOAT32 if narrow else _NEAR)
                c: Any = np.zeros_like(mean) if near else mean.astype(np.float32 if narrow else np.float64)
                both = asarray_like(np.vstack([A, (c - mean) @ A]), block, dtype=block.dtype)
                c = None if near else asarray_like(c, block, dtype=block.dtype)
                self._on_device = both[:-1, :], both[-1, :], c
            else:
                self._on_device = asarray_like(A, block, dtype=block.dtype), None, None
        A, rest, c = self._on_device
        if rest is None:
            return block @ A
        return affine_product(block if c is None else block - c, A, rest)

    @classmethod
    def _made_from(cls, stored: dict[str, Any]) -> Self:
        stored["density"] = parse_density(stored.pop("density_in_words"))
        return super()._made_from(stored)


def _squared(Y: Array, room: list[np.ndarray] | None) -> Array:
    """Y^2, computed in place unless `room` is None."""
    return Y * Y if room is None else np.multiply(Y, Y, out=Y)
