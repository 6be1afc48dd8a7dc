"""Scorers of models by held-out rows: from summaries, or from the rows themselves.

The method `held_out_scorer` of a model returns its scorer for `cross_validate`. The scores are computed in
`held_out_scores`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from .._threads import check_stop
from .._xp import compute_lazy, dense, to_numpy
from ..errors import MissingValues
from ..reading import summarize
from ..solvers import Status
from ..sources import Source, mean_of_results, open_source
from ..summaries import Columns, Moments, Triangle
from .coordinates import CoordinateRows, Frame
from .cross_validation import check_counts
from .folds import tables_in
from .held_out_scores import HeldOutMoments, correlations, gaussian_density, independent_density, squared_errors
from .likelihood import density_summary, score_spectrum
from .protocol import CanBeStarted, HeldOutScores

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
