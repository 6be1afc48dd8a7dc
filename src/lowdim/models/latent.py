"""The base class of latent Gaussian models: posteriors, densities, imputation, samples, and rules for their size."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, astype, compute_lazy, device, in_range, namespace, to_numpy
from .._core.devices import moved_to_host
from .._core.schema import Dtype, Instance, ListOf, Maybe, Numbers, Real, Sometimes, Whole
from .._core.types import RandomState
from ..errors import (
    ConvergenceWarning,
    MissingValues,
    ResolutionWarning,
    choice,
    missing_after_reading,
    needs_second_reading,
    one_row,
    rule_needs_rows,
    unresolved,
    warn_user,
)
from ..linalg import most_components
from ..reading.rows import Rows
from ..selection.choose import (
    TOO_LARGE_TO_SIMULATE,
    MissingFits,
    MissingScorer,
    eigenvalues_with_missing,
)
from ..selection.criteria import penalised_curve
from ..selection.fold_methods import HeldOutScorer
from ..selection.parallel_analysis import check_count
from ..selection.rules import RULES, Choice, Rule, rule_of
from ..selection.scorers import varying_rows
from ..solvers import latent
from ..solvers.latent.base import LatentFit, LatentRequest
from ..solvers.latent.em import EM, patterns_of
from ..solvers.problem import Plan, Status, repeated_rows, with_passes
from ..sources.derived import mean_of_results, sum_of_results
from ..sources.frame import is_spark
from ..sources.opening import TableLike
from ..summaries.base import require_nonempty
from ..summaries.latent import LatentGaussian, observed_entries, unpack
from ..summaries.moments import Moments
from ..summaries.triangle import Triangle
from .base import Model, count_components, unpack_to
from .imputation import Bounds, draw_imputations, warn_of_negative
from .n_components import apply_cv_rule, at_least_one, check_cv_rows, check_rule, chosen_by
from .output import Maps, framed, framed_draws, results
from .spectral import DENSITY_AXES

# The base class of latent Gaussian models: posteriors, densities, imputation, samples.


MISSING = ("nan", "unstored")
#: The observed entries of a row say something about a direction of the latent variables if they explain at least this
#: share of its variance.
_INFORMATIVE = 1e-10


class Posterior(NamedTuple):
    """The posterior of the latent variables given the rows: means (n, k) and covariances (n, k, k)."""

    mean: Array
    covariance: Array


class Distances(NamedTuple):
    """Squared distances of rows from the mean within the space of the latent variables and outside it, (n,) each, and
    their degrees of freedom under the model, which depend on the observed entries of each row."""

    t2: np.ndarray
    q: np.ndarray
    t2_dof: np.ndarray
    q_dof: np.ndarray


#: A bound of all columns, one for each, or those of some, by their names.
BoundLike: TypeAlias = ArrayLike | Mapping[str, float]


class LatentModel(Model):
    """Base class of models x = mean + W^T u + e with u ~ N(0, I) and Gaussian noise e of diagonal covariance.

    A subclass defines the request to the solver (`_latent_request`) and sets the fitted attributes (`_unpack`). The
    fitted model is a `LatentGaussian`; the matrix `_turn` maps its latent variables to those of `components_`.
    """

    _takes_nan = True
    bootstrap_axes = DENSITY_AXES
    #: Rules that may choose the number of components; None for all.
    _rules: ClassVar[tuple[str, ...] | None] = None
    #: What BIC and AIC assume for this model, if that is not what the rules say.
    _likelihood_assumes: ClassVar[str] = ""
    solver: Any
    _gaussian: LatentGaussian
    _turn: Array | None
    missing: Any
    residual_: float
    loglike_: list[float]
    n_iter_: int
    n_passes_: int
    total_weight_: float
    mean_: np.ndarray
    scale_: np.ndarray | None
    choice_: Choice
    fitted_attributes = {
        "residual_": Real("nonnegative"),
        "loglike_": ListOf(Real()),
        "n_iter_": Whole(),
        "n_passes_": Whole(),
        "total_weight_": Real("positive"),
        "mean_": Numbers("p"),
        "scale_": Maybe(Numbers("p", sign="positive")),
        "choice_": Sometimes(Instance("selection.Choice")),
        "_dtype": Dtype(),
        "_gaussian": Instance("models.LatentGaussian", shares="kp"),
        "_turn": Maybe(Numbers("k", "k")),
    }

    @abstractmethod
    def _latent_request(self, k: int) -> LatentRequest:
        """The request to the solver, for k components."""

    @abstractmethod
    def _count_parameters(self, k: int, p: int) -> int:
        """The number of free parameters of the model with k components of p columns."""

    @abstractmethod
    def _unpack(self, fit: LatentFit, dtype: Any) -> None:
        """Set the fitted attributes."""

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters: loadings up to a rotation, noise variances and means."""
        check_is_fitted(self)
        return self._count_parameters(self.n_components_, self.n_features_in_)

    def _check_parameters(self) -> None:
        if self.missing not in MISSING:
            raise choice("missing", self.missing, MISSING)

    def _plan_rows(self, rows: Rows) -> Plan:
        self._check_rows(rows)
        if isinstance(self.n_components, str):
            self._check_rule_rows(self.n_components, rows)
            k = 1
        else:
            k = self._k(repeated_rows(rows), rows.shape[1])
        return latent.plan(rows, self._latent_request(k), self.solver)

    def _fit_rows(self, rows: Rows) -> None:
        self._check_rows(rows)
        if isinstance(self.n_components, str):
            fit, the_plan = self._fit_by_rule(self.n_components, rows)
        else:
            self.__dict__.pop("choice_", None)
            request = self._latent_request(self._k(repeated_rows(rows), rows.shape[1]))
            fit, the_plan = latent.solve(rows, request, self.solver)
        self._finish(fit, the_plan, rows.dtype)

    def _fit_to(self, summary: Any, advice: str = "") -> Self:
        """Fit to a summary of rows; `advice` for something else is a part of the error."""
        self._check_parameters()
        if not isinstance(summary, Moments | Triangle):
            raise TypeError(f"fit_summary needs a Moments or a Triangle, got {type(summary).__name__}.{advice}")
        require_nonempty(summary)
        with self._restore_on_error():
            self._take_names(summary)
            self.n_features_in_ = summary.n_features
            if isinstance(self.n_components, str):
                rule = check_rule(self.n_components, self._rules)
                if rule.needs == "folds":
                    raise rule_needs_rows(rule.name)
                fit, the_plan = self._fit_summary_by_rule(summary, rule)
            else:
                self.__dict__.pop("choice_", None)
                n = most_components(summary.n_rows, summary.weight, 2**62)
                fit, the_plan = self._fit_components(summary, self._k(n, summary.n_features))
            self._finish(fit, the_plan, summary.mean.dtype)
        return self

    def _fit_components(self, summary: Any, k: int, start: np.ndarray | None = None) -> tuple[LatentFit, Plan]:
        """Fit k components to a summary, from these uniquenesses (shares of the variances of the columns), if any."""
        request = self._latent_request(k)
        request = request if start is None else replace(request, start=start)
        return latent.solve_summary(summary, request, self._summary_solver())

    def _summary_solver(self) -> Any:
        """The solver for a summary."""
        return self.solver

    def _check_rows(self, rows: Rows) -> None:
        """Refuse too few rows, if their number is known."""
        n = repeated_rows(rows)
        if n is not None and n < 2:
            raise one_row()

    def _finish(self, fit: LatentFit, the_plan: Plan, dtype: Any) -> None:
        """Set the fitted attributes, and warn if the solver has not converged."""
        self.plan_, self.solver_ = the_plan, the_plan.solver.name
        self.n_samples_ = fit.n_rows
        self.status_, self.residual_ = fit.status, fit.residual
        self.loglike_ = [float(value) for value in fit.loglike]
        self.n_iter_ = len(fit.loglike) - 1
        self.n_passes_ = fit.passes
        self.total_weight_, self._dtype = fit.weight, dtype
        on_host = fit if isinstance(fit.mean, np.ndarray) else moved_to_host(fit)
        unpack_to(fit.mean, self, partial(self._unpack, on_host), dtype)
        if fit.status in (Status.NOT_CONVERGED, Status.UNDETERMINED):
            warn_user(
                f"solver={self.solver_!r} stopped after {self.n_iter_} steps at residual {fit.residual:.1e}, above its "
                f"tolerance {the_plan.solver.tol:g}. {fit.advice}",
                ConvergenceWarning,
            )
        elif fit.lost is not None:
            warn_user(unresolved(*fit.lost, self.solver_), ResolutionWarning)

    def _k(self, n: int | None, p: int) -> int:
        """n_components as a number."""
        k = count_components(self.n_components, n, p, fractions=False)
        return self._most_components(p if n is None else min(n, p), p) if k is None else k

    def _most_components(self, upper: int, p: int) -> int:
        """The largest number of components of p columns, where `upper` is the smaller of the numbers of rows and p."""
        return upper

    # ---- The number of components that a rule chooses, with or without missing values

    def _fit_by_rule(self, name: str, rows: Rows) -> tuple[LatentFit, Plan]:
        """Fit with the number of components that a rule chooses."""
        rule = self._check_rule_rows(name, rows)
        unstored = self.missing == "unstored" and rows.traits.sparse
        if unstored or rows.shows_missing():
            return self._fit_rule_with_missing(rule, rows)
        try:
            if rule.needs != "folds":
                fit, the_plan = self._fit_eigenvalue_rule(rows, rule)
                return fit, with_passes(the_plan, fit.passes)
            scorer = self._scorer_for_rule()
            self.choice_, total, passes = apply_cv_rule(scorer, rows.source, rows.weights, self._seed())
        except MissingValues as found:
            if not rows.traits.rereadable:
                raise missing_after_reading(found) from found
            return self._fit_rule_with_missing(rule, rows)
        return self._fit_chosen(rows, passes, total)

    def _fit_chosen(self, rows: Rows, passes: int, total: Any = None) -> tuple[LatentFit, Plan]:
        """Fit with the number of components of `choice_`, which took some passes, to the rows or to their summary."""
        request = self._latent_request(at_least_one(self.choice_.k, self.choice_.rule))
        if total is None:
            fit, the_plan = latent.solve(rows, request, self.solver)
            passes += fit.passes
        else:
            fit, the_plan = latent.solve_summary(total, request, self.solver)
        return with_passes(fit, passes), with_passes(the_plan, passes)

    def _fit_rule_with_missing(self, rule: Rule, rows: Rows) -> tuple[LatentFit, Plan]:
        """Fit rows with missing values with the number of components that a rule chooses, if it can be applied."""
        request = self._latent_request(1)
        if request.bayes:
            raise ValueError(
                f"n_components={rule.name!r} compares models of maximum likelihood, and the rows have missing values: "
                "with prior='vb', components that are not needed are dropped anyway. Pass a number, or prior=None."
            )
        if not rule.with_missing:
            raise self._needs_complete_rows(rule)
        if not rows.traits.rereadable:
            raise needs_second_reading(f"for n_components={rule.name!r}, since entries are missing")
        varying_only, varying = varying_rows(rows, request.unstored)
        if rule.with_missing == "likelihood":
            return self._fit_by_likelihood(rule, rows, varying_only)
        if rule.with_missing == "folds":
            tables, source = (varying_only.source, None), varying_only.source
            self.choice_, _, more = apply_cv_rule(self._missing_scorer(), source, rows.weights, self._seed(), tables)
            return self._fit_chosen(rows, 1 + more)
        options: Any = {"unstored": request.unstored, "seed": self._seed(), **self._eigenvalue_options()}
        e, more = eigenvalues_with_missing(varying_only, varying, **options)
        patterns = patterns_of(varying_only, request.unstored)[0]
        if patterns is None and "patterns" in rule.options:
            raise ValueError(f"n_components={rule.name!r}: {TOO_LARGE_TO_SIMULATE}; pass a number, or another rule.")
        self.choice_, _ = chosen_by(rule, e, self._seed(), patterns=patterns)
        return self._fit_chosen(rows, 1 + more)

    def _fit_by_likelihood(self, rule: Rule, rows: Rows, varying: Rows) -> tuple[LatentFit, Plan]:
        """Fit rows with missing values with the number of components of the smallest BIC or AIC, which is found from
        the columns that are `varying`."""
        fits = MissingFits(varying, self._latent_request, self._count_parameters, self.solver)
        p, n = varying.shape[1], fits.observed.n_rows
        most = max(self._most_tried(min(p - 1, n - 1), p), 1)
        curve = fits.curve(rule.name, most)
        self.choice_ = Choice(rule.name, int(np.argmin(curve)), curve, self._likelihood_assumes or rule.assumes)
        if varying is not rows:
            return self._fit_chosen(rows, 1 + fits.passes)
        k = at_least_one(self.choice_.k, rule.name)
        fits.fit(k)
        # What is found from the components before may be better than what is found without them, or worse.
        found = [fits.found[k], latent.solve(rows, self._latent_request(k), self.solver)]
        passes = 1 + fits.passes + found[1][0].passes
        fit, the_plan = max(found, key=lambda pair: pair[0].loglike[-1])
        return with_passes(fit, passes), with_passes(the_plan, passes)

    def _most_tried(self, upper: int, p: int) -> int:
        """The largest number of components that rules try for p columns, where `upper` is the number of rows or p."""
        return upper

    def _missing_scorer(self) -> HeldOutScorer:
        """The scorer for n_components="cv" if values are missing."""
        solver = {"solver": self.solver} if isinstance(self.solver, EM) else {}
        return MissingScorer(self._latent_request, estimator=type(self).__name__, most=self._most_tried, **solver)

    def _choose_by_likelihood(
        self, rule: Rule, n: float, most: int, without: float, fit: Callable[..., Any], bound: float | None = None
    ) -> list[tuple[LatentFit, Plan]]:
        """Set `choice_` to that of BIC or AIC among 0, 1, ..., `most` components of n rows, and return the fits of 1,
        2, ... components that it needed.

        The curve is price * (number of parameters) - 2 ln L, with the price 2 (AIC) or ln n (BIC), and `without` is
        ln L without components. `fit(k, before)` fits k components, and `before` is the fit of k - 1. If no likelihood
        exceeds `bound`, the curve ends where further components cost more than they could gain. If that is so for one
        component already, there are no fits.
        """
        fits: list[tuple[LatentFit, Plan]] = []

        def loglike_of(k: int) -> float | None:
            if k == 0:
                return without
            fits.append(fit(k, fits[-1][0] if fits else None))
            found = fits[-1][0]
            return None if found.status is Status.UNDETERMINED else float(found.loglike[-1])

        counts = partial(self._count_parameters, p=self.n_features_in_)
        curve = penalised_curve(rule.name, n, loglike_of, counts, most, bound)
        self.choice_ = Choice(rule.name, int(np.argmin(curve)), curve, self._likelihood_assumes or rule.assumes)
        return fits

    def _needs_complete_rows(self, rule: Rule) -> ValueError:
        """The error for a rule that cannot be applied to rows with missing values."""
        able = ", ".join(repr(name) for name in self._rules or RULES if rule_of(name).with_missing)
        return ValueError(
            f"n_components={rule.name!r} needs complete rows, without NaN or other missing values. Rules for rows with "
            f"missing values are {able}. Or pass a number, or apply the rule to draws of impute(X, n_draws=...)."
        )

    @abstractmethod
    def _eigenvalue_options(self) -> dict[str, Any]:
        """`scale` and `ddof` of the eigenvalues that rules are applied to."""

    def _check_rule_rows(self, name: str, rows: Rows) -> Rule:
        """The rule of this name, if the model knows it and it can be applied to these rows, as far as is known."""
        rule = check_rule(name, self._rules)
        if self.missing == "unstored" and rows.traits.sparse and not rule.with_missing:
            raise self._needs_complete_rows(rule)
        if rule.needs == "folds":
            check_cv_rows(rows.shape[0])
        return rule

    def _scorer_for_rule(self) -> Any:
        """The scorer that is used for n_components="cv" if the rows are complete."""
        return self.held_out_scorer()

    @abstractmethod
    def held_out_scorer(self) -> HeldOutScorer:
        """The scorer of held-out rows for `cross_validate`."""

    @abstractmethod
    def _fit_summary_by_rule(self, summary: Any, rule: Rule) -> tuple[LatentFit, Plan]:
        """Fit to a summary with the number of components that a rule chooses."""

    @abstractmethod
    def _fit_eigenvalue_rule(self, rows: Rows, rule: Rule) -> tuple[LatentFit, Plan]:
        """Fit complete rows with the number of components chosen by a rule that uses their eigenvalues."""

    # ---- Posteriors, densities and imputation of rows, with or without missing values

    def _expect(self, block: Array) -> tuple[Array, Array, Array]:
        """Means (k, b), packed covariances and log-densities of the rows of a block."""
        entries = observed_entries(block, self.missing == "unstored")
        return self._gaussian.expect(entries)

    def _scoring(self) -> Any:
        turn = self._turn

        def scores(block: Array) -> Array:
            u = self._expect(block)[0]
            return astype((u if turn is None else turn @ u).T, block.dtype)

        return scores

    def _keep_first(self, k: int) -> None:
        # Rows are explained by all latent variables, of whose expectations the first k are returned.
        turn, g = self._turn, self._gaussian
        super()._keep_first(k)
        if turn is None:
            turn = namespace(g.mean).eye(g.k, dtype=g.mean.dtype, device=device(g.mean))
        self._turn = turn[:k, :]

    def posterior(self, X: TableLike) -> Posterior:
        """Means and covariances of the latent variables given each row of `X`, in which NaN is a missing value.

        For a row without observed entries this is the prior, with mean 0 and covariance I (or `phi_`).
        """
        check_is_fitted(self)
        k, turn = self._gaussian.k, self._turn

        def both(block: Array) -> Array:
            u, covariance, _ = self._expect(block)
            xp = namespace(u)
            full = xp.permute_dims(unpack(covariance, k), (2, 0, 1))
            if turn is not None:
                u, full = turn @ u, turn @ full @ turn.T
            return astype(xp.concat([u.T, xp.reshape(full, (-1, k * k))], axis=1), block.dtype)

        joined = self._map(X, both, "posterior")
        return Posterior(joined[:, :k], namespace(joined).reshape(joined[:, k:], (-1, k, k)))

    def score_samples(self, X: TableLike) -> np.ndarray:
        """Log-density of the observed entries of each row; 0 for a row without any."""
        check_is_fitted(self)
        point = self._plug_in()

        def log_density(block: Array) -> Array:
            entries = observed_entries(block, self.missing == "unstored")
            return astype(point.expect(entries)[2], block.dtype)

        return self._map(X, log_density, "score_samples")

    def distances(self, X: TableLike) -> Distances:
        """T2 and Q of each row given its observed entries, for `lowdim.inspect.diagnose`.

        Notes
        -----
        Let z be the o observed entries of a row less their mean, W (k, o) and Psi their loadings and noise variances,
        and C = W^T W + Psi their covariance. The posterior mean u = M^{-1} W Psi^{-1} z, with M = I + W Psi^{-1} W^T,
        has the covariance V = I - M^{-1} under the model, of rank r = min(k, o) unless loadings are zero. Then

            T2 = u^T V^+ u,    Q = (z - W^T f)^T Psi^{-1} (z - W^T f),    f = V^+ u,

        where f are the scores of weighted least squares (Bartlett's). T2 + Q = z^T C^{-1} z, and under the model T2 and
        Q are independent chi-squares of r and o - r degrees of freedom. For complete rows of PPCA, T2 is
        sum_k (v_k^T z)^2 / lambda_k over the components v_k, as for PCA with `ddof=0`, and Q is PCA's squared distance
        to the subspace in units of the noise variance. With `prior="vb"` the loadings are taken as exact.

        One pass, with the operations of `transform` and k^3 more for each row.
        """
        check_is_fitted(self)
        g = self._plug_in()

        def measure(block: Array) -> Array:
            entries = observed_entries(block, self.missing == "unstored")
            u, covariance, _ = g.expect(entries)
            xp = namespace(u)
            C = xp.permute_dims(unpack(covariance, g.k), (2, 0, 1))
            values, vectors = xp.linalg.eigh(xp.eye(g.k, dtype=C.dtype, device=device(C)) - C)
            # What the observed entries say nothing about has no variance; rounding errors of it are cut off.
            informed = values > _INFORMATIVE
            along = xp.sum(vectors * u.T[:, :, None], axis=1)
            scaled = xp.where(informed, along, xp.zeros_like(along)) / xp.where(informed, values, xp.ones_like(values))
            f = xp.sum(vectors * scaled[:, None, :], axis=2).T
            rank = xp.sum(astype(informed, u.dtype), axis=1)
            left = entries.across(xp.ones_like(g.noise)[None, :])[0, :] - rank
            t2, q = xp.sum(scaled * along, axis=1), entries.misfit(g.loadings, f, g.noise)
            return xp.stack([t2, xp.where(left > 0.5, q, xp.zeros_like(q)), rank, left], axis=1)

        found = to_numpy(compute_lazy(self._map(X, measure, "distances"))).astype(np.float64)
        return Distances(*found.T)

    def score(self, X: TableLike, y: TableLike | None = None) -> float:
        """Average log-density of the rows of `X`."""
        X, _ = self._by_name(X, y, fitted=True)
        return mean_of_results(self.score_samples(X))

    def _plug_in(self) -> LatentGaussian:
        """The model with its parameters at their posterior means."""
        g = self._gaussian
        return g if g.spread is None else LatentGaussian(g.mean, g.scale, g.loadings, g.noise)

    def bic(self, X: TableLike) -> float:
        """BIC: -2 log-likelihood of `X` + ln(n) times the number of free parameters. Smaller is better."""
        total, n = sum_of_results(self.score_samples(X))
        return -2.0 * total + math.log(n) * self.n_parameters_

    def aic(self, X: TableLike) -> float:
        """AIC: -2 log-likelihood of `X` + twice the number of free parameters. Smaller is better."""
        return -2.0 * sum_of_results(self.score_samples(X))[0] + 2.0 * self.n_parameters_

    @overload
    def impute(
        self,
        X: TableLike,
        *,
        return_std: Literal[False] = False,
        n_draws: int | None = None,
        refit: bool = False,
        random_state: RandomState | np.random.Generator = None,
        lower: BoundLike | None = None,
        upper: BoundLike | None = None,
    ) -> np.ndarray: ...
    @overload
    def impute(
        self,
        X: TableLike,
        *,
        return_std: Literal[True],
        lower: BoundLike | None = None,
        upper: BoundLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def impute(
        self,
        X: TableLike,
        *,
        return_std: bool = False,
        n_draws: int | None = None,
        refit: bool = False,
        random_state: RandomState | np.random.Generator = None,
        lower: BoundLike | None = None,
        upper: BoundLike | None = None,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """`X` with missing values replaced by their expectations given the observed entries of the row, or drawn.

        Parameters
        ----------
        X : rows, in which NaN is a missing value
        return_std : bool, default=False
            Whether to return also the standard deviations of the imputed values, including noise, and zero for observed
            entries.
        n_draws : int, default=None
            The number of draws of the missing values from their joint distribution given the observed entries of the
            row, for multiple imputation: `lowdim.selection.pool` combines what is computed from each.
        refit : bool, default=False
            With `n_draws`: whether each draw has parameters of its own, from a fit to rows of `X` that are drawn with
            replacement. `X` must be the rows of the fit, without weights.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the draws; None is that of the model.
        lower, upper : number, array of shape (n_features,), or dict from names of columns to numbers, default=None
            Bounds of the missing values, such as 0 for a length; NaN, or a column that is not named, for none. Observed
            entries are left as they are.

        Returns
        -------
        array of shape (n_samples, n_features), a pair of them with `return_std`, or with `n_draws` an array of shape
        (n_draws, n_samples, n_features). All are dense; see `impute_at` for single entries of a large sparse table.
        Of a data frame of Spark, the same data frame with filled columns and, with `return_std`, further columns whose
        names end with "_std".
        With `set_output`, all are data frames, and draws a list of them.

        Notes
        -----
        A draw takes u from its posterior N(E[u], C) given the row, then each missing entry from N(mean + w^T u, noise).
        The parameters are by default those of the fit. That is right for predictions, but if parameters are uncertain,
        as with few rows or many missing entries, the draws vary too little, and intervals from `pool` are too narrow.
        With `refit=True` they include this uncertainty, as in the bootstrap of Honaker and King [1]_: proper multiple
        imputation, at the price of one fit for each draw. With `prior="vb"`, loadings and means are drawn from their
        posterior, without a refit; the noise variance is not.

        With bounds, expectations and standard deviations are those of the normal distribution N(m, s^2) of an entry,
        truncated to [a, b] [2]_: with alpha = (a - m) / s, beta = (b - m) / s, the standard normal density phi and
        distribution function Phi, and Z = Phi(beta) - Phi(alpha),

            m + s d,  s^2 (1 + (alpha phi(alpha) - beta phi(beta)) / Z - d^2),  d = (phi(alpha) - phi(beta)) / Z.

        Several missing entries of a row are truncated one by one. A draw, however, takes all of them jointly, again and
        again until all are within their bounds; if a hundred draws are not, what is outside is drawn from the truncated
        distribution of e given u. The fit itself knows nothing of bounds. Without bounds, there is an
        `ImputedRangeWarning` if values below zero are filled in where no observed entry of `X` is below zero, although
        at least three of them would be if the column were Gaussian.

        One pass over the rows, or with `refit` those of a fit and one more for each draw; memory for the results.

        References
        ----------
        .. [1] Honaker, King (2010), What to do about missing values in time-series cross-section data.
        .. [2] Johnson, Kotz, Balakrishnan (1994), Continuous univariate distributions, volume 1, section 13.10.1.
        """
        check_is_fitted(self)
        bounds = Bounds.of(self, lower, upper)
        if n_draws is not None:
            if return_std:
                raise ValueError("return_std=True is for expectations; the spread of the n_draws draws tells the same.")
            draws = draw_imputations(self, X, n_draws, refit, random_state, bounds)
            return framed_draws(self, draws, self._row_names, X)
        if refit or random_state is not None:
            name = "refit" if refit else "random_state"
            raise ValueError(f"{name} is for draws of missing values; pass n_draws as well, or leave it out.")
        counts: list[np.ndarray] = []
        filled = results(self._imputation_maps(X, return_std, bounds, counts))
        if is_spark(filled):
            return filled
        warn_of_negative(self, counts)
        p = self.n_features_in_
        parts = (filled[:, :p], filled[:, p:]) if return_std else (filled,)
        found = tuple(framed(self, part, self._row_names, X) for part in parts)
        return found if return_std else found[0]

    def impute_to(
        self,
        X: TableLike,
        path: str | PathLike[str],
        *,
        return_std: bool = False,
        lower: BoundLike | None = None,
        upper: BoundLike | None = None,
        keep: Sequence[str] = (),
        overwrite: bool = False,
    ) -> str:
        """Write what `impute` returns for `X` to a file, with the names of the columns of the fit (or x1, x2, ...).

        With `return_std`, standard deviations follow, in columns whose names end with "_std". Draws are not written:
        they belong to analyses of tables in memory. For `path`, `keep` and `overwrite` see `transform_to`.
        """
        check_is_fitted(self)
        counts: list[np.ndarray] = []
        maps = partial(
            self._imputation_maps, return_std=return_std, bounds=Bounds.of(self, lower, upper), counts=counts
        )
        written = self._write(maps, X, path, "impute_to", keep, overwrite, self._wanted())
        warn_of_negative(self, counts)
        return written

    def _imputation_maps(
        self, X: Any, return_std: bool = False, bounds: Bounds | None = None, counts: list[np.ndarray] | None = None
    ) -> Maps:
        """The maps that `impute` applies to its arguments; standard deviations lie beside the imputed values.

        Without bounds, `counts` gets for each block in main memory the numbers of entries of each column that are
        observed and negative, observed, and filled in and negative.
        """
        unstored = self.missing == "unstored"
        tables = self._gaussian.predictive_tables() if return_std or bounds is not None else None

        def names() -> list[str]:
            columns = list(self._row_names())
            return columns + [f"{name}_std" for name in columns] if return_std else columns

        def fill(block: Array) -> Array:
            entries = observed_entries(block, unstored)
            u, covariance, _ = self._gaussian.expect(entries)
            xp = namespace(u)
            known = entries.known()
            guess = self._gaussian.mean + self._gaussian.scale * (u.T @ self._gaussian.loadings)
            if tables is not None:
                sd = xp.sqrt(self._gaussian.predictive_terms(u, covariance).T @ tables)
                guess, sd = (guess, sd) if bounds is None else bounds.moments(guess, sd)
            filled = xp.where(known, entries.values(), guess)
            if bounds is None and counts is not None and isinstance(filled, np.ndarray):
                below = np.sum(known & (filled < 0.0), axis=0)
                counts.append(np.stack([below, np.sum(known, axis=0), np.sum(~known & (filled < 0.0), axis=0)]))
            if return_std:
                filled = xp.concat([filled, xp.where(known, xp.zeros_like(sd), sd)], axis=1)
            return astype(filled, block.dtype)

        fill.replaces_rows = True  # type: ignore[attr-defined] # see `map_rows`
        return [self._row_map(X, fill, "impute", names)]

    @overload
    def impute_at(
        self,
        X: TableLike,
        rows: ArrayLike,
        columns: ArrayLike,
        *,
        return_std: Literal[False] = False,
        lower: BoundLike | None = None,
        upper: BoundLike | None = None,
    ) -> np.ndarray: ...
    @overload
    def impute_at(
        self,
        X: TableLike,
        rows: ArrayLike,
        columns: ArrayLike,
        *,
        return_std: Literal[True],
        lower: BoundLike | None = None,
        upper: BoundLike | None = None,
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def impute_at(
        self,
        X: TableLike,
        rows: ArrayLike,
        columns: ArrayLike,
        *,
        return_std: bool = False,
        lower: BoundLike | None = None,
        upper: BoundLike | None = None,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Expectations of single entries given the observed entries of their rows, as in `impute`.

        Parameters
        ----------
        X : rows
        rows, columns : arrays of integers of equal length
            The rows and columns of the entries.
        return_std : bool, default=False
            Whether to return the standard deviations of the entries as well.
        lower, upper : number, array of shape (n_features,), or dict from names of columns to numbers, default=None
            Bounds of the entries, as for `impute`.
        """
        check_is_fitted(self)
        bounds = Bounds.of(self, lower, upper)
        i, j = np.asarray(rows), np.asarray(columns)
        if i.shape != j.shape or i.ndim != 1 or (i.size and (i.dtype.kind not in "iu" or j.dtype.kind not in "iu")):
            raise ValueError(
                f"rows and columns must be vectors of whole numbers of equal length, got shapes {i.shape}, {j.shape}."
            )
        if i.size and (i.min() < 0 or j.min() < 0 or j.max() >= self.n_features_in_):
            raise ValueError(f"rows must be at least 0, and columns between 0 and {self.n_features_in_ - 1}.")
        i, j = i.astype(np.int64), j.astype(np.int64)

        def expect(block: Array) -> Array:
            u, covariance, _ = self._expect(block)
            return namespace(u).concat([u, covariance]).T if return_std or bounds is not None else u.T

        g = self._gaussian
        found = self._map(X, expect, "impute_at")
        if i.size and i.max() >= found.shape[0]:
            raise ValueError(f"rows must be below {found.shape[0]}, the number of rows of X, got {i.max()}.")
        xp = namespace(g.mean)
        at, column = asarray_like(i, g.mean), asarray_like(j, g.mean)
        picked = compute_lazy(namespace(found).take(found, at, axis=0)).T
        u, covariance = picked[: g.k, :], picked[g.k :, :]
        guess = xp.take(g.mean, column) + xp.take(g.scale, column) * xp.sum(
            u * xp.take(g.loadings, column, axis=1), axis=0
        )
        if not return_std and bounds is None:
            return astype(guess, self._dtype)
        tables = xp.take(g.predictive_tables(), column, axis=1)
        sd = xp.sqrt(xp.sum(g.predictive_terms(u, covariance) * tables, axis=0))
        if bounds is not None:
            guess, sd = Bounds(bounds.low[j], bounds.high[j]).moments(guess, sd)
        return (astype(guess, self._dtype), astype(sd, self._dtype)) if return_std else astype(guess, self._dtype)

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> np.ndarray:
        """Rows drawn from the fitted model."""
        check_is_fitted(self)
        check_count("n_samples", n_samples)
        random = check_random_state(self.random_state if random_state is None else random_state)
        g = self._gaussian
        u = random.standard_normal((n_samples, g.k))
        e = random.standard_normal((n_samples, g.loadings.shape[1]))
        z = u @ to_numpy(g.loadings) + e * np.sqrt(to_numpy(g.noise))
        return asarray_like(to_numpy(g.mean) + z * to_numpy(g.scale), g.mean, dtype=self._dtype)

    def get_covariance(self) -> np.ndarray:
        """The model's covariance W^T W + diag(noise)."""
        check_is_fitted(self)
        g = self._gaussian
        W = g.loadings * g.scale
        return in_range(_add_diagonal(W.T @ W, g.noise * g.scale**2), self._dtype)

    def get_precision(self) -> np.ndarray:
        """The inverse of the model's covariance: P = 1/noise - (W/noise)^T M^{-1} W/noise.

        Only the k x k matrix M = I + W diag(1/noise) W^T has to be inverted.
        """
        check_is_fitted(self)
        g = self._plug_in()
        G, _, _ = g.expect_complete()
        P = _add_diagonal(-(g.weighted.T @ G[:, :-1]), 1.0 / g.noise)
        return in_range(P / g.scale[:, None] / g.scale[None, :], self._dtype)


def _add_diagonal(A: Array, diagonal: Array) -> Array:
    xp = namespace(A)
    return A + xp.eye(A.shape[0], dtype=A.dtype, device=device(A)) * diagonal[None, :]
