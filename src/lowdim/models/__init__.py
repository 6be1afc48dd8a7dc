"""Estimators: thin layers of check, open, plan, solve, unpack."""

from .factor_analysis import FactorAnalysis
from .pca import PCA
from .ppca import PPCA
from .whitening import Whitening

__all__ = ["PCA", "PPCA", "FactorAnalysis", "Whitening"]
