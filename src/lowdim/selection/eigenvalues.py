"""The eigenvalues of a covariance or correlation matrix, with what the rules that count components need beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._xp import to_numpy
from ..errors import no_rows_seen, no_variance, too_few_rows
from ..linalg import FLOAT64_EPS, divisor, is_constant, most_components, quiet_blas, rank_cut, svd_thin
from ..solvers import Spectrum
from ..summaries import Moments, Triangle


class Unavailable(ValueError):
    """A rule that cannot be had for these rows; the message says why."""


@dataclass(frozen=True, eq=False)
class Eigenvalues:
    """All that a rule may look at. Everything lies on the host, in float64.

    Columns that are constant, or vary by the rounding of their entries only, are no part of any rule: where they are
    known, `n_varying` columns are left, and this is the p of the formulas.
    """

    #: lambda_1 >= lambda_2 >= ..., divisor n - ddof: the min(n - 1, n_varying) that can be other than zero.
    values: np.ndarray
    #: Rows, counted with their weights.
    n: float
    #: Columns, constant ones too.
    p: int
    ddof: int
    #: Sum of all eigenvalues: the trace.
    total: float
    #: Variances of the columns (1 after standardizing, 0 for constant ones), (p,), or None where unknown.
    variances: np.ndarray | None
    #: Covariance, or correlation after standardizing, (p, p), or None where it was not formed.
    matrix: np.ndarray | None
    standardize: bool
    #: Which columns are not constant, (p,), or None where unknown.
    varying: np.ndarray | None = None
    #: Rounding of the products the eigenvalues come from, in units of lambda_1.
    epsilon: float = FLOAT64_EPS

    @classmethod
    def from_summary(cls, summary: Moments | Triangle, standardize: bool = False, ddof: int = 1) -> Eigenvalues:
        """From what a summary holds. A Moments gives eigenvalues of its scatter; a Triangle gives squared singular
        values of its root, so that small ones keep their digits. Constant columns become zero."""
        if summary.mean is None:
            raise no_rows_seen()
        n, p = float(summary.weight), summary.n_features
        _require_two_rows(summary.n_rows, n)
        per = divisor(n, ddof)
        if isinstance(summary, Triangle):
            root, S = _host(summary.root), None
            deviation = np.sqrt((root * root).sum(axis=0) / per)
        else:
            root, S = None, _host(summary.scatter)
            deviation = np.sqrt(np.diagonal(S) / per)
        varying = ~is_constant(deviation, _host(summary.mean))
        if not varying.any():
            raise no_variance("choosing how many components to keep")
        if standardize or not varying.all():
            # Divided by one side at a time, so that no product of two deviations need fit the range of numbers.
            scale = np.where(varying, deviation if standardize else 1.0, np.inf)
            root = None if root is None else root / scale
            S = None if S is None else S / scale[:, None] / scale
        values, matrix = _of_scatter(S, p) if root is None else _of_root(root)
        if standardize:
            np.fill_diagonal(matrix, np.where(varying, per, 0.0))
        matrix /= per
        variances = np.diagonal(matrix).copy()
        m = _can_be_nonzero(summary.n_rows, n, int(np.count_nonzero(varying)))
        return cls(
            values=_padded(values / per, m),
            n=n,
            p=p,
            ddof=ddof,
            total=float(variances.sum()),
            variances=variances,
            matrix=matrix,
            standardize=bool(standardize),
            varying=varying,
            epsilon=summary.product_eps if isinstance(summary, Moments) else FLOAT64_EPS,
        )

    @classmethod
    def from_spectrum(
        cls, spectrum: Spectrum, p: int, ddof: int = 1, *, variances: Any = None, varying: Any = None
    ) -> Eigenvalues:
        """From a solved spectrum of all min(n, p) pairs: no matrix, and of the columns what is given."""
        _require_two_rows(spectrum.n_rows, spectrum.weight)
        n_varying = p if varying is None else int(np.count_nonzero(varying))
        m = _can_be_nonzero(spectrum.n_rows, spectrum.weight, n_varying)
        if spectrum.values.shape[0] < m:
            raise ValueError(
                f"the spectrum holds {spectrum.values.shape[0]} of {m} eigenvalues, and rules need them all: solve for "
                "k=None."
            )
        per = divisor(spectrum.weight, ddof)
        values = np.clip(_host(spectrum.values), 0.0, None) / per
        if n_varying == 0 or not values[:1].any():
            raise no_variance("choosing how many components to keep")
        return cls(
            values=_padded(values, m),
            n=float(spectrum.weight),
            p=p,
            ddof=ddof,
            total=spectrum.total / per,
            variances=None if variances is None else _host(variances),
            matrix=None,
            standardize=spectrum.scale is not None,
            varying=None if varying is None else np.asarray(varying, dtype=bool),
            epsilon=spectrum.epsilon,
        )

    @property
    def cut(self) -> float:
        """In units of lambda_1: eigenvalues at or below this are zero as far as arithmetic can tell."""
        return rank_cut(1.0, self.p, self.epsilon)

    @property
    def relative(self) -> np.ndarray:
        """lambda_k / lambda_1, zero where that cannot be told from zero: no square leaves the range of numbers."""
        shares = self.values / self.values[0]
        return np.where(shares > self.cut, shares, 0.0)

    @property
    def rank(self) -> int:
        """How many eigenvalues are not zero."""
        return int(np.count_nonzero(self.relative))

    @property
    def n_varying(self) -> int:
        """Columns that are not constant, or all where that is unknown."""
        return self.p if self.varying is None else int(np.count_nonzero(self.varying))


def _require_two_rows(n_rows: int, weight: float) -> None:
    """One row has no variance, whatever the divisor."""
    if (n_rows < 2 and weight <= n_rows) or divisor(weight, 1) <= 0:
        raise too_few_rows(n_rows, weight, 1, fixed=True)


def _can_be_nonzero(n_rows: int, weight: float, p: int) -> int:
    """min(n - 1, p): the mean takes one direction away. A row of weight 2 counts as two rows."""
    return max(1, min(most_components(n_rows, weight, p + 1) - 1, p))


def _of_scatter(S: np.ndarray | None, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a scatter matrix, descending, and the matrix, in its own units."""
    assert S is not None
    unit = float(np.diagonal(S).max())
    with quiet_blas(p):
        values = np.linalg.eigvalsh(S / unit)[::-1]
    return np.clip(values, 0.0, None) * unit, S


def _of_root(root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of R^T R, from singular values of R."""
    unit = float(np.abs(root).max())
    s = svd_thin(root / unit)[1] * unit
    return s * s, root.T @ root


def _padded(values: np.ndarray, m: int) -> np.ndarray:
    """Exactly `m` values: zeros are added, or what rounding left beyond the rank is dropped."""
    return np.concatenate([values, np.zeros(max(0, m - len(values)))])[:m]


def _host(x: Any) -> np.ndarray:
    return np.array(to_numpy(x), dtype=np.float64)
