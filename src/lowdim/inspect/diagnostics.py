"""How well a fitted model represents single rows and columns: contributions, cos2, T2 and Q with their limits.

The rows may be those of the fit or supplementary ones. The fitted model is not changed. A model does not keep the
weights of its rows: after a fit with `sample_weight`, pass the same weights to functions that average over rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._xp import Array, compute_lazy, is_sparse, namespace, to_numpy
from ..linalg import divisor, with_zeros
from ..sources import Source
from .limits import (
    check_scores,
    q_limit,
    readable_again,
    row_weights,
    rows_and_weights,
    t2_limit,
    variable_components,
)


def contributions(model: Any, X: Any = None, *, sample_weight: Any = None) -> Array:
    """Contributions of columns or rows to the variance of each component.

    Without `X`, the contributions of the columns: w_kj^2, shape (p, K), which add up to 1 over the columns. With `X`,
    those of its rows: z_ik^2 / (lambda_k (n - ddof)), shape (n, K), which add up to 1 over the rows of the fit. With
    `sample_weight`, the contribution of a row is that of all its copies, and n is the sum of the weights of the fit.
    """
    _check_orthonormal(model, "contributions")
    xp = namespace(model.components_)
    if X is None:
        if sample_weight is not None:
            raise ValueError("sample_weight belongs to the rows X; columns have no weights.")
        return xp.asarray(model.components_.T**2, copy=True)
    X, sample_weight = rows_and_weights(model, X, sample_weight)
    Z = model.scores(X)
    weights = row_weights(sample_weight, Z)
    Z = Z[:, : variable_components(model)]
    squares = model.explained_variance_[: Z.shape[1]] * divisor(model.total_weight_, model.ddof)
    shares = Z * Z / squares[None, :]
    if weights is not None:
        shares = shares * weights[:, None]
    return with_zeros(shares, model.n_components_ - Z.shape[1])


def cos2(model: Any, X: Any) -> Array:
    """z_ik^2 / |x_i - mean|^2: the part of a row's squared distance from the mean along each component, shape (n, K).

    For a row at the mean it is zero.
    """
    _check_orthonormal(model, "cos2")
    X = readable_again(X)
    Z = model.scores(X)
    xp = namespace(Z)
    squares = Z * Z
    whole = xp.sum(squares, axis=1) + q_residuals(model, X)
    return squares / xp.where(whole > 0, whole, xp.ones_like(whole))[:, None]


def hotelling_t2(model: Any, X: Any) -> Array:
    """T2_i = sum_k z_ik^2 / lambda_k: squared distance from the mean within the subspace, in units of the variances.

    Components of zero variance are left out.
    """
    check_scores(model, "hotelling_t2")
    Z = model.scores(X)[:, : variable_components(model)]
    return namespace(Z).sum(Z * Z / model.explained_variance_[: Z.shape[1]][None, :], axis=1)


def q_residuals(model: Any, X: Any) -> Array:
    """Q_i = |x_i - mean - W^T z_i|^2: squared distance to the subspace (of the scaled columns, if the model scales)."""
    check_scores(model, "q_residuals")
    return model.reconstruction_error(X, scaled=True)


def correlations(model: Any, X: Any, Y: Any = None, *, sample_weight: Any = None) -> np.ndarray:
    """Correlations of columns with components, shape (columns, K).

    The columns are those of `X`, or supplementary columns `Y` with one row for each row of `X`. The correlation of a
    constant column is zero. For the rows and the `sample_weight` of the fit, the squared correlations are the cos2 of
    the columns.
    """
    check_scores(model, "correlations")
    X, sample_weight = rows_and_weights(model, X, sample_weight)
    X = readable_again(X)
    Z = to_numpy(model.scores(X)).astype(float)
    columns = compute_lazy(X if Y is None else Y)
    if isinstance(columns, Source):
        columns = next(columns.blocks(len(Z)))
    columns = np.asarray(columns.toarray() if is_sparse(columns) else to_numpy(columns), dtype=float)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if len(columns) != len(Z):
        raise ValueError(
            f"Y has {len(columns)} rows, X has {len(Z)}; supplementary columns need one entry per row of X."
        )
    weights = row_weights(sample_weight, Z)
    if weights is not None:
        # Rows without weight may be far from the others.
        columns, Z, weights = columns[weights > 0], Z[weights > 0], weights[weights > 0]
    return _unit_columns(columns, weights).T @ _unit_columns(Z, weights)


def _unit_columns(A: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The columns of `A`, centred, times the roots of the weights, and of unit length. The first entry is subtracted
    first, in case of large offsets."""
    A = A - A[:1]
    A = A - np.average(A, axis=0, weights=weights)
    if weights is not None:
        A = A * np.sqrt(weights)[:, None]
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


def diagnose(
    model: Any, X: Any, *, alpha: float = 0.05, new_rows: bool = False, sample_weight: Any = None
) -> Diagnostics:
    """Scores, cos2, T2 and Q of the rows of `X`, with limits.

    Parameters
    ----------
    model : fitted PCA, PCR, PLSRegression or PLSCanonical
    X : rows of the fit, or supplementary rows with `new_rows=True`
    alpha : float
        The fraction of ordinary rows that is expected above each limit.
    new_rows : bool
        Whether the rows of `X` were not part of the fit. Their limits are larger.
    sample_weight : array of shape (n_samples,), optional
        The weights of the fit, if `X` are its rows. They are used for the Q limit after solvers that do not compute all
        eigenvalues (krylov).

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
    Q               0.3326      0.5787         7
    """
    check_scores(model, "diagnose")
    needs_rows = model.tail_.squares is None
    if needs_rows and new_rows:
        raise ValueError(
            f"{type(model).__name__} with solver {model.solver_!r} does not know all discarded eigenvalues, and the Q "
            "limit for new rows has to come from the rows of the fit: use q_limit(model, X=X_fit, new_rows=True), "
            "t2_limit(model, new_rows=True), hotelling_t2(model, X) and q_residuals(model, X)."
        )
    X, sample_weight = rows_and_weights(model, X, sample_weight)
    X = readable_again(X)
    scores = model.scores(X)
    if row_weights(sample_weight, scores) is not None and new_rows:
        raise ValueError("sample_weight is for the rows of the fit, and new_rows=True says that these are others.")
    return Diagnostics(
        scores=scores,
        cos2=cos2(model, X) if hasattr(model, "components_") else None,
        t2=compute_lazy(hotelling_t2(model, X)),
        q=compute_lazy(q_residuals(model, X)),
        t2_limit=t2_limit(model, alpha, new_rows=new_rows),
        q_limit=(
            q_limit(model, alpha, X, sample_weight=sample_weight)
            if needs_rows
            else q_limit(model, alpha, new_rows=new_rows)
        ),
        alpha=alpha,
    )


def _check_orthonormal(model: Any, what: str) -> None:
    """Refuse models without orthonormal components, which are needed to split squared distances."""
    check_scores(model, what)
    if not hasattr(model, "components_"):
        raise TypeError(
            f"{what} needs orthonormal components, as PCA and PCR have; {type(model).__name__} has none. See "
            "x_weights_ and vip_."
        )
