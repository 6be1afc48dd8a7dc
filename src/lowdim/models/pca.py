"""Principal component analysis."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import (
    Array,
    asarray_like,
    astype,
    dense,
    device,
    in_range,
    is_sparse,
    namespace,
    numpy_dtype,
    to_device,
)
from .._core.schema import Instance, Maybe, Numbers, Real, Sometimes, Whole
from .._core.types import RandomState
from ..errors import list_names, rule_needs_rows
from ..features import affine
from ..linalg import divisor
from ..reading.rows import Rows
from ..selection.fold_methods import HeldOutScorer, PermutationOptions
from ..selection.rules import Choice, RuleName
from ..selection.scorers import PrincipalScorer, SpectralScorer
from ..solvers import spectra
from ..solvers.problem import Plan, Spectrum, Tail, leading_count, with_passes
from ..solvers.spectra import SolverName
from ..solvers.spectra.covariance import Solver
from ..sources.derived import mean_of_results
from ..sources.opening import TableLike
from .base import check_flags, count_components, first_components, is_cv
from .n_components import apply_cv_rule, at_least_one, check_rule, chosen_by, eigenvalues_for
from .output import FULL_ACCURACY, NEVER_OVERWRITTEN
from .spectral import DENSITY_AXES, SpectralModel, density_support, variance_outside, with_variance


class PCA(SpectralModel):
    """Principal component analysis: the directions of maximal variance.

    Equivalently, the subspace with the smallest sum of squared distances to the rows.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of components. A number in (0, 1) keeps the fewest components whose proportion of variance reaches it;
        None keeps all min(n_samples, n_features). The name of a rule ("minka", "parallel", "cv", ...; see
        `choose_n_components`) keeps the number that the rule chooses, and `choice_` holds its curve.
    whiten : bool, default=False
        Whether to divide scores by their standard deviation. Directions of zero variance are then dropped, with a
        warning.
    scale : bool, default=False
        Whether to divide columns by their standard deviation first (PCA of the correlation matrix). Constant columns
        are not divided.
    center : bool, default=True
        Whether to subtract the mean. If not, the components are those of the second moments about zero, as in latent
        semantic analysis, and "variance" means the mean square about zero everywhere in this class; see Notes.
    feature_weight : array of shape (n_features,) or dict of str to float, default=None
        Weights of the columns, which are positive; columns that a dictionary does not name have the weight 1. They
        multiply the squares of the columns, after these were scaled.
    solver : str or Solver, default="auto"
        "auto", "covariance", "triangle", "gram", "krylov", or an object from `lowdim.solvers` with its options.
    ddof : int, default=1
        Variances are divided by n - ddof: 1 as in scikit-learn and R's prcomp, 0 for maximum likelihood.
    random_state : int, RandomState or None, default=None
        Seed of the starting vectors of the Krylov solver; None is a fixed seed.

    Attributes
    ----------
    components_ : array of shape (n_components_, n_features_in_)
        Unit vectors w_k as rows; the entry of largest magnitude of each is positive.
    explained_variance_ : array of shape (n_components_,)
        lambda_k, the variance of the scores, descending.
    explained_variance_ratio_ : array of shape (n_components_,)
        lambda_k divided by the total variance.
    singular_values_ : array of shape (n_components_,)
        sqrt(lambda_k (n - ddof)).
    mean_ : array of shape (n_features_in_,)
        The mean of the rows; zeros with `center=False`.
    scale_ : array of shape (n_features_in_,) or None
        What the columns are divided by: standard deviations, with `scale` (with `center=False` root mean squares, of
        the same divisor), over the square roots of the weights of the columns.
    noise_variance_ : float
        Average of the n_features_in_ - n_components_ discarded eigenvalues.
    loadings_ : array of shape (n_features_in_, n_components_)
        w_k sqrt(lambda_k) as columns.
    rank_ : int
        Number of components whose variance is positive, up to the accuracy of the solver.
    n_components_, n_samples_, n_features_in_, feature_names_in_
    choice_ : Choice
        If `n_components` is a rule: its result, and the curve from which it was chosen.
    solver_, plan_, status_, residual_
        The solver that ran, its plan, its final status, and max_k ||S w_k - lambda_k w_k|| / lambda_1.

    Notes
    -----
    The components solve S w_k = lambda_k w_k for the covariance S = sum_i (x_i - mean)(x_i - mean)^T / (n - ddof).
    `auto` takes the cheapest solver that is accurate for the requested components, and solves again with a more
    accurate one if some of their eigenvalues are too small compared to the largest. `covariance` needs one pass over
    the rows and p^2 numbers; see `lowdim.solvers` for the others.

    With `center=False` the rows are not centred: S = sum_i x_i x_i^T / (n - ddof), the scores are X W^T and the rows
    are modelled as N(0, C). With all components this is the singular value decomposition X = U diag(s) W of the table
    itself, with s the `singular_values_`. The first component points roughly at the mean. lambda_k = s_k^2 / (n - ddof)
    is what R's prcomp(center = FALSE) calls a variance; scikit-learn's TruncatedSVD reports the variances of the scores
    about their means instead, which are smaller, and need not descend. Sparse rows stay sparse.

    References
    ----------
    .. [1] Tipping, Bishop (1999), Probabilistic principal component analysis. For `score_samples`.

    Examples
    --------
    >>> import numpy as np
    >>> from lowdim import PCA
    >>> X = np.array([[1, 2], [3, 3], [3, 5], [5, 4], [5, 6], [6, 5], [8, 7], [9, 8]])
    >>> pca = PCA(ddof=0).fit(X)
    >>> print(pca)
    PCA of 8 rows, 2 columns (covariance)
         std. deviation  variance  proportion  cumulative
    PC1          3.0565    9.3419      0.9581      0.9581
    PC2          0.6388    0.4081      0.0419      1.0000
    """

    #: None unless a fit sets it: a model may also be rebuilt from its components, mean and variances.
    scale_: np.ndarray | None = None
    #: How much more than the share of the variance that `n_components` asks for the components must reach.
    _beyond_share = 0.0
    #: Whether whitening drops directions without variance.
    _drops_flat = True
    bootstrap_axes = DENSITY_AXES
    components_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    singular_values_: np.ndarray
    noise_variance_: float
    tail_: Tail
    total_weight_: float
    rank_: int
    rank_cut_: float
    choice_: Choice
    fitted_attributes = {
        "scale_": Maybe(Numbers("p", sign="positive")),
        "components_": Numbers("k", "p", orthonormal="rows"),
        "explained_variance_": Numbers("k", sign="nonnegative", order="descending"),
        "explained_variance_ratio_": Numbers("k", sign="nonnegative", order="descending", most=1.0),
        "singular_values_": Numbers("k", sign="nonnegative", order="descending"),
        "noise_variance_": Real("nonnegative"),
        "tail_": Instance("solvers.Tail"),
        "total_weight_": Real("positive"),
        "rank_": Whole(most="k"),
        "rank_cut_": Real("nonnegative"),
        "choice_": Sometimes(Instance("selection.Choice")),
    }
    _not_taken = {
        "copy": NEVER_OVERWRITTEN,
        "svd_solver": "write solver='triangle' for 'full', 'covariance' for 'covariance_eigh', 'krylov' for 'arpack' "
        "and 'randomized'",
        "tol": "write solver=Krylov(tol=...), from lowdim.solvers",
        "iterated_power": "write solver=Krylov(steps=...), from lowdim.solvers",
        "n_oversamples": "write solver=Krylov(block=...), from lowdim.solvers",
        "power_iteration_normalizer": FULL_ACCURACY,
        "batch_size": "blocks are of the right size already; leave it out",
    }

    def __init__(
        self,
        n_components: int | float | RuleName | None = None,
        *,
        whiten: bool = False,
        scale: bool = False,
        center: bool = True,
        feature_weight: ArrayLike | Mapping[str, float] | None = None,
        solver: SolverName | Solver = "auto",
        ddof: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.scale = scale
        self.center = center
        self.feature_weight = feature_weight
        self.solver = solver
        self.ddof = ddof
        self.random_state = random_state

    def _fit_rows(self, rows: Rows) -> None:
        if is_cv(self.n_components):
            spectrum, the_plan = self._cross_validate(rows)
        else:
            spectrum, the_plan = spectra.solve(rows, self._request_for(rows), self._solver())
        self._finish(spectrum, the_plan, rows.dtype)

    def _cross_validate(self, rows: Rows) -> tuple[Spectrum, Plan]:
        """All eigenpairs and the plan, after cross-validation has set `choice_`."""
        weights = self._feature_weight(rows.shape[1])
        solver, scorer = self._solver(), SpectralScorer(bool(self.scale), center=bool(self.center), weights=weights)
        self.choice_, total, passes = apply_cv_rule(scorer, rows.source, rows.weights, self._seed())
        if solver == "auto" and total is not None:
            # The merged summaries of the folds are all that is needed.
            spectrum, the_plan = spectra.solve_summary(total, self._request(None, rows.shape[1]))
        else:
            spectrum, the_plan = spectra.solve(rows, self._request_for(rows), solver)
        return spectrum, with_passes(the_plan, passes + the_plan.passes)

    def scores(self, X: TableLike) -> np.ndarray:
        """Scores with variances lambda_k, that is, `transform` without whitening; always an array, regardless of
        `set_output`."""
        check_is_fitted(self)
        Z = self._map(X, self._scoring(), "scores")
        return Z * astype(namespace(Z).sqrt(self.explained_variance_), Z.dtype)[None, :] if self.whiten else Z

    def reconstruction_error(
        self, X: TableLike, *, scaled: bool = False, n_components: int | None = None
    ) -> np.ndarray:
        """Squared distance of each row to its reconstruction, ||x - W^T W x||^2 for centred x.

        With `scaled`, the columns are divided by `scale_`, if the model standardizes. With `n_components`, only the
        first components are used.
        """
        W = first_components(self, n_components, least=0).components_

        def error(block: Array) -> Array:
            if self.scale_ is None or scaled:
                return scores_and_rest(block, W, self.mean_, self.scale_)[1]
            _, rest = split(dense(block), W, self.mean_, self.scale_)
            rest = rest * astype(self.scale_, rest.dtype)
            return namespace(rest).sum(rest * rest, axis=1)

        return self._map(X, error, "reconstruction_error")

    def score_samples(self, X: TableLike) -> np.ndarray:
        """Log-density of each row under N(mean, C) with C = W^T (Lambda - sigma2 I) W + sigma2 I.

        ln p(x) = -(1/2) [D ln 2 pi + sum_k ln lambda_k + (D-K) ln sigma2 + sum_k z_k^2 / lambda_k + |rest|^2 / sigma2],
        where z are the scores without whitening, and rest is the centred row minus its reconstruction. Directions
        without variance are left out, with a warning; the density is then that of the others.
        """
        check_is_fitted(self)
        rank, noise = density_support(self.n_features_in_, self.rank_, self._noise())
        xp = namespace(self.components_)
        p, variances = self.n_features_in_, self.explained_variance_[:rank]
        dimension = p if noise > 0.0 else rank
        constant = dimension * math.log(2 * math.pi) + float(xp.sum(xp.log(variances)))
        if noise > 0.0:
            constant += (p - rank) * math.log(noise)
        if self.scale_ is not None:
            constant += 2 * float(xp.sum(xp.log(self.scale_)))

        def log_density(block: Array) -> Array:
            scores, squares = scores_and_rest(block, self.components_, self.mean_, self.scale_)
            scores = scores[:, :rank]
            distance = xp.sum(scores * scores / astype(variances, scores.dtype), axis=1)
            if noise > 0.0:
                distance = distance + squares / noise
            return -0.5 * (distance + constant)

        return self._map(X, log_density, "score_samples")

    def score(self, X: TableLike, y: TableLike | None = None) -> float:
        """Average log-density of the rows of `X`."""
        X, _ = self._by_name(X, y, fitted=True)
        return mean_of_results(self.score_samples(X))

    def get_covariance(self) -> np.ndarray:
        """The model's covariance C = W^T (Lambda - sigma2 I) W + sigma2 I (in the units of the rows)."""
        check_is_fitted(self)
        C = self._spectral_matrix(self.explained_variance_, self.noise_variance_)
        return C if self.scale_ is None else C * self.scale_[:, None] * self.scale_[None, :]

    def get_precision(self) -> np.ndarray:
        """The inverse of the model's covariance, W^T (1/Lambda - I/sigma2) W + I/sigma2, without a matrix inversion.

        If there are directions without variance, it is the pseudo-inverse, with a warning.
        """
        check_is_fitted(self)
        rank, noise = density_support(self.n_features_in_, self.rank_, self._noise())
        along = namespace(self.components_).zeros_like(self.explained_variance_)
        along[:rank] = 1.0 / self.explained_variance_[:rank]
        C = self._spectral_matrix(along, 1.0 / noise if noise > 0.0 else 0.0)
        return C if self.scale_ is None else C / self.scale_[:, None] / self.scale_[None, :]

    @property
    def loadings_(self) -> np.ndarray:
        """The loadings w_k sqrt(lambda_k) as columns."""
        check_is_fitted(self)
        return (self.components_ * namespace(self.components_).sqrt(self.explained_variance_)[:, None]).T

    def _importance(self) -> list[tuple[str, Array]]:
        columns = super()._importance()
        if self.center:
            return columns
        about_zero = {"std. deviation": "root mean square", "variance": "mean square"}
        return [(about_zero.get(name, name), numbers) for name, numbers in columns]

    def _describe_columns(self) -> str:
        columns = super()._describe_columns()
        return columns if self.center else f"{columns}, not centred"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flags(self, "whiten", "scale", "center")

    def _feature_weight(self, p: int) -> np.ndarray | None:
        given: Any = getattr(self, "feature_weight", None)
        if given is None:
            return None
        if isinstance(given, Mapping):
            names = self._column_names()
            if unknown := [name for name in given if name not in names]:
                raise ValueError(f"feature_weight: there is no column {list_names(unknown)}.")
            given = [given.get(name, 1.0) for name in names]
        weights = np.asarray(given, dtype=np.float64)
        if weights.shape != (p,):
            raise ValueError(f"feature_weight must have one entry for each of the {p} columns, got {weights.shape}.")
        if not (np.all(np.isfinite(weights)) and np.all(weights > 0)):
            raise ValueError(
                f"feature_weight must be positive and finite, got {weights.min():g} to {weights.max():g}. Leave out "
                "columns that should have no weight."
            )
        return weights

    def _unpack(self, spectrum: Spectrum, dtype: Any) -> None:
        p, like, host = self.n_features_in_, spectrum.vectors, numpy_dtype(dtype)
        k = spectrum.values.shape[0]
        weight, total = divisor(spectrum.weight, self.ddof), spectrum.total or 1.0
        found = [in_range(spectrum.values / weight, host), (spectrum.values / total).astype(host)]
        found.append(in_range(np.sqrt(spectrum.values), host))
        self.n_components_ = k
        self.mean_ = asarray_like(spectrum.mean, like, dtype=dtype)
        self.scale_ = None if spectrum.scale is None else asarray_like(spectrum.scale, like, dtype=dtype)
        self.components_ = astype(namespace(like).asarray(spectrum.vectors, copy=True), dtype)
        self.explained_variance_, self.explained_variance_ratio_, self.singular_values_ = to_device(found, like)
        self.noise_variance_ = spectrum.tail.total / weight / (p - k) if k < p else 0.0
        self.tail_ = spectrum.tail
        self.total_weight_ = spectrum.weight
        self.rank_ = spectrum.rank
        self.rank_cut_ = spectrum.rank_cut / weight

    def _kept(self, spectrum: Spectrum) -> Spectrum:
        """The components that `n_components` and `whiten` keep."""
        k = spectrum.values.shape[0]
        if isinstance(self.n_components, str):
            rule = check_rule(self.n_components)
            if rule.needs != "folds":
                weighted = getattr(self, "feature_weight", None) is not None
                e = eigenvalues_for(rule, spectrum, self.ddof, weighted=weighted)
                self.choice_, k = chosen_by(rule, e, self._seed())
            elif hasattr(self, "choice_"):
                k = at_least_one(self.choice_.k, rule.name)
            else:
                raise rule_needs_rows(rule.name)
        elif self.n_components is not None and 0.0 < self.n_components < 1.0:
            k = leading_count(spectrum.values, spectrum.total, float(self.n_components) + self._beyond_share)
        return spectrum.truncated(with_variance(spectrum, k) if self.whiten and self._drops_flat else k)

    def _k(self, n: int | None, p: int) -> int | None:
        if isinstance(self.n_components, str):
            check_rule(self.n_components)
            return None
        self.__dict__.pop("choice_", None)
        return count_components(self.n_components, n, p)

    def held_out_scorer(self) -> HeldOutScorer:
        """The scorer of held-out rows for `cross_validate`: their log-likelihood."""
        self._check_parameters()
        return PrincipalScorer(self, self.ddof, center=bool(self.center))

    def permutation_options(self) -> PermutationOptions:
        """The options of `permutation_test`, which shuffles each column independently."""
        if not self.center:
            raise ValueError(
                "center=False: shuffled columns keep their means, and so much of what components about zero describe; "
                "test PCA(center=True), or choose by choose_n_components(X, center=False)."
            )
        return PermutationOptions((bool(self.scale),))

    def _scoring(self) -> Any:
        """The function block -> (block - mean) A, for the p x K matrix A that maps centred rows to scores."""
        A = self.components_.T
        if self.scale_ is not None:
            A = A / self.scale_[:, None]
        if self.whiten:
            return affine(A * self._whitening()[None, :], self.mean_, 1.0)
        known: Any = getattr(self, "explained_variance_", None)
        some = known is not None and known.shape[0] > 0
        return affine(A, self.mean_, math.sqrt(float(known[0])) if some else 0.0)

    def _whitening(self) -> Array:
        """What whitening multiplies the scores by, 1 / sqrt(lambda_k)."""
        return 1.0 / namespace(self.components_).sqrt(self.explained_variance_)

    def _lift(self) -> Array:
        A = self.components_
        if self.whiten:
            A = A * namespace(A).sqrt(self.explained_variance_)[:, None]
        return A if self.scale_ is None else A * self.scale_[None, :]

    def _spectral_matrix(self, along: Array, elsewhere: float) -> Array:
        """The matrix with eigenvalues `along` the components and `elsewhere` orthogonal to them."""
        xp = namespace(self.components_)
        W = self.components_
        identity = xp.eye(W.shape[1], dtype=W.dtype, device=device(W))
        return (W.T * (along - elsewhere)[None, :]) @ W + elsewhere * identity

    def _noise(self) -> float:
        """The variance orthogonal to all components; 0 if there is none above rounding."""
        return variance_outside(self.n_components_, self.n_features_in_, self.rank_, self.noise_variance_)


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
