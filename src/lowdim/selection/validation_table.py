"""What a cross-validation returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .tabular import Tabular


@dataclass(frozen=True, repr=False, eq=False)
class CrossValidation(Tabular):
    """Scores of rows that were left out, for each number of components (and each setting of other options).

    Attributes
    ----------
    n_components : array of shape (n_counts,)
    settings : list of dict
        Other options that were tried, one entry where none were.
    scores : array of shape (n_splits, n_settings, n_counts)
        Average over the rows left out in each split.
    by_response : array of shape (n_splits, n_settings, n_counts, n_targets), or None
        Of regressions, the mean squared errors of each response.
    weights : array of shape (n_splits,)
        Weight of the rows left out.
    mean, standard_error : arrays of shape (n_settings, n_counts)
    best, one_standard_error : int
        The number of components with the best mean; the smallest within one standard error of it.
    best_setting : dict
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

    @property
    def mean(self) -> np.ndarray:
        """Average over all rows left out: each split counts as much as its rows."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.average(self.scores, axis=0, weights=self.weights))

    @property
    def standard_error(self) -> np.ndarray:
        """Of the mean, from the scatter between splits."""
        n = len(self.scores)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.scores.std(axis=0, ddof=1) / np.sqrt(n))

    @property
    def rmse(self) -> np.ndarray:
        """Root of the mean squared error over all rows left out, of regressions."""
        if self.by_response is None:
            raise AttributeError(f"{self.estimator} is judged by its {self.what}; there is no error to take a root of.")
        return np.sqrt(self.mean)

    @property
    def best(self) -> int:
        """The number of components with the best mean."""
        return int(self.n_components[self._best[1]])

    @property
    def best_setting(self) -> dict[str, Any]:
        """The other options that go with it."""
        return self.settings[self._best[0]]

    @property
    def one_standard_error(self) -> int:
        """The fewest components, of the best setting, whose mean is within one standard error of the best."""
        s, j = self._best
        mean, error = self._ordered()[s], self.standard_error[s, j]
        reach = mean[j] - (error if np.isfinite(error) else 0.0)
        return int(self.n_components[np.flatnonzero(mean >= reach)[0]])

    def table(self) -> dict[str, list[Any]]:
        """One entry for each setting and number of components, by columns."""
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
        mean = self._ordered()
        if np.all(np.isneginf(mean)):
            raise ValueError(
                f"no model has a {self.what}: without a fold nothing is left of the rows for its noise. Try fewer "
                "components, or drop columns that depend on others."
            )
        s, j = np.unravel_index(int(np.argmax(mean)), mean.shape)
        return int(s), int(j)

    def _ordered(self) -> np.ndarray:
        """Means, larger the better; minus infinity where there is none."""
        mean = self.mean if self.greater_is_better else -self.mean
        return np.where(np.isnan(mean), -np.inf, mean)

    def __repr__(self) -> str:
        if np.all(np.isneginf(self._ordered())):
            return f"CrossValidation({self.estimator}, no score, {len(self.scores)} splits)"
        words = "".join(f", {name}={value}" for name, value in self.best_setting.items())
        best = f"best n_components={self.best}{words}, within one standard error: {self.one_standard_error}"
        return f"CrossValidation({self.estimator}, {best}, {len(self.scores)} splits)"

    def __str__(self) -> str:
        lines = [f"{self.estimator}: {self.what} of rows left out, {len(self.scores)} splits of {self.n_samples} rows"]
        known = not np.all(np.isneginf(self._ordered()))
        s_best, j_best = self._best if known else (-1, -1)
        for s, setting in enumerate(self.settings):
            if setting:
                lines.append(", ".join(f"{name}={value}" for name, value in setting.items()))
            lines.append(f"{'K':>3}{'mean':>11}{'std. error':>12}")
            for j, k in enumerate(self.n_components):
                end = "  best" if (s, j) == (s_best, j_best) else ""
                lines.append(f"{k:>3}{_number(self.mean[s, j]):>11}{_number(self.standard_error[s, j]):>12}{end}")
        if not known:
            return "\n".join([*lines, "no model has a score: nothing is left for the noise of any of them"])
        words = "".join(f"{name}={value}, " for name, value in self.best_setting.items())
        if words:
            lines.append(f"best: {words}K = {self.best}")
        lines.append(f"within one standard error of the best: K = {self.one_standard_error}")
        return "\n".join(lines)


def _number(value: float) -> str:
    """Seven digits, as plain as may be."""
    return f"{value:.3f}" if 1e-2 <= abs(value) < 1e6 else f"{value:.4g}"
