"""The result of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..solvers import Plan
from ..tabular import Table, Tabular


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidation(Tabular):
    """How well held-out rows are described, for each number of components and each setting of other options.

    Attributes
    ----------
    n_components : array of shape (n_counts,)
        The numbers of components that were tried.
    settings : list of dict
        The settings of other options that were tried; a single empty one if there were none.
    per_split : array of shape (n_splits, n_settings, n_counts)
        The average over the held-out rows of each split of what is measured: `what`.
    by_response : array of shape (n_splits, n_settings, n_counts, n_targets), or None
        For regressions, the mean squared errors of each response.
    of_means : array of shape (n_splits, n_settings, n_targets), or None
        For regressions, the mean squared errors of predictions by the means of the other rows.
    weights : array of shape (n_splits,)
        The total weight of the held-out rows.
    mean, standard_error : arrays of shape (n_settings, n_counts)
        Mean over all held-out rows, and its standard error.
    rmse, r2 : arrays of shape (n_settings, n_counts)
        For regressions, the root mean squared error of prediction (RMSEP), and the share of the variance of the
        responses that is predicted (R2), both over all held-out rows.
    best, one_standard_error : int
        The number of components with the best mean, and the smallest number within one standard error of it.
    best_setting : dict
        The setting with the best mean.
    plan : Plan
        How the held-out rows were scored, and why so.
    n_passes : int
        How often the rows were read.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from lowdim import PLSRegression, cross_validate
    >>> found = cross_validate(PLSRegression(), *load_diabetes(return_X_y=True), n_components=[1, 2, 3])
    >>> type(found).__name__, found.best, found.one_standard_error
    ('CrossValidation', 3, 2)
    >>> found.rmse.round(1)
    array([[59.7, 54.8, 54.8]])
    """

    estimator: str
    what: str
    greater_is_better: bool
    n_components: np.ndarray
    settings: list[dict[str, Any]]
    per_split: np.ndarray
    by_response: np.ndarray | None
    weights: np.ndarray
    n_samples: int
    n_passes: int
    plan: Plan
    of_means: np.ndarray | None = None
    #: What attributes are called in files, where that differs.
    names_in_files: ClassVar[dict[str, str]] = {"per_split": "scores"}

    @property
    def mean(self) -> np.ndarray:
        """Average over all held-out rows: splits are weighted by their held-out rows."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.average(self.per_split, axis=0, weights=self.weights))

    @property
    def standard_error(self) -> np.ndarray:
        """Standard error of the mean, from the variation between splits."""
        n = len(self.per_split)
        # Scores may themselves be squares of large or small numbers; powers of two change no digit.
        size = np.abs(self.per_split).max(axis=0)
        unit = np.ldexp(1.0, np.frexp(np.where(np.isfinite(size), size, 1.0))[1] - 1)
        with np.errstate(invalid="ignore"):
            return np.asarray((self.per_split / unit).std(axis=0, ddof=1) * (unit / np.sqrt(n)))

    @property
    def rmse(self) -> np.ndarray:
        """Root mean squared error over all held-out rows, for regressions."""
        if self.by_response is None:
            raise AttributeError(f"{self.estimator} is measured by its {self.what}, so there is no rmse.")
        return np.sqrt(self.mean)

    @property
    def r2(self) -> np.ndarray:
        """1 - MSE / MSE of the means, over all held-out rows, averaged over the responses, for regressions.

        The means are those of the rows that are not left out, so that R2 is negative if predictions are worse than
        these. The R2 of a response that does not vary is 1 if it is predicted exactly, and 0 otherwise.
        """
        if self.by_response is None or self.of_means is None:
            raise AttributeError(f"{self.estimator} is measured by its {self.what}, so there is no r2.")
        errors = np.average(self.by_response, axis=0, weights=self.weights)
        whole = np.average(self.of_means, axis=0, weights=self.weights)[:, None, :]
        ratio = np.where(whole > 0, errors / np.where(whole > 0, whole, 1.0), np.where(errors > 0, 1.0, 0.0))
        return np.asarray(np.mean(1.0 - ratio, axis=-1))

    @property
    def best(self) -> int:
        """The number of components with the best mean."""
        return int(self.n_components[self._best[1]])

    @property
    def best_setting(self) -> dict[str, Any]:
        """The setting of other options with the best mean."""
        return self.settings[self._best[0]]

    @property
    def one_standard_error(self) -> int:
        """The smallest number of components, in the best setting, with a mean within one standard error of the best."""
        s, j = self._best
        mean, error = self._oriented_mean()[s], self.standard_error[s, j]
        reach = mean[j] - (error if np.isfinite(error) else 0.0)
        return int(self.n_components[np.flatnonzero(mean >= reach)[0]])

    def table(self) -> Table:
        """A row for each setting and number of components, labelled by the number of components.

        The last column marks the best one ("best"), and the smallest number of components within one standard error of
        it ("one std. error").
        """
        names, counts = list(self.settings[0]), len(self.n_components)
        columns: dict[str, Any] = {
            name: [_entry(setting[name]) for setting in self.settings for _ in range(counts)] for name in names
        }
        columns |= {"mean": self.mean.ravel(), "std. error": self.standard_error.ravel()}
        if self.by_response is not None:
            columns["RMSEP"] = self.rmse.ravel()
        if self.of_means is not None:
            columns["R2"] = self.r2.ravel()
        columns["choice"], notes = self._marks()
        splits = f"{len(self.per_split)} splits of {self.n_samples} rows"
        title = f"{self.estimator}: {self.what} of rows left out, {splits}"
        labels = np.tile(self.n_components, len(self.settings))
        return Table(columns, labels, title=title, notes=notes, row_name="K")

    def _marks(self) -> tuple[list[str], list[str]]:
        """The last column of the table, and what is said below it."""
        marks = np.full(self.mean.shape, "", dtype=object)
        if np.all(np.isneginf(self._oriented_mean())):
            return marks.ravel().tolist(), ["no model has a finite mean: there is no variance left for the noise"]
        (s, j), smallest = self._best, self.one_standard_error
        marks[s, j] = "best"
        i = int(np.flatnonzero(self.n_components == smallest)[0])
        marks[s, i] = "best, one std. error" if i == j else "one std. error"
        words = "".join(f"{name}={value}, " for name, value in self.best_setting.items())
        notes = [f"best: {words}K = {self.best}"] if words else []
        return marks.ravel().tolist(), [*notes, f"within one standard error of the best: K = {smallest}"]

    @property
    def _best(self) -> tuple[int, int]:
        mean = self._oriented_mean()
        if np.all(np.isneginf(mean)):
            raise ValueError(
                f"no model has a finite {self.what}: the rows without a fold leave no variance for the noise. Try "
                "fewer components, or drop columns that depend on others."
            )
        s, j = np.unravel_index(int(np.argmax(mean)), mean.shape)
        return int(s), int(j)

    def _oriented_mean(self) -> np.ndarray:
        """The means, with their sign changed if smaller is better; minus infinity instead of NaN."""
        mean = self.mean if self.greater_is_better else -self.mean
        return np.where(np.isnan(mean), -np.inf, mean)

    def __repr__(self) -> str:
        if np.all(np.isneginf(self._oriented_mean())):
            return f"CrossValidation({self.estimator}, no finite mean, {len(self.per_split)} splits)"
        words = "".join(f", {name}={value}" for name, value in self.best_setting.items())
        best = f"best n_components={self.best}{words}, within one standard error: {self.one_standard_error}"
        return f"CrossValidation({self.estimator}, {best}, {len(self.per_split)} splits)"


def _entry(value: Any) -> Any:
    """The value of an option as an entry of a table: numbers and text as they are, and everything else as text."""
    return value if value is None or isinstance(value, bool | int | float | str | np.generic) else str(value)
