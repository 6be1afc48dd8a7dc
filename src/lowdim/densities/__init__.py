"""Densities of independent sources: small parameter objects with -ln p(u), its derivative and the derivative of that.

A density is symmetric about zero, smooth, and of no particular scale: the scale of a source is part of the unmixing
matrix. `DENSITIES` names them.
"""

from .base import Density, Flipped
from .custom import CustomDensity
from .named import DENSITIES, GeneralizedGaussian, Infomax, Sech, Student, as_density, parse_density

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
