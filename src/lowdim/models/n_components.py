"""The parameter `n_components` as the name of a rule: how all models apply the rules of `selection`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._core.arrays import to_numpy
from .._core.threads import memory_bytes
from ..errors import NoComponentWarning, choice, warn_user
from ..linalg import divisor, is_constant
from ..selection.criteria import Eigenvalues
from ..selection.cross_validation import CrossValidator
from ..selection.fold_methods import HeldOutScorer
from ..selection.folds import count_rows, folds_for, folds_of
from ..selection.rules import ALIASES, RULES, Choice, Rule, apply_rule, rule_of
from ..solvers.problem import Spectrum
from ..sources.base import Source

#: The number of folds for n_components="cv".
_FOLDS = 5
#: Variances of columns up to this fraction of the largest one count as zero.
_ROUNDING = 1e-26
#: The fraction of memory that the p x p matrix may take.
_SHARE = 0.1


def check_rule(name: str, allowed: tuple[str, ...] | None = None) -> Rule:
    """The rule with the name `n_components`; an error if it is not among those allowed for the model."""
    names = tuple(RULES) if allowed is None else allowed
    if ALIASES.get(name, name) not in names:
        raise choice("n_components", name, names, "Or a number, or None.")
    return rule_of(name)


def eigenvalues_for(rule: Rule, spectrum: Spectrum, ddof: int, *, weighted: bool = False) -> Eigenvalues:
    """The input of a rule, from all eigenpairs; with the p x p matrix if the rule needs it and it fits into memory. If
    the columns are `weighted`, they do not have the variance 1 after a division by their scale."""
    standardized = spectrum.scale is not None and not weighted
    V = to_numpy(spectrum.vectors).astype(np.float64)
    p = V.shape[1]
    values = spectrum.values.astype(np.float64) / divisor(spectrum.weight, ddof)
    variances = np.einsum("kj,k,kj->j", V, values, V)
    # Columns that vary only by rounding errors count as constant; after standardizing their variance is zero.
    varying = variances > _ROUNDING * float(variances.max())
    if not standardized:
        mean = spectrum.mean if spectrum.scale is None else spectrum.mean / spectrum.scale
        varying &= ~is_constant(np.sqrt(variances), to_numpy(mean))
    variances = np.where(varying, variances, 0.0)
    e = Eigenvalues.from_spectrum(spectrum, p, ddof, variances=variances, varying=varying, scale=standardized)
    have = memory_bytes()
    fits = not have or 8 * p * p < _SHARE * have
    return replace(e, matrix=(V.T * values) @ V) if rule.needs == "matrix" and fits else e


def chosen_by(rule: Rule, e: Eigenvalues, seed: int, **options: Any) -> tuple[Choice, int]:
    """The choice of a rule that uses eigenvalues, and the number of components of the model, which is at least one."""
    found = apply_rule(rule, e, {"seed": seed, **options})
    if found.k is None:
        raise ValueError(f"n_components={rule.name!r}: {found.note}; pass a number, or another rule.")
    return found, at_least_one(found.k, rule.name)


def check_cv_rows(n: int | None) -> None:
    """Refuse rows of which no folds can be made: too few, or of unknown number."""
    if n is not None and n < 3:
        raise ValueError(f"n_samples={n} is too few for n_components='cv': at least 3 are needed. Give more rows.")
    if n is None:
        folds_of(_FOLDS, None)


def apply_cv_rule(
    scorer: HeldOutScorer, source: Source, weights: Any, seed: int = 0, tables: Any = None
) -> tuple[Choice, Any, int]:
    """The choice of cross-validation in folds of shuffled rows, a summary of all rows if one was made, and the number
    of passes over the rows.

    For rows with missing values `tables` are X and y, to which models are fitted.
    """
    validator = _validator(scorer, source, weights, seed, tables)
    # Most scorers cannot fit a model without components to rows with missing values.
    result = validator.run(from_zero=scorer.from_zero and tables is None)
    answer = replace(apply_rule(RULES["cv"], result), first=int(result.n_components[0]))
    return answer, validator.total, result.n_passes


def makes_summary(scorer: HeldOutScorer, source: Source, weights: Any) -> bool:
    """Whether `apply_cv_rule` would make a summary of all rows, as far as that is known before a row is read."""
    plan = _validator(scorer, source, weights).make_plan(from_zero=scorer.from_zero)
    return bool(plan.solver.makes_summary)


def _validator(
    scorer: HeldOutScorer, source: Source, weights: Any, seed: int = 0, tables: Any = None
) -> CrossValidator:
    """The cross-validation of a rule; an error if there are too few rows."""
    counted = count_rows(source.shape[0], weights)
    check_cv_rows(counted)
    folds = folds_for(source, min(_FOLDS, counted or _FOLDS), weights=weights, seed=seed)
    return CrossValidator([scorer], source, folds, weights, tables=tables)


def at_least_one(k: int | None, rule: str) -> int:
    """The number `k` that a rule chose, but at least one, with a warning if `k` is zero."""
    if not k:
        warn_user(
            f"n_components={rule!r} finds no component that is more than noise; one is kept nevertheless.",
            NoComponentWarning,
        )
    return k or 1
