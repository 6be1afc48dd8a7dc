"""Tables of factor analysis."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._xp import to_numpy
from ..tabular import Table
from .components import columns_by_components, require
from .names import column_names, has_attribute


def pattern(model: Any) -> Table:
    """The pattern of a factor analysis: its loadings L, the coefficients of the factors, shape (p, K).

    If the factors are correlated (oblique rotations), the correlations of columns with factors are another table,
    `structure`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis, inspect
    >>> X = load_wine(as_frame=True).data.iloc[:, 5:9]
    >>> print(inspect.pattern(FactorAnalysis(1, standardize=True).fit(X)))
    Pattern: coefficients of the factors
    column                     F1
    total_phenols          0.8838
    flavanoids             0.9782
    nonflavanoid_phenols  -0.5443
    proanthocyanins        0.6708
    """
    _check(model, "pattern")
    return columns_by_components(model, model.loadings_, "Pattern: coefficients of the factors")


def communalities(model: Any) -> Table:
    """Of each column, what the factors explain and what is its own.

    The columns are the communality diag(L phi L^T), the uniqueness psi, the proportion of the variance that the
    factors explain, Hofmann's complexity (sum_k l_k^2)^2 / sum_k l_k^4, which is the number of factors that a column
    loads on, and whether it is a Heywood case, whose uniqueness is at its lower bound.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis, inspect
    >>> X = load_wine(as_frame=True).data.iloc[:, 5:9]
    >>> print(inspect.communalities(FactorAnalysis(1, standardize=True).fit(X)))
    Communalities and uniquenesses
    column                communality  uniqueness  proportion  complexity  Heywood
    total_phenols              0.7811      0.2189      0.7811      1.0000  no
    flavanoids                 0.9569      0.0431      0.9569      1.0000  no
    nonflavanoid_phenols       0.2962      0.7038      0.2962      1.0000  no
    proanthocyanins            0.4500      0.5500      0.4500      1.0000  no
    """
    _check(model, "communalities")
    common, own = (to_numpy(a).astype(np.float64) for a in (model.communalities_, model.uniquenesses_))
    squares = to_numpy(model.components_).astype(np.float64).T ** 2
    fourth = (squares**2).sum(axis=1)
    heywood = to_numpy(model.heywood_)
    columns = {
        "communality": common,
        "uniqueness": own,
        "proportion": common / (common + own),
        "complexity": np.where(fourth > 0, squares.sum(axis=1) ** 2 / np.where(fourth > 0, fourth, 1.0), 0.0),
        "Heywood": heywood,
    }
    names = column_names(model)
    found = [name for name, at_bound in zip(names, heywood, strict=True) if at_bound]
    notes = [f"Heywood cases, whose uniqueness is at its lower bound: {', '.join(found)}"] if found else []
    return Table(columns, names, title="Communalities and uniquenesses", notes=notes, row_name="column")


def factor_correlations(model: Any) -> Table:
    """Correlations of the factors, shape (K, K); the identity unless the rotation is oblique.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis, inspect
    >>> X = load_wine().data
    >>> print(inspect.factor_correlations(FactorAnalysis(2, rotation="promax").fit(X)))
    Correlations of the factors
            F1      F2
    F1  1.0000  0.1381
    F2  0.1381  1.0000
    """
    _check(model, "factor_correlations")
    names = model.component_names_
    return Table.from_matrix(model.phi_, names, names, title="Correlations of the factors", row_name="factor")


def is_factor_analysis(model: Any) -> bool:
    """Whether the tables of factor analysis are for this model."""
    return has_attribute(model, "phi_")


def _check(model: Any, what: str) -> None:
    check_is_fitted(model)
    require(model, what, is_factor_analysis)
