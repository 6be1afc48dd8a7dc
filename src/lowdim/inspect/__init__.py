"""Tables and diagnostics of fitted models. Most of them are also methods of `model.tables`."""

from __future__ import annotations

from typing import Any

from ..models.output import Offer, Offers
from . import tables as fits
from .diagnostics import (
    Diagnostics,
    diagnose,
    hotelling_t2,
    q_contributions,
    q_limit,
    q_residuals,
    t2_contributions,
    t2_limit,
)
from .factor_fit import FitReport, determinacy, fit_report
from .tables import (
    canonical_tests,
    coefficients,
    column_names,
    communalities,
    congruence,
    contributions,
    correlations,
    cos2,
    factor_correlations,
    has_scores,
    importance,
    loadings,
    pair_correlations,
    pattern,
    scores,
    structure,
    vip,
)

__all__ = [
    "Diagnostics",
    "FitReport",
    "ModelTables",
    "canonical_tests",
    "coefficients",
    "column_names",
    "communalities",
    "congruence",
    "contributions",
    "correlations",
    "cos2",
    "determinacy",
    "diagnose",
    "factor_correlations",
    "fit_report",
    "hotelling_t2",
    "importance",
    "loadings",
    "pair_correlations",
    "pattern",
    "q_contributions",
    "q_limit",
    "q_residuals",
    "scores",
    "structure",
    "t2_contributions",
    "t2_limit",
    "vip",
]


def _is_orthonormal(model: Any) -> bool:
    """Whether squared distances are split by orthonormal components."""
    return has_scores(model) and hasattr(model, "components_")


class ModelTables(Offers):
    """The tables of a fitted model as methods: `model.tables.loadings()` is `inspect.loadings(model)`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PCA
    >>> pca = PCA(2).fit(load_iris().data)
    >>> pca.tables.contributions().shape
    (4, 2)
    >>> type(pca.tables).__name__
    'ModelTables'
    """

    what = "table"
    importance = Offer(importance, lambda model: True)
    loadings = Offer(loadings, fits.has_loadings)
    congruence = Offer(congruence, fits.has_loadings)
    pattern = Offer(pattern, fits.is_factor_analysis)
    structure = Offer(structure, fits.has_structure)
    communalities = Offer(communalities, fits.is_factor_analysis)
    factor_correlations = Offer(factor_correlations, fits.is_factor_analysis)
    fit_report = Offer(fit_report, fits.is_factor_analysis)
    determinacy = Offer(determinacy, fits.is_factor_analysis)
    coefficients = Offer(coefficients, fits.has_coefficients)
    vip = Offer(vip, fits.has_vip)
    canonical_tests = Offer(canonical_tests, fits.has_canonical_tests)
    pair_correlations = Offer(pair_correlations, fits.has_pair_correlations)
    scores = Offer(scores, lambda model: True)
    contributions = Offer(contributions, _is_orthonormal)
    cos2 = Offer(cos2, _is_orthonormal)
    correlations = Offer(correlations, has_scores)
    diagnose = Offer(diagnose, fits.has_distances)
    t2_contributions = Offer(t2_contributions, has_scores)
    q_contributions = Offer(q_contributions, has_scores)
