"""Tables of the components and of the columns that they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._xp import to_numpy
from ..linalg import column_lengths
from ..models._display import importance_table
from ..tabular import Table
from .names import column_names, has_attribute, of_table, table_number


def importance(model: Any) -> Table:
    """How much each component explains, as `print(model)` shows it, for all components.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> print(inspect.importance(PCA().fit(load_iris().data)))
    PCA of 150 rows, 4 columns (covariance)
         std. deviation  variance  proportion  cumulative
    PC1          2.0563    4.2282      0.9246      0.9246
    PC2          0.4926    0.2427      0.0531      0.9777
    PC3          0.2797    0.0782      0.0171      0.9948
    PC4          0.1544    0.0238      0.0052      1.0000
    """
    check_is_fitted(model)
    return importance_table(model)


def loadings(model: Any, table: str | int = 0) -> Table:
    """Loadings of the columns on the components, shape (p, K).

    Of PCA they are w_k sqrt(lambda_k), of PPCA and FactorAnalysis the matrix W or L of the model, of ICA the columns of
    `mixing_` times the standard deviations of their sources, and of models of several tables the `x_loadings_`,
    `y_loadings_` or `loadings_` of one of them.

    Parameters
    ----------
    model : fitted model with loadings
    table : "X", "y" or int
        For models of several tables: which one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA, inspect
    >>> print(inspect.loadings(PCA(2).fit(load_iris(as_frame=True).data)))
    Loadings
    column                 PC1      PC2
    sepal length (cm)   0.7431   0.3234
    sepal width (cm)   -0.1738   0.3597
    petal length (cm)   1.7615  -0.0854
    petal width (cm)    0.7367  -0.0372
    """
    check_is_fitted(model)
    require(model, "loadings", has_loadings)
    i = table_number(model, table)
    values = _of_unit_sources(model) if has_attribute(model, "mixing_") else of_table(model, "loadings_", i)
    return columns_by_components(model, values, "Loadings", i)


def _of_unit_sources(model: Any) -> np.ndarray:
    """The mixing matrix for sources of unit variance; `explained_variance_` are |a_k|^2 var(u_k)."""
    mixing, variances = (to_numpy(a).astype(np.float64) for a in (model.mixing_, model.explained_variance_))
    return mixing * np.sqrt(variances) / column_lengths(mixing)


def has_loadings(model: Any) -> bool:
    """Whether `loadings` is for this model."""
    return has_attribute(model, "loadings_", "x_loadings_", "mixing_")


def structure(model: Any, table: str | int = 0, *, cross: bool = False) -> Table:
    """Correlations of columns with factors or canonical variates, shape (p, K).

    Of FactorAnalysis they are the entries of L phi, divided by the standard deviations of the columns in the model. Of
    CCA and GCCA they are the correlations with the variates of the own table or, with `cross`, of the other table (CCA
    only).

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA, inspect
    >>> X, y = load_linnerud(return_X_y=True, as_frame=True)
    >>> print(inspect.structure(CCA(2).fit(X, y), "y"))
    Correlations of columns with variates of y
    column    pair1    pair2
    Weight  -0.6206  -0.7724
    Waist   -0.9254  -0.3777
    Pulse    0.3328   0.0415
    """
    check_is_fitted(model)
    require(model, "structure", has_structure)
    i = table_number(model, table)
    if cross and not has_attribute(model, "x_cross_structure_"):
        raise ValueError(f"cross=True is for the two tables of CCA, not for {type(model).__name__}.")
    if has_attribute(model, "phi_"):
        covariances = to_numpy(model.phi_) @ to_numpy(model.components_)
        values = (covariances / np.sqrt(to_numpy(model.communalities_ + model.uniquenesses_))).T
    else:
        values = of_table(model, "cross_structure_" if cross else "structure_", i)
    title = f"Correlations of columns with {'factors' if has_attribute(model, 'phi_') else 'variates'}"
    if cross:
        title = f"Correlations with the variates of {'yX'[i]}: columns"
    return columns_by_components(model, values, title, i)


def has_structure(model: Any) -> bool:
    """Whether `structure` is for this model."""
    return has_attribute(model, "phi_", "structure_", "x_structure_")


def columns_by_components(model: Any, values: Any, title: str, table: int = 0) -> Table:
    """The table of a matrix with a row for each column of a table and a column for each component."""
    count = len(model._widths())
    of = "" if count == 1 else f" of {'Xy'[table] if count == 2 else f'table {table}'}"
    names = column_names(model, table)
    return Table.from_matrix(values, model.component_names_, names, title=title + of, row_name="column")


def require(model: Any, what: str, fits: Any) -> None:
    """Refuse a model that a function is not meant for."""
    if not fits(model):
        raise TypeError(f"{type(model).__name__} has no {what}; model.tables lists the tables of a fitted model.")
