"""Inner products of rows, for tables with fewer rows than columns.

The blocks of these summaries hold features, the columns of the table. The Gram matrix is a sum over features, each of
which is centred separately, so it can be accumulated over blocks of features as the scatter is over blocks of samples.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np

from .._scratch import Scratch
from .._xp import Array, asarray_like, astype, dense, device, is_sparse, namespace, wide_dtype
from ..linalg import divisor, is_constant, r_factor, require_rows, require_size
from .base import CACHE_BYTES, NARROW, Changes, Layout, Summary, check_columns, check_squares, products_in_range
from .device_products import products_of_samples

#: Products about a point have lost too many digits if less than this share of the squares is variance.
_NEAR = 1e-6
#: Features of a sparse block of which more than this share is stored are multiplied as dense ones, which is faster.
_DENSE_FROM = 0.1
#: The weight of the samples at which a feature is stored may be at most this share, if the feature is to be centred
#: after its products were computed: the subtraction then costs at most one binary digit.
_CENTRED_AFTER = 0.5


def centred_features(
    block: Array, sample_weight: Array | None, ddof: int | None, centre: bool = True
) -> tuple[Array, Array, Array]:
    """Features (rows of `block`, with one entry for each sample) centred over the samples; their means and scales.

    If `ddof` is None the scales are one; otherwise features are divided by their standard deviation (constant features
    by one). Unless `centre`, nothing is subtracted, the means are zero, and features are divided by their root mean
    square.
    """
    xp = namespace(block)
    if centre:
        mean = feature_means(block, sample_weight)
        Z = block - mean
        # If the mean is large, its rounding error may be as large as the standard deviation, so centre a second time.
        rest = feature_means(Z, sample_weight)
        Z, mean = Z - rest, mean + rest
    else:
        Z, mean = block, xp.zeros_like(block[:, :1])
    scale = xp.ones_like(Z[:, 0])
    if ddof is not None:
        Z = astype(Z, wide_dtype(xp, device(Z)))
        w = xp.ones_like(Z[0, :]) if sample_weight is None else astype(sample_weight, Z.dtype)
        squares = (Z * Z) @ w
        check_squares(squares)
        scale = standard_deviations(squares, mean[:, 0], Z.shape[1], float(xp.sum(w)), ddof)
        Z = Z / scale[:, None]
    return Z, mean[:, 0], scale


def standard_deviations(squares: Array, mean: Array, n_samples: int, weight: float, ddof: int) -> Array:
    """sqrt(squares / (weight - ddof)) of each feature; one for features that are constant up to rounding."""
    require_rows(n_samples, weight, ddof)
    xp = namespace(squares)
    require_size(squares, mean, weight, each=True, numbered=False)
    deviation = xp.sqrt(squares / divisor(weight, ddof))
    constant = is_constant(deviation, astype(mean, deviation.dtype))
    return xp.where(constant, xp.ones_like(deviation), deviation)


def centred_products(G: Array, sample_weight: Array | None) -> Array:
    """Inner products of samples about their weighted mean, J G J^T with J = I - 1 w^T / sum(w), from those about
    another point."""
    xp = namespace(G)
    if sample_weight is None:
        means = xp.mean(G, axis=1)
        return G - means[:, None] - means[None, :] + xp.mean(means)
    w = astype(sample_weight, G.dtype)
    share = w / xp.sum(w)
    means = G @ share
    return G - means[:, None] - means[None, :] + means @ share


def feature_means(block: Array, sample_weight: Array | None, scratch: Scratch | None = None) -> Array:
    """Means over the samples, as a column. The first sample is subtracted before averaging and added afterwards, so
    that the mean of a constant feature is exact."""
    xp = namespace(block)
    first = block[:, :1]
    Z = block - first if scratch is None else scratch.difference(block, first)
    if sample_weight is None:
        return first + xp.mean(Z, axis=1, keepdims=True)
    w = astype(sample_weight, block.dtype)
    return first + (Z @ w)[:, None] / xp.sum(w)


def _dense_rows(n_samples: int, itemsize: int) -> int:
    """The number of features of a dense block: half of the cache, but at least 2 n."""
    return max(CACHE_BYTES // 2 // (n_samples * itemsize), 2 * n_samples)


class Gram(Summary):
    """`product` = sum over features of z z^T, z the centred feature: the n x n inner products of samples. (On a device,
    z may be the feature itself, if that costs no digits; `centred` gives the same.)

    Parameters
    ----------
    n_samples : int
        Length of a feature, n.
    sample_weight : array of shape (n,), optional
        Weights of the samples.
    ddof : int, optional
        If given, each feature is divided by its standard deviation with this ddof.
    centre : bool
        Whether features are centred; if not, `product` is that of the features themselves.

    Notes
    -----
    Each feature is centred before it is multiplied, so that a large offset costs no digits; on a device only if an
    offset would cost any. `centred` removes what is left of the means, and multiplies by the weights. One pass over the
    features, n^2 numbers. Weights passed to `update` would be weights of features; they are ignored.

    Sparse features F, one in each row, stay sparse: with their means m,

        sum_j (f_j - m_j 1)(f_j - m_j 1)^T = F^T F - (F^T m) 1^T - 1 (F^T m)^T + (m^T m) 1 1^T.

    If a feature is stored at samples of a share a of the total weight, n m^2 is at most a sum f^2 by the inequality of
    Cauchy and Schwarz. So the subtraction costs at most one binary digit up to a = 1/2. Features that are stored at
    more samples than that, or at so many that a dense product is faster, are made dense, a few at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import summarize
    >>> from lowdim.summaries import Gram
    >>> X = np.array([[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 1.0, 0.0]])
    >>> summarize(X.T, Gram(n_samples=2)).centred()  # it is given the columns of the table
    array([[ 6., -6.],
           [-6.,  6.]])
    """

    parameters = ("n_samples", "sample_weight", "ddof", "centre")
    state = ("n_samples", "sample_weight", "ddof", "centre", "n_rows", "product")
    added = ("centre",)
    kinds: ClassVar[dict[str, str]] = {"sample_weight": "fiub"}
    optional: ClassVar[tuple[str, ...]] = ("sample_weight", "ddof")
    nonnegative: ClassVar[tuple[str, ...]] = ("sample_weight",)
    symmetric: ClassVar[tuple[str, ...]] = ("product",)

    def __init__(
        self, n_samples: int, *, sample_weight: Array | None = None, ddof: int | None = None, centre: bool = True
    ) -> None:
        self.n_samples = int(n_samples)
        self.sample_weight = sample_weight
        self.ddof = ddof
        self.centre = centre
        self.n_rows = 0
        self.product: Any = None
        self._scratch = Scratch()

    def centred(self) -> Array:
        """Inner products of centred samples: J product J^T times sqrt(w_i w_j), with J = I - 1 w^T / sum(w); J = I if
        features are not centred."""
        G = centred_products(self.product, self.sample_weight) if self.centre else self.product
        if self.sample_weight is None:
            return G
        root = namespace(G).sqrt(astype(self.sample_weight, G.dtype))
        return G * root[:, None] * root[None, :]

    def of_samples(self, keep: np.ndarray) -> Gram:
        """The products of some samples only, without weights."""
        P = self.product
        xp = namespace(P)
        index = asarray_like(keep, P)
        some = Gram(len(keep))
        some.n_rows, some.product = self.n_rows, xp.take(xp.take(P, index, axis=0), index, axis=1)
        return some

    def from_products(self, known: Gram) -> Self | None:
        # Products of features that are divided by their standard deviations, or not centred, are others.
        return (
            None
            if self.ddof is not None or not self.centre
            else cast("Self | None", known.reweighted(self.sample_weight))
        )

    def reweighted(self, sample_weight: Array | None) -> Gram | None:
        """The same products with other weights of the samples, which only `centred` uses.

        None if the weighted mean is far from the point about which the products were taken, beside the differences
        between the samples: `centred` would then lose digits.
        """
        P = self.product
        xp = namespace(P)
        w = xp.ones_like(P[:, 0]) if sample_weight is None else astype(sample_weight, P.dtype)
        total, offset = float(w @ xp.linalg.diagonal(P)), float(w @ (P @ w)) / float(xp.sum(w))
        if total - offset < _NEAR * total:
            return None
        other = Gram(self.n_samples, sample_weight=sample_weight)
        other.n_rows, other.product = self.n_rows, P
        return other

    @property
    def threaded_blas(self) -> bool:
        """Whether there are enough samples for the product of a block to keep all BLAS threads busy."""
        return self.n_samples > NARROW

    @property
    def slices_on_device(self) -> bool:  # type: ignore[override]
        """Whether blocks are multiplied in slices: if they need not be copied as a whole."""
        return self.centre and self.ddof is None

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        check_columns(self.n_samples, block)
        P = self._sparse_product(block) if is_sparse(block) else self._product_of(block)
        return {"product": self._joined(P), "n_rows": self.n_rows + int(block.shape[0])}

    def _merged(self, other: Self) -> Changes:
        if other.product is None:
            return {}
        return {"product": self._joined(other.product), "n_rows": self.n_rows + other.n_rows}

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        # Adding the product of a block costs n^2 operations, so blocks of few stored entries have more features.
        return int(_dense_rows(n_columns, itemsize) / max(min(stored / _DENSE_FROM, 1.0), 1e-6))

    def _layout(self) -> Layout:
        n = self.n_samples
        return {"n_samples": (), "sample_weight": (n,), "ddof": (), "centre": (), "n_rows": (), "product": (n, n)}

    def _product_of(self, block: Array) -> Array:
        """The product of a dense block of features."""
        if namespace(block) is not np and self.centre and self.ddof is None:
            return products_of_samples(
                block, self.sample_weight, partial(feature_means, sample_weight=self.sample_weight)
            )
        if not self.centre:
            Z = centred_features(block, self.sample_weight, self.ddof, centre=False)[0]
        else:
            mean = feature_means(block, self.sample_weight, self._scratch)
            Z = self._scratch.difference(block, mean)
            if self.ddof is not None:
                Z = self._standardized(Z, mean, self.ddof)
        P = products_in_range(Z)
        check_squares(namespace(P).linalg.diagonal(P))
        return astype(P, wide_dtype(namespace(P), device(P)))

    def _sparse_product(self, block: Any) -> Array:
        """The product of a sparse block of features, in float64."""
        n = self.n_samples
        block = block.astype(np.float64, copy=False)
        w = np.ones(n) if self.sample_weight is None else np.asarray(self.sample_weight, dtype=np.float64)
        weight = float(w.sum())
        stored = type(block)((np.ones_like(block.data), block.indices, block.indptr), shape=block.shape) @ w
        crowded = (np.diff(block.indptr) > _DENSE_FROM * n) | (self.centre & (stored > _CENTRED_AFTER * weight))
        P = np.zeros((n, n)) if crowded.all() else self._product_of_few(block[~crowded], w, weight)
        rest = np.flatnonzero(crowded)
        step = _dense_rows(n, 8)
        for i in range(0, len(rest), step):
            P += self._product_of(block[rest[i : i + step]].toarray())
        check_squares(np.diagonal(P))
        return P

    def _product_of_few(self, F: Any, w: np.ndarray, weight: float) -> Array:
        """The product of features of which few entries are stored, centred after it."""
        mean = F @ w / weight if self.centre else np.zeros(F.shape[0])
        if self.ddof is not None:
            squares = np.clip(F.multiply(F) @ w - weight * mean * mean, 0.0, None)
            check_squares(squares)
            scale = standard_deviations(squares, mean, self.n_samples, weight, self.ddof)
            F, mean = F.multiply(1.0 / scale[:, None]).tocsr(), mean / scale
        P: Array = (F.T @ F).toarray()
        if not self.centre:
            return P
        cross = F.T @ mean
        P -= cross[:, None]
        P -= cross - mean @ mean
        return P

    def _standardized(self, Z: Array, mean: Array, ddof: int) -> Array:
        """Centred features divided by their standard deviation, in place for NumPy arrays."""
        xp = namespace(Z)
        Z = astype(Z, wide_dtype(xp, device(Z)))
        w = xp.ones_like(Z[0, :]) if self.sample_weight is None else astype(self.sample_weight, Z.dtype)
        weight = float(xp.sum(w))
        # If the mean is large, its rounding error may be as large as the standard deviation: correct the squares.
        rest = (Z @ w) / weight
        squares = xp.clip((Z * Z) @ w - weight * rest * rest, 0.0, None)
        check_squares(squares)
        scale = standard_deviations(squares, mean[:, 0], self.n_samples, weight, ddof)[:, None]
        return np.divide(Z, scale, out=Z) if isinstance(Z, np.ndarray) else Z / scale

    def _joined(self, P: Array) -> Array:
        """`product` and `P` together."""
        return P if self.product is None else self.product + P


class GramRoot(Gram):
    """As Gram, but `product` holds a root R of the centred Gram matrix R^T R: no digits are lost by squaring.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import summarize
    >>> from lowdim.summaries import GramRoot
    >>> X = np.array([[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 1.0, 0.0]])
    >>> R = summarize(X.T, GramRoot(n_samples=2)).product
    >>> (R.T @ R).round(10)
    array([[ 6., -6.],
           [-6.,  6.]])
    """

    symmetric = ()

    @property
    def slices_on_device(self) -> bool:  # type: ignore[override]
        """Rows are copied to float64 as a whole."""
        return False

    def from_products(self, known: Gram) -> Self | None:
        return None

    def centred(self) -> Array:
        """R^T R."""
        return self.product.T @ self.product

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return _dense_rows(n_columns, itemsize)

    def _sparse_product(self, block: Any) -> Array:
        return self._product_of(dense(block))

    def _product_of(self, block: Array) -> Array:
        xp = namespace(block)
        block = astype(block, wide_dtype(xp, device(block)))
        Z, _, _ = centred_features(block, self.sample_weight, self.ddof, self.centre)
        check_squares(xp.sum(Z * Z, axis=1))
        if self.sample_weight is not None:
            Z = Z * xp.sqrt(astype(self.sample_weight, Z.dtype))[None, :]
        return Z

    def _layout(self) -> Layout:
        return super()._layout() | {"product": (None, self.n_samples)}

    def _joined(self, P: Array) -> Array:
        both = P if self.product is None else namespace(P).concat([self.product, P], axis=0)
        return r_factor(both) if both.shape[0] > self.n_samples else both
