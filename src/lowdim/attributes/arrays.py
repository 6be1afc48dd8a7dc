"""Arrays of numbers: their shape, dtype and place, and what holds for their entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._entries import all_finite, asymmetry, distance_from_orthonormal, largest_magnitude
from .._xp import is_sparse
from .base import Inspection, Kind

#: The dtypes that each word stands for.
_DTYPES = {
    "float": ("float32", "float64"),
    "bool": ("bool",),
    "int": ("int64", "int32"),
    "any": ("float16", "float32", "float64", "bool", *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64))),
}
#: How far entries may be from what rounding should leave of order, symmetry and orthonormality, in float64 and float32,
#: relative to the largest entry.
_ROUNDING = {"float64": 1e-7, "float32": 1e-3}


class Numbers(Kind):
    """An array of finite numbers.

    Parameters
    ----------
    *shape : str or int
        The letter or the length of each axis; "*" is any length. A single "..." is any number of axes.
    dtype : {"float", "bool", "int", "any"}
        "float" is float32 or float64.
    finite : bool
        Whether NaN and infinity are refused.
    sign : {"", "nonnegative", "positive"}
    order : {"", "descending"}
        The order of a vector, up to rounding.
    orthonormal : {"", "rows"}
        Whether the rows are orthonormal, up to rounding.
    symmetric : bool
        Whether a matrix equals its transpose up to rounding, with a diagonal that is not negative.
    most : float, optional
        The largest magnitude that an entry can have, up to rounding.
    below : str
        The letter of the length that all entries are below, for indices, which are not negative.
    host : bool
        Whether the array is a NumPy array, whatever the rows of the fit were.
    rows : bool
        Whether it has an entry for each row of the fit (or for some of them), which is said when it is saved.
    sparse : bool
        Whether it may be a sparse array.
    """

    def __init__(
        self,
        *shape: str | int,
        dtype: str = "float",
        finite: bool = True,
        sign: str = "",
        order: str = "",
        orthonormal: str = "",
        symmetric: bool = False,
        most: float | None = None,
        below: str = "",
        host: bool = False,
        rows: bool = False,
        sparse: bool = False,
    ) -> None:
        self.shape, self.dtype, self.finite, self.sign, self.order = shape, dtype, finite, sign, order
        self.orthonormal, self.symmetric, self.most, self.below = orthonormal, symmetric, most, below
        self.host, self.rows, self.sparse = host, rows, sparse

    def check(self, value: Any, inspection: Inspection, name: str) -> None:
        stored = self.sparse and is_sparse(value)
        if not stored and not isinstance(value, np.ndarray):
            raise ValueError(f"{name} is no array of numbers")
        self._check_shape(value.shape, inspection, name)
        if value.dtype.name not in _DTYPES[self.dtype]:
            raise ValueError(f"{name} has dtype {value.dtype}, and must be of {' or '.join(_DTYPES[self.dtype])}")
        entries = value.data if stored else value
        if inspection.unread or not entries.size:
            return
        with np.errstate(all="ignore"):
            self._check_entries(entries, name)
        if self.below:
            limit = inspection.sizes.get(inspection.letter(self.below))
            if value.min() < 0 or (limit is not None and value.max() >= limit):
                raise ValueError(f"{name} has entries from {value.min()} to {value.max()}, and must be indices")

    def placed(self, value: Any, move: Callable[[np.ndarray], Any], inspection: Inspection) -> Any:
        return move(value) if isinstance(value, np.ndarray) and not self.host else value

    def of_rows(self, value: Any, inspection: Inspection) -> bool:
        return self.rows and value is not None

    def first(self, value: Any, letter: str, size: int) -> Any:
        if letter not in self.shape:
            return value
        return value[tuple(slice(size if axis == letter else None) for axis in self.shape)]

    def _check_shape(self, shape: tuple[int, ...], inspection: Inspection, name: str) -> None:
        if self.shape == ("...",):
            return
        if len(shape) != len(self.shape):
            raise ValueError(f"{name} has {len(shape)} axes, and must have {len(self.shape)}")
        for size, wanted in zip(shape, self.shape, strict=True):
            if isinstance(wanted, str):
                inspection.same_size(wanted, size, name)
            elif size != wanted:
                raise ValueError(f"{name} has shape {shape}, and must have shape {self.shape}")

    def _check_entries(self, a: np.ndarray, name: str) -> None:
        if self.finite and not all_finite(a):
            raise ValueError(f"{name} contains NaN or infinity")
        rounding = _ROUNDING.get(a.dtype.name, _ROUNDING["float32"])
        if self.sign == "nonnegative" and a.min() < 0:
            raise ValueError(f"{name} has the negative entry {a.min():g}")
        if self.sign == "positive" and not a.min() > 0:
            raise ValueError(f"{name} has the entry {a.min():g}, and all must be positive")
        if self.most is not None and largest_magnitude(a) > self.most * (1.0 + rounding):
            raise ValueError(f"{name} has an entry of magnitude {largest_magnitude(a):g}, above {self.most:g}")
        if self.order == "descending" and (np.diff(a) > rounding * largest_magnitude(a)).any():
            raise ValueError(f"{name} is not in descending order")
        if self.symmetric:
            _check_symmetric(a, rounding, name)
        if self.orthonormal:
            _check_orthonormal(a, rounding, name)


def _check_symmetric(a: np.ndarray, rounding: float, name: str) -> None:
    allowed = rounding * largest_magnitude(a)
    if not asymmetry(a) <= allowed or np.diagonal(a).min() < -allowed:
        raise ValueError(f"{name} is not symmetric with a diagonal that is not negative")


def _check_orthonormal(a: np.ndarray, rounding: float, name: str) -> None:
    if not distance_from_orthonormal(a) <= rounding:
        raise ValueError(f"the rows of {name} are not orthonormal")
