"""`model.tables`: the tables of a fitted model as methods."""

from __future__ import annotations

from typing import Any

from ..models._accessors import Offer, Offers
from .components import has_loadings, has_structure, importance, loadings, structure
from .diagnostics import diagnose
from .factor_fit import determinacy, fit_report
from .factors import communalities, factor_correlations, is_factor_analysis, pattern
from .limits import has_scores
from .pairs import (
    canonical_tests,
    coefficients,
    has_canonical_tests,
    has_coefficients,
    has_pair_correlations,
    has_vip,
    pair_correlations,
    vip,
)
from .rows import contributions, correlations, cos2, scores


def _always(model: Any) -> bool:
    return True


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
    offers = {
        "importance": Offer(importance, _always),
        "loadings": Offer(loadings, has_loadings),
        "pattern": Offer(pattern, is_factor_analysis),
        "structure": Offer(structure, has_structure),
        "communalities": Offer(communalities, is_factor_analysis),
        "factor_correlations": Offer(factor_correlations, is_factor_analysis),
        "fit_report": Offer(fit_report, is_factor_analysis),
        "determinacy": Offer(determinacy, is_factor_analysis),
        "coefficients": Offer(coefficients, has_coefficients),
        "vip": Offer(vip, has_vip),
        "canonical_tests": Offer(canonical_tests, has_canonical_tests),
        "pair_correlations": Offer(pair_correlations, has_pair_correlations),
        "scores": Offer(scores, _always),
        "contributions": Offer(contributions, _is_orthonormal),
        "cos2": Offer(cos2, _is_orthonormal),
        "correlations": Offer(correlations, has_scores),
        "diagnose": Offer(diagnose, has_scores),
    }
