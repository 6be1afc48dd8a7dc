"""The estimators."""

from .auto_encoder import AutoEncoder
from .cca import CCA
from .factor_analysis import FactorAnalysis
from .feature_map_pca import FeatureMapPCA
from .gcca import GCCA
from .ica import ICA
from .kernel_cca import KernelCCA
from .kernel_pca import KernelPCA
from .pca import PCA
from .pcr import PCR
from .pls import PLSSVD, PLSCanonical, PLSRegression
from .ppca import PPCA
from .whitening import Whitening

__all__ = [
    "CCA",
    "GCCA",
    "ICA",
    "PCA",
    "PCR",
    "PLSSVD",
    "PPCA",
    "AutoEncoder",
    "FactorAnalysis",
    "FeatureMapPCA",
    "KernelCCA",
    "KernelPCA",
    "PLSCanonical",
    "PLSRegression",
    "Whitening",
]
