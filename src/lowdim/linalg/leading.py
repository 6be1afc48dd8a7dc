"""The leading eigenpairs of a matrix that is on a device.

A device multiplies matrices at once, but takes milliseconds for all eigenpairs of a small one: the reduction to a
tridiagonal matrix is a long chain of short steps. If few eigenpairs are wanted, and they are well above most of the
others, a few products find them.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import lru_cache

import numpy as np

from .._xp import Array, asarray_like, eps, namespace, to_numpy

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
