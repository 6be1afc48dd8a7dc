"""From scores back to rows, for models whose features are known only through a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._xp import Array, asarray_like, astype, dense, is_sparse, to_numpy
from ..errors import choice
from ..features import Same
from ..kernels import Gaussian, Linear
from ..reading import RowMap
from ..solvers import PREIMAGES, FixedPoint, Ridge
from ..solvers.kernel import LearnedMap
from ..sources import open_source
from ._first_components import first_components
from ._output import framed_results
from ._writing import Maps


class PreImages:
    """Mixin with the `inverse_transform` of kernel PCA.

    The model has the attributes `kernel_` and `X_fit_`; the feature map `_phi`, from whose values `projection_` and
    `offset_` give the scores; the coefficients z B + c of a point of the feature space in the features of X_fit_
    (`_expansion`); and example rows for regression (`_examples`).
    """

    kernel: Any
    preimage: Any

    def _has_rows(self) -> bool:
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise AttributeError("kernel='precomputed': the model does not know the rows, so it cannot return to them.")
        return True

    @available_if(_has_rows)
    def inverse_transform(self: Any, X: Any) -> Array:
        """Rows whose features are close to the points with these scores.

        With the linear kernel they are exact: mean + z W. Otherwise there is rarely a row with exactly these features.
        For the Gaussian kernel the distance is minimised by a fixed-point iteration; for other kernels the map from
        scores to rows is learned by regression on rows of the fit. The parameter `preimage` selects the method.

        If `X` has fewer columns than there are components, they are the scores of the first ones, and the point is the
        one at which those of the others are zero.
        """
        check_is_fitted(self)
        return framed_results(self, self._inverse_maps(X), X)

    def _inverse_maps(self: Any, X: Any) -> Maps:
        source = self._open_scores(X)
        model = first_components(self, source.shape[1])
        method = preimage_method(model)
        if method is None:
            B, mean = _linear_map(model)
            return [RowMap(source, lambda Z: dense(Z) @ astype(B, Z.dtype) + astype(mean, Z.dtype), self._row_names)]
        rows_of = _learned_map(model) if isinstance(method, Ridge) else _iterated_map(model, method)
        like = source.empty(0)

        def rows(Z: Array) -> Array:
            return asarray_like(rows_of(to_numpy(dense(Z)).astype(np.float64)), like, dtype=like.dtype)

        return [RowMap(source, rows, self._row_names)]


def check_preimage(preimage: Any) -> None:
    """Refuse an invalid `preimage`."""
    if isinstance(preimage, str):
        if preimage != "auto" and preimage not in PREIMAGES:
            raise choice("preimage", preimage, ["auto", *PREIMAGES])
    elif not isinstance(preimage, FixedPoint | Ridge):
        raise TypeError(f"preimage must be a name, a FixedPoint or a Ridge, got {type(preimage).__name__}.")


def n_examples(preimage: Any) -> int:
    """The number of rows of the fit that are kept as examples for the map from scores to rows."""
    return preimage.rows if isinstance(preimage, Ridge) else Ridge().rows


def preimage_method(model: Any) -> FixedPoint | Ridge | None:
    """The method that finds rows from scores; None for the linear kernel, whose features are the rows."""
    if isinstance(model.X_fit_, np.ndarray) and model.X_fit_.dtype.kind in "OUS":
        raise TypeError("rows that are not numbers cannot be found from scores.")
    if isinstance(model.kernel_, Linear) and model.preimage == "auto":
        return None
    if model._examples is None:
        raise TypeError(
            "the rows could be read only once, so there are none left from which to learn the map from scores to rows; "
            "fit to a list of blocks, or to a function that returns an iterator."
        )
    gaussian = isinstance(model.kernel_, Gaussian) and model._expansion is not None
    if model.preimage == "auto":
        return PREIMAGES["fixed-point" if gaussian else "ridge"]
    method = PREIMAGES[model.preimage] if isinstance(model.preimage, str) else model.preimage
    if isinstance(method, FixedPoint) and not gaussian:
        raise ValueError(
            f"preimage='fixed-point' is for Gaussian kernels of rows (not solver='fourier'), not for {model.kernel_}; "
            "use preimage='ridge'."
        )
    return method


def _linear_map(model: Any) -> tuple[Array, Array]:
    """B and mean of x = mean + z B, for the linear kernel."""
    if isinstance(model._phi, Same):
        return model.projection_.T, model.offset_
    B, c = model._expansion
    if is_sparse(model.X_fit_):
        return (model.X_fit_.T @ B.T).T, model.X_fit_.T @ c
    X = asarray_like(model.X_fit_, B, dtype=B.dtype)
    if getattr(model._phi, "shift", None) is None:
        return B @ X, c @ X
    # The kernel was computed for rows from which this shift had been subtracted.
    shift = asarray_like(model._phi.shift, B, dtype=B.dtype)
    return B @ (X - shift), c @ (X - shift) + shift


def _learned_map(model: Any) -> LearnedMap:
    """The map from scores to rows by regression, which is learned on first use and kept in the model."""
    ridge = model.preimage if isinstance(model.preimage, Ridge) else Ridge()
    kept = model.__dict__.get("_learned")
    if kept is None or kept[0] != ridge:
        # The examples are distinct rows: with duplicates, the regression would fit the noise.
        some = model._examples
        scores = to_numpy(model._scores_of(open_source(some))).astype(np.float64)
        kept = (ridge, ridge.learn(scores, to_numpy(dense(some)).astype(np.float64)))
        model.__dict__["_learned"] = kept
    learned: LearnedMap = kept[1]
    return learned


def _iterated_map(model: Any, method: FixedPoint) -> Callable[[np.ndarray], np.ndarray]:
    """The map from scores to rows by iteration, which starts from the result of the regression."""
    B, c = (to_numpy(part).astype(np.float64) for part in model._expansion)
    rows, start = to_numpy(dense(model.X_fit_)).astype(np.float64), _learned_map(model)
    return lambda Z: method.solve(Z @ B + c, rows, model.kernel_, start(Z))
