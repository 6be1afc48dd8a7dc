"""The result of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..solvers import Plan
from .tabular import Tabular


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidation(Tabular):
    """Scores of held-out rows, for each number of components and each setting of other options.

    Attributes
    ----------
    n_components : array of shape (n_counts,)
        The numbers of components that were tried.
    settings : list of dict
        The settings of other options that were tried; a single empty one if there were none.
    scores : array of shape (n_splits, n_settings, n_counts)
        The average score over the held-out rows of each split.
    by_response : array of shape (n_splits, n_settings, n_counts, n_targets), or None
        For regressions, the mean squared errors of each response.
    weights : array of shape (n_splits,)
        The total weight of the held-out rows.
    mean, standard_error : arrays of shape (n_settings, n_counts)
        Mean over all held-out rows, and its standard error.
    best, one_standard_error : int
        The number of components with the best mean, and the smallest number within one standard error of it.
    best_setting : dict
        The setting with the best mean.
    plan : Plan
        How the held-out rows were scored, and why so.
    n_passes : int
        How often the rows were read.
    """

    estimator: str
    what: str
    greater_is_better: bool
    n_components: np.ndarray
    settings: list[dict[str, Any]]
    scores: np.ndarray
    by_response: np.ndarray | None
    weights: np.ndarray
    n_samples: int
    n_passes: int
    plan: Plan

    @property
    def mean(self) -> np.ndarray:
        """Average over all held-out rows: splits are weighted by their held-out rows."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.average(self.scores, axis=0, weights=self.weights))

    @property
    def standard_error(self) -> np.ndarray:
        """Standard error of the mean, from the variation between splits."""
        n = len(self.scores)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.scores.std(axis=0, ddof=1) / np.sqrt(n))

    @property
    def rmse(self) -> np.ndarray:
        """Root mean squared error over all held-out rows, for regressions."""
        if self.by_response is None:
            raise AttributeError(f"{self.estimator} is scored by its {self.what}, so there is no rmse.")
        return np.sqrt(self.mean)

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

    def table(self) -> dict[str, list[Any]]:
        """Columns with one entry for each setting and number of components."""
        names = list(self.settings[0])
        mean, error = self.mean, self.standard_error
        rows = [(s, j) for s in range(len(self.settings)) for j in range(len(self.n_components))]
        columns: dict[str, list[Any]] = {name: [self.settings[s][name] for s, _ in rows] for name in names}
        columns["n_components"] = [int(self.n_components[j]) for _, j in rows]
        columns["mean"] = [float(mean[s, j]) for s, j in rows]
        columns["standard_error"] = [float(error[s, j]) for s, j in rows]
        return columns

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
            return f"CrossValidation({self.estimator}, no score, {len(self.scores)} splits)"
        words = "".join(f", {name}={value}" for name, value in self.best_setting.items())
        best = f"best n_components={self.best}{words}, within one standard error: {self.one_standard_error}"
        return f"CrossValidation({self.estimator}, {best}, {len(self.scores)} splits)"

    def __str__(self) -> str:
        lines = [f"{self.estimator}: {self.what} of rows left out, {len(self.scores)} splits of {self.n_samples} rows"]
        known = not np.all(np.isneginf(self._oriented_mean()))
        s_best, j_best = self._best if known else (-1, -1)
        for s, setting in enumerate(self.settings):
            if setting:
                lines.append(", ".join(f"{name}={value}" for name, value in setting.items()))
            lines.append(f"{'K':>3}{'mean':>11}{'std. error':>12}")
            for j, k in enumerate(self.n_components):
                end = "  best" if (s, j) == (s_best, j_best) else ""
                lines.append(f"{k:>3}{_number(self.mean[s, j]):>11}{_number(self.standard_error[s, j]):>12}{end}")
        if not known:
            return "\n".join([*lines, "no model has a finite score: there is no variance left for the noise"])
        words = "".join(f"{name}={value}, " for name, value in self.best_setting.items())
        if words:
            lines.append(f"best: {words}K = {self.best}")
        lines.append(f"within one standard error of the best: K = {self.one_standard_error}")
        return "\n".join(lines)


def _number(value: float) -> str:
    """A number as text, without an exponent unless it is very large or small."""
    return f"{value:.3f}" if 1e-2 <= abs(value) < 1e6 else f"{value:.4g}"
