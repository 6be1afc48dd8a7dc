"""Plots of fitted models, with matplotlib: `lowdim.plot.scree(model)`, or `model.plot.scree()`.

Every plot takes `ax=` and returns the axes it drew on. Colours, fonts and sizes are those of the style in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate

from ..models.output import Offer, Offers, P, R
from .categories import groups, levels, partial_points, symmetric_map
from .components import contributions, convergence, cumulative, densities, loading_bars, loadings, scree, sources
from .maps import biplot, contours, correlation_circle, outliers, principal_axes, scores
from .pairs import coefficients, correlations, predictions, structure, validation, variates, vip
from .rows import missing, reconstructions

__all__ = [
    "PLOTS",
    "ModelPlots",
    "biplot",
    "coefficients",
    "contours",
    "contributions",
    "convergence",
    "correlation_circle",
    "correlations",
    "cumulative",
    "densities",
    "groups",
    "levels",
    "loading_bars",
    "loadings",
    "missing",
    "outliers",
    "partial_points",
    "predictions",
    "principal_axes",
    "reconstructions",
    "scores",
    "scree",
    "sources",
    "structure",
    "symmetric_map",
    "validation",
    "variates",
    "vip",
]


def _of(plot: Callable[Concatenate[Any, P], R]) -> Offer[P, R]:
    """A plot as a method of the models that it is meant for."""
    return Offer(plot, plot.__dict__["fits"])


class ModelPlots(Offers):
    """The plots of one fitted model, as methods. Printing it lists them.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, scale=True).fit(wine.data)
    >>> type(pca.plot).__name__, "scree" in dir(pca.plot)
    ('ModelPlots', True)
    """

    what = "plot"
    scree = _of(scree)
    cumulative = _of(cumulative)
    scores = _of(scores)
    biplot = _of(biplot)
    correlation_circle = _of(correlation_circle)
    loadings = _of(loadings)
    loading_bars = _of(loading_bars)
    contributions = _of(contributions)
    levels = _of(levels)
    symmetric_map = _of(symmetric_map)
    groups = _of(groups)
    partial_points = _of(partial_points)
    reconstructions = _of(reconstructions)
    outliers = _of(outliers)
    variates = _of(variates)
    correlations = _of(correlations)
    structure = _of(structure)
    validation = _of(validation)
    vip = _of(vip)
    coefficients = _of(coefficients)
    predictions = _of(predictions)
    contours = _of(contours)
    principal_axes = _of(principal_axes)
    densities = _of(densities)
    sources = _of(sources)
    missing = _of(missing)
    convergence = _of(convergence)


#: All plots, by name.
PLOTS = ModelPlots.offers
