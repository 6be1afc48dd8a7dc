"""Models of features: kernel PCA, kernel CCA, and PCA of explicit features, with the table of feature maps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import features
from ..errors import not_in_onnx
from ..kernels import Gaussian
from ..models._preimage import _learned_map, _linear_map, preimage_method
from ..models.kernel_cca import PrecomputedKernel
from ..solvers import FixedPoint
from .expression import Expression, float64, product_and_mean
from .graph import Value
from .kernel_values import kernel_values, unit_length


def feature_values(feature_map: Any, x: Value) -> Value:
    """The features of rows."""
    build = FEATURE_BUILDERS.get(type(feature_map))
    if build is None:
        name = getattr(feature_map, "__qualname__", type(feature_map).__name__)
        raise not_in_onnx(
            f"the feature map {name}",
            "only the maps of lowdim.features have nodes, and what your own function computes is not known",
            "Use one of these maps. For a transformer of scikit-learn, put it before a PCA in a pipeline, and "
            "convert that with skl2onnx.",
        )
    return build(feature_map, x)


def _kernel_columns(feature_map: features.KernelColumns, x: Value) -> Value:
    return kernel_values(feature_map.kernel, x, float64(feature_map.rows))


def _fourier(feature_map: features.Fourier, x: Value) -> Value:
    angles = x @ float64(feature_map.frequencies)
    factor = math.sqrt(feature_map.amplitude / feature_map.frequencies.shape[1])
    # cos a = sin(a + pi / 2): some versions of onnxruntime have no cosine of float64.
    return (angles + 0.5 * math.pi).beside(angles).apply("Sin") * factor


def _polynomial(feature_map: features.Polynomial, x: Value) -> Value:
    # Entry p of a row is the appended sqrt(coef0), which `scales` multiplies by already.
    p = x.width
    factors, scales = feature_map.factors(p), feature_map.scales(p)
    appended = feature_map.up_to and bool(np.any(factors == p))
    entries = x.beside(x.take([0]) * 0.0 + 1.0) if appended else x
    found = entries.take(factors[:, 0])
    for column in factors.T[1:]:
        found = found * entries.take(column)
    return found * scales


def _scaled(feature_map: features.Scaled, x: Value) -> Value:
    moved = x if feature_map.shift is None else x.minus(float64(feature_map.shift))
    return feature_values(feature_map.feature_map, moved if feature_map.factor == 1.0 else moved * feature_map.factor)


#: The builders of features by the class of the map.
FEATURE_BUILDERS: dict[type, Callable[[Any, Value], Value]] = {
    features.KernelColumns: _kernel_columns,
    features.Fourier: _fourier,
    features.Polynomial: _polynomial,
    features.Scaled: _scaled,
    features.Same: lambda feature_map, x: x,
    features.SomeColumns: lambda feature_map, x: x.take(feature_map.columns),
    features.UnitLength: lambda feature_map, x: unit_length(x),
}


def kernel_scores(model: Any, table: int = 0) -> Expression:
    """The scores of kernel PCA, (phi(x) - offset) P. With kernel="precomputed", rows are kernels."""
    return _of_features(model, model._phi, model._scoring())


def feature_scores(model: Any, table: int = 0) -> Expression:
    """The scores of PCA of explicit features."""
    return _of_features(model, model.feature_map_, model.pca_._scoring())


def _of_features(model: Any, feature_map: Any, scoring: features.AffineMap) -> Expression:
    A, mean = float64(scoring.matrix), float64(scoring.mean)
    return Expression(int(model.n_features_in_), lambda x: feature_values(feature_map, x).minus(mean) @ A)


def kernel_rows(model: Any, table: int = 0) -> Expression:
    """Rows from scores of kernel PCA: a linear map for the linear kernel, and a regression for others."""
    if "dual_coef_" in model.__dict__:  # of lowdim.sklearn
        return _regression(model._given_kernel(), model.X_transformed_fit_, model.dual_coef_, 0.0)
    method = preimage_method(model)
    if method is None:
        return product_and_mean(*_linear_map(model))
    if isinstance(method, FixedPoint):
        raise not_in_onnx(
            "inverse_transform of KernelPCA with preimage='fixed-point'",
            "it is an iteration that ends when it has converged",
            "Set preimage='ridge', which is a regression.",
        )
    learned = _learned_map(model)
    return _regression(Gaussian(sigma=learned.sigma), learned.scores, learned.coefficients, learned.mean)


def _regression(kernel: Any, known: Any, coefficients: Any, mean: Any) -> Expression:
    """z -> mean + sum_i k(z, z_i) a_i"""
    scores, a = float64(known), float64(coefficients)
    return Expression(scores.shape[1], lambda z: kernel_values(kernel, z, scores) @ a + mean)


def kernel_variates(model: Any, table: int) -> Expression:
    """The variates of kernel CCA.

    With the kernels K of new rows, the means m of the fit and the shares s of its rows, centred kernels are
    (K - m) (I - s 1^T), and their product with the coefficients A is (K - m) (A - s 1^T A).
    """
    mapped = model._mapped[table]
    A = float64(model.y_dual_coef_ if table else model.x_dual_coef_)
    A = A - float64(mapped.share)[:, None] * A.sum(axis=0)

    def build(x: Value) -> Value:
        kernel = mapped.kernel
        if isinstance(kernel, PrecomputedKernel):
            K = x if kernel.columns is None else x.take(kernel.columns)
        elif mapped.origin is None:
            K = kernel_values(kernel, x, float64(mapped.rows))
        else:
            origin = float64(mapped.origin)
            K = kernel_values(kernel, x.minus(origin), float64(mapped.rows) - origin)
        return K.minus(mapped.means) @ A

    return Expression(int(mapped.rows.shape[1]), build)
