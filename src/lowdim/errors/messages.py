"""The builders of messages about rows, columns, parameters and results.

A message says what is wrong, what was given, what is allowed, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .kinds import MissingValues, NeedsRowsInMemory, NoMaximum, NoVariance


def column_label(j: int, names: Sequence[str] | None) -> str:
    """The name of a column in messages."""
    return f"column {j}" if names is None else f"column {names[j]!r} (number {j})"


def not_finite(row: str, column: int, value: float, names: Sequence[str] | None, table: str = "X") -> ValueError:
    """The error for NaN or infinity in the rows; `row` is the row in words. scikit-learn's checks look for the words
    'NaN' and 'infinity'."""
    where = f"{column_label(column, names)}, first in {row}"
    if table.startswith("the "):
        # These numbers were computed from the rows, so filling them in would not help.
        what = "NaN" if value != value else "infinity"
        return ValueError(f"{table} contain {what}: {where}. Check how they were computed for that row.")
    if value != value:
        rows = "X" if table == "X" else "A"
        of = "" if table == "X" else " for A = all tables side by side"
        found = f"Input {table} contains NaN: {where}."
        error = MissingValues(
            f"{found} Complete rows of finite numbers are needed: drop those rows, or fill them in, for example with "
            f"PPCA(k, standardize=True).fit({rows}).impute({rows}){of}; PPCA and FactorAnalysis themselves take NaN as "
            "missing."
        )
        error.where = found
        return error
    return ValueError(
        f"Input {table} contains infinity: {where}. Finite numbers are needed: drop those rows, or replace the entries."
    )


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
        "for example with sklearn.preprocessing.OneHotEncoder."
    )


#: Advice for responses that are text.
ENCODE_CLASSES = (
    "Encode classes as numbers first, for example as a column of 0 and 1 for each class "
    "(sklearn.preprocessing.OneHotEncoder)."
)


def text_response(text: str) -> ValueError:
    """The error for a vector of responses that are text; scikit-learn's checks look for the words of the reason."""
    return ValueError(f"y holds text, such as {text[:40]!r} (could not convert string to float). {ENCODE_CLASSES}")


def beyond_float(column: int | None, dtype: Any, names: Sequence[str] | None) -> ValueError:
    """The error for whole numbers that no float64 can hold, such as 10**400."""
    where = "X" if column is None else column_label(column, names)
    return ValueError(
        f"{where} has dtype {dtype} and holds a whole number too large for float64. Rescale the column (divide it by a "
        "constant), or drop it."
    )


def indices_out_of_range(lowest: int, highest: int, n: int, axis: str, table: str = "X") -> ValueError:
    """The error for a sparse matrix that stores entries in rows or columns that it does not have."""
    return ValueError(
        f"{table} is a damaged sparse matrix: it stores entries in {axis}s {lowest} to {highest}, and has only the "
        f"{axis}s 0 to {n - 1}. Make it again from its entries."
    )


def wrong_features(shape: tuple[int, ...], n_rows: int) -> ValueError:
    """The error for a feature map that does not return one row of features for each row."""
    return ValueError(f"the feature map gave shape {shape} for a block of {n_rows} rows; as many rows are needed.")


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


def not_so_many_components(k: Any, least: int, most: int) -> ValueError:
    """The error for a number of components that a fitted model does not have."""
    return ValueError(
        f"n_components={k!r} must be a whole number between {least} and {most}, the number of components of the model."
    )


def squares_about_zero() -> ValueError:
    """The error for entries whose squares overflow, although those of their differences to the mean do not."""
    return ValueError(
        "center=False: the squares of the entries are not finite. Multiply the rows by a small number, or centre them."
    )


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


def no_rows_seen() -> ValueError:
    """The error for a summary that holds no rows yet."""
    return ValueError("the summary is empty: it has seen no rows. First update it with rows, or merge others into it.")


def never_observed(columns: Sequence[int], names: Sequence[str] | None) -> ValueError:
    """The error for columns without a single observed entry."""
    listed = ", ".join(column_label(j, names) for j in columns[:5]) + (", ..." if len(columns) > 5 else "")
    return ValueError(f"no entry was observed in {listed}: nothing can be estimated for it. Drop it first.")


def one_row() -> ValueError:
    """The error for a single row, where a model with noise needs two."""
    return ValueError("n_samples=1: a model with noise needs at least 2 rows. Give more rows.")


def choice(name: str, got: Any, allowed: Sequence[str], advice: str = "") -> ValueError:
    """The error for a value of the parameter `name` that is not among those allowed."""
    listed = ", ".join(repr(a) for a in allowed)
    return ValueError(f"{name}={got!r} is not one of {listed}.{' ' + advice if advice else ''}")


def sklearn_argument(model: str, name: str, instead: str) -> TypeError:
    """The error for an argument that scikit-learn's class has and the model here does not."""
    return TypeError(
        f"{model} has no argument {name!r}, unlike scikit-learn's: {instead}. The classes in lowdim.sklearn take all "
        "of scikit-learn's arguments."
    )


def fitted_without_summary(model: str) -> ValueError:
    """The error for `partial_fit` after `fit`, whose rows it would have to forget."""
    return ValueError(
        f"this {model} was fitted by fit, which kept no summary of its rows, because the table is wide or the solver "
        "needs none; so partial_fit cannot add rows to them. Call partial_fit for every block, from the first one on; "
        "or start from a summary, with fit_summary. To start anew, call partial_fit on sklearn.base.clone(model)."
    )


def other_width(width: int, expected: int, difference: str = "") -> ValueError:
    """The error for a stream whose number of columns differs from that of the fit; `difference` is that of the names,
    if both have any."""
    select = f" ({difference}). Select the columns of the fit" if difference else ""
    return ValueError(f"the blocks have {width} columns, the model was fitted on {expected} features{select}.")


def ragged_blocks(index: int, width: int, expected: int) -> ValueError:
    """The error for blocks of one stream with different numbers of columns; block 0 differs from an earlier reading."""
    before = "the blocks before it had" if index else "when the stream was read before, it had"
    return ValueError(
        f"block {index} of the stream has {width} columns, {before} {expected}. All blocks must have the same columns "
        "in the same order."
    )


def not_iterable(got: Any) -> TypeError:
    """The error for a function that does not return an iterator over blocks."""
    return TypeError(
        f"the function that was given as rows returned {type(got).__name__}; it must return an iterator over blocks, "
        "a fresh one each time it is called."
    )


def other_partition(shape: tuple[Any, int], expected: tuple[int, int]) -> ValueError:
    """The error for a partition of a Dask collection that has not the shape that was declared for it."""
    return ValueError(
        f"a partition of the Dask collection has {shape[0]} rows and {shape[1]} columns, and {expected[0]} rows and "
        f"{expected[1]} columns were declared for it. Declare the shape that the blocks have, for example in "
        "dask.array.from_delayed or map_blocks(..., chunks=...)."
    )


def other_length(n: int, expected: int | None) -> ValueError:
    """The error for a stream that gives another number of rows when it is read again."""
    return ValueError(
        f"the stream gave {n} rows, and {expected} rows when it was read before. A solver that reads the rows several "
        "times needs the same rows each time: return a fresh iterator over all blocks from the function."
    )


def mixed_blocks(index: int, kind: str, expected: str) -> ValueError:
    """The error for blocks of one stream that differ in array library, device, storage or dtype."""
    before = "the blocks before it were" if index else "when the stream was read before, it was"
    return ValueError(
        f"block {index} of the stream is {kind}, {before} {expected}: all blocks must have one dtype, kind and "
        "device. Convert them, for example with block.astype('float64'), block.toarray() or block.to('cpu')."
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


def units_too_far(x: float, y: float) -> ValueError:
    """The error for tables whose scales differ so much that regression coefficients overflow or underflow."""
    return ValueError(
        f"the columns of X and y have magnitudes {x:.0e} and {y:.0e}: coefficients between them are outside the range "
        "of floating-point numbers. Rescale one of the tables (multiply it by a constant) and fit again."
    )


def not_representable(attribute: str) -> ValueError:
    """The error for coefficients that overflow, although predictions do not."""
    return ValueError(
        f"{attribute} has entries outside the range of floating-point numbers: the columns of y are too large, or "
        "those of X too small. predict(X) works all the same; for coefficients, rescale one of the tables (multiply "
        "it by a constant) and fit again."
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


def holes_after_reading(holes: MissingValues) -> MissingValues:
    """The error for missing values that are found when the first blocks of a stream are gone."""
    return MissingValues(
        f"{holes.where} Rows with missing values are read several times, and this stream can be read once only: its "
        "first block, which has none, is gone. Pass all rows (reader.read_all()), a list of blocks, or a function that "
        "returns a fresh iterator."
    )


def other_namespace(model: str, method: str, fitted: Any, given: Any) -> ValueError:
    """The error for rows from another array library or device than those of the fit."""
    kinds = [f"{type(a).__module__}.{type(a).__name__} on {getattr(a, 'device', 'cpu')}" for a in (fitted, given)]
    return ValueError(
        f"Inputs passed to {model}.{method}() must use the same namespace and device as those passed to fit(): fit() "
        f"got {kinds[0]}, {method}() got {kinds[1]}. Convert X, or fit on arrays of that kind."
    )


def bad_weights(reason: str, got: str) -> ValueError:
    """The error for sample weights that are not frequencies: one per row, not negative, not all zero."""
    return ValueError(
        f"sample_weight {reason}: got {got}. Weights are frequencies (weight 2 equals repeating the row): one "
        "non-negative finite number per row, at least one of them positive."
    )


def weights_without_column(name: str) -> ValueError:
    """The error for weights that are given by the name of a column, where columns have no names."""
    return ValueError(
        f"sample_weight={name!r} is the name of a column, and X is not one table whose columns have names. Pass the "
        "weights, one for each row, or pass a data frame or a file with names as X."
    )


def needs_memory(what: str, needed: int, have: int, advice: str) -> MemoryError:
    """The error for a computation that needs more memory than the machine has; raised before it starts."""
    return MemoryError(
        f"{what} would need {needed / 2**30:.1f} GiB, this machine has {have / 2**30:.1f} GiB in total. {advice}"
    )


def rows_exceed_memory(table: str, shape: tuple[int, int], needed: int, free: int, purpose: str) -> MemoryError:
    """The error for a table that is needed in memory as a whole and does not fit; raised before it is read."""
    return MemoryError(
        f"all rows of {table}, of shape {shape}, are needed in memory {purpose}: that is {needed / 2**30:.1f} GiB, and "
        f"{free / 2**30:.1f} GiB are free. Pass fewer rows or columns, or choose a solver that reads block by block."
    )


def over_budget(what: str, needed: int, allowed: int, advice: str) -> MemoryError:
    """The error for a computation that needs more memory than the user allows; raised before it starts."""
    sizes = [f"{n / 2**30:.1f} GiB" if n >= 2**30 else f"{n / 2**20:.1f} MiB" for n in (needed, allowed)]
    return MemoryError(f"{what} would need {sizes[0]}, and memory={sizes[1]} is allowed. {advice}")


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


def not_symmetric_kernel(kernel: Any, asymmetry: float) -> ValueError:
    """The error for a kernel function whose value depends on the order of its two arguments."""
    return ValueError(
        f"the kernel {kernel} is not symmetric: k(x, y) and k(y, x) differ by up to {asymmetry:.3g}. Pass a function "
        "that gives the same value for both orders, for example (f(x, y) + f(y, x)) / 2."
    )


def no_maximum() -> ValueError:
    """The error for a likelihood that grows without bound with the scale of a source."""
    return NoMaximum(
        "the likelihood has no maximum: it grows without bound with the scale of a source. This happens if the source "
        "has exactly the same value in most rows and the density has heavy tails. Use ortho=True, or density='sech'."
    )


def density_not_finite(density: Any, value: float) -> ValueError:
    """The error for a density that is NaN or infinite at a finite value of a source."""
    return ValueError(
        f"the density {density} gives NaN or infinity at {value:.3g}. Its functions must be finite for large numbers "
        "too: write ln cosh u, for example, as np.logaddexp(u, -u) - np.log(2)."
    )
