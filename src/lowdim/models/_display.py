"""The printed form of a fitted model: the table of its components, and the plan of its fit."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from .._xp import Array, cumulative_sum, namespace, to_numpy
from ..tabular import Table
from ._named import Named

#: The largest number of components that are printed.
_SHOWN = 10


class Printed(Named):
    """Mixin of models with names: a fitted model prints its table, and shows it in notebooks."""

    def _importance(self) -> list[tuple[str, Array]]:
        """Columns of the printed table of a fitted model: a name, and a number for each component."""
        variance = self.explained_variance_
        squares = [("std. deviation", namespace(variance).sqrt(variance)), ("variance", variance)]
        columns = squares if self.component_name == "PC" else [("sum of squares", variance)]
        if hasattr(self, "explained_variance_ratio_"):
            ratio = self.explained_variance_ratio_
            columns += [("proportion", ratio), ("cumulative", cumulative_sum(ratio))]
        return columns

    def _importance_names(self) -> list[str]:
        """The labels of the rows of that table."""
        return self.component_names_

    def _describe_columns(self) -> str:
        """The columns that the model was fitted to, for the printed table."""
        return f"{self.n_features_in_} columns"

    def __str__(self) -> str:
        return importance_text(self) if self.__sklearn_is_fitted__() else repr(self)

    def _html_repr(self) -> str:
        # The table is followed by scikit-learn's representation.
        below: str = super()._html_repr()
        return (importance_html(self) if self.__sklearn_is_fitted__() else "") + below


def importance_table(model: Any) -> Table:
    """The table of all components of a fitted model."""
    columns = {name: to_numpy(numbers).astype(np.float64) for name, numbers in model._importance()}
    what = f"{model.n_samples_} rows, {model._describe_columns()} ({model.solver_})"
    title = f"{type(model).__name__} of {what}"
    return Table(columns, model._importance_names(), title=title, row_name="component")


def importance_text(model: Any) -> str:
    """The table of the first components and the plan as text."""
    return f"{importance_table(model).text(max_rows=_SHOWN)}\nplan: {model.plan_}"


def importance_html(model: Any) -> str:
    """The same as HTML, for notebooks."""
    return f"{importance_table(model)._repr_html_()}<p>plan: {escape(str(model.plan_))}</p>"
