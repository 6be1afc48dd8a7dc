"""Latent Gaussian models by expectation maximisation, from rows with or without holes, or from moments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real

import numpy as np

from ..._xp import Array, asarray_like, namespace, to_numpy
from ...errors import choice, never_observed, no_variance, read_once
from ...linalg import require_size
from ...summaries.completed import Completed
from ...summaries.latent import Latent, LatentGaussian
from ...summaries.moments import Moments
from ...summaries.observed import Observed
from ..base import Cost, Plan, Request, RowsLike, SpectraLike, with_passes
from ..plan import checked_plan
from ..results import LatentFit, Spectrum, Status
from .em_acceleration import Anderson, Iterate
from .em_iteration import Outcome, iterate, run_from_best
from .em_quasi_newton import AndersonThenQuasiNewton
from .em_steps import CompletedFactors, MaximumLikelihood, VariationalBayes
from .latent_solver import LatentJob, LatentRequest, LatentSolver, check_components, rows_job
from .newton import Newton
from .undetermined import few_steps, is_undetermined, too_few_entries

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
#: Maximal number of operations for a step on completed rows.
_COMPLETED_WORK = 1e11


@dataclass(frozen=True)
class EM(LatentSolver):
    """Maximise the likelihood of the observed entries by expectation maximisation.

    Parameters
    ----------
    tol : float
        Stop when one more step would change no loading and no mean by more than `tol` standard deviations of the noise,
        and no noise variance by more than `tol` times itself (or, if larger, `tol` times a hundredth of the variance of
        its column). For loadings and means this is the gradient of the log-likelihood per row.
    max_iter : int
        Maximal number of steps.
    accelerate : bool
        Whether to replace steps by longer ones, which are kept only if the likelihood does not decrease. Not used with
        a prior.
    start : {"spectrum", "random"}
        Start from the leading directions of the rows with their holes filled, or from random loadings.
    n_init : int, optional
        Number of additional random starts; each takes a few steps, and the iteration continues from the best. By
        default four for tables of up to 20,000 entries, otherwise none. With holes there can be several local optima.

    Notes
    -----
    A step computes one `Latent` summary of the rows (of their moments, if they are complete), and regresses each column
    on the expected latent variables and a constant. Parameter expansion [1]_ lets the latent variables have any mean
    and covariance within the step, which are then absorbed into the loadings and means; this costs nothing and saves
    steps. Anderson acceleration [2]_, which combines the last steps, saves many more. Where it would still take many
    steps, a quasi-Newton method [3]_ takes over: the same summary gives the gradient of the likelihood, and an
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
    takes_holes = True
    tol: float = 1e-5
    max_iter: int = 1000
    accelerate: bool = True
    start: str = "spectrum"
    n_init: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.tol, Real) or not 0.0 < self.tol < 1.0:
            raise ValueError(f"EM(tol={self.tol!r}): a number between 0 and 1 is needed.")
        if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(f"EM(max_iter={self.max_iter!r}): a whole number of at least 1 is needed.")
        if not isinstance(self.accelerate, bool | np.bool_):
            raise ValueError(f"EM(accelerate={self.accelerate!r}): True or False is needed.")
        if self.n_init is not None and (
            isinstance(self.n_init, bool) or not isinstance(self.n_init, Integral) or self.n_init < 0
        ):
            raise ValueError(f"EM(n_init={self.n_init!r}): a whole number of at least 0 is needed, or None.")
        if self.start not in ("spectrum", "random"):
            raise choice("EM start", self.start, ("spectrum", "random"))

    def cost(self, job: LatentJob) -> Cost:
        k, p = job.k or 1, job.p
        step = 8 * p * (k + 1) * (k + 4)
        if not job.complete:
            # The first look, the start and a step are three passes at least.
            return Cost(_STEPS * job.rows * p * k * k, 3, step, "rows with holes are fitted by EM, one pass per step")
        why = "iterates on the moments of complete rows"
        return Cost(job.rows * p * p + _STEPS * k * p * p, 1, step + 32 * p * p, why)

    def refusal(self, job: LatentJob) -> Exception | None:
        once = not job.complete and not job.traits.rereadable
        return read_once(self.name, "fill the holes first") if once else super().refusal(job)

    def is_sensible(self, job: LatentJob) -> bool:
        # Without a prior, complete rows have a closed form or are fitted by Newton's method in far fewer steps.
        return job.bayes or not job.complete

    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        check_components(request.k, moments.n_rows, moments.weight, moments.n_features)
        return fit_moments(moments, self, request, spectra)

    def fit_holes(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit rows with missing entries; each step takes one pass over the rows."""
        plan = checked_plan(self, replace(rows_job(rows, request, spectra), complete=False))
        observed = rows.summarize(Observed(rows.shape[1], unstored=request.unstored, components=request.k))
        empty = np.flatnonzero(to_numpy(observed.count) == 0)
        if len(empty):
            raise never_observed([int(j) for j in empty], rows.names)
        check_components(request.k, observed.n_rows, observed.weight, rows.shape[1])
        fit = fit_rows(rows, self, request, observed, spectra)
        return fit, with_passes(plan, fit.passes)


def fit_rows(rows: RowsLike, em: EM, request: LatentRequest, observed: Observed, spectra: SpectraLike) -> LatentFit:
    """Maximise the likelihood (or its variational bound) of the observed entries over mean, loadings and noise.

    `observed` took one pass over the rows; the start takes one or a few, and each step takes one.
    """
    scale = column_units(observed, request.by_column)
    start, passes = _start(rows, observed, scale, em, request, spectra)
    by_completion = not request.tied and _use_completed_rows(observed, request.k)
    # A start from factors is already the best of several.
    enough = by_completion and em.start == "spectrum" and em.n_init is None
    further = [] if enough else _further_starts(em, observed, scale, request)
    starts = [start, *further]
    # A prior keeps the noise from being fitted away.
    undetermined = not request.bayes and is_undetermined(observed, request.k)
    limited = replace(em, max_iter=min(em.max_iter, few_steps(observed, request.k))) if undetermined else em
    if by_completion:

        def complete(model: LatentGaussian) -> Completed:
            return rows.summarize(Completed(model, unstored=request.unstored))

        step = CompletedFactors(Newton(floor=request.floor))
        accelerate = partial(Anderson, floor=request.floor) if em.accelerate else None
        run = partial(iterate, expect=complete, maximise=step, tied=False, floor=request.floor, accelerate=accelerate)
        outcome = run_from_best(limited, [Iterate(start) for start in starts], run)
    else:

        def expect(model: LatentGaussian) -> Latent:
            return rows.summarize(Latent(model, unstored=request.unstored, informed=not request.bayes))

        outcome = run_em(limited, starts, expect, request)
    fit = as_fit(outcome, observed.weight, observed.n_rows, 1 + passes + outcome.passes)
    if undetermined and fit.residual > em.tol:
        # Whether the steps ran out, or noise at its floor left only rounding to gain: there is no maximum.
        return replace(fit, status=Status.UNDETERMINED, advice=too_few_entries(observed, request.k))
    return fit


def fit_moments(moments: Moments, em: EM, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
    """Maximise the likelihood (or its variational bound) given the moments of complete rows, without a pass."""
    observed = _observed_of(moments)
    scale = column_units(observed, request.by_column)
    if em.start == "random":
        start = _random_start(observed, scale, request, request.seed)
    else:
        spectrum, _ = spectra.solve_summary(moments, Request(request.k, ddof=0, standardize=request.by_column))
        unit = 1.0 if request.by_column else float(scale[0])
        start = _spectral_start(spectrum, observed, scale, request, unit)
    starts = [start, *_further_starts(em, observed, scale, request)]
    outcome = run_em(em, starts, lambda model: Latent.from_moments(moments, model), request)
    return as_fit(outcome, moments.weight, moments.n_rows, 1)


def _use_completed_rows(observed: Observed, k: int) -> bool:
    """Whether to use steps on completed rows: if they are affordable, and most entries and enough rows are known."""
    n, p = observed.weight, observed.n_features
    known = float(namespace(observed.count).sum(observed.count)) / (n * p)
    return p <= _FACTORS_UP_TO and n * k * float(p) ** 2 <= _COMPLETED_WORK and known >= 0.5 and n >= 2 * p


def _further_starts(em: EM, observed: Observed, scale: Array, request: LatentRequest) -> list[LatentGaussian]:
    """The additional random starts."""
    n_init = em.n_init
    if n_init is None:
        n_init = _STARTS if observed.weight * observed.n_features <= _SEVERAL_STARTS_UP_TO else 0
    return [_random_start(observed, scale, request, request.seed + i) for i in range(1, n_init + 1)]


def run_em(
    em: EM, starts: list[LatentGaussian], expect: Callable[[LatentGaussian], Latent], request: LatentRequest
) -> Outcome:
    """EM from the best of `starts`, by maximum likelihood or with a prior on the loadings."""
    if not request.bayes:
        tied, floor = request.tied, request.floor
        accelerate = partial(AndersonThenQuasiNewton, tied=tied, floor=floor, tol=em.tol) if em.accelerate else None
        step = MaximumLikelihood(tied, floor)
        run = partial(iterate, expect=expect, maximise=step, tied=tied, floor=floor, accelerate=accelerate)
        return run_from_best(em, [Iterate(start) for start in starts], run)
    bayes = VariationalBayes(request.floor)
    run = partial(iterate, expect=expect, maximise=bayes, tied=True, floor=request.floor, prior_term=bayes.prior_term)
    outcome = run_from_best(em, [_with_prior(start, expect, bayes) for start in starts], run)
    return replace(outcome, passes=outcome.passes + len(starts))


def _with_prior(start: LatentGaussian, expect: Callable[[LatentGaussian], Latent], bayes: VariationalBayes) -> Iterate:
    """The start with an initial posterior of the loadings."""
    relevance = np.maximum(np.mean(to_numpy(start.loadings) ** 2, axis=1), 1e-3)
    return bayes(expect(start), Iterate(start, relevance))


def as_fit(outcome: Outcome, weight: float, n_rows: int, passes: int) -> LatentFit:
    """The record of the fit."""
    model = outcome.at.model
    fit = LatentFit(
        mean=model.mean,
        scale=model.scale,
        loadings=model.loadings,
        noise=model.noise,
        spread=model.spread,
        weight=weight,
        n_rows=n_rows,
        loglike=outcome.loglike,
        status=outcome.status,
        residual=outcome.residual,
        passes=passes,
    )
    if outcome.needed is None:
        return fit
    steps = f"about {outcome.needed:.0f} steps" if math.isfinite(outcome.needed) else "an unknown number of steps"
    advice = (
        f"The likelihood hardly increases, and the tolerance would take {steps}, more than max_iter. Raise tol, or ask "
        "for fewer components."
    )
    return replace(fit, advice=advice)


def column_units(observed: Observed, by_column: bool) -> Array:
    """The standard deviation of each column if `by_column`, otherwise the root mean square over all columns.

    Constant columns always get the latter. Raises an error if no column varies, or too little.
    """
    xp = namespace(observed.mean)
    require_size(observed.squares, observed.mean, observed.weight, each=by_column)
    if not bool(xp.any(observed.squares > 0)):
        raise no_variance("a model with noise")
    variance = observed.squares / observed.count
    typical = xp.sqrt(xp.mean(variance))
    return xp.where((variance > 0) & by_column, xp.sqrt(variance), xp.zeros_like(variance) + typical)


def _start(
    rows: RowsLike, observed: Observed, scale: Array, em: EM, request: LatentRequest, spectra: SpectraLike
) -> tuple[LatentGaussian, int]:
    """A start with loadings along the leading directions of the filled rows, or random ones; and its passes."""
    if em.start == "random":
        return _random_start(observed, scale, request, request.seed), 0
    filled = rows.filled(observed.mean, scale, request.unstored)
    p = observed.n_features
    if not request.tied and p <= _FACTORS_UP_TO:
        return _factor_start(filled.summarize(Moments(p)), observed, scale, request), 1
    asked = Request(k=request.k, ddof=0, seed=request.seed)
    # A start need not be accurate, so the planned solver runs, and no more accurate one follows.
    spectrum, _ = spectra.solve(filled, asked, spectra.plan(filled, asked).solver)
    return _spectral_start(spectrum, observed, scale, request), spectrum.passes


def _random_start(observed: Observed, scale: Array, request: LatentRequest, seed: int) -> LatentGaussian:
    """A start with random loadings, which explain half of the variance of each column on average."""
    variance = to_numpy(observed.squares / observed.count / scale**2)
    random = np.random.default_rng(seed)
    W = random.standard_normal((request.k, len(variance))) * np.sqrt(0.5 * variance / request.k + 1e-6)
    return _start_from(W, variance, observed, scale, request)


def _spectral_start(
    spectrum: Spectrum, observed: Observed, scale: Array, request: LatentRequest, unit: float = 1.0
) -> LatentGaussian:
    """A start from the principal loadings of the filled rows (divided by `unit`).

    Filled holes make loadings smaller, which is corrected.
    """
    variance = to_numpy(observed.squares / observed.count / scale**2)
    share = to_numpy(observed.count) / observed.weight
    lengths = np.sqrt(np.clip(spectrum.values, 0.0, None) / observed.weight) / unit
    W = to_numpy(spectrum.vectors) * lengths[:, None] / share
    explained = np.sum(W * W, axis=0)
    W = W * np.sqrt(np.minimum(1.0, _START_SHARE * variance / np.where(explained > 0, explained, 1.0)))
    # The noise is added because a loading of zero would stay zero.
    W += 1e-3 * np.random.default_rng(request.seed).standard_normal(W.shape)
    return _start_from(W, variance, observed, scale, request)


def _factor_start(filled: Moments, observed: Observed, scale: Array, request: LatentRequest) -> LatentGaussian:
    """A start from a factor analysis of the correlations of the filled rows, corrected for the holes.

    It is the best of several local optima.
    """
    share = to_numpy(observed.count) / observed.weight
    variance = to_numpy(observed.squares / observed.count / scale**2)
    R = to_numpy(filled.scatter) / filled.weight / share / share[:, None]
    np.fill_diagonal(R, np.where(variance > 0, 1.0, 1e-3))
    values, vectors = np.linalg.eigh(R)
    # With holes the matrix may have negative eigenvalues; they are raised to give a valid covariance matrix.
    R = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    sd = np.sqrt(np.diagonal(R))
    floor = request.floor if _use_completed_rows(observed, request.k) else max(request.floor, _START_FLOOR)
    found = Newton(floor=floor).solve(R / sd / sd[:, None], request.k, request.seed)
    like, dtype = observed.mean, observed.mean.dtype
    W, psi = (asarray_like(a, like, dtype=dtype) for a in (found.loadings, found.psi))
    return LatentGaussian(like, scale, W, psi)


def _start_from(
    W: np.ndarray, variance: np.ndarray, observed: Observed, scale: Array, request: LatentRequest
) -> LatentGaussian:
    """A model with these loadings, whose noise is the variance that they leave unexplained."""
    rest = np.maximum(variance - np.sum(W * W, axis=0), (1.0 - _START_SHARE) * np.maximum(variance, 1e-3))
    noise = np.full(len(rest), rest.mean()) if request.tied else rest
    like, dtype = observed.mean, observed.mean.dtype
    return LatentGaussian(like, scale, asarray_like(W, like, dtype=dtype), asarray_like(noise, like, dtype=dtype))


def _observed_of(moments: Moments) -> Observed:
    """The summary `Observed` of complete rows, from their moments."""
    observed = Observed(moments.n_features)
    xp = namespace(moments.mean)
    observed.n_rows, observed.weight = moments.n_rows, moments.weight
    observed.count = xp.zeros_like(moments.mean) + moments.weight
    observed.mean, observed.rest = moments.mean, moments.rest
    observed.squares = xp.linalg.diagonal(moments.scatter)
    return observed
