"""Whether a table is suitable for factor analysis, before one is fitted: KMO and Bartlett's test of sphericity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from .. import summaries
from .._core.types import VectorLike
from ..solvers import latent
from ..solvers.problem import Request
from ..sources.base import Source
from ..sources.beside import ColumnsSource
from ..sources.opening import TableLike, by_name
from ..summaries.base import names_of_tables
from ..summaries.moments import Moments
from ..summaries.triangle import Triangle
from ..table import Table, Tabular, numbered
from .choose import complete_or_missing, eigenvalues_of
from .criteria import Eigenvalues
from .scorers import varying_rows

#: Kaiser's words for values of KMO, from their lower ends on.
_WORDS = ((0.9, "marvelous"), (0.8, "meritorious"), (0.7, "middling"), (0.6, "mediocre"), (0.5, "miserable"))
#: Columns take part in a linear dependence if their share of a null vector is above this.
_TAKES_PART = 1e-6
#: At most so many columns are named in a note.
_NAMED = 6


@dataclass(frozen=True, repr=False, eq=False)
class Suitability(Tabular):
    """How much the columns of a table have in common. What is not defined is None or NaN, and `notes` say why.

    Attributes
    ----------
    kmo : float or None
        Kaiser, Meyer and Olkin's measure of sampling adequacy for the whole table, between 0 and 1.
    kmo_columns : array of shape (n_features,)
        The same for each column.
    smc : array of shape (n_features,)
        Squared multiple correlation of each column with all others.
    chi_square, p_value : float or None
        Bartlett's test of sphericity: of the hypothesis that no two columns are correlated.
    dof : int
        Its degrees of freedom.
    n : float
        Number of rows, counted with their weights.
    columns : list of str
        The names of the columns.
    notes : tuple of str

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import factor_suitability
    >>> found = factor_suitability(load_wine().data[:, :7])
    >>> type(found).__name__, round(found.kmo, 3), found.dof
    ('Suitability', 0.576, 21)
    """

    n: float
    columns: list[str]
    kmo: float | None
    kmo_columns: np.ndarray
    smc: np.ndarray
    chi_square: float | None
    dof: int
    p_value: float | None
    notes: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """Kaiser's word for the value of `kmo`."""
        if self.kmo is None:
            return "not defined"
        return next((word for least, word in _WORDS if self.kmo >= least), "unacceptable")

    def table(self) -> Table:
        """One row for each column of the data, with its KMO and its squared multiple correlation."""
        return Table(
            {"KMO": self.kmo_columns, "SMC": self.smc},
            self.columns,
            title=f"Suitability for factor analysis: {self.n:g} rows, {len(self.columns)} columns",
            notes=[*self._lines(), *self.notes],
            row_name="column",
        )

    def __repr__(self) -> str:
        kmo = "not defined" if self.kmo is None else f"{self.kmo:.3f}"
        return f"Suitability(KMO {kmo}, {len(self.columns)} columns)"

    def _lines(self) -> list[str]:
        """KMO and the test in words."""
        if self.kmo is None:
            return []
        lines = [f"KMO of all columns: {self.kmo:.3f} ({self.word})"]
        if self.chi_square is not None and self.p_value is not None:
            p = f"= {self.p_value:.3f}" if self.p_value >= 1e-3 else f"= {self.p_value:.1e}"
            p = "below 1e-300" if self.p_value < 1e-300 else p
            test = f"chi-square {self.chi_square:.2f}, {self.dof} degrees of freedom, p {p}"
            lines.append(f"Bartlett's test of sphericity: {test}")
        return lines


def factor_suitability(X: TableLike | Moments | Triangle, *, sample_weight: VectorLike | None = None) -> Suitability:
    """Whether columns have enough in common for factor analysis: KMO, and Bartlett's test of sphericity.

    Parameters
    ----------
    X : rows, Moments or Triangle
        Anything that `open_source` reads, with or without missing values, or a summary of rows.
        `Moments.from_covariance(cov, n_samples)` makes one from a covariance or correlation matrix.
    sample_weight : array of shape (n_samples,), or str, default=None
        Frequency weights, or the name of a column of X that holds them: weight 2 equals repeating the row.

    Returns
    -------
    Suitability
        With `kmo`, `kmo_columns`, `smc`, `chi_square`, `dof` and `p_value`; it prints as a table.

    Notes
    -----
    With the correlations r_ij, and the partial correlations a_ij = -q_ij / sqrt(q_ii q_jj) of two columns given all
    others, where Q is the inverse of the correlation matrix R, KMO is sum r_ij^2 / (sum r_ij^2 + sum a_ij^2) [1]_: over
    all pairs i != j, or, for column i, over all j != i. It is small if what two columns share is shared by no other
    column. Kaiser called values below 0.5 unacceptable.

    Bartlett's test [2]_ compares -(n - 1 - (2p + 5) / 6) ln|R| with a chi-square of p (p - 1) / 2 degrees of freedom.
    With many rows it rejects nearly always.

    One pass over the rows and p^2 numbers; a second pass if products of the rows are too inaccurate. Constant columns
    are left out. If R is singular, KMO and the test are not defined, and a note says why.

    With missing values, R is the correlation matrix of maximum likelihood given the observed entries, found by EM (one
    pass for rows that fit into memory). The test is then the ratio of the likelihoods of the observed entries,
    without Bartlett's correction.

    References
    ----------
    .. [1] Kaiser, Rice (1974), Little Jiffy, Mark IV; Kaiser (1974), An index of factorial simplicity.
    .. [2] Bartlett (1951), The effect of standardization on a chi square approximation in factor analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import factor_suitability
    >>> print(factor_suitability(load_iris(as_frame=True).data))
    Suitability for factor analysis: 150 rows, 4 columns
    column                KMO     SMC
    sepal length (cm)  0.5841  0.8586
    sepal width (cm)   0.2696  0.5240
    petal length (cm)  0.5307  0.9680
    petal width (cm)   0.6342  0.9379
    KMO of all columns: 0.540 (miserable)
    Bartlett's test of sphericity: chi-square 706.96, 6 degrees of freedom, p = 1.9e-149
    """
    X, _, sample_weight = by_name(X, sample_weight=sample_weight)

    def of_complete(rows: Any, weights: Any) -> Suitability:
        names = rows.names if isinstance(rows, Source) else names_of_tables(rows.names, [rows.n_features])[0]
        request = Request(scale=True)
        e = eigenvalues_of(rows, request, weights, matrix=True)
        labels, varying = _labels(names, e.p), np.ones(e.p, dtype=bool) if e.varying is None else e.varying
        if e.matrix is None and 2 <= np.count_nonzero(varying) < e.n:
            # There are fewer rows than columns, but not than columns that vary.
            e = eigenvalues_of(ColumnsSource(rows, np.flatnonzero(varying).tolist()), request, weights, matrix=True)
        return _from_correlations(e, labels, varying)

    if isinstance(X, Moments | summaries.Triangle):
        return of_complete(X, sample_weight)
    rows, found = complete_or_missing(X, sample_weight, of_complete, "for correlations")
    if found is not None:
        return found
    labels = _labels(rows.names, rows.shape[1])
    rows, varying = varying_rows(rows)
    _require_two(varying)
    return _with_missing(latent.saturated(rows), labels, varying)


def _labels(names: Any, p: int) -> list[str]:
    return numbered("x", p) if names is None else [str(name) for name in names]


def _from_correlations(e: Eigenvalues, labels: list[str], varying: np.ndarray) -> Suitability:
    """The result for complete rows, from the eigenvalues of all columns or of those that vary."""
    p = _require_two(varying)
    notes = _left_out(labels, varying)
    kmo_columns, smc = np.full(len(labels), np.nan), np.full(len(labels), np.nan)
    dof = p * (p - 1) // 2
    if e.matrix is None or e.rank < p:
        notes.append(_why_singular(e, p, labels, varying))
        return Suitability(e.n, labels, None, kmo_columns, smc, None, dof, None, tuple(notes))
    R = _of_varying(e, varying)
    kmo, kmo_columns[varying], smc[varying] = sampling_adequacy(R)
    # Positive, because a regular correlation matrix of p columns needs more than p rows.
    factor = e.n - 1.0 - (2 * p + 5) / 6.0
    chi_square = max(-factor * float(np.linalg.slogdet(R)[1]), 0.0)
    p_value = float(special.chdtrc(dof, chi_square))
    return Suitability(e.n, labels, kmo, kmo_columns, smc, chi_square, dof, p_value, tuple(notes))


def _of_varying(e: Eigenvalues, varying: np.ndarray) -> np.ndarray:
    """The correlations of the columns that vary."""
    assert e.matrix is not None, "known unless there are as many columns that vary as rows"
    return e.matrix if len(e.matrix) < len(varying) else e.matrix[np.ix_(varying, varying)]


def _require_two(varying: np.ndarray) -> int:
    """The number of columns that vary, which must be two at least."""
    p = int(np.count_nonzero(varying))
    if p < 2:
        raise ValueError(f"X has {p} column(s) that vary, and correlations need at least 2. Give more columns.")
    return p


def _left_out(labels: list[str], varying: np.ndarray) -> list[str]:
    return [] if np.all(varying) else [f"Constant, and left out: {_listed(labels, ~varying)}."]


def _with_missing(found: latent.Saturated, labels: list[str], varying: np.ndarray) -> Suitability:
    """The result for rows with missing values, from the covariance of the columns that vary."""
    sd = np.sqrt(np.diagonal(found.covariance))
    kmo_columns, smc = np.full(len(labels), np.nan), np.full(len(labels), np.nan)
    kmo, kmo_columns[varying], smc[varying] = sampling_adequacy(found.covariance / sd / sd[:, None])
    dof = len(sd) * (len(sd) - 1) // 2
    chi_square = max(2.0 * (found.loglike - found.independent), 0.0)
    note = (
        f"{1.0 - found.observed:.1%} of the entries are missing: correlations of maximum likelihood, by EM, and the "
        "test by likelihoods of the observed entries, without Bartlett's correction."
    )
    p_value = float(special.chdtrc(dof, chi_square))
    notes = (*_left_out(labels, varying), note)
    return Suitability(found.weight, labels, kmo, kmo_columns, smc, chi_square, dof, p_value, notes)


def sampling_adequacy(R: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """KMO of all columns and of each, and the squared multiple correlations, for a regular correlation matrix.

    If no two columns are correlated at all, KMO is 0 / 0; it is set to 0.5, its value for two columns.
    """
    Q = np.linalg.inv(R)
    diagonal = np.diagonal(Q)
    partial = Q / np.sqrt(diagonal[:, None] * diagonal)
    ordinary = np.sum(R * R, axis=1) - np.diagonal(R) ** 2
    partials = np.sum(partial * partial, axis=1) - 1.0
    total = ordinary + partials
    none = total <= 0.0
    each = np.where(none, 0.5, ordinary / np.where(none, 1.0, total))
    whole = 0.5 if np.all(none) else float(ordinary.sum() / total.sum())
    return whole, each, np.clip(1.0 - 1.0 / diagonal, 0.0, 1.0)


def _why_singular(e: Eigenvalues, p: int, labels: list[str], varying: np.ndarray) -> str:
    """Why partial correlations are not defined."""
    if e.n - 1.0 < p:
        return (
            f"Not defined: {e.n:g} rows have a singular correlation matrix of {p} columns. More rows than columns are "
            "needed."
        )
    _, vectors = np.linalg.eigh(_of_varying(e, varying))
    dependent = np.zeros(len(labels), dtype=bool)
    dependent[varying] = np.max(np.abs(vectors[:, : p - e.rank]), axis=1) > _TAKES_PART
    return (
        f"Not defined: the correlation matrix is singular, of rank {e.rank} of {p}. These columns depend linearly on "
        f"one another: {_listed(labels, dependent)}. Drop {p - e.rank} of them."
    )


def _listed(labels: list[str], which: np.ndarray) -> str:
    names = [labels[j] for j in np.flatnonzero(which)]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
