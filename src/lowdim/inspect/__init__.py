"""Tables and diagnostics of fitted models. Most of them are also methods of `model.tables`."""

from __future__ import annotations

from ..models.output import Offer, Offers
from . import tables as fits
from .description import describe, describe_groups, has_tests
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
from .geometry import (
    contributions,
    coordinates,
    cos2,
    eta2,
    has_levels,
    has_orthonormal,
    has_points,
    is_mixed,
    v_tests,
)
from .mfa import GroupTables, groups, has_groups, partial_axes, partial_coordinates
from .supplementary_columns import SupplementaryColumns, supplementary
from .tables import (
    canonical_tests,
    coefficients,
    column_names,
    communalities,
    congruence,
    correlations,
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
    "GroupTables",
    "ModelTables",
    "SupplementaryColumns",
    "canonical_tests",
    "coefficients",
    "column_names",
    "communalities",
    "congruence",
    "contributions",
    "coordinates",
    "correlations",
    "cos2",
    "describe",
    "describe_groups",
    "determinacy",
    "diagnose",
    "eta2",
    "factor_correlations",
    "fit_report",
    "groups",
    "hotelling_t2",
    "importance",
    "loadings",
    "pair_correlations",
    "partial_axes",
    "partial_coordinates",
    "pattern",
    "q_contributions",
    "q_limit",
    "q_residuals",
    "scores",
    "structure",
    "supplementary",
    "t2_contributions",
    "t2_limit",
    "v_tests",
    "vip",
]


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
    coordinates = Offer(coordinates, has_points)
    contributions = Offer(contributions, has_orthonormal)
    cos2 = Offer(cos2, has_orthonormal)
    eta2 = Offer(eta2, is_mixed)
    v_tests = Offer(v_tests, has_levels)
    describe = Offer(describe, has_tests)
    supplementary = Offer(supplementary, has_scores)
    groups = Offer(groups, has_groups)
    partial_coordinates = Offer(partial_coordinates, has_groups)
    partial_axes = Offer(partial_axes, has_groups)
    correlations = Offer(correlations, fits.has_subspace)
    diagnose = Offer(diagnose, fits.has_distances)
    t2_contributions = Offer(t2_contributions, fits.has_subspace)
    q_contributions = Offer(q_contributions, fits.has_subspace)
