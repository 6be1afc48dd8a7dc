"""Summaries: statistics that are accumulated over rows and can be merged."""

from .base import Summary
from .columns import Columns
from .completed import Completed
from .fourth import FourthMoments
from .gram import Gram, GramRoot
from .labelled import Labelled
from .latent import Latent, LatentGaussian
from .moments import Moments
from .observed import Observed
from .sample import Sample
from .scores import ScoreMoments
from .sketch import Sketch
from .standardized_grams import StandardizedGrams
from .triangle import Triangle

#: All summaries, by name.
SUMMARIES: dict[str, type[Summary]] = {
    cls.__name__: cls
    for cls in (
        Moments,
        FourthMoments,
        Triangle,
        Columns,
        Gram,
        GramRoot,
        StandardizedGrams,
        Sketch,
        Observed,
        Latent,
        Completed,
        Sample,
        ScoreMoments,
        Labelled,
    )
}

__all__ = [
    "SUMMARIES",
    "Columns",
    "Completed",
    "FourthMoments",
    "Gram",
    "GramRoot",
    "Labelled",
    "Latent",
    "LatentGaussian",
    "Moments",
    "Observed",
    "Sample",
    "ScoreMoments",
    "Sketch",
    "StandardizedGrams",
    "Summary",
    "Triangle",
]
