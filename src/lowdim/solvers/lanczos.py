"""The block Lanczos iteration: leading eigenpairs of a symmetric matrix from its action alone."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from .._xp import Array, asarray_like, device, namespace, to_numpy
from ..linalg import orthonormal_block
from .results import Status

#: The basis may grow to this many bytes before it is condensed.
_BASIS_BYTES = 256 << 20
#: Up to this basis the Ritz values are looked at after each step.
_LOOK_ALWAYS = 256
#: Steps for which a random block looks for copies of eigenvalues that a block thinner than k can miss.
_PROBE_STEPS = 4


class Limits(Protocol):
    """When an iteration ends."""

    @property
    def tol(self) -> float: ...
    @property
    def steps(self) -> int | None: ...
    @property
    def max_steps(self) -> int: ...


def check_limits(limits: Any) -> None:
    """Refuse options that make no sense."""
    name_of = type(limits).__name__
    for name in ("block", "steps", "max_steps"):
        value = getattr(limits, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
            raise ValueError(f"{name_of}({name}={value!r}): a whole number of at least 1 is needed.")
    if not isinstance(limits.tol, Real) or not 0.0 < float(limits.tol) < 1.0:
        raise ValueError(f"{name_of}(tol={limits.tol!r}): a number between 0 and 1 is needed.")


@dataclass(frozen=True)
class Ritz:
    """What the iteration found."""

    #: The largest eigenvalues, descending, (k,), and their vectors as columns, (p, k).
    values: Array
    vectors: Array
    #: max_k ||A w_k - lambda_k w_k|| / lambda_1.
    residual: float
    status: Status
    steps: int
    #: The smallest Ritz value: no eigenvalue of a semidefinite matrix is below zero.
    least: float


class Lanczos:
    """The iteration: a basis Q with T = Q^T S Q, grown a block at a time."""

    def __init__(self, limits: Limits, k: int, b: int, seed: int, floor: float) -> None:
        self.limits, self.k, self.b, self.floor = limits, k, b, floor
        self.doubt = _Doubt(block_is_thin=self.b < k)
        self.random = np.random.default_rng(seed)

    def run(self, action: Any, like: Array, start: Array | None = None, n_out: int | None = None) -> Ritz:
        """Eigenpairs of `action`, a symmetric matrix of the size of `like`, from the columns of `start` or random ones;
        the first `n_out` of them, or k."""
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
            T[:m, before:m] = to_numpy(C)
            T[before:m, :m] = T[:m, before:m].T
            if replaced:
                self.doubt.random_came_in()
            full = m + V.shape[1] > room
            exhausted = V.shape[1] == 0
            if not (full or exhausted or m >= next_look or step in (self.limits.steps, self.limits.max_steps)):
                continue
            # Rayleigh-Ritz costs m^3: in a large basis it is done now and then only.
            next_look = m + m // 16 if m > _LOOK_ALWAYS else m
            theta, U = (a[..., ::-1] for a in np.linalg.eigh(T[:m, :m]))
            residuals = np.linalg.norm(to_numpy(R) @ U[before:m, : self.k], axis=0)
            status = self._status(theta, residuals, step, m, exhausted)
            if status is None and self.doubt.wants_probe:
                V, left_behind = self._probe(Q[:, :m], V), float(residuals.max())
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
        return Ritz(
            asarray_like(values.copy(), like, dtype=like.dtype),
            vectors,
            residual,
            status,
            step,
            float(theta[-1]),
        )

    def _probe(self, Q: Array, V: Array) -> Array:
        """Random directions orthogonal to the basis, instead of those the block would go on with."""
        noise = asarray_like(self.random.standard_normal(tuple(V.shape)), V, dtype=V.dtype)
        return orthonormal_block(noise, Q, self.random)[0]

    def room(self, p: int) -> int:
        """Columns of the basis. A larger one needs fewer steps but more orthogonalisation; about ten blocks are best,
        and fewer where memory is short, but never fewer than a restart needs."""
        least = self.k + 4 * self.b
        return min(p, max(least, min(self.k + max(10 * self.b, 6 * self.k), _BASIS_BYTES // (8 * p))))

    def _status(self, theta: np.ndarray, residuals: np.ndarray, step: int, m: int, exhausted: bool) -> Status | None:
        """How the iteration stands; None to go on."""
        if exhausted:
            return Status.CONVERGED
        if m < self.k:
            return None
        steps = self.limits.steps
        if steps is not None:
            return Status.FIXED_STEPS if step >= steps else None
        bound = np.maximum(self.limits.tol * theta[: self.k], self.floor * max(theta[0], 0.0))
        if self.doubt.settled(bool(np.all(residuals <= bound))):
            return Status.CONVERGED
        return Status.NOT_CONVERGED if step >= self.limits.max_steps else None


class _Doubt:
    """Whether small residuals can be believed.

    A block thinner than k, or one that has met an invariant subspace, can miss copies of an eigenvalue: all residuals
    are small, and yet the answer is wrong. Random directions orthogonal to the basis would show them: the answer is
    believed when it has stayed for a few steps after such directions came in.
    """

    def __init__(self, block_is_thin: bool) -> None:
        self._doubtful = block_is_thin
        self._tried = False
        self._calm = 0
        self.wants_probe = False

    def random_came_in(self) -> None:
        self._doubtful = self._tried = True

    def settled(self, small_residuals: bool) -> bool:
        """Asked after each look at the residuals."""
        self.wants_probe = False
        if not small_residuals:
            self._calm, self._tried = 0, False
            return False
        if not self._doubtful:
            return True
        if not self._tried:
            self.wants_probe = self._tried = True
            return False
        self._calm += 1
        return self._calm > _PROBE_STEPS
