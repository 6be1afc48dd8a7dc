"""`choose_n_components`: the results of all rules from one summary of the rows."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import summaries
from ..linalg import FLOAT32_EPS, FLOAT64_EPS, rank_cut, require_rows, resolution
from ..reading.rows import Rows
from ..reading.summarize import check_weights
from ..solvers import spectra
from ..solvers.problem import Job, Request
from ..solvers.spectra.covariance import Covariance, Triangle
from ..sources.base import Source
from ..sources.derived import sum_of, with_known_length
from ..sources.opening import by_name, open_source
from ..summaries.moments import Columns, Moments
from .criteria import Eigenvalues
from .cross_validation import CrossValidation, CrossValidator, NoFoldSummaries
from .folds import count_rows, folds_for, on_host, shuffle_folds
from .missing import HolesScorer, choose_with_holes, complete_or_holes
from .parallel_analysis import seed_of
from .rules import RULES, Choices, Rule, apply_rule, rule_of
from .scorers import SpectralScorer

#: Up to this many columns, the p x p matrix is computed for the rules that need it, even if there are fewer rows than
#: columns and their inner products would be cheaper.
_MATRIX_UP_TO = 1024


def choose_n_components(
    X: Any,
    rules: Any = "all",
    *,
    standardize: bool = False,
    center: bool = True,
    ddof: int = 1,
    proportion: float = 0.9,
    noise_variance: float | None = None,
    n_draws: int = 100,
    quantile: float | str = 0.95,
    cv: Any = 5,
    sample_weight: Any = None,
    random_state: Any = None,
) -> Choices:
    """The number of components according to each rule, with the curve from which it was chosen.

    Parameters
    ----------
    X : rows, Moments or Triangle
        Anything that `open_source` reads, or a summary of rows.
    rules : "all", a name, or names
        See `lowdim.selection.RULES`; docs/choosing_k.md explains what each rule assumes. "parallel-factors", which
        counts factors and not components, is not among "all".
    standardize : bool
        Use the correlation matrix instead of the covariance matrix.
    center : bool
        Whether to subtract the mean, as for `PCA(center=True)`. If not, second moments about zero take the place of
        variances and covariances, and noise is noise about zero.
    ddof : 0 or 1
        The covariance has the divisor n - ddof. This changes the reported eigenvalues and thresholds, but not the
        number of components.
    proportion : float
        The fraction of the variance for the rule "proportion".
    noise_variance : float, optional
        The known noise variance for "gavish-donoho" and "marchenko-pastur" (with `standardize`, that of standardized
        columns); None to estimate it.
    n_draws, quantile : int; float or "mean"
        For "parallel": the number of simulations, and the quantile of the simulated eigenvalues that has to be
        exceeded.
    cv : int, labels, splitter, or str
        The folds for the rule "cv". If a number of folds is given, the rows are shuffled. A string is the name of a
        column of X that holds labels.
    sample_weight : array of shape (n_samples,), or str, optional
        Frequency weights, or the name of a column of X that holds them: weight 2 equals repeating the row. The copies
        of a row are in the same fold.
    random_state : int, RandomState, Generator or None
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
    in a row are no better than the best so far; "cv" fits PPCA to the rows outside each fold, and scores the observed
    entries of the fold; "proportion", "kaiser", "broken-stick", "elbow" and "map" use the maximum-likelihood
    covariance, given the observed entries. The others are derived for complete rows, and their note says so. Each step
    of EM is a pass over the rows.

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
    for name, flag in (("standardize", standardize), ("center", center)):
        if not isinstance(flag, bool | np.bool_):
            raise ValueError(f"{name}={flag!r} must be True or False.")
    if isinstance(ddof, bool) or not isinstance(ddof, numbers.Integral) or ddof not in (0, 1):
        raise ValueError(f"ddof={ddof!r} must be 0 (divide by n) or 1 (divide by n - 1).")
    seed = seed_of(random_state)
    options: dict[str, Any] = {
        "proportion": proportion,
        "noise_variance": noise_variance,
        "n_draws": n_draws,
        "quantile": quantile,
        "seed": seed,
    }
    X, _, cv, sample_weight = by_name(X, cv=cv, sample_weight=sample_weight)
    named = not (isinstance(rules, str) and rules == "all")
    by_folds = any(rule.needs == "folds" for rule in asked)

    def choose_complete(X: Any, weights: Any) -> Choices:
        """The answers for complete rows, or for a summary of them."""
        moments = {"standardize": standardize, "center": center}
        held_out: CrossValidation | str = ""
        if by_folds:
            X, weights, held_out = _cross_validate(X, moments, cv, weights, seed, named)
        matrix = any(rule.needs == "matrix" for rule in asked)
        e = eigenvalues_of(X, **moments, ddof=ddof, sample_weight=weights, matrix=matrix)
        answers = [apply_rule(rule, held_out if rule.needs == "folds" else e, options) for rule in asked]
        return Choices(e, tuple(replace(a, eigenvalues=e.values) if a.cross_validation else a for a in answers))

    if isinstance(X, Moments | summaries.Triangle):
        return choose_complete(X, sample_weight)
    rows, choices = complete_or_holes(X, sample_weight, choose_complete, "to choose a number of components")
    if choices is not None:
        return choices
    if not center:
        raise ValueError("center=False is for complete rows: the models of rows with missing values have a mean.")
    validator: CrossValidator | str = ""
    if by_folds:
        validator = _why_no_folds(rows.source, cv, rows.weights)
        if not validator:
            folds = folds_for(rows.source, shuffle_folds(cv, seed), weights=rows.weights)
            scorer = HolesScorer(bool(standardize), seed)
            validator = CrossValidator([scorer], rows.source, folds, rows.weights, tables=(rows.source, None))
    return choose_with_holes(rows, asked, validator, options, standardize=bool(standardize), ddof=ddof)


def eigenvalues_of(
    X: Any,
    *,
    standardize: bool = False,
    center: bool = True,
    ddof: int = 1,
    sample_weight: Any = None,
    matrix: bool = False,
) -> Eigenvalues:
    """The eigenvalues of rows or of a summary, with the p x p matrix if `matrix` is True and it is not too large."""
    if isinstance(X, Moments | summaries.Triangle):
        if sample_weight is not None:
            raise ValueError("sample_weight is for rows, and a summary no longer holds them; pass it to summarize.")
        return Eigenvalues.from_summary(X, standardize, ddof, center)
    source = open_source(X)
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    n, p = source.shape
    if n is not None:
        weight = float(n) if weights is None else sum_of(weights)
        require_rows(n, weight, 1, fixed=True)
    rows, request = Rows(source, weights), Request(ddof=ddof, standardize=standardize, center=center)
    wide = n is not None and n < p and not (matrix and p <= _MATRIX_UP_TO)
    if wide and spectra.plan(rows, request).solver.reads_columns:
        return _from_columns(rows, request)
    return _from_summaries(rows, request)


def _from_summaries(rows: Rows, request: Request) -> Eigenvalues:
    """From a summary of one pass; the rows are read again if it has lost small eigenvalues."""
    p, standardize = rows.shape[1], request.standardize
    # Columns that will be standardized may have any scale, and their squares may overflow or underflow in float32.
    solver: Any = Covariance(wide=standardize)
    if not rows.traits.rereadable:
        narrow = rows.traits.itemsize < 8
        # If the first block has no more rows than columns, it has zero eigenvalues in any case.
        lost = spectra.loses_digits(rows, request, least_rows=p + 1)
        solver = Triangle() if lost else Covariance(wide=standardize or narrow)
    while True:
        summary = rows.summarize(solver.empty_summary(p))
        e = Eigenvalues.from_summary(summary, standardize, request.ddof, request.center)
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
    ddof = request.ddof if request.standardize else None
    narrow = rows.traits.itemsize < 8 and not rows.traits.sparse and not request.standardize

    for kind in (summaries.Gram, summaries.GramRoot):
        gram = rows.summarize_features(kind(n, sample_weight=rows.weights, ddof=ddof, centre=request.center))
        found = Eigenvalues.from_gram(gram, columns, request.standardize, request.ddof)
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
    X: Any, moments: dict[str, Any], cv: Any, sample_weight: Any, seed: Any, named: bool
) -> tuple[Any, Any, CrossValidation | str]:
    """The input of the other rules, its weights, and the cross-validation, or a note on why there is none.

    One pass over the rows is enough for all rules: the summaries of the folds are merged into one of all rows, which is
    then the input of the other rules. Rows of unknown number are gathered in memory; a stream that can be read once
    only if the rule was `named`, since all other rules need no memory for it.
    """
    if isinstance(X, Moments | summaries.Triangle):
        return X, sample_weight, "needs rows, a summary is not enough"
    source = open_source(X)
    if source.shape[0] is None and isinstance(cv, numbers.Integral) and (named or source.traits.rereadable):
        source = with_known_length(source, "for cross-validation")
    note = _why_no_folds(source, cv, sample_weight)
    if note:
        return source, sample_weight, note
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    folds = folds_for(source, shuffle_folds(cv, seed), weights=weights)
    validator = CrossValidator([SpectralScorer(**moments)], source, folds, weights)
    try:
        result = validator.run()
    except NoFoldSummaries:
        p = source.shape[1]
        return source, sample_weight, f"needs memory for a {p} x {p} matrix for each fold; use fewer columns"
    found: CrossValidation | str = result
    if np.all(np.isnan(result.mean) | np.isneginf(result.mean)):
        found = "the rows without a fold leave no variance for the noise of any model"
    return (source, sample_weight, found) if validator.total is None else (validator.total, None, found)


def _why_no_folds(source: Source, cv: Any, weights: Any) -> str:
    """Why no folds can be made of the rows, or nothing."""
    n, p = source.shape
    if n is None and not source.traits.rereadable and isinstance(cv, numbers.Integral):
        return "needs the number of rows, or labels of the rows as cv"
    weight, counted = (n if weights is None else sum_of(on_host(weights))), count_rows(n, weights)
    # The copies of a row of weight 2 are not split between folds, so a number of folds needs as many rows.
    few_rows = isinstance(cv, numbers.Integral) and counted is not None and counted < 10
    few = p < 2 or few_rows or (weight is not None and weight < 10)
    return "needs at least 2 columns and 10 rows" if few else ""


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
