"""The base class of all models: how rows are opened and checked, how a fit runs, and how new rows are mapped."""

from __future__ import annotations

import inspect
import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .._xp import Array, astype, dense
from ..attributes import Instance, Kind, Names, Size, Sometimes, Text, Unstored, Whole
from ..errors import NeedsRowsInMemory, fitted_without_summary, needs_second_reading, sklearn_argument
from ..reading import Checkpoint, RowMap, Rows, check_weights, map_rows
from ..selection.cross_validation import plan_cross_validation
from ..solvers import Plan
from ..sources import Source, by_name, check_row_labels, open_keeping, open_source, resident
from ..summaries.names import names_of_tables
from ._accessors import Accessor
from ._checkpoint import keep_state
from ._columns import check_columns, check_namespace
from ._derived import derived
from ._devices import bring_to_host, with_place
from ._display import Printed
from ._first_components import first_components, keep_first_entries, with_first_components
from ._gathering import gather_for, plan_of_gathered, with_engine_note, with_note
from ._output import framed_results
from ._pipelines import ConvertibleStep
from ._progress import callback_progress
from ._routing import WITHOUT_WEIGHTS
from ._sklearn_versions import CallbackSupportMixin, Estimator, with_callbacks
from ._writing import Maps, results, write_results


# scikit-learn has no types, so its bases are Any.
class Model(ConvertibleStep, CallbackSupportMixin, Printed, TransformerMixin, Estimator):  # type: ignore[misc]
    """Base class of all models.

    `fit` checks the parameters, opens the source of the rows, and calls `_fit_rows` of the model, which chooses a
    solver, runs it and sets the fitted attributes. A model also defines how it would be fitted (`_plan_rows`), how rows
    are mapped to scores (`_scoring`), and how scores are mapped to rows (`_lift`).
    """

    random_state: Any
    plan_: Plan
    #: Tables of the fitted model, with names: see `lowdim.inspect`.
    tables = Accessor("lowdim.inspect:ModelTables")
    #: Whether `set_output` holds for everything that consists of rows, or only where scikit-learn follows it.
    _frames_everywhere = True
    #: Whether NaN is allowed in the rows and means a missing value.
    _takes_nan = False
    #: Whether the model relates `y` to `X`; others do not look at it.
    _relates_y = False
    __metadata_request__fit = WITHOUT_WEIGHTS
    __metadata_request__fit_transform = WITHOUT_WEIGHTS
    __metadata_request__partial_fit = WITHOUT_WEIGHTS
    #: The attributes that a fit sets, for files. In shapes, k stands for `n_components_` and p for `n_features_in_`.
    fitted_attributes: ClassVar[dict[str, Kind | None]] = {
        "n_components_": Size("k"),
        "n_features_in_": Size("p"),
        "feature_names_in_": Sometimes(Names("p")),
        "n_samples_": Whole(1),
        "plan_": Instance("solvers.Plan"),
        "solver_": Text(),
        "status_": Instance("solvers.Status"),
        # Callbacks of scikit-learn, and the fit of another estimator inside which this one is fitted.
        "_skl_callbacks": Unstored(),
        "_parent_callback_ctx": Unstored(),
    }
    #: The plots that fit the model: `model.plot.scree()` is `lowdim.plot.scree(model)`.
    plot = Accessor("lowdim.plot:ModelPlots")
    #: A page about the model and a table: `model.report(X, "report.html")` is `lowdim.report(X, ..., model=model)`.
    report = Accessor("lowdim.reporting:of_model")
    #: Arguments of scikit-learn's class that the constructor does not take, and what to write instead.
    _not_taken: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "transform" in cls.__dict__:
            cls.transform = with_first_components(cls.transform)  # type: ignore[method-assign]
        # A subclass may take arguments that its base does not take.
        taken = inspect.signature(cls.__init__).parameters
        cls._not_taken = {name: instead for name, instead in cls._not_taken.items() if name not in taken}

    def __new__(cls, *args: Any, **parameters: Any) -> Self:
        """Refuse arguments that only scikit-learn's class has, with advice; Python refuses all others."""
        for name in parameters:
            if name in cls._not_taken:
                raise sklearn_argument(cls.__name__, name, cls._not_taken[name])
        return super().__new__(cls)

    @derived
    def n_components_(self) -> int:
        """The number of components."""
        return int(self.components_.shape[0])

    @derived
    def n_features_in_(self) -> int:
        """The number of columns."""
        return int(self.components_.shape[1])

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array, sparse matrix, data frame, file, or iterable of blocks, of shape (n_samples, n_features)
            See `lowdim.open_source` for everything that can be read. It is neither modified nor copied as a whole.
        y : ignored
            If it is the name of a column of `X`, or a list of names, these columns are left out.
        sample_weight : array of shape (n_samples,), or str, optional
            Frequency weights: weight 2 equals repeating the row. Or the name of a column of `X` that holds them.
        checkpoint : Checkpoint, str or path, optional
            A file that keeps the state of the pass over the rows: if the process is killed, the same call goes on where
            it was. Only for fits that need one pass (see `plan`).

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, checkpoint=checkpoint)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to `X`, then transform it. Rows that can be read only once are gathered in memory."""
        source = self._fit(X, y, sample_weight, twice=True)
        return map_rows(source, self._scoring(), takes_nan=self._takes_nan, names=self._score_names)

    # `with_first_components` takes the argument n_components of all methods `transform`.
    def transform(self, X: Any, *, n_components: int | None = None) -> Array:
        """Scores of each row x of `X`, a linear map of x - mean_; one pass, and no copy of `X`.

        With `n_components`, those of the first components only; the model is not fitted again.
        """
        check_is_fitted(self)
        return results(self._transform_maps(X))

    def inverse_transform(self, X: Any) -> Array:
        """Rows reconstructed from the scores `X`: mean_ plus a linear map of each row of `X`.

        If `X` has fewer columns than there are components, they are the scores of the first ones, and those of the
        others are taken to be zero.
        """
        check_is_fitted(self)
        return framed_results(self, self._inverse_maps(X), X)

    def transform_to(
        self,
        X: Any,
        path: Any,
        *,
        n_components: int | None = None,
        keep: Sequence[str] = (),
        overwrite: bool = False,
    ) -> str:
        """Write what `transform` returns for `X` to a file; its columns are `get_feature_names_out()`.

        Parameters
        ----------
        X : array, sparse matrix, data frame, scan of files, or iterable of blocks, of shape (n_samples, n_features)
        path : str or Path
            Where to write. The kind of file is known from its end: .parquet, .arrow, .feather, .csv, .csv.gz, .npy,
            .zarr, .h5 or .hdf5 ("scores.h5::name" for the name of the dataset). A string that ends with "/", such as
            "scores.parquet/", is a directory of files of at most about 256 MiB.
        n_components : int, optional
            Write the scores of the first components only.
        keep : sequence of str
            Columns of `X`, of any type, that are carried along before the results. They are not part of the rows,
            unless the model was fitted to them.
        overwrite : bool
            Whether to replace what is at `path`.

        Returns
        -------
        path : str
            The path that was given.

        Notes
        -----
        It takes one pass and the memory of a few blocks of rows. The file is written under another name and moved when
        it is whole: after an error there is nothing at `path`, or what was there before.
        """
        maps = first_components(self, n_components)._transform_maps
        return self._write(maps, X, path, "transform_to", keep, overwrite, self._wanted())

    @available_if(lambda self: self.inverse_transform is not None)
    def inverse_transform_to(self, X: Any, path: Any, *, keep: Sequence[str] = (), overwrite: bool = False) -> str:
        """Write what `inverse_transform` returns for the scores `X` to a file, with the names of the columns of the
        fit. For the arguments see `transform_to`."""
        return self._write(self._inverse_maps, X, path, "inverse_transform_to", keep, overwrite)

    def open_rows(self, X: Any, y: Any = None, *, fitted: bool = False) -> Source:
        """The source of the rows that `fit` would read, after a check of the parameters.

        The columns are recorded in the model or, if `fitted`, compared with those of the fit.
        """
        self._check_parameters()
        X, y = self._by_name(X, y, fitted=fitted)
        return self._open_tables(X, y, reset=not fitted)

    def plan(self, X: Any, y: Any = None, sample_weight: Any = None, *, cv: Any = None) -> Plan:
        """What `fit` would do with these rows: the solver and why it was chosen, its passes and its memory.

        With `cv`, what `cross_validate` would do with them. The rows are not read, and the model is not changed. What
        would be refused raises the same error here.
        """
        if cv is not None:
            return plan_cross_validation(self, X, y, cv=cv, sample_weight=sample_weight)
        model = clone(self)
        X, y, sample_weight = self._by_name(X, y, sample_weight=sample_weight)
        source = model.open_rows(X, y)
        return model._planned(source, sample_weight)

    def _planned(self, source: Source, sample_weight: Any) -> Plan:
        """The plan for these rows, which may be that they are gathered in memory first."""
        try:
            plan = self._plan_rows(self._rows(resident(source), sample_weight))
            return with_place(with_engine_note(plan, source), source)
        except NeedsRowsInMemory as refusal:
            return with_place(plan_of_gathered(self, source, sample_weight, refusal), source)

    def _keep_first(self, k: int) -> None:
        """Become the model of the first k components; see `first_components`."""
        keep_first_entries(self, k)

    # ---- What a subclass has to define

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse invalid parameters, before any row is read."""

    @abstractmethod
    def _plan_rows(self, rows: Any) -> Plan:
        """The plan of `_fit_rows` for these rows."""

    @abstractmethod
    def _fit_rows(self, rows: Any) -> None:
        """Choose a solver, run it, and set the fitted attributes."""

    @abstractmethod
    def _scoring(self) -> Any:
        """The function of a block of rows that `transform` applies."""

    @abstractmethod
    def _lift(self) -> Any:
        """The matrix B (or the function Z -> Z B) that maps the result of `transform` back to centred rows."""

    def _check_fitted(self) -> None:
        """Raise a ValueError if attributes that were read from a file contradict each other, beyond what
        `fitted_attributes` says of each."""

    # ---- How a fit runs

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any, twice: bool = False, checkpoint: Any = None) -> Source:
        """Fit, and return the source for callers that read it a second time (`twice`)."""
        self._check_parameters()
        with self._restore_on_error():
            rows, target, sample_weight = self._by_name(X, y, sample_weight=sample_weight)
            source = self._open_tables(rows, target)
            self.__dict__.pop("summary_", None)
            progress = callback_progress(self, X, y)
            weighted = self._rows(resident(source), sample_weight, progress)
            kept = None
            try:
                if twice and not source.traits.rereadable:
                    raise needs_second_reading("for the transform after the fit")
                if checkpoint is not None:
                    plan = self._planned(source, sample_weight)
                    kept = keep_state(self, plan, weighted, Checkpoint.of(checkpoint))
                self._fit_rows(weighted)
            except NeedsRowsInMemory as refusal:
                source = gather_for(self, source, refusal)
                weighted = self._rows(resident(source), sample_weight, progress)
                self._fit_rows(weighted)
                self.plan_ = with_note(self.plan_)
            self.plan_ = with_place(with_engine_note(self.plan_, source), source)
            self._keep_summary(weighted)
            if source.traits.sent is not None:
                bring_to_host(self)
        if kept is not None:
            kept.remove()
        if progress is not None:
            progress.finish()
        return source

    def _rows(self, source: Source, sample_weight: Any, progress: Any = None) -> Any:
        """The rows and their weights as solvers take them."""
        weights = None if sample_weight is None else check_weights(sample_weight, source)
        return Rows(source, weights, progress)

    def _by_name(
        self, X: Any, y: Any = None, *, fitted: bool = False, hold: bool = False, **vectors: Any
    ) -> tuple[Any, ...]:
        """(X, y, and each of the vectors), with columns of `X` in place of their names; see `sources.by_name`."""
        if self._relates_y:
            check_row_labels(X, y=y)
        return by_name(X, y, wanted=self._wanted() if fitted else None, hold=hold, **vectors)

    def _rows_read(self, rows: Any) -> Rows:
        """The rows that the pass is over, of those that `_rows` returned."""
        found: Rows = rows
        return found

    @contextmanager
    def _restore_on_error(self) -> Iterator[None]:
        """Context that restores the state of the model if the fit inside fails."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            # scikit-learn's callbacks remove their attributes themselves.
            for name in [name for name in self.__dict__ if "callback" not in name]:
                del self.__dict__[name]
            self.__dict__.update({name: value for name, value in before.items() if "callback" not in name})
            raise

    def _keep_summary(self, rows: Any) -> None:
        """Keep a summary of the rows, if it is small and `partial_fit` can go on from it."""

    def _starts_summary(self) -> bool:
        """Whether `partial_fit` starts a new summary; an error if it would forget the rows of `fit`."""
        first = not hasattr(self, "summary_")
        if first and self.__sklearn_is_fitted__():
            raise fitted_without_summary(type(self).__name__)
        return first

    def _forget(self) -> None:
        """Delete all fitted attributes, whose names end with an underscore."""
        for name in [name for name in self.__dict__ if name.endswith("_") and not name.startswith("_")]:
            del self.__dict__[name]

    def _open_tables(self, X: Any, y: Any, *, reset: bool = True) -> Source:
        """The source that the model is fitted to; its columns are recorded, or compared with those of the fit."""
        return self._open(X, reset=reset)

    def _open(self, X: Any, *, reset: bool, method: str = "partial_fit") -> Source:
        """The source of `X`; its columns are recorded if `reset`, otherwise compared with those of the fit."""
        source = open_source(X, None if reset else self._wanted())
        p = source.shape[1]
        if not source.known_to_sklearn or source is X:
            check_columns(self, source, reset)
        elif type(X) is np.ndarray and reset:
            self.n_features_in_ = p
            self.__dict__.pop("feature_names_in_", None)
        elif type(X) is not np.ndarray or hasattr(self, "feature_names_in_") or p != self.n_features_in_:
            validate_data(self, X, reset=reset, skip_check_array=True)
        if not reset:
            check_namespace(self, source, method)
        return source

    def _take_names(self, summary: Any) -> None:
        """Record the names of the columns of a summary, if it has any."""
        self.__dict__.pop("feature_names_in_", None)
        names = names_of_tables(summary.names, [summary.n_features])[0]
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def _centre(self) -> Any:
        """The mean of the rows of the fit, or None if the model is not fitted."""
        return getattr(self, "mean_", None)

    def _seed(self) -> int:
        """`random_state` as a number; None is a fixed seed."""
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, numbers.Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    # ---- Functions of new rows

    def _transform_maps(self, X: Any) -> Maps:
        """The maps that `transform` applies to its arguments, one for each table."""
        return [self._row_map(X, self._scoring(), "transform", self._score_names)]

    def _inverse_maps(self, X: Any) -> Maps:
        """The maps that `inverse_transform` applies to its arguments, one for each table."""
        return [self._reconstruction(X, self._lift(), self._centre(), self._row_names)]

    def _row_names(self) -> Sequence[str]:
        """The names of the columns that `inverse_transform` returns to."""
        return self._column_names()

    @with_callbacks
    def _write(self, *arguments: Any) -> str:
        """Write results to a file; see `write_results`. Its progress is reported to callbacks, as that of a fit."""
        return write_results(self, *arguments)

    def _open_keeping(self, X: Any, keep: Sequence[str], wanted: Sequence[str] | None, beside: Sequence[str]) -> Any:
        """`X` as a source that carries the columns `keep` along; see `open_keeping`."""
        return open_keeping(X, keep, wanted, beside)

    def _map(self, X: Any, function: Any, method: str) -> Array:
        """Apply `function` to the blocks of new rows, in their dtype; `method` is the caller's name for messages."""
        source = self._open(X, reset=False, method=method)
        return map_rows(source, function, takes_nan=self._takes_nan, names=lambda: [method])

    def _row_map(self, X: Any, function: Any, method: str, names: Callable[[], Sequence[str]]) -> RowMap:
        """As `_map`, but not applied yet; `names` returns the names of the results."""
        return RowMap(self._open(X, reset=False, method=method), function, names, self._takes_nan)

    def _reconstruction(
        self, X: Any, B: Any, mean: Array, names: Callable[[], Sequence[str]], table: str = "X"
    ) -> RowMap:
        """mean + z B for each row z of `X`; B is a matrix, or the function that multiplies by it. If z has fewer
        entries than B has rows, the others are zero."""
        source = self._open_scores(X, table)
        k = source.shape[1]
        times = B if callable(B) else lambda Z: Z @ astype(B[:k, :], Z.dtype)
        return RowMap(source, lambda Z: times(dense(Z)) + astype(mean, Z.dtype), names)

    def _open_scores(self, X: Any, table: str = "X") -> Source:
        """The source of scores, one column for each component or for the first ones."""
        source = open_source(X)
        k, most = source.shape[1], self.n_components_
        if k > most:
            width = f"{most} are needed, one for each component, or fewer for the first ones"
            raise ValueError(f"{table} has {k} columns, but {width}.")
        first_components(self, k, least=min(1, most))
        check_namespace(self, source, "inverse_transform")
        return source

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_components_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


Model.transform = with_first_components(Model.transform)  # type: ignore[method-assign]
