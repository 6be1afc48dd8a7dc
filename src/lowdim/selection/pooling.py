"""Rubin's rules: estimates from several imputations of the same table, combined into one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._core.arrays import to_numpy
from ..errors import with_present_names
from ..sources.opening import row_labels
from ..table import Table, Tabular
from .parallel_analysis import check_probability


@dataclass(frozen=True, repr=False, eq=False)
class Pooled(Tabular):
    """Estimates that were combined over imputations. All arrays have the shape of one estimate.

    Attributes
    ----------
    estimate : array
        The mean of the estimates.
    within, between : arrays
        The mean of their variances, and the variance of the estimates (divisor m - 1).
    n_imputations : int
        m.
    complete_dof : float or None
        The degrees of freedom that the estimates would have without missing values.
    confidence_level : float
        The probability with which the intervals hold the true values.

    Examples
    --------
    >>> from lowdim.selection import pool
    >>> found = pool([1.0, 1.2, 1.1], [0.04, 0.05, 0.04], names=["mean"])
    >>> type(found).__name__, round(float(found.estimate), 2), round(float(found.standard_error), 3)
    ('Pooled', 1.1, 0.238)
    """

    estimate: np.ndarray
    within: np.ndarray
    between: np.ndarray
    n_imputations: int
    complete_dof: float | None
    confidence_level: float
    names: tuple[str, ...] | None = None

    @property
    def total(self) -> np.ndarray:
        """The variance of the combined estimate, T = within + (1 + 1 / m) between."""
        return self.within + (1.0 + 1.0 / self.n_imputations) * self.between

    @property
    def standard_error(self) -> np.ndarray:
        """The square root of the total variance."""
        return np.sqrt(self.total)

    @property
    def missing_share(self) -> np.ndarray:
        """The share of the total variance that is due to missing values, lambda = (1 + 1 / m) between / T."""
        total = self.total
        return (1.0 + 1.0 / self.n_imputations) * self.between / np.where(total > 0.0, total, 1.0)

    @property
    def dof(self) -> np.ndarray:
        """Barnard and Rubin's degrees of freedom, or without `complete_dof` Rubin's (m - 1) / lambda^2."""
        with np.errstate(divide="ignore"):
            share = self.missing_share
            old = (self.n_imputations - 1.0) / share**2
            if self.complete_dof is None:
                return old
            nu = self.complete_dof
            observed = (nu + 1.0) / (nu + 3.0) * nu * (1.0 - share)
            return 1.0 / (1.0 / old + 1.0 / observed)

    @property
    def missing_information(self) -> np.ndarray:
        """The fraction of missing information, lambda + (1 - lambda) 2 / (dof + 3)."""
        share = self.missing_share
        return share + (1.0 - share) * 2.0 / (self.dof + 3.0)

    @property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the interval estimate -+ t sqrt(T), with Student's distribution of `dof` degrees of freedom."""
        dof = self.dof
        quantile = np.where(
            np.isinf(dof),
            special.ndtri(0.5 * (1.0 + self.confidence_level)),
            special.stdtrit(np.where(np.isinf(dof) | (dof <= 0.0), 1.0, dof), 0.5 * (1.0 + self.confidence_level)),
        )
        half = np.where(dof > 0.0, quantile * self.standard_error, math.inf)
        return self.estimate - half, self.estimate + half

    @property
    def p_value(self) -> np.ndarray:
        """Two-sided p-values of the hypothesis that the quantity is zero."""
        dof, se = self.dof, self.standard_error
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(self.estimate) / se
            tail = np.where(np.isinf(dof), special.ndtr(-t), special.stdtr(np.where(dof > 0.0, dof, 1.0), -t))
        return np.where(dof > 0.0, 2.0 * tail, 1.0)

    def table(self) -> Table:
        """One row for each quantity."""
        low, high = self.interval
        columns = {
            "estimate": self.estimate,
            "std. error": self.standard_error,
            "lower": low,
            "upper": high,
            "dof": self.dof,
            "p": self.p_value,
            "missing information": self.missing_information,
        }
        size = self.estimate.size
        return Table(
            {name: np.reshape(column, -1) for name, column in columns.items()},
            list(self.names) if self.names is not None else None if size > 1 else [""],
            title=f"{self.n_imputations} imputations, {self.confidence_level:.0%} intervals",
        )

    def __repr__(self) -> str:
        return f"Pooled({self.n_imputations} imputations, {self.estimate.size} estimate(s))"


@with_present_names
def pool(
    estimates: ArrayLike,
    variances: ArrayLike,
    *,
    complete_dof: float | None = None,
    confidence_level: float = 0.95,
    names: Sequence[str] | None = None,
) -> Pooled:
    """Combine estimates from several imputations of a table by Rubin's rules.

    Parameters
    ----------
    estimates : array of shape (m, ...)
        The estimates from each of m imputations: what would be computed from a table without missing values.
    variances : array of the same shape
        Their squared standard errors, computed as if nothing had been missing.
    complete_dof : float, default=None
        The degrees of freedom that the estimates would have without missing values, such as n - 1 for a mean; None for
        a large table.
    confidence_level : float, default=0.95
        The probability with which the intervals hold the true values.
    names : sequence of str, default=None
        The names of the quantities, for the table; by default the labels of `estimates` if these are a list of columns
        of pandas, such as `[draw.mean() for draw in draws]`.

    Returns
    -------
    Pooled
        With `estimate`, `standard_error`, `interval`, `dof`, `p_value` and `missing_information`; it prints as a table.

    Notes
    -----
    With the mean Q of the m estimates, the mean W of their variances and the variance B of the estimates (divisor
    m - 1), the total variance is T = W + (1 + 1/m) B [1]_. With the share lambda = (1 + 1/m) B / T of it that is due to
    missing values, Rubin's degrees of freedom are (m - 1) / lambda^2. For small tables Barnard and Rubin [2]_ combine
    them with those of the observed data,

        1 / dof = lambda^2 / (m - 1) + 1 / ((nu + 1) / (nu + 3) nu (1 - lambda)),

    where nu is `complete_dof`. The fraction of missing information is lambda + (1 - lambda) 2 / (dof + 3).

    This is valid if the imputations were drawn with the uncertainty of the parameters of the model from which they are
    drawn: `impute(X, n_draws=20, refit=True)`, or with `prior="vb"`. Otherwise T is too small.

    References
    ----------
    .. [1] Rubin (1987), Multiple imputation for nonresponse in surveys, section 3.1.
    .. [2] Barnard, Rubin (1999), Small-sample degrees of freedom with multiple imputation.

    Examples
    --------
    >>> from lowdim.selection import pool
    >>> found = pool([10.0, 12.0, 11.0], [4.0, 4.0, 4.0])
    >>> float(found.estimate), round(float(found.total), 3)
    (11.0, 5.333)
    """
    labels = _labels(estimates, variances)
    Q, U = (
        np.asarray(a if isinstance(a, list | tuple | float | int) else to_numpy(a), dtype=np.float64)
        for a in (estimates, variances)
    )
    if Q.ndim < 1 or Q.shape != U.shape:
        raise ValueError(
            f"estimates and variances need the same shape, with one entry for each imputation first, got {Q.shape} and "
            f"{U.shape}."
        )
    m = len(Q)
    if m < 2:
        raise ValueError(f"{m} imputation(s) do not show how much they vary; pass the estimates of at least 2.")
    if not np.all(np.isfinite(Q)) or not np.all(np.isfinite(U)) or np.any(U < 0.0):
        raise ValueError("estimates must be finite, and variances finite and not negative (squared standard errors).")
    if complete_dof is not None and not complete_dof > 0.0:
        raise ValueError(f"complete_dof={complete_dof!r} must be positive, or None for a large table.")
    check_probability("confidence_level", confidence_level)
    estimate = Q.mean(axis=0)
    if names is not None and len(names) != estimate.size:
        raise ValueError(f"names has {len(names)} entries, and there are {estimate.size} estimates in each imputation.")
    if names is not None:
        labels = tuple(map(str, names))
    within, between = U.mean(axis=0), Q.var(axis=0, ddof=1)
    return Pooled(
        np.asarray(estimate), np.asarray(within), np.asarray(between), m, complete_dof, float(confidence_level), labels
    )


def _labels(estimates: Any, variances: Any) -> tuple[str, ...] | None:
    """The labels of the quantities in lists of columns of pandas; None if there are none.

    Quantities are matched by their positions, so that labels in another order are an error.
    """
    found = []
    for table in (estimates, variances):
        if isinstance(table, list | tuple):
            found += [index for index in map(row_labels, table) if index is not None and np.ndim(table[0]) == 1]
    if not found:
        return None
    if any(not index.equals(found[0]) for index in found[1:]):
        raise ValueError(
            "estimates and variances have different labels, or the same ones in another order: quantities are matched "
            "by their positions. Bring all of them into one order, as with variance.loc[estimate.index]."
        )
    return tuple(map(str, found[0]))
