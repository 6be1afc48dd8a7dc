"""The table of converters: which function expresses a method of a model, as nodes of a graph."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import features, kernels
from .._core.arrays import asarray_like, namespace
from ..errors import not_in_onnx
from ..models import CCA, GCCA, AutoEncoder, FeatureMapPCA, KernelCCA, KernelPCA, Whitening
from ..models.base import Model
from ..models.ca import CA
from ..models.kernel_cca import PrecomputedKernel
from ..models.kernel_pca import _learned_map, _linear_map, preimage_method
from ..models.latent import LatentModel
from ..models.mixed import MixedModel
from ..models.regression import LatentRegression
from ..solvers.kernel.preimages import FixedPoint
from ..solvers.neural.network import Path
from ..summaries.latent import LatentGaussian
from .graph import Value, float64

# Models whose methods are affine maps of rows: components, whitening, latent variables, PLS, CCA.


#: The number of unit vectors whose scores are computed at a time.
_UNIT_VECTORS = 1000


def affine_scores(model: Any, x: Value, table: int) -> Value:
    """The scores of a model whose map is (x - mean) A, for rows of one of its tables."""
    scoring = model._scoring(table) if table else model._scoring()
    if not isinstance(scoring, features.AffineMap):
        raise not_in_onnx(
            f"transform of {type(model).__name__}",
            "lowdim has no converter for this class, and its map is not one that `features.affine` made",
            "Use lowdim.save to hand the model on.",
        )
    A, mean = float64(scoring.matrix), float64(scoring.mean)
    # The mean is subtracted first: a product of large numbers would lose digits.
    return x.minus(mean) @ A


def affine_rows(model: Any, z: Value, table: int) -> Value:
    """Rows of one of the tables from scores, mean + z B."""
    if isinstance(model, GCCA):
        B, mean = model._lift(table), model.means_[table]
    elif table:
        B, mean = (float64(model.y_loadings_) * float64(model.y_scale_)[:, None]).T, model.y_mean_
    else:
        B, mean = model._lift(), model._centre()
    return z @ float64(B) + float64(mean)


def predictions(model: Any, x: Value, table: int) -> Value:
    """y_mean + (x - x_mean) R Q^T. For fewer targets than components R Q^T is one matrix, unless it overflows."""
    R, Q = (float64(factor) for factor in model.coefficient_factors())
    factors = [R @ Q.T] if Q.shape[0] <= Q.shape[1] and model._finite_coefficients else [R, Q.T]
    found = x.minus(float64(model.x_mean_))
    for factor in factors:
        found = found @ factor
    return found + float64(model.y_mean_)


def whitened(model: Any, x: Value, table: int) -> Value:
    """Whitened rows, W (x - mean). Where W is kept by its factors, it is multiplied by them."""
    if "_whitener" not in model.__dict__:
        return affine_scores(model, x, table)
    centred, scale = x.minus(float64(model.mean_)), model._column_scale
    return _times(model._whitener, centred if scale is None else centred / float64(scale))


def coloured(model: Any, z: Value, table: int) -> Value:
    """Rows from whitened rows."""
    if "_colourer" not in model.__dict__:
        return affine_rows(model, z, table)
    x, scale = _times(model._colourer, z), model._column_scale
    return (x if scale is None else x * float64(scale)) + float64(model.mean_)


def _times(factors: Any, x: Value) -> Value:
    """The products of rows with V^T diag(along) V + beyond (I - V^T V)."""
    V, along, beyond = float64(factors.vectors), float64(factors.along), float(factors.beyond)
    found = ((x @ V.T) * (along - beyond)) @ V
    return found if beyond == 0.0 else found + x * beyond


def latent_scores(model: Any, x: Value, table: int) -> Value:
    """The posterior means of the latent variables given complete rows; rows with NaN have scores of NaN.

    Given complete rows they are an affine map of standardised rows. The model itself says which: its scores of the zero
    vector and of the unit vectors are computed with a mean of zero and a scale of one, where nothing is lost.
    """
    g = model._gaussian
    xp = namespace(g.mean)
    standard = copy.copy(model)
    standard._gaussian = LatentGaussian(xp.zeros_like(g.mean), xp.ones_like(g.scale), g.loadings, g.noise, g.spread)
    score, p = standard._scoring(), int(g.mean.shape[0])
    # The zero vector has the number -1.
    parts = []
    for first in range(-1, p, _UNIT_VECTORS):
        rows = np.eye(min(_UNIT_VECTORS, p - first), p, k=first)
        parts.append(float64(score(asarray_like(rows, g.mean, dtype=g.mean.dtype))))
    all_scores = np.concatenate(parts)
    at_mean = all_scores[0]
    A = (all_scores[1:] - at_mean) / float64(g.scale)[:, None]
    found = x.minus(float64(g.mean)) @ A
    return found + at_mean if np.any(at_mean) else found


# Auto-encoders: linear maps plus hidden layers.


def encoded(model: Any, x: Value, table: int) -> Value:
    """The scores of an auto-encoder, for complete rows."""
    network, k = model._network, model.n_components_
    u = _of_path(network.encoder, x.minus(float64(network.mean)) * (1.0 / network.unit), "encoder")
    kept = u if u.width == k else u.take(range(k))
    return kept * float64(network.widths)[:k]


def decoded(model: Any, z: Value, table: int) -> Value:
    """Rows from the scores of an auto-encoder."""
    network = model._network
    v = _of_path(network.decoder, z * (1.0 / float64(network.widths)), "decoder")
    return v * network.unit + float64(network.mean)


def _of_path(path: Any, v: Value, name: str) -> Value:
    """v A + a, plus the hidden layers."""
    if not isinstance(path, Path):
        raise not_in_onnx(
            f"the {name} of this AutoEncoder",
            "it is a module of your own, and what it computes is not known",
            f"Export it with torch.onnx.export(model.{name}_, ...), or use hidden=(...) in place of a module.",
        )
    found = v @ float64(path.matrix) + float64(path.offset)
    if not path.weights:
        return found
    act, h = _ACTIVATIONS[path.activation], v
    for W, b in zip(path.weights[:-1], path.biases, strict=True):
        h = act(h @ float64(W) + float64(b))
    return found + h @ float64(path.weights[-1])


#: Activations as nodes, by their names in `ACTIVATIONS`.
_ACTIVATIONS: dict[str, Callable[[Value], Value]] = {
    "silu": lambda h: (h * ((h * 0.5).apply("Tanh") + 1.0)) * 0.5,
    "tanh": lambda h: h.apply("Tanh"),
    "relu": lambda h: h.apply("Relu"),
}


# Models of tables with categories: coded columns, which are numbers and zeros and ones, and tables of counts.


def input_names(model: Any, table: int) -> list[str]:
    """The names of the columns of the rows that a graph takes."""
    return model.coding_.names if isinstance(model, MixedModel) else list(model._column_names(table))


def mixed_scores(model: Any, x: Value, table: int) -> Value:
    """The coordinates of rows of coded columns."""
    return x.minus(float64(model.mean_)) @ (model.components_ / model.scale_).T


def mixed_rows(model: Any, z: Value, table: int) -> Value:
    """Numbers, and probabilities of the levels of each category, from scores."""
    rows = z @ float64(model._lift()) + float64(model.mean_)
    coding = model.coding_
    found = rows.take(range(len(coding.numbers))) if coding.numbers else None
    for name in coding.categories:
        piece = coding.columns[name]
        shares = rows.take(range(piece.start, piece.stop)).apply("Relu")
        shares = shares / shares.sums()
        found = shares if found is None else found.beside(shares)
    return rows if found is None else found


def correspondence_scores(model: Any, x: Value, table: int) -> Value:
    """The coordinates of the profiles of rows of counts; rows without counts are at the mean."""
    counts = x.take(model._active)
    sums = counts.sums()
    divisor = sums.unless_zero(1.0)
    scores = (counts / divisor).minus(float64(model.mean_)) @ (model.components_ / model.scale_).T
    return scores * (sums / divisor)


# Kernels of new rows with fixed rows, as nodes of a graph: one function for each class of kernels, and their table.


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


def _matern(kernel: kernels.Matern, x: Value, rows: np.ndarray) -> Value:
    # The root of a small distance has half of its digits, so that it is not computed from products.
    distances = _by_differences(x, rows, lambda apart: apart * apart).apply("Sqrt")
    r = distances * (math.sqrt(2.0 * kernel.nu) / float(kernel.length_scale or 1.0))
    decay = (r * -1.0).apply("Exp")
    if kernel.nu == 0.5:
        return decay
    return (r + 1.0 if kernel.nu == 1.5 else r + 1.0 + r * r / 3.0) * decay


def _thin_plate_spline(kernel: kernels.ThinPlateSpline, x: Value, rows: np.ndarray) -> Value:
    r2 = _squared_distances(x, rows) / (kernel.c * kernel.c)
    return r2 * r2.unless_zero(1.0).apply("Log") * 0.5


def _laplacian(kernel: kernels.Laplacian, x: Value, rows: np.ndarray) -> Value:
    distances = _by_differences(x, rows, lambda apart: apart.apply("Abs"))
    return (distances * -float(kernel.gamma or 0.0)).apply("Exp")


def _polynomial(kernel: kernels.Polynomial, x: Value, rows: np.ndarray) -> Value:
    """(gamma x . y + coef0)^degree, by products if the degree is 1, 2 or 3."""
    K, degree = _affine(kernel, x, rows), float(kernel.degree)
    if degree not in (1.0, 2.0, 3.0):
        return K**degree
    found = K
    for _ in range(int(degree) - 1):
        found = found * K
    return found


#: The builders by class.
KERNEL_BUILDERS: dict[type, KernelBuilder] = {
    kernels.Linear: lambda kernel, x, rows: x @ rows.T,
    kernels.Polynomial: _polynomial,
    kernels.Quadratic: _polynomial,
    kernels.Sigmoid: lambda kernel, x, rows: _affine(kernel, x, rows).apply("Tanh"),
    kernels.Cosine: lambda kernel, x, rows: unit_length(x) @ kernel.explicit_features(rows.shape[1])[0](rows).T,
    kernels.Gaussian: lambda kernel, x, rows: (_squared_distances(x, rows) * -float(kernel.gamma or 0.0)).apply("Exp"),
    kernels.Laplacian: _laplacian,
    kernels.Matern: _matern,
    kernels.ThinPlateSpline: _thin_plate_spline,
    kernels.Sum: lambda kernel, x, rows: kernel_values(kernel.left, x, rows) + kernel_values(kernel.right, x, rows),
    kernels.Product: lambda kernel, x, rows: kernel_values(kernel.left, x, rows) * kernel_values(kernel.right, x, rows),
    kernels.Multiple: lambda kernel, x, rows: kernel_values(kernel.kernel, x, rows) * kernel.factor,
}


def _affine(kernel: Any, x: Value, rows: np.ndarray) -> Value:
    """gamma x . y + coef0"""
    return (x @ rows.T) * (kernel.gamma or 1.0 / rows.shape[1]) + float(kernel.coef0)


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


# Models of features: kernel PCA, kernel CCA, and PCA of explicit features, with the table of feature maps.


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


def _fourier(feature_map: features.Fourier, x: Value) -> Value:
    angles = x @ float64(feature_map.frequencies)
    factor = math.sqrt(feature_map.amplitude / feature_map.frequencies.shape[1])
    # cos a = sin(a + pi / 2): some versions of onnxruntime have no cosine of float64.
    return (angles + 0.5 * math.pi).beside(angles).apply("Sin") * factor


def _polynomial_features(feature_map: features.Polynomial, x: Value) -> Value:
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
    features.KernelColumns: lambda columns, x: kernel_values(columns.kernel, x, float64(columns.rows)),
    features.Fourier: _fourier,
    features.Polynomial: _polynomial_features,
    features.Scaled: _scaled,
    features.Same: lambda feature_map, x: x,
    features.SomeColumns: lambda feature_map, x: x.take(feature_map.columns),
    features.UnitLength: lambda feature_map, x: unit_length(x),
}


def feature_scores(model: Any, x: Value, table: int) -> Value:
    """The scores of kernel PCA, or PCA of explicit features: (phi(x) - mean) A. Precomputed kernels are rows."""
    of_kernels = isinstance(model, KernelPCA)
    feature_map, scoring = (model._phi, model._scoring()) if of_kernels else (model.feature_map_, model.pca_._scoring())
    A, mean = float64(scoring.matrix), float64(scoring.mean)
    return feature_values(feature_map, x).minus(mean) @ A


def kernel_rows(model: Any, z: Value, table: int) -> Value:
    """Rows from scores of kernel PCA: a linear map for the linear kernel, and a regression for others."""
    mean: Any
    if "dual_coef_" in model.__dict__:  # of lowdim.sklearn
        kernel, known, coefficients, mean = model._given_kernel(), model.X_transformed_fit_, model.dual_coef_, 0.0
    else:
        method = preimage_method(model)
        if method is None:
            B, mean = _linear_map(model)
            return z @ float64(B) + float64(mean)
        if isinstance(method, FixedPoint):
            raise not_in_onnx(
                "inverse_transform of KernelPCA with preimage='fixed-point'",
                "it is an iteration that ends when it has converged",
                "Set preimage='ridge', which is a regression.",
            )
        learned = _learned_map(model)
        kernel, known = kernels.Gaussian(learned.gamma), learned.scores
        coefficients, mean = learned.coefficients, learned.mean
    # mean + sum_i k(z, z_i) a_i
    return kernel_values(kernel, z, float64(known)) @ float64(coefficients) + mean


def kernel_variates(model: Any, x: Value, table: int) -> Value:
    """The variates of kernel CCA.

    With the kernels K of new rows, the means m of the fit and the shares s of its rows, centred kernels are
    (K - m) (I - s 1^T), and their product with the coefficients A is (K - m) (A - s 1^T A).
    """
    mapped = model._mapped[table]
    A = float64(model.y_dual_coef_ if table else model.x_dual_coef_)
    A = A - float64(mapped.share)[:, None] * A.sum(axis=0)
    if isinstance(mapped.kernel, PrecomputedKernel):
        K = x if mapped.kernel.columns is None else x.take(mapped.kernel.columns)
    elif mapped.origin is None:
        K = kernel_values(mapped.kernel, x, float64(mapped.rows))
    else:
        origin = float64(mapped.origin)
        K = kernel_values(mapped.kernel, x.minus(origin), float64(mapped.rows) - origin)
    return K.minus(mapped.means) @ A


# The table of converters: which function expresses a method of a model. A class is found by its base classes too.


#: A function of a fitted model, rows or scores in a graph, and the number of the table to which they belong.
Converter = Callable[[Any, Value, int], Value]

#: For each method, the converters of classes. A model without an entry of its own has that of its base class.
CONVERTERS: Mapping[str, Mapping[type, Converter]] = {
    "transform": {
        Model: affine_scores,
        Whitening: whitened,
        LatentModel: latent_scores,
        KernelPCA: feature_scores,
        KernelCCA: kernel_variates,
        FeatureMapPCA: feature_scores,
        AutoEncoder: encoded,
        MixedModel: mixed_scores,
        CA: correspondence_scores,
    },
    "inverse_transform": {
        Model: affine_rows,
        Whitening: coloured,
        KernelPCA: kernel_rows,
        AutoEncoder: decoded,
        MixedModel: mixed_rows,
    },
    "predict": {LatentRegression: predictions, CCA: predictions},
}


def converter_of(model: Any, method: str, table: int = 0) -> Converter:
    """The converter of a method of a fitted model; an error if there is none, or no such table."""
    if not isinstance(model, Model):
        raise TypeError(
            f"lowdim.to_onnx takes models of lowdim, got {type(model).__name__}. Pipelines and other estimators of "
            "scikit-learn are converted by skl2onnx, together with the models of lowdim in them."
        )
    check_is_fitted(model)
    what = f"{method} of {type(model).__name__}"
    if method == "impute":
        raise not_in_onnx(
            what,
            "the weights of the observed entries are different for each pattern of missing entries",
            "Impute with lowdim before the graph runs; the graph of `transform` is for complete rows.",
        )
    if method not in CONVERTERS:
        raise not_in_onnx(what, "there is no converter for it", f"Choose one of {', '.join(CONVERTERS)}.")
    converter = next((found for cls in type(model).__mro__ if (found := CONVERTERS[method].get(cls))), None)
    if converter is None or not hasattr(model, method):
        able = [name for name in CONVERTERS if name != method and hasattr(model, name)]
        raise not_in_onnx(what, "the model has no such method", f"Choose {' or '.join(map(repr, able))}.")
    n = 1 if method == "predict" else len(model._widths())
    if isinstance(table, bool) or not isinstance(table, int) or not 0 <= table < n:
        known = "it was fitted to one table, number 0" if n == 1 else f"its tables are numbers 0 to {n - 1}"
        raise ValueError(f"{what} has no table {table!r}: {known}.")
    return converter
