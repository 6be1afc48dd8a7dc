"""The results of the rules that choose the number of components, as printable tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tabular import Table, Tabular
from .eigenvalues import Eigenvalues
from .rules import ALIASES, rule_of
from .validation_table import CrossValidation

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
    k: int | None
    #: The curve, one entry for each of `candidates`; empty if the rule is not available.
    curve: np.ndarray
    #: What the rule assumes and where it fails.
    assumes: str
    #: Why the rule is not available, or another remark; usually empty.
    note: str = ""
    #: The eigenvalues that thresholds are compared with.
    eigenvalues: np.ndarray | None = None
    #: The K of the first entry of the curve, if it differs from the default of the rule.
    first: int | None = None
    #: All held-out scores, for the rule "cv".
    cross_validation: CrossValidation | None = None

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

    eigenvalues: Eigenvalues
    answers: tuple[Choice, ...]

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

    def __contains__(self, name: object) -> bool:
        return any(answer.rule == ALIASES.get(str(name), name) for answer in self.answers)

    def table(self) -> Table:
        """A row for each rule: the number of components that it chooses, and what it assumes, in a few words."""
        columns = {
            "K": [answer.k for answer in self.answers],
            "assumes": ["not available" if a.k is None else rule_of(a.rule).brief for a in self.answers],
        }
        notes = self._refusals() + self._units()
        return Table(columns, list(self), title=self._headline(), notes=notes, row_name="rule")

    def __str__(self) -> str:
        return self.table().text(max_rows=None)

    __repr__ = __str__

    def _headline(self) -> str:
        e = self.eigenvalues
        kind = "correlation" if e.standardize else "covariance"
        kind = kind if e.center else f"{kind} about zero"
        return f"How many components? {e.n:.12g} rows, {e.p} columns ({kind})"

    def _refusals(self) -> list[str]:
        """Why rules are not available, with the rules that have the same reason together."""
        rules: dict[str, list[str]] = {}
        for answer in self.answers:
            if answer.k is None:
                rules.setdefault(answer.note, []).append(answer.rule)
        verbs = {reason: "is" if len(names) == 1 else "are" for reason, names in rules.items()}
        return [f"{', '.join(names)} {verbs[why]} not available: {why}" for why, names in rules.items()]

    def _units(self) -> list[str]:
        """A remark on columns that seem to have different units, if there are such."""
        e = self.eigenvalues
        if e.variances is None or e.standardize:
            return []
        varying = np.sort(e.variances[e.variances > 0])
        # Of two columns the median is the smaller one. The smallest of many says little: a pixel that is nearly always
        # black has the same unit as the others.
        if len(varying) < 2 or varying[-1] <= _UNITS * varying[(len(varying) - 1) // 2]:
            return []
        share = float(varying[-1] / varying.sum())
        return [f"One column has {share:.0%} of the variance: standardize=True looks at correlations instead."]
