"""What the rules answered, as a table that prints itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import narwhals as nw
import numpy as np

from .eigenvalues import Eigenvalues
from .rules import RULES, rule_of


@dataclass(frozen=True, eq=False)
class Choice:
    """The answer of one rule."""

    rule: str
    #: The number of components; None where the rule cannot be had.
    k: int | None
    #: The curve behind it, one entry for each of `candidates`; empty where the rule cannot be had.
    curve: np.ndarray
    #: What the rule assumes and where it fails.
    assumes: str
    #: Why there is no answer, or what else is to be known; empty where nothing is.
    note: str = ""

    @property
    def candidates(self) -> np.ndarray:
        """The K of each entry of the curve (for a curve of thresholds: the number of the eigenvalue)."""
        return RULES[self.rule].first + np.arange(len(self.curve))


@dataclass(frozen=True, eq=False, repr=False)
class Choices(Mapping[str, Choice]):
    """The answers of all rules that were asked: `choices["minka"].k`; aliases such as "mle" are understood too.

    Attributes
    ----------
    eigenvalues : Eigenvalues
        What the rules looked at; `eigenvalues.values` is the scree graph.
    """

    eigenvalues: Eigenvalues
    answers: tuple[Choice, ...]

    def __getitem__(self, name: str) -> Choice:
        wanted = rule_of(name).name
        for answer in self.answers:
            if answer.rule == wanted:
                return answer
        asked = ", ".join(repr(answer.rule) for answer in self.answers)
        raise KeyError(f"rule {name!r} was not asked; asked were {asked}.")

    def __iter__(self) -> Iterator[str]:
        return (answer.rule for answer in self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __contains__(self, name: object) -> bool:
        return any(answer.rule == name for answer in self.answers)

    def table(self) -> dict[str, list[Any]]:
        """Columns by name: rule, k, assumes, note."""
        return {
            "rule": [answer.rule for answer in self.answers],
            "k": [answer.k for answer in self.answers],
            "assumes": [answer.assumes for answer in self.answers],
            "note": [answer.note for answer in self.answers],
        }

    def to_pandas(self) -> Any:
        """The table as a pandas data frame, for those who have pandas."""
        return nw.from_dict(self.table(), backend="pandas").to_native()

    def __str__(self) -> str:
        width = max(len("rule"), *(len(name) for name in self))
        lines = [self._headline(), f"{'rule':<{width}}    K  assumes"]
        lines += [f"{name:<{width}}  {k:>3}  {words}" for name, k, words in self._rows()]
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
        return f"How many components? {e.n:g} rows, {e.p} columns ({kind})"

    def _rows(self) -> list[tuple[str, str, str]]:
        """Name, K, and a few words of each rule."""
        return [
            (a.rule, "-", f"not available: {a.note}") if a.k is None else (a.rule, str(a.k), RULES[a.rule].brief)
            for a in self.answers
        ]
