"""The tables of rules that choose the number of components, or of factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import choice
from .eigenvalues import Eigenvalues
from .evidence import aic, bic, minka
from .factor_parallel import parallel_factors, reduced_eigenvalues
from .noise import gavish_donoho, marchenko_pastur
from .partial import velicer
from .resampling import parallel
from .variance import broken_stick, elbow, kaiser, proportion_of_variance


def all_eigenvalues(e: Eigenvalues) -> np.ndarray:
    """The eigenvalues of the covariance or correlation matrix."""
    return e.values


@dataclass(frozen=True)
class Rule:
    """A rule that chooses the number of components or factors K.

    Examples
    --------
    >>> from lowdim.selection import RULES
    >>> RULES["kaiser"].brief
    'noise eigenvalues are all equal (n far above p)'
    """

    name: str
    #: (Eigenvalues, **options) -> (K, curve), or None for a rule that needs the rows themselves.
    function: Callable[..., Any] | None
    #: What the rule assumes and where it fails, in one sentence.
    assumes: str
    #: The input: "eigenvalues", "variances" (eigenvalues and column variances), "matrix" (p x p) or "folds" (the rows).
    needs: str
    #: `assumes` in a few words.
    brief: str
    #: The kind of curve: "thresholds" for lambda_1, lambda_2, ...; a quantity whose best value is the "large" or the
    #: "small" one; or one that has to "reach" a level.
    curve: str
    #: The K of the first entry of the curve.
    first: int = 1
    #: Options of `choose_n_components` that the function takes.
    options: tuple[str, ...] = ()
    #: How the rule is applied to rows with missing values: to the "covariance" of maximum likelihood, by the
    #: "likelihood" of fits, by "folds", or, if empty, not at all.
    with_holes: str = ""
    #: What a curve of thresholds is compared with.
    compared: Callable[[Eigenvalues], np.ndarray] = all_eigenvalues


_RULES = (
    Rule(
        "proportion",
        proportion_of_variance,
        "Assumes that variance is what matters and that a fixed share of it is enough; it does not look for structure, "
        "and with many noisy columns it keeps noise.",
        "eigenvalues",
        "a fixed share of the variance is enough",
        "reach",
        options=("proportion",),
        with_holes="covariance",
    ),
    Rule(
        "kaiser",
        kaiser,
        "Assumes that a component should have more variance than a column has on average, as if eigenvalues of noise "
        "were all equal; they are not unless n is far larger than p, so it keeps too many.",
        "eigenvalues",
        "noise eigenvalues are all equal (n far above p)",
        "thresholds",
        with_holes="covariance",
    ),
    Rule(
        "broken-stick",
        broken_stick,
        "Assumes that without structure the variance is divided like a stick broken at random, which is more uneven "
        "than the eigenvalues of noise; it misses components of moderate size.",
        "eigenvalues",
        "chance shares variance out like a broken stick",
        "thresholds",
        with_holes="covariance",
    ),
    Rule(
        "elbow",
        elbow,
        "Assumes that eigenvalues fall into two groups of the same spread, large and small; one dominant component, or "
        "a slow decay, puts the elbow in the wrong place.",
        "eigenvalues",
        "two groups of eigenvalues, equally spread",
        "large",
        with_holes="covariance",
    ),
    Rule(
        "minka",
        minka,
        "Assumes Gaussian rows with noise of one variance in all columns and n large enough for Laplace's "
        "approximation; correlated or heavy-tailed noise is taken for components.",
        "eigenvalues",
        "Gaussian rows, equal noise, large n",
        "large",
    ),
    Rule(
        "bic",
        bic,
        "Assumes Gaussian rows with noise of one variance in all columns and n far larger than p; weak components are "
        "missed, correlated noise is taken for components, and with n < p it keeps all.",
        "eigenvalues",
        "Gaussian rows, equal noise, n far above p",
        "small",
        first=0,
        with_holes="likelihood",
    ),
    Rule(
        "aic",
        aic,
        "Assumes what BIC does but aims at prediction: it keeps weaker components, and does not stop keeping too many "
        "as n grows.",
        "eigenvalues",
        "as BIC, for prediction; keeps more",
        "small",
        first=0,
        with_holes="likelihood",
    ),
    Rule(
        "parallel",
        parallel,
        "Assumes that noise columns are independent, Gaussian and as variable as those seen; strong components inflate "
        "these variances so that weak ones are missed, and correlated noise is taken for components.",
        "variances",
        "noise columns are independent",
        "thresholds",
        options=("n_draws", "quantile", "seed"),
    ),
    Rule(
        "map",
        velicer,
        "Assumes that each component is shared by several columns, and removes components until the columns are least "
        "correlated given them; components of few columns are missed.",
        "matrix",
        "each component is shared by several columns",
        "small",
        first=0,
        with_holes="covariance",
    ),
    Rule(
        "gavish-donoho",
        gavish_donoho,
        "Assumes white noise of one variance in a large table with few components; it keeps those that improve a least "
        "squares reconstruction, which are fewer than can be detected; unequal or correlated noise breaks it.",
        "eigenvalues",
        "white noise; keeps what lowers squared error",
        "thresholds",
        options=("noise_variance",),
    ),
    Rule(
        "marchenko-pastur",
        marchenko_pastur,
        "Assumes white noise of one variance in a large table with few components; even then the largest eigenvalue of "
        "pure noise is above the edge in about one table of six, and unequal or correlated noise breaks it.",
        "eigenvalues",
        "white noise; keeps what can be detected",
        "thresholds",
        options=("noise_variance",),
    ),
    # ---- Rules that need the rows rather than eigenvalues; choose.py applies them.
    Rule(
        "cv",
        None,
        "Assumes that rows are independent, so that those left out are a fair test of a model fitted to the others; "
        "repeated or neighbouring rows in different folds make it keep too many.",
        "folds",
        "rows are independent",
        "large",
        first=0,
        with_holes="folds",
    ),
)

#: The rules that choose the number of components, by name.
RULES: dict[str, Rule] = {rule.name: rule for rule in _RULES}

#: The rules that choose the number of factors and have no meaning for components, by name.
FACTOR_RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "parallel-factors",
            parallel_factors,
            "Assumes that without factors columns would be independent and Gaussian; it counts factors, not "
            "components: what columns share, without the variance of each column alone. Everything that columns share "
            "counts, so that it often keeps more than parallel analysis of components.",
            "matrix",
            "columns are independent but for the factors",
            "thresholds",
            options=("n_draws", "quantile", "seed"),
            compared=reduced_eigenvalues,
        ),
    )
}

#: Other names of rules; "mle" is scikit-learn's.
ALIASES = {"mle": "minka", "horn": "parallel", "velicer": "map"}


def rule_of(name: Any) -> Rule:
    """The rule with this name or alias.

    Examples
    --------
    >>> from lowdim.selection import rule_of
    >>> rule_of("mle").name, rule_of("horn").name
    ('minka', 'parallel')
    """
    known = {**RULES, **FACTOR_RULES}
    rule = known.get(ALIASES.get(name, name)) if isinstance(name, str) else None
    if rule is None:
        others = ", ".join(f"{alias!r} for {main!r}" for alias, main in ALIASES.items())
        raise choice("rule", name, list(known), f"Also {others}.")
    return rule
