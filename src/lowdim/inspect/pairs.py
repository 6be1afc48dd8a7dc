"""Tables of models of two or more tables: coefficients, importance of columns, canonical correlations."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._xp import to_numpy
from ..models._tables_parameters import check_scale
from ..tabular import Table
from .components import require
from .names import column_names, has_attribute


def coefficients(model: Any, *, standardized: bool = False) -> Table:
    """Regression coefficients, with a row for each column of X and a column for each response.

    Parameters
    ----------
    model : fitted PCR, PLSRegression, PLSCanonical or CCA
    standardized : bool
        Whether the coefficients are those of columns and responses divided by their standard deviations, which the
        model has to know: it must have been fitted with `scale=True`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, inspect
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> print(inspect.coefficients(PLSRegression(2).fit(X[["age", "bmi", "bp"]], y)))
    Coefficients in the units of the columns
         target
    age  0.0478
    bmi  8.3778
    bp   1.4263
    """
    check_is_fitted(model)
    require(model, "coefficients", has_coefficients)
    coef = to_numpy(model.coef_).astype(np.float64)
    if standardized:
        if not all(check_scale(model.scale, 2)):
            raise ValueError(
                f"standardized coefficients need the standard deviations of all columns, and with scale={model.scale} "
                "the model does not keep them; fit it with scale=True."
            )
        x_scale, y_scale = (to_numpy(scale).astype(np.float64) for scale in (model.x_scale_, model.y_scale_))
        coef = coef * x_scale / y_scale[:, None]
    responses = column_names(model, 1)
    units = "standardized columns" if standardized else "the units of the columns"
    return Table.from_matrix(
        coef.T, responses, column_names(model), title=f"Coefficients in {units}", row_name="column"
    )


def has_coefficients(model: Any) -> bool:
    """Whether `coefficients` is for this model."""
    return has_attribute(model, "coef_")


def vip(model: Any) -> Table:
    """Variable importance in projection of the columns of X; the average of their squares is one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, inspect
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> print(inspect.vip(PLSRegression(2).fit(X[["age", "bmi", "bp"]], y)))
    Variable importance in projection
            VIP
    age  0.5204
    bmi  1.3212
    bp   0.9918
    """
    check_is_fitted(model)
    require(model, "vip", has_vip)
    title = "Variable importance in projection"
    return Table({"VIP": to_numpy(model.vip_).astype(np.float64)}, column_names(model), title=title, row_name="column")


def has_vip(model: Any) -> bool:
    """Whether `vip` is for this model."""
    return has_attribute(model, "vip_")


def canonical_tests(model: Any) -> Table:
    """Tests of CCA of how many correlations are significant; row k tests that the k-th and all later ones are zero.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from lowdim import CCA, inspect
    >>> X, y = load_linnerud(return_X_y=True)
    >>> inspect.canonical_tests(CCA(1).fit(X, y))["p(F)"].round(3)
    array([0.064, 0.949, 0.775])
    """
    check_is_fitted(model)
    require(model, "canonical_tests", has_canonical_tests)
    found: Table = model.significance().table()
    return found


def has_canonical_tests(model: Any) -> bool:
    """Whether `canonical_tests` is for this model."""
    return hasattr(type(model), "significance")


def pair_correlations(model: Any) -> Table:
    """Correlations of GCCA between the variates of each two tables, with a row for each component.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import GCCA, inspect
    >>> X = load_wine().data
    >>> print(inspect.pair_correlations(GCCA(1).fit([X[:, :4], X[:, 4:8], X[:, 8:]])))
    Correlations between the variates of two tables
           tables 0, 1  tables 0, 2  tables 1, 2
    comp1       0.6053       0.7156       0.8265
    """
    check_is_fitted(model)
    require(model, "pair_correlations", has_pair_correlations)
    values = to_numpy(model.pair_correlations_)
    pairs = combinations(range(values.shape[1]), 2)
    columns = {f"tables {i}, {j}": values[:, i, j] for i, j in pairs}
    title = "Correlations between the variates of two tables"
    return Table(columns, model.component_names_, title=title, row_name="component")


def has_pair_correlations(model: Any) -> bool:
    """Whether `pair_correlations` is for this model."""
    return has_attribute(model, "pair_correlations_")
