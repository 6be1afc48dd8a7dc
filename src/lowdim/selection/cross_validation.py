"""Cross-validation in one pass over the rows, from summaries of the folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._blas import available
from .._memory import memory_bytes
from .._threads import run_in_parallel
from .._xp import compute_lazy, to_numpy
from ..errors import LowdimWarning, MissingValues, NonFiniteBlock, needs_second_reading, without_warnings
from ..reading import check_weights
from ..solvers.escalate import refine
from ..sources import Source
from ..summaries.base import union
from .folds import Folds, folds_of, split_summaries, summarize_by_label
from .protocol import CanBeValidated, HeldOutScorer, HeldOutScores
from .validation_table import CrossValidation

#: The fraction of memory that the summaries of all folds, and merges of them, may take.
_SHARE = 0.5


class NoFoldSummaries(ValueError):
    """Summaries of the folds are not possible, and the rows cannot be fitted again for each fold either."""


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    n_components: Any = None,
    parameters: Mapping[str, Sequence[Any]] | None = None,
    groups: Any = None,
    sample_weight: Any = None,
) -> CrossValidation:
    """Scores of models with different numbers of components on held-out rows.

    Parameters
    ----------
    estimator : PCA, PPCA, FactorAnalysis, PCR, PLSRegression or CCA
        Provides the options that all fits share. It is not changed, and its `n_components` is not used.
    X, y : rows
        Anything that the estimator reads. One pass is enough, so generators can be used if `cv` gives labels.
    cv : int, labels, splitter, or iterable of pairs
        A number of folds of consecutive rows (to shuffle them, pass scikit-learn's `KFold(5, shuffle=True)`), a vector
        with the label of each row, any scikit-learn splitter (repeated ones too), or pairs of row numbers
        (train, test). None with `groups` leaves out each group in turn.
    n_components : int or sequence of int, optional
        Numbers of components to try; None for a default range.
    parameters : dict of sequences, optional
        Values of other options of the estimator; all combinations are tried: `{"regularization": [0.0, 0.1, 0.5]}`.
    groups : vector, optional
        The group of each row; rows of one group are never split between training and testing.
    sample_weight : array of shape (n_samples,), optional
        Frequency weights, used in fits and in scores. The copies of a row of weight 2 are in the same fold.

    Returns
    -------
    CrossValidation
        The scores are the average log-likelihood of a held-out row for PCA, PPCA and FactorAnalysis, the mean squared
        error (averaged over responses) for PCR and PLSRegression, and the sum of the correlations of the first K pairs
        of variates for CCA.

    Notes
    -----
    In one pass over the rows, a summary of each fold is computed. The model without a fold is solved from the merged
    summaries of the other folds, with its own means and scales, and the fold is scored from its summary. The summaries
    are merged from both ends, so that none is ever subtracted from another. This takes about 2 p^2 numbers for each
    fold. Rows with missing values, and tables too wide for these summaries, are fitted again for each fold instead;
    `n_passes` tells how often the rows were read.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, cross_validate
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = cross_validate(PLSRegression(), X, y, cv=10, n_components=range(1, 7))
    >>> print(result)
    PLSRegression: mean squared error of rows left out, 10 splits of 442 rows
      K       mean  std. error
      1   3567.868     181.279
      2   3009.156     212.497
      3   2993.526     211.756  best
      4   2998.857     218.415
      5   3000.691     220.441
      6   3011.201     225.070
    within one standard error of the best: K = 2
    """
    if not isinstance(estimator, CanBeValidated):
        raise TypeError(
            f"{type(estimator).__module__}.{type(estimator).__name__} cannot be cross-validated here; lowdim's PCA, "
            "PPCA, FactorAnalysis, PCR, PLSRegression and CCA can."
        )
    if parameters is not None and (not isinstance(parameters, Mapping) or "n_components" in parameters):
        raise ValueError(
            f"parameters={parameters!r} must be a dict from options other than n_components to values to try, for "
            "example {'regularization': [0.0, 0.1]}; numbers of components have their own argument."
        )
    settings = [dict(s) for s in ParameterGrid(dict(parameters))] if parameters else [{}]
    models = [clone(estimator).set_params(n_components=None, **setting) for setting in settings]
    scorers = [model.held_out_scorer() for model in models]
    source = models[0].open_rows(X, y)
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    folds = folds_of(cv, source.shape[0], groups, _classes(y), weights)
    return CrossValidator(scorers, source, folds, weights, settings, (X, y)).run(n_components)


class CrossValidator:
    """One cross-validation of scorers on the rows of a source.

    After `run`, `total` is a summary of all rows, or None if there is none. `tables` are the X and y that models are
    fitted to if summaries cannot be used.
    """

    def __init__(
        self,
        scorers: list[HeldOutScorer],
        source: Source,
        folds: Folds,
        weights: Any = None,
        settings: list[dict[str, Any]] | None = None,
        tables: tuple[Any, Any] | None = None,
    ) -> None:
        self.scorers, self.source, self.folds, self.tables = scorers, source, folds, tables
        self.settings = [{}] if settings is None else settings
        self.weights = weights
        self.total: Any = None
        self.passes = 0
        self._found: list[list[HeldOutScores]] | None = None

    def run(self, n_components: Any = None, *, from_zero: bool = False) -> CrossValidation:
        """The scores, from summaries if possible and otherwise from fits of the rows.

        If the products of rows have lost too many digits, the rows are read a second time for finer summaries. With
        `from_zero`, a model without components is tried as well.
        """
        self.counts = self._counts(n_components)
        if from_zero and self.counts[0] == 1:
            self.counts = np.concatenate([[0], self.counts])
        found, _ = refine(False, self._score_summaries, self._finer)
        if found is None:
            return self._result(self._refit_scores())
        return self._result(np.array([[each.scores for each in row] for row in found]))

    def _score_summaries(self, fine: bool) -> list[list[HeldOutScores]] | None:
        """Scores of each split and setting from summaries, or from finer ones if `fine`.

        If these summaries are not possible, the scores found before (or None) are returned.
        """
        parts = self._parts(fine)
        if parts is not None:
            self._found = self._scores(parts)
            left_out = self.folds.labels[:, 0] < 0
            missing = left_out if self.weights is None else left_out & (to_numpy(self.weights) > 0)
            self.total = None if np.any(missing) else union(parts[0])
        return self._found

    def _finer(self, fine: bool, found: list[list[HeldOutScores]] | None) -> bool | None:
        """True if the rows should be read again for finer summaries, otherwise None."""
        if fine or found is None or not self.source.traits.rereadable:
            return None
        return None if all(each.resolved for row in found for each in row) else True

    def _counts(self, asked: Any) -> np.ndarray:
        """Numbers of components that are possible in every fold."""
        sizes = self._sizes()
        if np.any(sizes <= 0):
            i, side = (int(v) for v in np.argwhere(sizes <= 0)[0])
            what = "train on" if side == 0 else "leave out"
            raise ValueError(f"cv: split {i} has no row of positive weight to {what}.")
        least = float(sizes[:, 0].min())
        if least < 2:
            raise ValueError(f"cv: a split trains on {least:g} row; at least 2 are needed.")
        counts = [scorer.counts(asked, least, self.source) for scorer in self.scorers]
        return min(counts, key=len)

    def _sizes(self) -> np.ndarray:
        """Weights of the training rows and of the held-out rows, shape (splits, 2)."""
        weights = None if self.weights is None else to_numpy(self.weights)
        each = [
            np.bincount(column[column >= 0], None if weights is None else weights[column >= 0], minlength=count)
            for column, count in zip(self.folds.labels.T, self.folds.counts, strict=True)
        ]
        return np.array([[each[s.labelling][list(c)].sum() for c in (s.train, s.test)] for s in self.folds.splits])

    def _parts(self, fine: bool) -> list[list[Any]] | None:
        """Summaries of all cells, from one pass over the rows; None if they are not possible."""
        likes = [scorer.summary(self.source, fine) for scorer in self.scorers]
        if any(like is None for like in likes) or not self._fits_memory():
            return None
        if self.passes and not self.source.traits.rereadable:
            raise needs_second_reading("for a second pass over the held-out rows")
        try:
            parts = summarize_by_label(self.source, likes[0], self.folds.labels, self.folds.counts, self.weights)
        except MissingValues:
            if not self.scorers[0].takes_nan:
                raise
            return None
        self.passes += 1
        return parts

    def _fits_memory(self) -> bool:
        p, have = self.source.shape[1], memory_bytes()
        return not have or 8 * p * p * (2 * sum(self.folds.counts) + 4) < _SHARE * have

    def _scores(self, parts: list[list[Any]]) -> list[list[HeldOutScores]]:
        """Scores of each split and setting; each split runs in its own thread with a single-threaded BLAS."""
        try:
            pairs = list(split_summaries(parts, self.folds))
        except NonFiniteBlock as error:
            # The sums of squares of each fold are finite, but their total overflows.
            raise ValueError(str(error)) from None

        def score(pair: tuple[Any, Any], tick: Any) -> list[HeldOutScores]:
            tick()
            return [scorer.scores(*pair, self.counts) for scorer in self.scorers]

        # The same warning for each fold would not be helpful.
        with without_warnings(LowdimWarning), np.errstate(all="ignore"):
            return list(run_in_parallel([partial(score, pair) for pair in pairs], n_threads=available()))

    def _refit_scores(self) -> np.ndarray:
        """Scores from fits to the rows, in which held-out rows have weight zero."""
        if not self.source.traits.rereadable:
            raise needs_second_reading("for fits without a part of the rows")
        if self.tables is None:
            raise NoFoldSummaries(
                "n_components='cv' needs complete rows (without NaN), and memory for a summary of each fold; use "
                "lowdim.cross_validate instead, which can also fit the rows of each fold."
            )
        n = len(self.folds.labels)
        weights = np.ones(n) if self.weights is None else to_numpy(self.weights).astype(float)
        scores = []
        with without_warnings(LowdimWarning), np.errstate(all="ignore"):
            for split in self.folds.splits:
                column = self.folds.labels[:, split.labelling]
                train, test = (weights * np.isin(column, cells) for cells in (split.train, split.test))
                scores.append([s.refit_scores(*self.tables, train, test, self.counts) for s in self.scorers])
                self.passes += len(self.scorers)
        return np.array(scores)

    def _result(self, scores: np.ndarray) -> CrossValidation:
        scorer = self.scorers[0]
        by_response = scores.ndim == 4
        return CrossValidation(
            estimator=scorer.estimator,
            what=scorer.what,
            greater_is_better=scorer.greater_is_better,
            n_components=self.counts,
            settings=self.settings,
            scores=scores.mean(axis=-1) if by_response else scores,
            by_response=scores if by_response else None,
            weights=self._sizes()[:, 1],
            n_samples=len(self.folds.labels),
            n_passes=self.passes,
        )


def _classes(y: Any) -> np.ndarray | None:
    """y as a vector, for splitters that use it; None if it is not a vector."""
    if y is None or callable(y) or hasattr(y, "__next__"):
        return None
    y = compute_lazy(y)
    values = np.asarray(y) if isinstance(y, list | tuple) else y
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    if getattr(values, "ndim", 0) == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return to_numpy(values) if getattr(values, "ndim", 0) == 1 else None


def check_counts(asked: Any, lowest: int, highest: int, usual: int) -> np.ndarray:
    """`n_components` of a cross-validation as sorted whole numbers; None stands for all up to `usual`."""
    if asked is None:
        return np.arange(max(lowest, 1), max(min(highest, usual), 1) + 1)
    given = list(asked) if isinstance(asked, Iterable) and not isinstance(asked, str) else [asked]
    counts = np.unique(np.asarray(given)) if given else np.zeros(0)
    if counts.dtype.kind not in "iu" or len(counts) == 0:
        raise ValueError(f"n_components={asked!r} must be whole numbers to try, for example range(1, 11).")
    if counts[0] < lowest or counts[-1] > highest:
        raise ValueError(
            f"n_components from {counts[0]} to {counts[-1]} must be between {lowest} and {highest}, the largest number "
            "that is possible without the largest fold."
        )
    return counts
