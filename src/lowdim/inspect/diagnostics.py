"""How far rows are from the others: T2 within the subspace of the components, Q outside it; groups of rows."""

from __future__ import annotations

import math
import numbers
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from .._core.arrays import Array, compute_lazy, namespace, to_numpy
from .._core.types import VectorLike
from ..errors import wrong_image_shape
from ..linalg import divisor
from ..sources.opening import TableLike, open_source, row_labels
from ..table import Table, Tabular
from .geometry import squared_cosines
from .tables import (
    check_scores,
    column_names,
    is_latent,
    readable_again,
    row_weights,
    rows_and_weights,
    rows_of,
    variable_components,
)

if TYPE_CHECKING:
    from ..models.latent import LatentModel
    from ..models.pca import PCA
    from ..models.regression import LatentRegression

# The rows may be those of the fit or supplementary ones. A model does not keep the weights of its rows: after a fit
# with `sample_weight`, pass the same weights to `diagnose`.


#: The largest number of rows that are printed.
_SHOWN = 10


def hotelling_t2(model: PCA | LatentRegression | LatentModel, X: TableLike) -> Array:
    """T2_i = sum_k z_ik^2 / lambda_k: squared distance from the mean within the subspace, in units of the variances.

    Components of zero variance are left out. For PPCA and FactorAnalysis, rows may have missing entries: see their
    method `distances`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris().data
    >>> pca = PCA(2).fit(X)
    >>> inspect.hotelling_t2(pca, X[:3]).round(2), round(inspect.t2_limit(pca), 2)
    (array([2.12, 1.87, 2.06]), 5.91)
    """
    check_scores(model, "hotelling_t2", latent=True)
    if is_latent(model):
        return model.distances(X).t2
    Z = model.scores(X)[:, : variable_components(model)]
    return namespace(Z).sum(Z * Z / model.explained_variance_[: Z.shape[1]][None, :], axis=1)


def q_residuals(model: PCA | LatentRegression | LatentModel, X: TableLike) -> Array:
    """Q_i = |x_i - mean - W^T z_i|^2: squared distance to the subspace (of the scaled columns, if the model scales).

    For PPCA and FactorAnalysis it is in units of the noise variances, and given the observed entries of a row: see
    their method `distances`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris().data
    >>> pca = PCA(2).fit(X)
    >>> inspect.q_residuals(pca, X[:3]).round(4), round(inspect.q_limit(pca), 4)
    (array([0.0008, 0.0541, 0.0007]), 0.3326)
    """
    check_scores(model, "q_residuals", latent=True)
    if is_latent(model):
        return model.distances(X).q
    return model.reconstruction_error(X, scaled=True)


def t2_contributions(model: PCA | LatentRegression, X: TableLike) -> Table:
    """The part of each column in T2 of each row, shape (n, p): the parts of a row add up to its T2.

    For centred rows x (of scaled columns, if the model scales) with scores z = R^T x, T2 = sum_k z_k^2 / lambda_k is
    the sum over the columns of c_j = x_j sum_k r_jk z_k / lambda_k [1]_. A negative part makes T2 smaller.

    References
    ----------
    .. [1] Nomikos (1996), Detection and diagnosis of abnormal batch operations based on multi-way principal component
       analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris(as_frame=True).data
    >>> print(inspect.t2_contributions(PCA(2).fit(X), X[131:132]))
    Parts of the columns in T2
         sepal length (cm)  sepal width (cm)  petal length (cm)  petal width (cm)
    131             8.2147            3.0227            -0.8645           -0.1230
    """
    labels = row_labels(X)
    rows, Z, R, _ = _rows_and_scores(model, X, "t2_contributions")
    k = variable_components(model)
    weights = Z[:, :k] / to_numpy(model.explained_variance_).astype(float)[:k]
    title = "Parts of the columns in T2"
    return Table.from_matrix(rows * (weights @ R[:, :k].T), column_names(model), labels, title=title)


def q_contributions(model: PCA | LatentRegression, X: TableLike) -> Table:
    """The part of each column in Q of each row, shape (n, p): its squared residual e_j^2. They add up to Q.

    A large residual of one column also changes those of columns that are correlated with it, so that a part is a hint
    where to look and not a proof.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris(as_frame=True).data
    >>> print(inspect.q_contributions(PCA(2).fit(X), X[1:2]))
    Parts of the columns in Q
       sepal length (cm)  sepal width (cm)  petal length (cm)  petal width (cm)
    1             0.0236            0.0248            0.00404           0.00162
    """
    labels = row_labels(X)
    rows, Z, _, P = _rows_and_scores(model, X, "q_contributions")
    title = "Parts of the columns in Q"
    return Table.from_matrix((rows - Z @ P.T) ** 2, column_names(model), labels, title=title)


def _rows_and_scores(model: Any, X: Any, what: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Centred rows x, scaled as in the model, their scores z, and matrices R and P with z = R^T x and x near P z."""
    check_scores(model, what)
    X = readable_again(X)
    if hasattr(model, "x_rotations_"):
        found = model.x_mean_, model.x_scale_, model.x_rotations_, model.x_loadings_
    else:
        W = model.components_.T
        found = model.mean_, np.ones(1) if model.scale_ is None else model.scale_, W, W
    mean, scale, R, P = (to_numpy(a).astype(float) for a in found)
    Z = to_numpy(compute_lazy(model.scores(X))).astype(float)
    return (rows_of(open_source(X, model._wanted())) - mean) / scale, Z, R, P


@dataclass(frozen=True, repr=False)
class Diagnostics(Tabular):
    """Scores, cos2, T2 and Q of the rows of a table, and the limits that a fraction `alpha` of usual rows exceeds.

    Printing it shows the rows beyond a limit; `table()` has all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris().data
    >>> found = inspect.diagnose(PCA(2).fit(X), X)
    >>> type(found).__name__, found.t2.shape, len(found.t2_outliers), len(found.q_outliers)
    ('Diagnostics', (150,), 7, 7)
    """

    scores: Array
    #: None for models whose components are not orthonormal, such as PLS.
    cos2: Array | None
    t2: Array
    q: Array
    #: The limits: a number, or one for each row if their numbers of observed entries differ. Infinite for a row of
    #: which too few entries are observed.
    t2_limit: float | np.ndarray
    q_limit: float | np.ndarray
    alpha: float
    #: The labels of the rows; None if they are known by their positions only.
    labels: Any = None
    #: The probabilities of larger values than those of each row, if its observed entries were usual; None for models
    #: other than PPCA and FactorAnalysis.
    t2_p_value: np.ndarray | None = None
    q_p_value: np.ndarray | None = None

    @property
    def t2_outliers(self) -> np.ndarray:
        """Positions of the rows whose T2 is above its limit: far from the mean within the subspace."""
        return np.flatnonzero(to_numpy(self.t2) > self.t2_limit)

    @property
    def q_outliers(self) -> np.ndarray:
        """Positions of the rows whose Q is above its limit: far from the subspace."""
        return np.flatnonzero(to_numpy(self.q) > self.q_limit)

    @property
    def outliers(self) -> np.ndarray:
        """Positions of the rows above at least one of the limits."""
        return np.union1d(self.t2_outliers, self.q_outliers)

    def table(self) -> Table:
        """T2 and Q of all rows, and whether they are beyond their limits."""
        t2, q = to_numpy(self.t2), to_numpy(self.q)
        columns = {"T2": t2, "Q": q, "T2 beyond": t2 > self.t2_limit, "Q beyond": q > self.q_limit}
        if self.t2_p_value is not None and self.q_p_value is not None:
            columns |= {"p of T2": self.t2_p_value, "p of Q": self.q_p_value}
        both = (("T2", self.t2_limit, self.t2_outliers), ("Q", self.q_limit, self.q_outliers))
        notes = [
            f"limit of {name}: {_range(limit)}, rows beyond it: {len(rows)}, by chance alone about "
            f"{self.alpha * np.sum(np.isfinite(np.broadcast_to(limit, t2.shape))):.3g}"
            for name, limit, rows in both
        ]
        return Table(columns, self.labels, title=f"{len(t2)} rows, limits at alpha = {self.alpha:g}", notes=notes)

    def outlier_table(self) -> Table:
        """The rows of `table()` that are beyond a limit; first those that exceed it most, in units of the limit."""
        rows = self.outliers
        excess = np.maximum(to_numpy(self.t2) / self.t2_limit, to_numpy(self.q) / self.q_limit)[rows]
        return self.table().take(rows[np.argsort(-excess, kind="stable")])

    def __repr__(self) -> str:
        return f"Diagnostics({len(self.outliers)} of {len(to_numpy(self.t2))} rows beyond a limit)"

    def __str__(self) -> str:
        return self.outlier_table().text(max_rows=_SHOWN)

    def _repr_html_(self) -> str:
        return self.outlier_table()._repr_html_()


def _range(limit: float | np.ndarray) -> str:
    """A limit, or the smallest and the largest of several, as text."""
    known = np.asarray(limit)[np.isfinite(limit)]
    if not len(np.atleast_1d(known)):
        return "none"
    ends = f"{known.min():.4g}", f"{known.max():.4g}"
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def diagnose(
    model: PCA | LatentRegression | LatentModel,
    X: TableLike,
    *,
    alpha: float = 0.05,
    new_rows: bool = False,
    sample_weight: VectorLike | None = None,
) -> Diagnostics:
    """Scores, cos2, T2 and Q of the rows of `X`, with limits.

    Parameters
    ----------
    model : fitted PCA, PCR, PLSRegression, PLSCanonical, PPCA or FactorAnalysis
    X : rows of the fit, or supplementary rows with `new_rows=True`
    alpha : float, default=0.05
        The fraction of ordinary rows that is expected above each limit.
    new_rows : bool, default=False
        Whether the rows of `X` were not part of the fit. Their limits are larger.
    sample_weight : array of shape (n_samples,), default=None
        The weights of the fit, if `X` are its rows. They are used for the Q limit after solvers that do not compute all
        eigenvalues (krylov).

    Notes
    -----
    Of PPCA and FactorAnalysis, T2 and Q are those of the observed entries of a row (see their method `distances`), and
    rows with different numbers of observed entries have different limits and p-values. T2 of rank r is compared with
    the distribution of `t2_limit` for r components, in which n is the total weight of the rows of the fit, and Q with a
    chi-square of o - r degrees of freedom for o observed entries. That is right for n far above p. Where r is zero, or
    o - r is, there is nothing to compare, and the p-value is one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA
    >>> from lowdim.inspect import diagnose
    >>> X = load_iris().data
    >>> print(diagnose(PCA(2).fit(X), X))
    150 rows, limits at alpha = 0.05
             T2       Q  T2 beyond  Q beyond
    100   1.516  0.5787  no         yes
    131  10.250  0.0771  yes        no
    136   1.168  0.5431  no         yes
    148   0.911  0.5251  no         yes
    114   1.795  0.5043  no         yes
    15    8.724  0.0772  yes        no
    62    1.263  0.4851  no         yes
    117   8.572  0.1135  yes        no
    14    7.380  0.0483  yes        no
    87    0.727  0.4016  no         yes
    ... 4 more rows
    limit of T2: 5.911, rows beyond it: 7, by chance alone about 7.5
    limit of Q: 0.3326, rows beyond it: 7, by chance alone about 7.5
    """
    check_scores(model, "diagnose", latent=True)
    if is_latent(model):
        return _diagnose_latent(model, X, alpha, new_rows, sample_weight)
    needs_rows = model.tail_.squares is None
    if needs_rows and new_rows:
        raise ValueError(
            f"{type(model).__name__} with solver {model.solver_!r} does not know all discarded eigenvalues, and the Q "
            "limit for new rows has to come from the rows of the fit: use q_limit(model, X=X_fit, new_rows=True), "
            "t2_limit(model, new_rows=True), hotelling_t2(model, X) and q_residuals(model, X)."
        )
    labels = row_labels(X)
    X, sample_weight = rows_and_weights(model, X, sample_weight)
    X = readable_again(X)
    scores = model.scores(X)
    if row_weights(sample_weight, scores) is not None and new_rows:
        raise ValueError("sample_weight is for the rows of the fit, and new_rows=True says that these are others.")
    new = {"X": X, "sample_weight": sample_weight} if needs_rows else {"new_rows": new_rows}
    return Diagnostics(
        scores=scores,
        cos2=squared_cosines(model, X) if hasattr(model, "components_") else None,
        t2=compute_lazy(hotelling_t2(model, X)),
        q=compute_lazy(q_residuals(model, X)),
        t2_limit=t2_limit(model, alpha, new_rows=new_rows),
        q_limit=q_limit(model, alpha, **new),
        alpha=alpha,
        labels=labels,
    )


def _diagnose_latent(model: Any, X: Any, alpha: float, new_rows: bool, sample_weight: Any) -> Diagnostics:
    """`diagnose` for PPCA and FactorAnalysis."""
    _check_alpha(alpha)
    labels = row_labels(X)
    X, sample_weight = rows_and_weights(model, X, sample_weight)
    X = readable_again(X)
    scores, found = model.transform(X), model.distances(X)
    if row_weights(sample_weight, scores) is not None and new_rows:
        raise ValueError("sample_weight is for the rows of the fit, and new_rows=True says that these are others.")
    n, t2_limit, t2_p = float(model.total_weight_), np.full(len(found.t2), np.inf), np.ones(len(found.t2))
    for r in np.unique(found.t2_dof[found.t2_dof > 0.5]).astype(int):
        of_rank = found.t2_dof == r
        law = _t2_law(n, int(r), n / (n - 1.0), centred=True, new_rows=new_rows)
        t2_limit[of_rank], t2_p[of_rank] = law.limit(alpha), law.tail(found.t2[of_rank])
    some = found.q_dof > 0.5
    dof = np.where(some, found.q_dof, 1.0)
    q_limit = np.where(some, special.chdtri(dof, alpha), np.inf)
    return Diagnostics(
        scores=scores,
        cos2=None,
        t2=found.t2,
        q=found.q,
        t2_limit=_one_of(t2_limit),
        q_limit=_one_of(q_limit),
        alpha=alpha,
        labels=labels,
        t2_p_value=t2_p,
        q_p_value=np.where(some, special.chdtrc(dof, found.q), 1.0),
    )


def _one_of(limits: np.ndarray) -> float | np.ndarray:
    """The limits of all rows, or one number if they are the same."""
    return float(limits[0]) if len(limits) and np.all(limits == limits[0]) else limits


# The limits of T2 and Q that a given fraction of usual rows exceeds: of the rows of the fit, or of new rows.
#
# The limits differ because the components were fitted to the rows of the fit: these are closer to the subspace, and
# less far from the mean within it, than new rows of the same distribution.


def t2_limit(model: PCA | LatentRegression | LatentModel, alpha: float = 0.05, *, new_rows: bool = False) -> float:
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
    check_scores(model, "t2_limit", latent=True)
    _check_alpha(alpha)
    n, k = float(model.total_weight_), model.n_components_ if is_latent(model) else variable_components(model)
    if k == 0:
        raise ValueError("the T2 limit needs a component with positive variance, and the model has none.")
    free = _free(model)
    # The variances in T2 have the divisor n - ddof; that of maximum likelihood is n.
    unit = divisor(n, 0 if is_latent(model) else model.ddof) / free
    return _t2_law(n, k, unit, centred=free < n, new_rows=new_rows).limit(alpha)


#: From so many degrees of freedom on, F is chi-square divided by its degrees of freedom, to nine digits.
_MANY_ROWS = 1e9


class _T2Law(NamedTuple):
    """The distribution of T2: `scale` times Beta(a, b), or times F(2 a, 2 b) for `new_rows`."""

    scale: float
    a: float
    b: float
    new_rows: bool

    def limit(self, alpha: float) -> float:
        """The value that is exceeded with probability `alpha`."""
        if self.new_rows:
            dof = 2 * self.a
            if self.b > _MANY_ROWS:
                return float(self.scale * special.chdtri(dof, alpha) / dof)
            return float(self.scale * special.fdtri(dof, 2 * self.b, 1 - alpha))
        return float(self.scale * special.betaincinv(self.a, self.b, 1 - alpha))

    def tail(self, t2: np.ndarray) -> np.ndarray:
        """The probabilities of larger values."""
        if self.new_rows:
            dof = 2 * self.a
            if self.b > _MANY_ROWS:
                return np.asarray(special.chdtrc(dof, dof * t2 / self.scale))
            return np.asarray(special.fdtrc(dof, 2 * self.b, t2 / self.scale))
        return np.asarray(special.betaincc(self.a, self.b, np.minimum(t2 / self.scale, 1.0)))


def _t2_law(n: float, k: int, unit: float, *, centred: bool, new_rows: bool) -> _T2Law:
    """The distribution of T2 of k components, in whose units variances have the divisor n - 1 (n if not `centred`)."""
    _require_rows(n, k, "T2")
    if not centred:
        if new_rows:
            return _T2Law(unit * k * n / (n - k + 1), k / 2, (n - k + 1) / 2, True)
        return _T2Law(unit * n, k / 2, (n - k) / 2, False)
    if new_rows:
        return _T2Law(unit * k * ((n - 1) / n) * ((n + 1) / (n - k)), k / 2, (n - k) / 2, True)
    return _T2Law(unit * ((n - 1) / n) * (n - 1), k / 2, (n - k - 1) / 2, False)


def q_limit(
    model: PCA | LatentRegression | LatentModel,
    alpha: float = 0.05,
    X: TableLike | None = None,
    *,
    new_rows: bool = False,
    sample_weight: VectorLike | None = None,
) -> float:
    """The value that Q exceeds with probability `alpha`.

    Parameters
    ----------
    model : fitted PCA, PCR, PLSRegression or PLSCanonical
    alpha : float, default=0.05
        The fraction of usual rows above the limit.
    X : the rows of the fit, default=None
        If given, mean and variance of Q are those of these rows. `X` is needed after solvers that do not compute all
        eigenvalues (krylov).
    new_rows : bool, default=False
        Whether the limit is for rows that were not part of the fit.
    sample_weight : array of shape (n_samples,), default=None
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

    Of PPCA and FactorAnalysis, Q of a complete row is compared with a chi-square of p - K degrees of freedom;
    `diagnose` has the limits of other rows.

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
    check_scores(model, "q_limit", latent=True)
    _check_alpha(alpha)
    if is_latent(model):
        if X is not None or sample_weight is not None:
            raise ValueError("the Q limit of PPCA and FactorAnalysis does not depend on rows; leave X out.")
        return float(special.chdtri(model.n_features_in_ - model.n_components_, alpha))
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
            # Ratios, because squares of large weights would overflow.
            squares = dof / (dof - 1) * (dof / (dof + 2)) * (squares - 1.0 / dof)
            squares, cubes = max(squares, 1.0 / (model.n_features_in_ - model.n_components_)), None
        cubes = cubes or squares**2
        # Components take more from some rows of the fit than from others, and leave more of some new rows.
        squares += float(np.sum((losses / 2) ** 2))
        cubes += sign * float(np.sum((losses / 2) ** 3))
    return mean * _upper_quantile(squares, cubes or squares**2, alpha)


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
    per = (f - k) / (f - k / 2) * (f - k)
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


def _require_rows(n: float, k: int, what: str) -> None:
    if n <= k + 1:
        raise ValueError(f"the {what} limit needs more than K + 1 = {k + 1} rows, the model was fitted on {n:g}.")


def _check_alpha(alpha: Any) -> None:
    if not isinstance(alpha, numbers.Real) or not 0.0 < float(alpha) < 1.0:
        raise ValueError(f"alpha={alpha!r} must be a number between 0 and 1.")


# Outlines of groups of points in a plane: ellipses and hulls.


def ellipse_radius(confidence_level: float) -> float:
    """The radius, in standard deviations, of the ellipse that holds the fraction `confidence_level` of a Gaussian in a
    plane: the root of the quantile of chi-square with two degrees of freedom."""
    return float(np.sqrt(special.chdtri(2, 1.0 - confidence_level)))


def ellipse(points: np.ndarray, confidence_level: float, *, of_mean: bool = False) -> np.ndarray | None:
    """The ellipse that holds the fraction `confidence_level` of a Gaussian with the mean and covariance of the points
    or, with `of_mean`, of the means of as many points.

    It is {x : (x - mean)^T S^{-1} (x - mean) = r^2} with r = `ellipse_radius` and S with divisor n - 1, for means
    divided by n, as 100 points. None for fewer than three points, or if they are on a line.
    """
    if len(points) < 3:
        return None
    values, vectors = np.linalg.eigh(np.cov(points.T))
    if values[0] <= 1e-12 * values[1]:
        return None
    angle = np.linspace(0.0, 2.0 * np.pi, 100)
    values = values / len(points) if of_mean else values
    circle = ellipse_radius(confidence_level) * np.vstack([np.cos(angle), np.sin(angle)])
    return np.asarray((vectors @ (np.sqrt(values)[:, None] * circle)).T + points.mean(axis=0))


def hull(points: np.ndarray) -> np.ndarray | None:
    """The corners of the convex hull of the points; None for fewer than three, or if they are on a line."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 3:
        return None
    try:
        return np.asarray(points[ConvexHull(points).vertices])
    except QhullError:
        return None


def checked_image_shape(shape: Any, p: int) -> tuple[int, ...]:
    """A shape (height, width) or (height, width, 3) of p numbers; an error if it is not one."""
    try:
        found = tuple(int(n) for n in shape)
    except (TypeError, ValueError) as error:
        raise wrong_image_shape(shape, p) from error
    wrong_colours = len(found) == 3 and found[2] != 3
    if len(found) not in (2, 3) or min(found) < 1 or math.prod(found) != p or wrong_colours:
        raise wrong_image_shape(shape, p)
    return found


# Categories of rows: which values occur in a column of labels, and which of them each row has.


class Categories(NamedTuple):
    """The categories of rows."""

    #: The values that occur, sorted if that is possible, otherwise in the order in which they occur.
    levels: list[Any]
    #: For each row, the position of its value in `levels`; -1 if it is missing.
    codes: np.ndarray


def categories(values: np.ndarray) -> Categories:
    """The categories of a vector of labels. None, NaN, and NA of pandas are missing."""
    missing = missing_labels(values)
    levels, found = _distinct(values[~missing])
    codes = np.full(len(values), -1)
    codes[~missing] = found
    return Categories(levels, codes)


def missing_labels(values: np.ndarray) -> np.ndarray:
    """Which entries are None, NaN, or NA of pandas."""
    if values.dtype.kind == "O":
        return np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:
        # NA of pandas is neither equal to itself nor unequal.
        return True
    except ValueError:
        return False


def _distinct(values: np.ndarray) -> tuple[list[Any], np.ndarray]:
    """The values that occur, sorted if that is possible, and for each entry which of them it is."""
    if values.dtype.kind != "O":
        found, codes = np.unique(values, return_inverse=True)
        return found.tolist(), codes
    entries = values.tolist()
    names = list(dict.fromkeys(entries))
    with suppress(TypeError):
        names = sorted(names)
    place = {name: i for i, name in enumerate(names)}
    return names, np.array([place[entry] for entry in entries], dtype=int)
