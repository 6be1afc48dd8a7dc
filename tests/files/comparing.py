"""Whether two objects are the same to the last bit, and the results of two models."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from scipy import sparse

from inputs import to_numpy
from lowdim import CA
from lowdim._core.arrays import is_array
from lowdim._core.schema import declared
from lowdim.models.base import Model
from lowdim.summaries import LatentGaussian, Summary


def assert_same(found: Any, expected: Any, where: str = "it") -> None:
    """Equal types, and equal values to the last bit, in all that is stored."""
    if isinstance(expected, np.dtype | type):
        # np.float64 and np.dtype("float64") are the same to NumPy.
        assert np.dtype(found) == np.dtype(expected), where
        return
    assert type(found) is type(expected), where
    if isinstance(expected, np.ndarray) and expected.dtype != object:
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
        assert found.tobytes() == expected.tobytes(), where
        for order in ("c_contiguous", "f_contiguous"):
            assert getattr(found.flags, order) or not getattr(expected.flags, order), where
    elif sparse.issparse(expected):
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(found, part), getattr(expected, part), f"{where}.{part}")
        assert found.shape == expected.shape
    elif is_array(expected) and not isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        assert_same(to_numpy(found), to_numpy(expected), where)
    elif isinstance(expected, list | tuple | np.ndarray):
        assert len(found) == len(expected), where
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            assert_same(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, float):
        assert np.float64(found).tobytes() == np.float64(expected).tobytes(), where
    elif (parts := stored_parts(expected)) is not None:
        assert_same(stored_parts(found), parts, where)
    else:
        assert found == expected, where


def stored_parts(value: Any) -> dict[str, Any] | None:
    """All that is stored of an object, by name; None if it is no object of lowdim."""
    if isinstance(value, Model):
        forgotten = [name for name, kind in declared(type(value)).items() if not kind.stored]
        return {name: item for name, item in sorted(vars(value).items()) if name not in forgotten}
    if isinstance(value, Summary):
        return {name: getattr(value, name) for name in value.state}
    if isinstance(value, LatentGaussian):
        return {name: getattr(value, name) for name in value.parameters}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in fields(value)}
    return None


#: Methods of rows, and of scores; those that a model has must give the same bits.
_OF_ROWS = ("transform", "predict", "score_samples", "impute", "reconstruction_error")


def results(model: Any) -> dict[str, Any]:
    """What the model says of some rows, by method."""
    rows = 3.0 * np.random.default_rng(1).standard_normal((7, model.n_features_in_))
    if isinstance(model, CA):
        # Counts are not negative.
        rows = np.abs(rows)
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        rows = pd.DataFrame(rows, columns=model.feature_names_in_)
    found = {name: getattr(model, name)(rows) for name in _OF_ROWS if hasattr(model, name)}
    if hasattr(model, "inverse_transform") and model.n_components_:
        found["inverse_transform"] = model.inverse_transform(np.asarray(found["transform"]))
    return {name: np.asarray(value) for name, value in found.items()}
