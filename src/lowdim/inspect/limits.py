"""The limits of T2 and Q that a given fraction of usual rows exceeds, and names of the columns of a model."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, to_numpy
from ..errors import RankWarning, choice, warn_user
from ..linalg import divisor
from ..reading.summarize import check_weights
from ..sources.derived import with_known_length
from ..sources.opening import by_name, can_be_read_once, open_source

# Which table of a model is meant, and the names of its columns.


def column_names(model: Any, table: str | int = 0) -> list[str]:
    """The names of the columns that a model was fitted to; "x1", "x2", ... if they had none.

    Parameters
    ----------
    model : fitted model
    table : "X", "y" or int
        For models of several tables: which one. The columns of y are "y1", "y2", ... if they had no names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> inspect.column_names(PCA(1).fit(load_iris().data))
    ['x1', 'x2', 'x3', 'x4']
    >>> inspect.column_names(PCA(1).fit(load_iris(as_frame=True).data))[0]
    'sepal length (cm)'
    """
    check_is_fitted(model)
    return model._column_names(table_number(model, table))


def names_expected(model: Any) -> list[str] | None:
    """The names of the columns that a fitted model expects; None if it was fitted without names."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def table_number(model: Any, table: str | int) -> int:
    """The number of a table of a fitted model, from 0."""
    count = len(model._widths())
    letters = "Xy"[:count] if count <= 2 else ""
    if isinstance(table, str) and table in tuple(letters):
        return letters.index(table)
    if isinstance(table, numbers.Integral) and not isinstance(table, bool) and 0 <= table < count:
        return int(table)
    raise choice("table", table, [*letters, *range(count)])


def of_table(model: Any, attribute: str, i: int) -> Array:
    """An attribute of table i, such as "loadings_": x_loadings_ and y_loadings_ of a pair of tables, an entry of a list
    for more tables."""
    if has_attribute(model, f"x_{attribute}"):
        return getattr(model, f"{'xy'[i]}_{attribute}")
    value = getattr(model, attribute)
    return value[i] if isinstance(value, list) else value


def has_attribute(model: Any, *attributes: str) -> bool:
    """Whether a fitted model has one of these attributes. Properties are not computed to find out."""
    return any(hasattr(type(model), name) or name in vars(model) for name in attributes)


# The limits of T2 and Q that a given fraction of usual rows exceeds: of the rows of the fit, or of new rows.
#
# The limits differ because the components were fitted to the rows of the fit: these are closer to the subspace, and
# less far from the mean within it, than new rows of the same distribution.


def t2_limit(model: Any, alpha: float = 0.05, *, new_rows: bool = False) -> float:
    """The value that T2 exceeds with probability `alpha`.

    The distribution is (n - 1)^2 / n Beta(K / 2, (n - K - 1) / 2) for the rows of the fit, and
    K (n^2 - 1) / (n (n - K)) F(K, n - K) for rows that were not in it (`new_rows`) [1]_. Here n is the total weight of
    the rows, which need not be a whole number. Of a model that does not subtract the mean, they are
    n Beta(K / 2, (n - K) / 2) and n K / (n - K + 1) F(K, n - K + 1), for rows of mean zero.

    References
    ----------
    .. [1] Tracy, Young, Mason (1992), Multivariate control charts for individual observations.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> pca = PCA(2).fit(load_iris().data)
    >>> round(inspect.t2_limit(pca), 3), round(inspect.t2_limit(pca, new_rows=True), 3)
    (5.911, 6.197)
    """
    check_scores(model, "t2_limit")
    _check_alpha(alpha)
    n, k = float(model.total_weight_), variable_components(model)
    if k == 0:
        raise ValueError("the T2 limit needs a component with positive variance, and the model has none.")
    _require_rows(n, k, "T2")
    free = _free(model)
    # The variances in T2 have the divisor n - ddof.
    unit = divisor(n, model.ddof) / free
    if free == n:
        if new_rows:
            return float(unit * k * n / (n - k + 1) * special.fdtri(k, n - k + 1, 1 - alpha))
        return float(unit * n * special.betaincinv(k / 2, (n - k) / 2, 1 - alpha))
    if new_rows:
        return float(unit * k * (n * n - 1) / (n * (n - k)) * special.fdtri(k, n - k, 1 - alpha))
    return float(unit * (n - 1) ** 2 / n * special.betaincinv(k / 2, (n - k - 1) / 2, 1 - alpha))


def q_limit(
    model: Any, alpha: float = 0.05, X: Any = None, *, new_rows: bool = False, sample_weight: Any = None
) -> float:
    """The value that Q exceeds with probability `alpha`.

    Parameters
    ----------
    model : fitted PCA, PCR, PLSRegression or PLSCanonical
    alpha : float
        The fraction of usual rows above the limit.
    X : the rows of the fit, optional
        If given, mean and variance of Q are those of these rows. `X` is needed after solvers that do not compute all
        eigenvalues (krylov).
    new_rows : bool
        Whether the limit is for rows that were not part of the fit.
    sample_weight : array of shape (n_samples,), optional
        The weights of the fit, for `X`.

    Notes
    -----
    Q is approximated by a + b chi2(c) with the same mean, variance and skewness [1]_. For Gaussian rows these follow
    from the eigenvalues l outside the components: the cumulants of Q are sum l, 2 sum l^2 and 8 sum l^3. If the sum of
    cubes is not known (many columns), that of equal eigenvalues is used. With few rows the estimated eigenvalues are
    more unequal than the true ones, and their sum of squares is corrected [2]_.

    For the rows of the fit, the mean of Q is exactly the sum of the discarded eigenvalues with divisor n. They are too
    small for new rows, since the components take up as much as they can of the rows of the fit. Of the variance l_j of
    component j, new rows have only about d_j = l_j / (1 + g_j)^2 along it, where g_j = sum_i l_i / (m (l_j - l_i)) over
    the discarded l_i [3]_; the rest, l_j - d_j, they have outside. The mean of Q of new rows is
    (1 + 1 / n) (sum_i l_i + sum_j (l_j - d_j)), with l of divisor n - 1. The true eigenvalues are about halfway between
    the two means, and (l_j - d_j) / 2 is the mean of a part that varies like a squared score.

    In [3]_ m is n - 1. Here m = (n - 1 - K)^2 / (n - 1 - K / 2), so that K components of large variance leave about
    n^2 / (n - K)^2 times as much as for the rows of the fit, as in regression. docs/pca.md has a table of how often the
    limits are exceeded.

    References
    ----------
    .. [1] Buckley, Eagleson (1988), An approximation to the distribution of quadratic forms in normal random variables.
    .. [2] Bai, Saranadasa (1996), Effect of high dimension: by an example of a two sample problem, eq. 3.5. The
       unbiased estimate of a sum of squared eigenvalues.
    .. [3] Ledoit, Peche (2011), Eigenvectors of some large sample covariance matrix ensembles.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> pca = PCA(2).fit(load_iris().data)
    >>> round(inspect.q_limit(pca), 3), round(inspect.q_limit(pca, alpha=0.01), 3)
    (0.333, 0.545)
    """
    check_scores(model, "q_limit")
    _check_alpha(alpha)
    if sample_weight is not None and X is None:
        raise ValueError("sample_weight belongs to the rows X; pass both, or neither of them.")
    n, tail = float(model.total_weight_), model.tail_
    # What the components leave of the rows of the fit: the mean of Q, and sums of the squares and cubes of the
    # eigenvalues, in units of their sum and of its square and cube.
    if X is not None:
        X, sample_weight = rows_and_weights(model, X, sample_weight)
        Q = to_numpy(model.reconstruction_error(X, scaled=True)).astype(float)
        weights = row_weights(sample_weight, Q[:, None])
        mean = float(np.average(Q, weights=weights))
        variance = float(np.average((Q - mean) ** 2, weights=weights))
        squares, cubes = variance / (2 * mean * mean) if mean > 0 else 1.0, None
    elif tail.squares is None:
        raise ValueError(
            f"{type(model).__name__} with solver {model.solver_!r} does not know all discarded eigenvalues; pass the "
            "rows of the fit: q_limit(model, X=X)."
        )
    else:
        mean, squares, cubes = tail.total / model.total_weight_, tail.squares, tail.cubes
    # If no variance is left outside the components, Q is rounding error, and no row is an outlier because of it.
    rounding = float(model.rank_cut_)
    if mean <= rounding:
        return rounding
    _require_rows(n, model.n_components_, "Q")
    losses, sign = _losses(model, mean, squares, cubes), -1.0
    if new_rows:
        # The mean was estimated, too, unless it was not subtracted.
        of_mean = 0.0 if _free(model) == n else 1 / n
        mean, sign = mean * n / _free(model) * (1 + losses.sum()) * (1 + of_mean), 1.0
        losses = losses / (1 + losses.sum())
    if X is None:
        dof = _free(model) - model.n_components_
        if dof > 2 and squares < 10.0 / dof:
            squares = dof**2 / ((dof - 1) * (dof + 2)) * (squares - 1.0 / dof)
            squares, cubes = max(squares, 1.0 / (model.n_features_in_ - model.n_components_)), None
        cubes = cubes or squares**2
        # Components take more from some rows of the fit than from others, and leave more of some new rows.
        squares += float(np.sum((losses / 2) ** 2))
        cubes += sign * float(np.sum((losses / 2) ** 3))
    return mean * _upper_quantile(squares, cubes or squares**2, alpha)


def has_scores(model: Any) -> bool:
    """Whether a model has scores and distances to a subspace. (`scores` of FactorAnalysis is a parameter.)"""
    return callable(getattr(type(model), "scores", None))


def check_scores(model: Any, what: str) -> None:
    """Refuse models without scores and distances to a subspace, and models that are not fitted."""
    if not has_scores(model):
        raise TypeError(
            f"{what} needs a fitted PCA, PCR, PLSRegression or PLSCanonical as its first argument, got "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)


def _upper_quantile(squares: float, cubes: float, alpha: float) -> float:
    """The upper quantile of a + b chi2(c) with mean 1, variance 2 `squares` and third cumulant 8 `cubes`."""
    scale, dof = cubes / squares, squares**3 / cubes**2 if cubes else math.inf
    if dof > 1e8:
        return 1 + math.sqrt(2 * squares) * float(special.ndtri(1 - alpha))
    return 1 - scale * dof + scale * float(special.chdtri(dof, alpha if scale > 0 else 1 - alpha))


def _losses(model: Any, mean: float, squares: float, cubes: float | None) -> np.ndarray:
    """l_j - d_j of each component, in units of the sum of the discarded eigenvalues.

    Only sums of powers of the discarded l_i are known. The sum over them is that of a continued fraction with the same
    first powers, 1 / (l_j - b - a / (l_j - b)), where b and a are mean and variance of the l_i weighted by l_i.
    """
    f, k = _free(model), model.n_components_
    per = (f - k) ** 2 / (f - k / 2)
    if not hasattr(model, "components_"):
        # Directions that were not chosen for their variance lose only what regression on their scores takes up.
        return np.full(k, 2.0 / per)
    total = mean * model.total_weight_ / f
    values = to_numpy(model.explained_variance_).astype(float) * divisor(model.total_weight_, model.ddof) / f / total
    b, a = squares, 0.0 if not cubes else max(cubes - squares**2, 0.0)
    gap = values - b
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(gap > math.sqrt(a), gap - a / gap, 0.0)
        kept = np.where(gap > 0, values / (1 + 1 / (per * gap)) ** 2, 0.0)
    # No direction has less variance than the discarded ones have on average.
    return values - np.maximum(kept, 1 / (model.n_features_in_ - k))


def _free(model: Any) -> float:
    """The degrees of freedom of the covariance: n - 1, or n if the model does not subtract the mean."""
    return float(model.total_weight_) - (1.0 if getattr(model, "center", True) else 0.0)


def variable_components(model: Any) -> int:
    """The number of components with positive variance; warns if the others have to be left out."""
    rank: int = model.rank_
    if rank < model.n_components_:
        lost = model.n_components_ - rank
        warn_user(f"{lost} of {model.n_components_} components have no variance and were left out.", RankWarning)
    return rank


def rows_and_weights(model: Any, X: Any, sample_weight: Any) -> tuple[Any, Any]:
    """The rows and their weights, which may be the name of a column of `X`."""
    X, _, sample_weight = by_name(X, wanted=names_expected(model), sample_weight=sample_weight)
    return X, sample_weight


def readable_again(X: Any) -> Any:
    """Rows that can be read several times: a stream that can be read once is gathered in memory."""
    return with_known_length(open_source(X), "for diagnostics") if can_be_read_once(X) else X


def row_weights(sample_weight: Any, rows: Any) -> Any:
    """The weights of rows, checked, as an array like the rows; None if there are none."""
    return None if sample_weight is None else check_weights(sample_weight, open_source(rows))


def _require_rows(n: float, k: int, what: str) -> None:
    if n <= k + 1:
        raise ValueError(f"the {what} limit needs more than K + 1 = {k + 1} rows, the model was fitted on {n:g}.")


def _check_alpha(alpha: Any) -> None:
    if not isinstance(alpha, numbers.Real) or not 0.0 < float(alpha) < 1.0:
        raise ValueError(f"alpha={alpha!r} must be a number between 0 and 1.")
