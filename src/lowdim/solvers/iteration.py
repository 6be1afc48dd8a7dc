"""Iterations that several problems share: block Lanczos for eigenpairs, and the memory of quasi-Newton methods."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.arrays import Array, asarray_like, device, namespace
from ..linalg import orthonormal_block
from .problem import Status, check_share, check_whole

#: The basis may grow to this many bytes before the iteration is restarted.
_BASIS_BYTES = 256 << 20
#: With a basis of up to this many columns, the Ritz values are computed after each step.
_LOOK_ALWAYS = 256
#: Number of steps from a random block that look for repeated eigenvalues, which a block thinner than k can miss.
_PROBE_STEPS = 4


@dataclass(frozen=True)
class LanczosOptions:
    """The options of a solver that iterates with `Lanczos`."""

    block: int | None = None
    tol: float = 1e-8
    steps: int | None = None
    max_steps: int = 200

    def __post_init__(self) -> None:
        for name in ("block", "steps", "max_steps"):
            if getattr(self, name) is not None:
                check_whole(self, name)
        check_share(self, "tol")

    def block_size(self, k: int) -> int:
        """Number of vectors per step: by default at least k, so that no copy of an eigenvalue can be missed."""
        return self.block or 8 * math.ceil(k / 8)


@dataclass(frozen=True)
class Ritz:
    """The eigenpairs found by the iteration."""

    #: The largest eigenvalues, descending, (k,), as a NumPy array, and their eigenvectors as columns, (p, k).
    values: np.ndarray
    vectors: Array
    #: max_k ||A w_k - lambda_k w_k|| / lambda_1.
    residual: float
    status: Status
    steps: int
    #: The smallest Ritz value; a clearly negative one shows that the matrix is not positive semidefinite.
    least: float


class Lanczos:
    """The iteration, which extends a basis Q with T = Q^T S Q by one block at a time.

    `limits` has its stopping rules `tol`, `steps` and `max_steps`.
    """

    def __init__(self, limits: LanczosOptions, k: int, b: int, seed: int, floor: float) -> None:
        self.limits, self.k, self.b, self.floor = limits, k, b, floor
        self.random = np.random.default_rng(seed)
        # A block thinner than k, or one that has reached an invariant subspace, can miss copies of a repeated
        # eigenvalue: all residuals are small, and yet the result is wrong. Random directions orthogonal to the basis
        # reveal such copies, so a doubtful result is accepted once its residuals have stayed small for a few steps
        # after such directions were tried.
        self._doubtful, self._tried, self._calm = b < k, False, 0
        self._wants_random = False

    def run(self, action: Any, like: Array, start: Array | None = None, n_out: int | None = None) -> Ritz:
        """The first `n_out` (default k) eigenpairs of a symmetric matrix.

        `action` multiplies the matrix, whose size is the length of `like`, by a block of vectors. The iteration starts
        from the columns of `start`, or from random ones.
        """
        xp, p = namespace(like), like.shape[0]
        room = self.room(p)
        Q = xp.empty((p, room), dtype=like.dtype, device=device(like))
        T = np.zeros((room, room))
        if start is None:
            start = asarray_like(self.random.standard_normal((p, self.b)), like, dtype=like.dtype)
        V = xp.linalg.qr(start, mode="reduced")[0]
        m, step, next_look, left_behind = 0, 0, 0, 0.0
        status: Status | None = None
        while status is None:
            before, m = m, m + V.shape[1]
            Q[:, before:m] = V
            Z = action(V)
            step += 1
            V, R, C, replaced = orthonormal_block(Z, Q[:, :m], self.random)
            T[:m, before:m] = C
            T[before:m, :m] = T[:m, before:m].T
            if replaced:
                self._doubtful = self._tried = True
            full = m + V.shape[1] > room
            exhausted = V.shape[1] == 0
            if not (full or exhausted or m >= next_look or step in (self.limits.steps, self.limits.max_steps)):
                continue
            # Rayleigh-Ritz costs m^3, so with a large basis it is not done in every step.
            next_look = m + m // 16 if m > _LOOK_ALWAYS else m
            theta, U = (a[..., ::-1] for a in np.linalg.eigh(T[:m, :m]))
            residuals = np.linalg.norm(R @ U[before:m, : self.k], axis=0)
            status = self._status(theta, residuals, step, m, exhausted)
            if status is None and self._wants_random:
                # Random directions orthogonal to the basis replace the next block.
                noise = asarray_like(self.random.standard_normal(tuple(V.shape)), V, dtype=V.dtype)
                V, left_behind = orthonormal_block(noise, Q[:, :m], self.random)[0], float(residuals.max())
            if status is None and full:
                keep = min(self.k + room // 4, room - V.shape[1])
                Q[:, :keep] = Q[:, :m] @ asarray_like(np.ascontiguousarray(U[:, :keep]), Q, dtype=Q.dtype)
                T[:] = 0.0
                T[range(keep), range(keep)] = theta[:keep]
                m, next_look = keep, 0
        out = n_out or self.k
        values = theta[:out]
        vectors = Q[:, :m] @ asarray_like(np.ascontiguousarray(U[:, :out]), Q, dtype=Q.dtype)
        residual = max(float(residuals.max()), left_behind) / (abs(float(values[0])) or 1.0)
        return Ritz(values.copy(), vectors, residual, status, step, float(theta[-1]))

    def room(self, p: int) -> int:
        """The maximal number of columns of the basis.

        A larger basis needs fewer steps but more orthogonalisation; about ten blocks are best. There are fewer if
        memory is short, but never fewer than a restart needs.
        """
        least = self.k + 4 * self.b
        return min(p, max(least, min(self.k + max(10 * self.b, 6 * self.k), _BASIS_BYTES // (8 * p))))

    def _status(self, theta: np.ndarray, residuals: np.ndarray, step: int, m: int, exhausted: bool) -> Status | None:
        """The status if the iteration has to stop, or None if it continues."""
        if exhausted:
            return Status.CONVERGED
        if m < self.k:
            return None
        steps = self.limits.steps
        if steps is not None:
            return Status.FIXED_STEPS if step >= steps else None
        bound = np.maximum(self.limits.tol * theta[: self.k], self.floor * max(theta[0], 0.0))
        if self._is_converged(bool(np.all(residuals <= bound))):
            return Status.CONVERGED
        return Status.NOT_CONVERGED if step >= self.limits.max_steps else None

    def _is_converged(self, small_residuals: bool) -> bool:
        """Whether to stop; called each time the residuals have been computed. Decides whether to try random
        directions next."""
        self._wants_random = False
        if not small_residuals:
            self._calm, self._tried = 0, False
            return False
        if not self._doubtful:
            return True
        if not self._tried:
            self._wants_random = self._tried = True
            return False
        self._calm += 1
        return self._calm > _PROBE_STEPS


class LimitedMemory:
    """The correction of approximate second derivatives by Broyden, Fletcher, Goldfarb and Shanno, for the last steps.

    Parameters
    ----------
    size : int
        Number of steps that are remembered.
    least : float
        A step s with the difference z of gradients shows a curvature if s^T z is more than this share of |s| |z|.

    Notes
    -----
    The inverse H of the second derivatives is replaced in turn by

        (I - s z^T / z^T s) H (I - z s^T / z^T s) + s s^T / z^T s,

    which maps z to s. It is applied to a vector by the two loops of [1]_, and is exact where the approximation is.

    References
    ----------
    .. [1] Nocedal (1980), Updating quasi-Newton matrices with limited storage.
    """

    def __init__(self, size: int, least: float = 1e-10) -> None:
        self._steps: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=size)
        self._least = least

    def clear(self) -> None:
        """Forget all steps."""
        self._steps.clear()

    def add(self, step: np.ndarray, change: np.ndarray) -> None:
        """Remember a step, and the change of the gradient along it."""
        product = _inner(step, change)
        if product > self._least * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._steps.append((step, change, product))

    def direction(self, gradient: np.ndarray, solve: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """The corrected inverse times the gradient; `solve` multiplies by the inverse that is corrected."""
        q, factors = gradient.copy(), []
        for step, change, product in reversed(self._steps):
            factors.append(_inner(step, q) / product)
            q -= factors[-1] * change
        z = solve(q)
        for (step, change, product), factor in zip(self._steps, reversed(factors), strict=True):
            z += (factor - _inner(change, z) / product) * step
        return z


def _inner(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b) if a.ndim == 1 else float(np.sum(a * b))
