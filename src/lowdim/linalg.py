"""Small dense linear algebra, and the conventions for signs, order, rank and divisors, which are defined only here."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import linalg as scipy_linalg

from ._core.arrays import (
    Array,
    asarray_like,
    astype,
    count_true,
    device,
    eps,
    is_sparse,
    namespace,
    smallest_normal,
    to_host,
    to_numpy,
    wide_dtype,
)
from ._core.threads import largest_eigenpairs, run_interruptibly, single_threaded_blas
from .errors import column_label, too_few_rows, too_small

# The conventions for signs, order, rank, resolution and divisors, which are defined only here.


#: Below this ratio lambda_K / lambda_1 a float64 Gram or covariance matrix has lost the digits of lambda_K.
#: Its rounding errors are about eps * lambda_1, so about six digits are left at 1e-10.
RESOLUTION = 1e-10
#: The same for products in float32, whose errors are about 1e-7 lambda_1: about four digits are left.
RESOLUTION_FLOAT32 = 1e-3
#: Below these ratios, an eigenvalue still has all its digits if its estimated relative error is at most this: from
#: products in float64, and in float32. (It may be so if columns have very different scales.)
_ACCURATE, _ACCURATE_FLOAT32 = 1e-10, 1e-6

#: Between these bounds, sums of squares in float32 neither overflow nor underflow.
FLOAT32_SQUARES = (1e-28, 1e35)

#: Relative rounding errors of products in float64 and in float32.
FLOAT64_EPS = 2.0**-52
FLOAT32_EPS = 2.0**-23

#: Residuals of eigenpairs below this multiple of eps lambda_1 are rounding errors.
NOISE = 30

#: Entries of a vector that differ by less than this share of the largest count as equal in the rule for signs.
_TIED = 2.0**-16


def divisor(weight: float, ddof: int) -> float:
    """The divisor of a covariance, total weight minus `ddof`; zero if that is negative or zero up to rounding."""
    left = weight - ddof
    return left if left > 1e-9 * weight else 0.0


def require_rows(n_rows: int, weight: float, ddof: int, fixed: bool = False) -> None:
    """Raise an error if the divisor of a covariance is not positive; a `fixed` ddof cannot be chosen by the user."""
    if divisor(weight, ddof) <= 0:
        raise too_few_rows(n_rows, weight, ddof, fixed)


def require_size(
    squares: Array, mean: Array, weight: float, *, each: bool = False, table: str = "X", numbered: bool = True
) -> None:
    """Raise an error if columns vary so little that their variances underflow.

    Parameters
    ----------
    squares : array of shape (p,), or of shape (1,)
        Sums of squares of the columns about their means or about zero, or the largest eigenvalue of their scatter.
    mean : array of shape (p,)
        Their means, also if the squares are about zero: only the means tell entries that underflow from zeros.
    weight : float
        Total weight of the rows.
    each : bool
        Whether no column may vary so little, because each is divided by its standard deviation. Otherwise the largest
        sum of squares decides, since what underflows beside it is less than its rounding error.
    table : str
        The name of the table, for the message.
    numbered : bool
        Whether these are all columns of the table, so that the message can name one by its number.
    """
    xp = namespace(squares)
    if float(xp.min(squares) if each else xp.max(squares)) >= smallest_normal(squares, weight):
        return
    lost = underflows(to_numpy(squares), to_numpy(mean), weight)
    if lost.any():
        one = column_label(int(lost.argmax()), None) if numbered else "a column"
        raise too_small(one if each else "all columns", table)


def underflows(squares: Array, mean: Array, weight: float) -> Array:
    """Which columns vary, but have sums of squares (and so variances) that are too small to have all their digits.

    A sum of squares may also be zero because the column is constant. If the mean is far from zero, two different
    entries differ by so much that their difference can be squared, so a column without squares is constant; so is one
    whose mean is zero.
    """
    xp = namespace(squares)
    mean = astype(mean, squares.dtype)
    size = xp.abs(mean)
    unclear = (size > 0) & (size < math.sqrt(smallest_normal(squares)) / eps(squares))
    # The roots are divided, since variances may be zero where sums of squares are not.
    varies = xp.where(squares > 0, ~is_constant(xp.sqrt(squares) / math.sqrt(weight), mean), unclear)
    return varies & (squares < smallest_normal(squares, weight))


def require_normal(value: float, like: Array, where: str, weight: float = 1.0) -> None:
    """Raise an error if numbers that were computed in the dtype of `like` have lost digits, because they are so small.

    `value` is their size, or the sum of so many as `weight` says; zero is allowed. `where` says which numbers they are.
    """
    if 0.0 < value < smallest_normal(like, weight):
        raise too_small(where)


def most_components(n_rows: int, weight: float, n_features: int) -> int:
    """The largest number of components: min(n, p), where n counts repetitions (weight 2 equals repeating the row)."""
    return min(max(n_rows, int(weight)), n_features)


def signs(vectors: Array) -> Array:
    """+1 or -1 for each row, which makes its entry of largest magnitude positive; the first such entry on a tie.

    Entries that are smaller than the largest by less than 2^-16 of it count as tied, in every dtype. Otherwise the sign
    would depend on rounding errors, and so on the solver and on the precision in which it computes: components of
    float32 rows have relative errors of about 1e-6.
    """
    xp = namespace(vectors)
    size = xp.abs(vectors)
    tied = size >= xp.max(size, axis=1, keepdims=True) * (1.0 - _TIED)
    if isinstance(vectors, np.ndarray):
        decisive = vectors[np.arange(len(vectors)), tied.argmax(axis=1)]
        return np.where(decisive < 0, -1.0, 1.0).astype(vectors.dtype)
    first = xp.argmax(xp.astype(tied, xp.int8), axis=1)
    here = xp.arange(vectors.shape[1], device=device(vectors))[None, :] == first[:, None]
    negative = xp.any(here & (vectors < 0), axis=1)
    return 1.0 - 2.0 * xp.astype(negative, vectors.dtype)


def with_sign(vector: np.ndarray) -> np.ndarray:
    """A vector times the sign that `signs` gives to a row, in a third of the time."""
    size = np.abs(vector)
    decisive = vector[(size >= size.max(initial=0.0) * (1.0 - _TIED)).argmax()] if len(vector) else 0.0
    return -vector if decisive < 0 else vector


def fix_signs(vectors: Array) -> Array:
    """Rows of `vectors` times their `signs`."""
    return vectors * signs(vectors)[:, None]


def is_constant(deviation: Array, mean: Array) -> Array:
    """Which columns are constant: those whose standard deviation is at most the rounding error of their entries."""
    return deviation <= 2.0 * FLOAT64_EPS * namespace(mean).abs(mean)


def rank_cut(largest: float, n_features: int, epsilon: float) -> float:
    """The value at or below which eigenvalues count as zero: n_features * epsilon * largest."""
    return n_features * epsilon * largest


def resolution(epsilon: float, needed: float = RESOLUTION) -> float:
    """The share of the largest eigenvalue below which products with rounding `epsilon` have lost an eigenvalue's
    digits: `needed` for products in float64."""
    return needed if epsilon < 1e-10 else RESOLUTION_FLOAT32


def accuracy(epsilon: float) -> float:
    """The relative error up to which an eigenvalue, from products with rounding `epsilon`, has all its digits."""
    return _ACCURATE if epsilon < 1e-10 else _ACCURATE_FLOAT32


def numerical_rank(values: Array, n_features: int, epsilon: float | None = None) -> int:
    """The number of the descending eigenvalues `values` that are above the rank cut."""
    if values.shape[0] == 0:
        return 0
    cut = rank_cut(float(values[0]), n_features, eps(values) if epsilon is None else epsilon)
    return count_true(values > cut)


def with_zeros(values: Array, n: int) -> Array:
    """`values` with `n` zeros added to their last axis, for components without variance."""
    if n == 0:
        return values
    xp = namespace(values)
    zeros = xp.zeros((*values.shape[:-1], n), dtype=values.dtype, device=device(values))
    return xp.concat([values, zeros], axis=-1)


# Lengths, inner products and distances of rows.


#: Squared distances below this fraction of the squared spread are recomputed from differences: float64, float32.
_CLOSE, _CLOSE_FLOAT32 = 1e-6, 1e-3
#: Size, in numbers, of the array of differences that is formed at a time.
_DIFFERENCES = 1 << 20


def column_lengths(A: np.ndarray) -> np.ndarray:
    """Euclidean lengths of the columns, computed so that squares do not overflow or underflow."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    safe = np.where(largest > 0, largest, 1.0)
    return largest * np.sqrt(((A / safe) ** 2).sum(axis=0))


def inner_products(X: Array, Y: Array) -> Array:
    """Inner products x_i . y_j of rows, which may be dense or sparse, as a dense matrix."""
    if is_sparse(X) or is_sparse(Y):
        K = X @ Y.T
        return K.toarray() if is_sparse(K) else np.asarray(K)
    return X @ Y.T


def row_lengths(X: Array) -> Array:
    """Euclidean lengths of the rows; 1 for rows of zeros.

    If squares overflow or underflow, rows are first divided by their largest entries.
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = row_squares(X)
    xp = namespace(squares)
    least = smallest_normal(squares) / eps(squares)
    if bool(xp.all((squares >= least) & (squares < math.inf))):
        return xp.sqrt(squares)
    largest = abs(X).max(axis=1).toarray().ravel() if is_sparse(X) else xp.max(xp.abs(X), axis=1)
    largest = xp.where(largest > 0, largest, xp.ones_like(largest))
    squares = row_squares(X.multiply(1.0 / largest[:, None]) if is_sparse(X) else X / largest[:, None])
    return largest * xp.sqrt(xp.where(squares > 0, squares, xp.ones_like(squares)))


def row_squares(X: Array) -> Array:
    """Sums of squares of the rows."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel().astype(X.dtype)
    return namespace(X).sum(X * X, axis=1)


def squared_distances(X: Array, Y: Array) -> Array:
    """Squared distances |x_i - y_j|^2 of rows, from inner products.

    Dense rows are centred first, so that an offset common to all rows costs no digits. The distance of a row to itself
    (`X is Y`) is exactly zero. The rounding error is about eps times the squared spread of the rows. Those of float32
    rows are in float64 if their squares are out of the range of float32. For dense NumPy
    rows, distances below a thousandth of the spread (a thirtieth in float32) are recomputed from differences.
    """
    same = X is Y
    if is_sparse(X) or is_sparse(Y):
        squares = [row_squares(A) for A in (X, Y)]
    else:
        xp = namespace(X)
        origin = xp.mean(Y, axis=0, keepdims=True)
        X, Y = X - origin, Y - origin
        with np.errstate(over="ignore"):
            squares = [xp.sum(A * A, axis=1) for A in (X, Y)]
        low, high = FLOAT32_SQUARES
        if X.dtype == xp.float32 and not low < float(xp.max(xp.stack([xp.max(s) for s in squares]))) < high:
            X, Y = (astype(A, wide_dtype(A)) for A in (X, Y))
            squares = [xp.sum(A * A, axis=1) for A in (X, Y)]
    D = inner_products(X, Y)
    if isinstance(D, np.ndarray):
        np.multiply(D, D.dtype.type(-2.0), out=D)
        D += squares[0][:, None]
        D += squares[1][None, :]
        np.maximum(D, 0.0, out=D)
        close = _CLOSE if D.dtype == np.float64 else _CLOSE_FLOAT32
        _measure_again(D, X, Y, close * float(max(squares[0].max(), squares[1].max())))
        if same:
            np.fill_diagonal(D, 0.0)
        return D
    xp = namespace(D)
    D = xp.clip(squares[0][:, None] + squares[1][None, :] - 2.0 * D, 0.0, None)
    return D * (1.0 - xp.eye(D.shape[0], dtype=D.dtype, device=device(D))) if same else D


def _measure_again(D: np.ndarray, X: Any, Y: Any, below: float) -> None:
    """Recompute squared distances smaller than `below` from differences, since from products they are mostly rounding
    error."""
    if is_sparse(X) or is_sparse(Y):
        return
    i, j = np.nonzero(below > D)
    step = max(1, _DIFFERENCES // X.shape[1])
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        apart = X[i[some]] - Y[j[some]]
        D[i[some], j[some]] = np.einsum("ij,ij->i", apart, apart)


# Orthonormal rows and columns.


#: From this many rows on, Householder's method for NumPy arrays is slower than products.
_BY_PRODUCTS_FROM = 128
#: Columns of unit length are far from linearly dependent if the squares in the rows of the inverse of their triangular
#: factor sum to at most this on average. They are then orthonormal up to so many roundings for each of them.
_FAR_FROM_DEPENDENT = 10.0
#: Parts of unit vectors that are smaller than this do no harm in the matrices of an iteration.
_NEGLIGIBLE = 1e-12


def orthonormal_in_turn(rows: Array) -> Array:
    """The rows orthonormalised one after the other, up to sign, as Gram and Schmidt do.

    If the rows are nearly orthogonal already, the Cholesky factor L of their inner products is well conditioned, and
    L^{-1} times the rows is as accurate as Householder's method and several times as fast.
    """
    xp = namespace(rows)
    if xp is not np or rows.shape[0] >= _BY_PRODUCTS_FROM:
        found = _in_turn_by_products(rows)
        # On a device, where Householder's method takes many times as long, the second time makes up for products of
        # long rows in float32.
        again = found if found is None or xp is np else _in_turn_by_products(found)
        if again is not None:
            return again
    return xp.linalg.qr(rows.T, mode="reduced")[0].T


def _in_turn_by_products(rows: Array) -> Array | None:
    """The rows orthonormalised by the Cholesky factor of their inner products, or None if they are far from orthogonal.
    The factor, which is small, is computed on the host."""
    if rows.shape[0] == 0:
        return rows
    products = to_numpy(rows @ rows.T).astype(np.float64)
    lengths = np.sqrt(np.diagonal(products))
    if not np.all(lengths > 0.0) or not np.all(np.isfinite(products)):
        return None
    products = products / lengths / lengths[:, None]
    if float(np.abs(products - np.eye(len(lengths))).sum(axis=1).max()) >= 0.5:
        return None
    turn = np.linalg.inv(np.linalg.cholesky(products)) / lengths
    return asarray_like(turn, rows, dtype=rows.dtype) @ rows


def orthonormal_block(Z: Array, basis: Array, random: Any) -> tuple[Array, np.ndarray, np.ndarray, int]:
    """Q, R and C with `Z = basis C + Q R`, where Q has orthonormal columns that are orthogonal to `basis`.

    Directions that vanish, because the block has reached an invariant subspace, are replaced by random ones with zero
    rows in R, as many as the dimension of the space allows. The fourth result is the number of random directions.
    Gram-Schmidt is applied twice, which is enough [1]. R and C, which are small, are NumPy arrays. On a device, if the
    first time shows that the second one will change only the last digits of Q, what it changes in R and C is left out,
    so that the host need not wait for it.

    References
    ----------
    [1] Giraud, Langou, Rozloznik (2005), The loss of orthogonality in the Gram-Schmidt process.
    """
    xp = namespace(Z)
    there = basis.T @ Z
    Q, R, (C, squares), inverse = _qr_of_thin(Z - basis @ there, [there, xp.sum(Z * Z, axis=0)])
    least = 1e3 * eps(Z) * math.sqrt(float(squares.sum()))
    full = bool(np.all(np.abs(np.diagonal(R)) > least))
    if not full:
        # A column that vanishes has an arbitrary direction in Q, along which others need not vanish. The singular
        # vectors of R separate what vanishes from what does not.
        U, s, Vt = np.linalg.svd(R)
        kept = s > least
        Q, R = Q @ asarray_like(U[:, kept], Z, dtype=Z.dtype), s[kept, None] * Vt[kept]
    there = basis.T @ Q
    if not isinstance(Z, np.ndarray) and inverse is not None and full:
        # Roundings of Z, and of what is left of it, become these parts of Q.
        left_of_basis = eps(Z) * math.sqrt(float(squares @ (inverse**2).sum(axis=1)))
        roundings = float((R**2).sum(axis=0) @ (inverse**2).sum(axis=1)) / len(R)
        if left_of_basis <= _NEGLIGIBLE and roundings <= _FAR_FROM_DEPENDENT:
            return Q - basis @ there, R, C, 0
    # The remainder of a nearly dependent column is mostly rounding, so it is normalized before the second projection.
    Q, turn, (again,), _ = _qr_of_thin(Q - basis @ there, [there])
    C, R = C + again @ R, turn @ R
    if full:
        return Q, R, C, 0
    n_new = min(Z.shape[1] - len(R), Z.shape[0] - basis.shape[1] - len(R))
    if n_new:
        fresh = asarray_like(random.standard_normal((Z.shape[0], n_new)), Z, dtype=Z.dtype)
        for _ in range(3):
            fresh = fresh - Q @ (Q.T @ fresh)
            fresh = xp.linalg.qr(fresh - basis @ (basis.T @ fresh), mode="reduced")[0]
        Q = xp.concat([Q, fresh], axis=1)
        R = np.concatenate([R, np.zeros((n_new, R.shape[1]))])
    return Q, R, C, n_new


def _qr_of_thin(Z: Array, others: list[Array]) -> tuple[Array, np.ndarray, list[np.ndarray], np.ndarray | None]:
    """Q and R of a tall and thin block; R is a NumPy array, as are the other small ones that are copied to the host
    with the inner products, and the inverse of R, or None if columns are nearly dependent.

    If they are not, R is the Cholesky factor of Z^T Z, which needs only matrix products. Applied twice, this gives a Q
    as orthogonal as that of Householder's method [1].

    References
    ----------
    [1] Yamamoto, Nakatsukasa, Yanagisawa, Fukaya (2015), Roundoff error analysis of the CholeskyQR2 algorithm.
    """
    gram, *copied = (array.astype(np.float64) for array in to_host([Z.T @ Z, *others]))
    lengths = np.sqrt(np.diagonal(gram))
    if lengths.size and np.all(np.isfinite(gram)) and np.all(lengths > 0.0):
        try:
            L = np.linalg.cholesky(gram / lengths / lengths[:, None])
        except np.linalg.LinAlgError:
            L = np.zeros_like(gram)
        if np.diagonal(L).min() > 0.01:
            R = L.T * lengths
            inverse = np.linalg.inv(R)
            return Z @ asarray_like(inverse, Z, dtype=Z.dtype), R, copied, inverse
    Q, there = namespace(Z).linalg.qr(Z, mode="reduced")
    return Q, to_numpy(there).astype(np.float64), copied, None


# The leading eigenpairs of a matrix that is on a device.
#
# A device multiplies matrices at once, but takes milliseconds for all eigenpairs of a small one: the reduction to a
# tridiagonal matrix is a long chain of short steps. If few eigenpairs are wanted, and they are well above most of the
# others, a few products find them.


#: The block has half as many columns again as are wanted, and at least this many more.
_MORE = 12
#: The degree of the polynomial of the first stage, and possible degrees of the following ones. Each stage costs a sixth
#: of what all eigenpairs of a matrix with 256 columns cost.
_FIRST, _PLANS = 4, ((2,), (1,), (4, 2), (4, 1), (8, 2), (4, 2, 2), (8, 4, 2), (4, 4, 2), (4, 2, 1))
#: More pairs, or pairs of a larger matrix, are left to the general method: the block would be too large for the host,
#: and the polynomials, of which there are up to four, for the device.
_MOST_PAIRS, _MOST_COLUMNS = 128, 8192
#: The error that is planned for is so much smaller than the one that is accepted.
_SAFETY = 2.0


@np.errstate(over="ignore", invalid="ignore")
def leading_eigenpairs(A: Array, k: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The k largest eigenvalues of a symmetric matrix, descending (k,), and their vectors as rows (k, p), on the host.

    None if they are too close to the others to be found within a few products, if negative eigenvalues are as large, or
    if there are too many of them.

    Notes
    -----
    Subspace iteration [1]_: a random block Q of b > k columns becomes an orthonormal basis of f(A) Q, with a polynomial
    f, a few times. Its distance to the leading eigenvectors shrinks by |f(lambda_{b+1}) / f(lambda_k)| each time. First
    f is a power. The diagonal of the R factor then tells how large the eigenvalues are, and Chebyshev polynomials
    follow, which are at most one between zero and lambda_b and grow fastest above that. It is also known now how many
    products are needed, and if they are too many the search ends. At the end, eigenpairs of Q^T A Q are accepted if no
    residual ||A v - lambda v|| is larger than p eps lambda_1, which is what LAPACK promises too.

    The products are computed on the device; the block, which is small, is made orthonormal on the host. Since it is
    random, it is orthogonal to an eigenvector only with a probability that is zero for all purposes.

    References
    ----------
    .. [1] Saad (2011), Numerical methods for large eigenvalue problems, sections 5.2 and 7.4.
    """
    Q = None if k > _MOST_PAIRS or A.shape[0] > _MOST_COLUMNS else _leading_block(A, k)
    if Q is None:
        return None
    image = _on_host(A, Q)
    products = Q.T @ image
    values, turn = np.linalg.eigh(0.5 * (products + products.T))
    if not values[-1] > 0.0 or values[0] < -values[-k]:
        return None
    values, turn = values[: -k - 1 : -1].copy(), turn[:, : -k - 1 : -1]
    vectors = Q @ turn
    residuals = np.linalg.norm(image @ turn - vectors * values, axis=0)
    if not residuals.max() <= _tolerance(A) * values[0]:
        return None
    return values, vectors.T.copy()


def _leading_block(A: Array, k: int) -> np.ndarray | None:
    """An orthonormal block whose span contains the k leading eigenvectors; None if it would take too long to find."""
    p = A.shape[0]
    squared = A @ A
    start = _on_host(squared @ squared, _random_block(p, min(p, k + max(k // 2, _MORE))))
    if not np.all(np.isfinite(start)):
        return None
    Q, R = np.linalg.qr(start)
    sizes = np.sort(np.abs(np.diagonal(R))) ** (1.0 / _FIRST)
    largest, wanted, cut = (float(sizes[i]) for i in (-1, -k, 0))
    # Below this share, what the first stage leaves of an eigenvector is rounding.
    cut = max(cut, largest * eps(A) ** (1.0 / _FIRST))
    degrees = _degrees(largest, wanted, cut, _tolerance(A) / _SAFETY, eps(A))
    if degrees is None:
        return None
    del squared
    polynomials = _chebyshev(A, cut, degrees)
    for degree in degrees:
        Q = np.linalg.qr(_on_host(polynomials[degree], Q))[0]
    return Q


def _degrees(largest: float, wanted: float, cut: float, tolerance: float, epsilon: float) -> tuple[int, ...] | None:
    """The degrees of the Chebyshev polynomials with which a block is multiplied after the first stage.

    Eigenvalues up to `cut` are damped, and `wanted` is the smallest that is not. The residual of its eigenvector, the
    error times `wanted`, has to be at most `tolerance` times the `largest` one. A polynomial of degree m loses the
    digits of the vector by a factor of (largest / wanted)^m, so the last one has a low degree. None if too many are
    needed.
    """
    if not cut < wanted:
        return None
    growth, ratio = math.acosh(2.0 * wanted / cut - 1.0), largest / wanted
    for plan in _PLANS:
        error = (cut / wanted) ** _FIRST
        for m in plan:
            error = max(2.0 * error / math.exp(min(m * growth, 600.0)), epsilon * ratio**m)
        if error <= tolerance * ratio:
            return plan
    return None


def _chebyshev(A: Array, cut: float, degrees: Collection[int]) -> dict[int, Array]:
    """The Chebyshev polynomials T_m(2 A / cut - I) of these degrees, powers of two, from T_2m = 2 T_m^2 - 1."""
    degree, found = 1, _minus_one(A * (2.0 / cut))
    polynomials = {degree: found}
    while degree < max(degrees):
        degree, found = 2 * degree, _minus_one(2.0 * (found @ found))
        polynomials[degree] = found
        polynomials = {m: polynomials[m] for m in polynomials if m in degrees or m == degree}
    return polynomials


def _minus_one(A: Array) -> Array:
    """A - I, in the memory of A where that is possible."""
    flat = namespace(A).reshape(A, (-1,))
    # A view; subtracting from it by its index would copy it once more.
    diagonal = flat[:: A.shape[0] + 1]
    diagonal -= 1.0
    return namespace(A).reshape(flat, A.shape)


def _tolerance(A: Array) -> float:
    """The largest residual of an eigenpair, as a share of the largest eigenvalue."""
    return float(A.shape[0] * eps(A))


def _on_host(A: Array, Q: np.ndarray) -> np.ndarray:
    """A Q as a NumPy array."""
    return to_numpy(A @ asarray_like(Q, A, dtype=A.dtype))


@lru_cache(maxsize=8)
def _random_block(p: int, b: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((p, b))


# Eigenpairs, singular values and triangular factors, in the order of the conventions.


#: Squares of singular values are accurate enough if they are at least this share of the largest.
_SQUARED = 1e-6
#: The smallest matrix for which only the leading eigenvectors are computed.
_PARTIAL_FROM = 128
#: For matrices larger than the first size and up to the second one, BLAS uses a single thread. (With sixteen threads,
#: eigenpairs of 32 columns take 2 ms in place of 0.1 ms.)
_SMALL, _MEDIUM = 8, 512
#: From this size on, a decomposition takes so long that Ctrl-C must be heard meanwhile.
_LONG = 1000


def quiet_blas(p: int) -> AbstractContextManager[None]:
    """Context for the algebra of p x p matrices.

    Up to a medium size, several BLAS threads are no faster than one, and they keep spinning for a while afterwards,
    which slows down the next pass over the rows.
    """
    return single_threaded_blas() if _SMALL < p <= _MEDIUM else nullcontext()


def eigh_descending(A: Array, at_least: int | None = None, *, on_host: bool = False) -> tuple[Array, Array]:
    """Eigenpairs of symmetric `A`, largest first: values (m,), vectors as rows (m, p).

    Returns all p of them, or only the first `at_least` if that is cheaper (matrices with many columns). With `on_host`,
    the values are a NumPy array, and so are the vectors if the host has found them, which it does for the leading ones
    of matrices on a device.
    """
    p = A.shape[0]
    few = at_least if at_least is not None and p >= _PARTIAL_FROM and at_least <= p // 8 else None
    if isinstance(A, np.ndarray):
        with quiet_blas(p):
            if few is not None:
                values, vectors = _decompose(largest_eigenpairs, A, m=few)
            # If all eigenvalues are nearly equal, LAPACK's search by index may find none.
            if few is None or len(values) < few:
                values, vectors = _decompose(np.linalg.eigh, A)
        return values[::-1], vectors.T[::-1]
    leading = None if few is None else leading_eigenpairs(A, few)
    if leading is not None:
        return leading if on_host else (asarray_like(leading[0], A), asarray_like(leading[1], A))
    xp = namespace(A)
    values, vectors = xp.linalg.eigh(A)
    values = xp.flip(values)
    return to_numpy(values) if on_host else values, xp.flip(vectors, axis=1).T


def svd_thin(A: Array) -> tuple[Array, Array, Array]:
    """The thin decomposition `A = U diag(s) Vt`, s descending. For NumPy arrays, if LAPACK's fast driver fails, the
    slower and more reliable one is used."""
    if isinstance(A, np.ndarray):
        try:
            return _decompose(np.linalg.svd, A, full_matrices=False)
        except np.linalg.LinAlgError:
            return _decompose(scipy_linalg.svd, A, full_matrices=False, lapack_driver="gesvd")
    return tuple(namespace(A).linalg.svd(A, full_matrices=False))


def svd_leading(A: np.ndarray, k: int, *, all_values: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At least the first `k` singular triplets of `A`, U diag(s) Vt with s descending; with `all_values`, all s.

    If few of many are wanted, they are eigenvectors of the smaller of A^T A and A A^T, which is several times as fast;
    but not if s_k is so far below s_1 that squaring would cost its digits. The values beyond the k-th have an error of
    about eps s_1^2 / s_j.
    """
    if min(A.shape) < (1 if all_values else 2) * _PARTIAL_FROM or k > min(A.shape) // 8:
        return svd_thin(A)
    if A.shape[0] < A.shape[1]:
        V, s, Ut = svd_leading(A.T, k, all_values=all_values)
        return Ut.T, s, V.T
    unit = float(np.abs(A).max()) or 1.0
    A = A / unit
    values, Vt = eigh_descending(A.T @ A, at_least=None if all_values else k)
    if not values[k - 1] > _SQUARED * values[0]:
        U, s, Vt = svd_thin(A)
        return U, s * unit, Vt
    Vt = Vt[:k]
    U = A @ Vt.T
    s = np.sqrt(row_squares(U.T))
    others = np.sqrt(np.clip(values[k:], 0.0, None)) if all_values else s[:0]
    return U / s, np.concatenate([s, np.minimum(others, s[-1])]) * unit, Vt


def _decompose(decompose: Callable[..., Any], A: np.ndarray, **options: Any) -> Any:
    """`decompose(A, **options)`; if that takes long, it can be interrupted."""
    return run_interruptibly(decompose, A, **options) if min(A.shape) >= _LONG else decompose(A, **options)


def r_factor(A: Array) -> Array:
    """The triangular factor R of `A = Q R`; NumPy does not form Q."""
    if isinstance(A, np.ndarray):
        return np.linalg.qr(A, mode="r")
    return namespace(A).linalg.qr(A, mode="reduced")[1]


def orthonormal_rows(W: Array, rank: int, k: int) -> Array:
    """`k` orthonormal rows: those of `W` up to the rank, and arbitrary ones beyond it, which depend on nothing else.

    Rows of `W` for small eigenvalues are orthogonal only to about eps lambda_1 / lambda_k. Since rows are
    orthogonalised in descending order of their eigenvalues, the accurate ones hardly change.
    """
    rows = W[:rank, :]
    if rank:
        rows = orthonormal_in_turn(rows / namespace(W).max(namespace(W).abs(rows)))
    return with_complement(rows, k)


def with_complement(rows: Array, k: int) -> Array:
    """Orthonormal `rows` with arbitrary further ones, k in all, that depend on nothing else."""
    rank, p = rows.shape
    if rank == k:
        return rows
    if rank == 0:
        return namespace(rows).eye(k, p, dtype=rows.dtype, device=device(rows))
    noise = asarray_like(np.random.default_rng(0).standard_normal((k - rank, p)), rows, dtype=rows.dtype)
    # By chance, the first of these may lie in the span of the rows: then only rounding is left, and chosen anew.
    for _ in range(3):
        noise = orthonormal_in_turn(noise - (noise @ rows.T) @ rows)
    return namespace(rows).concat([rows, noise], axis=0)
