"""Factor analysis by maximum likelihood."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, astype, device, in_range, namespace, to_numpy
from .._core.schema import Entries, Flag, Maybe, Numbers, Real, Several, Sometimes
from .._core.types import RandomState, VectorLike
from ..errors import ConvergenceWarning, HeywoodWarning, choice, heywood_columns, other_rows_than_fit, warn_user
from ..linalg import fix_signs, most_components, signs
from ..reading.rows import Rows
from ..selection.criteria import Eigenvalues
from ..selection.fold_methods import HeldOutScorer, PermutationOptions
from ..selection.rules import Rule
from ..selection.scorers import MAX_TRIED, LatentScorer
from ..solvers import latent, spectra
from ..solvers.latent import LATENT_SOLVERS, LatentSolverName
from ..solvers.latent.base import (
    LatentFit,
    LatentRequest,
    LatentSolver,
    Misfit,
    independent_loglike,
    saturated_loglike,
)
from ..solvers.latent.rotation import ROTATION_TOLERANCE, Rotation, RotationName, rotation_of
from ..solvers.problem import Plan, Request, Status
from ..sources.derived import with_known_length
from ..sources.opening import TableLike
from ..summaries.base import Summary
from ..summaries.latent import LatentGaussian, unpack
from ..summaries.moments import Moments
from ..summaries.triangle import Triangle
from .base import check_flags
from .latent import LatentModel
from .n_components import at_least_one, chosen_by, eigenvalues_for
from .output import FULL_ACCURACY, NEVER_OVERWRITTEN, derived

# How far a factor analysis is from the covariance of the rows, and the test of whether its factors are sufficient.


class FactorTest(NamedTuple):
    """Test of the hypothesis that this number of factors is sufficient."""

    #: (n - 1 - (2p + 5)/6 - 2k/3) F, with Bartlett's correction, where F is the minimum of the discrepancy. For rows
    #: with missing values n F, which is twice the difference of log-likelihoods.
    chi_square: float
    dof: int
    p_value: float


def degrees_of_freedom(p: int, k: int) -> int:
    """The number of covariances of p columns minus that of the free parameters of k factors."""
    return ((p - k) ** 2 - p - k) // 2


def chi_square_factor(misfit: Misfit, p: int, k: int) -> float:
    """The number that turns a discrepancy of k factors into a chi-square: Bartlett's for complete rows, otherwise n."""
    n = misfit.weight
    return n - 1.0 - (2 * p + 5) / 6.0 - 2.0 * k / 3.0 if misfit.complete else n


SCORES = ("regression", "bartlett")
#: What BIC and AIC assume for factors, which is less than for principal components.
_LIKELIHOOD = (
    "Assumes Gaussian rows, and many more of them than columns, as for the chi-square test. Each column may have its "
    "own noise variance; noise that columns share is taken for a factor."
)


#: The names of the rules for the number of factors, and other names of some, for type checkers.
FactorRuleName = Literal["kaiser", "bic", "aic", "parallel", "horn", "parallel-factors", "map", "velicer", "cv"]


class FactorAnalysis(LatentModel):
    """Factor analysis: the model x = mean + L f + e with f ~ N(0, phi), e ~ N(0, diag(psi)), by maximum likelihood.

    The factors f explain the covariances between columns. The uniqueness psi of a column is the variance that it does
    not share with others.

    Parameters
    ----------
    n_components : int, str or None, default=None
        Number of factors; None takes the largest number that leaves degrees of freedom. The name of a rule chooses the
        number, and `choice_` holds its curve: "bic" and "aic" compare fits with 1, 2, ... factors; "cv" compares
        held-out likelihoods; "kaiser", "parallel" and "map" use the correlation matrix, "parallel-factors" the one with
        squared multiple correlations on its diagonal.
    rotation : None, str or Rotation, default=None
        "varimax", "quartimax", "equamax", "promax", "oblimin", or an object of `lowdim.solvers.rotation` with its
        options. With None, L^T Psi^{-1} L is diagonal.
    scores : {"regression", "bartlett"}, default="regression"
        The scores that `transform` returns: posterior means, or unbiased weighted least squares scores.
    scale : bool, default=False
        Whether to report loadings and uniquenesses in units of the standard deviations of the columns, as R's factanal
        does. The model itself does not depend on the units.
    missing : {"nan", "unstored"}, default="nan"
        Which entries are missing values: NaN only, or also every entry that a sparse matrix does not store.
    solver : str, Newton, NewtonCG or EM, default="auto"
        For complete rows, "newton" minimises the discrepancy of the covariance matrix by Newton's method, "newton-cg"
        does so without this matrix, for fewer rows than columns, and "em" uses the EM algorithm. "auto" takes one of
        the first two. Rows with missing values are always fitted by EM.
    random_state : int, RandomState or None, default=None
        Seed of starting values and samples; None is a fixed seed.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features_in_)
        Loadings as rows (after rotation), as in scikit-learn.
    loadings_ : array of shape (n_features_in_, n_components_)
        L. The largest loading of each factor is positive. Rotated factors are ordered by their sums of squared
        loadings, unrotated factors by the diagonal of L^T Psi^{-1} L.
    noise_variance_, uniquenesses_ : array of shape (n_features_in_,)
        psi.
    communalities_ : array of shape (n_features_in_,)
        The variance of each column that the factors explain, diag(L phi L^T).
    phi_ : array of shape (n_components_, n_components_)
        Correlations of the factors; the identity unless the rotation is oblique.
    rotation_matrix_ : array of shape (n_components_, n_components_)
        M, where L is the unrotated loadings times M, and phi = (M^T M)^{-1}.
    rotation_gradient_ : float
        The norm of the projected gradient of the rotation's criterion, for loadings scaled to a mean square of 1 / p.
        There is a warning if it is above 1e-10.
    heywood_ : array of bool, shape (n_features_in_,)
        Whether the uniqueness of each column is at its lower bound, or below 1e-5 (a Heywood case), of which a
        `HeywoodWarning` warns.
    explained_variance_, explained_variance_ratio_ : arrays of shape (n_components_,)
        What each factor adds to the sum of the communalities: the diagonal of phi L^T L, the sums of squared loadings
        if factors are uncorrelated; and its proportion of the total variance.
    mean_, scale_ (with `scale`), loglike_, n_iter_, n_passes_, status_, residual_, solver_
    n_components_, n_samples_, n_features_in_, feature_names_in_

    Notes
    -----
    For complete rows, one pass computes the moments; all further work is p x p algebra and does not depend on n, see
    `lowdim.solvers.Newton`. If there are clearly fewer rows than columns, the rows are kept, and all further work is in
    proportion to p, see `lowdim.solvers.NewtonCG`. Rows with missing values are fitted by EM, with one pass if
    they fit into memory, otherwise one for each step, see `lowdim.solvers.EM`.

    References
    ----------
    .. [1] Lawley, Maxwell (1971), Factor analysis as a statistical method.
    .. [2] Bartlett (1951), The effect of standardization on a chi square approximation in factor analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import FactorAnalysis
    >>> from lowdim.summaries import Moments
    >>> loadings = np.array([[0.9, 0.8, 0.7, 0.6]])
    >>> correlation = loadings.T @ loadings
    >>> np.fill_diagonal(correlation, 1.0)
    >>> fa = FactorAnalysis(1, scale=True).fit_summary(Moments.from_covariance(correlation, n_samples=100))
    >>> fa.uniquenesses_.round(4)
    array([0.19, 0.36, 0.51, 0.64])
    """

    component_name = "F"
    _likelihood_assumes = _LIKELIHOOD
    _rules = ("kaiser", "bic", "aic", "parallel", "parallel-factors", "map", "cv")
    _not_taken = {
        "copy": NEVER_OVERWRITTEN,
        "tol": "write solver=Newton(tol=...) or solver=EM(tol=...), from lowdim.solvers",
        "max_iter": "write solver=Newton(max_iter=...) or solver=EM(max_iter=...), from lowdim.solvers",
        "noise_variance_init": "the solver finds its own starts; leave it out, or write solver=Newton(n_init=...)",
        "svd_method": FULL_ACCURACY,
        "iterated_power": FULL_ACCURACY,
    }

    def __init__(
        self,
        n_components: int | FactorRuleName | None = None,
        *,
        rotation: RotationName | Rotation | None = None,
        scores: Literal["regression", "bartlett"] = "regression",
        scale: bool = False,
        missing: Literal["nan", "unstored"] = "nan",
        solver: LatentSolverName | LatentSolver = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.rotation = rotation
        self.scores = scores
        self.scale = scale
        self.missing = missing
        self.solver = solver
        self.random_state = random_state

    components_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    noise_variance_: np.ndarray
    phi_: np.ndarray
    rotation_matrix_: np.ndarray
    rotation_gradient_: float
    heywood_: np.ndarray
    fitted_attributes = {
        "components_": Numbers("k", "p"),
        # A correlated factor may add less than nothing.
        "explained_variance_": Numbers("k"),
        "explained_variance_ratio_": Numbers("k", most=1.0),
        "noise_variance_": Numbers("p", sign="positive"),
        "phi_": Numbers("k", "k", symmetric=True),
        "rotation_matrix_": Numbers("k", "k"),
        "rotation_gradient_": Real("nonnegative"),
        "heywood_": Numbers("p", dtype="bool"),
        "_discrepancy": Maybe(Real()),
        # Files of version 1.0 do not have these.
        "_null_discrepancy": Sometimes(Maybe(Real())),
        "_residual_squares": Sometimes(Maybe(Several(Real("nonnegative"), Real("nonnegative")))),
        "_start": Sometimes(Entries({"start": Numbers("*", host=True), "near": Flag()})),
    }

    @derived
    def _dtype(self) -> Any:
        """The dtype of a rebuilt model."""
        return self.components_.dtype

    @derived
    def _turn(self) -> Array | None:
        """R of a rebuilt model, with factors f = R u for independent u, so that phi = R R^T."""
        phi = self.__dict__.get("phi_")
        return None if phi is None else namespace(phi).linalg.cholesky(phi)

    @derived
    def _gaussian(self) -> LatentGaussian:
        """The density of a rebuilt model, from its loadings, mean and uniquenesses."""
        L, R = self.components_, self._turn
        ones = namespace(L).ones_like(self.mean_)
        return LatentGaussian(self.mean_, ones, L if R is None else R.T @ L, self.noise_variance_)

    def fit_summary(self, summary: Summary) -> Self:
        """Fit to a Moments or Triangle summary of rows. `Moments.from_covariance(cov, n_samples)` makes one from a
        covariance or correlation matrix."""
        advice = "For a covariance or correlation matrix, pass Moments.from_covariance(cov, n_samples)."
        return self._fit_to(summary, f" {advice}")

    @property
    def loadings_(self) -> np.ndarray:
        """The loadings L, one column for each factor."""
        check_is_fitted(self)
        return self.components_.T

    @property
    def uniquenesses_(self) -> np.ndarray:
        """The uniquenesses psi."""
        check_is_fitted(self)
        return self.noise_variance_

    @property
    def communalities_(self) -> np.ndarray:
        """The communalities diag(L phi L^T)."""
        check_is_fitted(self)
        xp = namespace(self.components_)
        return xp.sum(self.components_ * (self.phi_ @ self.components_), axis=0)

    def test(self, X: TableLike | None = None, *, sample_weight: VectorLike | None = None) -> FactorTest:
        """Chi-square test of whether this number of factors is sufficient, with Bartlett's correction [2].

        It needs positive degrees of freedom, and a covariance that is not singular. If the rows of the fit have missing
        values, it needs these rows as `X`, see `misfit`; there is no correction then. `lowdim.inspect.fit_report` gives
        further measures of fit.
        """
        misfit = self.misfit(X, sample_weight=sample_weight)
        p, k, n = self.n_features_in_, self.n_components_, misfit.weight
        dof = degrees_of_freedom(p, k)
        if misfit.discrepancy is None:
            raise ValueError(
                "no test: the covariance is singular (constant or collinear columns, or too few rows); drop such "
                "columns."
            )
        if dof <= 0:
            raise ValueError(f"{k} factors of {p} columns leave {dof} degrees of freedom, so there is nothing to test.")
        factor = chi_square_factor(misfit, p, k)
        if factor <= 0:
            raise ValueError(f"n_samples={n:g} is too few to test {k} factors of {p} columns.")
        chi_square = max(factor * misfit.discrepancy, 0.0)
        return FactorTest(chi_square, dof, float(special.chdtrc(dof, chi_square)))

    def misfit(self, X: TableLike | None = None, *, sample_weight: VectorLike | None = None) -> Misfit:
        """How far the covariance of the model is from the covariance of the rows of the fit.

        Parameters
        ----------
        X : rows of the fit, default=None
            Needed if they have missing values, and not read otherwise.
        sample_weight : array of shape (n_samples,), or str, default=None
            The weights of the fit, for `X`.

        Returns
        -------
        Misfit
            With `discrepancy` F = ln|Sigma| - ln|S| + tr(S Sigma^{-1}) - p for the covariances Sigma of the model and S
            of the rows (divisor n), `null_discrepancy`, the same for independent columns, `residual_squares`, sums of
            squares of residual correlations, and `weight`, the number of rows.

        Notes
        -----
        For complete rows all of this is known from the fit. With missing values, S is the covariance of maximum
        likelihood given the observed entries, as for full information maximum likelihood [1]_, and F is 2 / n times the
        difference of the log-likelihoods of the observed entries. S is found by EM, with one pass for rows that
        fit into memory. If at most p rows have no missing value, it may not be determined, which is
        an error. Rows without any observed entry do not count.

        References
        ----------
        .. [1] Enders, Bandalos (2001), The relative performance of full information maximum likelihood estimation for
           missing data in structural equation models.
        """
        check_is_fitted(self)
        # Only a fit to rows with missing values has no residuals. Files of version 1.0 keep none at all, but EM read
        # such rows more than once then.
        missing = self.n_passes_ > 1 or self.__dict__.get("_residual_squares", ()) is None
        if self.solver_ != "em" or not missing:
            null, squares = (self.__dict__.get(name) for name in ("_null_discrepancy", "_residual_squares"))
            return Misfit(self.total_weight_, self._discrepancy, null, squares)
        if X is None:
            raise ValueError(
                f"the rows of the fit have missing values, so that the test needs the {self.n_samples_} rows "
                "themselves, for the covariance that their observed entries suggest: pass them as X. (To compare "
                "numbers of factors, bic is enough.)"
            )
        X, _, sample_weight = self._by_name(X, None, fitted=True, hold=True, sample_weight=sample_weight)
        source = with_known_length(self._open(X, reset=False, method="misfit"), "for a test with missing values")
        rows = self._rows(source, sample_weight)
        found = latent.saturated(rows, unstored=self.missing == "unstored", seed=self._seed())
        if found.n_rows != self.n_samples_:
            raise other_rows_than_fit(found.n_rows, self.n_samples_)
        each = to_numpy(self.score_samples(source)).astype(np.float64)
        weights = np.ones(len(each)) if rows.weights is None else to_numpy(rows.weights)
        return found.misfit(self._gaussian, float(weights @ each))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        rotation_of(self.rotation)
        if self.scores not in SCORES:
            raise choice("scores", self.scores, SCORES)
        check_flags(self, "scale")
        names = ("auto", *LATENT_SOLVERS)
        if not isinstance(self.solver, LatentSolver) and self.solver not in names:
            raise choice("solver", self.solver, names, "Or an object from lowdim.solvers.")

    def _most_components(self, upper: int, p: int) -> int:
        """The largest number of factors that leaves degrees of freedom (Ledermann's bound), at least one."""
        bound = int((2 * p + 1 - math.sqrt(8 * p + 1)) / 2 + 1e-9)
        return max(1, min(upper, bound))

    def _most_tried(self, upper: int, p: int) -> int:
        """The largest number of factors that rules try for p columns, where `upper` is the number of rows or p.

        With fewer rows than columns, this is at most half of the rows. As the factors get as many as the rows, the
        likelihood grows without bound, whatever the rows are, and no penalty makes up for that.
        """
        most = self._most_components(upper, p)
        return most if upper >= p else min(most, max(1, (upper - 1) // 2))

    def _floor(self) -> float:
        """Lower bound on the uniquenesses, as a fraction of the variance of their column."""
        return (self.solver if isinstance(self.solver, LatentSolver) else LatentSolver).floor

    def start_at(self, fitted: FactorAnalysis, *, near: bool = False) -> Self:
        """Let the next fit begin at the uniquenesses of a fitted model of the same columns, with any number of factors.

        If the rows are similar, few steps lead from there to the solution. Other starts are tried as well, unless there
        are many columns, and the best result is kept. Only Newton's method uses the start: not EM, which rows with
        missing values need, and not (unless `near`) a solver that was given `n_init`. Nor is it used for rows with
        another number of columns.

        Parameters
        ----------
        fitted : FactorAnalysis
        near : bool, default=False
            Whether the solution is expected close to that of `fitted`. One other start is tried then, and only if a
            Heywood case is found.

        Returns
        -------
        self
        """
        check_is_fitted(fitted)
        g = fitted._gaussian
        noise = to_numpy(g.noise)
        self._start = {"start": noise / (noise + np.sum(to_numpy(g.loadings) ** 2, axis=0)), "near": near}
        return self

    def _latent_request(self, k: int) -> LatentRequest:
        request = LatentRequest(k, False, self._floor(), unstored=self.missing == "unstored", seed=self._seed())
        known = self.__dict__.get("_start")
        return request if known is None or len(known["start"]) != self.n_features_in_ else replace(request, **known)

    def _fit_eigenvalue_rule(self, rows: Rows, rule: Rule) -> tuple[LatentFit, Plan]:
        empty = latent.empty_summary(rows, self._latent_request(1), self.solver)
        return self._fit_summary_by_rule(rows.summarize(empty), rule)

    def _fit_summary_by_rule(self, summary: Moments | Triangle, rule: Rule) -> tuple[LatentFit, Plan]:
        """Fit with the number of factors that a rule chooses, either from the eigenvalues of the correlation matrix or
        from the likelihoods of fits with 1, 2, ... factors."""
        if rule.name not in ("aic", "bic"):
            self.choice_, k = chosen_by(rule, _correlation_eigenvalues(summary, rule), self._seed())
            return self._fit_components(summary, k)
        n, p = summary.weight, summary.n_features
        most = min(self._most_tried(min(most_components(summary.n_rows, n, p), p), p), MAX_TRIED)

        def fit_k(k: int, before: LatentFit | None) -> tuple[LatentFit, Plan]:
            return self._fit_components(summary, k, None if before is None else to_numpy(before.noise))

        # No likelihood exceeds that of the sample covariance. If this is singular, there is no bound, and all numbers
        # are tried; there are few rows then.
        known = saturated_loglike(summary)
        bound = math.inf if known is None else known
        fits = self._choose_by_likelihood(rule, n, most, independent_loglike(summary), fit_k, bound)
        k = at_least_one(self.choice_.k, rule.name)
        # What is found from the factors before may be better than what is found without them, or worse.
        found = [self._fit_components(summary, k), *fits[k - 1 : k]]
        return max(found, key=lambda pair: pair[0].loglike[-1])

    def _unpack(self, fit: LatentFit, dtype: Any) -> None:
        self.__dict__.pop("_start", None)
        like, wide = fit.mean, fit.mean.dtype
        found = Misfit(fit.weight, None, None, None) if fit.misfit is None else fit.misfit
        self._discrepancy, self._null_discrepancy = found.discrepancy, found.null_discrepancy
        self._residual_squares = found.residual_squares
        W, psi, scale = (to_numpy(a) for a in (fit.loadings, fit.noise, fit.scale))
        # The solver finds L only up to a rotation; in the canonical one L^T Psi^{-1} L is diagonal.
        canonical = np.linalg.svd(W / np.sqrt(psi), full_matrices=False)[0]
        W = canonical.T @ W
        W = W * to_numpy(signs(W if self.scale else W * scale))[:, None]
        rotation, simple = self._to_rotate(W, scale)
        M, self.rotation_gradient_ = np.eye(len(W)), 0.0
        if rotation is not None:
            turned = rotation.rotate(simple.T, self._seed())
            M, self.rotation_gradient_ = turned.matrix, turned.gradient
            if turned.status is Status.NOT_CONVERGED:
                warn_user(
                    f"rotation={rotation.name!r} stopped after {turned.n_iter} steps at a gradient of "
                    f"{turned.gradient:.1e}, above its tolerance {ROTATION_TOLERANCE:g}: the loadings leave it nearly "
                    "undetermined. Ask for fewer components, or for another rotation.",
                    ConvergenceWarning,
                )
        L = M.T @ W if self.scale else (M.T @ W) * scale
        order = np.arange(len(L)) if rotation is None else np.argsort(-np.sum(L * L, axis=1), kind="stable")
        M = (M * to_numpy(signs(L)))[:, order]
        L = fix_signs(L)[order]
        self._gaussian = LatentGaussian(fit.mean, fit.scale, asarray_like(W, like, dtype=wide), fit.noise)
        self._turn = asarray_like(np.linalg.inv(M), like, dtype=wide)
        as_rows = partial(asarray_like, like=like, dtype=dtype)
        self.n_components_ = len(L)
        self.mean_ = as_rows(fit.mean)
        self.scale_ = as_rows(fit.scale) if self.scale else None
        self.components_ = as_rows(L)
        noise = fit.noise if self.scale else fit.noise * fit.scale**2
        self.noise_variance_ = in_range(noise, dtype)
        self.phi_ = as_rows(np.linalg.inv(M.T @ M))
        self.rotation_matrix_ = as_rows(M)
        # The likelihood hardly changes near the bound, so a descent may end a little above it.
        at_bound = psi <= max(1.01 * self._floor(), 1e-5)
        self.heywood_ = asarray_like(at_bound & (np.sum(W * W, axis=0) > 0.5), like)
        heywood = [int(j) for j in np.flatnonzero(to_numpy(self.heywood_))]
        if heywood:
            warn_user(heywood_columns(heywood, self._wanted(), self._floor()), HeywoodWarning)
        # The columns of L phi are the structure; the sum over all factors is that of the communalities.
        squares = np.sum(L * (np.linalg.inv(M.T @ M) @ L), axis=1)
        total = float(np.sum((np.sum(W * W, axis=0) + psi) * (1.0 if self.scale else scale**2)))
        self.explained_variance_ = in_range(asarray_like(squares, like, dtype=wide), dtype)
        self.explained_variance_ratio_ = as_rows(squares / total)

    def _to_rotate(self, W: np.ndarray, scale: np.ndarray) -> tuple[Rotation | None, np.ndarray]:
        """The rotation, and the loadings that it makes simple: those of the standardized columns."""
        return rotation_of(self.rotation), W

    def get_precision(self) -> np.ndarray:
        """The inverse of the model's covariance.

        It takes p^2 k operations, or p^3 in a Heywood case, in which the inverse of a k x k matrix would lose digits.
        """
        check_is_fitted(self)
        heywood = self.__dict__.get("heywood_")
        if heywood is None or not bool(namespace(heywood).any(heywood)):
            return super().get_precision()
        return namespace(self.components_).linalg.inv(self.get_covariance())

    def _lift(self) -> Array:
        return self.components_ if self.scale_ is None else self.components_ * self.scale_

    def _scoring(self) -> Any:
        if self.scores == "regression":
            return super()._scoring()
        turn = self._turn
        k = self._gaussian.k

        def bartlett(block: Array) -> Array:
            """(W Psi^{-1} W^T)^{-1} W Psi^{-1} z = (I - C)^{-1} u for posterior mean u and covariance C = M^{-1}."""
            u, covariance, _ = self._expect(block)
            xp = namespace(u)
            C = xp.permute_dims(unpack(covariance, k), (2, 0, 1))
            identity = xp.eye(k, dtype=C.dtype, device=device(C))
            f = (xp.linalg.pinv(identity - C, rtol=1e-10) @ u.T[:, :, None])[:, :, 0]
            return astype(f if turn is None else f @ turn.T, block.dtype)

        return bartlett

    def held_out_scorer(self) -> HeldOutScorer:
        """The scorer of held-out rows for `cross_validate`: their log-likelihood."""
        self._check_parameters()
        return LatentScorer(self, lambda variances: variances, self._most_tried)

    def permutation_options(self) -> PermutationOptions:
        """The options of the permutation test, which counts factors of standardized columns."""
        self._check_parameters()
        return PermutationOptions(scaled=(True,), factors=True)

    def _eigenvalue_options(self) -> dict[str, Any]:
        return {"scale": True, "ddof": 1}

    def _count_parameters(self, k: int, p: int) -> int:
        # Loadings up to a rotation, uniquenesses, means.
        return p * k - k * (k - 1) // 2 + 2 * p


def _correlation_eigenvalues(summary: Moments | Triangle, rule: Rule) -> Eigenvalues:
    """The eigenvalues of the correlation matrix, which is not formed if there are fewer rows than columns."""
    if not isinstance(summary, Triangle) or summary.root.shape[0] >= summary.n_features:
        return Eigenvalues.from_summary(summary, scale=True)
    spectrum, _ = spectra.solve_summary(summary, Request(k=None, scale=True))
    return eigenvalues_for(rule, spectrum, 1)
