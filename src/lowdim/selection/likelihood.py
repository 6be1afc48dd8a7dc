"""Held-out likelihood of principal components: rule "cv", and how PCA and PPCA are scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._xp import to_numpy
from ..solvers import Request, Status, spectra
from ..sources import Source
from ..summaries import Moments, Triangle
from .cross_validation import CrossValidator, counts_asked
from .folds import folds_of
from .held_out import LeftOut, spectral_densities
from .protocol import HeldOutScores
from .validation_table import CrossValidation


def score_spectrum(
    train: Any, test: Any, counts: np.ndarray, *, ddof: int, standardize: bool, constant: bool = True
) -> HeldOutScores:
    """Average log-likelihood of the rows in `test` under PCA of those in `train`, all numbers of components at once. If
    not `constant`, columns that are constant in both do not count."""
    spectrum, _ = spectra.solve_summary(train, Request(k=None, ddof=ddof, standardize=standardize))
    p, rank = train.n_features, spectrum.rank
    if not constant:
        p = max(int(np.count_nonzero(LeftOut(train).columns() + LeftOut(test).columns() > 0.0)), rank)
    values = to_numpy(spectrum.variances(ddof))
    cut = spectrum.rank_cut / spectrum.total * float(values.sum()) if spectrum.total > 0.0 else 0.0
    beyond = max(float(values[rank:].sum()), 0.0)
    found = spectral_densities(
        LeftOut(test),
        to_numpy(spectrum.mean),
        None if spectrum.scale is None else to_numpy(spectrum.scale),
        to_numpy(spectrum.vectors)[:rank],
        values[:rank],
        beyond if beyond > cut * (p - rank) else 0.0,
        counts,
        p,
    )
    # Products of rows do not see directions below their rounding, which may be all the noise there is.
    lost = isinstance(train, Moments) and spectrum.status is Status.UNRESOLVED
    return HeldOutScores(found.scores, found.resolved and not lost)


def density_summary(source: Source, fine: bool) -> Moments | Triangle:
    """What is kept of the rows of a fold. Columns may have any scale, and float32 has no room for their squares."""
    return Triangle(source.shape[1]) if fine else Moments(source.shape[1], wide=True)


@dataclass(frozen=True)
class SpectralScorer:
    """PPCA as far as a cross-validation needs it: no more than its eigenvalues."""

    standardize: bool = False
    ddof: int = 0
    estimator: ClassVar[str] = "PPCA"
    what: ClassVar[str] = "log-likelihood"
    greater_is_better: ClassVar[bool] = True
    takes_nan: ClassVar[bool] = False
    from_zero: ClassVar[bool] = True

    def summary(self, source: Source, fine: bool) -> Moments | Triangle:
        """An empty summary of the kind that is kept of each fold."""
        return density_summary(source, fine)

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        """Numbers of components to try."""
        most = min(int(n_train), source.shape[1])
        # Without a component rows are N(mean, sigma2 I), which is a model too.
        return np.arange(most) if asked is None else counts_asked(asked, 0, most, most)

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        """Scores for each count, from summaries."""
        return score_spectrum(train, test, counts, ddof=self.ddof, standardize=self.standardize, constant=False)

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Rows are never fitted again: a rule needs summaries."""
        raise TypeError("the held-out likelihood of eigenvalues comes from summaries.")


def held_out_likelihood(
    source: Source, cv: Any, sample_weight: Any, *, standardize: bool
) -> tuple[CrossValidation, Moments | Triangle | None]:
    """Held-out log-likelihood of PPCA for every K, and the summary of all rows that comes with it."""
    validator = CrossValidator([SpectralScorer(standardize)], source, folds_of(cv, source.shape[0]), sample_weight)
    return validator.run(), validator.total
