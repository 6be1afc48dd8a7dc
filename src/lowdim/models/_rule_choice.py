"""`n_components` as the name of a rule: how the rules of `selection` are asked by models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._memory import memory_bytes
from .._xp import to_numpy
from ..errors import NoComponentWarning, choice, warn_user
from ..linalg import divisor, is_constant
from ..selection.choices import Choice
from ..selection.cross_validation import CrossValidator
from ..selection.eigenvalues import Eigenvalues, Unavailable
from ..selection.folds import folds_of, shuffle_folds
from ..selection.protocol import HeldOutScorer
from ..selection.rules import ALIASES, RULES, Rule, rule_of
from ..solvers import Spectrum
from ..sources import Source

#: What a bootstrap looks at of models with a density.
DENSITY_AXES = {
    "explained_variance": ("components",),
    "explained_variance_ratio": ("components",),
    "noise_variance": ("features",),
    "loadings": ("features", "components"),
}
#: Folds of n_components="cv".
_FOLDS = 5
#: Squares of eigenvectors are zero up to here.
_ROUNDING = 1e-26
#: A matrix of all columns may take this share of the memory.
_SHARE = 0.1


def check_rule(name: str, allowed: tuple[str, ...] | None = None) -> Rule:
    """The rule that `n_components` names, if this model knows it."""
    names = tuple(RULES) if allowed is None else allowed
    if ALIASES.get(name, name) not in names:
        raise choice("n_components", name, names, "Or a number, or None.")
    return rule_of(name)


def rule_needs_rows(name: str) -> ValueError:
    """A summary has no rows to leave out."""
    return ValueError(
        f"n_components={name!r} leaves rows out, and a summary has none; fit to rows, or pass a number or another rule."
    )


def no_partial_fit(name: str) -> AttributeError:
    """Rows that come block by block are kept as a summary."""
    return AttributeError(
        f"n_components={name!r} leaves rows out, and partial_fit keeps none; pass a number, or another rule."
    )


def eigenvalues_for(rule: Rule, spectrum: Spectrum, p: int, ddof: int) -> Eigenvalues:
    """What a rule looks at, from all eigenpairs: the matrix too, where it needs that and there is room."""
    V = to_numpy(spectrum.vectors).astype(np.float64)
    values = to_numpy(spectrum.values).astype(np.float64) / divisor(spectrum.weight, ddof)
    variances = np.einsum("kj,k,kj->j", V, values, V)
    # Columns that vary by rounding only are constant, and no rule counts them; standardized ones have no variance then.
    varying = variances > _ROUNDING * float(variances.max())
    if spectrum.scale is None:
        varying &= ~is_constant(np.sqrt(variances), to_numpy(spectrum.mean))
    e = Eigenvalues.from_spectrum(spectrum, p, ddof, variances=np.where(varying, variances, 0.0), varying=varying)
    have = memory_bytes()
    fits = not have or 8 * p * p < _SHARE * have
    return replace(e, matrix=(V.T * values) @ V) if rule.needs == "matrix" and fits else e


def apply_rule(rule: Rule, e: Eigenvalues, seed: int) -> tuple[Choice, int]:
    """What a rule of eigenvalues chooses, and how many components a model has then: one at least."""
    assert rule.function is not None
    options = {"seed": seed} if "seed" in rule.options else {}
    try:
        k, curve = rule.function(e, **options)
    except Unavailable as reason:
        raise ValueError(f"n_components={rule.name!r}: {reason}; pass a number, or another rule.") from reason
    return Choice(rule.name, k, curve, rule.assumes, eigenvalues=e.values), at_least_one(k, rule.name)


def apply_cv_rule(scorer: HeldOutScorer, source: Source, weights: Any, seed: int = 0) -> tuple[Choice, Any]:
    """What cross-validation in folds of shuffled rows chooses, and a summary of all rows, from one reading."""
    n = source.shape[0]
    if n is not None and n < 3:
        raise ValueError(f"n_samples={n} is too few for n_components='cv': at least 3 are needed. Give more rows.")
    folds = folds_of(_FOLDS if n is None else shuffle_folds(min(_FOLDS, n), seed), n)
    validator = CrossValidator([scorer], source, folds, weights)
    result = validator.run(from_zero=scorer.from_zero)
    first, rule = int(result.n_components[0]), RULES["cv"]
    answer = Choice("cv", result.best, result.mean[0], rule.assumes, first=first, cross_validation=result)
    return answer, validator.total


def at_least_one(k: int, rule: str) -> int:
    """A model has a component, whatever a rule says."""
    if k < 1:
        warn_user(
            f"n_components={rule!r} finds no component that is more than noise; one is kept all the same.",
            NoComponentWarning,
        )
    return max(k, 1)
