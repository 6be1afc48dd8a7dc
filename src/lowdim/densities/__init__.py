"""Densities of independent sources: small parameter objects with -ln p(u), its derivative and the derivative of that.

A density is symmetric about zero, smooth, and of no particular scale: the scale of a source is part of the unmixing
matrix. `DENSITIES` names them.
"""

from .base import Density, Flipped
from .custom import Own
from .named import DENSITIES, GeneralizedGaussian, Infomax, Sech, Student, parsed, resolved

__all__ = [
    "DENSITIES",
    "Density",
    "Flipped",
    "GeneralizedGaussian",
    "Infomax",
    "Own",
    "Sech",
    "Student",
    "parsed",
    "resolved",
]
