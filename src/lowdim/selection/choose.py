"""`choose_n_components`: the results of all rules from one summary of the rows, or from rows with missing values."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, TypeVar

import numpy as np

from .. import summaries
from .._core.arrays import asarray_like, namespace, to_numpy
from .._core.threads import check_stop
from .._core.types import RandomState, VectorLike
from ..errors import (
    MissingValues,
    UndeterminedCovariance,
    list_names,
    missing_after_reading,
    with_present_names,
)
from ..linalg import FLOAT32_EPS, FLOAT64_EPS, rank_cut, require_rows, resolution
from ..reading.rows import Rows
from ..reading.summarizing import check_weights, weights_for
from ..selection.folds import FoldsLike
from ..selection.rules import RuleName
from ..solvers import latent, spectra
from ..solvers.latent.base import LatentFit, LatentRequest
from ..solvers.latent.em import EM, mean_log_density, observed_of, patterns_of, reached_by_components
from ..solvers.problem import Job, Plan, Request, Status
from ..solvers.spectra.covariance import Covariance, Triangle
from ..sources.base import Source
from ..sources.derived import count_positive, sum_of, with_known_length
from ..sources.opening import TableLike, by_name, is_stream, named_table, open_source
from ..summaries.latent import LatentGaussian, Observed
from ..summaries.moments import Columns, Moments
from .criteria import Eigenvalues, penalised_curve
from .cross_validation import CrossValidation, CrossValidator, NoFoldSummaries
from .fold_methods import HeldOutScorer, HeldOutScores
from .folds import folds_for
from .parallel_analysis import seed_of
from .rules import RULES, Choices, Rule, apply_rule, rule_of
from .scorers import MAX_TRIED, SpectralScorer, varying_rows

A = TypeVar("A")

#: Up to this many columns, the p x p matrix is computed for the rules that need it, even if there are fewer rows than
#: columns and their inner products would be cheaper.
_MATRIX_UP_TO = 1024
#: PPCA keeps the noise variance above this fraction of the average variance.
_FLOOR = 1e-10
#: Up to so many columns, cross-validation of PPCA with missing values tries all numbers of components.
_ALL_UP_TO = 64
#: Fits of cross-validation: without further starts, and to an accuracy that is enough to compare scores.
_QUICK = EM(tol=1e-4, max_iter=200, n_init=0)


@with_present_names
def choose_n_components(
    X: TableLike | Moments | summaries.Triangle,
    rules: Literal["all"] | RuleName | list[str] | tuple[str, ...] = "all",
    *,
    scale: bool = False,
    center: bool = True,
    ddof: int = 1,
    proportion: float = 0.9,
    noise_variance: float | None = None,
    n_resamples: int = 100,
    quantile: float | str = 0.95,
    cv: FoldsLike = 5,
    sample_weight: VectorLike | None = None,
    random_state: RandomState | np.random.Generator = None,
) -> Choices:
    """The number of components according to each rule, with the curve from which it was chosen.

    Parameters
    ----------
    X : rows, Moments or Triangle
        Anything that `open_source` reads, or a summary of rows.
    rules : "all", a name, or names, default="all"
        See `lowdim.selection.RULES`; docs/choosing_k.md explains what each rule assumes. "parallel-factors", which
        counts factors and not components, is not among "all".
    scale : bool, default=False
        Use the correlation matrix instead of the covariance matrix.
    center : bool, default=True
        Whether to subtract the mean, as for `PCA(center=True)`. If not, second moments about zero take the place of
        variances and covariances, and noise is noise about zero.
    ddof : 0 or 1, default=1
        The covariance has the divisor n - ddof. This changes the reported eigenvalues and thresholds, but not the
        number of components.
    proportion : float, default=0.9
        The fraction of the variance for the rule "proportion".
    noise_variance : float, default=None
        The known noise variance for "gavish-donoho" and "marchenko-pastur" (with `scale`, that of standardized
        columns); None to estimate it.
    n_resamples : int, default=100
        The number of simulations for "parallel".
    quantile : float or "mean", default=0.95
        The quantile of the simulated eigenvalues that has to be exceeded for "parallel".
    cv : int, labels, splitter, or str, default=5
        The folds for the rule "cv", as for `cross_validate`. A string is the name of a column of X that holds labels.
    sample_weight : array of shape (n_samples,), or str, default=None
        Frequency weights, or the name of a column of X that holds them: weight 2 equals repeating the row. The copies
        of a row are in the same fold.
    random_state : int, RandomState, Generator or None, default=None
        Seed of simulations and shuffles; None is a fixed seed.

    Returns
    -------
    Choices
        A mapping from rule to `Choice(rule, k, curve, assumes, note)` that prints as a table. If a rule is not
        available, its k is None and its note says why.

    Notes
    -----
    All rules that use eigenvalues need one pass over the rows, for `Moments` with p^2 numbers. If small eigenvalues are
    lost to rounding, the rows are read again for a `Triangle`. With far fewer rows than columns, the inner products of
    the rows are used instead.

    Rows with missing values: "bic" and "aic" compare fits of PPCA by EM with 0, 1, 2, ... components, until three fits
    in a row are no better than the best so far, and neither is any larger number of components after one step of EM;
    "cv" fits PPCA to the rows outside each fold, and scores the observed entries of the fold; "proportion", "kaiser",
    "broken-stick", "elbow" and "map" use the maximum-likelihood covariance, given the observed entries, and so does
    "parallel", with simulated rows that have the same missing entries. The others are derived for complete rows, and
    their note says so. Rows that fit into memory are read once and grouped by their pattern of missing entries;
    otherwise, each step of EM is a pass over them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim.selection import choose_n_components
    >>> choices = choose_n_components(load_iris().data, ["proportion", "bic"], proportion=0.95)
    >>> print(choices)
    How many components? 150 rows, 4 columns (covariance)
    rule          K  assumes
    proportion    2  a fixed share of the variance is enough
    bic           3  Gaussian rows, equal noise, n far above p
    """
    asked = _find_rules(rules)
    for name, flag in (("scale", scale), ("center", center)):
        if not isinstance(flag, bool | np.bool_):
            raise ValueError(f"{name}={flag!r} must be True or False.")
    if isinstance(ddof, bool) or not isinstance(ddof, numbers.Integral) or ddof not in (0, 1):
        raise ValueError(f"ddof={ddof!r} must be 0 (divide by n) or 1 (divide by n - 1).")
    request = Request(ddof=ddof, scale=bool(scale), center=bool(center))
    seed = seed_of(random_state)
    options: dict[str, Any] = {
        "proportion": proportion,
        "noise_variance": noise_variance,
        "n_resamples": n_resamples,
        "quantile": quantile,
        "seed": seed,
    }
    if hasattr(X, "open_rows"):
        raise TypeError(
            f"X is a model, {type(X).__name__}, and choose_n_components takes rows. A model applies a rule to its rows "
            f"when it is fitted: {type(X).__name__}(n_components='parallel')."
        )
    X, _, cv, sample_weight = by_name(X, cv=cv, sample_weight=sample_weight)
    if not isinstance(X, Moments | summaries.Triangle):
        X = _opened(X)
    named = not (isinstance(rules, str) and rules == "all")
    by_folds = any(rule.needs == "folds" for rule in asked)

    def choose_complete(X: Any, weights: Any) -> Choices:
        """The answers for complete rows, or for a summary of them."""
        held_out: CrossValidation | str = ""
        if by_folds:
            scorer = SpectralScorer(request.scale, center=request.center)
            X, weights, held_out = _cross_validate(X, scorer, cv, weights, seed, named)
        matrix = any(rule.needs == "matrix" for rule in asked)
        e = eigenvalues_of(X, request, weights, matrix=matrix)
        answers = [apply_rule(rule, held_out if rule.needs == "folds" else e, options) for rule in asked]
        return Choices(e, tuple(replace(a, eigenvalues=e.values) if a.cross_validation else a for a in answers))

    if isinstance(X, Moments | summaries.Triangle):
        return choose_complete(X, sample_weight)
    rows, choices = complete_or_missing(X, sample_weight, choose_complete, "to choose a number of components")
    if choices is not None:
        return choices
    if not center:
        raise ValueError("center=False is for complete rows: the models of rows with missing values have a mean.")
    return _choose_with_missing(rows, asked, cv, options, request)


def _opened(X: Any) -> Source:
    """The source of the rows; an error that says more than that of `open_source` if columns are categories."""
    try:
        return open_source(X)
    except (TypeError, ValueError) as error:
        table = None if is_stream(X) else named_table(X)
        names = [] if table is None else [name for name in table.names if table.kind_of(name) == "category"]
        if not names:
            raise
        raise ValueError(
            f"{error} These rules are for numbers. Of a table with the categories {list_names(names)}, FAMD (MCA, if "
            "there are no numbers) chooses the number of dimensions: FAMD(n_components='parallel').fit(X).choice_, or "
            "another rule: 'proportion', 'kaiser', 'broken-stick', 'elbow'."
        ) from error


def _find_rules(rules: Any) -> list[Rule]:
    """The requested rules in order, each once."""
    if isinstance(rules, str):
        return list(RULES.values()) if rules == "all" else [rule_of(rules)]
    if not isinstance(rules, Iterable):
        raise TypeError(f"rules must be 'all', a name or several names, got {type(rules).__name__}.")
    found = {rule.name: rule for rule in map(rule_of, rules)}
    if not found:
        raise ValueError("rules is empty; pass 'all', or names such as ['minka', 'parallel'].")
    return list(found.values())


def eigenvalues_of(X: Any, request: Request, sample_weight: Any, *, matrix: bool) -> Eigenvalues:
    """The eigenvalues of rows or of a summary, with the p x p matrix if `matrix` is True and it is not too large."""
    if isinstance(X, Moments | summaries.Triangle):
        if sample_weight is not None:
            raise ValueError("sample_weight is for rows, and a summary no longer holds them; pass it to summarize.")
        return Eigenvalues.from_summary(X, request.scale, request.ddof, request.center)
    source = open_source(X)
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    n, p = source.shape
    if n is not None:
        weight = float(n) if weights is None else sum_of(weights)
        require_rows(n, weight, 1, fixed=True)
    rows = Rows(source, weights)
    wide = n is not None and n < p and not (matrix and p <= _MATRIX_UP_TO)
    if wide and spectra.plan(rows, request).solver.reads_columns:
        return _from_columns(rows, request)
    return _from_summaries(rows, request)


def _from_summaries(rows: Rows, request: Request) -> Eigenvalues:
    """From a summary of one pass; the rows are read again if it has lost small eigenvalues."""
    p, scale = rows.shape[1], request.scale
    # Columns that will be standardized may have any scale, and their squares may overflow or underflow in float32.
    solver: Any = Covariance(wide=scale)
    if not rows.traits.rereadable:
        narrow = rows.traits.itemsize < 8
        # If the first block has no more rows than columns, it has zero eigenvalues in any case.
        lost = spectra.loses_digits(rows, request, least_rows=p + 1)
        solver = Triangle() if lost else Covariance(wide=scale or narrow)
    while True:
        summary = rows.summarize(solver.empty_summary(p))
        e = Eigenvalues.from_summary(summary, scale, request.ddof, request.center)
        if not rows.traits.rereadable or isinstance(summary, summaries.Triangle):
            return e
        if _are_settled(e, min(e.n_varying, summary.n_rows - e.center), summary.product_eps):
            return e
        solver = solver.finer(Job(*rows.shape, None, rows.traits))


def _from_columns(rows: Rows, request: Request) -> Eigenvalues:
    """From inner products of the rows, or from their R factor if those lose small eigenvalues."""
    columns = rows.summarize(Columns(rows.shape[1]))
    rows = rows.counted()
    n, p = int(rows.shape[0] or 0), rows.shape[1]
    ddof = request.ddof if request.scale else None
    narrow = rows.traits.itemsize < 8 and not rows.traits.sparse and not request.scale

    for kind in (summaries.Gram, summaries.GramRoot):
        gram = rows.summarize_features(kind(n, sample_weight=rows.weights, ddof=ddof, center=request.center))
        found = Eigenvalues.from_gram(gram, columns, request.scale, request.ddof)
        if _are_settled(found, min(request.free(n), p), FLOAT32_EPS if narrow else FLOAT64_EPS):
            break
    return found


def _are_settled(e: Eigenvalues, n_free: int, product_eps: float) -> bool:
    """Whether each of the first `n_free` eigenvalues is resolved, or so small that it counts as zero.

    Rules count eigenvalues up to p eps lambda_1 as zero, however accurate they are. The rounding error of products in
    float64 is far below that if there are many columns, so what is a tenth of it or less need not be computed again.
    """
    shares = e.values[:n_free] / e.values[0]
    zero = 0.1 * rank_cut(1.0, e.p, FLOAT64_EPS) if product_eps <= FLOAT64_EPS else 0.0
    return not bool(np.any((shares < resolution(product_eps)) & (shares > zero)))


def _cross_validate(
    X: Any, scorer: HeldOutScorer, cv: Any, weights: Any, seed: int, named: bool
) -> tuple[Any, Any, CrossValidation | str]:
    """The input of the other rules, its weights, and the cross-validation, or a note on why there is none.

    One pass over the rows is enough for all rules: the summaries of the folds are merged into one of all rows, which is
    then the input of the other rules. Rows of unknown number are gathered in memory; a stream that can be read once
    only if the rule was `named`, since all other rules need no memory for it.
    """
    if isinstance(X, Moments | summaries.Triangle):
        return X, weights, "needs rows, a summary is not enough"
    source = open_source(X)
    if source.shape[0] is None and isinstance(cv, numbers.Integral) and (named or source.traits.rereadable):
        source = with_known_length(source, "for cross-validation")
        weights = None if weights is None else check_weights(weights, source)
    validator = _validator(scorer, source, cv, weights, seed)
    if isinstance(validator, str):
        return source, weights, validator
    try:
        result = validator.run()
    except NoFoldSummaries:
        p = source.shape[1]
        return source, weights, f"needs memory for a {p} x {p} matrix for each fold; use fewer columns"
    found: CrossValidation | str = result
    if np.all(np.isnan(result.mean) | np.isneginf(result.mean)):
        found = "the rows without a fold leave no variance for the noise of any model"
    return (source, weights, found) if validator.total is None else (validator.total, None, found)


def _validator(
    scorer: HeldOutScorer, source: Source, cv: Any, weights: Any, seed: int, tables: Any = None
) -> CrossValidator | str:
    """The cross-validation of the rule "cv", or why no folds can be made of the rows."""
    n, p = source.shape
    by_number = isinstance(cv, numbers.Integral)
    if n is None and not source.traits.rereadable and by_number:
        return "needs the number of rows, or labels of the rows as cv"
    weight, counted = (n, n) if weights is None else (sum_of(weights), count_positive(weights))
    # The copies of a row of weight 2 are not split between folds, so a number of folds needs as many rows.
    few_rows = by_number and counted is not None and counted < 10
    if p < 2 or few_rows or (weight is not None and weight < 10):
        return "needs at least 2 columns and 10 rows"
    folds = folds_for(source, cv, weights=weights, seed=seed)
    return CrossValidator([scorer], source, folds, weights, tables=tables)


# The rules for rows with missing values.
#
# What a rule needs is found from the observed entries: the maximum-likelihood covariance, likelihoods of models with
# 0, 1, 2, ... components, or likelihoods of held-out rows. Rows are grouped by their pattern of missing entries once
# for all rules (`patterns_of`). Rules that compare with asymptotic eigenvalues of noise are derived for complete rows,
# and are not available.


def complete_or_missing(
    X: Any, sample_weight: Any, answer: Callable[[Any, Any], A], purpose: str
) -> tuple[Rows, A | None]:
    """What `answer(source, weights)` says of complete rows; None if entries are missing, and rows that can be read
    several times."""
    source = open_source(X)
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    rows = Rows(source, weights)
    if not rows.shows_missing():
        try:
            return rows, answer(source, weights)
        except MissingValues as found:
            if not source.traits.rereadable:
                raise missing_after_reading(found) from found
    return Rows(with_known_length(source, f"{purpose}, since entries are missing"), weights), None


def eigenvalues_with_missing(
    rows: Rows, varying: np.ndarray, *, scale: bool, ddof: int, unstored: bool = False, seed: int = 0
) -> tuple[Eigenvalues, int]:
    """The eigenvalues of the covariance of maximum likelihood, and the passes that they took.

    `rows` hold the columns that are `varying`. Raises an `UndeterminedCovariance` if there is no such covariance.
    """
    found = latent.saturated(rows, unstored=unstored, seed=seed)
    return _from_covariance(found.covariance, varying, found.weight, scale, ddof), found.passes


def _choose_with_missing(
    rows: Rows, rules: Sequence[Rule], cv: Any, options: dict[str, Any], request: Request
) -> Choices:
    """The answers of the rules for rows with missing values."""
    scale, ddof, seed = request.scale, request.ddof, options["seed"]
    rows, varying = varying_rows(rows)
    request_of = partial(_request, scale=scale, seed=seed)
    fits = MissingFits(rows, request_of, ppca_parameters)
    e: Eigenvalues | None = None
    # Without a covariance, other rules still have answers.
    with suppress(UndeterminedCovariance, MemoryError):
        e, _ = eigenvalues_with_missing(rows, varying, scale=scale, ddof=ddof, seed=seed)
    patterns = patterns_of(rows)[0]
    answers = []
    for rule in rules:
        given: Any = "derived for complete rows only; use bic or cv, or draws of impute(X, n_draws=...)"
        if rule.with_missing == "likelihood":
            given = fits.curve(rule.name, min(rows.shape[1] - 1, fits.observed.n_rows - 1))
        elif rule.with_missing == "folds":
            scorer = MissingScorer(request_of)
            validator = _validator(scorer, rows.source, cv, rows.weights, seed, (rows.source, None))
            given = validator if isinstance(validator, str) else validator.run()
        elif rule.with_missing == "covariance":
            given = e or "it needs the covariance of all columns, which the observed entries do not determine"
            if patterns is None and "patterns" in rule.options:
                given = TOO_LARGE_TO_SIMULATE
        answers.append(apply_rule(rule, given, options | {"patterns": patterns}))
    return Choices(fits.eigenvalues(varying, scale, ddof) if e is None else e, tuple(answers))


#: Why simulations with the same missing entries are not made.
TOO_LARGE_TO_SIMULATE = "it simulates rows with the same missing entries, and these rows do not fit into memory for it"


def ppca_parameters(k: int, p: int) -> int:
    """The number of free parameters of PPCA with k components of p columns."""
    return p * k - k * (k - 1) // 2 + 1 + p


@dataclass
class MissingFits:
    """Fits of a latent Gaussian model to rows with missing values, with 0, 1, 2, ... components; each is made when it
    is first needed, and starts from the one before."""

    rows: Rows
    request_of: Callable[[int], LatentRequest]
    #: The number of parameters for k components of p columns.
    n_parameters: Callable[[int, int], int]
    solver: Any = "em"
    found: dict[int, tuple[LatentFit, Plan]] = field(default_factory=dict)
    #: Passes over the rows.
    passes: int = 0

    @cached_property
    def observed(self) -> Observed:
        """Counts, means and sums of squares of the observed entries."""
        found, passes = observed_of(self.rows, self.request_of(1).unstored)
        self.passes += passes
        return found

    def curve(self, name: str, most: int) -> np.ndarray:
        """BIC or AIC for 0, 1, 2, ..., `most` components at most.

        With one noise variance for all columns, the curve ends three components after its minimum so far, unless more
        components are seen to be better by one step of EM from the last fit. With one for each column, it ends where no
        number of components could be better, given the likelihood of the saturated model.
        """
        tied = self.request_of(1).tied
        bound = None
        if not tied:
            with suppress(UndeterminedCovariance, MemoryError):
                saturated = latent.saturated(self.rows, unstored=self.request_of(1).unstored)
                bound, self.passes = saturated.loglike, self.passes + saturated.passes
        ahead = self._ahead if tied else None
        return penalised_curve(name, self.observed.weight, self._loglike, self._count, most, bound, ahead)

    def eigenvalues(self, varying: np.ndarray, scale: bool, ddof: int) -> Eigenvalues:
        """The eigenvalues of the largest model that was fitted, or of one component: for tables without a covariance
        of maximum likelihood."""
        fit = self.fit(max(self.found, default=1))
        unit = to_numpy(fit.scale)
        W = to_numpy(fit.loadings) * unit
        covariance = W.T @ W + np.diag(to_numpy(fit.noise) * unit**2)
        return _from_covariance(covariance, varying, fit.weight, scale, ddof)

    def fit(self, k: int) -> LatentFit:
        """The fit with k components."""
        if k not in self.found:
            check_stop()
            before = self.found.get(k - 1)
            request = replace(self.request_of(k), before=None if before is None else gaussian_of(before[0]))
            self.found[k] = latent.solve(self.rows, request, self.solver)
            self.passes += self.found[k][0].passes
        return self.found[k][0]

    def _count(self, k: int) -> int:
        return self.n_parameters(k, self.rows.shape[1])

    def _loglike(self, k: int) -> float | None:
        if k == 0:
            request = self.request_of(1)
            count, variances = _variances(self.observed, tied=request.tied and not request.by_column)
            return -0.5 * float(count @ (math.log(2 * math.pi) + np.log(variances) + 1.0))
        fit = self.fit(k)
        return None if fit.status is Status.UNDETERMINED else float(fit.loglike[-1])

    def _ahead(self, k: int) -> np.ndarray:
        """Log-likelihoods that PPCA with 0, 1, ..., p - 1 components reaches at least, after a step from the fit of k
        components; empty if that step would take too long."""
        model = gaussian_of(self.fit(k))
        return reached_by_components(self.rows, model, self.request_of(1).unstored)


@dataclass(frozen=True)
class MissingScorer(HeldOutScorer):
    """The scorer of latent Gaussian models by held-out rows with missing values: the log-likelihood of their observed
    entries. Each fit starts from the one with a component less."""

    request_of: Callable[[int], LatentRequest]
    solver: Any = _QUICK
    estimator: str = "PPCA"
    #: The largest number of components that is tried, given the numbers of rows and columns.
    most: Callable[[int, int], int] = min
    takes_nan = True
    from_zero = True
    fits_each_count = True

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        p = source.shape[1]
        upper = min(int(n_train), p)
        # Few columns are fitted quickly, and with one noise variance nearly all components may be needed.
        tried = p if self.request_of(1).tied and p <= _ALL_UP_TO else MAX_TRIED
        return np.arange(min(upper, self.most(upper, p) + 1, tried + 1))

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> HeldOutScores:
        """Scores for each count: the average log-density of the observed entries of the rows with positive `test`."""
        source, first = open_source(X), self.request_of(1)
        train, held_out = (Rows(source, weights_for(source, w)) for w in (weights, test))
        fits = MissingFits(train, self.request_of, ppca_parameters, self.solver)
        scores: list[float] = []
        for k in counts:
            if k == 0:
                g = independent_columns(fits.observed, tied=first.tied and not first.by_column)
            elif fits.fit(int(k)).status is Status.UNDETERMINED:
                # With more components the noise is determined even less.
                scores += [-np.inf] * (len(counts) - len(scores))
                break
            else:
                g = gaussian_of(fits.fit(int(k)))
            scores.append(mean_log_density(held_out, g, first.unstored))
        return HeldOutScores(np.array(scores), True)


def independent_columns(observed: Observed, tied: bool) -> LatentGaussian:
    """The model without components. A column that is constant in these rows has the mean variance of all columns."""
    like, variances = observed.mean, _variances(observed, tied)[1]
    xp = namespace(like)
    noise = asarray_like(np.where(variances > 0.0, variances, variances.mean()), like, dtype=like.dtype)
    return LatentGaussian(like, xp.ones_like(like), xp.zeros_like(like)[None, :], noise)


def gaussian_of(fit: LatentFit) -> LatentGaussian:
    """The density of a fit."""
    return LatentGaussian(fit.mean, fit.scale, fit.loadings, fit.noise)


def _request(k: int, scale: bool, seed: int, unstored: bool = False) -> LatentRequest:
    return LatentRequest(k, tied=True, floor=_FLOOR, by_column=bool(scale), seed=seed, unstored=unstored)


def _variances(observed: Observed, tied: bool) -> tuple[np.ndarray, np.ndarray]:
    """The number of observed entries of each column, and their variances; the same for all columns if `tied`."""
    count, squares = to_numpy(observed.count), to_numpy(observed.squares)
    return count, np.full_like(squares, squares.sum() / count.sum()) if tied else squares / count


def _from_covariance(covariance: np.ndarray, varying: np.ndarray, weight: float, scale: bool, ddof: int) -> Eigenvalues:
    """The eigenvalues of the covariance matrix, of divisor n, of the columns that vary, of rows of this total weight;
    constant columns are added to it."""
    whole = np.zeros((len(varying), len(varying)))
    whole[np.ix_(varying, varying)] = covariance
    moments = Moments.from_covariance(whole, max(2, round(weight)), ddof=0)
    return replace(Eigenvalues.from_summary(moments, scale, ddof), n=float(weight))
