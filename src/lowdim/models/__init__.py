"""The estimators."""

from typing import TYPE_CHECKING

from .._core import imported_when_used
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

if TYPE_CHECKING:
    from .auto_encoder import AutoEncoder
    from .ca import CA
    from .famd import FAMD
    from .mca import MCA
    from .mfa import MFA

__getattr__ = imported_when_used(
    __name__, {"AutoEncoder": "auto_encoder", **{name: name.lower() for name in ("CA", "FAMD", "MCA", "MFA")}}
)

__all__ = [
    "CA",
    "CCA",
    "FAMD",
    "GCCA",
    "ICA",
    "MCA",
    "MFA",
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
