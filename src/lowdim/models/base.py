"""The base class of all models: how rows are opened and checked, how a fit runs, and how new rows are mapped."""

from __future__ import annotations

import copy
import inspect
import numbers
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from .._core.arrays import Array, astype, cumulative_sum, dense, device, namespace, numpy_dtype
from .._core.devices import moved_to_device, moved_to_host, name_of_device
from .._core.schema import Instance, Kind, Names, Size, Sometimes, Text, Unstored, Whole, declared
from .._core.types import VectorLike
from ..errors import (
    NeedsRowsInMemory,
    n_components_out_of_range,
    names_difference,
    needs_second_reading,
    no_checkpoint_of,
    no_checkpoint_with_missing,
    other_names,
    other_width,
    refuse_former_names,
)
from ..reading.checkpoint import Checkpoint
from ..reading.map import RowMap
from ..reading.rows import CheckpointedPass, Rows
from ..reading.summarizing import check_weights, summarize
from ..selection.cross_validation import plan_cross_validation
from ..selection.folds import FoldsLike
from ..solvers.problem import ON_HOST, Plan, Status
from ..sources.base import Source
from ..sources.derived import as_if_gathered, gather
from ..sources.on_device import source_on_device
from ..sources.opening import TableLike, by_name, check_row_labels, open_keeping, open_source
from ..summaries.base import names_of_tables
from ..table import numbered
from .output import (
    MOST_PRINTED,
    WITHOUT_WEIGHTS,
    Accessor,
    CallbackProgress,
    Callbacks,
    Estimator,
    Maps,
    Transformer,
    derived,
    framed_results,
    importance_table,
    results,
    with_callbacks,
    write_results,
)

if TYPE_CHECKING:
    from ..inspect import ModelTables
    from ..plot import ModelPlots
    from ..reporting import Report

#: A plan assumes at least this many rows, and this many for each column, if they are gathered and not counted yet.
_ROWS, _ROWS_PER_COLUMN = 1000, 2


# A fitted model with its first components only, for `transform(X, n_components=k)` and its like.
#
# What a model keeps of each component is known from `fitted_attributes`, whose shapes call the number of components k:
# the first components are the first entries of these attributes. Nothing is fitted again, and no array is copied.


def first_components(model: Any, k: Any, least: int = 1) -> Any:
    """A fitted model of the first `k` components of `model`, or the model itself if `k` is None or the number it has.

    An error if `k` is not a whole number from `least` to that number.
    """
    check_is_fitted(model)
    if k is None:
        return model
    whole = isinstance(k, numbers.Integral) and not isinstance(k, bool | np.bool_)
    if not whole or not least <= int(k) <= model.n_components_:
        raise ValueError(
            f"n_components={k!r} must be a whole number between {least} and {model.n_components_}, the number of "
            "components of the model."
        )
    if int(k) == model.n_components_:
        return model
    first = copy.copy(model)
    first._keep_first(int(k))
    return first


def with_first_components(transform: Callable[..., Any]) -> Callable[..., Any]:
    """`transform` with the argument `n_components`, for which it runs in the model of so many components: the names
    that scikit-learn gives the columns of a data frame are then those of this model."""

    @wraps(transform)
    def of_first_components(self: Any, X: Any, *arguments: Any, n_components: Any = None, **options: Any) -> Any:
        model = self if n_components is None else first_components(self, n_components)
        return transform(model, X, *arguments, **options)

    return of_first_components


class Model(Callbacks, Transformer, Estimator):
    """Base class of all models.

    `fit` checks the parameters, opens the source of the rows, and calls `_fit_rows` of the model, which chooses a
    solver, runs it and sets the fitted attributes. A model also defines how it would be fitted (`_plan_rows`), how rows
    are mapped to scores (`_scoring`), and how scores are mapped to rows (`_lift`).
    """

    #: Parameters that most models have.
    n_components: Any
    random_state: Any
    plan_: Plan
    #: The name of a component, which a number follows: PC1, PC2, ...
    component_name = "PC"
    #: Tables of the fitted model, with names: see `lowdim.inspect`.
    tables: Accessor[ModelTables] = Accessor("lowdim.inspect:ModelTables")
    #: Whether `set_output` holds for everything that consists of rows, or only where scikit-learn follows it.
    _frames_everywhere = True
    #: Whether NaN is allowed in the rows and means a missing value.
    _takes_nan = False
    #: Whether the model relates `y` to `X`; others do not look at it.
    _relates_y = False
    __metadata_request__fit = WITHOUT_WEIGHTS
    __metadata_request__fit_transform = WITHOUT_WEIGHTS
    __metadata_request__partial_fit = WITHOUT_WEIGHTS
    feature_names_in_: np.ndarray
    n_samples_: int
    solver_: str
    status_: Status
    #: The attributes that a fit sets, for files. In shapes, k stands for `n_components_` and p for `n_features_in_`.
    fitted_attributes: ClassVar[dict[str, Kind | None]] = {
        "n_components_": Size("k"),
        "n_features_in_": Size("p"),
        "feature_names_in_": Sometimes(Names("p")),
        # The names of columns that are no text, as text: scikit-learn's `feature_names_in_` is set for text only.
        "_other_names_in": Sometimes(Names("p")),
        "n_samples_": Whole(1),
        "plan_": Instance("solvers.Plan"),
        "solver_": Text(),
        "status_": Instance("solvers.Status"),
        # Callbacks of scikit-learn, and the fit of another estimator inside which this one is fitted.
        "_skl_callbacks": Unstored(),
        "_parent_callback_ctx": Unstored(),
    }
    #: The plots that fit the model: `model.plot.scree()` is `lowdim.plot.scree(model)`.
    plot: Accessor[ModelPlots] = Accessor("lowdim.plot:ModelPlots")
    #: A page about the model and a table: `model.report(X, "report.html")` is `lowdim.report(X, ..., model=model)`.
    report: Accessor[Callable[..., Report]] = Accessor("lowdim.reporting:of_model")
    #: What only lowdim, skl2onnx and the author of a model use, and `dir` of a model does not list.
    _not_listed = frozenset(
        {
            "bootstrap_axes",
            "coded_rows",
            "coefficient_factors",
            "component_name",
            "fitted_attributes",
            "held_out_products",
            "held_out_scorer",
            "most_dimensions",
            "onnx_converter",
            "onnx_shape_calculator",
            "open_rows",
            "permutation_options",
            "planned_rows",
            "shuffled_together",
            "start_at",
        }
    )
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
        """Refuse former names of arguments, and those that only scikit-learn's class has; Python refuses all others."""
        if parameters:
            refuse_former_names(cls.__name__, parameters, inspect.signature(cls.__init__).parameters)
        for name in parameters:
            if name in cls._not_taken:
                raise TypeError(
                    f"{cls.__name__} has no argument {name!r}, unlike scikit-learn's: {cls._not_taken[name]}. The "
                    "classes in lowdim.sklearn take all of scikit-learn's arguments."
                )
        return super().__new__(cls)

    @derived
    def n_components_(self) -> int:
        """The number of components."""
        return int(self.components_.shape[0])  # type: ignore[attr-defined] # without it, the attribute is missing

    @derived
    def n_features_in_(self) -> int:
        """The number of columns."""
        return int(self.components_.shape[1])  # type: ignore[attr-defined]

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

    # ---- The fit

    def fit(
        self,
        X: TableLike,
        y: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array, sparse matrix, data frame, file, or iterable of blocks, of shape (n_samples, n_features)
            See `lowdim.sources.open_source` for everything that can be read. It is neither modified nor copied as a
            whole.
        y : ignored, default=None
            If it is the name of a column of `X`, or a list of names, these columns are left out.
        sample_weight : array of shape (n_samples,), or str, default=None
            Frequency weights: weight 2 equals repeating the row. Or the name of a column of `X` that holds them.
        checkpoint : Checkpoint, str or path, default=None
            A file that keeps the state of the pass over the rows: if the process is killed, the same call goes on where
            it was. Only for fits that need one pass (see `plan`).

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, checkpoint=checkpoint)
        return self

    def fit_transform(
        self, X: TableLike, y: TableLike | None = None, sample_weight: VectorLike | None = None
    ) -> np.ndarray:
        """Fit to `X`, then transform it. Rows that can be read only once are gathered in memory."""
        source = self._fit(X, y, sample_weight, twice=True)
        return RowMap(source, self._scoring(), self._score_names, self._takes_nan).result()

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any, twice: bool = False, checkpoint: Any = None) -> Source:
        """Fit, and return the source for callers that read it a second time (`twice`)."""
        self._check_parameters()
        with self._restore_on_error():
            rows, target, sample_weight = self._by_name(X, y, sample_weight=sample_weight)
            source = self._open_tables(rows, target)
            self.__dict__.pop("summary_", None)
            progress = self._callback_progress(X, y, "fit")
            there = source if source.traits.to_device is None else source_on_device(source)
            weighted = self._rows(there, sample_weight, progress)
            try:
                if twice and not source.traits.rereadable:
                    raise needs_second_reading("for the transform after the fit")
                if checkpoint is not None:
                    checkpoint = self._keep_state(source, sample_weight, weighted, Checkpoint.of(checkpoint))
                self._fit_rows(weighted)
            except NeedsRowsInMemory:
                if source.traits.in_memory or source.traits.remote:
                    raise
                source = gather(source, f"for {type(self).__name__}")
                weighted = self._rows(source_on_device(source), sample_weight, progress)
                self._fit_rows(weighted)
                self.plan_ = replace(self.plan_, why=f"{self.plan_.why}; the rows were first gathered in memory")
            self.plan_ = with_place(self.plan_, source)
            self._keep_summary(weighted)
            if source.traits.to_device is not None:
                parameters = self.get_params(deep=False)
                fitted = {name: value for name, value in self.__dict__.items() if name not in parameters}
                self.__dict__.update(moved_to_host(fitted))
        if checkpoint is not None:
            checkpoint.remove()
        if progress is not None:
            progress.finish()
        return source

    def _keep_state(self, source: Source, sample_weight: Any, rows: Any, checkpoint: Checkpoint) -> Checkpoint:
        """Let the pass over the rows keep its state; an error if the fit is planned to be more than one pass for one
        summary."""
        plan = self._planned(source, sample_weight)
        if is_cv(getattr(self, "n_components", None)):
            raise no_checkpoint_of(type(self).__name__, "cross-validation, with sums of the folds")
        if plan.passes != 1 or getattr(plan.solver, "starts_from", None) is None:
            raise no_checkpoint_of(type(self).__name__, plan)
        read = getattr(rows, "joint", rows)
        if self._takes_nan and read.shows_missing():
            raise no_checkpoint_with_missing("there are missing values in the first rows.")
        read.first_pass = CheckpointedPass(checkpoint)
        return checkpoint

    # ---- Scores, reconstructions and plans

    # `with_first_components` takes the argument n_components of all methods `transform`.
    def transform(self, X: TableLike, *, n_components: int | None = None) -> np.ndarray:
        """Scores of each row x of `X`, a linear map of x - mean_; one pass, and no copy of `X`.

        With `n_components`, those of the first components only; the model is not fitted again.
        """
        check_is_fitted(self)
        return results(self._transform_maps(X))

    def inverse_transform(self, X: TableLike) -> np.ndarray:
        """Rows reconstructed from the scores `X`: mean_ plus a linear map of each row of `X`.

        If `X` has fewer columns than there are components, they are the scores of the first ones, and those of the
        others are taken to be zero.
        """
        check_is_fitted(self)
        return framed_results(self, self._inverse_maps(X), X)

    def transform_to(
        self,
        X: TableLike,
        path: str | PathLike[str],
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
        n_components : int, default=None
            Write the scores of the first components only.
        keep : sequence of str, default=()
            Columns of `X`, of any type, that are carried along before the results. They are not part of the rows,
            unless the model was fitted to them.
        overwrite : bool, default=False
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
    def inverse_transform_to(
        self, X: TableLike, path: str | PathLike[str], *, keep: Sequence[str] = (), overwrite: bool = False
    ) -> str:
        """Write what `inverse_transform` returns for the scores `X` to a file, with the names of the columns of the
        fit. For the arguments see `transform_to`."""
        return self._write(self._inverse_maps, X, path, "inverse_transform_to", keep, overwrite)

    def open_rows(self, X: TableLike, y: TableLike | None = None, *, fitted: bool = False) -> Source:
        """The source of the rows that `fit` would read, after a check of the parameters.

        The columns are recorded in the model or, if `fitted`, compared with those of the fit.
        """
        self._check_parameters()
        X, y = self._by_name(X, y, fitted=fitted)
        return self._open_tables(X, y, reset=not fitted)

    def plan(
        self,
        X: TableLike,
        y: TableLike | None = None,
        sample_weight: VectorLike | None = None,
        *,
        cv: FoldsLike | None = None,
    ) -> Plan:
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
        """The plan for these rows, which may be that they are gathered in memory first; no row is read."""
        try:
            return with_place(self._plan_rows(self._rows(source_on_device(source), sample_weight)), source)
        except NeedsRowsInMemory:
            if source.traits.in_memory or source.traits.remote:
                raise
        guess = max(_ROWS, _ROWS_PER_COLUMN * source.shape[1]) if sample_weight is None else len(sample_weight)
        plan = self._plan_rows(self._rows(as_if_gathered(source, guess), sample_weight))
        unknown = "" if source.shape[0] is not None else f", and {guess} are assumed until they are counted"
        why = f"{plan.why}; the rows are first gathered in memory{unknown}"
        return with_place(replace(plan, why=why), source)

    def _keep_first(self, k: int) -> None:
        """Become the model of the first k components: keep of each fitted attribute what belongs to them."""
        for name, kind in declared(type(self)).items():
            if name in self.__dict__:
                self.__dict__[name] = kind.first(self.__dict__[name], "k", k)

    # ---- Names and the printed form

    @property
    def component_names_(self) -> list[str]:
        """The names of the components, wherever they appear: in tables, data frames, files and messages."""
        check_is_fitted(self)
        return numbered(self.component_name, self.n_components_)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """The names of the columns of the result of `transform`: `component_names_`.

        Parameters
        ----------
        input_features : array of str, default=None
            It is only compared with the names of the columns of the fit.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.asarray(self.component_names_, dtype=object)

    def _score_names(self) -> list[str]:
        """`component_names_` as a method."""
        return self.component_names_

    def _column_names(self, table: int = 0) -> list[str]:
        """The names of the columns of a table of the fit; x1, x2, ... (second table: y1, y2, ...) if they had none."""
        known = self._known_names(table)
        return numbered(self._column_name(table), self._widths()[table]) if known is None else known

    def _known_names(self, table: int) -> list[str] | None:
        """The names that the columns of a table had in the fit, if they had any."""
        places = ("target_names_in_",) if table else ("feature_names_in_", "_other_names_in")
        names = next((found for place in places if (found := getattr(self, place, None)) is not None), None)
        return None if names is None else [str(name) for name in names]

    def _wanted(self) -> list[str] | None:
        """The names of the columns of new rows, which are those of the fit; None if these had none."""
        return Model._known_names(self, 0)

    def _column_name(self, table: int) -> str:
        """The name of a column without a name, which a number follows."""
        return "xy"[table]

    def _widths(self) -> Sequence[int]:
        """The number of columns of each table of the fit."""
        return (self.n_features_in_,)

    def _importance(self) -> list[tuple[str, Array]]:
        """Columns of the printed table of a fitted model: a name, and a number for each component."""
        variance = self.explained_variance_  # type: ignore[attr-defined] # models without it define their own table
        squares = [("std. deviation", namespace(variance).sqrt(variance)), ("variance", variance)]
        columns = squares if self.component_name == "PC" else [("sum of squares", variance)]
        if hasattr(self, "explained_variance_ratio_"):
            ratio = self.explained_variance_ratio_
            columns += [("proportion", ratio), ("cumulative", cumulative_sum(ratio))]
        return columns

    def _importance_names(self) -> list[str]:
        """The labels of the rows of that table."""
        return self.component_names_

    def _describe_columns(self) -> str:
        """The columns that the model was fitted to, for the printed table."""
        return " and ".join(map(str, self._widths())) + " columns"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in self._not_listed]

    def __str__(self) -> str:
        if not self.__sklearn_is_fitted__():
            return repr(self)
        return importance_table(self).text(max_rows=MOST_PRINTED)

    def _html_repr(self) -> str:
        # The table is followed by scikit-learn's representation.
        below: str = super()._html_repr()
        if not self.__sklearn_is_fitted__():
            return below
        return f"{importance_table(self)._repr_html_()}{below}"

    # ---- What skl2onnx asks of a step of a pipeline that it converts; users do not call these

    def onnx_shape_calculator(self) -> Callable[..., Any]:
        """The function with which skl2onnx sets the shape of the result of this step."""
        return import_module("lowdim.onnx").set_shape  # type: ignore[no-any-return] # a layer above the models

    def onnx_converter(self) -> Callable[..., Any]:
        """The function with which skl2onnx adds this step to a graph of ONNX."""
        return import_module("lowdim.onnx").convert  # type: ignore[no-any-return]

    # ---- What a fit opens and keeps

    def _callback_progress(self, X: Any, y: Any, method: str) -> CallbackProgress | None:
        """The progress of a method for scikit-learn's callbacks, or None if there are none."""
        if hasattr(self, "_skl_callbacks") or hasattr(self, "_parent_callback_ctx"):
            return CallbackProgress(self, X, y, method)
        return None

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
            raise ValueError(
                f"this {type(self).__name__} was fitted by fit, which kept no summary of its rows, because the table "
                "is wide or the solver needs none; so partial_fit cannot add rows to them. Call partial_fit for every "
                "block, from the first one on; or start from a summary, with fit_summary. To start anew, call "
                "partial_fit on sklearn.base.clone(model)."
            )
        return first

    def _open_tables(self, X: Any, y: Any, *, reset: bool = True) -> Source:
        """The source that the model is fitted to; its columns are recorded, or compared with those of the fit."""
        return self._open(X, reset=reset)

    def _open(self, X: Any, *, reset: bool, method: str = "partial_fit") -> Source:
        """The source of `X`; its columns are recorded if `reset`, otherwise compared with those of the fit."""
        source = open_source(X, None if reset else self._wanted())
        p, names = source.shape[1], list(source.names or [])
        expected = [] if reset else self._wanted() or []
        plain = type(X) is np.ndarray and (reset or (not expected and p == self.n_features_in_))
        # scikit-learn does not compare names that are no text.
        same = bool(names) and names == expected
        known = not plain and not same and source is not X and source.known_to_sklearn
        # scikit-learn cannot count the columns of an object of a user's own class, whatever it is read as.
        if known and any(hasattr(X, name) for name in ("shape", "__len__", "__array__")):
            validate_data(self, X, reset=reset, skip_check_array=True)
        elif reset:
            self.n_features_in_ = p
            self.__dict__.pop("feature_names_in_", None)
            if names:
                self.feature_names_in_ = np.asarray(names, dtype=object)
        else:
            # Names are compared if both have some.
            both = bool(names and expected)
            if p != self.n_features_in_:
                raise other_width(p, self.n_features_in_, names_difference(expected, names) if both else "")
        if reset:
            self.__dict__.pop("_other_names_in", None)
            if names and "feature_names_in_" not in self.__dict__:
                self._other_names_in = np.asarray(names, dtype=object)
            return source
        if names and expected and names != expected:
            raise other_names(None, names, expected, "X")
        check_namespace(self, source, method)
        return source

    def _take_names(self, summary: Any) -> None:
        """Record the names of the columns of a summary, if it has any."""
        self.__dict__.pop("feature_names_in_", None)
        self.__dict__.pop("_other_names_in", None)
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

    #: Write results to a file. The progress is reported to callbacks, as that of a fit.
    _write = with_callbacks(write_results)

    def _open_keeping(self, X: Any, keep: Sequence[str], wanted: Sequence[str] | None, beside: Sequence[str]) -> Any:
        """`X` as a source that carries the columns `keep` along; see `open_keeping`."""
        return open_keeping(X, keep, wanted, beside)

    def _map(self, X: Any, function: Any, method: str) -> Array:
        """Apply `function` to the blocks of new rows, in their dtype; `method` is the caller's name for messages."""
        return self._row_map(X, function, method, lambda: [method]).result()

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
        tags.input_tags.allow_nan = self._takes_nan
        tags.target_tags.required = self._relates_y
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


Model.transform = with_first_components(Model.transform)  # type: ignore[method-assign]


# Parameters that many models have.


def count_components(
    k: Any, n: int | None, p: Any, *, upper: float | None = None, fractions: bool = True, of_rows: bool = False
) -> int | None:
    """`n_components` as a number, for n rows (None if that is not known) and p columns.

    It is None if all components are needed: if it is None or, with `fractions`, a fraction of the variance. The largest
    number is `upper` or, without it, the smaller of n and p; with `of_rows` it is n. For several tables, p is a tuple.
    """
    if k is None:
        return None
    if of_rows:
        upper = float("inf") if n is None else n
    elif upper is None:
        upper = p if n is None else min(n, p)
    if isinstance(k, numbers.Real) and not isinstance(k, bool | np.bool_):
        if isinstance(k, numbers.Integral) and 1 <= int(k) <= upper:
            return int(k)
        if fractions and not isinstance(k, numbers.Integral) and 0.0 < float(k) < 1.0:
            return None
    raise n_components_out_of_range(k, upper, n, p, fractions, of_rows)


def is_cv(n_components: Any) -> bool:
    """Whether `n_components`, which may be anything that the user passed, asks for cross-validation."""
    return isinstance(n_components, str) and n_components == "cv"


def check_flags(model: Any, *names: str) -> None:
    """Refuse parameters that are not True or False."""
    for name in names:
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise ValueError(f"{name}={getattr(model, name)!r} must be True or False.")


# The array library and the device of new rows, compared with those of the fit.


def check_namespace(model: Any, source: Source, method: str) -> None:
    """Refuse new rows from another array namespace or device than those of the fit."""
    centre, like = model._centre(), source.empty(0)
    if centre is None or (namespace(like) is namespace(centre) and device(like) == device(centre)):
        return
    fitted, given = (
        f"{type(a).__module__}.{type(a).__name__} on {getattr(a, 'device', 'cpu')}" for a in (centre, like)
    )
    raise ValueError(
        f"Inputs passed to {type(model).__name__}.{method}() must use the same namespace and device as those passed to "
        f"fit(): fit() got {fitted}, {method}() got {given}. Convert X, or fit on arrays of that kind."
    )


def with_place(plan: Plan, source: Source) -> Plan:
    """The plan, with which work of it runs where, and advice if rows that an engine computes are read several times."""
    engine, why, on_host = source.traits.engine, plan.why, plan.solver.on_host
    rows = source if source.traits.to_device is None else source_on_device(source)
    if engine is not None:
        where = f"sums on the workers of {engine.name}, the solve here"
        if engine.keeping and plan.passes > 1:
            note = f"each pass computes the rows again, unless {engine.name} keeps them: {engine.keeping}"
            why = f"{why}; {note}" if why else note
    elif rows.traits.host:
        where = ON_HOST
    else:
        device = name_of_device(rows.empty(0))
        where = f"sums on {device}, {on_host} on the host" if on_host else f"sums and solve on {device}"
        where = where if rows is source else f"rows copied to {device} block by block, {where}"
    return replace(plan, where=where, why=why)


# Models that can be fitted to a summary of rows, to which `partial_fit` adds further rows.


def can_partial_fit(model: Any, solver: Any) -> bool:
    """Whether a model is solved from a summary; an AttributeError if its parameters need the rows themselves."""
    if is_cv(model.n_components):
        raise AttributeError(
            "n_components='cv' leaves rows out, and partial_fit does not keep them; pass a number, or another rule."
        )
    if solver is not None and solver.starts_from is None:
        raise AttributeError(
            f"solver={solver.name!r} keeps no summary, so there is no partial_fit; use 'auto', 'covariance' or "
            "'triangle'."
        )
    return True


def copy_of(summary: Any) -> Any:
    """A copy of a summary, to which further rows can be added."""
    copied = summary.fresh()
    copied.merge(summary)
    return copied


def add_rows(summary: Any, source: Source, sample_weight: VectorLike) -> None:
    """Add the rows of a source to a summary."""
    weights = None if sample_weight is None else check_weights(sample_weight, source)
    summary.merge(summarize(source, summary.fresh(), weights=weights))


# Attributes of models whose rows are on a device.


def unpack_to(there: Array | None, model: Any, unpack: Callable[[Any], None], dtypes: Any) -> None:
    """Let `unpack(dtypes)` set attributes of a model; if `there` is on a device, to NumPy arrays, copied to it.

    Attributes are many small arrays. A device would need longer to begin with each operation on one of them than the
    host needs for all. `dtypes` is one dtype, or a tuple of them.
    """
    if there is None or isinstance(there, np.ndarray):
        unpack(dtypes)
        return
    before = dict(model.__dict__)
    unpack(tuple(map(numpy_dtype, dtypes)) if isinstance(dtypes, tuple) else numpy_dtype(dtypes))
    found = {name: value for name, value in model.__dict__.items() if before.get(name) is not value}
    model.__dict__.update(moved_to_device(found, there, kinds="fb"))
