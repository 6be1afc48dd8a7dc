"""Held-out likelihood of principal components, for the rule "cv" and for the cross-validation of PCA and PPCA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._xp import to_numpy
from ..reading import check_weights
from ..solvers import Request, Status, spectra
from ..sources import Source
from ..summaries import Moments, Triangle
from .coordinates import Frame
from .cross_validation import CrossValidator, check_counts
from .held_out_scores import HeldOutMoments, spectral_densities
from .protocol import HeldOutScores
from .unordered_folds import folds_for
from .validation_table import CrossValidation


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
