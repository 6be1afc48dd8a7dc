"""Probabilistic principal component analysis of rows with or without missing values."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import Array, asarray_like, astype, device, in_range, namespace, to_numpy
from .._core.schema import Numbers, Real
from .._core.types import RandomState
from ..errors import bad_weights, choice
from ..linalg import signs
from ..reading.rows import Rows
from ..selection.choose import ppca_parameters
from ..selection.criteria import Eigenvalues
from ..selection.fold_methods import HeldOutScorer
from ..selection.rules import Rule, RuleName
from ..selection.scorers import LatentScorer, PrincipalScorer, SpectralScorer
from ..solvers import spectra
from ..solvers.latent import LATENT_SOLVERS
from ..solvers.latent.base import LatentFit, LatentRequest, LatentSolver, closed_form
from ..solvers.problem import Plan, Request, total_weight
from ..solvers.spectra import SolverName
from ..solvers.spectra.covariance import Solver
from ..summaries.base import Summary
from ..summaries.latent import LatentGaussian, pack, unpack
from ..summaries.moments import Moments
from .base import check_flags
from .latent import LatentModel
from .n_components import chosen_by, eigenvalues_for

#: EM keeps the noise variance above this fraction of the average variance.
_FLOOR = 1e-10
#: With a prior, components whose variance is below this fraction of the largest are dropped.
_RELEVANT = 1e-6


class PPCA(LatentModel):
    """Probabilistic PCA: the model x = mean + W^T u + e with u ~ N(0, I), e ~ N(0, sigma2 I), by maximum likelihood.

    Rows may have missing values (NaN); the likelihood is that of the observed entries.

    Parameters
    ----------
    n_components : int, str or None, default=None
        Number of components; None for min(n_samples, n_features). The name of a rule ("bic", "minka", "cv", ...; see
        `choose_n_components`) takes the number that the rule chooses; `choice_` holds its curve. Some rules need
        complete rows.
    prior : None or "vb", default=None
        "vb" (variational Bayes) puts a Gaussian prior on the loadings of each component, whose variance is estimated
        from the rows, and computes their posterior. Components that are not needed shrink to zero and are dropped, and
        tables with few observed entries are not overfitted.
    scale : bool, default=False
        Whether to divide columns by their standard deviation first (divisor n, from the observed entries). The noise
        has the same variance in all columns, so they should have comparable units; if they do not, use this option or
        FactorAnalysis.
    missing : {"nan", "unstored"}, default="nan"
        Which entries are missing values: NaN only, or also every entry that a sparse matrix does not store.
    solver : str, Solver or EM, default="auto"
        For complete rows, "auto" or a solver of PCA gives the closed-form solution; "em", or `EM(...)` with its
        options, iterates. Rows with missing values are always fitted by EM.
    random_state : int, RandomState or None, default=None
        Seed of starting values and samples; None is a fixed seed.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features_in_)
        Unit vectors along the principal axes of W, with signs and order as in PCA.
    explained_variance_ : array of shape (n_components_,)
        lambda_k = |w_k|^2 + sigma2, the variance along the components.
    loadings_ : array of shape (n_features_in_, n_components_)
        w_k as columns.
    noise_variance_ : float
        sigma2.
    mean_ : array of shape (n_features_in_,)
    scale_ : array of shape (n_features_in_,) or None
        Standard deviations, with `scale`; components, variances, loadings and noise are then in their units.
    loglike_ : list of n_iter_ + 1 numbers
        Log-likelihood of the observed entries (with a prior, its variational bound) at the start and after each step.
    n_iter_, n_passes_, status_, residual_, solver_
        Number of steps, number of passes over the rows, final status, size of a further step, and the solver that ran.
    n_components_, n_samples_, n_features_in_, feature_names_in_

    Notes
    -----
    For complete rows [1]_, sigma2 is the average of the discarded eigenvalues of the covariance (divisor n), and
    W = (Lambda - sigma2 I)^{1/2} U^T; passes and memory are those of the PCA solver. Rows with missing values are
    fitted by EM, see `lowdim.solvers.EM`, which needs one pass for each step and k^2 p numbers, but nothing of size
    n p. `prior="vb"` follows [2]_.

    `transform` returns the posterior means M^{-1} W (x - mean) / sigma2 with M = I + W W^T / sigma2, which tend to
    PCA's whitened scores as sigma2 -> 0.

    References
    ----------
    .. [1] Tipping, Bishop (1999), Probabilistic principal component analysis.
    .. [2] Ilin, Raiko (2010), Practical approaches to principal component analysis in the presence of missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import PPCA
    >>> X = np.array([[1.0, 2.0, 2.9], [3.0, 6.1, np.nan], [5.0, np.nan, 15.1], [2.0, 4.1, 6.0], [4.0, 7.9, 12.1]])
    >>> filled = PPCA(1).fit(X).impute(X)
    >>> bool(abs(filled[1, 2] - 9) < 0.5 and abs(filled[2, 1] - 10) < 0.5)
    True
    """

    def __init__(
        self,
        n_components: int | RuleName | None = None,
        *,
        prior: Literal["vb"] | None = None,
        scale: bool = False,
        missing: Literal["nan", "unstored"] = "nan",
        solver: SolverName | Literal["em"] | Solver | LatentSolver = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.prior = prior
        self.scale = scale
        self.missing = missing
        self.solver = solver
        self.random_state = random_state

    components_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    noise_variance_: float
    fitted_attributes = {
        "components_": Numbers("k", "p", orthonormal="rows"),
        "explained_variance_": Numbers("k", sign="nonnegative", order="descending"),
        "explained_variance_ratio_": Numbers("k", sign="nonnegative", order="descending", most=1.0),
        "noise_variance_": Real("nonnegative"),
    }

    def fit_summary(self, summary: Summary) -> Self:
        """Fit to a Moments or Triangle summary of rows."""
        return self._fit_to(summary)

    def _summary_solver(self) -> Any:
        # EM if that was selected, otherwise the one that fits the kind of summary.
        return self.solver if self._iterates() else "auto"

    def _fit_summary_by_rule(self, summary: Any, rule: Rule) -> tuple[LatentFit, Plan]:
        e = Eigenvalues.from_summary(summary, bool(self.scale), ddof=0)
        self.choice_, k = chosen_by(rule, e, self._seed())
        return self._fit_components(summary, k)

    def _fit_eigenvalue_rule(self, rows: Rows, rule: Rule) -> tuple[LatentFit, Plan]:
        if self._iterates():
            # EM starts from the moments, from which the eigenvalues follow too.
            return self._fit_summary_by_rule(rows.summarize(Moments(rows.shape[1], wide=True)), rule)
        request = Request(k=None, ddof=0, scale=self.scale, seed=self._seed())
        spectrum, the_plan = spectra.solve(rows, request, self.solver)
        self.choice_, k = chosen_by(rule, eigenvalues_for(rule, spectrum, 0), self._seed())
        return closed_form(spectrum.truncated(k), rows.shape[1]), the_plan

    def _check_rule_rows(self, name: str, rows: Rows) -> Rule:
        rule = super()._check_rule_rows(name, rows)
        if rule.needs == "folds" and self.prior is not None:
            raise ValueError(
                f"n_components={name!r} fits summaries of the folds, and with prior={self.prior!r} the rows themselves "
                f"are needed: choose by lowdim.cross_validate(PPCA(prior={self.prior!r}), X)."
            )
        return rule

    def _scorer_for_rule(self) -> Any:
        return SpectralScorer(bool(self.scale))

    @property
    def loadings_(self) -> np.ndarray:
        """The loadings w_k = sqrt(lambda_k - sigma2) times component k, as columns."""
        check_is_fitted(self)
        g = self._gaussian
        return astype(g.loadings if self.scale else g.loadings * g.scale, self._dtype).T

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.prior not in (None, "vb"):
            raise choice("prior", self.prior, ("vb",), "Or None, for maximum likelihood.")
        check_flags(self, "scale")
        able = _able()
        names = ("auto", *able, *spectra.SOLVERS)
        tied = isinstance(self.solver, LatentSolver) and self.solver.ties_noise
        if not tied and not isinstance(self.solver, Solver) and self.solver not in names:
            raise choice("solver", self.solver, names, "Or an object from lowdim.solvers.")
        if self.prior is not None and not self._iterates():
            raise ValueError(f"prior={self.prior!r} needs solver='auto' or 'em', got {self.solver!r}.")

    def _check_rows(self, rows: Rows) -> None:
        super()._check_rows(rows)
        weight = None if rows.weights is None else total_weight(rows)
        if self.prior is not None and weight is not None and weight < 2.0:
            raise bad_weights("must add up to at least two rows with a prior", f"a total of {weight:g}")

    def _iterates(self) -> bool:
        """Whether complete rows are to be fitted by an iteration, and not by the closed form."""
        if isinstance(self.solver, str):
            return self.solver in _able() or (self.prior is not None and self.solver == "auto")
        return isinstance(self.solver, LatentSolver)

    def _latent_request(self, k: int) -> LatentRequest:
        return LatentRequest(
            k,
            tied=True,
            floor=_FLOOR,
            by_column=bool(self.scale),
            bayes=self.prior == "vb",
            unstored=self.missing == "unstored",
            seed=self._seed(),
        )

    def _unpack(self, fit: LatentFit, dtype: Any) -> None:
        """Turn W to its principal axes."""
        xp = namespace(fit.mean)
        # Attributes are in the units of the rows, or of standardized rows; `_gaussian` keeps the units of the fit.
        unit = xp.ones_like(fit.scale) if self.scale else fit.scale
        U, s, Vt = principal_axes(fit.loadings * unit, fit.axes)
        keep = len(s)
        if self.prior is not None:
            keep = max(1, int(np.count_nonzero(s > math.sqrt(_RELEVANT) * s[0])))
        U, s, Vt = U[:, :keep], s[:keep], Vt[:keep]
        like, wide = fit.mean, fit.mean.dtype
        turn = asarray_like(U, like, dtype=wide)
        self.n_components_ = keep
        self._gaussian = LatentGaussian(
            fit.mean,
            fit.scale,
            turn.T @ fit.loadings,
            fit.noise,
            None if fit.spread is None else _rotate_spread(fit.spread, turn),
        )
        self._turn = None
        sigma2 = float(fit.noise[0]) * float(unit[0]) ** 2
        self.mean_ = asarray_like(fit.mean, like, dtype=dtype)
        self.scale_ = asarray_like(fit.scale, like, dtype=dtype) if self.scale else None
        self.components_ = asarray_like(Vt, like, dtype=dtype)
        self.explained_variance_ = in_range(asarray_like(s**2 + sigma2, like), dtype)
        total = float(np.sum(s**2)) + sigma2 * self.n_features_in_
        self.explained_variance_ratio_ = astype(asarray_like((s**2 + sigma2) / total, like, dtype=wide), dtype)
        self.noise_variance_ = sigma2

    def _lift(self) -> Array:
        g = self._gaussian
        return astype(g.loadings * g.scale, self._dtype)

    def held_out_scorer(self) -> HeldOutScorer:
        """The scorer of held-out rows for `cross_validate`: their log-likelihood."""
        self._check_parameters()
        if not self._iterates():
            return PrincipalScorer(self, ddof=0)
        # With a variational posterior the density of rows is not Gaussian, and EM works with products of rows.
        return LatentScorer(self, self._independent, fits_summaries=self.prior is None, fits_triangles=False)

    def _independent(self, variances: np.ndarray) -> np.ndarray:
        """The variances of the columns in the model without components."""
        return variances if self.scale else np.full_like(variances, variances.mean())

    def _eigenvalue_options(self) -> dict[str, Any]:
        return {"scale": bool(self.scale), "ddof": 0}

    def _count_parameters(self, k: int, p: int) -> int:
        return ppca_parameters(k, p)


def _able() -> dict[str, type[LatentSolver]]:
    """The solvers of latent models that can fit one noise variance for all columns."""
    return {name: cls for name, cls in LATENT_SOLVERS.items() if cls.ties_noise}


def principal_axes(loadings: Array, axes: Array | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, s and V with W = U diag(s) V and the usual signs of the rows of V. If `axes` is given, it is V, and U = I."""
    # In float64, because variances may be out of the range of float32.
    W = to_numpy(loadings).astype(np.float64)
    if axes is not None:
        return np.eye(len(W)), np.sqrt(np.sum(W * W, axis=1)), to_numpy(axes)
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    sign = to_numpy(signs(Vt))
    return U * sign, s, Vt * sign[:, None]


def _rotate_spread(spread: Array, turn: Array) -> Array:
    """Packed covariances of (w_d, mean_d) after the transformation w -> turn^T w."""
    xp = namespace(spread)
    k, keep = turn.shape
    full = xp.permute_dims(unpack(spread, k + 1), (2, 0, 1))
    T = xp.zeros((k + 1, keep + 1), dtype=turn.dtype, device=device(turn))
    T[:k, :keep] = turn
    T[k, keep] = 1.0
    return pack(xp.permute_dims(T.T @ full @ T, (1, 2, 0)))
