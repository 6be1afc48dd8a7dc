"""Exceptions and warnings, and how a warning is given."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# ConvergenceWarning inherits from scikit-learn's, so that filters written for scikit-learn also apply to it.
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning


class LowdimWarning(UserWarning):
    """Base class of all warnings of this library.

    Examples
    --------
    >>> import warnings
    >>> from lowdim import Whitening
    >>> from lowdim.errors import LowdimWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", LowdimWarning)  # here, that one direction has no variance
    ...     white = Whitening().fit([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    >>> white.n_components_
    1
    """


class RankWarning(LowdimWarning):
    """Directions of zero variance were dropped, because the method divides by the variance."""


class IndefiniteWarning(RankWarning):
    """The kernel matrix has negative eigenvalues, which were left out."""


class ResolutionWarning(LowdimWarning):
    """Some eigenvalues are so much smaller than the largest that this solver cannot distinguish them from rounding."""


class ConvergenceWarning(LowdimWarning, SklearnConvergenceWarning):
    """An iteration stopped before it reached its tolerance."""


class SmallSampleWarning(LowdimWarning):
    """There are too few rows for the result to be reliable."""


class HeywoodWarning(LowdimWarning):
    """A factor analysis explains all of the variance of a column, whose uniqueness is at its lower bound."""


class HoldsRowsWarning(LowdimWarning):
    """A file that was saved holds rows of the fit, or numbers for each of them."""


class FormulaWarning(LowdimWarning):
    """A CSV file holds text that spreadsheets run as a formula."""


class SlowWarning(LowdimWarning):
    """What was asked for takes hours; the message names something that is faster."""


class NoComponentWarning(LowdimWarning):
    """The rule that chooses the number of components chose zero."""


class GaussianWarning(LowdimWarning):
    """Several sources look Gaussian, and Gaussian sources cannot be separated from each other."""


class DensityWarning(LowdimWarning):
    """Sources whose tails do not suit their density: heavier than a Gaussian's where the density has lighter tails, or
    the other way around."""


class NonFiniteBlock(ValueError):
    """NaN, infinity or overflow in a block; `summarize` turns it into an error that names the row and the column."""

    def __init__(self) -> None:
        super().__init__(
            "sums over the rows are not finite: the rows hold NaN or infinity, or values too large for their squares "
            "(or higher powers) to be represented. Drop those rows, or rescale the columns (divide them by a constant)."
        )


class NoVariance(ValueError):
    """All rows are the same, but the model needs some variance."""


class NoMaximum(ValueError):
    """The likelihood has no maximum."""


class MissingValues(ValueError):
    """The rows contain NaN, but complete rows are needed.

    The functions that read rows (`summarize`, `map_rows`, `Rows.whole`) raise it. Models that can also be fitted to
    incomplete rows catch it and switch to a solver that handles missing values.
    """

    #: Where the first missing value is, as a sentence.
    where: str = "There are missing values."


class NeedsRowsInMemory(ValueError):
    """The rows cannot be read as often as is needed, or not all at once or by columns, unless all are in memory.

    Solvers refuse a stream with it before they read a row. Models and the functions of `selection` catch it, gather the
    rows in memory if they fit, and try again.
    """


#: Categories of warnings that `warn_user` leaves out in the current context.
_unwanted: ContextVar[tuple[type[Warning], ...]] = ContextVar("lowdim_unwanted_warnings", default=())


@contextmanager
def without_warnings(*categories: type[Warning]) -> Iterator[None]:
    """Context in which lowdim does not give warnings of these categories.

    Python's `warnings.catch_warnings` changes the filters of the whole process, for all threads, and two threads that
    use it at the same time may leave the filters changed. So a warning that is not wanted is not given in the first
    place. Tasks in other threads run in a copy of the context and are silent too.
    """
    token = _unwanted.set((*_unwanted.get(), *categories))
    try:
        yield
    finally:
        _unwanted.reset(token)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, and attribute the warning to the nearest calling line outside lowdim and scikit-learn."""
    if issubclass(category, _unwanted.get()):
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("lowdim", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
