"""Messages about factor analysis, its tests, and covariances of rows with missing entries."""

from __future__ import annotations

from collections.abc import Sequence

from .messages import column_label

#: At most so many columns are named in a message.
_NAMED = 5


class UndeterminedCovariance(ValueError):
    """The observed entries do not determine a covariance matrix of all columns."""


def constant_with_holes(columns: Sequence[int], names: Sequence[str] | None) -> ValueError:
    """The error for columns whose observed entries are all the same, where a covariance is estimated."""
    return UndeterminedCovariance(
        f"the observed entries of {_listed(columns, names)} are all the same, so that the likelihood of a covariance "
        "has no maximum. Drop such columns first."
    )


def one_column_with_holes() -> ValueError:
    """The error for a single column with missing entries, which has no covariances."""
    return UndeterminedCovariance("X has one column, and covariances need at least 2. Give more columns.")


def undetermined_covariance(p: int) -> ValueError:
    """The error for rows that leave the covariance of all columns undetermined."""
    return UndeterminedCovariance(
        f"the observed entries do not determine the covariance of {p} columns: at most {p} rows have no missing entry, "
        "so that the likelihood grows without bound towards a plane through all of these, and EM found no maximum "
        "elsewhere. Drop the columns with most missing entries, or compare numbers of components by bic, which does "
        "without such a covariance."
    )


def covariance_not_converged(p: int, n_steps: int, residual: float, tol: float) -> ValueError:
    """The error for a covariance of rows with missing entries that was not found in so many steps."""
    return UndeterminedCovariance(
        f"the covariance of {p} columns with missing entries was not found in {n_steps} steps of EM: residual "
        f"{residual:.1e}, tolerance {tol:g}. Drop the columns with most missing entries, or columns that depend on "
        "others."
    )


def heywood_columns(columns: Sequence[int], names: Sequence[str] | None, floor: float) -> str:
    """The warning for uniquenesses at their lower bound."""
    it, them = ("its uniqueness is", "it") if len(columns) == 1 else ("their uniquenesses are", "them")
    return (
        f"Heywood case: the factors explain all of {_listed(columns, names)}; {it} at the lower bound, {floor:g} of "
        f"the variance. Such a solution often means too many factors, too few rows, or a column that repeats others. "
        f"Ask for fewer factors, or drop {them}; `heywood_` marks the columns."
    )


def rows_needed_for_test(n_samples: int) -> ValueError:
    """The error for a test of a model that was fitted to rows with missing entries, without these rows."""
    return ValueError(
        f"the rows of the fit have missing values, so that the test needs the {n_samples} rows themselves, for the "
        "covariance that their observed entries suggest: pass them as X. (To compare numbers of factors, bic is "
        "enough.)"
    )


def other_rows_than_fit(given: int, n_samples: int) -> ValueError:
    """The error for rows that cannot be those of the fit, because their number is another."""
    return ValueError(f"X has {given} rows, but the model was fitted to {n_samples}; pass the rows of the fit.")


def refit_of_weighted_fit(weight: float, n_samples: int) -> ValueError:
    """The error for draws with a refit of a model that was fitted to weighted rows."""
    return ValueError(
        f"refit=True draws rows with replacement, and the {n_samples} rows of the fit had weights (of {weight:g} in "
        "all). Repeat the rows by their weights and fit again, or draw with refit=False."
    )


def no_bootstrap_sample(n_tries: int) -> ValueError:
    """The error for a table of which samples of rows leave columns without observed entries."""
    return ValueError(
        f"in {n_tries} samples of the rows, some column had less than two observed entries, so that no model can be "
        "fitted to them. Drop columns with so few observed entries, or draw with refit=False."
    )


def _listed(columns: Sequence[int], names: Sequence[str] | None) -> str:
    """The columns in words, the first of them by name."""
    first = ", ".join(column_label(j, names) for j in columns[:_NAMED])
    return first + (f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else "")
