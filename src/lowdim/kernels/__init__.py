"""Kernels: inner products of rows in a feature space, as small parameter objects, and the table of their names."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from .. import features
from .._core.arrays import Array, astype, device, eps, is_sparse, namespace, wide_dtype
from ..errors import choice
from ..linalg import inner_products, squared_distances
from .base import (
    Function,
    Kernel,
    Multiple,
    Product,
    Sum,
    affine,
    check_finite,
    check_positive,
    city_block,
    exponential,
    median_distance,
    power,
    require_width,
    with_diagonal,
)

__all__ = [
    "KERNELS",
    "Cosine",
    "Function",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Multiple",
    "Polynomial",
    "Product",
    "Quadratic",
    "Sigmoid",
    "Sum",
    "ThinPlateSpline",
    "as_kernel",
]


# The Gaussian kernel. Its exponents are one product of matrices, which is where its time goes.


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


# The predefined kernels and the table of their names. A new kernel needs one class here and one entry in `KERNELS`.


# ---- Kernels of inner products


@dataclass(frozen=True)
class Linear(Kernel):
    """k(x, y) = x . y

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Linear
    >>> Linear()(np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[25.,  3.],
           [ 3.,  1.]])
    """

    name = "linear"
    shift_free = True

    def _between(self, X: Array, Y: Array) -> Array:
        return inner_products(X, Y)

    def explicit_features(self, p: int) -> tuple[Callable[[Array], Array], int]:
        return features.Same(), p


@dataclass(frozen=True)
class Polynomial(Kernel):
    """k(x, y) = (gamma x . y + coef0)^degree

    `gamma=None` is 1 / n_features. Positive semidefinite for coef0 >= 0 and whole degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Polynomial
    >>> Polynomial(3, gamma=1.0, coef0=1.0)(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]]))
    array([[8.]])
    """

    name = "polynomial"
    degree: float = 3
    gamma: float | None = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self, "degree", "gamma")
        check_finite(self, "coef0")

    @property
    def semidefinite(self) -> bool:  # type: ignore[override] # depends on the parameters
        return self.coef0 >= 0.0 and float(self.degree).is_integer()

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return replace(self, gamma=1.0 / X.shape[1]) if self.gamma is None else self

    def _between(self, X: Array, Y: Array) -> Array:
        K = affine(inner_products(X, Y), self.gamma or 1.0 / X.shape[1], self.coef0)
        return power(K, self.degree)

    def explicit_features(self, p: int) -> tuple[Callable[[Array], Array], int] | None:
        if not self.semidefinite:
            return None
        up_to = {"up_to": True, "coef0": self.coef0} if self.coef0 > 0.0 else {}
        phi = features.Polynomial(int(self.degree), **up_to)  # type: ignore[arg-type] # a flag and a number
        return features.Scaled(phi, math.sqrt(self.gamma or 1.0 / p)), phi.n_features(p)


@dataclass(frozen=True)
class Quadratic(Polynomial):
    """k(x, y) = (gamma x . y + coef0)^2

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Quadratic
    >>> Quadratic(coef0=0.1)(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0]])).round(4)
    array([[1.21]])
    """

    name = "quadratic"
    degree: float = field(default=2, init=False, repr=False)
    gamma: float | None = 1.0
    coef0: float = 0.0


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """k(x, y) = tanh(gamma x . y + coef0), not positive semidefinite in general

    `gamma=None` is 1 / n_features.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Sigmoid
    >>> Sigmoid(gamma=5.0, coef0=0.5)(np.array([[0.1, 0.2]])).round(4)
    array([[0.6351]])
    """

    name = "sigmoid"
    semidefinite = False
    gamma: float | None = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self, "gamma")
        check_finite(self, "coef0")

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return replace(self, gamma=1.0 / X.shape[1]) if self.gamma is None else self

    def _between(self, X: Array, Y: Array) -> Array:
        K = affine(inner_products(X, Y), self.gamma or 1.0 / X.shape[1], self.coef0)
        return np.tanh(K, out=K) if isinstance(K, np.ndarray) else namespace(K).tanh(K)


@dataclass(frozen=True)
class Cosine(Kernel):
    """k(x, y) = x . y / (|x| |y|), and zero for rows of zeros

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Cosine
    >>> Cosine()(np.array([[3.0, 4.0]]), np.array([[1.0, 0.0], [0.0, 0.0]]))
    array([[0.6, 0. ]])
    """

    name = "cosine"

    def _between(self, X: Array, Y: Array) -> Array:
        unit = features.UnitLength()
        A = unit(X)
        return inner_products(A, A if X is Y else unit(Y))

    def explicit_features(self, p: int) -> tuple[Callable[[Array], Array], int]:
        return features.UnitLength(), p


# ---- Kernels of distances (the Gaussian one has its own file)


@dataclass(frozen=True)
class Laplacian(Kernel):
    """The Laplacian kernel, k(x, y) = exp(-gamma sum_d |x_d - y_d|).

    `gamma=None` is one over the median of the city-block distances between rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Laplacian
    >>> Laplacian(gamma=0.1)(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).round(4)
    array([[0.4966]])
    """

    name = "laplacian"
    shift_invariant = True
    gamma: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "gamma")

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return self if self.gamma is not None else Laplacian(1.0 / median_distance(X, weights, seed, city_block))

    def widened(self, factor: float) -> Kernel:
        return Laplacian(require_width(self.gamma, self) / factor)

    def _between(self, X: Array, Y: Array) -> Array:
        return exponential(city_block(X, Y), -require_width(self.gamma, self))

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        return random.standard_cauchy((p, m)) * require_width(self.gamma, self)


@dataclass(frozen=True)
class Matern(Kernel):
    """For smoothness nu = 1/2, 3/2 or 5/2, and with r = sqrt(2 nu) |x - y| / length, k(x, y) is respectively

        exp(-r),   (1 + r) exp(-r),   (1 + r + r^2 / 3) exp(-r)

    `length=None` is the median distance between rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Matern
    >>> Matern(nu=1.5, length=5.0)(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).round(4)
    array([[0.4834]])
    """

    name = "matern"
    shift_invariant = True
    nu: float = 1.5
    length: float | None = None

    def __post_init__(self) -> None:
        check_positive(self, "length")
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"Matern(nu={self.nu!r}): nu is 0.5, 1.5 or 2.5; Gaussian() is the limit of large nu.")

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return self if self.length is not None else replace(self, length=median_distance(X, weights, seed))

    def widened(self, factor: float) -> Kernel:
        return replace(self, length=factor * require_width(self.length, self))

    def _between(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        r = xp.sqrt(squared_distances(X, Y)) * (math.sqrt(2.0 * self.nu) / require_width(self.length, self))
        shape = {0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r * r / 3.0}[self.nu]
        return shape * xp.exp(-r)

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        """Draws from Student's t with 2 nu degrees of freedom and scale 1 / length."""
        spread = random.chisquare(2.0 * self.nu, m) / (2.0 * self.nu)
        return random.standard_normal((p, m)) / np.sqrt(spread) / require_width(self.length, self)


@dataclass(frozen=True)
class ThinPlateSpline(Kernel):
    """k(x, y) = r^2 log r with r = |x - y| / c, and zero at r = 0. Not positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import ThinPlateSpline
    >>> ThinPlateSpline(c=1.0)(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 4.0]])).round(3)
    array([[ 0.   , 40.236]])
    """

    name = "thin plate spline"
    semidefinite = False
    shift_invariant = True
    c: float = 1.0

    def __post_init__(self) -> None:
        check_positive(self, "c")

    def _between(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        r2 = squared_distances(X, Y) / (self.c * self.c)
        positive = r2 > 0.0
        return xp.where(positive, 0.5 * r2 * xp.log(xp.where(positive, r2, xp.ones_like(r2))), xp.zeros_like(r2))


#: The kernels by name.
KERNELS: dict[str, type[Kernel]] = {
    cls.name: cls
    for cls in (Linear, Polynomial, Quadratic, Gaussian, Laplacian, Sigmoid, ThinPlateSpline, Cosine, Matern)
}
#: scikit-learn's names for some of them.
_ALIASES = {"rbf": "gaussian", "poly": "polynomial", "thin_plate_spline": "thin plate spline"}


def as_kernel(kernel: Any, **parameters: Any) -> Kernel:
    """The kernel for a name, a function or a kernel object.

    `parameters` (scikit-learn's gamma, degree and coef0) apply to kernels given by name; None stands for the default. A
    parameter that the kernel does not have is refused.

    Examples
    --------
    >>> from lowdim.kernels import as_kernel
    >>> as_kernel("rbf", gamma=0.5), as_kernel("poly", degree=2)
    (Gaussian(sigma=None, gamma=0.5), Polynomial(degree=2, gamma=None, coef0=1.0))
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    if isinstance(kernel, Kernel):
        refuse_parameters(given, f"set the parameters of {kernel} in the kernel itself")
        return kernel
    if isinstance(kernel, str):
        known = parameters_of(kernel)
        for other, value in given.items():
            if other not in known:
                able = [name for name in KERNELS if other in parameters_of(name)]
                with_it = f", or use one of {', '.join(map(repr, able))}" if able else ""
                raise ValueError(
                    f"kernel={kernel!r} has no {other}, got {other}={value!r}; leave {other} at None{with_it}."
                )
        return _class_of(kernel)(**given)
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(f"kernel={kernel.__name__} is a class; pass an instance: {kernel.__name__}().")
    if hasattr(kernel, "scales") and hasattr(kernel, "n_features"):
        raise TypeError(f"{kernel} is a feature map, for FeatureMapPCA; kernels are in lowdim.kernels.")
    if callable(kernel):
        refuse_parameters(given, "a function is called with two rows only. Leave it at None, or use functools.partial")
        return Function(kernel)
    raise TypeError(f"kernel must be a name, a kernel or a function of two rows, got {type(kernel).__name__}.")


def parameters_of(kernel: str) -> set[str]:
    """The names of the parameters of the kernel with this name.

    Examples
    --------
    >>> from lowdim.kernels import parameters_of
    >>> sorted(parameters_of("polynomial")), sorted(parameters_of("linear"))
    (['coef0', 'degree', 'gamma'], [])
    """
    return {f.name for f in fields(_class_of(kernel)) if f.init}  # type: ignore[arg-type] # all of them are dataclasses


def _class_of(kernel: str) -> type[Kernel]:
    """The class of the kernel with this name."""
    name = _ALIASES.get(kernel, kernel)
    if name not in KERNELS:
        raise choice("kernel", kernel, [*KERNELS, *_ALIASES, "precomputed"], "Or pass a function of two rows.")
    return KERNELS[name]


def refuse_parameters(parameters: dict[str, Any], instead: str) -> None:
    """Refuse parameters that are not None, for a kernel that is not given by name.

    Examples
    --------
    >>> from lowdim.kernels import refuse_parameters
    >>> refuse_parameters({"gamma": None}, "give the kernel its own")
    >>> refuse_parameters({"gamma": 0.5}, "give the kernel its own")
    Traceback (most recent call last):
        ...
    ValueError: gamma=0.5 is for kernels given by name; give the kernel its own.
    """
    for name, value in parameters.items():
        if value is not None:
            raise ValueError(f"{name}={value!r} is for kernels given by name; {instead}.")
