"""Jackknife standard errors of regression coefficients, from fits that leave out parts of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import clone

from .._xp import to_numpy
from ..errors import bad_weights, no_order, unknown_length
from ..sources import Source, by_name, in_order, with_known_length
from ..tabular import Table, Tabular, numbered
from .coordinates import with_known_products
from .folds import split_rows, tables_in

#: The largest number of coefficients that are printed.
_SHOWN = 20


@dataclass(frozen=True, repr=False)
class Jackknife(Tabular):
    """Regression coefficients with their standard errors, and a test of each against zero.

    Attributes
    ----------
    coef, standard_error, t, p : arrays of shape (n_targets, n_features)
        Coefficients of the fit to all rows, their standard errors, t statistics and two-sided p-values.
    replicates : array of shape (n_parts, n_targets, n_features)
        Coefficients of the fits without each part of the rows.
    dof : int
        Degrees of freedom of the tests: the number of parts minus one.
    features, targets : lists
        Names of the columns of X and y; x1, x2, ... and y1, y2, ... if they have none.
    """

    coef: np.ndarray
    replicates: np.ndarray
    #: sqrt((g - 1) / g sum_i (b_i - b)^2) for g parts, where b is the mean of the replicates b_i.
    standard_error: np.ndarray
    features: list[Any]
    targets: list[Any]

    @property
    def dof(self) -> int:
        """Degrees of freedom of the tests: the number of parts minus one."""
        return len(self.replicates) - 1

    @property
    def t(self) -> np.ndarray:
        """coef / standard_error (zero if both are zero)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(self.standard_error > 0, self.coef / self.standard_error, np.copysign(np.inf, self.coef))
        return np.where((self.coef == 0) & (self.standard_error == 0), 0.0, t)

    @property
    def p(self) -> np.ndarray:
        """Two-sided p-values from Student's t distribution. They are approximate, as replicates share most rows."""
        return 2.0 * special.stdtr(self.dof, -np.abs(self.t))

    def table(self) -> Table:
        """A row for each coefficient, labelled by the column of X."""
        q, p = self.coef.shape
        columns = {
            "response": [name for name in self.targets for _ in range(p)],
            "coefficient": self.coef.ravel(),
            "std. error": self.standard_error.ravel(),
            "t": self.t.ravel(),
            "p": self.p.ravel(),
        }
        return Table(columns, list(self.features) * q, title=f"{len(self.replicates)} parts", row_name="column")

    def __repr__(self) -> str:
        q, p = self.coef.shape
        return f"Jackknife({len(self.replicates)} parts, {q} x {p} coefficients)"

    def __str__(self) -> str:
        table = self.table()
        if len(table) > _SHOWN:
            table = table.sort("p", descending=False)
            table.title += f"; the {_SHOWN} smallest p of {len(table)}"
        return table.text(max_rows=_SHOWN)


def jackknife(model: Any, X: Any, y: Any, cv: Any, sample_weight: Any) -> Jackknife:
    """Refit `model` without each part of the rows.

    Rows are left out by giving them weight zero, so that every kind of source can be used and nothing is copied. There
    is one fit for each part [1]_.

    References
    ----------
    .. [1] Martens, Martens (2000), Modified jack-knife estimation of parameter uncertainty in bilinear modelling.
    """
    X, y, cv, sample_weight = by_name(X, y, cv=cv, sample_weight=sample_weight)
    source = with_known_length(model.open_rows(X, y, fitted=True), "for the jackknife")
    if not in_order(source):
        raise no_order("the parts that a jackknife leaves out")
    n = _count(model, source)
    weights = np.ones(n) if sample_weight is None else to_numpy(sample_weight).astype(float)
    if weights.shape != (n,):
        raise bad_weights("must have one entry per row", f"shape {weights.shape} for {n} rows")
    # Parts in which all rows have weight zero are skipped.
    parts = [test for _, test in split_rows(cv, n, weights=weights) if np.any(weights[test] > 0)]
    if not np.array_equal(np.sort(np.concatenate([*parts, np.zeros(0, int)])), np.flatnonzero(_in_parts(parts, n))):
        raise ValueError(f"the jackknife needs parts that do not overlap, but those of cv={cv!r} do.")
    if np.any(weights[~_in_parts(parts, n)] > 0):
        raise ValueError(f"the jackknife needs parts that cover all rows, but those of cv={cv!r} do not.")
    n_rows = int(np.count_nonzero(weights))
    if n_rows != model.n_samples_:
        raise ValueError(
            f"{n_rows} rows have a positive weight, but the model was fitted on {model.n_samples_}: pass the rows and "
            "weights of the fit."
        )
    if len(parts) < 2:
        raise ValueError(f"the jackknife needs at least 2 parts with rows, cv={cv!r} gives {len(parts)}.")
    replicates = []
    tables = with_known_products(model, source)
    for left_out in parts:
        kept = weights.copy()
        kept[left_out] = 0.0
        fit = clone(model).fit(*tables, sample_weight=kept)
        replicates.append(to_numpy(fit.coef_).astype(float))
    coef = to_numpy(model.coef_).astype(float)
    stack = np.stack(replicates)
    g = len(parts)
    q, p = coef.shape
    features = list(getattr(model, "feature_names_in_", numbered("x", p)))
    targets = list(getattr(model, "target_names_in_", numbered("y", q)))
    return Jackknife(coef, stack, np.sqrt((g - 1) * stack.var(axis=0)), features, targets)


def _in_parts(parts: list[np.ndarray], n: int) -> np.ndarray:
    """Which of n rows are in at least one part."""
    held = np.zeros(n, dtype=bool)
    for part in parts:
        held[part] = True
    return held


def _count(model: Any, source: Source) -> int:
    """The number of rows; an error if they cannot be those of the fit."""
    if source.shape[0] is None:
        raise unknown_length("the jackknife")
    fitted = (model.n_features_in_, model.y_mean_.shape[0])
    groups = tuple(table.shape[1] for table in tables_in(source))
    if groups != fitted:
        raise ValueError(
            f"X and y have {groups[0]} and {groups[1]} columns, the model was fitted on {fitted[0]} and "
            f"{fitted[1]}: pass the rows of the fit."
        )
    return int(source.shape[0])
