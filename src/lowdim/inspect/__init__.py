"""Diagnostics of fitted models."""

from .diagnostics import Diagnostics, contributions, correlations, cos2, diagnose, hotelling_t2, q_residuals
from .factor_fit import FitReport, determinacy, fit_report
from .limits import q_limit, t2_limit

__all__ = [
    "Diagnostics",
    "FitReport",
    "contributions",
    "correlations",
    "cos2",
    "determinacy",
    "diagnose",
    "fit_report",
    "hotelling_t2",
    "q_limit",
    "q_residuals",
    "t2_limit",
]
