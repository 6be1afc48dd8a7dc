"""Rotations of loadings towards simple structure, by gradient projection from several starts.

A rotation is a small object with options. From loadings A (p, k) it computes a matrix M, which need not be orthogonal;
the rotated loadings are A M, and the factors have the correlation matrix (M^T M)^{-1}. The iteration ends when the norm
of the projected gradient is at most `ROTATION_TOLERANCE`, for loadings that are scaled to a mean square of 1 / p;
otherwise the record says that it has not converged.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from ..._core.threads import check_stop
from ...errors import choice
from ..problem import Status, check_whole

#: Tolerance for the norm of the projected gradient, and the maximal number of steps.
ROTATION_TOLERANCE = 1e-10
_STEPS = 1000
#: The same for the first part of the iteration, after which the best of several starts is known: at a gradient g the
#: criterion is within about g^2 of its minimum.
_ROUGH = 1e-7
_ROUGH_STEPS = 1000
#: A step may not increase the criterion above its largest value in this many steps.
_MEMORY = 10

#: Ranges of options: oblimin has no minimum for larger gamma, promax has no target for a smaller power.
_LIMITS = {"gamma": (-1e6, 0.8), "power": (1.0, 20.0)}


@dataclass(frozen=True)
class RotationFit:
    """A rotation of loadings A to A M."""

    #: M, (k, k).
    matrix: np.ndarray
    #: Norm of the projected gradient of the criterion at M (promax: at the varimax rotation from which it starts).
    gradient: float
    #: Steps of the last part of the iteration.
    n_iter: int

    @property
    def status(self) -> Status:
        """Whether the gradient is within its tolerance."""
        return Status.CONVERGED if self.gradient <= ROTATION_TOLERANCE else Status.NOT_CONVERGED


class _Point(NamedTuple):
    """A point of the descent: the value of the criterion, T, the projected gradient, and the matrix M for this T."""

    value: float
    T: np.ndarray
    gradient: np.ndarray
    M: np.ndarray

    @property
    def size(self) -> float:
        """The squared norm of the projected gradient."""
        return float(np.sum(self.gradient * self.gradient))


@dataclass(frozen=True)
class Rotation(ABC):
    """Base class of all rotations.

    Parameters
    ----------
    kaiser : bool, default=False
        Scale all rows of the loadings to unit length while rotating, so that each column of the data has the same
        weight.
    n_init : int, default=10
        Number of random starts in addition to the unrotated loadings; the best result is kept.

    Examples
    --------
    >>> from lowdim.solvers import ROTATIONS, Rotation
    >>> {name: rotation.oblique for name, rotation in ROTATIONS.items() if isinstance(rotation, Rotation)}
    {'varimax': False, 'quartimax': False, 'equamax': False, 'promax': True, 'oblimin': True}
    """

    name: ClassVar[str]
    oblique: ClassVar[bool] = False
    kaiser: bool = False
    n_init: int = 10

    def __post_init__(self) -> None:
        check_whole(self, "n_init", 0)
        for name in ("gamma", "power"):
            low, high = _LIMITS[name]
            value = getattr(self, name, low)
            if not isinstance(value, Real) or not low <= float(value) <= high:
                raise ValueError(f"{type(self).__name__}({name}={value!r}): between {low:g} and {high:g} is needed.")

    def rotate(self, A: np.ndarray, seed: int = 0) -> RotationFit:
        """The matrix M for loadings A, and the gradient of the criterion there."""
        k = A.shape[1]
        if k == 1 or not np.any(A):
            return RotationFit(np.eye(k), 0.0, 0)
        if self.kaiser:
            lengths = np.sqrt(np.sum(A * A, axis=1))
            A = A[lengths > 1e-8 * lengths.max()] / lengths[lengths > 1e-8 * lengths.max(), None]
        # The rotation does not depend on units, but the tolerance does.
        A = A / np.sqrt(np.sum(A * A) / k)
        random = np.random.default_rng(seed)
        starts = [np.eye(k), *(np.linalg.qr(random.standard_normal((k, k)))[0] for _ in range(self.n_init))]
        ends = [self._descend(A, self._at(A, start), _ROUGH, _ROUGH_STEPS)[0] for start in starts]
        end, steps = self._descend(A, min(ends, key=lambda end: end.value), ROTATION_TOLERANCE, _STEPS)
        return RotationFit(end.M, math.sqrt(end.size), steps)

    def criterion(self, L: np.ndarray) -> float:
        """The minimised criterion, for rotated (and, with `kaiser`, normalised) loadings."""
        return self._criterion(L)[0]

    @abstractmethod
    def _criterion(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and the gradient of the criterion."""

    def _at(self, A: np.ndarray, T: np.ndarray) -> _Point:
        """The point at T: orthogonal, with loadings A T [1], or if oblique with columns of unit length, and loadings
        A M for M = T^{-T}.

        References
        ----------
        [1] Jennrich (2001), A simple general procedure for orthogonal rotation.
        """
        if not self.oblique:
            value, slope = self._criterion(A @ T)
            G = A.T @ slope
            normal = T.T @ G
            return _Point(value, T, G - T @ (normal + normal.T) / 2.0, T)
        inverse = np.linalg.inv(T)
        L = A @ inverse.T
        value, slope = self._criterion(L)
        G = -(L.T @ slope @ inverse).T
        return _Point(value, T, G - T * np.sum(T * G, axis=0), inverse.T)

    def _project(self, T: np.ndarray) -> np.ndarray | None:
        """The allowed matrix nearest to T; None if there is no useful one."""
        if not self.oblique:
            U, _, Vt = np.linalg.svd(T)
            return np.asarray(U @ Vt)
        T = T / np.sqrt(np.sum(T * T, axis=0))
        return T if np.linalg.cond(T) < 1e8 else None

    def _descend(self, A: np.ndarray, at: _Point, tol: float, most: int) -> tuple[_Point, int]:
        """Minimise by projected gradient steps until the norm of the gradient is at most `tol`; the best point, and
        the number of steps.

        The length of a step is that of Barzilai and Borwein [1], which needs far fewer steps than a decreasing
        criterion would allow. The criterion may therefore increase for a few steps [2]. Near the minimum it is constant
        up to rounding, and the gradient, which still has about half of its digits, decides alone.

        References
        ----------
        [1] Barzilai, Borwein (1988), Two-point step size gradient methods.
        [2] Raydan (1997), The Barzilai and Borwein gradient method for the large scale unconstrained minimization
            problem.
        """
        best, recent, step = at, [at.value], 1.0
        for count in range(most):
            check_stop()
            if best.size <= tol**2:
                return best, count
            limit = max(recent) + 1e-14 * (1.0 + abs(at.value))
            for _ in range(60):
                T = self._project(at.T - step * at.gradient)
                trial = None if T is None else self._at(A, T)
                if trial is not None and trial.value <= limit - 1e-4 * step * at.size:
                    break
                step *= 0.5
            else:
                return best, count
            assert trial is not None
            moved, change = trial.T - at.T, trial.gradient - at.gradient
            curvature = float(np.sum(moved * change))
            # Where the criterion is not convex there is no such length, and the step grows.
            step = min(float(np.sum(moved * moved)) / curvature, 1e6) if curvature > 0.0 else 2.0 * step
            at = trial
            recent = [*recent[-_MEMORY + 1 :], at.value]
            if at.size < best.size or at.value < best.value - 1e-14 * (1.0 + abs(best.value)):
                best = at
        return best, most


@dataclass(frozen=True)
class _Orthomax(Rotation):
    """Minimise -(1/4) sum_j [sum_i l_ij^4 - (gamma / p) (sum_i l_ij^2)^2] over orthogonal rotations."""

    #: None for k / 2.
    _gamma: ClassVar[float | None] = None

    def _criterion(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        p, k = L.shape
        squares = L * L
        columns = np.sum(squares, axis=0)
        gamma = (k / 2.0 if self._gamma is None else self._gamma) / p
        value = -0.25 * float(np.sum(squares * squares) - gamma * np.sum(columns * columns))
        return value, -(L * squares - gamma * L * columns)


@dataclass(frozen=True)
class Varimax(_Orthomax):
    """Maximise the variance of the squared loadings within each factor [1]_: few large ones, many small ones.

    References
    ----------
    .. [1] Kaiser (1958), The varimax criterion for analytic rotation in factor analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis
    >>> from lowdim.solvers import Varimax
    >>> fa = FactorAnalysis(2, scale=True, rotation=Varimax(kaiser=False)).fit(load_wine().data)
    >>> fa.loadings_[:3].round(2)
    array([[ 0.26,  0.68],
           [-0.43,  0.22],
           [ 0.08,  0.31]])
    """

    name = "varimax"
    _gamma = 1.0
    kaiser: bool = True


@dataclass(frozen=True)
class Quartimax(_Orthomax):
    """Maximise the sum of the fourth powers of the loadings, so that each column of the data loads on few factors.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis
    >>> from lowdim.solvers import Quartimax
    >>> fa = FactorAnalysis(2, scale=True, rotation=Quartimax()).fit(load_wine().data)
    >>> fa.loadings_[:3].round(2)
    array([[ 0.26,  0.68],
           [-0.43,  0.22],
           [ 0.08,  0.31]])
    """

    name = "quartimax"
    _gamma = 0.0


@dataclass(frozen=True)
class Equamax(_Orthomax):
    """Orthomax with gamma = k / 2, which distributes the variance evenly over the factors.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis
    >>> from lowdim.solvers import Equamax
    >>> fa = FactorAnalysis(2, scale=True, rotation=Equamax()).fit(load_wine().data)
    >>> fa.loadings_[:3].round(2)
    array([[ 0.08,  0.73],
           [-0.47,  0.11],
           [ 0.  ,  0.32]])
    """

    name = "equamax"
    kaiser: bool = True


@dataclass(frozen=True)
class Oblimin(Rotation):
    """Minimise (1/4) sum_{j != l} sum_i l_ij^2 l_il^2 (gamma = 0, quartimin) over factors that may correlate.

    For other gamma, gamma times the column means is first subtracted from the squares; positive values let factors
    correlate more.

    References
    ----------
    .. [1] Jennrich (2002), A simple general method for oblique rotation.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis
    >>> from lowdim.solvers import Oblimin
    >>> fa = FactorAnalysis(2, scale=True, rotation=Oblimin(n_init=3)).fit(load_wine().data)
    >>> fa.phi_.round(2)
    array([[ 1.  , -0.04],
           [-0.04,  1.  ]])
    """

    name = "oblimin"
    oblique = True
    gamma: float = 0.0

    def _criterion(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        squares = L * L
        others = np.sum(squares, axis=1, keepdims=True) - squares
        others = others - self.gamma * np.mean(others, axis=0)
        return 0.25 * float(np.sum(squares * others)), L * others


@dataclass(frozen=True)
class Promax(Varimax):
    """Least squares fit to a target, the varimax loadings raised to a power, in which small ones are smaller [1]_.

    This is the same as in R.

    References
    ----------
    .. [1] Hendrickson, White (1964), Promax: a quick method for rotation to oblique simple structure.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis
    >>> from lowdim.solvers import Promax
    >>> fa = FactorAnalysis(2, scale=True, rotation=Promax(power=3.0)).fit(load_wine().data)
    >>> fa.phi_.round(2)
    array([[1.  , 0.13],
           [0.13, 1.  ]])
    """

    name = "promax"
    oblique = True
    power: float = 4.0

    def rotate(self, A: np.ndarray, seed: int = 0) -> RotationFit:
        varimax = Varimax(kaiser=self.kaiser, n_init=self.n_init).rotate(A, seed)
        L = A @ varimax.matrix
        L = L / (np.abs(L).max() or 1.0)
        if A.shape[1] == 1 or np.linalg.matrix_rank(L) < L.shape[1]:
            return varimax
        U = np.linalg.lstsq(L, L * np.abs(L) ** (self.power - 1.0), rcond=None)[0]
        U = U * np.sqrt(np.diagonal(np.linalg.inv(U.T @ U)))
        return replace(varimax, matrix=varimax.matrix @ U)


#: All rotations, by name.
ROTATIONS: dict[str, Rotation] = {r.name: r for r in (Varimax(), Quartimax(), Equamax(), Promax(), Oblimin())}
#: The names of these, for type checkers.
RotationName = Literal["varimax", "quartimax", "equamax", "promax", "oblimin"]


def rotation_of(asked: RotationName | Rotation | None) -> Rotation | None:
    """The rotation with this name, or the object itself; None for no rotation."""
    if asked is None or isinstance(asked, Rotation):
        return asked
    if not isinstance(asked, str) or asked not in ROTATIONS:
        raise choice("rotation", asked, tuple(ROTATIONS), "Or an object such as lowdim.solvers.Varimax(), or None.")
    return ROTATIONS[asked]
