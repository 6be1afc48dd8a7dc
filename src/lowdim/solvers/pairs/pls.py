"""Partial least squares and regression on principal components, from coordinates of two tables.

All methods compute mutually orthogonal scores t = X r one after the other, and regress the responses on them; they
differ in the choice of r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...linalg import FLOAT64_EPS, eigh_descending, svd_thin, with_sign
from ..problem import Status, Tail
from .views import PairFit, View, Views, largest_singular_value


def leading_pair(C: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The unit vectors w, c that maximise s = w^T C c, and s.

    They come from an eigenproblem of the smaller side: for the leading pair, squaring C loses no accuracy.
    """
    if C.size == 0:
        return np.zeros(C.shape[0]), np.zeros(C.shape[1]), 0.0
    if C.shape[1] > C.shape[0]:
        c, w, s = leading_pair(C.T)
        return w, c, s
    if C.shape[1] == 1:
        c = np.ones(1)
    else:
        unit = float(np.abs(C).max()) or 1.0
        scaled = C / unit
        _, vectors = eigh_descending(scaled.T @ scaled, at_least=1)
        c = with_sign(vectors[0])
    w = C @ c
    s = float(np.linalg.norm(w))
    return (w / s if s > 0 else w), c, s


@dataclass
class _RoundingCheck:
    """Decides, component by component, whether what is left of two tables is more than rounding.

    Scores of length l from a rotation of length |r| have a relative error of about eps (s_1 |r| / l)^2 if they come
    from products of rows, with s_1 the largest singular value, and of about eps s_1 |r| / l if nothing was squared. The
    remaining covariance of the responses with X is as accurate as the least accurate scores so far.
    """

    views: Views
    #: Largest singular value of X, Frobenius norm of Y, and the larger dimension of the coordinates of X.
    largest: float
    size: float
    width: int
    #: The smallest l / (s_1 |r|) so far.
    least: float = 1.0
    resolved: bool = True

    @classmethod
    def of(cls, views: Views, i: int, other: int) -> _RoundingCheck:
        """The check for scores of table i, with responses in table `other`."""
        view, size = views.tables[i], float(np.linalg.norm(views.tables[other].table))
        if view.extent is not None:
            return cls(views, view.extent.largest, size, view.extent.width)
        A, known = view.table, view.factors
        if known is None:
            largest = largest_singular_value(lambda v: A.T @ (A @ v), A.shape[1])
        else:
            largest = float(known[1][0]) if len(known[1]) else 0.0
        return cls(views, largest, size, max(A.shape))

    def accepts_covariance(self, s: float) -> bool:
        """Record a covariance of `s` between the tables, and return whether it is more than rounding."""
        share = s / (self.largest * self.size) if self.largest * self.size > 0 else 0.0
        # Another reduction is worthwhile only if its scores would be much more accurate.
        better = self.views.epsilon / self.least**2 > 100 * FLOAT64_EPS / self.least
        self.resolved &= share >= self.views.resolution / self.least**2 or not better
        return share > self.width * self.views.epsilon

    def accepts_length(self, length: float, rotation: float) -> bool:
        """Record scores of this `length`, from a `rotation` of that length; return whether they exceed rounding."""
        share = length / (self.largest * rotation) if self.largest * rotation > 0 else 0.0
        self.resolved &= share * share >= self.views.resolution
        self.least = min(self.least, share) if share > 0 else self.least
        return share > self.views.cut

    @property
    def status(self) -> Status:
        """The status of the solve."""
        return Status.EXACT if self.resolved or not self.views.squared else Status.UNRESOLVED


class _Components:
    """The components found so far, as columns of matrices with room for k of them."""

    def __init__(self, n_x: int, n_y: int, k: int) -> None:
        self.count = 0
        self.weights, self.loadings = (np.empty((n_x, k), order="F") for _ in range(2))
        self.y_weights, self.y_on_x = (np.empty((n_y, k)) for _ in range(2))
        #: The coefficients of the rotations in the weights.
        self.turns = np.zeros((k, k))
        self.lengths, self.values = np.empty(k), np.empty(k)

    def turn(self, w: np.ndarray) -> np.ndarray:
        """The coefficients, in the weights, of the rotation r with X r = X_j w. It is w minus the sum of (p_i^T w) r_i
        over all earlier components i."""
        j = self.count
        turn = -(self.turns[:, :j] @ (self.loadings[:, :j].T @ w))
        turn[j] = 1.0
        return turn

    def rotation_length(self, w: np.ndarray, turn: np.ndarray) -> float:
        """The length of the rotation with coefficients `turn` in the earlier weights and w."""
        j = self.count
        return float(np.linalg.norm(self.weights[:, :j] @ turn[:j] + turn[j] * w))

    def add(self, **numbers: np.ndarray | float) -> None:
        """Add a component: a column, or a number, for each of the matrices and vectors."""
        for name, number in numbers.items():
            getattr(self, name)[..., self.count] = number
        self.count += 1

    def end(self) -> None:
        """Give up the room for components that were not found."""
        for name, found in vars(self).items():
            if isinstance(found, np.ndarray):
                setattr(self, name, found[..., : self.count])


def pls_regression(views: Views, k: int, *, simpls: bool = False) -> PairFit:
    """Scores t_j = X r_j of largest covariance with the responses, orthogonal to the earlier ones.

    Notes
    -----
    Kernel PLS [1]_: w_j is the leading left singular vector of X_j^T Y, where X_j is X minus the part explained by
    t_1 ... t_{j-1}. Since X_j^T Y = X^T Y_j, the responses are deflated instead. SIMPLS [2]_: r_j is the leading left
    singular vector of X^T Y made orthogonal to the earlier loadings. For one response both are the same. Scores are
    orthogonalised against the earlier ones twice, so that they are orthogonal to rounding. Each component costs two or
    three products of the coordinates of X with as many vectors as there are responses.

    References
    ----------
    .. [1] Dayal, MacGregor (1997), Improved PLS algorithms.
    .. [2] De Jong (1993), SIMPLS: an alternative approach to partial least squares regression.
    """
    A, B = (view.table for view in views.tables)
    check = _RoundingCheck.of(views, 0, 1)
    components = _Components(A.shape[1], B.shape[1], k)
    T = np.empty((A.shape[0], k), order="F")
    left = B
    # The remaining part of X^T Y, and the orthonormal loadings that it is orthogonal to by SIMPLS. These span X^T T, so
    # C is also that part of X^T Y_j.
    C, V = A.T @ B, np.empty((A.shape[1], 0))
    largest = float(np.abs(C).max(initial=0.0))
    for j in range(k):
        w, c, s = leading_pair(C)
        if not check.accepts_covariance(s):
            break
        # By SIMPLS, w is the rotation itself.
        turn = np.eye(k)[j] if simpls else components.turn(w)
        t = _orthogonalise(A @ w, T[:, :j])
        length = float(np.linalg.norm(t))
        if not check.accepts_length(length, components.rotation_length(w, turn)):
            break
        T[:, j] = t = t / length
        explained = t @ left
        left = left - t[:, None] * explained
        p = A.T @ t
        if simpls:
            v = _orthogonalise(p, V)
            V = np.column_stack([V, v / np.linalg.norm(v)])
            C = _orthogonalise(A.T @ left, V)
        else:
            C = C - p[:, None] * explained
            if np.abs(C).max() < 1e-2 * largest:
                # The subtractions have lost two digits.
                C = A.T @ left
                largest = float(np.abs(C).max())
        components.add(
            weights=w, turns=turn, loadings=p / length, y_weights=c, y_on_x=t @ B / length, lengths=length, values=s
        )
    components.end()
    y_loadings = components.y_on_x * _unit_ratio(views)
    return _pair_fit(components, views, check.status, y_weights=y_loadings, y_loadings=y_loadings)


def principal_regression(views: Views, k: int, *, by_relevance: bool = False) -> PairFit:
    """Scores t_j = X v_j for eigenvectors v_j of X^T X: those of largest variance, or those that explain most of Y.

    Notes
    -----
    With X = U diag(s) V^T the regression on component j has coefficients a_j = u_j^T Y / s_j, and explains
    |u_j^T Y|^2 = a_j^2 s_j^2 of the responses: its relevance.
    """
    B = views.tables[1].table
    U, s, Vt = views.svd(0)
    explained = U.T @ B
    relevance = (explained**2).sum(axis=1)
    order = np.argsort(-relevance, kind="stable") if by_relevance else np.arange(len(s))
    chosen = order[:k]
    # By relevance any direction may be the best, even one that is lost to rounding.
    considered = s if by_relevance else s[chosen]
    full_rank = views.full_rank(0)
    all_found = len(s) == full_rank if by_relevance else len(chosen) == min(k, full_rank)
    resolved = bool(np.all(considered**2 >= views.resolution * s[0] ** 2)) and all_found
    W, a = Vt[chosen].T, (explained[chosen] / s[chosen, None]).T * _unit_ratio(views)
    x, y = views.tables
    return PairFit(
        x_weights=W,
        x_loadings=W,
        y_weights=a,
        y_loadings=a,
        x_turn=np.eye(len(chosen)),
        y_rotations=_rotations(a, a),
        y_on_x=a,
        x_lengths=s[chosen] * x.unit,
        values=np.sqrt(relevance[chosen]) * y.unit,
        tail=_tail_of_others(x, s, chosen),
        status=Status.EXACT if resolved or not views.squared else Status.UNRESOLVED,
    )


def pls_canonical(views: Views, k: int) -> PairFit:
    """Pairs of scores t_j = X r_j and u_j = Y s_j of largest covariance, each orthogonal to the earlier ones.

    w_j and c_j are the leading singular pair of X_j^T Y_j; X_{j+1} is X_j minus the part explained by t_j, and Y_{j+1}
    is Y_j minus the part explained by u_j [1]_.

    References
    ----------
    .. [1] Wegelin (2000), A survey of partial least squares methods, section 4.1.
    """
    A, B = (view.table for view in views.tables)
    x_check, y_check = _RoundingCheck.of(views, 0, 1), _RoundingCheck.of(views, 1, 0)
    Ys, components, y_loadings = B, _Components(A.shape[1], B.shape[1], k), []
    T, U = np.empty((2, A.shape[0], k))
    for j in range(k):
        w, c, s = leading_pair(A.T @ B)
        if not x_check.accepts_covariance(s):
            break
        turn = components.turn(w)
        t, u = _orthogonalise(A @ w, T[:, :j]), _orthogonalise(B @ c, U[:, :j])
        length, other = float(np.linalg.norm(t)), float(np.linalg.norm(u))
        in_x = x_check.accepts_length(length, components.rotation_length(w, turn))
        # Rotations of Y are at least as long as its weights.
        if not (in_x and y_check.accepts_length(other, 1.0)):
            break
        T[:, j] = t = t / length
        U[:, j] = u = u / other
        p, q = A.T @ t, B.T @ u
        A, B = A - np.outer(t, p), B - np.outer(u, q)
        components.add(
            weights=w, turns=turn, loadings=p / length, y_weights=c, y_on_x=t @ Ys / length, lengths=length, values=s
        )
        y_loadings.append(q / other)
    components.end()
    status = Status.UNRESOLVED if Status.UNRESOLVED in (x_check.status, y_check.status) else Status.EXACT
    loadings = np.column_stack(y_loadings) if y_loadings else np.zeros((Ys.shape[1], 0))
    return _pair_fit(components, views, status, y_weights=components.y_weights, y_loadings=loadings)


def pls_svd(views: Views, k: int) -> PairFit:
    """Singular vectors of X^T Y: directions w, c of largest covariance w^T X^T Y c, orthonormal in each table."""
    A, B = (view.table for view in views.tables)
    check = _RoundingCheck.of(views, 0, 1)
    U, s, Vt = svd_thin(A.T @ B) if A.size and B.size else (A[:0].T, np.zeros(0), B[:0])
    n = next((j for j in range(min(k, len(s))) if not check.accepts_covariance(float(s[j]))), min(k, len(s)))
    W, c, values = U[:, :n], Vt[:n].T, s[:n]
    T = A @ W
    x, y = views.tables
    return PairFit(
        x_weights=W,
        x_loadings=W,
        y_weights=c,
        y_loadings=c,
        x_turn=np.eye(n),
        y_rotations=c,
        y_on_x=np.linalg.lstsq(T, B, rcond=None)[0].T * _unit_ratio(views),
        x_lengths=np.linalg.norm(T, axis=0) * x.unit,
        values=values * x.unit * y.unit,
        status=check.status,
    )


def _orthogonalise(t: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Subtract from `t` its projection on the orthonormal columns of T, twice for full accuracy."""
    for _ in range(2):
        t = t - T @ (T.T @ t)
    return t


def _rotations(weights: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    """W (P^T W)^+, computed in units of the largest entries, so that products do not overflow."""
    if weights.shape[1] == 0:
        return weights
    u, v = (float(np.abs(A).max()) or 1.0 for A in (loadings, weights))
    return ((weights / v) @ np.linalg.pinv((loadings / u).T @ (weights / v))) / u


def _unit_ratio(views: Views) -> float:
    """The factor that converts regression coefficients between tables in their units to the original units."""
    x, y = views.tables
    ratio = y.unit / x.unit
    if not 1e-280 < ratio < 1e280:
        raise ValueError(
            f"the columns of X and y have magnitudes {x.unit:.0e} and {y.unit:.0e}: coefficients between them are "
            "outside the range of floating-point numbers. Rescale one of the tables (multiply it by a constant) and "
            "fit again."
        )
    return ratio


def _remaining_tail(x: View, lengths: np.ndarray, P: np.ndarray) -> Tail:
    """The sums of the eigenvalues, and of their squares, of S - P diag(l^2) P^T.

    This is what the components leave of S = X^T X; their scores are orthogonal and have lengths l.
    """
    A = x.table
    taken, everything = lengths**2, x.total()
    total = everything - float(taken @ (P * P).sum(axis=0))
    cross = float(taken @ ((A @ P) ** 2).sum(axis=0))
    squares = x.square_sum() - 2.0 * cross + float(taken @ (P.T @ P) ** 2 @ taken)
    if total <= 1e-12 * everything:
        return Tail()
    # Rounding may take the sum of squares out of its possible range.
    width = max(A.shape) if x.extent is None else x.extent.width
    share = min(max(squares / total**2, 1.0 / width), 1.0)
    return Tail(total * x.unit**2, share, None)


def _tail_of_others(x: View, s: np.ndarray, chosen: np.ndarray) -> Tail:
    """The sums of the eigenvalues of X^T X that belong to other components than the chosen ones."""
    if x.extent is None:
        return Tail().plus((np.delete(s, chosen) * x.unit) ** 2)
    squares = s[chosen] ** 2
    total = x.extent.total - float(squares.sum())
    if total <= 1e-12 * x.extent.total:
        return Tail()
    share = (x.extent.squares - float(squares @ squares)) / total**2
    return Tail(total * x.unit**2, min(max(share, 1.0 / x.extent.width), 1.0), None)


def _pair_fit(
    components: _Components, views: Views, status: Status, *, y_weights: np.ndarray, y_loadings: np.ndarray
) -> PairFit:
    """The record of the components, in the units of the tables."""
    x, y = views.tables
    return PairFit(
        x_weights=components.weights,
        x_loadings=components.loadings,
        y_weights=y_weights,
        y_loadings=y_loadings,
        x_turn=components.turns[: components.count],
        y_rotations=_rotations(y_weights, y_loadings),
        y_on_x=components.y_on_x * _unit_ratio(views),
        x_lengths=components.lengths * x.unit,
        values=components.values * x.unit * y.unit,
        status=status,
        tail=_remaining_tail(x, components.lengths, components.loadings),
    )
