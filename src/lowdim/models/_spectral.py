"""What all models of one spectrum share: rows or a summary in, a Spectrum solved, attributes unpacked.

A subclass says what it wants (`_request`) and what it makes of the answer (`_unpack`); where rows live, how they are
read and which solver runs is none of its business.
"""

from __future__ import annotations

import numbers
import threading
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._xp import Array, Scratch, astype, device, is_sparse, namespace
from ..errors import (
    ConvergenceWarning,
    ResolutionWarning,
    exhausted_stream,
    n_components_out_of_range,
    other_names,
    other_namespace,
    other_width,
    too_few_rows,
    warn_user,
)
from ..linalg import divisor, most_components, quiet_blas
from ..solvers import SOLVERS, Covariance, Plan, Request, Solver, Spectrum, Status, Triangular, plan
from ..sources import Source, StreamSource, Traits, open_source
from ..summaries import Moments, Triangle
from ..summaries.base import dense
from ..summarize import Rows, check_weights, map_rows, summarize
from ._display import importance_html, importance_text
from ._progress import callback_progress

#: Which solver starts from which summary.
_FROM_SUMMARY: list[tuple[Any, type[Covariance] | type[Triangular]]] = [(Moments, Covariance), (Triangle, Triangular)]


# scikit-learn has no types, so its bases are Any.
class SpectralModel(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the models that are read off the eigenpairs of a covariance."""

    n_components: Any
    solver: Any
    ddof: int
    summary_: Any
    _dtype: Any
    random_state: Any

    @abstractmethod
    def _unpack(self, spectrum: Spectrum, dtype: Any) -> None:
        """Set the fitted attributes; may use fewer pairs than there are."""

    def _solver(self) -> str | Solver:
        """The solver asked for: a name or an object."""
        return self.solver

    def _standardize(self) -> bool:
        return False

    def _check_parameters(self) -> None:
        if isinstance(self.ddof, bool) or not isinstance(self.ddof, numbers.Integral) or self.ddof not in (0, 1):
            raise ValueError(f"ddof={self.ddof!r} must be 0 (divide by n) or 1 (divide by n - 1).")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array, sparse matrix, data frame, or iterable of blocks, of shape (n_samples, n_features)
            See `lowdim.open_source` for all that can be read. Never modified, nor copied whole.
        y : ignored
        sample_weight : array of shape (n_samples,), optional
            Frequency weights: weight 2 equals repeating the row.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X`, then transform it. `X` must be readable twice."""
        source = self._fit(X, y, sample_weight, twice=True)
        return map_rows(source, self._scoring())

    def transform(self, X: Any) -> Array:
        """(x - mean) A for each row x of `X`, in one pass and without a copy of `X`."""
        check_is_fitted(self)
        return self._map(X, self._scoring(), "transform")

    @abstractmethod
    def _projection(self) -> Array:
        """The matrix A that takes centred rows to what `transform` returns."""

    @abstractmethod
    def _deviation(self) -> float:
        """The largest standard deviation of what `transform` returns."""

    def _scoring(self) -> Any:
        """block -> (block - mean) A."""
        return affine(self._projection(), self.mean_, self._deviation())

    def inverse_transform(self, X: Any) -> Array:
        """mean + z B for each row z of `X`: back to the space of the rows of the fit."""
        check_is_fitted(self)
        source = open_source(X)
        if source.shape[1] != self.n_components_:
            raise ValueError(f"X has {source.shape[1]} columns, but {self.n_components_} are needed, one a component.")
        self._check_namespace(source, "inverse_transform")
        B = self._lift()
        return map_rows(source, lambda Z: dense(Z) @ astype(B, Z.dtype) + astype(self.mean_, Z.dtype))

    @abstractmethod
    def _lift(self) -> Array:
        """The matrix B that takes what `transform` returns back to centred rows."""

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any, twice: bool = False) -> Source:
        """Fit and return the source, for those who go on to read it a second time."""
        self._check_parameters()
        with self._all_or_nothing():
            source = self._open(X, reset=True)
            if twice and not source.traits.rereadable:
                raise exhausted_stream("for the transform after the fit")
            self.__dict__.pop("summary_", None)
            progress = callback_progress(self, X, y)
            self._fit_source(source, sample_weight, progress)
        if progress is not None:
            progress.finish()
        return source

    def fit_summary(self, summary: Any) -> Self:
        """Fit without rows, from a Moments or Triangle summary of them; `partial_fit` can go on from there.

        Examples
        --------
        >>> from lowdim import PCA, Moments
        >>> PCA().fit_summary(Moments.from_covariance([[2.0, 0.0], [0.0, 1.0]], n_samples=100)).explained_variance_
        array([2., 1.])
        """
        self._check_parameters()
        asked = self._solver()
        mean: Any = getattr(summary, "mean", None)
        for kind, solver in _FROM_SUMMARY:
            if isinstance(summary, kind):
                if asked != "auto" and asked != solver.name and not isinstance(asked, solver):
                    allowed = f"use 'auto' or {solver.name!r}"
                    raise ValueError(f"solver={asked!r} cannot start from a {kind.__name__}; {allowed}.")
                with self._all_or_nothing():
                    self.__dict__.pop("feature_names_in_", None)
                    self._fit_from(
                        summary, asked if isinstance(asked, solver) else solver(), getattr(mean, "dtype", None)
                    )
                    # A copy, for partial_fit to go on from.
                    self.summary_, self._dtype = summary.fresh(), getattr(mean, "dtype", None)
                    self.summary_.merge(summary)
                    return self
        raise TypeError(
            f"fit_summary needs a Moments or a Triangle, got {type(summary).__name__}. A covariance matrix becomes one "
            "by Moments.from_covariance(cov, n_samples)."
        )

    @available_if(lambda self: self._streams())
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take in further rows, exactly: after all blocks the model is that of all rows at once.

        The rows seen since the first `partial_fit` (or `fit_summary`; `fit` begins anew) are kept as `summary_`, and
        the model is solved from it after each block. Until there are enough rows for `n_components` it stays unfitted.
        A block that is refused leaves everything as it was. Solvers that keep no summary (gram, krylov) do not have
        this method.
        """
        self._check_parameters()
        solver = self._streaming_solver()
        with self._all_or_nothing():
            first = not hasattr(self, "summary_")
            source = self._open(X, reset=first)
            self._k(None, source.shape[1])
            seen: Any = self._new_summary(solver, source.shape[1])
            if not first:
                seen.merge(self.summary_)
            weights = None if sample_weight is None else check_weights(sample_weight, source)
            seen.merge(summarize(source, seen.fresh(), weights=weights))
            self.summary_, self._dtype = seen, (source.dtype if first else self._dtype)
            if divisor(seen.weight, self.ddof) > 0 and seen.n_rows >= self._least_rows(seen.n_features):
                self._fit_from(seen, solver, self._dtype)
        return self

    def _streams(self) -> bool:
        """Whether the solver asked for keeps a summary; what is no solver at all is for `fit` to refuse."""
        try:
            asked = self._solver()
        except ValueError:
            return True
        solver = asked if isinstance(asked, Solver) else SOLVERS.get(asked)
        if solver is not None and not solver.one_pass:
            raise AttributeError(
                f"solver={solver.name!r} keeps no summary, so there is no partial_fit; use 'auto', 'covariance' or "
                "'triangle'."
            )
        return True

    def _least_rows(self, p: int) -> int:
        """Rows from which on a model can be had."""
        return int(self.n_components) if isinstance(self.n_components, numbers.Integral) else 2

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Leave the estimator as it was when the fit inside fails."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            # What scikit-learn's callbacks have put here they take away themselves.
            ours = [name for name in self.__dict__ if "callback" not in name]
            for name in ours:
                del self.__dict__[name]
            self.__dict__.update({name: value for name, value in before.items() if "callback" not in name})
            raise

    def _streaming_solver(self) -> Covariance | Triangular:
        """The solver whose summary `partial_fit` keeps."""
        asked = self._solver()
        if isinstance(asked, Covariance | Triangular):
            return asked
        the_plan = plan((None, 1), solver=asked, traits=Traits(rereadable=False, by_feature=False))
        assert isinstance(the_plan.solver, Covariance | Triangular)
        return the_plan.solver

    def _new_summary(self, solver: Covariance | Triangular, p: int) -> Moments | Triangle:
        return Triangle(p) if isinstance(solver, Triangular) else Moments(p, wide=solver.wide)

    def _open(self, X: Any, *, reset: bool, method: str = "partial_fit") -> Source:
        """The source of `X`, its columns remembered or compared with those of the fit."""
        source = open_source(X)
        p = source.shape[1]
        if isinstance(source, StreamSource):
            if reset:
                self.n_features_in_ = p
                self.__dict__.pop("feature_names_in_", None)
                if source.names is not None:
                    self.feature_names_in_ = np.asarray(source.names, dtype=object)
            elif p != self.n_features_in_:
                raise other_width(p, self.n_features_in_)
            else:
                self._check_names(source)
        elif type(X) is np.ndarray and reset:
            self.n_features_in_ = p
            self.__dict__.pop("feature_names_in_", None)
        elif type(X) is not np.ndarray or hasattr(self, "feature_names_in_") or p != self.n_features_in_:
            validate_data(self, X, reset=reset, skip_check_array=True)
        if not reset:
            self._check_namespace(source, method)
        return source

    def _check_names(self, source: Source) -> None:
        """Named columns must be those of the fit."""
        expected = list(getattr(self, "feature_names_in_", []))
        if expected and source.names is not None and list(source.names) != expected:
            raise other_names(None, source.names, expected)

    def _check_namespace(self, source: Source, method: str) -> None:
        """New rows must be arrays of the kind of the fit, on its device."""
        if not hasattr(self, "mean_"):
            return
        like = source.empty(0)
        if namespace(like) is not namespace(self.mean_) or device(like) != device(self.mean_):
            raise other_namespace(type(self).__name__, method, self.mean_, like)

    def _k(self, n: int | None, p: int) -> int | None:
        """n_components as a number of pairs to solve for: None means all."""
        k = self.n_components
        if k is None:
            return None
        upper = p if n is None else min(n, p)
        if isinstance(k, numbers.Real) and not isinstance(k, bool | np.bool_):
            if isinstance(k, numbers.Integral) and 1 <= int(k) <= upper:
                return int(k)
            if not isinstance(k, numbers.Integral) and 0.0 < float(k) < 1.0:
                return None
        raise n_components_out_of_range(k, upper, n, p)

    def _fit_source(self, source: Source, sample_weight: Any, progress: Any = None) -> None:
        weights = None if sample_weight is None else check_weights(sample_weight, source)
        n, p = source.shape
        if n is not None:
            weight = float(n) if weights is None else float(namespace(weights).sum(weights))
            if divisor(weight, self.ddof) <= 0:
                raise too_few_rows(n, weight, self.ddof)
            n = max(n, int(weight))
        k = self._k(n, p)
        asked = self._solver()
        the_plan = plan(source.shape, k, solver=asked, traits=source.traits)
        rows = Rows(source, weights, progress)
        request = self._request(k)
        if asked == "auto":
            the_plan = self._pilot(source, the_plan, request)
        spectrum = the_plan.solver.solve(rows, request)
        while (
            asked == "auto"
            and source.traits.rereadable
            and spectrum.status in (Status.UNRESOLVED, Status.NOT_CONVERGED)
        ):
            finer = the_plan.solver.finer(rows)
            if finer is None:
                break
            why = f"{the_plan.solver.name} ended {spectrum.status.name.lower()}, so it was solved again"
            next_plan = replace(plan(source.shape, k, solver=finer, traits=source.traits), why=why)
            if not next_plan.fits_memory:
                break
            the_plan = next_plan
            before = spectrum.passes
            spectrum = finer.solve(rows, request)
            spectrum = replace(spectrum, passes=before + spectrum.passes)
        self._finish(spectrum, the_plan, source.dtype, last_chance=not source.traits.rereadable)

    def _pilot(self, source: Source, the_plan: Plan, request: Request) -> Plan:
        """For a stream that cannot be read again, look at its first block: if the covariance of that cannot resolve
        what is asked, keep the triangle of the stream instead."""
        if source.traits.rereadable or not isinstance(source, StreamSource):
            return the_plan
        first = source.first_block
        n, p = first.shape
        k = min(p if request.k is None else request.k, (n or 1) - 1)
        if k < 1:
            return the_plan
        with quiet_blas(p):
            pilot = Covariance(wide=True).solve(Rows(first), replace(request, k=k))
        if pilot.status is Status.EXACT:
            return the_plan
        why = "the stream can be read once, and the covariance of its first block loses the small eigenvalues"
        return replace(plan(source.shape, request.k, solver=Triangular(), traits=source.traits), why=why)

    def _request(self, k: int | None) -> Request:
        seed = self.random_state
        if seed is None:
            seed = 0
        elif not isinstance(seed, numbers.Integral):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        return Request(k=k, ddof=self.ddof, standardize=self._standardize(), seed=int(seed))

    def _fit_from(self, summary: Any, solver: Covariance | Triangular, dtype: Any, passes: int = 0) -> Self:
        self.n_features_in_ = summary.n_features
        if summary.mean is None:
            raise ValueError("the summary is empty: it has seen no rows. Update it, or merge others into it, first.")
        k = self._k(most_components(summary.n_rows, summary.weight, summary.n_features), summary.n_features)
        spectrum = replace(solver.from_summary(summary, self._request(k)), passes=passes)
        shape = (summary.n_rows, summary.n_features)
        self._finish(spectrum, replace(plan(shape, k, solver=solver), why="from a summary"), dtype)
        return self

    def _finish(self, spectrum: Spectrum, the_plan: Plan, dtype: Any, last_chance: bool = False) -> None:
        n, p = spectrum.n_rows, self.n_features_in_
        most = most_components(n, spectrum.weight, p)
        if spectrum.values.shape[0] > most:
            raise n_components_out_of_range(self.n_components, most, n, p)
        self.plan_ = replace(the_plan, passes=spectrum.passes)
        self.solver_ = the_plan.solver.name
        self.status_ = spectrum.status
        self.residual_ = spectrum.residual
        self.n_samples_ = n
        self._warn(spectrum, last_chance)
        self._unpack(spectrum, dtype)

    def _warn(self, spectrum: Spectrum, last_chance: bool) -> None:
        """Say what the status says. An eigenvalue at or below the rank cut is zero and worth no word, unless the rows
        are gone and cannot be asked again."""
        if spectrum.status is Status.NOT_CONVERGED:
            solver: Any = self.plan_.solver
            warn_user(
                f"solver={self.solver_!r} stopped after {spectrum.passes} passes at residual "
                f"{spectrum.residual:.1e} lambda_1, above its tolerance {solver.tol:g}. Raise max_steps or block, or "
                "ask for fewer components.",
                ConvergenceWarning,
            )
        elif spectrum.status is Status.UNRESOLVED:
            values = spectrum.values
            largest, smallest = float(values[0]), float(values[-1])
            if last_chance or smallest > spectrum.rank_cut:
                warn_user(
                    f"the smallest eigenvalue kept is {smallest / largest:.1e} of the largest, and "
                    f"solver={self.solver_!r} loses its digits. Use solver='triangle', or keep fewer components.",
                    ResolutionWarning,
                )

    def _map(self, X: Any, function: Any, method: str) -> Array:
        """`function(block)` over the rows of new data, in their own dtype, on behalf of `method`."""
        return map_rows(self._open(X, reset=False, method=method), function)

    def __str__(self) -> str:
        return importance_text(self) if hasattr(self, "components_") else repr(self)

    def _html_repr(self) -> str:
        return (importance_html(self) if hasattr(self, "components_") else "") + super()._html_repr()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def reaching(spectrum: Spectrum, proportion: float) -> int:
    """The fewest pairs whose proportion of variance reaches `proportion` (to rounding)."""
    xp = namespace(spectrum.values)
    total = spectrum.total
    if total <= 0.0:
        return 1
    reached = xp.cumulative_sum(spectrum.values / total) >= proportion - 1e-12
    return min(int(xp.count_nonzero(~reached)) + 1, int(spectrum.values.shape[0]))


def affine(A: Array, mean: Array, deviation: float) -> Any:
    """block -> (block - mean) A, in the dtype of the block. Sparse blocks are centred after the product, which costs
    digits where the mean is far away beside the deviation of the answer: then they are made dense, block by block."""
    ready: dict[Any, tuple[Array, Array, Array]] = {}
    own = threading.local()

    def apply(block: Array) -> Array:
        if block.dtype not in ready:
            ready[block.dtype] = (
                astype(A, block.dtype),
                astype(mean, block.dtype),
                astype(mean @ A, block.dtype),
            )
        matrix, centre, offset = ready[block.dtype]
        if is_sparse(block):
            if np.abs(offset).max() <= 1e3 * deviation:
                return block @ matrix - offset
            block = dense(block)
        if not hasattr(own, "scratch"):
            own.scratch = Scratch()
        return own.scratch.difference(block, centre) @ matrix

    return apply
