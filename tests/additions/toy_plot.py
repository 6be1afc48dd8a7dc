"""A plot: the means of the columns as bars."""

from lowdim.plot._axes import color, make_axes
from lowdim.plot._model import column_names, numbers_of
from lowdim.plot._offered import has, offer, shows
from lowdim.plot._text import column_ticks


@shows("means of columns", has("mean_", "components_"))
def means(model, *, ax=None):
    """The means of the columns."""
    ax = make_axes(ax)
    values = numbers_of(model.mean_)
    ax.bar(range(len(values)), values, color=color(0))
    column_ticks(ax.xaxis, column_names(model))
    return ax


ROW = offer(means)
