"""Densities of independent sources: small parameter objects with -ln p(u) and its first two derivatives.

A density is symmetric about zero and smooth. Its scale is arbitrary, since the scale of a source is part of the
unmixing matrix. `DENSITIES` lists the densities by name.
"""

from .base import Density, Flipped
from .custom import CustomDensity
from .named_densities import DENSITIES, GeneralizedGaussian, Infomax, Sech, Student, as_density, parse_density

__all__ = [
    "DENSITIES",
    "CustomDensity",
    "Density",
    "Flipped",
    "GeneralizedGaussian",
    "Infomax",
    "Sech",
    "Student",
    "as_density",
    "parse_density",
]
