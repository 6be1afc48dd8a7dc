"""Cross-validation in one pass over the rows, from summaries of the folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from .._xp import compute_lazy, is_sparse, to_numpy
from ..errors import MissingValues, NeedsRowsInMemory, needs_second_reading
from ..reading import check_weights
from ..solvers import Plan, Status
from ..solvers.escalate import finer_plan, refine
from ..solvers.plan import cheapest_plan, checked_plan
from ..sources import Source, by_name, gather
from .fold_run import FoldJob, FoldResult, FoldRun
from .fold_scores import FOLD_SCORES, RefitFolds
from .folds import Folds, tables_in
from .protocol import CanBeValidated, HeldOutScorer
from .unordered_folds import folds_for
from .validation_table import CrossValidation

_NO_SUMMARIES = (
    "n_components='cv' needs complete rows (without NaN), and memory for a summary of each fold; use "
    "lowdim.cross_validate instead, which can also fit the rows of each fold."
)


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
        (train, test). A string is the name of a column of X that holds labels. None with `groups` leaves out each group
        in turn.
    n_components : int or sequence of int, optional
        Numbers of components to try; None for a default range.
    parameters : dict of sequences, optional
        Values of other options of the estimator; all combinations are tried: `{"regularization": [0.0, 0.1, 0.5]}`.
    groups : vector, or str, optional
        The group of each row, or the name of a column of X that holds it; rows of one group are never split between
        training and testing.
    sample_weight : array of shape (n_samples,), or str, optional
        Frequency weights, used in fits and in scores, or the name of a column of X that holds them. The copies of a row
        of weight 2 are in the same fold.

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
    fold.

    If there are fewer rows than columns, one pass over the columns gives the n x n inner products of the rows, and each
    split is a choice of their rows and columns, centred by its training rows. If columns are divided by the standard
    deviations of the training rows, each split has its own products, from the same pass. Rows with missing values, and
    factor analysis of many columns, are fitted again for each fold. `plan` says which of these was done and why, and
    `n_passes` how often the rows were read; `lowdim.plan(estimator, X, y, cv=5)` tells beforehand.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, cross_validate
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = cross_validate(PLSRegression(), X, y, cv=10, n_components=range(1, 7))
    >>> print(result)
    PLSRegression: mean squared error of rows left out, 10 splits of 442 rows
    K    mean  std. error   RMSEP      R2  choice
    1  3567.9      181.28  59.732  0.4017
    2  3009.2      212.50  54.856  0.4954  one std. error
    3  2993.5      211.76  54.713  0.4980  best
    4  2998.9      218.41  54.762  0.4971
    5  3000.7      220.44  54.779  0.4968
    6  3011.2      225.07  54.874  0.4951
    within one standard error of the best: K = 2
    """
    return _validator(estimator, X, y, cv, parameters, groups, sample_weight, gathers=True).run(n_components)


def plan_cross_validation(estimator: Any, X: Any, y: Any = None, *, cv: Any = 5, sample_weight: Any = None) -> Plan:
    """How `cross_validate` would score held-out rows, with its other options at their defaults; no row is read."""
    return _validator(estimator, X, y, cv, None, None, sample_weight).make_plan()


def _validator(
    estimator: Any,
    X: Any,
    y: Any,
    cv: Any,
    parameters: Any,
    groups: Any,
    sample_weight: Any,
    *,
    gathers: bool = False,
) -> CrossValidator:
    """The cross-validation of an estimator, after a check of the arguments. If it `gathers`, rows of unknown number are
    gathered in memory, unless their labels are given."""
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
    X, y, cv, groups, sample_weight = by_name(X, y, cv=cv, groups=groups, sample_weight=sample_weight)
    source, tables = models[0].open_rows(X, y), (X, y)

    def folds() -> Folds:
        return folds_for(source, cv, groups, _classes(tables[1], source.shape[0]), weights)

    weights = None if sample_weight is None else check_weights(sample_weight, source)
    try:
        found = folds()
    except NeedsRowsInMemory:
        if not gathers or source.traits.remote:
            raise
        source = gather(source, "for cross-validation")
        members = tables_in(source)
        tables = (members[0], members[1] if len(members) > 1 else None)
        weights = None if sample_weight is None else check_weights(sample_weight, source)
        found = folds()
    return CrossValidator(scorers, source, found, weights, settings, tables)


class CrossValidator:
    """One cross-validation of scorers on the rows of a source.

    Parameters
    ----------
    tables : pair, optional
        X and y, to which models are fitted for each split if there is no other way. Without them, models are fitted to
        the source, but not if it has missing values.

    Attributes
    ----------
    total : Summary or None
        After `run`, a summary of all rows, if one was made.
    plan : Plan
        After `run`, how the held-out rows were scored.
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

    def run(self, n_components: Any = None, *, from_zero: bool = False) -> CrossValidation:
        """The scores, by the cheapest way that is possible.

        If the products of rows have lost too many digits, the rows are read a second time for finer summaries. With
        `from_zero`, a model without components is tried as well.
        """
        run = self._prepared(n_components, from_zero)
        job = run.job()
        first = self._cheapest(job)
        try:
            found, self.plan = refine(first, partial(self._score, run), partial(_finer, job))
        except MissingValues:
            if not self.scorers[0].takes_nan:
                raise
            if self.tables is None:
                raise NoFoldSummaries(_NO_SUMMARIES) from None
            self.plan = checked_plan(RefitFolds(), job, "the rows have missing values, so each split is fitted")
            found = self._score(run, self.plan)
        self.total = found.total
        return self._result(np.array([[each.scores for each in row] for row in found.scores]))

    def make_plan(self, n_components: Any = None, *, from_zero: bool = False) -> Plan:
        """How `run` would score the held-out rows, as far as that is known before a row is read."""
        return self._cheapest(self._prepared(n_components, from_zero).job())

    def _prepared(self, n_components: Any, from_zero: bool) -> FoldRun:
        """What is scored, after a check of the numbers of components."""
        self.counts = self._counts(n_components)
        if from_zero and self.counts[0] == 1:
            self.counts = np.concatenate([[0], self.counts])
        # What is scored beside the numbers that were asked for: the means, with which predictions are compared.
        self._beside = int(self.scorers[0].compares_with_means and self.counts[0] > 0)
        counts = np.concatenate([np.zeros(self._beside, dtype=int), self.counts])
        members = tables_in(self.source)
        tables = self.tables or (members[0], members[1] if len(members) > 1 else None)
        return FoldRun(self.scorers, self.source, self.folds, self.weights, counts, tables)

    def _cheapest(self, job: FoldJob) -> Plan:
        """The plan of least cost; an error if the summaries that are needed do not fit into memory."""
        try:
            return cheapest_plan(job, FOLD_SCORES)
        except MemoryError as error:
            if self.tables is not None:
                raise
            raise NoFoldSummaries(_NO_SUMMARIES) from error

    def _score(self, run: FoldRun, plan: Plan) -> FoldResult:
        if self.passes and not self.source.traits.rereadable:
            raise needs_second_reading("for a second pass over the held-out rows")
        found: FoldResult = plan.solver.score(run)
        self.passes += plan.solver.passes(run)
        return found

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
        each = self.folds.weights_of_cells(self.weights)
        return np.array([[each[s.labelling][list(c)].sum() for c in (s.train, s.test)] for s in self.folds.splits])

    def _result(self, scores: np.ndarray) -> CrossValidation:
        scorer = self.scorers[0]
        by_response = scores.ndim == 4
        of_means = scores[:, :, 0] if scorer.compares_with_means else None
        scores = scores[:, :, self._beside :]
        return CrossValidation(
            estimator=scorer.estimator,
            what=scorer.what,
            greater_is_better=scorer.greater_is_better,
            n_components=self.counts,
            settings=self.settings,
            per_split=scores.mean(axis=-1) if by_response else scores,
            by_response=scores if by_response else None,
            weights=self._sizes()[:, 1],
            n_samples=self.folds.n,
            n_passes=self.passes,
            plan=self.plan,
            of_means=of_means,
        )


def _finer(job: FoldJob, plan: Plan, found: FoldResult) -> Plan | None:
    """The plan for finer summaries, if the scores are not accurate and the rows can be read again."""
    if found.resolved or not job.traits.rereadable:
        return None
    return finer_plan(plan, Status.UNRESOLVED, job)


def _classes(y: Any, n: int | None = None) -> np.ndarray | None:
    """y as a vector, for splitters that use it; None if it is not a vector, or not one of n rows if it is a list."""
    if y is None or callable(y) or hasattr(y, "__next__") or is_sparse(y) or isinstance(y, Source):
        return None
    if isinstance(y, list | tuple) and len(y) and getattr(y[0], "shape", None):
        blocks = [_classes(block) for block in y]
        vectors = [block for block in blocks if block is not None]
        # Vectors may also be the rows of a table.
        return np.concatenate(vectors) if len(vectors) == len(blocks) and sum(map(len, vectors)) == n else None
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
