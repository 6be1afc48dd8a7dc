"""Checks of statistics that are given instead of rows: a covariance, a mean and the number of rows they are of."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from .._xp import Array, asarray_like, astype, device, is_array, is_complex, namespace, wide_dtype

#: A covariance may differ from its transpose, and have negative eigenvalues, by this fraction of its largest entry.
_ROUNDING = 1e-8


def check_covariance(cov: Any) -> Array:
    """`cov` in float64, and exactly symmetric; an error unless it is a symmetric matrix of finite real numbers without
    negative eigenvalues. Variances may be zero, as those of constant columns are."""
    cov = _real_numbers("cov", cov)
    xp = namespace(cov)
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1] or cov.shape[0] == 0:
        raise ValueError(f"cov must be a square matrix, got shape {tuple(cov.shape)}.")
    _check_finite("cov", cov)
    largest, asymmetry = float(xp.max(xp.abs(cov))), float(xp.max(xp.abs(cov - cov.T)))
    if asymmetry > _ROUNDING * largest:
        raise ValueError(f"cov must be symmetric, but cov and its transpose differ by up to {asymmetry:.3g}.")
    diagonal = xp.linalg.diagonal(cov)
    j = int(xp.argmin(diagonal))
    if float(diagonal[j]) < -_ROUNDING * largest:
        raise ValueError(
            f"cov has the negative variance {float(diagonal[j]):.3g} in column {j}; variances are zero or positive."
        )
    smallest = float(xp.min(xp.linalg.eigvalsh(cov)))
    if smallest < -_ROUNDING * largest:
        raise ValueError(f"cov has the negative eigenvalue {smallest:.3g}; a covariance has none.")
    return 0.5 * (cov + cov.T)


def check_mean(mean: Any, cov: Array) -> Array:
    """`mean` as an array like `cov`, or zeros if it is None; an error unless it has a finite real number for each
    column of `cov`."""
    if mean is None:
        return namespace(cov).zeros_like(cov[0, :])
    mean = asarray_like(_real_numbers("mean", mean), cov, dtype=cov.dtype)
    if tuple(mean.shape) != (cov.shape[0],):
        raise ValueError(f"mean must have shape ({cov.shape[0]},), got {tuple(mean.shape)}.")
    _check_finite("mean", mean)
    return mean


def check_count(name: str, count: Any, lowest: int) -> int:
    """`count` as an integer; an error unless it is a whole number of at least `lowest`."""
    whole = isinstance(count, numbers.Integral) or (isinstance(count, float | np.floating) and count.is_integer())
    if not whole or isinstance(count, bool) or not lowest <= count < 2**63:
        raise ValueError(f"{name}={count!r} must be a whole number of at least {lowest}.")
    return int(count)


def _real_numbers(name: str, values: Any) -> Array:
    """`values` as an array of float64; an error if they are not real numbers."""
    if not is_array(values):
        try:
            values = np.asarray(values)
        except ValueError as error:
            raise ValueError(f"{name} must be an array of real numbers, but its rows differ in length.") from error
    if is_complex(values):
        raise ValueError(f"{name} must hold real numbers, got dtype {values.dtype}; pass {name}.real if that is meant.")
    if isinstance(values, np.ndarray) and values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, got dtype {values.dtype}; convert it: {name}.astype(float).")
    return astype(values, wide_dtype(namespace(values), device(values)))


def _check_finite(name: str, values: Array) -> None:
    xp = namespace(values)
    if not bool(xp.all(xp.isfinite(values))):
        raise ValueError(f"{name} contains NaN or infinity; every entry must be finite.")
