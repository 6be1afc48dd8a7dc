"""`choose_n_components`: rows -> one summary -> the answers of all rules."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import summaries
from .._xp import namespace, to_numpy
from ..errors import too_few_rows
from ..linalg import divisor, is_constant
from ..reading import Rows, check_weights
from ..solvers import Covariance, Job, Request, Triangle, spectra
from ..solvers.escalate import refine
from ..solvers.spectra.spectral_solver import is_resolved
from ..sources import open_source
from ..summaries import Columns, Moments
from .choices import Choice, Choices
from .cross_validation import NoFoldSummaries
from .eigenvalues import Eigenvalues, Unavailable
from .folds import shuffled
from .likelihood import held_out_likelihood
from .resampling import seed_of
from .rules import RULES, Rule, rule_of
from .validation_table import CrossValidation

#: Up to this many columns the p x p matrix is formed for the rules that need it, though inner products of fewer rows
#: would be cheaper.
_MATRIX_UP_TO = 1024


def choose_n_components(
    X: Any,
    rules: Any = "all",
    *,
    standardize: bool = False,
    ddof: int = 1,
    proportion: float = 0.9,
    noise_variance: float | None = None,
    n_draws: int = 100,
    quantile: float | str = 0.95,
    cv: Any = 5,
    sample_weight: Any = None,
    random_state: Any = None,
) -> Choices:
    """How many components each rule would keep, and the curve behind its answer.

    Parameters
    ----------
    X : rows, Moments or Triangle
        Anything `open_source` reads, or a summary of rows.
    rules : "all", a name, or names
        See `lowdim.selection.RULES`, and docs/choosing_k.md for what each assumes.
    standardize : bool
        Look at the correlation matrix instead of the covariance.
    ddof : 0 or 1
        Divisor n - ddof of the covariance, whose eigenvalues thresholds are compared with. No answer depends on it.
    proportion : float
        Share of the variance that rule "proportion" wants.
    noise_variance : float, optional
        What "gavish-donoho" and "marchenko-pastur" take as known (with `standardize`: of standardized columns); None to
        estimate it.
    n_draws, quantile : int; float or "mean"
        Simulations of "parallel", and which quantile of their eigenvalues has to be exceeded.
    cv : int, labels or splitter
        Folds of rule "cv"; a number of folds is of shuffled rows.
    sample_weight : array of shape (n_samples,), optional
        Frequency weights: weight 2 equals repeating the row.
    random_state : int, RandomState, Generator or None
        Simulations; None is a fixed seed.

    Returns
    -------
    Choices
        A mapping from rule to `Choice(rule, k, curve, assumes, note)` that prints as a table. A rule that cannot be had
        has k None and a note that says why.

    Notes
    -----
    One pass over the rows for all rules of eigenvalues: `Moments`, p^2 numbers. Where these lose small eigenvalues the
    rows are read again, for a `Triangle`. With far fewer rows than columns, inner products of rows are formed instead.

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
    asked = _asked(rules)
    _check(standardize, ddof)
    options = {
        "proportion": proportion,
        "noise_variance": noise_variance,
        "n_draws": n_draws,
        "quantile": quantile,
        "seed": seed_of(random_state),
    }
    held_out, note, result = None, "", None
    if any(rule.needs == "folds" for rule in asked):
        X, sample_weight, result, note = _cross_validated(X, standardize, cv, sample_weight, options["seed"])
        held_out = None if result is None else (result.best, result.mean[0])
    e = eigenvalues_of(
        X,
        standardize=standardize,
        ddof=ddof,
        sample_weight=sample_weight,
        matrix=any(rule.needs == "matrix" for rule in asked),
    )
    answers = []
    for rule in asked:
        if rule.needs == "folds":
            answers.append(_answer(rule, held_out, note, e.values, result))
            continue
        assert rule.function is not None
        try:
            found = rule.function(e, **{name: options[name] for name in rule.options})
            answers.append(_answer(rule, found, "", e.values))
        except Unavailable as reason:
            answers.append(_answer(rule, None, str(reason)))
    return Choices(e, tuple(answers))


def eigenvalues_of(
    X: Any,
    *,
    standardize: bool = False,
    ddof: int = 1,
    sample_weight: Any = None,
    matrix: bool = False,
) -> Eigenvalues:
    """The eigenvalues of rows or of a summary, with the p x p `matrix` if it is wanted and not too large."""
    if isinstance(X, Moments | summaries.Triangle):
        if sample_weight is not None:
            raise ValueError("sample_weight belongs to rows, and a summary has them no more; give it to summarize.")
        return Eigenvalues.from_summary(X, standardize, ddof)
    source = open_source(X)
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    n, p = source.shape
    if n is not None:
        weight = float(n) if weights is None else float(namespace(weights).sum(weights))
        if divisor(weight, 1) <= 0:
            raise too_few_rows(n, weight, 1, fixed=True)
    rows, request = Rows(source, weights), Request(ddof=ddof, standardize=standardize)
    wide = n is not None and n < p and not (matrix and p <= _MATRIX_UP_TO)
    if wide and spectra.plan(rows, request).solver.reads_columns:
        return _from_columns(rows, request)
    return _from_summaries(rows, request)


def _from_summaries(rows: Rows, request: Request) -> Eigenvalues:
    """One reading; further ones where products of rows have lost the small eigenvalues."""
    p, standardize = rows.shape[1], request.standardize
    job = Job(*rows.shape, None, rows.traits)
    # Columns that are to be divided by their deviation may have any scale, and float32 has no room for squares.
    first: Any = Covariance(wide=standardize)
    if not rows.traits.rereadable:
        narrow = rows.traits.itemsize < 8
        # A first block of no more rows than columns has eigenvalues of zero anyway.
        lost = spectra.loses_digits(rows, request, least_rows=p + 1)
        first = Triangle() if lost else Covariance(wide=standardize or narrow)

    def solve(solver: Any) -> tuple[Eigenvalues, Any]:
        summary = rows.summarize(solver.empty_summary(p))
        return Eigenvalues.from_summary(summary, standardize, request.ddof), summary

    def finer(solver: Any, found: tuple[Eigenvalues, Any]) -> Any:
        return solver.finer(job) if rows.traits.rereadable and not _is_resolved(*found) else None

    return refine(first, solve, finer)[0][0]


def _is_resolved(e: Eigenvalues, summary: Moments | summaries.Triangle) -> bool:
    """Whether the eigenvalues that should not be zero can be told from rounding."""
    if isinstance(summary, summaries.Triangle):
        return True
    return is_resolved(e.values, min(e.n_varying, summary.n_rows - 1), summary.product_eps)


def _from_columns(rows: Rows, request: Request) -> Eigenvalues:
    """From inner products of the rows, and of their R factor where those lose the small eigenvalues."""
    spectrum, _ = spectra.solve(rows, request)
    columns = rows.summarize(Columns(rows.shape[1]))
    variances = to_numpy(columns.squares).astype(np.float64) / divisor(columns.weight, request.ddof)
    varying = ~is_constant(np.sqrt(variances), to_numpy(columns.mean).astype(np.float64))
    known = np.where(varying, 1.0 if request.standardize else variances, 0.0)
    return Eigenvalues.from_spectrum(spectrum, rows.shape[1], request.ddof, variances=known, varying=varying)


def _cross_validated(
    X: Any, standardize: bool, cv: Any, sample_weight: Any, seed: Any
) -> tuple[Any, Any, CrossValidation | None, str]:
    """What the other rules are to look at, with its weights; the scores of rows left out, or why there are none.

    One reading serves all rules: the summaries of the folds are merged into that of all rows.
    """
    if isinstance(X, Moments | summaries.Triangle):
        return X, sample_weight, None, "needs rows, to leave some of them out"
    source = open_source(X)
    n, p = source.shape
    if n is not None and n < p and p > _MATRIX_UP_TO:
        return source, sample_weight, None, f"needs a matrix of {p} x {p} for each fold; use fewer columns"
    if n is None and not source.traits.rereadable and isinstance(cv, numbers.Integral):
        return source, sample_weight, None, "needs to know how many rows there are, or their labels as cv"
    weight = n if sample_weight is None else float(np.sum(to_numpy(check_weights(sample_weight, source))))
    if p < 2 or (weight is not None and min(weight, n or 10) < 10):
        return source, sample_weight, None, "needs at least 2 columns and 10 rows"
    try:
        result, total = held_out_likelihood(source, shuffled(cv, seed), sample_weight, standardize=standardize)
    except NoFoldSummaries:
        return source, sample_weight, None, f"needs room for a matrix of {p} x {p} for each fold; use fewer columns"
    found = None if np.all(np.isnan(result.mean) | np.isneginf(result.mean)) else result
    note = "" if found else "nothing is left for the noise of a model without a fold"
    return (source, sample_weight, found, note) if total is None else (total, None, found, note)


def _answer(
    rule: Rule,
    found: tuple[int, np.ndarray] | None,
    note: str = "",
    eigenvalues: np.ndarray | None = None,
    result: CrossValidation | None = None,
) -> Choice:
    if found is None:
        return Choice(rule.name, None, np.zeros(0), rule.assumes, note)
    return Choice(rule.name, *found, rule.assumes, eigenvalues=eigenvalues, cross_validation=result)


def _asked(rules: Any) -> list[Rule]:
    """The rules asked for, in order, each once."""
    if isinstance(rules, str):
        return list(RULES.values()) if rules == "all" else [rule_of(rules)]
    if not isinstance(rules, Iterable):
        raise TypeError(f"rules must be 'all', a name or several names, got {type(rules).__name__}.")
    found = {rule.name: rule for rule in map(rule_of, rules)}
    if not found:
        raise ValueError("rules is empty; pass 'all', or names such as ['minka', 'parallel'].")
    return list(found.values())


def _check(standardize: Any, ddof: Any) -> None:
    if not isinstance(standardize, bool | np.bool_):
        raise ValueError(f"standardize={standardize!r} must be True or False.")
    if isinstance(ddof, bool) or not isinstance(ddof, numbers.Integral) or ddof not in (0, 1):
        raise ValueError(f"ddof={ddof!r} must be 0 (divide by n) or 1 (divide by n - 1).")
