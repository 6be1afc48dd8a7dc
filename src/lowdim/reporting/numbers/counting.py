"""How many components: the answers of all rules, from rows in memory or from the pieces of the first pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...selection import choose_n_components
from ...selection.choices import Choice, Choices
from ...selection.fold_scores import SummaryFolds
from ...selection.likelihood import score_spectrum
from ...selection.rules import RULES
from ...selection.validation_table import CrossValidation
from ...solvers.base import Plan
from ...summaries import Moments
from ...summaries.base import union

#: The rules that take long if both rows and columns are many, and up to how many of them (or, of the second rule, of
#: columns) they are applied.
_SLOW = {"cv": 600, "map": 600}
#: The number of simulations of parallel analysis, and their number if rows and columns are more than the last one.
_DRAWS, _FEW_DRAWS, _MANY = 100, 40, 300
_FOLDS = 5
#: The rules that the report follows: the first one that has an answer.
FOLLOWED = ("parallel", "bic", "proportion")


def choices_of_rows(X: Any, n: int, p: int, weights: Any, *, standardize: bool, seed: int) -> Choices:
    """The answers for rows that can be read as often as is needed."""
    rules, refused = _affordable(n, p)
    found = choose_n_components(
        X,
        rules,
        standardize=standardize,
        n_draws=draws(n, p),
        cv=_FOLDS,
        sample_weight=weights,
        random_state=seed,
    )
    return _completed(found, refused)


def choices_of_pieces(pieces: Sequence[Moments], *, standardize: bool, seed: int) -> Choices:
    """The answers from moments of random pieces of the rows. No row is read.

    For cross-validation, the pieces are merged into five folds. Each is scored by the components of the others.
    """
    total = union(list(pieces))
    n, p = int(total.n_rows), total.n_features
    rules, refused = _affordable(n, p)
    asked = [rule for rule in rules if rule != "cv"]
    found = choose_n_components(total, asked, standardize=standardize, n_draws=draws(n, p), random_state=seed)
    if "cv" in rules:
        refused |= {"cv": "needs at least 2 columns and 10 rows"}
        if p >= 2 and n >= 10 and len(pieces) >= 2 * _FOLDS:
            result = cross_validated(pieces, standardize)
            if np.isfinite(result.mean).any():
                curve = result.mean[0]
                answer = Choice("cv", result.best, curve, RULES["cv"].assumes, cross_validation=result)
                return _completed(Choices(found.eigenvalues, (*found.answers, answer)), refused)
            refused["cv"] = "the rows without a fold leave no variance for the noise of any model"
    return _completed(found, refused)


def cross_validated(pieces: Sequence[Moments], standardize: bool) -> CrossValidation:
    """Held-out likelihood of each number of components, in five folds that are made of the pieces."""
    folds = [union(list(pieces[i::_FOLDS])) for i in range(_FOLDS)]
    others = [union([fold for fold in folds if fold is not left_out]) for left_out in folds]
    most = min(min(int(other.n_rows) for other in others), folds[0].n_features)
    counts = np.arange(most)
    scores = [
        score_spectrum(other, fold, counts, ddof=0, standardize=standardize, constant=False).scores
        for other, fold in zip(others, folds, strict=True)
    ]
    return CrossValidation(
        estimator="PPCA",
        what="log-likelihood",
        greater_is_better=True,
        n_components=counts,
        settings=[{}],
        per_split=np.array(scores)[:, None, :],
        by_response=None,
        weights=np.array([float(fold.weight) for fold in folds]),
        n_samples=sum(int(fold.n_rows) for fold in folds),
        n_passes=0,
        plan=Plan(SummaryFolds(), 0, 0, "the moments of the folds are known from the first pass"),
    )


def followed(choices: Choices) -> Choice | None:
    """The answer that the report follows."""
    return next((choices[rule] for rule in FOLLOWED if rule in choices and choices[rule].k is not None), None)


def draws(n: int, p: int) -> int:
    """The number of simulations of parallel analysis."""
    return _FEW_DRAWS if min(n, p) > _MANY else _DRAWS


def _affordable(n: int, p: int) -> tuple[list[str], dict[str, str]]:
    """The rules that are applied, and why others are not."""
    sizes = {"cv": min(n, p), "map": p}
    slow = [rule for rule, most in _SLOW.items() if sizes[rule] > most]
    why = "left out to save time: this table is large, and the rule would take longer than all others"
    return [rule for rule in RULES if rule not in slow], dict.fromkeys(slow, why)


def _completed(found: Choices, refused: dict[str, str]) -> Choices:
    """All rules in their order, those that were not applied with the reason."""
    missing = {
        rule: Choice(rule, None, np.zeros(0), RULES[rule].assumes, refused[rule]) for rule in RULES if rule not in found
    }
    return Choices(found.eigenvalues, tuple(found[rule] if rule in found else missing[rule] for rule in RULES))
