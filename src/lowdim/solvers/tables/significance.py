"""Tests of how many canonical correlations are significant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from ...tabular import Table, Tabular, numbered


@dataclass(frozen=True, repr=False)
class CanonicalTests(Tabular):
    """Tests of the hypotheses that correlation k and all later ones are zero, one entry for each k."""

    correlations: np.ndarray
    #: prod_{j >= k} (1 - r_j^2).
    wilks: np.ndarray
    #: Rao's approximation of Wilks' lambda by F, its degrees of freedom and p-values.
    f: np.ndarray
    f_dof: np.ndarray
    f_p: np.ndarray
    #: Bartlett's approximation by chi-square.
    chi2: np.ndarray
    chi2_dof: np.ndarray
    chi2_p: np.ndarray

    def __repr__(self) -> str:
        real = int(np.count_nonzero(self.f_p < 0.05))
        return f"CanonicalTests({real} of {len(self.f_p)} correlations with p < 0.05 by Rao's F)"

    def table(self) -> Table:
        """A row for each k: "from 2" tests that the second and all later correlations are zero."""
        columns = {
            "r": self.correlations,
            "Wilks": self.wilks,
            "F": self.f,
            "dof 1": self.f_dof[:, 0].astype(int),
            "dof 2": self.f_dof[:, 1],
            "p(F)": self.f_p,
            "chi2": self.chi2,
            "dof": self.chi2_dof,
            "p(chi2)": self.chi2_p,
        }
        title = "Tests that this correlation and all later ones are zero"
        return Table(columns, numbered("from ", len(self.f_p)), title=title, row_name="correlations")


def canonical_tests(correlations: np.ndarray, n: float, p: int, q: int) -> CanonicalTests:
    """Wilks' lambda with Rao's F [1]_ and Bartlett's chi-square [2]_ for n rows of tables of ranks p and q.

    Bartlett: -(n - 1 - (p + q + 1) / 2) ln lambda is approximately chi-square with (p - k)(q - k) degrees of freedom,
    where lambda leaves out the first k correlations.

    References
    ----------
    .. [1] Rao (1973), Linear statistical inference and its applications, section 8c.5.
    .. [2] Bartlett (1941), The statistical significance of canonical correlations.
    """
    factor = n - 1 - (p + q + 1) / 2
    if n - 1 < p + q:
        raise ValueError(
            f"n_samples={n:g} is too few for tests of tables of ranks {p} and {q}: at least {p + q + 1} are needed."
        )
    r = correlations[: min(p, q)]
    k = np.arange(len(r))
    with np.errstate(divide="ignore"):
        log_wilks = np.cumsum(np.log1p(-(r[::-1] ** 2)))[::-1]
    a, b = p - k, q - k
    dof = a * b
    squares = a**2 + b**2 - 5.0
    power = np.where(squares > 0, np.sqrt(np.clip((dof**2 - 4.0) / np.where(squares > 0, squares, 1.0), 0, None)), 1.0)
    power = np.where(dof == 2, 1.0, power)
    dof2 = factor * power - dof / 2 + 1
    with np.errstate(divide="ignore", over="ignore"):
        f = np.expm1(-log_wilks / power) * dof2 / dof
    chi2 = -factor * log_wilks
    return CanonicalTests(
        correlations=r,
        wilks=np.exp(log_wilks),
        f=f,
        f_dof=np.column_stack([dof, dof2]),
        f_p=special.fdtrc(dof, dof2, f),
        chi2=chi2,
        chi2_dof=dof,
        chi2_p=special.chdtrc(dof, chi2),
    )
