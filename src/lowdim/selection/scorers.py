"""How models are judged by rows that were left out of their fit: from summaries, or from the rows themselves.

`selection.cross_validate` asks these methods; what they compute is in `selection.held_out`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._xp import settled, to_numpy
from ..solvers import Status
from ..sources import BesideSource, Source
from ..summaries import Moments, Triangle
from .cross_validation import counts_asked
from .held_out import Judged, LeftOut, correlations, gaussian_density, squared_errors
from .likelihood import density_summary

#: So many components are tried where none are named, of models whose every fit takes an effort.
USUAL = 20


class Resampled:
    """What a bootstrap looks at."""

    #: Fitted attributes, without the underscore, and what their axes are.
    _boot_axes: ClassVar[dict[str, tuple[str, ...]]]

    def _boot_statistics(self) -> dict[str, np.ndarray]:
        """They, as float64 on the host."""
        return {name: np.asarray(to_numpy(getattr(self, f"{name}_")), dtype=np.float64) for name in self._boot_axes}


class JudgedByDensity(Resampled):
    """Average log-likelihood of a row left out."""

    _cv_score = "log-likelihood"
    _cv_greater = True
    #: Whether rows without any component are a model to be chosen too.
    _cv_from_zero = True
    _boot_axes = {
        "explained_variance": ("components",),
        "explained_variance_ratio": ("components",),
        "noise_variance": ("features",),
        "loadings": ("features", "components"),
    }

    def _cv_summary(self, source: Source, fine: bool) -> Moments | Triangle | None:
        if self._has_holes(source):
            return None
        return density_summary(source, fine)

    def _has_holes(self, source: Source) -> bool:
        """Whether entries that a sparse matrix does not store are unknown."""
        return bool(source.traits.sparse and getattr(self, "missing", "nan") == "unstored")

    def _cv_counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        most = min(int(n_train), source.shape[1])
        return counts_asked(asked, 0, most, max(most - 1, 1))

    def _cv_refit(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        if counts[0] == 0:
            raise ValueError("n_components=0 cannot be fitted to rows with holes, or of so many columns; begin with 1.")
        scores = []
        for k in counts:
            model = clone(self).set_params(n_components=int(k)).fit(X, sample_weight=weights)
            each = to_numpy(settled(model.score_samples(X))).astype(np.float64)
            scores.append(float(np.average(each[test > 0], weights=test[test > 0])))
        return np.array(scores)

    def _judge_each(self, train: Any, test: Any, counts: np.ndarray) -> Judged:
        """A fit for each number of components."""
        left_out = LeftOut(test)
        scores = []
        for k in counts:
            if k == 0:
                variances = np.diagonal(to_numpy(train.scatter)) / train.weight
                scores.append(gaussian_density(left_out, to_numpy(train.mean), np.diag(self._unrelated(variances))))
                continue
            model: Any = clone(self).set_params(n_components=int(k)).fit_summary(train)
            mean, C = (to_numpy(a).astype(np.float64) for a in (model.mean_, model.get_covariance()))
            scores.append(gaussian_density(left_out, mean, C))
        return Judged(np.array(scores), True)

    def _unrelated(self, variances: np.ndarray) -> np.ndarray:
        """Variances of columns that have nothing in common: each its own."""
        return variances


class JudgedTables(Resampled):
    """What models of tables side by side share: a summary of them all, and one fit for all numbers of components."""

    #: The fewest components that can be tried.
    _cv_least = 1
    _cv_from_zero = False

    def _cv_summary(self, source: Source, fine: bool) -> Moments | Triangle | None:
        assert isinstance(source, BesideSource)
        p = source.shape[1]
        return Triangle(p, groups=source.groups) if fine else Moments(p, groups=source.groups, wide=True)

    def _cv_counts(self, asked: Any, n_train: float, source: BesideSource) -> np.ndarray:
        most = min(int(n_train), self._most(source.groups))  # type: ignore[attr-defined] # a method of TablesModel
        return counts_asked(asked, self._cv_least, most, USUAL)


class JudgedByError(JudgedTables):
    """Mean squared error of responses left out."""

    _cv_score = "mean squared error"
    _cv_greater = False
    #: The mean alone.
    _cv_least = 0
    _boot_axes = {"coef": ("targets", "features"), "explained_variance": ("components",)}

    def _cv_judge(self, train: Any, test: Any, counts: np.ndarray) -> Judged:
        model: Any = _fitted(self, train, counts)
        R, Q, x_mean, y_mean = (to_numpy(a).astype(np.float64) for a in (*model._raw(), model.x_mean_, model.y_mean_))
        judged = squared_errors(LeftOut(test), x_mean, y_mean, R, Q, np.minimum(counts, R.shape[1]))
        return Judged(judged.scores, judged.resolved and model.status_ is not Status.UNRESOLVED)

    def _cv_refit(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        model: Any = clone(self).set_params(n_components=max(int(counts[-1]), 1)).fit(X, y, sample_weight=weights)
        used = test > 0
        truth = _columns(y)[used]
        scores = []
        for k in np.minimum(counts, model.n_components_):
            errors = _columns(model.predict(X, n_components=int(k)))[used] - truth
            scores.append(np.average(errors**2, axis=0, weights=test[used]))
        return np.array(scores)


class JudgedByCorrelation(JudgedTables):
    """Sum of the correlations of pairs of variates, over rows left out."""

    _cv_score = "sum of correlations"
    _cv_greater = True
    _boot_axes = {
        "correlations": ("components",),
        "x_structure": ("features", "components"),
        "y_structure": ("targets", "components"),
    }

    def _cv_judge(self, train: Any, test: Any, counts: np.ndarray) -> Judged:
        model: Any = _fitted(self, train, counts)
        A, B = (
            to_numpy(rotations).astype(np.float64) / to_numpy(scale)[:, None]
            for rotations, scale in ((model.x_rotations_, model.x_scale_), (model.y_rotations_, model.y_scale_))
        )
        scores = _running(correlations(LeftOut(test), A, B), counts)
        return Judged(scores, model.status_ is not Status.UNRESOLVED)

    def _cv_refit(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        model: Any = clone(self).set_params(n_components=int(counts[-1])).fit(X, y, sample_weight=weights)
        used = test > 0
        T, U = (_columns(scores)[used] for scores in model.transform(X, y))
        T, U = (A - np.average(A, axis=0, weights=test[used]) for A in (T, U))
        products, x, y = (test[used] @ (A * B) for A, B in ((T, U), (T, T), (U, U)))
        with np.errstate(invalid="ignore", divide="ignore"):
            return _running(np.where(x * y > 0, products / np.sqrt(x * y), np.nan), counts)


def _fitted(model: Any, train: Any, counts: np.ndarray) -> Any:
    """A model of as many components as are tried, from the summary of the rows trained on."""
    fit = clone(model).set_params(n_components=max(int(counts[-1]), 1))
    fit._one_dimensional = False
    fit._fit_from(train, train.mean.dtype)
    return fit


def _running(correlations: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums of the first so many; where there are no more pairs, of all."""
    if np.any(np.isnan(correlations)):
        raise ValueError(
            "cv: a fold has no variance along a pair of variates, so that there is no correlation in it. Folds of at "
            "least three different rows are needed."
        )
    sums = np.concatenate([[0.0], np.cumsum(correlations)])
    return sums[np.minimum(counts, len(correlations))]


def _columns(y: Any) -> np.ndarray:
    """Responses, or scores, as columns on the host."""
    values = settled(y)
    values = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else to_numpy(values), dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values
