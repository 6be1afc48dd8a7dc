"""Scorers of models by held-out rows: from summaries, or from the rows themselves.

The method `held_out_scorer` of a model returns its scorer for `cross_validate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from .._core.arrays import compute_lazy, dense, to_numpy
from .._core.threads import check_stop
from ..errors import MissingValues, never_observed, no_variance
from ..linalg import is_constant
from ..reading.rows import Rows
from ..reading.summarizing import summarize
from ..solvers import spectra
from ..solvers.latent.em import observed_of
from ..solvers.problem import Request, Status
from ..sources.base import Source
from ..sources.beside import ColumnsSource
from ..sources.derived import mean_of_results
from ..sources.opening import open_source
from ..summaries.moments import Columns, Moments
from ..summaries.triangle import Triangle
from .cross_validation import check_counts
from .fold_methods import CoordinateRows, Frame, HeldOutScorer, HeldOutScores

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
        self._groups = summary.widths
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


_NO_FIT_WITHOUT_COMPONENTS = (
    "n_components=0 cannot be fitted to rows with missing values, or with so many columns; begin with 1."
)
#: By default at most this many components are tried for models that need one fit for each number of components.
MAX_TRIED = 20


def varying_rows(rows: Rows, unstored: bool = False) -> tuple[Rows, np.ndarray]:
    """The rows without the columns whose observed entries are all the same, and which columns vary."""
    observed = observed_of(rows, unstored)[0]
    count, squares, mean = (to_numpy(a) for a in (observed.count, observed.squares, observed.mean))
    if not np.all(count > 0.0):
        raise never_observed([int(j) for j in np.flatnonzero(count == 0.0)], rows.names)
    varying = ~is_constant(np.sqrt(squares / count), mean)
    if not varying.any():
        raise no_variance("choosing how many components to keep")
    if varying.all():
        return rows, varying
    source = ColumnsSource(rows.source, [int(j) for j in np.flatnonzero(varying)])
    return Rows(source, rows.weights, rows.progress), varying


class DensityScorer(HeldOutScorer):
    """Scores by the average log-likelihood of a held-out row."""

    from_zero = True

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.takes_nan = hasattr(model, "impute")

    def summary(self, source: Source, fine: bool) -> Any:
        # The sums are float64: squares of columns may overflow in float32.
        if has_unstored_missing(self.model, source):
            return None
        return Triangle(source.shape[1]) if fine else Moments(source.shape[1], wide=True)

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        most = min(int(n_train), source.shape[1])
        return check_counts(asked, 0, most, max(most - 1, 1))

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> HeldOutScores:
        source, which = open_source(X), np.arange(len(counts))
        if self.takes_nan and not source.traits.sparse and source.traits.rereadable:
            # Columns that are constant in all rows have no density. With one component less than there are others, a
            # covariance may be any, so further components change nothing.
            X = varying_rows(Rows(source, weights + test))[0].source
            counts, which = np.unique(np.minimum(counts, max(X.shape[1] - 1, 1)), return_inverse=True)
        scores, model = [], None
        for k in counts:
            check_stop()
            if k == 0:
                scores.append(self._score_without_components(X, weights, test))
                continue
            model = self.copy(k, near=model).fit(X, sample_weight=weights)
            scores.append(mean_of_results(model.score_samples(X), test))
        return HeldOutScores(np.array(scores)[which], True)

    def _score_without_components(self, X: Any, weights: np.ndarray, test: np.ndarray) -> float:
        """The score of the model without components, from rows."""
        raise ValueError(_NO_FIT_WITHOUT_COMPONENTS)


class PrincipalScorer(DensityScorer):
    """The scorer of principal components: one spectrum gives the scores for all numbers of components."""

    leaves_out_constant = True

    #: If the rows are coordinates: of how many columns, and by what these were divided.
    frame: Frame | None = None

    def __init__(self, model: Any, ddof: int, *, center: bool = True) -> None:
        super().__init__(model)
        self.ddof, self.center, self.scaled = ddof, center, (bool(model.scale),)
        self._weights_of = getattr(model, "_feature_weight", None)

    @property
    def rotates(self) -> tuple[bool, ...]:  # type: ignore[override] # a class attribute of scorers that have no choice
        # Coordinates are those of the centred rows, whose columns have equal weights.
        return (self.center and getattr(self.model, "feature_weight", None) is None,)

    def _feature_weight(self, p: int) -> np.ndarray | None:
        """The weights of p columns."""
        return None if self._weights_of is None else self._weights_of(p)

    def in_coordinates(self, frame: Frame) -> PrincipalScorer:
        scorer = copy(self)
        scorer.scaled, scorer.frame = (False,), frame
        return scorer

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        """Average log-likelihood of the rows in `test` under PCA of those in `train`, for each number of components.

        Notes
        -----
        The model of K components is N(mean, C_K). C_K has the variances lambda_1 ... lambda_K along the first K vectors
        and the average sigma2_K of all other eigenvalues in all other directions. With q_k the second moment of the
        held-out rows along vector k, and q_0 that outside all vectors, the average log-density is

            -(1/2) [p ln 2 pi + sum_{k<=K} (ln lambda_k + q_k / lambda_k) + (p - K) ln sigma2_K
                    + (q_0 + sum_{k>K} q_k) / sigma2_K].

        Cumulative sums give all K at once. If sigma2_K is zero, the density is concentrated in the span of the vectors:
        the result is infinity if the held-out rows lie there too, up to rounding, and minus infinity if they do not.
        """
        center, frame = self.center, self.frame
        weights = None if frame is not None else self._feature_weight(train.n_features)
        request = Request(k=None, ddof=self.ddof, scale=self.scaled[0], center=center, feature_weight=weights)
        spectrum = spectra.solver_for(train).solve_summary(train, request)
        held_out = HeldOutMoments(test)
        p, r = train.n_features, spectrum.rank
        if frame is not None:
            p = max(frame.n_columns, r)
        else:
            # Columns that are constant in all rows have no density.
            summaries = [summary if center else summary.about_zero() for summary in (train, test)]
            p = max(int(np.count_nonzero(sum(HeldOutMoments(summary).columns() for summary in summaries) > 0.0)), r)
        scores = np.full(len(counts), -math.inf)
        # Directions below the rounding error of the products of rows are lost, and they may contain all the noise.
        lost = isinstance(train, Moments) and spectrum.status is Status.UNRESOLVED
        if r == 0:
            return HeldOutScores(scores, not lost)
        values = spectrum.variances(self.ddof)
        vectors, variances = to_numpy(spectrum.vectors)[:r], values[:r]
        # The sum of the eigenvalues that are not distinguished from zero.
        outside = max(float(values[r:].sum()), 0.0)
        cut = spectrum.rank_cut / spectrum.total * float(values.sum()) if spectrum.total > 0.0 else 0.0
        outside = outside if outside > cut * (p - r) else 0.0
        centre = to_numpy(spectrum.mean)
        d = held_out.shift(centre)
        divisors = np.ones(vectors.shape[1]) if spectrum.scale is None else to_numpy(spectrum.scale)
        A = (vectors / divisors).T
        along = held_out.lengths(A) / held_out.weight + (d @ A) ** 2
        beyond = held_out.beyond(centre, divisors, vectors) if r < len(divisors) else 0.0
        left = beyond + np.concatenate([np.cumsum(along[::-1])[::-1], [0.0]])
        sums = outside + np.concatenate([np.cumsum(variances[::-1])[::-1], [0.0]])
        log_scale = float(np.sum(np.log(divisors))) + (0.0 if frame is None else frame.log_scale)
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
            scores[i] = -0.5 * (p * math.log(2 * math.pi) + 2.0 * log_scale + terms)
        return HeldOutScores(scores, (resolved or not held_out.squared) and not lost)


class CodedScorer(HeldOutScorer):
    """The scorer of tables with categories: the squared error of entries of held-out rows, each predicted from the
    other columns of its row.

    Notes
    -----
    Let z be a held-out row in the weighted coded columns, centred by the training rows, W the K unit components, and c
    the coded columns of one column of the table: one for a number, all levels of a category. The scores that fit the
    other columns best predict z_c with the error [1]_

        z_c - W_c^T t = (I - W_c^T W_c)^(-1) (z - W^T W z)_c,   t = argmin |z_{-c} - W_{-c}^T t|.

    So the sum of the squares of all these errors follows from the second moments of the held-out rows. It is divided by
    the total inertia of the training rows, the value for predictions by their mean. It is infinite if some column is
    the only one in which a component varies.

    References
    ----------
    .. [1] Josse, Husson (2012), Selecting the number of components in principal component analysis using
       cross-validation approximations.
    """

    what = "relative squared prediction error"
    greater_is_better = False
    refits = False
    from_zero = True

    def summary(self, source: Source, fine: bool) -> Any:
        if fine:
            return None
        like = Moments(source.shape[1])
        like.names = source.names
        return like

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        most = min(int(n_train) - 1, self.model.most_dimensions())
        return check_counts(asked, 0, most, min(most, MAX_TRIED))

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        model = self.copy(1).set_params(n_components=None).fit_summary(train)
        S, columns = model.held_out_products(test)
        found = []
        for k in counts:
            check_stop()
            W = model.components_[:k]
            left = S - W.T @ (W @ S)
            left = left - (left @ W.T) @ W
            error = 0.0
            for c in columns:
                values, U = np.linalg.eigh(np.eye(c.stop - c.start) - W[:, c].T @ W[:, c])
                if values[0] <= _ALONE:
                    error = np.inf
                    break
                error += float((np.einsum("ji,jk,ki->i", U, left[c, c], U) / values**2).sum())
            # A fold may have fewer components than others.
            found.append(error / model.total_inertia_ if k <= len(model.components_) else np.inf)
        return HeldOutScores(np.array(found), True)

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> HeldOutScores:
        raise TypeError(f"{self.estimator} is scored by summaries of the folds.")


#: A column is the only one in which a component varies if this share of it, or less, is left without the component.
_ALONE = 1e-9


class SpectralScorer(PrincipalScorer):
    """The scorer of PPCA, for a cross-validation that needs only eigenvalues and no model."""

    estimator, model, ddof = "PPCA", None, 0
    refits = False

    def __init__(self, scale: bool = False, *, center: bool = True, weights: np.ndarray | None = None) -> None:
        self.scaled, self.center, self._weights = (scale,), center, weights

    @property
    def rotates(self) -> tuple[bool, ...]:  # type: ignore[override] # as that of `PrincipalScorer`
        return (self.center and self._weights is None,)

    def _feature_weight(self, p: int) -> np.ndarray | None:
        return self._weights

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        # Zero components are a model too: the rows are then N(mean, sigma2 I).
        return np.arange(min(int(n_train), source.shape[1]))


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
        if has_unstored_missing(self.model, source):
            raise ValueError(_NO_FIT_WITHOUT_COMPONENTS)
        try:
            train, left_out = (summarize(source, Columns, weights=w) for w in (weights, test))
        except MissingValues:
            raise ValueError(_NO_FIT_WITHOUT_COMPONENTS) from None
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


class TablesScorer(HeldOutScorer):
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
        self._coarse: Any = partial(Moments, wide=True)

    def in_coordinates(self, frame: Frame) -> TablesScorer:
        scale = tuple(bool(s) and not replaced for s, replaced in zip(self.scaled, frame.replaced, strict=True))
        scorer = type(self)(clone(self.model).set_params(scale=scale), self._most, scale)
        # There are fewer training rows than coordinates, so that the rows themselves are the smallest summary.
        scorer._coarse = CoordinateRows
        return scorer

    def summary(self, source: Source, fine: bool) -> Any:
        return (Triangle if fine else self._coarse)(source.shape[1], widths=source.widths)

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        most = min(int(n_train), self._most(source.widths))
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
        """Mean squared error of each response of the held-out rows, predicted from the first K scores,
        (len(counts), q).

        Notes
        -----
        The prediction from K scores is y_mean + (x - x_mean) R_K Q_K^T. With s_ij = r_i^T S_xx r_j, h_j = r_j^T S_xy,
        and t_j the mean of score j over the held-out rows, the sum of squared errors of response c is

            S_cc - 2 sum_j Q_cj h_jc + sum_ij Q_ci s_ij Q_cj + w (d_c - sum_j Q_cj t_j)^2,

        with sums over i, j <= K; cumulative sums give all K at once. From a Triangle the residuals are computed
        directly, without differences of squares.
        """
        model, held_out = self.fit_model(train, counts), HeldOutMoments(test)
        R, Q = (to_numpy(a).astype(np.float64) for a in model.coefficient_factors())
        x_mean, y_mean = (to_numpy(a).astype(np.float64) for a in (model.x_mean_, model.y_mean_))
        x, y = held_out.group(0), held_out.group(1)
        (p, k), q = R.shape, len(Q)
        counts = np.minimum(counts, k)
        A, E = np.zeros((p + q, k)), np.zeros((p + q, q))
        A[x], E[y] = R, np.eye(q)
        d = held_out.shift(np.concatenate([x_mean, y_mean]))
        # Mean residuals after 0, 1, ... scores, shape (k + 1, q).
        offsets = d[y] - np.concatenate([np.zeros((1, q)), np.cumsum((d @ A)[:, None] * Q.T, axis=0)])
        if held_out.squared:
            total = held_out.columns()[y]
            H, G = held_out.within(A, E), held_out.within(A)
            spread = np.empty((k + 1, q))
            for c in range(q):
                M = G * Q[c] * Q[c][:, None]
                steps = 2.0 * np.tril(M, -1).sum(axis=1) + np.diagonal(M) - 2.0 * Q[c] * H[:, c]
                spread[:, c] = total[c] + np.concatenate([[0.0], np.cumsum(steps)])
        else:
            spread = np.stack([held_out.lengths(E - A[:, :j] @ Q[:, :j].T) for j in range(k + 1)])
            total = spread[0]
        resolved = held_out.resolves(spread[counts], total) and model.status_ is not Status.UNRESOLVED
        spread = np.clip(spread, 0.0, None)
        return HeldOutScores((spread / held_out.weight + offsets**2)[counts], resolved, offsets[counts])

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> HeldOutScores:
        model = self.copy(max(int(counts[-1]), 1)).fit(X, y, sample_weight=weights)
        used = test > 0
        truth = _columns(y)[used]
        scores, means = [], []
        for k in np.minimum(counts, model.n_components_):
            predicted = _columns(model.predict(X, n_components=int(k)))[used] if k else _columns(model.y_mean_).T
            residuals = truth - predicted
            scores.append(np.average(residuals**2, axis=0, weights=test[used]))
            means.append(np.average(residuals, axis=0, weights=test[used]))
        return HeldOutScores(np.array(scores), True, np.array(means))


class CorrelationScorer(TablesScorer):
    """Scores by the sum of the correlations of pairs of variates over the held-out rows."""

    what = "sum of correlations"
    rotates = (True, True)

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        model, held_out = self.fit_model(train, counts), HeldOutMoments(test)
        A, B = (np.zeros((train.n_features, model.n_components_)) for _ in range(2))
        A[held_out.group(0)] = to_numpy(model.x_rotations_).astype(np.float64) / to_numpy(model.x_scale_)[:, None]
        B[held_out.group(1)] = to_numpy(model.y_rotations_).astype(np.float64) / to_numpy(model.y_scale_)[:, None]
        lengths = np.sqrt(held_out.lengths(A) * held_out.lengths(B))
        products = np.diagonal(held_out.within(A, B))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.where(lengths > 0, np.clip(products / lengths, -1.0, 1.0), np.nan)
        return HeldOutScores(_running_sums(found, counts), model.status_ is not Status.UNRESOLVED)

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> HeldOutScores:
        model = self.copy(int(counts[-1])).fit(X, y, sample_weight=weights)
        used = test > 0
        T, U = (_columns(scores)[used] for scores in model.transform(X, y))
        T, U = (A - np.average(A, axis=0, weights=test[used]) for A in (T, U))
        products, x, y = (test[used] @ (A * B) for A, B in ((T, U), (T, T), (U, U)))
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.where(x * y > 0, products / np.sqrt(x * y), np.nan)
        return HeldOutScores(_running_sums(found, counts), True)


def has_unstored_missing(model: Any, source: Source) -> bool:
    """Whether the model treats the entries that a sparse matrix does not store as missing."""
    return bool(source.traits.sparse and getattr(model, "missing", "nan") == "unstored")


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
