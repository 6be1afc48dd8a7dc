"""Objects taken apart to plain values: None, numbers, text, lists, tuples, dictionaries, arrays and records."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._xp import is_array, is_sparse, to_numpy
from ..attributes import Record, declared
from ..errors import not_storable, own_module_not_stored
from ..models._base import Model
from ..summaries import Summary
from .classes import RECORD, SHARED, name_of, taken_apart

#: The names of dtypes that models keep.
_DTYPES = ("float32", "float64")


def plain(value: Any, where: str) -> Any:
    """The plain form of a value; a TypeError that names `where` it is if it cannot be stored."""
    return _TakingApart().plain(value, where)


class _TakingApart:
    """One object taken apart; what occurs several times in it has one plain form."""

    def __init__(self) -> None:
        #: The plain forms of arrays by the identity of the array, which is kept so that its identity is not reused.
        self._arrays: dict[int, tuple[Any, Any]] = {}

    def plain(self, value: Any, where: str) -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.generic):
            return _plain_scalar(value, where)
        if type(value) in (list, tuple):
            return type(value)(self.plain(item, f"{where}[{i}]") for i, item in enumerate(value))
        if type(value) is dict:
            _require_storable_keys(value, where)
            return {key: self.plain(item, f"{where}[{key!r}]") for key, item in value.items()}
        if _is_numpy_dtype(value):
            return Record("dtype", {"name": np.dtype(value).name})
        if is_sparse(value) or is_array(value):
            known = self._arrays.get(id(value))
            if known is None:
                known = self._arrays[id(value)] = value, _plain_array(value, where)
            return known[1]
        name = name_of(type(value))
        if name is not None:
            return self._record(value, name, where)
        # All array libraries print their dtypes so.
        if (dtype := str(value).rpartition(".")[2]) in _DTYPES:
            return Record("dtype", {"name": dtype})
        raise _refusal(value, where)

    def _record(self, value: Any, name: str, where: str) -> Record:
        if isinstance(value, Model):
            return self._model(value, name)
        if isinstance(value, Summary):
            return Record(name, {"tree": self.plain(value._tree(), where)})
        kind = type(value).__name__
        entries = taken_apart(value).items()
        return Record(name, {part: self.plain(item, f"{part} of {kind} in {where}") for part, item in entries})

    def _model(self, model: Model, name: str) -> Record:
        """Parameters, fitted attributes and the container of `set_output`."""
        kind = type(model).__name__
        if not model.__sklearn_is_fitted__():
            raise ValueError(f"this {kind} is not fitted yet, so there is nothing to save; call fit first.")
        parameters = model.get_params(deep=False)
        asked = {part: self.plain(value, f"the parameter {part} of this {kind}") for part, value in parameters.items()}
        kinds, output = declared(type(model)), None
        fitted: dict[str, Any] = {}
        for attribute, value in model.__dict__.items():
            where = f"the attribute {attribute} of this {kind}"
            if attribute in parameters:
                continue
            if attribute == "_sklearn_output_config":
                output = value.get("transform")
            elif attribute not in kinds:
                advice = f"Delete it before saving (del model.{attribute}), and set it again after loading."
                raise not_storable(where, "none that fit sets", advice)
            elif kinds[attribute].stored():
                fitted[attribute] = self.plain(value, where)
        return Record(name, {"parameters": asked, "fitted": fitted, "output": output})


def _plain_scalar(value: np.generic, where: str) -> Any:
    if isinstance(value, np.str_):
        return str(value)
    if value.dtype.kind not in "fiub" or value.dtype.itemsize > 8:
        raise not_storable(where, f"a number of dtype {value.dtype}", "Convert it to float64 first.")
    return value


def _plain_array(value: Any, where: str) -> Any:
    array: Any = sparse.csr_array(value) if is_sparse(value) else to_numpy(value)
    if array.dtype == object:
        if not all(isinstance(item, str) for item in array.ravel()):
            raise not_storable(where, "an array of objects", "Convert it to numbers first.")
    elif array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise not_storable(where, f"an array of dtype {array.dtype}", "Convert it to float64 first.")
    if is_sparse(value) or array.flags.forc:
        return array
    # The order in memory is kept, as rounding in products depends on it.
    return array.copy(order="K")


def _require_storable_keys(value: dict[Any, Any], where: str) -> None:
    """Refuse a dictionary that could not be told from what stands for an object in a file."""
    if not all(type(key) is str for key in value) or value.keys() in (RECORD, SHARED):
        raise not_storable(where, f"a dictionary with the keys {', '.join(map(repr, value))[:80]}", "Use other names.")


def _is_numpy_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))


def _refusal(value: Any, where: str) -> TypeError:
    """The error for an object that is in no table."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return not_storable(where, "a random generator", "Use a whole number as the seed.")
    if isinstance(value, BaseEstimator) or isinstance(getattr(value, "__self__", None), BaseEstimator):
        return not_storable(where, "an estimator", "Save it by itself, by its own means, and fit again after loading.")
    if hasattr(value, "state_dict"):
        return not_storable(where, "a module of torch", own_module_not_stored())
    if callable(value):
        advice = "Use one that lowdim has by name, or keep it in your own program and fit there again."
        return not_storable(where, "a function or an object of a class that lowdim does not know", advice)
    return not_storable(where, f"an object of the class {type(value).__name__}", "Replace it by numbers or text.")
