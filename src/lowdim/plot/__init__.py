"""Plots of fitted models, with matplotlib: `lowdim.plot.scree(model)`, or `model.plot.scree()`.

Every plot takes `ax=` and returns the axes it drew on. Colours, fonts and sizes are those of the style in use.
"""

from ..models.output import Offer, Offers
from .components import convergence, cumulative, densities, loading_bars, loadings, scree, sources
from .maps import biplot, contours, correlation_circle, outliers, scores
from .pairs import coefficients, correlations, predictions, structure, validation, variates, vip
from .rows import missing, reconstructions

_FUNCTIONS = (
    scree,
    cumulative,
    scores,
    biplot,
    correlation_circle,
    loadings,
    loading_bars,
    reconstructions,
    outliers,
    variates,
    correlations,
    structure,
    validation,
    vip,
    coefficients,
    predictions,
    contours,
    densities,
    sources,
    missing,
    convergence,
)

#: All plots, by name.
PLOTS: dict[str, Offer] = {function.__name__: Offer(function, function.__dict__["fits"]) for function in _FUNCTIONS}


class ModelPlots(Offers):
    """The plots of one fitted model, as methods. Printing it lists them.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import PCA
    >>> wine = load_wine(as_frame=True)
    >>> pca = PCA(5, standardize=True).fit(wine.data)
    >>> type(pca.plot).__name__, "scree" in dir(pca.plot)
    ('ModelPlots', True)
    """

    what = "plot"
    offers = PLOTS


__all__ = ["PLOTS", "ModelPlots", *(function.__name__ for function in _FUNCTIONS)]
