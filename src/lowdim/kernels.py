"""Kernels: inner products of rows in a feature space, as small parameter objects, and the table of their names."""

from __future__ import annotations

import inspect
import math
import numbers
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from scipy.spatial import distance

from . import features
from ._core.arrays import (
    Array,
    asarray_like,
    astype,
    count_true,
    dense,
    eps,
    is_array,
    is_sparse,
    namespace,
    read_only,
    to_host,
    to_numpy,
    wide_dtype,
)
from .errors import choice, refuse_former_names, too_small
from .linalg import inner_products, squared_distances

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


class Kernel(ABC):
    """A function k(x, y) of two rows, which is an inner product in some feature space if `semidefinite`.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Gaussian, Kernel, Linear
    >>> isinstance(Gaussian(gamma=0.125), Kernel)
    True
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    >>> Gaussian(gamma=0.125)(X).round(3)  # of all pairs of rows
    array([[1.   , 0.882, 0.325],
           [0.882, 1.   , 0.287],
           [0.325, 0.287, 1.   ]])
    >>> (Gaussian(gamma=0.125) + Linear())(X, X[:1]).round(3)  # of the rows with those of another table
    array([[1.   ],
           [0.882],
           [0.325]])
    """

    #: Shorthand.
    name: ClassVar[str]
    #: Whether all kernel matrices are positive semidefinite.
    semidefinite: bool = True
    #: Whether k(x, y) depends only on x - y.
    shift_invariant: bool = False
    #: Names of the parameters that are positive numbers (or None).
    _positive: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuse former names of parameters."""
        if parameters:
            refuse_former_names(cls.__name__, parameters, inspect.signature(cls.__init__).parameters)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name in self._positive:
            value = getattr(self, name)
            real = isinstance(value, numbers.Real) and not isinstance(value, bool)
            if value is not None and not (real and 0.0 < float(value) < math.inf):
                rule = ", or None for the default" if getattr(type(self), name) is None else ""
                raise ValueError(f"{type(self).__name__}({name}={value!r}): a positive number is needed{rule}.")

    @property
    def shift_free(self) -> bool:
        """Whether the centred kernel matrix does not change when the same vector is added to all rows."""
        return self.shift_invariant

    @property
    def takes_anything(self) -> bool:
        """Whether rows may be objects other than vectors of numbers."""
        return False

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """The matrix of k(x_i, y_j) for the rows of `X` and `Y` (default: `X` itself), of shape (n, m)."""
        X = as_floats(X)
        return self._between(X, X if Y is None else as_floats(Y))

    @abstractmethod
    def _between(self, X: Array, Y: Array) -> Array:
        """The kernel matrix of two blocks of rows."""

    def against(self, Y: Array) -> Callable[..., Array]:
        """The function X -> k(x_i, y_j) for a fixed `Y` and many `X` of floats.

        What depends only on `Y` is computed once. The function takes an optional array `out`, which it may use for the
        result.
        """
        Y = as_floats(Y)
        return lambda X, out=None: self._between(X, Y)

    def among(self, X: Array) -> Callable[[slice, slice], Array] | None:
        """The function of two slices of the rows of `X`, on a device, that gives the kernels between them.

        None, the default, if there is nothing that could be computed once for all rows.
        """
        return None

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        """m random vectors w with k(x, y) = k(0, 0) E cos(w . (x - y)), (p, m), for shift-invariant kernels [1].

        References
        ----------
        [1] Rahimi, Recht (2007), Random features for large-scale kernel machines, theorem 1.
        """
        raise no_frequencies(self)

    @property
    def has_frequencies(self) -> bool:
        """Whether the kernel has `frequencies`, and so random Fourier features."""
        return type(self).frequencies is not Kernel.frequencies

    def explicit_features(self, p: int) -> tuple[Callable[[Array], Array], int] | None:
        """A map phi of rows of p columns with k(x, y) = phi(x) . phi(y), and its number of features.

        None, the default, if the kernel has no such map, or infinitely many features.
        """
        return None

    @property
    def is_complete(self) -> bool:
        """Whether all parameters are known, so that `fitted` changes nothing."""
        return all(getattr(self, f.name) is not None for f in fields(self))  # type: ignore[arg-type] # dataclasses

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        """This kernel with numbers in place of parameters that are None.

        Widths are found by the median rule from the rows of `X`, each repeated `weights` times.
        """
        return self

    @property
    def has_width(self) -> bool:
        """Whether the kernel has a width, and so `widened`."""
        return type(self).widened is not Kernel.widened

    def widened(self, factor: float) -> Kernel:
        """The kernel with `factor` times its width, which must be known."""
        raise no_width(self)

    def __str__(self) -> str:
        """The kernel with the parameters that are known, to four digits."""
        known = [(f.name, getattr(self, f.name)) for f in fields(self) if f.repr]  # type: ignore[arg-type] # dataclasses
        shown = [f"{name}={v:.4g}" if isinstance(v, float) else f"{name}={v}" for name, v in known if v is not None]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __add__(self, other: Any) -> Kernel:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, numbers.Real) and not isinstance(other, bool):
            return Multiple(self, float(other))
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__


# Kernels of inner products. A new kernel needs one class and one entry in `KERNELS`.


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


class _AffineKernel(Kernel):
    """Base class of functions of gamma x . y + coef0, in which gamma=None is 1 / n_features."""

    _positive: ClassVar[tuple[str, ...]] = ("gamma",)
    gamma: float | None
    coef0: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.coef0, numbers.Real) or not math.isfinite(float(self.coef0)):
            raise ValueError(f"{type(self).__name__}(coef0={self.coef0!r}): a finite number is needed.")

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return self if self.gamma is not None else replace(self, gamma=1.0 / X.shape[1])  # type: ignore[type-var]

    def _affine_products(self, X: Array, Y: Array) -> Array:
        """gamma x_i . y_j + coef0, in place for NumPy arrays."""
        K, gamma = inner_products(X, Y), self.gamma or 1.0 / X.shape[1]
        if isinstance(K, np.ndarray):
            np.multiply(K, K.dtype.type(gamma), out=K)
            return np.add(K, K.dtype.type(self.coef0), out=K)
        return K * gamma + self.coef0


@dataclass(frozen=True)
class Polynomial(_AffineKernel):
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
    _positive = ("degree", "gamma")
    degree: float = 3
    gamma: float | None = None
    coef0: float = 1.0

    @property
    def semidefinite(self) -> bool:  # type: ignore[override] # depends on the parameters
        return self.coef0 >= 0.0 and float(self.degree).is_integer()

    def _between(self, X: Array, Y: Array) -> Array:
        K = self._affine_products(X, Y)
        if self.degree == 2:
            return np.multiply(K, K, out=K) if isinstance(K, np.ndarray) else K * K
        # Products are faster than powers.
        return K if self.degree == 1 else K * K * K if self.degree == 3 else K**self.degree

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
class Sigmoid(_AffineKernel):
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

    def _between(self, X: Array, Y: Array) -> Array:
        K = self._affine_products(X, Y)
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


# Kernels of distances. The exponents of the Gaussian kernel are one product of matrices, which is where its time goes.


#: The rounding error of an exponent that is tolerated, in float64 and in float32.
_EXPONENT, _EXPONENT_FLOAT32 = 1e-11, 1e-5


@dataclass(frozen=True)
class Gaussian(Kernel):
    """The Gaussian kernel, k(x, y) = exp(-gamma |x - y|^2) = exp(-|x - y|^2 / (2 sigma^2)).

    A width sigma is gamma = 1 / (2 sigma^2). With `gamma=None`, sigma is the median distance between rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Gaussian
    >>> x, y = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    >>> Gaussian(gamma=0.02)(x, y).round(4), Gaussian(gamma=0.02)(x, y).round(4)
    (array([[0.6065]]), array([[0.6065]]))
    """

    name = "gaussian"
    shift_invariant = True
    _positive = ("gamma",)
    gamma: float | None = None

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        if self.gamma is not None:
            return self
        sigma = median_distance(X, weights, seed)
        return Gaussian(1.0 / (2.0 * sigma * sigma))

    def widened(self, factor: float) -> Kernel:
        return Gaussian(require_width(self.gamma, self) / (factor * factor))

    def _between(self, X: Array, Y: Array) -> Array:
        rate = -require_width(self.gamma, self)
        if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray) and X.dtype == np.float32:
            # Exponents are computed as differences, which loses too many digits in float32 if rows are many widths
            # apart.
            wide = X.astype(np.float64)
            return exponential(squared_distances(wide, wide if X is Y else Y.astype(np.float64)), rate).astype(X.dtype)
        if is_sparse(X) or is_sparse(Y) or isinstance(X, np.ndarray) or isinstance(Y, np.ndarray):
            return exponential(squared_distances(X, Y), rate)
        K = self._against_on_device(Y)(X)
        return with_diagonal(K, 1.0) if X is Y else K

    def against(self, Y: Array) -> Callable[..., Array]:
        # The exponent is one matrix product, (2 x, -|x|^2, 1) . (y, 1, -|y|^2), of rows centred about the mean of Y and
        # scaled by the width. If rows are so many widths apart that rounding errors would matter, the distances are
        # computed by `squared_distances`, which is more accurate.
        Y = as_floats(Y)
        if is_sparse(Y):
            return super().against(Y)
        if not isinstance(Y, np.ndarray):
            return self._against_on_device(Y)
        scale = Y.dtype.type(math.sqrt(require_width(self.gamma, self)))
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
        """`against` with the functions of the array-API standard."""
        xp, rate = namespace(Y), require_width(self.gamma, self)
        origin = xp.mean(Y, axis=0, keepdims=True)
        _, right, most = _factors(Y, origin, rate)

        def columns(X: Array, out: Array | None = None) -> Array:
            if isinstance(X, np.ndarray):
                # The function, and with it Y, has been brought to the host.
                return self._between(X, Y)
            left, _, farthest = _factors(X, origin, rate)
            if not float(most + farthest) < _largest_exponent(Y):
                wide = wide_dtype(X)
                return astype(exponential(squared_distances(astype(X, wide), astype(Y, wide)), -rate), X.dtype)
            return xp.exp(xp.clip(left @ right, None, 0.0))

        return columns

    def among(self, X: Array) -> Callable[[slice, slice], Array] | None:
        if isinstance(X, np.ndarray) or is_sparse(X):
            return None
        xp = namespace(X)
        left, right, farthest = _factors(X, xp.mean(X, axis=0, keepdims=True), require_width(self.gamma, self))
        if not 2.0 * float(farthest) < _largest_exponent(X):
            return None

        def tile(rows: slice, columns: slice) -> Array:
            # Exponents of nearly equal rows may be positive by rounding, which is not worth one more pass over them.
            K = xp.exp(left[rows, :] @ right[:, columns])
            return with_diagonal(K, 1.0) if rows == columns else K

        return tile

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        return random.standard_normal((p, m)) * math.sqrt(2.0 * require_width(self.gamma, self))


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
    _positive = ("gamma",)
    gamma: float | None = None

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
    """For smoothness nu = 1/2, 3/2 or 5/2, and with r = sqrt(2 nu) |x - y| / length_scale, k(x, y) is respectively

        exp(-r),   (1 + r) exp(-r),   (1 + r + r^2 / 3) exp(-r)

    `length_scale=None` is the median distance between rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Matern
    >>> Matern(nu=1.5, length_scale=5.0)(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])).round(4)
    array([[0.4834]])
    """

    name = "matern"
    shift_invariant = True
    _positive = ("length_scale",)
    nu: float = 1.5
    length_scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"Matern(nu={self.nu!r}): nu is 0.5, 1.5 or 2.5; Gaussian() is the limit of large nu.")

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        if self.length_scale is not None:
            return self
        return replace(self, length_scale=median_distance(X, weights, seed))

    def widened(self, factor: float) -> Kernel:
        return replace(self, length_scale=factor * require_width(self.length_scale, self))

    def _between(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        r = xp.sqrt(squared_distances(X, Y)) * (math.sqrt(2.0 * self.nu) / require_width(self.length_scale, self))
        shape = {0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r * r / 3.0}[self.nu]
        return shape * xp.exp(-r)

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        """Draws from Student's t with 2 nu degrees of freedom and scale 1 / length_scale."""
        spread = random.chisquare(2.0 * self.nu, m) / (2.0 * self.nu)
        return random.standard_normal((p, m)) / np.sqrt(spread) / require_width(self.length_scale, self)


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
    _positive = ("c",)
    c: float = 1.0

    def _between(self, X: Array, Y: Array) -> Array:
        xp = namespace(X)
        r2 = squared_distances(X, Y) / (self.c * self.c)
        positive = r2 > 0.0
        return xp.where(positive, 0.5 * r2 * xp.log(xp.where(positive, r2, xp.ones_like(r2))), xp.zeros_like(r2))


# Kernels made of other kernels, or of a function.


def _of_all_parts(name: str) -> Any:
    """A property that holds if it holds for all kernels that a kernel is made of."""
    doc = getattr(Kernel, name).__doc__
    return property(lambda self: all(getattr(part, name) for part in self._parts.values()), doc=doc)


@dataclass(frozen=True)
class _Combined(Kernel):
    """Base class of kernels made of other kernels."""

    semidefinite = _of_all_parts("semidefinite")
    shift_invariant = _of_all_parts("shift_invariant")
    shift_free = _of_all_parts("shift_free")
    is_complete = _of_all_parts("is_complete")
    takes_anything = _of_all_parts("takes_anything")
    has_width = _of_all_parts("has_width")
    has_frequencies = _of_all_parts("has_frequencies")

    @property
    def _parts(self) -> dict[str, Kernel]:
        return {name: part for name, part in vars(self).items() if isinstance(part, Kernel)}

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return replace(self, **{name: part.fitted(X, weights, seed) for name, part in self._parts.items()})

    def widened(self, factor: float) -> Kernel:
        return replace(self, **{name: part.widened(factor) for name, part in self._parts.items()})


@dataclass(frozen=True)
class Sum(_Combined):
    """k_1(x, y) + k_2(x, y)

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Cosine, Linear
    >>> (Linear() + Cosine())(np.array([[3.0, 4.0]]))
    array([[26.]])
    """

    name = "sum"
    _combine = staticmethod(operator.add)
    left: Kernel
    right: Kernel

    def __str__(self) -> str:
        return f"{self.left} + {self.right}"

    def _between(self, X: Array, Y: Array) -> Array:
        return self._combine(self.left(X, Y), self.right(X, Y))

    def against(self, Y: Array) -> Callable[..., Array]:
        left, right = self.left.against(Y), self.right.against(Y)
        return lambda X, out=None: self._combine(left(X), right(X))

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        """Each draw is from one of the two kernels, with probabilities in proportion to their k(0, 0)."""
        origin = np.zeros((1, p))
        share = float(self.left(origin)[0, 0] / self(origin)[0, 0])
        of_left = random.random(m) < share
        both = [part.frequencies(p, m, random) for part in (self.left, self.right)]
        return np.where(of_left, both[0], both[1])


@dataclass(frozen=True)
class Product(Sum):
    """k_1(x, y) k_2(x, y)

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Linear, Polynomial
    >>> x = np.array([[3.0, 4.0]])
    >>> (Linear() * Linear())(x) == Polynomial(2, gamma=1.0, coef0=0.0)(x)
    array([[ True]])
    """

    name = "product"
    _combine = staticmethod(operator.mul)
    shift_free = _Combined.shift_invariant

    def __str__(self) -> str:
        return " * ".join(f"({part})" if type(part) is Sum else str(part) for part in (self.left, self.right))

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        """The frequencies of a product are sums of those of its factors."""
        return self.left.frequencies(p, m, random) + self.right.frequencies(p, m, random)


@dataclass(frozen=True)
class Multiple(_Combined):
    """a k(x, y) for a number a > 0

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Linear
    >>> (0.1 * Linear())(np.array([[3.0, 4.0]]))
    array([[2.5]])
    """

    name = "multiple"
    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        if not 0.0 < self.factor < math.inf:
            raise ValueError(f"{self.factor} times a kernel: a positive number is needed.")

    def __str__(self) -> str:
        inner = f"({self.kernel})" if type(self.kernel) is Sum else str(self.kernel)
        return f"{self.factor:.4g} * {inner}"

    def _between(self, X: Array, Y: Array) -> Array:
        return self.kernel(X, Y) * self.factor

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        return self.kernel.frequencies(p, m, random)


@dataclass(frozen=True)
class Function(Kernel):
    """A function of two rows that returns a number, or of two blocks of n and m rows that returns an n x m matrix.

    Rows may be any objects that the function accepts. NumPy rows are handed to it read-only.

    Examples
    --------
    >>> from lowdim import KernelPCA
    >>> from lowdim.kernels import Function
    >>> def shared_letters(a, b):
    ...     return float(len(set(a) & set(b)))
    >>> words = ["rows", "row", "column", "columns"]
    >>> KernelPCA(1, kernel=Function(shared_letters)).fit_transform(words)[:, 0].round(2)
    array([ 1.32,  1.32, -1.32, -1.32])
    """

    name = "function"
    #: A function need not be positive semidefinite.
    semidefinite = False
    function: Callable[[Any, Any], Any]

    def __str__(self) -> str:
        return f"Function({getattr(self.function, '__name__', self.function)})"

    @property
    def takes_anything(self) -> bool:
        return True

    def _between(self, X: Array, Y: Array) -> Array:
        X, Y = (read_only(dense(A)) for A in (X, Y))
        n, m = X.shape[0], Y.shape[0]
        of_rows, failure = False, None
        try:
            of_rows = np.asarray(self.function(X[0], Y[0])).ndim == 0
        except Exception as error:
            # Functions of blocks may not accept single rows.
            failure = error
        if of_rows:
            K = np.array([[_number(self.function(X[i], Y[j])) for j in range(m)] for i in range(n)])
        else:
            try:
                K = np.asarray(self.function(X, Y))
            except Exception:
                if failure is None:
                    raise
                raise ValueError(f"the kernel function failed on two rows: {failure!r}.") from failure
            if K.shape != (n, m) or K.dtype.kind not in "fiub":
                raise ValueError(
                    f"the kernel function gave shape {K.shape} of {K.dtype} for blocks of {n} and {m} rows; a matrix "
                    f"of ({n}, {m}) numbers is needed, or a number for two rows."
                )
        like = X if is_array(X) and not isinstance(X, np.ndarray) else K
        return asarray_like(K.astype(np.float64), like, dtype=like.dtype if like is not K else None)


#: The kernels by name.
KERNELS: dict[str, type[Kernel]] = {
    cls.name: cls
    for cls in (Linear, Polynomial, Quadratic, Gaussian, Laplacian, Sigmoid, ThinPlateSpline, Cosine, Matern)
}
#: scikit-learn's names for some of them.
_ALIASES = {"rbf": "gaussian", "poly": "polynomial", "thin_plate_spline": "thin plate spline"}
#: All of these names, for type checkers.
KernelName = Literal[
    "linear",
    "polynomial",
    "quadratic",
    "gaussian",
    "laplacian",
    "sigmoid",
    "thin plate spline",
    "cosine",
    "matern",
    "rbf",
    "poly",
    "thin_plate_spline",
]
#: A kernel: its name, an object, or a function of two rows.
KernelLike: TypeAlias = KernelName | Kernel | Callable[[Any, Any], float]


def as_kernel(kernel: KernelLike, **parameters: float | None) -> Kernel:
    """The kernel for a name, a function or a kernel object.

    `parameters` (scikit-learn's gamma, degree and coef0) apply to kernels given by name; None stands for the default. A
    parameter that the kernel does not have is refused.

    Examples
    --------
    >>> from lowdim.kernels import as_kernel
    >>> as_kernel("rbf", gamma=0.5), as_kernel("poly", degree=2)
    (Gaussian(gamma=0.5), Polynomial(degree=2, gamma=None, coef0=1.0))
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    if isinstance(kernel, Kernel):
        refuse_parameters(given, f"set the parameters of {kernel} in the kernel itself")
        return kernel
    if isinstance(kernel, str):
        known = parameters_of(kernel)
        refuse_former_names(f"kernel={kernel!r}", given, known)
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


def no_frequencies(kernel: Kernel) -> TypeError:
    """The error for a kernel without random frequencies, although it depends only on x - y.

    Examples
    --------
    >>> from lowdim.kernels import ThinPlateSpline, no_frequencies
    >>> print(str(no_frequencies(ThinPlateSpline())).partition(";")[0])
    ThinPlateSpline(c=1) is not the Fourier transform of a probability density, so it has no random Fourier features
    """
    return TypeError(
        f"{kernel} is not the Fourier transform of a probability density, so it has no random Fourier features; use "
        "solver='nystrom'."
    )


def no_width(kernel: Kernel) -> TypeError:
    """The error for a kernel without a width.

    Examples
    --------
    >>> from lowdim.kernels import Linear, no_width
    >>> print(no_width(Linear()))
    Linear() has no width to be chosen; 'gaussian', 'laplacian' and 'matern' have one.
    """
    return TypeError(f"{kernel} has no width to be chosen; 'gaussian', 'laplacian' and 'matern' have one.")


# Helper functions of kernels: distances, widths by the median rule, and checks of parameters.


def as_floats(X: Array) -> Array:
    """Rows of whole numbers as float64; other rows unchanged."""
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    return X.astype(np.float64) if kind and kind in "iub" else X


def _number(value: Any) -> float:
    """The result of a function of two rows as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"the kernel function gave {value!r} for two rows; a number is needed.") from None


#: The largest number of rows that the median rule uses.
MEDIAN_ROWS = 500


def exponential(D: Array, rate: float) -> Array:
    """exp(rate D), in place for NumPy arrays."""
    if isinstance(D, np.ndarray):
        np.multiply(D, D.dtype.type(rate), out=D)
        return np.exp(D, out=D)
    return namespace(D).exp(D * rate)


def with_diagonal(K: Array, value: float) -> Array:
    """A square matrix of a device with this value on its diagonal, in place where that is possible."""
    xp, n = namespace(K), K.shape[0]
    flat = xp.reshape(K, (-1,))
    flat[:: n + 1] = value
    return xp.reshape(flat, (n, n))


def city_block(X: Array, Y: Array) -> Array:
    """City-block distances sum_d |x_d - y_d|, without an array of all differences."""
    X, Y = dense(X), dense(Y)
    if isinstance(X, np.ndarray):
        return distance.cdist(X, Y, "cityblock").astype(X.dtype, copy=False)
    xp = namespace(X)
    D = xp.zeros_like(X[:, :1] - Y[:, 0][None, :])
    for d in range(X.shape[1]):
        D += xp.abs(X[:, d][:, None] - Y[:, d][None, :])
    return D


def median_distance(
    X: Array, weights: np.ndarray | None, seed: int, metric: Callable[[Array, Array], Array] | None = None
) -> float:
    """The median distance between different rows, from a sample of them; 1 if all rows are the same."""
    n = X.shape[0]
    rows, w = X, np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    if n > MEDIAN_ROWS:
        chosen = np.sort(np.random.default_rng(seed).choice(n, MEDIAN_ROWS, replace=False))
        rows = X[chosen] if is_sparse(X) or isinstance(X, np.ndarray) else X[asarray_like(chosen, X)]
        w = w[chosen]
    D = squared_distances(rows, rows) if metric is None else metric(rows, rows)
    # In units of the largest weight, so that products of two weights do not overflow.
    w = w / w.max()
    if isinstance(D, np.ndarray) or not np.all(w == 1.0):
        median = _median_of_pairs(to_numpy(D), w)
    else:
        median = _median_on_device(D)
    if median is None:
        if metric is None and bool(namespace(rows).any(city_block(rows, rows[:1, :]) > 0)):
            raise too_small("all columns")
        return 1.0
    if not median < math.inf:
        raise ValueError("distances between rows overflow; rescale the rows (divide them by a constant).")
    if median < np.finfo(float).smallest_normal:
        raise too_small("all columns")
    return math.sqrt(median) if metric is None else median


def _median_of_pairs(D: np.ndarray, w: np.ndarray) -> float | None:
    """The median of the positive distances between two rows of weights w; None if there is none."""
    pairs = np.tri(len(D), k=-1, dtype=bool)
    pairs &= D > 0
    distances = D[pairs].astype(float)
    if len(distances) == 0:
        return None
    if np.all(w == 1.0):
        return float(np.median(distances))
    # Each distance is repeated as often as the product of two weights says; halfway between two, it is their mean.
    order = np.argsort(distances)
    distances, reached = distances[order], np.cumsum((w[:, None] * w)[pairs][order])
    half = reached[-1] / 2.0
    low = int(np.searchsorted(reached, half * (1.0 - 1e-12)))
    high = int(np.searchsorted(reached, half * (1.0 + 1e-12), side="right"))
    return float(distances[low] + distances[min(high, len(distances) - 1)]) / 2.0


def _median_on_device(D: Array) -> float | None:
    """`_median_of_pairs` for rows without weights on a device, which sorts all distances: each pair occurs twice, which
    does not change the median, and distances that are not positive come first."""
    xp = namespace(D)
    ascending = xp.sort(xp.reshape(D, (-1,)))
    positive = count_true(ascending > 0)
    if positive == 0:
        return None
    first = ascending.shape[0] - positive
    middle = to_host([ascending[first + (positive - 1) // 2], ascending[first + positive // 2], ascending[-1]])
    low, high, largest = (float(part) for part in middle)
    return math.nan if math.isnan(largest) else (low + high) / 2.0


def require_width(value: float | None, kernel: Kernel) -> float:
    """The width `value` of a kernel; an error if it is None, that is, not known yet."""
    if value is None:
        raise ValueError(f"the width of {kernel} is not known yet; pass it, or call fitted(X) first.")
    return value
