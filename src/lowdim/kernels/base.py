"""The base class of kernels, and kernels made of other kernels or of functions."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import distance

from .._core.arrays import Array, asarray_like, count_true, is_array, is_sparse, namespace, read_only, to_host, to_numpy
from ..errors import too_small
from ..linalg import squared_distances


class Kernel(ABC):
    """A function k(x, y) of two rows, which is an inner product in some feature space if `semidefinite`.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Gaussian, Kernel, Linear
    >>> isinstance(Gaussian(sigma=2.0), Kernel)
    True
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    >>> Gaussian(sigma=2.0)(X).round(3)  # of all pairs of rows
    array([[1.   , 0.882, 0.325],
           [0.882, 1.   , 0.287],
           [0.325, 0.287, 1.   ]])
    >>> (Gaussian(sigma=2.0) + Linear())(X, X[:1]).round(3)  # of the rows with those of another table
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
        return self._against(as_floats(Y))

    def _against(self, Y: Array) -> Callable[..., Array]:
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
        if isinstance(other, Real) and not isinstance(other, bool):
            return Multiple(self, float(other))
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__


@dataclass(frozen=True)
class Sum(Kernel):
    """k_1(x, y) + k_2(x, y)

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.kernels import Cosine, Linear
    >>> (Linear() + Cosine())(np.array([[3.0, 4.0]]))
    array([[26.]])
    """

    name = "sum"
    left: Kernel
    right: Kernel

    def __str__(self) -> str:
        return f"{self.left} + {self.right}"

    @property
    def semidefinite(self) -> bool:  # type: ignore[override] # depends on the parts
        return self.left.semidefinite and self.right.semidefinite

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override] # depends on the parts
        return self.left.shift_invariant and self.right.shift_invariant

    @property
    def shift_free(self) -> bool:
        return self.left.shift_free and self.right.shift_free

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return type(self)(self.left.fitted(X, weights, seed), self.right.fitted(X, weights, seed))

    @property
    def has_width(self) -> bool:
        return self.left.has_width and self.right.has_width

    def widened(self, factor: float) -> Kernel:
        return type(self)(self.left.widened(factor), self.right.widened(factor))

    @property
    def is_complete(self) -> bool:
        return self.left.is_complete and self.right.is_complete

    @property
    def takes_anything(self) -> bool:
        return self.left.takes_anything and self.right.takes_anything

    def _between(self, X: Array, Y: Array) -> Array:
        return self.left(X, Y) + self.right(X, Y)

    def _against(self, Y: Array) -> Callable[..., Array]:
        left, right = self.left.against(Y), self.right.against(Y)
        return lambda X, out=None: left(X) + right(X)

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        """Each draw is from one of the two kernels, with probabilities in proportion to their k(0, 0)."""
        origin = np.zeros((1, p))
        share = float(self.left(origin)[0, 0] / self(origin)[0, 0])
        of_left = random.random(m) < share
        both = [part.frequencies(p, m, random) for part in (self.left, self.right)]
        return np.where(of_left, both[0], both[1])

    @property
    def has_frequencies(self) -> bool:
        return self.left.has_frequencies and self.right.has_frequencies


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

    def __str__(self) -> str:
        return " * ".join(f"({part})" if type(part) is Sum else str(part) for part in (self.left, self.right))

    @property
    def shift_free(self) -> bool:
        return self.shift_invariant

    def _between(self, X: Array, Y: Array) -> Array:
        return self.left(X, Y) * self.right(X, Y)

    def _against(self, Y: Array) -> Callable[..., Array]:
        left, right = self.left.against(Y), self.right.against(Y)
        return lambda X, out=None: left(X) * right(X)

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        """The frequencies of a product are sums of those of its factors."""
        return self.left.frequencies(p, m, random) + self.right.frequencies(p, m, random)


@dataclass(frozen=True)
class Multiple(Kernel):
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

    @property
    def semidefinite(self) -> bool:  # type: ignore[override] # depends on the kernel
        return self.kernel.semidefinite

    @property
    def shift_invariant(self) -> bool:  # type: ignore[override] # depends on the kernel
        return self.kernel.shift_invariant

    @property
    def shift_free(self) -> bool:
        return self.kernel.shift_free

    @property
    def is_complete(self) -> bool:
        return self.kernel.is_complete

    @property
    def takes_anything(self) -> bool:
        return self.kernel.takes_anything

    def fitted(self, X: Array, weights: np.ndarray | None = None, seed: int = 0) -> Kernel:
        return Multiple(self.kernel.fitted(X, weights, seed), self.factor)

    @property
    def has_width(self) -> bool:
        return self.kernel.has_width

    def widened(self, factor: float) -> Kernel:
        return Multiple(self.kernel.widened(factor), self.factor)

    def _between(self, X: Array, Y: Array) -> Array:
        return self.kernel(X, Y) * self.factor

    def frequencies(self, p: int, m: int, random: np.random.Generator) -> np.ndarray:
        return self.kernel.frequencies(p, m, random)

    @property
    def has_frequencies(self) -> bool:
        return self.kernel.has_frequencies


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
        X, Y = (read_only(A.toarray() if is_sparse(A) else A) for A in (X, Y))
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


def no_frequencies(kernel: Kernel) -> TypeError:
    """The error for a kernel without random frequencies, although it depends only on x - y.

    Examples
    --------
    >>> from lowdim.kernels import ThinPlateSpline
    >>> from lowdim.kernels.base import no_frequencies
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
    >>> from lowdim.kernels import Linear
    >>> from lowdim.kernels.base import no_width
    >>> print(no_width(Linear()))
    Linear() has no width to be chosen; 'gaussian', 'laplacian' and 'matern' have one.
    """
    return TypeError(f"{kernel} has no width to be chosen; 'gaussian', 'laplacian' and 'matern' have one.")


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


# Helper functions of kernels: distances, widths by the median rule, and checks of parameters.


#: The largest number of rows that the median rule uses.
MEDIAN_ROWS = 500


def affine(K: Array, a: float, c: float) -> Array:
    """a K + c, in place for NumPy arrays."""
    if isinstance(K, np.ndarray):
        np.multiply(K, K.dtype.type(a), out=K)
        return np.add(K, K.dtype.type(c), out=K)
    return K * a + c


def power(K: Array, degree: float) -> Array:
    """K^degree, by products if the degree is 2 or 3."""
    if degree == 1:
        return K
    if degree == 2:
        return np.multiply(K, K, out=K) if isinstance(K, np.ndarray) else K * K
    if degree == 3:
        return K * K * K
    return K**degree


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
    if is_sparse(X) or is_sparse(Y):
        X, Y = (A.toarray() if is_sparse(A) else A for A in (X, Y))
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
    return _weighted_median(distances, None if np.all(w == 1.0) else (w[:, None] * w)[pairs])


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


def _weighted_median(values: np.ndarray, weights: np.ndarray | None) -> float:
    """The median of values that are each repeated `weights` times; halfway between two values, their mean."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    values, reached = values[order], np.cumsum(weights[order])
    half = reached[-1] / 2.0
    low = int(np.searchsorted(reached, half * (1.0 - 1e-12)))
    high = int(np.searchsorted(reached, half * (1.0 + 1e-12), side="right"))
    return float(values[low] + values[min(high, len(values) - 1)]) / 2.0


def require_width(value: float | None, kernel: Kernel) -> float:
    """The width `value` of a kernel; an error if it is None, that is, not known yet."""
    if value is None:
        raise ValueError(f"the width of {kernel} is not known yet; pass it, or call fitted(X) first.")
    return value


def check_positive(kernel: Any, *names: str) -> None:
    """Refuse parameters that are not positive numbers (or None)."""
    for name in names:
        value = getattr(kernel, name)
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if value is not None and not (real and 0.0 < float(value) < math.inf):
            rule = ", or None for the default" if type(kernel).__dataclass_fields__[name].default is None else ""
            raise ValueError(f"{type(kernel).__name__}({name}={value!r}): a positive number is needed{rule}.")


def check_finite(kernel: Any, *names: str) -> None:
    """Refuse parameters that are not finite numbers."""
    for name in names:
        value = getattr(kernel, name)
        if not isinstance(value, numbers.Real) or not math.isfinite(float(value)):
            raise ValueError(f"{type(kernel).__name__}({name}={value!r}): a finite number is needed.")
