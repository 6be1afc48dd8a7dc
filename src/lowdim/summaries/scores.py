"""Moments of the scores of sources: one step of independent component analysis."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .._xp import Array, Scratch, astype, device, namespace, wide_dtype
from ..densities import Density, parsed
from ..errors import NonFiniteBlock
from .base import Summary, check_columns, column_sums, dense, total_weight

#: Arrays of a block are about so large: half a dozen of them stay in a core's own cache.
_BLOCK_BYTES = 512 << 10


class ScoreMoments(Summary):
    """Sums over rows of what the likelihood of sources y = (x - mean) A and its derivatives need.

    Parameters
    ----------
    A : array of shape (p, k)
        Takes centred rows to sources.
    mean : array of shape (p,)
    density : Density
        Of every source: psi = -d ln p / du.
    curved : bool
        Whether to sum up `curvature`, which rotations have no use for.
    wide : bool
        Compute in float64 even where rows are float32.

    Attributes
    ----------
    products : array of shape (k, k)
        sum_i w_i psi(y_ia) y_ib.
    slopes : array of shape (k,)
        sum_i w_i psi'(y_ia).
    curvature : array of shape (k, k)
        sum_i w_i psi'(y_ia) y_ib^2, or None.
    energy : array of shape (k,)
        sum_i w_i (-ln p(y_ia)).
    weight : float

    Notes
    -----
    With E[.] these sums over the weight and A = K^T W^T for whitened rows z = K (x - mean), the loss
    -ln |det W| + sum_a E[-ln p(y_a)] has the relative gradient E[psi(y) y^T] - I, and near independent sources the
    second derivative along (M_ab, M_ba) is [[E[psi'(y_a) y_b^2], 1], [1, E[psi'(y_b) y_a^2]]] [1]_. One pass,
    2 k (k + 1) numbers; 2 p k + 4 k^2 operations a row, one exponential or so an entry.

    References
    ----------
    .. [1] Ablin, Cardoso, Gramfort (2018), Faster independent component analysis by preconditioning with Hessian
       approximations.
    """

    parameters = ("A", "mean", "density", "curved", "wide")
    state = (
        "A",
        "mean",
        "density_in_words",
        "curved",
        "wide",
        "weight",
        "n_rows",
        "products",
        "slopes",
        "curvature",
        "energy",
    )

    def __init__(self, A: Array, mean: Array, density: Density, *, curved: bool = True, wide: bool = False) -> None:
        self.A, self.mean, self.density, self.curved, self.wide = A, mean, density, curved, wide
        self.weight, self.n_rows = 0.0, 0
        self.products: Any = None
        self.slopes: Any = None
        self.curvature: Any = None
        self.energy: Any = None
        self._ready: tuple[Array, Array] | None = None
        self._scratch = Scratch()
        self._room: list[np.ndarray] = []

    @property
    def density_in_words(self) -> str:
        """The density as it is made."""
        return str(self.density)

    def _update(self, block: Array, weights: Array | None) -> None:
        check_columns(self.A.shape[0], block)
        block = dense(block)
        if self.wide:
            block = astype(block, wide_dtype(namespace(block), device(block)))
        if self._ready is None:
            self._ready = astype(self.A, block.dtype), astype(self.mean, block.dtype)
        A, mean = self._ready
        Z = self._scratch.difference(block, mean)
        weights = None if weights is None else astype(weights, block.dtype)
        Y, room = self._sources(Z, A)
        psi, slope, energy = self.density.terms(Y, weights, room)
        if weights is not None:
            psi, slope = psi * weights[:, None], slope * weights[:, None]
        sums = [psi.T @ Y, column_sums(slope), energy]
        if self.curved:
            squares = Y * Y if room is None else np.multiply(Y, Y, out=Y)
            sums.append(slope.T @ squares)
        xp = namespace(Y)
        if not bool(xp.isfinite(sum(xp.sum(part) for part in sums))):
            raise NonFiniteBlock
        wide = wide_dtype(xp, device(Y))
        self._add(int(block.shape[0]), total_weight(block, weights), [astype(part, wide) for part in sums])

    def _merge(self, other: Self) -> None:
        if other.n_rows:
            self._add(other.n_rows, other.weight, [getattr(other, name) for name in other._summed])

    def fresh(self) -> Self:
        return type(self)(self.A, self.mean, self.density, curved=self.curved, wide=self.wide)

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(64, _BLOCK_BYTES // (itemsize * max(n_columns, self.A.shape[1])))

    @property
    def _summed(self) -> tuple[str, ...]:
        return ("products", "slopes", "energy", "curvature") if self.curved else ("products", "slopes", "energy")

    def _add(self, n: int, weight: float, sums: list[Array]) -> None:
        for name, part in zip(self._summed, sums, strict=True):
            setattr(self, name, part if self.n_rows == 0 else getattr(self, name) + part)
        self.n_rows += n
        self.weight += weight

    def _sources(self, Z: Array, A: Array) -> tuple[Array, list[np.ndarray] | None]:
        """Y = Z A, and three arrays of its shape; NumPy's in memory that the next block takes back."""
        if not isinstance(Z, np.ndarray):
            return Z @ A, None
        n, k = len(Z), A.shape[1]
        if not self._room or self._room[0].shape[0] < n or self._room[0].dtype != Z.dtype:
            self._room = [np.empty((n, k), dtype=Z.dtype) for _ in range(4)]
        Y, *room = (part[:n] for part in self._room)
        return np.matmul(Z, A, out=Y), room

    @classmethod
    def _from_state(cls, state: dict[str, np.ndarray]) -> Self:
        self = cls(
            state["A"],
            state["mean"],
            parsed(str(state["density_in_words"])),
            curved=bool(state["curved"]),
            wide=bool(state["wide"]),
        )
        self.weight, self.n_rows = float(state["weight"]), int(state["n_rows"])
        for name in ("products", "slopes", "curvature", "energy"):
            setattr(self, name, state.get(name))
        return self
