"""Whitening: a linear map to uncorrelated columns with unit variances."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, astype, dense, device, in_range, namespace, numpy_dtype, smallest_normal
from .._core.schema import Instance, Maybe, Numbers, Real, Sometimes
from .._core.threads import memory_bytes
from .._core.types import RandomState
from ..errors import RankWarning, choice, needs_memory, no_variance, warn_user
from ..features import affine
from ..linalg import divisor, r_factor
from ..reading.rows import Rows
from ..solvers import spectra
from ..solvers.problem import Request, Spectrum, leading_count
from ..solvers.spectra import SolverName
from ..solvers.spectra.covariance import Solver
from ..summaries.moments import FourthMoments, Moments
from ..table import numbered
from .output import derived
from .spectral import SpectralModel

KINDS = ("pca", "zca", "cholesky", "pca-cor", "zca-cor")


# Shrinkage intensities of a covariance matrix.
#
# Both functions compute the intensity `a`, between 0 and 1, with which the covariance S (divisor n) is shrunk towards
# its average eigenvalue: (1 - a) S + a (tr S / p) I.


def ledoit_wolf(spectrum: Spectrum, p: int, fourth: float | None) -> float:
    """min(b, d) / d with d = |S - mu I|^2 / p and b = (fourth / n - |S|^2) / (n p), mu = tr S / p [1]_.

    `fourth` is sum_i |x_i - mean|^4, as computed by FourthMoments. The computation is in units of tr S.

    References
    ----------
    .. [1] Ledoit, Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, lemmas 3.2-3.4.
    """
    assert fourth is not None
    n, trace = spectrum.weight, spectrum.total / spectrum.weight
    squares = _squares(spectrum)
    distance = squares - 1 / p
    spread = (fourth / n / trace / trace - squares) / n if trace > 0.0 else 0.0
    return 0.0 if distance <= 0.0 else min(max(spread, 0.0), distance) / distance


def oas(spectrum: Spectrum, p: int, fourth: float | None) -> float:
    """The oracle-approximating intensity [1]_, eq. 23.

    References
    ----------
    .. [1] Chen, Wiesel, Eldar, Hero (2010), Shrinkage algorithms for MMSE covariance estimation.
    """
    n = spectrum.weight
    squares = _squares(spectrum)
    number = (1.0 - 2.0 / p) * squares + 1.0
    denominator = (n + 1.0 - 2.0 / p) * (squares - 1 / p)
    return 1.0 if denominator <= 0.0 else min(number / denominator, 1.0)


def _squares(spectrum: Spectrum) -> float:
    """tr S^2 / (tr S)^2, which is all that the formulas need, and cannot overflow."""
    everything = spectrum.tail.plus(spectrum.values)
    assert everything.squares is not None, "Whitening requests all eigenvalues"
    return everything.squares


#: Shrinkages by name.
SHRINKAGE: dict[str, Any] = {"ledoit-wolf": ledoit_wolf, "oas": oas}


class Whitening(SpectralModel):
    """Whitening: the transformation z = W (x - mean) after which the covariance of z is the identity.

    Parameters
    ----------
    kind : {"pca", "zca", "cholesky", "pca-cor", "zca-cor"}, default="pca"
        Which W is used. With the covariance S = V Lambda V^T, its diagonal T, and the correlation matrix
        P = G Theta G^T, the matrices are

        - "pca": Lambda^{-1/2} V^T, the scores of PCA scaled to unit variance
        - "zca": S^{-1/2}, symmetric; z is as close to x as possible
        - "cholesky": upper triangular with W^T W = S^{-1}
        - "pca-cor": Theta^{-1/2} G^T T^{-1/2}
        - "zca-cor": P^{-1/2} T^{-1/2}; each column of z is as correlated as possible with the same column of x
    n_components : int, float or None, default=None
        For "pca" and "pca-cor": the number of rows of W to keep.
    regularization : float, "ledoit-wolf" or "oas", default=0.0
        A number that is added to the eigenvalues; or the name of a shrinkage estimate (1 - a) S + a (tr S / p) I of the
        covariance, whose intensity a (`shrinkage_`) is estimated from the moments.
    relative : bool, default=False
        Whether a number for `regularization` is in units of the average eigenvalue.
    solver : str or Solver, default="auto"
        As in PCA.
    ddof : int, default=1
        As in PCA.
    random_state : int, RandomState or None, default=None
        As in PCA.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features_in_)
        W. For the "zca" kinds with few rows, this p x p matrix is computed when it is asked for.
    inverse_ : array of shape (n_features_in_, n_components_)
        The (pseudo-)inverse of W; computed when it is asked for if W is.
    mean_, explained_variance_ (regularised eigenvalues, of P for the "-cor" kinds), shrinkage_
    n_components_, n_samples_, n_features_in_, feature_names_in_, solver_, plan_, status_, residual_

    Notes
    -----
    Without regularization, directions of zero variance cannot be whitened. They are dropped ("pca" kinds) or left out
    of W ("zca" kinds), with a warning; "cholesky" raises an error. The solver `covariance` needs one pass over the
    rows.

    If fewer than p / 2 directions have variance, as with n < p / 2 rows, the matrix of the "zca" kinds is kept as
    V^T diag(f) V + c (I - V^T V) (times T^{-1/2}), where V are the r eigenvectors with variance: `transform` and
    `inverse_transform` take 2 p r multiplications a row, and memory for p r numbers. Without regularization c = 0.

    References
    ----------
    .. [1] Kessy, Lewin, Strimmer (2018), Optimal whitening and decorrelation.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import Whitening
    >>> X = np.random.default_rng(0).standard_normal((50, 3)) @ np.array([[2, 1, 0], [0, 1, 0], [0, 0, 5.0]])
    >>> Z = Whitening("zca").fit_transform(X)
    >>> np.allclose(np.cov(Z.T), np.eye(3))
    True
    """

    def __init__(
        self,
        kind: Literal["pca", "zca", "cholesky", "pca-cor", "zca-cor"] = "pca",
        *,
        n_components: int | float | None = None,
        regularization: float | Literal["ledoit-wolf", "oas"] = 0.0,
        relative: bool = False,
        solver: SolverName | Solver = "auto",
        ddof: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.kind = kind
        self.n_components = n_components
        self.regularization = regularization
        self.relative = relative
        self.solver = solver
        self.ddof = ddof
        self.random_state = random_state

    def _fit_rows(self, rows: Rows) -> None:
        wolf = self.regularization == "ledoit-wolf"
        # Whether the eigenpairs come from the inner products of few rows.
        few = wolf and self.solver == "auto" and spectra.plan(rows, self._request_for(rows)).solver.reads_columns
        if wolf and not few:
            # The shrinkage intensity needs fourth moments, so the whole fit uses a summary with them.
            summary = rows.summarize(FourthMoments(rows.shape[1]))
            self._fit_summary(summary, spectra.streaming_solver(self.solver), rows.dtype, passes=1)
            return
        spectrum, the_plan = spectra.solve(rows, self._request_for(rows), self.solver)
        if wolf:
            self._set_fourth(_fourth_moment(rows, spectrum), spectrum.n_rows, spectrum.weight)
        self._finish(spectrum, the_plan, rows.dtype)

    shrinkage_: float
    explained_variance_: np.ndarray
    fitted_attributes = {
        "shrinkage_": Real("nonnegative", most=1.0),
        "explained_variance_": Numbers("*", sign="positive", order="descending"),
        "components_": Sometimes(Numbers("k", "p"), unless="_whitener"),
        "inverse_": Sometimes(Numbers("p", "k"), unless="_colourer"),
        "_whitener": Sometimes(Instance("models.SymmetricFactors", shares="p"), unless="components_"),
        "_colourer": Sometimes(Instance("models.SymmetricFactors", shares="p"), unless="inverse_"),
        "_column_scale": Sometimes(Maybe(Numbers("p", sign="positive")), unless="components_"),
    }

    @derived
    def components_(self) -> np.ndarray:
        """W, a p x p matrix that is not kept. A MemoryError says how large it is if it does not fit into memory."""
        W = self._whitener.dense("components_")
        return W if self._column_scale is None else W / self._column_scale[None, :]

    @derived
    def inverse_(self) -> np.ndarray:
        """The (pseudo-)inverse of W, a p x p matrix that is not kept."""
        B = self._colourer.dense("inverse_")
        return B if self._column_scale is None else B * self._column_scale[:, None]

    @property
    def component_names_(self) -> list[str]:
        """PC1, PC2, ... for the "pca" kinds; for the others, which return a column for each column, their names."""
        check_is_fitted(self)
        return super().component_names_ if self.kind.startswith("pca") else self._column_names()

    def _importance_names(self) -> list[str]:
        # The variances are those of the principal components, whatever W is.
        return numbered(self.component_name, int(self.explained_variance_.shape[0]))

    def _scoring(self) -> Any:
        if "_whitener" not in self.__dict__:
            return affine(self.components_.T, self.mean_, 1.0)
        W, scale, mean = self._whitener, self._column_scale, self.mean_
        A = W.vectors.T if scale is None else W.vectors.T / scale[:, None]
        coordinates = affine(A, mean, math.sqrt(float(self.explained_variance_[0])))

        def whiten(block: Array) -> Array:
            rows = None
            if W.beyond != 0.0:
                rows = dense(block) - astype(mean, block.dtype)
                rows = rows if scale is None else rows / astype(scale, block.dtype)
            return W.times(coordinates(block), rows)

        return whiten

    def _lift(self) -> Any:
        if "_colourer" not in self.__dict__:
            return self.inverse_.T
        B, scale = self._colourer, self._column_scale

        def colour(Z: Array) -> Array:
            X = B.times(Z @ astype(B.vectors, Z.dtype).T, Z)
            return X if scale is None else X * astype(scale, Z.dtype)

        return colour

    def _k(self, n: int | None, p: int) -> int | None:
        # The shrinkage intensity is estimated from all eigenvalues, even if few are kept.
        k = super()._k(n, p)
        return None if isinstance(self.regularization, str) else k

    def _least_rows(self, p: int) -> int:
        return p + 1 if self.kind == "cholesky" and self.regularization == 0.0 else super()._least_rows(p)

    def _request(self, n: int | None, p: int) -> Request:
        return replace(super()._request(n, p), scale=self.kind.endswith("-cor"))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.kind not in KINDS:
            raise choice("kind", self.kind, KINDS)
        if self.n_components is not None and not self.kind.startswith("pca"):
            raise ValueError(f"n_components={self.n_components!r} is only for kind='pca' and 'pca-cor'.")
        if not isinstance(self.relative, bool):
            raise ValueError(f"relative={self.relative!r} must be True or False.")
        r = self.regularization
        if isinstance(r, str):
            if r not in SHRINKAGE:
                raise choice("regularization", r, list(SHRINKAGE), "Or pass a number.")
            if r == "ledoit-wolf" and self.kind.endswith("-cor"):
                raise ValueError(f"kind={self.kind!r} goes with regularization='oas' or a number, not 'ledoit-wolf'.")
            solver = spectra.solver_of(self.solver)
            if r == "ledoit-wolf" and solver is not None and solver.starts_from is not Moments:
                raise ValueError(f"regularization={r!r} solves from the covariance, not with solver={self.solver!r}.")
            if solver is not None and not solver.finds_all:
                raise ValueError(
                    f"regularization={r!r} is estimated from all eigenvalues; solver={solver.name!r} finds a few."
                )
            if self.relative:
                raise ValueError(f"relative=True goes with a number, not with regularization={r!r}.")
        elif isinstance(r, bool) or not isinstance(r, numbers.Real) or not 0.0 <= r < float("inf"):
            raise ValueError(f"regularization={r!r} must be a number of at least 0, 'ledoit-wolf' or 'oas'.")
        elif self.relative and r == 0.0:
            raise ValueError("relative=True has no meaning without a positive regularization; pass one.")

    def _keep_first(self, k: int) -> None:
        if not self.kind.startswith("pca"):
            raise ValueError(
                f"kind={self.kind!r} has a whitened column for each column and no order among them, so that there are "
                "no first ones; use kind='pca' or 'pca-cor'."
            )
        super()._keep_first(k)

    def _check_fitted(self) -> None:
        k, p = self.n_components_, self.n_features_in_
        if not self.kind.startswith("pca") and k != p:
            raise ValueError(f"n_components_ is {k}, and there are {p} columns")

    def _empty_summary(self, solver: Solver, p: int) -> Any:
        return FourthMoments(p) if self.regularization == "ledoit-wolf" else super()._empty_summary(solver, p)

    def _fit_summary(self, summary: Any, solver: Solver, dtype: Any, passes: int = 0) -> None:
        if self.regularization == "ledoit-wolf":
            if not isinstance(summary, FourthMoments):
                raise TypeError(
                    "regularization='ledoit-wolf' needs FourthMoments; pass that summary, rows, or use 'oas'."
                )
            self._set_fourth(summary.fourth, summary.n_rows, summary.weight)
        super()._fit_summary(summary, solver, dtype, passes)

    def _set_fourth(self, fourth: float, n_rows: int, weight: float) -> None:
        """Keep the fourth moment, an error if it has lost its digits."""
        if n_rows > 1 and not fourth >= smallest_normal(np.asarray(fourth), weight):
            raise ValueError(
                "regularization='ledoit-wolf': the fourth moments are zero or have lost digits, because all rows "
                "are the same or so small that fourth powers underflow. Multiply them by a constant, or use 'oas'."
            )
        self._fourth = fourth

    def _unpack(self, spectrum: Spectrum, dtype: Any) -> None:
        p = self.n_features_in_
        average = spectrum.total / divisor(spectrum.weight, self.ddof) / p
        self.shrinkage_ = 0.0
        if isinstance(self.regularization, str):
            fourth = self.__dict__.pop("_fourth", None)
            self.shrinkage_ = SHRINKAGE[self.regularization](spectrum, p, fourth)
            added = self.shrinkage_ * average
        else:
            added = float(self.regularization) * (average if self.relative else 1.0)
        rank = spectrum.values.shape[0] if added > 0.0 else self._whole_rank(spectrum)
        rows = p
        if self.kind.startswith("pca"):
            rows = rank = min(rank, self._count_kept(spectrum))
        like = spectrum.vectors
        values = ((1.0 - self.shrinkage_) * spectrum.variances(self.ddof) + added)[:rank]
        self.n_components_ = rows
        self.mean_ = asarray_like(spectrum.mean, like, dtype=dtype)
        for name in ("components_", "inverse_", "_whitener", "_colourer", "_column_scale"):
            self.__dict__.pop(name, None)
        root = asarray_like(np.sqrt(values), like)
        # The eigenvalues of S^{-1/2}, S^{1/2} and S in the directions outside the eigenvectors.
        beyond = {power: added**power if added > 0.0 and rank < p else 0.0 for power in (-0.5, 0.5, 1.0)}
        if self.kind.startswith("zca") and 2 * rank < p:
            # W and its inverse are kept by their eigenvectors, in the units of the (standardized) columns.
            V = astype(spectrum.vectors[:rank, :], dtype)
            self._whitener = SymmetricFactors(V, 1.0 / root, beyond[-0.5])
            self._colourer = SymmetricFactors(V, root, beyond[0.5])
            self._column_scale = None if spectrum.scale is None else astype(spectrum.scale, dtype)
        else:
            M, inverse = self._matrices(spectrum, rank, root, beyond)
            self.components_, self.inverse_ = astype(M, dtype), astype(inverse, dtype)
        self.explained_variance_ = asarray_like(in_range(values, numpy_dtype(dtype)), like)

    def _kept(self, spectrum: Spectrum) -> Spectrum:
        """All pairs. Without regularization, those without variance are dropped, and their errors do not matter."""
        if self.regularization != 0.0 or spectrum.errors is None:
            return spectrum
        errors = spectrum.errors.copy()
        errors[min(spectrum.rank, self._count_kept(spectrum)) :] = 0.0
        return replace(spectrum, errors=errors).judged()

    def _count_kept(self, spectrum: Spectrum) -> int:
        """The number of rows of W that `n_components` keeps."""
        k = self.n_components
        if k is None:
            return int(spectrum.values.shape[0])
        return int(k) if k >= 1 else leading_count(spectrum.values, spectrum.total, float(k))

    def _whole_rank(self, spectrum: Spectrum) -> int:
        """The numerical rank, with a warning or an error if it is too small."""
        p, k = self.n_features_in_, spectrum.values.shape[0]
        rank = spectrum.rank
        if rank == 0:
            raise no_variance("whitening")
        wanted = min(k, self._count_kept(spectrum)) if self.kind.startswith("pca") else p
        if rank < wanted and self.kind == "cholesky":
            raise ValueError(
                f"kind='cholesky' needs a covariance of full rank, but its rank is {rank} of {p}. Pass a positive "
                "regularization or 'oas', or kind='pca' or 'zca'."
            )
        fate = "dropped" if self.kind.startswith("pca") else "left out of the matrix"
        if rank < wanted:
            warn_user(
                f"{wanted - rank} of {wanted} directions have no variance and cannot be whitened; they were {fate}. "
                "Pass regularization to keep them.",
                RankWarning,
            )
        return rank

    def _matrices(self, spectrum: Spectrum, rank: int, root: Array, beyond: dict[float, float]) -> tuple[Array, Array]:
        """The whitening matrix and its inverse, for square roots of the regularized eigenvalues."""
        V = spectrum.vectors[:rank, :]

        def symmetric(along: Array, power: float) -> Array:
            return SymmetricFactors(V, along, beyond[power]).dense(f"kind={self.kind!r}")

        if self.kind.startswith("pca"):
            M, inverse = V / root[:, None], V.T * root[None, :]
        elif self.kind.startswith("zca"):
            M, inverse = symmetric(1.0 / root, -0.5), symmetric(root, 0.5)
        else:
            # Upper triangular M with positive diagonal and M^T M = S^{-1}: the R factor of S^{-1/2}.
            xp = namespace(V)
            R = r_factor(symmetric(1.0 / root, -0.5))
            diagonal = xp.linalg.diagonal(R)
            M = R * xp.where(diagonal < 0, -xp.ones_like(diagonal), xp.ones_like(diagonal))[:, None]
            inverse = symmetric(root * root, 1.0) @ M.T
        scale = spectrum.scale
        return (M, inverse) if scale is None else (M / scale[None, :], inverse * scale[:, None])


def _fourth_moment(rows: Rows, spectrum: Spectrum) -> float:
    """sum_i w_i |x_i - mean|^4 in one pass over the rows."""
    mean = spectrum.mean

    def squares(block: Array) -> Array:
        Z = astype(dense(block), mean.dtype) - mean
        return namespace(Z).sum(Z * Z, axis=1)

    fourth = rows.map(squares) ** 2
    xp = namespace(fourth)
    return float(xp.sum(fourth if rows.weights is None else fourth * astype(rows.weights, fourth.dtype)))


# Symmetric matrices that are a multiple of the identity outside a small subspace.


@dataclass(frozen=True)
class SymmetricFactors:
    """V^T diag(along) V + beyond (I - V^T V), with r orthonormal rows V of length p.

    A product with it costs 2 p r multiplications a row, and it takes p r numbers instead of p^2.
    """

    #: Orthonormal rows V, (r, p).
    vectors: Array
    #: Eigenvalues along these, (r,), and in all other directions.
    along: Array
    beyond: float

    def times(self, coordinates: Array, rows: Array | None) -> Array:
        """The products of `rows` with the matrix, given their coordinates x V^T; rows may be None if `beyond` is zero,
        because nothing else of them is needed then."""
        V = astype(self.vectors, coordinates.dtype)
        found = (coordinates * astype(self.along - self.beyond, coordinates.dtype)) @ V
        return found if rows is None or self.beyond == 0.0 else found + self.beyond * rows

    def dense(self, what: str) -> Array:
        """The p x p matrix; a MemoryError that says how large `what` is if it does not fit into memory."""
        V, p = self.vectors, int(self.vectors.shape[1])
        # Three matrices of this size are there at a time.
        needed, have = 3 * (V.dtype.itemsize if hasattr(V.dtype, "itemsize") else 8) * p * p, memory_bytes()
        if have and needed > have:
            advice = "Use transform and inverse_transform instead."
            raise needs_memory(f"{what} of {p} x {p} numbers", needed, have, advice)
        xp = namespace(V)
        identity = xp.eye(p, dtype=V.dtype, device=device(V))
        return (V.T * astype(self.along - self.beyond, V.dtype)[None, :]) @ V + self.beyond * identity
