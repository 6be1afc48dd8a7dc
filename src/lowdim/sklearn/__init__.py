"""scikit-learn's classes, with its exact signatures, defaults, shapes and attribute names, computed by lowdim.

Replace `from sklearn.decomposition import PCA` by `from lowdim.sklearn import PCA`. Each class is a thin layer over the
model of `lowdim` that does the work, and has its further methods too. Its docstring says for every argument whether it
is used, or accepted without effect, and why.
"""

from .factor_analysis import FactorAnalysis
from .fast_ica import FastICA, fastica
from .kernel_pca import KernelPCA
from .pairs import CCA, PLSSVD, PLSCanonical, PLSRegression
from .pca import PCA, IncrementalPCA

__all__ = [
    "CCA",
    "PCA",
    "PLSSVD",
    "FactorAnalysis",
    "FastICA",
    "IncrementalPCA",
    "KernelPCA",
    "PLSCanonical",
    "PLSRegression",
    "fastica",
]
