"""What models give: data frames, files, names, printed forms, tables and plots; versions of scikit-learn."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload

import narwhals as nw
import numpy as np
import sklearn
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import estimator_html_repr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._core.arrays import compute_lazy, to_numpy
from ..errors import inconsistent_lengths
from ..reading.map import RowMap, write_rows
from ..sinks import find_output, open_sink
from ..sources.beside import BesideSource
from ..sources.derived import in_order
from ..sources.frame import is_spark
from ..sources.opening import names_in, row_labels
from ..table import Table

P = ParamSpec("P")
R = TypeVar("R")

# Progress of a fit, or of results on their way to a file, reported to scikit-learn's callbacks.
#
# `sklearn.callback.ProgressBar` is one of them.


class CallbackProgress:
    """A callback task for a method, with a subtask for each pass over the rows and a leaf for each block."""

    def __init__(self, estimator: Any, X: Any, y: Any, method: str) -> None:
        self._estimator, self._X, self._y = estimator, X, y
        self._fit = estimator._init_callback_context(task_name=method, max_subtasks=None)
        self._fit.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        self._pass: Any = None

    def begin(self, what: str, n_blocks: int | None, block_rows: int | None = None) -> None:
        """Report the beginning of a pass."""
        self._pass = self._fit.subcontext(task_name=what, max_subtasks=n_blocks)
        self._pass.call_on_fit_task_begin(estimator=self._estimator)

    def step(self) -> None:
        """Report a finished block."""
        leaf = self._pass.subcontext(task_name="block")
        leaf.call_on_fit_task_begin(estimator=self._estimator)
        leaf.call_on_fit_task_end(estimator=self._estimator)

    def end(self) -> None:
        """Report the end of the pass."""
        self._pass.call_on_fit_task_end(estimator=self._estimator)

    def finish(self) -> None:
        """Report the end of the method."""
        self._fit.call_on_fit_task_end(estimator=self._estimator, X=self._X, y=self._y)


# Results written to files: `transform_to` and its like, which map the same rows by the same functions as `transform`.
#
# A method such as `transform` is defined by the maps that it makes of its arguments, one for each table. `transform`
# returns their results, and `transform_to` writes them.


#: The endings of results that have the name of a kept column.
_ENDINGS = {
    "transform_to": "score",
    "inverse_transform_to": "reconstructed",
    "impute_to": "imputed",
    "predict_to": "predicted",
}
#: What `transform` and its like make of their arguments.
Maps = Sequence[RowMap]


def write_results(
    model: Any,
    maps_of: Callable[[Any], Maps],
    X: Any,
    path: Any,
    method: str,
    keep: Sequence[str],
    overwrite: bool,
    wanted: Sequence[str] | None = None,
    y: Any = None,
) -> str:
    """Write the results of the maps of `X`, side by side, and return the path; one pass, and a few blocks of memory.

    `method` is the name of the caller, and `wanted` are the columns that it needs, for files that have others too.
    `y` may name further columns of `X` that the maps need.
    """
    check_is_fitted(model)
    kept = (keep,) if isinstance(keep, str) else tuple(keep)
    if not all(isinstance(name, str) for name in kept) or len(set(kept)) < len(kept):
        raise ValueError(f"keep={keep!r} must be the names of different columns, as in keep=['id'].")
    find_output(path).kind.require()
    maps = maps_of(model._open_keeping(X, kept, wanted, names_in(y)) if kept else X)
    names = _beside_kept(result_names(maps), kept, method)
    progress = model._callback_progress(X, None, method)
    reading = [file for each in maps for file in each.source.files]
    with open_sink(path, names, keep=kept, overwrite=overwrite, reading=reading) as sink:
        write_rows(maps, sink, keep=kept, progress=progress)
    if progress is not None:
        progress.finish()
    return os.fspath(path)


def results(maps: Maps) -> Any:
    """The result of one map, or a tuple with those of several tables, which must have the same number of rows. If these
    are columns of a data frame of Spark, it is one data frame with the results of all."""
    if len(maps) == 1:
        return maps[0].result()
    if not all(in_order(each.source) for each in maps):
        return _joined(maps).result()
    found = tuple(each.result() for each in maps)
    lengths = [result.shape[0] for result in found]
    if len(set(lengths)) > 1:
        raise inconsistent_lengths([each.source.table for each in maps], lengths)
    return found


def _joined(maps: Maps) -> RowMap:
    """One map of tables whose rows have no order, with the results of all maps side by side."""
    functions = [each.function for each in maps]

    def all_of(block: Any) -> Any:
        found = [function(piece) for function, piece in zip(functions, block.pieces, strict=True)]
        return np.concatenate([each.reshape(len(each), -1) for each in found], axis=1)

    takes_nan = any(each.takes_nan for each in maps)
    return RowMap(BesideSource([each.source for each in maps]), all_of, lambda: result_names(maps), takes_nan)


def result_names(maps: Maps) -> list[str]:
    """The names of all results, side by side. If two tables share a name, all names begin with that of their table."""
    each = [list(m.names()) for m in maps]
    if len(maps) > 1 and max(Counter(name for names in each for name in names).values()) > 1:
        tables = (m.source.table.removeprefix("the features of ").replace(" ", "") for m in maps)
        each = [[f"{table}_{name}" for name in names] for table, names in zip(tables, each, strict=True)]
    return [name for names in each for name in names]


def _beside_kept(names: Sequence[str], keep: Sequence[str], method: str) -> list[str]:
    """The names of the results beside kept columns: a result of the same name as a kept column gets an ending that says
    what it is."""
    found = [f"{name}_{_ENDINGS[method]}" if name in keep else name for name in names]
    counts = Counter([*keep, *found])
    clashing = [new for new, name in zip(found, names, strict=True) if new != name and counts[new] > 1]
    if clashing:
        raise ValueError(
            f"there would be two columns {', '.join(map(repr, clashing))}: a kept column and a result. Rename the kept "
            "column, or do not keep it."
        )
    return found


# Results as data frames, if `set_output` asks for them, where scikit-learn itself does not make them.
#
# scikit-learn wraps what `transform` returns, and of several tables only the first. Here all tables are wrapped, and
# the results of `inverse_transform` and `impute` too. Predictions are arrays in any case, as in scikit-learn.


def framed_results(model: Any, maps: Maps, *tables: Any) -> Any:
    """The results of maps of these tables, as `results` returns them, in the container of `set_output`.

    Rows have the labels of their own table or, if it has none, those of the first table.
    """
    found = results(maps)
    if is_spark(found):
        return found
    if len(maps) == 1:
        return framed(model, found, maps[0].names, tables[0])
    given = list(tables[0]) if len(tables) == 1 else list(tables)
    return tuple(
        framed(model, values, each.names, table, given[0])
        for values, each, table in zip(found, maps, given, strict=True)
    )


def framed(model: Any, values: Any, names: Callable[[], Sequence[str]], *tables: Any) -> Any:
    """`values` in the container of `set_output`, with the names of columns that `names` returns, and the labels of the
    first of the tables whose rows have any."""
    library = _container(model)
    if library == "default":
        return values
    frame = nw.from_numpy(to_numpy(compute_lazy(values)), schema=list(names()), backend=library).to_native()
    labels = next((found for table in tables if (found := row_labels(table)) is not None), None)
    if library == "pandas" and labels is not None:
        frame.index = labels
    return frame


def framed_draws(model: Any, draws: Any, names: Callable[[], Sequence[str]], X: Any) -> Any:
    """Several results in one array (n_draws, n, p), or as a list of data frames."""
    return draws if _container(model) == "default" else [framed(model, draw, names, X) for draw in to_numpy(draws)]


def _container(model: Any) -> Any:
    """ "pandas", "polars", or "default" for arrays."""
    if not model._frames_everywhere:
        return "default"
    asked = getattr(model, "_sklearn_output_config", {}).get("transform")
    return get_config()["transform_output"] if asked is None else asked


# The table that a fitted model prints.


#: The largest number of components that are printed.
MOST_PRINTED = 10


def importance_table(model: Any) -> Table:
    """The table of all components of a fitted model."""
    columns = {name: to_numpy(numbers).astype(np.float64) for name, numbers in model._importance()}
    what = f"{model.n_samples_} rows, {model._describe_columns()} ({model.solver_})"
    title = f"{type(model).__name__} of {what}"
    return Table(columns, model._importance_names(), title=title, row_name="component")


# Attributes that follow from others, for models that were not fitted but rebuilt from saved arrays.


class derived(Generic[R]):  # noqa: N801 (used as a decorator, like property)
    """An attribute that is computed by a function of the object, unless the object has it: a fit sets it.

    If what the function needs is missing, so is the attribute.
    """

    def __init__(self, function: Callable[[Any], R]) -> None:
        self._function, self.__doc__ = function, function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: Any, owner: type) -> R: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        try:
            return self._function(instance)
        except AttributeError:
            name = self._function.__name__
            raise AttributeError(f"{owner.__name__!r} object has no attribute {name!r}") from None


# Accessors: `model.tables`, `model.plot` and `model.report`, which belong to layers above the models.
#
# A model must not import the modules that look at it. An accessor names the class that does so by text, and imports it
# when the accessor is used, so that matplotlib, for example, is needed only by those who plot.


class Accessor(Generic[R]):
    """A descriptor: `model.name` is an object of the class that `place` ("package.module:name") names, for this model,
    or the function that it names as a method of the model.

    `Model.name`, without an instance, is the class or function itself, for documentation.
    """

    def __init__(self, place: str) -> None:
        self.place = place

    @overload
    def __get__(self, model: None, owner: type) -> Any: ...
    @overload
    def __get__(self, model: Any, owner: type) -> R: ...
    def __get__(self, model: Any, owner: type) -> Any:
        module, name = self.place.split(":")
        found = getattr(import_module(module), name)
        if model is None:
            return found
        return found(model) if isinstance(found, type) else MethodType(found, model)


@dataclass(frozen=True)
class Offer(Generic[P, R]):
    """A function whose first argument is a fitted model, and for which fitted models it is meant.

    As an attribute of a class of `Offers`, it is a method with the other arguments.
    """

    function: Callable[Concatenate[Any, P], R]
    fits: Callable[[Any], bool]

    @overload
    def __get__(self, offers: None, owner: type) -> Callable[Concatenate[Any, P], R]: ...
    @overload
    def __get__(self, offers: Offers, owner: type) -> Callable[P, R]: ...
    def __get__(self, offers: Offers | None, owner: type) -> Any:
        return self.function if offers is None else offers._method(self.function.__name__)

    @property
    def brief(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]


class Offers:
    """Functions of one fitted model, as methods: those of the table `offers` that fit it. Printing it lists them."""

    #: What is offered, such as "table" or "plot", for messages.
    what: ClassVar[str]
    #: The attributes of the class that are an `Offer`.
    offers: ClassVar[dict[str, Offer[..., Any]]]

    def __init__(self, model: Any) -> None:
        self._model = model

    def __init_subclass__(cls) -> None:
        cls.offers = {name: offer for name, offer in vars(cls).items() if isinstance(offer, Offer)}

    # Type checkers do not see this, so that a name which is not offered is an error for them.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            return self._method(name)

    def _method(self, name: str) -> Any:
        """The function of this name as a method of the model; an error if it does not fit the model."""
        check_is_fitted(self._model)
        offer = self.offers.get(name)
        if offer is None or not offer.fits(self._model):
            known = f"{type(self._model).__name__} has no {self.what} {name!r}"
            raise AttributeError(f"{known}; it has {', '.join(self._names())}.")
        return MethodType(offer.function, self._model)

    def _names(self) -> list[str]:
        return [name for name, offer in self.offers.items() if offer.fits(self._model)]

    def __dir__(self) -> list[str]:
        return self._names() if self._model.__sklearn_is_fitted__() else []

    def __repr__(self) -> str:
        kind = type(self._model).__name__
        if not self._model.__sklearn_is_fitted__():
            return f"{kind} is not fitted yet, so it has no {self.what}s."
        names = self._names()
        width = max(map(len, names), default=0)
        lines = [f"  {name:<{width}}  {self.offers[name].brief}" for name in names]
        return "\n".join([f"The {self.what}s of this {kind}:", *lines])


# What differs between the versions of scikit-learn that lowdim works with. Nothing else in lowdim asks for a version.
#
# - Callbacks exist from version 1.9 on. Before that, models have no `set_callbacks`.
# - From version 1.7 on, the HTML of an estimator is made by its method `_html_repr`.


try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as with_callbacks
except ModuleNotFoundError:

    def _refuse_callbacks(model: Any) -> bool:
        raise AttributeError(
            f"callbacks need scikit-learn 1.9 or newer, and {sklearn.__version__} is installed; upgrade scikit-learn, "
            "or fit without callbacks."
        )

    class CallbackSupportMixin:  # type: ignore[no-redef] # in place of the import
        """Says which version of scikit-learn has callbacks."""

        @available_if(_refuse_callbacks)
        def set_callbacks(self, *callbacks: Any) -> Any:
            """Not available before scikit-learn 1.9."""

    def with_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
        """`fit` itself, for it has nobody to report to."""
        return fit


# The bases of all models. scikit-learn's classes have no types: as bases, they would let every name pass. So a type
# checker reads here what models have from them.
if TYPE_CHECKING:

    class Callbacks:
        def set_callbacks(self, *callbacks: Any) -> Self: ...

    class Transformer:
        def set_output(self, *, transform: Literal["default", "pandas", "polars"] | None = None) -> Self: ...

    class Estimator:
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def get_metadata_routing(self) -> Any: ...
        def set_fit_request(self, *, sample_weight: bool | str | None = ...) -> Self: ...
        def set_partial_fit_request(self, *, sample_weight: bool | str | None = ...) -> Self: ...
        def set_transform_request(self, *, n_components: bool | str | None = ...) -> Self: ...
        def set_predict_request(self, *, n_components: bool | str | None = ...) -> Self: ...
        def set_score_request(self, *, sample_weight: bool | str | None = ...) -> Self: ...
        def _html_repr(self) -> str: ...
        def __sklearn_tags__(self) -> Any: ...

else:
    Callbacks, Transformer, Estimator = CallbackSupportMixin, TransformerMixin, BaseEstimator
    if not hasattr(BaseEstimator, "_html_repr"):

        class Estimator(BaseEstimator):
            """An estimator whose HTML is made by `_html_repr`, as in newer versions."""

            def _html_repr(self) -> str:
                return estimator_html_repr(self)

            def _repr_html_inner(self) -> str:
                return self._html_repr()

            def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
                bundle = {"text/plain": repr(self)}
                return bundle | {"text/html": self._html_repr()} if get_config()["display"] == "diagram" else bundle


# What models request of scikit-learn's metadata routing by default.


#: Weights are not requested: a pipeline that has weights for its last step need not ask for them in a transformer.
WITHOUT_WEIGHTS: dict[str, bool | None] = {"sample_weight": False}
#: A regression that is given weights must be told whether to use them.
ASK_ABOUT_WEIGHTS: dict[str, bool | None] = {"sample_weight": None}


# Why models do not take some arguments of scikit-learn's classes (see `Model._not_taken`).


NEVER_OVERWRITTEN = "rows are never overwritten; leave it out"
FULL_ACCURACY = "the eigenpairs are computed to their full accuracy; leave it out"
NO_ITERATION = "there is no iteration to stop; leave it out"
