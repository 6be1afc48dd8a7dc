"""What the classes for two tables share: scikit-learn's limits, scores of the fit, and components that are zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .._xp import Array
from ..attributes import Kind, ListOf, Numbers, Sometimes, Whole
from ..linalg import with_zeros
from ..models._routing import WITHOUT_WEIGHTS
from ..solvers import Plan
from ..solvers.tables import Tables, TablesSolution
from ._parameters import SklearnParameters


class SklearnPair(SklearnParameters):
    """Mixin of classes for two tables.

    There are always `n_components` components. If the tables have nothing in common after some of them, there is a
    warning, and the others are zero.
    """

    n_components: Any
    n_components_: int
    #: Attributes with a column, or an entry, for each component.
    _by_component: ClassVar[tuple[str, ...]] = (
        "x_weights_",
        "x_loadings_",
        "x_rotations_",
        "y_weights_",
        "y_loadings_",
        "y_rotations_",
    )
    solver = "auto"
    fitted_attributes: ClassVar[dict[str, Kind | None]] = {
        "_x_scores": Sometimes(Numbers("*", "k", rows=True)),
        "_y_scores": Sometimes(Numbers("*", "k", rows=True)),
    }
    # As in scikit-learn, where these classes know no weights: they are used only on request.
    __metadata_request__fit = WITHOUT_WEIGHTS
    __metadata_request__fit_transform = WITHOUT_WEIGHTS
    __metadata_request__partial_fit = WITHOUT_WEIGHTS

    def _k(self: Any, n: int | None, groups: Sequence[int]) -> int:
        upper = self._most(groups) if n is None else min(n, self._most(groups))
        if self.n_components > upper:
            raise ValueError(
                f"`n_components` upper bound is {upper}. Got {self.n_components} instead. Reduce `n_components`."
            )
        return int(self.n_components)

    def _describe_limit(self: Any) -> str:
        return f"y residual is constant at iteration {self.n_components_}, and the other components are zero"

    def _finish(self: Any, solution: TablesSolution, the_plan: Plan, dtypes: tuple[Any, ...]) -> None:
        super()._finish(solution, the_plan, dtypes)  # type: ignore[misc] # of the model that follows
        for name in ("_x_scores", "_y_scores"):
            self.__dict__.pop(name, None)
        self._convert()
        missing = int(self.n_components) - self.n_components_
        if missing > 0:
            self.n_components_ += missing
            for name in (name for name in self._by_component if hasattr(self, name)):
                setattr(self, name, with_zeros(getattr(self, name), missing))

    def _convert(self) -> None:
        """Change attributes that scikit-learn defines otherwise than the model."""

    def _fit_rows(self: Any, rows: Tables) -> None:
        super()._fit_rows(rows)  # type: ignore[misc] # of the model that follows
        if rows.joint.traits.rereadable:
            self._x_scores = rows.each[0].map(self._scoring())
            self._y_scores = self._scores_of_y(rows)

    def _scores_of_y(self: Any, rows: Tables) -> Array:
        """The scores of the rows of y in the fit."""
        return rows.each[1].map(self._y_scoring())


class SklearnPls(SklearnPair):
    """Mixin of the classes with predictions."""

    _by_component = (
        *SklearnPair._by_component,
        "explained_variance_",
        "explained_variance_ratio_",
        "y_explained_variance_ratio_",
        "_y_on_x",
    )
    fitted_attributes = {"n_iter_": ListOf(Whole(), length="k")}

    def transform(self: Any, X: Any, y: Any = None, copy: bool = True, *, n_components: int | None = None) -> Any:
        """Scores of the rows of `X`; if `y` is given, a pair with the scores of both tables. `copy` has no effect."""
        return super().transform(X, y, n_components=n_components)  # type: ignore[misc] # of the model that follows

    def predict(self: Any, X: Any, copy: bool = True) -> Array:
        """Predictions of y for the rows of `X`. `copy` has no effect: rows are never overwritten."""
        return super().predict(X)  # type: ignore[misc] # of the model that follows

    def _convert(self: Any) -> None:
        # scikit-learn predicts (x - mean) coef_^T + intercept_.
        self.intercept_ = self.y_mean_
        # There is no iteration: one step finds each component.
        self.n_iter_ = [1] * int(self.n_components)
