"""How single rows and columns take part in the components: scores, contributions, cos2, correlations.

The rows may be those of the fit or supplementary ones. The fitted model is not changed. A model does not keep the
weights of its rows: after a fit with `sample_weight`, pass the same weights to functions that average over rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._xp import Array, compute_lazy, dense, namespace, to_numpy
from ..linalg import divisor, with_zeros
from ..models._writing import result_names, results
from ..sources import check_row_labels, open_source, open_target, row_labels
from ..tabular import Table, numbered
from .components import columns_by_components
from .limits import check_scores, has_scores, readable_again, row_weights, rows_and_weights, variable_components
from .names import column_names, names_expected

#: The number of rows of a block in which columns are read.
_BLOCK_ROWS = 1 << 16


def scores(model: Any, X: Any, y: Any = None) -> Table:
    """Scores of rows: their coordinates on the components, with a row for each row of `X`.

    They are what `transform` returns, but for PCA(whiten=True), whose scores have the variances of the components. If
    `y` is given, to a model of two tables, or if `X` is a list of tables, the scores of all tables stand side by side,
    in columns whose names begin with the table: "X_pair1", "y_pair1".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris(as_frame=True).data
    >>> print(inspect.scores(PCA(2).fit(X), X[:3]))
    Scores
           PC1      PC2
    0  -2.6841   0.3194
    1  -2.7141  -0.1770
    2  -2.8890  -0.1449
    """
    check_is_fitted(model)
    if y is None and has_scores(model):
        return rows_by_components(model, model.scores(X), "Scores", row_labels(X))
    maps = model._transform_maps(X) if y is None else model._transform_maps(X, y)
    found = results(maps)
    parts = [to_numpy(compute_lazy(part)) for part in (found if len(maps) > 1 else [found])]
    labels = row_labels(X[0] if len(maps) > 1 and isinstance(X, list | tuple) else X)
    values = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return Table.from_matrix(values, result_names(maps), labels, title="Scores")


def contributions(model: Any, X: Any = None, *, sample_weight: Any = None) -> Table:
    """Contributions of columns or rows to the variance of each component.

    Without `X`, the contributions of the columns: w_kj^2, shape (p, K), which add up to 1 over the columns. With `X`,
    those of its rows: z_ik^2 / (lambda_k (n - ddof)), shape (n, K), which add up to 1 over the rows of the fit. With
    `sample_weight`, the contribution of a row is that of all its copies, and n is the sum of the weights of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> print(inspect.contributions(PCA(2).fit(load_iris(as_frame=True).data)))
    Contributions of the columns
    column                PC1     PC2
    sepal length (cm)  0.1306  0.4311
    sepal width (cm)   0.0071  0.5331
    petal length (cm)  0.7339  0.0301
    petal width (cm)   0.1284  0.0057
    """
    check_orthonormal(model, "contributions")
    if X is None:
        if sample_weight is not None:
            raise ValueError("sample_weight belongs to the rows X; columns have no weights.")
        return columns_by_components(model, model.components_.T**2, "Contributions of the columns")
    labels = row_labels(X)
    X, sample_weight = rows_and_weights(model, X, sample_weight)
    Z = model.scores(X)
    weights = row_weights(sample_weight, Z)
    Z = Z[:, : variable_components(model)]
    squares = model.explained_variance_[: Z.shape[1]] * divisor(model.total_weight_, model.ddof)
    shares = Z * Z / squares[None, :]
    if weights is not None:
        shares = shares * weights[:, None]
    shares = with_zeros(shares, model.n_components_ - Z.shape[1])
    return rows_by_components(model, shares, "Contributions of the rows", labels)


def cos2(model: Any, X: Any) -> Table:
    """The part of the squared distance of a row from the mean that lies along each component, shape (n, K).

    It is z_ik^2 / |x_i - mean|^2, and zero for a row at the mean.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X = load_iris().data
    >>> print(inspect.cos2(PCA(2).fit(X), X[:3]))
    cos2 of the rows
          PC1     PC2
    0  0.9859  0.0140
    1  0.9885  0.0042
    2  0.9974  0.0025
    """
    return rows_by_components(model, squared_cosines(model, X), "cos2 of the rows", row_labels(X))


def squared_cosines(model: Any, X: Any) -> Array:
    """`cos2` as an array."""
    check_orthonormal(model, "cos2")
    X = readable_again(X)
    Z = model.scores(X)
    xp = namespace(Z)
    squares = Z * Z
    whole = xp.sum(squares, axis=1) + model.reconstruction_error(X, scaled=True)
    return squares / xp.where(whole > 0, whole, xp.ones_like(whole))[:, None]


def correlations(model: Any, X: Any, Y: Any = None, *, sample_weight: Any = None) -> Table:
    """Correlations of columns with components, shape (columns, K).

    The columns are those of `X`, or supplementary columns `Y` with one row for each row of `X`. The correlation of a
    constant column is zero. For the rows and the `sample_weight` of the fit, the squared correlations are the cos2 of
    the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> X, species = load_iris(return_X_y=True)
    >>> print(inspect.correlations(PCA(2).fit(X), X, species))
    Correlations of columns with components
           PC1      PC2
    y1  0.9465  -0.1133
    """
    check_scores(model, "correlations")
    check_row_labels(X, Y=Y)
    X, sample_weight = rows_and_weights(model, X, sample_weight)
    X = readable_again(X)
    Z = to_numpy(model.scores(X)).astype(float)
    source = open_target(Y) if Y is not None else open_source(X, names_expected(model))
    columns = np.concatenate([to_numpy(dense(block)).astype(float) for block in source.blocks(_BLOCK_ROWS)])
    if len(columns) != len(Z):
        raise ValueError(
            f"Y has {len(columns)} rows, X has {len(Z)}; supplementary columns need one entry per row of X."
        )
    weights = row_weights(sample_weight, Z)
    if weights is not None:
        # Rows without weight may be far from the others.
        columns, Z, weights = columns[weights > 0], Z[weights > 0], weights[weights > 0]
    values = _unit_columns(columns, weights).T @ _unit_columns(Z, weights)
    labels = column_names(model) if Y is None else (source.names or numbered("y", len(values)))
    title = "Correlations of columns with components"
    return Table.from_matrix(values, model.component_names_, labels, title=title, row_name="column")


def rows_by_components(model: Any, values: Any, title: str, labels: Any) -> Table:
    """The table of a matrix with a row for each row of a table and a column for each component."""
    return Table.from_matrix(to_numpy(compute_lazy(values)), model.component_names_, labels, title=title)


def _unit_columns(A: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The columns of `A`, centred, times the roots of the weights, and of unit length. The first entry is subtracted
    first, in case of large offsets."""
    A = A - A[:1]
    A = A - np.average(A, axis=0, weights=weights)
    if weights is not None:
        A = A * np.sqrt(weights)[:, None]
    norms = np.sqrt((A * A).sum(axis=0))
    return A / np.where(norms > 0, norms, 1.0)


def check_orthonormal(model: Any, what: str) -> None:
    """Refuse models without orthonormal components, which are needed to split squared distances."""
    check_scores(model, what)
    if not hasattr(model, "components_"):
        raise TypeError(
            f"{what} needs orthonormal components, as PCA and PCR have; {type(model).__name__} has none. See "
            "x_weights_ and vip_."
        )
