"""Inner products of rows, for tables with fewer rows than columns.

The blocks of these summaries hold features, the columns of the table. The Gram matrix is a sum over features, each of
which is centred separately, so it can be accumulated over blocks of features as the scatter is over blocks of samples.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np

from .._core.arrays import (
    Array,
    Scratch,
    SharedScratch,
    asarray_like,
    astype,
    dense,
    device,
    is_sparse,
    namespace,
    to_numpy,
    wide_dtype,
)
from ..linalg import FLOAT32_SQUARES, divisor, is_constant, r_factor, require_rows, require_size
from .base import CACHE_BYTES, NARROW, Changes, Summary, check_squares, products_in_range, row_weights
from .device import products_of_samples

#: Products about a point have lost too many digits if less than this share of the squares is variance.
_NEAR_ROWS = 1e-6
#: Features of a sparse block of which more than this share is stored are multiplied as dense ones, which is faster.
_DENSE_FROM = 0.1
#: The weight of the samples at which a feature is stored may be at most this share, if the feature is to be centred
#: after its products were computed: the subtraction then costs at most one binary digit.
_CENTRED_AFTER = 0.5


def centred_features(
    block: Array, sample_weight: Array | None, ddof: int | None, center: bool = True
) -> tuple[Array, Array, Array]:
    """Features (rows of `block`, with one entry for each sample) centred over the samples; their means and scales.

    If `ddof` is None the scales are one; otherwise features are divided by their standard deviation (constant features
    by one). Unless `center`, nothing is subtracted, the means are zero, and features are divided by their root mean
    square.
    """
    xp = namespace(block)
    if center:
        mean = feature_means(block, sample_weight)
        Z = block - mean
        # If the mean is large, its rounding error may be as large as the standard deviation, so centre a second time.
        rest = feature_means(Z, sample_weight)
        Z, mean = Z - rest, mean + rest
    else:
        Z, mean = block, xp.zeros_like(block[:, :1])
    scale = xp.ones_like(Z[:, 0])
    if ddof is not None:
        Z = astype(Z, wide_dtype(Z))
        w = row_weights(Z[0, :], sample_weight)
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
    sample_weight : array of shape (n,), default=None
        Weights of the samples.
    ddof : int, default=None
        If given, each feature is divided by its standard deviation with this ddof.
    center : bool, default=True
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
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import Gram
    >>> X = np.array([[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 1.0, 0.0]])
    >>> summarize(X.T, Gram(n_samples=2)).centred()  # it is given the columns of the table
    array([[ 6., -6.],
           [-6.,  6.]])
    """

    parameters = ("n_samples", "sample_weight", "ddof", "center")
    state: ClassVar[dict[str, str]] = dict(n_samples="", sample_weight="p", ddof="", center="", n_rows="", product="pp")
    added = ("center",)
    names_in_files: ClassVar[dict[str, str]] = {"center": "centre"}
    kinds: ClassVar[dict[str, str]] = {"sample_weight": "fiub"}
    optional: ClassVar[tuple[str, ...]] = ("sample_weight", "ddof")
    nonnegative: ClassVar[tuple[str, ...]] = ("sample_weight",)
    symmetric: ClassVar[tuple[str, ...]] = ("product",)

    def __init__(
        self, n_samples: int, *, sample_weight: Array | None = None, ddof: int | None = None, center: bool = True
    ) -> None:
        self.n_samples = int(n_samples)
        self.sample_weight = sample_weight
        self.ddof = ddof
        self.center = center
        self.n_rows = 0
        self.product: Any = None
        self._scratch = Scratch()

    def centred(self) -> Array:
        """Inner products of centred samples: J product J^T times sqrt(w_i w_j), with J = I - 1 w^T / sum(w); J = I if
        features are not centred."""
        G = centred_products(self.product, self.sample_weight) if self.center else self.product
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
        # Roots, and products of features that are divided by their standard deviations or not centred, are others.
        same = type(self) is Gram and self.ddof is None and self.center
        return cast("Self", known.reweighted(self.sample_weight)) if same else None

    def reweighted(self, sample_weight: Array | None) -> Gram | None:
        """The same products with other weights of the samples, which only `centred` uses.

        None if the weighted mean is far from the point about which the products were taken, beside the differences
        between the samples: `centred` would then lose digits.
        """
        P = self.product
        xp = namespace(P)
        w = row_weights(P[:, 0], sample_weight)
        total, offset = float(w @ xp.linalg.diagonal(P)), float(w @ (P @ w)) / float(xp.sum(w))
        if total - offset < _NEAR_ROWS * total:
            return None
        other = Gram(self.n_samples, sample_weight=sample_weight)
        other.n_rows, other.product = self.n_rows, P
        return other

    @property
    def threaded_blas(self) -> bool:
        """Whether there are enough samples for the product of a block to keep all BLAS threads busy."""
        return self._sizes()["p"] > NARROW

    @property
    def slices_on_device(self) -> bool:  # type: ignore[override]
        """Whether blocks are multiplied in slices: if they need not be copied as a whole."""
        return self.center and self.ddof is None

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        P = self._sparse_product(block) if is_sparse(block) else self._product_of(block)
        return {"product": self._joined(P), "n_rows": self.n_rows + int(block.shape[0])}

    def _merged(self, other: Self) -> Changes:
        if other.product is None:
            return {}
        return {"product": self._joined(other.product), "n_rows": self.n_rows + other.n_rows}

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        # Adding the product of a block costs n^2 operations, so blocks of few stored entries have more features.
        return int(_dense_rows(n_columns, itemsize) / max(min(stored / _DENSE_FROM, 1.0), 1e-6))

    def _sizes(self) -> dict[str, int]:
        return {"p": self.n_samples}

    def _product_of(self, block: Array) -> Array:
        """The product of a dense block of features."""
        if namespace(block) is not np and self.center and self.ddof is None:
            return products_of_samples(
                block, self.sample_weight, partial(feature_means, sample_weight=self.sample_weight)
            )
        if not self.center:
            Z = centred_features(block, self.sample_weight, self.ddof, center=False)[0]
        else:
            mean = feature_means(block, self.sample_weight, self._scratch)
            Z = self._scratch.difference(block, mean)
            if self.ddof is not None:
                Z = self._standardized(Z, mean, self.ddof)
        P = products_in_range(Z)
        check_squares(namespace(P).linalg.diagonal(P))
        return astype(P, wide_dtype(P))

    def _sparse_product(self, block: Any) -> Array:
        """The product of a sparse block of features, in float64."""
        n = self.n_samples
        block = block.astype(np.float64, copy=False)
        w = np.ones(n) if self.sample_weight is None else np.asarray(self.sample_weight, dtype=np.float64)
        weight = float(w.sum())
        stored = type(block)((np.ones_like(block.data), block.indices, block.indptr), shape=block.shape) @ w
        crowded = (np.diff(block.indptr) > _DENSE_FROM * n) | (self.center & (stored > _CENTRED_AFTER * weight))
        P = np.zeros((n, n)) if crowded.all() else self._product_of_few(block[~crowded], w, weight)
        rest = np.flatnonzero(crowded)
        step = _dense_rows(n, 8)
        for i in range(0, len(rest), step):
            P += self._product_of(block[rest[i : i + step]].toarray())
        check_squares(np.diagonal(P))
        return P

    def _product_of_few(self, F: Any, w: np.ndarray, weight: float) -> Array:
        """The product of features of which few entries are stored, centred after it."""
        mean = F @ w / weight if self.center else np.zeros(F.shape[0])
        if self.ddof is not None:
            squares = np.clip(F.multiply(F) @ w - weight * mean * mean, 0.0, None)
            check_squares(squares)
            scale = standard_deviations(squares, mean, self.n_samples, weight, self.ddof)
            F, mean = F.multiply(1.0 / scale[:, None]).tocsr(), mean / scale
        P: Array = (F.T @ F).toarray()
        if not self.center:
            return P
        cross = F.T @ mean
        P -= cross[:, None]
        P -= cross - mean @ mean
        return P

    def _standardized(self, Z: Array, mean: Array, ddof: int) -> Array:
        """Centred features divided by their standard deviation, in place for NumPy arrays."""
        xp = namespace(Z)
        Z = astype(Z, wide_dtype(Z))
        w = row_weights(Z[0, :], self.sample_weight)
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
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import GramRoot
    >>> X = np.array([[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 1.0, 0.0]])
    >>> R = summarize(X.T, GramRoot(n_samples=2)).product
    >>> (R.T @ R).round(10)
    array([[ 6., -6.],
           [-6.,  6.]])
    """

    state = Gram.state | {"product": "*p"}
    symmetric = ()

    @property
    def slices_on_device(self) -> bool:  # type: ignore[override]
        """Rows are copied to float64 as a whole."""
        return False

    def centred(self) -> Array:
        """R^T R."""
        return self.product.T @ self.product

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return _dense_rows(n_columns, itemsize)

    def _sparse_product(self, block: Any) -> Array:
        return self._product_of(dense(block))

    def _product_of(self, block: Array) -> Array:
        xp = namespace(block)
        block = astype(block, wide_dtype(block))
        Z, _, _ = centred_features(block, self.sample_weight, self.ddof, self.center)
        check_squares(xp.sum(Z * Z, axis=1))
        if self.sample_weight is not None:
            Z = Z * xp.sqrt(astype(self.sample_weight, Z.dtype))[None, :]
        return Z

    def _joined(self, P: Array) -> Array:
        both = P if self.product is None else namespace(P).concat([self.product, P], axis=0)
        return r_factor(both) if both.shape[0] > self.n_samples else both


# Inner products of rows whose columns are standardized by several sets of training rows, for cross-validation.


#: If less than this share of the mean square of a feature is variance, its squares are computed again about the mean.
_NEAR_STANDARDIZED = 1e-4


class StandardizedGrams(Summary):
    """Inner products of all samples, with features centred and divided by the standard deviation of training samples.

    For each set of training samples, with weights w_s, mean m_s and standard deviation d_s of each feature,

        product[s] = sum over features of z z^T,   z = (x - m_s) / d_s,

    for all samples, whether they are training samples or not. `log_scale[s]` is the sum of ln d_s over the features.

    Parameters
    ----------
    training : array of shape (n_sets, n_samples)
        The weights of the samples in each set; zero for samples that are not in it.
    ddof : int
        The variances have the divisor weight - ddof. Features that are constant in a set are divided by one.
    root : bool, default=False
        Keep a root R_s of each product R_s^T R_s instead, so that no digits are lost by squaring.

    Notes
    -----
    The blocks hold features, the columns of the table. One pass over them for all sets; n^2 numbers and n^2 p
    multiplications for each set.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim.reading import summarize
    >>> from lowdim.summaries import StandardizedGrams
    >>> X = np.random.default_rng(0).standard_normal((6, 50))
    >>> training = np.array([[1.0, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]])  # two sets of four rows
    >>> summarize(X.T, StandardizedGrams(training, ddof=1)).product.shape
    (2, 6, 6)
    """

    parameters = ("training", "ddof", "root")
    state = dict(training="sp", ddof="", root="", n_rows="", product="srp", log_scale="s")
    kinds: ClassVar[dict[str, str]] = {"training": "fiub"}
    nonnegative: ClassVar[tuple[str, ...]] = ("training",)

    def __init__(self, training: Array, ddof: int, root: bool = False) -> None:
        self.training = training
        self.ddof, self.root = ddof, bool(root)
        self.n_rows = 0
        self.product: Any = None
        self.log_scale: Any = None

    threaded_blas = Gram.threaded_blas

    def block_rows(self, n_columns: int, itemsize: int, stored: float = 1.0) -> int:
        return max(CACHE_BYTES // 4 // (n_columns * 8), 4 * n_columns)

    def _updated(self, block: Array, weights: Array | None) -> Changes:
        X = to_numpy(dense(block)).astype(np.float64, copy=False)
        shift = feature_means(X, None)
        Z = X - shift
        means, scales = self._columns(X, Z, shift[:, 0])
        parts = []
        room = np.empty_like(Z)
        for mean, factor in zip(means.T, 1.0 / scales.T, strict=True):
            # Only roots are kept; products are done with when the next set overwrites the features.
            A = np.subtract(Z, mean[:, None], out=None if self.root else room)
            A *= factor[:, None]
            part = A if self.root else A.T @ A
            check_squares(np.einsum("ij,ij->i", A, A) if self.root else np.diagonal(part))
            parts.append(part)
        return self._joined(parts, np.log(scales).sum(axis=0)) | {"n_rows": self.n_rows + len(Z)}

    def _columns(self, X: np.ndarray, Z: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means of the features of Z = X - shift, and their standard deviations, in each set: (features, sets)."""
        W = to_numpy(self.training).astype(np.float64).T
        totals = W.sum(axis=0)
        means = (Z @ W) / totals
        squares = (Z * Z) @ W
        left = squares - totals * means**2
        scales = []
        for s, total in enumerate(totals):
            places, centres = np.flatnonzero(W[:, s] > 0), shift + means[:, s]
            again = np.flatnonzero(left[:, s] <= _NEAR_STANDARDIZED * squares[:, s])
            if len(again):
                # About one of the training samples, so that features that are constant in the set are so exactly.
                A, w = X[np.ix_(again, places)], W[places, s]
                first = A[:, 0]
                D = A - first[:, None]
                mean = (D @ w) / total
                left[again, s] = (D - mean[:, None]) ** 2 @ w
                means[again, s], centres[again] = (first - shift[again]) + mean, first + mean
            check_squares(left[:, s])
            scales.append(standard_deviations(left[:, s], centres, len(places), float(total), self.ddof))
        return means, np.stack(scales, axis=1)

    def _merged(self, other: Self) -> Changes:
        if other.product is None:
            return {}
        return self._joined(list(other.product), other.log_scale) | {"n_rows": self.n_rows + other.n_rows}

    def _joined(self, parts: list[np.ndarray], log_scale: np.ndarray) -> Changes:
        """The products and logarithms of the scales, together with those of further features."""
        if self.root:
            both = parts
            if self.product is not None:
                both = [np.concatenate(pair) for pair in zip(self.product, parts, strict=True)]
            product = np.stack([r_factor(A) if len(A) > A.shape[1] else A for A in both])
        else:
            product = np.stack(parts) if self.product is None else self.product + np.stack(parts)
        return {"product": product, "log_scale": log_scale if self.log_scale is None else self.log_scale + log_scale}

    def _sizes(self) -> dict[str, int]:
        sets, n = self.training.shape
        return {"s": sets, "p": n} if self.root else {"s": sets, "p": n, "r": n}


# Products of centred features with vectors, together with the means and standard deviations of the features.


#: A feature is near zero if its variance is more than this share of its mean square.
_NEAR = 1e-4


class FeatureProducts:
    """Maps a block of features to (centred features times `right`, their means, their standard deviations).

    The columns of `right` sum to nearly zero, so features near zero need not be centred first: the contribution of
    their means is subtracted from the products. Features far from zero are centred before the product. Sparse features
    stay sparse, except for those far from zero; they are multiplied in float64.
    """

    #: For `map_rows`: sparse blocks are not made dense, so that they may have many rows.
    keeps_sparse = True

    def __init__(self, weights: Array | None, ddof: int, right: Array) -> None:
        xp = namespace(right)
        n = right.shape[0]
        self._scratch, self._weights = SharedScratch(), weights
        ones = xp.ones(n, dtype=right.dtype, device=device(right))
        w = ones if weights is None else astype(weights, right.dtype)
        self.total_weight_ = float(n) if weights is None else float(xp.sum(w))
        self._by, self._w, self._sums = xp.concat([right, w[:, None]], axis=1), w, xp.sum(right, axis=0)
        self._divisor = divisor(self.total_weight_, ddof)

    def __call__(self, block: Array) -> Array:
        return self._of_sparse(block) if is_sparse(block) else self._of_dense(block)

    def _of_sparse(self, block: Any) -> Array:
        block = block.astype(np.float64, copy=False)
        squares = block.multiply(block) @ self._w
        # The last column makes room for the deviations, so that nothing large is copied.
        found: np.ndarray = block @ np.column_stack([self._by, np.zeros(self._by.shape[0])])
        mean = found[:, -2] / self.total_weight_
        left = squares - self._squares_of(mean, squares)
        found[:, :-2] -= mean[:, None] * self._sums
        found[:, -2] = mean
        found[:, -1] = np.sqrt(np.clip(left, 0.0, None) / self._divisor)
        far = np.flatnonzero(~(left > _NEAR * squares) & (squares != 0.0))
        step = max(1, CACHE_BYTES // (8 * block.shape[1]))
        for i in range(0, len(far), step):
            some = far[i : i + step]
            found[some] = self._of_dense(block[some].toarray())
        return found

    def _of_dense(self, block: Array) -> Array:
        xp = namespace(block)
        products, squares = self._sums_of(block)
        mean = products[:, -1] / self.total_weight_
        left = squares - self._squares_of(mean, squares)
        shift = xp.zeros_like(mean)
        if not bool(xp.all(left > _NEAR * squares)):
            shift = feature_means(block, self._weights, self._scratch)[:, 0]
            products, squares = self._sums_of(self._scratch.difference(block, shift[:, None]))
            mean = products[:, -1] / self.total_weight_
            left = xp.clip(squares - self._squares_of(mean, squares), 0.0, None)
        moved = products[:, :-1] - mean[:, None] * astype(self._sums, block.dtype)[None, :]
        deviation = astype(xp.sqrt(left / self._divisor), block.dtype)
        return xp.concat([moved, (shift + mean)[:, None], deviation[:, None]], axis=1)

    def _sums_of(self, Z: Array) -> tuple[Array, Array]:
        """Products and weighted sums of squares of features."""
        # In this form the product is almost twice as fast for a block of columns of a table in memory.
        products = (astype(self._by, Z.dtype).T @ Z.T).T
        if isinstance(Z, np.ndarray) and self._weights is None:
            squares = np.einsum("ij,ij->i", Z, Z)
        else:
            squares = (Z * Z) @ astype(self._w, Z.dtype)
        return products, self._in_range(squares, Z)

    def _squares_of(self, mean: Array, like: Array) -> Array:
        """The sums of squares of constant features with these means, in the dtype of `like`."""
        mean = astype(mean, like.dtype)
        return self.total_weight_ * mean * mean

    def _in_range(self, squares: Array, Z: Array) -> Array:
        """Sums of squares of features; in float64 if some of them are out of the range of float32."""
        xp = namespace(Z)
        low, high = FLOAT32_SQUARES
        fits = (squares > low) & (squares < high)
        if Z.dtype != xp.float32 or bool(xp.all(fits)):
            return squares
        # Only these features are computed again, since many may be zero.
        again = xp.nonzero(~fits)[0]
        some = astype(xp.take(Z, again, axis=0), self._w.dtype)
        wide = to_numpy(squares).astype(np.float64)
        wide[to_numpy(again)] = to_numpy((some * some) @ self._w)
        return asarray_like(wide, squares, dtype=self._w.dtype)
