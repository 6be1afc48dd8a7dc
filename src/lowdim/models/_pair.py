"""The base class of models of two tables: scores of X and y, and reconstructions from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._xp import Array, asarray_like, namespace
from ..attributes import Flag, Names, Numbers, Sometimes
from ..features import affine
from ..linalg import signs
from ..reading import RowMap
from ..solvers.results import PairFit
from ..solvers.tables import LiftedVectors, View, Views
from ..sources import BesideSource
from ._further_tables import known_targets, open_further, open_pair
from ._output import framed_results
from ._pair_transform import PairTransform
from ._tables import Dtypes, TablesModel, cast
from ._tables_parameters import check_scale
from ._writing import Maps


class PairModel(PairTransform, TablesModel):
    """Base class of models of two tables.

    Both tables are centred by `x_mean_`, `y_mean_` and divided by `x_scale_`, `y_scale_`. The scores of X are then X
    `x_rotations_`, and X is reconstructed from them with `x_loadings_`; the same holds for y.
    """

    x_mean_: Any
    x_scale_: Any
    x_rotations_: Any
    x_loadings_: Any
    y_mean_: Any
    y_scale_: Any
    y_rotations_: Any
    y_loadings_: Any
    _one_dimensional: bool
    #: In shapes, q is the number of columns of y.
    fitted_attributes = {
        "target_names_in_": Sometimes(Names("q")),
        "x_mean_": Numbers("p"),
        "x_scale_": Numbers("p", sign="positive"),
        "x_rotations_": Numbers("p", "k"),
        "x_loadings_": Numbers("p", "k"),
        "y_mean_": Numbers("q"),
        "y_scale_": Numbers("q", sign="positive"),
        "y_rotations_": Numbers("q", "k"),
        "y_loadings_": Numbers("q", "k"),
        "_one_dimensional": Flag(),
    }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Any:
        """Fit to the rows of two tables.

        Parameters
        ----------
        X : array, sparse matrix, data frame, file, or iterable of blocks, of shape (n_samples, n_features)
        y : the same, of shape (n_samples, n_targets) or (n_samples,); or str, or list of str
            Row i belongs to row i of `X`. If X is an iterable of blocks, so is y. Or the name of a column of `X`, or a
            list of names: X is then all other columns.
        sample_weight : array of shape (n_samples,), or str, optional
            Frequency weights: weight 2 equals repeating the row. Or the name of a column of `X` that holds them.
        checkpoint : Checkpoint, str or path, optional
            A file that keeps the state of the pass over the rows: if the process is killed, the same call goes on where
            it was. Only for fits that need one pass (see `plan`).

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight, checkpoint=checkpoint)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to `X` and `y`, then return the scores of both, as scikit-learn does."""
        source = self._fit(X, y, sample_weight, twice=True)
        each = zip(source.members, (self._scoring(), self._y_scoring()), strict=True)
        return framed_results(self, [RowMap(table, scoring, self._score_names) for table, scoring in each], X, y)

    def inverse_transform(self, X: Any, y: Any = None) -> Any:
        """Rows of X reconstructed from scores, mean + z P^T; if scores `y` are given, a pair for both tables.

        Scores of the first components only are allowed, too; those of the others are taken to be zero.
        """
        check_is_fitted(self)
        maps = self._inverse_maps(X, y)
        return framed_results(self, maps, X) if y is None else framed_results(self, maps, X, y)

    def inverse_transform_to(
        self, X: Any, path: Any, *, y: Any = None, keep: Sequence[str] = (), overwrite: bool = False
    ) -> str:
        """Write the rows of X that belong to the scores `X`, and those of y if scores `y` are given, to a file.

        For the other arguments see `PCA.transform_to`.
        """
        return self._write(partial(self._inverse_maps, y=y), X, path, "inverse_transform_to", keep, overwrite)

    def _y_map(self, y: Any) -> RowMap:
        source = open_further(self, y, self.y_mean_, "y", "transform", known_targets(self))
        return RowMap(source, self._y_scoring(), self._score_names)

    def _inverse_maps(self, X: Any, y: Any = None) -> Maps:
        maps = super()._inverse_maps(X)
        if y is None:
            return maps
        lift = (self.y_loadings_ * self.y_scale_[:, None]).T
        return [*maps, self._reconstruction(y, lift, self.y_mean_, partial(self._column_names, 1), "y")]

    def _scoring(self) -> Any:
        return affine(self.x_rotations_ / self.x_scale_[:, None], self.x_mean_, self._x_deviation())

    def _y_scoring(self) -> Any:
        return affine(self.y_rotations_ / self.y_scale_[:, None], self.y_mean_, 0.0)

    def _lift(self) -> Array:
        return (self.x_loadings_ * self.x_scale_[:, None]).T

    def _x_deviation(self) -> float:
        """The largest standard deviation of the scores of X."""
        return 1.0

    def _open_tables(self, X: Any, y: Any, *, reset: bool = True) -> BesideSource:
        return open_pair(self, X, y, reset=reset)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_scale(self.scale, 2)

    def _standardize_tables(self, n_tables: int) -> Sequence[bool]:
        return check_scale(self.scale, 2)

    def _unpack_pair(self, views: Views, fit: PairFit, dtypes: Dtypes) -> None:
        """Set the weights, loadings and rotations of both tables."""
        x, y = views.tables
        k = self.n_components_ = fit.x_weights.shape[1]
        lifted_x, (weights, loadings) = _lift_together(x, [fit.x_weights, fit.x_loadings])
        of_y = [fit.y_weights, fit.y_loadings, fit.y_rotations, fit.y_on_x]
        lifted_y, (y_weights, y_loadings, y_rotations, y_on_x) = _lift_together(y, of_y)
        self._set_centres(lifted_x, lifted_y, dtypes)
        sign = signs(weights.T) if k else weights[0, :]
        found = {
            "x_weights_": weights,
            "x_loadings_": loadings,
            "x_rotations_": weights @ asarray_like(fit.x_turn, weights, dtype=weights.dtype),
            "y_weights_": y_weights,
            "y_loadings_": y_loadings,
            "y_rotations_": y_rotations,
            "_y_on_x": y_on_x,
        }
        for name, value in found.items():
            dtype = dtypes[0] if name.startswith("x_") else dtypes[1]
            setattr(self, name, cast(value * asarray_like(sign, value, dtype=value.dtype)[None, :], weights, dtype))

    def _set_centres(self, x: LiftedVectors, y: LiftedVectors, dtypes: Dtypes) -> None:
        """Set the means and scales of both tables."""
        like = x.mean
        flags = check_scale(self.scale, 2)
        for name, lifted, scaled, dtype in zip("xy", (x, y), flags, dtypes, strict=True):
            setattr(self, f"{name}_mean_", cast(lifted.mean, like, dtype))
            ones = namespace(lifted.mean).ones_like(lifted.deviation)
            setattr(self, f"{name}_scale_", cast(lifted.scale if scaled else ones, like, dtype))

    def _widths(self) -> Sequence[int]:
        return self.n_features_in_, int(self.y_mean_.shape[0])

    def _describe_columns(self) -> str:
        return " and ".join(map(str, self._widths())) + " columns"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _lift_together(view: View, arrays: list[np.ndarray]) -> tuple[LiftedVectors, list[Array]]:
    """Lift arrays of coordinates to columns of the table in one call; arrays that occur twice are lifted once."""
    unique = list({id(a): a for a in arrays}.values())
    lifted = view.lift(np.hstack(unique))
    k = arrays[0].shape[1]
    parts = {id(a): lifted.vectors[:, i * k : (i + 1) * k] for i, a in enumerate(unique)}
    return lifted, [parts[id(a)] for a in arrays]
