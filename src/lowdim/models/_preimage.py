"""From scores back to rows, for models whose features are known through a kernel alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._xp import Array, asarray_like, astype, dense, is_sparse, to_numpy
from ..errors import choice
from ..features import Same
from ..kernels import Gaussian, Linear
from ..reading import map_rows
from ..solvers import PREIMAGES, FixedPoint, Ridge
from ..sources import Source, open_source


class PreImages:
    """`inverse_transform` of kernel PCA.

    A model has `kernel_`, `X_fit_`, what makes scores of rows (`_scored`), the expansion z B + c of a point of the
    feature space in the features of X_fit_ (`_expansion`), and rows to learn from where there is no X_fit_
    (`_examples`).
    """

    kernel: Any
    preimage: Any
    kernel_: Any
    X_fit_: Any
    n_components_: int
    projection_: Any
    offset_: Any
    _phi: Any
    _expansion: Any
    _examples: Any

    def _rows_were_seen(self) -> bool:
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise AttributeError("kernel='precomputed': the rows were never seen, so there are none to go back to.")
        return True

    @available_if(_rows_were_seen)
    def inverse_transform(self, X: Any) -> Array:
        """Rows whose features are near the points with these scores.

        With the linear kernel they are exact: mean + z W. Otherwise there is seldom a row with just these features.
        With the Gaussian kernel the distance is minimised by a fixed-point iteration; with others the map from scores
        to rows is learned from rows of the fit. `preimage` chooses.
        """
        check_is_fitted(self)
        source = open_source(X)
        if source.shape[1] != self.n_components_:
            width = f"{self.n_components_} are needed, one a component"
            raise ValueError(f"X has {source.shape[1]} columns, but {width}.")
        self._check_namespace(source, "inverse_transform")  # type: ignore[attr-defined] # of the model
        way = self._way()
        if way is None:
            B, mean = self._linear_map()
            return map_rows(source, lambda Z: dense(Z) @ astype(B, Z.dtype) + astype(mean, Z.dtype))
        back = self._learned_back() if isinstance(way, Ridge) else self._fixed_point(way)
        like = source.empty(0)

        def rows(Z: Array) -> Array:
            found = back(to_numpy(dense(Z)).astype(np.float64))
            return asarray_like(found, like, dtype=like.dtype)

        return map_rows(source, rows)

    def _n_examples(self) -> int:
        """Rows of the fit that are kept to learn the way back from."""
        return self.preimage.rows if isinstance(self.preimage, Ridge) else Ridge().rows

    def _check_preimage(self) -> None:
        """Refuse what is no way back."""
        if isinstance(self.preimage, str):
            if self.preimage != "auto" and self.preimage not in PREIMAGES:
                raise choice("preimage", self.preimage, ["auto", *PREIMAGES])
        elif not isinstance(self.preimage, FixedPoint | Ridge):
            raise TypeError(f"preimage must be a name, a FixedPoint or a Ridge, got {type(self.preimage).__name__}.")

    def _way(self) -> FixedPoint | Ridge | None:
        """How rows are found; None for the linear kernel, whose features are the rows."""
        if isinstance(self.X_fit_, np.ndarray) and self.X_fit_.dtype.kind in "OUS":
            raise TypeError("rows that are no numbers cannot be found from scores.")
        if isinstance(self.kernel_, Linear) and self.preimage == "auto":
            return None
        if self._examples is None:
            raise TypeError(
                "rows were read once and are gone, so there are none to learn the way back from; fit to a list of "
                "blocks, or to a function that returns an iterator."
            )
        gaussian = isinstance(self.kernel_, Gaussian) and self._expansion is not None
        if self.preimage == "auto":
            return PREIMAGES["fixed-point" if gaussian else "ridge"]
        way = PREIMAGES[self.preimage] if isinstance(self.preimage, str) else self.preimage
        if isinstance(way, FixedPoint) and not gaussian:
            raise ValueError(
                f"preimage='fixed-point' is for kernels of rows (not solver='fourier') that are Gaussian, not for "
                f"{self.kernel_}; use preimage='ridge'."
            )
        return way

    def _linear_map(self) -> tuple[Array, Array]:
        """B and mean of x = mean + z B, for the linear kernel."""
        if isinstance(self._phi, Same):
            return self.projection_.T, self.offset_
        B, c = self._expansion
        if is_sparse(self.X_fit_):
            return (self.X_fit_.T @ B.T).T, self.X_fit_.T @ c
        X = asarray_like(self.X_fit_, B, dtype=B.dtype)
        if getattr(self._phi, "shift", None) is None:
            return B @ X, c @ X
        # Kernels are those of rows about a point in their midst.
        shift = asarray_like(self._phi.shift, B, dtype=B.dtype)
        return B @ (X - shift), c @ (X - shift) + shift

    def _learned_back(self) -> Any:
        """The map from scores to rows; learned when it is first needed."""
        way = self.preimage if isinstance(self.preimage, Ridge) else PREIMAGES["ridge"]
        assert isinstance(way, Ridge)
        kept = self.__dict__.get("_learned")
        if kept is None or kept[0] != way:
            # Different rows: of two that are alike either would tell the other, and noise would be learned by heart.
            some = self._examples
            scores = to_numpy(self._scored(open_source(some)))
            kept = (way, way.learned(scores.astype(np.float64), to_numpy(dense(some)).astype(np.float64)))
            self.__dict__["_learned"] = kept
        return kept[1]

    def _fixed_point(self, way: FixedPoint) -> Any:
        """Scores -> rows by iteration, from what is learned."""
        B, c = (to_numpy(part).astype(np.float64) for part in self._expansion)
        rows, start = to_numpy(dense(self.X_fit_)).astype(np.float64), self._learned_back()
        return lambda Z: way.solve(Z @ B + c, rows, self.kernel_, start(Z))

    def _scored(self, source: Source) -> Array:
        raise NotImplementedError
