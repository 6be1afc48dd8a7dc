"""Summaries: what is remembered of rows."""

from .columns import Columns
from .fourth import FourthMoments
from .gram import Gram, GramRoot
from .moments import Moments
from .sketch import Sketch
from .triangle import Triangle

#: All summaries, by name.
SUMMARIES = {cls.__name__: cls for cls in (Moments, FourthMoments, Triangle, Columns, Gram, GramRoot, Sketch)}

__all__ = ["SUMMARIES", "Columns", "FourthMoments", "Gram", "GramRoot", "Moments", "Sketch", "Triangle"]
