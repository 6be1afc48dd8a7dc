"""Tables and diagnostics of fitted models. Most of them are also methods of `model.tables`."""

from .components import importance, loadings, structure
from .diagnostics import Diagnostics, diagnose, hotelling_t2, q_residuals
from .factors import communalities, factor_correlations, pattern
from .limits import q_limit, t2_limit
from .model_tables import ModelTables
from .names import column_names
from .pairs import canonical_tests, coefficients, pair_correlations, vip
from .rows import contributions, correlations, cos2, scores

__all__ = [
    "Diagnostics",
    "ModelTables",
    "canonical_tests",
    "coefficients",
    "column_names",
    "communalities",
    "contributions",
    "correlations",
    "cos2",
    "diagnose",
    "factor_correlations",
    "hotelling_t2",
    "importance",
    "loadings",
    "pair_correlations",
    "pattern",
    "q_limit",
    "q_residuals",
    "scores",
    "structure",
    "t2_limit",
    "vip",
]
