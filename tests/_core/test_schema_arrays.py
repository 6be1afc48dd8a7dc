"""What is said of arrays: shape, dtype, sign, order, symmetry, orthonormal rows, indices."""

import numpy as np
import pytest
from scipy import sparse

from lowdim._core.schema import Inspection, Numbers


def check(kind, value, unread=False, **sizes):
    kind.check(value, Inspection(dict, unread, sizes), "it")


QR = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 3)))[0].T
SCATTER = QR @ QR.T + np.ones((3, 3))
CASES = {
    "any": (Numbers("..."), [np.zeros(()), np.zeros((2, 3, 4))], [1.0, [1.0], None, np.array(["a"])]),
    "shape": (Numbers("*", 3), [np.zeros((7, 3))], [np.zeros((3, 7)), np.zeros(3)]),
    "dtype": (Numbers("*"), [np.zeros(2, np.float32)], [np.zeros(2, int), np.zeros(2, bool), np.zeros(2, np.float16)]),
    "bool": (Numbers("*", dtype="bool"), [np.zeros(2, bool)], [np.zeros(2)]),
    "finite": (Numbers("*"), [np.ones(2)], [np.array([1.0, np.nan]), np.array([np.inf, 1.0])]),
    "not finite": (Numbers("*", finite=False), [np.array([np.nan, np.inf])], []),
    "nonnegative": (Numbers("*", sign="nonnegative"), [np.array([0.0, 1.0]), np.zeros(0)], [np.array([1.0, -1e-300])]),
    "positive": (Numbers("*", sign="positive"), [np.array([1e-300])], [np.array([0.0, 1.0])]),
    "positive counts": (Numbers("*", dtype="any", sign="positive"), [np.array([1])], [np.array([0])]),
    "most": (Numbers("*", most=1.0), [np.array([-1.0, 1.0 + 1e-12])], [np.array([-1.1])]),
    "order": (
        Numbers("*", order="descending"),
        [np.array([3.0, 1.0, 1.0 + 1e-12, 0.0]), np.zeros(0), np.ones(1)],
        [np.array([1.0, 2.0])],
    ),
    "orthonormal": (
        Numbers("*", "*", orthonormal="rows"),
        [QR, QR.astype(np.float32), QR[:0], np.eye(3)],
        [2 * QR, QR.T, np.zeros((2, 3)), np.ones((1, 2))],
    ),
    "symmetric": (
        Numbers("*", "*", symmetric=True),
        [SCATTER, np.zeros((2, 2)), SCATTER + np.triu(np.full((3, 3), 1e-13))],
        [SCATTER + np.triu(np.ones((3, 3)), 1), -SCATTER],
    ),
    "sparse": (
        Numbers("*", 3, sparse=True),
        [sparse.csr_array(np.eye(3)), np.eye(3)],
        [sparse.csr_array(np.eye(2)), sparse.csr_array(np.full((1, 3), np.nan))],
    ),
    "dense": (Numbers("*", "*"), [], [sparse.csr_array(np.eye(2))]),
    "indices": (Numbers("*", dtype="int", below="w"), [np.array([0, 3])], [np.array([-1]), np.array([4])]),
}


@pytest.mark.parametrize("name", list(CASES))
def test_arrays(name):
    kind, good, bad = CASES[name]
    for value in good:
        check(kind, value, w=4)
    for value in bad:
        with pytest.raises(ValueError, match="it "):
            check(kind, value, w=4)


def test_entries_are_not_looked_at_before_they_are_read():
    for value in (np.array([np.nan, -1.0]), np.array([1.0, 2.0])):
        check(Numbers("*", sign="positive", order="descending"), value, unread=True)
    with pytest.raises(ValueError, match="it has 2 axes"):
        check(Numbers("*"), np.zeros((1, 1)), unread=True)
    with pytest.raises(ValueError, match="it has dtype int64"):
        check(Numbers("*"), np.zeros(1, np.int64), unread=True)
