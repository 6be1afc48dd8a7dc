"""Latent Gaussian models by expectation maximisation, from rows with or without missing entries, or from moments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..._core.arrays import Array, asarray_like, namespace, to_numpy
from ..._core.threads import Progress, check_stop, reported, watcher
from ...errors import choice, never_observed, no_variance, read_once
from ...linalg import require_size
from ...sources.base import Traits
from ...summaries.latent import Completed, Latent, LatentGaussian, Observed, pack, unpack
from ...summaries.moments import Moments
from ...summaries.patterns import Patterns
from ..problem import (
    Cost,
    Plan,
    Request,
    RowsLike,
    SpectraLike,
    Spectrum,
    Status,
    check_share,
    check_whole,
    checked_plan,
)
from .acceleration import Anderson, AndersonThenQuasiNewton, QuasiNewton, steps_left
from .base import LatentFit, LatentJob, LatentRequest, LatentSolver, check_components, rows_job
from .factor_likelihood import OfCovariance
from .newton import Descent, Newton

#: Maximal share of the variance of a column that a start explains.
_START_SHARE = 0.9
#: Up to this many columns, factor analysis starts from a factor model.
_FACTORS_UP_TO = 1000
#: Lower bound on the uniquenesses of a start, if small uniquenesses would make the iteration slow.
_START_FLOOR = 0.005
#: Default number of additional random starts, and the maximal number of entries of a table for which they are used.
_STARTS, _SEVERAL_STARTS_UP_TO = 4, 20_000
#: Number of steps that the estimated work assumes.
_STEPS = 20
#: Rows of up to this many bytes are grouped by their pattern of missing entries.
_PATTERN_BYTES = 1 << 28
#: A step of EM on latent variables is worth this share of a step on completed rows, since many more are needed.
_MORE_STEPS = 8.0
#: Maximal number of operations for a step on completed rows.
_COMPLETED_WORK = 1e11
#: If the likelihood has no maximum, at most so many steps are taken, or more as long as they take no more than so many
#: operations in all.
_FEW_STEPS, _FEW_STEPS_WORK = 60, 1e9
#: Tolerance and maximal number of steps of the short runs from several starts.
_SHORT_TOL, _SHORT_STEPS = 1e-2, 100
#: The iteration has converged after this many consecutive steps that improve the likelihood by no more than rounding.
_IDLE = 20
#: Lower bound, as a fraction of the variance of the column, on the noise variance that changes are measured in.
_LEAST_UNIT = 0.01
#: Noise variances below this fraction of the variance of their column may be converging to zero.
_SMALL = 0.05
#: Whether the tolerance can be reached is predicted from so many of the last steps, if these increased the
#: log-likelihood by less than this in all. (A difference of one half is the size of the sampling error.)
_OBSERVED_STEPS, _LITTLE = 100, 0.01
#: The prediction is trusted if it is this many times what `max_iter` leaves.
_CERTAINLY = 3


@dataclass(frozen=True)
class EM(LatentSolver):
    """Maximise the likelihood of the observed entries by expectation maximisation.

    Parameters
    ----------
    tol : float, default=1e-05
        Stop when one more step would change no loading and no mean by more than `tol` standard deviations of the noise,
        and no noise variance by more than `tol` times itself (or, if larger, `tol` times a hundredth of the variance of
        its column). For loadings and means this is the gradient of the log-likelihood per row.
    max_iter : int, default=1000
        Maximal number of steps; with 0, the model is the start.
    accelerate : bool, default=True
        Whether to replace steps by longer ones, which are kept only if the likelihood does not decrease, and to expand
        the parameters (see below). Without, complete rows are fitted by the steps of [4]_ and [5]_. Not used with a
        prior.
    start : {"spectrum", "random"}, default="spectrum"
        Start from the leading directions of the rows with their missing entries filled, or from random loadings.
    n_init : int, default=None
        Number of additional random starts; each takes a few steps, and the iteration continues from the best. By
        default four for tables of up to 20,000 entries, otherwise none. With missing entries there can be several
        local optima.

    Notes
    -----
    Rows with missing entries that fit into memory are grouped by their pattern of missing entries in one pass
    (`Patterns`). If few entries are missing, or there are many components, only these entries count as unobserved: a
    step completes the moments of each pattern by its conditional expectations, and solves the problem of complete rows
    for them, PPCA in closed form or factor analysis by Newton's method. Few steps are needed, and no further pass.

    Otherwise, a step computes one `Latent` summary of the rows (of their moments, if they are complete), and regresses
    each column on the expected latent variables and a constant. Parameter expansion [1]_ lets the latent variables have
    any mean and covariance within the step, which are then absorbed into the loadings and means; this costs nothing and
    saves steps. Anderson acceleration [2]_, which combines the last steps, saves many more. Where it would still take
    many steps, a quasi-Newton method [3]_ takes over: the same summary gives the gradient of the likelihood, and an
    approximation of the information that the observed entries hold.

    Rows of o_i observed entries are fitted exactly, without noise, by K components if sum_i max(o_i - K, 0) is at most
    (K + 1) (p - K), the number of parameters of a K-dimensional plane. The likelihood then increases without end as the
    noise decreases. Only a few steps are taken in this case (60 for a large table), and if they miss the tolerance, the
    status is UNDETERMINED.

    If the likelihood has hardly increased during a hundred steps, and the tolerance is far out of reach of `max_iter`
    at the rate of these steps, the iteration ends there.

    References
    ----------
    .. [1] Liu, Rubin, Wu (1998), Parameter expansion to accelerate EM: the PX-EM algorithm.
    .. [2] Henderson, Varadhan (2019), Damped Anderson acceleration with restarts and monotonicity control for
       accelerating EM and EM-like algorithms.
    .. [3] Jamshidian, Jennrich (1997), Acceleration of the EM algorithm by using quasi-Newton methods.
    .. [4] Rubin, Thayer (1982), EM algorithms for ML factor analysis.
    .. [5] Tipping, Bishop (1999), Probabilistic principal component analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from lowdim import PPCA
    >>> from lowdim.solvers import EM
    >>> rows = load_iris().data.copy()
    >>> rows[::10, 0] = np.nan
    >>> ppca = PPCA(2, solver=EM(tol=1e-8)).fit(rows)
    >>> bool(np.all(np.diff(ppca.loglike_) > -1e-9))
    True
    """

    name = "em"
    on_host = "the start and small vectors of the iteration"
    takes_prior = True
    takes_missing = True
    tol: float = 1e-5
    max_iter: int = 1000
    accelerate: bool = True
    start: str = "spectrum"
    n_init: int | None = None

    def __post_init__(self) -> None:
        check_share(self, "tol")
        check_whole(self, "max_iter", 0)
        if not isinstance(self.accelerate, bool | np.bool_):
            raise ValueError(f"EM(accelerate={self.accelerate!r}): True or False is needed.")
        if self.n_init is not None:
            check_whole(self, "n_init", 0, ", or None")
        if self.start not in ("spectrum", "random"):
            raise choice("EM start", self.start, ("spectrum", "random"))

    def cost(self, job: LatentJob) -> Cost:
        k, p = job.k or 1, job.p
        step = 8 * p * (k + 1) * (k + 4)
        if not job.complete:
            work, fitted = _STEPS * job.rows * p * k * k, "rows with missing entries are fitted by EM"
            if job.n is not None and _fits_into_memory(job.n, p, job.traits) and not job.traits.sparse:
                return Cost(work, 1, 8 * int(job.rows) * p, f"{fitted}, grouped by pattern in one pass")
            # The first look, the start and a step are three passes at least.
            return Cost(work, 3, step, f"{fitted}, one pass per step")
        why = "iterates on the moments of complete rows"
        return Cost(job.rows * p * p + _STEPS * k * p * p, 1, step + 32 * p * p, why)

    def refusal(self, job: LatentJob) -> Exception | None:
        once = not job.complete and not job.traits.rereadable
        return read_once(self.name, "fill the missing entries first") if once else super().refusal(job)

    def is_sensible(self, job: LatentJob) -> bool:
        # Without a prior, complete rows have a closed form or are fitted by Newton's method in far fewer steps.
        return job.bayes or not job.complete

    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Maximise the likelihood (or its variational bound) given the moments of complete rows, without a pass."""
        check_components(request.k, moments.n_rows, moments.weight, moments.n_features)
        observed = _observed_of(moments)
        starts = _Starts(observed, request)
        if self.start == "random":
            first = starts.random(request.seed)
        else:
            spectrum, _ = spectra.solve_summary(moments, Request(request.k, ddof=0, scale=request.by_column))
            first = starts.spectral(spectrum, 1.0 if request.by_column else float(starts.scale[0]))
        models = [first, *starts.further(self.n_init)]
        fit = run_from_best(
            self, models, _step(request, self.accelerate), partial(Latent.from_moments, moments), observed
        )
        return replace(fit, passes=1)

    def fit_missing(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit rows with missing entries. If they fit into memory, one pass groups them by pattern; otherwise there is
        a pass to look at them, one or a few for the start, and one for each step."""
        plan = checked_plan(self, replace(rows_job(rows, request), complete=False))
        k, p = request.k, rows.shape[1]
        patterns, passes = patterns_of(rows, request.unstored)
        observed, more = observed_of(rows, request.unstored, k)
        passes += more
        empty = np.flatnonzero(to_numpy(observed.count) == 0)
        if len(empty):
            raise never_observed([int(j) for j in empty], rows.names)
        check_components(k, observed.n_rows, observed.weight, p)
        starts = _Starts(observed, request)
        step, expect, reads = _way(rows, patterns, observed, request, self.accelerate)
        if request.before is not None and isinstance(step, CompletedFactors | CompletedComponents):
            before = _in_units(request.before, starts.scale)
            first = step(expect(before), Iterate(before)).model
        elif self.start == "random":
            first = starts.random(request.seed)
        else:
            first, more = _spectral_start(rows, patterns, observed, starts, request, spectra)
            passes += more
        # A start from factors is already the best of several.
        enough = isinstance(step, CompletedFactors) and self.start == "spectrum" and self.n_init is None
        models = [first] if enough else [first, *starts.further(self.n_init)]
        # A prior keeps the noise from being fitted away.
        undetermined = None if request.bayes else too_few_entries(observed, k)
        limited = self
        if undetermined is not None:
            few = max(_FEW_STEPS, int(_FEW_STEPS_WORK / (k * k * p * observed.n_rows)))
            limited = replace(self, max_iter=min(self.max_iter, few))
        # Steps on rows in memory are reported as blocks of one pass are; the others are passes of their own.
        progress = None if reads else watcher(rows.progress)
        with reported(progress, "EM", None, None):
            reporting = expect if progress is None else partial(_reporting, expect, progress)
            fit = run_from_best(limited, models, step, reporting, observed)
        if undetermined is not None and fit.residual > self.tol:
            # Whether the steps ran out, or noise at its floor left only rounding to gain: there is no maximum.
            fit = replace(fit, status=Status.UNDETERMINED, advice=undetermined)
        passes += fit.passes if reads else 0
        return replace(fit, passes=passes), replace(plan, passes=passes)


def _reporting(expect: Callable[[LatentGaussian], Any], progress: Progress, model: LatentGaussian) -> Any:
    """The expectations, after which a step is reported."""
    found = expect(model)
    progress.step()
    return found


def patterns_of(rows: RowsLike, unstored: bool = False) -> tuple[Patterns | None, int]:
    """The rows by pattern of missing entries, and the passes that this took (none if they were grouped before).

    None if the rows could take too much memory, if they are on a device, or if they are sparse and what is not stored
    is missing, so that there are nearly as many patterns as rows. Rows of unknown number are counted first.
    """
    (n, p), passes = rows.shape, 0
    if (unstored and rows.traits.sparse) or not _fits_into_memory(n or 0, p, rows.traits):
        return None, 0
    if n is None:
        counted, passes = rows.summarize_once(Observed(p))
        if not _fits_into_memory(counted.n_rows, p, rows.traits):
            return None, passes
    patterns, more = rows.summarize_once(Patterns(p))
    return patterns, passes + more


def _fits_into_memory(n: int, p: int, traits: Traits) -> bool:
    """Whether rows in main memory, here or on other machines, are few enough to be kept."""
    return p <= _FACTORS_UP_TO and 8 * n * p <= _PATTERN_BYTES and traits.host and traits.to_device is None


def observed_of(rows: RowsLike, unstored: bool = False, components: int | None = None) -> tuple[Observed, int]:
    """Counts, means and squares of the observed entries, and the passes that they took."""
    patterns, passes = patterns_of(rows, unstored)
    if patterns is not None:
        return patterns.observed(components), passes
    return rows.summarize(Observed(rows.shape[1], unstored=unstored, components=components)), 1


def mean_log_density(rows: RowsLike, model: LatentGaussian, unstored: bool = False) -> float:
    """The average log-density of the observed entries of a row."""
    patterns = patterns_of(rows, unstored)[0]
    if patterns is not None:
        return patterns.completed(model).loglike / patterns.total_weight
    found = rows.summarize(Latent(model, unstored=unstored))
    return float(found.loglike) / float(found.scores[-1])


def reached_by_components(rows: RowsLike, model: LatentGaussian, unstored: bool = False) -> np.ndarray:
    """Log-likelihoods that PPCA with 0, 1, ..., p - 1 components reaches at least, by a step of EM from `model`.

    With S the covariance of the rows completed under the model, whose covariance is C, and C_k that of PPCA with k
    components of S, EM's bound on the log-likelihood l is

        l(C_k) >= l(C) + (n / 2) (ln |C| + tr(C^{-1} S) - ln |C_k| - p).

    The fewer entries are missing, the closer it is. Empty if there are too many columns.
    """
    p = rows.shape[1]
    if p > _FACTORS_UP_TO:
        return np.zeros(0)
    patterns = patterns_of(rows, unstored)[0]
    completed = rows.summarize(Completed(model, unstored=unstored)) if patterns is None else patterns.completed(model)
    W, noise = to_numpy(model.loadings), to_numpy(model.noise)
    C = W.T @ W + np.diag(noise)
    second = to_numpy(completed.second) / completed.weight
    values = np.clip(np.linalg.eigvalsh(_moments_of(completed)[0])[::-1], float(noise.min()) * 1e-6, None)
    rest = np.cumsum(values[::-1])[::-1] / np.arange(p, 0, -1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(values))[:-1]]) + np.arange(p, 0, -1) * np.log(rest)
    here = float(np.linalg.slogdet(C)[1]) + float(np.trace(np.linalg.solve(C, second)))
    return float(completed.loglike) + 0.5 * completed.weight * (here - logs - p)


def _way(
    rows: RowsLike, patterns: Patterns | None, observed: Observed, request: LatentRequest, expand: bool
) -> tuple[_Step, Callable[[LatentGaussian], Any], bool]:
    """The step of EM for rows with missing entries, the expectations that it needs, and whether these are a pass.

    If the rows are grouped by pattern and have few missing entries, or there are many components, only the missing
    entries are unobserved: a step is then a fit of the completed rows, and few are needed. Otherwise latent variables
    are unobserved as well, and a step regresses each column on them.
    """
    k, p, n, unstored, informed = request.k, rows.shape[1], observed.weight, request.unstored, not request.bayes
    completed = not request.tied and _use_completed_rows(observed, k)
    by_passes = _MORE_STEPS * n * p * k * k if request.tied else n * k * float(p) ** 2 * completed
    if patterns is not None and not request.bayes and patterns.work <= by_passes:
        factors = CompletedComponents if request.tied else CompletedFactors
        return factors(k, request.floor), patterns.completed, False
    if completed:
        return (
            CompletedFactors(k, request.floor),
            lambda model: rows.summarize(Completed(model, unstored=unstored)),
            True,
        )
    if patterns is not None:
        return _step(request, expand), partial(patterns.latent, informed=informed), False
    return (
        _step(request, expand),
        lambda model: rows.summarize(Latent(model, unstored=unstored, informed=informed)),
        True,
    )


def _spectral_start(
    rows: RowsLike,
    patterns: Patterns | None,
    observed: Observed,
    starts: _Starts,
    request: LatentRequest,
    spectra: SpectraLike,
) -> tuple[LatentGaussian, int]:
    """The start from the leading directions of the rows with their missing entries filled, and the passes it took."""
    p, factors = rows.shape[1], not request.tied and rows.shape[1] <= _FACTORS_UP_TO
    asked = Request(k=request.k, ddof=0, seed=request.seed)
    if patterns is not None:
        moments = patterns.filled(observed.mean, starts.scale)
        return starts.factors(moments) if factors else starts.spectral(spectra.solve_summary(moments, asked)[0]), 0
    filled = rows.filled(observed.mean, starts.scale, request.unstored)
    if factors:
        return starts.factors(filled.summarize(Moments(p))), 1
    # A start need not be accurate, so the planned solver runs, and no more accurate one follows.
    spectrum: Spectrum = spectra.plan(filled, asked).solver.solve(filled, asked)
    return starts.spectral(spectrum), spectrum.passes


def _in_units(model: LatentGaussian, scale: Array) -> LatentGaussian:
    """The same model with other divisors of the columns."""
    ratio = model.scale / scale
    return LatentGaussian(model.mean, scale, model.loadings * ratio, model.noise * ratio**2)


def too_few_entries(observed: Observed, k: int) -> str | None:
    """Why an iteration cannot converge if k components can fit the observed entries without noise, and what to do;
    otherwise None. `observed` knows the surplus of entries over k.

    K components fit o_i observed entries of a row exactly if o_i <= K, and otherwise leave o_i - K numbers over. A
    plane of K dimensions has (K + 1) (p - K) parameters. If sum_i max(o_i - K, 0) is no larger than that, there are
    planes that leave nothing over at all: the noise tends to zero, and the likelihood has no maximum (or, if no row has
    more than K entries, the noise is not needed at all).
    """
    assert observed.surplus is not None, "summed up only with components=k"
    # Each row counts once: a row of weight 2 is fitted exactly by the same planes as a row of weight 1. (If weights
    # differ, this is the number of rows times the weighted mean.)
    surplus = observed.surplus * observed.n_rows / observed.weight
    n_parameters = (k + 1) * (observed.n_features - k)
    # Both are whole numbers, but for the rounding of weights.
    if surplus >= n_parameters + 0.5:
        return None
    entries = float(namespace(observed.count).sum(observed.count)) / observed.weight
    return (
        f"Rows have {entries:.3g} observed entries on average, too few for {k} components: they can be fitted without "
        f"noise ({surplus:.6g} entries beyond the first {k} of each row, {n_parameters} parameters), so that the "
        "likelihood has no maximum. Ask for fewer components, or with PPCA use prior='vb'."
    )


def _use_completed_rows(observed: Observed, k: int) -> bool:
    """Whether to use steps on completed rows: if they are affordable, and most entries and enough rows are known."""
    n, p = observed.weight, observed.n_features
    known = float(namespace(observed.count).sum(observed.count)) / (n * p)
    return p <= _FACTORS_UP_TO and n * k * float(p) ** 2 <= _COMPLETED_WORK and known >= 0.5 and n >= 2 * p


def _observed_of(moments: Moments) -> Observed:
    """The summary `Observed` of complete rows, from their moments."""
    observed = Observed(moments.n_features)
    xp = namespace(moments.mean)
    observed.n_rows, observed.weight = moments.n_rows, moments.weight
    observed.count = xp.zeros_like(moments.mean) + moments.weight
    observed.mean, observed.rest = moments.mean, moments.rest
    observed.squares = xp.linalg.diagonal(moments.scatter)
    return observed


class _Starts:
    """Models to start from, in units of `scale`: the standard deviation of each column if `by_column`, otherwise the
    root mean square over all columns, which constant columns always get."""

    def __init__(self, observed: Observed, request: LatentRequest) -> None:
        self._observed, self._request = observed, request
        xp = namespace(observed.mean)
        require_size(observed.squares, observed.mean, observed.weight, each=request.by_column)
        if not bool(xp.any(observed.squares > 0)):
            raise no_variance("a model with noise")
        variance = observed.squares / observed.count
        typical = xp.zeros_like(variance) + xp.sqrt(xp.mean(variance))
        self.scale: Array = xp.where((variance > 0) & request.by_column, xp.sqrt(variance), typical)
        self._variance = to_numpy(observed.squares / observed.count / self.scale**2)
        self._share = to_numpy(observed.count) / observed.weight

    def random(self, seed: int) -> LatentGaussian:
        """A start with random loadings, which explain half of the variance of each column on average."""
        random, k = np.random.default_rng(seed), self._request.k
        W = random.standard_normal((k, len(self._variance))) * np.sqrt(0.5 * self._variance / k + 1e-6)
        return self._with_loadings(W)

    def further(self, n_init: int | None) -> list[LatentGaussian]:
        """The additional random starts."""
        if n_init is None:
            n_entries = self._observed.weight * self._observed.n_features
            n_init = _STARTS if n_entries <= _SEVERAL_STARTS_UP_TO else 0
        return [self.random(self._request.seed + i) for i in range(1, n_init + 1)]

    def spectral(self, spectrum: Spectrum, unit: float = 1.0) -> LatentGaussian:
        """A start from the principal loadings of the filled rows (divided by `unit`).

        Filled entries make loadings smaller, which is corrected.
        """
        lengths = np.sqrt(np.clip(spectrum.values, 0.0, None) / self._observed.weight) / unit
        W = to_numpy(spectrum.vectors) * lengths[:, None] / self._share
        explained = np.sum(W * W, axis=0)
        W = W * np.sqrt(np.minimum(1.0, _START_SHARE * self._variance / np.where(explained > 0, explained, 1.0)))
        # The noise is added because a loading of zero would stay zero.
        W += 1e-3 * np.random.default_rng(self._request.seed).standard_normal(W.shape)
        return self._with_loadings(W)

    def factors(self, filled: Moments) -> LatentGaussian:
        """A start from a factor analysis of the correlations of the filled rows, corrected for the missing entries.

        It is the best of several local optima.
        """
        request = self._request
        R = to_numpy(filled.scatter) / filled.weight / self._share / self._share[:, None]
        np.fill_diagonal(R, np.where(self._variance > 0, 1.0, 1e-3))
        values, vectors = np.linalg.eigh(R)
        # With missing entries the matrix may have negative eigenvalues; they are raised to give a valid covariance.
        R = (vectors * np.maximum(values, 1e-6)) @ vectors.T
        sd = np.sqrt(np.diagonal(R))
        completed = _use_completed_rows(self._observed, request.k)
        floor = request.floor if completed else max(request.floor, _START_FLOOR)
        found = Newton(floor=floor).solve(R / sd / sd[:, None], request.k, request.seed)
        return self._model(found.loadings, found.psi)

    def _with_loadings(self, W: np.ndarray) -> LatentGaussian:
        """A model with these loadings, whose noise is the variance that they leave unexplained."""
        rest = self._variance - np.sum(W * W, axis=0)
        rest = np.maximum(rest, (1.0 - _START_SHARE) * np.maximum(self._variance, 1e-3))
        return self._model(W, np.full(len(rest), rest.mean()) if self._request.tied else rest)

    def _model(self, loadings: np.ndarray, noise: np.ndarray) -> LatentGaussian:
        like = self._observed.mean
        W, noise = (asarray_like(a, like, dtype=like.dtype) for a in (loadings, noise))
        return LatentGaussian(like, self.scale, W, noise)


# The iteration, with an acceleration and several starts.


@dataclass(frozen=True)
class Iterate:
    """A model and, if its loadings have a prior, their prior variances and minus the divergence from the prior."""

    model: LatentGaussian
    relevance: np.ndarray | None = None
    prior_term: float = 0.0


def run_from_best(
    em: EM,
    starts: list[LatentGaussian],
    step: _Step,
    expect: Callable[[LatentGaussian], Any],
    observed: Observed,
) -> LatentFit:
    """Take a few steps from each of several starts, and continue from the best."""
    ats, passes = [Iterate(start) for start in starts], 0
    accelerate: Callable[[LatentGaussian], Anderson | QuasiNewton] | None = None
    if isinstance(step, VariationalBayes):
        # The first posterior of the loadings.
        ats, passes = [step(expect(at.model), at) for at in ats], len(ats)
    elif em.accelerate and isinstance(step, CompletedFactors | CompletedComponents):
        accelerate = partial(Anderson, floor=step.floor)
    elif em.accelerate:
        accelerate = partial(AndersonThenQuasiNewton, tied=step.tied, floor=step.floor, tol=em.tol)
    run = partial(iterate, step=step, expect=expect, observed=observed, accelerate=accelerate)
    if len(ats) == 1:
        fit = run(em, ats[0])[1]
        return replace(fit, passes=passes + fit.passes)
    short = replace(em, tol=max(em.tol, _SHORT_TOL), max_iter=min(em.max_iter, _SHORT_STEPS))
    tried = list(map(partial(run, short), ats))
    passes += sum(fit.passes for _, fit in tried)
    at, first = max(tried, key=lambda end: end[1].loglike[-1])
    left = em.max_iter - (len(first.loglike) - 1)
    if left < 1 or (first.status is Status.CONVERGED and short.tol == em.tol):
        return replace(first, passes=passes)
    fit = run(replace(em, max_iter=left), at)[1]
    return replace(fit, loglike=first.loglike[:-1] + fit.loglike, passes=passes + fit.passes)


def iterate(
    em: EM,
    start: Iterate,
    step: _Step,
    expect: Callable[[LatentGaussian], Any],
    observed: Observed,
    accelerate: Callable[[LatentGaussian], Anderson | QuasiNewton] | None = None,
) -> tuple[Iterate, LatentFit]:
    """Repeat `step(expect(...))` until the parameters no longer change; the end, and the record of it.

    The models that an acceleration proposes are kept only if the likelihood does not decrease.
    """
    at, best = start, start
    expected = expect(at.model)
    value = expected.loglike + at.prior_term
    history, passes = [value], 1
    memory = None if accelerate is None else accelerate(start.model)
    status, residual, idle, advice = Status.NOT_CONVERGED, math.inf, 0, LatentFit.advice
    residuals: list[float] = []
    for _ in range(em.max_iter):
        check_stop()
        plain = step(expected, at)
        residual = _largest_change(at.model, plain.model, step.tied)
        residuals.append(residual)
        small = residual <= em.tol
        if small:
            proposal = None if step.tied else _set_to_floor(at.model, plain.model, step.floor)
        else:
            proposal = None if memory is None else memory.propose(expected, at.model, plain.model, residual)
        if small and proposal is None:
            status = Status.CONVERGED
            break
        too_many = None if small else _too_many_steps(residuals, history, em)
        if too_many is not None:
            advice = too_many
            break
        first = proposal
        while True:
            following = plain if proposal is None else Iterate(proposal)
            trial = expect(following.model)
            passes += 1
            reached = trial.loglike + following.prior_term
            if proposal is None or reached >= value or small or memory is None:
                break
            proposal = memory.retry(reached - value)
        if small and not reached >= value:
            status = Status.CONVERGED
            break
        if memory is not None and (small or (proposal is None and first is not None)):
            memory.clear()
        # The rounding error of a log-likelihood grows as the noise variances become smaller.
        noise = following.model.noise
        rounding = abs(value) * (1e-11 + 1e-15 / float(namespace(noise).min(noise)))
        idle = idle + 1 if reached <= history[-1] + 1e-3 * rounding else 0
        if (proposal is None and not reached >= value - rounding) or idle > _IDLE:
            # A step of EM cannot decrease the likelihood, so only rounding is left.
            status = Status.CONVERGED
            break
        at, expected, value = following, trial, reached
        # A step may decrease the likelihood within its rounding error: the iteration continues, but the best is kept.
        if value >= history[-1] - 1e-11 * abs(value):
            best = at
            history.append(value)
    model = best.model
    fit = LatentFit(
        mean=model.mean,
        scale=model.scale,
        loadings=model.loadings,
        noise=model.noise,
        spread=model.spread,
        weight=observed.weight,
        n_rows=observed.n_rows,
        loglike=history,
        status=status,
        residual=residual,
        passes=passes,
        advice=advice,
    )
    return best, fit


def _too_many_steps(residuals: list[float], history: list[float], em: EM) -> str | None:
    """What to do if `max_iter` is far too small for the residual to get below the tolerance; otherwise None.

    There is no answer as long as the likelihood still increases noticeably, or if the number of steps is not certain to
    be larger: if there are not several times more steps left than `max_iter` allows.
    """
    done = len(residuals)
    if done % _OBSERVED_STEPS or len(history) <= _OBSERVED_STEPS:
        return None
    if history[-1] - history[-1 - _OBSERVED_STEPS] > _LITTLE:
        return None
    left = steps_left(residuals[-_OBSERVED_STEPS:], em.tol)
    if not left > _CERTAINLY * (em.max_iter - done):
        return None
    steps = f"about {done + left:.0f} steps" if math.isfinite(left) else "an unknown number of steps"
    return (
        f"The likelihood hardly increases, and the tolerance would take {steps}, more than max_iter. Raise tol, or ask "
        "for fewer components."
    )


def _largest_change(a: LatentGaussian, b: LatentGaussian, tied: bool) -> float:
    """The largest change of a loading or mean in standard deviations of the noise, or relative change of the noise.

    If columns have separate noise variances, a very small one is replaced by a fraction of the variance of its column.
    """
    xp = namespace(a.noise)
    unit = a.noise if tied else xp.clip(a.noise, _LEAST_UNIT, None)
    sd = xp.sqrt(unit)
    changes = (
        xp.max(xp.abs(b.loadings - a.loadings) / sd),
        xp.max(xp.abs(b.mean - a.mean) / a.scale / sd),
        xp.max(xp.abs(b.noise - a.noise) / unit),
    )
    return max(map(float, changes))


def _set_to_floor(model: LatentGaussian, plain: LatentGaussian, floor: float) -> LatentGaussian | None:
    """The model with the smallest noise variance that is still decreasing set to its floor; None if there is none.

    EM converges to the floor ever more slowly.
    """
    noise = to_numpy(model.noise)
    falling = (noise < _SMALL) & (noise > 1.01 * floor) & (to_numpy(plain.noise) < noise)
    if not np.any(falling):
        return None
    lowered = noise.copy()
    lowered[np.argmin(np.where(falling, noise, np.inf))] = floor
    noise = asarray_like(lowered, model.noise, dtype=model.noise.dtype)
    return LatentGaussian(model.mean, model.scale, model.loadings, noise)


# The maximisation half of an EM step, in which every column is regressed on the expected latent variables.


@dataclass(frozen=True)
class MaximumLikelihood:
    """argmax over W, mean and noise of the expected log-likelihood.

    With A_d = sum_i m_id E[v v^T] and c_d = sum_i m_id z_id E[v], v = (u, 1): (w_d, step of mean_d) = A_d^{-1} c_d, and
    the noise is the remaining variance, (sum z^2 - c_d^T A_d^{-1} c_d) / sum_i m_id.

    Parameters
    ----------
    tied : bool
        One noise variance for all columns (PPCA), or one per column (factor analysis).
    floor : float
        Lower bound on the noise variances.
    expand : bool
        Whether W and the mean then absorb the mean and covariance that the latent variables have in the rows.
    """

    tied: bool
    floor: float
    expand: bool = True

    def __call__(self, latent: Latent, at: Iterate) -> Iterate:
        model = at.model
        xp, k = namespace(model.noise), model.k
        A = _by_column(latent.second, k + 1)
        c = latent.cross.T
        theta = xp.linalg.solve(A, c[:, :, None])[:, :, 0]
        rest, count = xp.clip(latent.squares - xp.sum(c * theta, axis=1), 0.0, None), latent.second[-1, :]
        noise = _tied_noise(rest, count, self.floor) if self.tied else xp.clip(rest / count, self.floor, None)
        W, step = theta[:, :k].T, theta[:, k]
        if self.expand:
            centre, root = (asarray_like(a, W, dtype=W.dtype) for a in _latent_root(latent, k))
            step, W = step + centre @ W, root @ W
        return Iterate(LatentGaussian(model.mean + step * model.scale, model.scale, W, noise))


@dataclass(frozen=True)
class CompletedFactors:
    """argmax over W, mean and noise of the expected log-likelihood of the completed rows.

    This is a factor analysis of their moments, by `Newton` from the current uniquenesses. Only the missing entries are
    treated as unobserved, not the factors, so small uniquenesses do not slow down the iteration.
    """

    tied: ClassVar[bool] = False
    k: int
    floor: float

    def __call__(self, completed: Completed, at: Iterate) -> Iterate:
        S, shift = _moments_of(completed)
        variance, floor = np.diagonal(S), self.floor
        # Columns whose observed entries are constant are left out of the factor analysis.
        varies = np.flatnonzero(variance > 10 * floor)
        sd = np.sqrt(variance[varies])
        R = S[np.ix_(varies, varies)] / sd / sd[:, None]
        before = np.clip(to_numpy(at.model.noise)[varies] / sd**2, floor, 1.0)
        found = Descent(OfCovariance(R), min(self.k, len(varies)), Newton(floor=floor)).run(before)
        W, psi = np.zeros((self.k, len(S))), np.full(len(S), floor)
        W[: len(found.loadings), varies], psi[varies] = found.loadings * sd, np.maximum(found.psi * sd**2, floor)
        return _moved(at.model, W, psi, shift)


@dataclass(frozen=True)
class CompletedComponents:
    """argmax over W, mean and one noise variance of the expected log-likelihood of the completed rows.

    This is PPCA of their covariance V diag(l) V^T in closed form: the noise is the mean of l_{k+1}, ..., l_p, and
    w_j = sqrt(l_j - noise) v_j. With k = p - 1 it is any covariance at all, the saturated model.
    """

    tied: ClassVar[bool] = True
    k: int
    floor: float

    def __call__(self, completed: Completed, at: Iterate) -> Iterate:
        S, shift = _moments_of(completed)
        W, noise = components_of(*np.linalg.eigh(S), self.k, self.floor)
        return _moved(at.model, W, np.full(len(S), noise), shift)


def components_of(values: np.ndarray, vectors: np.ndarray, k: int, floor: float) -> tuple[np.ndarray, float]:
    """W and the noise variance of PPCA, from the eigenpairs of a covariance in ascending order."""
    p = len(values)
    kept = min(k, p - 1)
    noise = max(float(np.mean(values[: p - kept])), floor)
    W = np.zeros((k, p))
    W[:kept] = (np.sqrt(np.clip(values[::-1][:kept] - noise, 0.0, None)) * vectors[:, ::-1][:, :kept]).T
    return W, noise


def _moments_of(completed: Completed) -> tuple[np.ndarray, np.ndarray]:
    """The covariance of completed rows, with divisor n, and their mean, in the units of the model."""
    mean = to_numpy(completed.total) / completed.weight
    return to_numpy(completed.second) / completed.weight - mean * mean[:, None], mean


def _moved(model: LatentGaussian, W: np.ndarray, noise: np.ndarray, shift: np.ndarray) -> Iterate:
    """The model with these loadings, noise variances, and step of the mean."""
    if W.shape == model.loadings.shape:
        # W is rotated to be as close as possible to the loadings before, so that steps can be combined.
        U, _, Vt = np.linalg.svd(to_numpy(model.loadings) @ W.T)
        W = U @ Vt @ W
    W, noise, shift = (asarray_like(a, model.noise, dtype=model.noise.dtype) for a in (W, noise, shift))
    return Iterate(LatentGaussian(model.mean + shift * model.scale, model.scale, W, noise))


@dataclass(frozen=True)
class VariationalBayes:
    """The posterior of (w_d, mean_d) under w_dk ~ N(0, v_k), then the v_k and the noise that maximise the bound [1].

    References
    ----------
    [1] Ilin, Raiko (2010), Practical approaches to principal component analysis in the presence of missing values,
        section 3.
    """

    tied: ClassVar[bool] = True
    floor: float

    def __call__(self, latent: Latent, at: Iterate) -> Iterate:
        model, relevance = at.model, at.relevance
        if relevance is None:
            relevance = np.maximum(np.mean(to_numpy(model.loadings) ** 2, axis=1), 1e-3)
        xp, k = namespace(model.noise), model.k
        noise = model.noise[0]
        A = _by_column(latent.second, k + 1)
        c = latent.cross.T
        prior = asarray_like(np.diag(np.append(1.0 / relevance, 0.0)), A, dtype=A.dtype)
        spread = xp.linalg.inv(A / noise + prior[None, :, :])
        theta = (spread @ c[:, :, None])[:, :, 0] / noise
        second = spread + theta[:, :, None] * theta[:, None, :]
        rest = latent.squares - 2 * xp.sum(c * theta, axis=1) + xp.sum(xp.sum(A * second, axis=2), axis=1)
        noise = _tied_noise(rest, latent.second[-1, :], self.floor)
        T, relevance = self._expansion(latent, to_numpy(xp.sum(second[:, :k, :k], axis=0)), k)
        T = asarray_like(T, theta, dtype=theta.dtype)
        theta, spread = theta @ T.T, T @ spread @ T.T
        mean = model.mean + theta[:, k] * model.scale
        packed = pack(xp.permute_dims(spread, (1, 2, 0)))
        relevance = np.maximum(relevance / theta.shape[0], self.floor)
        model = LatentGaussian(mean, model.scale, theta[:, :k].T, noise, packed)
        return Iterate(model, relevance, self._prior_term(model, relevance))

    @staticmethod
    def _expansion(latent: Latent, second: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The change of coordinates of (w_d, mean_d) that increases the bound most [2], and the diagonal it leads to.

        The latent variables get mean zero and covariance I, and sum_d E[w_d w_d^T], here `second`, becomes diagonal.

        References
        ----------
        [2] Luttinen, Ilin (2010), Transformations in variational Bayesian factor analysis to speed up learning.
        """
        centre, root = _latent_root(latent, k)
        values, vectors = np.linalg.eigh(root @ second @ root)
        values, vectors = values[::-1], vectors[:, ::-1]
        # Close to convergence the rotation is nearly I up to signs, which are chosen such that no axis is reversed.
        vectors = vectors * np.where(np.diagonal(vectors) < 0, -1.0, 1.0)
        T = np.eye(k + 1)
        T[:k, :k] = vectors.T @ root
        T[k, :k] = centre
        return T, values

    @staticmethod
    def _prior_term(model: LatentGaussian, relevance: np.ndarray) -> float:
        """Minus the Kullback-Leibler divergence of the posterior of W from its prior; the prior of the mean is flat."""
        k, p = model.loadings.shape
        spread = np.ascontiguousarray(_by_column(to_numpy(model.spread), k + 1))
        variances = np.sum(np.diagonal(spread, axis1=1, axis2=2)[:, :k], axis=0)
        second = np.sum(to_numpy(model.loadings) ** 2, axis=1) + variances
        log_determinants = float(np.sum(np.linalg.slogdet(spread)[1]))
        return 0.5 * (log_determinants + p * k - float(np.sum(p * np.log(relevance) + second / relevance)))


_Step = MaximumLikelihood | CompletedFactors | CompletedComponents | VariationalBayes


def _step(request: LatentRequest, expand: bool) -> _Step:
    return VariationalBayes(request.floor) if request.bayes else MaximumLikelihood(request.tied, request.floor, expand)


def _tied_noise(rest: Array, count: Array, floor: float) -> Array:
    """One noise variance for all columns, from residual sums of squares and numbers of entries."""
    xp = namespace(rest)
    return xp.clip(xp.zeros_like(rest) + xp.sum(rest) / xp.sum(count), floor, None)


def _by_column(packed: Array, k: int) -> Array:
    """Unpack symmetric matrices: (k(k+1)/2, p) -> (p, k, k)."""
    return namespace(packed).permute_dims(unpack(packed, k), (2, 0, 1))


def _latent_root(latent: Latent, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the expected latent variables over the rows, and the symmetric root of their covariance."""
    scores = to_numpy(latent.scores) / float(latent.scores[-1])
    centre = scores[-1 - k : -1]
    second = unpack(scores[: k * (k + 1) // 2, None], k)[:, :, 0]
    values, vectors = np.linalg.eigh(second - centre[:, None] * centre)
    return centre, (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T
