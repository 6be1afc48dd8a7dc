"""Scorers of models by held-out rows: from summaries, or from the rows themselves.

The method `held_out_scorer` of a model returns its scorer for `cross_validate`. The scores are computed in
`held_out_scores`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._core.arrays import compute_lazy, dense, to_numpy
from .._core.threads import check_stop
from ..errors import MissingValues
from ..reading.summarize import check_weights, summarize
from ..solvers import spectra
from ..solvers.problem import Request, Status
from ..sources.base import Source
from ..sources.derived import mean_of_results
from ..sources.opening import open_source
from ..summaries.moments import Columns, Moments
from ..summaries.triangle import Triangle
from .cross_validation import CrossValidation, CrossValidator, check_counts
from .fold_scores import CanBeStarted, CoordinateRows, Frame, HeldOutScores
from .folds import folds_for, tables_in

# Scores of held-out rows, computed from their summary.
#
# The log-likelihood, the squared error and the correlations of held-out rows depend only on their weight, mean and
# scatter, so the rows are not read again.


#: Variances below this fraction of the largest have lost too many digits in products of rows.
_RESOLVED = 1e-6
#: Rows lie in a subspace, up to rounding, if this fraction or less of their second moment is outside it.
_NOTHING = 1e-12


class HeldOutMoments:
    """Second moments of held-out rows about any centre. With a Triangle, rows are projected before they are squared."""

    def __init__(self, summary: Moments | Triangle) -> None:
        self.weight = float(summary.weight)
        mean: np.ndarray = to_numpy(summary.mean)
        self._mean = mean.astype(np.float64)
        rest = getattr(summary, "rest", None)
        self._rest = np.zeros_like(self._mean) if rest is None else to_numpy(rest)
        self._groups = summary.groups
        self.squared = isinstance(summary, Moments)
        self._lossy = self.squared or summary.squared  # type: ignore[union-attr] # only a Triangle is asked
        if isinstance(summary, Moments):
            self._scatter = to_numpy(summary.scatter)
        else:
            self._root = to_numpy(summary.root)

    def shift(self, centre: np.ndarray) -> np.ndarray:
        """mean - centre."""
        return (self._mean - centre) + self._rest

    def within(self, A: np.ndarray, B: np.ndarray | None = None) -> np.ndarray:
        """A^T S B, where S is the scatter matrix about the mean of these rows; B is A by default."""
        if self.squared:
            return A.T @ self._scatter @ (A if B is None else B)
        left = self._root @ A
        return left.T @ (left if B is None else self._root @ B)

    def lengths(self, A: np.ndarray) -> np.ndarray:
        """The diagonal of A^T S A: sums of squares of the centred rows along the columns of A."""
        if self.squared:
            return np.asarray(np.einsum("ij,ij->j", A, self._scatter @ A))
        return np.asarray(np.sum((self._root @ A) ** 2, axis=0))

    def beyond(self, centre: np.ndarray, divisors: np.ndarray, vectors: np.ndarray) -> float:
        """Second moment about `centre` of the part of the rows (over `divisors`) outside the span of `vectors`."""
        d = self.shift(centre) / divisors
        rest = d - (d @ vectors.T) @ vectors
        if self.squared:
            A = (vectors / divisors).T
            within = float(np.sum(self.columns() / divisors**2)) - float(self.lengths(A).sum())
        else:
            root = self._root / divisors
            within = float(np.sum((root - (root @ vectors.T) @ vectors) ** 2))
        return max(within, 0.0) / self.weight + float(rest @ rest)

    def columns(self) -> np.ndarray:
        """The diagonal of S: the sum of squares of each centred column."""
        return np.diagonal(self._scatter) if self.squared else np.sum(self._root**2, axis=0)

    def resolves(self, squares: np.ndarray, largest: np.ndarray) -> bool:
        """Whether sums of squares are accurate, beside the largest ones that they were computed from."""
        return not self._lossy or bool(np.all(squares >= _RESOLVED * largest))

    def group(self, i: int) -> slice:
        """The columns of table i."""
        start = sum(self._groups[:i])
        return slice(start, start + self._groups[i])


def spectral_densities(
    held_out: HeldOutMoments,
    centre: np.ndarray,
    scale: np.ndarray | None,
    vectors: np.ndarray,
    variances: np.ndarray,
    outside: float,
    counts: np.ndarray,
    p: int,
    log_scale: float = 0.0,
) -> HeldOutScores:
    """Average log-density of the held-out rows under N(centre, C_K), for each K in `counts`, of p columns.

    Parameters
    ----------
    vectors, variances : arrays of shape (r, p), (r,)
        All eigenpairs with nonzero eigenvalues of the covariance of the training rows (divided by `scale`, if given).
    outside : float
        Sum of the other eigenvalues.
    log_scale : float
        Sum of the logarithms of further divisors, by which the columns were divided before.

    Notes
    -----
    C_K has the variances lambda_1 ... lambda_K along the first K vectors and the average sigma2_K of all other
    eigenvalues in all other directions. With q_k the second moment of the held-out rows along vector k, and q_0 that
    outside all vectors, the average log-density is

        -(1/2) [p ln 2 pi + sum_{k<=K} (ln lambda_k + q_k / lambda_k) + (p - K) ln sigma2_K
                + (q_0 + sum_{k>K} q_k) / sigma2_K].

    Cumulative sums give all K at once. If sigma2_K is zero, the density is concentrated in the span of the vectors: the
    result is infinity if the held-out rows lie there too, up to rounding, and minus infinity if they do not.
    """
    r = len(vectors)
    if r == 0:
        return HeldOutScores(np.full(len(counts), -math.inf), True)
    d = held_out.shift(centre)
    divisors = np.ones(vectors.shape[1]) if scale is None else scale
    A = (vectors / divisors).T
    along = held_out.lengths(A) / held_out.weight + (d @ A) ** 2
    beyond = held_out.beyond(centre, divisors, vectors) if r < len(divisors) else 0.0
    left = beyond + np.concatenate([np.cumsum(along[::-1])[::-1], [0.0]])
    sums = outside + np.concatenate([np.cumsum(variances[::-1])[::-1], [0.0]])
    constant = p * math.log(2 * math.pi) + 2.0 * (float(np.sum(np.log(divisors))) + log_scale)
    scores = np.full(len(counts), -math.inf)
    resolved = True
    for i, k in enumerate(counts):
        if k > r:
            continue
        noise, kept = (sums[k] / (p - k) if k < p else math.inf), variances[:k]
        smallest = min(float(kept.min(initial=math.inf)), noise)
        if smallest <= 0.0:
            # The model has no variance outside a subspace, in which the density is concentrated.
            scores[i] = math.inf if left[k] <= _NOTHING * (left[0] or 1.0) else -math.inf
            continue
        resolved &= smallest >= _RESOLVED * float(variances[0])
        terms = float(np.sum(np.log(kept) + along[:k] / kept))
        if k < p:
            terms += (p - k) * math.log(noise) + left[k] / noise
        scores[i] = -0.5 * (constant + terms)
    return HeldOutScores(scores, resolved or not held_out.squared)


def gaussian_density(held_out: HeldOutMoments, centre: np.ndarray, covariance: np.ndarray) -> float:
    """Average log-density of the held-out rows under N(centre, C), where C is `covariance`:
    -(1/2) [p ln 2 pi + ln |C| + tr(C^{-1} M)] with M = S / w + d d^T."""
    unit = np.sqrt(np.diagonal(covariance))
    L = np.linalg.cholesky(covariance / unit / unit[:, None])
    # A A^T = C^{-1}: the columns of A are those of L^{-T}, divided by the standard deviations.
    A = np.linalg.inv(L).T / unit[:, None]
    d = held_out.shift(centre)
    spread = float(held_out.lengths(A).sum()) / held_out.weight + float(np.sum((d @ A) ** 2))
    log_determinant = 2.0 * float(np.sum(np.log(np.diagonal(L))) + np.sum(np.log(unit)))
    return -0.5 * (len(unit) * math.log(2 * math.pi) + log_determinant + spread)


def independent_density(held_out: Columns, centre: np.ndarray, variances: np.ndarray) -> float:
    """Average log-density of the held-out rows under N(centre, C), where C is diagonal: the sum over the columns of
    -(1/2) [ln 2 pi + ln v + (s / w + d^2) / v], with s the sum of squares of a column and d = mean - centre."""
    d = (to_numpy(held_out.mean).astype(np.float64) - centre) + to_numpy(held_out.rest)
    spread = to_numpy(held_out.squares).astype(np.float64) / held_out.weight + d * d
    return -0.5 * float(np.sum(math.log(2 * math.pi) + np.log(variances) + spread / variances))


def squared_errors(
    held_out: HeldOutMoments, x_mean: np.ndarray, y_mean: np.ndarray, R: np.ndarray, Q: np.ndarray, counts: np.ndarray
) -> HeldOutScores:
    """Mean squared error of each response of the held-out rows, predicted from the first K scores, (len(counts), q).

    Notes
    -----
    The prediction from K scores is y_mean + (x - x_mean) R_K Q_K^T. With s_ij = r_i^T S_xx r_j, h_j = r_j^T S_xy, and
    t_j the mean of score j over the held-out rows, the sum of squared errors of response c is

        S_cc - 2 sum_j Q_cj h_jc + sum_ij Q_ci s_ij Q_cj + w (d_c - sum_j Q_cj t_j)^2,

    with sums over i, j <= K; cumulative sums give all K at once. From a Triangle the residuals are computed directly,
    without differences of squares.
    """
    x, y = held_out.group(0), held_out.group(1)
    p, q = R.shape[0], Q.shape[0]
    k = R.shape[1]
    A = np.zeros((p + q, k))
    A[x] = R
    d = held_out.shift(np.concatenate([x_mean, y_mean]))
    # Mean residuals after 0, 1, ... scores, shape (k + 1, q).
    offsets = d[y] - np.concatenate([np.zeros((1, q)), np.cumsum((d @ A)[:, None] * Q.T, axis=0)])
    E = np.zeros((p + q, q))
    E[y] = np.eye(q)
    if held_out.squared:
        total = held_out.columns()[y]
        H, G = held_out.within(A, E), held_out.within(A)
        spread = np.empty((k + 1, q))
        for c in range(q):
            M = G * Q[c] * Q[c][:, None]
            steps = 2.0 * np.tril(M, -1).sum(axis=1) + np.diagonal(M) - 2.0 * Q[c] * H[:, c]
            spread[:, c] = total[c] + np.concatenate([[0.0], np.cumsum(steps)])
        resolved = held_out.resolves(spread[counts], total)
        spread = np.clip(spread, 0.0, None)
    else:
        spread = np.stack([held_out.lengths(E - A[:, :j] @ Q[:, :j].T) for j in range(k + 1)])
        resolved = held_out.resolves(spread[counts], spread[0])
    return HeldOutScores((spread / held_out.weight + offsets**2)[counts], resolved)


def correlations(held_out: HeldOutMoments, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Correlation of each pair of variates X a_k, Y b_k over the held-out rows."""
    x, y = held_out.group(0), held_out.group(1)
    left, right = (np.zeros((len(held_out.columns()), A.shape[1])) for _ in range(2))
    left[x], right[y] = A, B
    lengths = np.sqrt(held_out.lengths(left) * held_out.lengths(right))
    products = np.diagonal(held_out.within(left, right))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lengths > 0, np.clip(products / lengths, -1.0, 1.0), np.nan)


# Held-out likelihood of principal components, for the rule "cv" and for the cross-validation of PCA and PPCA.


def score_spectrum(
    train: Any,
    test: Any,
    counts: np.ndarray,
    *,
    ddof: int,
    standardize: bool,
    center: bool = True,
    constant: bool = True,
    frame: Frame | None = None,
) -> HeldOutScores:
    """Average log-likelihood of the rows in `test` under PCA of those in `train`, for each number of components.

    Unless `center`, PCA is that of second moments about zero. Unless `constant`, columns that are constant in both are
    left out. If the rows are coordinates, `frame` says of how many columns, and by what these were divided.
    """
    spectrum, _ = spectra.solve_summary(train, Request(k=None, ddof=ddof, standardize=standardize, center=center))
    p, rank = train.n_features, spectrum.rank
    if frame is not None:
        p = max(frame.n_columns, rank)
    elif not constant:
        seen = [summary if center else summary.about_zero() for summary in (train, test)]
        p = max(int(np.count_nonzero(sum(HeldOutMoments(summary).columns() for summary in seen) > 0.0)), rank)
    values = spectrum.variances(ddof)
    cut = spectrum.rank_cut / spectrum.total * float(values.sum()) if spectrum.total > 0.0 else 0.0
    beyond = max(float(values[rank:].sum()), 0.0)
    found = spectral_densities(
        HeldOutMoments(test),
        to_numpy(spectrum.mean),
        None if spectrum.scale is None else to_numpy(spectrum.scale),
        to_numpy(spectrum.vectors)[:rank],
        values[:rank],
        beyond if beyond > cut * (p - rank) else 0.0,
        counts,
        p,
        0.0 if frame is None else frame.log_scale,
    )
    # Directions below the rounding error of the products of rows are lost, and they may contain all the noise.
    lost = isinstance(train, Moments) and spectrum.status is Status.UNRESOLVED
    return HeldOutScores(found.scores, found.resolved and not lost)


def density_summary(source: Source, fine: bool) -> Moments | Triangle:
    """An empty summary for the rows of a fold. Its sums are float64: squares of columns may overflow in float32."""
    return Triangle(source.shape[1]) if fine else Moments(source.shape[1], wide=True)


@dataclass(frozen=True)
class SpectralScorer:
    """The scorer of PPCA, for a cross-validation that needs only eigenvalues and no model."""

    standardize: bool = False
    ddof: int = 0
    frame: Frame | None = None
    center: bool = True
    estimator: ClassVar[str] = "PPCA"
    what: ClassVar[str] = "log-likelihood"
    greater_is_better: ClassVar[bool] = True
    takes_nan: ClassVar[bool] = False
    from_zero: ClassVar[bool] = True
    compares_with_means: ClassVar[bool] = False
    refits: ClassVar[bool] = False
    fits_each_count: ClassVar[bool] = False
    leaves_out_constant: ClassVar[bool] = True

    @property
    def rotates(self) -> tuple[bool, ...]:
        """Whether the scores stay the same if all rows are rotated about their mean."""
        return (self.center,)

    @property
    def scaled(self) -> tuple[bool, ...]:
        """Whether the columns are divided by their standard deviations over the training rows."""
        return (self.standardize,)

    def in_coordinates(self, frame: Frame) -> SpectralScorer:
        """The scorer for coordinates of the rows."""
        return SpectralScorer(False, self.ddof, frame, self.center)

    def summary(self, source: Source, fine: bool) -> Moments | Triangle:
        """An empty summary for the rows of a fold."""
        return density_summary(source, fine)

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        """Numbers of components to try."""
        most = min(int(n_train), source.shape[1])
        # Zero components are a model too: the rows are then N(mean, sigma2 I).
        return np.arange(most) if asked is None else check_counts(asked, 0, most, most)

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        """Scores for each count, from summaries."""
        options: Any = {"ddof": self.ddof, "standardize": self.standardize, "center": self.center}
        return score_spectrum(train, test, counts, constant=False, frame=self.frame, **options)

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Not available: this scorer needs summaries."""
        raise TypeError("the held-out likelihood of eigenvalues comes from summaries.")


def held_out_likelihood(
    source: Source, cv: Any, sample_weight: Any, *, standardize: bool, center: bool = True
) -> tuple[CrossValidation, Moments | Triangle | None]:
    """Held-out log-likelihood of PPCA for every K, and a summary of all rows (or None)."""
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    folds = folds_for(source, cv, weights=weights)
    validator = CrossValidator([SpectralScorer(standardize, center=center)], source, folds, weights)
    return validator.run(), validator.total


#: By default at most this many components are tried for models that need one fit for each number of components.
MAX_TRIED = 20


class Scorer(ABC):
    """Base class of scorers, which fit copies of a model with different numbers of components."""

    what: str
    greater_is_better = True
    takes_nan = False
    from_zero = False
    compares_with_means = False
    refits = True
    fits_each_count = False
    leaves_out_constant = False
    rotates: tuple[bool, ...] = (False,)
    scaled: tuple[bool, ...] = (False,)
    ddof = 1

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def estimator(self) -> str:
        """The name of the model in tables."""
        return type(self.model).__name__

    def copy(self, k: int, near: Any = None, **parameters: Any) -> Any:
        """An unfitted copy of the model with `k` components, whose fit starts at the fitted model `near` if it can."""
        model = clone(self.model).set_params(n_components=int(k), **parameters)
        return model if near is None or not isinstance(model, CanBeStarted) else model.start_at(near)

    @abstractmethod
    def summary(self, source: Source, fine: bool) -> Any:
        """An empty summary for the rows of a fold."""

    @abstractmethod
    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        """Numbers of components to try."""

    @abstractmethod
    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        """Scores for each count, from summaries."""

    @abstractmethod
    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The same from rows."""

    def in_coordinates(self, frame: Frame) -> Scorer:
        """The scorer for coordinates of the rows."""
        raise TypeError(f"the scores of {self.estimator} depend on the columns, so coordinates are not enough.")


class DensityScorer(Scorer):
    """Scores by the average log-likelihood of a held-out row."""

    what = "log-likelihood"
    from_zero = True

    @property
    def takes_nan(self) -> bool:  # type: ignore[override] # depends on the model
        """Whether rows with NaN can be fitted, which is so for models that can impute them."""
        return hasattr(self.model, "impute")

    def summary(self, source: Source, fine: bool) -> Any:
        return None if has_unstored_holes(self.model, source) else density_summary(source, fine)

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        most = min(int(n_train), source.shape[1])
        return check_counts(asked, 0, most, max(most - 1, 1))

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        scores, model = [], None
        for k in counts:
            check_stop()
            if k == 0:
                scores.append(self._score_without_components(X, weights, test))
                continue
            model = self.copy(k, near=model).fit(X, sample_weight=weights)
            scores.append(mean_of_results(model.score_samples(X), test))
        return np.array(scores)

    def _score_without_components(self, X: Any, weights: np.ndarray, test: np.ndarray) -> float:
        """The score of the model without components, from rows."""
        raise _no_fit_without_components()


class PrincipalScorer(DensityScorer):
    """The scorer of principal components: one spectrum gives the scores for all numbers of components."""

    def __init__(self, model: Any, ddof: int, frame: Frame | None = None, *, center: bool = True) -> None:
        super().__init__(model)
        self.ddof, self._frame, self._center = ddof, frame, center
        self.scaled = (bool(model.standardize),)
        # Coordinates are those of the centred rows.
        self.rotates = (center,)

    def in_coordinates(self, frame: Frame) -> PrincipalScorer:
        model = clone(self.model).set_params(standardize=False)
        return PrincipalScorer(model, self.ddof, frame, center=self._center)

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        options: Any = {"standardize": bool(self.model.standardize), "center": self._center}
        return score_spectrum(train, test, counts, ddof=self.ddof, frame=self._frame, **options)


class LatentScorer(DensityScorer):
    """The scorer of latent Gaussian models: one fit for each number of components.

    Parameters
    ----------
    model : PPCA or FactorAnalysis
    independent : callable
        Function from the variances of the columns to those in the model without components.
    most : callable, optional
        Function (rows, columns) -> largest number of components that is tried by default.
    fits_summaries, fits_triangles : bool
        Whether the model can be fitted to Moments, and to a Triangle.
    """

    fits_each_count = True

    def __init__(
        self,
        model: Any,
        independent: Callable[[np.ndarray], np.ndarray],
        most: Callable[[int, int], int] | None = None,
        *,
        fits_summaries: bool = True,
        fits_triangles: bool = True,
    ) -> None:
        super().__init__(model)
        self._independent, self._most = independent, most
        self._fits = {False: fits_summaries, True: fits_summaries and fits_triangles}

    def summary(self, source: Source, fine: bool) -> Any:
        return super().summary(source, fine) if self._fits[fine] else None

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        if self._most is None:
            return super().counts(asked, n_train, source)
        p = source.shape[1]
        most = min(int(n_train), p)
        return check_counts(asked, 0, most, min(self._most(most, p), MAX_TRIED))

    def _score_without_components(self, X: Any, weights: np.ndarray, test: np.ndarray) -> float:
        source = open_source(X)
        if has_unstored_holes(self.model, source):
            raise _no_fit_without_components()
        try:
            train, left_out = (summarize(source, Columns, weights=w) for w in (weights, test))
        except MissingValues:
            raise _no_fit_without_components() from None
        variances = self._independent(to_numpy(train.squares).astype(np.float64) / train.weight)
        return independent_density(left_out, to_numpy(train.mean), variances)

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        held_out, model = HeldOutMoments(test), None
        scores = []
        for k in counts:
            check_stop()
            if k == 0:
                variances = np.diagonal(to_numpy(train.scatter)) / train.weight
                scores.append(gaussian_density(held_out, to_numpy(train.mean), np.diag(self._independent(variances))))
                continue
            model = self.copy(k, near=model).fit_summary(train)
            mean, C = (to_numpy(a).astype(np.float64) for a in (model.mean_, model.get_covariance()))
            scores.append(gaussian_density(held_out, mean, C))
        return HeldOutScores(np.array(scores), True)


class TablesScorer(Scorer):
    """Base class of scorers for models of two tables: one fit gives the scores for all numbers of components.

    Parameters
    ----------
    model : PLSRegression, PCR or CCA
    most : callable
        Function from the widths of the tables to the largest number of components.
    scaled : pair of bools
        Whether the columns of each table are divided by their standard deviations.
    """

    #: The smallest number of components that can be tried.
    least = 1

    def __init__(self, model: Any, most: Callable[[Sequence[int]], int], scaled: Sequence[bool]) -> None:
        super().__init__(model)
        self._most = most
        self.scaled = tuple(scaled)
        self._coarse: type[Moments | Triangle] = Moments

    def in_coordinates(self, frame: Frame) -> TablesScorer:
        scale = tuple(bool(s) and not replaced for s, replaced in zip(self.scaled, frame.replaced, strict=True))
        scorer = type(self)(clone(self.model).set_params(scale=scale), self._most, scale)
        # There are fewer training rows than coordinates, so that the rows themselves are the smallest summary.
        scorer._coarse = CoordinateRows
        return scorer

    def summary(self, source: Source, fine: bool) -> Any:
        p, groups = source.shape[1], [table.shape[1] for table in tables_in(source)]
        if fine:
            return Triangle(p, groups=groups)
        return Moments(p, groups=groups, wide=True) if self._coarse is Moments else self._coarse(p, groups=groups)

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        most = min(int(n_train), self._most([table.shape[1] for table in tables_in(source)]))
        return check_counts(asked, self.least, most, MAX_TRIED)

    def fit_model(self, train: Any, counts: np.ndarray) -> Any:
        """A model with the largest number of components that is tried, fitted to the summary of the training rows."""
        return self.copy(max(int(counts[-1]), 1), solver="auto").fit_summary(train)


class ErrorScorer(TablesScorer):
    """Scores by the mean squared error of the held-out responses."""

    what = "mean squared error"
    greater_is_better = False
    rotates = (True, False)
    #: The model without components predicts the mean.
    least = 0
    compares_with_means = True

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        model = self.fit_model(train, counts)
        R, Q = (to_numpy(a).astype(np.float64) for a in model.coefficient_factors())
        x_mean, y_mean = (to_numpy(a).astype(np.float64) for a in (model.x_mean_, model.y_mean_))
        found = squared_errors(HeldOutMoments(test), x_mean, y_mean, R, Q, np.minimum(counts, R.shape[1]))
        return HeldOutScores(found.scores, found.resolved and model.status_ is not Status.UNRESOLVED)

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        model = self.copy(max(int(counts[-1]), 1)).fit(X, y, sample_weight=weights)
        used = test > 0
        truth = _columns(y)[used]
        scores = []
        for k in np.minimum(counts, model.n_components_):
            predicted = _columns(model.predict(X, n_components=int(k)))[used] if k else _columns(model.y_mean_).T
            errors = predicted - truth
            scores.append(np.average(errors**2, axis=0, weights=test[used]))
        return np.array(scores)


class CorrelationScorer(TablesScorer):
    """Scores by the sum of the correlations of pairs of variates over the held-out rows."""

    what = "sum of correlations"
    rotates = (True, True)

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        model = self.fit_model(train, counts)
        A, B = (
            to_numpy(rotations).astype(np.float64) / to_numpy(scale)[:, None]
            for rotations, scale in ((model.x_rotations_, model.x_scale_), (model.y_rotations_, model.y_scale_))
        )
        scores = _running_sums(correlations(HeldOutMoments(test), A, B), counts)
        return HeldOutScores(scores, model.status_ is not Status.UNRESOLVED)

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        model = self.copy(int(counts[-1])).fit(X, y, sample_weight=weights)
        used = test > 0
        T, U = (_columns(scores)[used] for scores in model.transform(X, y))
        T, U = (A - np.average(A, axis=0, weights=test[used]) for A in (T, U))
        products, x, y = (test[used] @ (A * B) for A, B in ((T, U), (T, T), (U, U)))
        with np.errstate(invalid="ignore", divide="ignore"):
            return _running_sums(np.where(x * y > 0, products / np.sqrt(x * y), np.nan), counts)


def has_unstored_holes(model: Any, source: Source) -> bool:
    """Whether the model treats the entries that a sparse matrix does not store as missing."""
    return bool(source.traits.sparse and getattr(model, "missing", "nan") == "unstored")


def _no_fit_without_components() -> ValueError:
    return ValueError(
        "n_components=0 cannot be fitted to rows with missing values, or with so many columns; begin with 1."
    )


def _running_sums(correlations: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums of the first K correlations for each K in `counts`; of all if there are fewer than K."""
    if np.any(np.isnan(correlations)):
        raise ValueError(
            "cv: a fold has no variance along a pair of variates, so their correlation is undefined. Folds of at least "
            "three different rows are needed."
        )
    sums = np.concatenate([[0.0], np.cumsum(correlations)])
    return sums[np.minimum(counts, len(correlations))]


def _columns(y: Any) -> np.ndarray:
    """Responses or scores as a NumPy array with two axes."""
    values = dense(compute_lazy(y))
    values = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else to_numpy(values), dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values
