"""Independent sources by a preconditioned quasi-Newton method on the relative gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import NoMaximum
from ..iteration import LimitedMemory
from ..problem import check_whole
from .objective import NARROW_ABOVE, Flips, GaussianBlock, IcaSolver, Objective, Point, Unmixing, status_of_end

#: Lower bound on the approximate second derivatives.
_LEAST_CURVATURE = 0.01
#: Upper bound on the entries of a step, without and with `ortho`.
_LARGEST_STEP = {False: 0.7, True: 1.5}
#: A step that does not decrease the loss is halved this many times, and then multiplied by 0.2. After this many tries
#: the negative gradient is tried as often, and then the search fails.
_HALVINGS, _TRIES = 3, 15
#: If a source of whitened rows has a larger variance, the likelihood has no maximum.
_LARGEST_VARIANCE = 1e10
#: While a diagonal entry of the gradient is larger, only the scales of the sources are changed.
_FAR_SCALE = 0.1
#: Losses are considered equal if they differ by less than this multiple of the rounding error.
_ROUNDINGS = 16
#: The iteration stops after this many steps with a constant loss and without a smaller gradient.
_IDLE = 10


@dataclass(frozen=True)
class QuasiNewtonICA(IcaSolver):
    """Minimise -ln |det W| + sum_i E[-ln p_i(y_i)] over W, or over rotations.

    Parameters
    ----------
    tol : float, default=1e-06
        Iterate until no entry of the relative gradient (of its skew part for rotations) is larger in magnitude.
    max_iter : int, default=1000
        Maximal number of steps; with 0, the result is the start.
    ortho : bool, default=False
        Restrict W to rotations of the whitened rows, so that the sources are exactly uncorrelated.
    memory : int, default=10
        Number of steps that L-BFGS remembers; with 0 the initial approximation of the second derivatives is used
        throughout.

    Notes
    -----
    W becomes (I + M) W, or for rotations (I - M/2)^{-1} (I + M/2) W with skew M. M is the direction of L-BFGS whose
    initial approximation of the second derivatives is exact for independent sources [1]_ [2]_; it couples only the
    pairs (M_ij, M_ji). If the scales of the sources are far from right, they are changed first. Each step takes one
    pass over the rows, and one more each time it has to be shortened: loss and gradient come from one `ScoreMoments`.
    float32 is used as long as the gradient is far above the tolerance, and float64 for the last steps. If two or more
    sources still look Gaussian after 60 steps, they are no longer rotated among themselves; if they look so in the end,
    too, the status is UNDETERMINED, and otherwise the iteration goes on with all rotations.

    References
    ----------
    .. [1] Ablin, Cardoso, Gramfort (2018), Faster independent component analysis by preconditioning with Hessian
       approximations.
    .. [2] Ablin, Cardoso, Gramfort (2018), Faster ICA under orthogonal constraint.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import ICA
    >>> from lowdim.solvers import QuasiNewtonICA
    >>> sources = np.random.default_rng(0).laplace(size=(500, 2))
    >>> ica = ICA(solver=QuasiNewtonICA(tol=1e-8)).fit(sources @ np.array([[2.0, 1.0], [1.0, 1.0]]))
    >>> ica.gradient_norm_ <= 1e-8
    True
    """

    name = "quasi-newton"
    _stuck = "No step increased the likelihood: try ortho=True, another density, or another random_state."
    memory: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "memory", 0)

    def run(
        self,
        objective: Objective,
        W: np.ndarray,
        flipped: np.ndarray,
        extended: bool,
        *,
        spent: int = 0,
        rough: bool = False,
    ) -> Unmixing:
        """Iterate from W as described in `IcaSolver.run`; a `rough` result is computed in float32 only."""
        flips = Flips(flipped, objective.density, extended)
        history, block = _History(self.memory), GaussianBlock(objective.density)
        base = objective.at(W, curved=not self.ortho, narrow=True)
        losses: list[float] = []
        best, idle, steps, all_wide = np.inf, 0, 0, False
        while True:
            if flips.update(base):
                # The loss is now another function, so the approximation of its second derivatives is no longer valid.
                history.clear()
                best, idle = np.inf, 0
            point = flips.apply(base)
            if not rough and block.find(base, objective.weight, spent + steps):
                # Either density suits a Gaussian source as well as the other.
                flips.keep(block.members)
                history.clear()
                best, idle = np.inf, 0
            gradient = self._gradient(point, block)
            norm = float(np.abs(gradient).max())
            # Whether the last step decreased the loss by no more than the rounding error.
            level = bool(losses) and losses[-1] - point.loss <= _rounding(point.loss, base.epsilon)
            idle = 0 if norm < best or not level else idle + 1
            best = min(best, norm)
            taken = None
            doubtful = steps == 0 and norm <= NARROW_ABOVE and base.narrow
            if norm > self.tol and steps < self.max_iter - spent and idle <= _IDLE and (rough or not doubtful):
                history.update(gradient)
                narrow = rough or not (all_wide or norm <= NARROW_ABOVE)
                taken = self._step(objective, flips, block, point, gradient, history, narrow)
            if taken is not None:
                losses.append(point.loss)
                before, (base, step) = base, taken
                # A gradient in float64 may be above the limit again; float32 would only lead back to this point.
                all_wide = all_wide or not base.narrow
                if before.narrow == base.narrow:
                    history.last = gradient, step
                else:
                    # Near the solution, changes of a gradient in float32 are mostly rounding error.
                    history.clear()
                steps += 1
            elif rough or not base.narrow:
                released = block.release(base, objective.weight)
                if not len(released):
                    break
                flips.release(released)
                history.clear()
                best, idle = np.inf, 0
            else:
                # float32 allows no further progress: compute the point again in float64 and continue from there.
                all_wide = True
                history.clear()
                base = objective.at(point.W, curved=not self.ortho, narrow=False)
                best, idle = np.inf, 0
        status = status_of_end(norm <= self.tol, block)
        norm = float(np.abs(point.gradient(self.ortho)).max())
        return Unmixing(
            point.W, flips.flipped, [*losses, point.loss], norm, base.stability, base.kurtosis, status, steps
        )

    def _step(
        self,
        objective: Objective,
        flips: Flips,
        block: GaussianBlock,
        point: Point,
        gradient: np.ndarray,
        history: _History,
        narrow: bool,
    ) -> tuple[Point, np.ndarray] | None:
        """The next point, whose loss is not larger, and the step to it; None if no such point was found. For the first
        point in float64, a smaller gradient is enough."""
        h = curvatures(point, self.ortho)
        if not self.ortho and np.abs(np.diagonal(gradient)).max() > _FAR_SCALE:
            # While the scales are far from right, second derivatives between sources are of little use.
            history.clear()
            gradient = np.diag(np.diagonal(gradient))
        # The gradient is that without rotations in the block, so that only steps without them surely go downhill.
        direction = history.direction(gradient, lambda G: preconditioned(G, h, self.ortho))
        direction = self._shorten(-block.without_rotations(direction, point.variances**-0.5))
        if np.sum(direction * gradient) >= 0.0:
            direction = self._downhill(gradient, history)
        loss = point.loss
        for attempt in range(2 * _TRIES):
            base = objective.at(self._move(point.W, direction), curved=not self.ortho, narrow=narrow)
            there = flips.apply(base)
            accepted = there.loss <= loss + _rounding(loss, max(base.epsilon, point.epsilon))
            if point.narrow and not base.narrow and not accepted:
                # The loss in float32 may be that much too small. Near the solution the gradients tell more than it.
                accepted = float(np.abs(self._gradient(there, block)).max()) < float(np.abs(gradient).max())
                if not accepted:
                    return None
            if accepted:
                if base.variances.max() > _LARGEST_VARIANCE:
                    raise NoMaximum(
                        "the likelihood has no maximum: it grows without bound with the scale of a source. This "
                        "happens if the source has exactly the same value in most rows and the density has heavy "
                        "tails. Use ortho=True, or density='sech'."
                    )
                return base, direction
            if attempt == _TRIES:
                direction = self._downhill(gradient, history)
            else:
                direction = direction * (0.5 if attempt % _TRIES < _HALVINGS else 0.2)
        return None

    def _gradient(self, point: Point, block: GaussianBlock) -> np.ndarray:
        """The gradient, without rotations among the sources of the block."""
        return block.without_rotations(point.gradient(self.ortho), np.sqrt(point.variances))

    def _downhill(self, gradient: np.ndarray, history: _History) -> np.ndarray:
        """Minus the gradient, for when L-BFGS fails; its history is cleared."""
        history.clear()
        return self._shorten(-gradient)

    def _shorten(self, direction: np.ndarray) -> np.ndarray:
        """The direction, shortened if an entry is larger than allowed."""
        most = float(np.abs(direction).max())
        limit = _LARGEST_STEP[self.ortho]
        return direction * (limit / most) if most > limit else direction

    def _move(self, W: np.ndarray, M: np.ndarray) -> np.ndarray:
        """The matrix W after the step M."""
        identity = np.eye(len(W))
        if self.ortho:
            return np.asarray(np.linalg.solve(identity - 0.5 * M, (identity + 0.5 * M) @ W))
        return (identity + M) @ W


def curvatures(point: Point, ortho: bool) -> np.ndarray:
    """The numbers h of the approximate second derivatives H.

    For skew M, (H M)_ij = h_ij M_ij = (1/2) (E[psi'(y_i)] + E[psi'(y_j)] - E[psi(y_i) y_i] - E[psi(y_j) y_j]) M_ij. For
    any M, (H M)_ij = h_ij M_ij + M_ji with h_ij = E[psi'(y_i) y_j^2]; small eigenvalues of the 2 x 2 blocks are raised.
    The diagonal entries are not paired: (h_ii + 1) M_ii.
    """
    if ortho:
        stability = point.slopes - np.diagonal(point.products)
        return np.maximum(0.5 * (stability[:, None] + stability[None, :]), _LEAST_CURVATURE)
    h = point.curvature
    assert h is not None, "computed only with curved=True"
    smallest = 0.5 * (h + h.T - np.sqrt((h - h.T) ** 2 + 4.0))
    raised = h + np.maximum(_LEAST_CURVATURE - smallest, 0.0)
    np.fill_diagonal(raised, np.maximum(np.diagonal(h) + 1.0, _LEAST_CURVATURE))
    return raised


def preconditioned(G: np.ndarray, h: np.ndarray, ortho: bool) -> np.ndarray:
    """M with H M = G."""
    if ortho:
        return G / h
    own = np.eye(len(h)) > 0.0
    return np.where(own, G, h.T * G - G.T) / np.where(own, h, h * h.T - 1.0)


class _History(LimitedMemory):
    """The steps that L-BFGS remembers, and the last gradient and step, of which the change is not yet known."""

    last: tuple[np.ndarray, np.ndarray] | None = None

    def clear(self) -> None:
        super().clear()
        self.last = None

    def update(self, gradient: np.ndarray) -> None:
        """Add the change of the gradient along the last step, given the gradient after it."""
        if self.last is not None:
            self.add(self.last[1], gradient - self.last[0])


def _rounding(loss: float, epsilon: float) -> float:
    """The rounding error of a loss."""
    return _ROUNDINGS * epsilon * max(1.0, abs(loss))
