"""Diagnostics of fitted models."""

from .diagnostics import Diagnostics, contributions, correlations, cos2, diagnose, hotelling_t2, q_residuals
from .limits import q_limit, t2_limit

__all__ = [
    "Diagnostics",
    "contributions",
    "correlations",
    "cos2",
    "diagnose",
    "hotelling_t2",
    "q_limit",
    "q_residuals",
    "t2_limit",
]
