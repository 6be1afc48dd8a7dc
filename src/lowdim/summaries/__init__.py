"""Summaries: statistics that are accumulated over rows and can be merged."""

from .base import Summary
from .gram import Gram, GramRoot, StandardizedGrams
from .labelled import Labelled
from .latent import Completed, Latent, LatentGaussian, Observed
from .levels import Levels
from .moments import Columns, FourthMoments, Moments
from .patterns import Patterns
from .sample import Sample
from .scores import ScoreMoments
from .triangle import Sketch, Triangle

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
    "Levels",
    "Moments",
    "Observed",
    "Patterns",
    "Sample",
    "ScoreMoments",
    "Sketch",
    "StandardizedGrams",
    "Summary",
    "Triangle",
]


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
        Patterns,
        Sample,
        ScoreMoments,
        Labelled,
        Levels,
    )
}
