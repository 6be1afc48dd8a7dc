"""Kernels of new rows with fixed rows, as nodes of a graph: one function for each class of kernels, and their table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import kernels
from ..errors import not_in_onnx
from .graph import Value

#: A function of a kernel, the new rows and the fixed rows, (m, p), whose result has m columns.
KernelBuilder = Callable[[Any, Value, np.ndarray], Value]


def kernel_values(kernel: Any, x: Value, rows: np.ndarray) -> Value:
    """The kernels of new rows with fixed rows."""
    build = KERNEL_BUILDERS.get(type(kernel))
    if build is None:
        raise not_in_onnx(
            f"the kernel {kernel}",
            "only the kernels of lowdim.kernels have nodes, and what your own function computes is not known",
            "Use one of these kernels, or sums and products of them; or kernel='precomputed', for which the "
            "kernels are computed before the graph runs.",
        )
    return build(kernel, x, rows)


def unit_length(x: Value) -> Value:
    """Rows divided by their lengths; rows of zeros stay as they are.

    They are first divided by their sums of magnitudes, so that no square overflows or underflows.
    """
    scaled = x / x.apply("Abs").sums().unless_zero(1.0)
    return scaled / (scaled * scaled).sums().apply("Sqrt").unless_zero(1.0)


def _linear(kernel: Any, x: Value, rows: np.ndarray) -> Value:
    return x @ rows.T


def _polynomial(kernel: kernels.Polynomial, x: Value, rows: np.ndarray) -> Value:
    return _power(_affine(kernel, x, rows), float(kernel.degree))


def _sigmoid(kernel: kernels.Sigmoid, x: Value, rows: np.ndarray) -> Value:
    return _affine(kernel, x, rows).apply("Tanh")


def _cosine(kernel: Any, x: Value, rows: np.ndarray) -> Value:
    return unit_length(x) @ kernels.Cosine().explicit_features(rows.shape[1])[0](rows).T


def _gaussian(kernel: kernels.Gaussian, x: Value, rows: np.ndarray) -> Value:
    return (_squared_distances(x, rows) * -float(kernel.rate or 0.0)).apply("Exp")


def _laplacian(kernel: kernels.Laplacian, x: Value, rows: np.ndarray) -> Value:
    distances = _by_differences(x, rows, lambda apart: apart.apply("Abs"))
    return (distances * -float(kernel.gamma or 0.0)).apply("Exp")


def _matern(kernel: kernels.Matern, x: Value, rows: np.ndarray) -> Value:
    # The root of a small distance has half of its digits, so that it is not computed from products.
    distances = _by_differences(x, rows, lambda apart: apart * apart).apply("Sqrt")
    r = distances * (math.sqrt(2.0 * kernel.nu) / float(kernel.length or 1.0))
    decay = (r * -1.0).apply("Exp")
    if kernel.nu == 0.5:
        return decay
    return (r + 1.0 if kernel.nu == 1.5 else r + 1.0 + r * r / 3.0) * decay


def _thin_plate_spline(kernel: kernels.ThinPlateSpline, x: Value, rows: np.ndarray) -> Value:
    r2 = _squared_distances(x, rows) / (kernel.c * kernel.c)
    return r2 * r2.unless_zero(1.0).apply("Log") * 0.5


def _sum(kernel: kernels.Sum, x: Value, rows: np.ndarray) -> Value:
    return kernel_values(kernel.left, x, rows) + kernel_values(kernel.right, x, rows)


def _product(kernel: kernels.Product, x: Value, rows: np.ndarray) -> Value:
    return kernel_values(kernel.left, x, rows) * kernel_values(kernel.right, x, rows)


def _multiple(kernel: kernels.Multiple, x: Value, rows: np.ndarray) -> Value:
    return kernel_values(kernel.kernel, x, rows) * kernel.factor


#: The builders by class.
KERNEL_BUILDERS: dict[type, KernelBuilder] = {
    kernels.Linear: _linear,
    kernels.Polynomial: _polynomial,
    kernels.Quadratic: _polynomial,
    kernels.Sigmoid: _sigmoid,
    kernels.Cosine: _cosine,
    kernels.Gaussian: _gaussian,
    kernels.Laplacian: _laplacian,
    kernels.Matern: _matern,
    kernels.ThinPlateSpline: _thin_plate_spline,
    kernels.Sum: _sum,
    kernels.Product: _product,
    kernels.Multiple: _multiple,
}


def _affine(kernel: Any, x: Value, rows: np.ndarray) -> Value:
    """gamma x . y + coef0"""
    return (x @ rows.T) * (kernel.gamma or 1.0 / rows.shape[1]) + float(kernel.coef0)


def _power(K: Value, degree: float) -> Value:
    """K^degree, by products if the degree is 1, 2 or 3."""
    if degree not in (1.0, 2.0, 3.0):
        return K**degree
    found = K
    for _ in range(int(degree) - 1):
        found = found * K
    return found


def _squared_distances(x: Value, rows: np.ndarray) -> Value:
    """|x - y|^2, from products of rows that are centred about the mean of the fixed ones.

    The rounding error is about eps times the squared spread of the rows; in float32 this would be too much, and the
    distances come from differences. Rounding may leave a distance of -eps, whose sign is dropped, because a comparison
    with zero would hide NaN.
    """
    if x.graph.arithmetic == np.float32:
        return _by_differences(x, rows, lambda apart: apart * apart)
    origin = rows.mean(axis=0)
    near, centred = rows - origin, x.minus(origin)
    squares = (near * near).sum(axis=1)[None, :]
    return ((centred * centred).sums() + squares - centred @ (2.0 * near.T)).apply("Abs")


def _by_differences(x: Value, rows: np.ndarray, distance: Callable[[Value], Value]) -> Value:
    """The sum over the columns of distance(x_d - y_d), of rows centred about the mean of the fixed ones."""
    origin = rows.mean(axis=0)
    return x.minus(origin).over_columns(rows - origin, distance)
