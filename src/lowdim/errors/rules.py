"""Messages about rules for the number of components."""

from __future__ import annotations

from collections.abc import Sequence


def rule_needs_rows(name: str) -> ValueError:
    """The error for a rule that needs rows, where only a summary is given."""
    return ValueError(
        f"n_components={name!r} leaves rows out, and a summary does not hold them; fit to rows, or pass a number or "
        "another rule."
    )


def rule_needs_complete_rows(name: str, able: Sequence[str], *, bayes: bool = False) -> ValueError:
    """The error for a rule that cannot be applied to rows with missing values, or not with a prior; `able` are the
    names of those that can."""
    if bayes:
        return ValueError(
            f"n_components={name!r} compares models of maximum likelihood, and the rows have missing values: with "
            "prior='vb', components that are not needed are dropped anyway. Pass a number, or prior=None."
        )
    listed = ", ".join(map(repr, able))
    return ValueError(
        f"n_components={name!r} needs complete rows, without NaN or other missing values. Rules for rows with missing "
        f"values are {listed}. Or pass a number, or apply the rule to draws of impute(X, n_draws=...)."
    )


def no_partial_fit(name: str) -> AttributeError:
    """The error for a rule that needs rows in `partial_fit`, which keeps only a summary of them."""
    return AttributeError(
        f"n_components={name!r} leaves rows out, and partial_fit does not keep them; pass a number, or another rule."
    )
