"""The rules for the number of components, applied to rows with missing values.

What a rule needs is found from the observed entries: the maximum-likelihood covariance, likelihoods of PPCA with 0, 1,
2, ... components, or likelihoods of held-out rows. Rules that compare with the eigenvalues of noise are derived for
complete rows, and are not available.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from .._core.arrays import asarray_like, namespace, to_numpy
from .._core.threads import check_stop
from ..errors import MissingValues, UndeterminedCovariance, constant_with_holes, holes_after_reading, no_variance
from ..reading.map import map_rows
from ..reading.rows import Rows
from ..reading.summarize import check_weights, weights_for
from ..solvers import latent
from ..solvers.latent.base import LatentFit, LatentRequest
from ..solvers.latent.em import EM
from ..solvers.problem import Status
from ..sources.base import Source
from ..sources.derived import mean_of_results, with_known_length
from ..sources.opening import open_source
from ..summaries.latent import LatentGaussian, Observed, observed_entries
from ..summaries.moments import Moments
from .criteria import Eigenvalues, penalised_curve
from .cross_validation import CrossValidator, check_counts
from .fold_scores import HeldOutScorer
from .rules import Choices, Rule, apply_rule

A = TypeVar("A")

#: PPCA keeps the noise variance above this fraction of the average variance.
_FLOOR = 1e-10
#: By default at most this many components are tried by cross-validation.
_MOST_TRIED = 20
#: Fits of cross-validation: without further starts, and to an accuracy that is enough to compare scores.
_QUICK = EM(tol=1e-4, max_iter=200, n_init=0)


def complete_or_holes(
    X: Any, sample_weight: Any, answer: Callable[[Any, Any], A], purpose: str
) -> tuple[Rows, A | None]:
    """What `answer(source, weights)` says of complete rows; None if entries are missing, and rows that can be read
    several times."""
    source = open_source(X)
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    rows = Rows(source, weights)
    if not rows.shows_holes():
        try:
            return rows, answer(source, weights)
        except MissingValues as holes:
            if not source.traits.rereadable:
                raise holes_after_reading(holes) from holes
    return Rows(with_known_length(source, f"{purpose}, since entries are missing"), weights), None


def eigenvalues_with_holes(
    rows: Rows, *, standardize: bool, ddof: int, unstored: bool = False, seed: int = 0
) -> tuple[Eigenvalues, int]:
    """The eigenvalues of the covariance of maximum likelihood, and the passes that they took.

    Raises an `UndeterminedCovariance` if there is no such covariance.
    """
    found = latent.saturated(rows, unstored=unstored, seed=seed)
    return _eigenvalues_of(found.covariance, found.weight, standardize, ddof), found.passes


def loglike_without_components(observed: Observed, tied: bool) -> float:
    """The log-likelihood of the observed entries if columns are independent, with one variance for all if `tied`.

    A variance of zero, for which there is no largest likelihood, is an error.
    """
    count, variances = _variances(observed, tied)
    constant = np.flatnonzero(variances <= 0.0)
    if len(constant) == len(variances):
        raise no_variance("a model with noise")
    if len(constant):
        names = None if observed.names is None else [str(name) for name in observed.names]
        raise constant_with_holes([int(j) for j in constant], names)
    return -0.5 * float(count @ (math.log(2 * math.pi) + np.log(variances) + 1.0))


def choose_with_holes(
    rows: Rows,
    rules: Sequence[Rule],
    validator: CrossValidator | str,
    options: dict[str, Any],
    *,
    standardize: bool,
    ddof: int,
) -> Choices:
    """The answers of the rules for rows with missing values. `validator` is the cross-validation of the rule "cv", or
    says why there is none."""
    fits = PpcaFits(rows, standardize, options["seed"])
    e: Eigenvalues | None = None
    # Without a covariance, other rules still have answers.
    with suppress(UndeterminedCovariance, MemoryError):
        e, _ = eigenvalues_with_holes(rows, standardize=standardize, ddof=ddof, seed=options["seed"])
    answers = []
    for rule in rules:
        given: Any = "derived for complete rows only; use bic or cv, or draws of impute(X, n_draws=...)"
        if rule.with_holes == "likelihood":
            try:
                given = fits.curve(rule.name)
            except UndeterminedCovariance as reason:
                given = str(reason)
        elif rule.with_holes == "folds":
            given = validator if isinstance(validator, str) else validator.run()
        elif rule.with_holes == "covariance":
            given = e or "it needs the covariance of all columns, which the observed entries do not determine"
        answers.append(apply_rule(rule, given, options))
    return Choices(fits.eigenvalues(ddof) if e is None else e, tuple(answers))


@dataclass
class PpcaFits:
    """PPCA of rows with missing values, with 0, 1, 2, ... components, each fitted when it is first needed."""

    rows: Rows
    standardize: bool
    seed: int
    _found: dict[int, LatentFit] = field(default_factory=dict)

    @cached_property
    def observed(self) -> Observed:
        """Counts, means and sums of squares of the observed entries."""
        return self.rows.summarize(Observed(self.rows.shape[1]))

    def curve(self, name: str) -> np.ndarray:
        """BIC or AIC for 0, 1, 2, ... components."""
        p = self.rows.shape[1]

        def n_parameters(k: int) -> int:
            return p * k - k * (k - 1) // 2 + 1 + p

        most = min(p - 1, self.observed.n_rows - 1)
        return penalised_curve(name, self.observed.weight, self._loglike, n_parameters, most, None)

    def eigenvalues(self, ddof: int) -> Eigenvalues:
        """The eigenvalues of the largest model that was fitted, or of one component: for tables without a covariance
        of maximum likelihood."""
        fit = self._fit(max(self._found, default=1))
        W, scale = to_numpy(fit.loadings) * to_numpy(fit.scale), to_numpy(fit.scale)
        covariance = W.T @ W + np.diag(to_numpy(fit.noise) * scale**2)
        return _eigenvalues_of(covariance, fit.weight, self.standardize, ddof)

    def _loglike(self, k: int) -> float | None:
        if k == 0:
            return loglike_without_components(self.observed, tied=not self.standardize)
        fit = self._fit(k)
        return None if fit.status is Status.UNDETERMINED else float(fit.loglike[-1])

    def _fit(self, k: int) -> LatentFit:
        if k not in self._found:
            check_stop()
            self._found[k] = latent.solve(self.rows, _request(k, self.standardize, self.seed), "em")[0]
        return self._found[k]


@dataclass(frozen=True)
class HolesScorer(HeldOutScorer):
    """The scorer of PPCA by held-out rows with missing values: the log-likelihood of their observed entries."""

    standardize: bool = False
    seed: int = 0
    unstored: bool = False
    estimator = "PPCA"
    takes_nan = True
    from_zero = True
    fits_each_count = True

    def counts(self, asked: Any, n_train: float, source: Source) -> np.ndarray:
        most = min(int(n_train), source.shape[1]) - 1
        return np.arange(min(most, _MOST_TRIED) + 1) if asked is None else check_counts(asked, 0, most, most)

    def refit_scores(self, X: Any, y: Any, weights: np.ndarray, test: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Scores for each count: the average log-density of the observed entries of the rows with positive `test`."""
        source = open_source(X)
        rows = Rows(source, weights_for(source, weights))
        scores: list[float] = []
        for k in counts:
            check_stop()
            g = self._without_components(rows) if k == 0 else self._fitted(rows, int(k))
            if g is None:
                # With more components the noise is determined even less.
                return np.concatenate([scores, np.full(len(counts) - len(scores), -np.inf)])
            each = map_rows(source, partial(_log_densities, g, self.unstored), takes_nan=True)
            scores.append(mean_of_results(each, test))
        return np.array(scores)

    def _fitted(self, rows: Rows, k: int) -> LatentGaussian | None:
        """The model with k components; None if the rows do not determine its noise."""
        request = replace(_request(k, self.standardize, self.seed), unstored=self.unstored)
        fit, _ = latent.solve(rows, request, _QUICK)
        if fit.status is Status.UNDETERMINED:
            return None
        return LatentGaussian(fit.mean, fit.scale, fit.loadings, fit.noise)

    def _without_components(self, rows: Rows) -> LatentGaussian:
        observed = rows.summarize(Observed(rows.shape[1], unstored=self.unstored))
        like, variances = observed.mean, _variances(observed, tied=not self.standardize)[1]
        xp = namespace(like)
        noise = asarray_like(variances, like, dtype=like.dtype)
        return LatentGaussian(like, xp.ones_like(like), xp.zeros_like(like)[None, :], noise)


def _log_densities(g: LatentGaussian, unstored: bool, block: Any) -> Any:
    return g.expect(observed_entries(block, unstored))[2]


def _request(k: int, standardize: bool, seed: int) -> LatentRequest:
    return LatentRequest(k, tied=True, floor=_FLOOR, by_column=bool(standardize), seed=seed)


def _variances(observed: Observed, tied: bool) -> tuple[np.ndarray, np.ndarray]:
    """The number of observed entries of each column, and their variances; the same for all columns if `tied`."""
    count, squares = to_numpy(observed.count), to_numpy(observed.squares)
    return count, np.full_like(squares, squares.sum() / count.sum()) if tied else squares / count


def _eigenvalues_of(covariance: np.ndarray, weight: float, standardize: bool, ddof: int) -> Eigenvalues:
    """The eigenvalues of a covariance matrix of divisor n, of rows of this total weight."""
    moments = Moments.from_covariance(covariance, max(2, round(weight)), ddof=0)
    return replace(Eigenvalues.from_summary(moments, standardize, ddof), n=float(weight))
