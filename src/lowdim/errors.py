"""Exceptions and warnings, and the builders of their messages.

A message says what is wrong, what was given, what is allowed, and what to do.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

# Scripts that filter the warnings of scikit-learn's estimators filter ours.
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning


class LowdimWarning(UserWarning):
    """Parent of all warnings of this library."""


class RankWarning(LowdimWarning):
    """Directions of zero variance were dropped because a division by their variance was needed."""


class IndefiniteWarning(RankWarning):
    """A kernel has negative eigenvalues, which were left out."""


class ResolutionWarning(LowdimWarning):
    """Some eigenvalues are too small beside the largest to be told from rounding by the solver that ran."""


class ConvergenceWarning(LowdimWarning, SklearnConvergenceWarning):
    """An iteration stopped before it reached its tolerance."""


class SmallSampleWarning(LowdimWarning):
    """There are too few rows for what was found to mean anything."""


class NoComponentWarning(LowdimWarning):
    """A rule that chooses the number of components found none."""


class GaussianWarning(LowdimWarning):
    """Sources that look Gaussian cannot be told from each other."""


class DensityWarning(LowdimWarning):
    """Sources whose tails are heavier than those of a Gaussian where their density is made for lighter ones, or lighter
    where it is made for heavier ones."""


class NonFiniteBlock(ValueError):
    """A summary met NaN, infinity or overflow; `summarize` turns it into an error that names the row and the column."""

    def __init__(self) -> None:
        super().__init__(
            "sums of squares are not finite: the rows hold NaN or infinity, or values too large for their squares to "
            "be represented. Drop those rows, or rescale the columns (divide them by a constant)."
        )


class NoVariance(ValueError):
    """Rows that are all the same, where a model needs some variance."""


class NoMaximum(ValueError):
    """A likelihood without a maximum."""


class MissingValues(ValueError):
    """NaN in the rows, where a summary needs complete ones.

    This is the one declared signal by which a reading (`summarize`, `map_rows`, `Rows.whole`) tells that rows have
    holes: models that can also do without complete rows catch it and fit them another way.
    """


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line outside lowdim and scikit-learn that led here."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("lowdim", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def column_label(j: int, names: Sequence[str] | None) -> str:
    """How a column is called in messages."""
    return f"column {j}" if names is None else f"column {names[j]!r} (number {j})"


def not_finite(row: int, column: int, value: float, names: Sequence[str] | None, table: str = "X") -> ValueError:
    """NaN or infinity in the rows. The words 'NaN' and 'infinity' are those scikit-learn's checks look for."""
    where = f"{column_label(column, names)}, first in row {row}"
    if table.startswith("the "):
        # These numbers were computed from the rows, so filling them in would not help.
        what = "NaN" if value != value else "infinity"
        return ValueError(f"{table} contain {what}: {where}. Check how they were computed for that row.")
    if value != value:
        rows = "X" if table == "X" else "A"
        of = "" if table == "X" else " for A = all tables side by side"
        return MissingValues(
            f"Input {table} contains NaN: {where}. Complete rows of finite numbers are needed: drop those rows, or "
            f"fill them in, for example with PPCA(k, standardize=True).fit({rows}).impute({rows}){of}; PPCA and "
            "FactorAnalysis themselves take NaN as missing."
        )
    return ValueError(
        f"Input {table} contains infinity: {where}. Complete rows of finite numbers are needed: drop those rows, or "
        "fill them in."
    )


def too_large(row: int, column: int, value: float, names: Sequence[str] | None, table: str = "X") -> ValueError:
    """Finite entries with squares that are not finite."""
    return ValueError(
        f"Input {table} holds values too large for their squares to be represented: {value:.3g} in "
        f"{column_label(column, names)}, row {row}. Rescale the column (divide it by a constant) and fit again."
    )


def bad_ndim(ndim: int, shape: tuple[int, ...]) -> ValueError:
    """A table has two axes."""
    return ValueError(
        f"Expected 2D array, got {'scalar' if ndim == 0 else f'{ndim}D'} array instead, of shape {shape}. Rows are "
        "samples and columns are features. Reshape your data: X.reshape(-1, 1) for a single feature, "
        "X.reshape(1, -1) for a single row."
    )


def empty(n: int, p: int, shape: tuple[int, ...]) -> ValueError:
    """A table without rows or without columns."""
    what = ("sample", n) if n == 0 else ("feature", p)
    return ValueError(
        f"Found array with 0 {what[0]}(s) (shape={shape}) while a minimum of 1 is required. Check how X was selected."
    )


def complex_data(dtype: Any) -> ValueError:
    """Complex numbers where real ones are needed."""
    return ValueError(
        f"Complex data not supported: X has dtype {dtype}, real numbers are needed. Pass X.real and X.imag side by "
        "side if both parts are features."
    )


def not_numeric(column: int | None, dtype: Any, names: Sequence[str] | None, reason: str) -> str:
    """Text, dates, objects where numbers are needed (the caller chooses TypeError or ValueError)."""
    where = "X" if column is None else column_label(column, names)
    return (
        f"{where} has dtype {dtype}, which is not numeric ({reason}). Drop the column or encode it as numbers first, "
        "for example with sklearn.preprocessing.OneHotEncoder."
    )


def n_components_out_of_range(
    k: Any, upper: float, n: int | None, p: int | tuple[int, ...], fractions: bool = True, of_rows: bool = False
) -> ValueError:
    """K must lie between 1 and what the table, or the tables of these widths, can give; with `of_rows` the number of
    columns is no limit."""
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
    """A covariance with divisor weight - ddof needs more than ddof; a `fixed` one cannot be chosen."""
    start = f"n_samples={n} (total weight {weight:g}) is too few for a covariance with ddof={ddof}: more than {ddof} "
    start += "is needed."
    if n > 1 and 0 < weight < n:
        return ValueError(
            f"{start} Weights are frequencies, not shares: multiply them by the number of rows"
            f"{'' if fixed else ', or pass ddof=0'}."
        )
    other = ", or pass ddof=0" if ddof and n > 0 and weight > 0 and not fixed else ""
    return ValueError(f"{start} Give more rows{other}.")


def no_variance(purpose: str, table: str = "X") -> ValueError:
    """Rows that are all the same, where some variance is needed."""
    return NoVariance(
        f"all rows of {table} are the same: there is no variance, and {purpose} needs some. Check how {table} was made."
    )


def no_rows_seen() -> ValueError:
    """A summary without rows, where some are needed."""
    return ValueError("the summary is empty: it has seen no rows. Update it, or merge others into it, first.")


def never_observed(columns: Sequence[int], names: Sequence[str] | None) -> ValueError:
    """Columns without a single observed entry."""
    listed = ", ".join(column_label(j, names) for j in columns[:5]) + (", ..." if len(columns) > 5 else "")
    return ValueError(f"nothing was observed in {listed}: there is nothing to learn about it. Drop it first.")


def one_row() -> ValueError:
    """A single row, where a model with noise needs two."""
    return ValueError("n_samples=1: a model with noise needs at least 2 rows. Give more rows.")


def choice(name: str, got: Any, allowed: Sequence[str], advice: str = "") -> ValueError:
    """A word that is not among those allowed."""
    listed = ", ".join(repr(a) for a in allowed)
    return ValueError(f"{name}={got!r} is not one of {listed}.{' ' + advice if advice else ''}")


def other_width(width: int, expected: int) -> ValueError:
    """A stream whose number of columns is not that of the fit."""
    return ValueError(f"the blocks have {width} columns, the model was fitted on {expected} features.")


def ragged_blocks(index: int, width: int, expected: int) -> ValueError:
    """Blocks of one stream must agree on the columns."""
    return ValueError(
        f"block {index} of the stream has {width} columns, the blocks before it had {expected}. All blocks must "
        "have the same columns in the same order."
    )


def mixed_blocks(index: int, kind: str, expected: str) -> ValueError:
    """Blocks of one stream must agree on array library, storage and dtype."""
    return ValueError(
        f"block {index} of the stream is {kind}, the blocks before it were {expected}: they must have one dtype and "
        "kind. Convert them, for example with block.astype('float64') or block.toarray()."
    )


def other_names(
    index: int | None, names: Sequence[str] | None, expected: Sequence[str] | None, table: str = "the stream"
) -> ValueError:
    """Tables of one model must have the same columns in the same order."""
    where = table if index is None else f"block {index} of the stream"
    return ValueError(
        f"{where} has columns {_listed(names)}, expected were {_listed(expected)}. The feature names should match "
        "those that were passed during fit, in the same order; select them: block[names]."
    )


def _listed(names: Sequence[str] | None, most: int = 6) -> str:
    if names is None:
        return "without names"
    return ", ".join(repr(n) for n in names[:most]) + (", ..." if len(names) > most else "")


def inconsistent_lengths(tables: Sequence[str], lengths: Sequence[int | None]) -> ValueError:
    """Tables side by side need one row each for every sample."""
    listed = ", ".join(f"{t} has {'more' if n is None else n}" for t, n in zip(tables, lengths, strict=True))
    return ValueError(
        f"Found input variables with inconsistent numbers of samples: {listed} rows. Row i of each table belongs to "
        "the same sample; select the same rows of each."
    )


def units_too_far(x: float, y: float) -> ValueError:
    """Tables whose coefficients have no room in the range of numbers."""
    return ValueError(
        f"the columns of X and y are of sizes {x:.0e} and {y:.0e}: coefficients between them leave the range of "
        "numbers. Rescale one of the tables (multiply it by a constant) and fit again."
    )


def exhausted_stream(purpose: str) -> ValueError:
    """An iterator that has no block, or none left."""
    return ValueError(
        f"the iterator of blocks gave no block: found array with 0 sample(s) {purpose}. A generator can be read once "
        "only; pass a new one, a list of blocks, or a function that returns a fresh iterator."
    )


def read_once(solver: str, instead: str = "use solver='covariance' or 'triangle'") -> ValueError:
    """A solver that needs several passes, and a stream that allows only one."""
    return ValueError(
        f"solver={solver!r} reads the rows several times, but the stream can be read once only. Pass a list of blocks "
        f"or a function that returns a fresh iterator, or {instead}."
    )


def other_namespace(model: str, method: str, fitted: Any, given: Any) -> ValueError:
    """Rows of another array library or device than those of the fit."""
    kinds = [f"{type(a).__module__}.{type(a).__name__} on {getattr(a, 'device', 'cpu')}" for a in (fitted, given)]
    return ValueError(
        f"Inputs passed to {model}.{method}() must use the same namespace and device as those passed to fit(): that "
        f"was {kinds[0]}, this is {kinds[1]}. Convert X, or fit on arrays of that kind."
    )


def bad_weights(reason: str, got: str) -> ValueError:
    """Sample weights are frequencies: one per row, not negative, not all zero."""
    return ValueError(
        f"sample_weight {reason}: got {got}. Weights are frequencies (weight 2 equals repeating the row): one "
        "non-negative finite number per row, at least one of them positive."
    )


def needs_memory(what: str, needed: int, have: int, advice: str) -> MemoryError:
    """A job that needs more memory than the machine has; raised before any is allocated."""
    return MemoryError(
        f"{what} would need {needed / 2**30:.1f} GiB, this machine has {have / 2**30:.1f} GiB in all. {advice}"
    )


def over_budget(what: str, needed: int, allowed: int, advice: str) -> MemoryError:
    """A job that needs more memory than the user allows; raised before any is allocated."""
    sizes = [f"{n / 2**30:.1f} GiB" if n >= 2**30 else f"{n / 2**20:.1f} MiB" for n in (needed, allowed)]
    return MemoryError(f"{what} would need {sizes[0]}, and memory={sizes[1]} is allowed. {advice}")


def not_symmetric(worst: float, place: tuple[int, int], table: str = "X") -> ValueError:
    """A given kernel matrix that is not symmetric."""
    return ValueError(
        f"kernel='precomputed' needs symmetric matrices, but {table} and its transpose differ by up to {worst:.3g} "
        f"(entries {place} and {place[::-1]}). Pass ({table} + {table}.T) / 2 if that is rounding."
    )


def kernel_not_finite(kernel: Any) -> ValueError:
    """A kernel with NaN or infinity for rows that are finite."""
    what = "the matrix that was given holds" if kernel is None else f"the kernel {kernel} gives"
    return ValueError(f"{what} NaN or infinity; rescale the rows or change its parameters.")


def no_positive_eigenvalue(what: str) -> ValueError:
    """A kernel matrix without a positive eigenvalue, and so without a direction to project on."""
    return NoVariance(
        f"no eigenvalue of {what} is positive: rows have the same features, or no variance above rounding, or the "
        "kernel is no inner product (a matrix of distances d is none; exp(-gamma d^2) is). Check the rows, the kernel "
        "and its width."
    )


def not_symmetric_kernel(kernel: Any, asymmetry: float) -> ValueError:
    """A kernel function whose value depends on the order of its two arguments."""
    return ValueError(
        f"the kernel {kernel} is not symmetric: k(x, y) and k(y, x) differ by up to {asymmetry:.3g}. Pass a function "
        "that gives the same for both, (f(x, y) + f(y, x)) / 2 for example."
    )


def no_maximum() -> ValueError:
    """A likelihood that grows with the scale of a source without bound."""
    return NoMaximum(
        "the likelihood has no maximum: it grows without end with the scale of a source, as it does where most rows "
        "have the very same value of it and the tails of the density are heavy. Use ortho=True, or density='sech'."
    )


def density_not_finite(density: Any, value: float) -> ValueError:
    """A density with NaN or infinity for a source that is finite."""
    return ValueError(
        f"the density {density} gives NaN or infinity for a source of {value:.3g}. Functions must be finite for large "
        "numbers too: ln cosh u, for example, is np.logaddexp(u, -u) - np.log(2)."
    )
