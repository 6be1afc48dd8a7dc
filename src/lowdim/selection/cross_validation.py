"""Cross-validation in one pass over the rows, from summaries of the folds, and its result."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from .._core.arrays import compute_lazy, is_sparse, to_numpy
from .._core.schema import Anything, Entries, Instance, ListOf, Maybe, Numbers, Real, Sometimes, Text, Whole
from .._core.types import Estimator, VectorLike
from ..errors import MissingValues, NeedsRowsInMemory, what_instead, with_present_names
from ..reading.summarizing import check_weights
from ..selection.folds import FoldsLike
from ..solvers.problem import Plan, Status, cheapest_solver, checked_plan, finer_plan
from ..sources.base import Source
from ..sources.derived import gather
from ..sources.frame import is_table
from ..sources.opening import TableLike, by_name, check_row_labels
from ..table import Table, Tabular
from .fold_methods import FOLD_METHODS, FoldJob, HeldOutScorer, RefitFolds, tables_of
from .folds import Folds, Split, folds_for, folds_of


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidation(Tabular):
    """How well held-out rows are described, for each number of components and each setting of other options.

    Attributes
    ----------
    n_components : array of shape (n_counts,)
        The numbers of components that were tried.
    settings : list of dict
        The settings of other options that were tried; a single empty one if there were none.
    per_split : array of shape (n_splits, n_settings, n_counts)
        The average over the held-out rows of each split of what is measured: `what`.
    by_response : array of shape (n_splits, n_settings, n_counts, n_targets), or None
        For regressions, the mean squared errors of each response.
    of_means : array of shape (n_splits, n_settings, n_targets), or None
        For regressions, the mean squared errors of predictions by the means of the other rows.
    mean_residuals : array of shape (n_splits, n_settings, n_counts, n_targets), or None
        For regressions, the means of the residuals, which are the held-out responses minus their predictions.
    weights : array of shape (n_splits,)
        The total weight of the held-out rows.
    folds : str
        Which rows are held out, such as "5 folds of 442 shuffled rows".
    repeats : float
        How often a row is held out, on average over the rows that are held out at all.
    mean, standard_error : arrays of shape (n_settings, n_counts)
        Mean over all held-out rows, and its standard error.
    rmse, r2 : arrays of shape (n_settings, n_counts)
        For regressions, the root mean squared error of prediction (RMSEP), and the share of the variance of the
        responses that is predicted (R2), both over all held-out rows.
    best, one_standard_error : int
        The number of components with the best mean, and the smallest number whose mean is within one standard error of
        it: the standard error of the best, from the variation between splits.
    one_sigma : int
        For regressions with one response, the number that `selectNcomp(method = "onesigma")` of R's pls chooses: the
        smallest one whose RMSEP is within one standard error of the smallest RMSEP, by the standard error of its own
        residuals.
    best_setting : dict
        The setting with the best mean.
    plan : Plan
        How the held-out rows were scored, and why so.
    n_passes : int
        How often the rows were read.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, cross_validate
    >>> found = cross_validate(PLSRegression(), *load_diabetes(return_X_y=True), n_components=[1, 2, 3])
    >>> type(found).__name__, found.best, found.one_standard_error
    ('CrossValidation', 3, 2)
    >>> found.rmse.round(1)
    array([[59.6, 54.9, 54.6]])
    """

    estimator: str
    what: str
    greater_is_better: bool
    n_components: np.ndarray = field(metadata={"kind": Numbers("c", host=True, dtype="int")})
    settings: list[dict[str, Any]] = field(metadata={"kind": ListOf(Entries(Anything()), length="s")})
    per_split: np.ndarray = field(metadata={"kind": Numbers("f", "s", "c", host=True, finite=False)})
    by_response: np.ndarray | None = field(
        metadata={"kind": Maybe(Numbers("f", "s", "c", "*", host=True, finite=False))}
    )
    weights: np.ndarray = field(metadata={"kind": Numbers("f", host=True, dtype="any", sign="positive")})
    n_samples: int = field(metadata={"kind": Whole(1)})
    n_passes: int = field(metadata={"kind": Whole()})
    plan: Plan = field(metadata={"kind": Instance("solvers.Plan")})
    of_means: np.ndarray | None = field(
        default=None, metadata={"kind": Sometimes(Maybe(Numbers("f", "s", "*", host=True, finite=False)))}
    )
    mean_residuals: np.ndarray | None = field(
        default=None, metadata={"kind": Sometimes(Maybe(Numbers("f", "s", "c", "*", host=True, finite=False)))}
    )
    folds: str = field(default="", metadata={"kind": Sometimes(Text())})
    repeats: float = field(default=1.0, metadata={"kind": Sometimes(Real("positive"))})
    #: What attributes are called in files, where that differs.
    names_in_files: ClassVar[dict[str, str]] = {"per_split": "scores"}

    @property
    def mean(self) -> np.ndarray:
        """Average over all held-out rows: splits are weighted by their held-out rows."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.average(self.per_split, axis=0, weights=self.weights))

    @property
    def standard_error(self) -> np.ndarray:
        """Standard error of the mean, from the variation between splits: sd sqrt(m / J).

        sd is the standard deviation of the means of the J splits, and m is `repeats`. For k folds m = 1 and J = k. For
        r repetitions of k folds J / m = k: splits that hold out the same rows are not independent, so more repetitions
        make sd more accurate, but the standard error no smaller.
        """
        n = len(self.per_split) / self.repeats
        if len(self.per_split) == 1:
            return np.full(self.per_split.shape[1:], np.nan)
        # Scores may themselves be squares of large or small numbers; powers of two change no digit.
        size = np.abs(self.per_split).max(axis=0)
        unit = np.ldexp(1.0, np.frexp(np.where(np.isfinite(size), size, 1.0))[1] - 1)
        with np.errstate(invalid="ignore"):
            return np.asarray((self.per_split / unit).std(axis=0, ddof=1) * (unit / np.sqrt(n)))

    @property
    def rmse(self) -> np.ndarray:
        """Root mean squared error over all held-out rows, for regressions."""
        if self.by_response is None:
            raise AttributeError(f"{self.estimator} is measured by its {self.what}, so there is no rmse.")
        return np.sqrt(self.mean)

    @property
    def r2(self) -> np.ndarray:
        """1 - MSE / MSE of the means, over all held-out rows, averaged over the responses, for regressions.

        The means are those of the rows that are not left out, so that R2 is negative if predictions are worse than
        these. The R2 of a response that does not vary is 1 if it is predicted exactly, and 0 otherwise.
        """
        if self.by_response is None or self.of_means is None:
            raise AttributeError(f"{self.estimator} is measured by its {self.what}, so there is no r2.")
        errors = np.average(self.by_response, axis=0, weights=self.weights)
        whole = np.average(self.of_means, axis=0, weights=self.weights)[:, None, :]
        ratio = np.where(whole > 0, errors / np.where(whole > 0, whole, 1.0), np.where(errors > 0, 1.0, 0.0))
        return np.asarray(np.mean(1.0 - ratio, axis=-1))

    @property
    def best(self) -> int:
        """The number of components with the best mean."""
        return int(self.n_components[self._best[1]])

    @property
    def best_setting(self) -> dict[str, Any]:
        """The setting of other options with the best mean."""
        return self.settings[self._best[0]]

    @property
    def one_standard_error(self) -> int:
        """The smallest number of components, in the best setting, with a mean within one standard error of the best.

        The standard error is that of the best mean, from the variation between splits [1]_: K is good enough if
        MSE_K <= MSE_best + SE_best. (Log-likelihoods and correlations must be at least best - SE_best.)

        References
        ----------
        .. [1] Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees.
        """
        s, j = self._best
        mean, error = self._oriented_mean()[s], self.standard_error[s, j]
        reach = mean[j] - (error if np.isfinite(error) else 0.0)
        return int(self.n_components[np.flatnonzero(mean >= reach)[0]])

    @property
    def one_sigma(self) -> int:
        """The number of components that `selectNcomp(method = "onesigma")` of R's pls chooses, for regressions with one
        response: the smallest K, in the best setting, with

            RMSEP_K - sd(e_K) / sqrt(n) < min_j RMSEP_j,

        where e_K are the residuals of the n held-out rows, and their standard deviation has the divisor n - 1. Rows
        that are held out several times count once in n.
        """
        if self.mean_residuals is None or self.mean_residuals.shape[-1] != 1:
            raise AttributeError("one_sigma is for regressions with one response; use one_standard_error.")
        s, n = self._best[0], float(self.weights.sum()) / self.repeats
        averages = np.average(self.mean_residuals[:, s, :, 0], axis=0, weights=self.weights)
        variances = np.clip(self.mean[s] - averages**2, 0.0, None) * n / (n - 1.0)
        lowest = self.rmse[s] - np.sqrt(variances / n)
        # Residuals of zero have no standard error.
        return int(self.n_components[np.flatnonzero(lowest <= self.rmse[s].min())[0]])

    def table(self) -> Table:
        """A row for each setting and number of components, labelled by the number of components.

        The last column marks the best one ("best"), and the smallest number of components within one standard error of
        it ("one std. error").
        """
        names, counts = list(self.settings[0]), len(self.n_components)
        columns: dict[str, Any] = {
            name: [_entry(setting[name]) for setting in self.settings for _ in range(counts)] for name in names
        }
        columns |= {"mean": self.mean.ravel(), "std. error": self.standard_error.ravel()}
        if self.by_response is not None:
            columns["RMSEP"] = self.rmse.ravel()
        if self.of_means is not None:
            columns["R2"] = self.r2.ravel()
        columns["choice"], notes = self._marks()
        folds = self.folds or f"{len(self.per_split)} splits of {self.n_samples} rows"
        title = f"{self.estimator}: {self.what} of rows left out, {folds}"
        labels = np.tile(self.n_components, len(self.settings))
        return Table(columns, labels, title=title, notes=notes, row_name="K")

    def _marks(self) -> tuple[list[str], list[str]]:
        """The last column of the table, and what is said below it."""
        marks = np.full(self.mean.shape, "", dtype=object)
        if np.all(np.isneginf(self._oriented_mean())):
            return marks.ravel().tolist(), ["no model has a finite mean: there is no variance left for the noise"]
        (s, j), smallest = self._best, self.one_standard_error
        marks[s, j] = "best"
        i = int(np.flatnonzero(self.n_components == smallest)[0])
        marks[s, i] = "best, one std. error" if i == j else "one std. error"
        words = "".join(f"{name}={value}, " for name, value in self.best_setting.items())
        notes = [f"best: {words}K = {self.best}"] if words else []
        return marks.ravel().tolist(), [*notes, f"within one standard error of the best: K = {smallest}"]

    @property
    def _best(self) -> tuple[int, int]:
        mean = self._oriented_mean()
        if np.all(np.isneginf(mean)):
            raise ValueError(
                f"no model has a finite {self.what}: the rows without a fold leave no variance for the noise. Try "
                "fewer components, or drop columns that depend on others."
            )
        s, j = np.unravel_index(int(np.argmax(mean)), mean.shape)
        return int(s), int(j)

    def _oriented_mean(self) -> np.ndarray:
        """The means, with their sign changed if smaller is better; minus infinity instead of NaN."""
        mean = self.mean if self.greater_is_better else -self.mean
        return np.where(np.isnan(mean), -np.inf, mean)

    def __repr__(self) -> str:
        if np.all(np.isneginf(self._oriented_mean())):
            return f"CrossValidation({self.estimator}, no finite mean, {self.folds})"
        words = "".join(f", {name}={value}" for name, value in self.best_setting.items())
        best = f"best n_components={self.best}{words}, within one standard error: {self.one_standard_error}"
        return f"CrossValidation({self.estimator}, {best}, {self.folds})"


def _entry(value: Any) -> Any:
    """The value of an option as an entry of a table: numbers and text as they are, and everything else as text."""
    return value if value is None or isinstance(value, bool | int | float | str | np.generic) else str(value)


_NO_SUMMARIES = (
    "n_components='cv' needs complete rows (without NaN), and memory for a summary of each fold; use "
    "lowdim.cross_validate instead, which can also fit the rows of each fold."
)


class NoFoldSummaries(ValueError):
    """Summaries of the folds are not possible, and the rows cannot be fitted again for each fold either."""


@with_present_names
def cross_validate(
    estimator: Estimator,
    X: TableLike,
    y: TableLike | None = None,
    *,
    cv: FoldsLike | None = 5,
    n_components: int | Iterable[int] | None = None,
    param_grid: Mapping[str, Sequence[Any]] | None = None,
    groups: VectorLike | None = None,
    sample_weight: VectorLike | None = None,
) -> CrossValidation:
    """Scores of models with different numbers of components on held-out rows.

    Parameters
    ----------
    estimator : PCA, PPCA, FactorAnalysis, MCA, FAMD, MFA, PCR, PLSRegression or CCA, or a Pipeline that ends with one
        Provides the options that all fits share. It is not changed. If it has a number of components other than the
        default of its class, only this one is tried; a rule or a share of variance is refused. The steps of a Pipeline
        before the last are fitted to the training rows of each split.
    X : rows
    y : rows, default=None
        Anything that the estimator reads. One pass is enough, so generators can be used if `cv` gives labels.
    cv : int, labels, splitter, or iterable of pairs, default=5
        A number of folds of rows that are shuffled with a fixed seed, since rows are often sorted; with `groups`, of
        whole groups. Or a vector with the label of each row, any scikit-learn splitter (such as `KFold(5)` for
        consecutive rows, or repeated ones), or pairs of row numbers (train, test). A string is the name of a column of
        X that holds labels. None with `groups` leaves out each group in turn. The result says which folds were used.
    n_components : int or sequence of int, default=None
        Numbers of components to try; None for that of the estimator, or for a default range if it has none.
    param_grid : dict of sequences, default=None
        Values of other options of the estimator; all combinations are tried: `{"regularization": [0.0, 0.1, 0.5]}`.
        For a Pipeline, options have the names that its `set_params` takes, such as "pls__scale".
    groups : vector, or str, default=None
        The group of each row, or the name of a column of X that holds it; rows of one group are never split between
        training and testing.
    sample_weight : array of shape (n_samples,), or str, default=None
        Frequency weights, used in fits and in scores, or the name of a column of X that holds them. The copies of a row
        of weight 2 are in the same fold.

    Returns
    -------
    CrossValidation
        The scores are the average log-likelihood of a held-out row for PCA, PPCA and FactorAnalysis, the mean squared
        error (averaged over responses) for PCR and PLSRegression, and the sum of the correlations of the first K pairs
        of variates for CCA. For MCA, FAMD and MFA they are the squared error of the entries of a held-out row, each
        predicted from the other columns of the row, relative to that of predictions by the mean.

    Notes
    -----
    Columns that are constant in all rows have no density, so log-likelihoods of PCA and PPCA leave them out, as the
    rule "cv" does.

    In one pass over the rows, a summary of each fold is computed. The model without a fold is solved from the merged
    summaries of the other folds, with its own means and scales, and the fold is scored from its summary. The summaries
    are merged from both ends, so that none is ever subtracted from another. This takes about 2 p^2 numbers for each
    fold.

    If there are fewer rows than columns, one pass over the columns gives the n x n inner products of the rows, and each
    split is a choice of their rows and columns, centred by its training rows. If columns are divided by the standard
    deviations of the training rows, each split has its own products, from the same pass. Rows with missing values, and
    factor analysis of many columns, are fitted again for each fold. `plan` says which of these was done and why, and
    `n_passes` how often the rows were read; `lowdim.plan(estimator, X, y, cv=5)` tells beforehand.

    Tables with categories are coded first, in a pass that finds the levels of all rows; folds are summed up as rows of
    zeros and ones.

    With a Pipeline, each split is a cross-validation of its own: the steps before the last are fitted to the training
    rows, map these and the held-out rows, and the last step is scored as above. `X` is then an array, a sparse matrix
    or a data frame, since rows are chosen from it, and there are no weights, which few steps of scikit-learn would use.
    Log-likelihoods are those of the mapped rows, so they do not compare different steps before the model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, cross_validate
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = cross_validate(PLSRegression(), X, y, cv=10, n_components=range(1, 7))
    >>> print(result)
    PLSRegression: mean squared error of rows left out, 10 folds of 442 shuffled rows
    K    mean  std. error   RMSEP      R2  choice
    1  3565.5      132.39  59.712  0.3999
    2  3012.5      165.85  54.886  0.4929  one std. error
    3  2990.1      157.40  54.682  0.4967  best
    4  2997.9      158.86  54.753  0.4954
    5  2999.8      157.19  54.771  0.4951
    6  2999.5      156.69  54.768  0.4951
    within one standard error of the best: K = 2
    """
    if isinstance(estimator, Pipeline):
        if sample_weight is not None:
            raise ValueError(
                "sample_weight cannot be used with a Pipeline, whose steps are fitted without weights. Repeat rows "
                "that count more than once, with groups= that keep them together."
            )
        return _cross_validate_pipeline(estimator, X, y, cv, n_components, param_grid, groups)
    validator = _validator(estimator, X, y, cv, param_grid, groups, sample_weight, gathers=True)
    return validator.run(_counts_to_try(estimator, n_components))


def _counts_to_try(model: Any, asked: Any) -> Any:
    """`asked`, or else the number of components of the model, if it is not the default of its class."""
    given = model.n_components
    default = inspect.signature(type(model)).parameters["n_components"].default
    if given is None or (isinstance(given, type(default)) and given == default):
        return asked
    if asked is not None:
        raise ValueError(
            f"n_components={asked!r} and {type(model).__name__}(n_components={given!r}) both say what to try; leave "
            "one of them out."
        )
    if not isinstance(given, numbers.Integral) or isinstance(given, bool):
        raise ValueError(
            f"n_components={given!r} of {type(model).__name__} would choose a number in each fit, and cross_validate "
            "compares numbers: leave it out, and pass the numbers to try, as in n_components=[1, 2]."
        )
    return int(given)


def _cross_validate_pipeline(
    pipeline: Pipeline, X: Any, y: Any, cv: Any, n_components: Any, param_grid: Any, groups: Any
) -> CrossValidation:
    """The scores of the last step, from rows that the other steps map; these are fitted again for each split."""
    name, model = pipeline.steps[-1]
    _require_scorer(model)
    n_components = _counts_to_try(model, n_components)
    settings = _settings(param_grid, f"{name}__n_components")
    pipelines = [clone(pipeline).set_params(**setting, **{f"{name}__n_components": None}) for setting in settings]
    check_row_labels(X, y=y)
    X, y, cv, groups = by_name(X, y, hold=True, cv=cv, groups=groups)
    X, y = (np.asarray(table) if isinstance(table, list | tuple) else table for table in (X, y))
    if not (isinstance(X, np.ndarray) or is_sparse(X) or is_table(X)):
        raise TypeError(
            f"X is of type {type(X).__name__}. A Pipeline is fitted to chosen rows, so pass an array, a sparse matrix "
            "or a data frame."
        )
    folds = folds_of(cv, X.shape[0], groups, _classes(y, X.shape[0]))
    found = []
    for weights in folds.split_weights(None):
        sides = [np.flatnonzero(side) for side in weights]
        rows = [_safe_indexing(X, side) for side in sides]
        responses = None if y is None else [_safe_indexing(y, side) for side in sides]
        found.append([_score_split(each, rows, responses, n_components) for each in pipelines])
    results = [each for row in found for each in row]
    first = results[0]
    # Numbers of components that are possible in every fold.
    counts = min((each.n_components for each in results), key=len)

    def joined(name: str) -> Any:
        if getattr(first, name) is None:
            return None
        cut = slice(None) if name == "of_means" else slice(len(counts))
        return np.concatenate([np.concatenate([getattr(each, name)[:, :, cut] for each in row], 1) for row in found])

    return replace(
        first,
        estimator=", ".join(type(step).__name__ for _, step in pipeline.steps),
        n_components=counts,
        settings=settings,
        per_split=joined("per_split"),
        by_response=joined("by_response"),
        of_means=joined("of_means"),
        mean_residuals=joined("mean_residuals"),
        weights=np.concatenate([row[0].weights for row in found]),
        n_samples=folds.n,
        folds=folds.what,
        repeats=folds.repeats(None),
        n_passes=sum(each.n_passes for each in results),
        plan=replace(first.plan, why=f"{first.plan.why}; the steps before the model are fitted for each split"),
    )


def _score_split(pipeline: Pipeline, X: list[Any], y: list[Any] | None, n_components: Any) -> CrossValidation:
    """The scores of one split; X and y each hold the training rows and the held-out rows."""
    steps, model = pipeline[:-1], pipeline[-1]
    if len(steps) > 0:
        X = [steps.fit_transform(X[0], None if y is None else y[0]), steps.transform(X[1])]
    source = gather(model.open_rows(X, y), "for cross-validation")
    labels = np.repeat([0, 1], [part.shape[0] for part in X])
    folds = Folds(labels[:, None], (2,), (Split(0, (0,), (1,)),))
    return CrossValidator([model.held_out_scorer()], source, folds, tables=tables_of(source.members)).run(n_components)


def plan_cross_validation(estimator: Any, X: Any, y: Any = None, *, cv: Any = 5, sample_weight: Any = None) -> Plan:
    """How `cross_validate` would score held-out rows, with its other options at their defaults; no row is read."""
    return _validator(estimator, X, y, cv, None, None, sample_weight).make_plan(_counts_to_try(estimator, None))


def _validator(
    estimator: Any, X: Any, y: Any, cv: Any, param_grid: Any, groups: Any, sample_weight: Any, *, gathers: bool = False
) -> CrossValidator:
    """The cross-validation of an estimator, after a check of the arguments. If it `gathers`, rows of unknown number are
    gathered in memory, unless their labels are given."""
    _require_scorer(estimator)
    settings = _settings(param_grid, "n_components")
    models = [clone(estimator).set_params(n_components=None, **setting) for setting in settings]
    coded = hasattr(estimator, "coded_rows")
    if coded and len(settings) > 1:
        raise ValueError(
            f"param_grid={param_grid!r}: options of {type(estimator).__name__} change the coded columns, whose errors "
            "cannot be compared. Leave it out; n_components says what to try."
        )
    scorers = [model.held_out_scorer() for model in models]
    vectors = {"cv": cv, "groups": groups, "sample_weight": sample_weight}
    X, y, cv, groups, sample_weight = by_name(X, y, of_any_kind=coded, **vectors)

    def validator(source: Source, tables: tuple[Any, Any]) -> CrossValidator:
        weights = None if sample_weight is None else check_weights(sample_weight, source)
        folds = folds_for(source, cv, groups, _classes(tables[1], source.shape[0]), weights)
        return CrossValidator(scorers, source, folds, weights, settings, tables, passes_before=int(coded))

    source = models[0].open_rows(X, y)
    if coded:
        source = models[0].coded_rows(source, sample_weight) if gathers else models[0].planned_rows(source)
    try:
        return validator(source, (X, y))
    except NeedsRowsInMemory:
        if not gathers or source.traits.remote:
            raise
        source = gather(source, "for cross-validation")
        return validator(source, tables_of(source.members))


def _require_scorer(estimator: Any) -> None:
    """Refuse what is no model whose held-out rows can be scored."""
    if not (hasattr(estimator, "open_rows") and hasattr(estimator, "held_out_scorer")):
        raise TypeError(
            f"{type(estimator).__module__}.{type(estimator).__name__} cannot be cross-validated here; lowdim's PCA, "
            "PPCA, FactorAnalysis, MCA, FAMD, MFA, PCR, PLSRegression and CCA can, and a Pipeline of scikit-learn that "
            f"ends with one of them.{what_instead(estimator, 'cross_validate')}"
        )


def _settings(param_grid: Any, count: str) -> list[dict[str, Any]]:
    """All combinations of the values of options; `count` is the name of the number of components, which is none."""
    if param_grid is not None and (not isinstance(param_grid, Mapping) or count in param_grid):
        raise ValueError(
            f"param_grid={param_grid!r} must be a dict from options other than {count} to values to try, for example "
            "{'regularization': [0.0, 0.1]}; numbers of components have their own argument."
        )
    return [dict(s) for s in ParameterGrid(dict(param_grid))] if param_grid else [{}]


@dataclass
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
    """

    scorers: list[HeldOutScorer]
    source: Source
    folds: Folds
    weights: Any = None
    settings: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    tables: tuple[Any, Any] | None = None
    #: Passes over the rows that find the levels of categories.
    passes_before: int = 0
    total: Any = None

    def run(self, n_components: Any = None, *, from_zero: bool = False) -> CrossValidation:
        """The scores, by the cheapest way that is possible.

        If the products of rows have lost too many digits, the rows are read a second time for finer summaries. With
        `from_zero`, a model without components is tried as well.
        """
        job, scorer = self._job(n_components, from_zero), self.scorers[0]
        plan, passes = self._cheapest(job), self.passes_before
        finer: Plan | None = plan
        try:
            while finer is not None:
                plan = finer
                found, self.total = plan.solver.score(job)
                passes += plan.solver.passes(job)
                enough = all(each.resolved for row in found for each in row) or not job.traits.rereadable
                finer = None if enough else finer_plan(plan, Status.UNRESOLVED, job)
        except MissingValues:
            if not scorer.takes_nan:
                raise
            if self.tables is None:
                raise NoFoldSummaries(_NO_SUMMARIES) from None
            plan = checked_plan(RefitFolds(), job, "the rows have missing values, so each split is fitted")
            found, self.total = plan.solver.score(job)
            passes += plan.solver.passes(job)
        scores = np.array([[each.scores for each in row] for row in found])
        residuals, of_means = None, None
        first = len(job.counts) - len(job.asked)
        if scorer.compares_with_means:
            of_means = scores[:, :, 0]
            residuals = np.array([[each.mean_residuals for each in row] for row in found])[:, :, first:]
        scores = scores[:, :, first:]
        by_response = scores.ndim == 4
        return CrossValidation(
            estimator=scorer.estimator,
            what=scorer.what,
            greater_is_better=scorer.greater_is_better,
            n_components=job.asked,
            settings=self.settings,
            per_split=scores.mean(axis=-1) if by_response else scores,
            by_response=scores if by_response else None,
            weights=job.held_out,
            n_samples=self.folds.n,
            folds=self.folds.what,
            repeats=self.folds.repeats(self.weights),
            n_passes=passes,
            plan=plan,
            of_means=of_means,
            mean_residuals=residuals,
        )

    def make_plan(self, n_components: Any = None, *, from_zero: bool = False) -> Plan:
        """How `run` would score the held-out rows, as far as that is known before a row is read."""
        return self._cheapest(self._job(n_components, from_zero))

    def _job(self, n_components: Any, from_zero: bool) -> FoldJob:
        """What is scored, after a check of the folds and of the numbers of components."""
        each = self.folds.weights_of_cells(self.weights)
        # Weights of the training rows and of the held-out rows, shape (splits, 2).
        sizes = np.array([[each[s.labelling][list(c)].sum() for c in (s.train, s.test)] for s in self.folds.splits])
        if np.any(sizes <= 0):
            i, side = (int(v) for v in np.argwhere(sizes <= 0)[0])
            raise ValueError(f"cv: split {i} has no row of positive weight to {('train on', 'leave out')[side]}.")
        least = float(sizes[:, 0].min())
        if least < 2:
            raise ValueError(f"cv: a split trains on {least:g} row; at least 2 are needed.")
        # Numbers of components that are possible in every fold.
        asked = min((scorer.counts(n_components, least, self.source) for scorer in self.scorers), key=len)
        if from_zero and asked[0] == 1:
            asked = np.concatenate([[0], asked])
        means = int(self.scorers[0].compares_with_means and asked[0] > 0)
        return FoldJob(
            *self.source.shape,
            None,
            self.source.traits,
            scorers=self.scorers,
            source=self.source,
            folds=self.folds,
            weights=self.weights,
            asked=asked,
            counts=np.concatenate([np.zeros(means, dtype=int), asked]),
            held_out=sizes[:, 1],
            tables=self.tables or tables_of(self.source.members),
        )

    def _cheapest(self, job: FoldJob) -> Plan:
        """The plan of least cost; an error if the summaries that are needed do not fit into memory."""
        try:
            plan: Plan = cheapest_solver(job, FOLD_METHODS).plan(job)
            if self.passes_before:
                why = f"{plan.why}, after a pass that finds the levels"
                plan = replace(plan, passes=plan.passes + self.passes_before, why=why)
            return plan
        except MemoryError as error:
            if self.tables is not None:
                raise
            raise NoFoldSummaries(_NO_SUMMARIES) from error


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
