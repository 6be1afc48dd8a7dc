"""Estimators: thin layers of check, open, plan, solve, unpack."""

from .pca import PCA
from .whitening import Whitening

__all__ = ["PCA", "Whitening"]
