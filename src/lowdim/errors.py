"""Exceptions, warnings, and the builders of messages that several places share."""

from __future__ import annotations

import errno
import inspect
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

__all__ = [
    "CategoryWarning",
    "ConvergenceWarning",
    "DensityWarning",
    "FormulaWarning",
    "GaussianWarning",
    "HeywoodWarning",
    "HoldsRowsWarning",
    "ImputedRangeWarning",
    "IndefiniteWarning",
    "LocalOptimaWarning",
    "LowdimWarning",
    "MissingValues",
    "NeedsRowsInMemory",
    "NoComponentWarning",
    "NoMaximum",
    "NoVariance",
    "NonFiniteBlock",
    "NumberFormatWarning",
    "RankWarning",
    "ResolutionWarning",
    "SlowWarning",
    "SmallSampleWarning",
    "UndeterminedCovariance",
]


# Exceptions and warnings, and how a warning is given.


# ConvergenceWarning inherits from scikit-learn's, so that filters written for scikit-learn also apply to it.


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


class ImputedRangeWarning(LowdimWarning):
    """Missing values were filled in with negative numbers in columns of which no observed entry is negative."""


class CategoryWarning(LowdimWarning):
    """Levels of categories that may not be what was meant: new ones, or several that look alike."""


class HoldsRowsWarning(LowdimWarning):
    """A file that was saved holds rows of the fit, or numbers for each of them."""


class NumberFormatWarning(LowdimWarning):
    """The numbers of a CSV file or a spreadsheet have decimal commas, separators of thousands, or signs; the message
    says how they were read."""


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


class LocalOptimaWarning(LowdimWarning):
    """Half or more of the starts of an iteration ended at optima worse than the best one, which was kept."""


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


# The builders of messages about rows, columns, parameters and results.
#
# A message says what is wrong, what was given, what is allowed, and what to do.


def column_label(j: int, names: Sequence[str] | None) -> str:
    """The name of a column in messages."""
    return f"column {j}" if names is None else f"column {names[j]!r} (number {j})"


def too_large(
    row: str, column: int, value: float, names: Sequence[str] | None, table: str = "X", powers: str = "squares"
) -> ValueError:
    """The error for finite entries whose squares (or other powers) overflow."""
    return ValueError(
        f"Input {table} holds values too large for their {powers} to be represented: {value:.3g} in "
        f"{column_label(column, names)}, {row}. Rescale the column (divide it by a constant) and fit again."
    )


def too_small(where: str, table: str = "X") -> ValueError:
    """The error for columns that vary so little that squares of their entries underflow; `where` says which."""
    return ValueError(
        f"Input {table} holds values too small for their squares to be represented: the variance of {where} is below "
        "the smallest floating-point number. Rescale them (multiply them by a constant) and fit again."
    )


def bad_ndim(ndim: int, shape: tuple[int, ...], array: str = "numpy.asarray(X)") -> ValueError:
    """The error for an array that does not have two axes; `array` is how the user writes it as one with `reshape`."""
    advice = (
        f"{array}.reshape(-1, 1) for a single feature, {array}.reshape(1, -1) for a single row"
        if ndim < 2
        else "X.reshape(len(X), -1) for one row per entry of the first axis"
    )
    return ValueError(
        f"Expected 2D array, got {'scalar' if ndim == 0 else f'{ndim}D'} array instead, of shape {shape}. Rows are "
        f"samples and columns are features. Reshape your data: {advice}."
    )


def empty(n: int, p: int, shape: tuple[int, ...]) -> ValueError:
    """The error for a table without rows or without columns."""
    what = ("sample", n) if n == 0 else ("feature", p)
    return ValueError(
        f"Found array with 0 {what[0]}(s) (shape={shape}) while a minimum of 1 is required. Check how X was selected."
    )


def complex_data(dtype: Any) -> ValueError:
    """The error for complex numbers where real ones are needed."""
    return ValueError(
        f"Complex data not supported: X has dtype {dtype}, real numbers are needed. Pass X.real and X.imag side by "
        "side if both parts are features."
    )


def not_numeric(column: int | None, dtype: Any, names: Sequence[str] | None, reason: str) -> str:
    """The message for text, dates or objects where numbers are needed; the caller raises TypeError or ValueError."""
    where = "X" if column is None else column_label(column, names)
    return (
        f"{where} has dtype {dtype}, which is not numeric ({reason}). Drop the column or encode it as numbers first, "
        f"for example with sklearn.preprocessing.OneHotEncoder. {CONVERT_TEXT} lowdim.FAMD takes categories."
    )


#: Advice for text that may stand for numbers.
CONVERT_TEXT = "Numbers that are stored as text have to be converted first, as with astype(float)."


#: Advice for responses that are text.
ENCODE_CLASSES = (
    "Encode classes as numbers first, for example as a column of 0 and 1 for each class "
    f"(sklearn.preprocessing.OneHotEncoder). {CONVERT_TEXT}"
)


def beyond_float(column: int | None, dtype: Any, names: Sequence[str] | None) -> ValueError:
    """The error for whole numbers that no float64 can hold, such as 10**400."""
    where = "X" if column is None else column_label(column, names)
    return ValueError(
        f"{where} has dtype {dtype} and holds a whole number too large for float64. Rescale the column (divide it by a "
        "constant), or drop it."
    )


def wrong_features(shape: tuple[int, ...], n_rows: int) -> ValueError:
    """The error for a feature map that does not return one row of features for each row."""
    return ValueError(f"the feature map gave shape {shape} for a block of {n_rows} rows; as many rows are needed.")


def unresolved(what: str, share: float, error: float, solver: str) -> str:
    """The message about what has lost most digits: its share of the largest eigenvalue, and its relative error."""
    digits = f"its relative error is about {error:.0e}" if error < 0.1 else "no digit of it is right"
    return (
        f"the {what} is {share:.1e} of the largest eigenvalue, and solver={solver!r} loses its digits: {digits}. "
        "Use solver='triangle', which squares nothing; where that is not enough, keep fewer components."
    )


def n_components_out_of_range(
    k: Any, upper: float, n: int | None, p: int | tuple[int, ...], fractions: bool = True, of_rows: bool = False
) -> ValueError:
    """The error for a number of components that is not between 1 and `upper`.

    `p` is the number of columns of one table, or a tuple of them for several tables. With `of_rows` the number of
    components is limited by the number of rows only.
    """
    if isinstance(p, tuple):
        widths = " and ".join(str(width) for width in p)
        allowed = "1" if upper == 1 else f"a whole number between 1 and {upper}"
        rows = "" if n is None else f"{n} rows and "
        return ValueError(
            f"n_components={k!r} must be {allowed}, or None for as many as there are, for {rows}tables of {widths} "
            f"columns{' (n_features=1)' if p[0] == 1 else ''}."
        )
    rows = "" if n is None else f" for X of shape ({n}, {p})"
    bound = "n_samples" if of_rows else "n_features" if n is None else "min(n_samples, n_features)"
    others = ", a fraction of variance strictly between 0 and 1, or None to keep all" if fractions else ", or None"
    return ValueError(f"n_components={k!r} must be a whole number between 1 and {upper} = {bound}{rows}{others}.")


def too_few_rows(n: int, weight: float, ddof: int, fixed: bool = False) -> ValueError:
    """The error for a covariance whose divisor weight - ddof is not positive; `fixed`: the user cannot choose ddof."""
    by = "" if fixed else f" with ddof={ddof}"
    start = f"n_samples={n} (total weight {weight:g}) is too few for a covariance{by}: more than {ddof} is needed."
    if n > 1 and 0 < weight < n:
        return ValueError(
            f"{start} Weights are frequencies, not shares: multiply them by the number of rows"
            f"{'' if fixed else ', or pass ddof=0'}."
        )
    other = ", or pass ddof=0" if ddof and n > 0 and weight > 0 and not fixed else ""
    return ValueError(f"{start} Give more rows{other}.")


def no_variance(purpose: str, table: str = "X") -> ValueError:
    """The error for rows that are all the same, where some variance is needed."""
    return NoVariance(
        f"all rows of {table} are the same: there is no variance, and {purpose} needs some. Check how {table} was made."
    )


def never_observed(columns: Sequence[int], names: Sequence[str] | None) -> ValueError:
    """The error for columns without a single observed entry."""
    listed = ", ".join(column_label(j, names) for j in columns[:5]) + (", ..." if len(columns) > 5 else "")
    return ValueError(f"no entry was observed in {listed}: nothing can be estimated for it. Drop it first.")


def one_row() -> ValueError:
    """The error for a single row, where a model with noise needs two."""
    return ValueError("n_samples=1: a model with noise needs at least 2 rows. Give more rows.")


#: Arguments that once had another name, and the names that one of them has now in each place.
FORMER_NAMES = {
    "standardize": ("scale",),
    "level": ("confidence_level", "alpha", "proportion"),
    "n_boot": ("n_resamples",),
    "n_permutations": ("n_resamples",),
    "n_draws": ("n_resamples",),
    "groups": ("hue", "widths"),
    "parameters": ("param_grid",),
    "sigma": ("gamma",),
    "length": ("length_scale",),
    "ids": ("labels",),
    "centre": ("center",),
    "k": ("n_components",),
    "shape": ("image_shape",),
    "response": ("y",),
    "other": ("Y",),
}
#: What a value becomes, where it is not the same under the present name.
_CONVERSIONS = {"sigma": ", which is 1 / (2 sigma^2) for a number"}


def refuse_former_names(what: str, given: dict[str, Any], taken: Any) -> None:
    """An error that says the present name, if `what` is given an argument by a name that it had before."""
    for former in given:
        now = [name for name in FORMER_NAMES.get(former, ()) if name in taken]
        if now and former not in taken:
            becomes = _CONVERSIONS.get(former, "")
            raise TypeError(f"{what} has no argument {former!r}: it is called {now[0]!r} now{becomes}.")


P = ParamSpec("P")
R = TypeVar("R")


def with_present_names(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which refuses arguments by names that they had before, and says the present ones."""
    taken = inspect.signature(function).parameters

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        refuse_former_names(function.__name__, options, taken)
        return function(*args, **options)

    return checked


def choice(name: str, got: Any, allowed: Sequence[str], advice: str = "") -> ValueError:
    """The error for a value of the parameter `name` that is not among those allowed."""
    listed = ", ".join(repr(a) for a in allowed)
    return ValueError(f"{name}={got!r} is not one of {listed}.{' ' + advice if advice else ''}")


def other_width(width: int, expected: int, difference: str = "") -> ValueError:
    """The error for a stream whose number of columns differs from that of the fit; `difference` is that of the names,
    if both have any."""
    select = f" ({difference}). Select the columns of the fit" if difference else ""
    return ValueError(f"the blocks have {width} columns, the model was fitted on {expected} features{select}.")


def other_length(n: int, expected: int | None) -> ValueError:
    """The error for a stream that gives another number of rows when it is read again."""
    return ValueError(
        f"the stream gave {n} rows, and {expected} rows when it was read before. A solver that reads the rows several "
        "times needs the same rows each time: return a fresh iterator over all blocks from the function."
    )


def other_names(
    index: int | None, names: Sequence[str] | None, expected: Sequence[str] | None, table: str = "the stream"
) -> ValueError:
    """The error for columns with other names, or in another order, than those of the fit."""
    where = table if index is None else f"block {index} of the stream"
    return ValueError(
        f"{where} has columns {list_names(names)}, expected {list_names(expected)}. The feature names should match "
        "those that were passed during fit, in the same order; select them: block[names]."
    )


def list_names(names: Sequence[str] | None, most: int = 6) -> str:
    """Names of columns in messages, the first `most` of them."""
    if names is None:
        return "without names"
    return ", ".join(repr(n) for n in names[:most]) + (", ..." if len(names) > most else "")


def inconsistent_lengths(tables: Sequence[str], lengths: Sequence[int | None]) -> ValueError:
    """The error for tables with different numbers of rows."""
    listed = ", ".join(f"{t} has {'more' if n is None else n}" for t, n in zip(tables, lengths, strict=True))
    return ValueError(
        f"Found input variables with inconsistent numbers of samples: {listed} rows. Row i of each table belongs to "
        "the same sample; select the same rows of each."
    )


def exhausted_stream(purpose: str) -> ValueError:
    """The error for an iterator that gave no block, or that was used up before."""
    return ValueError(
        f"the iterator of blocks gave no block: found array with 0 sample(s) {purpose}. A generator can be read once "
        "only; pass a new one, a list of blocks, or a function that returns a fresh iterator."
    )


def needs_second_reading(purpose: str) -> NeedsRowsInMemory:
    """The error for an iterator of blocks where rows have to be read again."""
    return NeedsRowsInMemory(
        f"the rows are read again {purpose}. A generator can be read once only; pass a list of blocks, or a function "
        "that returns a fresh iterator."
    )


def read_once(solver: str, instead: str = "use solver='covariance' or 'triangle'") -> NeedsRowsInMemory:
    """The error for a solver that needs several passes over a stream that allows only one."""
    return NeedsRowsInMemory(
        f"solver={solver!r} reads the rows several times, but the stream can be read once only. Pass a list of blocks "
        f"or a function that returns a fresh iterator, or {instead}."
    )


def needs_all_rows(what: str, table: str = "the stream", instead: str = "") -> NeedsRowsInMemory:
    """The error for rows that come in blocks where all of them are needed at once."""
    return NeedsRowsInMemory(
        f"{what} needs all rows of {table} at once: pass an array, a table or a matrix, not blocks of rows{instead}."
    )


def needs_columns(solver: str) -> NeedsRowsInMemory:
    """The error for a solver that reads columns of rows that come in blocks."""
    return NeedsRowsInMemory(f"solver={solver!r} reads columns, which a stream of blocks cannot give; use 'triangle'.")


def unknown_length(what: str, instead: str = "") -> NeedsRowsInMemory:
    """The error for rows of unknown number where it has to be known beforehand."""
    return NeedsRowsInMemory(
        f"{what} needs to know the number of rows; pass an array, a table or a list of blocks{instead}."
    )


def missing_after_reading(found: MissingValues) -> MissingValues:
    """The error for missing values that are found when the first blocks of a stream are gone."""
    return MissingValues(
        f"{found.where} Rows with missing values are read several times, and this stream can be read once only: its "
        "first block, which has none, is gone. Pass all rows (reader.read_all()), a list of blocks, or a function that "
        "returns a fresh iterator."
    )


def what_instead(estimator: Any, call: str) -> str:
    """Advice for those who pass a pipeline of scikit-learn to a function that takes a model only, or a model that
    itself says what to do instead."""
    if not hasattr(estimator, "steps"):
        return getattr(estimator, "_instead_of_resampling", "")
    rows = "pipeline[:-1].fit_transform(X)"
    return f" Pass the last step, and the rows that the others return: {call}(pipeline[-1], {rows})."


def bad_weights(reason: str, got: str) -> ValueError:
    """The error for sample weights that are not frequencies: one per row, not negative, not all zero."""
    return ValueError(
        f"sample_weight {reason}: got {got}. Weights are frequencies (weight 2 equals repeating the row): one "
        "non-negative finite number per row, at least one of them positive."
    )


def needs_memory(what: str, needed: int, have: int, advice: str) -> MemoryError:
    """The error for a computation that needs more memory than the machine has; raised before it starts."""
    return MemoryError(
        f"{what} would need {needed / 2**30:.1f} GiB, this machine has {have / 2**30:.1f} GiB in total. {advice}"
    )


def not_symmetric(worst: float, place: tuple[int, int], table: str = "X") -> ValueError:
    """The error for a precomputed kernel matrix that is not symmetric."""
    return ValueError(
        f"kernel='precomputed' needs symmetric matrices, but {table} and its transpose differ by up to {worst:.3g} "
        f"(entries {place} and {place[::-1]}). If that is rounding, pass ({table} + {table}.T) / 2."
    )


def kernel_not_finite(kernel: Any) -> ValueError:
    """The error for a kernel that is NaN or infinite for finite rows."""
    what = "the given kernel matrix contains" if kernel is None else f"the kernel {kernel} gives"
    return ValueError(f"{what} NaN or infinity; rescale the rows or change the parameters of the kernel.")


def no_positive_eigenvalue(what: str) -> ValueError:
    """The error for a kernel matrix without a positive eigenvalue, and so without a direction to project on."""
    return NoVariance(
        f"no eigenvalue of {what} is positive: all rows have the same features, or no variance above rounding, or the "
        "kernel is not an inner product (distances d are not one; exp(-gamma d^2) is). Check the rows, the kernel and "
        "its width."
    )


# The builders of messages about names of columns.


def names_difference(expected: Sequence[str | None], got: Sequence[str | None]) -> str:
    """How two lists of names differ: the names that are missing, those that are not expected, or the first place where
    the order differs. A column without a name (None) agrees with every other one."""
    pairs = [(j, a, b) for j, (a, b) in enumerate(zip(expected, got, strict=False)) if a is not None and b is not None]
    wanted = Counter([a for _, a, _ in pairs] + list(expected[len(got) :]))
    found = Counter([b for _, _, b in pairs] + list(got[len(expected) :]))
    parts = [
        f"{label}: {_listed(list(names.elements()))}"
        for label, names in (("missing", wanted - found), ("not expected", found - wanted))
        if names
    ]
    if parts:
        return "; ".join(parts)
    j, a, b = next(pair for pair in pairs if pair[1] != pair[2])
    return f"the same names in another order, where column {j} is {b!r} instead of {a!r}"


def _listed(names: Sequence[str | None], most: int = 6) -> str:
    listed = ", ".join("a column without a name" if name is None else repr(name) for name in names[:most])
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")


# The builders of messages about checkpoints.


def is_checkpoint(path: Any) -> ValueError:
    """The error for a checkpoint where a model, a summary or a result is expected."""
    return ValueError(
        f"{path} is the checkpoint of a pass over rows that was interrupted, and holds no result yet. Call summarize "
        "or fit with the same rows, and this path as checkpoint: the pass goes on where it was."
    )


def no_checkpoint_of(model: str, plan: Any) -> ValueError:
    """The error for a checkpoint of a fit that is more than one pass over the rows for one summary."""
    return ValueError(
        f"a checkpoint keeps the state of one pass over the rows for a summary, and this fit of {model} needs more "
        f"than that. Its plan is: {plan}. Fit without checkpoint, or with a solver that makes one summary "
        "('covariance' or 'triangle', where the model has them)."
    )


def no_checkpoint_with_missing(reason: Any) -> ValueError:
    """The error for missing values in the rows of a fit that has a checkpoint."""
    return ValueError(
        f"{reason} Rows with missing values are fitted in several passes, and a checkpoint keeps the state of one: fit "
        "without checkpoint, or fill the missing entries first."
    )


# Messages about rows that the workers of an engine hold.


def ragged_column(column: str, width: int | None) -> ValueError:
    """Arrays or vectors in a column have different lengths, or one is missing."""
    if width is None:
        return ValueError(
            f"column {column!r} must have an array or a vector in each row, and it is null in the first one; drop such "
            f"rows: df.dropna(subset=[{column!r}])."
        )
    return ValueError(
        f"column {column!r} must have {width} numbers in each row, as it has in the first one; a row has another "
        f"number of them, or is null. Drop such rows, for example with df.dropna(subset=[{column!r}])."
    )


def other_version(here: str, there: str, where: str) -> RuntimeError:
    """A worker has another version of lowdim."""
    return RuntimeError(
        f"{where} has lowdim {there}, and this process has lowdim {here}; install the same version on all machines."
    )


def no_array_of_rows() -> TypeError:
    """An array with a row for each row of a data frame of Spark is needed."""
    return TypeError(
        "this needs an array with a row for each row of the table, and rows of a data frame of Spark have no order: "
        "transform, score_samples, predict, reconstruction_error and impute add their results to the data frame as "
        "columns. For everything else, bring the rows that you want to this process: df.limit(1000).toPandas()."
    )


def no_order(what: str) -> TypeError:
    """Something needs the order of rows that have none."""
    return TypeError(
        f"{what} go by the order of the rows, and rows of a data frame of Spark have no order; pass the name of a "
        "column of the data frame instead."
    )


def no_lowdim(engine: str, package: str = "lowdim") -> RuntimeError:
    """lowdim, or a package that it needs, is not installed on a worker."""
    setting = ", or set PYSPARK_PYTHON to a Python that has it" if engine == "Spark" else ""
    return RuntimeError(
        f"the Python of a worker of {engine} has no {package}; install lowdim, in the version of this process, with "
        f"what it needs where the workers run{setting}."
    )


def executors_died(task: str, attempts: str) -> RuntimeError:
    """Each executor of Spark that was given a task has died or had not enough memory, or its process of Python."""
    return RuntimeError(
        f"task {task} of a stage of Spark failed {attempts} times, because the executor, or its process of Python, "
        f"died or had not enough memory. {_SPARK_MEMORY} The logs of the executors say why they died."
    )


def executor_memory(found: str) -> MemoryError:
    """There is no memory for a block of rows, or for a summary."""
    return MemoryError(f"Spark had not enough memory ({found or 'no details are known'}). {_SPARK_MEMORY}")


#: What to do if the memory of executors does not suffice.
_SPARK_MEMORY = (
    "The memory of an executor must suffice for a batch of rows and the summary of the model. Give Python more memory "
    "(spark.executor.pyspark.memory, if it is set, and spark.executor.memoryOverhead), or Java "
    "(spark.executor.memory, or spark.driver.memory for your process); or use fewer rows in a batch "
    "(spark.sql.execution.arrow.maxRecordsPerBatch), more partitions, or, for many columns, solver='krylov' where "
    "there is one."
)


def missing_labels(label: str) -> ValueError:
    """A column of labels has entries that are missing."""
    return ValueError(f"{label} must have a label in each row, and it has missing values; drop those rows.")


# Messages about factor analysis, its tests, and covariances of rows with missing entries.


#: At most so many columns are named in a message.
_NAMED = 5


class UndeterminedCovariance(ValueError):
    """The observed entries do not determine a covariance matrix of all columns."""


def constant_with_missing(columns: Sequence[int], names: Sequence[str] | None) -> ValueError:
    """The error for columns whose observed entries are all the same, where a covariance is estimated."""
    return UndeterminedCovariance(
        f"the observed entries of {_listed_columns(columns, names)} are all the same, so that the likelihood of a "
        "covariance has no maximum. Drop such columns first."
    )


def heywood_columns(columns: Sequence[int], names: Sequence[str] | None, floor: float) -> str:
    """The warning for uniquenesses at their lower bound."""
    it, them = ("its uniqueness is", "it") if len(columns) == 1 else ("their uniquenesses are", "them")
    return (
        f"Heywood case: the factors explain all of {_listed_columns(columns, names)}; {it} at the lower bound, "
        f"{floor:g} of the variance. Such a solution often means too many factors, too few rows, or a column that "
        f"repeats others. Ask for fewer factors, or drop {them}; `heywood_` marks the columns."
    )


def other_rows_than_fit(given: int, n_samples: int) -> ValueError:
    """The error for rows that cannot be those of the fit, because their number is another."""
    return ValueError(f"X has {given} rows, but the model was fitted to {n_samples}; pass the rows of the fit.")


def _listed_columns(columns: Sequence[int], names: Sequence[str] | None) -> str:
    """The columns in words, the first of them by name."""
    first = ", ".join(column_label(j, names) for j in columns[:_NAMED])
    return first + (f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else "")


# The builders of messages about files.


def damaged_file(path: Any, reason: Any, newer: bool = False) -> ValueError:
    """The error for a file that does not hold what lowdim saves. `newer`: its format is of a newer minor version."""
    advice = (
        "A newer version of lowdim wrote it and may read it."
        if newer
        else "Take another copy of it, or make it again and save it."
    )
    return ValueError(f"{path} is damaged, or not a file that lowdim saved: {reason}. {advice}")


def missing_extra(purpose: str, package: str, extra: str) -> ImportError:
    """The error for a package that is needed and not installed."""
    return ImportError(f"{purpose} needs {package}, which is not installed: pip install 'lowdim[{extra}]'.")


def not_categories(X: Any) -> TypeError:
    """The error for what has no columns that could be categories."""
    return TypeError(
        f"cannot read categories from {type(X).__name__}; pass a data frame, a path of files, an array of text or of "
        "whole numbers, or an object that speaks Arrow."
    )


def mixed_types(name: str, values: Any) -> TypeError:
    """The error for a column with entries of several types, or of a type that is neither text nor a number."""
    found = sorted({type(v).__name__ for v in values if v is not None and type(v).__name__ != "NAType" and v == v})
    if len(found) == 1:
        return no_category(name, f"entries of type {found[0]}")
    return TypeError(
        f"column {name!r} holds entries of several types: {', '.join(found)}. Make them all text, for example with "
        f"X[{name!r}].astype(str), or all numbers."
    )


def no_category(name: str, what: str) -> TypeError:
    """The error for a column that cannot be a category."""
    return TypeError(
        f"column {name!r} holds {what}, which are neither text nor numbers, and cannot be a category. Leave it out, or "
        "make text or numbers of it."
    )


def too_many_levels(name: str, most: int) -> ValueError:
    """The error for a category with too many levels."""
    return ValueError(
        f"column {name!r} has more than {most:,} different entries, so it is no category. Leave it out, or group its "
        "entries first."
    )


def no_such_file(path: Any) -> FileNotFoundError:
    """The error for a path where there is nothing."""
    return FileNotFoundError(f"there is no file {path}. Check the path; relative ones start at the working directory.")


def not_permitted(path: str) -> PermissionError:
    """The error for a file that may not be read."""
    return PermissionError(f"{path} may not be read by this user. Change its permissions, or leave it out.")


def changed_file(path: str, how: str) -> ValueError:
    """The error for a file that is not the one that was scanned."""
    return ValueError(
        f"{path} has changed since it was scanned: {how}. All passes over the rows must see the same rows: wait until "
        "nothing writes to it any more, then call lowdim.scan again."
    )


def unreadable_file(path: str, where: str, reason: Any) -> ValueError:
    """The error for a file that is damaged, or not what its name says; `where` is the place in it."""
    return ValueError(
        f"{path} cannot be read{where}: {str(reason).rstrip('.')}. The file is damaged, incomplete, or not what its "
        "name says: write it again, or leave it out."
    )


def open_quote() -> str:
    """Why a line of a CSV file cannot be read in which a quote is opened and not closed."""
    return "a quote is opened there and not closed at the end of a field, so that lines behind it belong to this field"


def csv_header(path: str, fields: Sequence[str]) -> ValueError:
    """The error for a CSV file that does not begin with the names of its columns."""
    got = f"numbers: {', '.join(fields[:6])}{', ...' if len(fields) > 6 else ''}" if fields else "empty"
    return ValueError(
        f"{path} has no header: the first line must hold the names of the columns, and it is {got}. "
        f"Write a line with names at the beginning{'' if fields else ', and no empty line above it'}."
    )


def nearly_numbers(where: str, why: str) -> ValueError:
    """The error for columns that 'numeric' would leave out because of a few entries; `why` says where these are."""
    return ValueError(
        f"{where} has columns of text in which nearly all entries are numbers: {why}. columns='numeric' would leave "
        "these columns out: correct the entries, or say that they are not wanted with exclude=."
    )


def csv_encoding(path: str, encoding: str, name: str = "latin-1") -> ValueError:
    """The error for a CSV file that is not in UTF-8. `name` is that of the encoding in Python, as far as known."""
    return ValueError(
        f"{path} is written in {encoding}; CSV files must be in UTF-8. Convert it first: in a spreadsheet, save it as "
        f"'CSV UTF-8'; in Python, call Path(new_path).write_text(Path(path).read_text('{name}'), 'utf-8')."
    )


def second_header(path: str, lines: Sequence[int], columns: Mapping[str, str], what: str = "line") -> ValueError:
    """The error for a table with several lines of names; `columns` has text of them above numbers."""
    found = ", ".join(f"{text!r} above the numbers of column {name!r}" for name, text in islice(columns.items(), 3))
    where = f"{what} {lines[0]}" if len(lines) == 1 else f"{what}s {lines[0]} to {lines[-1]}"
    return ValueError(
        f"{path} has text where numbers should begin, in {where}: {found}. If these are further names, units or "
        f"labels, join them with the names of the columns, so that there is one {what} of names, and delete {where}; "
        "if entries are missing there, leave them empty."
    )


def no_names(path: str, columns: Sequence[str]) -> ValueError:
    """The error for a table with columns that have entries and no name."""
    return ValueError(
        f"{path} has entries in columns without a name: {', '.join(columns[:6])}"
        f"{', ...' if len(columns) > 6 else ''}. Write a name above each of them, or delete them."
    )


def inexact_integer(value: int, row: str, column: str) -> ValueError:
    """The error for an integer that float64 cannot hold."""
    return ValueError(
        f"{column} holds the integer {value} in {row}, which float64 cannot hold exactly (integers up to 2^53 can "
        "always be held). If it is an identifier, leave the column out; otherwise subtract a constant, or convert the "
        "column to floating point first."
    )


def not_numbers(where: str, columns: Sequence[str], numeric: Sequence[str], *, why: str = "") -> ValueError:
    """The error for columns that are not numbers."""
    others = "Take only those with lowdim.scan(..., columns='numeric'), leave columns out with exclude=, or encode the"
    advice = f"{others} others as numbers." if numeric else "Encode them as numbers first."
    return ValueError(
        f"{where} has columns that are not numbers: {list_names(columns, 20)}{f' ({why})' if why else ''}; these are "
        f"numbers: {list_names(numeric, 20) or 'none'}. {advice}"
    )


def unknown_column(where: str, name: str, names: Sequence[str]) -> ValueError:
    """The error for a name or a pattern that no column matches."""
    near = get_close_matches(name, list(names), 3)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return ValueError(f"{where} has no column {name!r}; its columns are {list_names(names, 20)}.{hint}")


def no_columns_left(where: str, names: Sequence[str], numeric: Sequence[str]) -> ValueError:
    """The error for a choice of columns that is empty."""
    return ValueError(
        f"no column of {where} is chosen: found 0 feature(s), while a minimum of 1 is required. Its columns are "
        f"{list_names(names, 20) or 'none'}; these are numbers: {list_names(numeric, 20) or 'none'}."
    )


def duplicate_columns(where: str, names: Sequence[str], *, can_leave_out: bool = True) -> ValueError:
    """The error for several columns of one name. `can_leave_out`: other columns can be read without these."""
    return ValueError(
        f"{where} has several columns with the name {list_names(names)}. Columns are read by their names: rename them"
        f"{', or leave them out' if can_leave_out else ''}."
    )


def foreign_file(path: Any, appearance: str) -> ValueError:
    """The error for a file of another kind."""
    return ValueError(
        f"{path} is not a file that lowdim saved: it looks like {appearance}. Models and summaries are read from files "
        "that lowdim.save or the method `save` of a summary wrote."
    )


def file_exceeds_memory(path: Any, needed: int, free: int | None) -> MemoryError:
    """The error for a file whose arrays are larger than the memory that is free, if that is known."""
    have = "less memory is" if free is None else f"{free} bytes of memory are"
    return MemoryError(f"the arrays of {path} take {needed} bytes, and {have} free.")


# Messages about auto-encoders.


def wrong_module_width(name: str, inputs: int, wanted: int, found: str, variational: bool) -> ValueError:
    """The error for a module of the user that does not map rows of the right width to results of the right width."""
    both = ", the means and the logarithms of the variances of the latent variables" if variational else ""
    results = f"of {wanted} columns{both if name == 'encoder' else ''}"
    return ValueError(
        f"{name} must map tensors of shape (n, {inputs}) to tensors of shape (n, {wanted}), but {found}. Change its "
        f"first layer to {inputs} inputs and its last one to results {results}."
    )


# The builders of messages about models that are written as graphs of ONNX.


def not_in_onnx(what: str, why: str, instead: str) -> TypeError:
    """The error for something that a graph cannot express; `instead` says what to do."""
    return TypeError(f"{what} cannot be written as a graph of ONNX: {why}. {instead}")


# The builders of messages about files that are written.


def output_is_no_path(got: Any) -> TypeError:
    """The error for a place to write to that is not a path."""
    return TypeError(f"path must be a string or a Path, got {type(got).__name__}.")


def directory_is_missing(path: Any, folder: Any) -> FileNotFoundError:
    """The error for a path in a directory that does not exist."""
    return FileNotFoundError(
        errno.ENOENT, f"cannot write {str(path)!r}: there is no directory {str(folder)!r}; make it first"
    )


def output_exists(path: Any, file: Any = None) -> FileExistsError:
    """The error for a path under which there is something already; `file` is the file, if the path names an array."""
    what, that = ("it", "it") if file is None else (f"the file {str(file)!r}", "all of it")
    return FileExistsError(
        errno.EEXIST, f"cannot write {str(path)!r}: {what} exists already. Pass overwrite=True to replace {that}"
    )


def cannot_be_replaced(path: Any, reason: str) -> FileExistsError:
    """The error for something that is never replaced by a result."""
    return FileExistsError(errno.EEXIST, f"{str(path)!r} is not replaced: {reason}. Choose another path")


def not_written(path: Any, error: OSError) -> OSError:
    """The error for a file that could not be written to its end, for example because the disk is full."""
    reason = str(error) if error.errno is None else os.strerror(error.errno)
    return OSError(
        error.errno or errno.EIO,
        f"{str(path)!r} could not be written: {reason}. Nothing was left there; what was there before is unchanged",
    )


def cannot_keep(table: str, names: Sequence[str]) -> TypeError:
    """The error for columns that are to be carried along from something that has no columns with names."""
    return TypeError(
        f"keep={list(names)} needs columns with names, which {table} does not have: pass a data frame, a scan of files "
        "with a table (Parquet, Arrow, CSV) or an iterable of data frames, or leave keep out."
    )


# Messages about plots.


def not_one_for_each_row(name: str, got: int, n: int) -> ValueError:
    """The error for labels or groups of another number than there are rows."""
    return ValueError(f"{name} has {got} entries, X has {n} rows; pass one entry for each row.")


def wrong_image_shape(shape: object, p: int) -> ValueError:
    """The error for images whose number of pixels is not the number of columns."""
    return ValueError(
        f"image_shape={shape!r} must be (height, width), or (height, width, 3) for colours, whose product is the "
        f"number of columns, {p}."
    )


# Messages about rules for the number of components.


def rule_needs_rows(name: str) -> ValueError:
    """The error for a rule that needs rows, where only a summary is given."""
    return ValueError(
        f"n_components={name!r} leaves rows out, and a summary does not hold them; fit to rows, or pass a number or "
        "another rule."
    )


# The builders of messages about what cannot be saved.


def not_storable(where: str, what: str, advice: str) -> TypeError:
    """The error for a value that no file can hold."""
    return TypeError(
        f"{where} is {what}, which a file cannot hold: it holds numbers, text, arrays and the classes of "
        f"lowdim, and no code. {advice}"
    )


# The builders of messages about arrays in files: NPY, Zarr and HDF5.


def array_is_no_table(place: str, shape: tuple[int, ...]) -> ValueError:
    """The error for a stored array that does not have two axes, or has no entries."""
    if 0 in shape:
        return ValueError(f"{place}: the array has shape {shape} and so no entries; at least one row is needed.")
    one = " If these are the values of one column, store them as shape (n, 1)." if len(shape) == 1 else ""
    axes = "one axis" if len(shape) == 1 else f"{len(shape)} axes"
    return ValueError(
        f"{place}: the array has shape {shape}, that is {axes}, and rows need two: (rows, columns).{one} Or load it, "
        "reshape it, and pass the array."
    )


def no_such_array(path: Any, name: str, found: Sequence[str]) -> ValueError:
    """The error for an array that a store does not hold."""
    there = f"It holds: {', '.join(found[:20])}" if found else "It holds no array with two axes"
    return ValueError(f"{path} holds no array {name!r}. {there}.")


def missing_chunks(place: str, first: str, missing: int, of: int, fill: Any, accept: str) -> ValueError:
    """The error for chunks that a store does not hold, and that would be read as its fill value."""
    return ValueError(
        f"{place}: {missing} of {of} chunks are not stored, the first of them {first}. They would be read as the fill "
        f"value {fill}, and nothing tells whether they are lost or were left out because they are equal to it. If they "
        f"were left out, accept them by opening the array yourself: {accept}."
    )


def array_columns_out_of_range(argument: str, got: Any, p: int) -> ValueError:
    """The error for numbers of columns that an array does not have, or that are given twice."""
    return ValueError(f"{argument}={got!r} must be different numbers from 0 to {p - 1} (or -{p} to -1), at least one.")
