"""Calls of LAPACK during which other threads run.

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
from scipy.linalg import cython_lapack


@cache
def _routine(name: str, n_arguments: int) -> Callable[..., None]:
    """A routine of SciPy's LAPACK, all of whose arguments are pointers."""
    routines: Any = cython_lapack.__pyx_capi__
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
