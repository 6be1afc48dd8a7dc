"""Summaries: what is remembered of rows."""

from .columns import Columns
from .fourth import FourthMoments
from .gram import Gram, GramRoot
from .latent import Latent, LatentGaussian
from .moments import Moments
from .observed import Observed
from .sketch import Sketch
from .triangle import Triangle

#: All summaries, by name.
SUMMARIES = {
    cls.__name__: cls for cls in (Moments, FourthMoments, Triangle, Columns, Gram, GramRoot, Sketch, Observed, Latent)
}

__all__ = [
    "SUMMARIES",
    "Columns",
    "FourthMoments",
    "Gram",
    "GramRoot",
    "Latent",
    "LatentGaussian",
    "Moments",
    "Observed",
    "Sketch",
    "Triangle",
]
