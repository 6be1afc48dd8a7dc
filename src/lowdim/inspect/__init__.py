"""Tables and diagnostics of fitted models. Most of them are also methods of `model.tables`."""

from .components import importance, loadings, structure
from .diagnostics import Diagnostics, diagnose, hotelling_t2, q_residuals
from .factor_fit import FitReport, determinacy, fit_report
from .factors import communalities, factor_correlations, pattern
from .limits import q_limit, t2_limit
from .model_tables import ModelTables
from .names import column_names
from .pairs import canonical_tests, coefficients, pair_correlations, vip
from .rows import contributions, correlations, cos2, scores

__all__ = [
    "Diagnostics",
    "FitReport",
    "ModelTables",
    "canonical_tests",
    "coefficients",
    "column_names",
    "communalities",
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
    "q_limit",
    "q_residuals",
    "scores",
    "structure",
    "t2_limit",
    "vip",
]
