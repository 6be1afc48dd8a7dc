"""A plot: the means of the columns as bars."""

from lowdim.inspect import column_names
from lowdim.models.output import Offer
from lowdim.plot.axes import column_ticks, has, make_axes, numbers_of, shows


@shows("means of columns", has("mean_", "components_"))
def means(model, *, ax=None):
    """The means of the columns."""
    ax = make_axes(ax)
    values = numbers_of(model.mean_)
    ax.bar(range(len(values)), values, color="C0")
    column_ticks(ax.xaxis, column_names(model))
    return ax


ROW = Offer(means, means.fits)
