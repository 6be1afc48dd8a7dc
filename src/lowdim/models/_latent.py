"""The base class of latent Gaussian models: posteriors, densities, imputation, samples."""

from __future__ import annotations

import math
import numbers
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._placing import placed_on_host
from .._xp import Array, asarray_like, astype, compute_lazy, device, in_range, namespace, to_numpy
from ..attributes import Dtype, Instance, ListOf, Maybe, Numbers, Real, Sometimes, Whole
from ..errors import (
    ConvergenceWarning,
    choice,
    n_components_out_of_range,
    one_row,
    warn_user,
)
from ..reading import Rows
from ..solvers import LatentFit, Plan, Status, latent, spectra
from ..solvers.base import repeated_rows, total_weight
from ..sources import is_frame_of_engine, mean_of_results, sum_of_results
from ..summaries.entries import observed_entries
from ..summaries.latent import LatentGaussian
from ..summaries.packed import unpack
from ._chosen_by_rule import ChosenByRule
from ._devices import unpack_to
from ._draws import draw_imputations
from ._output import framed, framed_draws
from ._rule_choice import DENSITY_AXES
from ._writing import Maps, results

MISSING = ("nan", "unstored")


class Posterior(NamedTuple):
    """The posterior of the latent variables given the rows: means (n, k) and covariances (n, k, k)."""

    mean: Array
    covariance: Array


class LatentModel(ChosenByRule):
    """Base class of models x = mean + W^T u + e with u ~ N(0, I) and Gaussian noise e of diagonal covariance.

    A subclass defines the request to the solver (`_latent_request`) and sets the fitted attributes (`_unpack`). The
    fitted model is a `LatentGaussian`; the matrix `_turn` maps its latent variables to those of `components_`.
    """

    _takes_nan = True
    bootstrap_axes = DENSITY_AXES
    n_components: Any
    _gaussian: LatentGaussian
    _turn: Array | None
    _dtype: Any
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
        return latent.plan(rows, self._latent_request(k), self.solver, spectra)

    def _fit_rows(self, rows: Rows) -> None:
        self._check_rows(rows)
        if isinstance(self.n_components, str):
            fit, the_plan = self._fit_by_rule(self.n_components, rows)
        else:
            self.__dict__.pop("choice_", None)
            request = self._latent_request(self._k(repeated_rows(rows), rows.shape[1]))
            fit, the_plan = latent.solve(rows, request, self.solver, spectra)
        self._finish(fit, the_plan, rows.dtype)

    def _check_rows(self, rows: Rows) -> None:
        """Refuse too few rows, if their number is known."""
        n = repeated_rows(rows)
        if n is not None and n < 2:
            raise one_row()
        self._check_weight(None if rows.weights is None else total_weight(rows))

    def _check_weight(self, weight: float | None) -> None:
        """Refuse a total weight that is too small for the model."""

    def _finish(self, fit: LatentFit, the_plan: Plan, dtype: Any) -> None:
        """Set the fitted attributes, and warn if the solver has not converged."""
        self.plan_, self.solver_ = the_plan, the_plan.solver.name
        self.n_samples_ = fit.n_rows
        self.status_, self.residual_ = fit.status, fit.residual
        self.loglike_ = [float(value) for value in fit.loglike]
        self.n_iter_ = len(fit.loglike) - 1
        self.n_passes_ = fit.passes
        self.total_weight_, self._dtype = fit.weight, dtype
        there = fit.mean if fit.there is None else fit.there
        on_host = fit if isinstance(fit.mean, np.ndarray) else placed_on_host(fit)
        unpack_to(there, self, partial(self._unpack, on_host), dtype)
        if fit.status in (Status.NOT_CONVERGED, Status.UNDETERMINED):
            warn_user(
                f"solver={self.solver_!r} stopped after {self.n_iter_} steps at residual {fit.residual:.1e}, above its "
                f"tolerance {the_plan.solver.tol:g}. {fit.advice}",
                ConvergenceWarning,
            )

    def _k(self, n: int | None, p: int) -> int:
        """n_components as a number."""
        k = self.n_components
        upper = p if n is None else min(n, p)
        if k is None:
            return self._most_components(upper, p)
        if isinstance(k, numbers.Integral) and not isinstance(k, bool | np.bool_) and 1 <= int(k) <= upper:
            return int(k)
        raise n_components_out_of_range(k, upper, n, p, fractions=False)

    def _most_components(self, upper: int, p: int) -> int:
        return upper

    # ---- Posteriors, densities and imputation of rows, with or without missing values

    def _expect(self, block: Array) -> tuple[Array, Array, Array]:
        """Means (k, b), packed covariances and log-densities of the rows of a block."""
        entries = observed_entries(block, self.missing == "unstored")
        return self._gaussian.expect(entries)

    def _scoring(self) -> Any:
        turn = self._turn

        def scores(block: Array) -> Array:
            u = self._expect(block)[0]
            return astype((u if turn is None else turn @ u).T, self._out(block))

        return scores

    @staticmethod
    def _out(block: Array) -> Any:
        """The dtype of results for a block."""
        return block.dtype

    def _lift(self) -> Array:
        return self.components_

    def _keep_first(self, k: int) -> None:
        # Rows are explained by all latent variables, of whose expectations the first k are returned.
        turn, g = self._turn, self._gaussian
        super()._keep_first(k)
        if turn is None:
            turn = namespace(g.mean).eye(g.k, dtype=g.mean.dtype, device=device(g.mean))
        self._turn = turn[:k, :]

    def posterior(self, X: Any) -> Posterior:
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
            return astype(xp.concat([u.T, xp.reshape(full, (-1, k * k))], axis=1), self._out(block))

        joined = self._map(X, both, "posterior")
        return Posterior(joined[:, :k], namespace(joined).reshape(joined[:, k:], (-1, k, k)))

    def score_samples(self, X: Any) -> Array:
        """Log-density of the observed entries of each row; 0 for a row without any."""
        check_is_fitted(self)
        point = self._plug_in()
        unstored = self.missing == "unstored"
        return self._map(
            X,
            lambda block: astype(point.expect(observed_entries(block, unstored))[2], self._out(block)),
            "score_samples",
        )

    def score(self, X: Any, y: Any = None) -> float:
        """Average log-density of the rows of `X`."""
        X, _ = self._by_name(X, y, fitted=True)
        return mean_of_results(self.score_samples(X))

    def _plug_in(self) -> LatentGaussian:
        """The model with its parameters at their posterior means."""
        g = self._gaussian
        return g if g.spread is None else LatentGaussian(g.mean, g.scale, g.loadings, g.noise)

    def bic(self, X: Any) -> float:
        """BIC: -2 log-likelihood of `X` + ln(n) times the number of free parameters. Smaller is better."""
        total, n = sum_of_results(self.score_samples(X))
        return -2.0 * total + math.log(n) * self.n_parameters_

    def aic(self, X: Any) -> float:
        """AIC: -2 log-likelihood of `X` + twice the number of free parameters. Smaller is better."""
        return -2.0 * sum_of_results(self.score_samples(X))[0] + 2.0 * self.n_parameters_

    def impute(
        self,
        X: Any,
        *,
        return_std: bool = False,
        n_draws: int | None = None,
        refit: bool = False,
        random_state: Any = None,
    ) -> Any:
        """`X` with missing values replaced by their expectations given the observed entries of the row, or drawn.

        Parameters
        ----------
        X : rows, in which NaN is a missing value
        return_std : bool
            Whether to return also the standard deviations of the imputed values, including noise, and zero for observed
            entries.
        n_draws : int, optional
            The number of draws of the missing values from their joint distribution given the observed entries of the
            row, for multiple imputation: `lowdim.pool` combines what is computed from each.
        refit : bool
            With `n_draws`: whether each draw has parameters of its own, from a fit to rows of `X` that are drawn with
            replacement. `X` must be the rows of the fit, without weights.
        random_state : int, Generator, RandomState or None
            Seed of the draws; None is that of the model.

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
        as with few rows or many holes, the draws vary too little, and intervals from `pool` are too narrow. With
        `refit=True` they include this uncertainty, as in the bootstrap of Honaker and King [1]_: proper multiple
        imputation, at the price of one fit for each draw. With `prior="vb"`, loadings and means are drawn from their
        posterior, without a refit; the noise variance is not.

        One pass over the rows, or with `refit` those of a fit and one more for each draw; memory for the results.

        References
        ----------
        .. [1] Honaker, King (2010), What to do about missing values in time-series cross-section data.
        """
        check_is_fitted(self)
        if n_draws is not None:
            if return_std:
                raise ValueError("return_std=True is for expectations; the spread of the n_draws draws tells the same.")
            draws = draw_imputations(self, X, n_draws, refit, random_state)
            return framed_draws(self, draws, self._row_names, X)
        if refit or random_state is not None:
            name = "refit" if refit else "random_state"
            raise ValueError(f"{name} is for draws of missing values; pass n_draws as well, or leave it out.")
        filled = results(self._imputation_maps(X, return_std))
        if is_frame_of_engine(filled):
            return filled
        p = self.n_features_in_
        parts = (filled[:, :p], filled[:, p:]) if return_std else (filled,)
        found = tuple(framed(self, part, self._row_names, X) for part in parts)
        return found if return_std else found[0]

    def impute_to(
        self, X: Any, path: Any, *, return_std: bool = False, keep: Sequence[str] = (), overwrite: bool = False
    ) -> str:
        """Write what `impute` returns for `X` to a file, with the names of the columns of the fit (or x1, x2, ...).

        With `return_std`, standard deviations follow, in columns whose names end with "_std". Draws are not written:
        they belong to analyses of tables in memory. For `path`, `keep` and `overwrite` see `transform_to`.
        """
        maps = partial(self._imputation_maps, return_std=return_std)
        return self._write(maps, X, path, "impute_to", keep, overwrite, self._wanted())

    def _imputation_maps(self, X: Any, return_std: bool = False) -> Maps:
        """The maps that `impute` applies to its arguments; standard deviations lie beside the imputed values."""
        unstored = self.missing == "unstored"
        tables = self._gaussian.predictive_tables() if return_std else None

        def names() -> list[str]:
            columns = list(self._row_names())
            return columns + [f"{name}_std" for name in columns] if return_std else columns

        def fill(block: Array) -> Array:
            entries = observed_entries(block, unstored)
            u, covariance, _ = self._gaussian.expect(entries)
            xp = namespace(u)
            known = entries.known()
            guess = self._gaussian.mean + self._gaussian.scale * (u.T @ self._gaussian.loadings)
            filled = xp.where(known, entries.values(), guess)
            if return_std:
                sd = xp.sqrt(self._gaussian.predictive_terms(u, covariance).T @ tables)
                filled = xp.concat([filled, xp.where(known, xp.zeros_like(sd), sd)], axis=1)
            return astype(filled, self._out(block))

        fill.replaces_rows = True  # type: ignore[attr-defined] # see `map_rows`
        return [self._row_map(X, fill, "impute", names)]

    def impute_at(self, X: Any, rows: Any, columns: Any, *, return_std: bool = False) -> Any:
        """Expectations of single entries given the observed entries of their rows, as in `impute`.

        Parameters
        ----------
        X : rows
        rows, columns : arrays of integers of equal length
            The rows and columns of the entries.
        return_std : bool
            Whether to return the standard deviations of the entries as well.
        """
        check_is_fitted(self)
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
            return namespace(u).concat([u, covariance]).T if return_std else u.T

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
        if not return_std:
            return astype(guess, self._dtype)
        tables = xp.take(g.predictive_tables(), column, axis=1)
        variance = xp.sum(g.predictive_terms(u, covariance) * tables, axis=0)
        return astype(guess, self._dtype), astype(xp.sqrt(variance), self._dtype)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Rows drawn from the fitted model."""
        check_is_fitted(self)
        if isinstance(n_samples, bool) or not isinstance(n_samples, numbers.Integral) or n_samples < 1:
            raise ValueError(f"n_samples={n_samples!r} must be a whole number of at least 1.")
        random = check_random_state(self.random_state if random_state is None else random_state)
        g = self._gaussian
        u = random.standard_normal((n_samples, g.k))
        e = random.standard_normal((n_samples, g.loadings.shape[1]))
        z = u @ to_numpy(g.loadings) + e * np.sqrt(to_numpy(g.noise))
        return asarray_like(to_numpy(g.mean) + z * to_numpy(g.scale), g.mean, dtype=self._dtype)

    def get_covariance(self) -> Array:
        """The model's covariance W^T W + diag(noise)."""
        check_is_fitted(self)
        g = self._gaussian
        W = g.loadings * g.scale
        return in_range(_add_diagonal(W.T @ W, g.noise * g.scale**2), self._dtype)

    def get_precision(self) -> Array:
        """The inverse of the model's covariance: P = 1/noise - (W/noise)^T M^{-1} W/noise.

        Only the k x k matrix M = I + W diag(1/noise) W^T has to be inverted.
        """
        check_is_fitted(self)
        g = self._plug_in()
        G, _, _ = g.expect_complete()
        P = _add_diagonal(-(g.weighted.T @ G[:, :-1]), 1.0 / g.noise)
        return in_range(P / g.scale[:, None] / g.scale[None, :], self._dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _add_diagonal(A: Array, diagonal: Array) -> Array:
    xp = namespace(A)
    return A + xp.eye(A.shape[0], dtype=A.dtype, device=device(A)) * diagonal[None, :]
