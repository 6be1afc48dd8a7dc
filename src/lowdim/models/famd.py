"""Factor analysis of mixed data: principal components of numbers and categories."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from .._core.arrays import to_numpy
from .._core.coded import Categories
from .._core.types import RandomState
from ..coding import MISSING, Coding
from ..errors import ConvergenceWarning, list_names, warn_user
from ..linalg import is_constant, most_components
from ..reading.rows import Rows
from ..selection.rules import RuleName
from ..solvers import latent, spectra
from ..solvers.latent.base import LatentFit, LatentRequest
from ..solvers.latent.em import EM, observed_of, patterns_of
from ..solvers.problem import Status
from ..sources.categories import CodedSource
from ..summaries.latent import Completed, LatentGaussian
from ..summaries.levels import Levels
from ..summaries.moments import Moments
from .mixed import MixedModel, column_names, numbers_scale

#: EM keeps the noise variance above this fraction of the average variance, as in PPCA.
_FLOOR = 1e-10


def roles_of(kinds: Mapping[str, str], categorical: Sequence[str] | str | None) -> tuple[list[str], list[str]]:
    """The columns of numbers and the categories: those of text, truth values and categoricals, and those that are named
    in `categorical`. Dates are an error unless they are named there."""
    named = column_names(categorical)
    if unknown := [name for name in named if name not in kinds]:
        raise ValueError(
            f"categorical_features: there is no column {list_names(unknown)}; the columns are "
            f"{list_names(list(kinds), 20)}."
        )
    if other := [name for name, kind in kinds.items() if kind in ("date", "other") and name not in named]:
        raise ValueError(
            f"column {list_names(other)} holds {kinds[other[0]] if kinds[other[0]] == 'date' else 'object'}s, which "
            "are neither numbers nor categories. Leave it out, subtract a start and divide by a unit to make numbers "
            "of dates, or name it in categorical_features."
        )
    categories = [name for name, kind in kinds.items() if kind == "category" or name in named]
    return [name for name in kinds if name not in categories], categories


class FAMD(MixedModel):
    """Factor analysis of mixed data: the directions in which rows of numbers and categories vary most.

    The first dimension is the score of the rows for which the sum of the squared correlations with the columns of
    numbers and of the squared correlation ratios with the categories is largest. So a number and a category of any
    number of levels have the same say.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of dimensions. A number in (0, 1) keeps the fewest whose proportion of the inertia reaches it; the name
        of a rule keeps the number that the rule chooses; None keeps all.
    categorical_features : list of str, default=None
        Columns of numbers or dates that are categories, such as classes 1 to 3. Columns of text, truth values and
        categoricals always are.
    levels : dict of str to list, default=None
        The levels of categories, in their order. By default they are found in the rows, as in `MCA`.
    min_frequency : int or float, default=None
        Levels with fewer rows, or with a smaller share of the rows, are pooled in one level, "(rare)".
    missing : {"level", "passive", "error", "em"}, default="level"
        Missing entries of categories are a level of their own, "(missing)"; or they are passive, so that a row is where
        it would be with an average entry; or they are an error. Missing numbers are an error, unless it is "em": then
        they are estimated by EM (see below), and missing entries of categories are a level. Missing numbers of
        supplementary columns are replaced by the mean.
    supplementary : list of str, default=None
        Columns that do not take part in the fit. Their coordinates are computed in the same pass.
    random_state : int, RandomState or None, default=None
        Seed of rules that draw random numbers; None is a fixed seed.

    Attributes
    ----------
    components_ : array of shape (n_components, n_coded)
        Unit eigenvectors in the coded columns, numbers first, after a division by `scale_`.
    explained_variance_ : array of shape (n_components,)
        The eigenvalues.
    explained_variance_ratio_ : array of shape (n_components,)
        Their shares of the total inertia.
    levels_ : dict
        The levels of each category.
    mean_ : array of shape (n_coded,)
        The means of the numbers, and the share of the rows that have each level.
    scale_ : array of shape (n_coded,)
        Standard deviations of the numbers, with divisor n, and the square roots of the shares of the levels.
    singular_values_, n_components_, n_features_in_, feature_names_in_, n_samples_, total_inertia_, coding_, summary_

    Notes
    -----
    Numbers are standardised, and have weights q_j = 1. A level of share p_j is coded as z_j = 1{level j} / p_j - 1, and
    has the weight q_j = p_j [1]_. Each number has the inertia 1, and a category with m levels m - 1. Two passes, the
    first of which finds the levels, and P^2 numbers for P coded columns.

    References
    ----------
    .. [1] Pages (2004), Analyse factorielle de donnees mixtes.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import FAMD
    >>> rows = np.array([[20, "tea"], [30, "tea"], [60, "coffee"], [70, "coffee"], [40, "tea"]], dtype=object)
    >>> famd = FAMD(1).fit(rows)
    >>> famd.explained_variance_.round(2), famd.coding_.names
    (array([1.92]), ['x1', 'x2=coffee', 'x2=tea'])
    """

    _missing_choices = ("level", "passive", "error", "em")
    _missing_numbers_advice = 'missing="em" estimates them; or fill them first, or leave the column out.'

    def __init__(
        self,
        n_components: int | float | RuleName | None = None,
        *,
        categorical_features: Sequence[str] | None = None,
        levels: Mapping[str, Sequence[Any]] | None = None,
        min_frequency: float | int | None = None,
        missing: Literal["level", "passive", "error", "em"] = "level",
        supplementary: Sequence[str] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.categorical_features = categorical_features
        self.levels = levels
        self.min_frequency = min_frequency
        self.missing = missing
        self.supplementary = supplementary
        self.random_state = random_state

    def _roles(self, kinds: Mapping[str, str]) -> tuple[list[str], list[str]]:
        return roles_of(kinds, self.categorical_features)

    def _weights(self, moments: Any, coding: Coding) -> np.ndarray:
        # 1 / variance, and q_j / d_j^2 with q_j = d_j = p_j.
        a = len(coding.numbers)
        return np.concatenate([numbers_scale(moments, a), 1.0 / moments.mean[a:]])

    # ---- Missing numbers

    def _summed(self, rows: Rows, found: Levels) -> tuple[Moments, int]:
        coding, aside = self._whole_coding, self._supplementary()
        active = [name for name in coding.columns if name not in aside]
        numeric = [j for j, name in enumerate(coding.numbers) if name in active]
        if self.missing != "em" or not numeric:
            return super()._summed(rows, found)
        if np.any(found.numbers_missing()[numeric]):
            return self._summed_with_missing(rows, found, active)
        moments, passes = super()._summed(rows, found)
        # The conditional means are those of new rows.
        variance = np.diagonal(moments.scatter)[numeric] / moments.weight
        contrasts = Contrasts(coding, active, found).varying(moments.mean[numeric], variance)
        fit = None
        if contrasts.numbers:
            request = self._latent_request(len(contrasts.names), found)
            fit = latent.solve_summary(moments.image(contrasts.matrix()), request)[0]
        self._whole_coding = contrasts.completing(fit)
        return moments, passes

    def _summed_with_missing(self, rows: Rows, found: Levels, active: list[str]) -> tuple[Moments, int]:
        """As `_summed`, for rows with missing numbers: the expected moments given the observed entries."""

        def coded(contrasts: Contrasts) -> Rows:
            return Rows(CodedSource(rows.source, contrasts), rows.weights, rows.progress)

        contrasts = Contrasts(self._whole_coding, active, found)
        told, a = coded(contrasts), len(contrasts.numbers)
        observed, passes = observed_of(told)
        mean, squares, count = (to_numpy(each)[:a] for each in (observed.mean, observed.squares, observed.count))
        varying = contrasts.varying(mean, squares / count)
        if varying is not contrasts:
            contrasts, told = varying, coded(varying)
        if not contrasts.numbers:
            self._whole_coding = contrasts.completing(None)
            moments, more = super()._summed(rows, found)
            return moments, passes + more
        fit, plan = EM().fit_missing(told, self._latent_request(len(contrasts.names), found), spectra)
        if fit.status in (Status.NOT_CONVERGED, Status.UNDETERMINED):
            warn_user(
                f"missing='em': EM stopped after {len(fit.loglike) - 1} steps at residual {fit.residual:.1e}, above "
                f"its tolerance {plan.solver.tol:g}. {fit.advice}",
                ConvergenceWarning,
            )
        model = LatentGaussian(*map(to_numpy, (fit.mean, fit.scale, fit.loadings, fit.noise)))
        patterns = patterns_of(told)[0]
        completed = told.summarize(Completed(model)) if patterns is None else patterns.completed(model)
        self._whole_coding = contrasts.completing(fit)
        moments, more = super()._summed(rows, found)
        # Rows with conditional means in place of missing numbers lack the conditional covariances of these, which the
        # expected products have.
        total, unit = completed.total, model.scale
        second = (completed.second - total * total[:, None] / completed.weight) * unit * unit[:, None]
        some = [i for i, j in enumerate(contrasts.numbers) if found.numbers_missing()[j]]
        places = [contrasts.numbers[i] for i in some]
        scatter = moments.scatter.copy()
        scatter[np.ix_(places, places)] = second[np.ix_(some, some)]
        moments.scatter = scatter
        return moments, passes + fit.passes + (patterns is None) + more

    def _latent_request(self, p: int, found: Levels) -> LatentRequest:
        """The request for the model of p uncorrelated columns by which missing numbers are estimated."""
        most = most_components(found.n_rows, found.weight, p)
        k = self.n_components if isinstance(self.n_components, numbers.Integral) else p
        return LatentRequest(max(1, min(int(k), p - 1, most)), tied=True, floor=_FLOOR, seed=self._seed())


class Contrasts:
    """Maps blocks of numbers and categories to numbers and, for each category with m levels, m - 1 uncorrelated columns
    of mean zero and variance one.

    With p the shares of the levels and B an orthonormal basis of the complement of sqrt(p), level l of a category
    becomes row l of B over sqrt(p_l). Only the columns `active` of the table take part.
    """

    def __init__(self, coding: Coding, active: list[str], found: Levels) -> None:
        self._coding, self._active, self._found = coding, active, found
        # Missing numbers stay missing.
        self._unfilled = replace(coding, filled=[])
        #: The active numbers, among the numbers.
        self.numbers = [j for j, name in enumerate(coding.numbers) if name in active]
        #: The active categories, and the rows of their levels.
        self._tables: list[tuple[int, np.ndarray]] = []
        names = [coding.numbers[j] for j in self.numbers]
        for j, name in enumerate(coding.categories):
            if name not in active:
                continue
            lookup, shares = coding.lookups[j], np.zeros(len(coding.levels[j]))
            for label, weight in zip(found.labels[j], found.weights[j], strict=True):
                if weight > 0.0:
                    shares[lookup[label]] += weight
            if MISSING in lookup:
                shares[lookup[MISSING]] += found.missing(j)
            there = np.flatnonzero(shares > 0.0)
            root = np.sqrt(shares[there] / shares.sum())
            table = np.zeros((len(shares), len(there) - 1))
            table[there] = np.linalg.qr(root[:, None], mode="complete")[0][:, 1:] / root[:, None]
            self._tables.append((j, table))
            names += [f"{name} {i + 1}" for i in range(table.shape[1])]
        self.names = names

    def __call__(self, block: Categories) -> np.ndarray:
        coded = self._unfilled(block)
        # The code of no level is -1, which is the last row.
        parts = [np.vstack([table, np.zeros((1, table.shape[1]))])[coded.codes[:, j]] for j, table in self._tables]
        return np.concatenate([coded.numbers[:, self.numbers], *parts], axis=1)

    def varying(self, mean: np.ndarray, variance: np.ndarray) -> Contrasts:
        """The same without the numbers that are constant, which are replaced by the constant where they are missing;
        given the means and variances of the numbers."""
        constant = is_constant(np.sqrt(variance), mean)
        assert self._coding.means is not None, "found in the rows"
        means = self._coding.means.copy()
        means[self.numbers] = mean
        self._coding = replace(self._coding, means=means)
        names = [self._coding.numbers[j] for j, alone in zip(self.numbers, constant, strict=True) if alone]
        if not names:
            return self
        return Contrasts(self._coding, [name for name in self._active if name not in names], self._found)

    def matrix(self) -> np.ndarray:
        """The matrix that maps all coded columns to these columns, but for a constant."""
        coding, a = self._coding, len(self.numbers)
        out = np.zeros((coding.width, len(self.names)))
        out[self.numbers, range(a)] = 1.0
        for j, table in self._tables:
            out[coding.columns[coding.categories[j]], a : a + table.shape[1]] = table
            a += table.shape[1]
        return out

    def completing(self, fit: LatentFit | None) -> Coding:
        """The coding with the conditional means of a model of these columns; None if there are only categories.

        Let C be the covariance of the model, with numbers n and categories c. The regression on the categories, which
        are never missing, is C_cc^-1 C_cn, and the covariance of the numbers given these is C_nn - C_nc C_cc^-1 C_cn.
        """
        coding, places = self._coding, self.numbers
        assert coding.means is not None, "found in the rows"
        n, a = len(coding.numbers), len(places)
        means, shifts, covariance = coding.means.copy(), np.zeros((coding.width - n, n)), np.zeros((n, n))
        if fit is not None:
            unit, W, mean = to_numpy(fit.scale), to_numpy(fit.loadings), to_numpy(fit.mean)
            C = (W.T @ W + np.diag(to_numpy(fit.noise))) * unit * unit[:, None]
            slopes = np.linalg.solve(C[a:, a:], C[a:, :a])
            S = C[:a, :a] - C[:a, a:] @ slopes
            means[places] = mean[:a] - mean[a:] @ slopes
            covariance[np.ix_(places, places)] = 0.5 * (S + S.T)
            first = 0
            for j, table in self._tables:
                piece, last = coding.columns[coding.categories[j]], first + table.shape[1]
                shifts[piece.start - n : piece.stop - n, places] = table @ slopes[first:last]
                first = last
        return replace(coding, means=means, shifts=shifts, covariance=covariance)
