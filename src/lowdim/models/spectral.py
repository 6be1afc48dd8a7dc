"""Principal components of rows: the base class of PCA and Whitening, what ICA and they share, and rules for K."""

from __future__ import annotations

import numbers
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._core.arrays import Array, astype, device, is_sparse, namespace, to_numpy
from .._core.schema import Dtype, Instance, Numbers, Real, Sometimes
from .._core.threads import memory_bytes
from ..errors import (
    ConvergenceWarning,
    NoComponentWarning,
    RankWarning,
    ResolutionWarning,
    choice,
    n_components_out_of_range,
    needs_memory,
    no_variance,
    warn_user,
)
from ..linalg import divisor, is_constant, most_components, require_rows
from ..reading.rows import Rows
from ..selection.criteria import Eigenvalues, Unavailable
from ..selection.cross_validation import CrossValidator
from ..selection.fold_scores import HeldOutScorer
from ..selection.folds import count_rows as count_repeated
from ..selection.folds import folds_for, folds_of, shuffle_folds
from ..selection.rules import ALIASES, RULES, Choice, Rule, rule_of
from ..solvers import spectra
from ..solvers.problem import Plan, Request, Spectrum, Status, counted_rows, total_weight
from ..solvers.spectra.covariance import Solver
from ..sources.base import Source
from ..summaries.base import require_seen
from .base import Model, add_rows, can_partial_fit, copy_of

# The base class of PCA and Whitening: fits from summaries, `partial_fit`, and warnings.


class SpectralModel(Model):
    """Base class of models that follow from the eigenpairs of a covariance matrix."""

    #: Whether `ddof` is not a parameter of the class.
    _fixed_ddof = False
    fitted_attributes = {
        "residual_": Real("nonnegative"),
        "mean_": Numbers("p"),
        "summary_": Sometimes(Instance("summaries.*")),
        "_dtype": Sometimes(Dtype()),
    }

    @abstractmethod
    def _unpack(self, spectrum: Spectrum, dtype: Any) -> None:
        """Set the fitted attributes, from all eigenpairs or from some of them."""

    def _solver(self) -> str | Solver:
        """The solver that the parameters select, as a name or an object."""
        return self.solver

    def _check_parameters(self) -> None:
        if isinstance(self.ddof, bool) or not isinstance(self.ddof, numbers.Integral) or self.ddof not in (0, 1):
            raise ValueError(f"ddof={self.ddof!r} must be 0 (divide by n) or 1 (divide by n - 1).")

    def _request(self, n: int | None, p: int) -> Request:
        """The request to the solver for n rows, if their number is known, and p columns."""
        k = self.n_components
        return Request(
            k=self._k(n, p),
            share=float(k) if isinstance(k, numbers.Real) and not isinstance(k, numbers.Integral) else None,
            ddof=self.ddof,
            standardize=getattr(self, "standardize", False),
            center=bool(getattr(self, "center", True)),
            fixed_ddof=self._fixed_ddof,
            seed=self._seed(),
        )

    def _request_for(self, rows: Rows) -> Request:
        """The request to the solver; an error if there are too few rows."""
        return self._request(count_rows(rows, self.ddof, self._fixed_ddof), rows.shape[1])

    def _k(self, n: int | None, p: int) -> int | None:
        """The number of eigenpairs that `n_components` needs; None means all."""
        return count_pairs(self.n_components, n, p)

    def _plan_rows(self, rows: Rows) -> Plan:
        if is_cv(self.n_components):
            check_cv_rows(rows.shape[0])
        return spectra.plan(rows, self._request_for(rows), self._solver())

    def fit_summary(self, summary: Any) -> Self:
        """Fit to a Moments or Triangle summary of rows; `partial_fit` can continue from it.

        Examples
        --------
        >>> from lowdim import PCA, Moments
        >>> PCA().fit_summary(Moments.from_covariance([[2.0, 0.0], [0.0, 1.0]], n_samples=100)).explained_variance_
        array([2., 1.])
        """
        self._check_parameters()
        try:
            solver = spectra.solver_for(summary, self._solver())
        except TypeError as error:
            raise TypeError(
                f"fit_summary needs a Moments or a Triangle, got {type(summary).__name__}. For a covariance matrix, "
                "pass Moments.from_covariance(cov, n_samples)."
            ) from error
        dtype = getattr(getattr(summary, "mean", None), "dtype", None)
        with self._restore_on_error():
            self._take_names(summary)
            self._fit_summary(summary, solver, dtype)
            self.summary_, self._dtype = copy_of(summary), dtype
        return self

    @available_if(lambda self: self._can_partial_fit())
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with further rows. The result is exact: the same as a fit to all rows at once.

        A summary of all rows so far is kept as `summary_`, and the model is solved from it after each block. `fit`
        forgets all earlier rows. It keeps its own summary if it was solved from one and there are at most 256 columns;
        then `partial_fit` goes on from it, and otherwise `partial_fit` after `fit` is an error. The model stays
        unfitted until there are enough rows for `n_components`. A block that raises an error does not change the model.
        The method is not available with solvers that do not work from a summary (gram, krylov).
        """
        self._check_parameters()
        solver = spectra.streaming_solver(self._solver())
        with self._restore_on_error():
            first = self._starts_summary()
            X, y, sample_weight = self._by_name(X, y, fitted=not first, sample_weight=sample_weight)
            source = self._open(X, reset=first)
            self._k(None, source.shape[1])
            seen: Any = self._empty_summary(solver, source.shape[1]) if first else copy_of(self.summary_)
            if not isinstance(seen, solver.starts_from or ()):
                solver = spectra.solver_for(seen)
            add_rows(seen, source, sample_weight)
            self.summary_, self._dtype = seen, (source.dtype if first else self._dtype)
            if divisor(seen.weight, self.ddof) > 0 and seen.n_rows >= self._least_rows(seen.n_features):
                self._fit_summary(seen, solver, self._dtype)
        return self

    def _keep_summary(self, rows: Rows) -> None:
        if rows.small_summary is not None:
            self.summary_, self._dtype = rows.small_summary, rows.dtype

    def _can_partial_fit(self) -> bool:
        """Whether the solver works from a summary, an AttributeError if not; invalid solvers are refused by `fit`."""
        try:
            solver = spectra.solver_of(self._solver())
        except ValueError:
            solver = None
        return can_partial_fit(self, solver)

    def _least_rows(self, p: int) -> int:
        """The smallest number of rows to which the model can be fitted."""
        return int(self.n_components) if isinstance(self.n_components, numbers.Integral) else 2

    def _empty_summary(self, solver: Solver, p: int) -> Any:
        """The empty summary with which `partial_fit` starts."""
        return solver.empty_summary(p)

    def _fit_summary(self, summary: Any, solver: Solver, dtype: Any, passes: int = 0) -> None:
        """Fit to a summary that was made in `passes` passes over the rows."""
        self.n_features_in_ = summary.n_features
        require_seen(summary)
        most = most_components(summary.n_rows, summary.weight, summary.n_features)
        spectrum, the_plan = spectra.solve_summary(summary, self._request(most, summary.n_features), solver)
        self._finish(replace(spectrum, passes=passes), replace(the_plan, passes=passes), dtype)

    def _finish(self, spectrum: Spectrum, the_plan: Plan, dtype: Any, last_chance: bool = False) -> None:
        """Set the fitted attributes, and warn if eigenpairs are inaccurate."""
        self._check_spectrum(spectrum, the_plan, last_chance)
        self.plan_, self.solver_ = the_plan, the_plan.solver.name
        self.status_, self.residual_ = spectrum.status, spectrum.residual
        self.n_samples_ = spectrum.n_rows
        self._unpack(spectrum, dtype)

    def _check_spectrum(self, spectrum: Spectrum, the_plan: Plan, last_chance: bool = False) -> None:
        """Refuse more components than the rows can have, and warn if eigenpairs are inaccurate. Eigenvalues at or below
        the rank cut count as zero and need no warning, unless the rows cannot be read again (`last_chance`)."""
        n, p = spectrum.n_rows, spectrum.vectors.shape[1]
        most = most_components(n, spectrum.weight, p)
        if spectrum.values.shape[0] > most:
            raise n_components_out_of_range(self.n_components, most, n, p)
        if spectrum.status is Status.NOT_CONVERGED:
            warn_user(
                f"solver={the_plan.solver.name!r} stopped after {spectrum.passes} passes at residual "
                f"{spectrum.residual:.1e} lambda_1, above its tolerance {the_plan.solver.tol:g}. Raise max_steps or "
                "block, or ask for fewer components.",
                ConvergenceWarning,
            )
        elif spectrum.status is Status.UNRESOLVED:
            largest, smallest = float(spectrum.values[0]), float(spectrum.values[-1])
            if last_chance or smallest > spectrum.rank_cut:
                warn_user(
                    f"the smallest eigenvalue kept is {smallest / largest:.1e} of the largest, and "
                    f"solver={the_plan.solver.name!r} loses its digits. Use solver='triangle', or keep fewer "
                    "components.",
                    ResolutionWarning,
                )


# Principal components of rows for PCA, Whitening and ICA: how many to compute, with the checks and warnings.


def count_rows(rows: Rows, ddof: int, fixed: bool = False) -> int | None:
    """The number of rows, each counted with its weight; None if unknown. An error if there are too few for `ddof`; it
    advises to change that unless it is `fixed`."""
    n = counted_rows(rows)
    if n is None:
        return None
    weight = total_weight(rows) or 0.0
    require_rows(n, weight, ddof, fixed)
    return max(n, int(weight))


def count_pairs(n_components: Any, n: int | None, p: int, *, of_rows: bool = False) -> int | None:
    """The number of eigenpairs that `n_components` needs for n rows and p columns; None means all, which a fraction of
    variance needs too. With `of_rows` the number of components is not limited by the number of columns."""
    k = n_components
    if k is None:
        return None
    upper: Any = p if n is None else min(n, p)
    if of_rows:
        upper = float("inf") if n is None else n
    if isinstance(k, numbers.Real) and not isinstance(k, bool | np.bool_):
        if isinstance(k, numbers.Integral) and 1 <= int(k) <= upper:
            return int(k)
        if not isinstance(k, numbers.Integral) and 0.0 < float(k) < 1.0:
            return None
    raise n_components_out_of_range(k, upper, n, p, of_rows=of_rows)


def with_variance(spectrum: Spectrum, k: int) -> int:
    """The number of components with variance among the first k, for models that divide by it; warns of the others."""
    rank = min(spectrum.rank, k)
    if rank == 0:
        raise no_variance("whitening")
    if rank < k:
        warn_user(
            f"{k - rank} of {k} components have no variance and were dropped, since whitening divides by it; "
            f"{rank} are left.",
            RankWarning,
        )
    return rank


# `n_components` as the name of a rule: how all models apply the rules of `selection`.


#: The attributes of models with a density that are bootstrapped, and the meaning of their axes.
DENSITY_AXES = {
    "explained_variance": ("components",),
    "explained_variance_ratio": ("components",),
    "noise_variance": ("features",),
    "loadings": ("features", "components"),
}
#: The number of folds for n_components="cv".
_FOLDS = 5
#: Variances of columns up to this fraction of the largest one count as zero.
_ROUNDING = 1e-26
#: The fraction of memory that the p x p matrix may take.
_SHARE = 0.1


def check_rule(name: str, allowed: tuple[str, ...] | None = None) -> Rule:
    """The rule with the name `n_components`; an error if it is not among those allowed for the model."""
    names = tuple(RULES) if allowed is None else allowed
    if ALIASES.get(name, name) not in names:
        raise choice("n_components", name, names, "Or a number, or None.")
    return rule_of(name)


def is_cv(n_components: Any) -> bool:
    """Whether `n_components`, which may be anything that the user passed, asks for cross-validation."""
    return isinstance(n_components, str) and n_components == "cv"


def eigenvalues_for(rule: Rule, spectrum: Spectrum, p: int, ddof: int) -> Eigenvalues:
    """The input of a rule, from all eigenpairs; with the p x p matrix if the rule needs it and it fits into memory."""
    V = to_numpy(spectrum.vectors).astype(np.float64)
    values = spectrum.values.astype(np.float64) / divisor(spectrum.weight, ddof)
    variances = np.einsum("kj,k,kj->j", V, values, V)
    # Columns that vary only by rounding errors count as constant; after standardizing their variance is zero.
    varying = variances > _ROUNDING * float(variances.max())
    if spectrum.scale is None:
        varying &= ~is_constant(np.sqrt(variances), to_numpy(spectrum.mean))
    e = Eigenvalues.from_spectrum(spectrum, p, ddof, variances=np.where(varying, variances, 0.0), varying=varying)
    have = memory_bytes()
    fits = not have or 8 * p * p < _SHARE * have
    return replace(e, matrix=(V.T * values) @ V) if rule.needs == "matrix" and fits else e


def apply_rule(rule: Rule, e: Eigenvalues, seed: int) -> tuple[Choice, int]:
    """The choice of a rule that uses eigenvalues, and the number of components of the model, which is at least one."""
    assert rule.function is not None
    options = {"seed": seed} if "seed" in rule.options else {}
    try:
        k, curve = rule.function(e, **options)
    except Unavailable as reason:
        raise ValueError(f"n_components={rule.name!r}: {reason}; pass a number, or another rule.") from reason
    return Choice(rule.name, k, curve, rule.assumes, eigenvalues=rule.compared(e)), at_least_one(k, rule.name)


def check_cv_rows(n: int | None) -> None:
    """Refuse rows of which no folds can be made: too few, or of unknown number."""
    if n is not None and n < 3:
        raise ValueError(f"n_samples={n} is too few for n_components='cv': at least 3 are needed. Give more rows.")
    if n is None:
        folds_of(_FOLDS, None)


def apply_cv_rule(
    scorer: HeldOutScorer, source: Source, weights: Any, seed: int = 0, tables: Any = None
) -> tuple[Choice, Any, int]:
    """The choice of cross-validation in folds of shuffled rows, a summary of all rows if one was made, and the number
    of passes over the rows.

    For rows with missing values `tables` are X and y, to which models are fitted.
    """
    validator = _validator(scorer, source, weights, seed, tables)
    # Most scorers cannot fit a model without components to rows with missing values.
    result = validator.run(from_zero=scorer.from_zero and tables is None)
    first, rule = int(result.n_components[0]), RULES["cv"]
    answer = Choice("cv", result.best, result.mean[0], rule.assumes, first=first, cross_validation=result)
    return answer, validator.total, result.n_passes


def makes_summary(scorer: HeldOutScorer, source: Source, weights: Any) -> bool:
    """Whether `apply_cv_rule` would make a summary of all rows, as far as that is known before a row is read."""
    plan = _validator(scorer, source, weights).make_plan(from_zero=scorer.from_zero)
    return bool(plan.solver.makes_summary)


def _validator(
    scorer: HeldOutScorer, source: Source, weights: Any, seed: int = 0, tables: Any = None
) -> CrossValidator:
    """The cross-validation of a rule; an error if there are too few rows."""
    counted = count_repeated(source.shape[0], weights)
    check_cv_rows(counted)
    cv = _FOLDS if counted is None else shuffle_folds(min(_FOLDS, counted), seed)
    folds = folds_for(source, cv, weights=weights)
    return CrossValidator([scorer], source, folds, weights, tables=tables)


def at_least_one(k: int, rule: str) -> int:
    """The number `k` that a rule chose, but at least one, with a warning if `k` is zero."""
    if k < 1:
        warn_user(
            f"n_components={rule!r} finds no component that is more than noise; one is kept nevertheless.",
            NoComponentWarning,
        )
    return max(k, 1)


# What principal components leave of rows: the squared lengths of the residuals, from sparse or dense rows.


#: A squared length that is less than this share of the squares it is a difference of has lost too many digits; in
#: float32, components are orthonormal to about 1e-6 only.
_LOST, _LOST_FLOAT32 = 1e-6, 1e-2


def scores_and_rest(block: Array, W: Array, mean: Array, scale: Array | None) -> tuple[Array, Array]:
    """The scores z W^T of the rows z = (x - mean) / scale, and |z - z W^T W|^2, for orthonormal rows of W.

    For sparse rows, |z|^2 = |x / scale|^2 - 2 (x / scale)^T m + |m|^2 with m = mean / scale, and the squared length of
    the residual is |z|^2 - |z W^T|^2, in float64; rows for which this loses digits are made dense.
    """
    if not is_sparse(block):
        return _of_dense(block, W, mean, scale)
    X = block.astype(np.float64)
    m, V = mean.astype(np.float64), W.astype(np.float64)
    if scale is not None:
        m = m / scale
        X = X.multiply(1.0 / scale.astype(np.float64)[None, :]).tocsr()
    scores = X @ V.T - m @ V.T
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() + m @ m
    rest = squares - 2.0 * (X @ m) - (scores * scores).sum(axis=1)
    lost = np.flatnonzero(~(rest > (_LOST_FLOAT32 if W.dtype == np.float32 else _LOST) * squares))
    if len(lost):
        scores[lost], rest[lost] = _of_dense(block[lost].toarray().astype(np.float64), W, mean, scale)
    return scores.astype(block.dtype), rest.astype(block.dtype)


def _of_dense(block: Any, W: Array, mean: Array, scale: Array | None) -> tuple[Array, Array]:
    """The same for dense rows, from the residuals themselves."""
    scores, rest = split(block, W, mean, scale)
    return scores, namespace(rest).sum(rest * rest, axis=1)


def split(block: Array, W: Array, mean: Array, scale: Array | None) -> tuple[Array, Array]:
    """The scores of dense rows, and the centred (and scaled) rows minus their reconstruction."""
    Z = block - astype(mean, block.dtype)
    if scale is not None:
        Z = Z / astype(scale, Z.dtype)
    W = astype(W, Z.dtype)
    scores = Z @ W.T
    return scores, Z - scores @ W


# The support of a density of rows: the components with positive variance, and the variance outside them.


def variance_outside(k: int, p: int, rank: int, noise_variance: float, rank_cut: float) -> float:
    """The variance orthogonal to `k` components of `p` columns; 0 if there is none above rounding.

    `rank` is the number of components with positive variance, `noise_variance` the average variance in the other
    directions, and variances up to `rank_cut` count as zero.
    """
    is_positive = k < p and rank == k and noise_variance > rank_cut
    return float(noise_variance) if is_positive else 0.0


def density_support(p: int, rank: int, outside: float) -> tuple[int, float]:
    """The number of components with positive variance, and the variance orthogonal to all components (may be 0).

    Warns if there are directions of zero variance, since they are left out of the density.
    """
    if rank == 0 and outside == 0.0:
        raise no_variance("a density")
    without = p - rank if outside == 0.0 else 0
    if without:
        warn_user(
            f"{without} of {p} directions have no variance and were left out of the density; keep fewer components "
            "to spread the noise over them.",
            RankWarning,
        )
    return rank, outside


# Symmetric matrices that are a multiple of the identity outside a small subspace.


@dataclass(frozen=True)
class SymmetricFactors:
    """V^T diag(along) V + beyond (I - V^T V), with r orthonormal rows V of length p.

    A product with it costs 2 p r multiplications a row, and it takes p r numbers instead of p^2.
    """

    #: Orthonormal rows V, (r, p).
    vectors: Array
    #: Eigenvalues along these, (r,), and in all other directions.
    along: Array
    beyond: float

    def times(self, coordinates: Array, rows: Array | None) -> Array:
        """The products of `rows` with the matrix, given their coordinates x V^T; rows may be None if `beyond` is zero,
        because nothing else of them is needed then."""
        V = astype(self.vectors, coordinates.dtype)
        found = (coordinates * astype(self.along - self.beyond, coordinates.dtype)) @ V
        return found if rows is None or self.beyond == 0.0 else found + self.beyond * rows

    def dense(self, what: str = "a symmetric matrix") -> Array:
        """The p x p matrix; a MemoryError that says how large `what` is if it does not fit into memory."""
        V, p = self.vectors, int(self.vectors.shape[1])
        require_square(what, p, V.dtype.itemsize if hasattr(V.dtype, "itemsize") else 8)
        xp = namespace(V)
        identity = xp.eye(p, dtype=V.dtype, device=device(V))
        return (V.T * astype(self.along - self.beyond, V.dtype)[None, :]) @ V + self.beyond * identity


def require_square(what: str, p: int, itemsize: int = 8, n_matrices: int = 3) -> None:
    """Raise a MemoryError if `n_matrices` of size p x p, which computing `what` takes, do not fit into memory."""
    needed, have = n_matrices * itemsize * p * p, memory_bytes()
    if have and needed > have:
        raise needs_memory(f"{what} of {p} x {p} numbers", needed, have, "Use transform and inverse_transform instead.")
