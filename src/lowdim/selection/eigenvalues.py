"""The eigenvalues of a covariance or correlation matrix, and what else the rules for the number of components need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._xp import to_numpy
from ..errors import no_variance, too_few_rows
from ..linalg import FLOAT64_EPS, divisor, is_constant, most_components, quiet_blas, rank_cut, require_size, svd_thin
from ..solvers import Spectrum
from ..summaries import Columns, Gram, GramRoot, Moments, Triangle
from ..summaries.base import require_seen


class Unavailable(ValueError):
    """The rule is not available for these rows; the message says why.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import Moments
    >>> from lowdim.selection import Eigenvalues, Unavailable, rule_of
    >>> one_column = Eigenvalues.from_summary(Moments.from_covariance(np.eye(1), n_samples=50))
    >>> try:
    ...     rule_of("map").function(one_column)
    ... except Unavailable as error:
    ...     print(error)
    partial correlations need at least 2 columns that are not constant
    """


@dataclass(frozen=True, eq=False)
class Eigenvalues:
    """The input of the rules, as float64 NumPy arrays.

    Rules ignore columns that are constant up to the rounding of their entries. The p of the formulas is therefore
    `n_varying`, the number of the other columns, if it is known which columns are constant.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import Moments
    >>> from lowdim.selection import Eigenvalues
    >>> e = Eigenvalues.from_summary(Moments.from_covariance(np.diag([3.0, 1.0, 0.0]), n_samples=50))
    >>> e.values, e.total, e.rank
    (array([3., 1.]), 4.0, 2)
    """

    #: lambda_1 >= lambda_2 >= ..., with divisor n - ddof: the min(n - 1, n_varying) that can be nonzero, or
    #: min(n, n_varying) if the mean was not subtracted.
    values: np.ndarray
    #: Number of rows, counted with their weights.
    n: float
    #: Number of columns, including constant ones.
    p: int
    ddof: int
    #: Sum of all eigenvalues (the trace).
    total: float
    #: Variances of the columns (1 after standardizing, 0 for constant ones), shape (p,), or None if unknown.
    variances: np.ndarray | None
    #: Covariance matrix, or correlation matrix after standardizing, shape (p, p), or None if it was not computed.
    matrix: np.ndarray | None
    standardize: bool
    #: Which columns are not constant, shape (p,), or None if unknown.
    varying: np.ndarray | None = None
    #: Rounding error of the eigenvalues, in units of lambda_1.
    epsilon: float = FLOAT64_EPS
    #: Whether the mean was subtracted. If not, second moments about zero take the place of (co)variances.
    center: bool = True

    @classmethod
    def from_summary(
        cls, summary: Moments | Triangle, standardize: bool = False, ddof: int = 1, center: bool = True
    ) -> Eigenvalues:
        """The eigenvalues of a summary: those of the scatter matrix of a Moments, or the squared singular values of the
        root of a Triangle, which are accurate also if they are small. Constant columns become zero."""
        require_seen(summary)
        mean = _to_float64(summary.mean)
        summary = summary if center else summary.about_zero()
        n, p = float(summary.weight), summary.n_features
        _require_two_rows(summary.n_rows, n)
        per = divisor(n, ddof)
        if isinstance(summary, Triangle):
            root, S = _to_float64(summary.root), None
            squares = (root * root).sum(axis=0)
        else:
            root, S = None, _to_float64(summary.scatter)
            squares = np.diagonal(S)
        require_size(squares, mean, n, each=standardize)
        deviation = np.sqrt(squares / per)
        varying = ~is_constant(deviation, _to_float64(summary.mean))
        if not varying.any():
            raise no_variance("choosing how many components to keep")
        if standardize or not varying.all():
            # Divide rows and columns separately, since the product of two deviations may overflow or underflow.
            scale = np.where(varying, deviation if standardize else 1.0, np.inf)
            root = None if root is None else root / scale
            S = None if S is None else S / scale[:, None] / scale
        values, matrix = _scatter_eigenvalues(S, p) if root is None else _root_eigenvalues(root)
        if standardize:
            np.fill_diagonal(matrix, np.where(varying, per, 0.0))
        matrix /= per
        variances = np.diagonal(matrix).copy()
        m = _max_rank(summary.n_rows, n, int(np.count_nonzero(varying)), center)
        return cls(
            values=_pad(values / per, m),
            n=n,
            p=p,
            ddof=ddof,
            total=float(variances.sum()),
            variances=variances,
            matrix=matrix,
            standardize=bool(standardize),
            varying=varying,
            epsilon=summary.product_eps if isinstance(summary, Moments) else FLOAT64_EPS,
            center=center,
        )

    @classmethod
    def from_gram(cls, gram: Gram, columns: Columns, standardize: bool = False, ddof: int = 1) -> Eigenvalues:
        """The eigenvalues of the inner products of the rows (the squared singular values of their root, for a
        GramRoot), and the variances of the columns; both about zero if the products are."""
        _require_two_rows(columns.n_rows, columns.weight)
        columns = columns if gram.centre else columns.about_zero()
        per = divisor(columns.weight, ddof)
        squares, mean = _to_float64(columns.squares), _to_float64(columns.mean)
        varying = ~is_constant(np.sqrt(squares / per), mean)
        if not varying.any():
            raise no_variance("choosing how many components to keep")
        if isinstance(gram, GramRoot):
            root = _to_float64(gram.product)
            unit = float(np.abs(root).max()) or 1.0
            values = (svd_thin(root / unit)[1] * unit) ** 2
        else:
            values, _ = _scatter_eigenvalues(_to_float64(gram.centred()), gram.n_samples)
        require_size(values[:1], mean, columns.weight)
        values = values / per
        m = _max_rank(columns.n_rows, columns.weight, int(np.count_nonzero(varying)), gram.centre)
        return cls(
            values=_pad(values, m),
            n=float(columns.weight),
            p=columns.n_features,
            ddof=ddof,
            total=float(values.sum()),
            variances=np.where(varying, 1.0 if standardize else squares / per, 0.0),
            matrix=None,
            standardize=bool(standardize),
            varying=varying,
            center=gram.centre,
        )

    @classmethod
    def from_spectrum(
        cls, spectrum: Spectrum, p: int, ddof: int = 1, *, variances: Any = None, varying: Any = None
    ) -> Eigenvalues:
        """The eigenvalues of a spectrum with all min(n, p) eigenpairs; `variances` and `varying` are those of the
        columns, if known."""
        _require_two_rows(spectrum.n_rows, spectrum.weight)
        n_varying = p if varying is None else int(np.count_nonzero(varying))
        m = _max_rank(spectrum.n_rows, spectrum.weight, n_varying, spectrum.center)
        if spectrum.values.shape[0] < m:
            raise ValueError(
                f"the spectrum holds {spectrum.values.shape[0]} of {m} eigenvalues, and rules need all of them: solve "
                "for k=None."
            )
        per = divisor(spectrum.weight, ddof)
        values = np.clip(spectrum.values.astype(np.float64), 0.0, None) / per
        if n_varying == 0 or not values[:1].any():
            raise no_variance("choosing how many components to keep")
        return cls(
            values=_pad(values, m),
            n=float(spectrum.weight),
            p=p,
            ddof=ddof,
            total=spectrum.total / per,
            variances=None if variances is None else _to_float64(variances),
            matrix=None,
            standardize=spectrum.scale is not None,
            varying=None if varying is None else np.asarray(varying, dtype=bool),
            epsilon=spectrum.epsilon,
            center=spectrum.center,
        )

    @property
    def free(self) -> float:
        """The degrees of freedom of the scatter matrix: n - 1, or n if the mean was not subtracted."""
        return self.n - 1.0 if self.center else self.n

    @property
    def cut(self) -> float:
        """The value, in units of lambda_1, at or below which eigenvalues count as zero."""
        return rank_cut(1.0, self.p, self.epsilon)

    @property
    def relative(self) -> np.ndarray:
        """lambda_k / lambda_1, or zero if it is at or below `cut`; squares of these do not overflow or underflow."""
        shares = self.values / self.values[0]
        return np.where(shares > self.cut, shares, 0.0)

    @property
    def rank(self) -> int:
        """The number of nonzero eigenvalues."""
        return int(np.count_nonzero(self.relative))

    @property
    def n_varying(self) -> int:
        """The number of columns that are not constant, or of all columns if that is unknown."""
        return self.p if self.varying is None else int(np.count_nonzero(self.varying))


def _require_two_rows(n_rows: int, weight: float) -> None:
    """Refuse a single row, which has no variance whatever the divisor."""
    if (n_rows < 2 and weight <= n_rows) or divisor(weight, 1) <= 0:
        raise too_few_rows(n_rows, weight, 1, fixed=True)


def _max_rank(n_rows: int, weight: float, p: int, center: bool) -> int:
    """min(n - 1, p), since centring removes one direction; otherwise min(n, p). A row of weight 2 counts as two."""
    return max(1, min(most_components(n_rows, weight, p + 1) - center, p))


def _scatter_eigenvalues(S: np.ndarray | None, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues of a scatter matrix, descending, and the matrix itself."""
    assert S is not None
    unit = float(np.diagonal(S).max()) or 1.0
    with quiet_blas(p):
        values = np.linalg.eigvalsh(S / unit)[::-1]
    return np.clip(values, 0.0, None) * unit, S


def _root_eigenvalues(root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for R^T R, from the singular values of R."""
    unit = float(np.abs(root).max())
    s = svd_thin(root / unit)[1] * unit
    return s * s, root.T @ root


def _pad(values: np.ndarray, m: int) -> np.ndarray:
    """Exactly `m` values: zeros are appended, or values beyond m, which are rounding errors, are dropped."""
    return np.concatenate([values, np.zeros(max(0, m - len(values)))])[:m]


def _to_float64(x: Any) -> np.ndarray:
    return np.array(to_numpy(x), dtype=np.float64)
