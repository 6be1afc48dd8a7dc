"""Calls of BLAS and LAPACK during which other threads run.

SciPy has functions for the same routines, with the same results. But they keep Python's global lock during the call,
which takes seconds for the eigenpairs of a large matrix: meanwhile no other thread runs, and Ctrl-C is not heard.
`ctypes` releases the lock.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack


@cache
def _routine(name: str, n_arguments: int) -> Callable[..., None]:
    """A routine of SciPy's BLAS or LAPACK, all of whose arguments are pointers."""
    blas: Any = cython_blas.__pyx_capi__
    routines: Any = blas if name in blas else cython_lapack.__pyx_capi__
    capsule = routines[name]
    get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(get_pointer(capsule, get_name(capsule)))


def largest_eigenpairs(A: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The m largest eigenvalues of `A` (float32 or float64) in ascending order, and their vectors as columns.

    Only the lower triangle is read. If all eigenvalues are nearly equal, LAPACK may find fewer than m.
    """
    p = len(A)
    if not 1 <= m <= p:
        raise ValueError(f"m={m} must be between 1 and {p}.")
    A = np.array(A, order="F")
    dtype = A.dtype
    syevr = _routine({"f": "ssyevr", "d": "dsyevr"}[dtype.char], 21)
    values, vectors = np.empty(p, dtype), np.empty((p, m), dtype, order="F")
    support, work, iwork = np.empty(2 * m, np.int32), np.empty(1, dtype), np.empty(1, np.int32)
    n, found, info = np.array(p, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    first, last, unused = np.array(p - m + 1, np.int32), np.array(p, np.int32), np.zeros(1, dtype)

    def call(lwork: int, liwork: int) -> None:
        sizes = np.array([lwork, liwork], np.int32)
        letters = [ctypes.create_string_buffer(letter, 1) for letter in (b"V", b"I", b"L")]
        arrays: list[Any] = [n, A, n, unused, unused, first, last, unused, found, values, vectors, n, support]
        arrays += [work, sizes[:1], iwork, sizes[1:], info]
        syevr(*(ctypes.addressof(letter) for letter in letters), *(array.ctypes.data for array in arrays))
        if info[0] != 0:
            raise np.linalg.LinAlgError(f"the eigenvalues were not found: LAPACK's syevr gives the error {info[0]}.")

    # The first call asks for the sizes of the arrays to work in.
    call(-1, -1)
    work, iwork = np.empty(int(work[0]), dtype), np.empty(int(iwork[0]), np.int32)
    call(len(work), len(iwork))
    return values[: found[0]], vectors[:, : found[0]]


def cholesky_factor(A: np.ndarray) -> np.ndarray:
    """The lower triangular L with `A = L L^T`, for a symmetric matrix of float64; an error if A is not positive
    definite.

    NumPy's function gives the same, but takes two to three times as long for a few hundred columns.
    """
    if A.dtype != np.float64 or A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise TypeError(f"A must be a square matrix of float64, got {A.dtype} of shape {A.shape}.")
    # The transposed matrix is the same, and the copy of it, which is counted by columns, is one piece of memory.
    L = np.array(A.T, order="F")
    n, stride, info = np.array(len(L), np.int32), np.array(max(len(L), 1), np.int32), np.zeros(1, np.int32)
    letter = ctypes.create_string_buffer(b"L", 1)
    _routine("dpotrf", 5)(ctypes.addressof(letter), *(array.ctypes.data for array in (n, L, stride, info)))
    # Some libraries do not notice NaN, which then reaches the last entry.
    if info[0] != 0 or not np.isfinite(L[-1:, -1:]).all():
        raise np.linalg.LinAlgError("the matrix is not positive definite.")
    return np.tril(L)


#: The matrix is mirrored in pieces of this size, which stay in cache.
_PIECE = 32


def add_products(Z: np.ndarray, total: np.ndarray) -> None:
    """Add Z^T Z to the upper triangle of `total`, both in float64, in place; the lower triangle is not changed.

    `total + Z.T @ Z` gives the same. But it needs memory for the product, and reads and writes it three more times.
    """
    m, p = Z.shape
    if Z.dtype != np.float64 or total.dtype != np.float64 or total.shape != (p, p) or not total.flags.c_contiguous:
        raise TypeError(f"Z and total must be matrices of float64, and total a contiguous one of shape {(p, p)}.")
    # To BLAS, which counts by columns, the rows of Z and of the upper triangle are columns.
    by_rows, by_columns = Z.T.strides == (8, max(8 * p, Z.strides[0])), Z.strides == (8, max(8 * m, Z.strides[1]))
    # The rows of a field of a structured array may be a number of bytes apart that is no multiple of 8.
    if not (by_rows or by_columns) or not Z.flags.aligned or any(stride % 8 for stride in Z.strides):
        Z, by_rows = np.ascontiguousarray(Z), True
    letters = [ctypes.create_string_buffer(letter, 1) for letter in (b"L", b"N" if by_rows else b"T")]
    stride = max(p, Z.strides[0] // 8) if by_rows else max(m, Z.strides[1] // 8)
    size, length, leading, one = np.array(p, np.int32), np.array(m, np.int32), np.array(stride, np.int32), np.ones(1)
    arrays: list[np.ndarray] = [size, length, one, Z, leading, one, total, size]
    syrk = _routine("dsyrk", 10)
    syrk(*(ctypes.addressof(letter) for letter in letters), *(array.ctypes.data for array in arrays))


def mirror_upper(A: np.ndarray) -> None:
    """Copy the upper triangle of a square matrix to its lower triangle, in place."""
    p = len(A)
    for i in range(0, p, _PIECE):
        j = min(i + _PIECE, p)
        A[j:, i:j] = A[i:j, j:].T
        corner = A[i:j, i:j]
        below = _below_diagonal(j - i)
        corner[below] = corner.T[below]


@cache
def _below_diagonal(p: int) -> Any:
    """The indices of the entries below the diagonal of a matrix of size p."""
    return np.tril_indices(p, -1)


def swap_entries(x: np.ndarray, others: np.ndarray) -> None:
    """Swap entries of the vector `x` (float64) in place: the first entry with entry number `others[0]`, then the second
    one with number `others[1]`, and so on to the last.

    `others` are 32-bit integers and count from 1, as in LAPACK's laswp, which swaps rows of a matrix; here it has one
    column.
    """
    n = len(x)
    if x.dtype != np.float64 or others.dtype != np.int32 or not (x.flags.c_contiguous and others.flags.c_contiguous):
        raise TypeError("x must be a contiguous vector of float64, and others one of int32.")
    if x.ndim != 1 or others.shape != x.shape or (n > 0 and not 1 <= int(others.min()) <= int(others.max()) <= n):
        raise IndexError(f"others must hold {n} numbers between 1 and {n}.")
    one, last = np.array(1, np.int32), np.array(n, np.int32)
    _routine("dlaswp", 7)(*(array.ctypes.data for array in (one, x, last, one, last, others, one)))
