"""Kernel PCA: principal components of features that are known only through their inner products."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import (
    Array,
    asarray_like,
    astype,
    dense,
    in_range,
    is_sparse,
    namespace,
    numpy_dtype,
    to_device,
    to_numpy,
)
from .._core.schema import Instance, Maybe, Numbers, Real, Several, Sometimes, TupleOf, Unstored
from .._core.types import RandomState, VectorLike
from ..errors import ConvergenceWarning, IndefiniteWarning, RankWarning, choice, needs_second_reading, warn_user
from ..features import Same, affine, require_width
from ..kernels import Gaussian, Kernel, KernelLike, Linear, as_kernel, no_width, refuse_parameters
from ..linalg import divisor, require_rows
from ..reading.map import RowMap
from ..reading.rows import Rows
from ..selection.kernel_width import SAMPLED_ROWS, WidthChoice, compare_widths
from ..solvers import kernel as kernel_solvers
from ..solvers.kernel import KernelRequest, KernelSolverName
from ..solvers.kernel.matrix import Components, KernelSolver, memory_allowed
from ..solvers.kernel.preimages import PREIMAGES, FixedPoint, LearnedMap, PreimageName, Ridge
from ..solvers.problem import Plan, Status, counted_rows, total_weight, with_passes
from ..sources.base import Source
from ..sources.derived import MappedSource
from ..sources.frame import ObjectSource, holds_objects
from ..sources.opening import TableLike, open_source
from ..summaries.sample import Sample
from .base import Model, count_components, first_components
from .output import NEVER_OVERWRITTEN, Maps, results

#: If a larger fraction of the spectrum is negative, there is a warning.
_NEGATIVE = 0.01


class KernelPCA(Model):
    """Kernel PCA: directions of maximal variance of features phi(x) with the kernel k(x, y) = phi(x) . phi(y).

    Parameters
    ----------
    n_components : int, float or None, default=None
        A whole number; a fraction of variance to reach, strictly between 0 and 1; or None for all components with
        positive variance.
    kernel : str, Kernel or callable, default="linear"
        A name ("linear", "gaussian" or "rbf", "polynomial" or "poly", "laplacian", "matern", "sigmoid", "cosine",
        "quadratic", "thin plate spline"), an object from `lowdim.kernels` with its options, sums and products of these
        objects, a function of two rows, or "precomputed" if X is the kernel matrix.
    gamma : float, "search" or None, default=None
        gamma of a kernel given by name. None is 1 / n_features for kernels of inner products; the width of a kernel of
        distances is then found by the median rule. "search" compares widths of any kernel that has one, for the number
        of components that `n_components` gives, by the criterion of `lowdim.selection.choose_width`, and keeps the
        result as `width_choice_`. `kernel_` holds the kernel with its width.
    degree, coef0 : float, default=None
        Further parameters of a kernel given by name. One that the kernel does not have must be left at None.
    solver : str or KernelSolver, default="auto"
        "auto"; "dense", "krylov" or "matrix-free", which are exact; "features", which is exact for kernels with an
        explicit feature map; "nystrom" or "fourier", which approximate the kernel; or an object from `lowdim.solvers`
        with its options, such as `Nystrom(landmarks=500, choose="k-means++")`.
    memory : int or str, default=None
        Memory that may be used in addition to the rows, in bytes or as text such as "2 GiB". The default is half of the
        free memory. Parts of the kernel matrix that do not fit are recomputed whenever they are needed; if that is not
        possible, an error is raised before the computation starts.
    preimage : str, FixedPoint or Ridge, default="auto"
        How `inverse_transform` finds rows: "fixed-point" (Gaussian kernel), "ridge" (any kernel), or "auto".
    random_state : int, RandomState or None, default=None
        Seed of landmarks, frequencies and starting vectors; None is a fixed seed.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components_,)
        Positive eigenvalues of the centred kernel matrix, descending: n - 1 times the variance of each component.
    eigenvectors_ : array of shape (n_samples, n_components_) or None
        Eigenvectors of the centred kernel matrix, with sum_i w_i v_i^2 = 1 for weights w. Only exact solvers compute
        them ("features" does not); otherwise None.
    explained_variance_, explained_variance_ratio_ : arrays of shape (n_components_,)
        Variance of each component, and its proportion of the total variance in the feature space.
    negative_mass_ : float
        The sum of |eigenvalue| over negative eigenvalues, divided by the sum over all. It is zero for a positive
        semidefinite kernel. If the solver does not compute all eigenvalues, it is an estimate, accurate to about one
        percent.
    kernel_ : Kernel or None
        The kernel with all its parameters; None for a precomputed kernel matrix.
    gamma_ : float or None
        The gamma of the kernel, if it has one.
    width_choice_ : WidthChoice
        With `gamma="search"`: the widths that were compared.
    X_fit_ : array or None
        The rows with which the kernels of new rows are computed: the rows of the fit or the landmarks. None if there
        are none.
    projection_, offset_ : arrays of shape (m, n_components_) and (m,)
        Scores are (f(x) - offset_) projection_, where f(x) are the kernels of x with X_fit_, or the features of x.
    error_, error_interval_ : float, and pair of floats
        With "nystrom": the proportion of variance that the landmarks miss, estimated from rows that are not landmarks,
        and a 99 % interval for it. With "fourier": the root mean square error of the kernel, divided by its root mean
        square. Zero for exact solvers; NaN if the rows could not be read a second time for the estimate.
    n_components_, n_samples_, n_features_in_, feature_names_in_, solver_, plan_, status_, residual_

    Notes
    -----
    With K_ij = k(x_i, x_j) and J = I - 1 1^T / n, the centred kernel matrix is J K J = P Gamma P^T. The scores of the
    rows of the fit are P Gamma^(1/2). Those of a new row x are its kernels k(x, x_i), centred by their means over the
    rows of the fit, times P Gamma^(-1/2) [1]_. With the linear kernel they are those of PCA.

    "dense" applies LAPACK to the whole matrix. "krylov" multiplies the matrix by blocks of vectors, about ten times. As
    the matrix is symmetric, only half of it is computed: once if it fits into `memory`; parts that do not fit are
    recomputed in each step. "nystrom", "fourier" and "features" are a feature map followed by PCA. Rows are mapped
    block by block while they are summarized, so that everything that PCA can read, including streams, can be read here.

    References
    ----------
    .. [1] Scholkopf, Smola, Muller (1998), Nonlinear component analysis as a kernel eigenvalue problem.

    Examples
    --------
    A small circle inside a large one: the first component separates them.

    >>> import numpy as np
    >>> from lowdim import KernelPCA
    >>> from lowdim.kernels import Gaussian
    >>> angle = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    >>> circle = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> kpca = KernelPCA(1, kernel=Gaussian(gamma=0.5)).fit(np.vstack([0.3 * circle, 2 * circle]))
    >>> inside, outside = kpca.transform([[0.0, 0.1], [0.0, -2.0]]).ravel()
    >>> bool(inside * outside < 0)
    True
    """

    #: The coefficients z B + c of a point of the feature space in the features of X_fit_, as the pair of B and c.
    _expansion: Any
    residual_: float
    eigenvalues_: np.ndarray
    eigenvectors_: np.ndarray | None
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    negative_mass_: float
    error_: float | None
    error_interval_: tuple[float | None, ...]
    kernel_: Kernel | None
    projection_: np.ndarray
    offset_: np.ndarray
    X_fit_: np.ndarray | None
    width_choice_: WidthChoice
    fitted_attributes = {
        "residual_": Real("nonnegative"),
        "eigenvalues_": Numbers("k", sign="nonnegative", order="descending"),
        "eigenvectors_": Maybe(Numbers("n", "k", rows=True)),
        "explained_variance_": Numbers("k", sign="nonnegative", order="descending"),
        "explained_variance_ratio_": Numbers("k", sign="nonnegative", order="descending", most=1.0),
        "negative_mass_": Real("nonnegative", most=1.0),
        "error_": Maybe(Real("nonnegative")),
        "error_interval_": TupleOf(Maybe(Real())),
        "kernel_": Maybe(Instance("kernels.*")),
        # Features of a row are kernels with m rows, or m other numbers.
        "projection_": Numbers("m", "k"),
        "offset_": Numbers("m"),
        "X_fit_": Maybe(Numbers("e", "p", rows=True, sparse=True)),
        "_phi": Instance("features.*", shares="p"),
        "_expansion": Maybe(Several(Numbers("*", "e"), Numbers("e"))),
        "_examples": Maybe(Numbers("*", "p", rows=True, sparse=True)),
        "_learned": Unstored(),
        "width_choice_": Sometimes(Instance("selection.WidthChoice")),
    }
    _not_taken = {
        "kernel_params": "pass a kernel with its parameters, as in kernel=Gaussian(gamma=0.125), or functools.partial",
        "alpha": "write preimage=Ridge(alpha=...), from lowdim.solvers",
        "fit_inverse_transform": "inverse_transform is always there; leave it out, or write preimage=... for a method",
        "eigen_solver": "write solver='dense' or solver='krylov'",
        "tol": "write solver=KrylovKernel(tol=...), from lowdim.solvers",
        "max_iter": "write solver=KrylovKernel(max_steps=...), from lowdim.solvers",
        "iterated_power": "write solver=KrylovKernel(steps=...), from lowdim.solvers",
        "remove_zero_eig": "components without variance are always left out; leave it out",
        "copy_X": NEVER_OVERWRITTEN,
        "n_jobs": "the number of threads is that of BLAS; limit it with threadpoolctl",
    }

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        kernel: KernelLike | Literal["precomputed"] = "linear",
        gamma: float | Literal["search"] | None = None,
        degree: float | None = None,
        coef0: float | None = None,
        solver: KernelSolverName | KernelSolver = "auto",
        memory: int | str | None = None,
        preimage: PreimageName | FixedPoint | Ridge = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.memory = memory
        self.preimage = preimage
        self.random_state = random_state

    def fit_transform(
        self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None
    ) -> np.ndarray:
        """Fit to `X` and return the scores of its rows. After an exact fit they need no further pass."""
        source = self._fit(X, y, sample_weight, twice=True)
        vectors = self.eigenvectors_
        if vectors is not None and vectors.shape[0] == source.shape[0]:
            lengths = self._score_lengths(vectors.dtype)
            return astype(vectors, lengths.dtype) * lengths[None, :]
        return self._scores_map(source).result()

    def transform(self, X: TableLike, *, n_components: int | None = None) -> np.ndarray:
        """Scores of the rows of `X`, block by block; with `n_components`, those of the first components only.

        With kernel="precomputed", each row of `X` holds the kernels of a new row with the rows of the fit.
        """
        check_is_fitted(self)
        return results(self._transform_maps(X))

    def _has_rows(self) -> bool:
        if is_precomputed(self.kernel):
            raise AttributeError("kernel='precomputed': the model does not know the rows, so it cannot return to them.")
        return True

    @available_if(_has_rows)
    def inverse_transform(self, X: TableLike) -> np.ndarray:
        """Rows whose features are close to the points with these scores.

        With the linear kernel they are exact: mean + z W. Otherwise there is rarely a row with exactly these features.
        For the Gaussian kernel the distance is minimised by a fixed-point iteration; for other kernels the map from
        scores to rows is learned by regression on rows of the fit. The parameter `preimage` selects the method.

        If `X` has fewer columns than there are components, they are the scores of the first ones, and the point is the
        one at which those of the others are zero.
        """
        return super().inverse_transform(X)

    def _transform_maps(self, X: Any) -> Maps:
        return [self._scores_map(self._open(X, reset=False, method="transform"))]

    def _inverse_maps(self, X: Any) -> Maps:
        source = self._open_scores(X)
        model = first_components(self, source.shape[1])
        method = preimage_method(model)
        if method is None:
            B, mean = _linear_map(model)
            return [RowMap(source, lambda Z: dense(Z) @ astype(B, Z.dtype) + astype(mean, Z.dtype), self._row_names)]
        rows_of = _learned_map(model) if isinstance(method, Ridge) else _iterated_map(model, method)
        like = source.empty(0)

        def rows(Z: Array) -> Array:
            return asarray_like(rows_of(to_numpy(dense(Z)).astype(np.float64)), like, dtype=like.dtype)

        return [RowMap(source, rows, self._row_names)]

    def _scores_map(self, source: Source) -> RowMap:
        scoring, dtype = self._scoring(), self._score_lengths(source.dtype).dtype
        features = MappedSource(source, self._phi, widen=True)
        return RowMap(features, lambda block: astype(scoring(block), dtype), self._score_names)

    def _score_lengths(self, dtype: Any) -> Array:
        """The lengths of the columns of scores of the fit, in `dtype` if they are in its range."""
        return in_range(namespace(self.eigenvalues_).sqrt(self.eigenvalues_), dtype)

    def _scoring(self) -> Any:
        """The function from kernels or features to scores."""
        return affine(self.projection_, self.offset_, math.sqrt(float(self.explained_variance_[0])))

    def _lift(self) -> Array:
        raise TypeError("features are known only through a kernel; inverse_transform finds rows close to them.")

    def _open(self, X: Any, *, reset: bool, method: str = "partial_fit") -> Source:
        """As for other models, but if the kernel is a function, rows may be any objects."""
        kernel = self._given_kernel()
        if kernel is None:
            given = open_source(X)
            if given.shape[1] != (given.shape[0] if reset else self.n_features_in_):
                # The entries of a matrix of the wrong shape are checked first: their errors are reported first.
                given.table = "the kernels in X"
                Rows(given).whole("kernel='precomputed'")
        elif kernel.takes_anything and holds_objects(X):
            X = ObjectSource(X)
        return super()._open(X, reset=reset, method=method)

    def _keep_first(self, k: int) -> None:
        super()._keep_first(k)
        if self._expansion is not None:
            self._expansion = (self._expansion[0][:k, :], self._expansion[1])
        # The map from scores to rows is another one for fewer scores.
        self.__dict__.pop("_learned", None)

    def _check_parameters(self) -> None:
        if isinstance(self.preimage, str):
            if self.preimage != "auto" and self.preimage not in PREIMAGES:
                raise choice("preimage", self.preimage, ["auto", *PREIMAGES])
        elif not isinstance(self.preimage, FixedPoint | Ridge):
            raise TypeError(f"preimage must be a name, a FixedPoint or a Ridge, got {type(self.preimage).__name__}.")
        memory_allowed(self.memory)
        self._check_search()
        self._given_kernel()

    def _searches_width(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "search"

    def _check_search(self) -> None:
        """Refuse a text that is not "search", and a search for a kernel without a width or without a number of
        components; numbers are checked by the kernel."""
        if not isinstance(self.gamma, str):
            return
        if not self._searches_width():
            raise choice("gamma", self.gamma, ("search",), "Or a positive number, or None.")
        kernel = self._given_kernel()
        if kernel is None:
            raise ValueError("gamma='search': kernel='precomputed' has no width; leave gamma at None.")
        if not isinstance(self.n_components, numbers.Integral):
            raise ValueError(
                f"gamma='search' compares widths for a number of components, got n_components={self.n_components!r}; "
                "pass a whole number."
            )
        if not kernel.has_width:
            raise no_width(kernel)

    def _check_fitted(self) -> None:
        require_width(self._phi, self.n_features_in_, self.offset_.shape[0])

    def _plan_rows(self, rows: Rows) -> Plan:
        return kernel_solvers.plan(rows, self._request(rows), self.solver)

    def _fit_rows(self, rows: Rows) -> None:
        request, searched = self._request(rows), self._searches_width()
        self.__dict__.pop("width_choice_", None)
        if searched:
            if not rows.traits.rereadable:
                raise needs_second_reading("for the fit after the search of the width")
            assert request.kernel is not None and request.k is not None, "refused by _check_search"
            sample = rows.summarize(Sample(rows.shape[1], SAMPLED_ROWS, seed=request.sample_seed))
            self.width_choice_ = compare_widths(sample, request.kernel, request.k, seed=request.seed)
            request = replace(request, kernel=self.width_choice_.kernel)
        found, the_plan = kernel_solvers.solve(rows, request, self.solver)
        the_plan = with_passes(the_plan, the_plan.passes + searched)
        self.plan_, self.solver_ = the_plan, the_plan.solver.name
        self._unpack(found, rows.dtype)
        self._warn(found)

    def _request(self, rows: Rows) -> KernelRequest:
        """The request to the solver; an error if there are too few rows."""
        asked, p, n = self._given_kernel(), rows.shape[1], counted_rows(rows)
        if asked is None and rows.shape[0] != p:
            raise ValueError(f"kernel='precomputed' needs a square matrix, X has shape {rows.shape}.")
        if n is not None:
            require_rows(n, total_weight(rows) or 0.0, 1, fixed=True)
        k = self._k(n, p)
        return KernelRequest(
            kernel=asked,
            k=k,
            share=None if k is not None or self.n_components is None else float(self.n_components),
            memory=self.memory,
            seed=self._seed(),
            sample_seed=self._seed(),
            n_examples=(self.preimage if isinstance(self.preimage, Ridge) else Ridge()).rows,
            objects=rows.source.kind == "objects",
        )

    def _given_kernel(self) -> Kernel | None:
        """The kernel that the parameters select; None for a precomputed kernel matrix."""
        gamma = None if self._searches_width() else self.gamma
        parameters: dict[str, Any] = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            refuse_parameters(parameters, "kernel='precomputed' has no parameters. Leave it at None")
            return None
        return as_kernel(self.kernel, **parameters)

    def _k(self, n: int | None, p: int) -> int | None:
        """The number of eigenpairs that `n_components` needs; None means all."""
        return count_components(self.n_components, n, p, of_rows=True)

    def _unpack(self, found: Components, dtype: Any) -> None:
        values, host = found.values, numpy_dtype(dtype)
        self.n_components_ = len(values)
        self.n_samples_ = found.n_rows
        arrays = [in_range(values, host), in_range(values / divisor(found.weight, 1), host)]
        arrays.append((values / found.total).astype(host))
        self.eigenvalues_, self.explained_variance_, self.explained_variance_ratio_ = to_device(arrays, found.offset)
        self.eigenvectors_ = None if found.eigenvectors is None else astype(found.eigenvectors, dtype)
        self.negative_mass_ = found.negative_mass
        self.X_fit_, self.projection_, self.offset_ = found.basis, found.projection, found.offset
        self.error_, self.error_interval_ = found.error.value, (found.error.low, found.error.high)
        self.status_, self.residual_ = found.status, found.residual
        self.kernel_ = found.kernel
        self._phi, self._expansion, self._examples = found.phi, found.expansion, found.examples
        self.__dict__.pop("_learned", None)

    def _warn(self, found: Components) -> None:
        if self.n_components is not None and not isinstance(self.n_components, numbers.Integral):
            reached = float(found.values.sum()) / found.total
            if reached < float(self.n_components) - 1e-9:
                warn_user(
                    f"n_components={self.n_components}: all {found.values.shape[0]} components together reach only "
                    f"{reached:.3f} of the variance. Use more landmarks.",
                    RankWarning,
                )
        self._warn_if_fewer(found)
        if found.negative_mass > _NEGATIVE:
            warn_user(
                f"the kernel is not positive semidefinite: {found.negative_mass:.1%} of its spectrum is negative and "
                "was left out (negative_mass_).",
                IndefiniteWarning,
            )
        if found.status is Status.NOT_CONVERGED:
            warn_user(
                f"solver={self.solver_!r} stopped at residual {found.residual:.1e} gamma_1, above its tolerance. Raise "
                "max_steps or block, ask for fewer components, or use solver='dense'.",
                ConvergenceWarning,
            )

    def _warn_if_fewer(self, found: Components) -> None:
        """Warn if there are fewer components than requested."""
        if isinstance(self.n_components, numbers.Integral) and self.n_components_ < int(self.n_components):
            exact = found.basis is None or found.eigenvectors is not None
            what = "the centred kernel matrix" if exact else "the landmarks"
            warn_user(
                f"only {self.n_components_} of n_components={self.n_components} could be computed: no other eigenvalue "
                f"of {what} is positive.",
                RankWarning,
            )

    @property
    def gamma_(self) -> float | None:
        """gamma of `kernel_`, or None if it has none."""
        check_is_fitted(self)
        return getattr(self.kernel_, "gamma", None)

    def _centre(self) -> Any:
        return getattr(self, "offset_", None)

    def _describe_columns(self) -> str:
        if self.kernel_ is None:
            return "kernel matrix given"
        return f"{self.n_features_in_} columns, {self.kernel_}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


def is_precomputed(kernel: Any) -> bool:
    """Whether the parameter `kernel` says that the rows are a kernel matrix."""
    return isinstance(kernel, str) and kernel == "precomputed"


# From scores back to rows, for features that are known only through a kernel.


def preimage_method(model: Any) -> FixedPoint | Ridge | None:
    """The method that finds rows from scores; None for the linear kernel, whose features are the rows."""
    if isinstance(model.X_fit_, np.ndarray) and model.X_fit_.dtype.kind in "OUS":
        raise TypeError("rows that are not numbers cannot be found from scores.")
    if isinstance(model.kernel_, Linear) and model.preimage == "auto":
        return None
    if model._examples is None:
        raise TypeError(
            "the rows could be read only once, so there are none left from which to learn the map from scores to rows; "
            "fit to a list of blocks, or to a function that returns an iterator."
        )
    gaussian = isinstance(model.kernel_, Gaussian) and model._expansion is not None
    if model.preimage == "auto":
        return PREIMAGES["fixed-point" if gaussian else "ridge"]
    method = PREIMAGES[model.preimage] if isinstance(model.preimage, str) else model.preimage
    if isinstance(method, FixedPoint) and not gaussian:
        raise ValueError(
            f"preimage='fixed-point' is for Gaussian kernels of rows (not solver='fourier'), not for {model.kernel_}; "
            "use preimage='ridge'."
        )
    return method


def _linear_map(model: Any) -> tuple[Array, Array]:
    """B and mean of x = mean + z B, for the linear kernel."""
    if isinstance(model._phi, Same):
        return model.projection_.T, model.offset_
    B, c = model._expansion
    if is_sparse(model.X_fit_):
        return (model.X_fit_.T @ B.T).T, model.X_fit_.T @ c
    X = asarray_like(model.X_fit_, B, dtype=B.dtype)
    if getattr(model._phi, "shift", None) is None:
        return B @ X, c @ X
    # The kernel was computed for rows from which this shift had been subtracted.
    shift = asarray_like(model._phi.shift, B, dtype=B.dtype)
    return B @ (X - shift), c @ (X - shift) + shift


def _learned_map(model: Any) -> LearnedMap:
    """The map from scores to rows by regression, which is learned on first use and kept in the model."""
    ridge = model.preimage if isinstance(model.preimage, Ridge) else Ridge()
    kept = model.__dict__.get("_learned")
    if kept is None or kept[0] != ridge:
        # The examples are distinct rows: with duplicates, the regression would fit the noise.
        some = model._examples
        scores = to_numpy(model._scores_map(open_source(some)).result()).astype(np.float64)
        kept = (ridge, ridge.learn(scores, to_numpy(dense(some)).astype(np.float64)))
        model.__dict__["_learned"] = kept
    learned: LearnedMap = kept[1]
    return learned


def _iterated_map(model: Any, method: FixedPoint) -> Callable[[np.ndarray], np.ndarray]:
    """The map from scores to rows by iteration, which starts from the result of the regression."""
    B, c = (to_numpy(part).astype(np.float64) for part in model._expansion)
    rows, start = to_numpy(dense(model.X_fit_)).astype(np.float64), _learned_map(model)
    return lambda Z: method.solve(Z @ B + c, rows, model.kernel_, start(Z))
