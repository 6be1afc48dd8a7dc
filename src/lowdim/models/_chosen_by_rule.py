"""How latent Gaussian models are fitted with the number of components that a rule chooses."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..errors import MissingValues, holes_after_reading, needs_second_reading, rule_needs_complete_rows
from ..reading import Rows
from ..selection.choices import Choice
from ..selection.holes import eigenvalues_with_holes, loglike_without_components
from ..selection.penalties import penalised_curve
from ..selection.protocol import HeldOutScorer
from ..selection.rules import RULES, Rule, rule_of
from ..selection.scorers import MAX_TRIED
from ..solvers import LatentFit, Plan, Status, latent, spectra
from ..solvers.base import with_passes
from ..solvers.latent import LatentRequest
from ..summaries import Observed
from ._base import Model
from ._rule_choice import (
    apply_cv_rule,
    apply_rule,
    at_least_one,
    check_cv_rows,
    check_rule,
)


class ChosenByRule(Model):
    """Base class of latent Gaussian models: `n_components` as the name of a rule, with or without missing values."""

    #: Rules that may choose the number of components; None for all.
    _rules: ClassVar[tuple[str, ...] | None] = None
    missing: str
    solver: Any
    choice_: Any

    @abstractmethod
    def _latent_request(self, k: int) -> LatentRequest:
        """The request to the solver, for k components."""

    @abstractmethod
    def _count_parameters(self, k: int, p: int) -> int:
        """The number of free parameters of the model with k components of p columns."""

    @abstractmethod
    def _most_components(self, upper: int, p: int) -> int:
        """The largest number of components of p columns, where `upper` is the smaller of the numbers of rows and p."""

    def _fit_by_rule(self, name: str, rows: Rows) -> tuple[LatentFit, Plan]:
        """Fit with the number of components that a rule chooses."""
        rule = self._check_rule_rows(name, rows)
        unstored = self.missing == "unstored" and rows.traits.sparse
        if unstored or rows.shows_holes():
            return self._fit_rule_with_holes(rule, rows)
        try:
            if rule.needs != "folds":
                fit, the_plan = self._fit_eigenvalue_rule(rows, rule)
                return fit, with_passes(the_plan, fit.passes)
            self.choice_, total = apply_cv_rule(self._scorer_for_rule(), rows.source, rows.weights, self._seed())
        except MissingValues as holes:
            if not rows.traits.rereadable:
                raise holes_after_reading(holes) from holes
            return self._fit_rule_with_holes(rule, rows)
        return self._fit_chosen(rows, self.choice_.cross_validation.n_passes, total)

    def _fit_chosen(self, rows: Rows, passes: int, total: Any = None) -> tuple[LatentFit, Plan]:
        """Fit with the number of components of `choice_`, which took some passes, to the rows or to their summary."""
        request = self._latent_request(at_least_one(self.choice_.k, self.choice_.rule))
        if total is None:
            fit, the_plan = latent.solve(rows, request, self.solver, spectra)
            passes += fit.passes
        else:
            fit, the_plan = latent.solve_summary(total, request, self.solver, spectra)
        return with_passes(fit, passes), with_passes(the_plan, passes)

    def _fit_rule_with_holes(self, rule: Rule, rows: Rows) -> tuple[LatentFit, Plan]:
        """Fit rows with missing values with the number of components that a rule chooses, if it can be applied."""
        request = self._latent_request(1)
        if request.bayes or not rule.with_holes:
            raise self._needs_complete_rows(rule, bayes=request.bayes)
        if not rows.traits.rereadable:
            raise needs_second_reading(f"for n_components={rule.name!r}, since entries are missing")
        if rule.with_holes == "likelihood":
            return self._fit_by_likelihood(rule, rows)
        if rule.with_holes == "folds":
            tables = (rows.source, None)
            scorer = self._scorer_with_holes()
            self.choice_, _ = apply_cv_rule(scorer, rows.source, rows.weights, self._seed(), tables)
            return self._fit_chosen(rows, self.choice_.cross_validation.n_passes)
        options: Any = {"unstored": request.unstored, "seed": self._seed(), **self._eigenvalue_options()}
        e, passes = eigenvalues_with_holes(rows, **options)
        self.choice_, _ = apply_rule(rule, e, self._seed())
        return self._fit_chosen(rows, passes)

    def _fit_by_likelihood(self, rule: Rule, rows: Rows) -> tuple[LatentFit, Plan]:
        """Fit rows with missing values with the number of components of the smallest BIC or AIC."""
        p, fits = rows.shape[1], list[tuple[LatentFit, Plan]]()
        observed = rows.summarize(Observed(p, unstored=self._latent_request(1).unstored))
        most = min(self._most_components(min(p - 1, observed.n_rows - 1), p), MAX_TRIED)

        def loglike_of(k: int) -> float | None:
            if k == 0:
                return loglike_without_components(observed, self._ties_columns())
            fits.append(latent.solve(rows, self._latent_request(k), self.solver, spectra))
            fit = fits[-1][0]
            return None if fit.status is Status.UNDETERMINED else float(fit.loglike[-1])

        counts = partial(self._count_parameters, p=p)
        curve = penalised_curve(rule.name, observed.weight, loglike_of, counts, max(most, 1), None)
        self.choice_ = Choice(rule.name, int(np.argmin(curve)), curve, self._likelihood_assumes(rule))
        fit, the_plan = fits[at_least_one(self.choice_.k, rule.name) - 1]
        passes = 1 + sum(each.passes for each, _ in fits)
        return with_passes(fit, passes), with_passes(the_plan, passes)

    def _needs_complete_rows(self, rule: Rule, *, bayes: bool = False) -> ValueError:
        """The error for a rule that cannot be applied to rows with missing values, or not with a prior."""
        able = [name for name in self._rules or RULES if rule_of(name).with_holes]
        return rule_needs_complete_rows(rule.name, able, bayes=bayes)

    def _scorer_with_holes(self) -> HeldOutScorer:
        """The scorer that is used for n_components="cv" if rows have missing values."""
        return self.held_out_scorer()

    @abstractmethod
    def _eigenvalue_options(self) -> dict[str, Any]:
        """`standardize` and `ddof` of the eigenvalues that rules are applied to."""

    @abstractmethod
    def _ties_columns(self) -> bool:
        """Whether all columns have the same variance in the model without components."""

    def _likelihood_assumes(self, rule: Rule) -> str:
        """What BIC or AIC assume for this model."""
        return rule.assumes

    def _check_rule_rows(self, name: str, rows: Rows) -> Rule:
        """The rule of this name, if the model knows it and it can be applied to these rows, as far as is known."""
        rule = check_rule(name, self._rules)
        if self.missing == "unstored" and rows.traits.sparse and not rule.with_holes:
            raise self._needs_complete_rows(rule)
        if rule.needs == "folds":
            check_cv_rows(rows.shape[0])
        return rule

    def _scorer_for_rule(self) -> Any:
        """The scorer that is used for n_components="cv"."""
        return self.held_out_scorer()

    @abstractmethod
    def held_out_scorer(self) -> HeldOutScorer:
        """The scorer of held-out rows for `cross_validate`."""

    @abstractmethod
    def _fit_eigenvalue_rule(self, rows: Rows, rule: Rule) -> tuple[LatentFit, Plan]:
        """Fit complete rows with the number of components chosen by a rule that uses their eigenvalues."""
