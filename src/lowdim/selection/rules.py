"""The tables of rules that choose the number of components, or of factors, and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .._core.schema import Instance, Maybe, Numbers, TupleOf, Whole
from ..errors import choice
from ..table import Table, Tabular
from . import criteria
from .criteria import Eigenvalues, Unavailable
from .cross_validation import CrossValidation
from .parallel_analysis import parallel, parallel_factors, reduced_eigenvalues


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
    with_missing: str = ""
    #: What a curve of thresholds is compared with.
    compared: Callable[[Eigenvalues], np.ndarray] = all_eigenvalues


_RULES = (
    Rule(
        "proportion",
        criteria.proportion_of_variance,
        "Assumes that variance is what matters and that a fixed share of it is enough; it does not look for structure, "
        "and with many noisy columns it keeps noise.",
        "eigenvalues",
        "a fixed share of the variance is enough",
        "reach",
        options=("proportion",),
        with_missing="covariance",
    ),
    Rule(
        "kaiser",
        criteria.kaiser,
        "Assumes that a component should have more variance than a column has on average, as if eigenvalues of noise "
        "were all equal; they are not unless n is far larger than p, so it keeps too many.",
        "eigenvalues",
        "noise eigenvalues are all equal (n far above p)",
        "thresholds",
        with_missing="covariance",
    ),
    Rule(
        "broken-stick",
        criteria.broken_stick,
        "Assumes that without structure the variance is divided like a stick broken at random, which is more uneven "
        "than the eigenvalues of noise; it misses components of moderate size.",
        "eigenvalues",
        "chance shares variance out like a broken stick",
        "thresholds",
        with_missing="covariance",
    ),
    Rule(
        "elbow",
        criteria.elbow,
        "Assumes that eigenvalues fall into two groups of the same spread, large and small; one dominant component, or "
        "a slow decay, puts the elbow in the wrong place.",
        "eigenvalues",
        "two groups of eigenvalues, equally spread",
        "large",
        with_missing="covariance",
    ),
    Rule(
        "minka",
        criteria.minka,
        "Assumes Gaussian rows with noise of one variance in all columns and n large enough for Laplace's "
        "approximation; correlated or heavy-tailed noise is taken for components.",
        "eigenvalues",
        "Gaussian rows, equal noise, large n",
        "large",
    ),
    Rule(
        "bic",
        criteria.bic,
        "Assumes Gaussian rows with noise of one variance in all columns and n far larger than p; weak components are "
        "missed, correlated noise is taken for components, and with n < p it keeps all.",
        "eigenvalues",
        "Gaussian rows, equal noise, n far above p",
        "small",
        first=0,
        with_missing="likelihood",
    ),
    Rule(
        "aic",
        criteria.aic,
        "Assumes what BIC does but aims at prediction: it keeps weaker components, and does not stop keeping too many "
        "as n grows.",
        "eigenvalues",
        "as BIC, for prediction; keeps more",
        "small",
        first=0,
        with_missing="likelihood",
    ),
    Rule(
        "parallel",
        parallel,
        "Assumes that noise columns are independent, Gaussian and as variable as those seen; strong components inflate "
        "these variances so that weak ones are missed, and correlated noise is taken for components.",
        "variances",
        "noise columns are independent",
        "thresholds",
        options=("n_resamples", "quantile", "seed", "patterns", "simulate"),
        with_missing="covariance",
    ),
    Rule(
        "map",
        criteria.velicer,
        "Assumes that each component is shared by several columns, and removes components until the columns are least "
        "correlated given them; components of few columns are missed.",
        "matrix",
        "each component is shared by several columns",
        "small",
        first=0,
        with_missing="covariance",
    ),
    Rule(
        "gavish-donoho",
        criteria.gavish_donoho,
        "Assumes white noise of one variance in a large table with few components; it keeps those that improve a least "
        "squares reconstruction, which are fewer than can be detected; unequal or correlated noise breaks it.",
        "eigenvalues",
        "white noise; keeps what lowers squared error",
        "thresholds",
        options=("noise_variance",),
    ),
    Rule(
        "marchenko-pastur",
        criteria.marchenko_pastur,
        "Assumes white noise of one variance in a large table with few components; even then the largest eigenvalue of "
        "pure noise is above the edge in about one table of six, and unequal or correlated noise breaks it.",
        "eigenvalues",
        "white noise; keeps what can be detected",
        "thresholds",
        options=("noise_variance",),
    ),
    # ---- Rules that need the rows rather than eigenvalues.
    Rule(
        "cv",
        None,
        "Assumes that rows are independent, so that those left out are a fair test of a model fitted to the others; "
        "repeated or neighbouring rows in different folds make it keep too many.",
        "folds",
        "rows are independent",
        "large",
        first=0,
        with_missing="folds",
    ),
)

#: The names of these rules, and other names of some, for type checkers.
RuleName = Literal[
    "proportion",
    "kaiser",
    "broken-stick",
    "elbow",
    "minka",
    "mle",
    "bic",
    "aic",
    "parallel",
    "horn",
    "map",
    "velicer",
    "gavish-donoho",
    "marchenko-pastur",
    "cv",
]

#: The rules that choose the number of components, by name.
RULES: dict[str, Rule] = {rule.name: rule for rule in _RULES}

#: The rules that choose the number of factors and have no meaning for components, by name.
FACTOR_RULES: dict[str, Rule] = {
    "parallel-factors": Rule(
        "parallel-factors",
        parallel_factors,
        "Assumes that without factors columns would be independent and Gaussian; it counts factors, not components: "
        "what columns share, without the variance of each column alone. Everything that columns share counts, so that "
        "it often keeps more than parallel analysis of components.",
        "matrix",
        "columns are independent but for the factors",
        "thresholds",
        options=("n_resamples", "quantile", "seed", "patterns"),
        with_missing="covariance",
        compared=reduced_eigenvalues,
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


#: The names of curves in tables.
_CURVES = {"thresholds": "threshold", "large": "to maximise", "small": "to minimise", "reach": "reached"}
#: The number of entries of a curve that are printed from the chosen one on.
_SHOWN = 6
#: If the largest variance of a column is more than this times the median, the columns probably have different units.
_UNITS = 100.0


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Tabular):
    """The result of one rule. Printing it shows the curve from which the number of components was chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import choose_n_components
    >>> choice = choose_n_components(load_iris().data, "kaiser")["kaiser"]
    >>> type(choice).__name__, choice.k
    ('Choice', 1)
    >>> choice.curve.round(3)  # the mean of the eigenvalues, with which each of them is compared
    array([1.143, 1.143, 1.143, 1.143])
    """

    rule: str
    #: The number of components; None if the rule is not available.
    k: int | None = field(metadata={"kind": Maybe(Whole())})
    #: The curve, one entry for each of `candidates`; empty if the rule is not available.
    curve: np.ndarray = field(metadata={"kind": Numbers("*", host=True, finite=False)})
    #: What the rule assumes and where it fails.
    assumes: str
    #: Why the rule is not available, or another remark; usually empty.
    note: str = ""
    #: The eigenvalues that thresholds are compared with.
    eigenvalues: np.ndarray | None = field(default=None, metadata={"kind": Maybe(Numbers("*", host=True))})
    #: The K of the first entry of the curve, if it differs from the default of the rule.
    first: int | None = field(default=None, metadata={"kind": Maybe(Whole())})
    #: All held-out scores, for the rule "cv".
    cross_validation: CrossValidation | None = field(
        default=None, metadata={"kind": Maybe(Instance("selection.CrossValidation"))}
    )

    @property
    def candidates(self) -> np.ndarray:
        """The K of each entry of the curve (for a curve of thresholds, the index of the eigenvalue, from 1)."""
        return (rule_of(self.rule).first if self.first is None else self.first) + np.arange(len(self.curve))

    @property
    def kind(self) -> str:
        """The kind of curve, see `Rule.curve`; that of held-out scores depends on how the model is scored."""
        if self.cross_validation is None:
            return rule_of(self.rule).curve
        return "large" if self.cross_validation.greater_is_better else "small"

    def table(self) -> Table:
        """The curve, with a row for each K: the eigenvalue (if the curve consists of thresholds), and the curve."""
        columns: dict[str, Any] = {}
        if self.eigenvalues is not None and self.kind == "thresholds":
            columns["eigenvalue"] = self.eigenvalues[: len(self.curve)]
        columns[_CURVES[self.kind]] = self.curve
        columns["choice"] = ["chosen" if k == self.k else "" for k in self.candidates]
        scored = "" if self.cross_validation is None else f", by the {self.cross_validation.what} of rows left out"
        title = f"{self.rule}: not available: {self.note}" if self.k is None else f"{self.rule}: K = {self.k}{scored}"
        return Table(columns, self.candidates, title=title, notes=[self.assumes], row_name="K")

    def __repr__(self) -> str:
        return f"Choice({self.rule!r}, k={self.k})"

    def __str__(self) -> str:
        if self.k is None:
            return self.table().title
        return self.table().text(max_rows=max(self.k - int(self.candidates[0]), 0) + _SHOWN)


def apply_rule(
    rule: Rule, given: Eigenvalues | CrossValidation | np.ndarray | str, options: Mapping[str, Any] | None = None
) -> Choice:
    """The choice of a rule from what it needs: eigenvalues, scores of held-out rows, or a curve to minimise (BIC or AIC
    of fits). If `given` is text, it says why the rule is not available. `options` may hold those of other rules."""
    if isinstance(given, str):
        return Choice(rule.name, None, np.zeros(0), rule.assumes, given)
    if isinstance(given, CrossValidation):
        return Choice(rule.name, given.best, given.mean[0], rule.assumes, cross_validation=given)
    if not isinstance(given, Eigenvalues):
        return Choice(rule.name, int(np.argmin(given)), given, rule.assumes)
    assert rule.function is not None
    try:
        k, curve = rule.function(
            given, **{name: value for name, value in (options or {}).items() if name in rule.options}
        )
        return Choice(rule.name, k, curve, rule.assumes, eigenvalues=rule.compared(given))
    except Unavailable as reason:
        return apply_rule(rule, str(reason))


@dataclass(frozen=True, eq=False, repr=False)
class Choices(Tabular, Mapping[str, Choice]):
    """A mapping from the names of rules to their results: `choices["minka"].k`. Aliases such as "mle" work too.

    Attributes
    ----------
    eigenvalues : Eigenvalues
        The input of the rules; `eigenvalues.values` are the values of the scree plot.
    answers : tuple of Choice
        The results, in the order of the rules.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import choose_n_components
    >>> choices = choose_n_components(load_iris().data, ["minka", "elbow"])
    >>> type(choices).__name__, list(choices), choices["mle"].k
    ('Choices', ['minka', 'elbow'], 3)
    """

    eigenvalues: Eigenvalues = field(metadata={"kind": Instance("selection.Eigenvalues")})
    answers: tuple[Choice, ...] = field(metadata={"kind": TupleOf(Instance("selection.Choice"))})

    def __getitem__(self, name: str) -> Choice:
        wanted = ALIASES.get(name, name)
        for answer in self.answers:
            if answer.rule == wanted:
                return answer
        asked = ", ".join(repr(answer.rule) for answer in self.answers)
        raise KeyError(f"rule {name!r} was not requested; the requested rules are {asked}.")

    def __iter__(self) -> Iterator[str]:
        return (answer.rule for answer in self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def table(self) -> Table:
        """A row for each rule: the number of components that it chooses, and what it assumes, in a few words."""
        columns = {
            "K": [answer.k for answer in self.answers],
            "assumes": ["not available" if a.k is None else rule_of(a.rule).brief for a in self.answers],
        }
        e = self.eigenvalues
        kind = f"{'correlation' if e.scale else 'covariance'}{'' if e.center else ' about zero'}"
        title = f"How many components? {e.n:.12g} rows, {e.p} columns ({kind})"
        return Table(columns, list(self), title=title, notes=self._refusals() + self._units(), row_name="rule")

    def __str__(self) -> str:
        return self.table().text(max_rows=None)

    __repr__ = __str__

    def _refusals(self) -> list[str]:
        """Why rules are not available, with the rules that have the same reason together."""
        rules: dict[str, list[str]] = {}
        for answer in self.answers:
            if answer.k is None:
                rules.setdefault(answer.note, []).append(answer.rule)
        return [
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not available: {why}"
            for why, names in rules.items()
        ]

    def _units(self) -> list[str]:
        """A remark on columns that seem to have different units, if there are such."""
        e = self.eigenvalues
        if e.variances is None or e.scale:
            return []
        varying = np.sort(e.variances[e.variances > 0])
        # Of two columns the median is the smaller one. The smallest of many says little: a pixel that is nearly always
        # black has the same unit as the others.
        if len(varying) < 2 or varying[-1] <= _UNITS * varying[(len(varying) - 1) // 2]:
            return []
        share = float(varying[-1] / varying.sum())
        return [f"One column has {share:.0%} of the variance: scale=True looks at correlations instead."]
