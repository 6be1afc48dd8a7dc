"""How well a fitted model represents single rows and columns: contributions, cos2, T2 and Q with their limits.

The rows may be those of the fit or supplementary ones. The fitted model is not changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from .._xp import Array, device, is_sparse, namespace, to_numpy
from ..errors import RankWarning, warn_user
from ..linalg import divisor


def contributions(model: Any, X: Any = None) -> Array:
    """Contributions of columns or rows to the variance of each component.

    Without `X`, the contributions of the columns: w_kj^2, shape (p, K), which add up to 1 over the columns. With `X`,
    those of its rows: z_ik^2 / (lambda_k (n - ddof)), shape (n, K), which add up to 1 over the rows of the fit.
    """
    _check_orthonormal(model, "contributions")
    xp = namespace(model.components_)
    if X is None:
        return xp.asarray(model.components_.T**2, copy=True)
    Z = model.scores(X)[:, : _rank(model)]
    squares = model.explained_variance_[: Z.shape[1]] * divisor(model.total_weight_, model.ddof)
    shares = Z * Z / squares[None, :]
    beyond = xp.zeros((Z.shape[0], model.n_components_ - Z.shape[1]), dtype=Z.dtype, device=device(Z))
    return xp.concat([shares, beyond], axis=1)


def cos2(model: Any, X: Any) -> Array:
    """z_ik^2 / |x_i - mean|^2: the part of a row's squared distance from the mean along each component, shape (n, K).

    For a row at the mean it is zero.
    """
    _check_orthonormal(model, "cos2")
    Z = model.scores(X)
    xp = namespace(Z)
    squares = Z * Z
    whole = xp.sum(squares, axis=1) + q_residuals(model, X)
    return squares / xp.where(whole > 0, whole, xp.ones_like(whole))[:, None]


def hotelling_t2(model: Any, X: Any) -> Array:
    """T2_i = sum_k z_ik^2 / lambda_k: squared distance from the mean within the subspace, in units of the variances.

    Components of zero variance are left out.
    """
    Z = model.scores(X)[:, : _rank(model)]
    return namespace(Z).sum(Z * Z / model.explained_variance_[: Z.shape[1]][None, :], axis=1)


def q_residuals(model: Any, X: Any) -> Array:
    """Q_i = |x_i - mean - W^T z_i|^2: squared distance to the subspace (of the scaled columns, if the model scales)."""
    return model.reconstruction_error(X, scaled=True)


def t2_limit(model: Any, alpha: float = 0.05, *, new_rows: bool = True) -> float:
    """The value that T2 exceeds with probability `alpha`.

    The distribution is K (n^2 - 1) / (n (n - K)) F(K, n - K) for rows that were not in the fit, and
    (n - 1)^2 / n Beta(K / 2, (n - K - 1) / 2) for the rows of the fit [1]_.

    References
    ----------
    .. [1] Tracy, Young, Mason (1992), Multivariate control charts for individual observations.
    """
    _check_alpha(alpha)
    n, k = round(model.total_weight_), _rank(model)
    if k == 0:
        raise ValueError("the T2 limit needs a component with positive variance, and the model has none.")
    if n <= k + 1:
        raise ValueError(f"the T2 limit needs more than K + 1 = {k + 1} rows, the model was fitted on {n}.")
    # The variances in T2 have the divisor n - ddof.
    unit = divisor(n, model.ddof) / divisor(n, 1)
    if new_rows:
        return float(unit * k * (n * n - 1) / (n * (n - k)) * special.fdtri(k, n - k, 1 - alpha))
    return float(unit * (n - 1) ** 2 / n * special.betaincinv(k / 2, (n - k - 1) / 2, 1 - alpha))


def q_limit(model: Any, alpha: float = 0.05, X: Any = None) -> float:
    """The value that Q exceeds with probability `alpha`.

    Q is approximated by a + b chi2(c) with the same mean, variance and skewness [1]_. For Gaussian rows these follow
    from the discarded eigenvalues l: the cumulants of Q are sum l, 2 sum l^2 and 8 sum l^3. If rows `X` are given, mean
    and variance are those of their Q instead. `X` is needed after solvers that do not compute all eigenvalues (krylov).
    If the sum of cubes is not known (many columns), a = 0 and only mean and variance are matched.

    References
    ----------
    .. [1] Buckley, Eagleson (1988), An approximation to the distribution of quadratic forms in normal random variables.
    .. [2] Bai, Saranadasa (1996), Effect of high dimension: by an example of a two sample problem, eq. 3.5. The
       unbiased estimate of a sum of squared eigenvalues.
    """
    _check_alpha(alpha)
    mean = float(model.noise_variance_) * (model.n_features_in_ - model.n_components_)
    squares, cubes = model.tail_.squares, model.tail_.cubes
    if X is not None:
        Q = to_numpy(q_residuals(model, X)).astype(float)
        mean = float(Q.mean())
        squares, cubes = (float(Q.var()) / (2 * mean * mean) if mean > 0 else 1.0), None
    # If no variance is left outside the components, Q is rounding error, and no row is an outlier because of it.
    rounding = float(model.rank_cut_)
    if mean <= rounding:
        return rounding
    if squares is None:
        raise ValueError(
            f"{type(model).__name__} with solver {model.solver_!r} does not know all discarded eigenvalues; pass rows: "
            "q_limit(model, X=X)."
        )
    dof = model.total_weight_ - 1 - model.n_components_
    if X is None and dof > 2 and squares < 10.0 / dof:
        # With few rows the estimated eigenvalues are more unequal than the true ones [2].
        squares = dof**2 / ((dof - 1) * (dof + 2)) * (squares - 1.0 / dof)
        squares, cubes = max(squares, 1.0 / (model.n_features_in_ - model.n_components_)), None
    if not cubes:
        return mean * squares * float(special.chdtri(1 / squares, alpha))
    # In units of the mean, the variance is 2 squares and the third cumulant 8 cubes.
    scale, dof = cubes / squares, squares**3 / cubes**2
    return mean * (1 - squares**2 / cubes + scale * float(special.chdtri(dof, alpha)))


def correlations(model: Any, X: Any, Y: Any = None) -> np.ndarray:
    """Correlations of columns with components, shape (columns, K).

    The columns are those of `X`, or supplementary columns `Y` with one row for each row of `X`. The correlation of a
    constant column is zero. The squared correlations are the cos2 of the columns.
    """
    _check_scores(model, "correlations")
    Z = to_numpy(model.scores(X)).astype(float)
    columns = X if Y is None else Y
    columns = np.asarray(columns.toarray() if is_sparse(columns) else to_numpy(columns), dtype=float)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if len(columns) != len(Z):
        raise ValueError(
            f"Y has {len(columns)} rows, X has {len(Z)}; supplementary columns need one entry per row of X."
        )
    return _unit_columns(columns).T @ _unit_columns(Z)


def _unit_columns(A: np.ndarray) -> np.ndarray:
    """The columns of `A`, centred and of unit length. The first entry is subtracted first, in case of large offsets."""
    A = A - A[:1]
    A = A - A.mean(axis=0)
    norms = np.sqrt((A * A).sum(axis=0))
    return A / np.where(norms > 0, norms, 1.0)


@dataclass(frozen=True, repr=False)
class Diagnostics:
    """Scores, cos2, T2 and Q of the rows of a table, and the limits that a fraction `alpha` of usual rows exceeds."""

    scores: Array
    #: None for models whose components are not orthonormal, such as PLS.
    cos2: Array | None
    t2: Array
    q: Array
    t2_limit: float
    q_limit: float
    alpha: float

    @property
    def t2_outliers(self) -> np.ndarray:
        """Indices of the rows whose T2 is above its limit: far from the mean within the subspace."""
        return np.flatnonzero(to_numpy(self.t2) > self.t2_limit)

    @property
    def q_outliers(self) -> np.ndarray:
        """Indices of the rows whose Q is above its limit: far from the subspace."""
        return np.flatnonzero(to_numpy(self.q) > self.q_limit)

    @property
    def outliers(self) -> np.ndarray:
        """Indices of the rows above at least one of the limits."""
        return np.union1d(self.t2_outliers, self.q_outliers)

    def __repr__(self) -> str:
        return f"Diagnostics({len(self.outliers)} of {len(to_numpy(self.t2))} rows beyond a limit)"

    def __str__(self) -> str:
        t2, q = to_numpy(self.t2), to_numpy(self.q)
        n = len(t2)
        lines = [f"{n} rows, limits at alpha = {self.alpha:g}", f"{'':<10}{'limit':>12}{'largest':>12}{'beyond':>10}"]
        for name, values, limit in (("T2", t2, self.t2_limit), ("Q", q, self.q_limit)):
            lines.append(f"{name:<10}{limit:>12.4g}{values.max():>12.4g}{int((values > limit).sum()):>10}")
        return "\n".join(lines)


def diagnose(model: Any, X: Any, *, alpha: float = 0.05, new_rows: bool = False) -> Diagnostics:
    """Scores, cos2, T2 and Q of the rows of `X`, with limits.

    Parameters
    ----------
    model : fitted PCA, PCR or PLSRegression
    X : rows of the fit, or supplementary rows with `new_rows=True`
    alpha : float
        The fraction of ordinary rows that is expected above each limit.
    new_rows : bool
        Whether the rows of `X` were not part of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA
    >>> from lowdim.inspect import diagnose
    >>> X = load_iris().data
    >>> print(diagnose(PCA(2).fit(X), X))
    150 rows, limits at alpha = 0.05
                     limit     largest    beyond
    T2               5.911       10.25         7
    Q               0.3348      0.5787         7
    """
    _check_scores(model, "diagnose")
    check_is_fitted(model)
    needs_rows = model.tail_.squares is None
    if needs_rows and new_rows:
        raise ValueError(
            f"{type(model).__name__} with solver {model.solver_!r} does not know all discarded eigenvalues, and the Q "
            "limit for new rows has to come from the rows of the fit: use q_limit(model, X=X_fit), t2_limit(model), "
            "hotelling_t2(model, X) and q_residuals(model, X)."
        )
    return Diagnostics(
        scores=model.scores(X),
        cos2=cos2(model, X) if hasattr(model, "components_") else None,
        t2=hotelling_t2(model, X),
        q=q_residuals(model, X),
        t2_limit=t2_limit(model, alpha, new_rows=new_rows),
        q_limit=q_limit(model, alpha, X if needs_rows else None),
        alpha=alpha,
    )


def _rank(model: Any) -> int:
    """The number of components with positive variance; warns if the others have to be left out."""
    rank: int = model.rank_
    if rank < model.n_components_:
        lost = model.n_components_ - rank
        warn_user(f"{lost} of {model.n_components_} components have no variance and were left out.", RankWarning)
    return rank


def _check_scores(model: Any, what: str) -> None:
    """Refuse models without scores."""
    if not hasattr(type(model), "scores"):
        raise TypeError(f"{what} needs a fitted PCA, PCR or PLS as its first argument, got {type(model).__name__}.")


def _check_orthonormal(model: Any, what: str) -> None:
    """Refuse models without orthonormal components, which are needed to split squared distances."""
    _check_scores(model, what)
    if not hasattr(model, "components_"):
        raise TypeError(
            f"{what} needs orthonormal components, as PCA and PCR have; {type(model).__name__} has none. See "
            "x_weights_ and vip_."
        )


def _check_alpha(alpha: float) -> None:
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha={alpha!r} must lie between 0 and 1.")
