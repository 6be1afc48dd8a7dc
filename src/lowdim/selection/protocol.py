"""What `selection` asks of a model, to cross-validate, bootstrap and permute it: one protocol, without underscores.

A model of one's own that offers `open_rows`, `fit_summary` and `held_out_scorer` can be cross-validated; with
`bootstrap_axes` it can be bootstrapped, and with `permutation_options` it can be tested against shuffled rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from ..sources import Source


@dataclass(frozen=True)
class HeldOutScores:
    """Scores of rows that were left out, one for each model that was tried (further axes first)."""

    scores: np.ndarray
    #: Whether products of rows were fine enough for them; if not, rows are read again for a finer summary.
    resolved: bool


class HeldOutScorer(Protocol):
    """How models of one kind are scored by rows that were left out of their fit."""

    @property
    def estimator(self) -> str:
        """The name of the model in tables."""

    @property
    def what(self) -> str:
        """What is measured."""

    @property
    def greater_is_better(self) -> bool:
        """Whether more of it is better."""

    @property
    def takes_nan(self) -> bool:
        """Whether rows with NaN can be fitted."""

    @property
    def from_zero(self) -> bool:
        """Whether no component at all is among the models that a rule may choose."""

    def summary(self, source: Source, fine: bool) -> Any:
        """An empty summary of the kind that is kept of each fold, the one that squares nothing if `fine`; None where
        rows that were left out cannot be scored by a summary."""

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        """Numbers of components to try, checked; `asked` is None for all that make sense."""

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        """Scores for each count, from the summary of the rows trained on and that of the rows left out."""

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The same from rows: trained on those with `weights`, scored by those with weights `test`."""


@dataclass(frozen=True)
class PermutationOptions:
    """What is shuffled in a permutation test."""

    #: Of which tables columns are divided by their deviation.
    scaled: tuple[bool, ...]
    #: The ridge of each table, of canonical correlations.
    regularization: tuple[float, ...] = ()


@runtime_checkable
class OpensRows(Protocol):
    """A model that checks its parameters and opens the rows that it would be fitted to."""

    def open_rows(self, X: Any, y: Any = None, *, fitted: bool = False) -> Source:
        """The source of the rows, after a check of the parameters; with `fitted`, columns must be those of the fit."""


@runtime_checkable
class CanBeValidated(OpensRows, Protocol):
    """A model that can be cross-validated."""

    def held_out_scorer(self) -> HeldOutScorer:
        """How this model is scored by rows left out of its fit; parameters that make no sense are refused."""


@runtime_checkable
class CanBeBootstrapped(OpensRows, Protocol):
    """A model that can be bootstrapped."""

    #: Fitted attributes that are looked at, without their underscore, and what each of their axes is: "components",
    #: "features" or "targets".
    bootstrap_axes: ClassVar[dict[str, tuple[str, ...]]]
    #: What components are called: "PC" for PC1, PC2, ...
    component_name: ClassVar[str]

    def fit_summary(self, summary: Any) -> Self:
        """Fit without rows."""


@runtime_checkable
class CanBePermuted(OpensRows, Protocol):
    """A model that can be tested against shuffled rows."""

    def permutation_options(self) -> PermutationOptions:
        """What is shuffled."""
