"""The request to a solver of latent Gaussian models, its job, reference models, and PPCA in closed form."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ..._core.arrays import Array, namespace, to_device, to_numpy
from ...errors import (
    MissingValues,
    missing_after_reading,
    n_components_out_of_range,
    needs_memory,
    no_variance,
    one_row,
)
from ...linalg import most_components, rank_cut
from ...summaries.latent import LatentGaussian
from ...summaries.moments import Moments
from ...summaries.triangle import Triangle
from .. import spectra
from ..problem import (
    AnySolver,
    Cost,
    Job,
    Plan,
    Problem,
    Request,
    RowsLike,
    SpectraLike,
    Spectrum,
    Status,
    cached_choice,
    checked_plan,
    is_auto,
)


@dataclass(frozen=True)
class Misfit:
    """How far the covariance of a latent Gaussian model is from the covariance of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lowdim import FactorAnalysis
    >>> found = FactorAnalysis(2).fit(load_wine().data).misfit()
    >>> type(found).__name__, round(found.discrepancy, 3)
    ('Misfit', 1.64)
    """

    #: Total weight of the rows.
    weight: float
    #: 2 / n times the log-likelihood of the saturated model minus that of this one. The saturated model has the
    #: covariance of the rows; None if that is singular.
    discrepancy: float | None
    #: The same for the model of independent columns.
    null_discrepancy: float | None
    #: Sums of squares of the residual correlations, which are the differences of the two covariances in units of the
    #: standard deviations of the columns: over all pairs of different columns, and over the columns (the diagonal).
    residual_squares: tuple[float, float] | None
    #: Whether no entry of the rows is missing. Otherwise likelihoods are those of the observed entries, and the
    #: covariance of the rows is its estimate of maximum likelihood.
    complete: bool = True


@dataclass(frozen=True)
class LatentFit:
    """A latent Gaussian model x = mean + W^T u + e of rows."""

    #: Mean of the rows, (p,).
    mean: Array
    #: Divisors of the columns in the iteration, (p,): `loadings`, `noise` and `spread` are in these units.
    scale: Array
    #: W, (k, p).
    loadings: Array
    #: Variances of e, (p,).
    noise: Array
    #: Packed covariance of (w_d, mean_d), (q, p), if W has a prior; otherwise None.
    spread: Array | None
    #: Total weight and number of the rows.
    weight: float
    n_rows: int
    #: Log-likelihood of the observed entries before each step and at the end.
    loglike: list[float]
    status: Status
    #: Largest change of a parameter in one more step, in units of the noise.
    residual: float
    #: Passes over the rows.
    passes: int
    #: Why the iteration ended before it converged, and what to do then.
    advice: str = "Raise max_iter, or ask for fewer components."
    #: Unit vectors along the rows of `loadings` if these are orthogonal, (k, p); otherwise None.
    axes: Array | None = None
    #: If the status is UNRESOLVED: what has lost most digits, its share of the largest eigenvalue, its relative error.
    lost: tuple[str, float, float] | None = None
    #: How far the covariance of the model is from that of complete rows, if each column has its own noise variance.
    misfit: Misfit | None = None


# Reference models for factor analysis of complete rows: independent columns, and the sample covariance (saturated).
# `saturated` of the package has the same for rows with missing entries.


def independent_loglike(summary: Moments | Triangle) -> float:
    """The log-likelihood of the model without factors, in which columns are independent; without constant columns."""
    squares = column_squares(summary)
    n, varying = summary.weight, squares[squares > 0.0] / summary.weight
    return -0.5 * n * (len(varying) * (math.log(2 * math.pi) + 1.0) + float(np.sum(np.log(varying))))


def saturated_loglike(summary: Moments | Triangle) -> float | None:
    """The log-likelihood of the Gaussian with the sample covariance; None if that is singular."""
    n, p = summary.weight, summary.n_features
    if isinstance(summary, Triangle) and summary.root.shape[0] < p:
        return None
    S = to_numpy(summary.scatter)
    squares = np.diagonal(S)
    if np.any(squares <= 0.0):
        return None
    sd = np.sqrt(squares)
    sign, log_determinant = np.linalg.slogdet(S / sd / sd[:, None])
    if sign <= 0 or log_determinant < -30.0 * p:
        return None
    return -0.5 * n * (p * (math.log(2 * math.pi / n) + 1.0) + log_determinant + 2.0 * float(np.sum(np.log(sd))))


def misfit_of(summary: Moments | Triangle, fit: LatentFit) -> Misfit:
    """How far a model of complete rows is from the covariance of these rows, given their summary.

    p^2 k operations beside those of a determinant; for fewer rows than columns, n^2 p and no matrix of size p x p.
    """
    n, saturated = summary.weight, saturated_loglike(summary)
    discrepancy = null = None
    if saturated is not None:
        discrepancy = float(2.0 / n * (saturated - fit.loglike[-1]))
        null = float(2.0 / n * (saturated - independent_loglike(summary)))
    root = to_numpy(summary.root) if isinstance(summary, Triangle) else None
    squares = column_squares(summary)
    varies = squares > 0.0
    # Constant columns are left out; a slice makes no copies if there are none.
    keep: Any = slice(None) if np.all(varies) else np.flatnonzero(varies)
    sd = np.sqrt(squares[keep] / n)
    unit = to_numpy(fit.scale)[keep] / sd
    W, psi = to_numpy(fit.loadings)[:, keep] * unit, to_numpy(fit.noise)[keep] * unit**2
    if root is not None and len(root) < summary.n_features:
        # The correlations are Z^T Z, and the squares of Z^T Z - W^T W add up to |Z Z^T|^2 - 2 |Z W^T|^2 + |W W^T|^2.
        Z = root[:, keep] / (sd * math.sqrt(n))
        own = 1.0 - np.einsum("ij,ij->j", W, W)
        total = float(np.sum((Z @ Z.T) ** 2) - 2.0 * np.sum((Z @ W.T) ** 2) + np.sum((W @ W.T) ** 2))
        residuals = 0.5 * max(total - float(own @ own), 0.0), float(np.sum((own - psi) ** 2))
        return Misfit(n, discrepancy, null, residuals)
    R = to_numpy(summary.scatter)[keep][:, keep] / n / sd / sd[:, None]
    return Misfit(n, discrepancy, null, residuals_of_correlation(R, W, psi))


def residuals_of_correlation(R: np.ndarray, W: np.ndarray, psi: np.ndarray) -> tuple[float, float]:
    """Sums of squares of R - W^T W - diag(psi), over pairs of different columns and over the diagonal."""
    D = R - W.T @ W
    own = np.diagonal(D)
    return 0.5 * max(float(np.sum(D * D)) - float(own @ own), 0.0), float(np.sum((own - psi) ** 2))


def column_squares(summary: Moments | Triangle) -> np.ndarray:
    """The sum of squares of each centred column."""
    if isinstance(summary, Triangle):
        root = to_numpy(summary.root)
        return np.asarray(np.einsum("ij,ij->j", root, root))
    return to_numpy(namespace(summary.scatter).linalg.diagonal(summary.scatter))


# The request to a solver of latent Gaussian models, its job, and the base class of these solvers.


@dataclass(frozen=True)
class LatentRequest:
    """The request for a latent Gaussian model."""

    k: int
    #: Whether all columns have the same noise variance.
    tied: bool
    #: Lower bound on the noise variances, in units of the variance of the column (of the mean variance, if not
    #: `by_column`).
    floor: float
    #: Whether each column is divided by its standard deviation; otherwise all are divided by the same number.
    by_column: bool = True
    #: Whether the loadings have a prior (variational Bayes).
    bayes: bool = False
    #: Whether entries that sparse rows do not store are missing.
    unstored: bool = False
    seed: int = 0
    #: Noise variances near those of the solution, (p,), as fractions of the variances of their columns; or None.
    start: np.ndarray | None = field(default=None, compare=False)
    #: Whether the solution is expected near `start`, so that few other starts are tried.
    near: bool = False
    #: For rows with missing entries: a model of similar rows, with any number of components, from whose expectations
    #: of these entries EM starts; or None.
    before: LatentGaussian | None = field(default=None, compare=False)


@dataclass(frozen=True)
class LatentJob(Job):
    """The job of fitting a latent Gaussian model, of which the request tells more than the number of components."""

    #: Whether all columns have the same noise variance, and whether the loadings have a prior.
    tied: bool = False
    bayes: bool = False
    #: Whether no entry is known to be missing.
    complete: bool = True
    #: Whether only products of rows are known, and not the rows or a root of their scatter.
    squared: bool = False


class LatentSolver(AnySolver):
    """A solver that fits a latent Gaussian model to rows, or to a summary of them.

    Examples
    --------
    >>> from lowdim.solvers import LATENT_SOLVERS, LatentSolver
    >>> {name: issubclass(solver, LatentSolver) for name, solver in LATENT_SOLVERS.items()}
    {'newton': True, 'em': True, 'newton-cg': True}
    """

    #: Whether it can fit one noise variance for all columns, as PPCA has it.
    ties_noise: ClassVar[bool] = True
    #: Whether it can fit one noise variance per column, as factor analysis has it.
    separates_noise: ClassVar[bool] = True
    #: Whether the loadings may have a prior.
    takes_prior: ClassVar[bool] = False
    #: Whether entries may be missing; such rows are passed to `fit_missing`.
    takes_missing: ClassVar[bool] = False
    #: The summary of rows that it starts from.
    starts_from: ClassVar[type[Moments] | type[Triangle]] = Moments
    #: Lower bound on the noise variances of factor analysis, as a fraction of the variance of their column.
    floor: float = 1e-6

    def refusal(self, job: LatentJob) -> Exception | None:
        lacking = self._lacking(job)
        if lacking is not None:
            return ValueError(f"solver={self.name!r} cannot fit a model with {lacking}.")
        return super().refusal(job)

    def is_sensible(self, job: LatentJob) -> bool:
        return self._lacking(job) is None

    def _lacking(self, job: LatentJob) -> str | None:
        """What the job has that this solver cannot do, or None."""
        abilities = (
            (job.tied, self.ties_noise, "one noise variance for all columns"),
            (not job.tied, self.separates_noise, "one noise variance per column"),
            (job.bayes, self.takes_prior, "a prior"),
            (not job.complete, self.takes_missing, "missing values"),
        )
        return next((what for needed, able, what in abilities if needed and not able), None)

    def job_of(self, sources: Sequence[Any], k: int | None) -> LatentJob:
        n, p = sources[0].shape
        return LatentJob(n, p, k, sources[0].traits, tied=not self.separates_noise)

    def too_large(self, job: Job, n_bytes: int) -> MemoryError:
        what = f"solver={self.name!r} on {job.p} columns"
        return needs_memory(what, n_bytes, job.memory, "Keep fewer columns.")

    def fit_rows(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit complete rows by a summary of them; raises `MissingValues` if they turn out to have missing entries."""
        plan = checked_plan(self, rows_job(rows, request))
        fit = self._fit_scatter(rows.summarize(self.empty_summary(rows.shape[1], request)), request, spectra)
        return fit, replace(plan, passes=fit.passes)

    def empty_summary(self, p: int, request: LatentRequest) -> Moments | Triangle:
        """An empty summary of the kind that complete rows are fitted by."""
        # With one noise variance per column, columns may have any scale, so their squares could overflow in float32.
        return Moments(p, wide=not request.tied) if self.starts_from is Moments else self.starts_from(p)

    def fit_missing(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit rows with missing entries, if the solver `takes_missing`."""
        raise NotImplementedError(f"{type(self).__name__} takes complete rows only.")

    @abstractmethod
    def fit_moments(self, moments: Any, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Fit complete rows, given their Moments, or a Triangle if the solver starts from one."""

    def fit_summary(self, summary: Any, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        """Fit a summary of complete rows: their moments, or a Triangle, from which these follow."""
        if not isinstance(summary, Moments | Triangle):
            raise TypeError(f"solver={self.name!r} needs a Moments or a Triangle, got {type(summary).__name__}.")
        fit = self._fit_scatter(summary, request, spectra)
        return fit, replace(self.plan(summary_job(summary, request), "from a summary"), passes=0)

    def _fit_scatter(self, summary: Moments | Triangle, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        """Fit a summary of complete rows; with one noise variance per column, tell how far the model is from it."""
        if isinstance(summary, Triangle) and self.starts_from is Moments:
            summary = summary.moments()
        fit = self.fit_moments(summary, request, spectra)
        return fit if request.tied else replace(fit, misfit=misfit_of(summary, fit))


def rows_job(rows: RowsLike, request: LatentRequest) -> LatentJob:
    """The job of fitting these rows. They are assumed to be complete unless they surely have missing entries."""
    complete = not (request.unstored and rows.traits.sparse)
    return LatentJob(*rows.shape, request.k, rows.traits, request.tied, request.bayes, complete)


def summary_job(summary: Any, request: LatentRequest) -> LatentJob:
    """The job of fitting rows that were summarized."""
    n, p, squared = summary.n_rows, summary.n_features, isinstance(summary, Moments)
    return LatentJob(n, p, request.k, tied=request.tied, bayes=request.bayes, squared=squared)


def check_components(k: int, n_rows: int, weight: float, p: int) -> None:
    """Raise an error if there are too few rows for k components; the length of a stream is known only at its end."""
    most = most_components(n_rows, weight, p)
    if most < 2 and n_rows < 2:
        raise one_row()
    if k > most:
        raise n_components_out_of_range(k, most, n_rows, p, fractions=False)


# Probabilistic PCA of complete rows, in closed form from their eigenpairs.


@dataclass(frozen=True)
class ClosedForm(LatentSolver):
    """Maximum likelihood with one noise variance for all columns, from the eigenpairs of their covariance.

    Parameters
    ----------
    by : str or Solver
        The solver of spectra: "auto", a name, or an object. The plan of the fit is that of this solver.
    """

    name: ClassVar[str] = "closed-form"
    separates_noise = False
    by: Any = "auto"

    def cost(self, job: LatentJob) -> Cost:
        cost: Cost = self.plan(job).solver.cost(_eigenpairs(job))
        return cost

    def plan(self, job: LatentJob, why: str = "") -> Plan:
        """The plan of the solver of spectra, whose work is nearly all of it."""
        plan = spectra.plan_job(_eigenpairs(job), self.by)
        return replace(plan, why=why) if why else plan

    def fit_rows(self, rows: RowsLike, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        spectrum, plan = spectra.solve(rows, _spectral(request), self.by)
        return closed_form(spectrum, rows.shape[1]), plan

    def fit_moments(self, moments: Moments, request: LatentRequest, spectra: SpectraLike) -> LatentFit:
        spectrum, _ = spectra.solve_summary(moments, _spectral(request))
        return closed_form(replace(spectrum, passes=1), moments.n_features)

    def fit_summary(self, summary: Any, request: LatentRequest, spectra: SpectraLike) -> tuple[LatentFit, Plan]:
        spectrum, plan = spectra.solve_summary(summary, _spectral(request))
        return closed_form(replace(spectrum, passes=1), summary.n_features), plan


def _eigenpairs(job: LatentJob) -> Job:
    """The job of finding the eigenpairs."""
    return Job(job.n, job.p, job.k, job.traits)


def _spectral(request: LatentRequest) -> Request:
    return Request(k=request.k, ddof=0, scale=request.by_column, seed=request.seed)


def closed_form(spectrum: Spectrum, p: int) -> LatentFit:
    """The maximum likelihood fit from the eigenpairs of the covariance with divisor n ([1], eqs. 7, 8)."""
    k, n = spectrum.values.shape[0], spectrum.weight
    check_components(k, spectrum.n_rows, n, p)
    largest = float(spectrum.values[0])
    if largest <= 0.0:
        raise no_variance("a model with noise")
    # The unit is a standard deviation instead of a variance, so that no square overflows.
    unit = math.sqrt(largest / n)
    values = spectrum.values / largest
    noise = spectrum.tail.total / largest / (p - k) if k < p else 0.0
    # Rows that lie in a k-dimensional subspace have no noise; it is set to the level of rounding.
    noise = max(noise, rank_cut(1.0, p, spectrum.epsilon))
    lengths = np.sqrt(np.clip(values - noise, 0.0, None))
    kept = np.clip(values, noise, None)
    deviance = p * math.log(2 * math.pi) + 2 * p * math.log(unit) + float(np.sum(np.log(kept)))
    deviance = deviance + (p - k) * math.log(noise) + float(np.sum(values / kept))
    log_likelihood = -0.5 * n * (deviance + (spectrum.tail.total / largest / noise if k < p else 0.0))
    if spectrum.scale is not None:
        # Standardized columns have a size of about one, and their standard deviations remain the units.
        log_likelihood -= n * float(np.sum(np.log(to_numpy(spectrum.scale))))
        lengths, noise = lengths * unit, noise * unit**2
    lengths, units, noises = to_device([lengths, np.full(p, unit), np.full(p, noise)], spectrum.vectors)
    return LatentFit(
        mean=spectrum.mean,
        scale=units if spectrum.scale is None else spectrum.scale,
        loadings=spectrum.vectors * lengths[:, None],
        noise=noises,
        spread=None,
        weight=n,
        n_rows=spectrum.n_rows,
        loglike=[log_likelihood],
        status=spectrum.status,
        residual=spectrum.residual,
        passes=spectrum.passes,
        axes=spectrum.vectors,
        lost=spectrum.lost if spectrum.status is Status.UNRESOLVED else None,
    )


@dataclass(frozen=True)
class LatentProblem(Problem[LatentFit]):
    """The latent Gaussian model of maximum likelihood; the closed form is requested by a solver of spectra."""

    kind: Any = LatentSolver

    def job(self, rows: RowsLike, request: LatentRequest) -> LatentJob:
        return rows_job(rows, request)

    def plan_job(self, job: LatentJob, asked: Any = "auto") -> Plan:
        plan = checked_plan(self.choose(job, asked), job)
        return replace(plan, why=f"{plan.why} (rows with missing entries: em)") if job.complete else plan

    def choose(self, job: LatentJob, asked: Any) -> LatentSolver:
        """The solver for a job: the one `asked` for, unless it takes only complete rows and there are missing entries.

        A solver of spectra stands for the closed form with that solver. "auto" takes the cheapest of all.
        """
        if not is_auto(asked):
            named = isinstance(asked, str) and asked in self.solvers
            solver = self.find(asked) if named else asked
            solver = solver if isinstance(solver, LatentSolver) else ClosedForm(asked)
            if job.complete or solver.takes_missing:
                return solver
        table = (*self.solvers.items(), (ClosedForm.name, ClosedForm))
        cheapest: LatentSolver = cached_choice(job, job.memory, table)[0]
        return cheapest

    def solve(self, rows: RowsLike, request: LatentRequest, asked: Any = "auto") -> tuple[LatentFit, Plan]:
        """The model of maximum likelihood for the rows.

        Missing entries may be found only when the rows are read. Reading then raises `MissingValues`, and the rows are
        fitted by a solver that takes missing entries.
        """
        job = rows_job(rows, request)
        if job.complete and not rows.shows_missing():
            try:
                return self.choose(job, asked).fit_rows(rows, request, spectra)
            except MissingValues as found:
                if not rows.traits.rereadable:
                    raise missing_after_reading(found) from found
        return self.choose(replace(job, complete=False), asked).fit_missing(rows, request, spectra)

    def solve_summary(self, summary: Any, request: LatentRequest, asked: Any = "auto") -> tuple[LatentFit, Plan]:
        """The model of maximum likelihood from a summary of complete rows, without a pass over them."""
        return self.choose(summary_job(summary, request), asked).fit_summary(summary, request, spectra)

    def empty_summary(self, rows: RowsLike, request: LatentRequest, asked: Any = "auto") -> Moments | Triangle:
        """An empty summary of the kind by which `solve` fits complete rows, for callers that fit it several times."""
        return self.choose(rows_job(rows, request), asked).empty_summary(rows.shape[1], request)
