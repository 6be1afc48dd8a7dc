"""A plot: the means of the columns as bars."""

from lowdim.inspect import column_names
from lowdim.plot.axes import color, column_ticks, has, make_axes, numbers_of, offer, shows


@shows("means of columns", has("mean_", "components_"))
def means(model, *, ax=None):
    """The means of the columns."""
    ax = make_axes(ax)
    values = numbers_of(model.mean_)
    ax.bar(range(len(values)), values, color=color(0))
    column_ticks(ax.xaxis, column_names(model))
    return ax


ROW = offer(means)
