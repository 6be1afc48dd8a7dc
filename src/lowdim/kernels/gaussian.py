"""The Gaussian kernel. Its exponents are one product of matrices, which is where its time goes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._xp import Array, astype, device, eps, is_sparse, namespace, wide_dtype
from ..linalg import squared_distances
from .arithmetic import check_positive, exponential, median_distance, require_width, with_diagonal
from .base import Kernel

#: The rounding error of an exponent that is tolerated, in float64 and in float32.
_EXPONENT, _EXPONENT_FLOAT32 = 1e-11, 1e-5


@dataclass(frozen=True)
class Gaussian(Kernel):
    """The Gaussian kernel, k(x, y) = exp(-|x - y|^2 / (2 sigma^2)) = exp(-gamma |x - y|^2).

    Pass either `sigma` or `gamma`. Without them sigma is the median distance between rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Gaussian
    >>> x, y = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    >>> Gaussian(sigma=5.0)(x, y).round(4), Gaussian(gamma=0.02)(x, y).round(4)
    (array([[0.6065]]), array([[0.6065]]))
    """

    name = "gaussian"
    shift_invariant = True
    sigma: float | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "sigma", "gamma")
        if self.sigma is not None and self.gamma is not None:
            raise ValueError(
                f"Gaussian(sigma={self.sigma}, gamma={self.gamma}): both set the width; pass only one of them."
            )

    @property
    def rate(self) -> float | None:
        """gamma, either as given or computed from sigma."""
        return 1.0 / (2.0 * self.sigma * self.sigma) if self.sigma is not None else self.gamma

    @property
    def is_complete(self) -> bool:
        return self.rate is not None

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return self if self.rate is not None else Gaussian(sigma=median_distance(X, weights, seed))

    def widened(self, factor: float) -> Kernel:
        return Gaussian(sigma=factor / math.sqrt(2.0 * require_width(self.rate, self)))

    def _between(self, X: Array, Y: Array) -> Array:
        rate = -require_width(self.rate, self)
        if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray) and X.dtype == np.float32:
            # Exponents are computed as differences, which loses too many digits in float32 if rows are many widths
            # apart.
            wide = X.astype(np.float64)
            return exponential(squared_distances(wide, wide if X is Y else Y.astype(np.float64)), rate).astype(X.dtype)
        if is_sparse(X) or is_sparse(Y) or isinstance(X, np.ndarray) or isinstance(Y, np.ndarray):
            return exponential(squared_distances(X, Y), rate)
        K = self._against_on_device(Y)(X)
        return with_diagonal(K, 1.0) if X is Y else K

    def _against(self, Y: Array) -> Callable[..., Array]:
        """The exponent is one matrix product, (2 x, -|x|^2, 1) . (y, 1, -|y|^2), of rows centred about the mean of Y
        and scaled by the width. If rows are so many widths apart that rounding errors would matter, the distances are
        computed by `squared_distances`, which is more accurate."""
        if is_sparse(Y):
            return super()._against(Y)
        if not isinstance(Y, np.ndarray):
            return self._against_on_device(Y)
        scale = Y.dtype.type(math.sqrt(require_width(self.rate, self)))
        origin = Y.mean(axis=0)
        Z = (Y - origin) * scale
        right = np.vstack([Z.T, np.ones(len(Z), Z.dtype), -np.einsum("ij,ij->i", Z, Z)])
        farthest = _largest_exponent(Y)

        def columns(X: Array, out: np.ndarray | None = None) -> np.ndarray:
            if not isinstance(X, np.ndarray):
                return self._between(X, Y)
            left = np.empty((len(X), right.shape[0]), X.dtype)
            centred = left[:, :-2]
            np.subtract(X, origin, out=centred)
            centred *= scale
            np.negative(np.einsum("ij,ij->i", centred, centred), out=left[:, -2])
            if not -(left[:, -2].min() + right[-1].min()) < farthest:
                return self._between(X, Y)
            centred *= X.dtype.type(2.0)
            left[:, -1] = 1.0
            exponent = np.matmul(left, right, out=out)
            np.minimum(exponent, 0.0, out=exponent)
            return np.exp(exponent, out=exponent)

        return columns

    def _against_on_device(self, Y: Array) -> Callable[..., Array]:
        """`_against` with the functions of the array-API standard."""
        xp, rate = namespace(Y), require_width(self.rate, self)
        origin = xp.mean(Y, axis=0, keepdims=True)
        _, right, most = _factors(Y, origin, rate)

        def columns(X: Array, out: Array | None = None) -> Array:
            if isinstance(X, np.ndarray):
                # The function, and with it Y, has been brought to the host.
                return self._between(X, Y)
            left, _, farthest = _factors(X, origin, rate)
            if not float(most + farthest) < _largest_exponent(Y):
                wide = wide_dtype(xp, device(X))
                return astype(exponential(squared_distances(astype(X, wide), astype(Y, wide)), -rate), X.dtype)
            return xp.exp(xp.clip(left @ right, None, 0.0))

        return columns

    def among(self, X: Array) -> Callable[[slice, slice], Array] | None:
        if isinstance(X, np.ndarray) or is_sparse(X):
            return None
        xp = namespace(X)
        left, right, farthest = _factors(X, xp.mean(X, axis=0, keepdims=True), require_width(self.rate, self))
        if not 2.0 * float(farthest) < _largest_exponent(X):
            return None

        def tile(rows: slice, columns: slice) -> Array:
            # Exponents of nearly equal rows may be positive by rounding, which is not worth one more pass over them.
            K = xp.exp(left[rows, :] @ right[:, columns])
            return with_diagonal(K, 1.0) if rows == columns else K

        return tile

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        return random.standard_normal((p, m)) * math.sqrt(2.0 * require_width(self.rate, self))


def _largest_exponent(like: Array) -> float:
    """The sum of squares up to which the rounding errors of exponents are tolerated."""
    return (_EXPONENT_FLOAT32 if like.dtype == namespace(like).float32 else _EXPONENT) / eps(like)


def _factors(X: Array, origin: Array, rate: float) -> tuple[Array, Array, Array]:
    """The matrices (2 z, -|z|^2, 1) and (z, 1, -|z|^2)^T for the rows z = sqrt(rate) (x - origin), whose product has
    the exponents -|z_i - z_j|^2; and the largest |z|^2."""
    xp = namespace(X)
    Z = (X - origin) * math.sqrt(rate)
    squares = xp.sum(Z * Z, axis=1, keepdims=True)
    ones = xp.ones_like(squares)
    return xp.concat([2.0 * Z, -squares, ones], axis=1), xp.concat([Z, ones, -squares], axis=1).T, xp.max(squares)
