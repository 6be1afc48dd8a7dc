"""The protocols of models that can be cross-validated, bootstrapped or tested by permutations.

A user's model with the methods `open_rows`, `fit_summary` and `held_out_scorer` can be cross-validated. With
`bootstrap_axes` it can be bootstrapped, and with `permutation_options` it can be tested against shuffled rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from ..sources import Source
from .coordinates import Frame


@dataclass(frozen=True)
class HeldOutScores:
    """Scores of held-out rows, one for each model that was tried; there may be a further axis for the responses."""

    scores: np.ndarray
    #: Whether the scores are accurate; if not, the rows are read again for a finer summary.
    resolved: bool


class HeldOutScorer(Protocol):
    """Scores models of one class by held-out rows."""

    @property
    def estimator(self) -> str:
        """The name of the model in tables."""

    @property
    def what(self) -> str:
        """The name of the score."""

    @property
    def greater_is_better(self) -> bool:
        """Whether larger scores are better."""

    @property
    def takes_nan(self) -> bool:
        """Whether rows with NaN can be fitted."""

    @property
    def from_zero(self) -> bool:
        """Whether a rule may choose a model without components."""

    @property
    def compares_with_means(self) -> bool:
        """Whether predictions are compared with those by the means, the model without components, for R2."""

    @property
    def refits(self) -> bool:
        """Whether there is `refit_scores`."""

    @property
    def fits_each_count(self) -> bool:
        """Whether each number of components needs its own fit."""

    @property
    def rotates(self) -> tuple[bool, ...]:
        """For each table, whether the scores stay the same if all of its rows are rotated."""

    @property
    def scaled(self) -> tuple[bool, ...]:
        """For each table, whether its columns are divided by their standard deviations over the training rows."""

    @property
    def ddof(self) -> int:
        """These standard deviations have the divisor weight - ddof."""

    @property
    def leaves_out_constant(self) -> bool:
        """Whether columns that are constant in the training rows and the held-out rows are left out."""

    def in_coordinates(self, frame: Frame) -> HeldOutScorer:
        """The scorer for rows of which some tables are replaced by coordinates; only for tables that `rotates` names.
        Their columns are already divided by their standard deviations."""

    def summary(self, source: Source, fine: bool) -> Any:
        """An empty summary for the rows of a fold; one that does not square the entries if `fine`. None if held-out
        rows cannot be scored from a summary."""

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        """The numbers of components to try: `asked`, which is checked, or a default range if `asked` is None."""

    def scores(self, train: Any, test: Any, counts: np.ndarray) -> HeldOutScores:
        """Scores for each count, from the summary of the training rows and that of the held-out rows."""

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The same from rows: `weights` are those of the training rows, `test` those of the held-out rows."""


@dataclass(frozen=True)
class PermutationOptions:
    """Options of a permutation test."""

    #: For each table, whether columns are divided by their standard deviation.
    scaled: tuple[bool, ...]
    #: For canonical correlations, the regularization of each table.
    regularization: tuple[float, ...] = ()
    #: For one table: whether factors are tested, by the eigenvalues of the reduced correlation matrix, and not
    #: components.
    factors: bool = False


@runtime_checkable
class OpensRows(Protocol):
    """A model that checks its parameters and opens the rows that it would be fitted to."""

    def open_rows(self, X: Any, y: Any = None, *, fitted: bool = False) -> Source:
        """The source of the rows, after a check of the parameters; if `fitted`, columns must be those of the fit."""


@runtime_checkable
class CanBeValidated(OpensRows, Protocol):
    """A model that can be cross-validated."""

    def held_out_scorer(self) -> HeldOutScorer:
        """The scorer of held-out rows for this model; invalid parameters are refused."""


@runtime_checkable
class CanBeBootstrapped(OpensRows, Protocol):
    """A model that can be bootstrapped."""

    #: Names of the fitted attributes that are bootstrapped, without the final underscore, and the meaning of each of
    #: their axes: "components", "features" or "targets".
    bootstrap_axes: ClassVar[dict[str, tuple[str, ...]]]

    def fit_summary(self, summary: Any) -> Self:
        """Fit to a summary of rows."""


@runtime_checkable
class CanBeStarted(Protocol):
    """A model that is fitted by an iteration, which can start at the solution for similar rows."""

    def start_at(self, fitted: Any, *, near: bool = False) -> Self:
        """Let the next fit start at the solution of a fitted model of the same columns; if the solution is expected
        `near` that one, other starts may be left out."""


@runtime_checkable
class CanBePermuted(OpensRows, Protocol):
    """A model that can be tested against shuffled rows."""

    def permutation_options(self) -> PermutationOptions:
        """The options of the permutation test for this model."""
