"""The results of the rules that choose the number of components, as printable tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .eigenvalues import Eigenvalues
from .rules import ALIASES, RULES
from .tabular import Tabular
from .validation_table import CrossValidation

#: The names of curves in tables.
_CURVES = {"thresholds": "threshold", "large": "to maximise", "small": "to minimise", "reach": "reached"}
#: The number of entries of a curve that are printed from the chosen one on.
_SHOWN = 6
#: If the variances of columns differ by more than this factor, the columns probably have different units.
_UNITS = 100.0


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Tabular):
    """The result of one rule. Printing it shows the curve from which the number of components was chosen."""

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
        return (RULES[self.rule].first if self.first is None else self.first) + np.arange(len(self.curve))

    @property
    def kind(self) -> str:
        """The kind of curve, see `Rule.curve`; that of held-out scores depends on how the model is scored."""
        if self.cross_validation is None:
            return RULES[self.rule].curve
        return "large" if self.cross_validation.greater_is_better else "small"

    def table(self) -> dict[str, list[Any]]:
        """Columns with k, the eigenvalue (if the curve consists of thresholds), and the curve."""
        columns: dict[str, list[Any]] = {"k": self.candidates.tolist()}
        if self.eigenvalues is not None and self.kind == "thresholds":
            columns["eigenvalue"] = self.eigenvalues[: len(self.curve)].tolist()
        return columns | {_CURVES[self.kind]: self.curve.tolist()}

    def __repr__(self) -> str:
        return f"Choice({self.rule!r}, k={self.k})"

    def __str__(self) -> str:
        if self.k is None:
            return f"{self.rule}: not available: {self.note}"
        columns = self.table()
        scored = "" if self.cross_validation is None else f", by the {self.cross_validation.what} of rows left out"
        head = f"{'k':>4}" + "".join(f"{name:>17}" for name in list(columns)[1:])
        lines = [f"{self.rule}: K = {self.k}{scored}", head]
        last = min(len(self.curve), max(self.k - int(self.candidates[0]), 0) + _SHOWN)
        for i in range(last):
            numbers = "".join(f"{values[i]:>17.6g}" for values in list(columns.values())[1:])
            lines.append(f"{columns['k'][i]:>4}{numbers}{'  *' if columns['k'][i] == self.k else ''}")
        if last < len(self.curve):
            lines.append(f"... {len(self.curve) - last} more")
        return "\n".join([*lines, self.assumes])


@dataclass(frozen=True, eq=False, repr=False)
class Choices(Tabular, Mapping[str, Choice]):
    """A mapping from the names of rules to their results: `choices["minka"].k`. Aliases such as "mle" work too.

    Attributes
    ----------
    eigenvalues : Eigenvalues
        The input of the rules; `eigenvalues.values` are the values of the scree plot.
    answers : tuple of Choice
        The results, in the order of the rules.
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

    def table(self) -> dict[str, list[Any]]:
        """The columns rule, k, note, assumes and curve."""
        return {
            "rule": [answer.rule for answer in self.answers],
            "k": [answer.k for answer in self.answers],
            "note": [answer.note for answer in self.answers],
            "assumes": [answer.assumes for answer in self.answers],
            "curve": [answer.curve.tolist() for answer in self.answers],
        }

    def __str__(self) -> str:
        width = max(len("rule"), *(len(name) for name in self))
        lines = [self._headline(), f"{'rule':<{width}}    K  assumes"]
        lines += [f"{name:<{width}}  {k:>3}  {words}" for name, k, words in self._rows()]
        e = self.eigenvalues
        if e.variances is not None and not e.standardize:
            varying = e.variances[e.variances > 0]
            if len(varying) > 1 and varying.max() > _UNITS * varying.min():
                share = float(varying.max() / varying.sum())
                lines.append(
                    f"One column has {share:.0%} of the variance: standardize=True looks at correlations instead."
                )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        left = "style='text-align:left'"
        body = "".join(
            f"<tr><th {left}>{escape(name)}</th><td>{k}</td><td {left} title='{escape(self[name].assumes)}'>"
            f"{escape(words)}</td></tr>"
            for name, k, words in self._rows()
        )
        head = f"<thead><tr><th {left}>rule</th><th>K</th><th {left}>assumes</th></tr></thead>"
        return f"<table><caption {left}>{escape(self._headline())}</caption>{head}<tbody>{body}</tbody></table>"

    def _headline(self) -> str:
        e = self.eigenvalues
        kind = "correlation" if e.standardize else "covariance"
        kind = kind if e.center else f"{kind} about zero"
        return f"How many components? {e.n:g} rows, {e.p} columns ({kind})"

    def _rows(self) -> list[tuple[str, str, str]]:
        """Name, K and a short description of each rule."""
        return [
            (a.rule, "-", f"not available: {a.note}") if a.k is None else (a.rule, str(a.k), RULES[a.rule].brief)
            for a in self.answers
        ]
