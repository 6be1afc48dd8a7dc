"""Kernels: inner products of rows in a feature space, as small parameter objects, and the table of them.

A kernel is called with two blocks of rows, `kernel(X, Y)`, and gives the matrix of k(x_i, y_j). Kernels can be added
and multiplied, and the result is a kernel again. A new kernel is one class here and one row in `KERNELS`.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from ._xp import Array, asarray_like, is_sparse, namespace, to_numpy
from .errors import choice
from .linalg import inner_products, squared_distances

#: Rows that the median rule looks at.
_MEDIAN_ROWS = 500


class Kernel(ABC):
    """k(x, y): an inner product in some feature space, if `semidefinite`."""

    #: Shorthand.
    name: ClassVar[str]
    #: Whether all its matrices are positive semidefinite.
    semidefinite: bool = True
    #: Whether it depends on x - y alone.
    shift_invariant: bool = False

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """k(x_i, y_j) for the rows of `X` and `Y` (default: of `X` itself), (n, m)."""
        return self._between(X, X if Y is None else Y)

    @abstractmethod
    def _between(self, X: Array, Y: Array) -> Array:
        """The matrix of two blocks of rows."""

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        """This kernel with a number for each parameter that was None: widths by the median rule on the rows of `X`,
        each counted `weights` times."""
        return self

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented


# ---- Of inner products


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, y) = x . y"""

    name = "linear"

    def _between(self, X: Array, Y: Array) -> Array:
        return inner_products(X, Y)


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, y) = (gamma x . y + coef0)^degree

    `gamma=None` is 1 / n_features. Positive semidefinite for coef0 >= 0 and whole degrees.
    """

    name = "polynomial"
    degree: float = 3
    gamma: float | None = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        _positive(self, "degree", "gamma")
        _finite(self, "coef0")

    @property
    def semidefinite(self) -> bool:  # type: ignore[override] # depends on the parameters
        return self.coef0 >= 0.0 and float(self.degree).is_integer()

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return replace(self, gamma=1.0 / X.shape[1]) if self.gamma is None else self

    def _between(self, X: Array, Y: Array) -> Array:
        K = _affine(inner_products(X, Y), self.gamma or 1.0 / X.shape[1], self.coef0)
        return _power(K, self.degree)


@dataclass(frozen=True)
class Quadratic(Polynomial):
    """k(x, y) = (gamma x . y + coef0)^2"""

    name = "quadratic"
    degree: float = 2
    gamma: float | None = 1.0
    coef0: float = 0.0


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, y) = tanh(gamma x . y + coef0), not positive semidefinite in general

    `gamma=None` is 1 / n_features.
    """

    name = "sigmoid"
    semidefinite = False
    gamma: float | None = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        _positive(self, "gamma")
        _finite(self, "coef0")

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return replace(self, gamma=1.0 / X.shape[1]) if self.gamma is None else self

    def _between(self, X: Array, Y: Array) -> Array:
        K = _affine(inner_products(X, Y), self.gamma or 1.0 / X.shape[1], self.coef0)
        return np.tanh(K, out=K) if isinstance(K, np.ndarray) else namespace(K).tanh(K)


@dataclass(frozen=True)
class Cosine(Kernel):
    """k(x, y) = x . y / (|x| |y|); zero for rows of zeros"""

    name = "cosine"

    def _between(self, X: Array, Y: Array) -> Array:
        return inner_products(X, Y) / (_lengths(X)[:, None] * _lengths(Y)[None, :])


# ---- Of distances


@dataclass(frozen=True)
class Gaussian(Kernel):
    """k(x, y) = exp(-|x - y|^2 / (2 sigma^2)) = exp(-gamma |x - y|^2)

    Give `sigma` or `gamma`; with neither, sigma is the median distance between rows.
    """

    name = "gaussian"
    shift_invariant = True
    sigma: float | None = None
    gamma: float | None = None

    def __post_init__(self) -> None:
        _positive(self, "sigma", "gamma")
        if self.sigma is not None and self.gamma is not None:
            raise ValueError(f"Gaussian(sigma={self.sigma}, gamma={self.gamma}): they mean the same; give one.")

    @property
    def rate(self) -> float | None:
        """gamma, given or from sigma."""
        return 1.0 / (2.0 * self.sigma * self.sigma) if self.sigma is not None else self.gamma

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return self if self.rate is not None else Gaussian(sigma=_median_distance(X, weights, seed))

    def _between(self, X: Array, Y: Array) -> Array:
        return _exponential(squared_distances(X, Y), -_needed(self.rate, self))


@dataclass(frozen=True)
class Laplacian(Kernel):
    """k(x, y) = exp(-gamma sum_d |x_d - y_d|)

    With `gamma=None` it is one over the median of these distances between rows.
    """

    name = "laplacian"
    shift_invariant = True
    gamma: float | None = None

    def __post_init__(self) -> None:
        _positive(self, "gamma")

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return self if self.gamma is not None else Laplacian(1.0 / _median_distance(X, weights, seed, _city_block))

    def _between(self, X: Array, Y: Array) -> Array:
        return _exponential(_city_block(X, Y), -_needed(self.gamma, self))


@dataclass(frozen=True)
class Matern(Kernel):
    """k(x, y) of smoothness nu = 1/2, 3/2 or 5/2 at r = sqrt(2 nu) |x - y| / length:

        exp(-r),   (1 + r) exp(-r),   (1 + r + r^2 / 3) exp(-r)

    With `length=None` it is the median distance between rows.
    """

    name = "matern"
    shift_invariant = True
    nu: float = 1.5
    length: float | None = None

    def __post_init__(self) -> None:
        _positive(self, "length")
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"Matern(nu={self.nu!r}): nu is 0.5, 1.5 or 2.5; Gaussian() is the limit of large nu.")

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return self if self.length is not None else replace(self, length=_median_distance(X, weights, seed))

    def _between(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        r = xp.sqrt(squared_distances(X, Y)) * (math.sqrt(2.0 * self.nu) / _needed(self.length, self))
        shape = {0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r * r / 3.0}[self.nu]
        return shape * xp.exp(-r)


@dataclass(frozen=True)
class ThinPlateSpline(Kernel):
    """k(x, y) = r^2 log r, r = |x - y| / c; zero at r = 0. Not positive semidefinite."""

    name = "thin plate spline"
    semidefinite = False
    shift_invariant = True
    c: float = 1.0

    def __post_init__(self) -> None:
        _positive(self, "c")

    def _between(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        r2 = squared_distances(X, Y) / (self.c * self.c)
        positive = r2 > 0.0
        return xp.where(positive, 0.5 * r2 * xp.log(xp.where(positive, r2, xp.ones_like(r2))), xp.zeros_like(r2))


# ---- Made of others


@dataclass(frozen=True)
class Sum(Kernel):
    """k_1(x, y) + k_2(x, y)"""

    name = "sum"
    left: Kernel
    right: Kernel

    @property
    def semidefinite(self) -> bool:  # type: ignore[override] # as its parts are
        return self.left.semidefinite and self.right.semidefinite

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override] # as its parts are
        return self.left.shift_invariant and self.right.shift_invariant

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return type(self)(self.left.fitted(X, weights, seed), self.right.fitted(X, weights, seed))

    def _between(self, X: Array, Y: Array) -> Array:
        return self.left(X, Y) + self.right(X, Y)


@dataclass(frozen=True)
class Product(Sum):
    """k_1(x, y) k_2(x, y)"""

    name = "product"

    def _between(self, X: Array, Y: Array) -> Array:
        return self.left(X, Y) * self.right(X, Y)


@dataclass(frozen=True)
class Function(Kernel):
    """A function of two rows that gives a number, or of two blocks of n and m rows that gives an n x m matrix."""

    name = "function"
    function: Callable[[Any, Any], Any]

    def _between(self, X: Array, Y: Array) -> Array:
        n, m = len(X), len(Y)
        one = np.asarray(self.function(X[0], Y[0]))
        if one.ndim == 0:
            return np.array([[float(self.function(x, y)) for y in Y] for x in X])
        K = np.asarray(self.function(X, Y))
        if K.shape != (n, m):
            raise ValueError(
                f"the kernel function gave shape {one.shape} for two rows and {K.shape} for blocks of {n} and {m}; a "
                f"number or ({n}, {m}) is needed."
            )
        return K


#: Kernels by name.
KERNELS: dict[str, type[Kernel]] = {
    cls.name: cls
    for cls in (Linear, Polynomial, Quadratic, Gaussian, Laplacian, Sigmoid, ThinPlateSpline, Cosine, Matern)
}
#: scikit-learn's names for some of them.
_ALIASES = {"rbf": "gaussian", "poly": "polynomial", "thin_plate_spline": "thin plate spline"}


def as_kernel(kernel: Any, **parameters: Any) -> Kernel:
    """The kernel that a name, a function or a kernel stands for.

    `parameters` that are not None go to kernels that have them, as scikit-learn's gamma, degree and coef0 do.
    """
    if isinstance(kernel, Kernel):
        given = [name for name, value in parameters.items() if value is not None]
        if given:
            raise ValueError(f"{given[0]}={parameters[given[0]]!r} is for kernels by name; {kernel} has its own.")
        return kernel
    if isinstance(kernel, str):
        name = _ALIASES.get(kernel, kernel)
        if name not in KERNELS:
            raise choice("kernel", kernel, [*KERNELS, *_ALIASES, "precomputed"], "Or pass a function of two rows.")
        cls = KERNELS[name]
        known = {f.name for f in fields(cls)}  # type: ignore[arg-type] # all in the table are dataclasses
        return cls(**{n: v for n, v in parameters.items() if v is not None and n in known})
    if callable(kernel):
        return Function(kernel)
    raise TypeError(f"kernel must be a name, a kernel or a function of two rows, got {type(kernel).__name__}.")


# ---- Arithmetic


def _affine(K: Array, a: float, c: float) -> Array:
    """a K + c, in place where that can be."""
    if isinstance(K, np.ndarray):
        np.multiply(K, K.dtype.type(a), out=K)
        return np.add(K, K.dtype.type(c), out=K)
    return K * a + c


def _power(K: Array, degree: float) -> Array:
    """K^degree by products where the degree is small and whole."""
    if degree == 1:
        return K
    if degree == 2:
        return np.multiply(K, K, out=K) if isinstance(K, np.ndarray) else K * K
    if degree == 3:
        return K * K * K
    return K**degree


def _exponential(D: Array, rate: float) -> Array:
    """exp(rate D), in place where that can be."""
    if isinstance(D, np.ndarray):
        np.multiply(D, D.dtype.type(rate), out=D)
        return np.exp(D, out=D)
    return namespace(D).exp(D * rate)


def _lengths(X: Array) -> Array:
    """Lengths of rows; one for rows of zeros."""
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        return np.sqrt(np.where(squares > 0, squares, 1.0)).astype(X.dtype)
    xp = namespace(X)
    squares = xp.sum(X * X, axis=1)
    return xp.sqrt(xp.where(squares > 0, squares, xp.ones_like(squares)))


def _city_block(X: Array, Y: Array) -> Array:
    """sum_d |x_d - y_d|, column by column: no array of all differences."""
    if is_sparse(X) or is_sparse(Y):
        X, Y = (A.toarray() if is_sparse(A) else A for A in (X, Y))
    xp = namespace(X)
    D = xp.zeros_like(X[:, :1] - Y[:, 0][None, :])
    for d in range(X.shape[1]):
        D += xp.abs(X[:, d][:, None] - Y[:, d][None, :])
    return D


def _median_distance(
    X: Array, weights: np.ndarray | None, seed: int, distance: Callable[[Array, Array], Array] | None = None
) -> float:
    """The median distance between (some) rows that are not the same; one where all are."""
    n = X.shape[0]
    rows, w = X, np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    if n > _MEDIAN_ROWS:
        chosen = np.sort(np.random.default_rng(seed).choice(n, _MEDIAN_ROWS, replace=False))
        rows = X[chosen] if is_sparse(X) or isinstance(X, np.ndarray) else X[asarray_like(chosen, X)]
        w = w[chosen]
    D = to_numpy(squared_distances(rows, rows) if distance is None else distance(rows, rows)).astype(float)
    i, j = np.triu_indices(len(D), 1)
    apart = D[i, j] > 0
    if not np.any(apart):
        return 1.0
    median = _weighted_median(D[i, j][apart], (w[i] * w[j])[apart])
    return math.sqrt(median) if distance is None else median


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The median of values that are each there `weights` times; between two of them their mean."""
    order = np.argsort(values)
    values, reached = values[order], np.cumsum(weights[order])
    half = reached[-1] / 2.0
    low = int(np.searchsorted(reached, half * (1.0 - 1e-12)))
    high = int(np.searchsorted(reached, half * (1.0 + 1e-12), side="right"))
    return float(values[low] + values[min(high, len(values) - 1)]) / 2.0


def _needed(value: float | None, kernel: Kernel) -> float:
    """A width that must be known by now."""
    if value is None:
        raise ValueError(f"the width of {kernel} is not known yet; give it, or call fitted(X) first.")
    return value


def _positive(kernel: Any, *names: str) -> None:
    """Refuse parameters that are not positive numbers (or None)."""
    for name in names:
        value = getattr(kernel, name)
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if value is not None and not (real and 0.0 < float(value) < math.inf):
            raise ValueError(f"{type(kernel).__name__}({name}={value!r}): a positive number is needed.")


def _finite(kernel: Any, *names: str) -> None:
    """Refuse parameters that are not finite numbers."""
    for name in names:
        value = getattr(kernel, name)
        if not isinstance(value, numbers.Real) or not math.isfinite(float(value)):
            raise ValueError(f"{type(kernel).__name__}({name}={value!r}): a finite number is needed.")
